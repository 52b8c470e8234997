// SPDX-License-Identifier: Apache-2.0
//! CloudProfiles remain while they are referenced, and show the states of their versions; NamespacedCloudProfiles show
//! the result of merging them with their parent.
//!
//! Source: pkg/controllermanager/controller/{cloudprofile,namespacedcloudprofile} @ v1.120.0.

use api::constants::finalizer;
use api::core::{CloudProfile, NamespacedCloudProfile, Shoot};
use controller::{Action, Api, Controller, Error, EventType, ObjectKey, Requeue};
use domain::cloud_profile;
use domain::versions::Moment;
use process::Context;

use crate::protection::{Protection, garden_key, own_key, released_keys};
use crate::stores::{Stores, list_names};
use crate::{Config, GARDEN, moment};

/// Name of the controller of CloudProfiles.
pub const CLOUD_PROFILE: &str = "cloudprofile";
/// Name of the controller of NamespacedCloudProfiles.
pub const NAMESPACED_CLOUD_PROFILE: &str = "namespacedcloudprofile";

/// Returns the CloudProfile that a Shoot refers to directly.
fn profile_of(shoot: &Shoot) -> Vec<ObjectKey> {
    let reference =
        cloud_profile::reference(&shoot.spec).filter(|reference| reference.kind == cloud_profile::CLOUD_PROFILE);
    reference.map(|reference| garden_key("", &reference.name)).into_iter().collect()
}

/// Returns the NamespacedCloudProfile that a Shoot refers to.
fn namespaced_profile_of(shoot: &Shoot) -> Vec<ObjectKey> {
    let reference = cloud_profile::reference(&shoot.spec);
    let reference = reference.filter(|reference| reference.kind == cloud_profile::NAMESPACED_CLOUD_PROFILE);
    reference.map(|reference| garden_key(&shoot.metadata.namespace, &reference.name)).into_iter().collect()
}

fn parent_of(profile: &NamespacedCloudProfile) -> Vec<ObjectKey> {
    vec![garden_key("", &profile.spec.parent.name)]
}

/// Runs the controller of CloudProfiles.
pub async fn run(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(CLOUD_PROFILE, &context);
    controller.watch_store(&stores.cloud_profiles, |change| {
        if change.differs(|profile| profile.spec.clone()) && change.new.is_some() {
            vec![change.key.clone()]
        } else {
            own_key(change)
        }
    });
    controller.watch_store(&stores.shoots, |change| released_keys(change, profile_of));
    controller.watch_store(&stores.namespaced_cloud_profiles, |change| released_keys(change, parent_of));
    let profiles = stores.cloud_profiles.clone();
    let kept = move |profile: &CloudProfile| {
        let key = garden_key("", &profile.metadata.name);
        let children = stores.namespaced_cloud_profiles.list();
        let children: Vec<_> =
            children.iter().filter(|child| parent_of(child).contains(&key)).map(|child| &child.metadata).collect();
        if !children.is_empty() {
            return Some(format!(
                "Cannot delete CloudProfile, because the following NamespacedCloudProfiles are still referencing it: {}",
                list_names(children)
            ));
        }
        let shoots = stores.shoots.list();
        let shoots: Vec<_> =
            shoots.iter().filter(|shoot| profile_of(shoot).contains(&key)).map(|shoot| &shoot.metadata).collect();
        (!shoots.is_empty()).then(|| {
            format!(
                "Cannot delete CloudProfile, because the following Shoots are still referencing it: {}",
                list_names(shoots)
            )
        })
    };
    let protection = Protection::new(
        &context,
        &profiles,
        finalizer::GARDENER,
        "cloudprofile-controller",
        (EventType::Normal, Action::Delete),
        kept,
    );
    let api = Api::<CloudProfile>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (protection, api, context) = (protection.clone(), api.clone(), context.clone());
            async move {
                match protection.pass(&key).await? {
                    Some(profile) => show_states(&api, &profile, moment(&context)).await,
                    None => Ok(Requeue::OnChange),
                }
            }
        })
        .await;
}

/// Writes the states of a profile's versions into its status, and again when one of them changes.
async fn show_states(api: &Api<CloudProfile>, profile: &CloudProfile, at: Moment) -> Result<Requeue, Error> {
    let Some(status) = cloud_profile::status(&profile.spec, at) else { return Ok(Requeue::OnChange) };
    if status != profile.status {
        api.update_status(profile, &CloudProfile { status, ..profile.clone() }).await?;
    }
    Ok(cloud_profile::next_change(&profile.spec, at).map_or(Requeue::OnChange, Requeue::At))
}

/// Runs the controller of NamespacedCloudProfiles.
pub async fn run_namespaced(context: Context, stores: Stores, config: Config) {
    let mut controller = Controller::new(NAMESPACED_CLOUD_PROFILE, &context);
    controller.watch_store(&stores.namespaced_cloud_profiles, |change| {
        if change.differs(|profile| profile.spec.clone()) && change.new.is_some() {
            vec![change.key.clone()]
        } else {
            own_key(change)
        }
    });
    let children = stores.namespaced_cloud_profiles.clone();
    controller.watch_store(&stores.cloud_profiles, move |change| {
        if change.new.is_none() || !change.differs(|profile| profile.spec.clone()) {
            return Vec::new();
        }
        let children = children.list();
        let children = children.iter().filter(|child| parent_of(child).contains(&change.key));
        children.map(|child| garden_key(&child.metadata.namespace, &child.metadata.name)).collect()
    });
    controller.watch_store(&stores.shoots, |change| released_keys(change, namespaced_profile_of));

    let shoots = stores.shoots.clone();
    let kept = move |profile: &NamespacedCloudProfile| {
        let key = garden_key(&profile.metadata.namespace, &profile.metadata.name);
        let shoots = shoots.list();
        let shoots: Vec<_> = shoots
            .iter()
            .filter(|shoot| namespaced_profile_of(shoot).contains(&key))
            .map(|shoot| &shoot.metadata)
            .collect();
        (!shoots.is_empty()).then(|| {
            format!(
                "Cannot delete NamespacedCloudProfile, because the following Shoots are still referencing it: {}",
                list_names(shoots)
            )
        })
    };
    let source = "namespacedcloudprofile-controller";
    let protection = Protection::new(
        &context,
        &stores.namespaced_cloud_profiles,
        finalizer::GARDENER,
        source,
        (EventType::Normal, Action::Reconcile),
        kept,
    );
    let profiles = Api::<NamespacedCloudProfile>::all(&context, GARDEN);
    controller
        .run(config.concurrent_syncs, move |key| {
            let (protection, stores, profiles) = (protection.clone(), stores.clone(), profiles.clone());
            async move {
                if let Some(profile) = protection.pass(&key).await? {
                    show_merged(&profiles, &stores, &profile).await?;
                }
                Ok(Requeue::OnChange)
            }
        })
        .await;
}

/// Writes the parent's specification, overlaid with the profile's own, into its status.
async fn show_merged(
    profiles: &Api<NamespacedCloudProfile>,
    stores: &Stores,
    profile: &NamespacedCloudProfile,
) -> Result<(), Error> {
    let Some(parent) = stores.cloud_profiles.find("", &profile.spec.parent.name) else { return Ok(()) };
    let mut new = profile.clone();
    new.status.cloud_profile_spec = cloud_profile::merge(&parent.spec, &profile.spec);
    new.status.observed_generation = profile.metadata.generation;
    profiles.in_namespace_of(profile).update_status(profile, &new).await.map(drop)
}
