// SPDX-License-Identifier: Apache-2.0
//! Verification of servers' certificates.
//!
//! In addition to certificates with a chain to an authority, a server's certificate that is itself one of the
//! authorities is trusted, as in Go (crypto/x509 `Certificate.Verify`), even one that may sign others, such as those of
//! `openssl req -x509`. Its validity, name and purpose are checked.
//!
//! The text of a refusal, and the order of the checks that it names, are Go's (crypto/x509 `Certificate.Verify`).

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use chrono::{DateTime, SecondsFormat, Utc};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

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
        let verified = if self.authorities.contains(end_entity) {
            verify_authority(end_entity, server_name, now)
        } else {
            self.chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        };
        verified.map_err(|error| explained(error, end_entity, server_name, now))
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

/// Refusal of a server's certificate.
#[derive(Debug, thiserror::Error)]
#[error("tls: failed to verify certificate: x509: {0}")]
pub(super) struct Refused(String);

impl Refused {
    /// Returns the refusal that caused an error of a connection.
    pub(super) fn of(error: &Error) -> Option<&Self> {
        match error {
            Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => cause.downcast_ref(),
            _ => None,
        }
    }
}

/// Replaces the reason for which a certificate is refused by Go's text.
fn explained(error: Error, certificate: &CertificateDer<'_>, server_name: &ServerName<'_>, now: UnixTime) -> Error {
    let Error::InvalidCertificate(cause) = &error else { return error };
    // Go checks the certificate itself before it looks for a chain.
    let text = own_fault(certificate, server_name, now).unwrap_or_else(|| fault_of_chain(cause));
    CertificateError::Other(OtherError(Arc::new(Refused(text)))).into()
}

/// Returns the fault of a certificate that is independent of its authorities.
fn own_fault(certificate: &CertificateDer<'_>, server_name: &ServerName<'_>, now: UnixTime) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let (now, validity) = (seconds(now), parsed.validity());
    if now < validity.not_before.timestamp() {
        return Some(out_of_time(now, "before", validity.not_before.timestamp()));
    }
    if now > validity.not_after.timestamp() {
        return Some(out_of_time(now, "after", validity.not_after.timestamp()));
    }
    let readable = ParsedCertificate::try_from(certificate).ok()?;
    let is_named = rustls::client::verify_server_name(&readable, server_name).is_ok();
    (!is_named).then(|| wrong_name(&parsed, server_name))
}

fn fault_of_chain(cause: &CertificateError) -> String {
    match cause {
        CertificateError::ExpiredContext { time, not_after } => {
            out_of_time(seconds(*time), "after", seconds(*not_after))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            out_of_time(seconds(*time), "before", seconds(*not_before))
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::UnhandledCriticalExtension => "unhandled critical extension".to_owned(),
        // Among the others: the certificate of an authority that is not trusted.
        CertificateError::UnknownIssuer | CertificateError::BadSignature | CertificateError::Other(_) => {
            "certificate signed by unknown authority".to_owned()
        }
        other => other.to_string(),
    }
}

fn seconds(time: UnixTime) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

fn out_of_time(now: i64, side: &str, bound: i64) -> String {
    let text = |seconds| {
        let time: DateTime<Utc> = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
        time.to_rfc3339_opts(SecondsFormat::Secs, true)
    };
    format!("certificate has expired or is not yet valid: current time {} is {side} {}", text(now), text(bound))
}

/// Text for a certificate of another name than the server's.
fn wrong_name(certificate: &X509Certificate<'_>, server_name: &ServerName<'_>) -> String {
    let host = server_name.to_str();
    let extension = certificate.subject_alternative_name().ok().flatten();
    let mut common_names = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    if extension.is_none() && common_names.any(|name| name.eq_ignore_ascii_case(&host)) {
        return "certificate relies on legacy Common Name field, use SANs instead".to_owned();
    }
    let is_address = matches!(server_name, ServerName::IpAddress(_));
    let mut names = Vec::new();
    for name in extension.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) if !is_address => names.push((*name).to_owned()),
            GeneralName::IPAddress(bytes) if is_address => names.extend(address(bytes)),
            _ => {}
        }
    }
    match (names.is_empty(), is_address) {
        (true, true) => {
            format!("cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        (true, false) => format!("certificate is not valid for any names, but wanted to match {host}"),
        (false, _) => format!("certificate is valid for {}, not {host}", names.join(", ")),
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = || <[u8; 4]>::try_from(bytes).ok().map(|bytes| Ipv4Addr::from(bytes).to_string());
    v4().or_else(|| <[u8; 16]>::try_from(bytes).ok().map(|bytes| Ipv6Addr::from(bytes).to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> rcgen::Certificate {
        let names = vec!["hook.example.org".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("names");
        (params.not_before, params.not_after) = (date_time_ymd(2025, 1, 1), date_time_ymd(2026, 1, 1));
        change(&mut params);
        params.self_signed(&KeyPair::generate().expect("a key")).expect("a certificate")
    }

    /// Reason for which a client that trusts `authority` refuses a server with this certificate.
    fn refusal(
        certificate: &rcgen::Certificate,
        authority: &rcgen::Certificate,
        name: &str,
        at: &str,
    ) -> Option<String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trusted = Trusted::new(&authority.pem(), provider).expect("an authority");
        let at: DateTime<Utc> = at.parse().expect("an instant");
        let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.timestamp()).expect("positive")));
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        let error = trusted.verify_server_cert(certificate.der(), &[], &name, &[], now).err()?;
        Some(Refused::of(&error).map_or_else(|| error.to_string(), ToString::to_string))
    }

    /// True if a client that trusts `authority` accepts a server with this certificate.
    fn is_believed(certificate: &rcgen::Certificate, authority: &rcgen::Certificate, name: &str, at: &str) -> bool {
        refusal(certificate, authority, name, at).is_none()
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

    #[test]
    fn a_refusal_has_the_text_of_go() {
        let own = certificate(|_| {});
        let signer = certificate(|params| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained));
        let client_only = certificate(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
        let without = |name: &str| {
            let name = name.to_owned();
            certificate(move |params| {
                params.subject_alt_names.clear();
                params.distinguished_name.push(rcgen::DnType::CommonName, name);
            })
        };
        let (unnamed, legacy) = (without("other"), without("hook.example.org"));
        let names = certificate(|params| {
            let more = CertificateParams::new(vec!["b.example.org".to_owned(), "10.0.0.1".to_owned()]).expect("names");
            params.subject_alt_names.extend(more.subject_alt_names);
        });
        let host_only = certificate(|params| params.subject_alt_names.truncate(1));
        for (certificate, authority, name, at, expected) in [
            (&own, &signer, "hook.example.org", NOW, "certificate signed by unknown authority"),
            (&signer, &own, "hook.example.org", NOW, "certificate signed by unknown authority"),
            (
                &names,
                &names,
                "a.example.org",
                NOW,
                "certificate is valid for hook.example.org, b.example.org, not a.example.org",
            ),
            (&names, &names, "10.0.0.2", NOW, "certificate is valid for 127.0.0.1, 10.0.0.1, not 10.0.0.2"),
            // The name is checked before the authority.
            (&own, &signer, "a.example.org", NOW, "certificate is valid for hook.example.org, not a.example.org"),
            (
                &host_only,
                &host_only,
                "127.0.0.1",
                NOW,
                "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
            ),
            (
                &unnamed,
                &unnamed,
                "hook.example.org",
                NOW,
                "certificate is not valid for any names, but wanted to match hook.example.org",
            ),
            (
                &legacy,
                &legacy,
                "hook.example.org",
                NOW,
                "certificate relies on legacy Common Name field, use SANs instead",
            ),
            (
                &own,
                &own,
                "hook.example.org",
                "2026-03-01T10:00:00Z",
                "certificate has expired or is not yet valid: current time 2026-03-01T10:00:00Z is after \
                 2026-01-01T00:00:00Z",
            ),
            (
                &own,
                &signer,
                "hook.example.org",
                "2024-12-31T23:59:59Z",
                "certificate has expired or is not yet valid: current time 2024-12-31T23:59:59Z is before \
                 2025-01-01T00:00:00Z",
            ),
            (&client_only, &client_only, "hook.example.org", NOW, "certificate specifies an incompatible key usage"),
        ] {
            let expected = format!("tls: failed to verify certificate: x509: {expected}");
            assert_eq!(refusal(certificate, authority, name, at), Some(expected), "{name} {at}");
        }
    }
}
