// SPDX-License-Identifier: Apache-2.0
//! The claims of a StatefulSet's pods: their names, templates and owners.
//!
//! Source: k8s.io/kubernetes pkg/controller/statefulset/stateful_set_utils.go (`claimOwnerMatchesSetAndPod`,
//! `updateClaimOwnerRefForSetAndPod`, `getPersistentVolumeClaims`).

use apimachinery::Resource;
use apimachinery::meta::{ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::objects::{NewClaim, RetentionPolicy, StatefulSet};
use super::template;

/// Owner with which a claim is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimOwner {
    /// No owner: the claim is retained.
    Stays,
    /// StatefulSet of the claim.
    WithSet,
    /// Surplus pod of the claim.
    WithPod,
}

/// Returns the owner with which the claims of a pod are deleted. `is_surplus`: the set was scaled down, and the pod is
/// removed.
pub(crate) fn fate(policy: Option<&RetentionPolicy>, is_surplus: bool) -> ClaimOwner {
    let is_deleted = |when: fn(&RetentionPolicy) -> &String| policy.is_some_and(|policy| when(policy) == "Delete");
    if is_surplus && is_deleted(|policy| &policy.when_scaled) {
        ClaimOwner::WithPod
    } else if is_deleted(|policy| &policy.when_deleted) {
        ClaimOwner::WithSet
    } else {
        ClaimOwner::Stays
    }
}

/// Returns the names of the claim templates, with the names of a pod's claims: `TEMPLATE-POD`.
pub(crate) fn names<'a>(templates: &'a [Value], pod: &'a str) -> impl Iterator<Item = (&'a str, String)> {
    let names = templates.iter().filter_map(|template| template["metadata"]["name"].as_str());
    names.map(move |name| (name, format!("{name}-{pod}")))
}

/// Returns the volumes by which a pod refers to its claims.
pub(crate) fn volumes(templates: &[Value], pod: &str) -> Vec<Value> {
    let volume = |(name, claim): (&str, String)| {
        let claim = json!({ "claimName": claim });
        json!({ "name": name, "persistentVolumeClaim": claim })
    };
    names(templates, pod).map(volume).collect()
}

/// Returns the claims to create for a pod.
pub(crate) fn new_claims(set: &StatefulSet, pod: &str) -> Vec<NewClaim> {
    let selector = set.spec.selector.as_ref().map(|selector| selector.match_labels.clone()).unwrap_or_default();
    let of = |template: &Value| {
        let name = template["metadata"]["name"].as_str()?;
        let mut metadata = ObjectMeta::named(&set.metadata.namespace, &format!("{name}-{pod}"));
        metadata.labels = template::texts(template, "labels");
        metadata.labels.extend(selector.iter().map(|(key, value)| (key.clone(), value.clone())));
        metadata.annotations = template::texts(template, "annotations");
        if fate(set.spec.persistent_volume_claim_retention_policy.as_ref(), false) == ClaimOwner::WithSet {
            metadata.owner_references.push(reference::<StatefulSet>(&set.metadata));
        }
        Some(NewClaim { metadata, spec: template["spec"].clone() })
    };
    set.spec.volume_claim_templates.iter().filter_map(of).collect()
}

fn reference<O: Resource>(owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: O::api_version(),
        kind: O::KIND.to_owned(),
        name: owner.name.clone(),
        uid: owner.uid.clone(),
        ..OwnerReference::default()
    }
}

/// Returns the owner references that a claim should have: the present ones except set and pod, and the one of its fate.
pub(crate) fn owners<P: Resource>(
    present: &[OwnerReference],
    fate: ClaimOwner,
    set: &ObjectMeta,
    pod: &ObjectMeta,
) -> Vec<OwnerReference> {
    let wanted = match fate {
        ClaimOwner::Stays => None,
        ClaimOwner::WithSet => Some(reference::<StatefulSet>(set)),
        ClaimOwner::WithPod => Some(reference::<P>(pod)),
    };
    let is_of = |it: &OwnerReference, kind: &str, name: &str| it.kind == kind && it.name == name;
    let is_other = |it: &&OwnerReference| {
        let is_wanted = wanted.as_ref().is_some_and(|wanted| wanted.uid == it.uid);
        is_wanted || !(is_of(it, StatefulSet::KIND, &set.name) || is_of(it, P::KIND, &pod.name))
    };
    let mut owners: Vec<OwnerReference> = present.iter().filter(is_other).cloned().collect();
    if let Some(wanted) = wanted.filter(|wanted| !owners.iter().any(|it| it.uid == wanted.uid)) {
        owners.push(wanted);
    }
    owners
}

/// True if a name is that of a claim of the set.
pub(crate) fn is_of(set: &StatefulSet, claim: &str) -> bool {
    let templates = set.spec.volume_claim_templates.iter().filter_map(|it| it["metadata"]["name"].as_str());
    let mut rests = templates.filter_map(|name| claim.strip_prefix(name)?.strip_prefix('-'));
    rests.any(|pod| pod.strip_prefix(set.metadata.name.as_str()).is_some_and(|rest| rest.starts_with('-')))
}

#[cfg(test)]
mod tests {
    use api::kubernetes::core::Pod;
    use apimachinery::meta::TextMap;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> TextMap {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn set(policy: Value) -> StatefulSet {
        let template = json!({
            "metadata": {"name": "data", "labels": {"tier": "x"}, "annotations": {"note": "y"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        });
        let value = json!({
            "metadata": {"name": "db", "namespace": "n", "uid": "s"},
            "spec": {
                "selector": {"matchLabels": {"app": "db"}}, "volumeClaimTemplates": [template],
                "persistentVolumeClaimRetentionPolicy": policy,
            },
        });
        apimachinery::wire::from_tree(value).expect("a StatefulSet")
    }

    /// "whenDeleted: Configures the volume retention behavior that applies when the StatefulSet is deleted. whenScaled:
    /// … when the replica count of the StatefulSet is reduced"; "Retain … is the default".
    #[test]
    fn owners_of_claims_follow_the_policy() {
        for (deleted, scaled, of_needed, of_surplus) in [
            ("Retain", "Retain", ClaimOwner::Stays, ClaimOwner::Stays),
            ("Delete", "Retain", ClaimOwner::WithSet, ClaimOwner::WithSet),
            ("Retain", "Delete", ClaimOwner::Stays, ClaimOwner::WithPod),
            ("Delete", "Delete", ClaimOwner::WithSet, ClaimOwner::WithPod),
        ] {
            let policy = RetentionPolicy { when_deleted: deleted.into(), when_scaled: scaled.into() };
            assert_eq!(fate(Some(&policy), false), of_needed, "{deleted} {scaled}");
            assert_eq!(fate(Some(&policy), true), of_surplus, "{deleted} {scaled}");
        }
        assert_eq!(fate(None, true), ClaimOwner::Stays);
    }

    #[test]
    fn claims_are_made_of_templates() {
        let claims = new_claims(&set(Value::Null), "db-0");
        assert_eq!(claims.len(), 1);
        assert_eq!((claims[0].metadata.name.as_str(), claims[0].metadata.namespace.as_str()), ("data-db-0", "n"));
        assert_eq!(claims[0].metadata.labels, labels(&[("app", "db"), ("tier", "x")]));
        assert_eq!(claims[0].metadata.annotations, labels(&[("note", "y")]));
        assert_eq!(claims[0].spec["resources"]["requests"]["storage"], "1Gi");
        assert!(claims[0].metadata.owner_references.is_empty());
        let owned = new_claims(&set(json!({"whenDeleted": "Delete", "whenScaled": "Retain"})), "db-0");
        assert_eq!(owned[0].metadata.owner_references[0].uid, "s");
        let volume = json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]);
        assert_eq!(json!(volumes(&set(Value::Null).spec.volume_claim_templates, "db-0")), volume);
        for (claim, expected) in [("data-db-0", true), ("data-db", false), ("data-dbx-0", false), ("x-db-0", false)] {
            assert_eq!(is_of(&set(Value::Null), claim), expected, "{claim}");
        }
    }

    #[test]
    fn owner_references_of_a_claim_follow_its_fate() {
        let set = set(Value::Null).metadata;
        let pod = ObjectMeta { uid: "p".into(), ..ObjectMeta::named("n", "db-0") };
        let other = OwnerReference { kind: "Other".into(), uid: "o".into(), ..OwnerReference::default() };
        let uids = |present: &[OwnerReference], fate: ClaimOwner| {
            owners::<Pod>(present, fate, &set, &pod).into_iter().map(|it| it.uid).collect::<Vec<_>>()
        };
        let with_set = owners::<Pod>(std::slice::from_ref(&other), ClaimOwner::WithSet, &set, &pod);
        assert_eq!(uids(&with_set, ClaimOwner::WithSet), ["o", "s"]);
        assert_eq!(uids(&with_set, ClaimOwner::WithPod), ["o", "p"]);
        assert_eq!(uids(&with_set, ClaimOwner::Stays), ["o"]);
        assert_eq!(uids(&[other], ClaimOwner::WithPod), ["o", "p"]);
    }
}
