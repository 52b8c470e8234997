// SPDX-License-Identifier: Apache-2.0
//! Interned texts that live as long as the process, for rows of a catalogue. Each text is kept once.

use std::collections::BTreeSet;

use parking_lot::Mutex;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns a copy of the text that lives as long as the process.
pub fn intern(text: &str) -> &'static str {
    let mut texts = TEXTS.lock();
    if let Some(known) = texts.get(text) {
        return known;
    }
    let kept: &'static str = text.to_owned().leak();
    texts.insert(kept);
    kept
}
