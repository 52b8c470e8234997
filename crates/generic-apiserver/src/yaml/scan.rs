// SPDX-License-Identifier: Apache-2.0
//! Depth and number of nodes of a YAML text, before it is parsed.
//!
//! The parser keeps some 200 bytes for each bracket, and looks at depth only afterwards. This looks at every byte once and
//! keeps nothing but the columns at which blocks began. It knows quotes, comments, block scalars and indentation as far as
//! they decide what a bracket is; where it errs it errs in what it counts, never in what a text means.

/// What is in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// How deep collections nest.
    pub(super) depth: usize,
    /// Entries of collections, at most.
    pub(super) nodes: usize,
}

/// Looks through a text, until either limit is passed.
pub(super) fn extent(text: &[u8], limits: Extent) -> Extent {
    let mut scan = Scan { text, at: 0, column: 0, blocks: Vec::new(), flows: 0, extent: Extent::default() };
    scan.run(limits);
    scan.extent
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// Of `at`.
    column: usize,
    /// Columns of the blocks around.
    blocks: Vec<usize>,
    /// Brackets that are open.
    flows: usize,
    extent: Extent,
}

impl Scan<'_> {
    fn run(&mut self, limits: Extent) {
        // Whether a token may begin here.
        let mut begins = true;
        while let Some(byte) = self.peek(0) {
            if self.extent.depth > limits.depth || self.extent.nodes > limits.nodes {
                return;
            }
            let blank = matches!(self.peek(1), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
            match byte {
                b'\n' => {
                    self.line();
                    begins = true;
                    continue;
                }
                b' ' | b'\t' | b'\r' => {
                    self.step();
                    if self.peek(0) == Some(b'#') {
                        self.rest_of_line();
                    }
                    continue;
                }
                b'#' if begins => {
                    self.rest_of_line();
                    continue;
                }
                b'"' | b'\'' if begins => {
                    self.quoted(byte);
                    begins = false;
                    continue;
                }
                b'[' | b'{' if begins || self.flows > 0 => {
                    self.flows += 1;
                    self.count();
                    begins = true;
                }
                b']' | b'}' if self.flows > 0 => {
                    self.flows -= 1;
                    begins = false;
                }
                b',' if self.flows > 0 => {
                    self.count();
                    begins = true;
                }
                b'|' | b'>' if begins && self.flows == 0 => {
                    self.block_scalar();
                    begins = true;
                    continue;
                }
                b'-' | b'?' if begins && blank => {
                    if self.flows == 0 {
                        self.block();
                    }
                    self.count();
                }
                b':' if blank || self.flows > 0 => {
                    self.count();
                    begins = true;
                }
                // A tag or an anchor stands before the token.
                b'!' | b'&' if begins => {
                    while !matches!(self.peek(0), None | Some(b' ' | b'\t' | b'\r' | b'\n')) {
                        if self.flows > 0 && matches!(self.peek(0), Some(b'[' | b'{' | b']' | b'}' | b',')) {
                            break;
                        }
                        self.step();
                    }
                    continue;
                }
                _ => {
                    if begins && self.flows == 0 {
                        self.block();
                    }
                    begins = false;
                }
            }
            self.step();
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn step(&mut self) {
        self.at += 1;
        self.column += 1;
    }

    /// To the first byte of the next line that is no space.
    fn line(&mut self) {
        self.at += 1;
        self.column = 0;
        while self.peek(0) == Some(b' ') {
            self.step();
        }
    }

    fn rest_of_line(&mut self) {
        while !matches!(self.peek(0), None | Some(b'\n')) {
            self.step();
        }
    }

    fn count(&mut self) {
        self.extent.nodes += 1;
        self.extent.depth = self.extent.depth.max(self.blocks.len() + self.flows);
    }

    /// A block, or an entry of one, begins in this column.
    fn block(&mut self) {
        while self.blocks.last().is_some_and(|column| *column > self.column) {
            self.blocks.pop();
        }
        if self.blocks.last() != Some(&self.column) {
            self.blocks.push(self.column);
        }
    }

    fn quoted(&mut self, quote: u8) {
        self.step();
        while let Some(byte) = self.peek(0) {
            self.step();
            if byte == b'\\' && quote == b'"' {
                self.step();
            } else if byte == quote {
                // Two single quotes are one within the text.
                if quote == b'\'' && self.peek(0) == Some(b'\'') {
                    self.step();
                } else {
                    return;
                }
            }
        }
    }

    /// Passes the lines of a literal or folded text: those that are empty, or further right than the block around.
    fn block_scalar(&mut self) {
        let around = self.blocks.last().copied();
        self.rest_of_line();
        while self.peek(0).is_some() {
            let line = self.at;
            self.line();
            let inside = around.is_none_or(|column| self.column > column);
            if !inside && !matches!(self.peek(0), None | Some(b'\n' | b'\r')) {
                self.at = line;
                return;
            }
            self.rest_of_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_LIMITS: Extent = Extent { depth: usize::MAX, nodes: usize::MAX };

    #[track_caller]
    fn depth(text: &str, expected: usize) {
        assert_eq!(extent(text.as_bytes(), NO_LIMITS).depth, expected, "{text}");
    }

    #[test]
    fn collections_nest_by_brackets_and_by_indentation() {
        depth("", 0);
        depth("a: 1", 1);
        depth("a: 1\nb: 2\nc: 3\n", 1);
        depth("a:\n  b:\n    c: 1\nd: 2\n", 3);
        depth("- a\n- b\n", 1);
        depth("- - - a\n- b\n", 3);
        depth("a:\n- b: 1\n  c: 2\n- b: 3\n", 2);
        depth("[[[]]]", 3);
        depth("[[],[],[]]", 2);
        depth("a: [{b: [1, 2]}]", 4);
        depth("!tag [&x [1], *x]", 2);
        depth("[a,\n[b,\n[c]]]", 3);
    }

    #[test]
    fn brackets_in_texts_are_texts() {
        depth("a: b[[[[[", 1);
        depth("a: '[[[[['' [['\nb: 1", 1);
        depth(r#"a: "[[[\"[[[""#, 1);
        depth("# [[[[[\na: 1 # [[[[", 1);
        depth("a: |\n  [[[[[[\n\n  {{{{\nb: 1", 1);
        depth("a:\n- b: >-\n    [[[[[[\n  c: [1]\n", 3);
        depth("[\"]\",[\"]\",[1]]]", 3);
        depth("['a#b', x', [1]]", 2);
    }

    #[test]
    fn it_stops_when_a_limit_is_passed() {
        let limits = Extent { depth: 100, nodes: 1_000 };
        for text in ["[".repeat(3 << 20), "- ".repeat(3 << 19), "{a: ".repeat(3 << 18), "? ".repeat(3 << 19)] {
            assert_eq!(extent(text.as_bytes(), limits).depth, 101);
        }
        for text in [format!("[{}", "[],".repeat(1 << 20)), "- a\n".repeat(3 << 18), "a: b\n".repeat(1 << 19)] {
            assert_eq!(extent(text.as_bytes(), limits).nodes, 1_001);
        }
    }
}
