// SPDX-License-Identifier: Apache-2.0
//! The only access to the terminal: data to standard output, everything else to standard error.

use std::io::{Stderr, Stdout, Write};
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;
use component::signals::end_signal;
use parking_lot::Mutex;
use serde::Serialize;

use crate::failure::Failure;
use crate::progress::{Look, Medium, Progress, cut};

/// Columns after a line for the echo of Ctrl-C.
const ECHO: usize = 3;

/// Standard error of the process, shared by all outputs.
static NOTES: OnceLock<Arc<Mutex<Notes<Stderr>>>> = OnceLock::new();

/// Prints a line that is not data, for code without an [`Output`]. Removes a line of progress first.
pub(crate) fn note(line: &str) {
    notes().lock().line(line);
}

fn notes() -> &'static Arc<Mutex<Notes<Stderr>>> {
    NOTES.get_or_init(|| Arc::new(Mutex::new(Notes::new(std::io::stderr()))))
}

/// Form of an answer: one record, or a list of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Lines for people
    #[default]
    Text,
    /// JSON, one record per line; empty without records
    Json,
    /// YAML: the record, or a list if there may be several; `[]` without records
    Yaml,
}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    data: Stdout,
    notes: Arc<Mutex<Notes<Stderr>>>,
    /// True if an item of a list was printed.
    has_items: bool,
}

/// Standard error, whose last line on a terminal may be one of progress.
#[derive(Debug)]
struct Notes<W> {
    writer: W,
    /// Columns of the progress line; 0: there is none.
    drawn: usize,
    /// The last look that was displayed.
    shown: Option<Look>,
}

impl<W: Write> Notes<W> {
    fn new(writer: W) -> Self {
        Self { writer, drawn: 0, shown: None }
    }

    /// Shows progress if it is due.
    fn show(&mut self, progress: &Progress, medium: Medium) {
        if !progress.is_due(medium, self.shown) {
            return;
        }
        self.shown = Some(progress.last());
        // Errors are ignored: without a standard error there is no reader.
        let _ = match medium {
            Medium::Lines => writeln!(self.writer, "progress: {}", progress.text()),
            Medium::Terminal(columns) => {
                let line = cut(&progress.text(), columns.saturating_sub(ECHO));
                let (before, width) = (self.drawn, line.chars().count());
                self.drawn = width;
                // The rest of a longer line is overwritten; the cursor stays after the text.
                let rest = before.saturating_sub(width);
                write!(self.writer, "\r{line}{:rest$}{}", "", "\u{8}".repeat(rest)).and_then(|()| self.writer.flush())
            }
        };
    }

    /// Removes the progress line from a terminal.
    fn erase(&mut self) {
        if self.drawn > 0 {
            self.clear();
        }
    }

    /// Clears the last line of a terminal, with the echo of Ctrl-C.
    fn clear(&mut self) {
        let columns = self.drawn + ECHO - 1;
        let _ = write!(self.writer, "\r{:columns$}\r", "").and_then(|()| self.writer.flush());
        self.drawn = 0;
    }

    fn line(&mut self, line: &str) {
        self.erase();
        let _ = writeln!(self.writer, "{line}");
    }
}

impl Output {
    /// Returns the output of the process.
    pub(crate) fn standard() -> Self {
        Self { data: std::io::stdout(), notes: notes().clone(), has_items: false }
    }

    /// Width of the terminal that shows the data, in columns; None: it is not a terminal.
    pub(crate) fn columns(&self) -> Option<usize> {
        terminal_size::terminal_size_of(&self.data).map(|(width, _)| usize::from(width.0))
    }

    /// Shows the progress of a command on standard error, if it is due there.
    pub(crate) fn progress(&mut self, progress: &Progress) {
        self.notes.lock().show(progress, medium());
    }

    /// Removes the line of progress, at the end of a command.
    pub(crate) fn end_progress(&mut self) {
        self.notes.lock().erase();
    }

    /// Clears the echo of Ctrl-C on a terminal, before the output of a command that was interrupted.
    pub(crate) fn clear_line(&mut self) {
        if medium() != Medium::Lines {
            self.notes.lock().clear();
        }
    }

    /// Ends the process at a signal, with exit code 130 and a message; for commands that compute on the main thread. Without a
    /// terminal, a signal ends the process as usual.
    pub(crate) fn end_at_signal(&self, message: &'static str) {
        if medium() == Medium::Lines {
            return;
        }
        let notes = self.notes.clone();
        let wait = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(end_signal());
            let failure = Failure::Interrupted(message.to_owned());
            let mut notes = notes.lock();
            notes.clear();
            notes.line(&format!("error: {failure}"));
            #[expect(clippy::disallowed_methods, reason = "the main thread computes and returns too late")]
            std::process::exit(i32::from(failure.exit_code()));
        };
        // Without the thread a signal ends the process as well.
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(wait);
    }

    /// Prints a line of data.
    ///
    /// # Errors
    /// [`Failure::OutputClosed`] if the reader has closed the output.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.end_progress();
        writeln!(self.data, "{line}").map_err(|_| Failure::OutputClosed)
    }

    /// Prints the only record of an answer in JSON or YAML.
    ///
    /// # Errors
    /// Those of [`Output::line`].
    pub(crate) fn record(&mut self, form: Form, record: &impl Serialize) -> Result<(), Failure> {
        self.line(&text(form, record)?)
    }

    /// Prints a record of an answer that may have several, in JSON or YAML; [`Output::end_list`] ends the answer.
    ///
    /// # Errors
    /// Those of [`Output::line`].
    pub(crate) fn item(&mut self, form: Form, record: &impl Serialize) -> Result<(), Failure> {
        self.has_items = true;
        self.line(&item_text(form, record)?)
    }

    /// Ends an answer of [items](Output::item): a list without items is printed as well.
    ///
    /// # Errors
    /// Those of [`Output::line`].
    pub(crate) fn end_list(&mut self, form: Form) -> Result<(), Failure> {
        if form == Form::Yaml && !self.has_items { self.line("[]") } else { Ok(()) }
    }

    /// Prints a line that is not data.
    pub(crate) fn note(&mut self, line: &str) {
        self.notes.lock().line(line);
    }

    /// Prints the reason for which a command failed, and the remedy.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        if matches!(failure, Failure::OutputClosed | Failure::ExitCode(_)) {
            return;
        }
        if matches!(failure, Failure::Interrupted(_)) {
            self.clear_line();
        }
        self.note(&format!("error: {failure}"));
        if !failure.hint().is_empty() {
            self.note("");
            self.note(&format!("hint: {}", failure.hint()));
        }
    }
}

/// Formats a record in JSON or YAML.
fn text(form: Form, record: &impl Serialize) -> Result<String, Failure> {
    let failed = |error: serde_json::Error| Failure::Failed(error.to_string());
    if form != Form::Yaml {
        return serde_json::to_string(record).map_err(failed);
    }
    let record = serde_json::to_value(record).map_err(failed)?;
    let text = yaml::to_string(&record).map_err(|error| Failure::Failed(error.to_string()))?;
    // Further line breaks may belong to a text.
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Formats a record as an item of a list in YAML, or in JSON.
fn item_text(form: Form, record: &impl Serialize) -> Result<String, Failure> {
    let text = text(form, record)?;
    // Works for mappings in block style and in the style of JSON, which the writer of YAML may choose.
    Ok(if form == Form::Yaml { format!("- {}", text.replace('\n', "\n  ")) } else { text })
}

/// Place where progress is shown.
fn medium() -> Medium {
    match terminal_size::terminal_size_of(std::io::stderr()) {
        // A terminal that does not report its size has the default width.
        Some((width, _)) if width.0 == 0 => Medium::Terminal(80),
        Some((width, _)) => Medium::Terminal(usize::from(width.0)),
        None => Medium::Lines,
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};

    use crate::progress::Goal;

    use super::*;

    /// Lines of a terminal of 40 columns after some bytes.
    fn screen(bytes: &[u8]) -> Vec<String> {
        let mut lines: Vec<Vec<char>> = vec![Vec::new()];
        let mut column = 0;
        for letter in String::from_utf8_lossy(bytes).chars() {
            let line = lines.last_mut().expect("there is one");
            match letter {
                '\r' => column = 0,
                '\u{8}' => column -= 1,
                '\n' => {
                    lines.push(Vec::new());
                    column = 0;
                }
                letter => {
                    line.resize(line.len().max(column + 1), ' ');
                    line[column] = letter;
                    column += 1;
                    assert!(column < 40, "the line would be broken");
                }
            }
        }
        lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
    }

    fn progress() -> Progress {
        let goal = Goal::Time(DateTime::UNIX_EPOCH + TimeDelta::hours(48));
        Progress::of_time(goal, DateTime::UNIX_EPOCH, DateTime::UNIX_EPOCH)
    }

    #[test]
    fn a_terminal_has_one_line_of_progress_which_makes_room() {
        let (mut notes, medium) = (Notes::new(Vec::new()), Medium::Terminal(40));
        let mut progress = progress();
        let mut at = |notes: &mut Notes<Vec<u8>>, hours: i64, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let now = DateTime::UNIX_EPOCH + TimeDelta::hours(hours);
            progress.at(now, DateTime::UNIX_EPOCH + TimeDelta::seconds(hours), names);
            notes.show(&progress, medium);
        };
        at(&mut notes, 0, &[]);
        assert_eq!(screen(&notes.writer), [""], "a short command shows nothing");
        at(&mut notes, 2, &["a participant"]);
        assert_eq!(screen(&notes.writer), ["1970-01-01T02:00:00Z of 1970-01-03T0…"]);
        // The echo of Ctrl-C.
        notes.writer.extend(b"^C");
        notes.line("a note");
        assert_eq!(screen(&notes.writer), ["a note", ""]);
        at(&mut notes, 4, &[]);
        notes.erase();
        assert_eq!(screen(&notes.writer), ["a note", ""]);
        // Ctrl-C without a progress line.
        notes.writer.extend(b"^C");
        notes.clear();
        assert_eq!(screen(&notes.writer), ["a note", ""]);
        let length = notes.writer.len();
        notes.erase();
        assert_eq!(notes.writer.len(), length, "there is nothing to remove");
    }

    #[test]
    fn items_in_yaml_are_a_list_one_after_the_other() {
        use serde_json::{Value, json};

        let block = json!({ "a": "- x", "b": { "c": [1, 2], "d": "1\n\n2\n", "e": { "f": "3\n" } } });
        let records = [block.clone(), json!({}), json!({ "a": "b\u{2028}c", "d": [{ "e": 1 }] }), block];
        let items = records.iter().map(|record| item_text(Form::Yaml, record).expect("YAML"));
        let items = items.collect::<Vec<_>>().join("\n");
        assert!(items.starts_with("- a:"), "{items}");
        assert_eq!(yaml::from_str::<Value>(&items).expect("YAML"), json!(records));
        assert_eq!(item_text(Form::Json, &records[1]).as_deref(), Ok("{}"));
        assert_eq!(text(Form::Yaml, &json!({ "a": 1 })).as_deref(), Ok("a: 1"));
    }

    #[test]
    fn elsewhere_progress_is_a_line_per_day() {
        let mut notes = Notes::new(Vec::new());
        let mut progress = progress();
        for hours in 0..=48 {
            let at = DateTime::UNIX_EPOCH + TimeDelta::hours(hours);
            progress.at(at, DateTime::UNIX_EPOCH + TimeDelta::seconds(hours), Vec::new());
            notes.show(&progress, Medium::Lines);
        }
        let text = String::from_utf8(notes.writer).expect("text");
        let expected = [
            "progress: 1970-01-02T00:00:00Z of 1970-01-03T00:00:00Z · 50 % · about 24 s left",
            "progress: 1970-01-03T00:00:00Z of 1970-01-03T00:00:00Z · 100 %",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }
}
