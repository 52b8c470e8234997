// SPDX-License-Identifier: Apache-2.0
//! Fields of sections by their paths: found, cut out, renamed and put back.

use apimachinery::catalogue::{FieldDefault, ReleasedField, ResourceInfo};
use apimachinery::schema::EACH;
use bytes::Bytes;
use eventlog::Sections;
use memchr::memmem;

use super::Pairs;

/// JSON names from the root of an object to a field.
pub(crate) type Path = &'static [&'static str];

/// A field that is cut out of objects.
pub(crate) struct UnknownField {
    pub(crate) path: Path,
    /// Finder of the field's name, which few objects have: the search is much cheaper than parsing up to its place.
    name: memmem::Finder<'static>,
}

impl UnknownField {
    /// Returns the fields that the release of a row does not know.
    pub(crate) fn of(row: &ResourceInfo) -> Vec<Self> {
        let finder = |path: Path| memmem::Finder::new(path.last().copied().unwrap_or_default());
        row.unknown_fields().map(|path| Self { path, name: finder(path) }).collect()
    }

    /// Index of the section that holds the field: that of the status, or of all fields but `metadata` and `status`.
    pub(crate) fn part(&self) -> usize {
        part_of(self.path)
    }

    /// Returns `section` (a sequence of `,"name":value`) without the field, and the field's value, of several the last;
    /// `None` if the section does not have the field.
    pub(crate) fn cut(&self, section: &[u8]) -> Option<(Vec<u8>, Bytes)> {
        self.name.find(section)?;
        cut_at(section, self.path)
    }
}

/// Index of the section that holds a field: that of the status, or of all fields but `metadata` and `status`.
pub(crate) fn part_of(path: Path) -> usize {
    if path.first() == Some(&"status") { 4 } else { 3 }
}

/// True if an object lacks a field and has the parent that the field's default needs.
pub(crate) fn lacks(object: &Sections, field: &ReleasedField) -> bool {
    // A match of the name alone proves nothing: other parents may have a field of the same name.
    lacks_at(&object.parts[part_of(field.path)], field.path, field.default == FieldDefault::Always)
}

/// True if a section lacks the field at a path; `creates_parent`: a missing parent counts as one that lacks the field.
fn lacks_at(section: &[u8], path: &[&str], creates_parent: bool) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    let found = Pairs::new(section).find(|(found, ..)| *found == name.as_bytes());
    let is_lacking = |start, end, rest: &[&str]| match inner(section, start, end) {
        Some(inner) => lacks_at(&inner, rest, creates_parent),
        None => creates_parent,
    };
    match (found, rest) {
        (found, []) => found.is_none(),
        (None, _) => creates_parent,
        (Some((_, start, end)), [EACH, rest @ ..]) => {
            items(section, start, end).iter().any(|(start, end)| is_lacking(*start, *end, rest))
        }
        (Some((_, start, end)), rest) => is_lacking(start, end, rest),
    }
}

/// [`UnknownField::cut`] of the field at `path`.
fn cut_at(section: &[u8], path: &[&str]) -> Option<(Vec<u8>, Bytes)> {
    let mut value = Bytes::new();
    let without = edited(section, path, &mut |fields, place| {
        value = Bytes::copy_from_slice(&fields[place.value..place.end]);
        [&fields[..place.begin], &fields[place.end..]].concat()
    })?;
    Some((without, value))
}

/// Returns `section` with another name of the field at `path`; a field that has the new name already is kept, the one at
/// `path` left out. `None` if the section does not have the field.
pub(crate) fn renamed(section: &[u8], path: &[&str], to: &str) -> Option<Vec<u8>> {
    edited(section, path, &mut |fields, place| {
        if Pairs::new(fields).any(|(name, ..)| name == to.as_bytes()) {
            return [&fields[..place.begin], &fields[place.end..]].concat();
        }
        [&fields[..place.begin], b",\"", to.as_bytes(), b"\":", &fields[place.value..]].concat()
    })
}

/// Place of a field in a sequence of `,"name":value`.
struct Place {
    /// Offset of the comma.
    begin: usize,
    /// Offset of the value.
    value: usize,
    /// Offset behind the value.
    end: usize,
}

/// Returns `section` with edited fields, each a sequence of `,"name":value`, of every parent of the field at `path` that
/// has it; `None`: no parent has it.
fn edited(section: &[u8], path: &[&str], edit: &mut dyn FnMut(&[u8], Place) -> Vec<u8>) -> Option<Vec<u8>> {
    let (name, rest) = path.split_first()?;
    let (_, value, end) = Pairs::new(section).find(|(found, ..)| *found == name.as_bytes())?;
    if rest.is_empty() {
        // `,"NAME":` precedes the value.
        return Some(edit(section, Place { begin: value - name.len() - 4, value, end }));
    }
    let [EACH, rest @ ..] = rest else {
        let fields = edited(&inner(section, value, end)?, rest, edit)?;
        return Some(enclose(section, value, end, &fields));
    };
    let (mut whole, mut at, mut is_edited) = (Vec::with_capacity(section.len()), 0, false);
    for (start, end) in items(section, value, end) {
        let Some(inner) = inner(section, start, end) else { continue };
        let Some(fields) = edited(&inner, rest, edit) else { continue };
        whole.extend_from_slice(&section[at..=start]);
        whole.extend_from_slice(fields.strip_prefix(b",").unwrap_or(&fields));
        (at, is_edited) = (end - 1, true);
    }
    whole.extend_from_slice(&section[at..]);
    is_edited.then_some(whole)
}

/// Returns begin and end of each item of a list, or of each value of a map.
fn items(section: &[u8], start: usize, end: usize) -> Vec<(usize, usize)> {
    if section[start] == b'{' {
        let Some(inner) = inner(section, start, end) else { return Vec::new() };
        // A comma was inserted before the first.
        return Pairs::new(&inner).map(|(_, from, to)| (start + from, start + to)).collect();
    }
    let (mut found, mut at) = (Vec::new(), start + 1);
    while at < end && section[at] != b']' {
        let to = value_end(section, at);
        found.push((at, to));
        at = to + usize::from(section.get(to) == Some(&b','));
    }
    found
}

/// Returns the end of the value that begins at `at`.
fn value_end(text: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    let mut is_text = false;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if is_text => at += 1,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

/// Returns `section` with the field at `path`, as the last one in its parent; `None`: it has no such parent.
pub(crate) fn put(section: &[u8], path: &[&str], value: &[u8]) -> Option<Vec<u8>> {
    let (name, rest) = path.split_first()?;
    if rest.is_empty() {
        let without = cut_at(section, path).map(|(without, _)| without);
        let mut whole = without.unwrap_or_else(|| section.to_vec());
        whole.extend_from_slice(b",\"");
        whole.extend_from_slice(name.as_bytes());
        whole.extend_from_slice(b"\":");
        whole.extend_from_slice(value);
        return Some(whole);
    }
    let (_, start, end) = Pairs::new(section).find(|(found, ..)| *found == name.as_bytes())?;
    let whole = put(&inner(section, start, end)?, rest, value)?;
    Some(enclose(section, start, end, &whole))
}

/// Returns the fields of the object that is the value from `start` to `end`, as a sequence of `,"name":value`.
fn inner(section: &[u8], start: usize, end: usize) -> Option<Vec<u8>> {
    let fields = section.get(start..end)?.strip_prefix(b"{")?.strip_suffix(b"}")?;
    let comma: &[u8] = if fields.is_empty() { b"" } else { b"," };
    Some([comma, fields].concat())
}

/// Returns `section` with these fields instead of those of the value from `start` to `end`.
fn enclose(section: &[u8], start: usize, end: usize, fields: &[u8]) -> Vec<u8> {
    let fields = fields.strip_prefix(b",").unwrap_or(fields);
    [&section[..start], b"{", fields, b"}", &section[end..]].concat()
}

#[cfg(test)]
mod tests {
    use apimachinery::release::Releases;

    use super::*;

    const PATH: &[&str] = &["spec", "maintenance", "autoRotation"];

    fn cut(section: &str, path: Path) -> Option<(Vec<u8>, Bytes)> {
        let name = memmem::Finder::new(path.last().expect("a path has a name"));
        UnknownField { path, name }.cut(section.as_bytes())
    }

    #[track_caller]
    fn check(section: &str, without: Option<&str>) {
        let found = cut(section, PATH);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        assert_eq!(found.as_ref().map(|(without, _)| text(without)).as_deref(), without);
        if let Some((without, value)) = found {
            assert_eq!(put(&without, PATH, &value).map(|whole| text(&whole)).as_deref(), Some(section), "put back");
        }
    }

    fn is_lacking(section: &str, path: Path, default: FieldDefault) -> bool {
        let mut object = Sections::default();
        object.parts[3] = section.to_owned().into();
        lacks(&object, &ReleasedField { path, releases: Releases::ALL, default })
    }

    #[test]
    fn missing_fields_are_identified_by_place_and_not_name() {
        for (section, with_parent, always) in [
            (r#","spec":{"maintenance":{}}"#, true, true),
            (r#","spec":{"maintenance":{"a":1},"autoRotation":2}"#, true, true),
            (r#","spec":{"maintenance":{"autoRotation":null}}"#, false, false),
            (r#","spec":{"a":{"autoRotation":1}}"#, false, true),
            (r#","spec":{"maintenance":null}"#, false, true),
            (r#","autoRotation":1"#, false, true),
            ("", false, true),
        ] {
            assert_eq!(is_lacking(section, PATH, FieldDefault::WithParent), with_parent, "{section}");
            assert_eq!(is_lacking(section, PATH, FieldDefault::Always), always, "{section}");
        }
    }

    #[test]
    fn fields_of_items_are_cut_out_and_found_to_lack() {
        const ITEMS: Path = &["spec", "workers", EACH, "priority"];
        const VALUES: Path = &["spec", "pools", EACH, "more", EACH, "n"];
        let check = |path, section: &str, expected: Option<&str>, lacks: bool| {
            let found = cut(section, path).map(|(without, _)| String::from_utf8(without).expect("text"));
            assert_eq!(found.as_deref(), expected, "{section}");
            assert_eq!(is_lacking(section, path, FieldDefault::WithParent), lacks, "{section}");
        };
        check(
            ITEMS,
            r#","spec":{"a":"]","workers":[{"name":"a,]\"","priority":1},{"priority":2},{"b":[1],"priority":{"c":3},"d":4}],"e":5}"#,
            Some(r#","spec":{"a":"]","workers":[{"name":"a,]\""},{},{"b":[1],"d":4}],"e":5}"#),
            false,
        );
        check(
            ITEMS,
            r#","spec":{"workers":[{"name":"a"},{"priority":2}]}"#,
            Some(r#","spec":{"workers":[{"name":"a"},{}]}"#),
            true,
        );
        check(ITEMS, r#","spec":{"workers":[]},"priority":1"#, None, false);
        check(ITEMS, r#","spec":{"workers":null,"priority":1}"#, None, false);
        check(ITEMS, r#","spec":{"workers":["priority",1]}"#, None, false);
        check(
            VALUES,
            r#","spec":{"pools":{"x":{"more":[{"n":1},{"m":2}]},"y":{"more":[]},"z":{"more":[{"n":1,"o":2}]}}}"#,
            Some(r#","spec":{"pools":{"x":{"more":[{},{"m":2}]},"y":{"more":[]},"z":{"more":[{"o":2}]}}}"#),
            true,
        );
    }

    #[test]
    fn a_field_is_renamed_unless_it_was() {
        const SETS: Path = &["spec", "images", EACH, "versions", EACH, "sets"];
        for (section, expected) in [
            (
                r#","spec":{"a":1,"images":[{"versions":[{"sets":[{"b":1}],"c":2},{"c":3}]},{"versions":[]},{"versions":[{"sets":[]}]}]}"#,
                Some(
                    r#","spec":{"a":1,"images":[{"versions":[{"flavors":[{"b":1}],"c":2},{"c":3}]},{"versions":[]},{"versions":[{"flavors":[]}]}]}"#,
                ),
            ),
            (
                r#","spec":{"images":[{"versions":[{"sets":1,"flavors":2}]}]}"#,
                Some(r#","spec":{"images":[{"versions":[{"flavors":2}]}]}"#),
            ),
            (r#","spec":{"images":[{"sets":1}]}"#, None),
            ("", None),
        ] {
            let found =
                renamed(section.as_bytes(), SETS, "flavors").map(|found| String::from_utf8(found).expect("text"));
            assert_eq!(found.as_deref(), expected, "{section}");
        }
    }

    #[test]
    fn a_field_is_cut_out_and_put_back() {
        check(
            r#","spec":{"a":1,"maintenance":{"b":"}\"","autoRotation":{"c":[1,{}]}}}"#,
            Some(r#","spec":{"a":1,"maintenance":{"b":"}\""}}"#),
        );
        check(r#","spec":{"maintenance":{"autoRotation":null},"z":1}"#, Some(r#","spec":{"maintenance":{},"z":1}"#));
        check(r#","spec":{"maintenance":{}}"#, None);
        check(r#","spec":{"maintenance":[]}"#, None);
        check(r#","spec":{},"autoRotation":1"#, None);
        check("", None);
    }

    #[test]
    fn a_set_field_replaces_the_old_one() {
        let put =
            |section: &str| put(section.as_bytes(), PATH, b"2").map(|whole| String::from_utf8(whole).expect("text"));
        let whole = Some(r#","spec":{"maintenance":{"a":1,"autoRotation":2}}"#.to_owned());
        assert_eq!(put(r#","spec":{"maintenance":{"autoRotation":1,"a":1}}"#), whole);
        assert_eq!(put(r#","spec":{"maintenance":{"a":1}}"#), whole);
        assert_eq!(put(r#","spec":{"a":1}"#), None);
        assert_eq!(put(""), None);
    }
}
