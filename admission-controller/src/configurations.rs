// SPDX-License-Identifier: Apache-2.0
//! The configuration by which the garden's API servers call gardener-admission-controller.

use api::constants::{label, namespace, role};
use domain::garden::components::Program;
use serde_json::{Value, json};

/// Path of webhook configurations.
pub const PATH: &str = "/clusters/garden/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// Returns the webhooks that exist here, as gardener-operator configures them. `authorities` is PEM.
///
/// Source: pkg/component/gardener/admissioncontroller/webhooks.go @ v1.120.0.
pub fn validating(authorities: &str) -> Value {
    let name = Program::AdmissionController.name();
    let bundle = apimachinery::meta::ByteString(authorities.as_bytes().to_vec()).to_base64();
    let webhook = |webhook: &str, path: &str, operations: &[&str], resource: &str, selector: Value| {
        json!({
            "name": format!("{webhook}.gardener.cloud"),
            "admissionReviewVersions": ["v1", "v1beta1"],
            "timeoutSeconds": 10,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": selector,
            "clientConfig": { "url": format!("https://{name}.{}/webhooks/{path}", namespace::GARDEN), "caBundle": bundle },
            "rules": [{
                "operations": operations, "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource],
            }],
        })
    };
    let projects = json!({ "matchLabels": { label::ROLE: role::PROJECT } });
    let but_garden = json!({ "matchExpressions": [
        { "key": label::ROLE, "operator": "In", "values": [role::PROJECT] },
        { "key": "app", "operator": "NotIn", "values": ["gardener"] },
    ] });
    let writes = ["CREATE", "UPDATE"];
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [
            webhook(
                "validate-namespace-deletion", "validate-namespace-deletion", &["DELETE"], "namespaces", projects.clone(),
            ),
            webhook("validate-kubeconfig-secrets", "validate-kubeconfig-secrets", &writes, "secrets", but_garden),
            webhook("shoot-kubeconfig-secret-ref", "validate-shoot-kubeconfig-secret-ref", &["UPDATE"], "secrets", projects),
        ],
    })
}
