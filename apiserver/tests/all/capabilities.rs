// SPDX-License-Identifier: Apache-2.0
//! Capabilities of CloudProfiles through the API, and the order of refusals of a Shoot, by release.

use apiserver::Options;
use domain::capabilities::field_names;
use domain::release::Release;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{Garden, run, shoot};

const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const OWN: &str = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/namespacedcloudprofiles/own";

/// Returns the options of a release, with gate `CloudProfileCapabilities` as given or as in the release.
fn options(minor: u64, gate: Option<bool>) -> Options {
    let mut options = Options::emulating(&format!("v1.{minor}.0"));
    options.version = GardenerVersion::release(1, minor, 0);
    options.default_domains = vec!["example.org".to_owned()];
    if let Some(is_on) = gate {
        options.gates.cloud_profile_capabilities = is_on;
    }
    options
}

async fn garden(minor: u64, gate: Option<bool>) -> Garden {
    let garden = Garden::new(&options(minor, gate));
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden
}

/// Machine type `local` is metal; image version 1096.1.0 is for virtual machines, 934.8.0 for metal ones.
fn with_capabilities(minor: u64) -> Value {
    let names = field_names(Release(u16::try_from(minor).expect("a minor")));
    let set = |host: &str| json!({"architecture": ["amd64"], "host": [host]});
    json!({"spec": {
        names.registered: [
            {"name": "architecture", "values": ["amd64", "arm64"]},
            {"name": "host", "values": ["virtual", "metal"]},
        ],
        "machineTypes": [{"name": "local", "cpu": "1", "gpu": "0", "memory": "8Gi", "capabilities": set("metal")}],
        "machineImages": [{"name": "gardenlinux", "versions": [
            {"version": "934.8.0", names.flavors: [set("metal")]},
            {"version": "1096.1.0", names.flavors: [set("virtual")]},
        ]}],
    }})
}

#[test]
fn pools_are_judged_by_capabilities_since_their_release() {
    run(async {
        for (minor, is_judged) in [(120, false), (124, true), (127, true), (128, true), (149, true)] {
            let garden = garden(minor, Some(true)).await;
            let profile = garden.merge(PROFILE, &with_capabilities(minor)).await.accepted();
            assert_eq!(
                profile["spec"]["machineTypes"][0]["architecture"], "amd64",
                "{minor}: filled from capabilities"
            );
            assert_eq!(profile["spec"]["machineImages"][0]["versions"][0]["architectures"], json!(["amd64"]));

            let mut sent = shoot("wrong", "1.27.1");
            sent["spec"]["provider"]["workers"][0]["machine"]["image"] =
                json!({"name": "gardenlinux", "version": "1096.1.0"});
            let answer = garden.post(&sent).await;
            if is_judged {
                answer.refused(
                    403,
                    "shoots.core.gardener.cloud \"wrong\" is forbidden: \
                     spec.provider.workers[0].machine.image.version: Invalid value: \"1096.1.0\": machine capabilities \
                     map[architecture:[amd64] host:[metal]] of machine type \"local\" are not supported by machine image \
                     gardenlinux:1096.1.0",
                );
            } else {
                answer.accepted();
            }
        }
    });
}

#[test]
fn default_images_fit_since_their_release() {
    run(async {
        for (minor, expected) in [(125, "934.8.0"), (149, "934.8.0")] {
            let garden = garden(minor, Some(true)).await;
            garden.merge(PROFILE, &with_capabilities(minor)).await.accepted();
            let created = garden.post(&shoot("local", "1.27.1")).await.accepted();
            assert_eq!(created["spec"]["provider"]["workers"][0]["machine"]["image"]["version"], expected, "{minor}");
            assert_eq!(created["spec"]["provider"]["workers"][0]["machine"]["architecture"], "amd64");
        }
    });
}

#[test]
fn profiles_with_capabilities_need_the_gate() {
    run(async {
        for (minor, field, is_on) in
            [(127, "capabilities", false), (145, "machineCapabilities", false), (146, "", true)]
        {
            let garden = garden(minor, None).await;
            let answer = garden.merge(PROFILE, &with_capabilities(minor)).await;
            if is_on {
                answer.accepted();
                continue;
            }
            answer.refused(
                422,
                &format!(
                    "CloudProfile.core.gardener.cloud \"local\" is invalid: spec.{field}: Forbidden: {field} are not \
                     allowed with disabled CloudProfileCapabilities feature gate"
                ),
            );
        }
    });
}

#[test]
fn stored_capabilities_count_after_the_gate_is_turned_off() {
    run(async {
        let on = garden(140, Some(true)).await;
        on.merge(PROFILE, &with_capabilities(140)).await.accepted();
        let off = on.another_instance(&options(140, Some(false)));
        let created = off.post(&shoot("local", "1.27.1")).await.accepted();
        assert_eq!(created["spec"]["provider"]["workers"][0]["machine"]["image"]["version"], "934.8.0");
        let answer = off.merge(PROFILE, &json!({"metadata": {"labels": {"a": "b"}}})).await;
        answer.refused(
            422,
            "CloudProfile.core.gardener.cloud \"local\" is invalid: spec.machineCapabilities: Forbidden: \
             machineCapabilities are not allowed with disabled CloudProfileCapabilities feature gate",
        );
        // Without definitions the capabilities of types and images are removed.
        let legacy = off.merge(PROFILE, &json!({"spec": {"machineCapabilities": null}})).await.accepted();
        assert_eq!(legacy["spec"]["machineTypes"][0]["capabilities"], Value::Null);
        assert_eq!(legacy["spec"]["machineImages"][0]["versions"][0]["architectures"], json!(["amd64"]));
    });
}

/// Upstream stores a renamed field under one number: a server keeps the field that a server of another release wrote.
#[test]
fn capabilities_are_named_by_the_reading_release() {
    run(async {
        let former = garden(127, Some(true)).await;
        former.merge(PROFILE, &with_capabilities(127)).await.accepted();
        let new = former.another_instance(&options(149, None));
        let check = async |garden: &Garden, minor: u64, label: &Value| {
            let read = garden.get(PROFILE).await;
            let mut expected = with_capabilities(minor)["spec"].take();
            let names = field_names(Release(u16::try_from(minor).expect("a minor")));
            assert_eq!(read["spec"][names.registered], expected[names.registered].take(), "v1.{minor}");
            for (index, version) in
                read["spec"]["machineImages"][0]["versions"].as_array().into_iter().flatten().enumerate()
            {
                let version_expected = &expected["machineImages"][0]["versions"][index];
                assert_eq!(version[names.flavors], version_expected[names.flavors], "v1.{minor}");
            }
            let foreign = field_names(Release(if minor < 128 { 149 } else { 127 }));
            assert!(!read.to_string().contains(&format!("\"{}\"", foreign.flavors)), "v1.{minor}: {read}");
            assert_eq!(read["spec"][foreign.registered], Value::Null, "v1.{minor}");
            assert_eq!(&read["metadata"]["labels"]["a"], label, "v1.{minor}");
        };
        check(&new, 149, &Value::Null).await;
        new.merge(PROFILE, &json!({"metadata": {"labels": {"a": "b"}}})).await.accepted();
        check(&new, 149, &json!("b")).await;
        check(&former, 127, &json!("b")).await;
        former.merge(PROFILE, &json!({"metadata": {"labels": {"a": "c"}}})).await.accepted();
        check(&former, 127, &json!("c")).await;
        check(&new, 149, &json!("c")).await;
        // A server that starts reads the newest state at once, not as a change.
        check(&former.another_instance(&options(128, Some(true))), 128, &json!("c")).await;
    });
}

#[test]
fn namespaced_profiles_inherit_capabilities() {
    run(async {
        let garden = garden(149, None).await;
        garden.merge(PROFILE, &with_capabilities(149)).await.accepted();
        let own = |versions: Value| {
            json!({
                "apiVersion": "core.gardener.cloud/v1beta1",
                "kind": "NamespacedCloudProfile",
                "metadata": {"name": "own", "namespace": "garden-demo"},
                "spec": {
                    "parent": {"kind": "CloudProfile", "name": "local"},
                    "machineImages": [{"name": "gardenlinux", "versions": versions}],
                },
            })
        };
        let date = "2030-01-01T00:00:00Z";
        let again =
            json!([{"version": "934.8.0", "expirationDate": date, "capabilityFlavors": [{"architecture": ["amd64"]}]}]);
        let text = "spec.machineImages[0].versions[0].capabilityFlavors: Forbidden: must not provide capabilities to an \
                    extended machine image in NamespacedCloudProfile";
        garden.post(&own(again)).await.refused(500, text);
        let unregistered =
            json!([{"version": "2000.0.0", "capabilityFlavors": [{"architecture": ["amd64"], "host": ["x"]}]}]);
        let answer = garden.post(&own(unregistered)).await;
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(message.contains("capabilityFlavors[0].host[0]: Unsupported value: \"x\""), "{message}");
        garden.post(&own(json!([{"version": "934.8.0", "expirationDate": date}]))).await.accepted();
        assert_eq!(garden.get(OWN).await["spec"]["machineImages"][0]["versions"][0]["capabilityFlavors"], Value::Null);
    });
}

#[test]
fn static_validation_precedes_admission_since_its_release() {
    run(async {
        for (minor, code) in [(132, 403), (133, 422), (149, 422)] {
            let garden = garden(minor, None).await;
            let mut sent = shoot("local", "1.27.1");
            sent["spec"]["region"] = json!("nowhere");
            sent["spec"]["maintenance"]["timeWindow"]["begin"] = json!("wrong");
            let answer = garden.post(&sent).await;
            assert_eq!(answer.code, code, "v1.{minor}: {}", answer.body);
            sent["spec"]["maintenance"]["timeWindow"]["begin"] = json!("010000+0000");
            let answer = garden.post(&sent).await;
            assert_eq!(answer.code, 403, "v1.{minor}: {}", answer.body);
        }
    });
}

#[test]
fn architecture_of_a_pool_is_its_machine_types_since_149() {
    run(async {
        let patch = json!({"spec": {
            "machineTypes": [{"name": "local", "cpu": "1", "gpu": "0", "memory": "8Gi", "architecture": "arm64"}],
            "machineImages": [{"name": "gardenlinux", "versions": [{"version": "1096.1.0", "architectures": ["arm64"]}]}],
        }});
        let old = garden(148, None).await;
        old.merge(PROFILE, &patch).await.accepted();
        assert_eq!(old.post(&shoot("local", "1.27.1")).await.code, 403);
        let new = garden(149, None).await;
        new.merge(PROFILE, &patch).await.accepted();
        let created = new.post(&shoot("local", "1.27.1")).await.accepted();
        assert_eq!(created["spec"]["provider"]["workers"][0]["machine"]["architecture"], "arm64");
    });
}
