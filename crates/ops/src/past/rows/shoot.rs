// SPDX-License-Identifier: Apache-2.0
//! Row of a Shoot.

use std::sync::Arc;

use api::constants::annotation;
use api::core::{Condition, LastError, LastOperation, MaintenanceTimeWindow, Shoot, Worker};
use apimachinery::Resource;
use apimachinery::meta::Time;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::shoot_facts::{is_confined, is_hibernation_enabled};
use domain::skew::notes::ShootVersions;

use super::texts::{Text, Texts, Words};
use crate::names::ProfileKey;

/// Long annotation that no page shows and no rule reads.
const LONG: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Summary of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionRow {
    /// Type, status, reason and message.
    pub words: Arc<Words>,
    /// Time of the last change of the status.
    pub since: DateTime<Utc>,
}

impl ConditionRow {
    fn of(condition: &Condition, texts: &mut Texts) -> Self {
        let Condition { r#type, status, reason, message, .. } = condition;
        Self { words: texts.words([r#type, status, reason, message]), since: condition.last_transition_time.0 }
    }

    pub(super) fn all<'a>(conditions: impl IntoIterator<Item = &'a Condition>, texts: &mut Texts) -> Arc<[Self]> {
        conditions.into_iter().map(|condition| Self::of(condition, texts)).collect()
    }

    fn condition(&self) -> Condition {
        Condition {
            r#type: self.words.name.to_string(),
            status: self.words.status.to_string(),
            reason: self.words.reason.to_string(),
            message: self.words.message.to_string(),
            last_transition_time: Time::from_instant(self.since),
            ..Condition::default()
        }
    }
}

/// Last operation of a Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationRow {
    /// `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    pub kind: Text,
    /// `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
    pub state: Text,
    /// Progress of the operation in percent, 0 to 100.
    pub progress: i32,
    /// Time of the last update of the operation.
    pub time: DateTime<Utc>,
}

/// A worker pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRow {
    /// Name of the pool.
    pub name: Text,
    /// Name of its machine image; empty: not set.
    pub image: Text,
    /// Version of the image.
    pub image_version: Text,
    /// Kubernetes version of the pool; `None`: that of the control plane.
    pub kubernetes: Option<Text>,
    /// Minimum and maximum number of nodes.
    pub nodes: (i32, i32),
}

/// Part of a Shoot's specification. It rarely changes, so rows of many moments share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRow {
    /// `spec.kubernetes.version`.
    pub kubernetes: Text,
    /// Profile to which the Shoot refers.
    pub profile: ProfileKey,
    /// Type of its provider.
    pub provider: Text,
    /// `spec.purpose`; empty: not set.
    pub purpose: Text,
    /// `spec.seedName`.
    pub seed: Option<Text>,
    /// True if hibernation is requested.
    pub hibernates: bool,
    /// True if roll-outs of specification changes are confined to the maintenance window.
    pub confines: bool,
    /// Begin and end of the maintenance window, as written.
    pub window: Option<(Text, Text)>,
    /// Worker pools.
    pub pools: Box<[PoolRow]>,
}

impl SpecRow {
    pub(super) fn of(shoot: &Shoot, texts: &mut Texts) -> Self {
        let spec = &shoot.spec;
        let mut pool = |worker: &Worker| {
            let image = worker.machine.image.as_ref();
            PoolRow {
                name: texts.of(&worker.name),
                image: texts.of(image.map(|image| image.name.as_str()).unwrap_or_default()),
                image_version: texts.of(image.and_then(|image| image.version.as_deref()).unwrap_or_default()),
                kubernetes: worker
                    .kubernetes
                    .as_ref()
                    .and_then(|own| own.version.as_deref())
                    .map(|version| texts.of(version)),
                nodes: (worker.minimum, worker.maximum),
            }
        };
        let pools = spec.provider.workers.iter().map(&mut pool).collect();
        let window = spec.maintenance.as_ref().and_then(|maintenance| maintenance.time_window.as_ref());
        Self {
            kubernetes: texts.of(&spec.kubernetes.version),
            profile: ProfileKey::of(shoot),
            provider: texts.of(&spec.provider.r#type),
            purpose: texts.of(spec.purpose.as_deref().unwrap_or_default()),
            seed: spec.seed_name.as_deref().map(|seed| texts.of(seed)),
            hibernates: is_hibernation_enabled(spec),
            confines: is_confined(spec),
            window: window.map(|window| (texts.of(&window.begin), texts.of(&window.end))),
            pools,
        }
    }
}

/// A Shoot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShootRow {
    /// Namespace of its Project.
    pub namespace: Text,
    /// Name of the Shoot.
    pub name: Text,
    /// Revision of its last change.
    pub revision: u64,
    /// Creation time.
    pub created: DateTime<Utc>,
    /// Time of the deletion request; `None`: not being deleted.
    pub deleted: Option<DateTime<Utc>>,
    /// Labels.
    pub labels: Arc<[(Text, Text)]>,
    /// Annotations, without that of `kubectl apply`.
    pub annotations: Arc<[(Text, Text)]>,
    /// Fields of the specification.
    pub spec: Arc<SpecRow>,
    /// Namespace of its control plane, `shoot--PROJECT--NAME`; empty: not created yet.
    pub technical_id: Text,
    /// `status.seedName`.
    pub seed: Option<Text>,
    /// Version of the gardenlet that reconciled it last; empty: not reconciled yet.
    pub gardener: Text,
    /// True if it is hibernated.
    pub is_hibernated: bool,
    /// True if changes of its specification have not been rolled out yet.
    pub is_behind: bool,
    /// True if maintenance depends on no part of its status that is missing in the row.
    pub is_plain: bool,
    /// `status.lastOperation`.
    pub operation: Option<OperationRow>,
    /// Codes of `status.lastErrors`.
    pub errors: Arc<[Text]>,
    /// `status.conditions`.
    pub conditions: Arc<[ConditionRow]>,
    /// `status.constraints` that are not `True`.
    pub constraints: Arc<[ConditionRow]>,
}

impl ShootRow {
    /// Returns the row of a Shoot.
    pub fn of(shoot: &Shoot) -> Self {
        let mut texts = Texts::default();
        let spec = Arc::new(SpecRow::of(shoot, &mut texts));
        Self::with(shoot, spec, &mut texts)
    }

    pub(super) fn with(shoot: &Shoot, spec: Arc<SpecRow>, texts: &mut Texts) -> Self {
        let (metadata, status) = (&shoot.metadata, &shoot.status);
        let rotates = status.credentials.as_ref().is_some_and(|credentials| credentials.rotation.is_some());
        let bad = status.constraints.iter().filter(|constraint| constraint.status != "True");
        Self {
            namespace: texts.of(&metadata.namespace),
            name: metadata.name.as_str().into(),
            revision: metadata.resource_version.parse().unwrap_or_default(),
            created: metadata.creation_timestamp.0,
            deleted: metadata.deletion_timestamp.map(|time| time.0),
            labels: texts.pairs(&metadata.labels),
            annotations: texts.pairs(metadata.annotations.iter().filter(|(key, _)| *key != LONG)),
            spec,
            technical_id: status.technical_id.as_str().into(),
            seed: status.seed_name.as_deref().map(|seed| texts.of(seed)),
            gardener: texts.of(&status.gardener.version),
            is_hibernated: status.hibernated,
            is_behind: metadata.generation != status.observed_generation,
            is_plain: !rotates && status.in_place_updates.is_none() && status.last_hibernation_trigger_time.is_none(),
            operation: status.last_operation.as_ref().map(|last| OperationRow {
                kind: texts.of(&last.r#type),
                state: texts.of(&last.state),
                progress: last.progress,
                time: last.last_update_time.0,
            }),
            errors: texts.all(status.last_errors.iter().flat_map(|error| &error.codes)),
            conditions: ConditionRow::all(&status.conditions, texts),
            constraints: ConditionRow::all(bad, texts),
        }
    }

    /// Shares values with another row of the same Shoot where they are equal.
    pub(super) fn share(&mut self, known: &Self) {
        fn same<T: ?Sized + PartialEq>(own: &mut Arc<T>, known: &Arc<T>) {
            if own == known {
                *own = known.clone();
            }
        }
        same(&mut self.name, &known.name);
        same(&mut self.technical_id, &known.technical_id);
        same(&mut self.labels, &known.labels);
        same(&mut self.annotations, &known.annotations);
        same(&mut self.errors, &known.errors);
        same(&mut self.conditions, &known.conditions);
        same(&mut self.constraints, &known.constraints);
    }

    /// Returns `NAMESPACE/NAME`.
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Seed that the Shoot is on, or is scheduled to.
    pub fn placed(&self) -> Option<&Text> {
        self.seed.as_ref().or(self.spec.seed.as_ref())
    }

    /// Returns the facts about the Shoot that release notes depend on.
    pub fn versions(&self) -> ShootVersions {
        ShootVersions {
            name: self.key(),
            seed: self.placed().map(ToString::to_string),
            gardener: self.gardener.to_string(),
            kubernetes: self.spec.kubernetes.to_string(),
        }
    }

    /// Writes the fields that decide when maintenance is due to an otherwise empty Shoot.
    pub fn schedule(&self, shoot: &mut Shoot) {
        let metadata = &mut shoot.metadata;
        (*self.namespace).clone_into(&mut metadata.namespace);
        (*self.name).clone_into(&mut metadata.name);
        metadata.annotations.clear();
        let kept = self.annotations.iter().filter(|(key, _)| **key == *annotation::UPCOMING_TIME_WINDOW);
        metadata.annotations.extend(kept.map(|(key, value)| (key.to_string(), value.to_string())));
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        maintenance.time_window = self
            .spec
            .window
            .as_ref()
            .map(|(begin, end)| MaintenanceTimeWindow { begin: begin.to_string(), end: end.to_string() });
        maintenance.confine_spec_update_rollout = Some(self.spec.confines);
    }

    /// Returns the Shoot with its specification as in the log, and the status as far as the row has it. `None`: the
    /// specification cannot be decoded.
    pub fn shoot(&self, spec: &Bytes) -> Option<Shoot> {
        let whole = [b"{\"metadata\":{}", &spec[..], b"}"].concat();
        let mut shoot = Shoot::read(&whole).ok()?;
        let pairs =
            |pairs: &[(Text, Text)]| pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let metadata = &mut shoot.metadata;
        (metadata.namespace, metadata.name) = (self.namespace.to_string(), self.name.to_string());
        metadata.resource_version = self.revision.to_string();
        metadata.creation_timestamp = Time::from_instant(self.created);
        metadata.deletion_timestamp = self.deleted.map(Time::from_instant);
        (metadata.labels, metadata.annotations) = (pairs(&self.labels), pairs(&self.annotations));
        metadata.generation = 1 + i64::from(self.is_behind);
        let status = &mut shoot.status;
        status.observed_generation = 1;
        status.technical_id = self.technical_id.to_string();
        status.seed_name = self.seed.as_ref().map(ToString::to_string);
        status.gardener.version = self.gardener.to_string();
        status.hibernated = self.is_hibernated;
        status.last_operation = self.operation.as_ref().map(|last| LastOperation {
            r#type: last.kind.to_string(),
            state: last.state.to_string(),
            progress: last.progress,
            last_update_time: Time::from_instant(last.time),
            ..LastOperation::default()
        });
        if !self.errors.is_empty() {
            let codes = self.errors.iter().map(ToString::to_string).collect();
            status.last_errors = vec![LastError { codes, ..LastError::default() }];
        }
        status.conditions = self.conditions.iter().map(ConditionRow::condition).collect();
        status.constraints = self.constraints.iter().map(ConditionRow::condition).collect();
        Some(shoot)
    }
}
