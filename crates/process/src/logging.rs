// SPDX-License-Identifier: Apache-2.0
//! What a process says of its work: events of `tracing`, a line each on standard error, in the forms of upstream's loggers.
//!
//! ```text
//! json  {"level":"info","ts":"2023-07-27T20:00:01.234Z","msg":"Starting Controller","controller":"shoot"}
//! text  2023-07-27T20:00:01.234Z<TAB>INFO<TAB>Starting Controller<TAB>{"controller":"shoot"}
//! ```
//!
//! The instant is landscape time. In a simulation nobody listens, and events cost nothing.

use std::fmt::{self, Write as _};
use std::io;

use chrono::SecondsFormat;
use clock::Clock;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// `logFormat` of a component's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// An object a line.
    #[default]
    Json,
    /// For people.
    Text,
}

impl Format {
    /// By its name in the configuration; empty: the default.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "" | "json" => Some(Self::Json),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

/// `logLevel` of a component's configuration: `debug`, `info` or `error`; empty: the default, `info`.
pub fn level(name: &str) -> Option<Level> {
    match name {
        "debug" => Some(Level::DEBUG),
        "" | "info" => Some(Level::INFO),
        "error" => Some(Level::ERROR),
        _ => None,
    }
}

/// Prints events from now on; once in a process.
pub fn start(clock: Clock, format: Format, level: Level) {
    let subscriber = tracing_subscriber::fmt()
        .event_format(Lines { clock, format })
        .with_writer(|| StandardError)
        .with_max_level(level)
        .finish();
    // Somebody who listens already goes on doing so.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Standard error. Who listened may have gone: that is no reason to panic, as it is for who logs that it cannot log.
struct StandardError;

impl io::Write for StandardError {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = io::stderr().lock().write_all(line);
        Ok(line.len())
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
    fn levels_and_formats_are_known_by_name() {
        assert_eq!((level(""), level("debug"), level("trace")), (Some(Level::INFO), Some(Level::DEBUG), None));
        assert_eq!((Format::named(""), Format::named("yaml")), (Some(Format::Json), None));
    }
}
