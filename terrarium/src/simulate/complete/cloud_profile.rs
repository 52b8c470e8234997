// SPDX-License-Identifier: Apache-2.0
//! Generated CloudProfile for Shoots whose profile is missing in the manifests: it offers exactly what they require.

use std::collections::{BTreeMap, BTreeSet};

use api::constants::api_version;
use api::core::{CloudProfileReference, ShootSpec};
use serde_json::{Value, json};

use super::{list, string};
use ops::manifests::Manifest;

/// Default Kubernetes version: the newest that the emulated release supports.
const KUBERNETES: &str = "1.33.0";
/// Default machine image, and its version.
const IMAGE: (&str, &str) = ("gardenlinux", "1592.1.0");
const ARCHITECTURE: &str = "amd64";

/// Returns kind and name of the CloudProfile that a Shoot or a NamespacedCloudProfile refers to.
pub(super) fn reference(manifest: &Manifest) -> Option<(String, String)> {
    let spec = &manifest.object["spec"];
    let (field, by_name) = match manifest.kind() {
        "NamespacedCloudProfile" => (&spec["parent"], None),
        "Shoot" => (&spec["cloudProfile"], spec["cloudProfileName"].as_str()),
        _ => return None,
    };
    let stated =
        || CloudProfileReference { kind: string(&field["kind"]).to_owned(), name: string(&field["name"]).to_owned() };
    let stated = ShootSpec {
        cloud_profile: field.is_object().then(stated),
        cloud_profile_name: by_name.map(str::to_owned),
        ..ShootSpec::default()
    };
    let reference = domain::cloud_profile::reference(&stated).filter(|reference| !reference.name.is_empty())?;
    Some((reference.kind, reference.name))
}

/// Requirements on a CloudProfile.
#[derive(Debug, Default)]
pub(super) struct Requirements {
    provider: Option<String>,
    versions: BTreeSet<String>,
    /// Architectures and container runtimes by image and version.
    images: BTreeMap<(String, String), (BTreeSet<String>, BTreeSet<String>)>,
    in_place: bool,
    /// Architectures by machine type.
    machine_types: BTreeMap<String, String>,
    volume_types: BTreeSet<String>,
    /// Zones by region.
    regions: BTreeMap<String, BTreeSet<String>>,
}

impl Requirements {
    /// Adds the requirements of a Shoot.
    pub(super) fn shoot(&mut self, shoot: &Manifest) {
        let spec = &shoot.object["spec"];
        self.provider.get_or_insert_with(|| string(&spec["provider"]["type"]).to_owned());
        self.version(&spec["kubernetes"]["version"]);
        let zones = self.regions.entry(string(&spec["region"]).to_owned()).or_default();
        for worker in list(&spec["provider"]["workers"]) {
            zones.extend(list(&worker["zones"]).iter().map(|zone| string(zone).to_owned()));
        }
        for worker in list(&spec["provider"]["workers"]) {
            self.version(&worker["kubernetes"]["version"]);
            self.in_place |= string(&worker["updateStrategy"]).ends_with("InPlaceUpdate");
            let machine = &worker["machine"];
            let architecture = machine["architecture"].as_str().unwrap_or(ARCHITECTURE).to_owned();
            let image = machine["image"]["name"].as_str().unwrap_or(IMAGE.0);
            let version = machine["image"]["version"].as_str().map_or_else(|| IMAGE.1.to_owned(), full);
            let (architectures, runtimes) = self.images.entry((image.to_owned(), version)).or_default();
            architectures.insert(architecture.clone());
            let types = list(&worker["cri"]["containerRuntimes"]).iter().map(|runtime| string(&runtime["type"]));
            runtimes.extend(types.map(str::to_owned));
            self.machine_types.insert(string(&machine["type"]).to_owned(), architecture);
            let volumes = list(&worker["dataVolumes"]).iter().chain([&worker["volume"]]);
            self.volume_types.extend(volumes.filter_map(|volume| Some(volume["type"].as_str()?.to_owned())));
        }
    }

    /// Adds the requirements of a NamespacedCloudProfile: the versions whose expiration it changes.
    pub(super) fn namespaced(&mut self, profile: &Manifest) {
        let spec = &profile.object["spec"];
        for version in list(&spec["kubernetes"]["versions"]) {
            self.version(&version["version"]);
        }
        // The newest version of all must not expire.
        self.versions.insert(KUBERNETES.to_owned());
        for image in list(&spec["machineImages"]) {
            for version in list(&image["versions"]).iter().filter(|version| version["cri"].is_null()) {
                let key = (string(&image["name"]).to_owned(), string(&version["version"]).to_owned());
                self.images.entry(key).or_default().0.insert(ARCHITECTURE.to_owned());
            }
        }
    }

    fn version(&mut self, version: &Value) {
        self.versions.extend(version.as_str().map(full));
    }

    /// Returns the CloudProfile that offers all of it.
    pub(super) fn object(mut self, name: &str) -> Value {
        if self.versions.is_empty() {
            self.versions.insert(KUBERNETES.to_owned());
        }
        if self.images.is_empty() {
            self.images.insert((IMAGE.0.to_owned(), IMAGE.1.to_owned()), ([ARCHITECTURE.to_owned()].into(), [].into()));
        }
        if self.machine_types.is_empty() {
            self.machine_types.insert("local".to_owned(), ARCHITECTURE.to_owned());
        }
        if self.regions.is_empty() {
            self.regions.insert("local".to_owned(), BTreeSet::new());
        }
        let in_place = self.in_place;
        let mut images: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for ((image, version), (architectures, runtimes)) in self.images {
            let runtimes: Vec<Value> = runtimes.into_iter().map(|type_| json!({"type": type_})).collect();
            let mut version = json!({
                "version": version,
                "architectures": architectures,
                "cri": [{"name": "containerd", "containerRuntimes": runtimes}],
            });
            if in_place {
                version["inPlaceUpdates"] = json!({"supported": true});
            }
            images.entry(image).or_default().push(version);
        }
        let machine_type = |(name, architecture): (String, String)| json!({"name": name, "cpu": "4", "gpu": "0", "memory": "16Gi", "architecture": architecture});
        let region = |(name, zones): (String, BTreeSet<String>)| {
            let zones: Vec<Value> = zones.into_iter().map(|zone| json!({"name": zone})).collect();
            json!({"name": name, "zones": zones})
        };
        json!({
            "apiVersion": api_version::CORE,
            "kind": "CloudProfile",
            "metadata": {"name": name},
            "spec": {
                "type": self.provider.unwrap_or_else(|| "local".to_owned()),
                "kubernetes": {
                    "versions": self.versions.iter().map(|version| json!({"version": version})).collect::<Vec<_>>(),
                },
                "machineImages": images
                    .into_iter()
                    .map(|(name, versions)| json!({"name": name, "versions": versions}))
                    .collect::<Vec<_>>(),
                "machineTypes": self.machine_types.into_iter().map(machine_type).collect::<Vec<_>>(),
                "volumeTypes": self
                    .volume_types
                    .iter()
                    .map(|name| json!({"name": name, "class": "standard", "usable": true}))
                    .collect::<Vec<_>>(),
                "regions": self.regions.into_iter().map(region).collect::<Vec<_>>(),
            },
        })
    }
}

/// Completes a version prefix with zeros.
fn full(version: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts = version.split('.').count();
    if parts < 3 && version.split('.').all(is_number) {
        version.to_owned() + &".0".repeat(3 - parts)
    } else {
        version.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_two_numbers_is_filled_up() {
        for (given, expected) in [("1.31", "1.31.0"), ("1.31.4", "1.31.4"), ("15", "15.0.0"), ("1.31-a", "1.31-a")] {
            assert_eq!(full(given), expected);
        }
    }
}
