// SPDX-License-Identifier: Apache-2.0
//! Changes of the domains of a Seed while Shoots use it (SeedValidator, ManagedSeed).
//!
//! Source: plugin/pkg/utils/miscellaneous.go @ v1.127.0 and v1.131.0.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::core::{SeedDNS, Shoot};

use crate::release::{Release, Releases};

/// The internal domain cannot change.
const INTERNAL_STAYS: Releases = Releases::since(127);
/// Default domains of Shoots cannot be removed, or be missing among the first ones of a Seed.
const DEFAULTS_STAY: Releases = Releases::since(131);

/// Domains that a change takes from the Shoots of a Seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The internal domain.
    Internal,
    /// Default domains, sorted.
    Defaults(Vec<String>),
    /// Default domains of the garden that are not among the first ones of the Seed, sorted.
    Missing(Vec<String>),
}

impl Loss {
    /// Returns the message for the Seed of a name.
    pub fn text(&self, name: &str) -> String {
        match self {
            Self::Internal => format!("cannot change internal domain as the Seed {name:?} is still in use by shoots"),
            Self::Defaults(domains) => format!(
                "cannot remove default domains [{}] from Seed {name:?} as they are still being used by shoots",
                domains.join(" ")
            ),
            Self::Missing(domains) => format!(
                "cannot configure explicit default domains for Seed {name:?} without including domains [{}] that are currently \
                 being used by shoots",
                domains.join(" ")
            ),
        }
    }
}

/// Shoots of the garden, its default domains, and the release whose rules apply.
#[derive(Clone, Debug)]
pub struct Uses {
    /// All Shoots.
    pub shoots: Vec<Arc<Shoot>>,
    /// Domains of the Secrets with role `default-domain`.
    pub default_domains: Vec<String>,
    /// Release of gardener-apiserver.
    pub release: Release,
}

impl Uses {
    /// Returns what a change of the Seed of a name takes from its Shoots, in the order in which it is reported.
    pub fn lost(&self, name: &str, new: &SeedDNS, old: &SeedDNS) -> Vec<Loss> {
        let mut lost = Vec::new();
        if let (Some(is), Some(was)) = (&new.internal, &old.internal)
            && is.domain != was.domain
            && INTERNAL_STAYS.contain(self.release)
            && self.of_seed(name).next().is_some()
        {
            lost.push(Loss::Internal);
        }
        if !DEFAULTS_STAY.contain(self.release) {
            return lost;
        }
        let domains =
            |dns: &SeedDNS| -> BTreeSet<String> { dns.defaults.iter().map(|one| one.domain.clone()).collect() };
        let (is, was) = (domains(new), domains(old));
        let removed = self.used(name, was.difference(&is));
        if !removed.is_empty() {
            lost.push(Loss::Defaults(removed.into_iter().collect()));
        } else if was.is_empty() && !is.is_empty() {
            let missing: Vec<String> = self.used(name, &self.default_domains).difference(&is).cloned().collect();
            if !missing.is_empty() {
                lost.push(Loss::Missing(missing));
            }
        }
        lost
    }

    fn of_seed(&self, name: &str) -> impl Iterator<Item = &Shoot> {
        let is_its = move |shoot: &&Shoot| {
            shoot.spec.seed_name.as_deref() == Some(name) || shoot.status.seed_name.as_deref() == Some(name)
        };
        self.shoots.iter().map(AsRef::as_ref).filter(is_its)
    }

    /// Returns the domains to which domains of the Seed's Shoots belong; the first of several counts.
    fn used<'a>(&self, name: &str, domains: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let domains: Vec<&String> = domains.into_iter().collect();
        let below = |own: &str, domain: &str| own.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
        let of_shoot = |shoot: &Shoot| {
            let own = shoot.spec.dns.as_ref()?.domain.as_deref()?;
            domains.iter().find(|domain| below(own, domain)).map(|domain| (*domain).clone())
        };
        self.of_seed(name).filter_map(of_shoot).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn dns(internal: &str, defaults: &[&str]) -> SeedDNS {
        let defaults: Vec<Value> = defaults.iter().map(|domain| json!({ "domain": domain })).collect();
        let internal = if internal.is_empty() { Value::Null } else { json!({ "domain": internal }) };
        serde_json::from_value(json!({ "internal": internal, "defaults": defaults })).expect("the DNS of a Seed")
    }

    fn uses(minor: u16) -> Uses {
        let shoot = |spec: &str, status: &str, domain: &str| {
            let tree = json!({
                "metadata": { "name": "s", "namespace": "garden-dev" },
                "spec": { "seedName": spec, "dns": { "domain": domain } },
                "status": { "seedName": status },
            });
            Arc::new(serde_json::from_value(tree).expect("a Shoot"))
        };
        Uses {
            shoots: vec![
                shoot("a", "a", "s.dev.a.example"),
                shoot("b", "a", "s.dev.b.example"),
                shoot("c", "c", "s.dev.c.example"),
            ],
            default_domains: ["a.example", "b.example", "c.example"].map(str::to_owned).to_vec(),
            release: Release(minor),
        }
    }

    /// Rows: minor, Seed, its domains before and after, what is lost.
    #[test]
    fn domains_of_a_seed_stay_while_shoots_use_them() {
        let list = |domains: &[&str]| domains.iter().map(|domain| (*domain).to_owned()).collect::<Vec<_>>();
        for (minor, seed, old, new, expected) in [
            (126, "a", dns("i", &[]), dns("j", &[]), vec![]),
            (127, "a", dns("i", &[]), dns("j", &[]), vec![Loss::Internal]),
            (127, "none", dns("i", &[]), dns("j", &[]), vec![]),
            (127, "a", dns("", &[]), dns("j", &[]), vec![]),
            (149, "a", dns("i", &[]), dns("i", &[]), vec![]),
            (130, "a", dns("", &["a.example"]), dns("", &[]), vec![]),
            (
                131,
                "a",
                dns("", &["a.example", "c.example"]),
                dns("", &["c.example"]),
                vec![Loss::Defaults(list(&["a.example"]))],
            ),
            (131, "a", dns("", &["a.example", "c.example"]), dns("", &["a.example"]), vec![]),
            // A Shoot that is moved away still counts.
            (131, "a", dns("", &[]), dns("", &["a.example"]), vec![Loss::Missing(list(&["b.example"]))]),
            (131, "a", dns("", &[]), dns("", &["b.example", "a.example"]), vec![]),
            (131, "c", dns("", &[]), dns("", &["a.example"]), vec![Loss::Missing(list(&["c.example"]))]),
            (
                149,
                "a",
                dns("i", &["a.example", "b.example"]),
                dns("j", &["x.example"]),
                vec![Loss::Internal, Loss::Defaults(list(&["a.example", "b.example"]))],
            ),
        ] {
            assert_eq!(uses(minor).lost(seed, &new, &old), expected, "{minor} {seed} {old:?} {new:?}");
        }
        let lost = [Loss::Internal, Loss::Defaults(list(&["a", "b"])), Loss::Missing(list(&["c"]))];
        assert_eq!(
            lost.map(|lost| lost.text("s")),
            [
                "cannot change internal domain as the Seed \"s\" is still in use by shoots",
                "cannot remove default domains [a b] from Seed \"s\" as they are still being used by shoots",
                "cannot configure explicit default domains for Seed \"s\" without including domains [c] that are currently \
                 being used by shoots",
            ]
        );
    }
}
