// SPDX-License-Identifier: Apache-2.0
//! Names of components, and their common abbreviations.

/// Abbreviations.
const SHORT: [(&str, &str); 15] = [
    ("gapi", "gardener-apiserver"),
    ("gcm", "gardener-controller-manager"),
    ("gac", "gardener-admission-controller"),
    ("gs", "gardener-scheduler"),
    ("gop", "gardener-operator"),
    ("glet", "gardenlet"),
    ("grm", "gardener-resource-manager"),
    ("gna", "gardener-node-agent"),
    ("mcm", "machine-controller-manager"),
    ("kapi", "kube-apiserver"),
    ("kcm", "kube-controller-manager"),
    ("ks", "kube-scheduler"),
    ("ccm", "cloud-controller-manager"),
    ("ca", "cluster-autoscaler"),
    ("dwd", "dependency-watchdog"),
];

/// Returns the full name of a component; a name that is not an abbreviation is unchanged.
pub fn full(name: &str) -> &str {
    SHORT.iter().find(|(short, _)| *short == name).map_or(name, |(_, full)| full)
}

/// True if `wanted` is the name of the component, its abbreviation, or its name without `gardener-` or
/// `gardener-extension-`.
pub fn is_meant(wanted: &str, component: &str) -> bool {
    let wanted = full(wanted);
    let rest = component.strip_prefix("gardener-");
    let is_rest = |rest: &str| rest == wanted || rest.strip_prefix("extension-") == Some(wanted);
    component == wanted || rest.is_some_and(is_rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_short_names() {
        for (wanted, component) in [
            ("gcm", "gardener-controller-manager"),
            ("controller-manager", "gardener-controller-manager"),
            ("gardener-controller-manager", "gardener-controller-manager"),
            ("glet", "gardenlet"),
            ("provider-local", "gardener-extension-provider-local"),
            ("mcm", "machine-controller-manager"),
        ] {
            assert!(is_meant(wanted, component), "{wanted}");
        }
        for (wanted, component) in
            [("gcm", "gardener-scheduler"), ("", "gardenlet"), ("kcm", "gardener-controller-manager")]
        {
            assert!(!is_meant(wanted, component), "{wanted}");
        }
    }
}
