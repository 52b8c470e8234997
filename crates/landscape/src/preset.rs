// SPDX-License-Identifier: Apache-2.0
//! Objects of a small landscape for demonstrations, tests and benchmarks: one CloudProfile, one Project, any number of
//! Shoots.
//!
//! A [`Preset`] fits a release of Gardener: its CloudProfile has only Kubernetes versions that the release supports.
//! The functions of this module use the release of the requirements documents.

use api::cluster;
use api::core::{CloudProfile, CloudProfileReference, Project, SecretBinding, Shoot};
use api::kubernetes::core::Secret;
use api::security::CredentialsBinding;
use apimachinery::Resource;
use apimachinery::meta::Time;
use chrono::{DateTime, Datelike, Days, NaiveTime, TimeDelta, Utc};
use controller::{Api, Error};
use domain::cloud_profile::reference_field;
use domain::release::{Release, Releases};
use domain::skew::{GardenerVersion, releases};
use process::Context;
use serde_json::{Value, json};

/// Expiration of Kubernetes 1.26.4 in the requirements documents: 2023-07-28T00:00:00Z.
const DOCUMENTED_EXPIRATION: DateTime<Utc> = DateTime::from_timestamp(1_690_502_400, 0).expect("in range");

/// Releases with the versions and the dates of the requirements documents.
const DOCUMENTED_VERSIONS: Releases = Releases::until(121);

/// Releases whose Shoots use a CredentialsBinding: those that reject a SecretBinding from Kubernetes 1.34 on.
const CREDENTIALS_BINDINGS: Releases = Releases::since(127);

/// Releases whose machine images have an update strategy.
const UPDATE_STRATEGIES: Releases = Releases::since(83);

/// Time from the start of the demonstration to the expiration of its oldest Kubernetes version.
const BEFORE_EXPIRATION: TimeDelta = TimeDelta::hours(4);

/// Last valid year of an instant in an object: years have four digits.
const LAST_YEAR: i32 = 9999;

/// Namespace of the Project `demo`.
pub const NAMESPACE: &str = "garden-demo";

/// Objects and dates that fit a release of Gardener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    release: Release,
    /// Kubernetes versions of the CloudProfile, the oldest first; at least two. The first one is deprecated and expires.
    versions: Vec<String>,
    expiration: DateTime<Utc>,
}

impl Preset {
    /// The preset of a release.
    ///
    /// | release | Kubernetes | expiration |
    /// | --- | --- | --- |
    /// | up to 1.120 | 1.26.4 and 1.27.1, as in the requirements documents | 2023-07-28 |
    /// | later ones | first version of each minor that the release runs | midnight after the day of the release |
    pub fn of(gardener: &GardenerVersion) -> Self {
        let release = gardener.served_release();
        if DOCUMENTED_VERSIONS.contain(release) {
            return Self::documented(release);
        }
        let (oldest, newest) = releases::kubernetes_minors(gardener);
        let versions = (oldest..=newest).map(|minor| format!("1.{minor}.0")).collect();
        let day = releases::first_release(gardener.minor().1)
            .or_else(|| releases::first_release(releases::newest().minor().1));
        let expiration = day.and_then(|(day, _)| midnight_after(day.and_time(NaiveTime::MIN).and_utc()));
        let expiration = expiration.unwrap_or(DOCUMENTED_EXPIRATION);
        Self { release, versions, expiration }
    }

    /// The preset of a version of Gardener, `v1.149.0`; that of the requirements documents for an invalid version.
    pub fn of_text(gardener: &str) -> Self {
        GardenerVersion::parse(gardener).map_or_else(Self::default, |gardener| Self::of(&gardener))
    }

    fn documented(release: Release) -> Self {
        let versions = ["1.26.4", "1.27.1"].map(str::to_owned).to_vec();
        Self { release, versions, expiration: DOCUMENTED_EXPIRATION }
    }

    /// Kubernetes version that expires.
    pub fn expiring(&self) -> &str {
        &self.versions[0]
    }

    /// Kubernetes version that follows the expiring one.
    pub fn following(&self) -> &str {
        &self.versions[1]
    }

    /// Newest Kubernetes version.
    pub fn newest(&self) -> &str {
        &self.versions[self.versions.len() - 1]
    }

    /// Start of a demonstration: the evening before the expiration.
    pub fn start(&self) -> DateTime<Utc> {
        self.expiration - BEFORE_EXPIRATION
    }

    /// Expiration of the oldest Kubernetes version: at the midnight of the demonstration, or, for a later start, at the
    /// next midnight that is at least an hour away. `None`: it would be after the last instant that an object can have.
    pub fn expiration(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let soonest = now.checked_add_signed(TimeDelta::hours(1))?;
        let expiration = if soonest <= self.expiration { self.expiration } else { midnight_after(soonest)? };
        (expiration.year() <= LAST_YEAR).then_some(expiration)
    }

    /// CloudProfile `local`: the Kubernetes versions, of which the oldest is deprecated and expires at an instant, and
    /// gardenlinux 934.8.0 and 1096.1.0.
    pub fn cloud_profile(&self, expiration: DateTime<Utc>) -> CloudProfile {
        let expiration = Time::from_instant(expiration);
        let supported = self.versions.iter().skip(1).rev();
        let mut versions: Vec<Value> =
            supported.map(|version| json!({"version": version, "classification": "supported"})).collect();
        versions
            .push(json!({"version": self.expiring(), "classification": "deprecated", "expirationDate": expiration}));
        let mut image = json!({"name": "gardenlinux", "versions": [
            {
                "version": "1096.1.0",
                "classification": "supported",
                "architectures": ["amd64"],
                "cri": [{"name": "containerd"}],
            },
            {"version": "934.8.0", "architectures": ["amd64"], "cri": [{"name": "containerd"}]},
        ]});
        if UPDATE_STRATEGIES.contain(self.release) {
            image["updateStrategy"] = json!("major");
        }
        typed(json!({
            "metadata": {"name": "local"},
            "spec": {
                "type": "local",
                "kubernetes": {"versions": versions},
                "machineImages": [image],
                "machineTypes": [{"name": "local", "cpu": "4", "gpu": "0", "memory": "8Gi", "architecture": "amd64"}],
                "regions": [{"name": "local", "zones": [{"name": "local-a"}]}],
            },
        }))
    }

    /// A Shoot of three nodes on the oldest Kubernetes version and gardenlinux 934.8.0, automatic updates off for Kubernetes
    /// and on for images, window from 9 to 10 o'clock.
    pub fn shoot(&self, name: &str) -> Shoot {
        let binding = if self.has_credentials_binding() { "credentialsBindingName" } else { "secretBindingName" };
        let (profile, reference) = self.profile_reference("local");
        typed(json!({
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                profile: reference,
                binding: "local",
                "region": "local",
                "purpose": "evaluation",
                "networking": {"type": "calico", "nodes": "10.10.0.0/16"},
                "provider": {"type": "local", "workers": [{
                    "name": "local",
                    "machine": {"type": "local", "image": {"name": "gardenlinux", "version": "934.8.0"}},
                    "cri": {"name": "containerd"},
                    "minimum": 3,
                    "maximum": 3,
                    "maxSurge": 1,
                    "maxUnavailable": 0,
                    "zones": ["local-a"],
                }]},
                "kubernetes": {"version": self.expiring()},
                "maintenance": {
                    "autoUpdate": {"kubernetesVersion": false, "machineImageVersion": true},
                    "timeWindow": {"begin": "090000+0000", "end": "100000+0000"},
                },
            },
        }))
    }

    /// Field of a Shoot's spec that refers to a CloudProfile, and its value.
    pub fn profile_reference(&self, name: &str) -> (&'static str, Value) {
        let reference = CloudProfileReference { name: name.to_owned(), ..CloudProfileReference::default() };
        reference_field(&reference, self.release)
    }

    /// True if the credentials are bound by a CredentialsBinding, not by a SecretBinding.
    pub const fn has_credentials_binding(&self) -> bool {
        CREDENTIALS_BINDINGS.contain(self.release)
    }

    /// Creates CloudProfile and Project, and, once the Project's namespace exists, the credentials; `expiration`: that
    /// of the oldest Kubernetes version.
    ///
    /// # Errors
    /// An object is rejected.
    pub async fn create(&self, admin: &Context, expiration: DateTime<Utc>) -> Result<(), Error> {
        Api::all(admin, cluster::GARDEN).create(&self.cloud_profile(expiration)).await?;
        Api::all(admin, cluster::GARDEN).create(&project()).await?;
        let projects = Api::<Project>::all(admin, cluster::GARDEN);
        crate::wait::for_object(&projects, "demo", |project| project.status.phase == "Ready").await?;
        Api::namespaced(admin, cluster::GARDEN, NAMESPACE).create(&secret()).await?;
        if self.has_credentials_binding() {
            Api::namespaced(admin, cluster::GARDEN, NAMESPACE).create(&credentials_binding()).await?;
        } else {
            Api::namespaced(admin, cluster::GARDEN, NAMESPACE).create(&secret_binding()).await?;
        }
        Ok(())
    }
}

/// The preset of the requirements documents.
impl Default for Preset {
    fn default() -> Self {
        Self::documented(domain::release::DOCUMENTED)
    }
}

fn midnight_after(instant: DateTime<Utc>) -> Option<DateTime<Utc>> {
    Some(instant.date_naive().checked_add_days(Days::new(1))?.and_time(NaiveTime::MIN).and_utc())
}

/// CloudProfile `local`: Kubernetes 1.26.4 (deprecated, expires 2023-07-28T00:00:00Z) and 1.27.1, gardenlinux 934.8.0
/// and 1096.1.0.
pub fn cloud_profile() -> CloudProfile {
    Preset::default().cloud_profile(DOCUMENTED_EXPIRATION)
}

/// Project `demo`.
pub fn project() -> Project {
    typed(json!({"metadata": {"name": "demo"}, "spec": {"namespace": NAMESPACE}}))
}

/// Returns a Shoot like [`Preset::shoot`], on Kubernetes 1.26.4.
pub fn shoot(name: &str) -> Shoot {
    Preset::default().shoot(name)
}

/// The (empty) credentials of Project `demo`.
pub fn secret() -> Secret {
    typed(json!({"metadata": {"name": "local", "namespace": NAMESPACE}, "type": "Opaque"}))
}

/// Binding of the credentials for Shoots with `secretBindingName`.
pub fn secret_binding() -> SecretBinding {
    typed(json!({
        "metadata": {"name": "local", "namespace": NAMESPACE},
        "provider": {"type": "local"},
        "secretRef": {"name": "local", "namespace": NAMESPACE},
    }))
}

/// Binding of the credentials for Shoots with `credentialsBindingName`.
pub fn credentials_binding() -> CredentialsBinding {
    typed(json!({
        "metadata": {"name": "local", "namespace": NAMESPACE},
        "provider": {"type": "local"},
        "credentialsRef": {"apiVersion": "v1", "kind": "Secret", "name": "local", "namespace": NAMESPACE},
    }))
}

/// Creates the objects of the requirements documents' preset.
///
/// # Errors
/// An object is rejected.
pub async fn create(admin: &Context) -> Result<(), Error> {
    Preset::default().create(admin, DOCUMENTED_EXPIRATION).await
}

pub(crate) fn typed<K: Resource>(value: Value) -> K {
    apimachinery::wire::from_tree(value).expect("an object that fits its type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_after_the_demo_lasts_until_a_midnight() {
        let at = |text: &str| -> DateTime<Utc> { text.parse().expect("an instant") };
        for (now, expected) in [
            ("2023-06-15T12:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T20:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T23:00:00Z", "2023-07-28T00:00:00Z"),
            ("2023-07-27T23:00:01Z", "2023-07-29T00:00:00Z"),
            ("2023-07-28T00:00:00Z", "2023-07-29T00:00:00Z"),
            ("2026-12-31T22:59:59Z", "2027-01-01T00:00:00Z"),
            ("2026-12-31T23:00:00Z", "2027-01-02T00:00:00Z"),
        ] {
            assert_eq!(Preset::default().expiration(at(now)), Some(at(expected)), "{now}");
        }
    }

    #[test]
    fn no_version_expires_after_the_last_year() {
        let at = |text: &str| -> DateTime<Utc> { text.parse().expect("an instant") };
        let expiration = |now: DateTime<Utc>| Preset::default().expiration(now);
        assert_eq!(expiration(at("9999-12-30T22:59:59Z")), Some(at("9999-12-31T00:00:00Z")));
        assert_eq!(expiration(at("9999-12-30T23:00:00Z")), None, "the next midnight is in a year of five digits");
        assert_eq!(expiration(at("9999-12-31T20:00:00Z")), None);
        assert_eq!(expiration(DateTime::<Utc>::MAX_UTC), None);
    }

    #[test]
    fn presets_fit_their_release() {
        for minor in 106..=u64::from(domain::release::NEWEST.0) {
            let gardener = GardenerVersion::release(1, minor, 0);
            let preset = Preset::of(&gardener);
            // The requirements documents have 1.26.4 for every release to which they apply.
            let has_own = minor > 120;
            let runs = |version: &String| releases::supports_kubernetes(&gardener, version);
            assert!(!has_own || preset.versions.iter().all(runs), "{gardener}");
            assert!(preset.versions.len() >= 2, "{gardener}");
            let (released, _) = releases::first_release(minor).expect("a known release");
            assert!(!has_own || preset.start().date_naive() >= released, "{gardener}");
        }
        let of = |text: &str| Preset::of_text(text);
        assert_eq!((of("v1.120.4").expiring(), of("v1.120.4").following()), ("1.26.4", "1.27.1"));
        assert_eq!((of("v1.121.0").expiring(), of("v1.121.0").following()), ("1.27.0", "1.28.0"));
        assert_eq!((of("v1.149.3").expiring(), of("v1.149.3").following()), ("1.32.0", "1.33.0"));
        assert_eq!(of("v1.149.3").start().to_rfc3339(), "2026-08-13T20:00:00+00:00");
        assert_eq!(of("v1.150.0").start(), of("v1.149.3").start());
        let strategy =
            |version| of(version).cloud_profile(DOCUMENTED_EXPIRATION).spec.machine_images[0].update_strategy.clone();
        assert_eq!((strategy("v1.82.0"), strategy("v1.83.0").as_deref()), (None, Some("major")));
        for (version, by_name) in [("v1.80.0", true), ("v1.91.0", true), ("v1.100.0", true), ("v1.101.0", false)] {
            let spec = of(version).shoot("s").spec;
            assert_eq!(
                (spec.cloud_profile_name.is_some(), spec.cloud_profile.is_none()),
                (by_name, by_name),
                "{version}"
            );
        }
        assert!(!of("v1.126.0").has_credentials_binding() && of("v1.127.0").has_credentials_binding());
        assert_eq!(of("nonsense"), Preset::default());
    }
}
