// SPDX-License-Identifier: Apache-2.0
//! Checks of references between objects, by release.
//!
//! Source: plugin/pkg/global/resourcereferencemanager/admission.go @ v1.120.0 to v1.149.0.

use apiserver::Options;
use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use crate::support::{Garden, run, shoot};

const PROFILE: &str = "/apis/core.gardener.cloud/v1beta1/cloudprofiles/local";
const SEED: &str = "/apis/core.gardener.cloud/v1beta1/seeds/local";
/// Project `garden` with a binding.
const GARDEN_PROJECT: &str = "
apiVersion: core.gardener.cloud/v1beta1
kind: Project
metadata: {name: garden}
spec: {namespace: garden}
---
apiVersion: v1
kind: Secret
metadata: {name: local, namespace: garden}
---
apiVersion: core.gardener.cloud/v1beta1
kind: SecretBinding
metadata: {name: local, namespace: garden}
provider: {type: local}
secretRef: {name: local, namespace: garden}
";
const BUCKETS: &str = "/apis/core.gardener.cloud/v1beta1/backupbuckets";

async fn garden(minor: u64) -> Garden {
    let mut options = Options::emulating(&format!("v1.{minor}.0"));
    options.version = GardenerVersion::release(1, minor, 0);
    options.default_domains = vec!["example.org".to_owned()];
    options.gates.cloud_profile_capabilities = true;
    let garden = Garden::new(&options);
    garden.apply(include_str!("manifests/garden.yaml")).await;
    garden
}

fn with_hosts(hosts: &[&str]) -> Value {
    json!({"spec": {
        "machineCapabilities": [
            {"name": "architecture", "values": ["amd64", "arm64"]},
            {"name": "host", "values": hosts},
        ],
        "machineTypes": [{
            "name": "local", "cpu": "1", "gpu": "0", "memory": "8Gi",
            "capabilities": {"architecture": ["amd64"], "host": ["virtual"]},
        }],
        "machineImages": [{"name": "gardenlinux", "versions": [
            {"version": "1096.1.0", "capabilityFlavors": [{"architecture": ["amd64"], "host": ["virtual"]}]},
        ]}],
    }})
}

#[test]
fn capability_values_of_namespaced_profiles_stay_in_their_parent() {
    run(async {
        for (minor, text) in [
            (131, ""),
            (
                132,
                "with value \"metal\" from CloudProfile \"local\" - capability value is still in use by \
                 NamespacedCloudProfile 'garden-demo/own'",
            ),
            (
                149,
                "with values [metal] from CloudProfile \"local\" - capability values are still in use by \
                 NamespacedCloudProfile 'garden-demo/own'",
            ),
        ] {
            let garden = garden(minor).await;
            garden.merge(PROFILE, &with_hosts(&["virtual", "metal"])).await.accepted();
            let own = json!({
                "apiVersion": "core.gardener.cloud/v1beta1",
                "kind": "NamespacedCloudProfile",
                "metadata": {"name": "own", "namespace": "garden-demo"},
                "spec": {
                    "parent": {"kind": "CloudProfile", "name": "local"},
                    "machineTypes": [{
                        "name": "own", "cpu": "1", "gpu": "0", "memory": "8Gi",
                        "capabilities": {"architecture": ["amd64"], "host": ["metal"]},
                    }],
                },
            });
            garden.post(&own).await.accepted();
            let answer = garden.merge(PROFILE, &with_hosts(&["virtual"])).await;
            if text.is_empty() {
                answer.accepted();
                continue;
            }
            answer.refused(
                403,
                &format!(
                    "cloudprofiles.core.gardener.cloud \"local\" is forbidden: 1 error occurred:\n\t* unable to delete \
                     MachineCapability \"host\" {text}\n\n"
                ),
            );
            // A value that is not in use may be removed.
            garden.merge(PROFILE, &with_hosts(&["virtual", "metal", "gpu"])).await.accepted();
            garden.merge(PROFILE, &with_hosts(&["virtual", "metal"])).await.accepted();
        }
    });
}

#[test]
fn an_internal_secret_of_a_binding_must_exist_since_135() {
    run(async {
        let (before, after) = (garden(134).await, garden(135).await);
        let binding = json!({
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": {"name": "internal", "namespace": "garden-demo"},
            "provider": {"type": "local"},
            "credentialsRef": {
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "InternalSecret", "name": "own", "namespace": "garden-demo",
            },
        });
        before.post(&binding).await.refused(
            422,
            "CredentialsBinding.security.gardener.cloud \"internal\" is invalid: credentialsRef: Unsupported value: \
             \"&ObjectReference{Kind:InternalSecret,Namespace:garden-demo,Name:own,UID:,APIVersion:core.gardener.cloud/v1beta1,\
             ResourceVersion:,FieldPath:,}\": supported values: \"/v1, Kind=Secret\", \
             \"security.gardener.cloud/v1alpha1, Kind=WorkloadIdentity\"",
        );
        after.post(&binding).await.refused(
            403,
            "credentialsbindings.security.gardener.cloud \"internal\" is forbidden: internalsecrets.core.gardener.cloud \"own\" \
             not found",
        );
        let secret = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "InternalSecret",
            "metadata": {"name": "own", "namespace": "garden-demo"},
        });
        after.post(&secret).await.accepted();
        after.post(&binding).await.accepted();
    });
}

#[test]
fn credentials_of_dns_providers_must_exist() {
    run(async {
        let by_name = |name: &str| json!({"secretName": name});
        let by_reference = |version: &str, kind: &str, name: &str| json!({"credentialsRef": {"apiVersion": version, "kind": kind, "name": name}});
        let secret = |name: &str| by_reference("v1", "Secret", name);
        let identity = by_reference("security.gardener.cloud/v1alpha1", "WorkloadIdentity", "lost");
        for (minor, provider, text) in [
            (106, by_name("lost"), "failed to reference DNS provider secret secrets \"lost\" not found"),
            (134, by_name("lost"), "failed to resolve DNS provider secret reference: secrets \"lost\" not found"),
            (134, by_name("local"), ""),
            (
                135,
                by_name("lost"),
                "failed to resolve credentials reference of type Secret: secrets \"lost\" not found",
            ),
            (149, secret("lost"), "failed to resolve credentials reference of type Secret: secrets \"lost\" not found"),
            (149, secret("local"), ""),
            (
                149,
                identity,
                "failed to resolve credentials reference of type WorkloadIdentity: \
                 workloadidentities.security.gardener.cloud \"lost\" not found",
            ),
        ] {
            let garden = garden(minor).await;
            let mut sent = shoot("local", "1.27.1");
            let mut provider = provider;
            (provider["type"], provider["primary"]) = (json!("local"), json!(true));
            sent["spec"]["dns"] = json!({"domain": "s.example.com", "providers": [provider]});
            let answer = garden.post(&sent).await;
            if text.is_empty() {
                answer.accepted();
            } else {
                answer.refused(403, &format!("shoots.core.gardener.cloud \"local\" is forbidden: {text}"));
            }
        }
    });
}

#[test]
fn resources_of_a_seed_must_exist() {
    run(async {
        let garden = garden(149).await;
        let resources = |name: &str| {
            let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name});
            json!({"spec": {"resources": [{"name": "a", "resourceRef": reference}]}})
        };
        garden.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: garden}").await;
        garden.merge(SEED, &resources("lost")).await.refused(
            403,
            "seeds.core.gardener.cloud \"local\" is forbidden: failed to resolve resource reference \"a\": configmaps \
             \"lost\" not found",
        );
        garden.merge(SEED, &resources("own")).await.accepted();
    });
}

#[test]
fn a_bucket_has_credentials_and_stays_while_it_has_entries() {
    run(async {
        let garden = garden(120).await;
        let bucket = |name: &str, secret: &str| {
            json!({
                "apiVersion": "core.gardener.cloud/v1beta1",
                "kind": "BackupBucket",
                "metadata": {"name": name},
                "spec": {
                    "provider": {"type": "local", "region": "local"},
                    "secretRef": {"name": secret, "namespace": "garden-demo"},
                    "seedName": "local",
                },
            })
        };
        garden
            .post(&bucket("own", "lost"))
            .await
            .refused(403, "backupbuckets.core.gardener.cloud \"own\" is forbidden: secrets \"lost\" not found");
        garden.post(&bucket("free", "local")).await.accepted();
        garden.post(&bucket("own", "local")).await.accepted();
        let entry = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "BackupEntry",
            "metadata": {"name": "entry", "namespace": "garden-demo"},
            "spec": {"bucketName": "own", "seedName": "local"},
        });
        garden.post(&entry).await.accepted();
        let text = "backupbuckets.core.gardener.cloud \"own\" is forbidden: cannot delete BackupBucket because BackupEntries \
                    are still referencing it, backupEntryNames: garden-demo/entry";
        garden.delete(&format!("{BUCKETS}/own")).await.refused(403, text);
        // Of a collection every bucket counts, selected or not.
        garden.delete(&format!("{BUCKETS}?fieldSelector=metadata.name%3Dfree")).await.refused(403, text);
        garden.delete(&format!("{BUCKETS}/free")).await.accepted();
    });
}

#[test]
fn gardenlets_and_managed_seeds_have_different_names() {
    run(async {
        let garden = garden(120).await;
        let gardenlet = json!({
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
            "kind": "Gardenlet",
            "metadata": {"name": "a", "namespace": "garden"},
            "spec": {"deployment": {"helm": {"ociRepository": {"ref": "a:v1.120.0"}}}, "config": {"logLevel": "info"}},
        });
        garden.post(&gardenlet).await.accepted();
        let mut host = shoot("host", "1.27.1");
        host["metadata"]["namespace"] = json!("garden");
        garden.apply(GARDEN_PROJECT).await;
        host["spec"]["seedName"] = json!("local");
        host["spec"]["kubernetes"]["verticalPodAutoscaler"] = json!({"enabled": true});
        garden.post(&host).await.accepted();
        let seed = json!({
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
            "kind": "ManagedSeed",
            "metadata": {"name": "a", "namespace": "garden"},
            "spec": {"shoot": {"name": "host"}, "gardenlet": {"config": {
                "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
                "kind": "GardenletConfiguration",
                "seedConfig": {"spec": {
                    "dns": {"provider": {"type": "local", "secretRef": {"name": "dns", "namespace": "garden"}}},
                    "networks": {"shootDefaults": {"pods": "10.7.0.0/16", "services": "10.8.0.0/16"}},
                }},
            }}},
        });
        garden.post(&seed).await.refused(
            500,
            "cannot create ManagedSeed garden/a since there is already a Gardenlet object with the same name",
        );
    });
}

#[test]
fn deployments_of_a_registration_must_exist() {
    run(async {
        let garden = garden(149).await;
        let registration = json!({
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "ControllerRegistration",
            "metadata": {"name": "own"},
            "spec": {
                "resources": [{"kind": "Extension", "type": "own"}],
                "deployment": {"deploymentRefs": [{"name": "lost"}]},
            },
        });
        garden.post(&registration).await.refused(
            403,
            "controllerregistrations.core.gardener.cloud \"own\" is forbidden: 1 error occurred:\n\t* \
             controllerdeployments.core.gardener.cloud \"lost\" not found\n\n",
        );
    });
}
