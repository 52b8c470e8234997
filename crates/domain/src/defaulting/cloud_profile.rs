// SPDX-License-Identifier: Apache-2.0
//! Defaults of CloudProfiles and NamespacedCloudProfiles.

use api::core::*;

/// Fills the defaults of a CloudProfile. With capabilities, architectures are left to them.
pub fn cloud_profile(profile: &mut CloudProfile) {
    let spec = &mut profile.spec;
    let by_capabilities = !spec.capabilities.is_empty();
    for image in &mut spec.machine_images {
        image.update_strategy.get_or_insert_with(|| "major".to_owned());
        for version in &mut image.versions {
            if version.cri.is_empty() {
                version.cri.push(CRI { name: "containerd".to_owned(), container_runtimes: Vec::new() });
            }
            if version.architectures.is_empty() && !by_capabilities {
                version.architectures.push("amd64".to_owned());
            }
        }
    }
    for machine_type in &mut spec.machine_types {
        machine_type.usable.get_or_insert(true);
        if !by_capabilities {
            machine_type.architecture.get_or_insert_with(|| "amd64".to_owned());
        }
    }
    for volume_type in &mut spec.volume_types {
        volume_type.usable.get_or_insert(true);
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
