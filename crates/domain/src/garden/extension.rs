// SPDX-License-Identifier: Apache-2.0
//! Extensions of the operator: whether the garden itself needs one, and its objects in the virtual garden.
//!
//! Unlike upstream: nothing is deployed into the runtime cluster, not even admission controllers of extensions.
//!
//! Source: pkg/operator/controller/extension @ v1.120.0.

use std::collections::BTreeSet;

use api::constants::{annotation, condition};
use api::core::{
    Condition, ControllerInstallation, ControllerRegistration, ControllerRegistrationDeployment, DeploymentRef,
};
use api::core_v1::{ControllerDeployment, HelmControllerDeployment};
use api::operator::{Extension, Garden};
use apimachinery::meta::{ObjectMeta, Time};

use crate::conditions;

/// Condition: it is deployed.
const INSTALLED: &str = "Installed";
/// Condition: the garden itself needs it.
const REQUIRED_RUNTIME: &str = "RequiredRuntime";
/// Condition: a seed needs it.
const REQUIRED_VIRTUAL: &str = "RequiredVirtual";
/// Cluster type of the garden itself, which a ControllerRegistration does not have.
const GARDEN: &str = "garden";

/// Progress of an Extension's installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// The Garden does not exist.
    NoGarden,
    /// The extension could not be deployed; the reason.
    Failed(String),
    /// The extension is deployed.
    Done,
    /// The extension's deployment was removed.
    Deleted,
}

/// Returns the state that keeps an Extension from being deployed: only a reconciled Garden accepts one.
pub fn obstacle(garden: Option<&Garden>) -> Option<Installation> {
    let Some(garden) = garden else { return Some(Installation::NoGarden) };
    let is_reconciled = super::status::is_over(garden) && !garden.metadata.is_being_deleted();
    (!is_reconciled).then(|| Installation::Failed("garden is not yet successfully reconciled".to_owned()))
}

/// Returns the kinds of the garden's own extension objects that an Extension is responsible for, sorted.
pub fn required_kinds(extension: &Extension, garden: Option<&Garden>) -> Vec<String> {
    let Some(garden) = garden else { return Vec::new() };
    let spec = &garden.spec;
    let mut needed: BTreeSet<(&str, &str)> = BTreeSet::new();
    needed.extend(spec.dns.iter().flat_map(|dns| &dns.providers).map(|one| ("DNSRecord", one.r#type.as_str())));
    needed.extend(spec.extensions.iter().map(|one| ("Extension", one.r#type.as_str())));
    let main = spec.virtual_cluster.etcd.as_ref().and_then(|etcd| etcd.main.as_ref());
    needed.extend(main.and_then(|main| main.backup.as_ref()).map(|one| ("BackupBucket", one.provider.as_str())));
    let owned = extension.spec.resources.iter().filter(|it| needed.contains(&(it.kind.as_str(), it.r#type.as_str())));
    owned.map(|resource| resource.kind.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The conditions of an Extension; `installations` are those of its registration.
pub fn conditions(
    extension: &Extension,
    installation: &Installation,
    required_kinds: &[String],
    installations: &[&ControllerInstallation],
    now: Time,
) -> Vec<Condition> {
    let old = |type_: &str| conditions::get_or_initial(&extension.status.conditions, type_, now);
    let set = |type_: &str, holds: bool, reason: &str, message: &str| {
        let status = if holds { condition::TRUE } else { condition::FALSE };
        conditions::updated(&old(type_), status, reason, message, &[], now)
    };
    let installed = match installation {
        Installation::NoGarden => set(INSTALLED, false, "NoGardenFound", "No garden found"),
        Installation::Failed(error) => set(INSTALLED, false, "ReconcileFailed", error),
        Installation::Done => set(INSTALLED, true, "ReconcileSuccessful", "Extension has been reconciled successfully"),
        Installation::Deleted => set(INSTALLED, false, "DeleteSuccessful", "Extension has been deleted successfully"),
    };
    let runtime = if required_kinds.is_empty() {
        set(REQUIRED_RUNTIME, false, "ExtensionNotRequired", "Extension not required for any kind")
    } else {
        let text = format!("Extension required for kinds [{}]", required_kinds.join(" "));
        set(REQUIRED_RUNTIME, true, "ExtensionRequired", &text)
    };
    let is_required = |installation: &&ControllerInstallation| {
        let found = conditions::get(&installation.status.conditions, condition::INSTALLATION_REQUIRED);
        found.is_some_and(|found| found.status == condition::TRUE)
    };
    let of_seeds = if installations.iter().any(is_required) {
        let text = "Extension has required ControllerInstallations for seed clusters";
        set(REQUIRED_VIRTUAL, true, "RequiredControllerInstallation", text)
    } else {
        let text = "Extension does not have required ControllerInstallations for seed clusters";
        set(REQUIRED_VIRTUAL, false, "NoRequiredControllerInstallation", text)
    };
    vec![installed, runtime, of_seeds]
}

/// Returns the objects of an Extension in the virtual garden; `None`: it names no chart.
pub fn registration(extension: &Extension) -> Option<(ControllerDeployment, ControllerRegistration)> {
    let deployment = extension.spec.deployment.as_ref()?.extension.as_ref()?;
    let name = &extension.metadata.name;
    let mut metadata = ObjectMeta::named("", name);
    let library = annotation::EXTENSIONS_LIBRARY_VERSION;
    if let Some(version) = extension.metadata.annotation(library) {
        metadata.annotations.insert(library.to_owned(), version.to_owned());
    }
    let helm = HelmControllerDeployment {
        oci_repository: deployment.helm.as_ref().and_then(|helm| helm.oci_repository.clone()),
        values: deployment.values.clone(),
        ..HelmControllerDeployment::default()
    };
    let deployed = ControllerDeployment {
        metadata,
        helm: Some(helm),
        inject_garden_kubeconfig: deployment.inject_garden_kubeconfig,
        ..ControllerDeployment::default()
    };
    let mut registered =
        ControllerRegistration { metadata: ObjectMeta::named("", name), ..ControllerRegistration::default() };
    registered.spec.resources.clone_from(&extension.spec.resources);
    for resource in &mut registered.spec.resources {
        resource.auto_enable.retain(|cluster| cluster != GARDEN);
        resource.cluster_compatibility.retain(|cluster| cluster != GARDEN);
    }
    registered.spec.deployment = Some(ControllerRegistrationDeployment {
        policy: deployment.policy.clone(),
        seed_selector: deployment.seed_selector.clone(),
        deployment_refs: vec![DeploymentRef { name: name.clone() }],
    });
    Some((deployed, registered))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extension() -> Extension {
        let tree = json!({
            "metadata": { "name": "dns", "annotations": { "terrarium.dev/extensions-library-version": "v1.120.0" } },
            "spec": {
                "resources": [
                    { "kind": "DNSRecord", "type": "local" },
                    { "kind": "Extension", "type": "a", "clusterCompatibility": ["shoot", "garden"] },
                ],
                "deployment": { "extension": {
                    "helm": { "ociRepository": { "ref": "r.example/dns:v1.0.0" } }, "policy": "Always",
                } },
            },
        });
        serde_json::from_value(tree).expect("an Extension")
    }

    #[test]
    fn an_extension_is_registered_without_resources_of_the_garden() {
        let (deployed, registered) = registration(&extension()).expect("it names a chart");
        assert_eq!(deployed.metadata.annotation("terrarium.dev/extensions-library-version"), Some("v1.120.0"));
        assert_eq!(registered.spec.resources[1].cluster_compatibility, ["shoot"]);
        let deployment = registered.spec.deployment.expect("it is deployed");
        assert_eq!((deployment.policy.as_deref(), &*deployment.deployment_refs[0].name), (Some("Always"), "dns"));
        assert_eq!(registration(&Extension::default()), None);
    }

    #[test]
    fn a_garden_needs_extensions_for_its_own_objects() {
        let mut garden = Garden::default();
        assert_eq!(required_kinds(&extension(), Some(&garden)), Vec::<String>::new());
        let dns = json!({ "providers": [{ "name": "p", "type": "local", "secretRef": { "name": "s" } }] });
        garden.spec.dns = serde_json::from_value(dns).expect("DNS");
        garden.spec.extensions = serde_json::from_value(json!([{ "type": "a" }])).expect("a list");
        let kinds = required_kinds(&extension(), Some(&garden));
        assert_eq!(kinds, ["DNSRecord", "Extension"]);
        let found = conditions(&extension(), &Installation::Done, &kinds, &[], Time::default());
        let said: Vec<String> = found.iter().map(|it| format!("{} {} {}", it.r#type, it.status, it.message)).collect();
        assert_eq!(
            said,
            [
                "Installed True Extension has been reconciled successfully",
                "RequiredRuntime True Extension required for kinds [DNSRecord Extension]",
                "RequiredVirtual False Extension does not have required ControllerInstallations for seed clusters",
            ]
        );
    }

    #[test]
    fn it_waits_for_a_garden_that_is_reconciled() {
        assert_eq!(obstacle(None), Some(Installation::NoGarden));
        let mut garden = Garden::default();
        let text = "garden is not yet successfully reconciled".to_owned();
        assert_eq!(obstacle(Some(&garden)), Some(Installation::Failed(text)));
        garden.status = super::super::status::succeeded(&garden, Time::default());
        assert_eq!(obstacle(Some(&garden)), None);
    }

    /// Statuses of condition `Required` of its ControllerInstallations; true if Seeds need the extension.
    #[test]
    fn seeds_need_an_extension_that_one_installation_is_required_for() {
        for (required, expected) in [(&[][..], "False"), (&["False"], "False"), (&["False", "True"], "True")] {
            let installations: Vec<ControllerInstallation> = required
                .iter()
                .map(|status| {
                    let condition = json!({ "type": condition::INSTALLATION_REQUIRED, "status": status });
                    serde_json::from_value(json!({ "status": { "conditions": [condition] } })).expect("an installation")
                })
                .collect();
            let installations: Vec<&ControllerInstallation> = installations.iter().collect();
            let found = conditions(&extension(), &Installation::Done, &[], &installations, Time::default());
            assert_eq!(
                (found[2].r#type.as_str(), found[2].status.as_str()),
                ("RequiredVirtual", expected),
                "{required:?}"
            );
        }
    }
}
