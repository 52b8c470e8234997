// SPDX-License-Identifier: Apache-2.0
//! Reader of the protobuf wire format: tags, numbers, lengths. Independent of messages.
//!
//! Error texts are those of Go's generated code, since they reach the client.

/// Maximum nesting of groups that are skipped; no known client sends groups.
const MAX_GROUPS: usize = 100;

const UNEXPECTED_END: &str = "unexpected EOF";

/// Result of a read; the error is Go's text for an invalid message.
pub(super) type Result<T> = std::result::Result<T, String>;

/// Value of a field in its wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    /// A number of variable length: integers, booleans.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Bytes with their length: texts, messages, packed lists.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(u32),
}

impl Wire<'_> {
    /// Returns the number of the wire form.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32(_) => 5,
        }
    }
}

/// The fields of one message.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// Name of the message, for errors.
    message: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], message: &'a str) -> Self {
        Self { rest: bytes, message }
    }

    /// Returns the next field and its value, skipping groups; `None` at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Wire<'a>)>> {
        while !self.rest.is_empty() {
            let (number, form) = self.tag()?;
            match form {
                3 => self.skip_group()?,
                4 => return Err(format!("proto: {}: wiretype end group for non-group", self.message)),
                _ => return Ok(Some((number, self.value(form)?))),
            }
        }
        Ok(None)
    }

    fn tag(&mut self) -> Result<(u32, u8)> {
        let tag = self.varint()?;
        let form = u8::try_from(tag & 7).unwrap_or_default();
        match u32::try_from(tag >> 3) {
            Ok(number) if number > 0 && i32::try_from(number).is_ok() => Ok((number, form)),
            _ => {
                let number = tag >> 3;
                Err(format!("proto: {}: illegal tag {number} (wire type {form})", self.message))
            }
        }
    }

    fn value(&mut self, form: u8) -> Result<Wire<'a>> {
        Ok(match form {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => Wire::Bytes(self.bytes()?),
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            other => return Err(format!("proto: illegal wireType {other}")),
        })
    }

    /// Skips the content of a group up to its end.
    fn skip_group(&mut self) -> Result<()> {
        let mut open = 1;
        while open > 0 {
            let (_, form) = self.tag()?;
            match form {
                3 if open == MAX_GROUPS => return Err("proto: groups nest too deep".to_owned()),
                3 => open += 1,
                4 => open -= 1,
                _ => {
                    self.value(form)?;
                }
            }
        }
        Ok(())
    }

    /// Reads a number at the beginning of the rest; also the items of a packed list.
    pub(super) fn varint(&mut self) -> Result<u64> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(UNEXPECTED_END)?;
            self.rest = rest;
            // The tenth byte has room for one bit.
            if shift == 63 && byte & 0x7e != 0 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".to_owned())
    }

    /// Reads eight bytes at the beginning of the rest.
    pub(super) fn fixed64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(UNEXPECTED_END)?;
        self.rest = rest;
        Ok(*array)
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.varint()?;
        if i64::try_from(length).is_err() {
            return Err("proto: negative length found during unmarshaling".to_owned());
        }
        let length = usize::try_from(length).map_err(|_| UNEXPECTED_END)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(UNEXPECTED_END)?;
        self.rest = rest;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u32, Wire<'_>)>> {
        let mut reader = Reader::new(bytes, "Thing");
        let mut fields = Vec::new();
        while let Some(field) = reader.field()? {
            fields.push(field);
        }
        Ok(fields)
    }

    #[test]
    fn every_form_is_read_and_groups_are_left_out() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: 150
            0x12, 0x02, b'h', b'i', // 2: "hi"
            0x1b, 0x08, 0x01, 0x23, 0x24, 0x1c, // group 3 with a field and a group 4 inside
            0x2d, 1, 0, 0, 0, // 5: fixed32
            0x31, 2, 0, 0, 0, 0, 0, 0, 0, // 6: fixed64
        ];
        let expected = [(1, Wire::Varint(150)), (2, Wire::Bytes(b"hi")), (5, Wire::Fixed32(1)), (6, Wire::Fixed64(2))];
        assert_eq!(all(&bytes).expect("a message"), expected);
        let most = [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(all(&most).expect("a message"), [(1, Wire::Varint(u64::MAX))]);
    }

    #[test]
    fn broken_messages_are_refused_with_gos_texts() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(all(bytes).expect_err("is refused"), expected);
        check(&[0x08], "unexpected EOF");
        check(&[0x12, 5, b'x'], "unexpected EOF");
        check(&[0x2d, 1, 2], "unexpected EOF");
        check(&[0x1b, 0x08], "unexpected EOF");
        check(&[0x00, 0x00], "proto: Thing: illegal tag 0 (wire type 0)");
        check(&[0x0c], "proto: Thing: wiretype end group for non-group");
        check(&[0x0e], "proto: illegal wireType 6");
        check(&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], "proto: integer overflow");
        check(
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            "proto: negative length found during unmarshaling",
        );
        check(&[0x1b; 200], "proto: groups nest too deep");
    }
}
