// SPDX-License-Identifier: Apache-2.0
//! The RSA key that signs tokens, so that other servers can verify them.
//!
//! It is derived from the landscape's secret: a restarted landscape has the same key, and no file stores it. Two primes
//! are drawn from a stream of HMACs; the search starts with the first token request, and takes some tenths of a second.
//!
//! Source: FIPS 186-5 A.1.3 (sizes and conditions), RFC 8017 A.1.2 (the encoding), RFC 7517 (the published form).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use num_bigint::BigUint;
use ring::rand::SystemRandom;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey};
use ring::{digest, hmac};
use serde_json::{Value, json};

/// Bits of each of the two primes.
const BITS: u64 = 1024;
/// Number of primality tests of a candidate; more than enough for numbers drawn at random.
const ROUNDS: usize = 8;
const EXPONENT: u32 = 65537;

/// Key that signs and verifies.
pub(super) struct SigningKey {
    pair: RsaKeyPair,
    /// Modulus in the published form.
    modulus: String,
    id: String,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Derives the key from a secret.
    pub(super) fn derive(secret: &[u8]) -> Self {
        let mut stream = Stream::new(secret);
        loop {
            let (p, q) = (stream.prime(), stream.prime());
            // A draw fails if both primes are equal, or if the exponent has no inverse for their product.
            if let Some(key) = Self::of(p, q) {
                return key;
            }
        }
    }

    fn of(p: BigUint, q: BigUint) -> Option<Self> {
        let (p, q) = if p > q { (p, q) } else { (q, p) };
        let one = BigUint::from(1_u32);
        let (less_p, less_q) = (&p - &one, &q - &one);
        let exponent = BigUint::from(EXPONENT);
        let modulus = &p * &q;
        let private = exponent.modinv(&(&less_p * &less_q))?;
        let coefficient = q.modinv(&p)?;
        let (d_p, d_q) = (&private % &less_p, &private % &less_q);
        let numbers = [&BigUint::from(0_u32), &modulus, &exponent, &private, &p, &q, &d_p, &d_q, &coefficient];
        let pair = RsaKeyPair::from_der(&sequence(&numbers.map(integer).concat())).ok()?;
        let public = digest::digest(&digest::SHA256, pair.public_key().as_ref());
        Some(Self { modulus: URL_SAFE_NO_PAD.encode(modulus.to_bytes_be()), id: URL_SAFE_NO_PAD.encode(public), pair })
    }

    /// Key ID, distinct for each key.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Signs a text.
    pub(super) fn sign(&self, text: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.pair.public().modulus_len()];
        // PKCS #1 v1.5 signatures use no randomness.
        let signed = self.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text, &mut signature);
        signed.expect("the buffer has the signature's length");
        signature
    }

    /// True if the signature was made with this key.
    pub(super) fn verify(&self, text: &[u8], signature: &[u8]) -> bool {
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, self.pair.public_key().as_ref());
        public.verify(text, signature).is_ok()
    }

    /// JSON Web Key, as published at `/openid/v1/jwks`.
    pub(super) fn published(&self) -> Value {
        let exponent = URL_SAFE_NO_PAD.encode(BigUint::from(EXPONENT).to_bytes_be());
        json!({ "use": "sig", "kty": "RSA", "kid": self.id, "alg": "RS256", "n": self.modulus, "e": exponent })
    }
}

/// DER of a non-negative number.
fn integer(number: &BigUint) -> Vec<u8> {
    let mut bytes = number.to_bytes_be();
    if bytes.first().is_some_and(|first| first & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    tagged(0x02, &bytes)
}

fn sequence(content: &[u8]) -> Vec<u8> {
    tagged(0x30, content)
}

/// DER of a value with its tag and length.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = content.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    match length[..] {
        [] => out.push(0),
        [short] if short < 0x80 => out.push(short),
        _ => {
            // At most eight bytes, so the sum stays below 0x88.
            out.push(0x80 | u8::try_from(length.len()).unwrap_or(8));
            out.extend_from_slice(&length);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Stream of bytes derived from a secret.
struct Stream {
    key: hmac::Key,
    block: u64,
}

impl Stream {
    fn new(secret: &[u8]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), block: 0 }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(count + 32);
        while out.len() < count {
            let text = format!("RSA key of tokens, block {}", self.block);
            self.block += 1;
            out.extend_from_slice(hmac::sign(&self.key, text.as_bytes()).as_ref());
        }
        out.truncate(count);
        out
    }

    /// Draws an odd number of [`BITS`] bits whose two highest are set, so that a product of two has twice as many bits.
    fn candidate(&mut self) -> BigUint {
        let mut bytes = self.bytes(usize::try_from(BITS / 8).unwrap_or(128));
        bytes[0] |= 0b1100_0000;
        if let Some(last) = bytes.last_mut() {
            *last |= 1;
        }
        BigUint::from_bytes_be(&bytes)
    }

    fn prime(&mut self) -> BigUint {
        let small = small_primes();
        loop {
            let number = self.candidate();
            let is_divided = small.iter().any(|prime| &number % *prime == BigUint::from(0_u32));
            if !is_divided && self.is_prime(&number) {
                return number;
            }
        }
    }

    /// Miller-Rabin primality test.
    fn is_prime(&mut self, number: &BigUint) -> bool {
        let one = BigUint::from(1_u32);
        let less = number - &one;
        let zeros = less.trailing_zeros().unwrap_or(0);
        let odd = &less >> zeros;
        (0..ROUNDS).all(|_| {
            let base = BigUint::from_bytes_be(&self.bytes(64)) + 2_u32;
            let mut power = base.modpow(&odd, number);
            if power == one || power == less {
                return true;
            }
            (1..zeros).any(|_| {
                power = &power * &power % number;
                power == less
            })
        })
    }
}

/// Small odd primes: trial division rejects most composite candidates.
fn small_primes() -> Vec<u32> {
    (3..2000_u32)
        .step_by(2)
        .filter(|number| (3..*number).take_while(|by| by * by <= *number).all(|by| number % by != 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_always_gives_the_same_key() {
        let key = SigningKey::derive(b"secret");
        assert_eq!(key.id(), SigningKey::derive(b"secret").id());
        let signature = key.sign(b"text");
        assert_eq!(signature.len(), 256);
        assert!(key.verify(b"text", &signature));
        assert!(!key.verify(b"texts", &signature));
        assert!(!SigningKey::derive(b"other").verify(b"text", &signature));
        let published = key.published();
        assert_eq!(published["e"], "AQAB");
        assert_eq!(published["n"].as_str().map(str::len), Some(342));
    }

    #[test]
    fn primes_are_told_from_others() {
        let mut stream = Stream::new(b"x");
        // 2^127 - 1 is prime; the product of 2^31 - 1 and 2^61 - 1 is not, nor is a Carmichael number.
        for (number, expected) in [
            ((BigUint::from(1_u32) << 127_u32) - 1_u32, true),
            (BigUint::from(2_147_483_647_u64) * BigUint::from(2_305_843_009_213_693_951_u64), false),
            (BigUint::from(349_407_515_342_287_435_050_603_204_719_587_201_u128), false),
        ] {
            assert_eq!(stream.is_prime(&number), expected, "{number}");
        }
        assert_eq!(small_primes()[..4], [3, 5, 7, 11]);
    }
}
