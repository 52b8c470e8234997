// SPDX-License-Identifier: Apache-2.0
//! Triggers of a Shoot's reconciliation: changes that raise its generation, and runs of gardenlet without a change.
//!
//! Source: pkg/apiserver/registry/core/shoot/strategy.go, pkg/gardenlet/controller/shoot/shoot/helper,
//! pkg/utils/gardener/shoot.go @ v1.120.0; docs/usage/shoot/shoot_updates.md.

use api::constants::{annotation, operation, operation_state};
use api::core::{Shoot, ShootSpec};
use apimachinery::meta::Duration;
use chrono::{DateTime, TimeDelta, Utc};

use crate::annotations;
use crate::last_operation::OperationType;
use crate::maintenance::upcoming;
use crate::release::Releases;
use crate::rotation;
use crate::shoot_facts::{has_ssh_access, is_confined, is_hibernation_enabled};
use crate::window::Span;

/// Releases whose gardenlet gives a Shoot that it skips a Pending operation if it has none, so that operations by
/// annotation raise the generation of the Shoot.
pub const SKIPPED_SHOOT_IS_PENDING: Releases = Releases::since(126);

/// Releases whose gardenlet writes the purpose of a ControlPlane. Later definitions drop the field, so it would be written with
/// every reconciliation, which the extension would carry out each time.
pub const CONTROL_PLANE_HAS_PURPOSE: Releases = Releases::until(123);

/// Effect of a write on `metadata.generation` and on the operation annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenerationChange {
    /// True if the generation rises by one.
    pub increase: bool,
    /// `gardener.cloud/operation` afterwards; `None` if it is absent or consumed.
    pub operation: Option<String>,
}

/// The operations that raise the generation and stay until gardenlet has started them.
const ROTATIONS: [&str; 13] = [
    operation::ROTATE_CA_START,
    operation::ROTATE_CA_START_WITHOUT_WORKERS,
    operation::ROTATE_CA_COMPLETE,
    operation::ROTATE_CREDENTIALS_START,
    operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
    operation::ROTATE_CREDENTIALS_COMPLETE,
    operation::ROTATE_ETCD_ENCRYPTION_KEY,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_START,
    operation::ROTATE_ETCD_ENCRYPTION_KEY_COMPLETE,
    operation::ROTATE_OBSERVABILITY_CREDENTIALS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_START_WITHOUT_WORKERS,
    operation::ROTATE_SERVICE_ACCOUNT_KEY_COMPLETE,
];

/// Returns the effect of an update of the main resource. `new` has the stored status already.
///
/// The first reason that applies ends the evaluation: a changed spec hides the operation annotation, which then stays
/// until the next write. Each of several operations is judged on its own, and one that another includes is dropped.
pub fn generation_on_update(old: &Shoot, new: &Shoot) -> GenerationChange {
    let present = new.metadata.annotation(annotation::OPERATION);
    let keep = |increase| GenerationChange { increase, operation: present.map(str::to_owned) };
    if spec_counts(&old.spec, &new.spec)
        || (old.metadata.deletion_timestamp.is_none() && new.metadata.deletion_timestamp.is_some())
        || (needs_force_deletion(new) && !needs_force_deletion(old))
    {
        return keep(true);
    }
    let (Some(last_operation), Some(present)) = (&new.status.last_operation, present) else { return keep(false) };
    if last_operation.state == operation_state::FAILED {
        let is_retry = present == operation::RETRY;
        return if is_retry { GenerationChange { increase: true, operation: None } } else { keep(false) };
    }
    let asked = annotations::operations(present);
    let is_started_by_gardenlet = |operation: &str| {
        ROTATIONS.contains(&operation)
            || operation.starts_with(operation::ROTATE_ROLLOUT_WORKERS)
            || operation.starts_with(operation::ROLLOUT_WORKERS)
            || (operation == operation::ROTATE_SSH_KEYPAIR && has_ssh_access(&new.spec))
    };
    let increase = asked.iter().any(|one| *one == operation::RECONCILE || is_started_by_gardenlet(one));
    let left: Vec<&str> = asked
        .iter()
        .filter(|one| **one != operation::RECONCILE)
        .filter(|one| **one != operation::ROTATE_SSH_KEYPAIR || has_ssh_access(&new.spec))
        .filter(|one| !asked.iter().any(|all| rotation::includes(all, one)))
        .copied()
        .collect();
    if left.len() == asked.len() {
        return keep(increase);
    }
    GenerationChange { increase, operation: (!left.is_empty()).then(|| annotations::join_operations(&left)) }
}

/// Returns true if a status write raises the generation: while the control plane migration has ended on the old seed,
/// and when a rotation of the key that encrypts etcd is prepared that completes itself.
pub fn status_update_raises_generation(old: &Shoot, new: &Shoot) -> bool {
    let is_migrated = new.status.last_operation.as_ref().is_some_and(|operation| {
        operation.r#type == OperationType::Migrate.as_str()
            && matches!(operation.state.as_str(), operation_state::SUCCEEDED | operation_state::ABORTED)
    });
    is_migrated || (rotation::completes_itself(&new.status) && !rotation::completes_itself(&old.status))
}

/// Returns true if a changed spec raises the generation at once. In a confined roll-out only the switch to and from
/// hibernation does.
fn spec_counts(old: &ShootSpec, new: &ShootSpec) -> bool {
    if is_confined(new) { is_hibernation_enabled(old) != is_hibernation_enabled(new) } else { old != new }
}

fn needs_force_deletion(shoot: &Shoot) -> bool {
    annotations::is_true(&shoot.metadata.annotations, annotation::CONFIRMATION_FORCE_DELETION)
}

/// Returns the operation that gardenlet performs on a Shoot next.
pub fn operation_type(shoot: &Shoot) -> OperationType {
    let last = shoot.status.last_operation.as_ref();
    let last_type = last.and_then(|operation| OperationType::parse(&operation.r#type));
    let last_state = last.map(|operation| operation.state.as_str()).unwrap_or_default();
    let operation = shoot.metadata.annotation(annotation::OPERATION);
    let seeds = (shoot.spec.seed_name.as_deref(), shoot.status.seed_name.as_deref());
    let has_moved = matches!(seeds, (Some(wanted), Some(present)) if wanted != present);
    match last_type {
        _ if has_moved => OperationType::Migrate,
        Some(OperationType::Migrate) if matches!(last_state, operation_state::SUCCEEDED | operation_state::ABORTED) => {
            OperationType::Restore
        }
        _ if operation == Some(operation::MIGRATE) => OperationType::Migrate,
        _ if shoot.metadata.is_being_deleted() => OperationType::Delete,
        _ if operation == Some(operation::RESTORE) => OperationType::Restore,
        None if last.is_none() => OperationType::Create,
        Some(unfinished @ (OperationType::Create | OperationType::Migrate | OperationType::Restore))
            if last_state != operation_state::SUCCEEDED =>
        {
            unfinished
        }
        // This includes the Pending operation without a type of a Shoot that was skipped when it was new.
        _ => OperationType::Reconcile,
    }
}

/// Settings of gardenlet for the time of reconciliations (`controllers.shoot`), and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GardenletSettings {
    /// Time between two reconciliations; 1h by default.
    pub sync_period: TimeDelta,
    /// True if the annotations `ignore` and `sync-period` count in all namespaces; in `garden` they always do.
    pub respect_sync_period_overwrite: bool,
    /// True if a Shoot that is up to date is reconciled in its maintenance time window only.
    pub reconcile_in_maintenance_only: bool,
    /// Version of the gardenlet, as in `status.gardener.version`.
    pub gardener_version: String,
    /// True if the Seed has an [emergency stop](crate::emergency_stop).
    pub is_stopped: bool,
}

impl Default for GardenletSettings {
    fn default() -> Self {
        Self {
            sync_period: TimeDelta::hours(1),
            respect_sync_period_overwrite: false,
            reconcile_in_maintenance_only: false,
            gardener_version: String::new(),
            is_stopped: false,
        }
    }
}

/// Time of gardenlet's first pass over a Shoot that it has not seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enqueue {
    /// The pass begins at once.
    Now,
    /// The pass begins at an instant that is drawn from the span.
    Within(Span),
}

/// Time of gardenlet's next pass over a Shoot without a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextSync {
    /// No pass without a change.
    Never,
    /// The pass begins after a fixed time.
    After(TimeDelta),
    /// The pass begins at an instant that is drawn from the span.
    Within(Span),
}

/// Decision of gardenlet about a Shoot at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// True if a pass at this instant reconciles.
    pub reconcile_now: bool,
    /// Time of the first pass, if gardenlet sees the Shoot for the first time at this instant.
    pub enqueue: Enqueue,
    /// Time of the next pass, whether this one reconciles or not.
    pub requeue: NextSync,
}

/// Maximum age of an operation in the Shoot's window that counts as the one of the present window.
const SAME_WINDOW: TimeDelta = TimeDelta::hours(6);

/// Returns gardenlet's decision about a Shoot at an instant.
///
/// Upstream's extra turn, a random point in the rest of the window for a Shoot that gardenlet sees for the first time
/// in its window, is [`Enqueue::Within`] with the rest of that window.
pub fn schedule(shoot: &Shoot, settings: &GardenletSettings, now: DateTime<Utc>) -> Schedule {
    schedule_of(shoot, operation_type(shoot), settings, now)
}

/// Returns the time of the next pass as [`schedule`], for a known operation.
pub fn schedule_of(
    shoot: &Shoot,
    operation: OperationType,
    settings: &GardenletSettings,
    now: DateTime<Utc>,
) -> Schedule {
    if is_failed(shoot, settings) || is_ignored(shoot, settings) {
        return Schedule { reconcile_now: false, enqueue: Enqueue::Now, requeue: NextSync::Never };
    }
    let window = upcoming::effective_window(shoot, now);
    let in_window_only = settings.reconcile_in_maintenance_only || is_confined(&shoot.spec);
    let requeue = if in_window_only {
        NextSync::Within(upcoming::next(shoot, now))
    } else {
        NextSync::After(sync_period(shoot, settings))
    };
    // An emergency stop changes neither the first turn nor the next one: a Shoot waits for its usual turn after the stop.
    let reconcile_now = !settings.is_stopped;
    if operation != OperationType::Reconcile || !is_up_to_date(shoot) || !in_window_only {
        return Schedule { reconcile_now, enqueue: Enqueue::Now, requeue };
    }
    let is_done = shoot.status.last_operation.as_ref().is_some_and(|operation| {
        window.contains(operation.last_update_time.0) && now - operation.last_update_time.0 <= SAME_WINDOW
    });
    if window.contains(now) && !is_done {
        Schedule { reconcile_now, enqueue: Enqueue::Within(window.rest_or_next(now)), requeue }
    } else {
        Schedule { reconcile_now: false, enqueue: Enqueue::Within(upcoming::next(shoot, now)), requeue }
    }
}

fn is_failed(shoot: &Shoot, settings: &GardenletSettings) -> bool {
    is_failed_and_observed(shoot, &settings.gardener_version)
}

/// Returns true if the last operation failed for good: the Shoot has not changed since, and was observed by the same
/// version.
pub fn is_failed_and_observed(shoot: &Shoot, gardener_version: &str) -> bool {
    shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::FAILED)
        && shoot.metadata.generation == shoot.status.observed_generation
        && shoot.status.gardener.version == gardener_version
}

fn is_up_to_date(shoot: &Shoot) -> bool {
    shoot.metadata.generation == shoot.status.observed_generation
        && shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::SUCCEEDED)
}

fn respects_overwrite(shoot: &Shoot, settings: &GardenletSettings) -> bool {
    settings.respect_sync_period_overwrite || shoot.metadata.namespace == "garden"
}

/// Returns true if gardenlet ignores the Shoot.
pub fn is_ignored(shoot: &Shoot, settings: &GardenletSettings) -> bool {
    respects_overwrite(shoot, settings) && annotations::is_true(&shoot.metadata.annotations, annotation::SHOOT_IGNORE)
}

/// Returns the time between two reconciliations of a Shoot: the configured one, or a longer one of its own where that
/// counts.
pub fn sync_period(shoot: &Shoot, settings: &GardenletSettings) -> TimeDelta {
    let own = || {
        let text = shoot.metadata.annotation(annotation::SHOOT_SYNC_PERIOD)?;
        let duration: Duration = text.parse().ok()?;
        Some(duration.to_chrono()).filter(|own| *own >= settings.sync_period)
    };
    if respects_overwrite(shoot, settings) { own().unwrap_or(settings.sync_period) } else { settings.sync_period }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core::{
        Hibernation, LastOperation, Maintenance, MaintenanceTimeWindow, SSHAccess, Worker, WorkersSettings,
    };

    fn last_operation(type_: &str, state: &str, updated: &str) -> LastOperation {
        LastOperation {
            r#type: type_.to_owned(),
            state: state.to_owned(),
            last_update_time: apimachinery::meta::Time(updated.parse().expect("RFC 3339")),
            ..LastOperation::default()
        }
    }

    /// Creates a Shoot from words: `payload`, `confine`, `hibernated`, `no-ssh`, `deleted`, `force`.
    fn shoot(words: &str, state: &str, operation: &str) -> Shoot {
        let mut shoot = Shoot::default();
        shoot.spec.provider.workers.push(Worker::default());
        for word in words.split_whitespace() {
            match word {
                "payload" => "eu-1".clone_into(&mut shoot.spec.region),
                "confine" => {
                    shoot.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = Some(true);
                }
                "hibernated" => {
                    shoot.spec.hibernation = Some(Hibernation { enabled: Some(true), ..Hibernation::default() });
                }
                "no-ssh" => {
                    shoot.spec.provider.workers_settings =
                        Some(WorkersSettings { ssh_access: Some(SSHAccess { enabled: false }) });
                }
                "deleted" => shoot.metadata.deletion_timestamp = Some(apimachinery::meta::Time::default()),
                "force" => {
                    let key = "confirmation.gardener.cloud/force-deletion".to_owned();
                    shoot.metadata.annotations.insert(key, "true".to_owned());
                }
                "-" => {}
                other => panic!("no such word: {other}"),
            }
        }
        if operation != "-" {
            shoot.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
        }
        if state != "-" {
            shoot.status.last_operation = Some(last_operation("Reconcile", state, "2025-06-15T09:00:00Z"));
        }
        shoot
    }

    /// Old, new, state of the last operation, operation annotation; true if the generation rises, and the annotation
    /// afterwards. Source: docs/usage/shoot-operations/shoot_operations.md, shoot_updates.md.
    const GENERATIONS: &str = "
-        | -                  | Succeeded  | -                          => same  -
-        | payload            | Succeeded  | -                          => rises -
-        | payload confine    | Succeeded  | -                          => same  -
confine  | payload            | Succeeded  | -                          => rises -
confine  | hibernated confine | Succeeded  | -                          => rises -
-        | deleted            | -          | -                          => rises -
-        | force              | Failed     | -                          => rises -
force    | force              | Failed     | -                          => same  -
-        | payload            | Succeeded  | reconcile                  => rises kept
-        | payload confine    | Succeeded  | reconcile                  => rises removed
-        | -                  | Succeeded  | reconcile                  => rises removed
-        | -                  | Processing | reconcile                  => rises removed
-        | -                  | -          | reconcile                  => same  kept
-        | -                  | Failed     | reconcile                  => same  kept
-        | -                  | Failed     | retry                      => rises removed
-        | -                  | Error      | retry                      => same  kept
-        | -                  | Succeeded  | maintain                   => same  kept
-        | -                  | Succeeded  | force-in-place-update      => same  kept
-        | -                  | Succeeded  | rotate-credentials-start   => rises kept
-        | -                  | Failed     | rotate-credentials-start   => same  kept
-        | -                  | Succeeded  | rotate-rollout-workers=a,b => rises kept
-        | -                  | Succeeded  | rollout-workers=*          => rises kept
-        | -                  | Succeeded  | rotate-foo                 => same  kept
-        | -                  | Succeeded  | rotate-ssh-keypair         => rises kept
no-ssh   | no-ssh             | Succeeded  | rotate-ssh-keypair         => same  removed
-        | -                  | Succeeded  | rotate-etcd-encryption-key => rises kept
-        | -                  | Succeeded  | reconcile;rotate-ssh-keypair => rises rotate-ssh-keypair
no-ssh   | no-ssh             | Succeeded  | reconcile;rotate-ssh-keypair => rises removed
-        | -                  | Succeeded  | rotate-ca-start; rotate-ssh-keypair => rises kept
-        | -                  | Succeeded  | reconcile;reconcile        => rises removed
-        | -                  | Failed     | reconcile;rotate-ca-start  => same  kept
-        | -                  | Succeeded  | rotate-ssh-keypair;rotate-credentials-start;rotate-ca-start => rises rotate-credentials-start
-        | -                  | Succeeded  | rotate-credentials-complete;rotate-ca-complete;rotate-rollout-workers=a => rises rotate-credentials-complete;rotate-rollout-workers=a
-        | -                  | Succeeded  | rotate-credentials-start-without-workers-rollout;rotate-ca-start-without-workers-rollout => rises rotate-credentials-start-without-workers-rollout
";

    #[test]
    fn generation_follows_the_first_reason_that_applies() {
        for row in GENERATIONS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let cells: Vec<&str> = given.split('|').map(str::trim).collect();
            let change = generation_on_update(&shoot(cells[0], cells[2], "-"), &shoot(cells[1], cells[2], cells[3]));
            let annotation = match (cells[3], change.operation) {
                ("-", None) => "-".to_owned(),
                (_, None) => "removed".to_owned(),
                (asked, Some(left)) if asked == left => "kept".to_owned(),
                (_, Some(left)) => left,
            };
            let actual = format!("{:5} {annotation}", if change.increase { "rises" } else { "same" });
            assert_eq!(actual, expected.trim(), "row: {row}");
        }
    }

    #[test]
    fn ended_migration_raises_the_generation_on_status_writes() {
        for (type_, state, expected) in [
            ("Migrate", "Succeeded", true),
            ("Migrate", "Aborted", true),
            ("Migrate", "Error", false),
            ("Reconcile", "Succeeded", false),
        ] {
            let mut shoot = Shoot::default();
            shoot.status.last_operation = Some(last_operation(type_, state, "2025-06-15T09:00:00Z"));
            assert_eq!(status_update_raises_generation(&Shoot::default(), &shoot), expected, "{type_} {state}");
        }
    }

    /// Last operation, other circumstances, and the next operation of gardenlet.
    const OPERATIONS: &str = "
-          -          -        => Create
none       Pending    -        => Reconcile
Create     Processing -        => Create
Create     Error      -        => Create
Create     Succeeded  -        => Reconcile
Reconcile  Error      -        => Reconcile
Delete     Error      deleted  => Delete
Create     Processing deleted  => Delete
Reconcile  Succeeded  moved    => Migrate
Migrate    Processing -        => Migrate
Migrate    Succeeded  -        => Restore
Migrate    Aborted    deleted  => Restore
Restore    Error      -        => Restore
Restore    Succeeded  -        => Reconcile
Reconcile  Succeeded  restore  => Restore
Reconcile  Succeeded  migrate  => Migrate
";

    #[test]
    fn operation_follows_from_the_last_one() {
        for row in OPERATIONS.lines().filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let mut given = Shoot::default();
            if words[0] != "-" {
                let type_ = if words[0] == "none" { "" } else { words[0] };
                given.status.last_operation = Some(last_operation(type_, words[1], "2025-06-15T09:00:00Z"));
            }
            given.status.seed_name = Some("a".to_owned());
            given.spec.seed_name = Some(if words[2] == "moved" { "b" } else { "a" }.to_owned());
            match words[2] {
                "deleted" => given.metadata.deletion_timestamp = Some(apimachinery::meta::Time::default()),
                operation @ ("migrate" | "restore") => {
                    given.metadata.annotations.insert("gardener.cloud/operation".to_owned(), operation.to_owned());
                }
                _ => {}
            }
            assert_eq!(operation_type(&given).as_str(), words[4], "row: {row}");
        }
    }

    #[test]
    fn a_shoots_sync_period_counts_if_respected_and_longer() {
        let settings = GardenletSettings::default();
        let mut shoot = Shoot::default();
        let period = |shoot: &Shoot, settings: &GardenletSettings| sync_period(shoot, settings).num_minutes();
        shoot.metadata.annotations.insert("shoot.gardener.cloud/sync-period".to_owned(), "2h30m".to_owned());
        assert_eq!(period(&shoot, &settings), 60);
        let respecting = GardenletSettings { respect_sync_period_overwrite: true, ..settings.clone() };
        assert_eq!(period(&shoot, &respecting), 150);
        "garden".clone_into(&mut shoot.metadata.namespace);
        assert_eq!(period(&shoot, &settings), 150);
        for too_short_or_wrong in ["30m", "soon"] {
            shoot
                .metadata
                .annotations
                .insert("shoot.gardener.cloud/sync-period".to_owned(), too_short_or_wrong.to_owned());
            assert_eq!(period(&shoot, &settings), 60);
        }
    }

    /// Confined Shoot, window 22:00 to 23:00: now, last success; true if gardenlet reconciles, and its first turn.
    const CONFINED: &str = "
15T10:00:00 14T22:10:00 => no  next
15T22:10:00 14T22:10:00 => yes rest
15T22:40:00 15T22:10:00 => no  next
15T22:10:00 15T21:59:59 => yes rest
15T22:45:00 14T22:10:00 => yes rest
15T22:45:01 14T22:10:00 => no  next
";

    #[test]
    fn emergency_stop_reconciles_no_shoot_and_keeps_turns() {
        let now = "2025-06-15T22:10:00Z".parse::<DateTime<Utc>>().expect("RFC 3339");
        let stopped = GardenletSettings { is_stopped: true, ..GardenletSettings::default() };
        let mut confined = shoot("confine", "Succeeded", "-");
        confined.metadata.generation = 2;
        let mut shoots = vec![confined];
        shoots.extend(
            [("-", "-"), ("deleted", "Succeeded"), ("-", "Error")].map(|(state, last)| shoot(state, last, "-")),
        );
        for shoot in shoots {
            let usual = schedule(&shoot, &GardenletSettings::default(), now);
            assert!(usual.reconcile_now);
            assert_eq!(schedule(&shoot, &stopped, now), Schedule { reconcile_now: false, ..usual });
        }
    }

    #[test]
    fn confined_shoots_are_reconciled_once_in_their_window() {
        let instant = |text: &str| format!("2025-06-{text}Z").parse::<DateTime<Utc>>().expect("RFC 3339");
        for row in CONFINED.lines().filter(|row| !row.is_empty()) {
            let words: Vec<&str> = row.split_whitespace().collect();
            let now = instant(words[0]);
            let mut shoot = Shoot::default();
            shoot.spec.maintenance = Some(Maintenance {
                time_window: Some(MaintenanceTimeWindow { begin: "220000+0000".into(), end: "230000+0000".into() }),
                confine_spec_update_rollout: Some(true),
                ..Maintenance::default()
            });
            shoot.status.last_operation =
                Some(last_operation("Reconcile", "Succeeded", &instant(words[1]).to_rfc3339()));
            let schedule = schedule(&shoot, &GardenletSettings::default(), now);
            let Enqueue::Within(span) = schedule.enqueue else { panic!("in a window") };
            let turn = if span.earliest == now { "rest" } else { "next" };
            assert_eq!([if schedule.reconcile_now { "yes" } else { "no" }, turn], words[3..], "row: {row}");
            assert_eq!(schedule.requeue, NextSync::Within(upcoming::next(&shoot, now)), "row: {row}");
        }
    }
}
