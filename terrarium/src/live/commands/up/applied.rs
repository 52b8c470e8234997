// SPDX-License-Identifier: Apache-2.0
//! Numbers of objects that `up -f` has applied.

use std::collections::BTreeMap;

use ops::spelling::counted;

/// Objects of the manifests that were applied; additions are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Applied {
    /// Number of objects by kind.
    pub(super) kinds: BTreeMap<String, usize>,
    /// Number of objects to apply.
    pub(super) of: usize,
}

impl Applied {
    /// Counts an object.
    pub(super) fn add(&mut self, kind: &str) {
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
    }

    /// Number of applied objects.
    pub(super) fn done(&self) -> usize {
        self.kinds.values().sum()
    }

    /// Formats the numbers, the largest first; kinds with equal numbers by name.
    pub(super) fn text(&self) -> String {
        let mut kinds: Vec<(&String, &usize)> = self.kinds.iter().collect();
        kinds.sort_by_key(|(kind, number)| (std::cmp::Reverse(**number), *kind));
        if kinds.is_empty() {
            return "nothing".to_owned();
        }
        kinds.into_iter().map(|(kind, number)| count(*number, kind)).collect::<Vec<_>>().join(", ")
    }

    /// Formats how many objects were applied: `2 of 12 objects`.
    pub(super) fn share(&self) -> String {
        format!("{} of {}", self.done(), counted(self.of, "object", "objects"))
    }
}

/// Formats a number of objects of a kind: `1 Policy`, `2 Policies`.
pub(super) fn count(number: usize, kind: &str) -> String {
    let many = match kind.as_bytes() {
        [.., b'a' | b'e' | b'i' | b'o' | b'u', b'y'] => format!("{kind}s"),
        [.., b'y'] => format!("{}ies", &kind[..kind.len() - 1]),
        [.., b's', b's'] => format!("{kind}es"),
        [.., b's'] => kind.to_owned(),
        _ => format!("{kind}s"),
    };
    counted(number, kind, &many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_kind_is_first() {
        let mut applied = Applied { of: 6, ..Applied::default() };
        assert_eq!((applied.text().as_str(), applied.share().as_str()), ("nothing", "0 of 6 objects"));
        for kind in ["Project", "Shoot", "NetworkPolicy", "Shoot", "ExposureClass"] {
            applied.add(kind);
        }
        assert_eq!(applied.text(), "2 Shoots, 1 ExposureClass, 1 NetworkPolicy, 1 Project");
        assert_eq!((applied.done(), applied.share().as_str()), (5, "5 of 6 objects"));
    }

    #[test]
    fn kinds_have_plurals() {
        for (kind, expected) in [
            ("Shoot", "2 Shoots"),
            ("ExposureClass", "2 ExposureClasses"),
            ("NetworkPolicy", "2 NetworkPolicies"),
            ("WorkloadIdentity", "2 WorkloadIdentities"),
            ("Gateway", "2 Gateways"),
            ("Endpoints", "2 Endpoints"),
        ] {
            assert_eq!(count(2, kind), expected);
        }
        assert_eq!(count(1, "Shoot"), "1 Shoot");
    }
}
