// SPDX-License-Identifier: Apache-2.0
//! ControllerRevisions: current and former templates of a StatefulSet or a DaemonSet, for `kubectl rollout history` and
//! `undo`.
//!
//! A revision's name consists of its owner's name and the hash of its template. The newest has the highest number: a
//! template that is restored gets a new number instead of a second revision.
//!
//! Source: k8s.io/kubernetes pkg/controller/history/controller_history.go, pkg/controller/statefulset
//! (getStatefulSetRevisions, truncateHistory), pkg/controller/daemon/update.go (constructHistory, cleanupHistory).

use std::collections::BTreeSet;
use std::sync::Arc;

use api::constants::annotation;
use apimachinery::meta::ObjectMeta;
use apimachinery::selector::Labels;
use controller::{Change, Error, ObjectKey};
use serde_json::{Value, json};

use super::objects::ControllerRevision;
use super::pod_control::Owner;
use super::{Workload, claim, cluster_of, is_terminating, placed, template};

/// Default number of revisions that are kept in addition to those in use.
const LIMIT: i32 = 10;

/// Outcome of recording a template.
pub(crate) enum Recorded {
    /// The revision exists: all revisions of the owner.
    Done(Vec<Arc<ControllerRevision>>),
    /// The revision was written and is not in the local copy yet: its change triggers a pass.
    Unseen,
    /// The name belongs to the revision of another template.
    Collision,
}

/// Returns the name of a revision: `web-5d9c7b`.
pub(crate) fn name(owner: &str, hash: &str) -> String {
    format!("{owner}-{hash}")
}

/// Returns a revision's data: a patch that restores its template, as `kubectl rollout undo` sends it.
fn data(template: &Value) -> Value {
    let mut template = template.clone();
    if template.is_object() {
        template["$patch"] = json!("replace");
        if template["metadata"].is_object() {
            // Written as Go does: kubectl compares texts to detect whether there is anything to undo.
            template["metadata"]["creationTimestamp"] = Value::Null;
        }
    }
    json!({ "spec": { "template": template } })
}

/// Returns the template that a revision restores.
pub(crate) fn template_of(revision: &ControllerRevision) -> Value {
    let mut template = revision.data["spec"]["template"].clone();
    if let Some(fields) = template.as_object_mut() {
        fields.remove("$patch");
    }
    template
}

/// Write that makes a template's revision the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    /// The revision gets this number.
    Renumber(i64),
    /// The revision is created with this number.
    Create(i64),
}

/// Returns the required write. `known`: names and numbers of the existing revisions.
fn step<'a>(known: impl Iterator<Item = (&'a str, i64)> + Clone, name: &str) -> Step {
    let newest = known.clone().map(|(_, number)| number).max().unwrap_or(0);
    let others = known.clone().filter(|(other, _)| *other != name).map(|(_, number)| number).max().unwrap_or(0);
    match known.clone().find(|(other, _)| *other == name) {
        None => Step::Create(newest.saturating_add(1)),
        Some((_, number)) if number > others => Step::Nothing,
        Some(_) => Step::Renumber(newest.saturating_add(1)),
    }
}

/// Returns the revisions beyond the limit that can be deleted: the lowest numbers that are not in use.
fn surplus<'a>(
    known: &'a [Arc<ControllerRevision>],
    in_use: &BTreeSet<String>,
    limit: Option<i32>,
) -> Vec<&'a ControllerRevision> {
    let mut unused: Vec<&ControllerRevision> = known.iter().map(|revision| &**revision).collect();
    unused.retain(|revision| !in_use.contains(&revision.metadata.name) && !revision.metadata.is_being_deleted());
    unused.sort_by(|a, b| (a.revision, &a.metadata.name).cmp(&(b.revision, &b.metadata.name)));
    let kept = usize::try_from(limit.unwrap_or(LIMIT)).unwrap_or(0);
    unused.truncate(unused.len().saturating_sub(kept));
    unused
}

impl Workload {
    /// Returns the owner of a revision that was created or deleted; other changes concern none.
    pub(crate) fn revised<O: Owner>(change: &Change<ControllerRevision>) -> Vec<ObjectKey> {
        let is_changed = change.old.is_some() && change.new.is_some();
        let state = change.new.as_ref().or(change.old.as_ref()).filter(|_| !is_changed);
        state.and_then(|state| Self::owner_key::<O, _>(&change.key, &**state)).into_iter().collect()
    }

    /// Records the owner's template; `hash`: hash of the template.
    pub(crate) async fn record_revision<O: Owner>(
        &self,
        key: &ObjectKey,
        owner: &O,
        selector: &Labels,
        hash: &str,
    ) -> Result<Recorded, Error> {
        let near = self.revisions.list_in(&key.cluster, &key.namespace);
        let mut known = claim::claim(&self.api(), owner, selector, &self.api(), near).await?;
        let name = name(&key.name, hash);
        let numbers = known.iter().map(|it| (it.metadata.name.as_str(), it.revision));
        let written = match step(numbers, &name) {
            Step::Nothing => return Ok(Recorded::Done(known)),
            Step::Renumber(number) => {
                let Some(place) = known.iter().position(|it| it.metadata.name == name) else {
                    return Ok(Recorded::Unseen);
                };
                let old = known.swap_remove(place);
                let new = ControllerRevision { revision: number, ..ControllerRevision::clone(&old) };
                self.api::<ControllerRevision>().update(&old, &new).await?
            }
            Step::Create(number) => {
                if let Some(other) = self.revisions.get(&key.sibling(&name)) {
                    // A revision of a deleted owner will be deleted as well, which triggers a pass.
                    let is_same = template::is_equal(&template_of(&other), owner.template());
                    return Ok(if is_same { Recorded::Done(known) } else { Recorded::Collision });
                }
                let new = new_revision(owner, name, hash, number);
                let api = self.api::<ControllerRevision>().within(&key.cluster, &key.namespace);
                match api.create(&new).await {
                    Err(error) if error.is_already_exists() => return Ok(Recorded::Unseen),
                    Err(error) if is_terminating(&error) => return Ok(Recorded::Done(known)),
                    answer => answer?,
                }
            }
        };
        known.push(Arc::new(placed(written, cluster_of(owner))));
        Ok(Recorded::Done(known))
    }

    /// Deletes revisions beyond the limit. `in_use`: names of the revisions that pods have or will get.
    pub(crate) async fn forget_revisions(
        &self,
        known: &[Arc<ControllerRevision>],
        in_use: &BTreeSet<String>,
        limit: Option<i32>,
    ) -> Result<(), Error> {
        for revision in surplus(known, in_use, limit) {
            match self.api().delete_object(revision, false, None).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn new_revision<O: Owner>(owner: &O, name: String, hash: &str, number: i64) -> ControllerRevision {
    let from = owner.metadata();
    let mut metadata = ObjectMeta {
        name,
        namespace: from.namespace.clone(),
        labels: template::texts(owner.template(), "labels"),
        annotations: from.annotations.clone(),
        owner_references: vec![claim::reference(owner)],
        ..ObjectMeta::default()
    };
    metadata.annotations.remove(annotation::CLUSTER);
    metadata.labels.insert(O::REVISION_LABEL.to_owned(), hash.to_owned());
    ControllerRevision { metadata, data: data(owner.template()), revision: number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_template_gets_a_new_number() {
        for (known, expected) in [
            (&[][..], Step::Create(1)),
            (&[("a", 1), ("b", 4)], Step::Create(5)),
            (&[("web", 1)], Step::Nothing),
            (&[("a", 1), ("web", 2)], Step::Nothing),
            (&[("a", 2), ("web", 1)], Step::Renumber(3)),
            (&[("a", 2), ("web", 2)], Step::Renumber(3)),
        ] {
            assert_eq!(step(known.iter().copied(), "web"), expected, "{known:?}");
        }
    }

    #[test]
    fn a_revision_is_a_patch_that_brings_its_template_back() {
        let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}});
        let data = data(&template);
        assert_eq!(data["spec"]["template"]["$patch"], "replace");
        let mut back = template_of(&ControllerRevision { data, ..ControllerRevision::default() });
        assert!(back["metadata"]["creationTimestamp"].is_null());
        back["metadata"].as_object_mut().expect("a map").remove("creationTimestamp");
        assert_eq!(back, template);
    }

    /// "revisionHistoryLimit … is the maximum number of revisions that will be maintained in the StatefulSet's revision
    /// history. The revision history consists of all revisions not represented by a currently applied StatefulSetSpec
    /// version. The default value is 10."
    #[test]
    fn the_lowest_unused_revisions_are_deleted() {
        let revision = |name: &str, revision| {
            let metadata = ObjectMeta::named("n", name);
            Arc::new(ControllerRevision { metadata, revision, data: Value::Null })
        };
        let known = [revision("c", 3), revision("a", 1), revision("d", 4), revision("b", 2)];
        let names = |in_use: &[&str], limit| -> Vec<String> {
            let in_use = in_use.iter().map(|name| (*name).to_owned()).collect();
            surplus(&known, &in_use, limit).iter().map(|it| it.metadata.name.clone()).collect()
        };
        assert_eq!(names(&["d"], None), Vec::<String>::new());
        assert_eq!(names(&["d"], Some(2)), ["a"]);
        assert_eq!(names(&["d", "a"], Some(0)), ["b", "c"]);
        assert_eq!(names(&["d"], Some(-1)), ["a", "b", "c"]);
    }
}
