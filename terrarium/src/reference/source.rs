// SPDX-License-Identifier: Apache-2.0
//! Doc comments of items, read from their source, so that pages need not repeat them.
//!
//! The source is formatted by rustfmt: a declaration begins a line, a field ends with a comma at the end of its line.

/// An item with its doc comment in Markdown, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Name of a field or variant, or the text of a constant.
    pub(super) name: String,
    /// Name of a constant; empty for others.
    pub(super) constant: String,
    /// Type of a field; empty for others.
    pub(super) type_: String,
    /// Text of the doc comment.
    pub(super) text: String,
}

/// Reads a file of this repository, by its path from the root.
pub(super) fn file(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the doc comment of a module.
pub(super) fn module(source: &str) -> String {
    let lines =
        source.lines().filter_map(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    plain(&lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the fields of a struct or the variants of an enum, with the item's own doc comment.
///
/// # Panics
/// There is no such item.
#[track_caller]
pub(super) fn parts(source: &str, declaration: &str) -> (String, Vec<Item>) {
    let opening = format!("{declaration} {{");
    let at = source.lines().position(|line| line == opening).unwrap_or_else(|| panic!("no `{declaration}`"));
    let lines: Vec<&str> = source.lines().collect();
    let mut above: Vec<&str> =
        lines[..at].iter().rev().take_while(|line| line.starts_with("//") || line.starts_with('#')).copied().collect();
    above.reverse();
    let body = lines[at + 1..].iter().take_while(|line| !line.starts_with('}'));
    let (mut items, mut comment) = (Vec::new(), Vec::new());
    for line in body {
        // Deeper lines are parts of a variant.
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else { continue };
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.trim());
        } else if !line.starts_with('#') && !line.starts_with('}') {
            let line = line.strip_prefix("pub ").unwrap_or(line).trim_end_matches([',', '{', ' ']);
            let (name, type_) = line.split_once(": ").unwrap_or((line, ""));
            let name = name.split('(').next().unwrap_or_default();
            items.push(Item {
                name: name.to_owned(),
                constant: String::new(),
                type_: type_.to_owned(),
                text: plain(&comment.join(" ")),
            });
            comment.clear();
        }
    }
    (plain(&said(&above)), items)
}

/// Returns the contents of a nested module, without its indentation.
pub(super) fn unindented(source: &str, module: &str) -> String {
    let inside = source.lines().skip_while(|line| *line != format!("pub mod {module} {{")).skip(1);
    let inside = inside.take_while(|line| *line != "}").map(|line| line.strip_prefix("    ").unwrap_or(line));
    inside.collect::<Vec<_>>().join("\n")
}

/// Returns the text constants of a file, each with its doc comment.
pub(super) fn constants(source: &str) -> Vec<Item> {
    let (mut items, mut comment) = (Vec::new(), Vec::new());
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("///") {
            comment.push(line);
        } else if let Some(rest) = line.strip_prefix("pub const ").and_then(|line| line.split_once(": &str =")) {
            let value = if rest.1.is_empty() { lines.next().unwrap_or_default() } else { rest.1 };
            let value = value.trim().trim_end_matches(';').trim_matches('"');
            items.push(Item {
                name: value.to_owned(),
                constant: rest.0.to_owned(),
                type_: String::new(),
                text: plain(&said(&comment)),
            });
            comment.clear();
        } else {
            comment.clear();
        }
    }
    items
}

fn said(lines: &[&str]) -> String {
    let texts = lines.iter().filter_map(|line| line.strip_prefix("///")).map(str::trim);
    texts.collect::<Vec<_>>().join(" ")
}

/// Replaces links to items by their names in code.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        out.push_str(before);
        let Some((name, after)) = link.split_once("`]") else { break };
        let name = name.rsplit("::").next().unwrap_or(name);
        out.push('`');
        out.push_str(name);
        out.push('`');
        // The link may have an explicit target.
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(after, |(_, behind)| behind);
    }
    out.push_str(rest);
    out
}

#[test]
fn comments_belong_to_the_following_item() {
    let source = r#"
//! A module.
//!
//! Of [`a::B`](super::a).

/// A struct of
/// two lines.
#[derive(Debug)]
pub struct A {
    /// First,
    /// see [`Self::b`].
    pub a: u8,
    #[serde(default)]
    pub b: Option<String>,
}

/// An enum.
enum B {
    /// One.
    #[error("x")]
    One {
        /// Deep.
        what: u8,
    },
    /// Two.
    Two(u8),
}

/// A key.
pub const K: &str = "k";
/// Long.
pub const L: &str =
    "l";
const M: u8 = 1;
"#;
    let item = |name: &str, type_: &str, text: &str| Item {
        name: name.into(),
        constant: String::new(),
        type_: type_.into(),
        text: text.into(),
    };
    assert_eq!(module(source), "A module.\n\nOf `B`.");
    let fields = vec![item("a", "u8", "First, see `b`."), item("b", "Option<String>", "")];
    assert_eq!(parts(source, "pub struct A"), ("A struct of two lines.".to_owned(), fields));
    assert_eq!(
        parts(source, "enum B"),
        ("An enum.".to_owned(), vec![item("One", "", "One."), item("Two", "", "Two.")])
    );
    let constant = |name: &str, item: Item| Item { constant: name.to_owned(), ..item };
    assert_eq!(constants(source), [constant("K", item("k", "", "A key.")), constant("L", item("l", "", "Long."))]);
    assert_eq!(unindented("mod a {\n}\npub mod b {\n    x\n\n    y\n}\nz", "b"), "x\n\ny");
}
