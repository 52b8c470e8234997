// SPDX-License-Identifier: Apache-2.0
//! CloudProfile, NamespacedCloudProfile, Shoots and the times of their changes, derived from a seed.

use api::core::{
    CloudProfile, CloudProfileReference, CloudProfileSpec, ExpirableVersion, Hibernation, HibernationSchedule,
    MachineImage, MachineImageVersion, MaintenanceTimeWindow, NamespacedCloudProfile, Shoot, Worker, WorkerKubernetes,
};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Random;
use domain::release::{Release, Releases};
use domain::skew::{GardenerVersion, releases};
use domain::validation::shoot::Gates;
use domain::versions::Version;
use domain::worker_pool::HashVersion;
use landscape::preset::{self, Preset};
use serde_json::{Value, json};

/// Number of Shoots of a world.
pub(crate) const SHOOTS: u64 = 4;

/// Name of the NamespacedCloudProfile.
pub(crate) const EXTENDED: &str = "extended";

/// Gardener minors of worlds.
const GARDENERS: [u64; 9] = [120, 121, 124, 127, 133, 137, 142, 147, 149];
/// Number of Kubernetes minors that a CloudProfile offers: the newest that the release of Gardener supports.
const MINORS: u64 = 5;
const PATCHES: u64 = 3;
const EDITS: u64 = 3;

/// Windows that are closed from eleven to three o'clock: short and long, over midnight, in other zones, with an end
/// that the cut moves over midnight.
const WINDOWS: [(&str, &str); 9] = [
    ("150000+0000", "160000+0000"),
    ("180000+0000", "183000+0000"),
    ("233000+0000", "003000+0000"),
    ("220000+0000", "040000+0000"),
    ("010000+0200", "023000+0200"),
    ("040000-0500", "050000-0500"),
    ("001000+0000", "011000+0000"),
    ("234500+0000", "001500+0000"),
    ("060000+0000", "110000+0000"),
];

/// Releases that reject a supported version of a minor that has an unclassified one.
const UNCLASSIFIED_CLASHES: Releases = Releases::between(121, 122);
/// Releases that do not complete the rotation of the encryption key of etcd on their own.
const ENCRYPTION_KEYS_IN_TWO_STEPS: Releases = Releases::until(128);
/// Releases that rotate the encryption key of etcd on their own unless a Shoot disables it.
const AUTOMATIC_ROTATION: Releases = Releases::since(141);
/// Releases in which pools have the second form of the hash.
const SECOND_FORM: Releases = Releases::since(126);

/// Operations that a hibernated Shoot accepts, then others, then those that need a feature gate.
const OPERATIONS: [&str; 10] = [
    "reconcile",
    "rotate-ssh-keypair",
    "rotate-observability-credentials",
    "rotate-ca-start",
    "rotate-serviceaccount-key-start",
    "rotate-credentials-start",
    "rotate-etcd-encryption-key-start",
    "rotate-ca-start",
    "rotate-ca-start-without-workers-rollout",
    "rotate-credentials-start-without-workers-rollout",
];

/// A change from outside.
pub(crate) struct Event {
    pub(crate) at: DateTime<Utc>,
    pub(crate) what: What,
}

/// Kind of change; the number distinguishes changes of the same object.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// The CloudProfile changes.
    Profile(u64),
    /// The NamespacedCloudProfile changes.
    Namespaced(u64),
    /// A user edits a Shoot.
    Shoot { index: u64, number: u64 },
}

/// The name of a Shoot.
pub(crate) fn name(index: u64) -> String {
    format!("s{index}")
}

/// A world, fully determined by its seed.
pub(crate) struct World {
    random: Random,
    seed: u64,
    start: DateTime<Utc>,
    gardener: GardenerVersion,
    /// Oldest offered Kubernetes minor.
    first_minor: u64,
}

impl World {
    pub(crate) fn new(seed: u64, start: DateTime<Utc>) -> Self {
        let random = Random::new(seed);
        let choices = GARDENERS.len() as u64;
        let gardener = usize::try_from(seed % choices).expect("small");
        let gardener = GardenerVersion::release(1, GARDENERS[gardener], 0);
        let first_minor = releases::kubernetes_minors(&gardener).1 + 1 - MINORS;
        Self { random, seed, start, gardener, first_minor }
    }

    /// Version of Gardener.
    pub(crate) const fn gardener(&self) -> &GardenerVersion {
        &self.gardener
    }

    pub(crate) fn release(&self) -> Release {
        self.gardener.served_release()
    }

    /// Gates of the world: every other world enables rotation without roll-out of workers; some releases always have
    /// it.
    pub(crate) fn gates(&self) -> Gates {
        let is_set = (self.seed % 2 == 1).then_some(true);
        let waits = releases::gate_is_on(&self.gardener, "CredentialsRotationWithoutWorkersRollout", is_set);
        Gates { credentials_rotation_without_workers_rollout: waits, release: self.release(), ..Gates::default() }
    }

    /// Form in which pools are hashed.
    pub(crate) fn form(&self) -> HashVersion {
        if SECOND_FORM.contain(self.release()) { HashVersion::V2 } else { HashVersion::V1 }
    }

    pub(crate) fn below(&self, bound: u64, what: &str, ordinal: u64) -> u64 {
        self.random.below(bound, "forecast-test", what, ordinal)
    }

    fn hours(&self, bound: u64, what: &str, ordinal: u64) -> TimeDelta {
        TimeDelta::hours(i64::try_from(self.below(bound, what, ordinal)).expect("small"))
    }

    pub(crate) fn pick<'a, T>(&self, choices: &'a [T], what: &str, ordinal: u64) -> &'a T {
        let index = self.below(choices.len() as u64, what, ordinal);
        &choices[usize::try_from(index).expect("small")]
    }

    /// A date within the 60 days, or none.
    fn date(&self, what: &str, ordinal: u64) -> Option<DateTime<Utc>> {
        let hours = self.hours(75 * 24, what, ordinal);
        (hours < TimeDelta::days(58)).then(|| self.start + TimeDelta::days(1) + hours)
    }

    fn strategy(&self, ordinal: u64) -> String {
        (*self.pick(&["patch", "minor", "major"], "strategy", ordinal)).to_owned()
    }

    /// All changes from outside, ordered by time. Shoots are edited while their windows are closed.
    pub(crate) fn events(&self) -> Vec<Event> {
        let start = self.start + TimeDelta::days(1);
        let minutes =
            |what, ordinal| TimeDelta::minutes(i64::try_from(self.below(55 * 24 * 60, what, ordinal)).expect("small"));
        let profile =
            (0..4).map(|number| Event { at: start + minutes("changed-at", number), what: What::Profile(number) });
        let own =
            (0..2).map(|number| Event { at: start + minutes("overridden-at", number), what: What::Namespaced(number) });
        let mut events: Vec<Event> = profile.chain(own).collect();
        for index in 0..SHOOTS {
            for number in 0..self.below(EDITS + 1, "edits", index) {
                let day = i64::try_from(self.below(54, "edited-on", index * 10 + number)).expect("small");
                let minute = 10 + 20 * i64::try_from(index).expect("small");
                let at = start + TimeDelta::days(day) + TimeDelta::minutes(minute);
                events.push(Event { at, what: What::Shoot { index, number } });
            }
        }
        events.sort_by_key(|event| event.at);
        events
    }

    /// The initial CloudProfile.
    pub(crate) fn profile(&self, mut profile: CloudProfile) -> CloudProfile {
        profile.spec.kubernetes.versions = (0..MINORS * PATCHES)
            .filter(|index| index % PATCHES == 0 || self.below(5, "left-out", *index) > 0)
            .map(|index| {
                let version = format!("1.{}.{}", self.first_minor + index / PATCHES, 1 + index % PATCHES);
                let classification = match (index % PATCHES, self.below(5, "kubernetes-class", index)) {
                    (0, 0 | 1) if !UNCLASSIFIED_CLASHES.contain(self.release()) => Some("supported"),
                    (1.., 0) => Some("preview"),
                    (_, 1) => Some("deprecated"),
                    _ => None,
                };
                ExpirableVersion {
                    version,
                    expiration_date: self.date("kubernetes", index).map(Time::from_instant),
                    classification: classification.map(str::to_owned),
                    lifecycle: Vec::new(),
                }
            })
            .collect();
        keep_latest(&mut profile.spec);
        let like = profile.spec.machine_images[0].versions[0].clone();
        let images = ["gardenlinux", "suse-chost"].into_iter().zip(0..);
        profile.spec.machine_images = images.map(|(name, image)| self.image(name, image, &like)).collect();
        profile
    }

    fn image(&self, name: &str, image: u64, like: &MachineImageVersion) -> MachineImage {
        let of = |index: u64| {
            let ordinal = image * 100 + index;
            let classification = match self.below(6, "image-class", ordinal) {
                0 if index > 0 => Some("preview".to_owned()),
                1 => Some("deprecated".to_owned()),
                _ => None,
            };
            let is_constrained = index > 0 && self.below(6, "constrained", ordinal) == 0;
            let constraint = || {
                let (operator, minor) = self.pick(&[("< 1.", 2), (">= 1.", 1), ("~1.", 3)], "constraint", ordinal);
                format!("{operator}{}", self.first_minor + minor)
            };
            MachineImageVersion {
                version: format!("{}.{}.{}", 1 + index / 6, index / 2 % 3, index % 2),
                expiration_date: self.date("image", ordinal).map(Time::from_instant),
                classification,
                kubelet_version_constraint: is_constrained.then(constraint),
                ..like.clone()
            }
        };
        let is_there = |index: &u64| *index == 0 || self.below(4, "image-left-out", image * 100 + index) > 0;
        MachineImage {
            name: name.to_owned(),
            update_strategy: Some(self.strategy(image)),
            versions: (0..10).filter(is_there).map(of).collect(),
        }
    }

    /// A profile that extends or shortens the lifetime of some versions of its parent.
    pub(crate) fn namespaced(&self, parent: &CloudProfile) -> NamespacedCloudProfile {
        let mut profile: NamespacedCloudProfile = serde_json::from_value(json!({
            "metadata": {"name": EXTENDED, "namespace": preset::NAMESPACE},
            "spec": {"parent": {"kind": "CloudProfile", "name": parent.metadata.name}},
        }))
        .expect("a NamespacedCloudProfile");
        self.overrides(&mut profile, parent, 0, |ordinal| self.date("overridden-until", ordinal));
        profile
    }

    /// The NamespacedCloudProfile after a change at an instant.
    pub(crate) fn changed_namespaced(
        &self,
        number: u64,
        mut profile: NamespacedCloudProfile,
        parent: &CloudProfile,
        at: DateTime<Utc>,
    ) -> NamespacedCloudProfile {
        let ordinal = 1000 * (1 + number);
        self.overrides(&mut profile, parent, ordinal, |ordinal| {
            Some(at + TimeDelta::hours(1) + self.hours(30 * 24, "overridden-until", ordinal))
        });
        profile
    }

    /// Overrides the dates of some versions of the parent, in addition to existing overrides.
    fn overrides(
        &self,
        profile: &mut NamespacedCloudProfile,
        parent: &CloudProfile,
        ordinal: u64,
        date: impl Fn(u64) -> Option<DateTime<Utc>>,
    ) {
        let mut spec = serde_json::to_value(&profile.spec).expect("a tree");
        let latest = latest(&parent.spec);
        let versions = parent.spec.kubernetes.versions.iter().map(|entry| &entry.version);
        for (version, index) in versions.filter(|version| Some(*version) != latest.as_ref()).zip(ordinal..) {
            if self.below(3, "overridden", index) == 0
                && let Some(date) = date(index)
            {
                set(&mut spec["kubernetes"]["versions"], "version", version, date);
            }
        }
        for (image, index) in parent.spec.machine_images.iter().zip((ordinal + 100..).step_by(100)) {
            for (version, index) in image.versions.iter().map(|entry| &entry.version).zip(index..) {
                if self.below(5, "overridden", index) == 0
                    && let Some(date) = date(index)
                {
                    let entry = entry(&mut spec["machineImages"], "name", &image.name);
                    set(&mut entry["versions"], "version", version, date);
                }
            }
        }
        profile.spec = serde_json::from_value(spec).expect("a NamespacedCloudProfile");
    }

    /// The CloudProfile after a change at an instant.
    pub(crate) fn changed(&self, number: u64, mut profile: CloudProfile, at: DateTime<Utc>) -> CloudProfile {
        let soon = Time::from_instant(at + self.hours(100, "soon", number));
        let minor = self.first_minor + self.below(MINORS, "changed-minor", number);
        let spec = &mut profile.spec;
        let list = &mut spec.kubernetes.versions;
        let is_of_minor = |entry: &ExpirableVersion| entry.version.starts_with(&format!("1.{minor}."));
        let of_minor = |list: &mut Vec<ExpirableVersion>, change: &dyn Fn(&mut ExpirableVersion)| {
            list.iter_mut().filter(|entry| is_of_minor(entry)).for_each(change);
        };
        match self.below(8, "change", number) {
            0 => of_minor(list, &|entry| entry.expiration_date = Some(soon)),
            1 => list.retain(|entry| !is_of_minor(entry)),
            2 => list.push(ExpirableVersion { version: format!("1.{minor}.{}", 7 + number), ..Default::default() }),
            3 => {
                let class = *self.pick(&["preview", "deprecated"], "reclassified", number);
                of_minor(list, &|entry| entry.classification = Some(class.to_owned()));
            }
            4 => {
                let image = &mut spec.machine_images[0];
                image.update_strategy = Some(self.strategy(10 + number));
                let (major, minor) = (1 + self.below(3, "new-major", number), self.below(3, "new-minor", number));
                let version = format!("{major}.{minor}.9");
                if !image.versions.iter().any(|entry| entry.version == version) {
                    let like = MachineImageVersion { expiration_date: None, ..image.versions[0].clone() };
                    image.versions.push(MachineImageVersion { version, ..like });
                }
            }
            5 => spec.machine_images.iter_mut().for_each(|image| {
                let half = image.versions.len() / 2;
                image.versions[..half].iter_mut().for_each(|entry| entry.expiration_date = Some(soon));
            }),
            6 => spec.machine_images.iter_mut().for_each(|image| {
                let (operator, minor) = self.pick(&[("< 1.", 3), (">= 1.", 1)], "new-constraint", number);
                let entry = image.versions.last_mut().expect("there are some");
                entry.kubelet_version_constraint = Some(format!("{operator}{}", self.first_minor + minor));
            }),
            _ => list.iter_mut().for_each(|entry| entry.expiration_date = None),
        }
        keep_latest(spec);
        profile
    }

    /// Creates a Shoot: without workers, or with small pools.
    pub(crate) fn shoot(&self, index: u64, profile: &CloudProfile) -> Shoot {
        let mut shoot = Preset::of(&self.gardener).shoot(&name(index));
        let minor = self.first_minor + self.below(MINORS - 2, "minor", index);
        if minor < 34 && self.below(2, "secret-binding", index) == 0 {
            shoot.spec.credentials_binding_name = None;
            shoot.spec.secret_binding_name = Some("local".to_owned());
        }
        shoot.spec.kubernetes.version = format!("1.{minor}.1");
        if self.below(3, "extended", index) == 0 {
            shoot.spec.cloud_profile = Some(reference(true));
        }
        let maintenance = shoot.spec.maintenance.get_or_insert_default();
        maintenance.time_window = Some(window(self.pick(&WINDOWS, "window", index)));
        maintenance.confine_spec_update_rollout = (self.below(3, "confined", index) == 0).then_some(true);
        let auto_update = maintenance.auto_update.get_or_insert_default();
        auto_update.kubernetes_version = self.below(2, "auto-kubernetes", index) == 0;
        auto_update.machine_image_version = Some(self.below(2, "auto-image", index) == 0);
        if index == 0 {
            auto_update.machine_image_version = None;
        }
        // Automatic rotations are covered by other tests.
        maintenance.auto_rotation = serde_json::from_value(if AUTOMATIC_ROTATION.contain(self.release()) {
            json!({"credentials": {"etcdEncryptionKey": {"rotationPeriod": "0s"}}})
        } else {
            Value::Null
        })
        .expect("an automatic rotation");
        shoot.spec.hibernation = self.hibernation(index);
        if minor < 31 {
            self.configure_before_131(&mut shoot, index);
        } else {
            self.configure_since_131(&mut shoot, index, minor);
        }
        if index == 0 {
            shoot.spec.provider.workers.clear();
            shoot.spec.networking = None;
            shoot.spec.secret_binding_name = None;
            shoot.spec.credentials_binding_name = None;
            shoot.spec.kubernetes.kubelet = None;
            return shoot;
        }
        let like = shoot.spec.provider.workers[0].clone();
        let pools = 0..=self.below(2, "pools", index);
        shoot.spec.provider.workers = pools.map(|pool| self.worker(&like, minor, index * 10 + pool, profile)).collect();
        shoot
    }

    fn worker(&self, like: &Worker, minor: u64, ordinal: u64, profile: &CloudProfile) -> Worker {
        let mut worker = like.clone();
        worker.name = format!("w{}", ordinal % 10);
        (worker.minimum, worker.maximum) = (1, 1);
        let offered = self.pick(&profile.spec.machine_images, "of-image", ordinal);
        let image = worker.machine.image.get_or_insert_default();
        image.name.clone_from(&offered.name);
        image.version = Some(offered.versions[0].version.clone());
        if self.below(2, "own-version", ordinal) == 0 {
            // A pool may have an older version.
            let behind = minor.saturating_sub(self.below(2, "behind", ordinal)).max(self.first_minor);
            worker.kubernetes = Some(WorkerKubernetes { version: Some(format!("1.{behind}.1")), kubelet: None });
        }
        worker
    }

    /// Returns the hibernation of a Shoot: some Shoots are created hibernated, and some hibernate by schedule.
    fn hibernation(&self, index: u64) -> Option<Hibernation> {
        let schedule = |start: &str, end: &str, zone: &str| HibernationSchedule {
            start: Some(start.to_owned()),
            end: Some(end.to_owned()),
            location: Some(zone.to_owned()),
        };
        let by = |schedule| Some(Hibernation { enabled: None, schedules: vec![schedule] });
        match self.below(6, "sleeps", index) {
            0 => Some(Hibernation { enabled: Some(true), schedules: Vec::new() }),
            1 => by(schedule("0 17 * * 1,2,3,4,5", "0 8 * * 1,2,3,4,5", "Europe/Berlin")),
            2 => by(schedule("30 22 * * *", "15 5 * * *", "America/New_York")),
            _ => None,
        }
    }

    /// Sets fields that Kubernetes 1.33 and 1.35 reject and the maintenance of newer releases removes.
    fn configure_since_131(&self, shoot: &mut Shoot, index: u64, minor: u64) {
        let kubernetes = match self.below(6, "configured", index) {
            0 if minor < 33 && index > 0 => json!({
                "kubeControllerManager": {"podEvictionTimeout": "5m"},
                "clusterAutoscaler": {"maxEmptyBulkDelete": 5},
            }),
            0 | 1 if minor < 35 => json!({
                "kubeAPIServer": {"enableAnonymousAuthentication": true, "watchCacheSizes": {"default": 100}},
            }),
            2 if minor < 35 && index > 0 => json!({"kubeScheduler": {"kubeMaxPDVols": "20"}}),
            3 if minor < 35 && index > 0 => {
                shoot.spec.addons =
                    Some(serde_json::from_value(json!({"nginxIngress": {"enabled": true}})).expect("addons"));
                json!({})
            }
            _ => json!({}),
        };
        let mut tree = serde_json::to_value(&shoot.spec.kubernetes).expect("a tree");
        for (field, value) in kubernetes.as_object().expect("fields") {
            tree[field] = value.clone();
        }
        shoot.spec.kubernetes = serde_json::from_value(tree).expect("a configuration");
    }

    /// Sets fields that Kubernetes 1.31 and 1.32 reject and maintenance removes.
    fn configure_before_131(&self, shoot: &mut Shoot, index: u64) {
        let kubernetes = &mut shoot.spec.kubernetes;
        let (kubelet, server) = match self.below(6, "configured", index) {
            0 => (json!({"systemReserved": {"memory": "1Gi"}, "kubeReserved": {"memory": "1Gi", "cpu": "80m"}}), None),
            1 => (Value::Null, Some(json!({"admissionPlugins": [{"name": "PersistentVolumeLabel"}]}))),
            2 => (Value::Null, Some(json!({"featureGates": {"KMSv2": true, "APIPriorityAndFairness": true}}))),
            3 => {
                let oidc = json!({"clientID": "id", "issuerURL": "https://issuer.example.org"});
                (json!({"featureGates": {"CloudDualStackNodeIPs": true}}), Some(json!({"oidcConfig": oidc})))
            }
            _ => (Value::Null, None),
        };
        kubernetes.kubelet = serde_json::from_value(kubelet).expect("a kubelet configuration");
        kubernetes.kube_api_server =
            server.map(|server| serde_json::from_value(server).expect("an API server configuration"));
    }

    /// Operation that is pending for the first maintenance of a Shoot.
    pub(crate) fn operation(&self, index: u64) -> Option<&'static str> {
        let is_asleep = self.hibernation(index).is_some_and(|hibernation| hibernation.enabled == Some(true));
        (self.below(3, "has-operation", index) == 0).then(|| self.some_operation(is_asleep, index))
    }

    /// An operation that can begin.
    pub(crate) fn some_operation(&self, is_asleep: bool, ordinal: u64) -> &'static str {
        let may_wait = self.gates().credentials_rotation_without_workers_rollout;
        let choices = if is_asleep { &OPERATIONS[..4] } else { &OPERATIONS[..if may_wait { 10 } else { 8 }] };
        let in_two_steps = ENCRYPTION_KEYS_IN_TWO_STEPS.contain(self.release());
        let rotates_etcd = |operation: &str| operation.contains("etcd") || operation.starts_with("rotate-credentials");
        let choices: Vec<&'static str> =
            choices.iter().copied().filter(|operation| in_two_steps || !rotates_etcd(operation)).collect();
        self.pick::<&'static str>(&choices, "operation", ordinal)
    }
}

/// A reference to the NamespacedCloudProfile, or to the CloudProfile.
pub(crate) fn reference(is_extended: bool) -> CloudProfileReference {
    let (kind, name) = if is_extended { ("NamespacedCloudProfile", EXTENDED) } else { ("CloudProfile", "local") };
    CloudProfileReference { kind: kind.to_owned(), name: name.to_owned() }
}

/// A maintenance time window.
pub(crate) fn window((begin, end): &(&str, &str)) -> MaintenanceTimeWindow {
    MaintenanceTimeWindow { begin: (*begin).to_owned(), end: (*end).to_owned() }
}

/// Returns the entry of a list whose key has a value; adds it if it is missing.
fn entry<'a>(list: &'a mut Value, key: &str, value: &str) -> &'a mut Value {
    if list.is_null() {
        *list = json!([]);
    }
    let entries = list.as_array_mut().expect("a list");
    let position = entries.iter().position(|entry| entry[key] == value).unwrap_or_else(|| {
        entries.push(json!({ key: value }));
        entries.len() - 1
    });
    &mut entries[position]
}

fn set(list: &mut Value, key: &str, value: &str, date: DateTime<Utc>) {
    entry(list, key, value)["expirationDate"] = json!(Time::from_instant(date));
}

fn latest(spec: &CloudProfileSpec) -> Option<String> {
    let versions = spec.kubernetes.versions.iter().map(|entry| entry.version.clone());
    versions.max_by_key(|version| Version::parse(version).ok())
}

/// The latest version must not expire.
fn keep_latest(spec: &mut CloudProfileSpec) {
    let latest = latest(spec);
    for entry in spec.kubernetes.versions.iter_mut().filter(|entry| Some(&entry.version) == latest.as_ref()) {
        entry.expiration_date = None;
    }
}
