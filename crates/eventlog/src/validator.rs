// SPDX-License-Identifier: Apache-2.0
//! Requirements on every subscription: order, no gap, no duplicate, correct positions.

use std::sync::Arc;

use crate::entry::{Entry, Revision};
use crate::log::{EventLog, Message, ReadError};

/// Validates one subscription: push every message, then [`WatchValidator::finish`].
///
/// A subscription that was cut and resumed is one subscription: resume at [`WatchValidator::position`] and go on.
#[derive(Clone, Debug)]
pub struct WatchValidator {
    from: Revision,
    cluster: Option<Arc<str>>,
    seen: Vec<Arc<Entry>>,
    last: Revision,
    position: Revision,
}

/// Violation by a subscription.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An entry that was delivered before.
    #[error("entry {0} was delivered twice")]
    Duplicate(Revision),
    /// An entry after one with a higher revision.
    #[error("entry {entry} came after {last}")]
    Order {
        /// The late entry.
        entry: Revision,
        /// The entry before it.
        last: Revision,
    },
    /// An entry at or below the revision from which the subscription starts.
    #[error("entry {entry} is not after {from}, where the subscription starts")]
    BeforeStart {
        /// The entry.
        entry: Revision,
        /// Start of the subscription.
        from: Revision,
    },
    /// An entry that a position had already covered, or an outdated position: the position was ahead.
    #[error("{late} came after the position {position}")]
    PositionAhead {
        /// The late entry or position.
        late: Revision,
        /// The position.
        position: Revision,
    },
    /// A position behind an entry that was delivered.
    #[error("the position {position} is behind the entry {last}")]
    PositionBehind {
        /// The position.
        position: Revision,
        /// The entry before it.
        last: Revision,
    },
    /// An entry of another cluster.
    #[error("entry {0} is of a cluster that was not asked for")]
    Cluster(Revision),
    /// An entry that was never delivered, although a position covers it.
    #[error("entry {0} was not delivered")]
    Gap(Revision),
    /// An entry that the log does not have, or has with another content.
    #[error("entry {0} differs from the log's")]
    Content(Revision),
}

impl WatchValidator {
    /// Creates a validator of a subscription with these arguments.
    pub fn new(from: Revision, cluster: Option<&str>) -> Self {
        Self { from, cluster: cluster.map(Arc::from), seen: Vec::new(), last: from, position: from }
    }

    /// Validates a message.
    pub fn push(&mut self, message: &Message) -> Result<(), Violation> {
        match message {
            Message::Entry(entry) => {
                let revision = entry.revision;
                if self.seen.binary_search_by_key(&revision, |seen| seen.revision).is_ok() {
                    return Err(Violation::Duplicate(revision));
                }
                if revision <= self.from {
                    return Err(Violation::BeforeStart { entry: revision, from: self.from });
                }
                if revision < self.last {
                    return Err(Violation::Order { entry: revision, last: self.last });
                }
                if revision <= self.position {
                    return Err(Violation::PositionAhead { late: revision, position: self.position });
                }
                if self.cluster.as_ref().is_some_and(|cluster| *cluster != entry.key.cluster) {
                    return Err(Violation::Cluster(revision));
                }
                self.last = revision;
                self.seen.push(entry.clone());
            }
            Message::Position(position) => {
                if *position < self.position {
                    return Err(Violation::PositionAhead { late: *position, position: self.position });
                }
                if *position < self.last {
                    return Err(Violation::PositionBehind { position: *position, last: self.last });
                }
                self.position = *position;
            }
        }
        Ok(())
    }

    /// Returns the revision up to which the subscription is complete: the one to resume it at.
    pub fn position(&self) -> Revision {
        self.position.max(self.last)
    }

    /// Compares the entries up to the position with those of the log. Volatile entries may be missing there.
    ///
    /// # Errors
    /// The read's error; inside it the violation, if there is one.
    pub async fn finish(&self, log: &impl EventLog) -> Result<Result<(), Violation>, ReadError> {
        let held = log.read(self.from, self.position(), self.cluster.as_deref()).await?;
        let mut seen = self.seen.iter().peekable();
        for entry in held {
            while seen.peek().is_some_and(|seen| seen.volatile && seen.revision < entry.revision) {
                seen.next();
            }
            match seen.next() {
                Some(seen) if seen.revision == entry.revision => {
                    if seen.key != entry.key || seen.object != entry.object || seen.verb != entry.verb {
                        return Ok(Err(Violation::Content(seen.revision)));
                    }
                }
                Some(seen) if seen.revision < entry.revision => return Ok(Err(Violation::Content(seen.revision))),
                _ => return Ok(Err(Violation::Gap(entry.revision))),
            }
        }
        Ok(seen.find(|seen| !seen.volatile).map_or(Ok(()), |seen| Err(Violation::Content(seen.revision))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{block_on, put};
    use crate::memory::MemoryLog;

    /// Checks the validator's result for messages about a log with the entries 1 to 4: `e3` an entry, `p3` a
    /// position.
    #[track_caller]
    fn check(from: u64, messages: &str, expected: Result<(), Violation>) {
        let log = MemoryLog::new();
        let said = block_on(async {
            for name in ["a", "b", "c", "d"] {
                log.append(put(name, 1)).await.expect("created");
            }
            let entries = log.read(Revision(0), Revision(4), None).await.expect("retained");
            let mut validator = WatchValidator::new(Revision(from), None);
            for word in messages.split_whitespace() {
                let number: usize = word[1..].parse().expect("a number");
                validator.push(&match &word[..1] {
                    "e" => Message::Entry(entries[number - 1].clone()),
                    _ => Message::Position(Revision(number as u64)),
                })?;
            }
            validator.finish(&log).await.expect("retained")
        });
        assert_eq!(said, expected, "{messages}");
    }

    #[test]
    fn a_validator_reports_violations() {
        let r = Revision;
        check(0, "", Ok(()));
        check(0, "p0 e1 e2 p2 e3 p3 p4", Err(Violation::Gap(r(4))));
        check(0, "e1 p1 e2 p2 e3 e4 p4", Ok(()));
        check(2, "e3 e4 p4", Ok(()));
        check(2, "e2", Err(Violation::BeforeStart { entry: r(2), from: r(2) }));
        check(0, "e1 e1", Err(Violation::Duplicate(r(1))));
        check(0, "e2 e1", Err(Violation::Order { entry: r(1), last: r(2) }));
        check(0, "e1 p2 e2", Err(Violation::PositionAhead { late: r(2), position: r(2) }));
        check(0, "e1 e2 p1", Err(Violation::PositionBehind { position: r(1), last: r(2) }));
        check(0, "p2 p1", Err(Violation::PositionAhead { late: r(1), position: r(2) }));
        check(0, "e1 e3 p3", Err(Violation::Gap(r(2))));
    }
}
