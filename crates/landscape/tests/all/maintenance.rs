// SPDX-License-Identifier: Apache-2.0
//! Maintenance in irregular situations: gardener-controller-manager was stopped, the CloudProfile was deleted, the
//! Shoot has no maintenance section, its window changes. There is no seed.

use api::core::{CloudProfile, Shoot};
use apimachinery::meta::DeleteOptions;
use controller::{Api, Patch};
use domain::profile::Profile;
use domain::window::nominal_window;
use landscape::{Component, Options, preset};
use serde_json::{Value, json};

use crate::support::{Audited, evening, instant};

/// A landscape without seeds, with CloudProfile, Project, credentials and Shoot `s`; `change` is applied before its
/// creation.
fn start(change: impl FnOnce(&mut Shoot)) -> Audited {
    let options = Options { profile: Profile::Documents, seeds: Vec::new(), ..Options::new(1, evening()) };
    let mut audited = Audited::start(options);
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:00:00Z", preset::create(&admin));
    let mut shoot = preset::shoot("s");
    change(&mut shoot);
    audited.run(shoots(&audited).create(&shoot)).expect("the Shoot is valid");
    audited
}

fn shoots(audited: &Audited) -> Api<Shoot> {
    Api::namespaced(&audited.admin, "garden", preset::NAMESPACE)
}

fn patch(audited: &mut Audited, patch: Value) {
    audited.run(shoots(audited).patch("s", &Patch::Merge(patch))).expect("the change is valid");
}

/// Number of Events about an update, by reason.
fn told(audited: &mut Audited) -> [usize; 2] {
    let events = audited.events("s");
    ["KubernetesVersionMaintenance", "MachineImageVersionMaintenance"]
        .map(|wanted| events.iter().filter(|(reason, _)| reason == wanted).count())
}

/// Missed windows are not made up for: the next one is used, and once.
#[test]
fn maintenance_resumes_in_the_next_window_after_a_stop() {
    for (back, from, until) in [
        ("2023-07-30T12:00:00Z", "2023-07-31T09:00:00Z", "2023-07-31T09:45:00Z"),
        // An open window is used at once, up to its last quarter of an hour.
        ("2023-07-30T09:10:00Z", "2023-07-30T09:10:00Z", "2023-07-30T09:10:00Z"),
        ("2023-07-30T09:45:00Z", "2023-07-30T09:45:00Z", "2023-07-30T09:45:00Z"),
        ("2023-07-30T09:45:01Z", "2023-07-31T09:00:00Z", "2023-07-31T09:45:00Z"),
    ] {
        let mut audited = start(|_| {});
        audited.until("2023-07-28T01:00:00Z");
        audited.landscape.stop_component(&Component::ControllerManager).expect("it ends");
        audited.until(back);
        audited.landscape.start_component(Component::ControllerManager);
        audited.until(until);
        let shoot = audited.shoot("s");
        let last = shoot.status.last_maintenance.expect("maintained");
        assert_eq!((last.state.as_str(), shoot.spec.kubernetes.version.as_str()), ("Succeeded", "1.27.1"), "{back}");
        assert!(last.triggered_time.0 >= instant(from), "{back}: {}", last.triggered_time);
        audited.until("2023-08-03T12:00:00Z");
        assert_eq!(told(&mut audited), [1, 1], "{back}");
    }
}

/// A Shoot without its CloudProfile is not maintained, and maintenance is retried while the window is open.
#[test]
fn a_recreated_profile_is_used_in_the_same_window() {
    let mut audited = start(|_| {});
    audited.until("2023-07-28T08:00:00Z");
    audited.landscape.stop_component(&Component::ControllerManager).expect("it ends");
    let profiles = Api::<CloudProfile>::all(&audited.admin, "garden");
    audited.run(profiles.delete("local", &DeleteOptions::default())).expect("its finalizer holds it");
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    audited.run(profiles.patch("local", &patch)).expect("finalizers can be removed");
    assert!(audited.run(profiles.get_opt("local")).expect("answered").is_none());

    audited.until("2023-07-28T09:10:00Z");
    audited.landscape.start_component(Component::ControllerManager);
    audited.until("2023-07-28T09:12:00Z");
    let shoot = audited.shoot("s");
    assert_eq!((shoot.status.last_maintenance, shoot.spec.kubernetes.version.as_str()), (None, "1.26.4"));

    // An expired version cannot be added any more.
    let mut profile = preset::cloud_profile();
    profile.spec.kubernetes.versions.retain(|version| version.expiration_date.is_none());
    audited.run(profiles.create(&profile)).expect("valid");
    audited.until("2023-07-28T09:20:00Z");
    let shoot = audited.shoot("s");
    let last = shoot.status.last_maintenance.expect("tried again");
    assert_eq!((last.state.as_str(), shoot.spec.kubernetes.version.as_str()), ("Succeeded", "1.27.1"));
    assert!(last.description.contains("Reason: Version does not exist in CloudProfile"), "{}", last.description);
    audited.until("2023-07-30T12:00:00Z");
    assert_eq!(told(&mut audited), [1, 1]);
}

/// The default is a window of an hour and automatic updates.
#[test]
fn a_shoot_without_maintenance_section_gets_a_window() {
    let mut audited = start(|shoot| shoot.spec.maintenance = None);
    let maintenance = audited.shoot("s").spec.maintenance.expect("defaulted");
    let auto_update = maintenance.auto_update.clone().expect("defaulted");
    assert_eq!((auto_update.kubernetes_version, auto_update.machine_image_version), (true, Some(true)));
    let window = nominal_window(Some(&maintenance)).expect("a window");
    assert_eq!((window.begin.seconds() % 3600, window.duration().num_minutes()), (0, 60));
    // 1.26.4 expires at midnight; there is nothing higher of the same minor before.
    audited.until("2023-07-29T00:00:00Z");
    let shoot = audited.shoot("s");
    assert_eq!(shoot.spec.kubernetes.version, "1.27.1");
    let last = shoot.status.last_maintenance.expect("maintained");
    assert!(window.effective().contains(last.triggered_time.0), "{}", last.triggered_time);
    audited.until("2023-07-31T00:00:00Z");
    assert_eq!(told(&mut audited), [1, 1]);
}

/// A new window applies at once: earlier than the planned run, later, open, or closed by the change.
#[test]
fn a_changed_window_is_used_instead_of_the_old_one() {
    for (begin, end, from, until) in [
        ("020000+0000", "030000+0000", "2023-07-28T02:00:00Z", "2023-07-28T02:45:00Z"),
        ("150000+0000", "160000+0000", "2023-07-28T15:00:00Z", "2023-07-28T15:45:00Z"),
        ("003000+0000", "020000+0000", "2023-07-28T01:00:00Z", "2023-07-28T01:00:00Z"),
        ("230000+0200", "010000+0000", "2023-07-28T21:00:00Z", "2023-07-29T00:45:00Z"),
    ] {
        let mut audited = start(|_| {});
        audited.until("2023-07-28T01:00:00Z");
        patch(&mut audited, json!({ "spec": { "maintenance": { "timeWindow": { "begin": begin, "end": end } } } }));
        audited.until(until);
        let last = audited.shoot("s").status.last_maintenance.expect("maintained");
        assert!(last.triggered_time.0 >= instant(from), "{begin}: {}", last.triggered_time);
        audited.until("2023-07-31T12:00:00Z");
        assert_eq!(told(&mut audited), [1, 1], "{begin}");
    }
}

/// A landscape whose Shoot `s` confines roll-outs; its window is from nine to ten.
fn start_confined(profile: Profile) -> Audited {
    let options = Options { profile, seeds: Vec::new(), ..Options::new(1, evening()) };
    let mut audited = Audited::start(options);
    let admin = audited.admin.clone();
    audited.until_done("2023-07-27T20:00:00Z", preset::create(&admin));
    let mut shoot = preset::shoot("s");
    shoot.spec.maintenance.get_or_insert_default().confine_spec_update_rollout = Some(true);
    audited.run(shoots(&audited).create(&shoot)).expect("the Shoot is valid");
    audited
}

fn set_window(audited: &mut Audited, begin: &str, end: &str) {
    patch(audited, json!({ "spec": { "maintenance": { "timeWindow": { "begin": begin, "end": end } } } }));
}

/// True if a run has left its tasks, which are removed, so that the next run can be distinguished.
fn was_maintained(audited: &mut Audited) -> bool {
    let found = audited.shoot("s").metadata.annotation("shoot.gardener.cloud/tasks").is_some();
    patch(audited, json!({ "metadata": { "annotations": { "shoot.gardener.cloud/tasks": null } } }));
    found
}

/// While roll-outs are confined, a changed window applies after the upcoming maintenance, whether
/// gardener-controller-manager has observed the change or not.
#[test]
fn a_confined_window_that_changes_waits_for_the_upcoming_maintenance() {
    // Times at which gardener-controller-manager is stopped and started.
    for away in [
        None,
        Some(["2023-07-28T00:30:00Z", "2023-07-28T01:30:00Z"]),
        Some(["2023-07-28T02:00:00Z", "2023-07-28T03:00:00Z"]),
        Some(["2023-07-28T04:30:00Z", "2023-07-28T05:10:00Z"]),
        Some(["2023-07-28T06:30:00Z", "2023-07-28T08:10:00Z"]),
    ] {
        let mut audited = start_confined(Profile::Documents);
        let instants = ["2023-07-28T01:00:00Z", "2023-07-28T01:15:00Z", "2023-07-28T08:59:59Z"];
        let mut steps: Vec<&str> = instants.into_iter().chain(away.into_iter().flatten()).collect();
        steps.sort_unstable();
        for step in steps {
            audited.until(step);
            match (step, away) {
                ("2023-07-28T01:00:00Z", _) => set_window(&mut audited, "040000+0000", "050000+0000"),
                // Two changes in a row: the second one waits as well.
                ("2023-07-28T01:15:00Z", _) => set_window(&mut audited, "050000+0000", "060000+0000"),
                (_, Some([stopped, _])) if step == stopped => {
                    audited.landscape.stop_component(&Component::ControllerManager).expect("it ends");
                }
                (_, Some([_, started])) if step == started => {
                    audited.landscape.start_component(Component::ControllerManager);
                }
                _ => {}
            }
        }
        let shoot = audited.shoot("s");
        assert_eq!(shoot.status.last_maintenance, None, "{away:?}");
        let kept = r#"{"begin":"090000+0000","end":"100000+0000","until":"2023-07-28T09:45:00Z"}"#;
        assert_eq!(shoot.metadata.annotation("maintenance.terrarium.dev/upcoming-time-window"), Some(kept), "{away:?}");
        was_maintained(&mut audited);
        audited.until("2023-07-28T09:45:00Z");
        let last = audited.shoot("s").status.last_maintenance.expect("maintained");
        assert!(last.triggered_time.0 >= instant("2023-07-28T09:00:00Z"), "{away:?}: {}", last.triggered_time);
        assert!(was_maintained(&mut audited), "{away:?}");
        // Once, and from then on in the new window.
        audited.until("2023-07-29T04:59:59Z");
        assert!(!was_maintained(&mut audited), "{away:?}");
        assert_eq!(
            audited.shoot("s").metadata.annotation("maintenance.terrarium.dev/upcoming-time-window"),
            None,
            "{away:?}"
        );
        audited.until("2023-07-29T05:45:00Z");
        assert!(was_maintained(&mut audited), "{away:?}");
    }
}

/// A pending window applies at once when roll-outs are no longer confined, or when the former window is set again; and
/// in profile `upstream` no window is pending. The annotation is ignored when clients write it.
#[test]
fn a_window_waits_only_while_roll_outs_are_confined() {
    let window = ("050000+0000", "060000+0000");
    let release = json!({ "spec": { "maintenance": { "confineSpecUpdateRollout": false } } });
    let forge = json!({ "metadata": { "annotations": { "maintenance.terrarium.dev/upcoming-time-window": null } } });
    for (profile, and_then, expected) in [
        (Profile::Documents, None, "2023-07-28T09"),
        (Profile::Documents, Some(forge), "2023-07-28T09"),
        (Profile::Documents, Some(release), "2023-07-28T05"),
        (Profile::Upstream, None, "2023-07-28T05"),
    ] {
        let mut audited = start_confined(profile);
        audited.until("2023-07-28T01:00:00Z");
        set_window(&mut audited, window.0, window.1);
        if let Some(change) = &and_then {
            patch(&mut audited, change.clone());
        }
        audited.until("2023-07-28T10:00:00Z");
        let last = audited.shoot("s").status.last_maintenance.expect("maintained").triggered_time.to_string();
        assert!(last.starts_with(expected), "{profile:?} {and_then:?}: {last}");
        assert_eq!(told(&mut audited), [1, 1], "{profile:?} {and_then:?}");
    }
}
