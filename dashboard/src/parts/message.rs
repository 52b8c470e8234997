// SPDX-License-Identifier: Apache-2.0
//! Messages: what a request answered, and what there is to know.

use apimachinery::Status;
use maud::{Markup, html};

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It was done.
    Done,
    /// To be known.
    Info,
    /// Something will happen that somebody may not want.
    Warning,
    /// It was refused, or something is wrong.
    Error,
}

impl Severity {
    /// Its word.
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
    /// How grave it is.
    pub severity: Severity,
    /// What is to be said.
    pub text: String,
    /// More of it, a line each.
    pub lines: Vec<String>,
}

impl Message {
    /// One sentence.
    pub fn new(severity: Severity, text: impl Into<String>) -> Self {
        Self { severity, text: text.into(), lines: Vec::new() }
    }

    /// What the API refused, in its own words, with each cause.
    pub fn of_status(what: &str, status: &Status) -> Self {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let lines = causes.map(|cause| match cause.field.as_str() {
            "" => cause.message.clone(),
            field => format!("{field}: {}", cause.message),
        });
        Self { severity: Severity::Error, text: format!("{what}: {}", of(status)), lines: lines.collect() }
    }

    /// What a request failed with.
    pub fn of_error(what: &str, error: &controller::Error) -> Self {
        match error.status() {
            Some(status) => Self::of_status(what, status),
            None => Self::new(Severity::Error, format!("{what}: {error}")),
        }
    }

    /// As it is shown.
    pub fn markup(&self) -> Markup {
        html! {
            div class={"message m-" (self.severity.name())} {
                p { strong { (self.severity.name()) } " " (self.text) }
                @if !self.lines.is_empty() { ul { @for line in &self.lines { li { (line) } } } }
            }
        }
    }
}

/// `403 Forbidden: shoots.core.gardener.cloud "a" is forbidden: …`.
pub fn of(status: &Status) -> String {
    format!("{} {}: {}", status.code, status.reason, status.message)
}
