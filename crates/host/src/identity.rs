// SPDX-License-Identifier: Apache-2.0
//! Who asks the host: users and components by their certificates.

use std::sync::Arc;

use futures::future::BoxFuture;
use generic_apiserver::authentication::{
    Authenticator, CertificateError, ClientAuthority, Credentials, FixedAuthenticator, Identity, Judged, Unauthorized,
    organizational_unit,
};
use process::User;
use process::pki::{Badge, PkiError};

/// Knows users by certificates of one authority, and which of them are components by the [`Badge`] in those. A component
/// that an earlier start of the host has left behind is nobody: 401.
#[derive(Debug)]
pub struct CertificateAuthenticator {
    fixed: FixedAuthenticator,
    start: u64,
}

impl CertificateAuthenticator {
    /// Believes certificates of the authorities, given as PEM, in the start of the host with this number.
    ///
    /// # Errors
    /// Text that holds no certificates.
    pub fn new(authorities: &str, start: u64) -> Result<Self, CertificateError> {
        let users = ClientAuthority::from_pem(authorities)?;
        let fixed = FixedAuthenticator { users: vec![(users, Judged::ByWallTime)], ..FixedAuthenticator::default() };
        Ok(Self { fixed, start })
    }
}

impl CertificateAuthenticator {
    /// Component and version.
    fn component(&self, badge: &str) -> Result<(Arc<str>, Arc<str>), Unauthorized> {
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
            let badge = credentials.certificates.first().and_then(organizational_unit);
            let component = badge.map(|badge| self.component(&badge)).transpose()?;
            Ok(Identity::User(User { component, ..user }))
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use clock::Instant;
    use process::pki::{Authority, Key, Leaf, Pair, Validity};
    use rustls_pki_types::CertificateDer;
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
