// SPDX-License-Identifier: Apache-2.0
//! Verification of client certificates.
//!
//! A client presents the same certificate with each of its requests, and the verification of a signature is slower than
//! many requests. So an authority caches the user of each verified certificate chain, together with the period in which
//! the result is valid. Refusals are not cached.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use clock::Instant;
use parking_lot::Mutex;
use process::User;
use process::pki::user_of;
use rustc_hash::FxHashMap;
use rustls::RootCertStore;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Reason for which a certificate or a CA bundle is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CertificateError(String);

/// Maximum number of certificate chains in an authority's cache; a full cache is cleared.
const REMEMBERED: usize = 1024;

/// The CA bundle of a cluster's clients. Cheap to clone.
#[derive(Clone)]
pub struct ClientAuthority {
    verifier: Arc<dyn ClientCertVerifier>,
    known: Arc<Mutex<FxHashMap<Vec<CertificateDer<'static>>, VerifiedUser>>>,
}

/// User of a verified certificate chain.
#[derive(Clone)]
struct VerifiedUser {
    user: User,
    /// Seconds since 1970 in which every certificate of the chain is valid.
    valid: RangeInclusive<i64>,
}

impl ClientAuthority {
    /// Parses the authorities of a bundle: certificates as PEM.
    ///
    /// # Errors
    /// A text without certificates, or with one that is broken.
    pub fn from_pem(bundle: &str) -> Result<Self, CertificateError> {
        let fail = |error: &dyn fmt::Display| CertificateError(format!("the CA bundle cannot be read: {error}"));
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
            let certificate = certificate.map_err(|error| fail(&error))?;
            roots.add(certificate).map_err(|error| fail(&error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Self { verifier: verifier.build().map_err(|error| fail(&error))?, known: Arc::default() })
    }

    /// Returns the user of a certificate that is signed by the authority and valid at the instant `at`: its common
    /// name, in the groups of all its organisations.
    ///
    /// # Errors
    /// A certificate that another authority signed, that is out of date, not for clients, or whose name is missing or not
    /// text.
    pub fn judge(&self, certificates: &[CertificateDer<'static>], at: Instant) -> Result<User, CertificateError> {
        let second = at.timestamp();
        if let Some(user) = self.remembered(certificates, second) {
            return Ok(user);
        }
        let Some((own, between)) = certificates.split_first() else {
            return Err(CertificateError("no certificate".to_owned()));
        };
        let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(second).unwrap_or(0)));
        self.verifier.verify_client_cert(own, between, at).map_err(|error| CertificateError(error.to_string()))?;
        let parsed = certificates.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let user = user(&parsed[0])?;
        let begins = parsed.iter().map(|one| one.validity().not_before.timestamp()).max().unwrap_or(i64::MAX);
        let ends = parsed.iter().map(|one| one.validity().not_after.timestamp()).min().unwrap_or(i64::MIN);
        self.remember(certificates, VerifiedUser { user: user.clone(), valid: begins..=ends });
        Ok(user)
    }

    fn remembered(&self, certificates: &[CertificateDer<'static>], second: i64) -> Option<User> {
        let known = self.known.lock();
        known.get(certificates).filter(|known| known.valid.contains(&second)).map(|known| known.user.clone())
    }

    fn remember(&self, certificates: &[CertificateDer<'static>], found: VerifiedUser) {
        let mut known = self.known.lock();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(certificates.to_vec(), found);
    }
}

impl fmt::Debug for ClientAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientAuthority")
    }
}

/// Returns the organisational unit that a certificate names, the last if there are several. Does not verify the certificate.
pub fn organizational_unit(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    parsed.subject().iter_organizational_unit().last().and_then(|unit| unit.as_str().ok()).map(str::to_owned)
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, CertificateError> {
    let parsed = X509Certificate::from_der(certificate).map_err(|error| CertificateError(error.to_string()))?;
    Ok(parsed.1)
}

fn user(certificate: &X509Certificate<'_>) -> Result<User, CertificateError> {
    let (name, groups) = user_of(certificate.subject()).map_err(|error| CertificateError(error.to_string()))?;
    if name.is_empty() {
        return Err(CertificateError("the certificate names no user".to_owned()));
    }
    Ok(User { name: name.into(), groups: groups.into_iter().map(Arc::from).collect(), component: None })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use process::pki::{Authority, Badge, Key, Leaf, Validity};

    use super::*;

    fn noon() -> Instant {
        "2025-06-01T12:00:00Z".parse().expect("an instant")
    }

    fn authority() -> Authority {
        let validity = Validity::starting(noon() - TimeDelta::days(1), TimeDelta::days(10));
        Authority::new("ca", Key::transport().expect("a key"), validity).expect("an authority")
    }

    fn chain(authority: &Authority, leaf: Leaf<'_>) -> Vec<CertificateDer<'static>> {
        let validity = Validity::starting(noon(), TimeDelta::hours(1));
        let pair = authority.issue(leaf, &Key::transport().expect("a key"), validity).expect("a certificate");
        CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).collect::<Result<_, _>>().expect("PEM")
    }

    #[test]
    fn a_certificate_names_its_user_and_groups() {
        let authority = authority();
        let judge = ClientAuthority::from_pem(&authority.pair().certificate).expect("a bundle");
        let chain = chain(&authority, Leaf::Client("jane", &["a", "b"]));
        let user = judge.judge(&chain, noon()).expect("a user");
        assert_eq!((&*user.name, user.groups), ("jane", vec!["a".into(), "b".into()]));
    }

    /// Output of `openssl req -new -subj /O=dev+O=x+CN=jane/O=ops`, which sorts a relative distinguished name.
    const REQUEST: &str = "\
-----BEGIN CERTIFICATE REQUEST-----
MIHuMIGVAgEAMDMxIzAIBgNVBAoMAXgwCgYDVQQKDANkZXYwCwYDVQQDDARqYW5l
MQwwCgYDVQQKDANvcHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQW+emb7lW1
TavT/3h9aZ78iOP5g8zAYh1SLgRPTjvqLlm7EEWBXMHQG+haDvwir4nyEZ6GlCOd
1AawUxFRPYT+oAAwCgYIKoZIzj0EAwIDSAAwRQIhAO6WemRDz1OtbfeNmgnE0lGk
I6YLidlAQCGsvxq1ci9sAiAngpgeXKsI3B3WZ3kXH2j/n8OpRCsLFvO1lCva9Tj0
Kw==
-----END CERTIFICATE REQUEST-----
";

    #[test]
    fn a_requested_certificate_has_all_its_groups() {
        let authority = authority();
        let judge = ClientAuthority::from_pem(&authority.pair().certificate).expect("a bundle");
        let validity = Validity::starting(noon(), TimeDelta::hours(1));
        let pem = authority.sign_request(REQUEST, validity).expect("a certificate");
        let chain: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().expect("PEM");
        let user = judge.judge(&chain, noon()).expect("a user");
        assert_eq!((&*user.name, user.groups), ("jane", vec!["x".into(), "dev".into(), "ops".into()]));
    }

    #[test]
    fn a_certificate_may_name_a_unit() {
        let authority = authority();
        let badge = Badge { start: 3, component: "toy".to_owned(), version: "v1".to_owned() };
        let badged = chain(&authority, Leaf::Component("jane", &["a"], &badge));
        assert_eq!(organizational_unit(&badged[0]).as_deref(), Some("3/toy/v1"));
        let judge = ClientAuthority::from_pem(&authority.pair().certificate).expect("a bundle");
        assert_eq!(&*judge.judge(&badged, noon()).expect("a user").name, "jane");
        assert_eq!(organizational_unit(&chain(&authority, Leaf::Client("jane", &["a"]))[0]), None);
    }

    #[test]
    fn both_ends_of_the_validity_count() {
        let authority = authority();
        let judge = ClientAuthority::from_pem(&authority.pair().certificate).expect("a bundle");
        let chain = chain(&authority, Leaf::Client("jane", &[]));
        // Also from the cache, and after a refusal.
        for (second, valid) in [(-1, false), (0, true), (3600, true), (3601, false), (-1, false), (1800, true)] {
            assert_eq!(judge.judge(&chain, noon() + TimeDelta::seconds(second)).is_ok(), valid, "{second}");
        }
    }

    #[test]
    fn certificates_of_others_are_worth_nothing() {
        let (ours, theirs) = (authority(), authority());
        let judge = ClientAuthority::from_pem(&ours.pair().certificate).expect("a bundle");
        assert!(judge.judge(&chain(&theirs, Leaf::Client("jane", &[])), noon()).is_err());
        assert!(judge.judge(&chain(&ours, Leaf::Server(&["localhost"])), noon()).is_err());
        assert!(judge.judge(&chain(&ours, Leaf::Client("", &[])), noon()).is_err());
        assert!(judge.judge(&[], noon()).is_err());
        let both = format!("{}{}", ours.pair().certificate, theirs.pair().certificate);
        let both = ClientAuthority::from_pem(&both).expect("a bundle");
        assert!(both.judge(&chain(&theirs, Leaf::Client("jane", &[])), noon()).is_ok());
        assert!(ClientAuthority::from_pem("").is_err());
        assert!(ClientAuthority::from_pem("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_err());
    }
}
