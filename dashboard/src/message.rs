// SPDX-License-Identifier: Apache-2.0
//! Messages: answers to requests, and other information.

use apimachinery::Status;
use maud::{Markup, html};

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The request succeeded.
    Done,
    /// Information.
    Info,
    /// A user may want to prevent an imminent change.
    Warning,
    /// The request was refused, or something is wrong.
    Error,
}

impl Severity {
    /// Returns the word that is shown for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Severity of the message.
    pub severity: Severity,
    /// First sentence of the message.
    pub text: String,
    /// Further lines.
    pub lines: Vec<String>,
}

impl Message {
    /// Creates a message of one sentence.
    pub fn new(severity: Severity, text: impl Into<String>) -> Self {
        Self { severity, text: text.into(), lines: Vec::new() }
    }

    /// Creates a message about a refusal of the API, with its text and each cause.
    pub fn of_status(what: &str, status: &Status) -> Self {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let lines = causes.map(|cause| match cause.field.as_str() {
            "" => cause.message.clone(),
            field => format!("{field}: {}", cause.message),
        });
        Self { severity: Severity::Error, text: format!("{what}: {}", of(status)), lines: lines.collect() }
    }

    /// Creates a message about a failed request.
    pub fn of_error(what: &str, error: &controller::Error) -> Self {
        match error.status() {
            Some(status) => Self::of_status(what, status),
            None => Self::new(Severity::Error, format!("{what}: {error}")),
        }
    }

    /// Draws the message.
    pub fn markup(&self) -> Markup {
        html! {
            div class={"message m-" (self.severity.name())} {
                p { strong { (self.severity.name()) } " " (self.text) }
                @if !self.lines.is_empty() { ul { @for line in &self.lines { li { (line) } } } }
            }
        }
    }
}

/// Formats `403 Forbidden: shoots.core.gardener.cloud "a" is forbidden: …`.
pub fn of(status: &Status) -> String {
    format!("{} {}: {}", status.code, status.reason, status.message)
}
