// SPDX-License-Identifier: Apache-2.0
//! Sections of stored objects, read and changed without decoding them.

pub(crate) mod fields;

use memchr::memchr2;

/// Appends `section` (a sequence of `,"key":value`) with `key: value` among its annotations, which stay sorted.
pub(crate) fn annotate(out: &mut Vec<u8>, section: &[u8], key: &str, value: &str) {
    let entry = format!("{}:{}", quote(key), quote(value));
    let mut place = section.len();
    for (name, start, end) in Pairs::new(section) {
        match name {
            b"annotations" => return into_annotations(out, section, start, end, key, &entry),
            b"ownerReferences" | b"finalizers" => {
                let comma = section[..start].iter().rposition(|byte| *byte == b',').unwrap_or(0);
                place = place.min(comma);
            }
            _ => {}
        }
    }
    out.extend_from_slice(&section[..place]);
    out.extend_from_slice(b",\"annotations\":{");
    out.extend_from_slice(entry.as_bytes());
    out.push(b'}');
    out.extend_from_slice(&section[place..]);
}

fn into_annotations(out: &mut Vec<u8>, section: &[u8], start: usize, end: usize, key: &str, entry: &str) {
    // The pairs inside the braces start without a comma: add one, so that both levels are read in the same way.
    let mut inner = vec![b','];
    inner.extend_from_slice(&section[start + 1..end - 1]);
    let empty = inner.iter().all(|byte| *byte == b',' || byte.is_ascii_whitespace());
    let (mut before, mut after) = (Vec::new(), Vec::new());
    if !empty {
        for (name, value_start, value_end) in Pairs::new(&inner) {
            if name == key.as_bytes() {
                continue;
            }
            let side = if name < key.as_bytes() { &mut before } else { &mut after };
            side.push((name, &inner[value_start..value_end]));
        }
    }
    out.extend_from_slice(&section[..=start]);
    let mut first = true;
    let mut comma = |out: &mut Vec<u8>| {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
    };
    for (name, value) in before {
        comma(out);
        pair(out, name, value);
    }
    comma(out);
    out.extend_from_slice(entry.as_bytes());
    for (name, value) in after {
        comma(out);
        pair(out, name, value);
    }
    out.extend_from_slice(&section[end - 1..]);
}

fn pair(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(name);
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text is always JSON")
}

/// Pairs of `,"name":value,…`: the name without quotes (escapes kept), begin and end of the value.
pub(crate) struct Pairs<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// End of the string that starts at `at`.
    fn string(&self, mut at: usize) -> Option<usize> {
        at += 1;
        loop {
            at += memchr2(b'"', b'\\', self.text.get(at..)?)?;
            match self.text[at] {
                b'"' => return Some(at + 1),
                // The escaped character does not end the string.
                _ => at += 2,
            }
        }
    }

    /// End of the value that starts at `at`.
    fn value(&self, mut at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        loop {
            match self.text.get(at) {
                Some(b'"') => {
                    at = self.string(at)?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                // The brace that closes the object ends its last value.
                Some(b'}' | b']') if depth == 0 => return Some(at),
                Some(b'}' | b']') => depth -= 1,
                Some(b',') if depth == 0 => return Some(at),
                Some(_) => {}
                None => return (depth == 0).then_some(at),
            }
            at += 1;
        }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        if self.text.get(self.at) != Some(&b',') {
            return None;
        }
        let name = self.at + 1;
        let name_end = self.string(name)?;
        if self.text.get(name_end) != Some(&b':') {
            return None;
        }
        let end = self.value(name_end + 1)?;
        self.at = end;
        Some((&self.text[name + 1..name_end - 1], name_end + 1, end))
    }
}

#[cfg(test)]
mod tests {
    use super::annotate;

    #[track_caller]
    fn check(section: &str, expected: &str) {
        let mut out = Vec::new();
        annotate(&mut out, section.as_bytes(), "terrarium.dev/cluster", "a");
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }

    #[test]
    fn annotation_takes_its_sorted_place() {
        check("", r#","annotations":{"terrarium.dev/cluster":"a"}"#);
        check(r#","labels":{"a":"b,}"}"#, r#","labels":{"a":"b,}"},"annotations":{"terrarium.dev/cluster":"a"}"#);
        check(
            r#","annotations":{"a":"\"","z":"y"},"finalizers":["f"]"#,
            r#","annotations":{"a":"\"","terrarium.dev/cluster":"a","z":"y"},"finalizers":["f"]"#,
        );
        check(
            r#","generation":1,"ownerReferences":[{"name":"x"}],"finalizers":["f"]"#,
            r#","generation":1,"annotations":{"terrarium.dev/cluster":"a"},"ownerReferences":[{"name":"x"}],"finalizers":["f"]"#,
        );
        check(r#","annotations":{"terrarium.dev/cluster":"b"}"#, r#","annotations":{"terrarium.dev/cluster":"a"}"#);
    }
}
