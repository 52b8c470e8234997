// SPDX-License-Identifier: Apache-2.0
//! Authentication of users and components by the certificates of their requests.
//!
//! | signed by | validated at | valid for |
//! | --- | --- | --- |
//! | the landscape's authority | wall time | everything: components, and the landscape's own commands |
//! | the authority of the cluster in the path | landscape time | that cluster |
//! | the landscape's secret: a token of a ServiceAccount ([`crate::identity::tokens`]) | landscape time | the account's cluster |
//!
//! A cluster's authority is the one in its Cluster object (a shoot's gardenlet writes it); without one it is the
//! authority that the landscape has created for the cluster.
//!
//! **Invariants.** Paths of no cluster or of all clusters need the landscape's authority. An invalid certificate is
//! answered with 401 even where an anonymous request would be allowed.

pub mod signing_requests;
pub mod tokens;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::cluster;
use api::terrarium::Cluster;
use futures::future::BoxFuture;
use generic_apiserver::Server;
use generic_apiserver::authentication::{
    Authenticator, CertificateError, ClientAuthority, Credentials, FixedAuthenticator, Identity, Judged, Unauthorized,
    organizational_unit,
};
use parking_lot::Mutex;
use process::User;
use process::pki::{Badge, PkiError};
use rustls_pki_types::CertificateDer;

use crate::identity::tokens::Tokens;

/// Authenticates users by certificates of one authority, and components by the [`Badge`] in those. A component of an
/// earlier start of the host gets 401.
#[derive(Debug)]
pub struct CertificateAuthenticator {
    fixed: FixedAuthenticator,
    start: u64,
    /// Cache of parsed badges by certificate: every request has one.
    badges: Mutex<BTreeMap<Vec<u8>, Option<Component>>>,
}

/// Component and version.
type Component = (Arc<str>, Arc<str>);

/// Maximum number of cached certificates; a full cache is cleared.
const REMEMBERED: usize = 1024;

impl CertificateAuthenticator {
    /// Creates an authenticator for certificates of the PEM authorities; `start`: number of the host's start.
    ///
    /// # Errors
    /// The text holds no certificates.
    pub fn new(authorities: &str, start: u64) -> Result<Self, CertificateError> {
        let users = ClientAuthority::from_pem(authorities)?;
        let fixed = FixedAuthenticator { users: vec![(users, Judged::ByWallTime)], ..FixedAuthenticator::default() };
        Ok(Self { fixed, start, badges: Mutex::default() })
    }
}

impl CertificateAuthenticator {
    /// Returns the component of a certificate; `None`: it belongs to no component.
    fn component_of(&self, certificate: &CertificateDer<'_>) -> Result<Option<Component>, Unauthorized> {
        if let Some(known) = self.badges.lock().get(certificate.as_ref()) {
            return Ok(known.clone());
        }
        let component = organizational_unit(certificate).map(|badge| self.component(&badge)).transpose()?;
        let mut badges = self.badges.lock();
        if badges.len() >= REMEMBERED {
            badges.clear();
        }
        badges.insert(certificate.to_vec(), component.clone());
        Ok(component)
    }

    fn component(&self, badge: &str) -> Result<Component, Unauthorized> {
        let badge: Badge = badge.parse().map_err(|error: PkiError| Unauthorized(error.to_string()))?;
        if badge.start != self.start {
            return Err(Unauthorized(format!(
                "issued by start {} of the host, and this is start {}",
                badge.start, self.start
            )));
        }
        Ok((badge.component.into(), badge.version.into()))
    }
}

impl Authenticator for CertificateAuthenticator {
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        Box::pin(async move {
            let identity = self.fixed.authenticate(credentials).await?;
            let Identity::User(user) = identity else { return Ok(identity) };
            let component = match credentials.certificates.first() {
                Some(certificate) => self.component_of(certificate)?,
                None => None,
            };
            Ok(Identity::User(User { component, ..user }))
        })
    }
}

/// Returns the authorities, as PEM, of a cluster whose object names none; `None`: only the landscape's authority is
/// accepted.
pub type OwnAuthorities = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Authenticates users with the authority of the requested cluster.
pub struct ClusterAuthenticator {
    landscape: CertificateAuthenticator,
    server: Server,
    own: OwnAuthorities,
    tokens: Option<Tokens>,
    /// Parsed bundle of each cluster, and the text that it was parsed from.
    read: Mutex<BTreeMap<String, (String, ClientAuthority)>>,
}

impl fmt::Debug for ClusterAuthenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterAuthenticator").field("landscape", &self.landscape).finish_non_exhaustive()
    }
}

impl ClusterAuthenticator {
    /// Accepts the landscape's authority everywhere, and in a cluster also that of its object, which is read from
    /// `server`.
    pub fn new(landscape: CertificateAuthenticator, server: Server, own: OwnAuthorities) -> Self {
        Self { landscape, server, own, tokens: None, read: Mutex::default() }
    }

    /// Accepts tokens of ServiceAccounts in addition.
    pub fn with_tokens(self, tokens: Tokens) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// Returns the authority of a cluster.
    async fn authority(&self, cluster: &str) -> Option<ClientAuthority> {
        if cluster.is_empty() || cluster == "*" {
            return None;
        }
        let object = self.server.object::<Cluster>(cluster::RUNTIME, "", cluster).await;
        self.authority_of(cluster, object.as_deref())
    }

    /// Returns the authority of a cluster, given its object.
    fn authority_of(&self, cluster: &str, object: Option<&Cluster>) -> Option<ClientAuthority> {
        let bundle = match object {
            Some(object) if !object.spec.client_ca.is_empty() => Some(object.spec.client_ca.clone()),
            Some(_) => (self.own)(cluster),
            None if cluster == cluster::RUNTIME => (self.own)(cluster),
            None => None,
        };
        let mut read = self.read.lock();
        let Some(bundle) = bundle else {
            read.remove(cluster);
            return None;
        };
        if let Some((known, authority)) = read.get(cluster)
            && *known == bundle
        {
            return Some(authority.clone());
        }
        let authority = ClientAuthority::from_pem(&bundle)
            .inspect_err(|error| tracing::warn!(%error, cluster, "the cluster's clients cannot be known"))
            .ok()?;
        read.insert(cluster.to_owned(), (bundle, authority.clone()));
        Some(authority)
    }
}

impl Authenticator for ClusterAuthenticator {
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        Box::pin(async move {
            if let Some(tokens) = self.tokens.as_ref().filter(|_| credentials.bearer_token.is_some()) {
                return tokens.authenticate(credentials).await;
            }
            let refusal = match self.landscape.authenticate(credentials).await {
                Err(refusal) => refusal,
                known => return known,
            };
            if credentials.certificates.is_empty() {
                return Err(refusal);
            }
            let Some(authority) = self.authority(credentials.cluster).await else { return Err(refusal) };
            let user = authority.judge(credentials.certificates, credentials.now);
            user.map(Identity::User).map_err(|error| Unauthorized(error.to_string()))
        })
    }

    fn home<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let Credentials { certificates, now, .. } = credentials;
            if let Some((tokens, token)) = self.tokens.as_ref().zip(credentials.bearer_token) {
                return tokens.cluster(token);
            }
            if certificates.is_empty() {
                return None;
            }
            let is_user = |authority: Option<ClientAuthority>| {
                authority.is_some_and(|authority| authority.judge(certificates, now).is_ok())
            };
            if is_user(self.authority_of(cluster::RUNTIME, None)) {
                return Some(cluster::RUNTIME.to_owned());
            }
            let clusters = self.server.objects::<Cluster>(cluster::RUNTIME).await;
            let is_home = |cluster: &&Arc<Cluster>| is_user(self.authority_of(&cluster.metadata.name, Some(cluster)));
            clusters.iter().find(is_home).map(|cluster| cluster.metadata.name.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use clock::Instant;
    use process::pki::{Authority, Key, Leaf, Pair, Validity};
    use rustls_pki_types::pem::PemObject;

    use super::*;

    fn noon() -> Instant {
        "2025-06-01T12:00:00Z".parse().expect("an instant")
    }

    fn issue(authority: &Authority, leaf: Leaf<'_>) -> Vec<CertificateDer<'static>> {
        let validity = Validity::starting(noon(), TimeDelta::hours(1));
        let Pair { certificate, .. } =
            authority.issue(leaf, &Key::transport().expect("a key"), validity).expect("a certificate");
        CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>().expect("PEM")
    }

    #[tokio::test]
    async fn only_components_of_this_start_are_components() {
        let validity = Validity::starting(noon(), TimeDelta::hours(1));
        let authority = Authority::new("ca", Key::transport().expect("a key"), validity).expect("an authority");
        let knows = CertificateAuthenticator::new(&authority.pair().certificate, 7).expect("an authority");
        let badge = |start| Badge { start, component: "scheduler".to_owned(), version: "v1.120.0".to_owned() };
        for (leaf, expected) in [
            (Leaf::Client("scheduler", &[]), Ok(None)),
            (Leaf::Component("scheduler", &[], &badge(7)), Ok(Some(("scheduler".into(), "v1.120.0".into())))),
            (
                Leaf::Component("scheduler", &[], &badge(6)),
                Err(Unauthorized("issued by start 6 of the host, and this is start 7".to_owned())),
            ),
        ] {
            let certificates = issue(&authority, leaf);
            let credentials =
                Credentials { cluster: "", certificates: &certificates, bearer_token: None, now: noon(), wall: noon() };
            let expected = expected
                .map(|component| Identity::User(User { name: "scheduler".into(), groups: Vec::new(), component }));
            assert_eq!(knows.authenticate(credentials).await, expected);
        }
    }
}
