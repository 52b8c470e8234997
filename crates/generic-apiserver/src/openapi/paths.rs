// SPDX-License-Identifier: Apache-2.0
//! The operations of the kinds, in both dialects, from which clients learn which parameters and patches a server supports.
//!
//! Clients find operations by `x-kubernetes-group-version-kind`; validation needs the parameter `fieldValidation` on
//! PATCH, client-side apply the media type of strategic merge patches among what PATCH consumes.
//!
//! **Deliberately absent**: the deprecated `/watch/` paths, and subresources that no client looks up here (`log`,
//! `binding`, and those whose response is of another kind than the object, except `scale`).
//!
//! Source: apiserver pkg/endpoints/installer.go, kubectl pkg/cmd/apply/patcher.go, cli-runtime
//! pkg/resource/query_param_verifier*.go.

use apimachinery::catalogue::ResourceInfo;
use serde_json::{Map, Value, json};

use super::Described;
use super::definitions::{Definitions, Dialect, gvk};

const JSON: &str = "application/json";
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
/// Media types of patches of kinds that have no strategic merge patch.
const CUSTOM_PATCHES: [&str; 3] = [PATCHES[0], PATCHES[1], PATCHES[3]];

/// Parameters of a query: name, type, description.
const PARAMETERS: [(&str, &str, &str); 18] = [
    ("allowWatchBookmarks", "boolean", "Whether a watch also sends bookmarks."),
    ("continue", "string", "Token of the page to go on with, from the list before."),
    ("dryRun", "string", "All: everything is done but the storing."),
    ("fieldManager", "string", "Name of the client that changes the object."),
    ("fieldSelector", "string", "Fields that the objects must have."),
    (
        "fieldValidation",
        "string",
        "What becomes of unknown and duplicate fields: Ignore drops them, Warn drops them with a warning, Strict \
         refuses the request.",
    ),
    ("force", "boolean", "Whether an apply takes fields from other managers."),
    ("gracePeriodSeconds", "integer", "Seconds that the object may take to go away; 0 means at once."),
    ("labelSelector", "string", "Labels that the objects must have."),
    ("limit", "integer", "Most objects of one page."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    ("pretty", "string", "Whether the answer is indented."),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
    ("resourceVersion", "string", "Version from which a watch starts, or of which a list must be."),
    ("resourceVersionMatch", "string", "How a list must fit resourceVersion: Exact or NotOlderThan."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with the present objects."),
    ("timeoutSeconds", "integer", "How long a list or watch may take."),
    ("watch", "boolean", "Whether to send changes instead of a list."),
];

const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "pretty",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
const GET: &[&str] = &["pretty"];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "pretty"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force", "pretty"];
const DELETE: &[&str] = &["dryRun", "gracePeriodSeconds", "orphanDependents", "pretty", "propagationPolicy"];
const DELETE_COLLECTION: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "pretty",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// One method of a path.
struct Operation<'a> {
    method: &'static str,
    action: &'static str,
    id: String,
    summary: String,
    gvk: &'a Value,
    tag: &'a str,
    parameters: &'static [&'static str],
    /// Name of the body's schema, media types (empty: any), and whether the body is required.
    body: Option<(&'a str, &'static [&'static str], bool)>,
    /// Code and name of the schema of each success.
    answers: Vec<(u16, &'a str)>,
}

/// Adds the paths of a kind, and the definitions that they need.
pub(super) fn add(paths: &mut Map<String, Value>, definitions: &mut Definitions, row: &Described) {
    let (info, created_only) = (&row.info, row.created_only);
    let dialect = definitions.dialect;
    let names = definitions.kind(info, row.node.as_ref());
    let (patch, status) = (definitions.patch(), definitions.status());
    let options = definitions.delete_options();
    let own = gvk(info.group, info.version, info.kind);
    let scoped = if info.namespaced { "Namespaced" } else { "" };
    let id = |verb: &str, rest: &str| format!("{verb}{}{scoped}{}{rest}", identifier(info), info.kind);
    let tag = tag(info);
    let root = if info.group.is_empty() {
        format!("/api/{}", info.version)
    } else {
        format!("/apis/{}/{}", info.group, info.version)
    };
    let collection = if info.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", info.plural)
    } else {
        format!("{root}/{}", info.plural)
    };
    let operation = |method, action, id: String, summary: String, parameters| Operation {
        method,
        action,
        id,
        summary,
        gvk: &own,
        tag: &tag,
        parameters,
        body: None,
        answers: Vec::new(),
    };
    let (kind, plural) = (info.kind, info.plural);
    let patches: &'static [&'static str] = if info.custom { &CUSTOM_PATCHES } else { &PATCHES };

    let mut item = PathItem::new(dialect, &["namespace"][..usize::from(info.namespaced)]);
    if info.read_only {
        item.add(Operation {
            answers: vec![(200, &names.list)],
            ..operation("get", "list", id("list", ""), format!("Lists {plural}."), LIST)
        });
        paths.insert(collection.clone(), item.finish());
        let mut item = PathItem::new(dialect, &["name"]);
        item.add(Operation {
            answers: vec![(200, &names.object)],
            ..operation("get", "get", id("read", ""), format!("Reads a {kind}."), GET)
        });
        paths.insert(format!("{collection}/{{name}}"), item.finish());
        return;
    }
    item.add(Operation {
        body: Some((&names.object, &[], true)),
        answers: vec![(200, &names.object), (201, &names.object), (202, &names.object)],
        ..operation("post", "post", id("create", ""), format!("Creates a {kind}."), WRITE)
    });
    if created_only {
        paths.insert(collection, item.finish());
        return;
    }
    item.add(Operation {
        answers: vec![(200, &names.list)],
        ..operation("get", "list", id("list", ""), format!("Lists or watches {plural}."), LIST)
    });
    item.add(Operation {
        body: Some((&options, &[], false)),
        answers: vec![(200, &status)],
        ..operation(
            "delete",
            "deletecollection",
            id("deleteCollection", ""),
            format!("Deletes {plural}."),
            DELETE_COLLECTION,
        )
    });
    paths.insert(collection.clone(), item.finish());

    if info.namespaced {
        let mut item = PathItem::new(dialect, &[]);
        let id = format!("list{}{kind}ForAllNamespaces", identifier(info));
        item.add(Operation {
            answers: vec![(200, &names.list)],
            ..operation("get", "list", id, format!("Lists or watches {plural} of all namespaces."), LIST)
        });
        paths.insert(format!("{root}/{plural}"), item.finish());
    }

    let single: &[&str] = if info.namespaced { &["name", "namespace"] } else { &["name"] };
    let read_write = |item: &mut PathItem, own: &Value, schema: &str, what: &str, rest: &str, of: &str| {
        let base = |method, action, id, summary, parameters| Operation {
            gvk: own,
            ..operation(method, action, id, summary, parameters)
        };
        item.add(Operation {
            answers: vec![(200, schema)],
            ..base("get", "get", id("read", rest), format!("Reads {what}{of}."), GET)
        });
        item.add(Operation {
            body: Some((schema, &[], true)),
            answers: vec![(200, schema), (201, schema)],
            ..base("put", "put", id("replace", rest), format!("Replaces {what}{of}."), WRITE)
        });
        item.add(Operation {
            body: Some((&patch, patches, true)),
            answers: vec![(200, schema), (201, schema)],
            ..base("patch", "patch", id("patch", rest), format!("Changes {what}{of}."), PATCH)
        });
    };
    let mut item = PathItem::new(dialect, single);
    read_write(&mut item, &own, &names.object, &format!("a {kind}"), "", "");
    item.add(Operation {
        body: Some((&options, &[], false)),
        answers: vec![(200, &status), (202, &status)],
        ..operation("delete", "delete", id("delete", ""), format!("Deletes a {kind}."), DELETE)
    });
    paths.insert(format!("{collection}/{{name}}"), item.finish());

    for subresource in info.subresources.iter().filter(|name| info.serves(name)) {
        let mut item = PathItem::new(dialect, single);
        let of = format!(" of a {kind}");
        match *subresource {
            "status" | "approval" | "ephemeralcontainers" => {
                let rest = capitalised(subresource);
                read_write(&mut item, &own, &names.object, &format!("the {subresource}"), &rest, &of);
            }
            "scale" => {
                let (scale, gvk) = (definitions.scale(), gvk("autoscaling", "v1", "Scale"));
                read_write(&mut item, &gvk, &scale, "the scale", "Scale", &of);
            }
            "finalize" => item.add(Operation {
                body: Some((&names.object, &[], true)),
                answers: vec![(200, &names.object), (201, &names.object)],
                ..operation("put", "put", id("replace", "Finalize"), format!("Replaces the finalizers{of}."), WRITE)
            }),
            _ => continue,
        }
        paths.insert(format!("{collection}/{{name}}/{subresource}"), item.finish());
    }
}

/// A path under construction.
struct PathItem {
    dialect: Dialect,
    fields: Map<String, Value>,
}

impl PathItem {
    fn new(dialect: Dialect, variables: &[&str]) -> Self {
        let variables: Vec<Value> = variables.iter().map(|name| variable(dialect, name)).collect();
        let mut fields = Map::new();
        if !variables.is_empty() {
            fields.insert("parameters".to_owned(), Value::Array(variables));
        }
        Self { dialect, fields }
    }

    fn add(&mut self, operation: Operation<'_>) {
        self.fields.insert(operation.method.to_owned(), operation.render(self.dialect));
    }

    fn finish(self) -> Value {
        Value::Object(self.fields)
    }
}

/// A variable of the path.
fn variable(dialect: Dialect, name: &str) -> Value {
    let text = if name == "name" { "Name of the object." } else { "Namespace of the object." };
    let mut parameter = json!({ "name": name, "in": "path", "required": true, "description": text });
    typed(&mut parameter, dialect, "string");
    parameter
}

fn typed(parameter: &mut Value, dialect: Dialect, type_: &str) {
    match dialect {
        Dialect::V2 => {
            parameter["type"] = json!(type_);
            parameter["uniqueItems"] = json!(true);
        }
        Dialect::V3 => parameter["schema"] = json!({ "type": type_, "uniqueItems": true }),
    }
}

impl Operation<'_> {
    fn render(&self, dialect: Dialect) -> Value {
        let mut parameters: Vec<Value> = PARAMETERS
            .iter()
            .filter(|(name, ..)| self.parameters.contains(name))
            .map(|(name, type_, text)| {
                let mut parameter = json!({ "name": name, "in": "query", "description": text });
                typed(&mut parameter, dialect, type_);
                parameter
            })
            .collect();
        let mut tree = json!({
            "operationId": self.id,
            "description": self.summary,
            "tags": [self.tag],
            "x-kubernetes-action": self.action,
            "x-kubernetes-group-version-kind": self.gvk,
        });
        let mut responses = Map::new();
        for (code, schema) in &self.answers {
            let text = match code {
                201 => "Created",
                202 => "Accepted",
                _ => "OK",
            };
            let schema = dialect.reference(schema);
            let response = match dialect {
                Dialect::V2 => json!({ "description": text, "schema": schema }),
                Dialect::V3 => json!({ "description": text, "content": { JSON: { "schema": schema } } }),
            };
            responses.insert(code.to_string(), response);
        }
        responses.insert("401".to_owned(), json!({ "description": "Unauthorized" }));
        tree["responses"] = Value::Object(responses);
        if let Some((schema, media, required)) = self.body {
            let schema = dialect.reference(schema);
            let media = if media.is_empty() { &["*/*"][..] } else { media };
            match dialect {
                Dialect::V2 => {
                    let mut body = json!({ "name": "body", "in": "body", "schema": schema });
                    if required {
                        body["required"] = json!(true);
                    }
                    parameters.push(body);
                    tree["consumes"] = json!(media);
                }
                Dialect::V3 => {
                    let content: Map<String, Value> =
                        media.iter().map(|media| ((*media).to_owned(), json!({ "schema": schema }))).collect();
                    tree["requestBody"] = json!({ "content": content });
                    if required {
                        tree["requestBody"]["required"] = json!(true);
                    }
                }
            }
        }
        if dialect == Dialect::V2 {
            tree["produces"] = json!([JSON]);
            tree["schemes"] = json!(["https"]);
            tree["consumes"] = tree.get("consumes").cloned().unwrap_or_else(|| json!(["*/*"]));
        }
        tree["parameters"] = Value::Array(parameters);
        tree
    }
}

/// Words of a group, without the domain that all of Kubernetes' own groups share.
fn words(info: &ResourceInfo) -> Vec<&str> {
    let group = info.group.strip_suffix(".k8s.io").unwrap_or(info.group);
    if group.is_empty() { vec!["core"] } else { group.split(['.', '-']).collect() }
}

/// Group and version within ids of operations: `CoreV1`, `RbacAuthorizationV1`.
fn identifier(info: &ResourceInfo) -> String {
    words(info).into_iter().chain([info.version]).map(capitalised).collect()
}

/// Group and version as a tag: `core_v1`, `rbacAuthorization_v1`.
fn tag(info: &ResourceInfo) -> String {
    let words = words(info);
    let rest: String = words[1..].iter().map(|word| capitalised(word)).collect();
    format!("{}{rest}_{}", words[0], info.version)
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
