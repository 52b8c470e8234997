// SPDX-License-Identifier: Apache-2.0
//! Layout of an output line: instant, subject, text with a hanging indent.
//!
//! ```text
//!   07-28 09:07:27  KubernetesVersionMaintenance   Control Plane: Updated Kubernetes version …
//! ^2 ^11 + 1 + 8    ^19                            ^45, or two blanks after a longer subject
//! ```

use chrono::{DateTime, Utc};

/// Column of the text, unless the subject is too long.
const TEXT: usize = 46;
/// Maximum length of a line.
const WIDTH: usize = 120;

/// Formats a line of the output, wrapped.
pub(crate) fn line(time: DateTime<Utc>, subject: &str, text: &str) -> String {
    let mut head = format!("  {}  {subject}", time.format("%m-%d %H:%M:%S"));
    let length = head.chars().count();
    head.push_str(&" ".repeat(TEXT.saturating_sub(length).max(2)));
    let indent = TEXT.max(length + 2).min(TEXT + 8);
    wrap(&head, text, indent)
}

/// Formats a continuation of a line, without instant and subject.
pub(crate) fn below(text: &str) -> String {
    wrap(&" ".repeat(TEXT), text, TEXT)
}

/// Formats an indented text, which explains the line above.
pub(crate) fn quoted(text: &str) -> String {
    wrap("      ", text, 6)
}

/// Formats a line of a summary: its subject, then the text with a hanging indent.
pub(crate) fn headed(head: &str, text: &str) -> String {
    wrap(&format!("  {head:<14}"), text, 16)
}

fn wrap(head: &str, text: &str, indent: usize) -> String {
    wrap_at(WIDTH, head, text, indent)
}

/// Formats a text after a head, in lines of at most `longest` characters with a hanging indent.
pub(crate) fn wrap_at(longest: usize, head: &str, text: &str, indent: usize) -> String {
    let mut out = head.to_owned();
    let mut length = head.chars().count();
    for (index, word) in text.split_whitespace().enumerate() {
        let width = word.chars().count();
        if index > 0 {
            if length + 1 + width > longest {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                length = indent;
            } else {
                out.push(' ');
                length += 1;
            }
        }
        out.push_str(word);
        length += width;
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("an instant")
    }

    #[test]
    fn a_long_text_hangs_below_its_column() {
        let text = "Control Plane: Updated Kubernetes version from \"1.26.4\" to \"1.27.1\". Reason: Kubernetes version \
                    expired - force update required.";
        assert_eq!(
            line(at("2023-07-28T09:07:27Z"), "KubernetesVersionMaintenance", text),
            "  07-28 09:07:27  KubernetesVersionMaintenance  Control Plane: Updated Kubernetes version from \"1.26.4\" to \
             \"1.27.1\".\n                                                Reason: Kubernetes version expired - force update \
             required."
        );
    }

    #[test]
    fn a_short_subject_is_followed_by_the_column() {
        assert_eq!(
            line(at("2023-07-27T20:00:01Z"), "SchedulingSuccessful", "Scheduled to seed 'local'"),
            "  07-27 20:00:01  SchedulingSuccessful        Scheduled to seed 'local'"
        );
    }
}
