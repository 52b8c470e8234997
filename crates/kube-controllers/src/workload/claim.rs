// SPDX-License-Identifier: Apache-2.0
//! Adoption and release of objects by a controller: it owns those that its selector selects, and adopts orphans that it
//! selects.
//!
//! Source: k8s.io/kubernetes pkg/controller/controller_ref_manager.go.

use std::sync::Arc;

use apimachinery::Resource;
use apimachinery::meta::{LabelSelector, ObjectMeta, OwnerReference};
use apimachinery::selector::Labels;
use controller::{Api, Error};

use super::objects::controller_uid;

/// Returns the parsed selector; `None` if it is missing, invalid or selects everything: then the object is left alone.
pub(crate) fn selector(selector: Option<&LabelSelector>) -> Option<Labels> {
    Labels::from_selector(selector?).ok().filter(|labels| !labels.is_empty())
}

/// Returns a reference that makes `owner` the managing controller.
pub(crate) fn reference<O: Resource>(owner: &O) -> OwnerReference {
    OwnerReference {
        api_version: O::api_version(),
        kind: O::KIND.to_owned(),
        name: owner.metadata().name.clone(),
        uid: owner.metadata().uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Decision about an object of the owner's namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    Keep,
    Leave,
    Release,
    Adopt,
}

fn decide(owner: &ObjectMeta, selector: &Labels, object: &ObjectMeta) -> Claim {
    let selected = selector.matches(&object.labels);
    match controller_uid(object) {
        Some(uid) if uid != owner.uid => Claim::Leave,
        Some(_) if selected => Claim::Keep,
        Some(_) if owner.is_being_deleted() => Claim::Leave,
        Some(_) => Claim::Release,
        None if !selected || owner.is_being_deleted() || object.is_being_deleted() => Claim::Leave,
        None => Claim::Adopt,
    }
}

/// Adopts and releases candidates, and returns those that belong to `owner`. Before the first adoption the owner is
/// read again through `owners`, since its local copy may be out of date.
pub(crate) async fn claim<O: Resource, K: Resource>(
    owners: &Api<O>,
    owner: &O,
    selector: &Labels,
    objects: &Api<K>,
    candidates: Vec<Arc<K>>,
) -> Result<Vec<Arc<K>>, Error> {
    let metadata = owner.metadata();
    let mut confirmed = false;
    let mut claimed = Vec::new();
    for object in candidates {
        match decide(metadata, selector, object.metadata()) {
            Claim::Keep => claimed.push(object),
            Claim::Leave => {}
            Claim::Release => {
                let mut new = K::clone(&object);
                new.metadata_mut().owner_references.retain(|reference| reference.uid != metadata.uid);
                match objects.update(&object, &new).await {
                    Err(error) if !error.is_not_found() => return Err(error),
                    _ => {}
                }
            }
            Claim::Adopt => {
                if !confirmed {
                    let fresh = owners.in_namespace_of(owner).get_opt(&metadata.name).await?;
                    let same = |fresh: &O| fresh.metadata().uid == metadata.uid && !fresh.metadata().is_being_deleted();
                    if !fresh.as_ref().is_some_and(same) {
                        return Err(Error::Failed(format!("{} {} was replaced", O::KIND, metadata.name)));
                    }
                    confirmed = true;
                }
                let mut new = K::clone(&object);
                new.metadata_mut().owner_references.push(reference(owner));
                match objects.update(&object, &new).await {
                    Ok(written) => {
                        new.metadata_mut().resource_version.clone_from(&written.metadata().resource_version);
                        claimed.push(Arc::new(new));
                    }
                    Err(error) if error.is_not_found() => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(claimed)
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::Time;

    use super::*;

    fn object(label: &str, controller: Option<&str>, deleted: bool) -> ObjectMeta {
        let mut metadata = ObjectMeta::named("n", "o");
        metadata.labels.insert("app".to_owned(), label.to_owned());
        metadata.deletion_timestamp = deleted.then(Time::default);
        metadata.owner_references.extend(controller.map(|uid| OwnerReference {
            uid: uid.to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }));
        metadata
    }

    #[test]
    fn selected_objects_are_kept_and_orphans_adopted() {
        let selector = Labels::exact([("app", "web")]);
        for (label, controller, deleted, owner_deleted, expected) in [
            ("web", Some("me"), false, false, Claim::Keep),
            ("web", Some("me"), true, false, Claim::Keep),
            ("web", Some("other"), false, false, Claim::Leave),
            ("other", Some("me"), false, false, Claim::Release),
            ("other", Some("me"), false, true, Claim::Leave),
            ("web", None, false, false, Claim::Adopt),
            ("web", None, true, false, Claim::Leave),
            ("web", None, false, true, Claim::Leave),
            ("other", None, false, false, Claim::Leave),
        ] {
            let mut owner = ObjectMeta { uid: "me".to_owned(), ..ObjectMeta::default() };
            owner.deletion_timestamp = owner_deleted.then(Time::default);
            let found = decide(&owner, &selector, &object(label, controller, deleted));
            assert_eq!(found, expected, "{label} {controller:?} {deleted} {owner_deleted}");
        }
    }
}
