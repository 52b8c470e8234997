// SPDX-License-Identifier: Apache-2.0
//! Copies of garden objects for Cluster objects: CloudProfile and Seed change rarely and are copied twice in each
//! reconciliation of each Shoot, so their serialized texts are cached.

use std::collections::BTreeMap;

use apimachinery::Resource;
use apimachinery::encode::to_tree;
use apimachinery::meta::RawExtension;
use parking_lot::Mutex;
use serde_json::Value;

/// Kind, namespace and name of an object.
type CopyKey = (&'static str, String, String);

/// Cached copy of each object, with its resource version.
#[derive(Debug, Default)]
pub(crate) struct Copies(Mutex<BTreeMap<CopyKey, (String, RawExtension)>>);

impl Copies {
    /// Returns the copy of an object.
    pub(crate) fn of<K: Resource>(&self, object: &K) -> RawExtension {
        let meta = object.metadata();
        let whose = (K::KIND, meta.namespace.clone(), meta.name.clone());
        let mut known = self.0.lock();
        if let Some((version, copy)) = known.get(&whose)
            && *version == meta.resource_version
        {
            return copy.clone();
        }
        let copy = RawExtension::from(copied_tree(object));
        known.insert(whose, (meta.resource_version.clone(), copy.clone()));
        copy
    }
}

/// Returns an object as a tree without its managed fields, which no reader of a copy needs.
pub(crate) fn copied_tree<K: Resource>(object: &K) -> Value {
    let mut tree = to_tree(object);
    if let Some(metadata) = tree.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    tree
}

#[cfg(test)]
mod tests {
    use api::core::Seed;
    use apimachinery::meta::{ManagedFieldsEntry, ObjectMeta};

    use super::*;

    #[test]
    fn each_version_is_copied_once() {
        let copies = Copies::default();
        let mut seed = Seed { metadata: ObjectMeta::named("", "local"), ..Seed::default() };
        seed.metadata.resource_version = "7".to_owned();
        seed.metadata.managed_fields = vec![ManagedFieldsEntry::default()];
        let first = copies.of(&seed);
        assert_eq!(first.value()["metadata"]["name"], "local");
        assert_eq!(first.value()["metadata"].get("managedFields"), None);
        seed.spec.provider.region = "here".to_owned();
        assert_eq!(copies.of(&seed), first, "nothing changes without a new version");
        seed.metadata.resource_version = "8".to_owned();
        assert_eq!(copies.of(&seed).value()["spec"]["provider"]["region"], "here");
        seed.metadata.name = "other".to_owned();
        assert_eq!(copies.of(&seed).value()["metadata"]["name"], "other");
    }
}
