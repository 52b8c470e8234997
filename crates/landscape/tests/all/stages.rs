// SPDX-License-Identifier: Apache-2.0
//! A CloudProfile with four stages over a year, at v1.149: one second before each start, at it, and one second after
//! it, `versions`, `CloudProfile.status`, creations of Shoots and maintenance agree with the one function of states,
//! and the forecast from the beginning is correct.

use std::collections::BTreeSet;

use api::core::{CloudProfile, Shoot};
use api::security::CredentialsBinding;
use chrono::{DateTime, TimeDelta, Utc};
use clock::Random;
use controller::{Api, Patch};
use domain::profile::Profile;
use domain::release::Release;
use domain::validation::shoot::Gates;
use domain::versions::{Moment, State};
use eventlog::Verb;
use landscape::{Options, preset, wait};
use ops::forecast::Forecast;
use ops::inventory::Inventory;
use serde_json::{Value, json};

use crate::support::{Audited, instant};

const START: &str = "2026-06-01T00:00:00Z";
const END: &str = "2027-05-31T00:00:00Z";
const RELEASE: Release = Release(149);

/// Stages of Kubernetes 1.34.3, and the resolution of "1.34" from each on.
const KUBERNETES: [(&str, State, &str); 4] = [
    ("2026-07-01T10:00:00Z", State::Preview, "1.34.2"),
    ("2026-09-01T10:00:00Z", State::Supported, "1.34.3"),
    ("2026-12-01T10:00:00Z", State::Deprecated, "none"),
    ("2027-03-01T10:00:00Z", State::Expired, "none"),
];

/// Stages of image gardenlinux 1.1.0, and the resolution of "gardenlinux 1" from each on.
const IMAGE: [(&str, State, &str); 4] = [
    ("2026-07-02T10:00:00Z", State::Preview, "1.0.0"),
    ("2026-09-02T10:00:00Z", State::Supported, "1.1.0"),
    ("2026-12-02T10:00:00Z", State::Deprecated, "1.1.0"),
    ("2027-03-02T10:00:00Z", State::Expired, "1.1.0"),
];

fn lifecycle(stages: &[(&str, State, &str)]) -> Vec<Value> {
    stages.iter().map(|(start, state, _)| json!({ "classification": state.to_string(), "startTime": start })).collect()
}

fn profile() -> CloudProfile {
    let mut profile = preset::cloud_profile();
    let supported_until = |start: &str| json!([{ "classification": "supported" }, { "classification": "deprecated", "startTime": start }]);
    let of_image = |version: &str, lifecycle: Value| json!({ "version": version, "lifecycle": lifecycle, "architectures": ["amd64"], "cri": [{ "name": "containerd" }] });
    let supported = || json!([{ "classification": "supported" }]);
    profile.spec.kubernetes.versions = serde_json::from_value(json!([
        { "version": "1.35.0", "lifecycle": supported() },
        { "version": "1.34.3", "lifecycle": lifecycle(&KUBERNETES) },
        { "version": "1.34.2", "lifecycle": supported_until(KUBERNETES[1].0) },
    ]))
    .expect("versions");
    profile.spec.machine_images =
        serde_json::from_value(json!([{ "name": "gardenlinux", "updateStrategy": "minor", "versions": [
        of_image("2.0.0", supported()),
        of_image("1.1.0", json!(lifecycle(&IMAGE))),
        of_image("1.0.0", supported_until(IMAGE[1].0)),
    ] }]))
        .expect("images");
    profile
}

/// A Shoot with a pool; `auto`: automatic updates of Kubernetes and of the image.
fn shoot(name: &str, version: &str, image: &str, auto: (bool, bool)) -> Shoot {
    let mut shoot = preset::shoot(name);
    shoot.spec.secret_binding_name = None;
    shoot.spec.credentials_binding_name = Some("local".to_owned());
    version.clone_into(&mut shoot.spec.kubernetes.version);
    let maintenance = json!({
        "autoUpdate": { "kubernetesVersion": auto.0, "machineImageVersion": auto.1 },
        "timeWindow": { "begin": "220000+0000", "end": "230000+0000" },
        // Without seeds no Shoot is created, so nothing can be rotated.
        "autoRotation": { "credentials": { "etcdEncryptionKey": { "rotationPeriod": "0s" } } },
    });
    shoot.spec.maintenance = serde_json::from_value(maintenance).expect("maintenance");
    let of_pool = shoot.spec.provider.workers[0].machine.image.get_or_insert_default();
    (of_pool.name, of_pool.version) = ("gardenlinux".to_owned(), Some(image.to_owned()));
    shoot
}

/// A year of a landscape without seeds.
struct Year {
    audited: Audited,
    profile: CloudProfile,
}

impl Year {
    fn start() -> Self {
        let mut audited = Audited::start(Options {
            profile: Profile::Upstream,
            seeds: Vec::new(),
            gardener_version: "v1.149.0".to_owned(),
            kubernetes_version: "1.35.0".to_owned(),
            gates: Gates { version_classification_lifecycle: true, release: RELEASE, ..Gates::default() },
            ..Options::new(1, instant(START))
        });
        let admin = audited.admin.clone();
        let profile = profile();
        let profiles = Api::all(&admin, "garden");
        let mut stored = audited.run(profiles.create(&profile)).expect("the gate is on");
        // As upstream, a creation drops Kubernetes versions that are not available yet; an update keeps them.
        stored.spec = profile.spec.clone();
        audited.run(profiles.replace(&stored)).expect("a valid update");
        audited.run(Api::all(&admin, "garden").create(&preset::project())).expect("a Project");
        let projects = Api::<api::core::Project>::all(&admin, "garden");
        audited.until_done(START, wait::for_object(&projects, "demo", |project| project.status.phase == "Ready"));
        audited.run(Api::namespaced(&admin, "garden", preset::NAMESPACE).create(&preset::secret())).expect("a Secret");
        let binding: CredentialsBinding = serde_json::from_value(json!({
            "metadata": { "name": "local", "namespace": preset::NAMESPACE },
            "provider": { "type": "local" },
            "credentialsRef": { "apiVersion": "v1", "kind": "Secret", "name": "local", "namespace": preset::NAMESPACE },
        }))
        .expect("a binding");
        audited.run(Api::namespaced(&admin, "garden", preset::NAMESPACE).create(&binding)).expect("a binding");
        Self { audited, profile }
    }

    fn shoots(&self) -> Api<Shoot> {
        Api::namespaced(&self.audited.admin, "garden", preset::NAMESPACE)
    }

    fn create(&mut self, shoot: &Shoot) {
        let shoots = self.shoots();
        self.audited.run(shoots.create(shoot)).expect("the Shoot is valid");
    }

    /// Versions of Kubernetes and of the image that a new Shoot would get, or the rejection.
    fn tried(&mut self, version: &str, image: &str) -> Result<(String, String), String> {
        let path = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots?dryRun=All";
        let mut body = serde_json::to_value(shoot("tried", version, image, (false, false))).expect("JSON");
        body["apiVersion"] = json!("core.gardener.cloud/v1beta1");
        body["kind"] = json!("Shoot");
        let transport = self.audited.admin.transport.clone();
        let created = self.audited.run(ops::read::create(&transport, path, &[], &body));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        created.map_err(|error| error.to_string()).map(|tree| {
            let image = &tree["spec"]["provider"]["workers"][0]["machine"]["image"]["version"];
            (text(&tree["spec"]["kubernetes"]["version"]), text(image))
        })
    }

    /// Triggers maintenance of a Shoot; returns its versions afterwards.
    fn maintained(&mut self, name: &str) -> (String, String) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "gardener.cloud/operation": "maintain" } } }));
        let shoots = self.shoots();
        self.audited.run(shoots.patch(name, &patch)).expect("an annotation");
        self.audited.landscape.settle().expect("maintenance is done");
        versions(&self.audited.shoot(name))
    }

    fn inventory(&mut self) -> Inventory {
        let admin = self.audited.admin.clone();
        self.audited.run(Inventory::of_landscape(&admin, RELEASE)).expect("an inventory")
    }

    /// States of Kubernetes 1.34.3 and gardenlinux 1.1.0, which must be the same everywhere.
    fn states(&mut self) -> (State, State) {
        let now = self.audited.landscape.now();
        let moment = Moment::new(now, RELEASE);
        let spec = &self.profile.spec;
        let expected = (moment.state(&spec.kubernetes.versions[1]), moment.state(&spec.machine_images[0].versions[1]));
        let inventory = self.inventory();
        let offered = ops::versions::offered(&inventory, None, now, Profile::Upstream).expect("a profile").rows;
        let shown = |version: &str| offered.iter().find(|row| row.version == version).expect("a row").state;
        assert_eq!((shown("1.34.3"), shown("1.1.0")), expected, "versions at {now}");
        let status = inventory.cloud_profiles[0].status.clone();
        let kubernetes = status.kubernetes.expect("a status").versions;
        let images = &status.machine_images[0].versions;
        let told = [&kubernetes[1].classification, &images[1].classification];
        assert_eq!(told, [&expected.0.to_string(), &expected.1.to_string()], "status at {now}");
        // A version is accepted while it is neither unavailable nor expired.
        let full = self.tried("1.34.3", "2.0.0");
        assert_eq!(full.is_ok(), expected.0.is_active(), "{now}: {full:?}");
        let full = self.tried("1.35.0", "1.1.0");
        assert_eq!(full.is_ok(), expected.1.is_active(), "{now}: {full:?}");
        if let Err(refused) = full {
            assert!(refused.contains("spec.provider.workers[0].machine.image"), "{refused}");
        }
        expected
    }

    /// Resolution of "1.34", or `none`.
    fn kubernetes_default(&mut self) -> String {
        self.tried("1.34", "2.0.0").map_or_else(
            |refused| {
                let text =
                    "spec.kubernetes.version: Invalid value: \"1.34\": couldn't find a suitable version for 1.34";
                assert!(refused.contains(text), "{refused}");
                "none".to_owned()
            },
            |(version, _)| version,
        )
    }

    /// Resolution of "gardenlinux 1". An expired version is chosen and then rejected.
    fn image_default(&mut self) -> String {
        match self.tried("1.35.0", "1") {
            Ok((_, image)) => image,
            Err(refused) => {
                let version = refused.split("gardenlinux:").nth(1).and_then(|rest| rest.split('\'').next());
                version.unwrap_or(&refused).to_owned()
            }
        }
    }
}

fn versions(shoot: &Shoot) -> (String, String) {
    let image = shoot.spec.provider.workers[0].machine.image.clone().and_then(|image| image.version);
    (shoot.spec.kubernetes.version.clone(), image.unwrap_or_default())
}

/// A change of a version: Shoot, second, old and new version.
type Change = (String, DateTime<Utc>, String, String);

fn cut(time: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp(time.timestamp(), 0).expect("in range")
}

/// Changes in the forecast of a Shoot.
fn foretold(inventory: &Inventory, name: &str, from: &str) -> BTreeSet<Change> {
    let forecast = Forecast::of(inventory, instant(from), instant(END), &Random::new(1));
    let rows = forecast.rows.into_iter().filter(|row| row.shoot == format!("{}/{name}", preset::NAMESPACE));
    let rows = rows.filter(|row| row.change.failure.is_none());
    rows.filter_map(|row| Some((name.to_owned(), cut(row.change.time), row.change.from?, row.change.to?))).collect()
}

/// Changes of the named Shoots in the log.
fn told(audited: &Audited, names: &[&str]) -> BTreeSet<Change> {
    let mut changes = BTreeSet::new();
    for name in names {
        let mut before: Option<(String, String)> = None;
        for entry in audited.entries() {
            let is_own = &*entry.key.resource == "core.gardener.cloud/shoots" && &*entry.key.name == *name;
            if !is_own || entry.verb == Verb::Delete {
                continue;
            }
            let object: Shoot = serde_json::from_slice(&entry.object.parts.concat()).expect("a Shoot");
            let now = versions(&object);
            if let Some(before) = before.replace(now.clone()) {
                for (from, to) in [(before.0, now.0), (before.1, now.1)].into_iter().filter(|(from, to)| from != to) {
                    changes.insert(((*name).to_owned(), cut(entry.time), from, to));
                }
            }
        }
    }
    changes
}

#[test]
fn four_stages_over_a_year_mean_the_same_everywhere() {
    let mut year = Year::start();
    // As upstream, maintenance skips previews, but not unavailable versions: one of Kubernetes is used at once, and
    // gardener-apiserver rejects one of an image.
    year.create(&shoot("early", "1.34.2", "1.0.0", (true, false)));
    year.create(&shoot("barred", "1.34.2", "1.0.0", (false, true)));
    let inventory = year.inventory();
    let mut expected = foretold(&inventory, "early", START);
    let (_, first, _, to) = expected.first().expect("a change");
    assert_eq!((to.as_str(), first < &instant("2026-06-02T00:00:00Z")), ("1.34.3", true), "{expected:?}");
    expected.extend(foretold(&inventory, "barred", START));
    assert_eq!(expected.len(), 4, "{expected:?}");

    let second = TimeDelta::seconds(1);
    let (mut kubernetes, mut image) = (State::Unavailable, State::Unavailable);
    // As upstream, an image version that is not available yet is chosen, and then rejected.
    let (mut kubernetes_default, mut image_default) = ("1.34.2", "1.1.0");
    for (index, (of_kubernetes, of_image)) in KUBERNETES.into_iter().zip(IMAGE).enumerate() {
        let (start, state, default) = of_kubernetes;
        for before in [instant(start) - second, instant(start)] {
            year.audited.until(&before.to_rfc3339());
            assert_eq!(year.states(), (kubernetes, image), "{before}");
            assert_eq!(year.kubernetes_default(), kubernetes_default, "{before}");
        }
        // Maintenance at the start itself has no effect yet.
        match state {
            State::Supported => assert_eq!(year.maintained("asked").0, "1.34.2"),
            State::Expired => assert_eq!(year.maintained("pushed").0, "1.34.3"),
            _ => {}
        }
        year.audited.until(&(instant(start) + second).to_rfc3339());
        (kubernetes, kubernetes_default) = (state, default);
        assert_eq!(year.states(), (kubernetes, image), "after {start}");
        assert_eq!(year.kubernetes_default(), kubernetes_default, "after {start}");
        match state {
            State::Supported => assert_eq!(year.maintained("asked").0, "1.34.3"),
            State::Expired => assert_eq!(year.maintained("pushed").0, "1.35.0"),
            _ => {}
        }

        let (start, state, default) = of_image;
        for before in [instant(start) - second, instant(start)] {
            year.audited.until(&before.to_rfc3339());
            assert_eq!(year.states(), (kubernetes, image), "{before}");
            assert_eq!(year.image_default(), image_default, "{before}");
        }
        match state {
            State::Supported => assert_eq!(year.maintained("asked").1, "1.0.0"),
            State::Expired => assert_eq!(year.maintained("pushed").1, "1.1.0"),
            _ => {}
        }
        year.audited.until(&(instant(start) + second).to_rfc3339());
        (image, image_default) = (state, default);
        assert_eq!(year.states(), (kubernetes, image), "after {start}");
        assert_eq!(year.image_default(), image_default, "after {start}");
        match state {
            State::Supported => assert_eq!(year.maintained("asked").1, "1.1.0"),
            State::Expired => assert_eq!(year.maintained("pushed").1, "2.0.0"),
            _ => {}
        }
        if index == 0 {
            // A preview may be named in full, and remains until it expires.
            year.create(&shoot("stays", "1.34.3", "1.1.0", (false, false)));
            year.create(&shoot("pushed", "1.34.3", "1.1.0", (false, false)));
            year.create(&shoot("updated", "1.34.2", "1.0.0", (true, true)));
            year.create(&shoot("asked", "1.34.2", "1.0.0", (true, true)));
            let from = year.audited.landscape.now().to_rfc3339();
            let inventory = year.inventory();
            for (name, changes) in [("stays", 2), ("updated", 4)] {
                let own = foretold(&inventory, name, &from);
                assert_eq!(own.len(), changes, "{own:?}");
                expected.extend(own);
            }
            let last = year.audited.shoot("barred").status.last_maintenance.expect("a run");
            let text = last.failure_reason.unwrap_or_default();
            assert!(text.contains("machine image version 'gardenlinux:1.1.0' is expired"), "{text}");
        }
    }
    year.audited.until(END);
    assert_eq!(told(&year.audited, &["early", "barred", "stays", "updated"]), expected);
    assert_eq!(versions(&year.audited.shoot("updated")), ("1.35.0".to_owned(), "2.0.0".to_owned()));
}
