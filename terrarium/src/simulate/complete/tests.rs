// SPDX-License-Identifier: Apache-2.0
//! Plans of manifests: additions, omissions and order.

use super::*;
use domain::release::DOCUMENTED;
use ops::manifests::parse;

const SHOOT: &str = "
apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: s, namespace: garden-dev}
spec:
  cloudProfile: {name: big}
  secretBindingName: account
  region: eu-central-1
  provider:
    type: aws
    workers: [{name: a, machine: {image: {name: flatcar}}, zones: [eu-central-1a, eu-central-1b, eu-central-1c]}]
  networking: {type: calico}
  resources: [{name: r, resourceRef: {apiVersion: v1, kind: ConfigMap, name: c}}]
";

fn registered() -> BTreeSet<ExtensionType> {
    let aws = ["ControlPlane", "Infrastructure", "Worker"].map(|kind| (kind, "aws".to_owned()));
    aws.into_iter().chain([("Network", "calico".to_owned()), ("DNSRecord", "local".to_owned())]).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let plan = plan(parse("f.yaml", text).expect("valid manifests"), &registered(), DOCUMENTED);
    assert_eq!(plan.notes, expected);
}

#[test]
fn a_lonely_shoot_gets_its_dependencies() {
    check(
        SHOOT,
        &[
            "Project dev is not in the manifests and was added: Shoot `s` needs it",
            "CloudProfile big is not in the manifests and was added: Shoot `s` needs it",
            "SecretBinding garden-dev/account is not in the manifests and was added: Shoot `s` needs it",
            "Secret garden-dev/account is not in the manifests and was added: SecretBinding `account` needs it",
            "ConfigMap garden-dev/c is not in the manifests and was added: Shoot `s` needs it",
            "Seed aws-eu-central-1 is not in the manifests and was added: Shoot `s` needs it",
            "ControllerRegistration simulated-flatcar is not in the manifests and was added: Shoot `s` needs it",
        ],
    );
}

#[test]
fn objects_that_others_refer_to_are_added() {
    let core = "apiVersion: core.gardener.cloud/v1beta1";
    let identity = "apiVersion: security.gardener.cloud/v1alpha1, kind: WorkloadIdentity";
    check(
        &format!(
            "{core}\nkind: Shoot\nmetadata: {{name: s, namespace: default}}\nspec:\n  dns:\n    providers:\n\
             \x20   - {{type: route53, secretName: a}}\n\
             \x20   - {{type: route53, credentialsRef: {{apiVersion: v1, kind: Secret, name: b}}}}\n\
             \x20   - {{type: route53, credentialsRef: {{{identity}, name: c}}}}\n\
             \x20 resources: [{{name: r, resourceRef: {{{identity}, name: d}}}}]\n---\n\
             {core}\nkind: Seed\nmetadata: {{name: x}}\nspec:\n  backup: {{provider: local, credentialsRef: {{apiVersion: v1, \
             kind: Secret, name: e, namespace: garden}}}}\n\
             \x20 resources: [{{name: r, resourceRef: {{apiVersion: v1, kind: ConfigMap, name: f}}}}]\n---\n\
             {core}\nkind: BackupBucket\nmetadata: {{name: z}}\nspec: {{provider: {{type: local}}, credentialsRef: {{apiVersion: v1, \
             kind: Secret, name: g, namespace: garden}}}}\n"
        ),
        &[
            "WorkloadIdentity default/d is not in the manifests and was added: Shoot `s` needs it",
            "Secret default/a is not in the manifests and was added: Shoot `s` needs it",
            "Secret default/b is not in the manifests and was added: Shoot `s` needs it",
            "WorkloadIdentity default/c is not in the manifests and was added: Shoot `s` needs it",
            "Secret garden/e is not in the manifests and was added: Seed `x` needs it",
            "ConfigMap garden/f is not in the manifests and was added: Seed `x` needs it",
            "Secret garden/g is not in the manifests and was added: BackupBucket `z` needs it",
            "ControllerRegistration simulated-local is not in the manifests and was added: Seed `x` needs it",
            "ControllerRegistration simulated-route53 is not in the manifests and was added: Shoot `s` needs it",
        ],
    );
}

#[test]
fn a_generated_cloud_profile_offers_the_requested_versions() {
    let namespaced = "---
apiVersion: core.gardener.cloud/v1beta1
kind: NamespacedCloudProfile
metadata: {name: small, namespace: garden-dev}
spec:
  parent: {kind: CloudProfile, name: big}
  kubernetes: {versions: [{version: 1.31.1, expirationDate: \"2025-02-28T23:59:59Z\"}]}
";
    let text = SHOOT.replace("{name: big}", "{kind: NamespacedCloudProfile, name: small}") + namespaced;
    let plan = plan(parse("f.yaml", &text).expect("valid manifests"), &registered(), DOCUMENTED);
    let profile = plan.first.iter().find(|manifest| manifest.kind() == "CloudProfile").expect("it was added");
    let spec = &profile.object["spec"];
    assert_eq!((profile.name(), &spec["type"]), ("big", &json!("aws")));
    assert_eq!(spec["kubernetes"]["versions"], json!([{"version": "1.31.1"}, {"version": "1.33.0"}]));
    assert_eq!(spec["machineImages"][0]["name"], "flatcar");
    assert_eq!(spec["regions"][0]["zones"].as_array().map(Vec::len), Some(3));
}

#[test]
fn image_versions_with_leading_zeros_are_left_out_before_123() {
    let profile = "
apiVersion: core.gardener.cloud/v1beta1
kind: CloudProfile
metadata: {name: p}
spec:
  machineImages:
  - {name: ubuntu, versions: [{version: 18.04.201906170}]}
  - {name: gardenlinux, versions: [{version: 934.0.0}, {version: x.01}]}
";
    let manifests = || parse("f.yaml", profile).expect("valid manifests");
    let read = plan(manifests(), &registered(), Release(123));
    let images = &read.first.last().expect("the profile").object["spec"]["machineImages"];
    assert_eq!(images[0]["versions"], json!([{"version": "18.04.201906170"}]));
    let plan = plan(manifests(), &registered(), Release(122));
    let expected = json!([{"name": "gardenlinux", "versions": [{"version": "934.0.0"}, {"version": "x.01"}]}]);
    assert_eq!(plan.first.last().expect("the profile").object["spec"]["machineImages"], expected);
    assert!(plan.notes[0].starts_with("machine image ubuntu 18.04.201906170 of CloudProfile p was left out"));
}

#[test]
fn given_objects_are_not_added() {
    let given = format!(
        "{SHOOT}---\napiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {{name: x}}\nspec: {{}}\n---\n\
         apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nmetadata: {{name: dev}}\nspec: {{namespace: garden-dev}}\n"
    );
    let plan = plan(parse("f.yaml", &given).expect("valid manifests"), &registered(), DOCUMENTED);
    assert!(plan.notes.iter().all(|note| !note.starts_with("Seed") && !note.starts_with("Project")));
    assert_eq!(
        plan.first.iter().map(Manifest::kind).collect::<Vec<_>>(),
        ["ControllerRegistration", "CloudProfile", "Project"]
    );
    assert_eq!(plan.seeds.len(), 1);
}

#[test]
fn objects_follow_their_references_in_any_order() {
    let core = "apiVersion: core.gardener.cloud/v1beta1";
    let text = format!(
        "apiVersion: operations.gardener.cloud/v1alpha1\nkind: Bastion\nmetadata: {{name: b, namespace: garden-dev}}\n---{SHOOT}\
         ---\n{core}\nkind: SecretBinding\nmetadata: {{name: account, namespace: garden-dev}}\n---\n\
         apiVersion: v1\nkind: Secret\nmetadata: {{name: account, namespace: garden-dev}}\n---\n\
         {core}\nkind: Project\nmetadata: {{name: dev}}\nspec: {{namespace: garden-dev}}\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {{name: other}}\n"
    );
    let plan = plan(parse("f.yaml", &text).expect("valid manifests"), &registered(), DOCUMENTED);
    let kinds = |all: &[Manifest]| all.iter().map(|one| one.kind().to_owned()).collect::<Vec<_>>();
    assert_eq!(kinds(&plan.first), ["Namespace", "ControllerRegistration", "CloudProfile", "Project"]);
    assert_eq!(kinds(&plan.second), ["Secret", "ConfigMap", "SecretBinding"]);
    assert_eq!((kinds(&plan.shoots), kinds(&plan.last)), (vec!["Shoot".to_owned()], vec!["Bastion".to_owned()]));
}

#[test]
fn a_shoot_as_a_server_prints_it_is_taken() {
    let left = |name: &str, release: Release| {
        let text = SHOOT
            .replace("cloudProfile: {name: big}", &format!("cloudProfile: {{name: big}}\n  cloudProfileName: {name}"));
        let plan = plan(parse("f.yaml", &text).expect("valid manifests"), &registered(), release);
        let told = plan.notes.iter().find(|note| note.contains(" of Shoot garden-dev/s was left out")).cloned();
        let spec = &plan.shoots[0].object["spec"];
        (spec["cloudProfile"]["name"].clone(), spec["cloudProfileName"].clone(), told.unwrap_or_default())
    };
    let text = "spec.cloudProfileName of Shoot garden-dev/s was left out: spec.cloudProfile says the same, and a new Shoot may \
                have one of both";
    assert_eq!(left("big", DOCUMENTED), (json!("big"), Value::Null, text.to_owned()));
    assert_eq!(left("other", DOCUMENTED), (json!("big"), json!("other"), String::new()), "the server refuses it");
    let text = "spec.cloudProfile of Shoot garden-dev/s was left out: spec.cloudProfileName says the same, what counts in this \
                release";
    assert_eq!(left("big", Release(91)), (Value::Null, json!("big"), text.to_owned()));
}

#[test]
fn a_shoot_with_two_cloud_profiles_gets_a_remedy() {
    let text = SHOOT.replace(
        "cloudProfile: {name: big}",
        "cloudProfile: {kind: NamespacedCloudProfile, name: big}\n  cloudProfileName: other",
    );
    let plan = plan(parse("f.yaml", &text).expect("valid manifests"), &registered(), DOCUMENTED);
    let hint = correction(&plan.shoots[0], &format!("Internal error occurred: {TWO_CLOUD_PROFILES}"));
    assert_eq!(
        hint.as_deref(),
        Some(
            "delete the line `cloudProfileName: other` of its spec, which is deprecated, and run again: then \
             NamespacedCloudProfile big is used; or delete `cloudProfile` if CloudProfile other is meant"
        )
    );
    assert_eq!(correction(&plan.shoots[0], "the region is unknown"), None);
}

#[test]
fn a_shoot_without_the_name_that_counts_gets_a_remedy() {
    let refusal = "Internal error occurred: could not find referenced cloud profile: cloudprofile.core.gardener.cloud \"\" not found";
    let hint = |text: &str| {
        let plan = plan(parse("f.yaml", text).expect("valid manifests"), &registered(), Release(100));
        correction(&plan.shoots[0], refusal)
    };
    let expected = "write `cloudProfileName: big` in its spec; `cloudProfile` counts since Gardener v1.101";
    assert_eq!(hint(SHOOT).as_deref(), Some(expected));
    // Up to 1.91 the field is ignored, and removed from the manifest.
    assert_eq!(hint(&SHOOT.replace("  cloudProfile: {name: big}\n", "")), Some(expected.replace("big", "NAME")));
    assert_eq!(hint(&SHOOT.replace("cloudProfile: {name: big}", "cloudProfileName: big")), None);
}
