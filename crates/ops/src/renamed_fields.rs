// SPDX-License-Identifier: Apache-2.0
//! Fields that a release of Gardener has renamed: their names at a release, and in another state of the object.

use apimachinery::catalogue::ResourceInfo;
use apimachinery::release::Release;
use apimachinery::schema::EACH;
use serde_json::Value;

/// Gives renamed fields of a tree the names of a release.
pub fn at_release(tree: &mut Value, row: &ResourceInfo, release: Release) {
    for (path, own) in row.at(release).foreign_names() {
        rename(tree, path, own);
    }
}

/// Gives renamed fields of a tree the names that they have in another state of the object.
pub(crate) fn like(tree: &mut Value, other: &Value, row: &ResourceInfo) {
    let names = row.life.renamed_fields.iter().flat_map(|field| [(field.former, field.new), (field.new, field.former)]);
    for (path, own) in names.filter(|(_, own)| first_place(other, own).is_some()) {
        if let Some(name) = own.last() {
            rename(tree, path, name);
        }
    }
}

/// Renames the field at a path wherever its parent does not have the new name.
fn rename(tree: &mut Value, path: &[&str], to: &str) {
    match (tree, path) {
        (Value::Object(fields), [name]) => {
            if let Some(value) = fields.remove(*name) {
                fields.entry(to).or_insert(value);
            }
        }
        (Value::Array(items), [EACH, rest @ ..]) => items.iter_mut().for_each(|item| rename(item, rest, to)),
        (Value::Object(fields), [name, rest @ ..]) => {
            if let Some(value) = fields.get_mut(*name) {
                rename(value, rest, to);
            }
        }
        _ => {}
    }
}

/// First place of a field in a tree: its path with indices.
pub(crate) fn first_place(tree: &Value, path: &[&str]) -> Option<String> {
    let Some((name, rest)) = path.split_first() else {
        return (!tree.is_null()).then(String::new);
    };
    let join = |step: String, below: String| {
        let dot = if below.is_empty() || below.starts_with('[') { "" } else { "." };
        format!("{step}{dot}{below}")
    };
    match tree {
        Value::Array(items) if *name == EACH => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(join(format!("[{index}]"), first_place(item, rest)?))),
        Value::Object(fields) if *name == EACH => {
            fields.iter().find_map(|(key, value)| Some(join(format!("[{key}]"), first_place(value, rest)?)))
        }
        Value::Object(fields) => Some(join((*name).to_owned(), first_place(fields.get(*name)?, rest)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use api::catalogue;
    use serde_json::json;

    use super::*;

    #[test]
    fn renamed_fields_have_the_names_of_a_release_or_of_another_state() {
        let row = catalogue::find_kind("core.gardener.cloud", "v1beta1", "CloudProfile").expect("a row");
        let profile = |capabilities: &str, flavors: &str| {
            let image =
                json!({ "name": "a", "versions": [{ "version": "1.0.0", flavors: [{ "architecture": ["amd64"] }] }] });
            json!({ "spec": { capabilities: [{ "name": "architecture" }], "machineImages": [image] } })
        };
        let (former, new) =
            (profile("capabilities", "capabilitySets"), profile("machineCapabilities", "capabilityFlavors"));
        let at = |tree: &Value, release: u16| {
            let mut tree = tree.clone();
            at_release(&mut tree, row, Release(release));
            tree
        };
        let like = |tree: &Value, other: &Value| {
            let mut tree = tree.clone();
            super::like(&mut tree, other, row);
            tree
        };
        for tree in [&former, &new] {
            assert_eq!((at(tree, 127), at(tree, 128)), (former.clone(), new.clone()));
            assert_eq!((like(tree, &former), like(tree, &new)), (former.clone(), new.clone()));
            assert_eq!(like(tree, &json!({ "spec": {} })), *tree, "removed fields keep their names");
        }
    }
}
