// SPDX-License-Identifier: Apache-2.0
//! The one door to the terminal: data to standard output, everything else to standard error.

use std::io::{Stderr, Stdout, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::failure::Failure;

/// Form of an answer: one record, or a stream of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Lines for people
    #[default]
    Text,
    /// JSON, each record on a line of its own; of no record no line
    Json,
    /// YAML, each record a document of its own; of no record none
    Yaml,
}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    data: Stdout,
    notes: Stderr,
}

impl Output {
    /// The process's own.
    pub(crate) fn standard() -> Self {
        Self { data: std::io::stdout(), notes: std::io::stderr() }
    }

    /// Columns of the terminal that shows the data; None: no terminal does.
    pub(crate) fn columns(&self) -> Option<usize> {
        terminal_size::terminal_size_of(&self.data).map(|(width, _)| usize::from(width.0))
    }

    /// A line of data.
    ///
    /// # Errors
    /// [`Failure::OutputClosed`] when the reader has closed the output.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        writeln!(self.data, "{line}").map_err(|_| Failure::OutputClosed)
    }

    /// A record of an answer in JSON or YAML.
    ///
    /// # Errors
    /// As for [`Output::line`].
    pub(crate) fn record(&mut self, form: Form, record: &impl Serialize) -> Result<(), Failure> {
        let failed = |error: serde_json::Error| Failure::Failed(error.to_string());
        if form == Form::Yaml {
            let record = serde_json::to_value(record).map_err(failed)?;
            let text = yaml::to_string(&record).map_err(|error| Failure::Failed(error.to_string()))?;
            return self.line(&format!("---\n{}", text.trim_end()));
        }
        self.line(&serde_json::to_string(record).map_err(failed)?)
    }

    /// A line that is no data.
    pub(crate) fn note(&mut self, line: &str) {
        // Without a standard error the line goes nowhere.
        let _ = writeln!(self.notes, "{line}");
    }

    /// Why a command failed, and what to do.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        if matches!(failure, Failure::OutputClosed | Failure::ExitCode(_)) {
            return;
        }
        self.note(&format!("error: {failure}"));
        if !failure.hint().is_empty() {
            self.note("");
            self.note(&format!("hint: {}", failure.hint()));
        }
    }
}
