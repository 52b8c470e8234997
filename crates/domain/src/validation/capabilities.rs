// SPDX-License-Identifier: Apache-2.0
//! Capabilities of CloudProfiles: their definitions, and those of machine types and versions of machine images.
//!
//! Source: validate*Capabilit*, validate*Architecture and validate*Flavors in pkg/apis/core/validation/{cloudprofile,utils}.go
//! @ v1.120.0 to v1.136.0, pkg/api/core/validation @ v1.149.0.

use std::collections::BTreeSet;

use api::core::{CapabilityDefinition, CloudProfileSpec, MachineImageVersion, MachineType};
use apimachinery::field::{FieldError, Path};

use super::Errors;
use super::common::unprefixed_name_problems;
use super::shoot::Gates;
use crate::capabilities::{ARCHITECTURE, ARCHITECTURES, Capabilities, field_names, flavors, registered, values_of};
use crate::release::Releases;

/// A machine type of a profile with capabilities may omit both forms of its architecture.
const ARCHITECTURE_OF_TYPE_IS_OPTIONAL: Releases = Releases::since(126);
/// The field of a machine type, and not its capability, is named in a conflict of architectures.
const CONFLICT_NAMES_FIELD: Releases = Releases::since(128);
/// A flavor may omit the architecture if one is registered, and versions need flavors if several are.
const ONE_ARCHITECTURE_IS_IMPLIED: Releases = Releases::since(132);
/// The prefix `gardener-` of names is reserved.
const PREFIX_IS_RESERVED: Releases = Releases::since(147);

const RESERVED_PREFIX: &str = "gardener-";

/// Checks the definitions of a profile. With the gate off there must be none.
pub(super) fn definitions(errors: &mut Errors, spec: &CloudProfileSpec, gates: Gates, path: &Path) {
    let registered = registered(spec);
    if registered.is_empty() {
        return;
    }
    let field = field_names(gates.release).registered;
    let path = path.child(field);
    if !gates.cloud_profile_capabilities {
        let text = format!("{field} are not allowed with disabled CloudProfileCapabilities feature gate");
        errors.push(FieldError::forbidden(&path, &text));
    }
    let mut names = BTreeSet::new();
    for (index, definition) in registered.iter().enumerate() {
        let path = path.index(index).child("name");
        if !names.insert(&definition.name) {
            errors.push(FieldError::duplicate(&path, &definition.name));
        }
        if PREFIX_IS_RESERVED.contain(gates.release) && definition.name.starts_with(RESERVED_PREFIX) {
            let text = format!("the {RESERVED_PREFIX:?} prefix is reserved for Gardener-core capabilities");
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
    let architecture = path.child(ARCHITECTURE);
    match values_of(registered, ARCHITECTURE) {
        None => errors.push(FieldError::required(&architecture, "architecture capability is required")),
        Some(values) => {
            for value in values.iter().filter(|value| !ARCHITECTURES.contains(&value.as_str())) {
                let text = format!("allowed architectures are: {}", ARCHITECTURES.join(", "));
                errors.push(FieldError::invalid(&architecture, value, &text));
            }
        }
    }
    // The last of equal definitions applies, as in upstream's map. Unlike upstream: in the order of the definitions.
    for (index, definition) in registered.iter().enumerate() {
        let name = definition.name.as_str();
        if registered[index + 1..].iter().any(|later| later.name == name) {
            continue;
        }
        if name.is_empty() {
            errors.push(FieldError::required(&path, "capability keys must not be empty"));
        } else {
            unprefixed_name(errors, name, "key", gates, &path);
        }
        let path = path.child(name);
        if definition.values.is_empty() {
            errors.push(FieldError::required(&path, "capability values must not be empty"));
        }
        for (index, value) in definition.values.iter().enumerate() {
            let path = path.index(index);
            if value.is_empty() {
                errors.push(FieldError::required(&path, "capability values must not be empty"));
            } else {
                unprefixed_name(errors, value, "value", gates, &path);
            }
        }
    }
}

fn unprefixed_name(errors: &mut Errors, text: &str, what: &str, gates: Gates, path: &Path) {
    let problems = unprefixed_name_problems(text, gates);
    if !problems.is_empty() {
        let problem = format!("capability {what} must be qualified name: {}", problems.join(", "));
        errors.push(FieldError::invalid(path, text, &problem));
    }
}

/// Checks that a set has registered names and values only. `named` is the path of an unregistered name.
fn set(errors: &mut Errors, set: &Capabilities, registered: &[CapabilityDefinition], named: &Path) {
    for (name, values) in set {
        let Some(supported) = values_of(registered, name) else {
            let mut names: Vec<&str> = registered.iter().map(|one| one.name.as_str()).collect();
            names.dedup();
            errors.push(FieldError::not_supported(named, name, &names));
            continue;
        };
        for (index, value) in values.iter().enumerate().filter(|(_, value)| !supported.contains(value)) {
            errors.push(FieldError::not_supported(&named.child(name).index(index), value, supported));
        }
    }
}

/// Checks architectures and flavors of a version of a machine image. Without registered capabilities only architectures.
pub(super) fn image_version(
    errors: &mut Errors,
    version: &MachineImageVersion,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    image_architectures(errors, version, registered, gates, path);
    if registered.is_empty() {
        return;
    }
    let path = path.child(field_names(gates.release).flavors);
    for (index, flavor) in flavors(version).iter().enumerate() {
        set(errors, flavor, registered, &path.index(index));
    }
}

fn image_architectures(
    errors: &mut Errors,
    version: &MachineImageVersion,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let names = field_names(gates.release);
    let (own, own_path) = (&version.architectures, path.child("architectures"));
    let not_supported = |errors: &mut Errors, is_supported: &dyn Fn(&str) -> bool, supported: &[&str]| {
        for (index, architecture) in own.iter().enumerate().filter(|(_, one)| !is_supported(one)) {
            errors.push(FieldError::not_supported(&own_path.index(index), architecture, supported));
        }
    };
    if registered.is_empty() {
        not_supported(errors, &|one| ARCHITECTURES.contains(&one), &ARCHITECTURES);
        return;
    }
    let supported: Vec<&str> =
        values_of(registered, ARCHITECTURE).unwrap_or_default().iter().map(String::as_str).collect();
    let is_implied = ONE_ARCHITECTURE_IS_IMPLIED.contain(gates.release);
    let (flavors, flavors_path) = (flavors(version), path.child(names.flavors));
    if is_implied && supported.len() > 1 && flavors.is_empty() {
        let text = "must provide at least one image flavor when multiple architectures are defined in \
                    spec.machineCapabilities";
        errors.push(FieldError::required(&flavors_path, text));
        return;
    }
    let mut architectures: Vec<&str> = Vec::new();
    for (index, flavor) in flavors.iter().enumerate() {
        let path = flavors_path.index(index).child(ARCHITECTURE);
        let values = flavor.get(ARCHITECTURE).map_or(&[][..], Vec::as_slice);
        if values.is_empty() && !is_implied {
            errors.push(FieldError::required(&path, "must provide at least one architecture"));
        } else if values.is_empty() && supported.len() > 1 {
            let text = "must specify one architecture explicitly as multiple architectures are defined in \
                        spec.machineCapabilities";
            errors.push(FieldError::required(&path, text));
        } else if values.len() > 1 {
            let text = format!("must not define more than one architecture within {}", names.flavor);
            errors.push(FieldError::invalid(&path, values, &text));
        }
        architectures.extend(values.iter().map(String::as_str));
    }
    // Unlike upstream, which lists them at random: in the order of the flavors.
    let mut seen = BTreeSet::new();
    architectures.retain(|one| seen.insert(*one));
    if is_implied && architectures.is_empty() && supported.len() == 1 {
        architectures.clone_from(&supported);
    }
    if !own.iter().all(|one| architectures.contains(&one.as_str())) {
        let text = format!(
            "architecture field values set ({}) conflict with the capability architectures ({})",
            own.join(","),
            architectures.join(",")
        );
        errors.push(FieldError::invalid(&own_path, own, &text));
    }
    let shown = if is_implied { supported.as_slice() } else { &ARCHITECTURES };
    not_supported(errors, &|one| supported.contains(&one), shown);
}

/// Checks architecture and capabilities of a machine type. Without registered capabilities only the architecture.
pub(super) fn machine_type(
    errors: &mut Errors,
    machine_type: &MachineType,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let own = machine_type.architecture.as_deref().unwrap_or_default();
    let field = path.child("architecture");
    if !registered.is_empty() {
        match machine_type.capabilities.get(ARCHITECTURE).map_or(&[][..], Vec::as_slice) {
            [capability] if !own.is_empty() && own != capability => {
                let text = format!(
                    "machine type architecture ({own}) conflicts with the capability architecture ({capability})"
                );
                let names_field = CONFLICT_NAMES_FIELD.contain(gates.release);
                let path = if names_field { field.clone() } else { path.child("capabilities.architecture[0]") };
                errors.push(FieldError::invalid(&path, capability, &text));
            }
            values @ [_, _, ..] => {
                let path = path.child("capabilities.architecture");
                errors.push(FieldError::invalid(&path, values, "must not define more than one architecture"));
            }
            _ => {}
        }
    }
    if !own.is_empty() && !ARCHITECTURES.contains(&own) {
        errors.push(FieldError::not_supported(&field, own, &ARCHITECTURES));
    }
    if !registered.is_empty() {
        set(errors, &machine_type.capabilities, registered, &path.child("capabilities"));
    }
}

/// Checks the requirements on a machine type of a whole profile: an architecture, and no capabilities if none are registered.
pub(super) fn of_machine_type(
    errors: &mut Errors,
    machine_type: &MachineType,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    let has_capabilities = !registered.is_empty();
    let is_optional = has_capabilities
        && (ARCHITECTURE_OF_TYPE_IS_OPTIONAL.contain(gates.release)
            || machine_type.capabilities.get(ARCHITECTURE).is_some_and(|values| !values.is_empty()));
    if machine_type.architecture.as_deref().unwrap_or_default().is_empty() && !is_optional {
        errors.push(FieldError::required(&path.child("architecture"), "must provide an architecture"));
    }
    if !has_capabilities && !machine_type.capabilities.is_empty() {
        let text = "must not provide capabilities without global definition";
        errors.push(FieldError::forbidden(&path.child("capabilities"), text));
    }
}

/// Checks the requirements on a machine image version of a profile without capabilities: an architecture and no flavors.
pub(super) fn of_image_version(
    errors: &mut Errors,
    version: &MachineImageVersion,
    registered: &[CapabilityDefinition],
    gates: Gates,
    path: &Path,
) {
    if !registered.is_empty() {
        return;
    }
    if version.architectures.is_empty() {
        let path = path.child("architectures");
        errors.push(FieldError::required(&path, "must provide at least one architecture"));
    }
    if !flavors(version).is_empty() {
        let text = "must not provide capabilities without global definition";
        errors.push(FieldError::forbidden(&path.child(field_names(gates.release).flavors), text));
    }
}

#[cfg(test)]
mod tests {
    use api::core::CloudProfile;
    use chrono::{DateTime, Utc};
    use serde_json::{Value, json};

    use super::super::cloud_profile;
    use super::*;
    use crate::defaulting;
    use crate::profile::Profile;
    use crate::release::Release;

    const BOTH: &str =
        r#"[{"name": "architecture", "values": ["amd64", "arm64"]}, {"name": "host", "values": ["a", "b"]}]"#;
    const AMD: &str = r#"[{"name": "architecture", "values": ["amd64"]}, {"name": "host", "values": ["a", "b"]}]"#;

    fn tree(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    /// Returns the errors of a profile as a server of a release stores it, without `spec.`.
    fn errors(minor: u16, is_on: bool, definitions: &str, version: &str, machine_type: &str) -> String {
        let release = Release(minor);
        let (mut version, mut machine_type) = (tree(version), tree(machine_type));
        version["version"] = json!("1.0.0");
        for (name, value) in [("name", "small"), ("cpu", "1"), ("gpu", "0"), ("memory", "1Gi")] {
            machine_type[name] = json!(value);
        }
        let spec = json!({
            "type": "local",
            field_names(release).registered: tree(definitions),
            "kubernetes": {"versions": [{"version": "1.31.1"}]},
            "machineImages": [{"name": "os", "versions": [version]}],
            "machineTypes": [machine_type],
            "regions": [{"name": "here"}],
        });
        let mut profile = CloudProfile::default();
        "local".clone_into(&mut profile.metadata.name);
        profile.spec = serde_json::from_value(spec).expect("a specification");
        defaulting::cloud_profile(&mut profile);
        defaulting::sync_architectures(&mut profile.spec, None, release);
        let gates = Gates { cloud_profile_capabilities: is_on, release, ..Gates::default() };
        let now: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().expect("RFC 3339");
        let errors = cloud_profile::cloud_profile(&profile, Profile::Upstream, gates, now);
        errors.iter().map(|error| error.to_string().replace("spec.", "")).collect::<Vec<_>>().join("; ")
    }

    #[track_caller]
    fn check(minor: u16, definitions: &str, version: &str, machine_type: &str, expected: &str) {
        assert_eq!(errors(minor, true, definitions, version, machine_type), expected);
    }

    #[test]
    fn capabilities_need_the_gate() {
        for (minor, field) in [(120, "capabilities"), (128, "machineCapabilities"), (149, "machineCapabilities")] {
            let flavors = json!({field_names(Release(minor)).flavors: [{"architecture": ["amd64"]}]}).to_string();
            let machine_type = r#"{"capabilities": {"architecture": ["amd64"]}}"#;
            let text = format!(
                "{field}: Forbidden: {field} are not allowed with disabled CloudProfileCapabilities feature gate"
            );
            assert_eq!(errors(minor, false, BOTH, &flavors, machine_type), text);
            assert_eq!(errors(minor, true, BOTH, &flavors, machine_type), "");
            assert_eq!(errors(minor, false, "[]", "{}", "{}"), "");
        }
    }

    #[test]
    fn capabilities_need_definitions() {
        for (minor, field) in [(127, "capabilitySets"), (128, "capabilityFlavors")] {
            let expected = format!(
                "machineImages[0].versions[0].{field}: Forbidden: must not provide capabilities without global definition; \
                 machineTypes[0].capabilities: Forbidden: must not provide capabilities without global definition"
            );
            let flavors = json!({field: [{"architecture": ["amd64"]}]}).to_string();
            check(minor, "[]", &flavors, r#"{"capabilities": {"architecture": ["amd64"]}}"#, &expected);
        }
    }

    #[test]
    fn definitions_are_unique_and_have_an_architecture() {
        let definitions = |list: &str| format!("[{list}]");
        let architecture = r#"{"name": "architecture", "values": ["amd64"]}"#;
        for (minor, list, expected) in [
            (
                149,
                r#"{"name": "host", "values": ["a"]}"#.to_owned(),
                "machineCapabilities.architecture: Required value: architecture capability is required",
            ),
            (
                149,
                r#"{"name": "architecture", "values": ["riscv"]}"#.to_owned(),
                "machineCapabilities.architecture: Invalid value: \"riscv\": allowed architectures are: amd64, arm64; machineImages[0].versions[0].architectures[0]: x",
            ),
            (
                149,
                format!(r#"{architecture}, {{"name": "host", "values": ["a"]}}, {{"name": "host", "values": ["b"]}}"#),
                "machineCapabilities[2].name: Duplicate value: \"host\"",
            ),
            (
                149,
                format!(r#"{architecture}, {{"name": "host", "values": []}}"#),
                "machineCapabilities.host: Required value: capability values must not be empty",
            ),
            (
                149,
                format!(r#"{architecture}, {{"name": "host", "values": ["a", ""]}}"#),
                "machineCapabilities.host[1]: Required value: capability values must not be empty",
            ),
            (
                149,
                format!(r#"{architecture}, {{"name": "gardener-x", "values": ["a"]}}"#),
                "machineCapabilities[1].name: Forbidden: the \"gardener-\" prefix is reserved for Gardener-core capabilities",
            ),
            (146, format!(r#"{architecture}, {{"name": "gardener-x", "values": ["a"]}}"#), ""),
            (
                125,
                format!(r#"{architecture}, {{"name": "x/y", "values": ["a/b"]}}"#),
                "capabilities: Invalid value: \"x/y\": capability key must be qualified name: name 'x/y' must not contain a prefix; capabilities.x/y[0]: Invalid value: \"a/b\": capability value must be qualified name: name 'a/b' must not contain a prefix",
            ),
            (124, format!(r#"{architecture}, {{"name": "x/y", "values": ["a/b"]}}"#), ""),
        ] {
            let flavors = json!({field_names(Release(minor)).flavors: [{"architecture": ["amd64"]}]}).to_string();
            let machine_type = r#"{"capabilities": {"architecture": ["amd64"]}}"#;
            let actual = errors(minor, true, &definitions(&list), &flavors, machine_type);
            // Types and images of a profile with invalid definitions have errors of their own.
            let own: Vec<&str> = actual
                .split("; ")
                .filter(|error| !error.starts_with("machineImages") && !error.starts_with("machineTypes"))
                .collect();
            let expected: Vec<&str> =
                expected.split("; ").filter(|error| !error.starts_with("machineImages")).collect();
            assert_eq!(own, expected, "v1.{minor}: {list}");
        }
    }

    #[test]
    fn types_and_flavors_have_registered_values_and_one_architecture() {
        let typed = r#"{"capabilities": {"architecture": ["amd64"]}}"#;
        for (definitions, version, machine_type, expected) in [
            (
                BOTH,
                r#"{"capabilityFlavors": [{"architecture": ["amd64"], "host": ["b"]}, {"architecture": ["arm64"]}]}"#,
                typed,
                "",
            ),
            (
                BOTH,
                r#"{"capabilityFlavors": [{"architecture": ["amd64"], "host": ["c"]}]}"#,
                typed,
                "machineImages[0].versions[0].capabilityFlavors[0].host[0]: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (
                BOTH,
                r#"{"capabilityFlavors": [{"architecture": ["amd64"], "disk": ["c"]}]}"#,
                typed,
                "machineImages[0].versions[0].capabilityFlavors[0]: Unsupported value: \"disk\": supported values: \"architecture\", \"host\"",
            ),
            (
                BOTH,
                r#"{"capabilityFlavors": [{"host": ["a"]}]}"#,
                typed,
                "machineImages[0].versions[0].capabilityFlavors[0].architecture: Required value: must specify one architecture explicitly as multiple architectures are defined in machineCapabilities; machineImages[0].versions[0].architectures: Invalid value: [\"amd64\",\"arm64\"]: architecture field values set (amd64,arm64) conflict with the capability architectures ()",
            ),
            (
                BOTH,
                r#"{"capabilityFlavors": [{"architecture": ["amd64", "arm64"]}]}"#,
                typed,
                "machineImages[0].versions[0].capabilityFlavors[0].architecture: Invalid value: [\"amd64\",\"arm64\"]: must not define more than one architecture within an image flavor",
            ),
            (
                BOTH,
                r#"{"architectures": ["arm64"], "capabilityFlavors": [{"architecture": ["amd64"]}]}"#,
                typed,
                "machineImages[0].versions[0].architectures: Invalid value: [\"arm64\"]: architecture field values set (arm64) conflict with the capability architectures (amd64)",
            ),
            (AMD, r#"{"capabilityFlavors": [{"host": ["a"]}]}"#, "{}", ""),
            (
                AMD,
                r#"{"architectures": ["arm64"]}"#,
                "{}",
                "machineImages[0].versions[0].architectures: Invalid value: [\"arm64\"]: architecture field values set (arm64) conflict with the capability architectures (amd64); machineImages[0].versions[0].architectures[0]: Unsupported value: \"arm64\": supported values: \"amd64\"",
            ),
            (
                AMD,
                "{}",
                r#"{"capabilities": {"host": ["c", "a"], "disk": ["d"]}}"#,
                "machineTypes[0].capabilities: Unsupported value: \"disk\": supported values: \"architecture\", \"host\"; machineTypes[0].capabilities.host[0]: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (
                AMD,
                "{}",
                r#"{"architecture": "arm64", "capabilities": {"architecture": ["amd64"]}}"#,
                "machineTypes[0].architecture: Invalid value: \"amd64\": machine type architecture (arm64) conflicts with the capability architecture (amd64)",
            ),
            (
                BOTH,
                "{}",
                r#"{"capabilities": {"architecture": ["amd64", "arm64"]}}"#,
                "machineTypes[0].capabilities.architecture: Invalid value: [\"amd64\",\"arm64\"]: must not define more than one architecture",
            ),
        ] {
            check(149, definitions, version, machine_type, expected);
        }
    }

    #[test]
    fn texts_of_the_first_generation_are_those_of_its_releases() {
        let typed = r#"{"capabilities": {"architecture": ["amd64"]}}"#;
        let sets = r#"{"capabilitySets": [{"architecture": ["amd64", "arm64"]}]}"#;
        check(
            127,
            BOTH,
            sets,
            typed,
            "machineImages[0].versions[0].capabilitySets[0].architecture: Invalid value: [\"amd64\",\"arm64\"]: must not define more than one architecture within one capability set",
        );
        check(
            127,
            AMD,
            r#"{"capabilitySets": [{"host": ["a"]}], "architectures": []}"#,
            typed,
            "machineImages[0].versions[0].capabilitySets[0].architecture: Required value: must provide at least one architecture; machineImages[0].versions[0].architectures: Invalid value: [\"amd64\"]: architecture field values set (amd64) conflict with the capability architectures ()",
        );
        check(
            127,
            AMD,
            r#"{"capabilitySets": [{"architecture": ["amd64"]}]}"#,
            r#"{"architecture": "arm64", "capabilities": {"architecture": ["amd64"]}}"#,
            "machineTypes[0].capabilities.architecture[0]: Invalid value: \"amd64\": machine type architecture (arm64) conflicts with the capability architecture (amd64)",
        );
    }
}
