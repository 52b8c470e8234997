// SPDX-License-Identifier: Apache-2.0
//! The ECDSA key that signs tokens, so that other servers can verify them.
//!
//! Source: RFC 7518 3.4 (the signature), 6.2.1 (the published form).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use ring::error::KeyRejected;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, UnparsedPublicKey,
};
use serde_json::{Value, json};

/// Bytes of each coordinate of a public key.
const COORDINATE: usize = 32;

/// Key that signs and verifies.
pub(super) struct SigningKey {
    pair: EcdsaKeyPair,
    id: String,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a key of curve P-256, PKCS #8 as DER.
    ///
    /// # Errors
    /// The bytes are not such a key.
    pub(super) fn read(der: &[u8]) -> Result<Self, KeyRejected> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new())?;
        let id = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, pair.public_key().as_ref()));
        Ok(Self { pair, id })
    }

    /// Key ID, distinct for each key.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Signs a text.
    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        let signed = self.pair.sign(&SystemRandom::new(), text);
        signed.expect("the system has a random source").as_ref().to_vec()
    }

    /// True if the signature was made with this key.
    pub(super) fn verify(&self, text: &[u8], signature: &[u8]) -> bool {
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        public.verify(text, signature).is_ok()
    }

    /// JSON Web Key, as published at `/openid/v1/jwks`.
    pub(super) fn published(&self) -> Value {
        // The first byte marks a point that is not compressed.
        let coordinates = self.pair.public_key().as_ref().get(1..).unwrap_or_default();
        let mut texts = coordinates.chunks(COORDINATE).map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let (x, y) = (texts.next(), texts.next());
        json!({ "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256", "x": x, "y": y })
    }
}

#[cfg(test)]
mod tests {
    use process::pki::Key;

    use super::*;

    #[test]
    fn a_key_verifies_its_own_signatures_only() {
        let der = Key::transport().expect("a key").der();
        let key = SigningKey::read(&der).expect("a key of the curve");
        let signature = key.sign(b"text");
        assert_eq!(signature.len(), 64);
        let again = SigningKey::read(&der).expect("a key of the curve");
        assert_eq!(key.id(), again.id());
        assert!(again.verify(b"text", &signature));
        assert!(!key.verify(b"texts", &signature));
        let other = SigningKey::read(&Key::transport().expect("a key").der()).expect("a key of the curve");
        assert!(!other.verify(b"text", &signature));
        let published = key.published();
        for coordinate in ["x", "y"] {
            assert_eq!(published[coordinate].as_str().map(str::len), Some(43), "{coordinate}");
        }
        assert!(SigningKey::read(b"secret").is_err());
    }
}
