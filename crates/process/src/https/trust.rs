// SPDX-License-Identifier: Apache-2.0
//! Verification of servers' certificates.
//!
//! In addition to certificates with a chain to an authority, a server's certificate that is itself one of the
//! authorities is trusted, as in Go (crypto/x509 `Certificate.Verify`), even one that may sign others, such as those of
//! `openssl req -x509`. Its validity, name and purpose are checked.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Authorities of a client.
#[derive(Debug)]
pub(super) struct Trusted {
    authorities: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl Trusted {
    /// Parses the authorities of a PEM text.
    ///
    /// # Errors
    /// The text has no authority, or an invalid one.
    pub(super) fn new(authorities: &str, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let mut all = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            let certificate = certificate.map_err(|error| format!("authorities: {error}"))?;
            roots.add(certificate.clone()).map_err(|error| format!("authorities: {error}"))?;
            all.push(certificate);
        }
        if all.is_empty() {
            return Err("authorities: no certificate".to_owned());
        }
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self { authorities: all, chains: chains.map_err(|error| format!("authorities: {error}"))? })
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.authorities.contains(end_entity) {
            return verify_authority(end_entity, server_name, now);
        }
        self.chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

/// Verifier that accepts every certificate whose key the server has.
#[derive(Debug)]
pub(super) struct Unverified(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Verifies a server's certificate that is itself an authority.
fn verify_authority(
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < parsed.validity().not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > parsed.validity().not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    let usage = parsed.extended_key_usage().map_err(|_| CertificateError::BadEncoding)?;
    if usage.is_some_and(|usage| !usage.value.any && !usage.value.server_auth) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, server_name)?;
    Ok(ServerCertVerified::assertion())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::{DateTime, Utc};
    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> rcgen::Certificate {
        let names = vec!["hook.example.org".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        (params.not_before, params.not_after) = (date_time_ymd(2025, 1, 1), date_time_ymd(2026, 1, 1));
        change(&mut params);
        params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate")
    }

    /// True if a client that trusts `authority` accepts a server with this certificate.
    fn is_believed(certificate: &rcgen::Certificate, authority: &rcgen::Certificate, name: &str, at: &str) -> bool {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trusted = Trusted::new(&authority.pem(), provider).expect("an authority");
        let at: DateTime<Utc> = at.parse().expect("an instant");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.timestamp()).expect("positive")));
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        trusted.verify_server_cert(certificate.der(), &[], &name, &[], now).is_ok()
    }

    const NOW: &str = "2025-06-01T00:00:00Z";

    #[test]
    fn a_certificate_that_is_its_own_authority_is_believed() {
        let with = |usages: Vec<ExtendedKeyUsagePurpose>| {
            move |params: &mut CertificateParams| {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
                params.extended_key_usages = usages;
            }
        };
        let client_only = certificate(with(vec![ExtendedKeyUsagePurpose::ClientAuth]));
        for own in [
            certificate(|_| {}),
            certificate(|params| params.is_ca = IsCa::ExplicitNoCa),
            certificate(with(Vec::new())),
            certificate(with(vec![ExtendedKeyUsagePurpose::ServerAuth])),
            certificate(with(vec![ExtendedKeyUsagePurpose::Any])),
        ] {
            assert!(is_believed(&own, &own, "hook.example.org", NOW));
            assert!(is_believed(&own, &own, "127.0.0.1", NOW));
            assert!(!is_believed(&own, &own, "other.example.org", NOW), "another name");
            assert!(!is_believed(&own, &own, "hook.example.org", "2024-12-31T23:59:59Z"), "not yet");
            assert!(!is_believed(&own, &own, "hook.example.org", "2026-01-01T00:00:01Z"), "expired");
            assert!(!is_believed(&own, &client_only, "hook.example.org", NOW), "another authority");
        }
        assert!(!is_believed(&client_only, &client_only, "hook.example.org", NOW), "another purpose");
    }
}
