// SPDX-License-Identifier: Apache-2.0
//! Updates that change nothing but heartbeat fields: they reach watchers and are not history.

use eventlog::Sections;
use serde_json::Value;

use crate::kind::Names;

/// Number of the section that holds the status; the section before it holds everything else except metadata.
const STATUS: usize = 4;

/// True if an update changes heartbeat fields of the kind and nothing else.
pub(crate) fn is_only(names: &Names, old: &Sections, new: &Sections) -> bool {
    let paths: Vec<Vec<&str>> = names.info.heartbeat_fields.iter().map(|path| segments(path)).collect();
    if paths.is_empty() {
        return false;
    }
    // A section that differs must hold a heartbeat field; otherwise there is no need to read it.
    let may_differ = |section: usize| {
        let in_section = |path: &Vec<&str>| (path.first() == Some(&"status")) == (section == STATUS);
        section >= STATUS - 1 && paths.iter().any(in_section)
    };
    let differing = (0..=STATUS).filter(|section| old.parts[*section] != new.parts[*section]);
    differing.into_iter().all(|section| {
        let trees = may_differ(section).then(|| Some((tree(old, section)?, tree(new, section)?))).flatten();
        trees.is_some_and(|(mut before, mut after)| {
            for path in &paths {
                remove(&mut before, path);
                remove(&mut after, path);
            }
            before == after
        })
    })
}

fn segments(path: &str) -> Vec<&str> {
    path.split('.').filter(|segment| !segment.is_empty()).collect()
}

/// The fields of one of the last two sections.
fn tree(sections: &Sections, section: usize) -> Option<Value> {
    let text = sections.parts[section].strip_prefix(b",").unwrap_or(&sections.parts[section]);
    let mut object = Vec::with_capacity(text.len() + 2);
    // The brace that closes the object belongs to the last section.
    object.push(b'{');
    object.extend_from_slice(text);
    if section != STATUS {
        object.push(b'}');
    }
    serde_json::from_slice(&object).ok()
}

/// Removes the value at a path; `name[]` or `name[*]` goes through every item of a list.
fn remove(node: &mut Value, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    let name = first.trim_end_matches("[*]").trim_end_matches("[]");
    let Value::Object(fields) = node else { return };
    if rest.is_empty() {
        fields.remove(name);
        return;
    }
    match fields.get_mut(name) {
        Some(Value::Array(items)) => items.iter_mut().for_each(|item| remove(item, rest)),
        Some(below) => remove(below, rest),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Sections, remove, tree};

    #[test]
    fn sections_are_read_by_themselves() {
        let sections = |rest: &str, status: &str| {
            let parts = ["", "", "", rest, status].map(|text| bytes::Bytes::copy_from_slice(text.as_bytes()));
            Sections { parts }
        };
        let both = sections(r#","spec":{"a":1},"x":2"#, r#","status":{"b":1}}"#);
        assert_eq!(tree(&both, 3), Some(json!({"spec": {"a": 1}, "x": 2})));
        assert_eq!(tree(&both, 4), Some(json!({"status": {"b": 1}})));
        let none = sections("", "}");
        assert_eq!((tree(&none, 3), tree(&none, 4)), (Some(json!({})), Some(json!({}))));
    }

    #[test]
    fn paths_traverse_lists() {
        let mut tree = json!({"status": {"conditions": [{"type": "A", "t": 1}, {"type": "B", "t": 2}], "x": 1}});
        remove(&mut tree, &["status", "conditions[]", "t"]);
        remove(&mut tree, &["status", "x"]);
        assert_eq!(tree, json!({"status": {"conditions": [{"type": "A"}, {"type": "B"}]}}));
    }
}
