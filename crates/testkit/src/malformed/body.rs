// SPDX-License-Identifier: Apache-2.0
//! Bodies: objects by their schema, patches, options, and mutations of their bytes.

use apimachinery::schema::{Node, ObjectSchema};
use serde_json::{Map, Value, json};

use super::{Draws, Target};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PATCHES: [&str; 4] = [
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
];
/// Maximum depth of objects; some kinds are recursive.
const DEPTH: usize = 9;

/// Texts, the ordinary ones first.
const TEXTS: [&str; 52] = [
    "a",
    "odd",
    "odd-1",
    "1.27.1",
    "local",
    "TCP",
    "Always",
    "Never",
    "ClusterIP",
    "10.0.0.0/8",
    "10.10.0.0/16",
    "10.0.0.1",
    "example.org",
    "app",
    "apps/v1",
    "v1",
    "Pod",
    "Deployment",
    "*",
    "b/c",
    "5m",
    "80%",
    "100",
    "220000+0100",
    "* * * * *",
    "Europe/Berlin",
    "supported",
    "amd64",
    "In",
    "Exists",
    "Equal",
    "NoSchedule",
    "object",
    "string",
    "Namespaced",
    "[a-z]+",
    "",
    ".",
    "..",
    "A",
    "/",
    "a/b/c",
    "-a",
    "a ",
    "é",
    "\u{0}",
    "\u{202e}",
    "0",
    "-1",
    "2023-07-27T20:00:00Z",
    "{{",
    "self.x > 1",
];
const QUANTITIES: [&str; 12] = [
    "1",
    "0",
    "-1",
    "100m",
    "1Gi",
    "1e30",
    "1E",
    "9223372036854775808",
    "0.0000000001",
    "1n",
    "1Ki",
    "99999999999999999999Ei",
];
const DURATIONS: [&str; 9] = ["5m", "0s", "-1h", "1ns", "24h", "1h30m", "2562047h47m16s", "1.5h", "87600h"];
const TIMES: [&str; 6] = [
    "2023-07-27T20:00:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2023-07-27T20:00:00+14:00",
    "1969-12-31T23:59:59Z",
    "2016-12-31T23:59:59Z",
];
/// Pieces of text with a meaning for a parser.
const PIECES: [&str; 30] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "'",
    "\\",
    "\n",
    "- ",
    "? ",
    "null",
    "1e999",
    "-0",
    "99999999999999999999",
    "\u{0}",
    "\u{feff}",
    "\\u0000",
    "\\ud800",
    "&a ",
    "*a ",
    "<<: ",
    "!!binary ",
    "|",
    ">",
    "#",
    "%",
    "---\n",
    "\t",
];

/// Draws a value that fits a node.
pub(super) fn fitting(draws: &mut Draws<'_>, node: &Node, name: &str, depth: usize) -> Value {
    match node {
        Node::Object(reference) => object(draws, reference.get(), depth),
        Node::Map(values) => {
            let count = if depth == 0 { 0 } else { draws.below(3) };
            let mut entries = Map::new();
            for _ in 0..count {
                entries.insert(draws.one(&TEXTS).to_owned(), fitting(draws, values, name, depth - 1));
            }
            Value::Object(entries)
        }
        Node::List(items) => {
            let count = if depth == 0 { 0 } else { draws.one(&[1, 1, 1, 2, 3, 0]) };
            (0..count).map(|_| fitting(draws, items, name, depth - 1)).collect()
        }
        Node::String => json!(text(draws, name)),
        Node::Boolean => json!(draws.hits(2)),
        Node::Integer { bits, signed } => integer(draws, *bits, *signed),
        Node::Number => json!(draws.one(&[1.0, 0.0, -1.5, 1e300, 0.1])),
        Node::IntOrString => {
            if draws.hits(2) {
                json!(draws.one(&["25%", "1", "", "-1%", "101%", "http", "%"]))
            } else {
                integer(draws, 32, true)
            }
        }
        Node::Quantity => json!(draws.one(&QUANTITIES)),
        Node::Duration => json!(draws.one(&DURATIONS)),
        Node::Time => json!(draws.one(&TIMES)),
        Node::MicroTime => json!(draws.one(&["2023-07-27T20:00:00.123456Z", "0001-01-01T00:00:00.000000Z"])),
        Node::Bytes => json!(draws.one(&["YQ==", "", "AAEC", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="])),
        Node::Raw => any(draws, 3),
    }
}

fn object(draws: &mut Draws<'_>, schema: &ObjectSchema, depth: usize) -> Value {
    let mut fields = Map::new();
    for field in &schema.fields {
        let chosen = if field.required { draws.below(8) < 7 } else { draws.hits(4) };
        if chosen && depth > 0 {
            fields.insert(field.name.to_owned(), fitting(draws, &field.node, field.name, depth - 1));
        }
    }
    Value::Object(fields)
}

fn text(draws: &mut Draws<'_>, name: &str) -> String {
    if draws.hits(40) {
        return "y".repeat(draws.one(&[64, 254, 300, 5000]));
    }
    match name {
        "name" | "generateName" if draws.below(4) < 3 => draws.one(&["odd", "odd-1", "a"]).to_owned(),
        "version" if draws.below(4) < 3 => draws.one(&["1.27.1", "1.26.4", "v1", "v1beta1", "1.0.0"]).to_owned(),
        _ => draws.one(&TEXTS).to_owned(),
    }
}

fn integer(draws: &mut Draws<'_>, bits: u8, signed: bool) -> Value {
    let largest = if bits == 64 { i64::MAX } else { (1_i64 << (bits - u8::from(signed))) - 1 };
    match draws.below(if signed { 8 } else { 6 }) {
        0 => json!(1),
        1 => json!(0),
        2 => json!(80),
        3 => json!(7),
        4 => json!(largest),
        5 => json!(largest.min(65_536)),
        6 => json!(-1),
        _ => json!(-largest - 1),
    }
}

/// Draws a value of any type.
pub(super) fn any(draws: &mut Draws<'_>, depth: usize) -> Value {
    match draws.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(draws.one(&[0_i64, -1, i64::MIN, i64::MAX, 2_147_483_648, 7])),
        3 => json!(draws.one(&[1.5_f64, -0.0, 1e300])),
        4 => json!(draws.one(&PIECES)),
        5 => json!(draws.one(&TEXTS)),
        6 => (0..draws.below(4)).map(|_| any(draws, depth - 1)).collect(),
        _ => {
            const NAMES: [&str; 12] = [
                "name",
                "spec",
                "metadata",
                "labels",
                "x",
                "$patch",
                "$retainKeys",
                "kind",
                "apiVersion",
                "containers",
                "finalizers",
                "$setElementOrder/containers",
            ];
            let count = draws.below(4);
            let mut entries = Map::new();
            for _ in 0..count {
                entries.insert(draws.one(&NAMES).to_owned(), any(draws, depth - 1));
            }
            Value::Object(entries)
        }
    }
}

/// Returns pointers to every value of a tree.
fn places(tree: &Value) -> Vec<String> {
    fn walk(tree: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_owned());
        match tree {
            Value::Object(fields) => {
                for (name, value) in fields {
                    walk(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), all);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, &format!("{at}/{index}"), all);
                }
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    walk(tree, "", &mut all);
    all
}

/// Occasionally replaces values by ones of another type.
fn with_wrong_values(draws: &mut Draws<'_>, tree: &mut Value) {
    for _ in 0..draws.one(&[0, 0, 0, 1, 1, 2]) {
        let places = places(tree);
        let place = &places[draws.below(places.len())];
        let value = any(draws, 3);
        if let Some(old) = tree.pointer_mut(place) {
            *old = value;
        }
    }
}

/// Occasionally cuts, repeats, flips and inserts bytes.
pub(super) fn changed(draws: &mut Draws<'_>, bytes: &mut Vec<u8>) {
    for _ in 0..draws.one(&[0, 0, 0, 0, 1, 1, 2, 4]) {
        let at = draws.below(bytes.len() + 1);
        match draws.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.drain(at..(at + draws.below(20)).min(bytes.len())).for_each(drop),
            2 => {
                let copy = bytes[at..(at + draws.below(60)).min(bytes.len())].to_vec();
                bytes.splice(at..at, copy).for_each(drop);
            }
            3 => {
                let bit = draws.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            4 => {
                let value = u8::try_from(draws.below(256)).unwrap_or(0);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            _ => {
                let piece = draws.one(&PIECES);
                bytes.splice(at..at, piece.bytes()).for_each(drop);
            }
        }
    }
}

/// Draws an excessive body: deep, long, or aliases of aliases.
fn excessive(draws: &mut Draws<'_>) -> Vec<u8> {
    let count = draws.one(&[10, 100, 1000, 10_001, 60_000]);
    match draws.below(6) {
        0 => "[".repeat(count).into_bytes(),
        1 => format!("{}1{}", "{\"spec\":".repeat(count), "}".repeat(count)).into_bytes(),
        2 => "- ".repeat(count).into_bytes(),
        3 => format!("{{\"metadata\":{{\"name\":\"odd\",\"annotations\":{{\"a\":\"{}\"}}}}}}", "y".repeat(5 * count))
            .into_bytes(),
        4 => format!("[{}1]", "1,".repeat(count)).into_bytes(),
        _ => {
            let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
            for level in 1..10 {
                let before = format!("*a{}", level - 1);
                text = format!("{text}a{level}: &a{level} [{}]\n", vec![before; 8].join(", "));
            }
            text.into_bytes()
        }
    }
}

impl Target<'_> {
    /// Draws an object of the kind, with type and name.
    fn object(&self, draws: &mut Draws<'_>) -> Value {
        let info = self.info;
        let mut tree = fitting(draws, &(info.schema)(), "", DEPTH);
        if !tree.is_object() {
            tree = json!({});
        }
        if draws.below(8) < 7 {
            tree["apiVersion"] = json!(apimachinery::resource::group_version(info.group, info.version));
            tree["kind"] = json!(info.kind);
        }
        if !tree["metadata"].is_object() {
            tree["metadata"] = json!({});
        }
        if draws.below(8) < 7 {
            tree["metadata"]["name"] = json!(draws.one(&["odd", "odd", "odd-1", "odd-2"]));
            tree["metadata"]["namespace"] = if info.namespaced { json!(self.namespace) } else { Value::Null };
            for field in ["uid", "resourceVersion", "ownerReferences", "managedFields"] {
                if draws.below(8) < 7
                    && let Some(metadata) = tree["metadata"].as_object_mut()
                {
                    metadata.remove(field);
                }
            }
        }
        tree
    }

    /// Draws media type and body of an object.
    pub(super) fn object_body(&self, draws: &mut Draws<'_>) -> (&'static str, Vec<u8>) {
        let media =
            draws.one(&[JSON, JSON, JSON, YAML, YAML, PROTOBUF, PROTOBUF, "", "application/cbor", "text/plain"]);
        if draws.hits(24) {
            return (media, excessive(draws));
        }
        let mut tree = self.object(draws);
        with_wrong_values(draws, &mut tree);
        let mut bytes = match media {
            YAML => serde_yaml_ng::to_string(&tree).unwrap_or_default().into_bytes(),
            PROTOBUF => {
                (self.encode)(&tree).unwrap_or_else(|| b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x02\n\0".to_vec())
            }
            _ => tree.to_string().into_bytes(),
        };
        changed(draws, &mut bytes);
        (media, bytes)
    }

    /// Draws media type and body of a patch.
    pub(super) fn patch_body(&self, draws: &mut Draws<'_>) -> (&'static str, Vec<u8>) {
        let media = draws.one(&PATCHES);
        if draws.hits(24) {
            return (media, excessive(draws));
        }
        let mut tree = self.object(draws);
        let mut bytes = match media {
            "application/json-patch+json" => operations(draws, &tree).to_string().into_bytes(),
            "application/apply-patch+yaml" => {
                with_wrong_values(draws, &mut tree);
                serde_yaml_ng::to_string(&tree).unwrap_or_default().into_bytes()
            }
            _ => {
                if draws.hits(2) {
                    directives(draws, &mut tree);
                }
                with_wrong_values(draws, &mut tree);
                tree.to_string().into_bytes()
            }
        };
        changed(draws, &mut bytes);
        (media, bytes)
    }

    /// Draws options of a deletion; mostly none.
    pub(super) fn options_body(draws: &mut Draws<'_>) -> Vec<u8> {
        if draws.below(3) < 2 {
            return Vec::new();
        }
        let mut tree =
            fitting(draws, &<apimachinery::meta::DeleteOptions as apimachinery::schema::Schema>::node(), "", 4);
        with_wrong_values(draws, &mut tree);
        let mut bytes = tree.to_string().into_bytes();
        changed(draws, &mut bytes);
        bytes
    }
}

/// Draws operations of a JSON patch, at places that an object of the kind may have.
fn operations(draws: &mut Draws<'_>, tree: &Value) -> Value {
    let places = places(tree);
    let count = draws.below(6) + 1;
    let mut all = Vec::new();
    for _ in 0..count {
        let place = |draws: &mut Draws<'_>| {
            let place = places[draws.below(places.len())].clone();
            let end = draws.one(&["", "", "", "", "/-", "/x", "/0", "/-1", "/99999999999999999999", "~", "~2"]);
            format!("{place}{end}")
        };
        let operation = draws.one(&["replace", "add", "remove", "test", "copy", "move", "jump"]);
        let (path, from) = (place(draws), place(draws));
        let value = if draws.hits(3) { any(draws, 3) } else { tree.pointer(&from).cloned().unwrap_or_default() };
        all.push(json!({"op": operation, "path": path, "from": from, "value": value}));
    }
    Value::Array(all)
}

/// Adds directives of strategic merge patches to existing fields.
fn directives(draws: &mut Draws<'_>, tree: &mut Value) {
    for _ in 0..=draws.below(2) {
        let places = places(tree);
        let place = places[draws.below(places.len())].clone();
        let value = any(draws, 2);
        match tree.pointer_mut(&place) {
            Some(Value::Object(fields)) => {
                let name = fields.keys().next().cloned().unwrap_or_else(|| "x".to_owned());
                let (key, value) = match draws.below(5) {
                    0 => ("$patch".to_owned(), json!(draws.one(&["delete", "replace", "merge", "burn"]))),
                    1 => ("$retainKeys".to_owned(), json!([name])),
                    2 => (format!("$setElementOrder/{name}"), json!([{"name": "odd"}, {"name": "a"}])),
                    3 => (format!("$deleteFromPrimitiveList/{name}"), json!(["a", "odd"])),
                    _ => (draws.one(&["$patch", "$retainKeys", "$setElementOrder/x", "$nothing"]).to_owned(), value),
                };
                fields.insert(key, value);
            }
            Some(Value::Array(items)) => {
                items.push(if draws.hits(2) { value } else { json!({"$patch": "replace"}) });
            }
            _ => {}
        }
    }
}
