// SPDX-License-Identifier: Apache-2.0
//! Manifests in common forms: YAML or JSON, several documents per file, Lists, dumps of a running landscape.
//!
//! **Invariants.** Nothing is dropped silently except fields that only a server writes; every error names file and line.
//!
//! **Tour.** [`json_list`] output of `kubectl -o json`; [`source`] the lines of fields; [`unread`] unreadable input that is
//! not needed.

mod json_list;
mod source;
mod tree;
mod unread;

pub use self::source::Source;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use self::unread::Unread;
pub use self::unread::WantedKinds;

/// Position of a document in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// File as passed by the user; `-` for standard input.
    pub file: String,
    /// Line of the document's first content, starting at 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// An object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Position of the object's document.
    pub origin: Origin,
    /// The object, without the metadata that only a server writes, except its creation time.
    pub object: Value,
    /// True if the object was being deleted when it was read from a server.
    pub is_being_deleted: bool,
    /// True if the object was read from a server, which gave it a UID and a resource version.
    pub is_served: bool,
}

impl Manifest {
    /// Returns `apiVersion`.
    pub fn api_version(&self) -> &str {
        self.object["apiVersion"].as_str().unwrap_or_default()
    }

    /// Returns `kind`.
    pub fn kind(&self) -> &str {
        self.object["kind"].as_str().unwrap_or_default()
    }

    /// Returns `metadata.name`; empty if it is missing.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Returns `metadata.namespace`; empty if it is missing.
    pub fn namespace(&self) -> &str {
        self.object["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// Returns a text below the object, for example at `["spec", "region"]`.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        path.iter().try_fold(&self.object, |value, key| value.get(key))?.as_str()
    }
}

/// Reason for which manifests cannot be used; displayed as `FILE:LINE: MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct ManifestError {
    place: String,
    what: String,
}

impl ManifestError {
    /// Returns an error about a document.
    pub fn at(origin: &Origin, what: impl Into<String>) -> Self {
        Self { place: origin.to_string(), what: what.into() }
    }

    fn file(path: &Path, what: impl fmt::Display) -> Self {
        Self { place: path.display().to_string(), what: what.to_string() }
    }
}

/// Callback for each object.
type Each<'a> = dyn FnMut(Manifest, &Source<'_>) -> Result<(), ManifestError> + 'a;
/// Callback for each object and for each unreadable part.
type EachFound<'a> = dyn FnMut(Result<Manifest, Unread>, &Source<'_>) -> Result<(), ManifestError> + 'a;

/// Reads files, folders (their `.yaml`, `.yml` and `.json` files in name order) and `-` for standard input.
///
/// # Errors
/// A file cannot be read, is not YAML or JSON, contains no object, or contains something other than objects.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Manifest>, ManifestError> {
    let mut manifests = Vec::new();
    read_each(paths, &mut WantedKinds::all(), &mut |manifest, _| {
        manifests.push(manifest);
        Ok(())
    })?;
    Ok(manifests)
}

/// Reads manifests like [`read`], one object at a time: the objects of a whole landscape are never in memory together as
/// trees. Unreadable input is an error only if it may be wanted.
///
/// # Errors
/// Those of [`read`], and those of `each`.
pub fn read_each(paths: &[PathBuf], wanted: &mut WantedKinds, each: &mut Each<'_>) -> Result<(), ManifestError> {
    each_text(paths, &mut |text| text.read_each(wanted, each))
}

/// Reads the texts of files, folders and standard input, for repeated reading.
///
/// # Errors
/// A file or folder cannot be read.
pub fn texts(paths: &[PathBuf]) -> Result<Vec<Text>, ManifestError> {
    let mut texts = Vec::new();
    each_text(paths, &mut |text| {
        texts.push(text);
        Ok(())
    })?;
    Ok(texts)
}

fn each_text(paths: &[PathBuf], each: &mut dyn FnMut(Text) -> Result<(), ManifestError>) -> Result<(), ManifestError> {
    for path in paths {
        if path.is_dir() {
            folder(path)?.iter().try_for_each(|file| each(Text::read(file, true)?))?;
        } else {
            each(Text::read(path, false)?)?;
        }
    }
    Ok(())
}

/// Text of a file.
#[derive(Debug)]
pub struct Text {
    /// File as passed by the user; `-` for standard input.
    file: String,
    /// True if the file was found in a folder.
    is_of_folder: bool,
    bytes: Vec<u8>,
}

impl Text {
    fn read(path: &Path, is_of_folder: bool) -> Result<Self, ManifestError> {
        Ok(Self { file: path.display().to_string(), is_of_folder, bytes: bytes_of(path)? })
    }

    /// Returns a text that does not come from a file; errors name it as `file`.
    #[cfg(test)]
    pub fn new(file: &str, text: &str) -> Self {
        Self { file: file.to_owned(), is_of_folder: false, bytes: text.as_bytes().to_vec() }
    }

    /// Reads this text like [`read_each`].
    ///
    /// # Errors
    /// Those of [`read_each`].
    pub fn read_each(&self, wanted: &mut WantedKinds, each: &mut Each<'_>) -> Result<(), ManifestError> {
        wanted.is_folder = self.is_of_folder;
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => parse_each(&self.file, text, wanted, each),
            Err(_) => {
                let error = ManifestError::file(Path::new(&self.file), "the file is not UTF-8 text");
                wanted.leave_out(Unread::of_text(error, &String::from_utf8_lossy(&self.bytes)))
            }
        }
    }
}

/// Returns the paths, each folder followed by its subfolders with manifests, in name order. Links to folders are skipped.
///
/// # Errors
/// A folder cannot be read, or contains no manifest at any depth.
pub fn with_subfolders(paths: &[PathBuf]) -> Result<Vec<PathBuf>, ManifestError> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let before = all.len();
        add_folders(path, &mut all)?;
        if all.len() == before {
            return Err(ManifestError::file(path, "no folder in it holds a .yaml, .yml or .json file"));
        }
    }
    Ok(all)
}

fn add_folders(path: &Path, all: &mut Vec<PathBuf>) -> Result<(), ManifestError> {
    let entries = std::fs::read_dir(path).map_err(|error| ManifestError::file(path, error))?;
    let mut folders = Vec::new();
    let mut has_manifests = false;
    for entry in entries.filter_map(Result::ok) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        } else {
            has_manifests |= is_manifest(&entry.path());
        }
    }
    if has_manifests {
        all.push(path.to_owned());
    }
    folders.sort();
    folders.iter().try_for_each(|folder| add_folders(folder, all))
}

fn is_manifest(file: &Path) -> bool {
    file.extension().is_some_and(|kind| kind == "yaml" || kind == "yml" || kind == "json") && !file.is_dir()
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let entries = std::fs::read_dir(path).map_err(|error| ManifestError::file(path, error))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|file| is_manifest(file)).collect();
    files.sort();
    if files.is_empty() {
        let is_parent = std::fs::read_dir(path)
            .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| entry.path().is_dir())));
        let more = if is_parent { "; -R reads the folders in it, too" } else { "" };
        return Err(ManifestError::file(path, format!("the folder holds no .yaml, .yml or .json file{more}")));
    }
    Ok(files)
}

/// Returns the text of a file; `-` for standard input.
///
/// # Errors
/// It cannot be read, or is not text.
pub fn text_of(path: &Path) -> Result<String, ManifestError> {
    String::from_utf8(bytes_of(path)?).map_err(|_| ManifestError::file(path, "the file is not UTF-8 text"))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, ManifestError> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|error| ManifestError::file(path, format!("cannot read the file: {error}")))
}

/// Reads the documents of a text like [`read`]; errors name the text as `file`.
///
/// # Errors
/// Those of [`read`].
pub fn parse(file: &str, text: &str) -> Result<Vec<Manifest>, ManifestError> {
    let mut manifests = Vec::new();
    parse_each(file, text, &mut WantedKinds::all(), &mut |manifest, _| {
        manifests.push(manifest);
        Ok(())
    })?;
    Ok(manifests)
}

/// Reads the documents of a text like [`read_each`].
///
/// # Errors
/// Those of [`read_each`].
pub fn parse_each(file: &str, text: &str, wanted: &mut WantedKinds, each: &mut Each<'_>) -> Result<(), ManifestError> {
    let mut is_empty = true;
    let mut told = |found: Result<Manifest, Unread>, source: &Source<'_>| {
        is_empty = false;
        match found {
            Ok(manifest) => each(manifest, source),
            Err(unread) => wanted.leave_out(unread),
        }
    };
    for (line, document) in documents(text) {
        let origin = Origin { file: file.to_owned(), line };
        if document.lines().all(|line| line.trim_start().starts_with('#') || line.trim().is_empty()) {
            continue;
        }
        // Items of a long List are read one at a time: a whole landscape as one tree takes many times the memory of its
        // text.
        if let Some(items) = block_list_items(document) {
            for (offset, item) in items {
                let origin = Origin { file: file.to_owned(), line: first_line(line, document) + offset };
                let text = item.replacen("- ", "  ", 1);
                let source = Source::yaml(&text, origin.line);
                match document_value(&origin, &text) {
                    Ok(value) => flatten(&origin, value, &source, &mut told)?,
                    Err(error) => told(Err(Unread::of_text(error, item)), &source)?,
                }
            }
            continue;
        }
        let is_json = document.trim_start().starts_with('{') && document.len() > json_list::LONG;
        let first = first_line(line, document);
        let source = if is_json { Source::json(document, first) } else { Source::yaml(document, first) };
        let mut index = 0;
        let listed = json_list::each_item(document, &mut |item| {
            index += 1;
            flatten(&origin, item, &source.item(index - 1), &mut told)
        });
        if listed.transpose()?.is_some() {
            continue;
        }
        match document_value(&origin, document) {
            Ok(Value::Null) => {}
            Ok(value) => flatten(&origin, value, &source, &mut told)?,
            Err(error) => told(Err(Unread::of_text(error, document)), &source)?,
        }
    }
    if is_empty {
        let origin = Origin { file: file.to_owned(), line: 1 };
        return wanted.leave_out(Unread::of_text(ManifestError::at(&origin, "the file holds no object"), ""));
    }
    Ok(())
}

/// Splits at lines `---`; yields the line of each document's first content.
fn documents(text: &str) -> Vec<(usize, &str)> {
    let (mut parts, mut start, mut first) = (Vec::new(), 0, 1);
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((first, &text[start..offset]));
            start = offset + if line.starts_with("--- ") { 3 } else { line.len() };
            first = index + 2;
        }
        offset += line.len();
    }
    parts.push((first, &text[start..]));
    parts
        .into_iter()
        .map(|(line, part)| {
            let is_blank = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
            (line + part.lines().take_while(is_blank).count(), part)
        })
        .collect()
}

/// Line at which a document's text begins, if its first content is at `content`.
fn first_line(content: usize, document: &str) -> usize {
    content - document.lines().take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#')).count()
}

/// Splits a List as printed by kubectl into the texts of its items, each with its line relative to the document.
///
/// Format: `items:` at the left edge, with each item starting with `- ` there. `None` for any other text, which is read as
/// a whole.
fn block_list_items(document: &str) -> Option<Vec<(usize, &str)>> {
    let is_list = document.lines().any(|line| line.starts_with("kind:") && line.trim_end().ends_with("List"));
    if !is_list || !document.lines().any(|line| line.trim_end() == "items:") {
        return None;
    }
    let (mut items, mut is_inside, mut offset) = (Vec::<(usize, usize, usize)>::new(), false, 0);
    for (index, line) in document.split_inclusive('\n').enumerate() {
        let (start, end) = (offset, offset + line.len());
        offset = end;
        let is_key = line.starts_with(|first: char| !first.is_whitespace() && first != '-' && first != '#');
        if is_key {
            is_inside = line.trim_end() == "items:";
        } else if is_inside && line.starts_with("- ") {
            items.push((index, start, end));
        } else if is_inside {
            let begins_otherwise = line.starts_with('-') || line.contains("<<:");
            let (_, _, last) = items.last_mut().filter(|_| !begins_otherwise)?;
            *last = end;
        }
    }
    let items: Vec<_> = items.into_iter().map(|(index, start, end)| (index, &document[start..end])).collect();
    // Anchors may refer to another item.
    let is_plain = |(_, item): &(usize, &str)| !item.contains(": *") && !item.contains("- *");
    (!items.is_empty() && items.iter().all(is_plain)).then_some(items)
}

fn document_value(origin: &Origin, document: &str) -> Result<Value, ManifestError> {
    let failed = |error: yaml::Error| {
        let skipped = document.lines().take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let line =
            error.line().map_or(origin.line, |line| (origin.line + line).saturating_sub(skipped.count() + 1).max(1));
        ManifestError::at(&Origin { file: origin.file.clone(), line }, error.text())
    };
    // A whole landscape is read several times faster as JSON than as YAML; short texts are read with all checks.
    if document.len() > json_list::LONG
        && document.trim_start().starts_with('{')
        && let Ok(tree::Tree(value)) = serde_json::from_str(document)
    {
        return Ok(value);
    }
    yaml::value(document).map_err(failed)
}

fn flatten(origin: &Origin, value: Value, source: &Source<'_>, each: &mut EachFound<'_>) -> Result<(), ManifestError> {
    let Value::Object(mut object) = value else {
        let error = ManifestError::at(origin, "expected an object with `apiVersion`, `kind` and `metadata`");
        return each(Err(Unread::of_value(error, &value)), source);
    };
    for key in ["apiVersion", "kind"] {
        if object.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
            let error = ManifestError::at(origin, format!("`{key}` is missing"));
            return each(Err(Unread::of_value(error, &Value::Object(object))), source);
        }
    }
    let is_list = object["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(Value::Array(items)) = object.remove("items") {
        let api_version = &object["apiVersion"];
        let kind = object["kind"].as_str().and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        let mut items = items.into_iter().enumerate();
        return items.try_for_each(|(index, mut item)| {
            // Items of a list from a server get their kind from the list.
            if let (Some(kind), Value::Object(fields)) = (kind, &mut item) {
                fields.entry("apiVersion").or_insert_with(|| api_version.clone());
                fields.entry("kind").or_insert_with(|| kind.into());
            }
            flatten(origin, item, &source.item(index), each)
        });
    }
    let is_being_deleted = object.get("metadata").is_some_and(|metadata| metadata.get("deletionTimestamp").is_some());
    let is_served = object.get("metadata").is_some_and(|metadata| {
        let is_set = |key: &str| metadata.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        is_set("uid") || is_set("resourceVersion")
    });
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        // Only an object that was read from a server has these. Its finalizers belong to controllers there (and Gardener
        // refuses its own on creation), and its owners are identified by uids of that server.
        if is_served {
            metadata.remove("finalizers");
            metadata.remove("ownerReferences");
        }
        for key in ["resourceVersion", "uid", "generation", "managedFields", "selfLink"] {
            metadata.remove(key);
        }
        // Credentials and lifetime of a Shoot count from its creation. Generated manifests have `null`.
        if metadata.get("creationTimestamp").is_some_and(Value::is_null) {
            metadata.remove("creationTimestamp");
        }
        metadata.remove("deletionTimestamp");
        metadata.remove("deletionGracePeriodSeconds");
    }
    each(Ok(Manifest { origin: origin.clone(), object: Value::Object(object), is_being_deleted, is_served }), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_folders_are_read_in_name_order() {
        let root = std::env::temp_dir().join(format!("terrarium-manifests-{}", std::process::id()));
        let make = |path: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("is made");
            std::fs::write(path, "apiVersion: v1\nkind: A\nmetadata: {name: a}\n").expect("is written");
        };
        for path in ["b/two.yaml", "a/deep/one.json", "a/note.txt", "top.yml"] {
            make(path);
        }
        let found = with_subfolders(std::slice::from_ref(&root)).map(|all| {
            let all = all.iter().map(|path| path.strip_prefix(&root).expect("below it").display().to_string());
            all.collect::<Vec<_>>()
        });
        let shallow = read(&[root.join("a")]).map_err(|error| error.to_string());
        let whole = with_subfolders(std::slice::from_ref(&root)).and_then(|all| read(&all));
        let file = root.join("top.yml");
        let named = with_subfolders(std::slice::from_ref(&file));
        let none = with_subfolders(&[root.join("a/none")]).is_ok();
        std::fs::remove_dir_all(&root).expect("is removed");
        assert_eq!(found, Ok(["", "a/deep", "b"].map(str::to_owned).to_vec()));
        assert_eq!(whole.map(|all| all.len()), Ok(3));
        assert!(shallow.is_err_and(|error| error.ends_with("-R reads the folders in it, too")));
        assert_eq!(named, Ok(vec![file]));
        assert!(none, "what is no folder is read, and refused, as a file");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let actual = match parse("f.yaml", text) {
            Ok(manifests) => manifests
                .iter()
                .map(|m| format!("{} {} {}", m.origin, m.kind(), m.name()))
                .collect::<Vec<_>>()
                .join("; "),
            Err(error) => format!("error {error}"),
        };
        assert_eq!(actual, expected, "input:\n{text}");
    }

    #[test]
    fn several_documents_keep_their_lines() {
        check(
            "# head\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n\n# note\napiVersion: v1\nkind: B\nmetadata: {name: b}\n",
            "f.yaml:3 A a; f.yaml:9 B b",
        );
        check("{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\"name\": \"a\"}}", "f.yaml:1 A a");
    }

    #[test]
    fn lists_are_opened_and_server_fields_dropped() {
        let text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n  metadata: {name: a, uid: x, creationTimestamp: null, finalizers: [gardener], labels: {b: c}}\n";
        let manifests = parse("f.yaml", text).expect("a list");
        assert_eq!(manifests[0].object["metadata"], serde_json::json!({"name": "a", "labels": {"b": "c"}}));
    }

    #[test]
    fn finalizers_in_written_manifests_are_kept() {
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: a, finalizers: [example.org/mine]}\n";
        let manifests = parse("f.yaml", text).expect("an object");
        assert_eq!(manifests[0].object["metadata"]["finalizers"], serde_json::json!(["example.org/mine"]));
    }

    #[test]
    fn items_of_a_long_list_have_lines_of_their_own() {
        let text = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: A\n  metadata:\n    name: a\n    deletionTimestamp: x\n    \
                    finalizers:\n    - f\n- apiVersion: v1\n  kind: B\n  metadata: {name: b}\n  data:\n    text: |\n      \
                    - no item\nkind: List\nmetadata: {}\n";
        check(text, "f.yaml:3 A a; f.yaml:10 B b");
        let manifests = parse("f.yaml", text).expect("a list");
        assert_eq!(manifests.iter().map(|m| m.is_being_deleted).collect::<Vec<_>>(), [true, false]);
        assert_eq!(manifests[1].object["data"]["text"], "- no item\n");
        check(
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: A\n- kind: B\n",
            "error f.yaml:6: `apiVersion` is missing",
        );
        check(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- apiVersion: v1\n  kind: [B\n",
            "error f.yaml:7: did not find expected ',' or ']'",
        );
    }

    #[test]
    fn a_long_list_in_json_is_read_item_by_item() {
        let item =
            |name: &str| format!("{{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {{\"name\": \"{name}\"}}}}");
        let blanks = " ".repeat(json_list::LONG);
        let list =
            |items: &str| format!("{{\"apiVersion\": \"v1\",\n\"items\": {items},{blanks}\n\"kind\": \"List\"}}");
        check(&list(&format!("[{}, {}]", item("a"), item("b"))), "f.yaml:1 A a; f.yaml:1 A b");
        check(&list("[]"), "error f.yaml:1: the file holds no object");
        check(&list("[1]"), "error f.yaml:1: expected an object with `apiVersion`, `kind` and `metadata`");
        check(&list("[{\"kind\": \"A\"}]"), "error f.yaml:1: `apiVersion` is missing");
        // Only Lists are split into items.
        let other = list(&format!("[{}]", item("a"))).replace("\"List\"", "\"Other\"");
        check(&other, "f.yaml:1 Other ");
    }

    #[test]
    fn broken_files_name_file_and_line() {
        check("", "error f.yaml:1: the file holds no object");
        check("# only a comment\n", "error f.yaml:1: the file holds no object");
        check("- a\n- b\n", "error f.yaml:1: expected an object with `apiVersion`, `kind` and `metadata`");
        check("kind: A\n", "error f.yaml:1: `apiVersion` is missing");
        check("apiVersion: v1\nkind: A\nkind: B\n", "error f.yaml:3: duplicate entry with key \"kind\"");
        check(
            "apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\nmetadata:\n  a: [1\n",
            "error f.yaml:8: did not find expected ',' or ']'",
        );
    }
}
