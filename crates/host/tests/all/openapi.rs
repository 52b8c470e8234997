// SPDX-License-Identifier: Apache-2.0
//! OpenAPI documents of every cluster, read as a strict client reads them.

use std::collections::{BTreeMap, BTreeSet};

use api::catalogue;
use apimachinery::release::Release;
use generic_apiserver::{Builder, Generic};
use host::Host;
use serde_json::Value;

use crate::support::{get, host, send};

const CLUSTERS: [&str; 4] = ["runtime", "garden", "seed--a", "shoot--p--a"];
const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Returns the documents of a cluster by their keys in the index, and the document of version 2.
async fn documents(host: &Host, cluster: &str) -> (BTreeMap<String, Value>, Value) {
    let index = get(host, &format!("/clusters/{cluster}/openapi/v3")).await;
    assert_eq!(index.code, 200);
    let mut documents = BTreeMap::new();
    for (key, entry) in index.json()["paths"].as_object().expect("paths") {
        let url = entry["serverRelativeURL"].as_str().expect("a URL");
        let answer = get(host, &format!("/clusters/{cluster}{url}")).await;
        assert_eq!(answer.code, 200, "{url}");
        documents.insert(key.clone(), answer.json());
    }
    let v2 = get(host, &format!("/clusters/{cluster}/openapi/v2")).await;
    assert_eq!(v2.code, 200);
    (documents, v2.json())
}

fn each(value: &Value, see: &mut impl FnMut(&Value)) {
    see(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, see)),
        Value::Object(fields) => fields.values().for_each(|field| each(field, see)),
        _ => {}
    }
}

/// Checks a document: references and variables resolve, ids of operations are unique, schemas have one known type,
/// required properties exist.
fn check(document: &Value, schemas: &Value, prefix: &str, what: &str) {
    each(document, &mut |value| {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix(prefix).unwrap_or_else(|| panic!("{what}: {reference}"));
            assert!(schemas.get(name).is_some(), "{what}: {name} is not defined");
        }
    });
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let variables: BTreeSet<&str> = path.split(['{', '}']).skip(1).step_by(2).collect();
        let declared = item["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let declared: BTreeSet<&str> = declared.iter().filter_map(|parameter| parameter["name"].as_str()).collect();
        assert_eq!(variables, declared, "{what}: {path}");
        for (method, operation) in item.as_object().expect("a path").iter().filter(|(key, _)| *key != "parameters") {
            assert!(matches!(method.as_str(), "get" | "put" | "post" | "patch" | "delete"), "{what}: {method}");
            let id = operation["operationId"].as_str().expect("an id");
            assert!(ids.insert(id), "{what}: {id} is there twice");
            assert!(!operation["responses"].as_object().expect("responses").is_empty(), "{what}: {id}");
            assert!(operation["x-kubernetes-group-version-kind"]["kind"].is_string(), "{what}: {id}");
        }
    }
    for (name, schema) in schemas.as_object().expect("schemas") {
        schema_is_sound(schema, &format!("{what}: {name}"));
    }
}

fn schema_is_sound(schema: &Value, what: &str) {
    match schema["type"].as_str() {
        Some("object") => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                schema_is_sound(property, &format!("{what}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().expect("a name");
                assert!(schema["properties"].get(name).is_some(), "{what}: {name} is required and not there");
            }
            if let Some(values) = schema.get("additionalProperties") {
                schema_is_sound(values, &format!("{what}{{}}"));
            }
        }
        Some("array") => schema_is_sound(&schema["items"], &format!("{what}[]")),
        Some("string" | "boolean") => {}
        Some("integer") => assert!(matches!(schema["format"].as_str(), Some("int32" | "int64")), "{what}"),
        Some("number") => assert_eq!(schema["format"], "double", "{what}"),
        Some(other) => panic!("{what} is a {other}"),
        None => {
            let known = ["$ref", "allOf", "oneOf", "x-kubernetes-preserve-unknown-fields"];
            assert!(known.iter().any(|key| schema.get(*key).is_some()), "{what} is nothing: {schema}");
        }
    }
    let list = schema["type"] == "array";
    assert!(list || schema.get("x-kubernetes-list-type").is_none(), "{what} is no list");
    assert!(schema["x-kubernetes-list-type"] != "map" || schema["x-kubernetes-list-map-keys"].is_array(), "{what}");
}

/// Schema of a kind, looked up as clients do.
fn kind<'a>(schemas: &'a Value, group: &str, version: &str, kind: &str) -> Option<&'a Value> {
    let mut found = schemas.as_object().expect("schemas").values().filter(|schema| {
        let kinds = schema["x-kubernetes-group-version-kind"].as_array().into_iter().flatten();
        kinds.into_iter().any(|gvk| gvk["group"] == *group && gvk["version"] == *version && gvk["kind"] == *kind)
    });
    let first = found.next();
    assert!(found.next().is_none(), "{kind} is there twice");
    first
}

#[tokio::test]
async fn every_document_can_be_read_by_a_strict_client() {
    let host = host().await;
    for cluster in CLUSTERS {
        let (v3, v2) = documents(&host, cluster).await;
        for (key, document) in &v3 {
            assert_eq!(document["openapi"], "3.0.0");
            check(document, &document["components"]["schemas"], "#/components/schemas/", &format!("{cluster} {key}"));
            // In OpenAPI 3.0 a reference has no sibling fields.
            each(document, &mut |value| {
                let alone = value.get("$ref").is_none() || value.as_object().is_some_and(|fields| fields.len() == 1);
                assert!(alone || value["$ref"].is_object(), "{cluster} {key}: {value}");
            });
        }
        assert_eq!(v2["swagger"], "2.0");
        check(&v2, &v2["definitions"], "#/definitions/", &format!("{cluster} v2"));
    }
}

/// Every kind that a cluster serves, including Gardener's, has a schema and a list schema, accepts `fieldValidation`
/// and declares whether it accepts strategic merge patches.
#[tokio::test]
async fn every_served_kind_is_described() {
    let host = host().await;
    for cluster in CLUSTERS {
        let (v3, v2) = documents(&host, cluster).await;
        for row in catalogue::all().iter().filter(|row| catalogue::serves(cluster, row)) {
            let key = if row.group.is_empty() {
                format!("api/{}", row.version)
            } else {
                format!("apis/{}/{}", row.group, row.version)
            };
            let document = v3.get(&key).unwrap_or_else(|| panic!("{cluster} has no {key}"));
            for schemas in [&document["components"]["schemas"], &v2["definitions"]] {
                let schema = kind(schemas, row.group, row.version, row.kind).expect("a schema");
                let expected = (row.schema)();
                let expected = expected.as_object().expect("a struct").fields.iter().map(|field| field.name);
                let expected: BTreeSet<&str> = expected.chain(["apiVersion", "kind"]).collect();
                let found = schema["properties"].as_object().expect("properties").keys().map(String::as_str);
                assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{}", row.kind);
                assert!(kind(schemas, row.group, row.version, &format!("{}List", row.kind)).is_some());
            }
            let root = format!("/{key}");
            let place = if row.namespaced { "/namespaces/{namespace}" } else { "" };
            let path = format!("{root}{place}/{}/{{name}}", row.plural);
            if row.read_only {
                for item in [&document["paths"][&path], &v2["paths"][&path]] {
                    assert!(item["get"].is_object() && item.get("patch").is_none(), "{path}");
                }
                continue;
            }
            let (new, old) = (&document["paths"][&path]["patch"], &v2["paths"][&path]["patch"]);
            for operation in [new, old] {
                assert_eq!(operation["x-kubernetes-group-version-kind"]["kind"], row.kind, "{path}");
                let mut parameters = operation["parameters"].as_array().expect("parameters").iter();
                assert!(parameters.any(|parameter| parameter["name"] == "fieldValidation"), "{path}");
            }
            assert_eq!(new["requestBody"]["content"].get(STRATEGIC).is_some(), !row.custom, "{path}");
            let consumes = old["consumes"].as_array().expect("media types");
            assert_eq!(consumes.iter().any(|media| media == STRATEGIC), !row.custom, "{path}");
        }
    }
}

#[tokio::test]
async fn lists_have_their_merge_behaviour() {
    let host = host().await;
    let (v3, v2) = documents(&host, "garden").await;
    let schemas = [&v3["apis/core.gardener.cloud/v1beta1"]["components"]["schemas"], &v2["definitions"]];
    for schemas in schemas {
        let of =
            |name: &str| &schemas[format!("com.github.gardener.gardener.pkg.apis.core.v1beta1.{name}")]["properties"];
        assert_eq!(of("Provider")["workers"]["x-kubernetes-patch-merge-key"], "name");
        assert_eq!(of("Provider")["workers"]["x-kubernetes-patch-strategy"], "merge");
        assert!(of("Worker")["zones"].get("x-kubernetes-patch-strategy").is_none());
        assert_eq!(of("ShootStatus")["conditions"]["x-kubernetes-patch-merge-key"], "type");
    }
    let spec = &v3["apis/apps/v1"]["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"];
    assert_eq!(spec["containers"]["x-kubernetes-list-type"], "map");
    assert_eq!(spec["containers"]["x-kubernetes-list-map-keys"], serde_json::json!(["name"]));
    assert_eq!(spec["volumes"]["x-kubernetes-patch-strategy"], "merge,retainKeys");
}

#[tokio::test]
async fn documents_are_kept_by_their_hash() {
    let host = host().await;
    let base = "/clusters/garden/openapi/v3/apis/core.gardener.cloud/v1beta1";
    let plain = get(&host, base).await;
    let tag = plain.header("etag").to_owned();
    let hash = tag.trim_matches('"');
    assert_eq!((hash.len(), plain.header("cache-control")), (128, "no-cache, private"));
    assert!(hash.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)));

    let kept = get(&host, &format!("{base}?hash={hash}&timeout=32s")).await;
    assert_eq!((kept.code, kept.header("cache-control")), (200, "public, immutable"));
    assert_eq!((kept.header("expires"), kept.header("vary")), ("Fri, 26 Jul 2024 20:00:00 GMT", "Accept"));
    assert_eq!(kept.body, plain.body);

    let outdated = get(&host, &format!("{base}?hash=AA")).await;
    assert_eq!((outdated.code, outdated.header("location")), (301, format!("{base}?hash={hash}").as_str()));

    for path in [base, "/clusters/garden/openapi/v3", "/clusters/garden/openapi/v2"] {
        let first = get(&host, path).await;
        let again = send(&host, "GET", path, &[("if-none-match", first.header("etag"))], "").await;
        assert_eq!((again.code, again.body.len()), (304, 0), "{path}");
        let changed = send(&host, "GET", path, &[("if-none-match", "\"A\"")], "").await;
        assert_eq!(changed.code, 200, "{path}");
    }
    // Clusters with the same kinds have the same documents.
    let one = get(&host, "/clusters/shoot--p--a/openapi/v2").await;
    let other = get(&host, "/clusters/shoot--p--b/openapi/v2").await;
    assert_eq!(one.header("etag"), other.header("etag"));
    assert_ne!(one.header("etag"), get(&host, "/clusters/garden/openapi/v2").await.header("etag"));
}

#[tokio::test]
async fn documents_are_served_as_protobuf() {
    let host = host().await;
    for path in ["v3/api/v1", "v3/apis/core.gardener.cloud/v1beta1", "v3/apis/apiextensions.k8s.io/v1"] {
        let path = format!("/clusters/garden/openapi/{path}");
        let tree = get(&host, &path).await.json();
        let asked = [("accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")];
        let answer = send(&host, "GET", &path, &asked, "").await;
        let media = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
        assert_eq!((answer.code, answer.header("content-type")), (200, media));
        let names = |pairs: Vec<(u32, &[u8])>| {
            let name = |pair: &[u8]| String::from_utf8_lossy(part(pair, 1)).into_owned();
            pairs.into_iter().map(|(_, pair)| name(pair)).collect::<Vec<_>>()
        };
        let keys = |tree: &Value| tree.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(part(&answer.body, 1), b"3.0.0");
        assert_eq!(names(fields(part(&answer.body, 4))), keys(&tree["paths"]), "{path}");
        assert_eq!(names(fields(part(part(&answer.body, 5), 1))), keys(&tree["components"]["schemas"]), "{path}");
    }
    let index = [("accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf")];
    assert_eq!(send(&host, "GET", "/clusters/garden/openapi/v3", &index, "").await.code, 406);
}

#[tokio::test]
async fn unknown_documents_are_not_found() {
    let host = host().await;
    for path in ["v3/apis/core.gardener.cloud/v1", "v3/apis/none/v1", "v3/api/v2", "v4"] {
        let code = get(&host, &format!("/clusters/seed--a/openapi/{path}")).await.code;
        assert_eq!(code, 404, "{path}");
    }
    let v2 = "/clusters/garden/openapi/v2";
    let only = async |accept| send(&host, "GET", v2, &[("accept", accept)], "").await;
    assert_eq!(only("application/xml").await.code, 406);
    assert_eq!(only("*/*").await.header("content-type"), "application/json");
    let protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!(only(PROTOBUF).await.header("content-type"), protobuf);
    assert_eq!(only(protobuf).await.header("content-type"), protobuf);
    let index = send(&host, "GET", "/clusters/garden/openapi/v3", &[("accept", "application/json, */*")], "").await;
    assert_eq!((index.code, index.header("content-type")), (200, "application/json"));
    assert_eq!(send(&host, "POST", v2, &[], "").await.code, 405);
}

/// Bytes field of a message; empty if it is missing.
fn part(bytes: &[u8], number: u32) -> &[u8] {
    fields(bytes).into_iter().find(|(known, _)| *known == number).map_or(&[], |(_, bytes)| bytes)
}

/// Bytes fields of a message, by number.
fn fields(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let number = u32::try_from(tag >> 3).expect("a number");
        let form = tag & 7;
        if form == 0 {
            varint(&mut bytes);
            continue;
        }
        assert_eq!(form, 2);
        let length = usize::try_from(varint(&mut bytes)).expect("a length");
        let (value, rest) = bytes.split_at(length);
        out.push((number, value));
        bytes = rest;
    }
    out
}

fn one(message: &[u8], number: u32) -> &[u8] {
    fields(message).into_iter().find(|(found, _)| *found == number).map_or(&[], |(_, value)| value)
}

fn pairs(message: &[u8], number: u32) -> BTreeMap<String, &[u8]> {
    let pairs = fields(message).into_iter().filter(|(found, _)| *found == number);
    pairs.map(|(_, pair)| (String::from_utf8(one(pair, 1).to_vec()).expect("text"), one(pair, 2))).collect()
}

/// The two forms of version 2 have the same definitions, properties, paths, extensions and references.
#[tokio::test]
async fn protobuf_and_json_documents_agree() {
    let host = host().await;
    let (_, json) = documents(&host, "garden").await;
    let answer = send(&host, "GET", "/clusters/garden/openapi/v2", &[("accept", PROTOBUF)], "").await;
    let keys = |value: &Value| value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    let definitions = pairs(one(&answer.body, 9), 1);
    assert_eq!(definitions.keys().cloned().collect::<Vec<_>>(), keys(&json["definitions"]));
    let mut compared = 0;
    for (name, definition) in &definitions {
        let tree = &json["definitions"][name];
        let properties = pairs(one(definition, 25), 1);
        assert_eq!(properties.keys().cloned().collect::<Vec<_>>(), keys(&tree["properties"]), "{name}");
        for (field, property) in properties {
            let tree = &tree["properties"][&field];
            let text = |key: &str| tree[key].as_str().unwrap_or_default().as_bytes();
            assert_eq!(one(property, 1), text("$ref"), "{name}.{field}");
            assert_eq!(one(property, 2), text("format"), "{name}.{field}");
            assert_eq!(one(property, 4), text("description"), "{name}.{field}");
            assert_eq!(one(one(property, 22), 1), text("type"), "{name}.{field}");
            let reference = tree["items"]["$ref"].as_str().unwrap_or_default();
            assert_eq!(one(one(one(property, 23), 1), 1), reference.as_bytes(), "{name}.{field}");
            let reference = tree["additionalProperties"]["$ref"].as_str().unwrap_or_default();
            assert_eq!(one(one(one(property, 21), 1), 1), reference.as_bytes(), "{name}.{field}");
            for (extension, value) in pairs(property, 31) {
                let expected = format!("{}\n", tree[&extension]);
                assert_eq!(one(value, 2), expected.as_bytes(), "{name}.{field} {extension}");
                compared += 1;
            }
        }
        let required = fields(definition).into_iter().filter(|(number, _)| *number == 19).count();
        assert_eq!(required, tree["required"].as_array().map_or(0, Vec::len), "{name}");
    }
    assert!(compared > 100, "{compared}");
    let paths = pairs(one(&answer.body, 8), 2);
    assert_eq!(paths.keys().cloned().collect::<Vec<_>>(), keys(&json["paths"]));
    for (path, item) in paths {
        let patch = &json["paths"][&path]["patch"];
        let found = fields(one(item, 8)).into_iter().filter(|(number, _)| *number == 7).count();
        assert_eq!(found, patch["consumes"].as_array().map_or(0, Vec::len), "{path}");
        let parameters = fields(one(item, 8)).into_iter().filter(|(number, _)| *number == 8).count();
        assert_eq!(parameters, patch["parameters"].as_array().map_or(0, Vec::len), "{path}");
    }
}

/// Properties of a Shoot's maintenance in both documents of the garden.
async fn maintenance(host: &Host) -> (String, String) {
    let of = |schemas: &Value| {
        let mut found = schemas.as_object().expect("schemas").iter();
        let (_, schema) = found.find(|(name, _)| name.ends_with(".v1beta1.Maintenance")).expect("a definition");
        schema["properties"].as_object().expect("properties").keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let (v3, v2) = documents(host, "garden").await;
    (of(&v3["apis/core.gardener.cloud/v1beta1"]["components"]["schemas"]), of(&v2["definitions"]))
}

/// Sends the requests of `kubectl explain`, at the path of the cluster.
#[tokio::test]
async fn openapi_documents_are_those_of_the_served_release() {
    let host = host().await;
    let of = |release| {
        let shoots = catalogue::find("core.gardener.cloud", "v1beta1", "shoots").expect("a row");
        Builder::new(crate::support::foundation())
            .release(release)
            .resource::<apimachinery::DynamicObject>(shoots, Generic)
            .build()
    };
    let (before, own) = documents(&host, "runtime").await;
    for (release, expected) in [(134, false), (135, true), (120, false)] {
        host.aggregate(Some(of(Release(release))));
        let (v3, v2) = maintenance(&host).await;
        assert_eq!(v3.contains("autoRotation"), expected, "{release}: {v3}");
        assert_eq!(v2.contains("autoRotation"), expected, "{release}: {v2}");
    }
    // The host's own documents do not depend on the release.
    assert_eq!(documents(&host, "runtime").await, (before, own));
}
