// SPDX-License-Identifier: Apache-2.0
//! Defaults of CloudProfiles and NamespacedCloudProfiles.

use api::core::*;

use crate::capabilities::{ARCHITECTURE, Capabilities, architectures, flavors, flavors_mut, machine_type_architecture};
use crate::capabilities::{registered, values_of};
use crate::release::Release;

/// The architecture of a legacy field that is not set.
const LEGACY_ARCHITECTURE: &str = "amd64";

/// Fills the defaults of a CloudProfile. With capabilities, architectures are left to them.
pub fn cloud_profile(profile: &mut CloudProfile) {
    let spec = &mut profile.spec;
    let by_capabilities = !registered(spec).is_empty();
    for image in &mut spec.machine_images {
        image.update_strategy.get_or_insert_with(|| "major".to_owned());
        for version in &mut image.versions {
            if version.cri.is_empty() {
                version.cri.push(CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() });
            }
            if version.architectures.is_empty() && !by_capabilities {
                version.architectures.push(LEGACY_ARCHITECTURE.to_owned());
            }
        }
    }
    for machine_type in &mut spec.machine_types {
        machine_type.usable.get_or_insert(true);
        if !by_capabilities {
            machine_type.architecture.get_or_insert_with(|| LEGACY_ARCHITECTURE.to_owned());
        }
    }
    for volume_type in &mut spec.volume_types {
        volume_type.usable.get_or_insert(true);
    }
}

/// Keeps legacy fields of architectures and capabilities of a CloudProfile in step, before it is validated.
///
/// With the first definitions of several architectures, types and versions without capabilities get them from their legacy
/// field. Legacy fields that are not set are always filled from capabilities. Without definitions capabilities are removed,
/// if the stored profile has definitions.
///
/// Unlike upstream: the rules are those of v1.149.0 in every release. Source: SyncArchitectureCapabilityFields in
/// pkg/utils/gardener/cloudprofile.go.
pub fn sync_architectures(spec: &mut CloudProfileSpec, old: Option<&CloudProfileSpec>, release: Release) {
    let definitions = registered(spec).to_vec();
    let had_definitions = old.is_some_and(|old| !registered(old).is_empty());
    if definitions.is_empty() {
        if had_definitions {
            for version in spec.machine_images.iter_mut().flat_map(|image| &mut image.versions) {
                version.capability_flavors.clear();
                version.capability_sets.clear();
            }
            for machine_type in &mut spec.machine_types {
                machine_type.capabilities.clear();
            }
        }
        return;
    }
    let is_migration = !had_definitions && values_of(&definitions, ARCHITECTURE).is_some_and(|values| values.len() > 1);
    let set = |architecture: &str| Capabilities::from([(ARCHITECTURE.to_owned(), vec![architecture.to_owned()])]);
    for version in spec.machine_images.iter_mut().flat_map(|image| &mut image.versions) {
        if is_migration && flavors(version).is_empty() {
            let mut made: Vec<Capabilities> = version.architectures.iter().map(|one| set(one)).collect();
            if made.is_empty() {
                made.push(set(LEGACY_ARCHITECTURE));
            }
            *flavors_mut(version, release) = made;
        }
        if version.architectures.is_empty() {
            // A flavor without an architecture has all that are registered.
            let lacks = |flavor: &Capabilities| !flavor.contains_key(ARCHITECTURE);
            let values = values_of(&definitions, ARCHITECTURE).unwrap_or_default();
            let implied = if flavors(version).iter().any(lacks) { values } else { &[] };
            let mut filled: Vec<String> = architectures(version, &definitions).into_iter().map(str::to_owned).collect();
            filled.extend(implied.iter().filter(|one| !filled.contains(one)).cloned().collect::<Vec<_>>());
            version.architectures = filled;
        }
    }
    for machine_type in &mut spec.machine_types {
        if is_migration && machine_type.capabilities.is_empty() {
            machine_type.capabilities = set(machine_type.architecture.as_deref().unwrap_or(LEGACY_ARCHITECTURE));
        }
        if machine_type.architecture.is_none() {
            machine_type.architecture = machine_type_architecture(machine_type, &definitions).map(str::to_owned);
        }
    }
}

/// Fills the defaults of a NamespacedCloudProfile: only types are touched, since versions may be partial overrides.
pub fn namespaced_cloud_profile(profile: &mut NamespacedCloudProfile) {
    for machine_type in &mut profile.spec.machine_types {
        machine_type.usable.get_or_insert(true);
    }
    for volume_type in &mut profile.spec.volume_types {
        volume_type.usable.get_or_insert(true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(tree: &Value) -> CloudProfileSpec {
        let mut profile = CloudProfile {
            spec: serde_json::from_value(tree.clone()).expect("a specification"),
            ..CloudProfile::default()
        };
        cloud_profile(&mut profile);
        profile.spec
    }

    fn with(definitions: &Value, version: &Value, machine_type: &Value) -> CloudProfileSpec {
        let mut version = version.clone();
        version["version"] = json!("1.0.0");
        let mut machine_type = machine_type.clone();
        machine_type["name"] = json!("small");
        spec(&json!({
            "machineCapabilities": definitions,
            "machineImages": [{"name": "os", "versions": [version]}],
            "machineTypes": [machine_type],
        }))
    }

    #[track_caller]
    fn check(new: &CloudProfileSpec, old: Option<&CloudProfileSpec>, expected: (&Value, &Value, &Value, &Value)) {
        let mut new = new.clone();
        sync_architectures(&mut new, old, Release(149));
        let (version, machine_type) = (&new.machine_images[0].versions[0], &new.machine_types[0]);
        let actual = (
            &json!(version.capability_flavors),
            &json!(version.architectures),
            &json!(machine_type.capabilities),
            &json!(machine_type.architecture),
        );
        assert_eq!(actual, expected);
    }

    #[test]
    fn architectures_and_capabilities_are_kept_in_step() {
        let (one, two) = (
            json!([{"name": "architecture", "values": ["arm64"]}]),
            json!([{"name": "architecture", "values": ["amd64", "arm64"]}]),
        );
        let (nothing, none) = (json!({}), json!([]));
        let legacy = with(&none, &nothing, &nothing);
        // The first definitions of several architectures make capabilities of legacy fields.
        let both = json!({"architectures": ["arm64", "amd64"]});
        let made = json!([{"architecture": ["arm64"]}, {"architecture": ["amd64"]}]);
        let arm = json!({"architecture": "arm64"});
        let migrated = with(&two, &both, &arm);
        let set = json!({"architecture": ["arm64"]});
        check(&migrated, Some(&legacy), (&made, &json!(["arm64", "amd64"]), &set, &json!("arm64")));
        check(&migrated, None, (&made, &json!(["arm64", "amd64"]), &set, &json!("arm64")));
        let amd = (&json!([{"architecture": ["amd64"]}]), &json!(["amd64"]), &json!({"architecture": ["amd64"]}));
        check(&with(&two, &nothing, &nothing), None, (amd.0, amd.1, amd.2, &json!("amd64")));
        // Later ones do not, and legacy fields follow capabilities unless they are set.
        check(&migrated, Some(&migrated), (&none, &json!(["arm64", "amd64"]), &nothing, &json!("arm64")));
        let given =
            with(&two, &json!({"capabilityFlavors": [{"architecture": ["arm64"]}]}), &json!({"capabilities": set}));
        let flavor = json!([{"architecture": ["arm64"]}]);
        check(&given, Some(&migrated), (&flavor, &json!(["arm64"]), &set, &json!("arm64")));
        check(&with(&one, &nothing, &nothing), None, (&none, &json!(["arm64"]), &nothing, &json!("arm64")));
        // Without definitions capabilities are removed.
        let back = with(&none, &json!({"capabilityFlavors": flavor}), &json!({"capabilities": set}));
        check(&back, Some(&migrated), (&none, &json!(["amd64"]), &nothing, &json!("amd64")));
        check(&back, Some(&legacy), (&flavor, &json!(["amd64"]), &set, &json!("amd64")));
    }

    #[test]
    fn flavors_are_made_in_the_generation_of_the_release() {
        let mut old = spec(&json!({
            "capabilities": [{"name": "architecture", "values": ["amd64", "arm64"]}],
            "machineImages": [{"name": "os", "versions": [{"version": "1.0.0"}]}],
        }));
        sync_architectures(&mut old, None, Release(127));
        let version = &old.machine_images[0].versions[0];
        assert_eq!((version.capability_sets.len(), version.capability_flavors.len()), (1, 0));
    }
}
