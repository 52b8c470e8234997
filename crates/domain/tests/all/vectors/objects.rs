// SPDX-License-Identifier: Apache-2.0
//! Objects that vectors describe in short form.

use api::core::*;
use apimachinery::meta::Time;
use chrono::{DateTime, Utc};
use domain::defaulting;
use domain::release::DOCUMENTED;
use domain::versions::Moment;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Returns an instant with the rules of the documents' release.
pub(crate) const fn documented(now: DateTime<Utc>) -> Moment {
    Moment::new(now, DOCUMENTED)
}

pub(crate) fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().expect("an instant").parse().expect("RFC 3339")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Deserializes a value; `null` is the default.
pub(crate) fn typed<T: DeserializeOwned + Default>(value: &Value) -> T {
    if value.is_null() { T::default() } else { serde_json::from_value(value.clone()).expect("the wire form of a kind") }
}

/// Returns a CloudProfile with these Kubernetes versions and machine images, defaulted as by the API server.
pub(crate) fn cloud_profile(versions: &Value, images: &Value) -> CloudProfileSpec {
    let mut profile = CloudProfile::default();
    profile.spec.kubernetes.versions = typed(versions);
    profile.spec.machine_images = typed(images);
    defaulting::cloud_profile(&mut profile);
    profile.spec
}

/// Returns a worker pool of the form {`name`, `image`, `architecture`, `cri`, `updateStrategy`, `kubernetesVersion`}.
pub(crate) fn worker(value: &Value) -> Worker {
    let own_version = value["kubernetesVersion"].as_str().map(str::to_owned);
    Worker {
        name: text(&value["name"]),
        kubernetes: own_version.map(|version| WorkerKubernetes { version: Some(version), kubelet: None }),
        cri: typed(&value["cri"]),
        machine: Machine {
            image: typed(&value["image"]),
            architecture: typed(&value["architecture"]),
            ..Machine::default()
        },
        update_strategy: typed(&value["updateStrategy"]),
        ..Worker::default()
    }
}

/// Returns a Shoot of the form {`version`, `autoUpdate`, `workers`, `annotations`}, defaulted as by the API server.
pub(crate) fn shoot(value: &Value) -> Shoot {
    let auto_update = &value["autoUpdate"];
    let mut shoot = Shoot::default();
    shoot.metadata.annotations = typed(&value["annotations"]);
    shoot.spec.cloud_profile_name = Some("local".to_owned());
    shoot.spec.kubernetes.version = text(&value["version"]);
    shoot.spec.provider.workers = value["workers"].as_array().into_iter().flatten().map(worker).collect();
    let has_workers = !shoot.spec.provider.workers.is_empty();
    shoot.spec.maintenance = Some(Maintenance {
        auto_update: Some(MaintenanceAutoUpdate {
            kubernetes_version: auto_update["kubernetesVersion"].as_bool().unwrap_or(true),
            machine_image_version: has_workers.then(|| auto_update["machineImageVersion"].as_bool().unwrap_or(true)),
        }),
        ..Maintenance::default()
    });
    defaulting::shoot(&mut shoot, 0, domain::release::DOCUMENTED);
    shoot
}

/// Returns a last operation in a state; none for `null`.
pub(crate) fn last_operation(state: &Value) -> Option<LastOperation> {
    let state = state.as_str()?.to_owned();
    Some(LastOperation {
        r#type: "Reconcile".to_owned(),
        state,
        last_update_time: Time::default(),
        ..LastOperation::default()
    })
}

/// Returns a Shoot with a maintenance time window as given.
pub(crate) fn with_window(input: &Value) -> Shoot {
    let mut shoot = Shoot::default();
    if input["always"] != json!(true) {
        let window = MaintenanceTimeWindow { begin: text(&input["begin"]), end: text(&input["end"]) };
        shoot.spec.maintenance = Some(Maintenance { time_window: Some(window), ..Maintenance::default() });
    }
    shoot
}
