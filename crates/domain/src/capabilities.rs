// SPDX-License-Identifier: Apache-2.0
//! Capabilities: the machine images that fit each machine type.
//!
//! A CloudProfile registers capabilities with their values, a machine type has a set of them, and a version of a machine
//! image one set for each of its artifacts (flavor). A capability that a type or flavor does not name has all registered
//! values. Both generations of field names are read: those of v1.128 and later, and those of v1.118 to v1.127.
//!
//! Source: docs/operations/cloudprofile_capabilities.md, pkg/api/core/v1beta1/helper/cloudprofile.go @ v1.149.0.

use std::collections::BTreeMap;

use api::core::{CapabilityDefinition, CloudProfileSpec, MachineImageVersion, MachineType};

use crate::release::{Release, Releases};

/// Values by the name of their capability.
pub type Capabilities = BTreeMap<String, Vec<String>>;

/// Name of the capability that every profile with capabilities registers.
pub const ARCHITECTURE: &str = "architecture";
/// CPU architectures that Gardener knows.
pub const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// Releases whose admission refuses worker pools whose machine type and image do not fit.
const ADMISSION_CHECKS: Releases = Releases::since(124);
/// Releases that choose only images that fit the machine type, as default and in maintenance.
const CHOICES_FIT: Releases = Releases::since(125);
/// Releases with the second generation of field names.
const SECOND_GENERATION: Releases = Releases::since(128);

/// Names of fields in texts and paths of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldNames {
    /// Registered capabilities in the specification of a CloudProfile.
    pub registered: &'static str,
    /// Flavors of a version of a machine image.
    pub flavors: &'static str,
    /// A flavor in texts.
    pub flavor: &'static str,
}

/// Returns the names of the generation that a release serves.
pub const fn field_names(release: Release) -> FieldNames {
    if SECOND_GENERATION.contain(release) {
        FieldNames { registered: "machineCapabilities", flavors: "capabilityFlavors", flavor: "an image flavor" }
    } else {
        FieldNames { registered: "capabilities", flavors: "capabilitySets", flavor: "one capability set" }
    }
}

/// Capabilities that a CloudProfile registers, in the order of their preference. Empty: the profile has none.
pub fn registered(spec: &CloudProfileSpec) -> &[CapabilityDefinition] {
    if spec.machine_capabilities.is_empty() { &spec.capabilities } else { &spec.machine_capabilities }
}

/// Flavors of a version of a machine image.
pub fn flavors(version: &MachineImageVersion) -> &[Capabilities] {
    if version.capability_flavors.is_empty() { &version.capability_sets } else { &version.capability_flavors }
}

/// The flavors in the generation that a release serves.
pub fn flavors_mut(version: &mut MachineImageVersion, release: Release) -> &mut Vec<Capabilities> {
    if SECOND_GENERATION.contain(release) { &mut version.capability_flavors } else { &mut version.capability_sets }
}

/// Registered values of a capability; `None` if it is not registered. Of equal definitions the last one counts.
pub fn values_of<'a>(registered: &'a [CapabilityDefinition], name: &str) -> Option<&'a [String]> {
    registered.iter().rev().find(|one| one.name == name).map(|one| one.values.as_slice())
}

/// Values of a registered capability in a set: all registered ones if the set does not name it.
fn values<'a>(set: &'a Capabilities, definition: &'a CapabilityDefinition) -> &'a [String] {
    set.get(&definition.name).unwrap_or(&definition.values)
}

/// True if two sets have a value of every registered capability in common.
pub fn are_compatible(one: &Capabilities, other: &Capabilities, registered: &[CapabilityDefinition]) -> bool {
    registered.iter().all(|definition| {
        let others = values(other, definition);
        values(one, definition).iter().any(|value| others.contains(value))
    })
}

/// True if a version of a machine image has a flavor for a machine type. A version without flavors fits every type.
pub fn fit(machine_type: &MachineType, version: &MachineImageVersion, registered: &[CapabilityDefinition]) -> bool {
    let flavors = flavors(version);
    let fits = |flavor| are_compatible(flavor, &machine_type.capabilities, registered);
    flavors.is_empty() || flavors.iter().any(fits)
}

/// True if admission of a release allows a pool to have a machine type with an image version.
pub fn admit(
    spec: &CloudProfileSpec,
    machine_type: &MachineType,
    version: &MachineImageVersion,
    release: Release,
) -> bool {
    !ADMISSION_CHECKS.contain(release) || fit(machine_type, version, registered(spec))
}

/// True if a release chooses an image version for pools of a machine type, as default or in maintenance.
pub fn may_choose(
    spec: &CloudProfileSpec,
    machine_type: &MachineType,
    version: &MachineImageVersion,
    release: Release,
) -> bool {
    !CHOICES_FIT.contain(release) || fit(machine_type, version, registered(spec))
}

/// True if a release considers capabilities where it chooses an image. Its maintenance needs the machine type of a
/// pool in the CloudProfile then.
pub const fn choices_fit(release: Release) -> bool {
    CHOICES_FIT.contain(release)
}

/// CPU architectures of a machine image version: those of its flavors, without flavors the registered ones, else its own
/// list.
pub fn architectures<'a>(version: &'a MachineImageVersion, registered: &'a [CapabilityDefinition]) -> Vec<&'a str> {
    let flavors = flavors(version);
    if flavors.is_empty()
        && let Some(values) = values_of(registered, ARCHITECTURE).filter(|values| !values.is_empty())
    {
        return values.iter().map(String::as_str).collect();
    }
    let mut architectures: Vec<&str> = Vec::new();
    for value in flavors.iter().filter_map(|flavor| flavor.get(ARCHITECTURE)).flatten() {
        if !architectures.contains(&value.as_str()) {
            architectures.push(value);
        }
    }
    if architectures.is_empty() {
        architectures.extend(version.architectures.iter().map(String::as_str));
    }
    architectures
}

/// True if a machine image version runs on a CPU architecture.
pub fn supports_architecture(
    version: &MachineImageVersion,
    architecture: &str,
    registered: &[CapabilityDefinition],
) -> bool {
    architectures(version, registered).contains(&architecture)
}

/// CPU architecture of a machine type: that of its capabilities if they have exactly one, else its own field.
pub fn machine_type_architecture<'a>(
    machine_type: &'a MachineType,
    registered: &'a [CapabilityDefinition],
) -> Option<&'a str> {
    let own = machine_type.capabilities.get(ARCHITECTURE).map(Vec::as_slice);
    match own.or_else(|| values_of(registered, ARCHITECTURE)) {
        Some([architecture]) => Some(architecture),
        _ => machine_type.architecture.as_deref().filter(|architecture| !architecture.is_empty()),
    }
}

/// A set as Go prints a map of lists: `map[architecture:[amd64] bootMode:[uefi bios]]`.
pub fn go_map(set: &Capabilities) -> String {
    let entries: Vec<String> = set.iter().map(|(name, values)| format!("{name}:[{}]", values.join(" "))).collect();
    format!("map[{}]", entries.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a set from words: `architecture=amd64 boot=uefi,bios`; `boot=` has no value.
    pub(crate) fn set(text: &str) -> Capabilities {
        let values = |text: &str| text.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let pairs = text.split_whitespace().filter(|word| *word != "-").map(|word| {
            let (name, list) = word.split_once('=').expect("name=values");
            (name.to_owned(), values(list))
        });
        pairs.collect()
    }

    fn definitions(text: &str) -> Vec<CapabilityDefinition> {
        text.split_whitespace()
            .map(|word| {
                let (name, values) = set(word).pop_first().expect("one capability");
                CapabilityDefinition { name, values }
            })
            .collect()
    }

    fn image(flavors: &str) -> MachineImageVersion {
        let flavors = flavors.split(';').map(str::trim).filter(|text| !text.is_empty());
        MachineImageVersion { capability_flavors: flavors.map(set).collect(), ..MachineImageVersion::default() }
    }

    const REGISTERED: &str = "architecture=amd64,arm64 host=virtual,metal storage=NVMe,SCSI";

    /// Capabilities of a machine type, flavors of an image, and true if they fit.
    /// Source: docs/operations/cloudprofile_capabilities.md, "Example: Complete CloudProfile".
    const FITS: &str = "
architecture=amd64 host=virtual              | architecture=amd64 host=virtual storage=NVMe,SCSI => yes
architecture=amd64 host=metal storage=SCSI   | architecture=amd64 host=virtual; architecture=amd64 host=metal storage=SCSI => yes
architecture=amd64 host=metal storage=NVMe   | architecture=amd64 host=virtual; architecture=amd64 host=metal storage=SCSI => no
architecture=arm64 host=metal                | architecture=arm64 host=virtual => no
architecture=arm64                           | architecture=arm64 host=virtual => yes
-                                            | architecture=arm64 => yes
architecture=amd64 host=gpu                  | architecture=amd64 => no
architecture=amd64 host=                     | architecture=amd64 => no
architecture=amd64 unregistered=a            | architecture=amd64 unregistered=b => yes
architecture=amd64 host=metal                |  => yes
architecture=amd64                           | architecture=amd64,amd64 => yes
";

    #[test]
    fn type_and_image_share_a_value_of_each_capability() {
        let registered = definitions(REGISTERED);
        for row in FITS.lines().filter(|row| !row.is_empty()) {
            let (given, expected) = row.split_once("=>").expect("row has an arrow");
            let (machine, flavors) = given.split_once('|').expect("row has two sets");
            let machine_type = MachineType { capabilities: set(machine), ..MachineType::default() };
            let mut version = image(flavors);
            assert_eq!(fit(&machine_type, &version, &registered), expected.trim() == "yes", "row: {row}");
            // The first generation of names has the same meaning.
            version.capability_sets = std::mem::take(&mut version.capability_flavors);
            assert_eq!(fit(&machine_type, &version, &registered), expected.trim() == "yes", "row: {row}");
        }
        let machine_type = MachineType { capabilities: set("host=metal"), ..MachineType::default() };
        assert!(fit(&machine_type, &image("host=virtual"), &[]), "without registered capabilities everything fits");
    }

    #[test]
    fn releases_look_at_capabilities_one_after_the_other() {
        let spec = CloudProfileSpec { machine_capabilities: definitions(REGISTERED), ..CloudProfileSpec::default() };
        let machine_type = MachineType { capabilities: set("host=metal"), ..MachineType::default() };
        let version = image("host=virtual");
        for (minor, admitted, chosen) in [(123, true, true), (124, false, true), (125, false, false)] {
            let release = Release(minor);
            assert_eq!(admit(&spec, &machine_type, &version, release), admitted, "{release}");
            assert_eq!(may_choose(&spec, &machine_type, &version, release), chosen, "{release}");
            assert_eq!(choices_fit(release), !chosen, "{release}");
        }
        assert_eq!(field_names(Release(127)).registered, "capabilities");
        assert_eq!(field_names(Release(128)).flavors, "capabilityFlavors");
    }

    #[test]
    fn architectures_are_the_flavors_or_the_registered_ones() {
        let (both, one) = (definitions(REGISTERED), definitions("architecture=arm64"));
        let mut version = image("architecture=arm64; architecture=amd64; architecture=arm64");
        version.architectures = vec!["amd64".to_owned()];
        assert_eq!(architectures(&version, &both), ["arm64", "amd64"]);
        assert_eq!(architectures(&version, &[]), ["arm64", "amd64"]);
        version.capability_flavors = vec![set("host=metal")];
        assert_eq!(architectures(&version, &one), ["amd64"], "the legacy list");
        version.capability_flavors.clear();
        assert_eq!(architectures(&version, &one), ["arm64"]);
        assert_eq!(architectures(&version, &[]), ["amd64"]);

        let mut machine_type = MachineType { architecture: Some("amd64".to_owned()), ..MachineType::default() };
        assert_eq!(machine_type_architecture(&machine_type, &both), Some("amd64"));
        assert_eq!(machine_type_architecture(&machine_type, &one), Some("arm64"));
        machine_type.capabilities = set("architecture=amd64,arm64");
        assert_eq!(machine_type_architecture(&machine_type, &both), Some("amd64"), "the legacy field");
        machine_type.capabilities = set("architecture=arm64");
        assert_eq!(machine_type_architecture(&machine_type, &both), Some("arm64"));
        machine_type = MachineType { architecture: Some(String::new()), ..MachineType::default() };
        assert_eq!(machine_type_architecture(&machine_type, &both), None);
    }

    #[test]
    fn sets_are_printed_as_go_prints_maps() {
        assert_eq!(go_map(&set("b=2,1 a=x")), "map[a:[x] b:[2 1]]");
        assert_eq!(go_map(&Capabilities::new()), "map[]");
    }
}
