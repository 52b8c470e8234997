// SPDX-License-Identifier: Apache-2.0
//! What CloudProfiles have offered: the log's entries of them, folded as far as they have been read.
//!
//! The log is read once from its base, and then from where the last page left off.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::core::CloudProfile;
use apimachinery::Resource;
use chrono::{DateTime, Utc};
use domain::versions::Expirable;
use eventlog::{EventLog, ReadError, Revision, Verb};
use ops::past::resource;
use tokio::sync::Mutex;

/// Revisions that are read at once.
const PIECE: u64 = 4_096;
/// Resource of the log.
const RESOURCE: &str = resource::CLOUD_PROFILES;

/// A version as a profile offers it: classification and expiration date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) version: String,
    pub(crate) classification: Option<String>,
    pub(crate) expires: Option<DateTime<Utc>>,
}

impl Offered {
    fn of(entry: &impl Expirable) -> Self {
        Self {
            version: entry.version().to_owned(),
            classification: entry.classification().map(str::to_owned),
            expires: entry.expiration_date(),
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
}

/// What a profile offered from an instant on, by subject: `kubernetes`, or the name of a machine image.
pub(crate) type Change = (DateTime<Utc>, Arc<BTreeMap<String, Vec<Offered>>>);

/// What CloudProfiles have offered.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Folded>);

#[derive(Debug, Default)]
struct Folded {
    upto: Revision,
    profiles: BTreeMap<String, Vec<(Revision, Change)>>,
}

impl History {
    /// What a profile has offered up to a revision, in the order of time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub(crate) async fn of(&self, log: &dyn EventLog, profile: &str, to: u64) -> Result<Vec<Change>, ReadError> {
        let mut folded = self.0.lock().await;
        let head = log.head();
        if folded.upto == Revision(0)
            && let Err(ReadError::Compacted(oldest)) = log.read(Revision(0), Revision(0), None).await
        {
            // What was there already is taken as it is at the base.
            folded.upto = oldest;
            let snapshot = log.state_at(oldest).await?;
            let first = log.read(oldest, Revision(head.0.min(oldest.0 + PIECE)), None).await?;
            let time = first.first().map(|entry| entry.time).unwrap_or_default();
            for (key, _, object) in snapshot.iter().filter(|(key, ..)| *key.resource == *RESOURCE) {
                folded.take(key.name.to_string(), oldest, time, &object.parts.concat());
            }
        }
        while folded.upto < head {
            let end = Revision(head.0.min(folded.upto.0 + PIECE));
            for entry in log.read(folded.upto, end, Some(api::cluster::GARDEN)).await? {
                if *entry.key.resource != *RESOURCE {
                    continue;
                }
                let name = entry.key.name.to_string();
                if entry.verb == Verb::Delete {
                    let change = (entry.time, Arc::default());
                    folded.profiles.entry(name).or_default().push((entry.revision, change));
                } else {
                    folded.take(name, entry.revision, entry.time, &entry.object.parts.concat());
                }
            }
            folded.upto = end;
        }
        let changes = folded.profiles.get(profile).into_iter().flatten();
        Ok(changes.filter(|(revision, _)| revision.0 <= to).map(|(_, change)| change.clone()).collect())
    }
}

impl Folded {
    fn take(&mut self, name: String, revision: Revision, time: DateTime<Utc>, object: &[u8]) {
        let Ok(profile) = CloudProfile::read(object) else { return };
        let mut subjects = BTreeMap::new();
        let kubernetes = profile.spec.kubernetes.versions.iter().map(Offered::of).collect();
        subjects.insert("kubernetes".to_owned(), kubernetes);
        for image in &profile.spec.machine_images {
            subjects.insert(image.name.clone(), image.versions.iter().map(Offered::of).collect());
        }
        let known = self.profiles.entry(name).or_default();
        if known.last().is_none_or(|(_, (_, last))| **last != subjects) {
            known.push((revision, (time, Arc::new(subjects))));
        }
    }
}
