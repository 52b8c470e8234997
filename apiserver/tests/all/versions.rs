// SPDX-License-Identifier: Apache-2.0
//! Versions of CloudProfiles and NamespacedCloudProfiles through the API: differences between the profiles, and
//! behaviour with several instances.

use apiserver::Options;
use domain::profile::Profile;
use serde_json::{Value, json};

use crate::support::{Garden, run, shoot};

async fn with_demo_objects(profile: Profile) -> Garden {
    let garden = Garden::new(&Options { profile, ..Options::default() });
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden
}

const PROFILES: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles";
const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const SHOOTS: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots";
const OWN: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/namespacedcloudprofiles/own";

fn kubernetes(versions: &Value) -> Value {
    json!({"spec": {"kubernetes": {"versions": versions}}})
}

fn listed(profile: &Value) -> Vec<&str> {
    let versions = profile["spec"]["kubernetes"]["versions"].as_array().expect("a list");
    versions.iter().filter_map(|version| version["version"].as_str()).collect()
}

/// Row 5: the documents refuse a version that is expired when it is added; upstream drops it from a new CloudProfile
/// and accepts it in an update.
#[test]
fn added_expired_versions_are_judged_by_profile() {
    run(async {
        for profile in [Profile::Documents, Profile::Upstream] {
            let garden = with_demo_objects(profile).await;
            let mut new = garden.get(PROFILE).await;
            new["metadata"] = json!({"name": "second"});
            let expired = json!({"version": "1.25.4", "expirationDate": "2023-07-27T19:59:59Z"});
            let all = json!([expired, {"version": "1.27.1"}]);
            new["spec"]["kubernetes"]["versions"] = all.clone();
            let old_image = json!({"version": "1.0.0", "expirationDate": "2023-07-01T00:00:00Z"});
            new["spec"]["machineImages"] =
                json!([{"name": "gardenlinux", "versions": [{"version": "2.0.0"}, old_image]}]);
            let past = |path: &str, date: &str, version: &str| {
                format!(
                    "spec.{path}.expirationDate: Invalid value: {date} +0000 UTC: expiration date for version \"{version}\" \
                     is in the past"
                )
            };
            let created = garden.post(&new).await;
            let in_kubernetes = past("kubernetes.versions[0]", "2023-07-27 19:59:59", "1.25.4");
            let in_image = past("machineImages[0].versions[1]", "2023-07-01 00:00:00", "1.0.0");
            if profile == Profile::Documents {
                let prefix = "CloudProfile.core.gardener.cloud \"second\" is invalid";
                created.refused(422, &format!("{prefix}: [{in_kubernetes}, {in_image}]"));
                let added = kubernetes(&json!([expired, {"version": "1.26.4"}, {"version": "1.27.1"}]));
                let update = garden.merge(PROFILE, &added).await;
                let prefix = "CloudProfile.core.gardener.cloud \"local\" is invalid";
                update.refused(422, &format!("{prefix}: {in_kubernetes}"));
            } else {
                let created = created.accepted();
                assert_eq!(listed(&created), ["1.27.1"]);
                assert_eq!(created["spec"]["machineImages"][0]["versions"].as_array().map(Vec::len), Some(1));
                let updated = garden.merge(&format!("{PROFILES}/second"), &kubernetes(&all)).await.accepted();
                assert_eq!(listed(&updated), ["1.25.4", "1.27.1"]);
            }
            // In both, a listed version may get a date in the past: in this way an operator forbids it immediately.
            let over = json!([{"version": "1.26.4", "expirationDate": "2023-07-01T00:00:00Z"}, {"version": "1.27.1"}]);
            garden.merge(PROFILE, &kubernetes(&over)).await.accepted();
            garden.post(&shoot("late", "1.26.4")).await.refused(
                403,
                "shoots.core.gardener.cloud \"late\" is forbidden: spec.kubernetes.version: Unsupported value: \
                 \"1.26.4\": supported values: \"1.27.1\"",
            );
        }
    });
}

/// Row 9: by the documents a version that only a worker pool uses is in use.
#[test]
fn the_version_of_a_pool_is_in_use_by_profile() {
    run(async {
        for profile in [Profile::Documents, Profile::Upstream] {
            let garden = with_demo_objects(profile).await;
            let mut local = shoot("local", "1.27.1");
            local["spec"]["provider"]["workers"][0]["kubernetes"] = json!({"version": "1.26.4"});
            garden.post(&local).await.accepted();
            let removal = garden.merge(PROFILE, &kubernetes(&json!([{"version": "1.27.1"}]))).await;
            if profile == Profile::Documents {
                removal.refused(
                    403,
                    "cloudprofiles.core.gardener.cloud \"local\" is forbidden: 1 error occurred:\n\t* unable to delete \
                     Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use by shoot \
                     'garden-demo/local' by worker \"pool\"\n\n",
                );
            } else {
                removal.accepted();
            }
        }
    });
}

/// Creates a NamespacedCloudProfile with the status that gardener-controller-manager would write.
async fn with_own_profile(garden: &Garden, spec: &Value) -> Value {
    let mut own = json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "NamespacedCloudProfile",
        "metadata": {"name": "own", "namespace": "garden-demo"},
        "spec": spec,
    });
    own["spec"]["parent"] = json!({"kind": "CloudProfile", "name": "local"});
    garden.post(&own).await.accepted();
    merge_status(garden).await
}

async fn merge_status(garden: &Garden) -> Value {
    let parent: api::core::CloudProfile = serde_json::from_value(garden.get(PROFILE).await).expect("a CloudProfile");
    let own: api::core::NamespacedCloudProfile = serde_json::from_value(garden.get(OWN).await).expect("its kind");
    let merged = domain::cloud_profile::merge(&parent.spec, &own.spec);
    let status = json!({"status": {"cloudProfileSpec": merged}});
    garden.merge(&format!("{OWN}/status"), &status).await.accepted()
}

fn shoot_of_own(name: &str, version: &str) -> Value {
    let mut shoot = shoot(name, version);
    shoot["spec"]["cloudProfile"] = json!({"kind": "NamespacedCloudProfile", "name": "own"});
    shoot
}

#[test]
fn an_override_of_an_expiration_stays_while_shoots_need_it() {
    run(async {
        let garden = with_demo_objects(Profile::Documents).await;
        let longer =
            json!({"kubernetes": {"versions": [{"version": "1.26.4", "expirationDate": "2023-12-31T00:00:00Z"}]}});
        with_own_profile(&garden, &longer).await;
        garden.advance("2023-07-29T00:00:00Z");
        garden.post(&shoot("local", "1.26.4")).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\": \
             supported values: \"1.27.1\"",
        );
        garden.post(&shoot_of_own("local", "1.26.4")).await.accepted();
        garden.merge(OWN, &json!({"spec": {"kubernetes": null}})).await.refused(
            403,
            "namespacedcloudprofiles.core.gardener.cloud \"own\" is forbidden: 1 error occurred:\n\t* unable to delete \
             Kubernetes version \"1.26.4\" from NamespacedCloudProfile 'garden-demo/own' - version with extended \
             expiration date is still in use by shoot 'garden-demo/local'\n\n",
        );
        garden.merge(PROFILE, &kubernetes(&json!([{"version": "1.27.1"}]))).await.refused(
            403,
            "cloudprofiles.core.gardener.cloud \"local\" is forbidden: 2 errors occurred:\n\t* unable to delete \
             Kubernetes version \"1.26.4\" from CloudProfile \"local\" - version is still in use by \
             NamespacedCloudProfile 'garden-demo/own'\n\t* unable to delete Kubernetes version \"1.26.4\" from \
             CloudProfile \"local\" - version is still in use by shoot 'garden-demo/local'\n\n",
        );
        let other = json!({"spec": {"kubernetes": {"versions": [
            {"version": "1.26.4", "expirationDate": "2023-12-31T00:00:00Z"},
            {"version": "1.20.1", "expirationDate": "2024-01-01T00:00:00Z"},
        ]}}});
        garden.merge(OWN, &other).await.refused(
            500,
            "invalid kubernetes version specified: '1.20.1' does not exist in parent CloudProfile and thus cannot be \
             overridden",
        );
    });
}

#[test]
fn a_shoot_changes_between_profiles_of_one_root() {
    run(async {
        let garden = with_demo_objects(Profile::Documents).await;
        let image = json!([{"name": "own", "updateStrategy": "major", "versions": [
            {"version": "1.0.0", "architectures": ["amd64"], "cri": [{"name": "containerd"}]},
        ]}]);
        with_own_profile(&garden, &json!({"machineImages": image})).await;
        let mut second = garden.get(PROFILE).await;
        second["metadata"] = json!({"name": "second"});
        garden.post(&second).await.accepted();
        garden.post(&shoot("local", "1.27.1")).await.accepted();
        let local = format!("{SHOOTS}/local");
        let to = |kind: &str, name: &str| json!({"spec": {"cloudProfile": {"kind": kind, "name": name}}});
        garden.merge(&local, &to("CloudProfile", "second")).await.refused(
            500,
            "cloud profile reference change is invalid: cannot change from \"local\" to \"second\". The cloud profile \
             reference must remain within the same hierarchy",
        );
        garden.merge(&local, &to("CloudProfile", "lost")).await.refused(
            500,
            "Internal error occurred: could not find referenced cloud profile: cloudprofile.core.gardener.cloud \"lost\" \
             not found",
        );
        let changed = garden.merge(&local, &to("NamespacedCloudProfile", "own")).await.accepted();
        assert_eq!(changed["spec"]["cloudProfileName"], Value::Null);
        let mut workers = changed["spec"]["provider"]["workers"].clone();
        workers[0]["machine"]["image"] = json!({"name": "own", "version": "1.0.0"});
        let with = json!({"spec": {"provider": {"workers": workers}}});
        garden.merge(&local, &with).await.refused(
            403,
            "shoots.core.gardener.cloud \"local\" is forbidden: 1 error occurred:\n\t* given Shoot uses non-registered \
             operating system type: spec.provider.workers[0].machine.image.name (\"own\")\n\n",
        );
        let back = garden.merge(&local, &to("CloudProfile", "local")).await.accepted();
        assert_eq!(back["spec"]["cloudProfileName"], "local");
    });
}

/// Object of the race: a Kubernetes version or an image version of the CloudProfile, or an image version that only a
/// NamespacedCloudProfile has.
#[derive(Clone, Copy, Debug)]
enum RaceTarget {
    Kubernetes,
    Image,
    OwnImage,
}

/// One instance removes a version while another creates a Shoot with it, and both have decided before either has
/// written: only one of them succeeds, in either order.
#[test]
fn a_version_in_concurrent_use_is_not_removed() {
    run(async {
        for raced in [RaceTarget::Kubernetes, RaceTarget::Image, RaceTarget::OwnImage] {
            let mut winners = std::collections::BTreeSet::new();
            for removal_first in [true, false] {
                winners.insert(race(raced, removal_first).await);
            }
            assert_eq!(winners.len(), 2, "{raced:?}: each of them writes first once");
        }
    });
}

/// Returns true if the removal succeeded.
async fn race(raced: RaceTarget, removal_first: bool) -> bool {
    let first = with_demo_objects(Profile::Documents).await;
    let second = first.another_instance(&Options::default());
    let whole =
        |version: &str| json!({"version": version, "architectures": ["amd64"], "cri": [{"name": "containerd"}]});
    with_own_profile(&first, &json!({"machineImages": [{"name": "gardenlinux", "versions": [whole("9.9.9")]}]})).await;
    let mut new = match raced {
        RaceTarget::OwnImage => shoot_of_own("local", "1.27.1"),
        _ => shoot("local", "1.26.4"),
    };
    let image = if matches!(raced, RaceTarget::OwnImage) { "9.9.9" } else { "934.8.0" };
    new["spec"]["provider"]["workers"][0]["machine"]["image"] = json!({"name": "gardenlinux", "version": image});
    let (path, removal) = match raced {
        RaceTarget::Kubernetes => (PROFILE, kubernetes(&json!([{"version": "1.27.1"}]))),
        RaceTarget::Image => {
            let images = json!([{"name": "gardenlinux", "versions": [{"version": "1096.1.0"}]}]);
            (PROFILE, json!({"spec": {"machineImages": images}}))
        }
        RaceTarget::OwnImage => (OWN, json!({"spec": {"machineImages": null}})),
    };
    first.let_two_writers_meet();
    let (removed, created) = if removal_first {
        futures::join!(first.merge(path, &removal), second.post(&new))
    } else {
        let (created, removed) = futures::join!(second.post(&new), first.merge(path, &removal));
        (removed, created)
    };
    let text = |answer: &Value| answer["message"].as_str().unwrap_or_default().to_owned();
    match (removed.code, created.code) {
        (200, 403) => {
            // The status of the NamespacedCloudProfile is written by its controller, so in that case the Shoot is refused later.
            let is_told = text(&created.body).contains("supported");
            assert!(is_told, "{raced:?}: {}", created.body);
            true
        }
        (403, 201) => {
            assert!(text(&removed.body).contains("is still in use by shoot 'garden-demo/local'"), "{}", removed.body);
            false
        }
        codes => panic!("{raced:?}, removal first: {removal_first}: {codes:?} {} {}", removed.body, created.body),
    }
}
