// SPDX-License-Identifier: Apache-2.0
//! Limits and result of reading a text.

use serde_json::Value;

/// Limits for the tree of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting depth of collections.
    pub depth: usize,
    /// Maximum number of nodes; the nodes of an alias are counted each time.
    pub nodes: usize,
    /// Enables the behaviour of Go's library: only the first of several documents is read, in which libyaml, from which
    /// Go's parser was derived, must also find no error. Otherwise a second document is refused, so that no file is
    /// read only in part.
    pub is_go: bool,
}

impl Limits {
    /// Limits for the body of a request. An object that can be stored is far below both: it has at most 1.5 MiB.
    pub const BODY: Self = Self { depth: 100, nodes: 500_000, is_go: true };
    /// Limits for a user's file.
    pub const FILE: Self = Self { depth: 128, nodes: 50_000_000, is_go: false };
}

/// Content of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Value as JSON.
    pub value: Value,
    /// Duplicate keys in one map, in the order in which the library finds them.
    pub duplicates: Vec<Duplicate>,
}

/// A duplicate key; displayed as in a strict reading's error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// Line of the later value, from 1.
    pub line: usize,
    /// Key as Go prints it, `"a"`, `1`.
    pub key: String,
    /// True if one of both values was merged (`<<`): keys of a merged map may be overridden.
    pub is_merged: bool,
}

impl std::fmt::Display for Duplicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: key {} already set in map", self.line, self.key)
    }
}
