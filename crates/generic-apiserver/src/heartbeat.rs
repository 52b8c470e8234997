// SPDX-License-Identifier: Apache-2.0
//! Updates that change nothing but heartbeat fields: they reach watchers and are not history.

use eventlog::Sections;
use serde_json::Value;

use crate::kind::Names;
use crate::storage::stored::Stored;

/// Whether an update changes heartbeat fields of the kind and nothing else.
pub(crate) fn is_only(names: &Names, stored: &Stored, new: &Sections) -> bool {
    let paths = names.info.heartbeat_fields;
    if paths.is_empty() {
        return false;
    }
    let new = Stored::new(&stored.key(&names.log_resource), stored.revision, new.clone());
    let (Ok(mut before), Ok(mut after)) = (tree(stored), tree(&new)) else { return false };
    for path in paths {
        let segments: Vec<&str> = path.split('.').filter(|segment| !segment.is_empty()).collect();
        remove(&mut before, &segments);
        remove(&mut after, &segments);
    }
    before == after
}

fn tree(object: &Stored) -> serde_json::Result<Value> {
    serde_json::from_slice(&object.bytes())
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

    use super::remove;

    #[test]
    fn paths_go_through_lists() {
        let mut tree = json!({"status": {"conditions": [{"type": "A", "t": 1}, {"type": "B", "t": 2}], "x": 1}});
        remove(&mut tree, &["status", "conditions[]", "t"]);
        remove(&mut tree, &["status", "x"]);
        assert_eq!(tree, json!({"status": {"conditions": [{"type": "A"}, {"type": "B"}]}}));
    }
}
