// SPDX-License-Identifier: Apache-2.0
//! A schema without a field: what a release knows that is older than the field.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{Field, Node, ObjectRef, ObjectSchema};

/// A struct by its address, and the path that it lacks.
type Known = BTreeMap<(usize, &'static [&'static str]), &'static ObjectSchema>;

/// Structs that were made, so that a process makes each once however many servers it runs.
static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());

/// The tree without the field at a path of structs; a tree that has no such field is returned as it is.
pub fn without(node: Node, path: &'static [&'static str]) -> Node {
    let Some(schema) = node.as_object() else { return node };
    match partial(schema, path) {
        Some(schema) => Node::Object(ObjectRef::Partial(schema)),
        None => node,
    }
}

fn partial(schema: &'static ObjectSchema, path: &'static [&'static str]) -> Option<&'static ObjectSchema> {
    let key = (std::ptr::from_ref(schema).addr(), path);
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
    if rest.is_empty() {
        fields.remove(at);
    } else {
        let child = partial(fields[at].node.as_object()?, rest)?;
        fields[at] = Field { node: Node::Object(ObjectRef::Partial(child)), ..fields[at].clone() };
    }
    let ObjectSchema { name, package, description, .. } = *schema;
    known(Some(Box::leak(Box::new(ObjectSchema { name, package, description, fields }))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::ObjectMeta;
    use crate::schema::Schema as _;

    fn names(node: &Node) -> Vec<&'static str> {
        node.as_object().expect("a struct").fields.iter().map(|field| field.name).collect()
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
