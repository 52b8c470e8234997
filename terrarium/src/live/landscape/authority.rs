// SPDX-License-Identifier: Apache-2.0
//! The authorities of a landscape's certificates.
//!
//! | authority | signs | is kept in |
//! | --- | --- | --- |
//! | the landscape's ([`LandscapeAuthority`]) | the host's server certificate, components, our own commands | wall time |
//! | one for each of `garden`, `runtime`, `seed--NAME` ([`ClusterAuthorities`]) | users of that cluster | landscape time |
//!
//! They lie in the landscape's directory, so that a kubeconfig stays good when the host is started again. Their keys are
//! random: the seed of a landscape must not be enough to become its administrator. Authorities of shoots are objects of the
//! landscape, and follow its seed.

use api::cluster::ClusterName;
use std::fmt;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use clock::Clock;
use process::pki::{Authority, Badge, Key, Leaf, Pair, Validity};

use crate::failure::Failure;
use crate::live::directory::Directory;

/// A user of a cluster is to survive every advance of the clock.
const CLUSTER_LIFETIME: TimeDelta = TimeDelta::days(36_500);
const LIFETIME: TimeDelta = TimeDelta::days(3650);
/// Clocks of machines differ.
const BEFORE: TimeDelta = TimeDelta::hours(1);

/// The authority. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LandscapeAuthority {
    authority: Arc<Authority>,
    validity: Validity,
}

impl fmt::Debug for LandscapeAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LandscapeAuthority")
    }
}

impl LandscapeAuthority {
    /// The authority of a directory; made when there is none yet.
    pub(crate) fn of(directory: &Directory) -> Result<Self, Failure> {
        let now = Clock::wall().now();
        let validity = Validity { not_before: now - BEFORE, not_after: now + LIFETIME };
        let failed = |error: process::pki::PkiError| Failure::Failed(error.to_string());
        let authority = if let Some(authority) = Self::read(directory)? {
            authority
        } else {
            let key = Key::transport().map_err(failed)?;
            let authority = Authority::new("terrarium", key, validity).map_err(failed)?;
            directory.write("pki/ca.crt", &authority.pair().certificate)?;
            directory.write("pki/ca.key", &authority.pair().key)?;
            authority
        };
        Ok(Self { authority: Arc::new(authority), validity })
    }

    /// The authority's certificate and key in a directory; `None`: one of them is not there.
    pub(crate) fn read(directory: &Directory) -> Result<Option<Authority>, Failure> {
        let (certificate, key) = (directory.text("pki/ca.crt")?, directory.text("pki/ca.key")?);
        let (Some(certificate), Some(key)) = (certificate, key) else { return Ok(None) };
        let read = Authority::from_pem(&certificate, &key);
        read.map(Some).map_err(|error| damaged(&format!("{}", directory.join("pki/ca.key").display()), &error))
    }

    /// Its certificate, as PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.authority.pair().certificate
    }

    /// What tokens are signed with: only the holder of the authority's key can compute it.
    pub(crate) fn token_secret(&self) -> Vec<u8> {
        format!("tokens of ServiceAccounts\n{}", self.authority.pair().key).into_bytes()
    }

    /// A certificate for the host.
    pub(crate) fn server(&self, names: &[&str]) -> Result<Pair, Failure> {
        self.issue(Leaf::Server(names)).map_err(Failure::Failed)
    }

    /// A certificate for a user.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> Result<Pair, String> {
        self.issue(Leaf::Client(user, groups))
    }

    /// A certificate for a component.
    pub(crate) fn component(&self, user: &str, groups: &[&str], badge: &Badge) -> Result<Pair, String> {
        self.issue(Leaf::Component(user, groups, badge))
    }

    fn issue(&self, leaf: Leaf<'_>) -> Result<Pair, String> {
        let key = Key::transport().map_err(|error| error.to_string())?;
        self.authority.issue(leaf, &key, self.validity).map_err(|error| error.to_string())
    }
}

/// Keys that cannot be read, and what to do.
fn damaged(path: &str, error: &process::pki::PkiError) -> Failure {
    Failure::input(format!("{path}: {error}"), "restore it from a copy; `terrarium doctor --fix` has new keys made")
}

/// A new authority by which servers behind a host know it, as PEM, and the host's own certificate. Both last as long as the
/// host does, and are in no file.
pub(crate) fn front_proxy(name: &str) -> Result<(String, Pair), Failure> {
    let now = Clock::wall().now();
    let validity = Validity { not_before: now - BEFORE, not_after: now + LIFETIME };
    let key = || Key::transport();
    let made = key().and_then(|own| Authority::new("terrarium-front-proxy", own, validity)).and_then(|authority| {
        let pair = authority.issue(Leaf::Client(name, &[]), &key()?, validity)?;
        Ok((authority.pair().certificate.clone(), pair))
    });
    made.map_err(|error| Failure::Failed(error.to_string()))
}

/// The authorities of the clusters that are no shoots. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ClusterAuthorities {
    directory: Directory,
    validity: Validity,
}

impl ClusterAuthorities {
    /// Those of a directory, in a landscape that began at `start_time`.
    pub(crate) fn of(directory: &Directory, start_time: DateTime<Utc>) -> Self {
        let validity = Validity { not_before: start_time - BEFORE, not_after: start_time + CLUSTER_LIFETIME };
        Self { directory: directory.clone(), validity }
    }

    /// The authority of a cluster, by its name in paths; made when there is none yet. `None`: its users are not ours.
    pub(crate) fn authority(&self, cluster: &str) -> Result<Option<Authority>, Failure> {
        if matches!(ClusterName::parse(cluster), None | Some(ClusterName::Shoot(_))) {
            return Ok(None);
        }
        let failed = |error: process::pki::PkiError| Failure::Failed(error.to_string());
        let file = format!("pki/{cluster}.json");
        if let Some(Pair { certificate, key }) = self.directory.read(&file)? {
            let read = Authority::from_pem(&certificate, &key);
            return read.map(Some).map_err(|error| damaged(&self.directory.join(&file).display().to_string(), &error));
        }
        let key = Key::transport().map_err(failed)?;
        let authority = Authority::new(&format!("terrarium-{cluster}"), key, self.validity).map_err(failed)?;
        self.directory.write_json(&file, authority.pair())?;
        Ok(Some(authority))
    }

    /// The certificate of a cluster's authority, as PEM.
    pub(crate) fn certificate(&self, cluster: &str) -> Result<Option<String>, Failure> {
        Ok(self.authority(cluster)?.map(|authority| authority.pair().certificate.clone()))
    }

    /// A certificate for a user of a cluster, and that of its authority.
    pub(crate) fn client(&self, cluster: &str, user: &str, groups: &[&str]) -> Result<(Pair, String), Failure> {
        let failed = |error: process::pki::PkiError| Failure::input(format!("user `{user}`: {error}"), "");
        let none = || {
            Failure::input(
                format!("cluster {cluster} has users of its own"),
                "`terrarium kubeconfig shoot/PROJECT/NAME` asks for one",
            )
        };
        let authority = self.authority(cluster)?.ok_or_else(none)?;
        let key = Key::transport().map_err(failed)?;
        let pair = authority.issue(Leaf::Client(user, groups), &key, self.validity).map_err(failed)?;
        Ok((pair, authority.pair().certificate.clone()))
    }
}
