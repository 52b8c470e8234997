// SPDX-License-Identifier: Apache-2.0
//! Authentication: finds the user of a request.
//!
//! A handshake accepts every certificate whose key the client holds; the certificate is verified here, for the cluster
//! in the path: one port serves many clusters, each with its own CA, and an invalid certificate has to be answered with
//! 401 instead of a closed connection.
//!
//! **Invariants.** Headers of a client that is not a front proxy are ignored, except its token and impersonation, which
//! [`http`](crate::http) checks with the authorizer.
//!
//! **Tour.** [`Authenticator`] is the hook; [`ClientAuthority`] verifies certificates; [`FixedAuthenticator`] uses a
//! fixed configuration; [`front_proxy`] passes identity between our own servers.

mod certificates;
pub mod front_proxy;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use clock::Instant;
use futures::future::BoxFuture;
use process::User;
use rustls_pki_types::CertificateDer;

pub use certificates::{CertificateError, ClientAuthority, organizational_unit};

/// Group of all authenticated users.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Group of all unauthenticated users.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Name of unauthenticated users.
pub const ANONYMOUS: &str = "system:anonymous";

/// Credentials of a client.
#[derive(Clone, Copy, Debug)]
pub struct Credentials<'a> {
    /// Requested logical cluster; `*` for all, empty for a path outside of them.
    pub cluster: &'a str,
    /// Certificates of the connection, the client's own first. The handshake has proven only that the client holds its key.
    pub certificates: &'a [CertificateDer<'static>],
    /// Token of the header `Authorization`.
    pub bearer_token: Option<&'a str>,
    /// Landscape time, for certificates and tokens that were issued inside of a landscape.
    pub now: Instant,
    /// Wall time, for certificates of connections between processes.
    pub wall: Instant,
}

/// Identity that an authenticator found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// No known user; the request continues as `system:anonymous`.
    Anonymous,
    /// A user. The server adds group `system:authenticated`.
    User(User),
    /// Server of this landscape that has authenticated the user and names it in headers ([`front_proxy`]).
    FrontProxy,
}

/// Invalid credentials: 401. The reason is for our own output, never for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unauthorized(pub String);

/// Identity of a token, and those of the requested audiences for which it is valid.
pub type TokenReviewResult = Result<(Identity, Vec<String>), Unauthorized>;

/// Authenticates clients.
pub trait Authenticator: Send + Sync + fmt::Debug + 'static {
    /// Returns the identity for these credentials.
    ///
    /// # Errors
    /// Invalid credentials, also where the request needs none.
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>>;

    /// Returns the identity for a TokenReview, and those of these audiences for which the token is valid; an empty list
    /// means the server's own audiences.
    fn review<'a>(&'a self, credentials: Credentials<'a>, audiences: &'a [String]) -> BoxFuture<'a, TokenReviewResult> {
        Box::pin(async move { Ok((self.authenticate(credentials).await?, audiences.to_vec())) })
    }

    /// Returns the cluster of the user with these credentials, which serves API paths that name no cluster.
    /// `kubectl create --raw` sends such paths, whatever follows the host in its server's address.
    fn home<'a>(&'a self, _credentials: Credentials<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }
}

/// Clock by which an authority's certificates are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Certificates of connections between processes.
    ByWallTime,
    /// Certificates that were issued inside of a landscape.
    ByLandscapeTime,
}

/// Authenticator with a fixed configuration, the same in every cluster.
#[derive(Debug, Default)]
pub struct FixedAuthenticator {
    /// Authorities of users.
    pub users: Vec<(ClientAuthority, Judged)>,
    /// Authority of front proxies and their names; its certificates with other names are no credentials.
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

/// Uid and extra fields of a user: an extension of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserDetails {
    /// Unique id; empty if there is none.
    pub uid: String,
    /// Extra fields by key in lower case.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// Returns user `system:anonymous`.
pub fn anonymous() -> User {
    User { name: ANONYMOUS.into(), groups: vec![UNAUTHENTICATED.into()], component: None }
}

/// Adds the user to the group of authenticated users.
pub fn authenticated(mut user: User) -> User {
    if *user.name != *ANONYMOUS && !user.groups.iter().any(|group| matches!(&**group, AUTHENTICATED | UNAUTHENTICATED))
    {
        user.groups.push(Arc::from(AUTHENTICATED));
    }
    user
}
