// SPDX-License-Identifier: Apache-2.0
//! Approval and signing of CertificateSigningRequests need a permission for the signer in addition to the one to write:
//! Kubernetes' admission plugins `CertificateApproval` and `CertificateSigning`. The rules are in
//! [`domain::certificates`].

use std::fmt;

use apimachinery::{DynamicObject, GroupResource, Status};
use authorizer::Rbac;
use domain::certificates::{needed_right, signer, signer_names};
use generic_apiserver::Authorizer;
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use generic_apiserver::authorization::Question;

const GROUP: &str = "certificates.k8s.io";

/// Admission plugins for signers; without an authorizer of mode RBAC they allow everything.
pub(crate) struct SignerRights(pub(crate) Option<Rbac>);

impl fmt::Debug for SignerRights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignerRights")
    }
}

impl Plugin for SignerRights {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Result<(), Status> {
        let Some(rbac) = &self.0 else { return Ok(()) };
        let (resource, request) = (attributes.resource, attributes.request);
        if resource.group != GROUP || attributes.operation != Operation::Update {
            return Ok(());
        }
        let old = attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>());
        let (Some(new), Some(old)) = (attributes.object.downcast_ref::<DynamicObject>(), old) else { return Ok(()) };
        let Some((verb, refusal)) = needed_right(&request.subresource, &new.fields, &old.fields) else { return Ok(()) };
        let may = |name: &String| {
            let question = Question {
                user: &request.user,
                cluster: &request.cluster,
                verb,
                group: GROUP,
                resource: "signers",
                subresource: "",
                namespace: "",
                name,
                path: "",
            };
            rbac.authorize(&question).is_ok()
        };
        if signer_names(signer(&old.fields)).iter().any(may) {
            return Ok(());
        }
        let group = GroupResource { group: resource.group.clone(), resource: resource.resource.clone() };
        Err(Status::forbidden(&group, attributes.name, &refusal))
    }
}
