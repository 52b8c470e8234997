// SPDX-License-Identifier: Apache-2.0
//! Kubelet that the OperatingSystemConfig of a pool installs on nodes.
//!
//! gardener-node-agent takes the kubelet from the configuration only: a MachineClass of another version changes no
//! node.
//!
//! Source: pkg/nodeagent/controller/operatingsystemconfig/reconciler.go,
//! pkg/component/extensions/operatingsystemconfig/original/components/kubelet @ v1.120.0.

use api::extensions::{File, FileContent, FileContentImageRef, OperatingSystemConfigSpec};
use api::kubernetes::core::Secret;

/// Key of the configuration in the Secret of gardener-node-agent.
pub const CONFIGURATION: &str = "osc.yaml";
/// Path of the kubelet on a node.
pub const PATH: &str = "/opt/bin/kubelet";
/// Image of the kubelet, up to the version.
const IMAGE: &str = "kubelet:v";

/// File that installs the kubelet of a Kubernetes version, given without `v`.
pub fn kubelet_file(version: &str) -> File {
    let image = FileContentImageRef { image: format!("{IMAGE}{version}"), file_path_in_image: "/kubelet".to_owned() };
    File {
        path: PATH.to_owned(),
        permissions: Some(0o755),
        content: FileContent { image_ref: Some(image), ..FileContent::default() },
        ..File::default()
    }
}

/// Kubernetes version, without `v`, of the kubelet that the configuration in a Secret of gardener-node-agent installs; None if it
/// installs none.
pub fn installed_kubelet(secret: &Secret) -> Option<String> {
    let text = &secret.data.get(CONFIGURATION)?.0;
    let configuration: OperatingSystemConfigSpec = yaml::from_slice(text).ok()?;
    let file = configuration.files.into_iter().find(|file| file.path == PATH)?;
    Some(file.content.image_ref?.image.strip_prefix(IMAGE)?.to_owned())
}

#[cfg(test)]
mod tests {
    use apimachinery::meta::ByteString;

    use super::*;

    fn installed(text: &str) -> Option<String> {
        let data = [(CONFIGURATION.to_owned(), ByteString(text.as_bytes().to_vec()))];
        installed_kubelet(&Secret { data: data.into(), ..Secret::default() })
    }

    #[test]
    fn the_installed_kubelet_is_that_of_the_file() {
        let other = File { path: "/etc/other".to_owned(), ..kubelet_file("1.0.0") };
        let without_image = File { content: FileContent::default(), ..kubelet_file("1.31.4") };
        for (files, expected) in [
            (vec![], None),
            (vec![other.clone()], None),
            (vec![without_image], None),
            (vec![other, kubelet_file("1.31.4")], Some("1.31.4")),
        ] {
            let configuration = OperatingSystemConfigSpec { files, ..OperatingSystemConfigSpec::default() };
            let text = yaml::to_string(&configuration).expect("it is YAML");
            assert_eq!(installed(&text).as_deref(), expected, "{text}");
        }
        assert_eq!(installed("- no configuration"), None);
        assert_eq!(installed_kubelet(&Secret::default()), None);
    }
}
