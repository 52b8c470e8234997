// SPDX-License-Identifier: Apache-2.0
//! Status of a CloudProfile: the state of each version.
//!
//! Source: pkg/controllermanager/controller/cloudprofile/reconciler.go @ v1.149.0.

use api::core::{CloudProfileSpec, CloudProfileStatus, ExpirableVersionStatus, KubernetesStatus, MachineImageStatus};
use chrono::{DateTime, Utc};

use crate::release::Releases;
use crate::versions::{Expirable, Moment};

/// Releases whose gardener-controller-manager writes the status.
const WRITTEN: Releases = Releases::since(149);

/// Status of a profile at an instant; `None` if the release does not write it.
pub fn status(spec: &CloudProfileSpec, at: Moment) -> Option<CloudProfileStatus> {
    if !WRITTEN.contain(at.release) {
        return None;
    }
    let kubernetes = KubernetesStatus { versions: versions(&spec.kubernetes.versions, at) };
    let image = |image: &api::core::MachineImage| MachineImageStatus {
        name: image.name.clone(),
        versions: versions(&image.versions, at),
    };
    Some(CloudProfileStatus {
        kubernetes: (!kubernetes.versions.is_empty()).then_some(kubernetes),
        machine_images: spec.machine_images.iter().map(image).collect(),
    })
}

fn versions<V: Expirable>(versions: &[V], at: Moment) -> Vec<ExpirableVersionStatus> {
    let one = |entry: &V| ExpirableVersionStatus {
        version: entry.version().to_owned(),
        classification: at.state(entry).to_string(),
    };
    versions.iter().map(one).collect()
}

/// First instant after this one at which a version of a profile has another state.
pub fn next_change(spec: &CloudProfileSpec, at: Moment) -> Option<DateTime<Utc>> {
    let kubernetes = spec.kubernetes.versions.iter().filter_map(|entry| at.next_change(entry));
    let images = spec.machine_images.iter().flat_map(|image| &image.versions);
    kubernetes.chain(images.filter_map(|entry| at.next_change(entry))).min()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::release::Release;

    #[test]
    fn status_has_each_versions_state_since_its_stage() {
        let spec: CloudProfileSpec = serde_json::from_value(json!({
            "kubernetes": { "versions": [
                { "version": "1.35.0", "lifecycle": [
                    { "classification": "preview", "startTime": "2026-06-01T00:00:00Z" },
                    { "classification": "supported", "startTime": "2026-07-01T00:00:00Z" },
                ] },
                { "version": "1.34.3", "classification": "deprecated", "expirationDate": "2026-06-15T00:00:00Z" },
                { "version": "1.33.9" },
            ] },
            "machineImages": [{ "name": "os", "versions": [{ "version": "1.0.0", "classification": "preview" }] }],
        }))
        .expect("a specification");
        let at = |text: &str, release| Moment::new(text.parse().expect("an instant"), Release(release));
        for (time, expected, next) in [
            (
                "2026-05-31T23:59:59Z",
                "unavailable deprecated supported preview",
                Some("2026-06-01T00:00:00.000000001Z"),
            ),
            (
                "2026-06-01T00:00:00Z",
                "unavailable deprecated supported preview",
                Some("2026-06-01T00:00:00.000000001Z"),
            ),
            ("2026-06-01T00:00:01Z", "preview deprecated supported preview", Some("2026-06-15T00:00:00.000000001Z")),
            ("2026-06-15T00:00:01Z", "preview expired supported preview", Some("2026-07-01T00:00:00.000000001Z")),
            ("2026-07-01T00:00:01Z", "supported expired supported preview", None),
        ] {
            let status = status(&spec, at(time, 149)).expect("v1.149 writes it");
            let kubernetes = status.kubernetes.expect("there are versions").versions;
            let images = status.machine_images.into_iter().flat_map(|image| image.versions);
            let states: Vec<String> = kubernetes.into_iter().chain(images).map(|one| one.classification).collect();
            assert_eq!(states.join(" "), expected, "{time}");
            let next = next.map(|text| text.parse::<DateTime<Utc>>().expect("an instant"));
            assert_eq!(next_change(&spec, at(time, 149)), next, "{time}");
        }
        assert_eq!(status(&spec, at("2026-06-01T00:00:00Z", 148)), None);
    }
}
