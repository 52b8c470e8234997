// SPDX-License-Identifier: Apache-2.0
//! Nodes of a text with their lines and literal scalars: `1.120` is not a number here.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use crate::document::Limits;
use crate::error::Error;
use crate::tree::{is_merge, too_deep};

/// A node and the position at which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// True if it has a tag.
    pub is_tagged: bool,
    /// Content.
    pub content: Content,
}

/// Content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An empty value, `~` or `null`.
    Null,
    /// A scalar as it is written, without its quotes.
    Scalar(String),
    /// The items of a list.
    List(Vec<Node>),
    /// The entries of a map in their order, those that were merged (`<<`) among them.
    Map(Vec<Entry>),
}

/// An entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Line of the key.
    pub line: usize,
    /// Column of the key in characters, from 1.
    pub column: usize,
    /// True if the entry is part of a merged map (`<<`).
    pub is_merged: bool,
    /// Key.
    pub key: String,
    /// Value.
    pub value: Node,
}

impl Node {
    /// Returns the entries of a map; `None` for other nodes.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            _ => None,
        }
    }
}

pub(crate) fn read(text: &str, limits: Limits) -> Result<Node, Error> {
    let parser = Parser::new_from_str(text);
    let mut reader = Reader { parser, limits, left: limits.nodes, anchors: BTreeMap::new() };
    loop {
        match reader.next()? {
            (Event::StreamEnd | Event::DocumentEnd, span) => {
                let (line, column) = position(span);
                return Ok(Node { line, column, is_tagged: false, content: Content::Null });
            }
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (event, span) => return reader.node(event, span, 0),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    limits: Limits,
    /// Number of nodes that may still be created.
    left: usize,
    /// Nodes of anchors, and the number of nodes in each.
    anchors: BTreeMap<usize, (Node, usize)>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Error> {
        match self.parser.next_event() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(Error::at(error.marker().line(), error.info().to_owned())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(nodes).ok_or_else(|| Error::at(0, "too many nodes"))?;
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Error> {
        if depth > self.limits.depth {
            return Err(too_deep());
        }
        let before = self.left;
        self.count(1)?;
        let (line, column) = position(span);
        let (content, anchor, is_tagged) = match event {
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (node, size) = known.ok_or_else(|| Error::at(line, "an anchor's value contains itself"))?;
                self.count(size)?;
                return Ok(node);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let content = if is_null { Content::Null } else { Content::Scalar(text.into_owned()) };
                (content, anchor, tag.is_some())
            }
            Event::SequenceStart(anchor, tag) => (Content::List(self.items(depth + 1)?), anchor, tag.is_some()),
            Event::MappingStart(anchor, tag) => (Content::Map(self.map(depth + 1)?), anchor, tag.is_some()),
            _ => (Content::Null, 0, false),
        };
        let node = Node { line, column, is_tagged, content };
        if anchor > 0 {
            let size = before - self.left;
            self.count(size)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd | Event::StreamEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut set = |entries: &mut Vec<Entry>, entry: Entry| match places.get(&entry.key) {
            // The last one counts.
            Some(place) => entries[*place] = entry,
            None => {
                places.insert(entry.key.clone(), entries.len());
                entries.push(entry);
            }
        };
        loop {
            let (key, (line, column), merges) = match self.next()? {
                (Event::MappingEnd | Event::StreamEnd, _) => return Ok(entries),
                (Event::Scalar(text, style, anchor, tag), span) => {
                    let merges = style == ScalarStyle::Plain && is_merge(&text, tag.as_deref());
                    let key = text.clone().into_owned();
                    if anchor > 0 {
                        self.node(Event::Scalar(text, style, anchor, tag), span, depth)?;
                    }
                    (key, position(span), merges)
                }
                (event, span) => {
                    let place = position(span);
                    match self.node(event, span, depth)?.content {
                        Content::Scalar(text) => (text, place, false),
                        _ => return Err(Error::at(place.0, "a key is not a text")),
                    }
                }
            };
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth)?;
            if !merges {
                set(&mut entries, Entry { line, column, is_merged: false, key, value });
                continue;
            }
            let maps = match value.content {
                Content::Map(_) => vec![value],
                Content::List(items) => items.into_iter().rev().collect(),
                _ => Vec::new(),
            };
            for map in maps {
                let Content::Map(merged) = map.content else { continue };
                for entry in merged {
                    set(&mut entries, Entry { is_merged: true, ..entry });
                }
            }
        }
    }
}

/// Returns line and column of the beginning of a span, both from 1.
fn position(span: Span) -> (usize, usize) {
    (span.start.line(), span.start.col() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats nodes as `LINE:TEXT`, `LINE[...]` and `LINE{KEYLINE:KEY=...}`.
    fn shown(node: &Node) -> String {
        let line = node.line;
        match &node.content {
            Content::Null => format!("{line}:~"),
            Content::Scalar(text) => format!("{line}:{text}"),
            Content::List(items) => format!("{line}[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Content::Map(entries) => {
                let shown = |entry: &Entry| format!("{}:{}={}", entry.line, entry.key, shown(&entry.value));
                format!("{line}{{{}}}", entries.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(read(text, Limits::FILE).map(|node| shown(&node)), Ok(expected.to_owned()), "{text}");
    }

    #[test]
    fn scalars_are_literal_and_nodes_have_lines() {
        check("a: 1.120\nb:\n- yes\n- '1.0'\nc:\n", "1{1:a=1:1.120 2:b=3[3:yes 4:1.0] 5:c=5:~}");
        check("# note\n---\n{a: [x,\n y]}\n", "3{3:a=3[3:x 4:y]}");
        assert_eq!(read("", Limits::FILE).map(|node| node.content), Ok(Content::Null));
    }

    #[test]
    fn nodes_and_keys_have_columns() {
        let node = read("a:\n  - {b: 1, ü: [x]}\n", Limits::FILE).expect("nodes");
        let a = &node.entries().expect("a map")[0];
        let Content::List(items) = &a.value.content else { panic!("{a:?}") };
        let entries = items[0].entries().expect("a map");
        let columns = |entry: &Entry| (entry.line, entry.column, entry.value.column);
        assert_eq!((a.column, items[0].column), (1, 5));
        assert_eq!(entries.iter().map(columns).collect::<Vec<_>>(), [(2, 6, 9), (2, 12, 15)]);
        assert!(entries.iter().all(|entry| !entry.is_merged));
        let merged = read("a: &b {x: 1}\nc: {<<: *b, y: 2}\n", Limits::FILE).expect("nodes");
        let entries = merged.entries().expect("a map")[1].value.entries().expect("a map");
        assert_eq!(entries.iter().map(|entry| entry.is_merged).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn merged_entries_are_where_they_were_written() {
        check("base: &b {x: 1, y: 2}\na:\n  <<: *b\n  x: 3\n", "1{1:base=1{1:x=1:1 1:y=1:2} 2:a=3{4:x=4:3 1:y=1:2}}");
        check("a: &l [{x: 1}]\nb:\n  <<: [{x: 7}, {z: 8}]\n", "1{1:a=1[1{1:x=1:1}] 2:b=3{3:z=3:8 3:x=3:7}}");
    }

    #[test]
    fn unreadable_and_endless_texts_are_refused() {
        for text in ["a: [", "a: b: c", "a: &x [*x]", "[a]: 1"] {
            assert!(read(text, Limits::FILE).is_err(), "{text}");
        }
        let deep = "[".repeat(10_000);
        assert!(read(&deep, Limits::FILE).is_err());
        let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for level in 1..9 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            laughs = format!("{laughs}a{level}: &a{level} [{items}]\n");
        }
        assert!(read(&laughs, Limits::BODY).is_err());
    }
}
