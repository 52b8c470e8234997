// SPDX-License-Identifier: Apache-2.0
//! Certificate signing requests, and users in the subjects of requests and certificates.
//!
//! The library that builds certificates has one value for each type of attribute in a subject. A request may have several
//! organizations, and several attributes in one relative distinguished name. So a certificate is built with another
//! subject, the request's subject is inserted as DER, and the result is signed again.

use std::net::IpAddr;

use apimachinery::meta::ByteString;
use rcgen::{CertificateParams, DnType, Issuer, KeyPair, SanType, SigningKey, SubjectPublicKeyInfo};
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::asn1_rs::{Any, Tag};
use x509_parser::prelude::{FromDer, GeneralName, ParsedExtension, X509CertificationRequest};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::PkiError;

/// Tags of DER.
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;
/// Position of the subject in a `TBSCertificate`: version, serial number, algorithm, issuer and validity precede it.
const SUBJECT: usize = 5;

/// A certificate signing request whose signature is valid.
pub(super) struct Request {
    /// Common name and organizations of the subject.
    pub(super) user: (String, Vec<String>),
    /// Names of a server: DNS names, addresses, URIs and mailboxes. Other names are ignored, as upstream.
    pub(super) names: Vec<SanType>,
    subject: Vec<u8>,
    key: SubjectPublicKeyInfo,
}

impl Request {
    /// Parses a request in PEM. Extensions except the alternative names are ignored.
    ///
    /// # Errors
    /// The text is no signing request, its signature is wrong, or its key or subject is not supported.
    pub(super) fn parse(pem: &str) -> Result<Self, PkiError> {
        let unreadable = || rcgen::Error::CouldNotParseCertificationRequest;
        let der = CertificateSigningRequestDer::from_pem_slice(pem.as_bytes()).map_err(|_| unreadable())?;
        let (_, request) = X509CertificationRequest::from_der(der.as_ref()).map_err(|_| unreadable())?;
        request.verify_signature().map_err(|_| rcgen::Error::InvalidCertificationRequestSignature)?;
        let mut names = Vec::new();
        for extension in request.requested_extensions().into_iter().flatten() {
            let ParsedExtension::SubjectAlternativeName(alternative) = extension else { continue };
            for name in &alternative.general_names {
                names.extend(server_name(name)?);
            }
        }
        let info = &request.certification_request_info;
        Ok(Self {
            user: user_of(&info.subject)?,
            names,
            subject: info.subject.as_raw().to_vec(),
            key: SubjectPublicKeyInfo::from_der(info.subject_pki.raw)?,
        })
    }

    /// Issues a certificate, as PEM, with the request's subject and key. The subject of `params` must be empty.
    pub(super) fn sign(
        &self,
        mut params: CertificateParams,
        issuer: &Issuer<'static, KeyPair>,
    ) -> Result<String, PkiError> {
        // Alternative names are critical if the subject is empty, so the subject that is replaced must not be.
        if content(&self.subject).is_some_and(|attributes| !attributes.is_empty()) {
            params.distinguished_name.push(DnType::CommonName, "replaced");
        }
        let built = params.signed_by(&self.key, issuer)?;
        let der = with_subject(built.der(), &self.subject, issuer.key())?;
        Ok(certificate_pem(&der))
    }
}

/// Returns the common name and the organizations of a subject, in the order of the subject. The last common name counts; an
/// absent one is empty.
///
/// # Errors
/// One of them is not text.
pub fn user_of(subject: &X509Name<'_>) -> Result<(String, Vec<String>), PkiError> {
    let name = subject.iter_common_name().last().map(text).transpose()?.unwrap_or_default();
    let groups = subject.iter_organization().map(text).collect::<Result<_, _>>()?;
    Ok((name, groups))
}

/// Returns the text of an attribute.
fn text(attribute: &AttributeTypeAndValue<'_>) -> Result<String, PkiError> {
    let value = attribute.attr_value();
    let text = match value.header.tag() {
        Tag::BmpString if value.data.len().is_multiple_of(2) => {
            let units = value.data.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            char::decode_utf16(units).collect::<Result<String, _>>().ok()
        }
        // Read as ISO 8859-1, as in Go.
        Tag::T61String => Some(value.data.iter().map(|byte| char::from(*byte)).collect()),
        _ => attribute.as_str().ok().map(str::to_owned),
    };
    text.ok_or_else(|| PkiError::Subject(attribute.attr_type().to_id_string()))
}

/// Returns an alternative name for a server's certificate; `None`: its kind is ignored.
fn server_name(name: &GeneralName<'_>) -> Result<Option<SanType>, PkiError> {
    Ok(Some(match name {
        GeneralName::DNSName(name) => SanType::DnsName((*name).try_into()?),
        GeneralName::RFC822Name(name) => SanType::Rfc822Name((*name).try_into()?),
        GeneralName::URI(name) => SanType::URI((*name).try_into()?),
        GeneralName::IPAddress(octets) => {
            let address = <[u8; 4]>::try_from(*octets).map(IpAddr::from);
            let address = address.or_else(|_| <[u8; 16]>::try_from(*octets).map(IpAddr::from));
            SanType::IpAddress(address.map_err(|_| rcgen::Error::InvalidIpAddressOctetLength(octets.len()))?)
        }
        _ => return Ok(None),
    }))
}

/// Replaces the subject of a certificate, and signs the certificate again; all arguments are DER.
fn with_subject(certificate: &[u8], subject: &[u8], key: &KeyPair) -> Result<Vec<u8>, PkiError> {
    let unreadable = || rcgen::Error::CouldNotParseCertificate;
    let parts = content(certificate).and_then(elements).ok_or_else(unreadable)?;
    let [old, algorithm, _] = parts[..] else { return Err(unreadable().into()) };
    let mut fields = content(old).and_then(elements).ok_or_else(unreadable)?;
    *fields.get_mut(SUBJECT).ok_or_else(unreadable)? = subject;
    let new = element(SEQUENCE, &fields.concat());
    // A bit string begins with its number of unused bits.
    let signature = [vec![0], key.sign(&new)?].concat();
    Ok(element(SEQUENCE, &[&new, algorithm, &element(BIT_STRING, &signature)].concat()))
}

/// Returns the content of an element of DER.
fn content(element: &[u8]) -> Option<&[u8]> {
    Any::from_der(element).ok().map(|(_, any)| any.data)
}

/// Splits DER into its elements; `None`: it is invalid.
fn elements(mut der: &[u8]) -> Option<Vec<&[u8]>> {
    let mut elements = Vec::new();
    while !der.is_empty() {
        let (rest, _) = Any::from_der(der).ok()?;
        let (element, rest) = der.split_at(der.len() - rest.len());
        elements.push(element);
        der = rest;
    }
    Some(elements)
}

/// Encodes an element of DER.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut out = vec![tag];
    match length {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        // The first byte has the number of the others: 8 at most.
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or_default());
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Encodes a certificate as PEM.
fn certificate_pem(der: &[u8]) -> String {
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in ByteString(der.to_vec()).to_base64().as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use rustls_pki_types::CertificateDer;
    use x509_parser::prelude::X509Certificate;

    use super::super::{Authority, Key, Validity, subject};
    use super::*;

    /// Output of `openssl req -new -subj /O=a/O=b/CN=jane`.
    const TWO: &str = "\
-----BEGIN CERTIFICATE REQUEST-----
MIHiMIGJAgEAMCcxCjAIBgNVBAoMAWExCjAIBgNVBAoMAWIxDTALBgNVBAMMBGph
bmUwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQW+emb7lW1TavT/3h9aZ78iOP5
g8zAYh1SLgRPTjvqLlm7EEWBXMHQG+haDvwir4nyEZ6GlCOd1AawUxFRPYT+oAAw
CgYIKoZIzj0EAwIDSAAwRQIhAIdBxGxTK9qsmQpjlXo08oqDTaKbxmkahhJP5JtN
XbN1AiAL/FvVsqo7FAVp7BWxKfN3ieGLZNTFbr6zwBJEDnd3IA==
-----END CERTIFICATE REQUEST-----
";
    /// Output of `openssl req -new -subj /O=dev+O=x+CN=jane/O=ops`, which sorts a relative distinguished name.
    const MULTI_VALUED: &str = "\
-----BEGIN CERTIFICATE REQUEST-----
MIHuMIGVAgEAMDMxIzAIBgNVBAoMAXgwCgYDVQQKDANkZXYwCwYDVQQDDARqYW5l
MQwwCgYDVQQKDANvcHMwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQW+emb7lW1
TavT/3h9aZ78iOP5g8zAYh1SLgRPTjvqLlm7EEWBXMHQG+haDvwir4nyEZ6GlCOd
1AawUxFRPYT+oAAwCgYIKoZIzj0EAwIDSAAwRQIhAO6WemRDz1OtbfeNmgnE0lGk
I6YLidlAQCGsvxq1ci9sAiAngpgeXKsI3B3WZ3kXH2j/n8OpRCsLFvO1lCva9Tj0
Kw==
-----END CERTIFICATE REQUEST-----
";
    /// Output of `openssl req -new -subj /O=system:nodes+CN=system:node:a -addext
    /// subjectAltName=DNS:a.example.org,IP:10.0.0.1`.
    const SERVER: &str = "\
-----BEGIN CERTIFICATE REQUEST-----
MIIBGTCBwAIBADAtMSswEwYDVQQKDAxzeXN0ZW06bm9kZXMwFAYDVQQDDA1zeXN0
ZW06bm9kZTphMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEFvnpm+5VtU2r0/94
fWme/Ijj+YPMwGIdUi4ET0476i5ZuxBFgVzB0BvoWg78Iq+J8hGehpQjndQGsFMR
UT2E/qAxMC8GCSqGSIb3DQEJDjEiMCAwHgYDVR0RBBcwFYINYS5leGFtcGxlLm9y
Z4cECgAAATAKBggqhkjOPQQDAgNIADBFAiB1rbVy6qmg0DxYyPD5RGHfwbswo+Ad
nQwOgb7OlCTnvAIhAJFdQjtb3xy9+fg+YjAPTI6mURd14ZHyoMbxjgiSpj6s
-----END CERTIFICATE REQUEST-----
";

    fn validity() -> Validity {
        Validity::starting("2025-06-01T00:00:00Z".parse().expect("an instant"), chrono::TimeDelta::days(1))
    }

    fn authority() -> Authority {
        let key = Key::landscape(&clock::Random::new(1), "ca-client", "garden/garden-dev/s", 0);
        Authority::new("ca-client", key, validity()).expect("an authority")
    }

    /// Subject and alternative names of a certificate that the authority has signed, in the notation of the parser.
    #[track_caller]
    fn read(authority: &Authority, certificate: &str) -> (String, String) {
        let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("PEM");
        let (own, issuer) = (der(certificate), der(&authority.pair().certificate));
        let (rest, own) = X509Certificate::from_der(&own).expect("a certificate");
        assert!(rest.is_empty());
        let (_, issuer) = X509Certificate::from_der(&issuer).expect("a certificate");
        own.verify_signature(Some(issuer.public_key())).expect("signed by the authority");
        let names = own.subject_alternative_name().expect("readable").map(|names| {
            assert!(!names.critical);
            names.value.general_names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        (own.subject().to_string(), names.unwrap_or_default())
    }

    #[test]
    fn a_certificate_has_all_groups_of_its_request() {
        let authority = authority();
        for (request, groups, expected) in [
            (TWO, &["a", "b"][..], "O=a, O=b, CN=jane"),
            (MULTI_VALUED, &["x", "dev", "ops"], "O=x + O=dev + CN=jane, O=ops"),
        ] {
            let (name, found) = subject(request).expect("a subject");
            assert_eq!((name.as_str(), found), ("jane", groups.iter().map(ToString::to_string).collect()));
            let signed = authority.sign_request(request, validity()).expect("a certificate");
            assert_eq!(read(&authority, &signed), (expected.to_owned(), String::new()));
        }
    }

    #[test]
    fn a_server_has_the_names_of_its_request() {
        let authority = authority();
        let signed = authority.sign_server_request(SERVER, validity()).expect("a certificate");
        let (subject, names) = read(&authority, &signed);
        assert_eq!(subject, "O=system:nodes + CN=system:node:a");
        assert_eq!(names, "DNSName(a.example.org), IPAddress(0a:00:00:01)");
    }

    #[test]
    fn changed_requests_are_refused() {
        let changed = TWO.replace("MAWEx", "MAWIx");
        assert_ne!(changed, TWO, "organization a becomes b");
        let refused = subject(&changed).expect_err("another subject than the signed one");
        assert_eq!(refused, PkiError::Certificate(rcgen::Error::InvalidCertificationRequestSignature));
    }

    #[test]
    fn lengths_are_encoded_in_the_shortest_form() {
        for (length, expected) in [(0, &[0x00][..]), (127, &[0x7f]), (128, &[0x81, 0x80]), (256, &[0x82, 0x01, 0x00])] {
            let encoded = element(SEQUENCE, &vec![0; length]);
            assert_eq!(encoded[1..encoded.len() - length], *expected, "{length}");
            assert_eq!(elements(&encoded), Some(vec![encoded.as_slice()]), "{length}");
        }
    }
}
