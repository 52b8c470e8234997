// SPDX-License-Identifier: Apache-2.0
//! A schema with one field changed or left out: the form that another release has.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{Node, ObjectRef, ObjectSchema};

/// Changed structs by the address of the original, the path from it to the field, and the change.
type ChangedStructs = BTreeMap<(usize, &'static [&'static str], Change), &'static ObjectSchema>;

/// Changed structs, so that a process builds each once, however many servers it runs.
static KNOWN: Mutex<ChangedStructs> = Mutex::new(BTreeMap::new());

/// The step of a path into each item of a list, or each value of a map.
pub const EACH: &str = "[]";

/// A change of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The field is left out.
    Without,
    /// The API demands the field.
    Required,
    /// A strategic merge patch merges the items of the list by this field.
    MergeKey(&'static str),
}

/// Returns the tree without the field at a path; a tree that has no such field is returned as it is.
pub fn without(node: Node, path: &'static [&'static str]) -> Node {
    changed(node, path, Change::Without)
}

/// Returns the tree with a change of the field at a path; a tree that has no such field is returned as it is.
pub fn changed(node: Node, path: &'static [&'static str], change: Change) -> Node {
    below(&node, path, change).unwrap_or(node)
}

/// Returns the changed tree; `None`: there is no such field.
fn below(node: &Node, path: &'static [&'static str], change: Change) -> Option<Node> {
    match (node, path.split_first()?) {
        (Node::List(item), (&EACH, rest)) => Some(Node::List(Box::new(below(item, rest, change)?))),
        (Node::Map(value), (&EACH, rest)) => Some(Node::Map(Box::new(below(value, rest, change)?))),
        _ => Some(Node::Object(ObjectRef::Partial(partial(node.as_object()?, path, change)?))),
    }
}

fn partial(
    schema: &'static ObjectSchema,
    path: &'static [&'static str],
    change: Change,
) -> Option<&'static ObjectSchema> {
    let key = (std::ptr::from_ref(schema).addr(), path, change);
    let known = |made: Option<&'static ObjectSchema>| {
        let mut known = KNOWN.lock();
        match made {
            Some(made) => Some(*known.entry(key).or_insert(made)),
            None => known.get(&key).copied(),
        }
    };
    if let Some(found) = known(None) {
        return Some(found);
    }
    let (name, rest) = path.split_first()?;
    let at = schema.fields.iter().position(|field| field.name == *name)?;
    let mut fields = schema.fields.clone();
    match change {
        _ if !rest.is_empty() => fields[at].node = below(&fields[at].node, rest, change)?,
        Change::Without => {
            fields.remove(at);
        }
        Change::Required => fields[at].required = true,
        Change::MergeKey(key) => {
            (fields[at].merge_key, fields[at].patch_strategy) = (Some(key), Some("merge"));
        }
    }
    let ObjectSchema { name, package, description, .. } = *schema;
    known(Some(Box::leak(Box::new(ObjectSchema { name, package, description, fields }))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::ObjectMeta;
    use crate::schema::Schema as _;

    #[test]
    fn a_field_below_lists_and_maps_is_left_out() {
        let whole = Node::Map(Box::new(ObjectMeta::node()));
        let path = &[EACH, "ownerReferences", EACH, "controller"];
        let below = |node: &Node| {
            let Node::Map(value) = node else { return Vec::new() };
            match &value.as_object().and_then(|schema| schema.field("ownerReferences")).map(|field| field.node.clone())
            {
                Some(Node::List(item)) => names(item),
                _ => Vec::new(),
            }
        };
        let expected: Vec<&str> = below(&whole).into_iter().filter(|name| *name != "controller").collect();
        assert_eq!(below(&without(whole.clone(), path)), expected);
        for path in [&[EACH, "name", EACH] as &[&str], &["name"], &[EACH, EACH, "name"]] {
            assert_eq!(below(&without(whole.clone(), path)), below(&whole), "{path:?}");
        }
    }

    fn names(node: &Node) -> Vec<&'static str> {
        node.as_object().expect("a struct").fields.iter().map(|field| field.name).collect()
    }

    #[test]
    fn attributes_of_a_field_are_changed() {
        let whole = ObjectMeta::node();
        let field = |node: &Node, name: &str| node.as_object().and_then(|schema| schema.field(name)).cloned();
        let required = changed(whole.clone(), &["generateName"], Change::Required);
        assert!(!field(&whole, "generateName").expect("a field").required);
        assert!(field(&required, "generateName").expect("a field").required);
        assert_eq!(names(&required), names(&whole));
        let merged = changed(required, &["finalizers"], Change::MergeKey("uid"));
        let finalizers = field(&merged, "finalizers").expect("a field");
        assert_eq!((finalizers.merge_key, finalizers.patch_strategy), (Some("uid"), Some("merge")));
        assert!(field(&merged, "generateName").expect("a field").required, "one change after the other");
    }

    #[test]
    fn a_field_is_left_out_and_all_else_stays() {
        let whole = ObjectMeta::node();
        let partial = without(whole.clone(), &["generateName"]);
        let expected: Vec<&str> = names(&whole).into_iter().filter(|name| *name != "generateName").collect();
        assert_eq!(names(&partial), expected);
        assert_eq!(partial.go_type(), whole.go_type());
        let again = without(whole.clone(), &["generateName"]);
        assert!(std::ptr::eq(partial.as_object().expect("a struct"), again.as_object().expect("a struct")));
        for path in [&["nonsense"] as &[&str], &["name", "below"], &[]] {
            assert_eq!(names(&without(whole.clone(), path)), names(&whole), "{path:?}");
        }
    }
}
