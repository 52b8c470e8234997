// SPDX-License-Identifier: Apache-2.0
//! Check of the language: the kinds of riddles that make comments, messages, names and documents hard to read.
//!
//! Refused are
//!
//! - a doc comment that begins with a question word, a preposition or a pronoun ([`OPENINGS`]): it names no noun;
//! - rare or personal words ([`RARE`], [`PHRASES`]) in comments, in string literals with white space, and in documents;
//! - `who` without a noun before it, in the same places;
//! - names of functions that are clauses, and of types that are participles ([`PARTICIPLES`]).
//!
//! Code in backticks and in blocks is exempt, and so are the places in [`EXCEPTIONS`].

use super::Findings;
use super::vocabulary::literals;

/// First words of a doc comment that name no noun.
const OPENINGS: [&str; 26] = [
    "What", "Whatever", "Whether", "How", "Who", "Whom", "Whose", "Whoever", "Where", "When", "Why", "Which", "As",
    "Of", "Than", "By", "Before", "Until", "Below", "Above", "Between", "Through", "Across", "They", "Those", "These",
];

const RARE: [&str; 11] =
    ["anew", "lest", "thereby", "hence", "nought", "nobody", "somebody", "everybody", "whoever", "whom", "beside"];

const PHRASES: [&str; 4] = ["for ever", "no one", "but for", "last words"];

/// Words after which `who` has no noun to refer to.
const BEFORE_FREE_WHO: [&str; 20] = [
    "of", "to", "by", "for", "from", "with", "and", "or", "than", "that", "is", "are", "on", "tell", "tells", "say",
    "says", "knows", "ask", "asks",
];

const PARTICIPLES: [&str; 10] =
    ["Told", "Said", "Given", "Asked", "Wanted", "Known", "Heard", "Seen", "Found", "Taken"];

/// First words of names of functions that are clauses.
const QUESTIONS: [&str; 6] = ["who", "whom", "whose", "what", "whether", "how"];

/// Files, and texts that they may contain.
const EXCEPTIONS: [(&str, &str); 2] = [
    // Another key would draw other kills.
    ("e2e/tests/all/kills.rs", "who is killed"),
    // Refused texts are its words, and its tests.
    ("xtask/src/tidy/language.rs", ""),
];

fn report(name: &str, line: usize, text: &str, what: &str, findings: &mut Findings) {
    if !EXCEPTIONS.iter().any(|(file, part)| *file == name && text.contains(part)) {
        findings.error(format!("{name}:{line}: {what}: {}", text.trim()));
    }
}

/// Checks a source file.
pub(super) fn check_source(name: &str, source: &str, findings: &mut Findings) {
    let (mut doc, mut is_code) = ("", false);
    for (number, line) in (1..).zip(source.lines()) {
        let code = line.trim_start();
        let marker = ["///", "//!", "//"].into_iter().find(|marker| code.starts_with(marker)).unwrap_or_default();
        if marker.is_empty() {
            (doc, is_code) = ("", false);
            if let Some(name_of) = declared(code, "fn ").filter(|name| is_clause(name)) {
                report(name, number, name_of, "a function is named by its claim, not by a clause", findings);
            }
            let type_ = ["struct ", "enum ", "trait ", "type "].into_iter().find_map(|keyword| declared(code, keyword));
            if let Some(type_) = type_.filter(|type_| PARTICIPLES.contains(type_)) {
                report(name, number, type_, "a type is a noun", findings);
            }
            continue;
        }
        let text = code[marker.len()..].trim_start();
        is_code ^= text.contains("```");
        if !is_code {
            if marker != "//" && doc != marker && OPENINGS.contains(&first_word(text)) {
                report(name, number, text, "a doc comment begins with a noun phrase or a verb", findings);
            }
            check_text(name, number, text, findings);
        }
        doc = marker;
    }
    for (number, literal) in literals(source) {
        if literal.contains(' ') && !literal.contains('\n') {
            check_text(name, number, literal, findings);
        }
    }
}

/// Checks a document in Markdown.
pub(super) fn check_document(name: &str, document: &str, findings: &mut Findings) {
    let mut is_code = false;
    for (number, line) in (1..).zip(document.lines()) {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code {
            check_text(name, number, line, findings);
        }
    }
}

fn check_text(name: &str, number: usize, text: &str, findings: &mut Findings) {
    let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("x").to_lowercase();
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '\'');
    let words = prose.split(|character: char| !is_part(character)).filter(|word| !word.is_empty());
    let rare = words.clone().find(|word| RARE.contains(word));
    let phrase = PHRASES.into_iter().find(|phrase| has_phrase(&prose, phrase));
    if let Some(word) = rare.or(phrase) {
        report(name, number, text, &format!("`{word}` is rare or personal"), findings);
    }
    if has_free_who(&prose) {
        report(name, number, text, "`who` has no noun before it", findings);
    }
}

/// True if a text contains a phrase as whole words.
fn has_phrase(prose: &str, phrase: &str) -> bool {
    let is_end = |text: Option<char>| text.is_none_or(|character| !character.is_alphanumeric());
    prose
        .match_indices(phrase)
        .any(|(at, _)| is_end(prose[..at].chars().next_back()) && is_end(prose[at + phrase.len()..].chars().next()))
}

/// True if `who` begins a text or a clause, or follows a word that is no noun.
fn has_free_who(prose: &str) -> bool {
    prose.match_indices("who").filter(|_| has_phrase(prose, "who")).any(|(at, _)| {
        let (before, after) = (&prose[..at], &prose[at + 3..]);
        let is_word = !before
            .ends_with(|character: char| character.is_alphanumeric() || matches!(character, '_' | '-'))
            && !after
                .starts_with(|character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '\''));
        let before = before.trim_end();
        let last = before.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
        let begins = before.is_empty() || before.ends_with(['.', ';', ':', ',', '(', '—', '–']);
        is_word && (begins || BEFORE_FREE_WHO.contains(&last))
    })
}

/// First word of a text.
fn first_word(text: &str) -> &str {
    text.split(|character: char| !character.is_alphanumeric()).next().unwrap_or_default()
}

/// Name that a line of code declares with a keyword.
fn declared<'a>(code: &'a str, keyword: &str) -> Option<&'a str> {
    let mut rest = code;
    loop {
        if let Some(name) = rest.strip_prefix(keyword) {
            let end = name.find(|character: char| !character.is_alphanumeric() && character != '_');
            return Some(&name[..end.unwrap_or(name.len())]);
        }
        let modifier = ["pub ", "pub(crate) ", "pub(super) ", "async ", "const ", "unsafe "];
        rest = modifier.into_iter().find_map(|modifier| rest.strip_prefix(modifier))?;
    }
}

/// True if a function's name begins with a question word, or has a rare word or `who` in it.
fn is_clause(name: &str) -> bool {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    let is_question = QUESTIONS.contains(&first) && name.contains('_');
    // `beside` alone is the name of a public function of `domain`.
    let is_rare = RARE.contains(&first) && name != "beside";
    is_question || is_rare || words.any(|word| word == "who" || RARE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(source: &str) -> usize {
        let mut findings = Findings::default();
        check_source("a.rs", source, &mut findings);
        findings.errors.len()
    }

    #[test]
    fn riddles_are_refused() {
        for (source, expected) in [
            ("/// What a component is started with.", 1),
            ("/// Start-up parameters of a component.", 0),
            // Only the beginning of a doc comment is one.
            ("/// Time of the answer.\n/// When there is none, zero.", 0),
            ("// What follows is sorted.", 0),
            ("/// ```text\n/// What\n/// ```", 0),
            ("/// A user who asks.", 0),
            ("/// Name of who asks.", 1),
            ("// Who asks gets an answer.", 1),
            ("// Done: who was dropped, is told.", 1),
            ("// The whole `who` is code.", 0),
            ("// It is made anew.", 1),
            ("let text = \"nobody answers\";", 1),
            ("let name = \"nobody\";", 0),
            ("// Kept for ever.", 1),
            ("fn who_has_left_is_gone() {}", 1),
            ("pub(crate) async fn what_if() {}", 1),
            ("fn what() {}", 0),
            ("fn nobody_listens() {}", 1),
            ("/// Until the next change.", 1),
            ("fn a_member_has_left() {}", 0),
            ("pub struct Told;", 1),
            ("pub struct LineCounts;", 0),
        ] {
            assert_eq!(errors(source), expected, "{source}");
        }
    }

    #[test]
    fn documents_are_read_without_their_code() {
        let mut findings = Findings::default();
        check_document("a.md", "Text `beside` text.\n```\nbeside\n```\nIt lies beside it.", &mut findings);
        assert_eq!(findings.errors.len(), 1, "{:?}", findings.errors);
    }
}
