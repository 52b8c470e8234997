// SPDX-License-Identifier: Apache-2.0
//! The update paths of the documentation, row by row.

use api::core::*;
use apimachinery::meta::{Duration, Time};
use chrono::{DateTime, TimeDelta, Utc};

use super::*;
use crate::profile::Profile;
use crate::release::{DOCUMENTED, Release};
use crate::versions::Moment;

/// Returns the instant of the tests with the documents' release.
fn at() -> Moment {
    Moment::new(now(), DOCUMENTED)
}

fn now() -> DateTime<Utc> {
    "2025-06-15T12:00:00Z".parse().expect("RFC 3339")
}

/// Parses `1.31.2`, followed by marks: `!` expires now, `~` deprecated, `?` preview.
fn offered(list: &str) -> Vec<MachineImageVersion> {
    list.split_whitespace()
        .map(|text| {
            let version = text.trim_end_matches(['!', '~', '?']);
            let marks = &text[version.len()..];
            let classification =
                [('~', "deprecated"), ('?', "preview")].into_iter().find(|(mark, _)| marks.contains(*mark));
            MachineImageVersion {
                version: version.to_owned(),
                lifecycle: Vec::new(),
                expiration_date: marks.contains('!').then(|| now().into()),
                classification: classification.map(|(_, name)| name.to_owned()),
                cri: vec![CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() }],
                architectures: vec!["amd64".to_owned()],
                ..MachineImageVersion::default()
            }
        })
        .collect()
}

fn kubernetes(list: &str) -> Vec<ExpirableVersion> {
    let plain = |entry: MachineImageVersion| ExpirableVersion {
        version: entry.version,
        expiration_date: entry.expiration_date,
        classification: entry.classification,
        lifecycle: entry.lifecycle,
    };
    offered(list).into_iter().map(plain).collect()
}

fn told(outcome: Option<&Outcome>) -> String {
    match outcome {
        None => "stays".to_owned(),
        Some(outcome) => format!("{} | {}", outcome.version().unwrap_or("stuck"), outcome.reason),
    }
}

/// One row per sentence of the docs: current version, auto-update, versions of the CloudProfile, and the result of
/// maintenance. Source: docs/usage/shoot-operations/shoot_versions.md, "Update path for Kubernetes versions".
const KUBERNETES_UPDATES: &str = "
1.24.5   off  1.24.6 1.24.5             => stays
1.24.5   on   1.24.6 1.24.5             => 1.24.6 | Automatic update of Kubernetes version configured
1.24.5   on   1.25.0 1.24.5             => stays
1.24.5   on   1.24.6! 1.24.5            => stays
1.25.3   on   1.25.5? 1.25.4 1.25.3     => 1.25.4 | Automatic update of Kubernetes version configured
1.26.1   on   1.26.3~ 1.26.2 1.26.1     => 1.26.2 | Automatic update of Kubernetes version configured
1.26.1   on   1.26.3~ 1.26.1            => 1.26.3 | Automatic update of Kubernetes version configured
1.26.1   on   1.26.10 1.26.9 1.26.1     => 1.26.10 | Automatic update of Kubernetes version configured
1.24.12  off  1.24.13~ 1.25.10 1.24.12! => 1.24.13 | Kubernetes version expired - force update required
1.24.12  off  1.24.13! 1.25.10 1.24.12! => 1.25.10 | Kubernetes version expired - force update required
1.24.12  off  1.26.9 1.25.10 1.24.12!   => 1.25.10 | Kubernetes version expired - force update required
1.24.12  off  1.25.10! 1.25.9 1.24.12!  => 1.25.9 | Kubernetes version expired - force update required
1.24.12  off  1.25.10! 1.25.9! 1.24.12! => 1.25.10 | Kubernetes version expired - force update required
1.24.12  off  1.26.10 1.26.9 1.24.12!   => stuck | Kubernetes version expired - force update required
1.24.12  off  1.25.10? 1.24.12!         => stuck | Kubernetes version expired - force update required
1.24.12  off  1.25.10 1.24.13           => 1.24.13 | Version does not exist in CloudProfile
1.24.12  off  1.25.10 1.24.11           => 1.25.10 | Version does not exist in CloudProfile
";

#[test]
fn maintenance_raises_kubernetes_versions_as_documented() {
    for row in KUBERNETES_UPDATES.lines().filter(|row| !row.is_empty()) {
        let (given, expected) = row.split_once("=>").expect("row has an arrow");
        let (current, rest) = given.trim().split_once(' ').expect("row names a version");
        let (auto_update, list) = rest.trim().split_once(' ').expect("row says on or off");
        let outcome = kubernetes_update(current, auto_update == "on", &kubernetes(list), None, at());
        assert_eq!(told(outcome.as_ref()), expected.trim(), "row: {row}");
    }
}

/// Strategy, current version, auto-update, versions of the CloudProfile, and the result of maintenance.
/// Source: docs/usage/shoot-operations/shoot_versions.md, "Update path for machine image versions".
const IMAGE_UPDATES: &str = "
patch 1.4.8  on   1.5.2 1.4.9 1.4.8       => 1.4.9
patch 1.4.9  on   1.5.2 1.4.9             => stays
patch 1.4.9  off  1.7.1 1.6.2 1.6.1 1.4.9! => 1.6.2
patch 1.4.9  off  1.7.1 1.6.2! 1.6.1! 1.4.9! => 1.6.2
patch 1.4.9  off  2.0.0 1.4.9!            => stuck
minor 1.4.8  on   1.5.2 1.4.9 1.4.8       => 1.4.9
minor 1.4.9  on   2.3.0 1.5.2 1.5.1 1.4.9 => 1.5.2
minor 1.5.2  on   2.3.0 1.5.2             => stays
minor 1.9.0  off  3.1.0 2.2.0 2.1.5 1.9.0! => 2.2.0
minor 1.9.0  off  3.1.0 2.2.0! 1.9.0!     => 2.2.0
minor 1.9.0  off  3.1.0 2.2.0? 1.9.0!     => 3.1.0
minor 1.9.0  off  1.9.0!                  => stuck
major 1.4.8  on   2.3.0 1.5.0 1.4.9 1.4.8 => 1.4.9
major 1.4.9  on   2.3.0 1.5.0 1.4.9       => 2.3.0
major 1.9.0  off  2.0.0 1.9.0!            => 2.0.0
major 1.9.0  off  2.0.0! 1.9.0!           => stuck
";

#[test]
fn maintenance_raises_machine_images_by_their_strategy() {
    for row in IMAGE_UPDATES.lines().filter(|row| !row.is_empty()) {
        let (given, expected) = row.split_once("=>").expect("row has an arrow");
        let words: Vec<&str> = given.split_whitespace().collect();
        let image = MachineImage {
            name: "gardenlinux".to_owned(),
            versions: offered(&words[3..].join(" ")),
            update_strategy: Some(words[0].to_owned()),
        };
        let profile = CloudProfileSpec { machine_images: vec![image], ..CloudProfileSpec::default() };
        let outcome =
            machine_image_update(&worker("gardenlinux", words[1]), "1.31.1", "local", &profile, words[2] == "on", at());
        let outcome = outcome.expect("the image is there");
        let actual = outcome.as_ref().map_or("stays", |outcome| outcome.version().unwrap_or("stuck"));
        assert_eq!(actual, expected.trim(), "row: {row}");
    }
}

fn worker(image: &str, version: &str) -> Worker {
    Worker {
        name: "w".to_owned(),
        machine: Machine {
            image: Some(ShootMachineImage {
                name: image.to_owned(),
                version: Some(version.to_owned()),
                ..ShootMachineImage::default()
            }),
            ..Machine::default()
        },
        ..Worker::default()
    }
}

#[test]
fn versions_that_a_pool_cannot_run_are_not_seen() {
    let mut versions = offered("2.0.0 1.9.2 1.9.1 1.9.0");
    versions[0].architectures = vec!["arm64".to_owned()];
    versions[1].kubelet_version_constraint = Some(">= 1.32".to_owned());
    versions[2].cri = vec![CRI { name: "docker".to_owned(), container_runtimes: Vec::new() }];
    let image = MachineImage { name: "gl".to_owned(), versions, update_strategy: Some("major".to_owned()) };
    let profile = CloudProfileSpec { machine_images: vec![image], ..CloudProfileSpec::default() };
    let update = |worker: &Worker, kubelet| {
        let outcome = machine_image_update(worker, kubelet, "local", &profile, true, at()).expect("the image is there");
        outcome.and_then(|outcome| outcome.version().map(str::to_owned))
    };
    let mut pool = worker("gl", "1.9.0");
    assert_eq!(update(&pool, "1.31.1"), None);
    assert_eq!(update(&pool, "1.32.0").as_deref(), Some("1.9.2"));
    pool.machine.architecture = Some("arm64".to_owned());
    assert_eq!(update(&pool, "1.31.1").as_deref(), Some("2.0.0"));
    pool.machine.architecture = None;
    pool.cri = Some(CRI { name: "docker".to_owned(), container_runtimes: Vec::new() });
    assert_eq!(update(&pool, "1.31.1").as_deref(), Some("1.9.1"));
}

/// Returns a profile with machine type `metal` and image versions 1.2.0 for virtual machines and 1.1.0 and 1.0.0 for all.
fn profile_with_capabilities() -> CloudProfileSpec {
    let definition = |name: &str, values: &[&str]| CapabilityDefinition {
        name: name.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let set = |value: &str| [("host".to_owned(), vec![value.to_owned()])].into();
    let mut versions = offered("1.2.0 1.1.0 1.0.0");
    versions[0].capability_flavors = vec![set("virtual")];
    let image = MachineImage { name: "gl".to_owned(), versions, update_strategy: Some("major".to_owned()) };
    let metal = MachineType { name: "metal".to_owned(), capabilities: set("metal"), ..MachineType::default() };
    CloudProfileSpec {
        machine_capabilities: vec![definition("architecture", &["amd64"]), definition("host", &["virtual", "metal"])],
        machine_images: vec![image],
        machine_types: vec![metal],
        ..CloudProfileSpec::default()
    }
}

#[test]
fn maintenance_takes_images_that_fit_the_machine_type() {
    let profile = profile_with_capabilities();
    let mut pool = worker("gl", "1.0.0");
    "metal".clone_into(&mut pool.machine.r#type);
    let update = |pool: &Worker, minor| {
        let at = Moment::new(now(), Release(minor));
        let outcome = machine_image_update(pool, "1.31.1", "local", &profile, true, at);
        outcome.map(|outcome| outcome.and_then(|outcome| outcome.version().map(str::to_owned)))
    };
    assert_eq!(update(&pool, 124), Ok(Some("1.2.0".to_owned())), "capabilities count since v1.125");
    assert_eq!(update(&pool, 125), Ok(Some("1.1.0".to_owned())));
    pool.machine.image.as_mut().expect("it has an image").version = Some("1.2.0".to_owned());
    let at = Moment::new(now(), Release(149));
    let outcome = machine_image_update(&pool, "1.31.1", "local", &profile, false, at);
    let outcome = outcome.expect("the image is there").expect("a version that does not fit counts as missing");
    assert_eq!(outcome.reason, "Version does not exist in CloudProfile");
}

#[test]
fn machine_type_must_be_in_the_profile_since_its_release() {
    let profile = profile_with_capabilities();
    let mut pool = worker("gl", "1.0.0");
    "gone".clone_into(&mut pool.machine.r#type);
    let update =
        |minor| machine_image_update(&pool, "1.31.1", "local", &profile, true, Moment::new(now(), Release(minor)));
    assert!(update(124).is_ok());
    let text = format!("machine type \"gone\" of worker {:?} does not exist in cloudprofile", pool.name);
    assert_eq!(update(125).expect_err("it is not there").to_string(), text);
}

#[test]
fn unknown_image_names_the_profile() {
    let error =
        machine_image_update(&worker("gone", "1.0.0"), "1.31.1", "local", &CloudProfileSpec::default(), true, at());
    assert_eq!(
        error.unwrap_err().to_string(),
        "failure while determining the default machine image in the CloudProfile: no machineImage with name \"gone\" \
         (specified in shoot) could be found in the cloudProfile \"local\""
    );
}

#[test]
fn failures_name_the_missing_item() {
    let outcome = kubernetes_update("1.24.12", false, &kubernetes("1.26.1 1.24.12!"), None, at()).expect("it is due");
    assert_eq!(
        outcome.description,
        "could not determine higher suitable version than \"1.24.12\": cannot perform forceful update of expired \
         version \"1.24.12\". No suitable version found in CloudProfile - this is most likely a misconfiguration of the \
         CloudProfile"
    );
    let image =
        MachineImage { name: "gl".to_owned(), versions: offered("1.0.0!"), update_strategy: Some("major".to_owned()) };
    let profile = CloudProfileSpec { machine_images: vec![image], ..CloudProfileSpec::default() };
    let outcome = machine_image_update(&worker("gl", "1.0.0"), "1.31.1", "local", &profile, false, at());
    assert_eq!(
        outcome.expect("the image is there").expect("it is due").description,
        "failed to update machine image \"gl\": failed to determine the target version for maintenance of machine image \
         \"gl\" with strategy \"major\": failed to determine version for forceful update: either the machine image \"gl\" \
         is reaching end of life and migration to another machine image is required or there is a misconfiguration in \
         the CloudProfile. If it is the latter, make sure the machine image in the CloudProfile has at least one version \
         that is not expired, not in preview and greater or equal to the current Shoot image version \"1.0.0\""
    );
}

/// The example of the documentation: an expired Kubernetes version that can be updated, and an expired image that cannot.
#[test]
fn partial_failures_are_counted_and_reported() {
    let mut shoot = Shoot::default();
    "1.26.4".clone_into(&mut shoot.spec.kubernetes.version);
    shoot.spec.provider.workers = vec![Worker { name: "x".to_owned(), ..worker("gl", "1.0.0") }];
    let profile = CloudProfileSpec {
        kubernetes: KubernetesSettings { versions: kubernetes("1.27.1 1.26.4!") },
        machine_images: vec![MachineImage {
            name: "gl".to_owned(),
            versions: offered("1.0.0!"),
            update_strategy: Some("major".to_owned()),
        }],
        ..CloudProfileSpec::default()
    };
    let plan = plan(&shoot, "local", &profile, at()).expect("versions parse");
    let last = plan.processing(now());
    assert_eq!(
        last.description,
        "(1/2) maintenance operations successful. Control Plane: Updated Kubernetes version from \"1.26.4\" to \
         \"1.27.1\". Reason: Kubernetes version expired - force update required, Worker pool \"x\": machine image version \
         maintenance failed. Reason for update: Machine image version expired - force update required (image update \
         strategy: major)"
    );
    assert_eq!(last.state, "Failed");
    assert!(
        last.failure_reason
            .as_ref()
            .is_some_and(|reason| reason.starts_with("Worker pool \"x\": failed to update machine image"))
    );
    let events: Vec<_> = plan.events().into_iter().map(|event| (event.severity, event.reason)).collect();
    assert_eq!(
        events,
        [(Severity::Normal, "KubernetesVersionMaintenance"), (Severity::Warning, "MachineImageVersionMaintenance")]
    );
    assert_eq!(plan.shoot.spec.kubernetes.version, "1.27.1");

    shoot.status.last_maintenance = Some(last);
    assert_eq!(report::finished(&shoot, true), None);
    let forgotten = report::finished(&shoot, false).expect("a failure of an earlier run is forgotten");
    assert_eq!((forgotten.description.as_str(), forgotten.failure_reason), ("Maintenance succeeded", None));
}

#[test]
fn refused_runs_name_the_refusal() {
    let plan = plan(&minimal(), "local", &CloudProfileSpec::default(), at()).expect("versions parse");
    let last = plan.refused("admission says no", now());
    assert_eq!(last.description, "Maintenance failed");
    assert_eq!(last.failure_reason.as_deref(), Some("Updates to the Shoot failed to be applied: admission says no"));
}

fn minimal() -> Shoot {
    let mut shoot = Shoot::default();
    "1.31.2".clone_into(&mut shoot.spec.kubernetes.version);
    shoot
}

#[test]
fn unknown_feature_gates_and_admission_plugins_are_removed() {
    let mut shoot = minimal();
    "1.30.9".clone_into(&mut shoot.spec.kubernetes.version);
    let gates = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), true)).collect();
    shoot.spec.kubernetes.kube_api_server = Some(KubeAPIServerConfig {
        feature_gates: gates(&["APIPriorityAndFairness", "AllAlpha", "JobReadyPods"]),
        admission_plugins: ["SecurityContextDeny", "Priority", "PersistentVolumeLabel"]
            .map(|name| AdmissionPlugin { name: name.to_owned(), ..AdmissionPlugin::default() })
            .into(),
        ..KubeAPIServerConfig::default()
    });
    let own = WorkerKubernetes {
        version: Some("1.29.1".to_owned()),
        kubelet: Some(KubeletConfig { feature_gates: gates(&["Foo"]), ..KubeletConfig::default() }),
    };
    shoot.spec.provider.workers = vec![Worker { kubernetes: Some(own), ..Worker::default() }];
    let old: Version = "1.30.9".parse().expect("semver");
    "1.31.2".clone_into(&mut shoot.spec.kubernetes.version);
    let operations = migration::migrate(&mut shoot.spec, &old, &"1.31.2".parse().expect("semver"), DOCUMENTED)
        .expect("versions parse");
    assert_eq!(
        operations,
        [
            "Removed feature gates from \"spec.kubernetes.kubeAPIServer.featureGates\" because they are not supported in \
             Kubernetes version \"1.31.2\": APIPriorityAndFairness, JobReadyPods",
            "Removed feature gates from \"spec.provider.workers[0].kubernetes.kubelet.featureGates\" because they are not \
             supported in Kubernetes version \"1.29.1\": Foo",
            "Removed admission plugins from \"spec.kubernetes.kubeAPIServer.admissionPlugins\" because they are not \
             supported in Kubernetes version \"1.31.2\": PersistentVolumeLabel, SecurityContextDeny",
        ]
    );
    let server = shoot.spec.kubernetes.kube_api_server.expect("set above");
    assert_eq!(server.feature_gates.keys().collect::<Vec<_>>(), ["AllAlpha"]);
    assert_eq!(server.admission_plugins.iter().map(|plugin| &*plugin.name).collect::<Vec<_>>(), ["Priority"]);
}

#[test]
fn kubelets_of_pools_are_migrated_by_their_version() {
    let reserved = |memory: &str| {
        let memory = serde_json::from_value(memory.into()).expect("a quantity");
        Some(KubeletConfigReserved { memory: Some(memory), ..KubeletConfigReserved::default() })
    };
    let mut shoot = minimal();
    let kubelet = KubeletConfig {
        memory_swap: Some(MemorySwapConfiguration { swap_behavior: Some("UnlimitedSwap".to_owned()) }),
        kube_reserved: reserved("1Gi"),
        system_reserved: reserved("512Mi"),
        ..KubeletConfig::default()
    };
    let own = WorkerKubernetes { version: None, kubelet: Some(kubelet) };
    shoot.spec.provider.workers = vec![Worker { kubernetes: Some(own), ..Worker::default() }];
    let version: Version = "1.31.2".parse().expect("semver");
    let operations = migration::migrate(&mut shoot.spec, &version, &version, DOCUMENTED).expect("versions parse");
    assert_eq!(
        operations,
        [
            "spec.provider.workers[0].kubernetes.kubelet.memorySwap.swapBehavior is set to 'LimitedSwap'. Reason: \
             'UnlimitedSwap' cannot be used for Kubernetes version 1.30 and higher.",
            ".spec.provider.workers[0].kubernetes.kubelet.systemReserved is added to \
             .spec.provider.workers[0].kubernetes.kubelet.kubeReserved. Reason: The systemReserved field is forbidden for \
             Shoot clusters using Kubernetes version 1.31+, its value has to be added to kubeReserved",
        ]
    );
    let kubelet = shoot.spec.provider.workers[0].kubernetes.as_ref().and_then(|own| own.kubelet.as_ref());
    let kubelet = kubelet.expect("set above");
    assert_eq!(kubelet.kube_reserved, reserved("1536Mi"));
    assert_eq!(kubelet.system_reserved, None);
}

/// Old window, new window, confined before and after; whether the controller plans again, by profile.
/// Source: docs/usage/shoot/shoot_updates.md; docs/usage/shoot/shoot_maintenance.md.
#[test]
fn changed_window_waits_while_the_roll_out_is_confined() {
    let shoot = |begin: &str, is_confined| {
        let mut shoot = minimal();
        shoot.spec.maintenance = Some(Maintenance {
            time_window: Some(MaintenanceTimeWindow { begin: begin.to_owned(), end: "230000+0000".to_owned() }),
            confine_spec_update_rollout: Some(is_confined),
            ..Maintenance::default()
        });
        shoot
    };
    let looked_at = |old: &Shoot, new: &Shoot| {
        [Profile::Documents, Profile::Upstream].map(|profile| {
            let mut stored = new.clone();
            let kept = upcoming::on_update(old, new, profile, now(), &|_, _, _| 0);
            stored
                .metadata
                .annotations
                .extend(kept.map(|kept| ("maintenance.terrarium.dev/upcoming-time-window".to_owned(), kept)));
            update_is_looked_at(old, &stored, now())
        })
    };
    let (old, new) = ("210000+0000", "220000+0000");
    assert_eq!(looked_at(&shoot(old, false), &shoot(new, false)), [true, true]);
    assert_eq!(looked_at(&shoot(old, true), &shoot(new, true)), [false, true]);
    assert_eq!(looked_at(&shoot(old, true), &shoot(new, false)), [true, true]);
    assert_eq!(looked_at(&shoot(old, true), &shoot(old, false)), [false, false]);
    let mut requested = shoot(new, true);
    requested.metadata.annotations.insert("gardener.cloud/operation".to_owned(), "maintain".to_owned());
    assert_eq!(looked_at(&shoot(old, true), &requested), [true, true]);
    assert_eq!(looked_at(&requested, &requested), [false, false]);
}

#[test]
fn a_run_at_the_begin_is_followed_by_tomorrows() {
    let mut shoot = minimal();
    let window = MaintenanceTimeWindow { begin: "120000+0000".to_owned(), end: "130000+0000".to_owned() };
    shoot.spec.maintenance = Some(Maintenance { time_window: Some(window), ..Maintenance::default() });
    let span = next_run(&shoot, now());
    assert_eq!(span.earliest.to_rfc3339(), "2025-06-16T12:00:00+00:00");
    assert_eq!(span.end.to_rfc3339(), "2025-06-16T12:45:00+00:00");
}

/// Returns a Shoot created at hour 0 with settings: `ssh=P`, `observability=P`, `etcd=P` periods in hours, `NAME@H` end
/// of the last rotation, `etcd:PHASE`, `asleep`, `no-ssh`, `failed`, `waiting=OPERATION`.
fn rotating(words: &str) -> Shoot {
    let hour = |text: &str| now() + TimeDelta::hours(text.parse().expect("hours"));
    let mut shoot = minimal();
    shoot.metadata.creation_timestamp = Time(now());
    shoot.spec.provider.workers = vec![Worker::default()];
    shoot.status.last_operation = Some(LastOperation {
        r#type: "Reconcile".to_owned(),
        state: "Succeeded".to_owned(),
        ..LastOperation::default()
    });
    let credentials = MaintenanceCredentialsAutoRotation::default();
    shoot.spec.maintenance.get_or_insert_default().auto_rotation =
        Some(MaintenanceAutoRotation { credentials: Some(credentials) });
    for word in words.split_whitespace() {
        let configured = shoot.spec.maintenance.as_mut().and_then(|one| one.auto_rotation.as_mut());
        let configured = configured.and_then(|one| one.credentials.as_mut()).expect("set above");
        let rotation = shoot.status.credentials.get_or_insert_default().rotation.get_or_insert_default();
        let period = |text: &str| {
            let hours: i64 = text.parse().expect("hours");
            Some(MaintenanceRotationConfig { rotation_period: Some(Duration::from_seconds(hours * 3600)) })
        };
        let done = |text: &str| Some(Time(hour(text)));
        match word.split_once(['=', '@', ':']).unwrap_or((word, "")) {
            ("ssh", text) if word.contains('=') => configured.ssh_keypair = period(text),
            ("observability", text) if word.contains('=') => configured.observability = period(text),
            ("etcd", text) if word.contains('=') => configured.etcd_encryption_key = period(text),
            ("etcd", phase) if word.contains(':') => {
                rotation.etcd_encryption_key.get_or_insert_default().phase = phase.to_owned();
            }
            ("ssh", text) => rotation.ssh_keypair.get_or_insert_default().last_completion_time = done(text),
            ("observability", text) => rotation.observability.get_or_insert_default().last_completion_time = done(text),
            ("etcd", text) => rotation.etcd_encryption_key.get_or_insert_default().last_completion_time = done(text),
            ("asleep", _) => shoot.spec.hibernation.get_or_insert_default().enabled = Some(true),
            ("no-ssh", _) => {
                shoot.spec.provider.workers_settings.get_or_insert_default().ssh_access =
                    Some(SSHAccess { enabled: false });
            }
            ("failed", _) => shoot.status.last_operation.as_mut().expect("set above").state = "Failed".to_owned(),
            ("waiting", text) => {
                let key = "maintenance.gardener.cloud/operation".to_owned();
                shoot.metadata.annotations.insert(key, text.to_owned());
            }
            _ => panic!("{word} is no word"),
        }
    }
    shoot
}

/// Returns a profile without updates.
fn only_the_present_version() -> CloudProfileSpec {
    let kubernetes = KubernetesSettings { versions: kubernetes("1.31.2") };
    CloudProfileSpec { kubernetes, ..CloudProfileSpec::default() }
}

/// Shoot; hours after its creation; the annotation that the run writes.
/// Source: docs/usage/shoot/shoot_maintenance.md @ v1.141.0.
#[test]
fn credentials_are_rotated_when_their_period_is_over() {
    for row in "
                                      | 999 | reconcile
ssh=168                               | 168 | reconcile
ssh=168                               | 169 | reconcile;rotate-ssh-keypair
ssh=0                                 | 999 | reconcile
ssh=168 no-ssh                        | 999 | reconcile
ssh=168 ssh@10                        | 178 | reconcile
ssh=168 ssh@10                        | 179 | reconcile;rotate-ssh-keypair
ssh=168 observability@10              | 169 | reconcile;rotate-ssh-keypair
ssh=24 observability=24 etcd=24       | 25  | reconcile;rotate-ssh-keypair;rotate-observability-credentials;rotate-etcd-encryption-key
observability=24 asleep               | 25  | reconcile;rotate-observability-credentials
etcd=24 etcd@0 etcd:Completed         | 25  | reconcile;rotate-etcd-encryption-key
etcd=24 etcd:Prepared                 | 25  | reconcile
ssh=24 waiting=rotate-ca-start        | 25  | rotate-ca-start;reconcile;rotate-ssh-keypair
ssh=24 waiting=rotate-ssh-keypair     | 25  | rotate-ssh-keypair;reconcile
etcd=24 waiting=rotate-etcd-encryption-key-start | 25 | rotate-etcd-encryption-key-start;reconcile
waiting=rotate-ca-start               | 25  | rotate-ca-start
waiting=rotate-ca-start;rotate-ssh-keypair | 25 | rotate-ca-start;rotate-ssh-keypair;reconcile
ssh=24 failed                         | 25  | -
"
    .lines()
    .filter(|row| !row.is_empty())
    {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [words, hours, expected] = cells[..] else { panic!("three cells: {row}") };
        let at = at().at(now() + TimeDelta::hours(hours.parse().expect("hours")));
        let plan = plan(&rotating(words), "local", &only_the_present_version(), at).expect("versions parse");
        let written = plan.shoot.metadata.annotation("gardener.cloud/operation").unwrap_or("-");
        assert_eq!(written, expected, "{row}");
    }
}

/// Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go @ v1.148.0 and v1.149.0.
#[test]
fn the_key_of_a_hibernated_shoot_waits_since_1_149() {
    for (minor, words, expected) in [
        (148, "etcd=24 asleep", "reconcile;rotate-etcd-encryption-key"),
        (149, "etcd=24 asleep", "reconcile"),
        (149, "etcd=24", "reconcile;rotate-etcd-encryption-key"),
    ] {
        let at = Moment::new(now() + TimeDelta::hours(25), Release(minor));
        let plan = plan(&rotating(words), "local", &only_the_present_version(), at).expect("versions parse");
        assert_eq!(plan.shoot.metadata.annotation("gardener.cloud/operation"), Some(expected), "1.{minor} {words}");
    }
}

/// Words of [`rotating`], and the description until 1.146 and since 1.147.
/// Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go @ v1.146.0 and v1.147.0.
#[test]
fn operations_are_pieces_of_the_description_since_1_147() {
    let rotated = "All maintenance operations successful. Credentials \"rotate-ssh-keypair\": SSH keypair rotation started. \
                   Reason: Automatic rotation of SSH keypair configured, Added \"reconcile;rotate-ssh-keypair\" operation \
                   annotation";
    for (words, until, since) in [
        (
            "waiting=rotate-ca-start",
            "All maintenance operations successful. , Added \"rotate-ca-start\" operation annotation",
            "All maintenance operations successful. Added \"rotate-ca-start\" operation annotation",
        ),
        ("ssh=24", rotated, rotated),
        ("", "All maintenance operations successful. ", "All maintenance operations successful."),
    ] {
        for (minor, expected) in [(146, until), (147, since)] {
            let at = Moment::new(now() + TimeDelta::hours(25), Release(minor));
            let plan = plan(&rotating(words), "local", &only_the_present_version(), at).expect("versions parse");
            assert_eq!(plan.processing(at.now).description, expected, "1.{minor} {words}");
        }
    }
}

/// Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go @ v1.142.0.
#[test]
fn the_addon_nginx_ingress_is_turned_off_once() {
    let mut shoot = minimal();
    let ingress = NginxIngress { enabled: true, ..NginxIngress::default() };
    shoot.spec.addons = Some(Addons { nginx_ingress: Some(ingress), ..Addons::default() });
    let at = Moment::new(now(), Release(142));
    let mut plan = plan(&shoot, "local", &only_the_present_version(), at).expect("versions parse");
    assert!(!plan.has_findings());
    for _ in 0..2 {
        plan.disable_nginx_ingress();
        let text =
            ".spec.addons.nginxIngress was disabled. Reason: nginx ingress addon disallowed by landscape operator";
        assert_eq!(plan.operations, [text]);
        let addon = plan.shoot.spec.addons.as_ref().and_then(|addons| addons.nginx_ingress.as_ref());
        assert_eq!(addon.map(|addon| addon.enabled), Some(false));
    }
}

#[test]
fn rotations_are_reported_after_versions_and_without_events() {
    let at = at().at(now() + TimeDelta::hours(25));
    let plan_of =
        |words: &str| plan(&rotating(words), "local", &only_the_present_version(), at).expect("versions parse");
    let plan = plan_of("ssh=24 etcd=24 etcd:Preparing");
    let last = plan.processing(at.now);
    assert_eq!(
        last.description,
        "(1/2) maintenance operations successful. Credentials \"rotate-ssh-keypair\": SSH keypair rotation started. \
         Reason: Automatic rotation of SSH keypair configured, Credentials \"rotate-etcd-encryption-key\": Automatic \
         rotation failed. Reason for update: ETCD encryption key rotation is already in progress, Added \
         \"reconcile;rotate-ssh-keypair\" operation annotation"
    );
    assert_eq!(last.state, "Failed");
    assert_eq!(
        last.failure_reason.as_deref(),
        Some(
            "Credentials \"rotate-etcd-encryption-key\": Automatic rotation failure due to: Could not start ETCD \
             encryption key rotation"
        )
    );
    assert_eq!(plan.events(), []);
    assert!(!plan_of("ssh=26").has_findings());
}

/// Next instant at which a run may find another rotation: one becomes due, or hibernation no longer delays it.
#[test]
fn the_next_rotation_is_foretold() {
    let hours = |words: &str, after: i64| {
        let next = credentials::next_due(&rotating(words), now() + TimeDelta::hours(after));
        next.map(|instant| (instant - now()).num_hours())
    };
    assert_eq!(hours("", 0), None);
    assert_eq!(hours("ssh=24 observability=48", 0), Some(24));
    assert_eq!(hours("ssh=24 observability=48", 30), Some(48));
    assert_eq!(hours("ssh=24 observability=48", 50), None);
    assert_eq!(hours("etcd=24 asleep", 50), Some(50));
    assert_eq!(hours("etcd=24 asleep", 10), Some(24));
}

/// Release, Kubernetes version, gates that are kept of one that Kubernetes 1.34 adds and one that it removes.
#[test]
fn gates_are_dropped_by_the_table_of_the_release() {
    for (minor, kubernetes, expected) in [
        (120, "1.33.1", &["ElasticIndexedJob"][..]),
        (132, "1.33.1", &["ElasticIndexedJob"]),
        (132, "1.34.0", &["DRAConsumableCapacity"]),
        (149, "1.36.0", &["DRAConsumableCapacity"]),
    ] {
        let mut shoot = minimal();
        shoot.spec.kubernetes.kube_scheduler = Some(KubeSchedulerConfig {
            feature_gates: ["DRAConsumableCapacity", "ElasticIndexedJob"].map(|name| (name.to_owned(), true)).into(),
            ..KubeSchedulerConfig::default()
        });
        kubernetes.clone_into(&mut shoot.spec.kubernetes.version);
        let version: Version = kubernetes.parse().expect("semver");
        let release = Release(minor);
        migration::migrate(&mut shoot.spec, &version, &version, release).expect("versions parse");
        let gates = shoot.spec.kubernetes.kube_scheduler.map(|scheduler| scheduler.feature_gates).unwrap_or_default();
        assert!(gates.keys().eq(expected), "1.{minor} {kubernetes}: {gates:?}");
    }
}

/// Current version, `minVersionForUpdate` of 2.0.0 and 3.0.0 (`-`: none; `no`: no updates in place), and the version after
/// maintenance in 1.123, 1.124 and 1.128.
const IN_PLACE: &str = "
1.0.0 | 1.0.0 | 2.0.0 | 3.0.0 | 2.0.0 | 2.0.0
2.0.0 | 1.0.0 | 2.0.0 | 3.0.0 | 3.0.0 | 3.0.0
1.0.0 | -     | 2.0.0 | 3.0.0 | stuck | stays
1.0.0 | no    | 1.0.0 | 3.0.0 | 3.0.0 | 3.0.0
1.0.0 | 1.0.0 | no    | 3.0.0 | 2.0.0 | 2.0.0
1.0.0 | 2.0.0 | 3.0.0 | 3.0.0 | stuck | stays
";

#[test]
fn in_place_pools_get_versions_reachable_in_place() {
    for row in IN_PLACE.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [current, second, third, expected @ ..] = &cells[..] else { panic!("six cells: {row}") };
        let mut versions = offered("1.0.0 2.0.0 3.0.0");
        for (entry, least) in versions.iter_mut().zip(["-", second, third]) {
            entry.in_place_updates = (least != "no").then(|| InPlaceUpdates {
                supported: true,
                min_version_for_update: (least != "-").then(|| least.to_owned()),
            });
        }
        let image = MachineImage { name: "gardenlinux".to_owned(), versions, ..MachineImage::default() };
        let machine_types = vec![MachineType::default()];
        let profile = CloudProfileSpec { machine_images: vec![image], machine_types, ..CloudProfileSpec::default() };
        for strategy in ["AutoInPlaceUpdate", "ManualInPlaceUpdate"] {
            let mut pool = worker("gardenlinux", current);
            pool.update_strategy = Some(strategy.to_owned());
            for (minor, expected) in [123, 124, 128].into_iter().zip(expected) {
                let at = Moment::new(now(), Release(minor));
                let outcome = machine_image_update(&pool, "1.31.1", "local", &profile, true, at).expect("an image");
                let told = outcome.as_ref().map_or("stays", |outcome| outcome.version().unwrap_or("stuck"));
                assert_eq!(told, *expected, "v1.{minor}: {row}");
            }
        }
    }
}
