// SPDX-License-Identifier: Apache-2.0
//! What a minor of Gardener changes by itself: feature gates, Kubernetes versions, components of Shoots.
//!
//! Source: imagevector/containers.yaml, pkg/gardenlet/controller/shoot/shoot/reconciler_reconcile.go,
//! pkg/component/kubernetes/apiserver, pkg/features/features.go, plugin/pkg/shoot/mutator at v1.120.0 to v1.148.0.

use crate::skew::GardenerVersion;
use crate::skew::notes::ShootVersions;
use crate::skew::releases::{GateEvent, gate_events, kubernetes_minors};
use crate::versions::{Version, normalize};

/// What happens to a component or a field of Shoots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something comes.
    Added,
    /// Something goes.
    Removed,
    /// Its configuration is another one.
    Configured,
    /// Its image is another one.
    Image,
    /// A field of the API that older gardener-apiservers do not know.
    Field,
    /// What a Shoot gets that is created from here on; others stay without.
    NewShootsOnly,
}

impl Kind {
    /// As it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Configured => "configured",
            Self::Image => "image",
            Self::Field => "field",
            Self::NewShootsOnly => "new Shoots only",
        }
    }
}

/// Which Shoots a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every one.
    All,
    /// Those on Kubernetes 1.x from this minor on.
    KubernetesFrom(u64),
    /// Those whose API server has no DNS record.
    WithoutDns,
    /// None that exists.
    Created,
}

impl Scope {
    /// Whether a Shoot may be meant; what cannot be told from its versions may be.
    pub fn may_hit(self, shoot: &ShootVersions) -> bool {
        match self {
            Self::All | Self::WithoutDns => true,
            Self::KubernetesFrom(minor) => Version::parse(&normalize(&shoot.kubernetes))
                .is_ok_and(|version| (version.major, version.minor) >= (1, minor)),
            Self::Created => false,
        }
    }

    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::All => "every Shoot".to_owned(),
            Self::KubernetesFrom(minor) => format!("Shoots on Kubernetes 1.{minor} or later"),
            Self::WithoutDns => "Shoots without a DNS record for their API server".to_owned(),
            Self::Created => "no Shoot that exists".to_owned(),
        }
    }
}

/// A change of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComponentChange {
    /// The minor of 1.x that brings it.
    pub since: u64,
    /// What happens.
    pub kind: Kind,
    /// The component, or the field.
    pub what: &'static str,
    /// How it is from then on.
    pub how: &'static str,
    /// Which Shoots have it.
    pub scope: Scope,
    /// Whether the pods of kube-apiserver are replaced for it.
    pub restarts_kube_apiserver: bool,
}

const fn row(since: u64, kind: Kind, what: &'static str, how: &'static str, scope: Scope) -> ComponentChange {
    ComponentChange { since, kind, what, how, scope, restarts_kube_apiserver: false }
}

const fn image(since: u64, what: &'static str, tag: &'static str) -> ComponentChange {
    row(since, Kind::Image, what, tag, Scope::All)
}

/// The extension object that publishes the API server of a Shoot without a DNS record.
pub const EXPOSURE: &str = "ControlPlane of purpose exposure";

/// Every change with a known release, by minor.
const COMPONENTS: &[ComponentChange] = &[
    row(121, Kind::Removed, EXPOSURE, "and its two tasks of the flow", Scope::WithoutDns),
    ComponentChange {
        restarts_kube_apiserver: true,
        ..row(
            121,
            Kind::Configured,
            "kube-apiserver",
            "anonymous access moves from flag --anonymous-auth to the structured authentication file",
            Scope::KubernetesFrom(32),
        )
    },
    image(122, "coredns", "v1.12.2"),
    image(123, "metrics-server", "v0.8.0"),
    image(127, "coredns", "v1.12.3"),
    image(128, "coredns", "v1.12.4"),
    image(131, "coredns", "v1.13.1"),
    image(135, "coredns", "v1.13.2"),
    row(135, Kind::Field, "spec.maintenance.autoRotation", "older gardener-apiservers do not know it", Scope::Created),
    image(136, "coredns", "v1.14.1"),
    image(136, "metrics-server", "v0.8.1"),
    row(
        136,
        Kind::Added,
        "opentelemetry-collector",
        "a Deployment in the control plane, by gate OpenTelemetryCollector",
        Scope::All,
    ),
    image(139, "coredns", "v1.14.2"),
    row(
        141,
        Kind::NewShootsOnly,
        "spec.maintenance.autoRotation.credentials.etcdEncryptionKey.rotationPeriod",
        "672h",
        Scope::Created,
    ),
    row(141, Kind::Added, "istio-basic-auth-server", "a Deployment in the control plane", Scope::All),
    image(146, "coredns", "v1.14.4"),
    image(147, "metrics-server", "v0.9.0"),
    image(148, "coredns", "v1.14.6"),
];

/// Images before the first change of the table.
const FIRST_IMAGES: [(&str, &str); 2] = [("coredns", "v1.12.1"), ("metrics-server", "v0.7.2")];

fn is_in(change: &ComponentChange, gardener: &GardenerVersion) -> bool {
    gardener.minor() >= (1, change.since)
}

/// Tag of a component's image as a release of Gardener deploys it; `None` if it is not known.
pub fn image_tag(component: &str, gardener: &GardenerVersion) -> Option<&'static str> {
    let first = FIRST_IMAGES.iter().find(|(name, _)| *name == component).map(|(_, tag)| *tag);
    let is_image = |change: &&ComponentChange| change.kind == Kind::Image && change.what == component;
    let changed = COMPONENTS.iter().filter(is_image).rev().find(|change| is_in(change, gardener));
    changed.map(|change| change.how).or(first)
}

/// Whether a release of Gardener has what [`Kind::Added`] rows of this name bring; what no row brings was always there.
pub fn has_component(component: &str, gardener: &GardenerVersion) -> bool {
    let mut rows = COMPONENTS.iter().filter(|change| change.what == component);
    let last = rows.rfind(|change| matches!(change.kind, Kind::Added | Kind::Removed) && is_in(change, gardener));
    let is_news = COMPONENTS.iter().any(|change| change.what == component && change.kind == Kind::Added);
    last.map_or(!is_news, |change| change.kind == Kind::Added)
}

/// Whether a release of Gardener configures a component of a Shoot on a Kubernetes version in the way that a
/// [`Kind::Configured`] row brings.
pub fn is_reconfigured(component: &str, gardener: &GardenerVersion, kubernetes: &str) -> bool {
    let shoot = ShootVersions { kubernetes: kubernetes.to_owned(), ..ShootVersions::default() };
    let is_meant = |change: &&ComponentChange| change.kind == Kind::Configured && change.what == component;
    COMPONENTS.iter().filter(is_meant).any(|change| is_in(change, gardener) && change.scope.may_hit(&shoot))
}

/// What a minor changes, seen from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Feature gates: name, components, what becomes of it.
    pub gates: Vec<(&'static str, &'static str, GateEvent)>,
    /// Minors of Kubernetes 1.x that are supported from here on.
    pub kubernetes_gained: Vec<u64>,
    /// Minors of Kubernetes 1.x that are not supported any more.
    pub kubernetes_dropped: Vec<u64>,
    /// Components of Shoots.
    pub components: Vec<ComponentChange>,
}

/// What every minor changes in every Shoot.
pub const ALWAYS: &str = "gardener-resource-manager and gardener-node-agent take the version of gardenlet; no node is \
                          replaced for it";

/// What minor `1.minor` changes.
pub fn of_minor(minor: u64) -> Changes {
    let supported = |minor| {
        let (oldest, newest) = kubernetes_minors(&GardenerVersion::release(1, minor, 0));
        oldest..=newest
    };
    let (before, after) = (supported(minor.saturating_sub(1)), supported(minor));
    Changes {
        gates: gate_events(minor),
        kubernetes_gained: after.clone().filter(|minor| !before.contains(minor)).collect(),
        kubernetes_dropped: before.filter(|minor| !after.contains(minor)).collect(),
        components: COMPONENTS.iter().filter(|change| change.since == minor).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_changes_gates_kubernetes_versions_and_components() {
        let changes = of_minor(127);
        assert_eq!(
            changes.gates,
            [
                ("CredentialsRotationWithoutWorkersRollout", "apiserver", GateEvent::IsLocked),
                ("NewVPN", "gardenlet", GateEvent::Removed),
            ]
        );
        assert_eq!((changes.kubernetes_gained, changes.kubernetes_dropped), (vec![], vec![27, 28]));
        assert_eq!(changes.components, [image(127, "coredns", "v1.12.3")]);
        let none = of_minor(38);
        assert!(none.gates.is_empty() && none.components.is_empty());
        assert!(none.kubernetes_gained.is_empty() && none.kubernetes_dropped.is_empty());
        assert_eq!(of_minor(0).components, []);
    }

    #[test]
    fn changes_are_about_the_shoots_of_their_scope() {
        let on = |kubernetes: &str| ShootVersions { kubernetes: kubernetes.to_owned(), ..ShootVersions::default() };
        let restart = of_minor(121).components[1];
        assert!(restart.restarts_kube_apiserver);
        assert!(restart.scope.may_hit(&on("1.32.4")) && !restart.scope.may_hit(&on("1.31.9")));
        assert!(!restart.scope.may_hit(&on("newest")));
        assert!(Scope::WithoutDns.may_hit(&on("1.31.9")) && !Scope::Created.may_hit(&on("1.31.9")));
    }

    #[test]
    fn a_release_has_the_images_and_components_of_the_last_row_before_it() {
        let release = |minor| GardenerVersion::release(1, minor, 0);
        for (component, minor, expected) in [
            ("coredns", 119, Some("v1.12.1")),
            ("coredns", 122, Some("v1.12.2")),
            ("coredns", 126, Some("v1.12.2")),
            ("coredns", 149, Some("v1.14.6")),
            ("metrics-server", 122, Some("v0.7.2")),
            ("metrics-server", 123, Some("v0.8.0")),
            ("etcd-main", 123, None),
        ] {
            assert_eq!(image_tag(component, &release(minor)), expected, "{component} in 1.{minor}");
        }
        for (component, minor, expected) in [
            (EXPOSURE, 120, true),
            (EXPOSURE, 121, false),
            (EXPOSURE, 149, false),
            ("istio-basic-auth-server", 140, false),
            ("istio-basic-auth-server", 141, true),
            ("etcd-main", 120, true),
        ] {
            assert_eq!(has_component(component, &release(minor)), expected, "{component} in 1.{minor}");
        }
        for (minor, kubernetes, expected) in
            [(120, "1.32.0", false), (121, "1.31.9", false), (121, "1.32.0", true), (140, "1.33.1", true)]
        {
            assert_eq!(is_reconfigured("kube-apiserver", &release(minor), kubernetes), expected, "1.{minor}");
        }
    }

    #[test]
    fn rows_stand_in_the_order_of_minors() {
        assert!(COMPONENTS.is_sorted_by_key(|change| change.since));
    }
}
