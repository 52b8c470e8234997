// SPDX-License-Identifier: Apache-2.0
//! Vectors about versions and images of Shoots against their CloudProfile, and about versions in use.

use std::sync::Arc;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use domain::admission::Refusal;
use domain::admission::cloud_profile::{Difference, check_versions_in_use};
use domain::admission::shoot::{check_image, check_kubernetes_version, default_image, default_kubernetes_version};
use domain::defaulting;
use domain::profile::Profile;
use domain::release::DOCUMENTED;
use serde_json::{Value, json};

use super::Verdict;
use super::objects::*;
use super::validation::compare;

pub(crate) fn maintenance(vector: &Value) -> Verdict {
    let (input, expected) = (&vector["in"], &vector["out"]);
    let at = documented(instant(&vector["now"]));
    let path = Path::new("machine").child("image");
    match vector["op"].as_str().unwrap_or_default() {
        "default_k8s" => {
            let versions: Vec<ExpirableVersion> = typed(&input["versions"]);
            match default_kubernetes_version(&versions, &text(&input["requested"]), at, &Path::new("version")) {
                Ok(version) => Verdict::Actual(json!({ "version": version })),
                Err(error) => Verdict::Compared(one(&error, &expected["error"])),
            }
        }
        "admit_k8s" => {
            let versions: Vec<ExpirableVersion> = typed(&input["versions"]);
            let only_unexpired = input["operation"] == "create" || input["newPool"] == true;
            let (version, old) = (text(&input["version"]), text(&input["oldVersion"]));
            let path = Path::new("version");
            let error = check_kubernetes_version(&versions, &version, &old, only_unexpired, at, &path);
            Verdict::Compared(listed(error.as_ref(), &expected["errors"]))
        }
        "default_image" => {
            let architecture = input["architecture"].as_str().unwrap_or("amd64");
            let worker = worker(&input["requested"], architecture, input["inPlace"] == true);
            match default_image(&worker, None, &offering(&input["images"]), at, &path) {
                Ok(image) => Verdict::Actual(json!({"image": {"name": image.name, "version": image.version}})),
                Err(error) => Verdict::Compared(one(&error, &expected["error"])),
            }
        }
        "admit_image" => {
            let (architecture, in_place) =
                (input["architecture"].as_str().unwrap_or("amd64"), input["inPlace"] == true);
            let new = worker(&input["image"], architecture, in_place);
            let old = (input["newPool"] != true && !input["oldImage"].is_null())
                .then(|| worker(&input["oldImage"], architecture, in_place));
            let unchanged = old.as_ref().is_some_and(|old| old.machine == new.machine);
            let is_update = input["operation"] == "update";
            let images = offering(&input["images"]);
            let error = check_image(&new, old.as_ref(), &images, is_update, at, &path).filter(|_| !unchanged);
            let errors: Vec<FieldError> = error.into_iter().collect();
            Verdict::Compared(compare(&errors, &expected["errors"]))
        }
        "cloudprofile_removal" => Verdict::Actual(json!({ "messages": removal(input) })),
        _ => Verdict::Skipped,
    }
}

pub(crate) fn rollout(vector: &Value) -> Verdict {
    let input = &vector["input"];
    if vector["rule"] != "inPlaceImageAllowed" {
        return Verdict::Skipped;
    }
    let target = json!({"name": "gardenlinux", "version": input["target"]});
    let mut images = images(&json!([{"name": "gardenlinux", "versions": [{"version": input["target"]}]}]));
    images[0].versions[0].in_place_updates = Some(InPlaceUpdates {
        supported: input["supported"] == true,
        min_version_for_update: input["minVersionForUpdate"].as_str().map(str::to_owned),
    });
    let new = worker(&target, "amd64", true);
    let old = (input["newPool"] != true)
        .then(|| worker(&json!({"name": "gardenlinux", "version": input["currentVersion"]}), "amd64", true));
    let path = Path::new("machine").child("image");
    let at = documented("2025-06-15T12:00:00Z".parse().expect("an instant"));
    let profile = CloudProfileSpec { machine_images: images, ..CloudProfileSpec::default() };
    let allowed = check_image(&new, old.as_ref(), &profile, true, at, &path).is_none();
    Verdict::Actual(json!({ "allowed": allowed }))
}

/// Returns a CloudProfile that offers images only.
fn offering(list: &Value) -> CloudProfileSpec {
    CloudProfileSpec { machine_images: images(list), ..CloudProfileSpec::default() }
}

/// Compares an error with {`type`, `value`, `detail`}.
fn one(error: &FieldError, expected: &Value) -> Result<(), String> {
    let value = expected["value"].as_str();
    let shown = value.is_none_or(|value| error.body.starts_with(&format!("Invalid value: {value:?}: ")));
    if shown { compare(std::slice::from_ref(error), &json!([expected])) } else { Err(error.to_string()) }
}

/// Compares an error with {`type`, `value`, `supported`}.
fn listed(error: Option<&FieldError>, expected: &Value) -> Result<(), String> {
    let bodies: Vec<String> = expected
        .as_array()
        .expect("a list of errors")
        .iter()
        .map(|error| {
            let supported = error["supported"].as_array().map_or(&[][..], Vec::as_slice);
            let supported: Vec<String> = supported.iter().map(ToString::to_string).collect();
            let list = if supported.is_empty() {
                String::new()
            } else {
                format!(": supported values: {}", supported.join(", "))
            };
            format!("Unsupported value: {}{list}", error["value"])
        })
        .collect();
    let actual: Vec<String> = error.iter().map(|error| error.body.clone()).collect();
    if actual == bodies { Ok(()) } else { Err(format!("expected {bodies:?}\n  actual   {actual:?}")) }
}

fn images(value: &Value) -> Vec<MachineImage> {
    let mut profile = CloudProfile::default();
    profile.spec.machine_images = typed(value);
    defaulting::cloud_profile(&mut profile);
    profile.spec.machine_images
}

fn worker(image: &Value, architecture: &str, in_place: bool) -> Worker {
    let strategy = if in_place { "AutoInPlaceUpdate" } else { "AutoRollingUpdate" };
    let mut worker = Worker { update_strategy: Some(strategy.to_owned()), ..Worker::default() };
    worker.machine.architecture = Some(architecture.to_owned());
    if !image.is_null() {
        worker.machine.image = Some(typed(image));
    }
    worker
}

fn removal(input: &Value) -> Vec<String> {
    let name = text(&input["cloudProfile"]);
    let mut new = CloudProfile::default();
    new.metadata.name.clone_from(&name);
    let mut old = new.clone();
    for version in input["removedKubernetes"].as_array().into_iter().flatten() {
        let version = ExpirableVersion { version: text(version), ..ExpirableVersion::default() };
        old.spec.kubernetes.versions.push(version);
    }
    for (image, versions) in input["removedImages"].as_object().into_iter().flatten() {
        let versions = versions.as_array().into_iter().flatten();
        let versions = versions.map(|version| MachineImageVersion { version: text(version), ..Default::default() });
        let image = MachineImage { name: image.clone(), versions: versions.collect(), update_strategy: None };
        old.spec.machine_images.push(image);
    }
    let mut shoots: Vec<Arc<Shoot>> =
        input["shoots"].as_array().into_iter().flatten().map(|one| Arc::new(shoot(one, &name))).collect();
    shoots.sort_by_key(|shoot| (shoot.metadata.namespace.clone(), shoot.metadata.name.clone()));
    let difference = Difference::new(&new.spec, &old.spec, DOCUMENTED);
    match check_versions_in_use(&new, &difference, &[], &shoots, Profile::Upstream, DOCUMENTED) {
        Ok(()) => Vec::new(),
        Err(Refusal::Forbidden(text)) => {
            text.lines().filter_map(|line| line.strip_prefix("\t* ")).map(str::to_owned).collect()
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn shoot(value: &Value, profile: &str) -> Shoot {
    let mut shoot = Shoot::default();
    shoot.metadata.namespace = text(&value["namespace"]);
    shoot.metadata.name = text(&value["name"]);
    if value["deleting"] == true {
        shoot.metadata.deletion_timestamp =
            Some("2025-06-15T12:00:00Z".parse().map(apimachinery::meta::Time).expect("an instant"));
    }
    let name = if value["otherCloudProfile"] == true { "other" } else { profile };
    shoot.spec.cloud_profile = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: name.to_owned() });
    shoot.spec.kubernetes.version = text(&value["version"]);
    for one in value["workers"].as_array().into_iter().flatten() {
        let mut worker = worker(&json!({"name": one["image"], "version": one["imageVersion"]}), "amd64", false);
        worker.name = text(&one["name"]);
        worker.kubernetes = one["kubernetesVersion"]
            .as_str()
            .map(|version| WorkerKubernetes { version: Some(version.to_owned()), kubelet: None });
        shoot.spec.provider.workers.push(worker);
    }
    shoot
}
