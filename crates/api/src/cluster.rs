// SPDX-License-Identifier: Apache-2.0
//! Names of the clusters of a landscape, as in paths and keys of objects.
//!
//! | cluster | name |
//! | --- | --- |
//! | virtual garden | [`GARDEN`] |
//! | runtime cluster: the control plane's pods, and the clusters themselves as objects | [`RUNTIME`] |
//! | cluster of a Seed | `seed--NAME` |
//! | cluster of a Shoot | its technical ID, `shoot--PROJECT--NAME` |
//!
//! **Deliberately absent.** Parsing of a technical ID into project and name: it may hold a truncated project name. The notation
//! of clusters on the command line.

use std::fmt;

/// Name of the virtual garden.
pub const GARDEN: &str = "garden";
/// Name of the runtime cluster.
pub const RUNTIME: &str = "runtime";

const SEED_PREFIX: &str = "seed--";
const SHOOT_PREFIX: &str = "shoot--";

/// Parsed name of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClusterName<'a> {
    /// The virtual garden.
    Garden,
    /// The runtime cluster.
    Runtime,
    /// Cluster of the Seed with this name.
    Seed(&'a str),
    /// Cluster of the Shoot with this technical ID.
    Shoot(&'a str),
}

impl<'a> ClusterName<'a> {
    /// Parses a name; `None`: no cluster has such a name.
    pub fn parse(name: &'a str) -> Option<Self> {
        match name {
            GARDEN => Some(Self::Garden),
            RUNTIME => Some(Self::Runtime),
            _ if is_technical_id(name) => Some(Self::Shoot(name)),
            _ => name.strip_prefix(SEED_PREFIX).filter(|seed| !seed.is_empty()).map(Self::Seed),
        }
    }
}

impl fmt::Display for ClusterName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Garden => f.write_str(GARDEN),
            Self::Runtime => f.write_str(RUNTIME),
            Self::Seed(name) => write!(f, "{SEED_PREFIX}{name}"),
            Self::Shoot(technical_id) => f.write_str(technical_id),
        }
    }
}

/// Returns the name of a Seed's cluster.
pub fn of_seed(name: &str) -> String {
    ClusterName::Seed(name).to_string()
}

/// Returns the Seed whose cluster has this name.
pub fn seed(cluster: &str) -> Option<&str> {
    match ClusterName::parse(cluster)? {
        ClusterName::Seed(name) => Some(name),
        _ => None,
    }
}

/// Technical ID of a Shoot: name of its cluster and of its namespace in the cluster of its Seed.
pub fn technical_id(project: &str, shoot: &str) -> String {
    format!("{SHOOT_PREFIX}{project}--{shoot}")
}

/// True if the text is the technical ID of a Shoot.
pub fn is_technical_id(text: &str) -> bool {
    text.starts_with(SHOOT_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_their_clusters() {
        for (name, expected) in [
            ("garden", Some(ClusterName::Garden)),
            ("runtime", Some(ClusterName::Runtime)),
            ("seed--local", Some(ClusterName::Seed("local"))),
            ("seed--a--b", Some(ClusterName::Seed("a--b"))),
            ("shoot--p--s", Some(ClusterName::Shoot("shoot--p--s"))),
            ("seed--", None),
            ("seed-local", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(ClusterName::parse(name), expected, "{name}");
            assert!(expected.is_none_or(|cluster| cluster.to_string() == name), "{name}");
        }
        assert_eq!(seed("seed--local"), Some("local"));
        assert_eq!(seed("garden"), None);
        assert_eq!(of_seed("local"), "seed--local");
        assert_eq!(technical_id("demo", "local"), "shoot--demo--local");
    }
}
