// SPDX-License-Identifier: Apache-2.0
//! Log lines of a component: events of `tracing`, a line each, in the forms of upstream's loggers.
//!
//! ```text
//! json  {"level":"info","ts":"2023-07-27T20:00:01.234Z","msg":"Starting Controller","controller":"shoot"}
//! text  2023-07-27T20:00:01.234Z<TAB>INFO<TAB>Starting Controller<TAB>{"controller":"shoot"}
//! ```
//!
//! The instant is landscape time. In a simulation there is no subscriber, and events cost nothing.

use std::fmt::{self, Write as _};
use std::io;

use chrono::SecondsFormat;
use clock::Clock;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::{Context, Output, child};

/// `logFormat` of a component's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    #[default]
    Json,
    /// Text with tabs between the fields.
    Text,
}

impl Format {
    /// Parses the name in the configuration; empty: the default.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "" | "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

/// Parses `logLevel` of a component's configuration: `debug`, `info` or `error`; empty: the default, `info`.
pub fn level(name: &str) -> Option<Level> {
    match name {
        "debug" => Some(Level::DEBUG),
        "" | "info" => Some(Level::INFO),
        "error" => Some(Level::ERROR),
        _ => None,
    }
}

/// Prints the events of a component from now on: those of its tasks to its output, or those of the whole process to
/// standard error. Only the first call for the process has an effect.
pub fn start(context: &Context, clock: Clock, format: Format, level: Level) {
    match context.tasks.printing() {
        Some(printing) => printing.subscribe(subscriber(clock, format, level, context.output.clone())),
        None => start_process(clock, format, level),
    }
}

/// Prints the events of the process to standard error from now on. Only the first call has an effect.
pub fn start_process(clock: Clock, format: Format, level: Level) {
    // An earlier subscriber remains.
    let _ = tracing::dispatcher::set_global_default(subscriber(clock, format, level, Output::new(child::say)));
}

/// Creates a subscriber that prints events of a level and of more important levels, a line each.
pub fn subscriber(clock: Clock, format: Format, level: Level, output: Output) -> Dispatch {
    let subscriber = tracing_subscriber::fmt()
        .event_format(Lines { clock, format })
        .with_writer(move || Writing(output.clone()))
        .with_max_level(level)
        .finish();
    Dispatch::new(subscriber)
}

/// Writer to an output. One event is one write.
struct Writing(Output);

impl io::Write for Writing {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(lines);
        text.lines().for_each(|line| self.0.line(line));
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Lines {
    clock: Clock,
    format: Format,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let time = self.clock.now().to_rfc3339_opts(SecondsFormat::Millis, true);
        writer.write_str(&line(self.format, &time, *event.metadata().level(), &fields))
    }
}

/// The fields of an event, in their order.
#[derive(Debug, Default)]
struct Fields {
    message: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    fn push(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(message)) => self.message = message,
            (name, value) => self.others.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value.into());
    }
}

fn line(format: Format, time: &str, level: Level, fields: &Fields) -> String {
    let mut pairs = String::new();
    for (name, value) in &fields.others {
        // Writing to a string cannot fail.
        let _ = write!(pairs, ",{}:{value}", Value::from(*name));
    }
    match format {
        Format::Json => {
            let (level, message) = (level.as_str().to_lowercase(), Value::from(fields.message.as_str()));
            format!("{{\"level\":\"{level}\",\"ts\":\"{time}\",\"msg\":{message}{pairs}}}\n")
        }
        Format::Text => {
            let pairs = pairs.strip_prefix(',').map(|pairs| format!("\t{{{pairs}}}")).unwrap_or_default();
            format!("{time}\t{level}\t{}{pairs}\n", fields.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_upstream() {
        let fields = Fields {
            message: "Reconciler \"error\"".to_owned(),
            others: vec![("controller", "shoot".into()), ("worker count", 5.into())],
        };
        let time = "2023-07-27T20:00:01.234Z";
        assert_eq!(
            line(Format::Json, time, Level::ERROR, &fields),
            "{\"level\":\"error\",\"ts\":\"2023-07-27T20:00:01.234Z\",\"msg\":\"Reconciler \\\"error\\\"\",\
             \"controller\":\"shoot\",\"worker count\":5}\n"
        );
        assert_eq!(
            line(Format::Text, time, Level::INFO, &fields),
            "2023-07-27T20:00:01.234Z\tINFO\tReconciler \"error\"\t{\"controller\":\"shoot\",\"worker count\":5}\n"
        );
        assert_eq!(line(Format::Text, time, Level::INFO, &Fields::default()), "2023-07-27T20:00:01.234Z\tINFO\t\n");
    }

    #[test]
    fn levels_and_formats_have_names() {
        assert_eq!((level(""), level("debug"), level("trace")), (Some(Level::INFO), Some(Level::DEBUG), None));
        assert_eq!((Format::named(""), Format::named("yaml")), (Some(Format::Json), None));
    }
}
