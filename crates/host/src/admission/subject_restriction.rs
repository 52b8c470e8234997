// SPDX-License-Identifier: Apache-2.0
//! Kubernetes' admission plugin `CertificateSubjectRestriction`, which rejects requests for certificates of forbidden
//! subjects. The rule is in [`domain::certificates`].

use apimachinery::{DynamicObject, GroupResource, Status};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::certificates;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use process::pki;
use serde_json::Value;

/// Admission plugin `CertificateSubjectRestriction`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubjectRestriction;

impl Plugin for SubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        let resource = attributes.resource;
        let is_request = (resource.group.as_str(), resource.resource.as_str())
            == ("certificates.k8s.io", "certificatesigningrequests")
            && attributes.request.subresource.is_empty();
        if !is_request || attributes.operation != Operation::Create {
            return Ok(());
        }
        let Some(request) = attributes.object.downcast_ref::<DynamicObject>() else { return Ok(()) };
        if !certificates::is_restricted(&request.fields) {
            return Ok(());
        }
        let text = request.get(&["spec", "request"]).and_then(Value::as_str).unwrap_or_default();
        let pem = STANDARD.decode(text).unwrap_or_default();
        // An invalid signing request is rejected by validation, or never signed.
        let Ok((_, groups)) = pki::subject(&String::from_utf8_lossy(&pem)) else { return Ok(()) };
        match certificates::restriction(&groups) {
            None => Ok(()),
            Some(text) => {
                let group = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
                Err(Status::forbidden(&group, attributes.name, &text))
            }
        }
    }
}
