// SPDX-License-Identifier: Apache-2.0
//! Concatenation of constant strings.

/// Concatenates the bytes of several strings. For [`joined!`](crate::joined) only.
///
/// Does not compile, or panics, if the total length is not `LEN`.
#[doc(hidden)]
#[must_use]
pub const fn bytes_of<const LEN: usize>(parts: &[&str]) -> [u8; LEN] {
    let mut joined = [0; LEN];
    let (mut part, mut end) = (0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut next = 0;
        while next < bytes.len() {
            joined[end] = bytes[next];
            end += 1;
            next += 1;
        }
        part += 1;
    }
    assert!(end == LEN, "the length is that of all parts");
    joined
}

/// Concatenates constant strings, as `concat!` does with literals: for a selector, or the path of an annotation.
///
/// ```
/// use api::constants::{label, role};
///
/// const SELECTOR: &str = api::joined!(label::ROLE, "=", role::SHOOT);
/// assert_eq!(SELECTOR, "gardener.cloud/role=shoot");
/// ```
#[macro_export]
macro_rules! joined {
    ($($part:expr),+ $(,)?) => {{
        const LEN: usize = 0 $(+ $part.len())+;
        const BYTES: [u8; LEN] = $crate::bytes_of(&[$($part),+]);
        const TEXT: &str = match ::core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("strings make a string"),
        };
        TEXT
    }};
}
