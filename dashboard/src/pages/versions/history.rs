// SPDX-License-Identifier: Apache-2.0
//! History of the offers of CloudProfiles and NamespacedCloudProfiles: their entries in the log, folded up to the last read one.
//! The offer of a NamespacedCloudProfile is in its status.
//!
//! The timeline lists the revisions of profiles: no other entry is read, and each of them once.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::core::{CloudProfile, CloudProfileSpec, LifecycleStage, NamespacedCloudProfile};
use apimachinery::{Resource, encode};
use chrono::{DateTime, Utc};
use domain::versions::Expirable;
use eventlog::{EventLog, Key, Revision, Sections, Verb};
use ops::past::timeline::Span;
use ops::past::{NoMoment, Timeline, resource};
use tokio::sync::Mutex;

/// Number of revisions after the base that are searched for the first entry.
const PIECE: u64 = 4_096;
/// Resources of profiles in the log.
const RESOURCES: [&str; 2] = [resource::CLOUD_PROFILES, resource::NAMESPACED_CLOUD_PROFILES];

/// A version in a profile's offer: classification and expiration date, or stages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub(crate) version: String,
    pub(crate) classification: Option<String>,
    pub(crate) expires: Option<DateTime<Utc>>,
    pub(crate) stages: Vec<LifecycleStage>,
}

impl Offered {
    fn of(entry: &impl Expirable) -> Self {
        Self {
            version: entry.version().to_owned(),
            classification: entry.classification().map(str::to_owned),
            expires: entry.expiration_date(),
            stages: entry.stages().to_vec(),
        }
    }
}

impl Expirable for Offered {
    fn version(&self) -> &str {
        &self.version
    }

    fn expiration_date(&self) -> Option<DateTime<Utc>> {
        self.expires
    }

    fn classification(&self) -> Option<&str> {
        self.classification.as_deref()
    }

    fn stages(&self) -> &[LifecycleStage] {
        &self.stages
    }
}

/// Offer of a profile from an instant on, by subject: `kubernetes`, or the name of a machine image.
pub(crate) type Change = (DateTime<Utc>, Arc<BTreeMap<String, Vec<Offered>>>);

/// Past offers of profiles, by `NAME` or `NAMESPACE/NAME`.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Folded>);

#[derive(Debug, Default)]
struct Folded {
    upto: Revision,
    profiles: BTreeMap<String, Vec<(Revision, Change)>>,
}

impl History {
    /// Returns a profile's offers up to a revision, in the order of time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) async fn of(
        &self,
        log: &dyn EventLog,
        timeline: &Timeline,
        profile: &str,
        to: u64,
    ) -> Result<Vec<Change>, NoMoment> {
        let mut folded = self.0.lock().await;
        let Span { base: oldest, head, upto, .. } = timeline.refresh().await?;
        if folded.upto < oldest {
            // Older changes, and those that were compacted meanwhile, are replaced by the state at the base.
            folded.upto = oldest;
            let snapshot = log.state_at(oldest).await?;
            let first = log.read(oldest, Revision(head.0.min(oldest.0 + PIECE)), None).await?;
            let time = first.first().map(|entry| entry.time).unwrap_or_default();
            for (key, _, object) in snapshot.iter().filter(|(key, ..)| RESOURCES.contains(&&*key.resource)) {
                folded.take(key, oldest, time, object);
            }
        }
        for revision in timeline.changes(folded.upto, &RESOURCES) {
            let before = Revision(revision.0.saturating_sub(1));
            let entries = log.read(before, revision, Some(api::cluster::GARDEN)).await?;
            for entry in entries.iter().filter(|entry| RESOURCES.contains(&&*entry.key.resource)) {
                if entry.verb == Verb::Delete {
                    let change = (entry.time, Arc::default());
                    folded.profiles.entry(name(&entry.key)).or_default().push((entry.revision, change));
                } else {
                    folded.take(&entry.key, entry.revision, entry.time, &entry.object);
                }
            }
            folded.upto = revision;
        }
        folded.upto = folded.upto.max(upto);
        let changes = folded.profiles.get(profile).into_iter().flatten();
        Ok(changes.filter(|(revision, _)| revision.0 <= to).map(|(_, change)| change.clone()).collect())
    }
}

/// Returns `NAME`, or `NAMESPACE/NAME`.
fn name(key: &Key) -> String {
    if key.namespace.is_empty() { key.name.to_string() } else { format!("{}/{}", key.namespace, key.name) }
}

/// Returns a profile's offer; `None`: it has none yet.
fn offered(key: &Key, object: &Sections) -> Option<CloudProfileSpec> {
    let [identity, metadata, managed_fields, rest, status] = object.parts.clone();
    let whole = encode::Sections { identity, metadata, managed_fields, rest, status }.served(0);
    if *key.resource == *resource::CLOUD_PROFILES {
        return CloudProfile::read(&whole).ok().map(|profile| profile.spec);
    }
    let offered = NamespacedCloudProfile::read(&whole).ok()?.status.cloud_profile_spec;
    (!offered.kubernetes.versions.is_empty()).then_some(offered)
}

impl Folded {
    fn take(&mut self, key: &Key, revision: Revision, time: DateTime<Utc>, object: &Sections) {
        let Some(offered) = offered(key, object) else { return };
        let mut subjects = BTreeMap::new();
        let kubernetes = offered.kubernetes.versions.iter().map(Offered::of).collect();
        subjects.insert("kubernetes".to_owned(), kubernetes);
        for image in &offered.machine_images {
            subjects.insert(image.name.clone(), image.versions.iter().map(Offered::of).collect());
        }
        let known = self.profiles.entry(name(key)).or_default();
        if known.last().is_none_or(|(_, (_, last))| **last != subjects) {
            known.push((revision, (time, Arc::new(subjects))));
        }
    }
}
