// SPDX-License-Identifier: Apache-2.0
//! The policy implemented a second time, sentence by sentence, over minors as plain numbers, without code of the product.

use domain::profile::Profile;
use domain::skew::Component;

/// Minors by component.
#[derive(Clone, Debug, Default)]
pub(crate) struct Minors {
    pub(crate) apiservers: Vec<i64>,
    pub(crate) control_plane: Vec<i64>,
    pub(crate) gardenlets: Vec<i64>,
    pub(crate) operators: Vec<i64>,
    pub(crate) extensions: Vec<i64>,
}

impl Minors {
    pub(crate) fn of(all: &[(Component, u64)]) -> Self {
        let mut minors = Self::default();
        for (component, minor) in all {
            let of = match component {
                Component::Apiserver => &mut minors.apiservers,
                Component::Gardenlet => &mut minors.gardenlets,
                Component::Operator => &mut minors.operators,
                Component::Extension => &mut minors.extensions,
                _ => &mut minors.control_plane,
            };
            of.push(i64::try_from(*minor).expect("a small number"));
        }
        minors
    }

    /// Returns the names of the sentences that are violated.
    pub(crate) fn broken(&self, profile: Profile) -> Vec<&'static str> {
        let every = |left: &[i64], right: &[i64], holds: &dyn Fn(i64, i64) -> bool| {
            left.iter().all(|one| right.iter().all(|other| holds(*one, *other)))
        };
        let within_one = |one: i64, other: i64| (one - other).abs() <= 1;
        let gardenlet_age = if profile == Profile::Upstream { 2 } else { 1 };
        let of_operators: Vec<i64> = self.operators.iter().chain(&self.apiservers).copied().collect();
        let sentences = [
            // The newest and oldest gardener-apiserver instances must be within one minor version.
            ("A1", every(&self.apiservers, &self.apiservers, &within_one)),
            // Components must not be newer than the gardener-apiserver instances they communicate with.
            ("C1", every(&self.control_plane, &self.apiservers, &|one, apiserver| one <= apiserver)),
            // They may be up to one minor version older.
            ("C2", every(&self.control_plane, &self.apiservers, &|one, apiserver| one >= apiserver - 1)),
            ("G1", every(&self.gardenlets, &self.apiservers, &|one, apiserver| one <= apiserver)),
            ("G2", every(&self.gardenlets, &self.apiservers, &|one, apiserver| one >= apiserver - gardenlet_age)),
            // gardener-operator follows the same policy as gardener-apiserver.
            ("O1", every(&self.operators, &self.operators, &within_one)),
            ("O2", self.operators.is_empty() || every(&of_operators, &of_operators, &within_one)),
            // No extension must depend on a library higher than the version of gardenlet.
            ("E1", every(&self.extensions, &self.gardenlets, &|library, gardenlet| library <= gardenlet)),
        ];
        sentences.into_iter().filter(|(_, holds)| !holds).map(|(name, _)| name).collect()
    }
}
