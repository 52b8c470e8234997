// SPDX-License-Identifier: Apache-2.0
//! Notes about legal but unwise states, before and after an upgrade. A note refuses nothing.
//!
//! Each function returns one note and takes plain facts of any landscape: a running one, one of manifests, or the
//! result of a plan.
//!
//! Source: spec of the emulator, after docs/operations/upgrade-gardener.md and docs/deployment/version_skew_policy.md.

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, Utc};

use super::releases::{MAINTAINED_MINORS, check_gate, kubernetes_minors, newest_release, supports_kubernetes};
use super::{Component, Distance, GardenerVersion, Instance, Landscape};
use crate::profile::Profile;
use crate::worker_pool::hash::FIRST_FORM;

/// Maximum number of objects that a note names.
const NAMED: usize = 3;

/// Kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// `W1`: Shoots are not reconciled by the running version yet.
    ShootsNotReconciled,
    /// `W2`: an operator and the gardenlet of its own cluster are of different minors.
    OperatorGardenletLockStep,
    /// `W3`: clusters run a Kubernetes version that a Gardener version does not support.
    KubernetesVersionDropped,
    /// `W4`: a feature gate that is set is unknown or locked to the other value in a Gardener version.
    FeatureGateGone,
    /// `W5`: a component would be too old at the minor after the next step.
    LaggardBlocksNext,
    /// `W6`: a component's minor gets no fixes any more.
    OutOfMaintenance,
    /// `W7`: the upgrade replaces nodes.
    NodesReplaced,
}

impl Note {
    /// Returns the id of the note, `W1`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ShootsNotReconciled => "W1",
            Self::OperatorGardenletLockStep => "W2",
            Self::KubernetesVersionDropped => "W3",
            Self::FeatureGateGone => "W4",
            Self::LaggardBlocksNext => "W5",
            Self::OutOfMaintenance => "W6",
            Self::NodesReplaced => "W7",
        }
    }
}

/// Formats the note as `W1 ShootsNotReconciled`.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {self:?}", self.id())
    }
}

/// A note about objects of a landscape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    /// Kind of the note.
    pub note: Note,
    /// Names of the objects concerned, and the reason.
    pub text: String,
}

impl Noted {
    fn new(note: Note, text: String) -> Self {
        Self { note, text }
    }
}

/// Formats the note as `W1 ShootsNotReconciled: …`.
impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.note, self.text)
    }
}

/// Facts about a Shoot for notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShootVersions {
    /// Namespace and name, `NAMESPACE/NAME`.
    pub name: String,
    /// Seed of the Shoot; `None`: it is not scheduled.
    pub seed: Option<String>,
    /// `status.gardener.version`; empty before its first operation.
    pub gardener: String,
    /// Value of `spec.kubernetes.version`.
    pub kubernetes: String,
}

/// A feature gate in the configuration of a component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GateSetting {
    /// The component that is configured; the Seed of a gardenlet is its owner.
    pub component: Component,
    /// The Seed; empty for others.
    pub owner: String,
    /// The gate.
    pub name: String,
    /// True if the gate is enabled.
    pub on: bool,
}

/// Joins the first names, and the number of further ones.
fn some(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    if more > 0 {
        names.truncate(NAMED);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// W1: Shoots that the gardenlet of their Seed, in its running version, has not reconciled yet. An unknown gardenlet
/// is assumed to have the version of the newest other one, or of the newest gardener-apiserver. Shoots without a Seed
/// wait for nothing.
pub fn shoots_not_reconciled(landscape: &Landscape, shoots: &[ShootVersions]) -> Option<Noted> {
    let mut of_seeds: BTreeMap<&str, GardenerVersion> = BTreeMap::new();
    for gardenlet in landscape.instances.iter().filter(|instance| instance.component == Component::Gardenlet) {
        let Some(version) = GardenerVersion::parse(&gardenlet.version) else { continue };
        let newest = of_seeds.entry(&gardenlet.owner).or_insert_with(|| version.clone());
        *newest = newest.clone().max(version);
    }
    let other = of_seeds.values().max().cloned().or_else(|| landscape.versions(Component::Apiserver).max());
    let behind = shoots.iter().filter_map(|shoot| {
        let wanted = of_seeds.get(shoot.seed.as_deref()?).or(other.as_ref())?;
        let is_reconciled = GardenerVersion::parse(&shoot.gardener).as_ref() == Some(wanted);
        let by = if shoot.gardener.is_empty() { "not reconciled yet" } else { &shoot.gardener };
        (!is_reconciled).then(|| format!("{} ({by}, gardenlet {wanted})", shoot.name))
    });
    let behind: Vec<String> = behind.collect();
    let subject = match behind.len() {
        0 => return None,
        1 => "1 Shoot is".to_owned(),
        count => format!("{count} Shoots are"),
    };
    Some(Noted::new(
        Note::ShootsNotReconciled,
        format!(
            "{subject} not reconciled by the running gardenlet, for which the next minor should wait: {}",
            some(behind)
        ),
    ))
}

/// W2: operators whose minor differs from that of a gardenlet whose Seed is the operators' own cluster. Worth
/// reporting once it has outlasted a reconciliation of the Garden.
pub fn lock_step(operators: &[Instance], gardenlets_of_runtime: &[Instance]) -> Option<Noted> {
    let minor = |instance: &Instance| GardenerVersion::parse(&instance.version).map(|version| version.minor());
    let differs = |operator: &Instance, gardenlet: &Instance| {
        minor(operator).zip(minor(gardenlet)).is_some_and(|(operator, gardenlet)| operator != gardenlet)
    };
    let pairs = operators.iter().flat_map(|operator| gardenlets_of_runtime.iter().map(move |other| (operator, other)));
    let (operator, gardenlet) = pairs.into_iter().find(|(operator, gardenlet)| differs(operator, gardenlet))?;
    let seed = if gardenlet.owner.is_empty() { String::new() } else { format!(" of Seed {}", gardenlet.owner) };
    Some(Noted::new(
        Note::OperatorGardenletLockStep,
        format!(
            "gardener-operator {} and the gardenlet{seed} {} share a cluster and must be raised together",
            operator.version, gardenlet.version
        ),
    ))
}

/// W3: clusters on a Kubernetes version that a Gardener version does not support; each with its name and version.
pub fn kubernetes_dropped(gardener: &GardenerVersion, clusters: &[(String, String)]) -> Option<Noted> {
    let outside = clusters.iter().filter(|(_, version)| !supports_kubernetes(gardener, version));
    let outside: Vec<String> = outside.map(|(name, version)| format!("{name} ({version})")).collect();
    if outside.is_empty() {
        return None;
    }
    let (oldest, newest) = kubernetes_minors(gardener);
    Some(Noted::new(
        Note::KubernetesVersionDropped,
        format!("Gardener v{gardener} supports Kubernetes 1.{oldest} to 1.{newest}; outside of it: {}", some(outside)),
    ))
}

/// W4: feature gates with which the process of a Gardener version would not start.
pub fn gates_gone(gardener: &GardenerVersion, settings: &[GateSetting]) -> Vec<Noted> {
    let gone = settings.iter().filter_map(|setting| {
        let name = setting.component.name();
        let folder = name.strip_prefix("gardener-").unwrap_or(name).replace('-', "");
        let error = check_gate(gardener, &folder, &setting.name, setting.on).err()?;
        let seed = if setting.owner.is_empty() { String::new() } else { format!(" of Seed {}", setting.owner) };
        let text =
            format!("{name}{seed} sets {}={}, with which {gardener} does not start: {error}", setting.name, setting.on);
        Some(Noted::new(Note::FeatureGateGone, text))
    });
    gone.collect()
}

/// W5: components that would violate C2 or G2 once gardener-apiserver is at the minor after `newest`; one note for
/// each version.
pub fn laggards(landscape: &Landscape, newest: &GardenerVersion, profile: Profile) -> Vec<Noted> {
    let mut behind: BTreeMap<(Component, GardenerVersion), Vec<&Instance>> = BTreeMap::new();
    for instance in &landscape.instances {
        let bound = match instance.component {
            Component::Gardenlet => profile.gardenlet_minors_behind(),
            component if component.is_control_plane() => 1,
            _ => continue,
        };
        let Some(version) = GardenerVersion::parse(&instance.version) else { continue };
        // The distance to the minor after the newest one is greater by one.
        if Distance::between(newest, &version).above(bound - 1).is_some() {
            behind.entry((instance.component, version)).or_default().push(instance);
        }
    }
    let (major, minor) = newest.minor();
    let next = minor.saturating_add(1);
    let texts = behind.into_iter().map(|((component, version), instances)| {
        let rule = if component == Component::Gardenlet { "G2" } else { "C2" };
        let seeds: Vec<String> =
            instances.iter().map(|one| one.owner.clone()).filter(|owner| !owner.is_empty()).collect();
        let of = if seeds.is_empty() { String::new() } else { format!(" of {}", some(seeds)) };
        let name = component.name();
        format!("{name} {version}{of} would be too old ({rule}) for gardener-apiserver {major}.{next}")
    });
    texts.map(|text| Noted::new(Note::LaggardBlocksNext, text)).collect()
}

/// W6: components whose minor is three or more behind the newest release known at an instant; one note for each minor.
pub fn out_of_maintenance(landscape: &Landscape, now: DateTime<Utc>) -> Vec<Noted> {
    let Some((newest, date)) = newest_release(now) else { return Vec::new() };
    let mut old: BTreeMap<(u64, u64), Vec<Component>> = BTreeMap::new();
    for instance in landscape.instances.iter().filter(|instance| instance.component != Component::Extension) {
        let Some(version) = GardenerVersion::parse(&instance.version) else { continue };
        let (major, minor) = version.minor();
        if (major, minor.saturating_add(MAINTAINED_MINORS)) <= (1, newest) {
            old.entry((major, minor)).or_default().push(instance.component);
        }
    }
    let texts = old.into_iter().map(|((major, minor), mut components)| {
        components.sort_unstable();
        components.dedup();
        let names: Vec<&str> = components.iter().map(|component| component.name()).collect();
        format!("{major}.{minor} gets no fixes any more, since 1.{newest} was released on {date}: {}", names.join(", "))
    });
    texts.map(|text| Noted::new(Note::OutOfMaintenance, text)).collect()
}

/// W7: worker pools with the first form of the hash, which the target release does not have. Landscapes without a gardenlet of
/// a release with that form have replaced their nodes already.
///
/// Source: extensions/pkg/controller/worker/machines.go @ v1.145.0 and v1.146.0.
pub fn first_hash_forms(landscape: &Landscape, target: &GardenerVersion, pools: &[String]) -> Option<Noted> {
    let has_form = |version: GardenerVersion| FIRST_FORM.contain(version.served_release());
    if pools.is_empty()
        || FIRST_FORM.contain(target.served_release())
        || !landscape.versions(Component::Gardenlet).any(has_form)
    {
        return None;
    }
    let subject =
        if pools.len() == 1 { "1 worker pool has".to_owned() } else { format!("{} worker pools have", pools.len()) };
    Some(Noted::new(
        Note::NodesReplaced,
        format!(
            "{subject} the first form of the hash, which 1.146 removes: the first reconciliation by gardenlet 1.146 replaces \
             the nodes: {}",
            some(pools.to_vec())
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instances(all: &[(Component, &str, &str)]) -> Landscape {
        let instances = all.iter().map(|(component, owner, version)| Instance::owned(*component, owner, version));
        Landscape { instances: instances.collect(), ..Landscape::default() }
    }

    fn version(text: &str) -> GardenerVersion {
        GardenerVersion::parse(text).expect("a version of Gardener")
    }

    fn texts(notes: impl IntoIterator<Item = Noted>) -> Vec<String> {
        notes.into_iter().map(|noted| noted.to_string()).collect()
    }

    #[test]
    fn unreconciled_shoots_are_counted_and_named() {
        let landscape = instances(&[
            (Component::Apiserver, "", "v1.120.0"),
            (Component::Gardenlet, "a", "v1.120.0"),
            (Component::Gardenlet, "b", "v1.119.3"),
        ]);
        let shoot = |name: &str, seed: Option<&str>, gardener: &str| ShootVersions {
            name: name.to_owned(),
            seed: seed.map(str::to_owned),
            gardener: gardener.to_owned(),
            kubernetes: String::new(),
        };
        let fits =
            [shoot("p/1", Some("a"), "v1.120.0-dev"), shoot("p/2", Some("b"), "1.119.3"), shoot("p/3", None, "")];
        assert_eq!(shoots_not_reconciled(&landscape, &fits), None);
        let some =
            [shoot("p/1", Some("a"), "v1.119.3"), shoot("p/2", Some("b"), ""), shoot("p/3", Some("gone"), "v1.120.0")];
        assert_eq!(
            texts(shoots_not_reconciled(&landscape, &some)),
            ["W1 ShootsNotReconciled: 2 Shoots are not reconciled by the running gardenlet, for which the next minor \
              should wait: p/1 (v1.119.3, gardenlet 1.120.0), p/2 (not reconciled yet, gardenlet 1.119.3)"]
        );
    }

    #[test]
    fn operator_and_gardenlet_of_one_cluster_are_raised_together() {
        let operators = [Instance::new(Component::Operator, "v1.120.0")];
        let gardenlet = |version| [Instance::owned(Component::Gardenlet, "soil", version)];
        assert_eq!(lock_step(&operators, &gardenlet("v1.120.4")), None);
        assert_eq!(lock_step(&[], &gardenlet("v1.119.0")), None);
        assert_eq!(
            texts(lock_step(&operators, &gardenlet("v1.119.0"))),
            [
                "W2 OperatorGardenletLockStep: gardener-operator v1.120.0 and the gardenlet of Seed soil v1.119.0 share a \
              cluster and must be raised together"
            ]
        );
    }

    /// Version of the gardenlets, target, pools, number of pools in the note.
    #[test]
    fn pools_with_a_new_hash_in_1_146_are_named() {
        let pools: Vec<String> = ["a", "b", "c", "d"].map(|name| format!("shoot--p--x/{name}")).to_vec();
        for (gardenlet, target, count, expected) in [
            ("v1.120.0", "1.145.3", 4, None),
            ("v1.120.0", "1.146.0", 0, None),
            ("v1.146.0", "1.149.0", 4, None),
            ("v1.120.0", "1.146.0", 1, Some("1 worker pool has")),
            ("v1.145.0", "1.149.0", 4, Some("4 worker pools have")),
        ] {
            let landscape = instances(&[(Component::Gardenlet, "a", gardenlet)]);
            let noted = first_hash_forms(&landscape, &version(target), &pools[..count]);
            let named =
                if count == 1 { "shoot--p--x/a" } else { "shoot--p--x/a, shoot--p--x/b, shoot--p--x/c, and 1 more" };
            let text = expected.map(|subject| {
                format!(
                    "W7 NodesReplaced: {subject} the first form of the hash, which 1.146 removes: the first reconciliation by \
                     gardenlet 1.146 replaces the nodes: {named}"
                )
            });
            assert_eq!(noted.map(|noted| noted.to_string()), text, "{gardenlet} to {target}");
        }
    }

    #[test]
    fn clusters_on_dropped_versions_are_named() {
        let cluster = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let clusters = [cluster("p/a", "1.26.4"), cluster("p/b", "1.27.0")];
        assert_eq!(kubernetes_dropped(&version("1.113.0"), &clusters), None);
        assert_eq!(
            texts(kubernetes_dropped(&version("1.114.0"), &clusters)),
            [
                "W3 KubernetesVersionDropped: Gardener v1.114.0 supports Kubernetes 1.27 to 1.32; outside of it: p/a (1.26.4)"
            ]
        );
    }

    #[test]
    fn gates_that_a_version_does_not_take_are_named() {
        let setting = |component, owner: &str, name: &str, on| GateSetting {
            component,
            owner: owner.to_owned(),
            name: name.to_owned(),
            on,
        };
        let settings = [
            setting(Component::Gardenlet, "a", "NewWorkerPoolHash", false),
            setting(Component::Apiserver, "", "InPlaceNodeUpdates", true),
            setting(Component::ControllerManager, "", "DisableNginxIngressInShoot", true),
        ];
        assert_eq!(gates_gone(&version("1.140.0"), &settings[..2]), []);
        assert_eq!(
            texts(gates_gone(&version("1.140.0"), &settings)),
            [
                "W4 FeatureGateGone: gardener-controller-manager sets DisableNginxIngressInShoot=true, with which 1.140.0 \
              does not start: unrecognized feature gate: DisableNginxIngressInShoot"
            ]
        );
        assert_eq!(
            texts(gates_gone(&version("1.141.0"), &settings[..2])),
            [
                "W4 FeatureGateGone: gardenlet of Seed a sets NewWorkerPoolHash=false, with which 1.141.0 does not start: \
              cannot set feature gate NewWorkerPoolHash to false, feature is locked to true"
            ]
        );
        assert_eq!(
            texts(gates_gone(&version("1.143.0"), &settings)),
            [
                "W4 FeatureGateGone: gardenlet of Seed a sets NewWorkerPoolHash=false, with which 1.143.0 does not start: \
              unrecognized feature gate: NewWorkerPoolHash"
            ]
        );
    }

    #[test]
    fn components_that_block_the_minor_after_the_next_are_named() {
        let landscape = instances(&[
            (Component::Apiserver, "", "1.38.0"),
            (Component::Scheduler, "", "1.37.2"),
            (Component::Gardenlet, "a", "1.37.0"),
            (Component::Gardenlet, "b", "1.37.0"),
            (Component::Gardenlet, "c", "1.36.0"),
            (Component::Gardenlet, "d", "1.38.0"),
            (Component::Extension, "e", "1.30.0"),
        ]);
        assert_eq!(
            texts(laggards(&landscape, &version("1.38.0"), Profile::Upstream)),
            [
                "W5 LaggardBlocksNext: gardener-scheduler 1.37.2 would be too old (C2) for gardener-apiserver 1.39",
                "W5 LaggardBlocksNext: gardenlet 1.36.0 of c would be too old (G2) for gardener-apiserver 1.39",
            ]
        );
        assert_eq!(
            texts(laggards(&landscape, &version("1.38.0"), Profile::Documents))[2..],
            ["W5 LaggardBlocksNext: gardenlet 1.37.0 of a, b would be too old (G2) for gardener-apiserver 1.39"]
        );
    }

    #[test]
    fn minors_get_fixes_until_the_third_later_release() {
        let now = "2025-07-01T00:00:00Z".parse().expect("an instant");
        let landscape = instances(&[
            (Component::Apiserver, "", "1.120.0"),
            (Component::Gardenlet, "a", "1.119.0"),
            (Component::Operator, "", "1.119.4"),
            (Component::Extension, "e", "1.100.0"),
        ]);
        assert_eq!(
            texts(out_of_maintenance(&landscape, now)),
            ["W6 OutOfMaintenance: 1.119 gets no fixes any more, since 1.122 was released on 2025-06-27: gardenlet, \
              gardener-operator"]
        );
        let before = "2023-07-27T20:00:00Z".parse().expect("an instant");
        assert_eq!(out_of_maintenance(&landscape, before), [], "no release of that time is known");
    }
}
