// SPDX-License-Identifier: Apache-2.0
//! Validator of watch guarantees, for tests: it receives each line of a stream, and then compares the changes with the log.
//!
//! | guarantee | violation |
//! | --- | --- |
//! | ordered | [`Violation::Unordered`]: a frame after one with a higher resource version |
//! | unique | [`Violation::Duplicate`]: a change that was delivered before |
//! | reliable | [`Violation::Gap`]: a change between two that were delivered was not |
//! | atomic | [`Violation::Torn`]: a frame that shows no state that was ever committed |
//! | resumable | [`Violation::BeforeStart`]: a change at or before the resource version from which the watch started |
//! | bookmarkable | [`Violation::BookmarkAhead`]: a change at or before an earlier bookmark |
//! | previous state | [`Violation::Previous`]: a frame that contradicts the previous state of the object in this watch |
//!
//! The names are those of etcd's watch guarantees (etcd.io/docs, "KV API guarantees") and of its robustness tests.

use std::collections::BTreeMap;

use serde_json::Value;

/// Violation of a watch guarantee.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A frame after one with a higher resource version.
    #[error("revision {revision} came after {last}")]
    Unordered {
        /// Resource version of the late frame.
        revision: u64,
        /// Resource version of the frame before it.
        last: u64,
    },
    /// A change that was delivered twice.
    #[error("revision {0} was delivered twice")]
    Duplicate(u64),
    /// A change that was not delivered, although later ones or a bookmark were.
    #[error("revision {0} was not delivered")]
    Gap(u64),
    /// A frame that shows no state that was ever committed, or that committed state under another type.
    #[error("revision {revision} shows what was never committed: {what}")]
    Torn {
        /// Resource version of the frame.
        revision: u64,
        /// Description of the difference.
        what: String,
    },
    /// A change at or before the resource version from which the watch started.
    #[error("revision {revision} is not after {from}, where the watch started")]
    BeforeStart {
        /// Resource version of the frame.
        revision: u64,
        /// Resource version from which the watch started.
        from: u64,
    },
    /// A change at or before an earlier bookmark, or a bookmark that decreases.
    #[error("revision {revision} came after a bookmark at {bookmark}")]
    BookmarkAhead {
        /// Resource version of the late frame.
        revision: u64,
        /// Resource version of the bookmark.
        bookmark: u64,
    },
    /// `ADDED` of an object that was present, `MODIFIED` or `DELETED` of one that was not.
    #[error("revision {revision}: {type_} of an object that was {before}")]
    Previous {
        /// Resource version of the frame.
        revision: u64,
        /// Type of the frame.
        type_: String,
        /// `there` or `not there`.
        before: &'static str,
    },
    /// A line that is not a frame.
    #[error("not a frame: {0}")]
    Malformed(String),
}

/// A change that a watch must show.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Resource version.
    pub revision: u64,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub type_: &'static str,
    /// The object.
    pub object: Value,
}

/// Validates one watch, including resumptions.
#[derive(Clone, Debug)]
pub struct WatchValidator {
    from: u64,
    last: u64,
    bookmark: u64,
    /// Resource versions reached by the initial state; changes follow.
    initial: bool,
    /// Last resource version of each object that is in the selection, by cluster, namespace and name.
    present: BTreeMap<String, u64>,
    frames: Vec<(u64, String, Value)>,
}

impl WatchValidator {
    /// Creates a validator of a watch after a resource version at which these objects were in the selection.
    pub fn after(revision: u64, present: &[Value]) -> Self {
        Self {
            from: revision,
            last: revision,
            bookmark: revision,
            initial: false,
            present: present.iter().map(|object| (key(object), version(object))).collect(),
            frames: Vec::new(),
        }
    }

    /// Creates a validator of a watch that begins with the initial state.
    pub fn with_state() -> Self {
        Self { from: 0, last: 0, bookmark: 0, initial: true, present: BTreeMap::new(), frames: Vec::new() }
    }

    /// Returns the resource version from which to resume: the highest one of any frame or bookmark.
    pub fn position(&self) -> u64 {
        self.last.max(self.bookmark)
    }

    /// Marks the end of the stream; a new one starts at [`WatchValidator::position`].
    pub fn resume(&mut self) {
        self.initial = false;
        self.from = self.position();
    }

    /// Validates one line of the stream.
    pub fn push(&mut self, line: &[u8]) -> Result<(), Violation> {
        let malformed = || Violation::Malformed(String::from_utf8_lossy(line).into_owned());
        let mut frame: Value = serde_json::from_slice(line).map_err(|_| malformed())?;
        let type_ = frame["type"].as_str().unwrap_or_default().to_owned();
        let object = frame["object"].take();
        let revision = version(&object);
        match type_.as_str() {
            "BOOKMARK" => {
                if revision < self.position() && !self.initial {
                    return Err(Violation::BookmarkAhead { revision, bookmark: self.position() });
                }
                if self.initial {
                    self.initial = false;
                    self.last = revision;
                    self.from = revision;
                }
                self.bookmark = revision;
                Ok(())
            }
            "ADDED" if self.initial && self.frames.is_empty() => {
                // Frames of the initial state arrive in key order, whatever their versions.
                if self.present.insert(key(&object), revision).is_some() {
                    return Err(Violation::Duplicate(revision));
                }
                Ok(())
            }
            "ADDED" | "MODIFIED" | "DELETED" => self.change(type_, revision, object),
            _ => Err(malformed()),
        }
    }

    fn change(&mut self, type_: String, revision: u64, object: Value) -> Result<(), Violation> {
        if self.frames.iter().any(|(known, _, _)| *known == revision) {
            return Err(Violation::Duplicate(revision));
        }
        if revision <= self.from {
            return Err(Violation::BeforeStart { revision, from: self.from });
        }
        if revision <= self.bookmark {
            return Err(Violation::BookmarkAhead { revision, bookmark: self.bookmark });
        }
        if revision < self.last {
            return Err(Violation::Unordered { revision, last: self.last });
        }
        let was_there = if type_ == "DELETED" {
            self.present.remove(&key(&object)).is_some()
        } else {
            self.present.insert(key(&object), revision).is_some()
        };
        if was_there == (type_ == "ADDED") {
            let before = if was_there { "there" } else { "not there" };
            return Err(Violation::Previous { revision, type_, before });
        }
        self.last = revision;
        self.frames.push((revision, type_, object));
        Ok(())
    }

    /// Compares the delivered changes with the expected ones: every change after `from` and up to the position.
    pub fn finish(&self, from: u64, expected: &[Expected]) -> Result<(), Violation> {
        let due = expected.iter().filter(|change| change.revision > from && change.revision <= self.position());
        let mut delivered = self.frames.iter().peekable();
        for change in due {
            let Some((revision, type_, object)) = delivered.next_if(|(revision, _, _)| *revision <= change.revision)
            else {
                return Err(Violation::Gap(change.revision));
            };
            if *revision < change.revision {
                return Err(Violation::Torn { revision: *revision, what: "no such change".to_owned() });
            }
            if type_ != change.type_ {
                return Err(Violation::Torn {
                    revision: *revision,
                    what: format!("{type_} instead of {}", change.type_),
                });
            }
            if *object != change.object {
                return Err(Violation::Torn {
                    revision: *revision,
                    what: format!("{object} instead of {}", change.object),
                });
            }
        }
        match delivered.next() {
            Some((revision, _, _)) => Err(Violation::Torn { revision: *revision, what: "no such change".to_owned() }),
            None => Ok(()),
        }
    }
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    format!("{}/{}/{}", metadata["uid"], text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(type_: &str, name: &str, revision: u64) -> Vec<u8> {
        let object = json!({"metadata": {"name": name, "resourceVersion": revision.to_string()}});
        json!({"type": type_, "object": object}).to_string().into_bytes()
    }

    #[track_caller]
    fn check(lines: &[Vec<u8>], expected: Result<(), Violation>) {
        let mut validator = WatchValidator::after(5, &[]);
        let result = lines.iter().try_for_each(|line| validator.push(line));
        assert_eq!(result, expected);
    }

    #[test]
    fn violations_are_reported_by_guarantee() {
        check(&[line("ADDED", "a", 6), line("MODIFIED", "a", 7), line("DELETED", "a", 9)], Ok(()));
        check(&[line("ADDED", "a", 8), line("ADDED", "b", 7)], Err(Violation::Unordered { revision: 7, last: 8 }));
        check(&[line("ADDED", "a", 8), line("MODIFIED", "a", 8)], Err(Violation::Duplicate(8)));
        check(&[line("ADDED", "a", 5)], Err(Violation::BeforeStart { revision: 5, from: 5 }));
        check(
            &[line("BOOKMARK", "", 9), line("ADDED", "a", 9)],
            Err(Violation::BookmarkAhead { revision: 9, bookmark: 9 }),
        );
        check(
            &[line("MODIFIED", "a", 6)],
            Err(Violation::Previous { revision: 6, type_: "MODIFIED".to_owned(), before: "not there" }),
        );
    }

    #[test]
    fn missing_and_torn_changes_are_found_at_the_end() {
        let object = |revision: u64| json!({"metadata": {"name": "a", "resourceVersion": revision.to_string()}});
        let expected = [
            Expected { revision: 6, type_: "ADDED", object: object(6) },
            Expected { revision: 7, type_: "MODIFIED", object: object(7) },
        ];
        let mut validator = WatchValidator::after(5, &[]);
        assert_eq!(validator.push(&line("ADDED", "a", 6)), Ok(()));
        assert_eq!(validator.finish(5, &expected), Ok(()));
        assert_eq!(validator.push(&line("BOOKMARK", "", 7)), Ok(()));
        assert_eq!(validator.finish(5, &expected), Err(Violation::Gap(7)));
        let mut validator = WatchValidator::after(5, &[]);
        assert_eq!(validator.push(&line("ADDED", "b", 6)), Ok(()));
        assert!(matches!(validator.finish(5, &expected), Err(Violation::Torn { revision: 6, .. })));
    }
}
