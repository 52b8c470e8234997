// SPDX-License-Identifier: Apache-2.0
//! Texts that many rows share, each stored once.

use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashSet;

/// A text that is stored once for all rows.
pub type Text = Arc<str>;

/// Texts of a condition: a few combinations are shared by most conditions of Shoots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Words {
    /// Type of the condition: `APIServerAvailable`.
    pub name: Text,
    /// `True`, `False`, `Unknown`, `Progressing`.
    pub status: Text,
    /// Reason, one word in camel case.
    pub reason: Text,
    /// Message, a sentence.
    pub message: Text,
}

/// Texts that many rows share.
///
/// **Invariant.** Unused texts are removed when their number has doubled since the last removal.
#[derive(Debug, Default)]
pub struct Texts {
    known: FxHashSet<Text>,
    looked: usize,
    words: FxHashSet<Arc<Words>>,
    looked_words: usize,
    bytes: FxHashSet<Bytes>,
    looked_bytes: usize,
}

/// Number of texts below which unused ones are not removed.
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

    /// Returns the texts of a condition.
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

    /// Returns a copy of bytes: a slice of a log entry would keep the whole entry in memory.
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
