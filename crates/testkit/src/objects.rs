// SPDX-License-Identifier: Apache-2.0
//! Builders of objects; fields that a test does not set have one valid default each.
//!
//! ```
//! # use testkit::objects::shoot;
//! let shoot = shoot("s").kubernetes("1.27.1").pool("a", |pool| pool.machines(1, 3)).build();
//! assert_eq!(shoot.spec.provider.workers[0].maximum, 3);
//! ```

use apimachinery::meta::{IntOrString, ObjectMeta};
use chrono::{DateTime, Utc};

use api::core::{
    AvailabilityZone, CRI, CloudProfile, CloudProfileReference, ExpirableVersion, Machine, MachineImage,
    MachineImageVersion, MachineType, MaintenanceAutoUpdate, MaintenanceTimeWindow, Networking, Region, Shoot,
    ShootMachineImage, Worker, WorkerKubernetes,
};

/// A Shoot under construction; see [`shoot`].
#[derive(Clone, Debug)]
pub struct ShootBuilder(Shoot);

/// A worker pool under construction; see [`ShootBuilder::pool`].
#[derive(Clone, Debug)]
pub struct PoolBuilder(Worker);

/// A Shoot of namespace `garden-dev` with Kubernetes 1.27.1, CloudProfile `local` and no worker pools.
pub fn shoot(name: &str) -> ShootBuilder {
    let mut shoot = Shoot { metadata: ObjectMeta::named("garden-dev", name), ..Shoot::default() };
    shoot.metadata.generation = 1;
    let spec = &mut shoot.spec;
    spec.cloud_profile = Some(CloudProfileReference { kind: "CloudProfile".to_owned(), name: "local".to_owned() });
    "local".clone_into(&mut spec.region);
    "local".clone_into(&mut spec.provider.r#type);
    "1.27.1".clone_into(&mut spec.kubernetes.version);
    spec.networking = Some(Networking { r#type: Some("calico".to_owned()), ..Networking::default() });
    ShootBuilder(shoot)
}

impl ShootBuilder {
    /// Sets the namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.0.metadata.namespace);
        self
    }

    /// Sets the Kubernetes version of the control plane.
    pub fn kubernetes(mut self, version: &str) -> Self {
        version.clone_into(&mut self.0.spec.kubernetes.version);
        self
    }

    /// Sets the Seed.
    pub fn seed(mut self, name: &str) -> Self {
        self.0.spec.seed_name = Some(name.to_owned());
        self
    }

    /// Sets the purpose.
    pub fn purpose(mut self, purpose: &str) -> Self {
        self.0.spec.purpose = Some(purpose.to_owned());
        self
    }

    /// Adds an annotation.
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Sets the maintenance time window: `220000+0100` to `230000+0100`.
    pub fn window(mut self, begin: &str, end: &str) -> Self {
        let maintenance = self.0.spec.maintenance.get_or_insert_default();
        maintenance.time_window = Some(MaintenanceTimeWindow { begin: begin.to_owned(), end: end.to_owned() });
        self
    }

    /// Sets automatic updates of Kubernetes and of machine images.
    pub fn auto_update(mut self, kubernetes_version: bool, machine_image_version: bool) -> Self {
        let maintenance = self.0.spec.maintenance.get_or_insert_default();
        maintenance.auto_update =
            Some(MaintenanceAutoUpdate { kubernetes_version, machine_image_version: Some(machine_image_version) });
        self
    }

    /// Adds a worker pool of one machine of type `local`, image `gardenlinux` and zone `0`.
    pub fn pool(mut self, name: &str, build: impl FnOnce(PoolBuilder) -> PoolBuilder) -> Self {
        let worker = Worker {
            name: name.to_owned(),
            minimum: 1,
            maximum: 1,
            machine: Machine {
                r#type: "local".to_owned(),
                image: Some(ShootMachineImage {
                    name: "gardenlinux".to_owned(),
                    version: Some("934.8.0".to_owned()),
                    ..ShootMachineImage::default()
                }),
                architecture: Some("amd64".to_owned()),
            },
            cri: Some(CRI { name: "containerd".to_owned(), ..CRI::default() }),
            max_surge: Some(IntOrString::Int(1)),
            max_unavailable: Some(IntOrString::Int(0)),
            zones: vec!["0".to_owned()],
            ..Worker::default()
        };
        self.0.spec.provider.workers.push(build(PoolBuilder(worker)).0);
        self
    }

    /// Changes any other field.
    pub fn with(mut self, change: impl FnOnce(&mut Shoot)) -> Self {
        change(&mut self.0);
        self
    }

    /// Returns the Shoot.
    pub fn build(self) -> Shoot {
        self.0
    }
}

impl PoolBuilder {
    /// Sets the bounds of the number of machines.
    pub fn machines(mut self, minimum: i32, maximum: i32) -> Self {
        (self.0.minimum, self.0.maximum) = (minimum, maximum);
        self
    }

    /// Sets the number of machines that may be added during a roll-out.
    pub fn surge(mut self, max_surge: impl Into<IntOrString>) -> Self {
        self.0.max_surge = Some(max_surge.into());
        self
    }

    /// Sets the number of machines that may be missing during a roll-out.
    pub fn unavailable(mut self, max_unavailable: impl Into<IntOrString>) -> Self {
        self.0.max_unavailable = Some(max_unavailable.into());
        self
    }

    /// Sets the machine type.
    pub fn machine_type(mut self, name: &str) -> Self {
        name.clone_into(&mut self.0.machine.r#type);
        self
    }

    /// Sets the machine image.
    pub fn image(mut self, name: &str, version: &str) -> Self {
        self.0.machine.image = Some(ShootMachineImage {
            name: name.to_owned(),
            version: Some(version.to_owned()),
            ..ShootMachineImage::default()
        });
        self
    }

    /// Sets the pool's own Kubernetes version.
    pub fn kubernetes(mut self, version: &str) -> Self {
        self.0.kubernetes = Some(WorkerKubernetes { version: Some(version.to_owned()), ..WorkerKubernetes::default() });
        self
    }

    /// Sets the zones.
    pub fn zones(mut self, zones: &[&str]) -> Self {
        self.0.zones = zones.iter().map(|zone| (*zone).to_owned()).collect();
        self
    }

    /// Selects in-place updates of the nodes, one after the other.
    pub fn auto_in_place(mut self) -> Self {
        self.0.update_strategy = Some("AutoInPlaceUpdate".to_owned());
        self
    }

    /// Selects in-place updates of the nodes after their selection by a user.
    pub fn manual_in_place(mut self) -> Self {
        self.0.update_strategy = Some("ManualInPlaceUpdate".to_owned());
        self
    }

    /// Changes any other field.
    pub fn with(mut self, change: impl FnOnce(&mut Worker)) -> Self {
        change(&mut self.0);
        self
    }
}

/// A CloudProfile under construction; see [`cloud_profile`].
#[derive(Clone, Debug)]
pub struct CloudProfileBuilder(CloudProfile);

/// A CloudProfile of type `local` with a machine type, a region with zone `0`, and no versions.
pub fn cloud_profile(name: &str) -> CloudProfileBuilder {
    let mut profile = CloudProfile { metadata: ObjectMeta::named("", name), ..CloudProfile::default() };
    profile.metadata.generation = 1;
    "local".clone_into(&mut profile.spec.r#type);
    profile.spec.regions = vec![Region {
        name: "local".to_owned(),
        zones: vec![AvailabilityZone { name: "0".to_owned(), ..AvailabilityZone::default() }],
        ..Region::default()
    }];
    let cores = |text: &str| text.parse().expect("a quantity");
    profile.spec.machine_types = vec![MachineType {
        name: "local".to_owned(),
        cpu: cores("4"),
        gpu: cores("0"),
        memory: cores("8Gi"),
        usable: Some(true),
        architecture: Some("amd64".to_owned()),
        ..MachineType::default()
    }];
    CloudProfileBuilder(profile)
}

impl CloudProfileBuilder {
    /// Adds a Kubernetes version; see [`expirable`] for the notation.
    pub fn kubernetes(mut self, version: &str) -> Self {
        self.0.spec.kubernetes.versions.push(expirable(version));
        self
    }

    /// Adds a version of a machine image, and the image if it is missing; see [`expirable`] for the notation.
    pub fn image(mut self, name: &str, version: &str) -> Self {
        let expirable = expirable(version);
        let version = MachineImageVersion {
            version: expirable.version,
            expiration_date: expirable.expiration_date,
            classification: expirable.classification,
            cri: vec![CRI { name: "containerd".to_owned(), ..CRI::default() }],
            architectures: vec!["amd64".to_owned()],
            ..MachineImageVersion::default()
        };
        let images = &mut self.0.spec.machine_images;
        match images.iter_mut().find(|image| image.name == name) {
            Some(image) => image.versions.push(version),
            None => {
                images.push(MachineImage { name: name.to_owned(), versions: vec![version], ..MachineImage::default() });
            }
        }
        self
    }

    /// Changes any other field.
    pub fn with(mut self, change: impl FnOnce(&mut CloudProfile)) -> Self {
        change(&mut self.0);
        self
    }

    /// Returns the CloudProfile.
    pub fn build(self) -> CloudProfile {
        self.0
    }
}

/// Present instant of tests: 2023-07-28T00:00:00Z.
pub const NOW: DateTime<Utc> = match DateTime::from_timestamp(1_690_502_400, 0) {
    Some(instant) => instant,
    None => panic!("a valid instant"),
};

/// Parses a version in test notation: `1.27.1` supported, `1.27.1?` preview, `1.26.4~` deprecated, `1.25.3!` deprecated
/// and expiring exactly at [`NOW`].
pub fn expirable(text: &str) -> ExpirableVersion {
    let (version, classification, expires) = match text.as_bytes().last() {
        Some(b'?') => (&text[..text.len() - 1], "preview", false),
        Some(b'~') => (&text[..text.len() - 1], "deprecated", false),
        Some(b'!') => (&text[..text.len() - 1], "deprecated", true),
        _ => (text, "supported", false),
    };
    ExpirableVersion {
        version: version.to_owned(),
        expiration_date: expires.then(|| NOW.into()),
        classification: Some(classification.to_owned()),
        ..ExpirableVersion::default()
    }
}
