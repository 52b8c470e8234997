// SPDX-License-Identifier: Apache-2.0
//! Changes in a minor of Gardener: feature gates, Kubernetes versions, the API, components, nodes.
//!
//! **Overview.** [`table`]: the rows.

mod table;

use crate::skew::GardenerVersion;
use crate::skew::notes::ShootVersions;
use crate::skew::releases::{GateEvent, gate_events, kubernetes_minors};
use crate::versions::{Version, normalize};

use table::{FIRST_IMAGES, ROWS};

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A new component or feature.
    Added,
    /// A component, an API group or a feature that is removed.
    Removed,
    /// A component with another configuration, or a rule with another outcome.
    Configured,
    /// A component with another image.
    Image,
    /// A field of the API that older gardener-apiservers do not know.
    Field,
    /// A field of the API that is removed.
    FieldRemoved,
    /// A changed default.
    Default,
    /// A check that refuses what older releases accept.
    Check,
    /// A property of Shoots that are created from this release on; existing ones do not have it.
    NewShootsOnly,
    /// Nodes that are replaced.
    Nodes,
}

impl Kind {
    /// Returns the word shown to users.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Configured => "configured",
            Self::Image => "image",
            Self::Field => "field",
            Self::FieldRemoved => "field removed",
            Self::Default => "default",
            Self::Check => "check",
            Self::NewShootsOnly => "new Shoots only",
            Self::Nodes => "nodes replaced",
        }
    }
}

/// Objects that a change affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every Shoot.
    All,
    /// Shoots on Kubernetes 1.x from the first to the last of these minors.
    Kubernetes(u64, u64),
    /// Shoots whose API server has no DNS record.
    WithoutDns,
    /// Only Shoots that are created later.
    Created,
    /// Every Seed.
    Seeds,
    /// Objects and manifests that set the field or use the kind.
    Users,
    /// Objects that this text describes.
    Other(&'static str),
}

impl Scope {
    /// Returns the scope of Shoots on this minor of Kubernetes 1.x or a later one.
    pub const fn kubernetes_from(minor: u64) -> Self {
        Self::Kubernetes(minor, u64::MAX)
    }

    /// True if Shoots on a Kubernetes version may be affected; a change that does not depend on versions may affect any.
    pub fn may_hit_version(self, kubernetes: &str) -> bool {
        match self {
            Self::All | Self::WithoutDns => true,
            Self::Kubernetes(first, last) => Version::parse(&normalize(kubernetes))
                .is_ok_and(|version| version.major == 1 && (first..=last).contains(&version.minor)),
            Self::Created | Self::Seeds | Self::Users | Self::Other(_) => false,
        }
    }

    /// True if a Shoot may be affected.
    pub fn may_hit(self, shoot: &ShootVersions) -> bool {
        self.may_hit_version(&shoot.kubernetes)
    }

    /// Returns the description shown to users.
    pub fn words(self) -> String {
        match self {
            Self::All => "every Shoot".to_owned(),
            Self::Kubernetes(minor, u64::MAX) => format!("Shoots on Kubernetes 1.{minor} or later"),
            Self::Kubernetes(first, last) if first == last => format!("Shoots on Kubernetes 1.{first}"),
            Self::Kubernetes(first, last) => format!("Shoots on Kubernetes 1.{first} to 1.{last}"),
            Self::WithoutDns => "Shoots without a DNS record for their API server".to_owned(),
            Self::Created => "no Shoot that exists".to_owned(),
            Self::Seeds => "every Seed".to_owned(),
            Self::Users => "objects and manifests that use it".to_owned(),
            Self::Other(words) => words.to_owned(),
        }
    }
}

/// Row of the table of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Minor of 1.x that introduces it.
    pub since: u64,
    /// Kind of the change.
    pub kind: Kind,
    /// Component, field, group or rule.
    pub what: &'static str,
    /// State from this minor on.
    pub how: &'static str,
    /// Affected objects.
    pub scope: Scope,
    /// True if it replaces the pods of kube-apiserver.
    pub restarts_kube_apiserver: bool,
}

/// The extension object that publishes the API server of a Shoot without a DNS record.
pub const EXPOSURE: &str = "ControlPlane of purpose exposure";

fn is_in(change: &Change, gardener: &GardenerVersion) -> bool {
    gardener.minor() >= (1, change.since)
}

/// Returns the tag of a component's image as a release of Gardener deploys it for a Shoot on a Kubernetes version; `None`
/// before the first known one.
pub fn image_tag(component: &str, gardener: &GardenerVersion, kubernetes: &str) -> Option<&'static str> {
    let first = FIRST_IMAGES.iter().find(|(name, _)| *name == component).map(|(_, tag)| *tag);
    let is_image = |change: &&Change| {
        change.kind == Kind::Image && change.what == component && change.scope.may_hit_version(kubernetes)
    };
    let changed = ROWS.iter().filter(is_image).rev().find(|change| is_in(change, gardener));
    changed.map(|change| change.how).or(first)
}

/// True if a release of Gardener has a component with a row of [`Kind::Added`]; a component without such a row exists in
/// every release until a row removes it.
pub fn has_component(component: &str, gardener: &GardenerVersion) -> bool {
    let mut rows = ROWS.iter().filter(|change| change.what == component);
    let last = rows.rfind(|change| matches!(change.kind, Kind::Added | Kind::Removed) && is_in(change, gardener));
    let is_news = ROWS.iter().any(|change| change.what == component && change.kind == Kind::Added);
    last.map_or(!is_news, |change| change.kind == Kind::Added)
}

/// True if a release of Gardener configures a component of a Shoot on a Kubernetes version according to a row of
/// [`Kind::Configured`].
pub fn is_reconfigured(component: &str, gardener: &GardenerVersion, kubernetes: &str) -> bool {
    let is_meant = |change: &&Change| change.kind == Kind::Configured && change.what == component;
    ROWS.iter().filter(is_meant).any(|change| is_in(change, gardener) && change.scope.may_hit_version(kubernetes))
}

/// Changes of a minor compared with the previous one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Feature gates: name, components, event.
    pub gates: Vec<(&'static str, &'static str, GateEvent)>,
    /// Minors of Kubernetes 1.x whose support begins.
    pub kubernetes_gained: Vec<u64>,
    /// Minors of Kubernetes 1.x whose support ends.
    pub kubernetes_dropped: Vec<u64>,
    /// Changes of the API, components and nodes.
    pub rows: Vec<Change>,
}

impl Changes {
    /// Returns the change that every minor makes in every Shoot.
    pub fn always(&self) -> &'static str {
        if self.rows.iter().any(|change| change.kind == Kind::Nodes) {
            "gardener-resource-manager and gardener-node-agent take the version of gardenlet; no other node is replaced"
        } else {
            "gardener-resource-manager and gardener-node-agent take the version of gardenlet; no node is replaced for it"
        }
    }
}

/// Returns the changes of minor `1.minor`.
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
        rows: ROWS.iter().filter(|change| change.since == minor).copied().collect(),
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
        assert_eq!(changes.rows.iter().filter(|change| change.kind == Kind::Image).count(), 4);
        let none = of_minor(38);
        assert!(none.gates.is_empty() && none.rows.is_empty());
        assert!(none.kubernetes_gained.is_empty() && none.kubernetes_dropped.is_empty());
        assert_eq!(of_minor(0).rows, []);
    }

    #[test]
    fn changes_are_about_the_shoots_of_their_scope() {
        let on = |kubernetes: &str| ShootVersions { kubernetes: kubernetes.to_owned(), ..ShootVersions::default() };
        let rows = of_minor(121).rows;
        let restart = rows.iter().find(|change| change.what == "kube-apiserver").expect("a row");
        assert!(restart.restarts_kube_apiserver);
        assert!(restart.scope.may_hit(&on("1.32.4")) && !restart.scope.may_hit(&on("1.31.9")));
        assert!(!restart.scope.may_hit(&on("newest")));
        assert!(Scope::WithoutDns.may_hit(&on("1.31.9")) && !Scope::Created.may_hit(&on("1.31.9")));
    }

    #[test]
    fn a_release_has_the_images_of_the_last_earlier_row() {
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
            assert_eq!(image_tag(component, &release(minor), "1.31.1"), expected, "{component} in 1.{minor}");
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

    /// Component, minor of Gardener, Kubernetes version, tag.
    #[test]
    fn images_depend_on_the_kubernetes_version() {
        for (component, minor, kubernetes, expected) in [
            ("metrics-server", 120, "1.32.0", Some("v0.7.2")),
            ("metrics-server", 123, "1.30.9", Some("v0.7.2")),
            ("metrics-server", 123, "1.31.0", Some("v0.8.0")),
            ("metrics-server", 136, "1.30.0", Some("v0.7.2")),
            ("metrics-server", 136, "1.33.0", Some("v0.8.1")),
            ("metrics-server", 147, "1.33.9", Some("v0.8.1")),
            ("metrics-server", 147, "1.34.0", Some("v0.9.0")),
            ("cluster-autoscaler", 120, "1.32.0", None),
            ("cluster-autoscaler", 126, "1.33.0", Some("v1.32.1")),
            ("cluster-autoscaler", 127, "1.33.0", Some("v1.33.0")),
            ("cluster-autoscaler", 127, "1.32.9", Some("v1.32.1")),
            ("cluster-autoscaler", 134, "1.34.0", Some("v1.34.0")),
            ("cluster-autoscaler", 140, "1.30.0", Some("v1.30.3")),
            ("cluster-autoscaler", 143, "1.34.0", Some("v1.34.2")),
            ("cluster-autoscaler", 149, "1.36.0", Some("v1.35.1")),
            ("node-local-dns", 126, "1.31.1", None),
            ("node-local-dns", 149, "1.36.0", Some("1.26.8")),
            ("machine-controller-manager", 149, "1.36.0", Some("v0.62.1")),
        ] {
            let gardener = GardenerVersion::release(1, minor, 0);
            assert_eq!(
                image_tag(component, &gardener, kubernetes),
                expected,
                "{component} in 1.{minor} on {kubernetes}"
            );
        }
    }

    #[test]
    fn rows_stand_in_the_order_of_minors() {
        assert!(ROWS.is_sorted_by_key(|change| change.since));
    }
}
