// SPDX-License-Identifier: Apache-2.0
//! Form of the Events that Gardener's components write.
//!
//! Source: pkg/apis/core/v1beta1/types_common.go and the recorders of all components @ v1.136.0, v1.137.0.

use crate::release::{NEWEST, Releases};
use crate::skew::GardenerVersion;

/// Releases whose components write Events of `events.k8s.io/v1` with an action; older ones write Events of `core/v1`.
const HAVE_ACTIONS: Releases = Releases::since(137);

/// True if a component of a version writes Events with an action. A version that cannot be read counts as the newest.
pub fn have_actions(version: &str) -> bool {
    let release = GardenerVersion::parse(version).map_or(NEWEST, |version| version.served_release());
    HAVE_ACTIONS.contain(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_actions_since_their_release() {
        for (version, expected) in [("v1.136.5", false), ("v1.137.0", true), ("1.149.0", true), ("v1.120.0", false)] {
            assert_eq!(have_actions(version), expected, "{version}");
        }
    }
}
