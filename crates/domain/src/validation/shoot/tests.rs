// SPDX-License-Identifier: Apache-2.0
//! Rules around versions and the maintenance section, as tables (docs/usage/shoot/shoot_updates.md, shoot_maintenance.md).

use super::*;

/// Returns a Shoot of a Kubernetes version with one pool of its own version, or of the Shoot's for `-`.
fn shoot(version: &str, pool: &str, strategy: &str) -> Shoot {
    let mut shoot = Shoot::default();
    shoot.spec.kubernetes.version = version.to_owned();
    let mut worker = Worker { name: "a".to_owned(), ..Worker::default() };
    worker.update_strategy = Some(strategy.to_owned());
    worker.kubernetes = (pool != "-").then(|| WorkerKubernetes { version: Some(pool.to_owned()), kubelet: None });
    shoot.spec.provider.workers.push(worker);
    shoot
}

const GATES: Gates = Gates {
    in_place_node_updates: true,
    credentials_rotation_without_workers_rollout: false,
    version_classification_lifecycle: false,
    disable_nginx_ingress_in_shoot: false,
    cloud_profile_capabilities: false,
    live_control_plane_migration: false,
    release: crate::release::DOCUMENTED,
};

/// Returns paths and messages of an update's errors about Kubernetes versions.
fn said(new: &Shoot, old: &Shoot) -> Vec<String> {
    let is_version = |error: &&FieldError| error.field.ends_with("kubernetes.version");
    let errors = shoot_update(new, old, GATES);
    errors.iter().filter(is_version).map(ToString::to_string).collect()
}

/// Old control plane and pool, new ones, strategy of the pool; expected errors: `cp` or `pool`, and the rule.
const UPDATES: &str = "
1.31.1 -      | 1.31.2 -      | rolling  |
1.31.1 -      | 1.32.0 -      | rolling  |
1.31.2 -      | 1.31.1 -      | rolling  | cp down, pool down
1.31.1 -      | 1.33.0 -      | rolling  | cp skip
1.31.1 -      | 1.33.0 -      | in-place | cp skip, pool skip
1.31.1 -      | 2.0.0 -       | rolling  | cp skip
1.31.1 -      | 1.31.1-rc.1 - | rolling  |
1.32.1 1.30.1 | 1.32.1 1.32.1 | rolling  |
1.32.1 1.30.1 | 1.32.1 1.32.1 | in-place | pool skip
1.32.1 1.31.1 | 1.32.1 1.30.9 | rolling  | pool down
1.32.1 1.32.1 | 1.32.1 1.31.1 | rolling  | pool down
1.32.1 1.31.1 | 1.32.1 -      | rolling  |
1.32.1 1.30.1 | 1.32.1 -      | in-place | pool skip
1.32.1 1.32.1 | 1.32.1 1.33.0 | rolling  | pool higher
1.32.1 1.29.1 | 1.32.1 1.29.1 | rolling  |
1.32.1 1.29.1 | 1.33.0 1.29.1 | rolling  | pool three
1.27.1 1.25.1 | 1.27.1 1.25.1 | rolling  |
1.27.1 1.24.1 | 1.27.1 1.24.1 | rolling  | pool two
1.27.1 1.25.1 | 1.28.0 1.25.1 | rolling  |
1.31.1 -      | none -        | rolling  | cp unset, pool unset, cp required
";

#[test]
fn kubernetes_versions_rise_by_one_minor_and_pools_follow() {
    for row in UPDATES.lines().filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [old, new, strategy, expected] = cells[..] else { panic!("four cells: {row}") };
        let strategy = if strategy == "rolling" { "AutoRollingUpdate" } else { "AutoInPlaceUpdate" };
        let read = |text: &str| {
            let (version, pool) = text.split_once(' ').expect("two versions");
            shoot(if version == "none" { "" } else { version }, pool.trim(), strategy)
        };
        let mut texts: Vec<String> = Vec::new();
        for rule in expected.split(", ").filter(|rule| !rule.is_empty()) {
            let (whom, what) = rule.split_once(' ').expect("component and rule");
            let path = if whom == "cp" { "spec" } else { "spec.provider.workers[0]" };
            let body = match what {
                "down" => "Forbidden: kubernetes version downgrade is not supported",
                "skip" => "Forbidden: kubernetes version upgrade cannot skip a minor version",
                "higher" => "Forbidden: worker group kubernetes version must not be higher than control plane version",
                "three" => {
                    "Forbidden: worker group kubernetes version must be at most three minor versions behind control plane \
                     version"
                }
                "two" => {
                    "Forbidden: worker group kubernetes version must be at most two minor versions behind control plane \
                     version"
                }
                "unset" => "Invalid value: \"\": cannot validate kubernetes version upgrade because it is unset",
                "required" => "Required value: kubernetes version must not be empty",
                other => panic!("no such rule: {other}"),
            };
            texts.push(format!("{path}.kubernetes.version: {body}"));
        }
        assert_eq!(said(&read(new), &read(old)), texts, "row: {row}");
    }
}

#[test]
fn unparsable_versions_are_errors_without_panics() {
    let texts = said(&shoot("1.31.x", "odd", "AutoInPlaceUpdate"), &shoot("odd", "1.x.1", "AutoInPlaceUpdate"));
    assert_eq!(
        texts,
        [
            "spec.kubernetes.version: Invalid value: \"1.31.x\": improper constraint: < odd",
            "spec.kubernetes.version: Invalid value: \"odd\": Invalid Semantic Version",
            "spec.provider.workers[0].kubernetes.version: Invalid value: \"odd\": Invalid Semantic Version",
            "spec.provider.workers[0].kubernetes.version: Invalid value: \"1.x.1\": Invalid Semantic Version",
            "spec.provider.workers[0].kubernetes.version: Invalid value: \"1.31.x\": Invalid Semantic Version",
            "spec.provider.workers[0].kubernetes.version: Invalid value: \"odd\": Invalid Semantic Version",
        ]
    );
}

/// Begin and end of the window; expected error.
const WINDOWS: &str = "
220000+0100 230000+0100 |
230000+0000 010000+0000 |
000000+0000 003000+0000 |
000000+0000 060000+0000 |
220000+0100 220000+0000 |
000000+0000 002959+0000 | spec.maintenance.timeWindow: Invalid value: 29m59s: time window must not be smaller than 30m0s
000000+0000 060001+0000 | spec.maintenance.timeWindow: Invalid value: 6h0m1s: time window must not be greater than 6h0m0s
000000+0000 000000+0000 | spec.maintenance.timeWindow: Invalid value: 24h0m0s: time window must not be greater than 6h0m0s
230000+0000 220000+0000 | spec.maintenance.timeWindow: Invalid value: 23h0m0s: time window must not be greater than 6h0m0s
22 230000+0000          | spec.maintenance.timeWindow.begin/end: could not parse begin time: could not parse the value into the maintenanceTime format
220000+0000 230000Z     | spec.maintenance.timeWindow.begin/end: could not parse end time: could not parse the value into the maintenanceTime format
250000+0000 23          | spec.maintenance.timeWindow.begin/end: could not parse begin time: could not parse the value into the maintenanceTime format
";

#[test]
fn windows_last_from_half_an_hour_to_six() {
    for row in WINDOWS.lines().filter(|row| !row.is_empty()) {
        let (window, expected) = row.split_once('|').expect("two cells");
        let (begin, end) = window.trim().split_once(' ').expect("begin and end");
        let mut shoot = shoot("1.31.1", "-", "AutoRollingUpdate");
        shoot.spec.maintenance = Some(Maintenance {
            time_window: Some(MaintenanceTimeWindow { begin: begin.into(), end: end.trim().into() }),
            ..Maintenance::default()
        });
        let errors = super::shoot(&shoot, GATES);
        let found = errors.iter().find(|error| error.field.starts_with("spec.maintenance")).map(ToString::to_string);
        match (found, expected.trim()) {
            (None, "") => {}
            (Some(text), expected) if expected.contains("could not parse") => {
                let (path, why) = expected.split_once(": ").expect("path and text");
                assert!(text.starts_with(path) && text.contains(why), "row: {row}\n{text}");
            }
            (found, expected) => assert_eq!(found.as_deref(), Some(expected), "row: {row}"),
        }
    }
}

#[test]
fn a_workerless_shoot_has_no_image_to_update() {
    let mut workerless = shoot("1.31.1", "-", "AutoRollingUpdate");
    workerless.spec.provider.workers.clear();
    workerless.spec.maintenance = Some(Maintenance {
        auto_update: Some(MaintenanceAutoUpdate { kubernetes_version: true, machine_image_version: Some(false) }),
        ..Maintenance::default()
    });
    let errors = super::shoot(&workerless, GATES);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = "spec.maintenance.autoUpdate.machineImageVersion: Forbidden: this field should not be set for workerless \
                    Shoot clusters";
    assert!(texts.iter().any(|text| text == expected), "{texts:#?}");
    workerless.spec.maintenance = None;
    let errors = super::shoot(&workerless, GATES);
    assert!(!errors.iter().any(|error| error.field.starts_with("spec.maintenance")));
}

/// Properties that cannot change in a pool that is updated in place (node-rollout 1.5).
#[test]
fn in_place_pools_keep_fields_without_in_place_update() {
    let image = |name: &str| Some(ShootMachineImage { name: name.to_owned(), ..ShootMachineImage::default() });
    let mut old = shoot("1.31.1", "-", "AutoInPlaceUpdate");
    old.spec.provider.workers[0].machine.image = image("os");
    old.spec.provider.workers[0].cri = Some(CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() });
    let check = |change: fn(&mut Worker), expected: &str| {
        let mut new = old.clone();
        change(&mut new.spec.provider.workers[0]);
        let errors = shoot_update(&new, &old, GATES);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert!(texts.iter().any(|text| text.ends_with(expected)), "{expected}\n{texts:#?}");
    };
    let because = "cannot be changed if update strategy is AutoInPlaceUpdate/ManualInPlaceUpdate";
    check(|pool| pool.machine.r#type = "big".to_owned(), &format!("machine type {because}"));
    check(
        |pool| pool.machine.image = Some(ShootMachineImage { name: "other".to_owned(), ..Default::default() }),
        &format!("machine image name {because}"),
    );
    check(|pool| pool.cri = Some(CRI::default()), &format!("CRI name {because}"));
    check(|pool| pool.volume = Some(Volume::default()), &format!("volume {because}"));
    check(
        |pool| pool.update_strategy = Some("AutoRollingUpdate".to_owned()),
        "update strategy cannot be changed from AutoInPlaceUpdate/ManualInPlaceUpdate to AutoRollingUpdate",
    );
}

#[test]
fn a_pending_in_place_update_blocks_changes_unless_forced() {
    let mut old = shoot("1.31.1", "-", "ManualInPlaceUpdate");
    old.status.in_place_updates = Some(InPlaceUpdatesStatus {
        pending_worker_updates: Some(PendingWorkerUpdates {
            manual_in_place_update: vec!["a".to_owned()],
            ..PendingWorkerUpdates::default()
        }),
    });
    let pending = |new: &Shoot, old: &Shoot| {
        let errors = shoot_update(new, old, GATES);
        errors.iter().any(|error| error.body.contains("is currently undergoing an in-place update"))
    };
    assert!(!pending(&old, &old));
    let mut new = old.clone();
    new.spec.kubernetes.version = "1.31.2".to_owned();
    assert!(pending(&new, &old), "the pool's effective version changes");
    let force = ("gardener.cloud/operation".to_owned(), "force-in-place-update".to_owned());
    let mut forced = new.clone();
    forced.metadata.annotations.extend([force]);
    assert!(!pending(&forced, &old));
    let mut own = old.clone();
    own.spec.kubernetes.kubelet = Some(KubeletConfig { max_pods: Some(10), ..KubeletConfig::default() });
    assert!(pending(&own, &old), "the pool's effective kubelet configuration changes");
    let mut odd = old.clone();
    odd.spec.kubernetes.version = "odd".to_owned();
    let errors = shoot_update(&odd, &old, GATES);
    let text = "spec.kubernetes.version: Forbidden: failed to parse new control plane kubernetes version: Invalid Semantic \
                Version";
    assert!(errors.iter().any(|error| error.to_string() == text), "{errors:#?}");
}

/// Period of rotation; expected error.
const PERIODS: &str = r#"
0s       |
30m      |
2160h    |
29m59s   | Invalid value: "29m59s": value must be either 0 to disable rotation or between 30m and 90d
2160h1s  | Invalid value: "2160h0m1s": value must be either 0 to disable rotation or between 30m and 90d
-1h      | Invalid value: "-1h0m0s": value must be either 0 to disable rotation or between 30m and 90d
"#;

/// Source: pkg/apis/core/validation @ v1.135.0.
#[test]
fn credentials_are_rotated_every_half_an_hour_to_ninety_days() {
    for row in PERIODS.lines().filter(|row| !row.is_empty()) {
        let (period, expected) = row.split_once('|').expect("two cells");
        let config = MaintenanceRotationConfig { rotation_period: Some(period.trim().parse().expect("a duration")) };
        let credentials = MaintenanceCredentialsAutoRotation {
            ssh_keypair: Some(config.clone()),
            etcd_encryption_key: Some(config),
            ..MaintenanceCredentialsAutoRotation::default()
        };
        let mut shoot = shoot("1.31.1", "-", "AutoRollingUpdate");
        shoot.spec.maintenance.get_or_insert_default().auto_rotation =
            Some(MaintenanceAutoRotation { credentials: Some(credentials) });
        let found: Vec<String> = super::shoot(&shoot, GATES)
            .iter()
            .filter(|error| error.field.contains("autoRotation"))
            .map(ToString::to_string)
            .collect();
        let expected = match expected.trim() {
            "" => Vec::new(),
            text => ["sshKeypair", "etcdEncryptionKey"]
                .map(|name| format!("spec.maintenance.autoRotation.credentials.{name}.rotationPeriod: {text}"))
                .to_vec(),
        };
        assert_eq!(found, expected, "row: {row}");
    }
}

/// The nginx ingress addon in the stored Shoot (`None`: a new Shoot) and in the new one; whether the gate refuses it.
/// Source: pkg/api/core/validation/shoot.go @ v1.142.0.
#[test]
fn the_gate_forbids_turning_the_addon_nginx_ingress_on() {
    let with_addon = |enabled| {
        let mut shoot = Shoot::default();
        shoot.spec.provider.workers.push(Worker::default());
        shoot.spec.addons.get_or_insert_default().nginx_ingress =
            Some(NginxIngress { enabled, ..NginxIngress::default() });
        shoot
    };
    for (old, new, is_refused) in [
        (None, true, true),
        (None, false, false),
        (Some(false), true, true),
        (Some(true), true, false),
        (Some(true), false, false),
    ] {
        for is_on in [true, false] {
            let gates = Gates { disable_nginx_ingress_in_shoot: is_on, ..GATES };
            let errors = match old {
                None => super::shoot(&with_addon(new), gates),
                Some(old) => shoot_update(&with_addon(new), &with_addon(old), gates),
            };
            let found: Vec<_> = errors.iter().filter(|error| error.field.starts_with("spec.addons")).collect();
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            let text =
                "spec.addons.nginxIngress.enabled: Forbidden: nginx ingress addon disallowed by landscape operator";
            assert_eq!(found, if is_refused && is_on { vec![text] } else { vec![] }, "{old:?} {new} {is_on}");
        }
    }
}

/// Minor of Gardener, Kubernetes version, fields of kubeAPIServer as JSON, error; none if empty.
const API_SERVERS: &[(u16, &str, &str, &str)] = &[
    (
        120,
        "1.32.0",
        r#"{"featureGates": {"DRAConsumableCapacity": true}}"#,
        "unknown feature gate DRAConsumableCapacity",
    ),
    (149, "1.34.3", r#"{"featureGates": {"DRAConsumableCapacity": true}}"#, ""),
    (
        149,
        "1.34.3",
        r#"{"featureGates": {"MutablePodResourcesForSuspendedJobs": true}}"#,
        "not supported in Kubernetes version 1.34.3",
    ),
    (149, "1.35.4", r#"{"featureGates": {"MutablePodResourcesForSuspendedJobs": true}}"#, ""),
    (
        149,
        "1.36.0",
        r#"{"featureGates": {"ImageVolume": false}}"#,
        "cannot set feature gate to false, feature is locked to true",
    ),
    (
        120,
        "1.32.0",
        r#"{"admissionPlugins": [{"name": "PodTopologyLabels"}]}"#,
        "unknown admission plugin \"PodTopologyLabels\"",
    ),
    (149, "1.33.0", r#"{"admissionPlugins": [{"name": "PodTopologyLabels"}]}"#, ""),
    (126, "1.32.0", r#"{"admissionPlugins": [{"name": "AlwaysAdmit", "config": {}}]}"#, ""),
    (
        127,
        "1.32.0",
        r#"{"admissionPlugins": [{"name": "AlwaysAdmit", "config": {}}]}"#,
        "admission plugin \"AlwaysAdmit\" does not allow configuration",
    ),
    (127, "1.32.0", r#"{"admissionPlugins": [{"name": "PodNodeSelector", "config": {}}]}"#, ""),
    (
        126,
        "1.29.0",
        r#"{"admissionPlugins": [{"name": "SecurityContextDeny"}]}"#,
        "forbidden admission plugin was specified - do not use plugins from the following list: [SecurityContextDeny]",
    ),
    (
        127,
        "1.29.0",
        r#"{"admissionPlugins": [{"name": "SecurityContextDeny"}]}"#,
        "forbidden admission plugin(s) [SecurityContextDeny] - do not use plugins from the following list for Kubernetes \
         version 1.29.0: [SecurityContextDeny]",
    ),
    (120, "1.31.1", r#"{"runtimeConfig": {"apps/v1": false}}"#, "api \"apps/v1\" cannot be disabled"),
    (120, "1.31.1", r#"{"runtimeConfig": {"batch/v1": false}}"#, ""),
];

/// Errors of gates, plugins and API versions of an API server.
#[test]
fn gates_plugins_and_apis_are_those_of_the_release() {
    for (release, version, fields, expected) in API_SERVERS {
        let mut shoot = shoot(version, "-", "AutoRollingUpdate");
        shoot.spec.kubernetes.kube_api_server = Some(serde_json::from_str(fields).expect("fields of an API server"));
        let gates = Gates { release: crate::release::Release(*release), ..GATES };
        let errors = super::shoot(&shoot, gates);
        let of_api_server = errors.iter().filter(|error| error.field.contains("kubeAPIServer"));
        let found: Vec<String> = of_api_server.map(ToString::to_string).collect();
        let fits =
            if expected.is_empty() { found.is_empty() } else { found.len() == 1 && found[0].ends_with(expected) };
        assert!(fits, "1.{release} {version} {fields}: {found:?}");
    }
}
