// SPDX-License-Identifier: Apache-2.0
//! Unreadable input: an error if it may be wanted, otherwise a note.
//!
//! | kinds named in its text | error |
//! | --- | --- |
//! | a wanted one | always |
//! | only others | never |
//! | none | if the file was named; a folder may contain arbitrary files |

use serde_json::Value;

use super::ManifestError;

/// Kinds of objects that a reader of manifests needs.
#[derive(Clone, Debug)]
pub struct WantedKinds {
    /// Kinds; `None`: all.
    kinds: Option<&'static [&'static str]>,
    /// True if the current file was found in a folder.
    pub(super) is_folder: bool,
    /// Notes about input that was left out.
    pub notes: Vec<String>,
}

/// A document, or an item of a List, that is not an object.
#[derive(Debug)]
pub(super) struct Unread {
    error: ManifestError,
    /// Kinds named in its text.
    kinds: Vec<String>,
}

impl Unread {
    /// Text that is not YAML. Its kinds are those of lines with `kind:` or `"kind":` at any indentation.
    pub(super) fn of_text(error: ManifestError, text: &str) -> Self {
        let kind = |line: &str| {
            let line = line.trim_start_matches(|c: char| c.is_whitespace() || "-{,".contains(c));
            let rest = line.strip_prefix("kind:").or_else(|| line.strip_prefix("\"kind\":"))?;
            let word: String =
                rest.trim().trim_matches(['"', '\'']).chars().take_while(char::is_ascii_alphanumeric).collect();
            (!word.is_empty()).then_some(word)
        };
        // JSON on a single line may have the field anywhere.
        let pieces = text.lines().flat_map(|line| line.split([',', '{']));
        Self { error, kinds: pieces.filter_map(kind).collect() }
    }

    /// A value that is not an object with a kind and a version.
    pub(super) fn of_value(error: ManifestError, value: &Value) -> Self {
        let kinds = value["kind"].as_str().filter(|kind| !kind.is_empty()).map(str::to_owned);
        // An object of Gardener without a kind may be a wanted one.
        let group = value["apiVersion"].as_str().filter(|version| version.contains("gardener.cloud"));
        let unknown = group.filter(|_| kinds.is_none()).map(|_| UNKNOWN.to_owned());
        Self { error, kinds: kinds.into_iter().chain(unknown).collect() }
    }
}

/// Stands for any kind of Gardener.
const UNKNOWN: &str = "?";

impl WantedKinds {
    /// A reader that needs objects of all kinds.
    pub fn all() -> Self {
        Self { kinds: None, is_folder: false, notes: Vec::new() }
    }

    /// A reader that needs objects of these kinds only.
    pub fn only(kinds: &'static [&'static str]) -> Self {
        Self { kinds: Some(kinds), is_folder: false, notes: Vec::new() }
    }

    /// Records unreadable input in a note.
    ///
    /// # Errors
    /// The input may be wanted.
    pub(super) fn leave_out(&mut self, unread: Unread) -> Result<(), ManifestError> {
        let Unread { error, kinds: named } = unread;
        let Some(kinds) = self.kinds else { return Err(error) };
        let is_wanted = |name: &String| name == UNKNOWN || kinds.contains(&name.trim_end_matches("List"));
        if named.iter().any(is_wanted) || (named.is_empty() && !self.is_folder) {
            return Err(error);
        }
        self.notes.push(format!("left out, since it cannot be read and is no {}: {error}", kinds.join(", no ")));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::parse_each;

    const SHOOT: &str = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {name: a}\n";

    /// Reads a text found in a folder, or named as a file, with a reader that needs Shoots.
    fn read(text: &str, is_folder: bool) -> Result<(Vec<String>, usize), String> {
        let mut wanted = WantedKinds { is_folder, ..WantedKinds::only(&["Shoot", "CloudProfile"]) };
        let mut names = Vec::new();
        let read = parse_each("f.yaml", text, &mut wanted, &mut |manifest, _| {
            names.push(manifest.name().to_owned());
            Ok(())
        });
        read.map(|()| (names, wanted.notes.len())).map_err(|error| error.to_string())
    }

    #[test]
    fn only_what_may_be_wanted_must_be_readable() {
        let found = |count: usize| Ok((vec!["a".to_owned()], count));
        for (text, in_folder, named) in [
            // Broken, of a kind that is not read.
            ("kind: ConfigMap\ndata: {a\n", found(1), found(1)),
            ("kind: List\nitems:\n- kind: Secret\n  data: [\n", found(1), found(1)),
            ("{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"data\": {\n", found(1), found(1)),
            ("kind: ConfigMap\nmetadata: {name: b}\n", found(1), found(1)),
        ] {
            let text = format!("{SHOOT}---\n{text}");
            assert_eq!((read(&text, true), read(&text, false)), (in_folder, named), "{text}");
        }
        // Of no kind: values of a chart, a list, a word.
        for text in ["image: {{ .Values.image }\n", "replicas: 1\n", "- a\n- b\n", "word\n"] {
            let text = format!("{SHOOT}---\n{text}");
            assert_eq!(read(&text, true), found(1), "{text}");
            assert!(read(&text, false).is_err(), "{text}");
        }
        // What may be a Shoot.
        for text in [
            "kind: Shoot\nspec: {a\n",
            "apiVersion: v1\nkind: List\nitems:\n- kind: Shoot\n  spec: [\n",
            "kind: ShootList\nitems: [\n",
            "{\"items\": [{\"kind\": \"Shoot\", \"spec\": {\n",
            "kind: Shoot\nmetadata: {name: b}\n",
            "apiVersion: core.gardener.cloud/v1beta1\nmetadata: {name: b}\n",
        ] {
            let text = format!("{SHOOT}---\n{text}");
            assert!(read(&text, true).is_err() && read(&text, false).is_err(), "{text}");
        }
        assert_eq!(read("# nothing\n", true), Ok((Vec::new(), 1)));
        assert!(read("# nothing\n", false).is_err());
    }
}
