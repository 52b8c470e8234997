// SPDX-License-Identifier: Apache-2.0
//! Streams of lines: watches, and reports to the clock with their answers.

use bytes::{Bytes, BytesMut};

/// Splits a byte stream into lines: chunks may hold parts of lines or several of them.
#[derive(Debug, Default)]
pub struct Lines {
    chunk: Bytes,
    partial: BytesMut,
}

impl Lines {
    /// Takes the next chunk; every line of the previous one must have been taken.
    pub fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the lines of a chunk are taken before the next one comes");
        self.chunk = chunk;
    }

    /// Number of bytes of the incomplete line.
    pub fn begun(&self) -> usize {
        self.partial.len()
    }
}

impl Iterator for Lines {
    type Item = Bytes;

    /// Returns the next complete line without its end; empty lines are skipped.
    fn next(&mut self) -> Option<Bytes> {
        while !self.chunk.is_empty() {
            let Some(length) = memchr::memchr(b'\n', &self.chunk) else {
                self.partial.extend_from_slice(&std::mem::take(&mut self.chunk));
                return None;
            };
            let mut part = self.chunk.split_to(length + 1);
            part.truncate(length);
            if !self.partial.is_empty() {
                self.partial.extend_from_slice(&part);
                part = self.partial.split().freeze();
            }
            if part.last() == Some(&b'\r') {
                part.truncate(part.len() - 1);
            }
            if !part.is_empty() {
                return Some(part);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&str]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        for chunk in chunks {
            lines.push(Bytes::copy_from_slice(chunk.as_bytes()));
            out.extend(lines.by_ref().map(|line| String::from_utf8(line.to_vec()).expect("text")));
        }
        out
    }

    #[test]
    fn frames_are_found_across_chunks() {
        let expected = ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"];
        let stream = "{\"a\":1}\n{\"b\":2}\r\n\n{\"c\":3}\n{\"rest";
        assert_eq!(lines(&[stream]), expected);
        for size in 1..=stream.len() {
            let chunks: Vec<&str> =
                stream.as_bytes().chunks(size).map(|chunk| std::str::from_utf8(chunk).expect("ascii")).collect();
            assert_eq!(lines(&chunks), expected, "chunks of {size}");
        }
    }
}
