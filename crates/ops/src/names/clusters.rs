// SPDX-License-Identifier: Apache-2.0
//! Names of a landscape's clusters.
//!
//! ```text
//! garden · runtime · seed/NAME · shoot/PROJECT/NAME      in commands; a Shoot in all forms of ShootName
//! garden · runtime · seed--NAME · shoot--PROJECT--NAME   in paths
//! ```

use api::cluster;
use std::fmt;
use std::str::FromStr;

use process::Transport;

use super::shoots::ShootName;
use crate::Error;

/// A cluster as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NamedCluster {
    /// `garden`: the virtual cluster that users of Gardener access.
    Garden,
    /// `runtime`: the cluster that hosts Gardener itself.
    Runtime,
    /// Cluster of a Seed.
    Seed(String),
    /// Cluster of a Shoot.
    Shoot(ShootName),
}

/// True if a text can be the name of an object, without characters that have a meaning in a path.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')
}

impl FromStr for NamedCluster {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            None if text == cluster::GARDEN => Some(Self::Garden),
            None if text == cluster::RUNTIME => Some(Self::Runtime),
            Some(("seed", name)) => is_name(name).then(|| Self::Seed(name.to_owned())),
            _ => text.parse().map(Self::Shoot).ok(),
        }
        .ok_or_else(|| "use garden, runtime, seed/NAME or shoot/PROJECT/NAME".to_owned())
    }
}

impl fmt::Display for NamedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Garden => f.write_str(cluster::GARDEN),
            Self::Runtime => f.write_str(cluster::RUNTIME),
            Self::Seed(name) => write!(f, "seed/{name}"),
            Self::Shoot(name) => write!(f, "shoot/{name}"),
        }
    }
}

impl NamedCluster {
    /// Returns the name of the cluster in paths.
    pub fn logical(&self) -> String {
        self.to_string().replace('/', "--")
    }

    /// Returns the cluster with this name in paths; `None` for an invalid name.
    pub fn of_logical(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split("--").collect();
        let cluster: Self = parts.join("/").parse().ok()?;
        (cluster.logical() == name).then_some(cluster)
    }

    /// Checks that the landscape has the cluster.
    ///
    /// # Errors
    /// The cluster does not exist; the error lists those that do.
    pub async fn must_exist(&self, transport: &Transport) -> Result<(), Error> {
        let known = all(transport).await?;
        if known.contains(self) {
            return Ok(());
        }
        let known: Vec<String> = known.iter().map(Self::to_string).collect();
        Err(Error::input(format!("there is no cluster {self}"), format!("there are {}", known.join(", "))))
    }
}

/// Returns the clusters of a landscape, in order.
pub async fn all(transport: &Transport) -> Result<Vec<NamedCluster>, Error> {
    let path = "/clusters/runtime/apis/terrarium.dev/v1alpha1/clusters";
    let list = crate::read::tree(transport, path, "application/json").await?;
    let names = list["items"].as_array().into_iter().flatten().filter_map(|item| item["metadata"]["name"].as_str());
    // Cluster `runtime` lists the other clusters, and exists as well.
    let mut all: Vec<NamedCluster> =
        names.filter_map(NamedCluster::of_logical).chain([NamedCluster::Runtime]).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_have_one_name_for_people_and_one_for_paths() {
        for (name, logical) in [
            ("garden", "garden"),
            ("runtime", "runtime"),
            ("seed/local-2", "seed--local-2"),
            ("shoot/demo/local", "shoot--demo--local"),
        ] {
            let cluster: NamedCluster = name.parse().expect("a name");
            assert_eq!(cluster.logical(), logical);
            assert_eq!(NamedCluster::of_logical(logical), Some(cluster.clone()));
            assert_eq!(cluster.to_string(), name);
        }
        for name in ["", "Garden", "seed", "seed/", "seed/a/b", "shoot/a", "shoot//b", "shoot/a/b/c", "seed/..%2f"] {
            assert!(name.parse::<NamedCluster>().is_err(), "{name}");
        }
        for other in ["seed--a--b", "demo--local", "shoots--demo--local"] {
            assert_eq!(NamedCluster::of_logical(other), None, "{other}");
        }
    }

    #[test]
    fn a_shoot_is_named_as_in_other_commands() {
        for name in ["shoot/demo/local", "demo/local", "shoots/demo/local", "Shoot/demo/local"] {
            let cluster: NamedCluster = name.parse().expect("a name");
            assert_eq!(cluster.to_string(), "shoot/demo/local");
        }
        assert_eq!("seed/local".parse(), Ok(NamedCluster::Seed("local".to_owned())), "no Project is called seed");
    }
}
