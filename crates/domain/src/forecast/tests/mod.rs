// SPDX-License-Identifier: Apache-2.0
//! A Shoot in its successive maintenance windows.

mod refused;

use crate::release::{DOCUMENTED, Release};
use crate::versions::Moment;
use api::core::{CloudProfile, CloudProfileSpec};
use serde_json::json;

use super::*;
use crate::defaulting;
use crate::worker_pool::{HashVersion, PoolForms};

fn instant(text: &str) -> DateTime<Utc> {
    text.parse().expect("RFC 3339")
}

/// A profile of Kubernetes versions `1.31.1 1.31.2@2025-06-20` (`@`: expires at midnight of that day) with marks
/// `?` preview and `~` deprecated, and of the image `gl` in the same form.
fn profile(kubernetes: &str, image: &str, strategy: &str) -> CloudProfileSpec {
    let entries = |list: &str| -> Vec<serde_json::Value> {
        list.split_whitespace()
            .map(|word| {
                let (word, date) = word.split_once('@').map_or((word, None), |(word, date)| (word, Some(date)));
                let version = word.trim_end_matches(['?', '~']);
                let classification =
                    [('?', "preview"), ('~', "deprecated")].iter().find(|(mark, _)| word.ends_with(*mark));
                let mut entry = json!({ "version": version });
                if let Some((_, classification)) = classification {
                    entry["classification"] = json!(classification);
                }
                if let Some(date) = date {
                    entry["expirationDate"] = json!(format!("{date}T00:00:00Z"));
                }
                entry
            })
            .collect()
    };
    let mut profile: CloudProfile = serde_json::from_value(json!({
        "spec": {
            "type": "local",
            "kubernetes": { "versions": entries(kubernetes) },
            "machineImages": [{ "name": "gl", "updateStrategy": strategy, "versions": entries(image) }],
            "machineTypes": [{ "name": "small", "architecture": "amd64", "cpu": "2", "gpu": "0", "memory": "4Gi" }],
            "regions": [{ "name": "r" }],
        },
    }))
    .expect("a CloudProfile");
    defaulting::cloud_profile(&mut profile);
    profile.spec
}

fn shoot(version: &str, image: &str, auto: bool) -> Shoot {
    let mut shoot = written(version, image, auto);
    defaulting::shoot(&mut shoot, 0, DOCUMENTED);
    shoot
}

/// A Shoot without defaults.
fn written(version: &str, image: &str, auto: bool) -> Shoot {
    serde_json::from_value(json!({
        "metadata": { "name": "s", "namespace": "garden-p" },
        "spec": {
            "cloudProfile": { "name": "local" },
            "credentialsBindingName": "local",
            "region": "r",
            "kubernetes": { "version": version },
            "networking": { "type": "calico", "nodes": "10.250.0.0/16" },
            "maintenance": {
                "timeWindow": { "begin": "220000+0000", "end": "230000+0000" },
                "autoUpdate": { "kubernetesVersion": auto, "machineImageVersion": auto },
            },
            "provider": { "type": "local", "workers": [{
                "name": "w", "minimum": 1, "maximum": 3,
                "machine": { "type": "small", "image": { "name": "gl", "version": image } },
            }]},
        },
    }))
    .expect("a Shoot")
}

fn draw(_: &str, _: &str, ordinal: u64) -> u64 {
    ordinal.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn settings() -> Settings<'static> {
    Settings {
        from: instant("2025-06-15T12:00:00Z"),
        until: instant("2025-07-15T12:00:00Z"),
        draw: &draw,
        gates: Gates::default(),
        disables_nginx_ingress: false,
        forms: &|_| PoolForms::all(HashVersion::V1, crate::release::DOCUMENTED),
    }
}

/// Changes as `15 kubernetes 1.31.1->1.31.2 forced rolling`; the number is the day of the month.
#[track_caller]
fn check(shoot: &Shoot, offered: CloudProfileSpec, expected: &[&str]) -> Course {
    let offer = Offer { name: "local".to_owned(), first: offered, changes: Vec::new() };
    let course = course(shoot, &offer, &settings());
    let told: Vec<String> = course.changes.iter().map(tell).collect();
    assert_eq!(told, expected);
    course
}

fn tell(change: &Change) -> String {
    let mut words = vec![change.time.format("%d").to_string(), change.subject.as_str().to_owned()];
    words.extend(change.pool.iter().map(|pool| format!("of {pool}")));
    if let (Some(from), Some(to)) = (&change.from, &change.to) {
        words.push(format!("{from}->{to}"));
    }
    for (holds, word) in [(change.is_forced, "forced"), (change.failure.is_some(), "failed")] {
        if holds {
            words.push(word.to_owned());
        }
    }
    if change.effect != Effect::None {
        words.push(change.effect.as_str().to_owned());
    }
    words.join(" ")
}

#[test]
fn updates_happen_once_and_expirations_force_a_minor_per_window() {
    let offered = profile("1.31.1@2025-06-18 1.31.2@2025-06-20 1.32.3@2025-06-20 1.33.0", "1.0.0 2.0.0", "major");
    check(
        &shoot("1.31.1", "1.0.0", true),
        offered.clone(),
        &[
            "15 kubernetes 1.31.1->1.31.2 kubeletRestart",
            "15 machineImage of w 1.0.0->2.0.0 rolling",
            "20 kubernetes 1.31.2->1.32.3 forced rolling",
            "21 kubernetes 1.32.3->1.33.0 forced rolling",
        ],
    );
    let course = check(
        &shoot("1.31.1", "1.0.0", false),
        offered,
        &[
            "18 kubernetes 1.31.1->1.31.2 forced kubeletRestart",
            "20 kubernetes 1.31.2->1.32.3 forced rolling",
            "21 kubernetes 1.32.3->1.33.0 forced rolling",
        ],
    );
    assert!(course.changes.iter().all(|change| change.was_opted_out));
    assert_eq!(course.last.spec.kubernetes.version, "1.33.0");
}

#[test]
fn a_repeated_failure_is_reported_once() {
    let offered = profile("1.31.1@2025-06-18 1.33.0", "1.0.0@2025-06-17 0.9.0", "major");
    let course = check(
        &shoot("1.31.1", "1.0.0", true),
        offered,
        &["17 machineImage of w forced failed", "18 kubernetes forced failed"],
    );
    let failure = course.changes[1].failure.as_deref().expect("failed");
    assert!(
        failure.starts_with("could not determine higher suitable version than \"1.31.1\": cannot perform"),
        "{failure}"
    );
}

#[test]
fn a_refused_result_is_blocked_as_a_whole() {
    let mut offered = profile("1.31.1@2025-06-18 1.32.0", "1.0.0", "major");
    offered.machine_images[0].versions[0].kubelet_version_constraint = Some("< 1.32".to_owned());
    let course = check(&shoot("1.31.1", "1.0.0", true), offered, &["18 blocked failed"]);
    let failure = course.changes[0].failure.as_deref().expect("blocked");
    assert_eq!(
        failure,
        "Updates to the Shoot failed to be applied: shoots.core.gardener.cloud \"s\" is forbidden: \
         spec.provider.workers[0].machine.image: Invalid value: core.ShootMachineImage{Name:\"gl\", \
         ProviderConfig:(*runtime.RawExtension)(nil), Version:\"1.0.0\"}: machine image 'gl@1.0.0' does not support \
         kubelet version '1.32.0', supported kubelet versions by this machine image version: '< 1.32'"
    );
    assert_eq!(course.last.spec.kubernetes.version, "1.31.1");
}

#[test]
fn migrations_and_operations_are_changes_of_their_own() {
    let mut given = shoot("1.30.1", "1.0.0", false);
    given.spec.kubernetes.kubelet.get_or_insert_default().system_reserved =
        Some(serde_json::from_value(json!({ "memory": "1Gi" })).expect("reserved"));
    given.metadata.annotations.insert("maintenance.gardener.cloud/operation".to_owned(), "rotate-ca-start".to_owned());
    check(
        &given,
        profile("1.30.1@2025-06-17 1.31.0", "1.0.0", "major"),
        &["15 operation rolling", "17 kubernetes 1.30.1->1.31.0 forced rolling", "17 migration forced"],
    );
}

/// The first reconciliation by 1.146 replaces nodes whether a version changes or not, and once only.
#[test]
fn pools_of_the_first_form_are_replaced_since_146() {
    let offered = profile("1.31.1@2025-06-18 1.32.0", "1.0.0", "major");
    let told = |given: &Shoot, release: u16, form: HashVersion| -> Vec<String> {
        let offer = Offer { name: "local".to_owned(), first: offered.clone(), changes: Vec::new() };
        let release = Release(release);
        let forms = move |_: &Shoot| PoolForms::all(form, release);
        let gates = Gates { release, ..Gates::default() };
        let settings = Settings { gates, forms: &forms, ..settings() };
        course(given, &offer, &settings).changes.iter().map(tell).collect()
    };
    let given = shoot("1.31.1", "1.0.0", false);
    let forced = "18 kubernetes 1.31.1->1.32.0 forced rolling";
    assert_eq!(told(&given, 145, HashVersion::V1), [forced]);
    assert_eq!(told(&given, 146, HashVersion::V1), ["15 hashForm of w forced rolling", forced]);
    assert_eq!(told(&given, 149, HashVersion::V2), [forced]);
    let mut asleep = given;
    asleep.spec.hibernation = Some(api::core::Hibernation { enabled: Some(true), ..Default::default() });
    assert_eq!(told(&asleep, 146, HashVersion::V1), ["18 kubernetes 1.31.1->1.32.0 forced"]);
}

#[test]
fn deleted_and_hibernated_shoots() {
    let offered = profile("1.31.1@2025-06-18 1.32.0", "1.0.0", "major");
    let mut given = shoot("1.31.1", "1.0.0", false);
    given.spec.hibernation = Some(api::core::Hibernation { enabled: Some(true), ..Default::default() });
    check(&given, offered.clone(), &["18 kubernetes 1.31.1->1.32.0 forced"]);
    given.metadata.deletion_timestamp = Some(apimachinery::meta::Time::default());
    check(&given, offered, &[]);
}

/// Hibernated at its window by a schedule, awake at noon: no nodes exist, so none are rolled.
#[test]
fn schedules_let_a_shoot_sleep_through_its_window() {
    let schedule = |start: &str, end: &str| api::core::HibernationSchedule {
        start: Some(start.to_owned()),
        end: Some(end.to_owned()),
        location: Some("Europe/Berlin".to_owned()),
    };
    let mut given = shoot("1.31.1", "1.0.0", false);
    let offered = profile("1.31.1@2025-06-18 1.32.0", "1.0.0", "major");
    let sleeps = |schedules| Some(api::core::Hibernation { enabled: None, schedules });
    given.spec.hibernation = sleeps(vec![schedule("0 20 * * *", "0 7 * * *")]);
    let course = check(&given, offered.clone(), &["18 kubernetes 1.31.1->1.32.0 forced"]);
    assert_eq!(course.last.spec.hibernation.and_then(|hibernation| hibernation.enabled), Some(true));
    given.spec.hibernation = sleeps(vec![schedule("0 1 * * *", "0 7 * * *")]);
    check(&given, offered, &["18 kubernetes 1.31.1->1.32.0 forced rolling"]);
}

/// The server refuses to hibernate a Shoot while such an operation waits, so it is awake in its first window.
#[test]
fn a_waiting_operation_keeps_a_shoot_awake() {
    let mut given = shoot("1.31.1", "1.0.0", false);
    let operation = "rotate-serviceaccount-key-start".to_owned();
    given.metadata.annotations.insert("maintenance.gardener.cloud/operation".to_owned(), operation);
    let schedule = api::core::HibernationSchedule { start: Some("0 20 * * *".to_owned()), ..Default::default() };
    given.spec.hibernation = Some(api::core::Hibernation { enabled: None, schedules: vec![schedule] });
    let offered = profile("1.31.1@2025-06-18 1.32.0", "1.0.0", "major");
    check(&given, offered, &["15 operation rolling", "18 kubernetes 1.31.1->1.32.0 forced"]);
}

/// The nodes are never selected, so the pool stays pending and the next change is refused. Automatic updates are done
/// by then.
#[test]
fn a_pool_that_waits_for_a_user_blocks_later_changes() {
    let with_strategy = |strategy: &str| {
        let mut given = shoot("1.31.1", "1.0.0", true);
        given.spec.provider.workers[0].update_strategy = Some(strategy.to_owned());
        given.spec.provider.workers[0].max_surge = Some(apimachinery::meta::IntOrString::Int(0));
        given.spec.provider.workers[0].max_unavailable = Some(apimachinery::meta::IntOrString::Int(1));
        given
    };
    let mut offered = profile("1.31.1 1.31.2?", "1.0.0@2025-06-20 1.1.0", "major");
    for version in &mut offered.machine_images[0].versions {
        let min_version_for_update = Some("1.0.0".to_owned());
        version.in_place_updates = Some(api::core::InPlaceUpdates { supported: true, min_version_for_update });
    }
    let first = offered.clone();
    offered.kubernetes.versions[1].classification = None;
    let offer = Offer { name: "local".to_owned(), first, changes: vec![(instant("2025-06-25T00:00:00Z"), offered)] };
    let told = |strategy| -> Vec<String> {
        course(&with_strategy(strategy), &offer, &settings()).changes.iter().map(tell).collect()
    };
    let updated = "15 machineImage of w 1.0.0->1.1.0";
    assert_eq!(
        told("AutoInPlaceUpdate"),
        [format!("{updated} autoInPlace"), "25 kubernetes 1.31.1->1.31.2 kubeletRestart".to_owned()]
    );
    assert_eq!(told("ManualInPlaceUpdate"), [format!("{updated} manualInPlace"), "25 blocked failed".to_owned()]);
}

#[test]
fn changes_of_the_profile_are_seen_in_the_next_window() {
    let first = profile("1.31.1", "1.0.0", "major");
    let second = profile("1.31.1 1.31.2", "1.0.0", "major");
    let changes = vec![(instant("2025-06-20T23:30:00Z"), second)];
    let offer = Offer { name: "local".to_owned(), first, changes };
    let course = course(&shoot("1.31.1", "1.0.0", true), &offer, &settings());
    assert_eq!(course.changes.iter().map(tell).collect::<Vec<_>>(), ["21 kubernetes 1.31.1->1.31.2 kubeletRestart"]);
}

#[test]
fn runs_lie_in_their_windows_also_across_midnight() {
    let mut given = shoot("1.31.1", "1.0.0", false);
    given.spec.maintenance.get_or_insert_default().time_window =
        Some(api::core::MaintenanceTimeWindow { begin: "230000+0000".to_owned(), end: "010000+0000".to_owned() });
    let mut after = instant("2025-06-15T00:20:00Z");
    for _ in 0..40 {
        let (run, span) = next_run(&given, after, &draw);
        assert!(run > after && span.earliest <= run && run < span.end, "{run}");
        assert!(run - after <= TimeDelta::hours(26), "{run} after {after}");
        assert_eq!(maintenance::next_run(&given, run).earliest, span.earliest + TimeDelta::days(1));
        after = run;
    }
}

#[test]
fn choices_have_reasons_against_the_other_versions() {
    let mut offered = profile("1.31.1 1.31.2~ 1.31.3 1.31.4? 1.32.0", "1.0.0 1.1.0 2.0.0", "minor");
    offered.machine_images[0].versions[2].architectures = vec!["arm64".to_owned()];
    let choices = choice::choices(
        &shoot("1.31.1", "1.0.0", true),
        "local",
        &offered,
        Moment::new(instant("2025-06-15T12:00:00Z"), DOCUMENTED),
    );
    let told: Vec<String> = choices
        .iter()
        .flat_map(|choice| {
            let to = choice.outcome.as_ref().and_then(|outcome| outcome.version()).unwrap_or("stays");
            let head = format!("{} {} -> {to}", choice.field, choice.current);
            std::iter::once(head).chain(choice.others.iter().map(|(version, why)| format!("{version} {why}")))
        })
        .collect();
    assert_eq!(
        told,
        [
            "spec.kubernetes.version 1.31.1 -> 1.31.3",
            "1.31.2 is deprecated, and 1.31.3 is not",
            "1.31.4 is a preview",
            "1.32.0 is not of minor 1.31, which only a forced update leaves",
            "spec.provider.workers[0].machine.image.version 1.0.0 -> 1.1.0",
            "2.0.0 does not support CPU architecture \"amd64\"",
        ]
    );
}

/// Kubernetes versions and image versions that are offered, the update strategy, true for automatic updates; the
/// texts about the control plane on 1.31.1 and the image on 1.0.0. Both expire where an arrow says so.
#[test]
fn the_reasons_are_true_for_every_strategy() {
    let told = |kubernetes: &str, images: &str, strategy: &str, auto: bool| -> Vec<String> {
        let offered = profile(kubernetes, images, strategy);
        let given = shoot("1.31.1", "1.0.0", auto);
        let choices =
            choice::choices(&given, "local", &offered, Moment::new(instant("2025-06-15T12:00:00Z"), DOCUMENTED));
        let others = choices.into_iter().flat_map(|choice| choice.others);
        others.map(|(version, why)| format!("{version} {why}")).collect()
    };
    let gone = "@2025-06-01";
    assert_eq!(
        told(&format!("1.31.1{gone} 1.31.2{gone} 1.32.0 1.32.1 1.33.0"), "1.0.0 1.0.1 2.0.0", "major", true),
        [
            "1.31.2 has expired at 2025-06-01T00:00:00Z",
            "1.32.0 is lower than 1.32.1",
            "1.33.0 skips a minor",
            "2.0.0 is not of minor 1.0, of which 1.0.1 comes first",
        ]
    );
    assert_eq!(
        told("1.31.1", &format!("1.0.0{gone} 1.1.0? 1.2.0~ 1.2.1~ 1.3.0"), "patch", false),
        [
            "1.1.0 is a preview",
            "1.2.0 is lower than 1.2.1",
            "1.3.0 is of a later minor than 1.2.1: the next one that has a version that is no preview is taken",
        ]
    );
    assert_eq!(
        told("1.31.1", &format!("1.0.0{gone} 1.1.0 2.0.0"), "minor", false),
        ["2.0.0 is not of major 1, of which 1.1.0 comes first"]
    );
    assert_eq!(
        told("1.31.1", "1.0.0 1.0.1 1.1.0~ 2.0.0", "major", false),
        ["1.0.1", "1.1.0", "2.0.0"].map(|version| format!("{version} is for automatic updates only, and they are off"))
    );
    assert_eq!(
        told("1.31.1", "1.0.0 1.1.0~ 1.2.0~ 1.3.0?", "minor", true),
        ["1.1.0 is lower than 1.2.0", "1.3.0 is a preview"]
    );
}

/// A pool with a version of its own never gets above its control plane.
#[test]
fn a_pool_stops_at_its_control_plane() {
    let mut given = shoot("1.32.1", "1.0.0", false);
    let own = given.spec.provider.workers[0].kubernetes.get_or_insert_default();
    own.version = Some("1.31.1".to_owned());
    let offered = profile("1.31.1@2025-06-01 1.32.0 1.32.1 1.32.2 1.33.0", "1.0.0", "major");
    let choices = choice::choices(&given, "local", &offered, Moment::new(instant("2025-06-15T12:00:00Z"), DOCUMENTED));
    let of_pool = choices.iter().find(|choice| choice.field.contains("workers[0].kubernetes")).expect("it has its own");
    assert_eq!(of_pool.outcome.as_ref().and_then(|outcome| outcome.version()), Some("1.32.1"));
    let told: Vec<String> = of_pool.others.iter().map(|(version, why)| format!("{version} {why}")).collect();
    assert_eq!(
        told,
        [
            "1.32.0 is lower than 1.32.1 of the control plane",
            "1.32.2 is above 1.32.1 of the control plane",
            "1.33.0 is above 1.32.1 of the control plane",
        ]
    );
}

#[test]
fn impossible_choices_have_a_reason() {
    let told = |given: &Shoot, offered: &CloudProfileSpec| -> Vec<Option<String>> {
        let choices =
            choice::choices(given, "local", offered, Moment::new(instant("2025-06-15T12:00:00Z"), DOCUMENTED));
        choices.into_iter().map(|choice| choice.trouble).collect()
    };
    let offered = profile("1.31.1 1.31.x", "1.0.0", "minor");
    assert_eq!(told(&shoot("1.31.1", "1.0.0", false), &offered), [None, None]);
    let no_version = |version: &str| Some(format!("`{version}` is not a version, so nothing can be compared with it"));
    assert_eq!(told(&shoot("1.31.2", "1.0.0", false), &offered), [no_version("1.31.x"), None]);
    let mut given = shoot("abc", "1.0.0", false);
    "other".clone_into(&mut given.spec.provider.workers[0].machine.image.get_or_insert_default().name);
    let unknown = "failure while determining the default machine image in the CloudProfile: no machineImage with name \
                   \"other\" (specified in shoot) could be found in the cloudProfile \"local\"";
    assert_eq!(told(&given, &offered), [no_version("abc"), Some(unknown.to_owned())]);
}

/// The API server judges by the state to which gardenlet has rotated by the next window.
#[test]
fn a_rotation_is_done_before_the_next_window() {
    let rotated = |operation: &str, phase: &str| {
        let mut given = shoot("1.31.1", "1.0.0", false);
        let authorities = api::core::CARotation { phase: phase.to_owned(), ..Default::default() };
        let rotation = given.status.credentials.get_or_insert_default().rotation.get_or_insert_default();
        rotation.certificate_authorities = Some(authorities);
        given.metadata.annotations.insert("maintenance.gardener.cloud/operation".to_owned(), operation.to_owned());
        given
    };
    let told = |given: &Shoot, expected: &[&str]| {
        let last = check(given, profile("1.31.1", "1.0.0", "major"), expected).last;
        let rotation = last.status.credentials.and_then(|credentials| credentials.rotation).expect("there is one");
        rotation.certificate_authorities.expect("there is one").phase
    };
    assert_eq!(told(&rotated("rotate-ca-start", ""), &["15 operation rolling"]), "Prepared");
    assert_eq!(told(&rotated("rotate-ca-complete", "Prepared"), &["15 operation"]), "Completed");
    let waiting = "WaitingForWorkersRollout";
    assert_eq!(told(&rotated("rotate-ssh-keypair", "Preparing"), &["15 operation"]), "Prepared");
    assert_eq!(told(&rotated("rotate-ca-start-without-workers-rollout", ""), &["15 blocked failed"]), "");
    let mut given = rotated("rotate-rollout-workers=w", waiting);
    let authorities = given.status.credentials.get_or_insert_default().rotation.get_or_insert_default();
    let authorities = authorities.certificate_authorities.get_or_insert_default();
    authorities.last_initiation_time = Some(Time::from_instant(instant("2025-06-01T00:00:00Z")));
    let pending = api::core::PendingWorkersRollout { name: "w".to_owned(), last_initiation_time: None };
    authorities.pending_workers_rollouts.push(pending);
    let offer = Offer { name: "local".to_owned(), first: profile("1.31.1", "1.0.0", "major"), changes: Vec::new() };
    let gates = Gates { credentials_rotation_without_workers_rollout: true, ..Gates::default() };
    let course = course(&given, &offer, &Settings { gates, ..settings() });
    assert_eq!(course.changes.iter().map(tell).collect::<Vec<_>>(), ["15 operation rolling"]);
}

/// The switch that the server refuses while an operation waits is tried again, for two hours.
#[test]
fn a_refused_switch_is_tried_again_for_two_hours() {
    let sleeps = |start: &str| {
        let mut given = shoot("1.31.1", "1.0.0", false);
        let operation = "rotate-serviceaccount-key-start".to_owned();
        given.metadata.annotations.insert("maintenance.gardener.cloud/operation".to_owned(), operation);
        let schedule = api::core::HibernationSchedule { start: Some(start.to_owned()), ..Default::default() };
        given.spec.hibernation = Some(api::core::Hibernation { enabled: None, schedules: vec![schedule] });
        let offered = profile("1.31.1@2025-06-16 1.32.0", "1.0.0", "major");
        let offer = Offer { name: "local".to_owned(), first: offered, changes: Vec::new() };
        course(&given, &offer, &settings()).changes.iter().map(tell).collect::<Vec<_>>()
    };
    // On Sunday only; the window is from ten to eleven at night.
    assert_eq!(sleeps("30 21 * * 0"), ["15 operation rolling", "16 kubernetes 1.31.1->1.32.0 forced"]);
    assert_eq!(sleeps("30 19 * * 0"), ["15 operation rolling", "16 kubernetes 1.31.1->1.32.0 forced rolling"]);
}

#[test]
fn the_first_change_after_the_end_is_found() {
    let next = |kubernetes: &str, image: &str| {
        let offer = Offer { name: "local".to_owned(), first: profile(kubernetes, image, "major"), changes: Vec::new() };
        let course = course(&shoot("1.31.1", "1.0.0", false), &offer, &settings());
        match course.next_change(&offer, &settings()) {
            Next::Never => "never".to_owned(),
            Next::NotBefore(instant) => format!("not before {}", instant.format("%Y-%m-%d")),
            Next::Change(change) => format!("{} {}", change.time.format("%Y-%m"), tell(&change)),
        }
    };
    for (kubernetes, image, expected) in [
        ("1.31.1 1.32.0", "1.0.0", "never"),
        ("1.31.1@2025-08-01 1.32.0", "1.0.0", "2025-08 01 kubernetes 1.31.1->1.32.0 forced rolling"),
        ("1.31.1", "1.0.0@2025-09-01 2.0.0", "2025-09 01 machineImage of w 1.0.0->2.0.0 forced rolling"),
        // A failure counts only if nothing succeeds later.
        ("1.31.1@2025-08-01", "1.0.0", "2025-08 01 kubernetes forced failed"),
        ("1.31.1@2025-08-01", "1.0.0@2025-09-01 2.0.0", "2025-09 01 machineImage of w 1.0.0->2.0.0 forced rolling"),
        // A failure within the course is not new.
        ("1.31.1@2025-06-20", "1.0.0", "never"),
        ("1.31.1@2045-01-01 1.32.0", "1.0.0", "not before 2035-07-16"),
    ] {
        assert_eq!(next(kubernetes, image), expected, "{kubernetes} {image}");
    }
}

#[test]
fn a_change_notes_differences_to_the_documents() {
    let readings = |kubernetes: &str, image: &str, strategy: &str| -> Vec<String> {
        let offer =
            Offer { name: "local".to_owned(), first: profile(kubernetes, image, strategy), changes: Vec::new() };
        let course = course(&shoot("1.31.1", "1.0.0", false), &offer, &settings());
        course.changes.into_iter().filter_map(|change| change.reading).collect()
    };
    let none: [&str; 0] = [];
    let expired = "@2025-06-01";
    for (kubernetes, image, strategy, expected) in [
        ("1.31.1 1.31.2".to_owned(), format!("1.0.0{expired} 2.0.0"), "major", &none[..]),
        (
            format!("1.31.1{expired} 1.31.2{expired} 1.31.3{expired} 1.32.0"),
            "1.0.0".to_owned(),
            "major",
            &["the documents read: first 1.31.3, the latest patch of the minor, although it has expired"],
        ),
        (format!("1.31.1{expired} 1.31.3? 1.32.0"), "1.0.0".to_owned(), "major", &none),
        (
            "1.31.1".to_owned(),
            format!("1.0.0{expired} 2.0.0 3.0.0{expired}"),
            "major",
            &["the documents read: the update fails, since 3.0.0, the highest version, has expired"],
        ),
        ("1.31.1".to_owned(), format!("1.0.0{expired} 1.0.1 3.0.0{expired}"), "major", &none),
        ("1.31.1".to_owned(), format!("1.0.0{expired} 2.0.0 3.0.0{expired}"), "minor", &none),
    ] {
        assert_eq!(readings(&kubernetes, &image, strategy), expected, "{kubernetes} {image} {strategy}");
    }
}

/// The gate of gardener-controller-manager takes effect once, with the first run.
#[test]
fn the_first_run_turns_the_addon_nginx_ingress_off() {
    let mut given = shoot("1.34.3", "1.0.0", false);
    given.spec.addons =
        serde_json::from_value(serde_json::json!({ "nginxIngress": { "enabled": true } })).expect("addons");
    let offer = Offer { name: "local".to_owned(), first: profile("1.34.3", "1.0.0", "major"), ..Offer::default() };
    for (disables_nginx_ingress, expected) in [(false, 0), (true, 1)] {
        let gates = Gates { release: Release(142), ..Gates::default() };
        let course = course(&given, &offer, &Settings { gates, disables_nginx_ingress, ..settings() });
        let is_told = |change: &&Change| change.reason.starts_with(".spec.addons.nginxIngress was disabled.");
        assert_eq!(course.changes.iter().filter(is_told).count(), expected, "{:?}", course.changes);
        let addon = course.last.spec.addons.and_then(|addons| addons.nginx_ingress).expect("an addon");
        assert_eq!(addon.enabled, !disables_nginx_ingress);
    }
}

/// Sentences of migrations by the release of the landscape.
#[test]
fn each_migration_of_the_release_is_forecast() {
    let told = |given: &Shoot, offered: &str, minor: u16| {
        let offer = Offer { name: "local".to_owned(), first: profile(offered, "1.0.0", "major"), ..Offer::default() };
        let gates = Gates { release: Release(minor), ..Gates::default() };
        let course = course(given, &offer, &Settings { gates, ..settings() });
        let migrations = course.changes.iter().filter(|change| change.subject == Subject::Migration);
        let migrations =
            migrations.map(|change| change.reason.split_once(' ').map_or("", |(field, _)| field).to_owned());
        (course.last.spec.kubernetes.version.clone(), migrations.collect::<Vec<_>>())
    };
    let mut given = shoot("1.34.3", "1.0.0", false);
    given.spec.kubernetes.kube_api_server.get_or_insert_default().enable_anonymous_authentication = Some(false);
    given.spec.kubernetes.kube_scheduler.get_or_insert_default().kube_max_pd_vols = Some("30".to_owned());
    given.spec.addons = None;
    let offered = "1.34.3@2025-06-17 1.35.4";
    assert_eq!(told(&given, offered, 135), ("1.35.4".to_owned(), vec![]));
    let expected = [
        ".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication",
        ".spec.kubernetes.kubeScheduler.kubeMaxPDVols",
    ];
    assert_eq!(told(&given, offered, 149), ("1.35.4".to_owned(), expected.map(str::to_owned).to_vec()));

    let mut given = shoot("1.33.5", "1.0.0", false);
    given.spec.credentials_binding_name = None;
    given.spec.secret_binding_name = Some("mine".to_owned());
    let offered = "1.33.5@2025-06-17 1.34.3";
    assert_eq!(told(&given, offered, 126), ("1.34.3".to_owned(), vec![]));
    let (version, migrations) = told(&given, offered, 127);
    assert_eq!((&*version, migrations), ("1.34.3", vec![".spec.secretBindingName".to_owned()]));
}

/// A higher version that leaves preview is a reason to move, whatever stages the version in use has.
#[test]
fn stages_of_higher_versions_cause_updates() {
    let preview_until = |supported: &str| {
        json!([
            { "classification": "preview" },
            { "classification": "supported", "startTime": format!("{supported}T00:00:00Z") },
        ])
    };
    let offered = |kubernetes: &serde_json::Value, image: &serde_json::Value| -> CloudProfileSpec {
        let mut offered = profile("1.31.2 1.31.1", "2.1.0 2.0.0", "major");
        let stages = |value: &serde_json::Value| serde_json::from_value(value.clone()).expect("stages");
        offered.kubernetes.versions[0].lifecycle = stages(kubernetes);
        offered.machine_images[0].versions[0].lifecycle = stages(image);
        offered
    };
    let told = |auto: bool, first: CloudProfileSpec| -> Vec<String> {
        let offer = Offer { name: "local".to_owned(), first, changes: Vec::new() };
        let gates = Gates { release: Release(149), ..Gates::default() };
        let forms = |_: &Shoot| PoolForms::all(HashVersion::V2, Release(149));
        let settings = Settings { gates, forms: &forms, ..settings() };
        course(&shoot("1.31.1", "2.0.0", auto), &offer, &settings).changes.iter().map(tell).collect()
    };
    let (soon, later) = (preview_until("2025-06-18"), preview_until("2025-06-20"));
    let moves = ["18 kubernetes 1.31.1->1.31.2 kubeletRestart", "20 machineImage of w 2.0.0->2.1.0 rolling"];
    assert_eq!(told(true, offered(&soon, &later)), moves);
    assert_eq!(told(false, offered(&soon, &later)), [""; 0]);
    let no_target = json!([
        { "classification": "preview" },
        { "classification": "expired", "startTime": "2025-06-18T00:00:00Z" },
    ]);
    assert_eq!(told(true, offered(&no_target, &later)), moves[1..]);
}
