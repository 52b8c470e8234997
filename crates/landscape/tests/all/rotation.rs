// SPDX-License-Identifier: Apache-2.0
//! Rotation of a Shoot's credentials, from the view of its owner: status, Secrets, nodes.

use std::collections::BTreeSet;

use api::core::{CloudProfile, InPlaceUpdates, InternalSecret, Shoot, ShootCredentialsRotation};
use api::kubernetes::core::{ConfigMap, Secret};
use api::terrarium::{Cluster, Fault};
use apimachinery::meta::{ByteString, ObjectMeta, Time};
use controller::{Api, Patch};
use domain::validation::shoot::Gates;
use landscape::{Options, preset, wait};
use serde_json::json;

use crate::support::{Audited, evening, instant, is};

const OPERATION: &str = "gardener.cloud/operation";
const ID: &str = "shoot--demo--local";

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

fn annotate(audited: &mut Audited, key: &str, value: &str) -> Result<Shoot, controller::Error> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {key: value}}}));
    let api = shoots(audited);
    audited.run(api.patch("local", &patch))
}

/// Requests an operation and waits for the run that performs it; returns the Shoot afterwards.
#[track_caller]
fn carry_out(audited: &mut Audited, operation: &str, limit: &str) -> Shoot {
    annotate(audited, OPERATION, operation).unwrap_or_else(|error| panic!("{operation}: {error}"));
    let api = shoots(audited);
    let done = |shoot: &Shoot| {
        is(shoot, "Reconcile", "Succeeded") && shoot.status.observed_generation == shoot.metadata.generation
    };
    let shoot = audited.until_done(limit, wait::for_object(&api, "local", done));
    assert_eq!(shoot.metadata.annotation(OPERATION), None, "{operation} is taken off");
    shoot
}

fn rotation(shoot: &Shoot) -> ShootCredentialsRotation {
    let credentials = shoot.status.credentials.clone().expect("credentials were rotated");
    credentials.rotation.expect("credentials were rotated")
}

/// Phases of certificate authorities, service account key and etcd encryption key.
fn phases(shoot: &Shoot) -> [String; 3] {
    let rotation = rotation(shoot);
    [
        rotation.certificate_authorities.map(|one| one.phase).unwrap_or_default(),
        rotation.service_account_key.map(|one| one.phase).unwrap_or_default(),
        rotation.etcd_encryption_key.map(|one| one.phase).unwrap_or_default(),
    ]
}

/// Names of the nodes of one pool.
fn nodes(audited: &mut Audited, pool: &str) -> BTreeSet<String> {
    let nodes = audited.nodes("local").into_iter();
    let of_pool = nodes.filter(|node| node.metadata.label("worker.gardener.cloud/pool") == Some(pool));
    of_pool.map(|node| node.metadata.name).collect()
}

/// Number of Machines that were ever created.
fn machines_made(audited: &Audited) -> usize {
    let machines = audited.entries().into_iter().filter(|entry| &*entry.key.resource == "machine.sapcloud.io/machines");
    machines.map(|entry| entry.key.name.to_string()).collect::<BTreeSet<_>>().len()
}

/// Credentials of the owner and of the cluster's API server.
#[derive(Debug, PartialEq)]
struct Held {
    /// Authorities of the API server, as in kubeconfigs.
    bundle: String,
    /// Authority that signs kubeconfigs.
    signer: String,
    /// Authorities whose kubeconfigs the API server accepts.
    accepted: String,
    ssh: ByteString,
    old_ssh: Option<ByteString>,
    password: ByteString,
}

fn held(audited: &mut Audited) -> Held {
    let admin = audited.admin.clone();
    let secrets = Api::<Secret>::namespaced(&admin, "garden", preset::NAMESPACE);
    let maps = Api::<ConfigMap>::namespaced(&admin, "garden", preset::NAMESPACE);
    let internal = Api::<InternalSecret>::namespaced(&admin, "garden", preset::NAMESPACE);
    let clusters = Api::<Cluster>::all(&admin, "runtime");
    audited
        .run(async {
            let old_ssh = secrets.get_opt("local.ssh-keypair.old").await?;
            let signer = internal.get("local.ca-client").await?.data["ca.crt"].0.clone();
            let bundle = maps.get("local.ca-cluster").await?.data["ca.crt"].clone();
            assert_eq!(secrets.get("local.ca-cluster").await?.data["ca.crt"].0, bundle.as_bytes());
            Ok::<_, controller::Error>(Held {
                bundle,
                signer: String::from_utf8(signer).expect("PEM"),
                accepted: clusters.get(ID).await?.spec.client_ca,
                ssh: secrets.get("local.ssh-keypair").await?.data["id_rsa"].clone(),
                old_ssh: old_ssh.map(|secret| secret.data["id_rsa"].clone()),
                password: secrets.get("local.monitoring").await?.data["password"].clone(),
            })
        })
        .expect("gardenlet has written them")
}

fn certificates(bundle: &str) -> usize {
    bundle.matches("BEGIN CERTIFICATE").count()
}

#[test]
fn a_rotation_of_all_credentials_rolls_nodes_exactly_once() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let (before, old_nodes) = (held(&mut audited), nodes(&mut audited, "local"));
    assert_eq!((certificates(&before.bundle), machines_made(&audited)), (1, 3));

    let shoot = carry_out(&mut audited, "rotate-credentials-start", "2023-07-27T22:00:00Z");
    assert_eq!(phases(&shoot), ["Prepared", "Prepared", "Prepared"]);
    let state = rotation(&shoot);
    let authorities = state.certificate_authorities.expect("rotated");
    let (begun, prepared) = (authorities.last_initiation_time, authorities.last_initiation_finished_time);
    assert!(begun < prepared, "{begun:?} {prepared:?}");
    let key = state.service_account_key.expect("rotated");
    let etcd = state.etcd_encryption_key.expect("rotated");
    let (ssh, observability) = (state.ssh_keypair.expect("rotated"), state.observability.expect("rotated"));
    let starts = [key.last_initiation_time, etcd.last_initiation_time, ssh.last_initiation_time];
    assert_eq!((starts, observability.last_initiation_time), ([begun; 3], begun), "one run, one instant");
    let ends = [key.last_initiation_finished_time, etcd.last_initiation_finished_time, ssh.last_completion_time];
    assert_eq!((ends, observability.last_completion_time), ([prepared; 3], prepared), "one run, one instant");

    let (between, new_nodes) = (held(&mut audited), nodes(&mut audited, "local"));
    assert!(new_nodes.is_disjoint(&old_nodes) && new_nodes.len() == 3, "{old_nodes:?} {new_nodes:?}");
    assert_eq!(machines_made(&audited), 6);
    assert_eq!((certificates(&between.bundle), certificates(&between.accepted)), (2, 2));
    assert!(between.bundle.ends_with(&before.bundle), "clients with the old authority can still connect");
    assert_ne!(between.signer, before.signer);
    assert_eq!(between.accepted, format!("{}{}", between.signer, before.signer), "old kubeconfigs are good");
    assert_ne!(between.ssh, before.ssh);
    assert_eq!((&before.old_ssh, &between.old_ssh), (&None, &Some(before.ssh)));
    assert_ne!(between.password, before.password);

    let shoot = carry_out(&mut audited, "rotate-credentials-complete", "2023-07-27T23:00:00Z");
    assert_eq!(phases(&shoot), ["Completed", "Completed", "Completed"]);
    let authorities = rotation(&shoot).certificate_authorities.expect("rotated");
    assert_eq!(authorities.last_initiation_time, begun);
    assert_eq!((authorities.last_initiation_finished_time, authorities.last_completion_triggered_time), (None, None));
    assert!(authorities.last_completion_time >= prepared);
    let after = held(&mut audited);
    assert_eq!((certificates(&after.bundle), certificates(&after.accepted)), (1, 1));
    assert!(between.bundle.starts_with(&after.bundle));
    assert_eq!((&after.accepted, &after.signer), (&between.signer, &between.signer), "old kubeconfigs are not");
    assert_eq!((&after.ssh, &after.password), (&between.ssh, &between.password));
    assert_eq!(nodes(&mut audited, "local"), new_nodes, "completion rolls none");

    // The next rotation begins where this one ended.
    let shoot = carry_out(&mut audited, "rotate-ca-start", "2023-07-27T23:50:00Z");
    assert_eq!(phases(&shoot), ["Prepared", "Completed", "Completed"]);
    assert_eq!(
        rotation(&shoot).certificate_authorities.and_then(|one| one.last_completion_time),
        authorities.last_completion_time
    );
    assert!(nodes(&mut audited, "local").is_disjoint(&new_nodes));
    assert_eq!(machines_made(&audited), 9);
    let last = held(&mut audited);
    assert_eq!(last.accepted, format!("{}{}", last.signer, after.signer));
}

#[test]
fn without_roll_out_pools_roll_when_they_are_named() {
    let gates = Gates { credentials_rotation_without_workers_rollout: true, ..Gates::default() };
    let mut audited = Audited::start(Options { gates, ..Options::new(1, evening()) });
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let mut shoot = preset::shoot("local");
    let mut other = shoot.spec.provider.workers[0].clone();
    other.name = "other".into();
    (other.minimum, other.maximum) = (1, 1);
    shoot.spec.provider.workers.push(other);
    let api = shoots(&audited);
    audited.run(api.create(&shoot)).expect("the Shoot is valid");
    let created = wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded"));
    audited.until_done("2023-07-27T21:00:00Z", created);
    let pools = |audited: &mut Audited| (nodes(audited, "local"), nodes(audited, "other"));
    let (local, other) = pools(&mut audited);
    assert_eq!((local.len(), other.len()), (3, 1));

    let operation = "rotate-credentials-start-without-workers-rollout";
    let shoot = carry_out(&mut audited, operation, "2023-07-27T22:00:00Z");
    let waiting = "WaitingForWorkersRollout";
    assert_eq!(phases(&shoot), [waiting, waiting, "Prepared"]);
    let pending = |shoot: &Shoot| -> Vec<String> {
        let authorities = rotation(shoot).certificate_authorities.expect("rotated");
        authorities.pending_workers_rollouts.into_iter().map(|rollout| rollout.name).collect()
    };
    assert_eq!(pending(&shoot), ["local", "other"]);
    assert_eq!(pools(&mut audited), (local.clone(), other.clone()), "no node rolls");
    assert_eq!(certificates(&held(&mut audited).bundle), 2);
    let early = annotate(&mut audited, OPERATION, "rotate-ca-complete").expect_err("nodes have the old credentials");
    assert!(early.to_string().contains("cannot complete CA rotation"), "{early}");

    let shoot = carry_out(&mut audited, "rotate-rollout-workers=other", "2023-07-27T22:30:00Z");
    assert_eq!(
        (phases(&shoot), pending(&shoot)),
        ([waiting, waiting, "Prepared"].map(str::to_owned), vec!["local".to_owned()])
    );
    let (same, rolled) = pools(&mut audited);
    assert_eq!(same, local, "the other pool was not named");
    assert!(rolled.is_disjoint(&other) && rolled.len() == 1);

    let shoot = carry_out(&mut audited, "rotate-rollout-workers=local", "2023-07-27T23:00:00Z");
    assert_eq!(phases(&shoot), ["Prepared", "Prepared", "Prepared"]);
    let (last, same) = pools(&mut audited);
    assert!(last.is_disjoint(&local) && last.len() == 3);
    assert_eq!(same, rolled);
    let shoot = carry_out(&mut audited, "rotate-credentials-complete", "2023-07-27T23:30:00Z");
    assert_eq!(phases(&shoot), ["Completed", "Completed", "Completed"]);
    assert_eq!(pools(&mut audited), (last, rolled));
    assert_eq!(machines_made(&audited), 8);
}

#[test]
fn key_pair_and_passwords_rotate_in_one_run() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let refused = annotate(&mut audited, OPERATION, "rotate-ca-start-without-workers-rollout").expect_err("gate off");
    assert!(refused.to_string().contains("CredentialsRotationWithoutWorkersRollout feature gate"), "{refused}");
    let (first, old_nodes) = (held(&mut audited), nodes(&mut audited, "local"));
    let shoot = carry_out(&mut audited, "rotate-ssh-keypair", "2023-07-27T22:00:00Z");
    let ssh = rotation(&shoot).ssh_keypair.expect("rotated");
    assert!(ssh.last_initiation_time.is_some() && ssh.last_completion_time >= ssh.last_initiation_time);
    let second = held(&mut audited);
    assert_ne!(second.ssh, first.ssh);
    let unchanged = Held { ssh: first.ssh.clone(), old_ssh: None, ..second };
    assert_eq!(unchanged, first);

    let shoot = carry_out(&mut audited, "rotate-observability-credentials", "2023-07-27T22:00:00Z");
    let observability = rotation(&shoot).observability.expect("rotated");
    assert!(observability.last_completion_time >= observability.last_initiation_time);
    let third = held(&mut audited);
    assert_ne!(third.password, first.password);
    assert_eq!(third.old_ssh.as_ref(), Some(&first.ssh));
    assert_eq!(nodes(&mut audited, "local"), old_nodes);

    let access = |enabled: bool| {
        Patch::Merge(json!({"spec": {"provider": {"workersSettings": {"sshAccess": {"enabled": enabled}}}}}))
    };
    let api = shoots(&audited);
    audited.run(api.patch("local", &access(false))).expect("SSH access can be switched off");
    let gone = |shoot: &Shoot| rotation(shoot).ssh_keypair.is_none();
    audited.until_done("2023-07-27T23:00:00Z", wait::for_object(&api, "local", gone));
    let generation = audited.shoot("local").metadata.generation;
    let shoot = annotate(&mut audited, OPERATION, "rotate-ssh-keypair").expect("accepted");
    assert_eq!((shoot.metadata.annotation(OPERATION), shoot.metadata.generation), (None, generation));
}

/// Makes a task of the Shoot's flow fail once.
#[track_caller]
fn fail_once(audited: &mut Audited, name: &str, task: &str, settings: &[(&str, &str)]) {
    let mut fault = Fault { metadata: ObjectMeta::named("", name), ..Fault::default() };
    "task-fails".clone_into(&mut fault.spec.kind);
    fault.spec.times = Some(1);
    let settings = settings.iter().copied().chain([("task", task)]);
    fault.spec.settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let api = Api::<Fault>::all(&audited.admin, "runtime");
    audited.run(api.create(&fault)).expect("a valid fault");
}

/// A begun rotation continues: the phase survives an error and a failure, nothing begins twice, and no node rolls
/// again.
#[test]
fn a_failed_rotation_continues_in_its_phase() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let before = held(&mut audited);
    fail_once(&mut audited, "f", "Waiting until shoot worker nodes have been reconciled", &[]);
    annotate(&mut audited, OPERATION, "rotate-credentials-start").expect("accepted");
    let api = shoots(&audited);
    let in_error = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Error"));
    let shoot = audited.until_done("2023-07-27T22:00:00Z", in_error);
    assert_eq!((phases(&shoot), shoot.metadata.annotation(OPERATION)), (["Preparing"; 3].map(str::to_owned), None));
    let begun = rotation(&shoot);
    let begun = begun.certificate_authorities.and_then(|one| one.last_initiation_time);
    let between = held(&mut audited);
    assert_eq!(certificates(&between.bundle), 2);
    assert_ne!((&between.ssh, &between.password), (&before.ssh, &before.password));
    for early in ["rotate-ca-complete", "rotate-credentials-start"] {
        annotate(&mut audited, OPERATION, early).expect_err("it is under way");
    }

    let prepared = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded"));
    let shoot = audited.until_done("2023-07-27T23:00:00Z", prepared);
    assert_eq!(phases(&shoot), ["Prepared"; 3]);
    let authorities = rotation(&shoot).certificate_authorities.expect("rotated");
    assert_eq!(authorities.last_initiation_time, begun, "it has not begun again");
    assert_eq!(held(&mut audited), between, "the retry makes no other credentials");
    assert_eq!(machines_made(&audited), 6, "the nodes rolled once");

    let settings = [("code", "ERR_INFRA_QUOTA_EXCEEDED"), ("message", "no room")];
    fail_once(&mut audited, "g", "Deploying Shoot infrastructure", &settings);
    annotate(&mut audited, OPERATION, "rotate-credentials-complete").expect("accepted");
    let failed = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Failed"));
    let shoot = audited.until_done("2023-07-27T23:10:00Z", failed);
    assert_eq!(phases(&shoot), ["Completing"; 3]);
    audited.until("2023-07-28T08:00:00Z");
    assert_eq!(phases(&audited.shoot("local")), ["Completing"; 3], "nothing goes on by itself");
    annotate(&mut audited, OPERATION, "retry").expect("accepted");
    let done = wait::for_object(&api, "local", |shoot| is(shoot, "Reconcile", "Succeeded"));
    let shoot = audited.until_done("2023-07-28T08:30:00Z", done);
    assert_eq!((phases(&shoot), machines_made(&audited)), (["Completed"; 3].map(str::to_owned), 6));
    assert_eq!(certificates(&held(&mut audited).accepted), 1);
}

/// Nodes of such a pool keep their credentials until a user selects them: until then the new ones are not prepared, and
/// neither the pool nor the rotation proceeds.
#[test]
fn a_rotation_waits_for_pools_that_are_updated_by_hand() {
    let gates = Gates { in_place_node_updates: true, ..Gates::default() };
    let mut audited = Audited::start(Options { gates, ..Options::new(1, evening()) });
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:01:00Z", preset::create(&admin));
    let profiles = Api::<CloudProfile>::all(&admin, "garden");
    let mut profile = audited.run(profiles.get("local")).expect("the preset has it");
    for version in &mut profile.spec.machine_images[0].versions {
        version.in_place_updates = Some(InPlaceUpdates { supported: true, ..InPlaceUpdates::default() });
    }
    audited.run(profiles.replace(&profile)).expect("versions can be updated in place");
    let mut shoot = preset::shoot("local");
    let mut rolling = shoot.spec.provider.workers[0].clone();
    rolling.name = "rolling".into();
    (rolling.minimum, rolling.maximum) = (1, 1);
    shoot.spec.provider.workers[0].update_strategy = Some("ManualInPlaceUpdate".to_owned());
    (shoot.spec.provider.workers[0].max_surge, shoot.spec.provider.workers[0].max_unavailable) =
        (Some(0.into()), Some(1.into()));
    shoot.spec.provider.workers.push(rolling);
    let api = shoots(&audited);
    audited.run(api.create(&shoot)).expect("the Shoot is valid");
    let begun = wait::for_object(&api, "local", |shoot| shoot.status.in_place_updates.is_some());
    let shoot = audited.until_done("2023-07-27T20:02:00Z", begun);
    assert_eq!(pending_by_hand(&shoot), ["local"], "a new pool is pending until it is there");
    let created = wait::for_object(&api, "local", |shoot| is(shoot, "Create", "Succeeded"));
    audited.until_done("2023-07-27T21:00:00Z", created);
    audited.until("2023-07-27T21:01:00Z");
    let shoot = audited.shoot("local");
    assert_eq!((pending_by_hand(&shoot), &shoot.status.in_place_updates), (Vec::new(), &None));
    let (kept, rolled) = (nodes(&mut audited, "local"), nodes(&mut audited, "rolling"));

    let shoot = carry_out(&mut audited, "rotate-ca-start", "2023-07-27T22:00:00Z");
    assert_eq!((&*phases(&shoot)[0], pending_by_hand(&shoot)), ("Preparing", vec!["local".to_owned()]));
    assert_eq!(nodes(&mut audited, "local"), kept);
    assert!(nodes(&mut audited, "rolling").is_disjoint(&rolled));
    audited.until("2023-07-27T22:05:00Z");
    let constraints = audited.shoot("local").status.constraints;
    let constraint = constraints.iter().find(|one| one.r#type == "ManualInPlaceWorkersUpdated").expect("it is not");
    assert_eq!((&*constraint.status, constraint.message.ends_with(" are pending update: local")), ("False", true));
    let refused = annotate(&mut audited, OPERATION, "rotate-ca-complete").expect_err("not prepared");
    assert!(refused.to_string().contains("certificateAuthorities.phase is not 'Prepared'"), "{refused}");
    let refused = annotate(&mut audited, OPERATION, "rotate-serviceaccount-key-start").expect_err("a pool is pending");
    assert!(refused.to_string().contains("pendingWorkerUpdates.manualInPlaceUpdate is not empty"), "{refused}");
    let label = |pool: usize| {
        let path = format!("/spec/provider/workers/{pool}/labels");
        Patch::Json(json!([{"op": "add", "path": path, "value": {"a": "b"}}]))
    };
    let refused = audited.run(api.patch("local", &label(0))).expect_err("the pool is pending");
    assert!(refused.to_string().contains("is currently undergoing an in-place update"), "{refused}");
    audited.run(api.patch("local", &label(1))).expect("the other pool is not");

    // The rotation does not wait for a removed pool.
    let remove = Patch::Json(json!([{"op": "remove", "path": "/spec/provider/workers/0"}]));
    audited.run(api.patch("local", &remove)).expect("accepted");
    let prepared = |shoot: &Shoot| phases(shoot)[0] == "Prepared";
    let shoot = audited.until_done("2023-07-27T23:00:00Z", wait::for_object(&api, "local", prepared));
    assert_eq!(shoot.status.in_place_updates, None);
}

/// Pools that wait for a user to update them.
fn pending_by_hand(shoot: &Shoot) -> Vec<String> {
    let updates = shoot.status.in_place_updates.clone();
    let pending = updates.and_then(|updates| updates.pending_worker_updates);
    pending.map(|pending| pending.manual_in_place_update).unwrap_or_default()
}

/// A gardenlet that waits for an extension whose operation annotation is removed must not take the result of the
/// previous operation for that of the new one.
#[test]
fn an_extension_reports_progress_before_it_removes_the_annotation() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    carry_out(&mut audited, "rotate-ca-start", "2023-07-27T22:00:00Z");
    let mut orders = BTreeSet::new();
    for entry in audited.entries() {
        let Some((_, before)) = &entry.previous else { continue };
        let object = |parts: &eventlog::Sections| -> serde_json::Value {
            serde_json::from_slice(&parts.parts.concat()).unwrap_or_else(|error| panic!("{}: {error}", entry.key))
        };
        let is_extension = entry.key.resource.starts_with("extensions.gardener.cloud/");
        if !is_extension || entry.verb == eventlog::Verb::Delete {
            continue;
        }
        let order = |object: &serde_json::Value| object["metadata"]["annotations"].get(OPERATION).is_some();
        let (before, after) = (object(before), object(&entry.object));
        if order(&before) && !order(&after) {
            assert_eq!(after["status"]["lastOperation"]["state"], "Processing", "{}", entry.key);
            orders.insert(entry.key.resource.to_string());
        }
    }
    assert!(orders.contains("extensions.gardener.cloud/workers") && orders.len() > 4, "{orders:?}");
}

#[test]
fn a_rotation_waits_for_the_maintenance_window() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    let waiting = "maintenance.gardener.cloud/operation";
    annotate(&mut audited, waiting, "rotate-ca-start").expect("accepted");
    audited.until("2023-07-28T08:59:00Z");
    let shoot = audited.shoot("local");
    assert_eq!((shoot.metadata.annotation(waiting), &shoot.status.credentials), (Some("rotate-ca-start"), &None));
    let api = shoots(&audited);
    let prepared = |shoot: &Shoot| shoot.status.credentials.is_some() && phases(shoot)[0] == "Prepared";
    let shoot = audited.until_done("2023-07-28T11:00:00Z", wait::for_object(&api, "local", prepared));
    assert_eq!((shoot.metadata.annotation(waiting), shoot.metadata.annotation(OPERATION)), (None, None));
    let begun = rotation(&shoot).certificate_authorities.and_then(|one| one.last_initiation_time).expect("begun");
    let window = Time(instant("2023-07-28T09:00:00Z"))..=Time(instant("2023-07-28T09:45:00Z"));
    assert!(window.contains(&begun), "{begun:?}");
    let maintenance = shoot.status.last_maintenance.expect("the version had expired");
    assert_eq!(maintenance.state, "Succeeded");
    // New version, new image and rotation were one roll-out.
    assert_eq!(machines_made(&audited), 6);
}
