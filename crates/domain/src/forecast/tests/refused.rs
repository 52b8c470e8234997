// SPDX-License-Identifier: Apache-2.0
//! Stored Shoots that the release refuses.

use api::core::ShootSpec;

use super::*;

/// A Shoot as the API server of a release has stored it.
fn stored(version: &str, release: Release, change: fn(&mut ShootSpec)) -> Shoot {
    let mut shoot = written(version, "1.0.0", true);
    change(&mut shoot.spec);
    defaulting::shoot(&mut shoot, 0, release);
    let before = shoot.clone();
    defaulting::sync_cloud_profile_reference(&mut shoot, Some(&before), release);
    "7".clone_into(&mut shoot.metadata.resource_version);
    shoot
}

/// Sets an audience that releases since 1.127 refuse.
fn with_a_comma(spec: &mut ShootSpec) {
    spec.kubernetes.kube_api_server.get_or_insert_default().api_audiences = vec!["a,b".to_owned()];
}

/// Field with a value that a release refuses.
type Edit = fn(&mut ShootSpec);

/// Fields that a release refuses and the one before it has stored: version of Kubernetes, change of the Shoot, release, field
/// and beginning of the message.
const REFUSED_SINCE: [(&str, Edit, u16, &str); 3] = [
    (
        "1.35.0",
        |spec| {
            let reference = json!({ "apiVersion": "v1", "kind": "Secret", "name": "s" });
            let provider = json!({ "type": "t", "primary": true, "secretName": "s", "credentialsRef": reference });
            let dns = json!({ "domain": "a.example", "providers": [provider] });
            spec.dns = Some(serde_json::from_value(dns).expect("DNS settings"));
        },
        139,
        "spec.dns.providers[0].secretName: Forbidden: for Kubernetes versions >= 1.35, secretName field is no longer supported",
    ),
    (
        "1.31.1",
        with_a_comma,
        127,
        "spec.kubernetes.kubeAPIServer.apiAudiences[0]: Invalid value: \"a,b\": audience must not contain commas",
    ),
    (
        "1.31.1",
        |spec| {
            spec.provider.workers[0].sysctls = serde_json::from_value(json!({ "a..b": "1" })).expect("parameters");
        },
        133,
        "spec.provider.workers[0].sysctls.a..b: Invalid value: \"a..b\": sysctl key must must match regex",
    ),
];

#[test]
fn a_refused_stored_shoot_is_blocked_at_its_next_change() {
    for (version, change, since, message) in REFUSED_SINCE {
        let offer =
            Offer { name: "local".to_owned(), first: profile(version, "1.0.0 2.0.0", "major"), ..Offer::default() };
        let mut given = stored(version, Release(since - 1), change);
        let changes = |given: &Shoot, release: u16| {
            let gates = Gates { release: Release(release), ..Gates::default() };
            course(given, &offer, &Settings { gates, ..settings() }).changes
        };
        let updated = ["15 machineImage of w 1.0.0->2.0.0 rolling"];
        let told = |changes: &[Change]| changes.iter().map(tell).collect::<Vec<_>>();
        assert_eq!(told(&changes(&given, since - 1)), updated, "{message}");
        let refused = changes(&given, since);
        assert_eq!(told(&refused), ["15 blocked failed"], "{message}");
        let failure = refused[0].failure.as_deref().expect("blocked");
        let begin = "Updates to the Shoot failed to be applied: Shoot.core.gardener.cloud \"s\" is invalid: "
            .to_owned()
            + message;
        assert!(failure.starts_with(&begin), "{failure}");
        // A run without changes writes the Shoot, too.
        let unchanged = |given: &Shoot, release: u16| {
            refusal::of_validation(given, given, Gates { release: Release(release), ..Gates::default() })
        };
        assert_eq!(unchanged(&given, since - 1), None, "{message}");
        assert!(unchanged(&given, since).is_some_and(|refusal| refusal.contains(message)), "{message}");
        // A manifest that no server has stored is taken as given.
        given.metadata.resource_version.clear();
        assert_eq!(told(&changes(&given, since)), updated, "{message}");
        assert_eq!(unchanged(&given, since), None, "{message}");
    }
}

/// The server refuses every change of such a Shoot, also by its hibernation schedule.
#[test]
fn a_stored_shoot_that_the_release_refuses_is_not_hibernated() {
    let mut given = stored("1.31.1", Release(126), with_a_comma);
    let schedule = api::core::HibernationSchedule { start: Some("0 20 * * *".to_owned()), ..Default::default() };
    given.spec.hibernation = Some(api::core::Hibernation { enabled: None, schedules: vec![schedule] });
    let offer = Offer { name: "local".to_owned(), first: profile("1.31.1", "1.0.0", "major"), ..Offer::default() };
    for (release, is_hibernated) in [(126, true), (127, false)] {
        let gates = Gates { release: Release(release), ..Gates::default() };
        let last = course(&given, &offer, &Settings { gates, ..settings() }).last;
        assert_eq!(is_hibernation_enabled(&last.spec), is_hibernated, "{release}");
    }
}
