// SPDX-License-Identifier: Apache-2.0
//! Extension kinds and types that Shoots, Seeds and CloudProfiles use.

use serde_json::Value;

use super::{ExtensionType, list, string};
use ops::manifests::Manifest;

/// Kinds of extensions that have types.
pub(super) const EXTENSION_KINDS: &[&str] = &[
    "BackupBucket",
    "BackupEntry",
    "ContainerRuntime",
    "ControlPlane",
    "DNSRecord",
    "Extension",
    "Infrastructure",
    "Network",
    "OperatingSystemConfig",
    "Worker",
];

/// Returns the extension kinds and types that a Shoot or Seed uses (upstream: plugin/pkg/global/extensionvalidation).
pub(super) fn extension_types(manifest: &Manifest) -> Vec<ExtensionType> {
    let spec = &manifest.object["spec"];
    let mut types = Vec::new();
    let mut push = |kind: &'static str, value: &Value| types.push((kind, string(value).to_owned()));
    match manifest.kind() {
        "Shoot" => {
            for kind in ["ControlPlane", "Infrastructure", "Worker"] {
                push(kind, &spec["provider"]["type"]);
            }
            push("Network", &spec["networking"]["type"]);
            for provider in list(&spec["dns"]["providers"]) {
                push("DNSRecord", &provider["type"]);
            }
            for extension in list(&spec["extensions"]) {
                push("Extension", &extension["type"]);
            }
            for worker in list(&spec["provider"]["workers"]) {
                push("OperatingSystemConfig", &worker["machine"]["image"]["name"]);
                for runtime in list(&worker["cri"]["containerRuntimes"]) {
                    push("ContainerRuntime", &runtime["type"]);
                }
            }
        }
        "CloudProfile" => {
            for image in list(&spec["machineImages"]) {
                push("OperatingSystemConfig", &image["name"]);
            }
        }
        "Seed" => {
            push("ControlPlane", &spec["provider"]["type"]);
            for kind in ["BackupBucket", "BackupEntry"] {
                push(kind, &spec["backup"]["provider"]);
            }
            push("DNSRecord", &spec["dns"]["provider"]["type"]);
            push("DNSRecord", &spec["dns"]["internal"]["type"]);
            for extension in list(&spec["extensions"]) {
                push("Extension", &extension["type"]);
            }
        }
        _ => {}
    }
    types
}
