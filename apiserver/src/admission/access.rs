// SPDX-License-Identifier: Apache-2.0
//! Questions of admission to the authorizer: whether a user may read the referenced objects of an object, and use the
//! verbs that some fields require.

use std::sync::Arc;

use api::core::{CloudProfile, NamespacedCloudProfile, Project};
use apimachinery::Resource;
use domain::admission::Refusal;
use domain::rbac::custom_verbs::{self, Need};
use generic_apiserver::authorization::{Authorizer, Question};
use generic_apiserver::{Attributes, Operation, Plugin, Reads, RequestContext};

use super::{Verdict, refused, stored};

/// Authorization of the user of a request.
#[derive(Clone, Debug)]
pub(super) struct Access(pub(super) Arc<dyn Authorizer>);

/// An object for which a permission is checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Target<'a> {
    pub(super) group: &'a str,
    pub(super) plural: &'a str,
    pub(super) subresource: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Access {
    /// True if the user of the request may use a verb on an object.
    pub(super) fn may(&self, request: &RequestContext, verb: &str, target: Target<'_>) -> bool {
        let Target { group, plural, subresource, namespace, name } = target;
        let question = Question {
            user: &request.user,
            cluster: &request.cluster,
            verb,
            group,
            resource: plural,
            subresource,
            namespace,
            name,
            path: "",
        };
        self.0.authorize(&question).is_ok()
    }

    /// Returns a 403 unless the user of the request may read an object.
    ///
    /// # Errors
    /// The text `refusal`, if the user may not.
    pub(super) fn read(&self, request: &RequestContext, target: Target<'_>, refusal: &str) -> Result<(), Refusal> {
        if self.may(request, "get", target) { Ok(()) } else { Err(Refusal::Forbidden(refusal.to_owned())) }
    }
}

/// Checks the custom verbs for fields of Projects and NamespacedCloudProfiles.
pub(super) struct CustomVerbAuthorizer(pub(super) Access);

impl Plugin for CustomVerbAuthorizer {
    fn name(&self) -> &'static str {
        "CustomVerbAuthorizer"
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if attributes.operation == Operation::Delete {
            return Ok(());
        }
        let user = &attributes.request.user;
        let groups: Vec<&str> = user.groups.iter().map(|group| &**group).collect();
        if attributes.is::<Project>() {
            let old = stored::<Project>(attributes);
            let Some(new) = attributes.object::<Project>() else { return Ok(()) };
            let need = custom_verbs::project(new, old, &user.name, &groups);
            return need.map_or(Ok(()), |need| self.check::<Project>(attributes, need));
        }
        if attributes.is::<NamespacedCloudProfile>() {
            let old = stored::<NamespacedCloudProfile>(attributes);
            let Some(new) = attributes.object::<NamespacedCloudProfile>() else { return Ok(()) };
            let Some(parent) = reads.get::<CloudProfile>("", &new.spec.parent.name) else {
                let refusal = Refusal::BadRequest("parent CloudProfile could not be found".to_owned());
                return Err(refused::<NamespacedCloudProfile>(attributes, refusal));
            };
            for need in custom_verbs::namespaced_cloud_profile(new, old, &parent.spec) {
                self.check::<NamespacedCloudProfile>(attributes, need)?;
            }
        }
        Ok(())
    }
}

impl CustomVerbAuthorizer {
    fn check<K: Resource>(&self, attributes: &mut Attributes<'_>, need: Need) -> Verdict {
        let (request, namespace, given) = (attributes.request, attributes.namespace, attributes.name);
        let name = attributes.object::<K>().map(|object| object.metadata().name.clone()).unwrap_or_default();
        let name = if given.is_empty() { &name } else { given };
        let target = Target { group: K::GROUP, plural: K::PLURAL, namespace, name, ..Target::default() };
        if self.0.may(request, need.verb, target) {
            return Ok(());
        }
        let text = need.refusal(&request.user.name, K::PLURAL);
        Err(refused::<K>(attributes, Refusal::Forbidden(text)))
    }
}
