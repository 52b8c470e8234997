// SPDX-License-Identifier: Apache-2.0
//! Schemas of the configuration files of components, by release.
//!
//! Source: pkg/*/apis/config/v1alpha1 (since v1.137.0 pkg/apis/config/*/v1alpha1) @ v1.120.0 to v1.149.0.

use std::sync::LazyLock;

use apimachinery::release::{Release, Releases};
use apimachinery::schema::{self, Node, Schema};

use crate::catalogue;
use crate::core::{Seed, SeedSpec};
use crate::kubernetes::tables::{self, Tables};

/// Tables of field facts, by the name that Go code gives their package.
static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let files = [
        ("admissioncontroller", include_str!("config/admissioncontroller.json")),
        ("componentbase", include_str!("config/componentbase.json")),
        ("controllermanager", include_str!("config/controllermanager.json")),
        ("gardenlet", include_str!("config/gardenlet.json")),
        ("scheduler", include_str!("config/scheduler.json")),
    ];
    Tables::new(&files, named)
});

/// Resolves a type that a configuration uses.
fn named(component: &'static str, type_: &'static str) -> Option<Node> {
    match type_.split_once('.') {
        Some(("gardencorev1beta1", "SeedSpec")) => Some(SeedSpec::node()),
        Some(("gardencorev1beta1", "ShootPurpose")) => Some(Node::String),
        Some(("componentbaseconfigv1alpha1", name)) => TABLES.named("componentbase", name),
        Some(_) => tables::named(component, type_),
        None => TABLES.named(component, type_),
    }
}

/// Fields that only some releases have: component, path, releases.
///
/// In 1.137 and 1.138 tokenExpirationDuration is a number of nanoseconds; here it is a duration in every release.
const FIELDS: [(&str, &[&str], Releases); 8] = [
    (
        "admissioncontroller",
        &["server", "resourceAdmissionConfiguration", "limits", schema::EACH, "count"],
        Releases::since(132),
    ),
    ("controllermanager", &["controllers", "cacheSyncTimeout"], Releases::since(147)),
    ("controllermanager", &["controllers", "controllerDeploymentReference"], Releases::since(147)),
    ("gardenlet", &["controllers", "cacheSyncTimeout"], Releases::since(147)),
    ("gardenlet", &["controllers", "tokenRequestorWorkloadIdentity", "tokenExpirationDuration"], Releases::since(137)),
    ("gardenlet", &["exposureClassHandlers", schema::EACH, "loadBalancerService", "class"], Releases::since(132)),
    ("gardenlet", &["gardenClientConnection", "gardenClusterCACert"], Releases::until(143)),
    ("gardenlet", &["logging", "victoriaLogs"], Releases::since(137)),
];

/// Fields below `seedConfig` of gardenlet that only some releases have: those of a Seed.
static SEED_CONFIG: LazyLock<Vec<(&'static [&'static str], Releases)>> = LazyLock::new(|| {
    let fields = catalogue::of::<Seed>().fields.iter().filter(|field| field.path.first() == Some(&"spec"));
    let below = |path: &[&'static str]| -> &'static [&'static str] { [&["seedConfig"], path].concat().leak() };
    fields.map(|field| (below(field.path), field.releases)).collect()
});

/// Schema of the configuration kind of a component, by the name of its folder, in a release; `None` if no table has the kind.
pub fn node(component: &str, kind: &str, release: Release) -> Option<Node> {
    let own = FIELDS.iter().filter(|(of, ..)| *of == component).map(|(_, path, releases)| (*path, *releases));
    let of_seed = SEED_CONFIG.iter().filter(|_| component == "gardenlet").copied();
    let unknown = own.chain(of_seed).filter(|(_, releases)| !releases.contain(release));
    Some(unknown.fold(TABLES.node(component, kind)?, |node, (path, _)| schema::without(node, path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the node at a path.
    fn at(node: &Node, path: &[&str]) -> Option<Node> {
        path.iter().try_fold(node.clone(), |node, name| match node {
            Node::List(inner) | Node::Map(inner) if *name == schema::EACH => Some(*inner),
            node => Some(node.as_object()?.field(name)?.node.clone()),
        })
    }

    /// Traverses every reachable type, so that a type without a table fails here.
    #[test]
    fn every_type_of_every_table_resolves() {
        let structs: Vec<_> = TABLES.structs().collect();
        assert_eq!(structs.len(), 99);
        for object in structs {
            assert!(object.fields.iter().all(|field| !field.name.is_empty()), "{}", object.name);
        }
    }

    const KINDS: [(&str, &str); 3] = [
        ("admissioncontroller", "AdmissionControllerConfiguration"),
        ("controllermanager", "ControllerManagerConfiguration"),
        ("gardenlet", "GardenletConfiguration"),
    ];

    #[test]
    fn a_release_has_its_fields_only() {
        let of_seed = SEED_CONFIG.iter().map(|(path, releases)| ("gardenlet", *path, *releases));
        assert!(of_seed.len() > 15, "{}", of_seed.len());
        for (component, path, releases) in FIELDS.into_iter().chain(of_seed) {
            let (_, kind) = KINDS.iter().find(|(known, _)| *known == component).expect("a kind");
            for release in (119..=150).map(Release) {
                let node = node(component, kind, release).expect("a table");
                let has = at(&node, path).is_some();
                assert_eq!(has, releases.contain(release), "{component} {path:?} {release:?}");
            }
        }
    }
}
