// SPDX-License-Identifier: Apache-2.0
//! Authentication: who asks?
//!
//! A handshake takes every certificate whose key the client holds; what it is worth is judged here, for the cluster in
//! the path: one port serves many clusters, each with a CA of its own, and a wrong certificate has to be answered with
//! 401 instead of a broken connection.
//!
//! **Invariants.** Nothing is taken from headers of a client that is no front proxy, except its token and the wish to be
//! somebody else, which [`impersonation`] asks the authorizer about.
//!
//! **Tour.** [`Authenticator`] the hook; [`ClientAuthority`] judges certificates; [`FixedAuthenticator`] judges by what
//! is known beforehand; [`front_proxy`] identity between our own servers.

mod certificates;
pub mod front_proxy;
pub(crate) mod impersonation;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use clock::Instant;
use futures::future::BoxFuture;
use process::User;
use rustls_pki_types::CertificateDer;

pub use certificates::{CertificateError, ClientAuthority, organizational_unit};

/// Group of everybody who said who he is.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of everybody who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Name of everybody who did not.
pub const ANONYMOUS: &str = "system:anonymous";

/// What a client shows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// Logical cluster that is asked for; `*` for all, empty for a path outside of them.
    pub cluster: &'a str,
    /// Certificates of the connection, the client's own first. That he holds its key is proven, nothing else.
    pub certificates: &'a [CertificateDer<'static>],
    /// Token of the header `Authorization`.
    pub bearer_token: Option<&'a str>,
    /// Landscape time: what certificates and tokens issued inside of a landscape are judged on.
    pub now: Instant,
    /// Wall time: what certificates of connections between processes are judged on.
    pub wall: Instant,
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nobody that is known. Goes on as `system:anonymous`.
    Anonymous,
    /// A user. The server adds group `system:authenticated`.
    User(User),
    /// A server of ours that has authenticated the user itself and says who he is ([`front_proxy`]).
    FrontProxy,
}

/// Credentials that are wrong: 401. The reason is for our own output, never for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unauthorized(pub String);

/// Whose token it is, and for which of the audiences that were asked for.
pub type Reviewed = Result<(Identity, Vec<String>), Unauthorized>;

/// Finds out who asks.
pub trait Authenticator: Send + Sync + fmt::Debug + 'static {
    /// Who shows these credentials.
    ///
    /// # Errors
    /// Credentials that are wrong, also where none would have been enough.
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>>;

    /// As [`Authenticator::authenticate`], for a TokenReview: whether the token is meant for one of these audiences, and for
    /// which; none are the server's own.
    fn review<'a>(&'a self, credentials: Credentials<'a>, audiences: &'a [String]) -> BoxFuture<'a, Reviewed> {
        Box::pin(async move { Ok((self.authenticate(credentials).await?, audiences.to_vec())) })
    }

    /// The cluster whose user shows these credentials: what a path of the API is meant for that names none.
    /// `kubectl create --raw` sends such paths, whatever stands behind the host in its server's address.
    fn home<'a>(&'a self, _credentials: Credentials<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// On which clock an authority's certificates are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Certificates of connections between processes.
    ByWallTime,
    /// Certificates that were issued inside of a landscape.
    ByLandscapeTime,
}

/// Knows beforehand whom to believe, the same in every cluster.
#[derive(Debug, Default)]
pub struct FixedAuthenticator {
    /// Authorities of users.
    pub users: Vec<(ClientAuthority, Judged)>,
    /// Authority of front proxies and the names of those; its certificates with other names are no credentials.
    pub front_proxies: Option<(ClientAuthority, Vec<String>)>,
    /// Users by their token.
    pub tokens: BTreeMap<String, User>,
}

impl FixedAuthenticator {
    fn judge(&self, credentials: Credentials<'_>) -> Result<Identity, Unauthorized> {
        if let Some(token) = credentials.bearer_token {
            let user = self.tokens.get(token).cloned();
            return user.map(Identity::User).ok_or_else(|| Unauthorized("unknown token".to_owned()));
        }
        if credentials.certificates.is_empty() {
            return Ok(Identity::Anonymous);
        }
        if let Some((authority, names)) = &self.front_proxies
            && let Ok(user) = authority.judge(credentials.certificates, credentials.wall)
            && names.iter().any(|name| **name == *user.name)
        {
            return Ok(Identity::FrontProxy);
        }
        let mut reason = "no authority".to_owned();
        for (authority, judged) in &self.users {
            let at = match judged {
                Judged::ByWallTime => credentials.wall,
                Judged::ByLandscapeTime => credentials.now,
            };
            match authority.judge(credentials.certificates, at) {
                Ok(user) => return Ok(Identity::User(user)),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(Unauthorized(reason))
    }
}

impl Authenticator for FixedAuthenticator {
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        Box::pin(async move { self.judge(credentials) })
    }
}

/// What is known of a user beside name and groups: an extension of a request, for those who show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserDetails {
    /// Unique id; empty if there is none.
    pub uid: String,
    /// More, by key in lower case.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// `system:anonymous`.
pub fn anonymous() -> User {
    User { name: ANONYMOUS.into(), groups: vec![UNAUTHENTICATED.into()], component: None }
}

/// The user in the group of everybody who said who he is.
pub fn authenticated(mut user: User) -> User {
    if *user.name != *ANONYMOUS && !user.groups.iter().any(|group| matches!(&**group, AUTHENTICATED | UNAUTHENTICATED))
    {
        user.groups.push(Arc::from(AUTHENTICATED));
    }
    user
}
