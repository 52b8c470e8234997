// SPDX-License-Identifier: Apache-2.0
//! Keys, certificate authorities and certificates.
//!
//! Two sorts of keys, because they are stored for different times (design, section 2):
//!
//! | sort | algorithm | source | purpose |
//! | --- | --- | --- | --- |
//! | transport | ECDSA P-256 | the system's random source | connections between processes, tokens; never in the log |
//! | landscape | Ed25519 | [`Random`]: seed, purpose, object, ordinal | CAs and credentials that are objects of a landscape |
//!
//! A certificate of a landscape key is a function of its key, its names and its validity, so a run with the same seed
//! stores the same bytes. That is why both are in this crate: code of a landscape (a controller that creates a
//! cluster's CA, a server that issues a user's certificate) depends on this crate and must not depend on a server's.
//!
//! **Invariants.** Nothing here verifies a certificate; servers do, against the CA of the requested cluster. Nothing
//! reads a clock: validity is an argument, wall time for transport, landscape time for the landscape.

mod request;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use apimachinery::meta::ByteString;
use clock::{END, Instant, Random};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use x509_parser::prelude::{FromDer, X509Certificate};

use self::request::Request;
pub use self::request::user_of;

/// Error in creating or parsing a key or certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PkiError {
    /// The text is no PEM of the expected kind, or a name is not allowed in certificates.
    #[error("cannot make or read a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The private key is that of another certificate.
    #[error("the key does not belong to the certificate")]
    OtherKey,
    /// The value of an attribute of a subject is not text; the attribute's object identifier.
    #[error("cannot read attribute {0} of the subject")]
    Subject(String),
    /// A user in more groups than [`MAX_GROUPS`].
    #[error("a certificate holds at most {MAX_GROUPS} groups, not {0}")]
    TooManyGroups(usize),
    /// An instant before 1970.
    #[error("a certificate cannot be valid before 1970: {0}")]
    TooEarly(Instant),
    /// An organisational unit that is no badge of a component.
    #[error("expected START/COMPONENT/VERSION, not {0:?}")]
    NoBadge(String),
}

/// Maximum number of groups in a client certificate: the library keeps one value for each type of attribute, and the
/// organisation has two spellings there.
pub const MAX_GROUPS: usize = 2;

/// Validity of a certificate: both instants are inclusive and in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// First instant.
    pub not_before: Instant,
    /// Last instant.
    pub not_after: Instant,
}

impl Validity {
    /// Validity from an instant for the duration `lasts`.
    pub fn starting(now: Instant, lasts: chrono::TimeDelta) -> Self {
        Self { not_before: now, not_after: now + lasts }
    }
}

/// A private key.
pub struct Key(KeyPair);

impl Key {
    /// Creates a transport key: ECDSA P-256, random.
    ///
    /// # Errors
    /// The system has no random source.
    pub fn transport() -> Result<Self, PkiError> {
        Ok(Self(KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?))
    }

    /// Derives the landscape key for a purpose and an object (`cluster/namespace/name`): Ed25519, always the same for
    /// the same seed. `ordinal` counts rotations and makes the keys of one purpose and object distinct.
    pub fn landscape(random: &Random, purpose: &str, object: &str, ordinal: u64) -> Self {
        // RFC 8410: PKCS #8 version 1 with an octet string that holds the octet string of the seed.
        let mut der =
            vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        der.extend_from_slice(&landscape_secret(random, purpose, object, ordinal));
        let der = PrivatePkcs8KeyDer::from(der);
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&der, &PKCS_ED25519);
        Self(key.expect("any 32 bytes are a key"))
    }

    /// # Errors
    /// The text is no private key in PEM.
    pub fn from_pem(pem: &str) -> Result<Self, PkiError> {
        Ok(Self(KeyPair::from_pem(pem)?))
    }

    /// PKCS #8 as DER.
    pub fn der(&self) -> Vec<u8> {
        self.0.serialize_der()
    }

    /// PKCS #8 as PEM.
    pub fn pem(&self) -> String {
        self.0.serialize_pem()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// The 32 bytes from which a landscape key is made.
fn landscape_secret(random: &Random, purpose: &str, object: &str, ordinal: u64) -> Vec<u8> {
    let part = |part: &str| random.draw(&format!("{part}: {purpose}"), object, ordinal).to_be_bytes();
    ["key 0", "key 1", "key 2", "key 3"].into_iter().flat_map(part).collect()
}

/// A landscape key in the formats of OpenSSH.
#[derive(Clone, PartialEq, Eq)]
pub struct SshKeyPair {
    /// PEM of OpenSSH's own format, unencrypted.
    pub private: String,
    /// One line of `authorized_keys`, without comment.
    pub public: String,
}

impl fmt::Debug for SshKeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SshKeyPair").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SshKeyPair {
    /// Derives the landscape key for a purpose and an object; see [`Key::landscape`].
    ///
    /// Source: OpenSSH, PROTOCOL.key; RFC 8709.
    pub fn landscape(random: &Random, purpose: &str, object: &str, ordinal: u64) -> Self {
        const TYPE: &[u8] = b"ssh-ed25519";
        let key = Key::landscape(random, purpose, object, ordinal);
        let public = key.0.public_key_raw();
        let mut blob = Vec::new();
        put_text(&mut blob, TYPE);
        put_text(&mut blob, public);

        let check = random.draw(&format!("check: {purpose}"), object, ordinal).to_be_bytes();
        let mut own = [&check[..4], &check[..4], &blob].concat();
        put_text(&mut own, &[&landscape_secret(random, purpose, object, ordinal), public].concat());
        put_text(&mut own, b"");
        own.extend((1_u8..).take(own.len().next_multiple_of(8) - own.len()));

        let mut all = b"openssh-key-v1\0".to_vec();
        for text in [b"none".as_slice(), b"none", b""] {
            put_text(&mut all, text);
        }
        all.extend_from_slice(&1_u32.to_be_bytes());
        put_text(&mut all, &blob);
        put_text(&mut all, &own);
        let mut private = "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned();
        for line in ByteString(all).to_base64().as_bytes().chunks(70) {
            private.push_str(&String::from_utf8_lossy(line));
            private.push('\n');
        }
        private.push_str("-----END OPENSSH PRIVATE KEY-----\n");
        Self { private, public: format!("ssh-ed25519 {}\n", ByteString(blob).to_base64()) }
    }
}

/// Writes bytes after their length.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&u32::try_from(text.len()).unwrap_or_default().to_be_bytes());
    out.extend_from_slice(text);
}

/// Purpose of a certificate, and its subject.
#[derive(Clone, Copy, Debug)]
pub enum Leaf<'a> {
    /// Server certificate: names and addresses of the server; the first is its common name.
    Server(&'a [&'a str]),
    /// Client certificate: user name and groups, at most [`MAX_GROUPS`].
    Client(&'a str, &'a [&'a str]),
    /// Certificate of a component: as for clients, and its badge.
    Component(&'a str, &'a [&'a str], &'a Badge),
}

/// Badge in the certificate of a component: the organisational unit `START/COMPONENT/VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// Number of the start of the host that issued it: processes of an earlier start are rejected.
    pub start: u64,
    /// Name of the component, as upstream.
    pub component: String,
    /// Emulated version.
    pub version: String,
}

impl fmt::Display for Badge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, component, version } = self;
        write!(f, "{start}/{component}/{version}")
    }
}

impl FromStr for Badge {
    type Err = PkiError;

    fn from_str(text: &str) -> Result<Self, PkiError> {
        let mut parts = text.splitn(3, '/');
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let badge = part().and_then(|start| start.parse().ok()).zip(part()).zip(part());
        let ((start, component), version) = badge.ok_or_else(|| PkiError::NoBadge(text.to_owned()))?;
        Ok(Self { start, component: component.to_owned(), version: version.to_owned() })
    }
}

/// A certificate and its key, both as PEM.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The certificate, as PEM.
    pub certificate: String,
    /// PKCS #8 key.
    pub key: String,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair")
    }
}

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pair: Pair,
}

impl Authority {
    /// Creates an authority with this common name.
    ///
    /// # Errors
    /// The validity or name is not allowed in certificates.
    pub fn new(name: &str, key: Key, validity: Validity) -> Result<Self, PkiError> {
        let mut params = params(validity)?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key.0)?.pem();
        let pair = Pair { certificate, key: key.pem() };
        Ok(Self { issuer: Issuer::new(params, key.0), pair })
    }

    /// Loads an existing authority.
    ///
    /// # Errors
    /// The text is no certificate or no key, or the key is not the certificate's.
    pub fn from_pem(certificate: &str, key: &str) -> Result<Self, PkiError> {
        let issuer = Issuer::from_ca_cert_pem(certificate, Key::from_pem(key)?.0)?;
        let unreadable = || rcgen::Error::CouldNotParseCertificate;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| unreadable())?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| unreadable())?;
        if *parsed.public_key().subject_public_key.data != *issuer.key().public_key_raw() {
            return Err(PkiError::OtherKey);
        }
        Ok(Self { issuer, pair: Pair { certificate: certificate.to_owned(), key: key.to_owned() } })
    }

    /// Certificate and key of the authority itself.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Issues a certificate for a key.
    ///
    /// # Errors
    /// Names or the validity are not allowed in certificates.
    pub fn issue(&self, leaf: Leaf<'_>, key: &Key, validity: Validity) -> Result<Pair, PkiError> {
        let mut params = params(validity)?;
        let (name, usage) = match leaf {
            Leaf::Server(names) => {
                for name in names {
                    params.subject_alt_names.push(match name.parse::<IpAddr>() {
                        Ok(address) => SanType::IpAddress(address),
                        Err(_) => SanType::DnsName((*name).try_into()?),
                    });
                }
                (names.first().copied().unwrap_or_default(), ExtendedKeyUsagePurpose::ServerAuth)
            }
            Leaf::Client(user, groups) => {
                put_groups(&mut params.distinguished_name, groups)?;
                (user, ExtendedKeyUsagePurpose::ClientAuth)
            }
            Leaf::Component(user, groups, badge) => {
                put_groups(&mut params.distinguished_name, groups)?;
                params.distinguished_name.push(DnType::OrganizationalUnitName, badge.to_string());
                (user, ExtendedKeyUsagePurpose::ClientAuth)
            }
        };
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key.0, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.pem() })
    }

    /// Signs a certificate signing request for a client: subject and key are the request's, everything else is set
    /// here. The subject has all organizations of the request, in the same form.
    ///
    /// # Errors
    /// The text is no signing request, or its signature is wrong.
    pub fn sign_request(&self, request: &str, validity: Validity) -> Result<String, PkiError> {
        let request = Request::parse(request)?;
        let mut ours = params(validity)?;
        ours.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        request.sign(ours, &self.issuer)
    }

    /// Signs the request of a server as [`Authority::sign_request`]; the certificate also has the request's names.
    ///
    /// # Errors
    /// The text is no signing request, or its signature is wrong.
    pub fn sign_server_request(&self, request: &str, validity: Validity) -> Result<String, PkiError> {
        let mut request = Request::parse(request)?;
        let mut ours = params(validity)?;
        ours.subject_alt_names = std::mem::take(&mut request.names);
        ours.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        request.sign(ours, &self.issuer)
    }
}

/// Returns the subject of a certificate signing request: its common name and all its organizations; see [`user_of`].
///
/// # Errors
/// The text is no signing request, or its signature is wrong.
pub fn subject(request: &str) -> Result<(String, Vec<String>), PkiError> {
    Ok(Request::parse(request)?.user)
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

fn put_groups(name: &mut DistinguishedName, groups: &[&str]) -> Result<(), PkiError> {
    match groups {
        [] => {}
        [only] => name.push(DnType::OrganizationName, *only),
        [first, second] => {
            name.push(DnType::OrganizationName, *first);
            name.push(DnType::CustomDnType(vec![2, 5, 4, 10]), *second);
        }
        many => return Err(PkiError::TooManyGroups(many.len())),
    }
    Ok(())
}

/// Common parameters of all certificates.
fn params(validity: Validity) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let instant = |at: Instant| {
        // The end of time is the last second that a certificate can have: in RFC 5280 it means no expiry.
        let seconds = u64::try_from(at.min(END).timestamp()).map_err(|_| PkiError::TooEarly(at))?;
        Ok::<_, PkiError>(rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds))
    };
    params.not_before = instant(validity.not_before)?;
    params.not_after = instant(validity.not_after)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validity() -> Validity {
        Validity::starting("2025-06-01T00:00:00Z".parse().expect("an instant"), chrono::TimeDelta::days(1))
    }

    fn landscape_ca(seed: u64, ordinal: u64) -> (Authority, Pair) {
        let random = Random::new(seed);
        let key = Key::landscape(&random, "ca-client", "garden/garden-dev/s", ordinal);
        let authority = Authority::new("ca-client", key, validity()).expect("an authority");
        let key = Key::landscape(&random, "adminkubeconfig", "garden/garden-dev/s", 0);
        let leaf = Leaf::Client("jane", &["system:masters"]);
        let pair = authority.issue(leaf, &key, validity()).expect("a certificate");
        (authority, pair)
    }

    #[test]
    fn certificates_of_a_landscape_follow_its_seed() {
        let (first, leaf) = landscape_ca(1, 0);
        let (again, same) = landscape_ca(1, 0);
        assert_eq!(first.pair(), again.pair());
        assert_eq!(leaf, same);
        assert_ne!(first.pair().key, landscape_ca(2, 0).0.pair().key);
        assert_ne!(first.pair().key, landscape_ca(1, 1).0.pair().key);
    }

    #[test]
    fn keys_for_ssh_follow_the_seed_and_are_openssh_s() {
        let pair = |seed| SshKeyPair::landscape(&Random::new(seed), "ssh-keypair", "garden/garden-dev/s", 0);
        let (first, again) = (pair(1), pair(1));
        assert_eq!(first, again);
        assert_ne!(first.private, pair(2).private);
        // Output of `ssh-keygen -y` for the private key.
        let public = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPsNNVNvCT215x6X+40cEn2W+IMEY5nWkGuZqSwjaxXD\n";
        assert_eq!(first.public, public);
        let base64: String = first.private.lines().filter(|line| !line.starts_with("-----")).collect();
        let bytes = ByteString::from_base64(&base64).expect("base64").0;
        assert!(bytes.starts_with(b"openssh-key-v1\0\0\0\0\x04none\0\0\0\x04none\0\0\0\0\0\0\0\x01\0\0\0\x33"));
        assert!(bytes.ends_with(&[1, 2, 3, 4, 5]), "padded to whole blocks");
    }

    #[test]
    fn transport_keys_are_never_the_same() {
        let key = || Key::transport().expect("a key").pem();
        assert_ne!(key(), key());
    }

    #[test]
    fn an_authority_is_restored_from_its_pem() {
        let (authority, _) = landscape_ca(1, 0);
        let pair = authority.pair();
        let read = Authority::from_pem(&pair.certificate, &pair.key).expect("an authority");
        let key = Key::landscape(&Random::new(1), "x", "y", 0);
        let leaf = Leaf::Server(&["localhost", "127.0.0.1"]);
        let issue = |authority: &Authority| authority.issue(leaf, &key, validity()).expect("a certificate");
        assert_eq!(issue(&read), issue(&authority));
        assert!(Authority::from_pem("nothing", &pair.key).is_err());
        assert!(Authority::from_pem(&pair.certificate, "nothing").is_err());
        let other = landscape_ca(2, 0).0.pair().key.clone();
        assert_eq!(Authority::from_pem(&pair.certificate, &other).err(), Some(PkiError::OtherKey));
    }

    #[test]
    fn requests_are_signed_with_our_usages_and_their_subject() {
        let (authority, _) = landscape_ca(1, 0);
        let key = Key::landscape(&Random::new(1), "kubelet", "node", 0);
        let mut asked = CertificateParams::new(vec!["ignored.example.com".to_owned()]).expect("names");
        asked.distinguished_name = DistinguishedName::new();
        asked.distinguished_name.push(DnType::OrganizationName, "system:nodes");
        asked.distinguished_name.push(DnType::CommonName, "system:node:a");
        let request = asked.serialize_request(&key.0).expect("a request").pem().expect("PEM");
        let signed = authority.sign_request(&request, validity()).expect("a certificate");
        let leaf = Leaf::Client("system:node:a", &["system:nodes"]);
        assert_eq!(signed, authority.issue(leaf, &key, validity()).expect("a certificate").certificate);
        assert!(authority.sign_request("nothing", validity()).is_err());
        let served = authority.sign_server_request(&request, validity()).expect("a certificate");
        assert_ne!(served, signed, "a server's certificate has names and another usage");
        let found = super::subject(&request).expect("a subject");
        assert_eq!(found, ("system:node:a".to_owned(), vec!["system:nodes".to_owned()]));
        assert!(super::subject("nothing").is_err());
    }

    #[test]
    fn badges_are_read_as_they_are_written() {
        let badge = Badge { start: 7, component: "scheduler".to_owned(), version: "v1.2.3-dev/x".to_owned() };
        assert_eq!(badge.to_string().parse(), Ok(badge));
        for text in ["", "7", "7/scheduler", "7/scheduler/", "x/scheduler/v1"] {
            assert_eq!(text.parse::<Badge>(), Err(PkiError::NoBadge(text.to_owned())));
        }
    }

    #[test]
    fn a_certificate_ends_in_year_9999_at_the_latest() {
        let day: Instant = "9999-12-31T00:00:00Z".parse().expect("an instant");
        let key = || Key::landscape(&Random::new(1), "x", "y", 0);
        let late = |length| Validity { not_before: day, not_after: day + length };
        let authority = Authority::new("late", key(), late(chrono::TimeDelta::days(36_500))).expect("an authority");
        let last = Authority::new("late", key(), late(chrono::TimeDelta::seconds(86_399))).expect("an authority");
        assert_eq!(authority.pair(), last.pair());
        let early = Validity { not_before: Instant::UNIX_EPOCH - chrono::TimeDelta::seconds(1), not_after: day };
        assert!(Authority::new("early", key(), early).is_err());
    }

    #[test]
    fn two_groups_fit_and_three_do_not() {
        let (authority, _) = landscape_ca(1, 0);
        let key = Key::landscape(&Random::new(1), "x", "y", 0);
        let issue = |groups: &[&str]| authority.issue(Leaf::Client("u", groups), &key, validity());
        assert!(issue(&["a", "b"]).is_ok());
        assert_eq!(issue(&["a", "b", "c"]), Err(PkiError::TooManyGroups(3)));
    }
}
