// SPDX-License-Identifier: Apache-2.0
//! Validation of operator Extensions.
//!
//! Source: pkg/api/operator/v1alpha1/validation/extension.go (pkg/apis/operator/v1alpha1/validation until v1.136), v1.120.0 to
//! v1.149.0.

use api::core::ControllerResource;
use api::operator::{
    AdmissionDeploymentSpec, Deployment, Extension, ExtensionDeploymentSpec, ExtensionHelm, ExtensionSpec,
};
use apimachinery::field::{FieldError, Path};

use super::extensibility::{controller_resources, controller_resources_update};
use super::{Errors, charts};
use crate::release::{Release, Releases};

/// Kinds of clusters with extensions, sorted.
const CLUSTERS: [&str; 3] = ["garden", "seed", "shoot"];

/// Resources are checked.
const RESOURCES: Releases = Releases::since(120);
/// Resources stay primary or secondary.
const RESOURCES_STAY: Releases = Releases::since(117);
/// The deployment is checked, with that of the admission controller.
const DEPLOYMENT: Releases = Releases::since(134);

/// Checks a new Extension by the rules of a release of gardener-operator.
pub fn extension(extension: &Extension, release: Release) -> Errors {
    let (mut errors, path) = (Errors::new(), Path::new("spec"));
    let ExtensionSpec { resources, deployment: deployed } = &extension.spec;
    if DEPLOYMENT.contain(release) {
        deployment(&mut errors, deployed.as_ref(), release, &path.child("deployment"));
    }
    if RESOURCES.contain(release) {
        controller_resources(&mut errors, resources, &CLUSTERS, &path.child("resources"), release);
    }
    errors
}

/// Checks a changed Extension by the rules of a release of gardener-operator.
pub fn extension_update(new: &Extension, old: &Extension, release: Release) -> Errors {
    let mut errors = Errors::new();
    if DEPLOYMENT.contain(release) {
        errors.extend(extension(new, release));
    }
    if RESOURCES_STAY.contain(release) {
        let (is, was): (&[ControllerResource], &[ControllerResource]) = (&new.spec.resources, &old.spec.resources);
        controller_resources_update(&mut errors, is, was, Some(true), &Path::new("spec").child("resources"));
    }
    // Upstream checks the new Extension separately.
    if errors.is_empty() { extension(new, release) } else { errors }
}

fn deployment(errors: &mut Errors, deployed: Option<&Deployment>, release: Release, path: &Path) {
    let Some(Deployment { extension, admission, resources }) = deployed else {
        errors.push(FieldError::required(path, "deployment must be specified"));
        return;
    };
    if extension.is_none() && admission.is_none() {
        errors.push(FieldError::required(path, "at least one of extension or admission must be specified"));
        return;
    }
    charts::resources(errors, resources, release, &path.child("resources"));
    if let Some(ExtensionDeploymentSpec { helm, values, runtime_cluster_values, .. }) = extension {
        let path = path.child("extension");
        chart(errors, helm.as_ref(), &path.child("helm"));
        for (field, values) in [("values", values), ("runtimeClusterValues", runtime_cluster_values)] {
            charts::values(errors, values.as_ref(), resources, release, &path.child(field));
        }
    }
    let Some(AdmissionDeploymentSpec { runtime_cluster, virtual_cluster, values }) = admission else { return };
    let path = path.child("admission");
    if runtime_cluster.is_none() && virtual_cluster.is_none() {
        let text = "at least one of runtimeCluster or virtualCluster must be specified";
        errors.push(FieldError::required(&path, text));
        return;
    }
    for (field, cluster) in [("runtimeCluster", runtime_cluster), ("virtualCluster", virtual_cluster)] {
        if let Some(cluster) = cluster {
            chart(errors, cluster.helm.as_ref(), &path.child(field).child("helm"));
        }
    }
    charts::values(errors, values.as_ref(), resources, release, &path.child("values"));
}

fn chart(errors: &mut Errors, helm: Option<&ExtensionHelm>, path: &Path) {
    match helm {
        None => errors.push(FieldError::required(path, "helm deployment must be specified")),
        Some(ExtensionHelm { oci_repository }) => {
            // A missing registry is an empty one.
            let repository = oci_repository.clone().unwrap_or_default();
            charts::repository(errors, &repository, &path.child("ociRepository"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(spec: &Value) -> Extension {
        serde_json::from_value(json!({ "metadata": { "name": "x" }, "spec": spec })).expect("an Extension")
    }

    fn shown(errors: &Errors) -> String {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
    }

    /// Rows: minor, specification, errors joined by ` | `.
    #[test]
    fn deployments_of_extensions_are_judged_since_1_134() {
        let helm = json!({ "helm": { "ociRepository": { "ref": "a:b" } } });
        let template = "spec.deployment.extension.values: Invalid value: \"{{ .resources.db.data.user }}\": template \
                        references resource \"db\" which is not declared in the resources list";
        for (minor, deployment, expected) in [
            (133, Value::Null, String::new()),
            (134, Value::Null, "spec.deployment: Required value: deployment must be specified".to_owned()),
            (
                134,
                json!({}),
                "spec.deployment: Required value: at least one of extension or admission must be specified".to_owned(),
            ),
            (
                134,
                json!({ "extension": {}, "admission": {} }),
                "spec.deployment.extension.helm: Required value: helm deployment must be specified | \
                 spec.deployment.admission: Required value: at least one of runtimeCluster or virtualCluster must be \
                 specified"
                    .to_owned(),
            ),
            (
                149,
                json!({ "admission": { "runtimeCluster": helm, "virtualCluster": { "helm": {} } } }),
                "spec.deployment.admission.virtualCluster.helm.ociRepository: Required value: must provide either ref or \
                 repository"
                    .to_owned(),
            ),
            (149, json!({ "extension": helm, "admission": { "runtimeCluster": helm } }), String::new()),
            (
                147,
                json!({ "extension": { "helm": helm["helm"], "values": { "a": "{{ .resources.db.data.user }}" } } }),
                template.to_owned(),
            ),
        ] {
            let extension = read(&json!({ "deployment": deployment }));
            assert_eq!(shown(&super::extension(&extension, Release(minor))), expected, "{minor} {deployment}");
            assert_eq!(shown(&extension_update(&extension, &extension, Release(minor))), expected, "{minor} {deployment}");
        }
    }

    #[test]
    fn resources_of_extensions_are_checked_since_1_120() {
        let with = |resources: Value| {
            let chart = json!({ "extension": { "helm": { "ociRepository": { "ref": "a:b" } } } });
            read(&json!({ "deployment": chart, "resources": resources }))
        };
        let garden = with(json!([{ "kind": "Extension", "type": "a", "clusterCompatibility": ["garden"] }]));
        let other = with(json!([{ "kind": "Extension", "type": "a", "clusterCompatibility": ["other"] }]));
        let text = "spec.resources[0].clusterCompatibility[0]: Unsupported value: \"other\": supported values: \"garden\", \
                    \"seed\", \"shoot\"";
        assert_eq!(shown(&extension(&garden, Release(120))), "");
        assert_eq!(shown(&extension(&other, Release(120))), text);
        assert_eq!(shown(&extension_update(&other, &garden, Release(120))), text);
        assert_eq!(shown(&extension(&other, Release(119))), "");
        let primary = |primary: Value| with(json!([{ "kind": "Worker", "type": "a", "primary": primary }]));
        let (unset, yes, no) = (primary(Value::Null), primary(json!(true)), primary(json!(false)));
        let text = "spec.resources[0].primary: Invalid value: false: field is immutable";
        for minor in [117, 134, 149] {
            assert_eq!(shown(&extension_update(&yes, &unset, Release(minor))), "");
            assert_eq!(shown(&extension_update(&no, &unset, Release(minor))), text);
        }
        assert_eq!(shown(&extension_update(&no, &unset, Release(116))), "");
    }
}
