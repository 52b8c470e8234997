// SPDX-License-Identifier: Apache-2.0
//! FNV-1a, the hash of Kubernetes' generated names: fast, the same in every run, not resistant to attacks.

/// Returns the hash with 32 bits.
pub fn fnv32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Returns the hash with 64 bits.
pub fn fnv64(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{fnv32, fnv64};

    #[test]
    fn published_values_hold() {
        assert_eq!((fnv32(*b""), fnv64(*b"")), (0x811c_9dc5, 0xcbf2_9ce4_8422_2325));
        assert_eq!((fnv32(*b"foobar"), fnv64(*b"foobar")), (0xbf9c_f968, 0x8594_4171_f739_67e8));
    }
}
