// SPDX-License-Identifier: Apache-2.0
//! Strategies of CloudProfiles and NamespacedCloudProfiles, which depend on the time because versions expire.

use api::core::{CloudProfile, NamespacedCloudProfile};
use apimachinery::field::FieldError;
use domain::defaulting;
use domain::profile::Profile;
use domain::validation::cloud_profile;
use domain::validation::shoot::Gates;
use domain::versions::Moment;
use generic_apiserver::registry::Generation;
use generic_apiserver::{RequestContext, Strategy};

/// Strategy of CloudProfiles.
#[derive(Clone, Copy, Debug)]
pub struct CloudProfileStrategy {
    /// Profile of the landscape.
    pub profile: Profile,
    /// Feature gates and release of the server.
    pub gates: Gates,
}

impl Strategy<CloudProfile> for CloudProfileStrategy {
    fn default(&self, object: &mut CloudProfile) {
        defaulting::cloud_profile(object);
    }

    fn prepare_for_create(&self, object: &mut CloudProfile, request: &RequestContext) {
        cloud_profile::drop_expired_versions(object, self.profile, Moment::new(request.now, self.gates.release));
        defaulting::sync_architectures(&mut object.spec, None, self.gates.release);
    }

    fn prepare_for_update(&self, object: &mut CloudProfile, old: &CloudProfile, request: &RequestContext) {
        if request.subresource.is_empty() {
            defaulting::sync_architectures(&mut object.spec, Some(&old.spec), self.gates.release);
        }
    }

    fn validate_create(&self, object: &CloudProfile, request: &RequestContext) -> Vec<FieldError> {
        cloud_profile::cloud_profile(object, self.profile, self.gates, request.now)
    }

    fn validate_update(&self, object: &CloudProfile, old: &CloudProfile, request: &RequestContext) -> Vec<FieldError> {
        if &*request.subresource == "status" {
            return Vec::new();
        }
        cloud_profile::cloud_profile_update(object, old, self.profile, self.gates, request.now)
    }

    fn generation(&self) -> Generation {
        Generation::None
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}

/// Strategy of NamespacedCloudProfiles, with feature gates and release of the server.
#[derive(Clone, Copy, Debug)]
pub struct NamespacedCloudProfileStrategy(pub Gates);

impl Strategy<NamespacedCloudProfile> for NamespacedCloudProfileStrategy {
    fn default(&self, object: &mut NamespacedCloudProfile) {
        defaulting::namespaced_cloud_profile(object);
    }

    fn prepare_for_create(&self, object: &mut NamespacedCloudProfile, request: &RequestContext) {
        cloud_profile::drop_expired_overrides(object, None, Moment::new(request.now, self.0.release));
    }

    fn validate_create(&self, object: &NamespacedCloudProfile, _: &RequestContext) -> Vec<FieldError> {
        cloud_profile::namespaced_cloud_profile(object, self.0)
    }

    fn prepare_for_update(
        &self,
        object: &mut NamespacedCloudProfile,
        old: &NamespacedCloudProfile,
        request: &RequestContext,
    ) {
        if request.subresource.is_empty() {
            cloud_profile::drop_expired_overrides(object, Some(old), Moment::new(request.now, self.0.release));
        }
    }

    fn validate_update(
        &self,
        object: &NamespacedCloudProfile,
        old: &NamespacedCloudProfile,
        request: &RequestContext,
    ) -> Vec<FieldError> {
        if &*request.subresource == "status" {
            return Vec::new();
        }
        cloud_profile::namespaced_cloud_profile_update(object, old, self.0)
    }

    fn allows_unconditional_update(&self) -> bool {
        true
    }
}
