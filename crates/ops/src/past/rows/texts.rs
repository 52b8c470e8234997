// SPDX-License-Identifier: Apache-2.0
//! Texts that many rows have, each kept once.

use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashSet;

/// A text that is kept once, however many rows have it.
pub type Text = Arc<str>;

/// What a condition says in words: a few sentences that most Shoots' conditions have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    /// Type of the condition: `APIServerAvailable`.
    pub name: Text,
    /// `True`, `False`, `Unknown`, `Progressing`.
    pub status: Text,
    /// In one word.
    pub reason: Text,
    /// In a sentence.
    pub message: Text,
}

/// Texts that many rows have.
///
/// **Invariant.** Texts that no row has any more go when there are twice as many as after the last look.
#[derive(Debug, Default)]
pub struct Texts {
    known: FxHashSet<Text>,
    looked: usize,
    words: FxHashSet<Arc<Words>>,
    looked_words: usize,
    bytes: FxHashSet<Bytes>,
    looked_bytes: usize,
}

/// Texts that are kept before somebody looks whether they are used.
const FEW: usize = 1024;

impl Texts {
    pub(super) fn of(&mut self, text: &str) -> Text {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        if self.known.len() >= 2 * self.looked.max(FEW) {
            self.known.retain(|known| Arc::strong_count(known) > 1);
            self.looked = self.known.len();
        }
        let text: Text = text.into();
        self.known.insert(text.clone());
        text
    }

    /// The words of a condition.
    pub(super) fn words(&mut self, [name, status, reason, message]: [&str; 4]) -> Arc<Words> {
        let words =
            Words { name: self.of(name), status: self.of(status), reason: self.of(reason), message: self.of(message) };
        if let Some(known) = self.words.get(&words) {
            return known.clone();
        }
        if self.words.len() >= 2 * self.looked_words.max(FEW) {
            self.words.retain(|known| Arc::strong_count(known) > 1);
            self.looked_words = self.words.len();
        }
        let words = Arc::new(words);
        self.words.insert(words.clone());
        words
    }

    /// Bytes in memory of their own: a part of an entry of the log would keep all of it.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Bytes {
        if let Some(known) = self.bytes.get(bytes) {
            return known.clone();
        }
        if self.bytes.len() >= 2 * self.looked_bytes.max(FEW) {
            self.bytes.retain(|known| !known.is_unique());
            self.looked_bytes = self.bytes.len();
        }
        let bytes = Bytes::copy_from_slice(bytes);
        self.bytes.insert(bytes.clone());
        bytes
    }

    pub(super) fn all<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) -> Arc<[Text]> {
        texts.into_iter().map(|text| self.of(text)).collect()
    }

    pub(super) fn pairs<'a>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Arc<[(Text, Text)]> {
        pairs.into_iter().map(|(key, value)| (self.of(key), self.of(value))).collect()
    }
}
