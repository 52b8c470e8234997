// SPDX-License-Identifier: Apache-2.0
//! Rotation of a Shoot's credentials: changes of `status.credentials.rotation` at the start and at the success of a run
//! of gardenlet. A run that fails changes nothing, and its retry continues in the same phase.
//!
//! | credentials | phases |
//! | --- | --- |
//! | certificate authorities, service account key | Preparing (all nodes roll) → Prepared → Completing → Completed |
//! | the same, without roll-out of workers | PreparingWithoutWorkersRollout → WaitingForWorkersRollout (pools roll when they are named) → Prepared → … |
//! | etcd encryption key | Preparing → Prepared → Completing → Completed, nodes never roll; started by `rotate-etcd-encryption-key`, or for a Shoot of Kubernetes 1.34 or later, it completes automatically |
//! | SSH key pair, observability | none: started and completed by one run |
//!
//! The times determine which nodes roll, by [`crate::worker_pool::HashInputs`].
//! Source: pkg/gardenlet/controller/shoot/shoot/reconciler.go @ v1.120.0,
//! docs/usage/shoot-operations/shoot_credentials_rotation.md; several operations at once and `rotate-etcd-encryption-key`
//! @ v1.141.0.

use api::constants::operation;
use api::core::{ETCDEncryptionKeyRotation, PendingWorkersRollout, ShootCredentialsRotation, ShootSpec, ShootStatus};
use apimachinery::meta::Time;

use crate::annotations;
use crate::release::Releases;
use crate::shoot_facts::{has_ssh_access, is_hibernation_enabled};
use crate::versions::Version;
use crate::worker_pool::manual_rollout;

/// Nodes roll; old and new credentials are valid.
pub const PREPARING: &str = "Preparing";
/// Phase as [`PREPARING`], in which no pool is rolled.
pub const PREPARING_WITHOUT_WORKERS_ROLLOUT: &str = "PreparingWithoutWorkersRollout";
/// Phase after all preparations except the nodes': pools are rolled when the user names them.
pub const WAITING_FOR_WORKERS_ROLLOUT: &str = "WaitingForWorkersRollout";
/// The user may complete the rotation.
pub const PREPARED: &str = "Prepared";
/// The old credentials are being removed.
pub const COMPLETING: &str = "Completing";
/// The old credentials are invalid.
pub const COMPLETED: &str = "Completed";

/// Step of a rotation that an operation triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Start,
    StartWithoutWorkersRollout,
    Complete,
    /// [`Self::Start`], followed automatically by [`Self::Complete`].
    Whole,
}

/// Credentials that an operation rotates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    All,
    Authorities,
    ServiceAccountKey,
    EtcdEncryptionKey,
}

impl Kind {
    fn includes(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

/// Parses a two-phase operation.
fn two_phase(operation: &str) -> Option<(Kind, Step)> {
    if operation == operation::ROTATE_ETCD_ENCRYPTION_KEY {
        return Some((Kind::EtcdEncryptionKey, Step::Whole));
    }
    let (operation, step) = if let Some(operation) = operation.strip_suffix("-start-without-workers-rollout") {
        (operation, Step::StartWithoutWorkersRollout)
    } else if let Some(operation) = operation.strip_suffix("-start") {
        (operation, Step::Start)
    } else {
        (operation.strip_suffix("-complete")?, Step::Complete)
    };
    let kind = match operation {
        "rotate-credentials" => Kind::All,
        "rotate-ca" => Kind::Authorities,
        "rotate-serviceaccount-key" => Kind::ServiceAccountKey,
        // Its rotation never rolls nodes, so there is no start without a roll-out.
        "rotate-etcd-encryption-key" if step != Step::StartWithoutWorkersRollout => Kind::EtcdEncryptionKey,
        _ => return None,
    };
    Some((kind, step))
}

/// Returns the pools that an operation rolls; `None` for other operations.
fn rolled_pools(operation: &str) -> Option<Vec<&str>> {
    let pools = operation.strip_prefix(operation::ROTATE_ROLLOUT_WORKERS)?;
    Some(pools.strip_prefix('=').unwrap_or(pools).split(',').collect())
}

/// True if one operation includes another: `rotate-credentials-…` includes the operations for single credentials.
pub fn includes(all: &str, operation: &str) -> bool {
    let Some((Kind::All, step)) = two_phase(all) else { return false };
    if matches!(operation, operation::ROTATE_SSH_KEYPAIR | operation::ROTATE_OBSERVABILITY_CREDENTIALS) {
        return step != Step::Complete;
    }
    two_phase(operation).is_some_and(|(kind, other)| match kind {
        Kind::All => false,
        // Its rotation has only one kind of start.
        Kind::EtcdEncryptionKey => (other == Step::Complete) == (step == Step::Complete),
        Kind::Authorities | Kind::ServiceAccountKey => other == step,
    })
}

/// True if the rotation of the key that encrypts etcd is prepared, and completes automatically with the next run.
pub fn completes_itself(status: &ShootStatus) -> bool {
    etcd_encryption_key(status)
        .is_some_and(|one| one.phase == PREPARED && one.auto_complete_after_prepared == Some(true))
}

/// Returns the state of the rotation of the key that encrypts etcd; `None`: never rotated.
pub fn etcd_encryption_key(status: &ShootStatus) -> Option<&ETCDEncryptionKeyRotation> {
    status.credentials.as_ref()?.rotation.as_ref()?.etcd_encryption_key.as_ref()
}

/// `rotate-etcd-encryption-key` is an operation of Shoots and Gardens, and its two phases are refused for Kubernetes 1.34 and
/// later.
pub const KEY_ROTATES_AS_A_WHOLE: Releases = Releases::since(128);

/// First major and minor version of Kubernetes for which each rotation of the key that encrypts etcd completes automatically.
pub const ALWAYS_WHOLE: (u64, u64) = (1, 34);

/// True if each rotation of the key that encrypts etcd completes automatically.
pub fn is_always_whole(spec: &ShootSpec) -> bool {
    Version::parse(&spec.kubernetes.version).is_ok_and(|version| (version.major, version.minor) >= ALWAYS_WHOLE)
}

/// True if gardenlet executes an operation, and removes it from the annotation, when a run starts: rotations, and the
/// roll-out of named pools.
pub fn is_begun_by_run(operation: &str) -> bool {
    two_phase(operation).is_some()
        || rolled_pools(operation).is_some()
        || manual_rollout::is_rollout(operation)
        || matches!(operation, operation::ROTATE_SSH_KEYPAIR | operation::ROTATE_OBSERVABILITY_CREDENTIALS)
}

/// Starts a run: executes the operations of the annotation, continues a rotation that completes automatically, and
/// removes pools that do not exist any more.
///
/// Validation ensures that the phase allows the operations; other operations change nothing.
pub fn begin(status: &mut ShootStatus, spec: &ShootSpec, asked: &str, now: Time) {
    for operation in annotations::operations(asked) {
        begin_one(status, spec, operation, now);
    }
    let is_prepared = etcd_encryption_key(status).is_some_and(|one| one.phase == PREPARED);
    if completes_itself(status) || (is_prepared && is_always_whole(spec)) {
        TwoPhase::etcd_encryption_key(rotation_mut(status)).begin(Step::Complete, None, now);
    }
    forget_pools(status, spec);
}

fn begin_one(status: &mut ShootStatus, spec: &ShootSpec, operation: &str, now: Time) {
    if let Some((kind, step)) = two_phase(operation) {
        let rotation = rotation_mut(status);
        if kind.includes(Kind::Authorities) {
            TwoPhase::authorities(rotation).begin(step, Some(spec), now);
        }
        if kind.includes(Kind::ServiceAccountKey) {
            TwoPhase::service_account_key(rotation).begin(step, Some(spec), now);
        }
        if kind.includes(Kind::EtcdEncryptionKey) {
            begin_etcd_encryption_key(rotation, spec, (kind, step), now);
        }
        if kind == Kind::All && step != Step::Complete {
            begin_ssh_key_pair(status, spec, now);
            begin_observability(status, now);
        }
    } else if let Some(pools) = rolled_pools(operation) {
        pending_rollouts(status, |phase, pending| {
            if phase == WAITING_FOR_WORKERS_ROLLOUT {
                pending.retain(|rollout| !pools.contains(&rollout.name.as_str()));
            }
        });
    } else if manual_rollout::is_rollout(operation) {
        manual_rollout::begin(status, spec, operation, now);
    } else if operation == operation::ROTATE_SSH_KEYPAIR {
        begin_ssh_key_pair(status, spec, now);
    } else if operation == operation::ROTATE_OBSERVABILITY_CREDENTIALS {
        begin_observability(status, now);
    }
}

/// Starts or completes this rotation; since Kubernetes 1.34 the completion needs no request.
fn begin_etcd_encryption_key(
    rotation: &mut ShootCredentialsRotation,
    spec: &ShootSpec,
    (kind, step): (Kind, Step),
    now: Time,
) {
    let is_always_whole = is_always_whole(spec);
    if step == Step::Complete {
        if kind == Kind::EtcdEncryptionKey || !is_always_whole {
            TwoPhase::etcd_encryption_key(rotation).begin(step, None, now);
        }
        return;
    }
    TwoPhase::etcd_encryption_key(rotation).begin(step, None, now);
    let key = rotation.etcd_encryption_key.get_or_insert_default();
    key.auto_complete_after_prepared = (step == Step::Whole || is_always_whole).then_some(true);
}

/// Records the success of a run of this specification.
pub fn succeed(status: &mut ShootStatus, spec: &ShootSpec, now: Time) {
    let waits_for_nodes = status
        .in_place_updates
        .as_ref()
        .and_then(|updates| updates.pending_worker_updates.as_ref())
        .is_some_and(|pending| !pending.manual_in_place_update.is_empty());
    manual_rollout::succeed(status);
    let Some(rotation) = status.credentials.as_mut().and_then(|credentials| credentials.rotation.as_mut()) else {
        return;
    };
    if rotation.certificate_authorities.is_some() {
        TwoPhase::authorities(rotation).succeed(waits_for_nodes, now);
    }
    if rotation.service_account_key.is_some() {
        TwoPhase::service_account_key(rotation).succeed(waits_for_nodes, now);
    }
    if rotation.etcd_encryption_key.is_some() {
        TwoPhase::etcd_encryption_key(rotation).succeed(false, now);
        let key = rotation.etcd_encryption_key.get_or_insert_default();
        key.auto_complete_after_prepared.take_if(|_| key.phase == COMPLETED);
    }
    let is_under_way = |initiation: Option<Time>, completion: Option<Time>| {
        initiation.is_some_and(|initiation| completion.is_none_or(|completion| completion < initiation))
    };
    if let Some(one) = &mut rotation.observability
        && is_under_way(one.last_initiation_time, one.last_completion_time)
    {
        one.last_completion_time = Some(now);
    }
    if !has_ssh_access(spec) {
        rotation.ssh_keypair = None;
    }
    if let Some(one) = &mut rotation.ssh_keypair
        && is_under_way(one.last_initiation_time, one.last_completion_time)
    {
        one.last_completion_time = Some(now);
    }
}

/// True if a run in the present phases may change the hash of pools, or pools are rolled by name: then the Worker
/// extension must check its pools again, although nothing else of them changed.
pub fn may_roll_nodes(status: &ShootStatus) -> bool {
    if !manual_rollout::pending(status).is_empty() {
        return true;
    }
    let Some(rotation) = status.credentials.as_ref().and_then(|credentials| credentials.rotation.as_ref()) else {
        return false;
    };
    let authorities = rotation.certificate_authorities.as_ref().map(|one| one.phase.as_str());
    let key = rotation.service_account_key.as_ref().map(|one| one.phase.as_str());
    [authorities, key].into_iter().flatten().any(|phase| matches!(phase, PREPARING | WAITING_FOR_WORKERS_ROLLOUT))
}

fn rotation_mut(status: &mut ShootStatus) -> &mut ShootCredentialsRotation {
    status.credentials.get_or_insert_default().rotation.get_or_insert_default()
}

fn begin_ssh_key_pair(status: &mut ShootStatus, spec: &ShootSpec, now: Time) {
    if has_ssh_access(spec) {
        rotation_mut(status).ssh_keypair.get_or_insert_default().last_initiation_time = Some(now);
    }
}

fn begin_observability(status: &mut ShootStatus, now: Time) {
    rotation_mut(status).observability.get_or_insert_default().last_initiation_time = Some(now);
}

/// Calls `change` with the phase and the pending pools of both credentials that have some.
fn pending_rollouts(status: &mut ShootStatus, mut change: impl FnMut(&str, &mut Vec<PendingWorkersRollout>)) {
    let rotation = status.credentials.as_mut().and_then(|credentials| credentials.rotation.as_mut());
    let Some(rotation) = rotation else { return };
    if let Some(one) = &mut rotation.certificate_authorities {
        change(&one.phase, &mut one.pending_workers_rollouts);
    }
    if let Some(one) = &mut rotation.service_account_key {
        change(&one.phase, &mut one.pending_workers_rollouts);
    }
}

/// Removes pending pools that are not in the specification, and all of them while the Shoot is hibernated.
fn forget_pools(status: &mut ShootStatus, spec: &ShootSpec) {
    let is_hibernated = is_hibernation_enabled(spec);
    let is_there = |name: &str| !is_hibernated && spec.provider.workers.iter().any(|pool| pool.name == name);
    pending_rollouts(status, |_, pending| pending.retain(|rollout| is_there(&rollout.name)));
    // Only if one of the other lists is checked, as upstream.
    let is_rotated = status.credentials.as_ref().is_some_and(|credentials| credentials.rotation.is_some());
    let is_updated = status.in_place_updates.as_ref().is_some_and(|updates| updates.pending_worker_updates.is_some());
    if let Some(rollout) = status.manual_worker_pool_rollout.as_mut().filter(|_| is_rotated || is_updated) {
        rollout.pending_workers_rollouts.retain(|rollout| is_there(&rollout.name));
    }
    let updates = status.in_place_updates.as_mut().and_then(|updates| updates.pending_worker_updates.as_mut());
    let Some(pending) = updates else { return };
    pending.auto_in_place_update.retain(|name| is_there(name));
    pending.manual_in_place_update.retain(|name| is_there(name));
    if pending.auto_in_place_update.is_empty() && pending.manual_in_place_update.is_empty() {
        status.in_place_updates = None;
    }
}

/// Fields that the three two-phase rotations share.
struct TwoPhase<'a> {
    phase: &'a mut String,
    initiation: &'a mut Option<Time>,
    initiation_finished: &'a mut Option<Time>,
    completion_triggered: &'a mut Option<Time>,
    completion: &'a mut Option<Time>,
    /// `None` for credentials that do not concern nodes.
    pending: Option<&'a mut Vec<PendingWorkersRollout>>,
}

/// Returns the view of one credential: the types of the API have the same fields but no common trait.
macro_rules! two_phase {
    ($one:ident, $pending:expr) => {
        TwoPhase {
            phase: &mut $one.phase,
            initiation: &mut $one.last_initiation_time,
            initiation_finished: &mut $one.last_initiation_finished_time,
            completion_triggered: &mut $one.last_completion_triggered_time,
            completion: &mut $one.last_completion_time,
            pending: $pending,
        }
    };
}

impl<'a> TwoPhase<'a> {
    fn authorities(rotation: &'a mut ShootCredentialsRotation) -> Self {
        let one = rotation.certificate_authorities.get_or_insert_default();
        two_phase!(one, Some(&mut one.pending_workers_rollouts))
    }

    fn service_account_key(rotation: &'a mut ShootCredentialsRotation) -> Self {
        let one = rotation.service_account_key.get_or_insert_default();
        two_phase!(one, Some(&mut one.pending_workers_rollouts))
    }

    fn etcd_encryption_key(rotation: &'a mut ShootCredentialsRotation) -> Self {
        let one = rotation.etcd_encryption_key.get_or_insert_default();
        two_phase!(one, None)
    }

    /// Starts a step of the rotation; `spec` contains the pools, for credentials that roll them.
    fn begin(self, step: Step, spec: Option<&ShootSpec>, now: Time) {
        let phase = match step {
            Step::Complete => {
                COMPLETING.clone_into(self.phase);
                *self.completion_triggered = Some(now);
                return;
            }
            Step::StartWithoutWorkersRollout if self.pending.is_some() => PREPARING_WITHOUT_WORKERS_ROLLOUT,
            Step::Start | Step::StartWithoutWorkersRollout | Step::Whole => PREPARING,
        };
        if phase == PREPARING_WITHOUT_WORKERS_ROLLOUT
            && let Some(pending) = self.pending
        {
            // Until a pool is rolled its hash keeps the time of the previous rotation.
            let before = *self.initiation;
            let pools = spec.map(|spec| spec.provider.workers.as_slice()).unwrap_or_default();
            let pool = |name: &String| PendingWorkersRollout { name: name.clone(), last_initiation_time: before };
            *pending = pools.iter().map(|worker| pool(&worker.name)).collect();
        }
        phase.clone_into(self.phase);
        *self.initiation = Some(now);
        *self.initiation_finished = None;
        *self.completion_triggered = None;
    }

    fn succeed(self, waits_for_nodes: bool, now: Time) {
        let waits_for_user = self.pending.as_deref().is_some_and(|pending| !pending.is_empty());
        match self.phase.as_str() {
            PREPARING_WITHOUT_WORKERS_ROLLOUT => WAITING_FOR_WORKERS_ROLLOUT.clone_into(self.phase),
            WAITING_FOR_WORKERS_ROLLOUT if waits_for_user => {}
            PREPARING | WAITING_FOR_WORKERS_ROLLOUT if !waits_for_nodes => {
                PREPARED.clone_into(self.phase);
                *self.initiation_finished = Some(now);
            }
            COMPLETING => {
                COMPLETED.clone_into(self.phase);
                *self.completion = Some(now);
                *self.initiation_finished = None;
                *self.completion_triggered = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
