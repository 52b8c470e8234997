// SPDX-License-Identifier: Apache-2.0
//! Creation parameters of a landscape: flags of `up`, or lines of a file (`up --config FILE`); flags take precedence.
//!
//! ```yaml
//! gardener-version: v1.120.0
//! profile: upstream
//! seeds: 2
//! start-time: 2023-07-27T20:00:00Z
//! preset: demo
//! ```
//!
//! The keys of the file are the names of the flags, and each line is parsed like its flag: both refuse the same values.
//! Manifests are no settings: they are not part of the file, and `-f` may be repeated with other files at any time.

use std::error::Error as _;
use std::net::IpAddr;
use std::path::Path;

use chrono::TimeDelta;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches};
use host::time::timekeeper::Mode;
use ops::instant::{When, duration};
use serde_json::Value;

use crate::failure::Failure;
use crate::live::clock;
use crate::live::retention::Retention;

// No doc comment: clap would show it instead of that of the command.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(super) struct Settings {
    /// Content of a new landscape: nothing, or CloudProfile, Project and credentials of the demo, which fit its release;
    /// Shoots are then reconciled in their maintenance windows only
    /// [default: empty]
    #[arg(long, value_parser = ["empty", "demo"])]
    pub(super) preset: Option<String>,
    /// Emulated version of Gardener: `newest`, or a version as v1.149.0 [default: v1.120.0]
    #[arg(long, value_name = "V", value_parser = gardener_version)]
    pub(super) gardener_version: Option<String>,
    /// Kubernetes version of the clusters runtime, garden and of Seeds: one that the emulated Gardener supports. The
    /// cluster of a Shoot has the Shoot's [default: 1.31.1, or the oldest that is supported]
    #[arg(long, value_name = "V")]
    pub(super) kubernetes_version: Option<String>,
    /// Number of Seeds [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) seeds: Option<u32>,
    /// Number of gardener-apiservers [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub(super) apiservers: Option<u32>,
    /// Let gardener-operator create gardener-apiserver and the rest of the control plane from an object Garden, and update
    /// them with itself; otherwise they are Deployments without an owner [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) operator: Option<bool>,
    /// Treatment of a component whose version must not run together with the others: `enforce`, it does not start, or
    /// waits; `warn`, an Event says so; `off`, nothing is checked. A landscape that is stopped may be given another one
    /// [default: enforce; warn with profile upstream]
    #[arg(long, value_name = "MODE", value_parser = ["enforce", "warn", "off"])]
    pub(super) skew_enforcement: Option<String>,
    /// Let components go back to older versions, with a Warning Event each time, for an exercise. A landscape that is
    /// stopped may be given another value [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) allow_downgrade: Option<bool>,
    /// Permissions of users: `rbac`, those of the roles in each cluster; `always-allow`, every authenticated user may do
    /// everything. A landscape that is stopped may be given another one [default: rbac]
    #[arg(long, env = "TERRARIUM_AUTHORIZATION", hide_env = true, value_name = "MODE")]
    #[arg(value_parser = ["always-allow", "rbac"])]
    pub(super) authorization: Option<String>,
    /// Form of the components: `inside`, tasks of the host's process, except pods with annotation `terrarium.dev/form:
    /// process`; `processes`, a process each: the component's own binary in the folder of terrarium, else `terrarium
    /// component NAME`. A landscape that is stopped may be given another one [default: as before; inside in a new one]
    #[arg(long, env = "TERRARIUM_COMPONENTS", hide_env = true, value_name = "FORM")]
    #[arg(value_parser = ["inside", "processes"])]
    pub(super) components: Option<String>,
    /// Landscape time for which Events are kept after their last write. A landscape that is stopped may be given another
    /// time [default: 1h; 365d in a landscape of the demo, in which days go by quickly]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(super) event_ttl: Option<TimeDelta>,
    /// Landscape time at the beginning: an instant, `now`, or a time from now (90d) [default: now; in a landscape of the
    /// demo 2023-07-27T20:00:00Z, or the evening of the day of a newer release]
    #[arg(long, value_name = "T")]
    pub(super) start_time: Option<When>,
    /// Seed of all randomness [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    /// Source of the rules on which the requirements documents and upstream's code differ [default: documents]
    #[arg(long, value_parser = ["documents", "upstream"])]
    pub(super) profile: Option<String>,
    /// Storage of the event log [default: sled]
    #[arg(long, value_parser = ["sled", "memory"])]
    pub(super) log: Option<String>,
    /// Survival of acknowledged writes after a power failure [default: durable]
    #[arg(long, value_parser = ["durable", "fast"])]
    pub(super) durability: Option<String>,
    /// Amount of the past that is kept: `all`, a number of entries, or a size (512MiB) [default: all]
    #[arg(long, value_name = "HISTORY")]
    pub(super) history: Option<Retention>,
    /// Mode in which time passes by itself once the landscape is ready: `eager` jumps to work that is near; `realtime`;
    /// `scaled=R`; `stepped` does not move; `auto` jumps from timer to timer [default: as it did; eager in a new one]
    #[arg(long, value_name = "M", value_parser = clock::mode)]
    pub(super) clock: Option<Mode>,
    /// Port of the landscape [default: a free one, then kept]
    #[arg(long, value_name = "P")]
    pub(super) port: Option<u16>,
    /// Address where it listens [default: 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub(super) bind: Option<IpAddr>,
    /// Names and addresses under which it is reached from elsewhere, for its certificate
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(super) san: Vec<String>,
}

impl Settings {
    /// Merges the settings; those of `other` apply where `self` has none.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            preset: self.preset.or(other.preset),
            gardener_version: self.gardener_version.or(other.gardener_version),
            kubernetes_version: self.kubernetes_version.or(other.kubernetes_version),
            seeds: self.seeds.or(other.seeds),
            apiservers: self.apiservers.or(other.apiservers),
            operator: self.operator.or(other.operator),
            skew_enforcement: self.skew_enforcement.or(other.skew_enforcement),
            allow_downgrade: self.allow_downgrade.or(other.allow_downgrade),
            authorization: self.authorization.or(other.authorization),
            components: self.components.or(other.components),
            event_ttl: self.event_ttl.or(other.event_ttl),
            start_time: self.start_time.or(other.start_time),
            seed: self.seed.or(other.seed),
            profile: self.profile.or(other.profile),
            log: self.log.or(other.log),
            durability: self.durability.or(other.durability),
            history: self.history.or(other.history),
            clock: self.clock.or(other.clock),
            port: self.port.or(other.port),
            bind: self.bind.or(other.bind),
            san: if self.san.is_empty() { other.san } else { self.san },
        }
    }

    /// Reads the settings from a file.
    ///
    /// # Errors
    /// It cannot be read, or has a value that no flag accepts.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::input(format!("{place}: cannot read the file: {error}"), ""))?;
        Self::parse(&text).map_err(|what| {
            let hint = "its keys are the flags of `terrarium up`, as in `seeds: 2`; manifests are applied with -f";
            Failure::input(format!("{place}: {what}"), hint)
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let tree = yaml::value(text).map_err(|error| error.to_string())?;
        let lines = match tree {
            Value::Null => return Ok(Self::default()),
            Value::Object(lines) => lines,
            _ => return Err("the file is not a mapping".to_owned()),
        };
        let mut read = Self::default();
        for (key, value) in lines {
            read = read.or(Self::of_line(&key, &value)?);
        }
        Ok(read)
    }

    /// Parses one line like its flag.
    fn of_line(key: &str, value: &Value) -> Result<Self, String> {
        let values = match value {
            Value::Array(values) => values.iter().map(|value| scalar(key, value)).collect::<Result<Vec<_>, _>>()?,
            Value::Null => return if is_flag(key) { Ok(Self::default()) } else { Err(unknown(key)) },
            value => vec![scalar(key, value)?],
        };
        let flags = values.iter().map(|value| format!("--{key}={value}"));
        let matches = command().try_get_matches_from(flags).map_err(|error| refusal(key, &error))?;
        Self::from_arg_matches(&matches).map_err(|error| refusal(key, &error))
    }
}

/// Returns `newest` unchanged, and a version of Gardener with `v` and patch.
fn gardener_version(text: &str) -> Result<String, String> {
    let version = ops::release::parse(text)?;
    Ok(if text == ops::release::NEWEST_WORD { text.to_owned() } else { format!("v{version}") })
}

/// Command with only the flags; the environment is ignored.
fn command() -> clap::Command {
    let command = clap::Command::new("up").no_binary_name(true).disable_help_flag(true);
    Settings::augment_args(command).mut_args(|flag| flag.env(None::<&str>))
}

fn is_flag(key: &str) -> bool {
    command().get_arguments().any(|flag| flag.get_long() == Some(key))
}

fn unknown(key: &str) -> String {
    format!("unknown field `{key}`")
}

/// Converts a value to the argument of a flag.
fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(value) => Ok(value.to_string()),
        // A version such as 1.120 would lose its last digit.
        Value::Number(number) if number.is_f64() => {
            Err(format!("{key}: YAML reads it as the number {number}: put it in quotes"))
        }
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{key}: the value is not a text, number, or truth value")),
    }
}

/// Converts clap's error about a flag to a message about the file.
fn refusal(key: &str, error: &clap::Error) -> String {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => value.as_str(),
        _ => "",
    };
    match (error.kind(), error.get(ContextKind::ValidValue)) {
        (ErrorKind::UnknownArgument, _) => unknown(key),
        (ErrorKind::InvalidValue, Some(ContextValue::Strings(known))) => {
            format!("{key}: `{value}` is none of {}", known.join(", "))
        }
        (ErrorKind::ArgumentConflict, _) => format!("{key}: there is more than one value"),
        _ => match error.source() {
            Some(source) => format!("{key}: {source}"),
            None => format!("{key}: `{value}` is not a value for it"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Settings, &str>) {
        match (Settings::parse(text), expected) {
            (Err(actual), Err(expected)) => assert!(actual.starts_with(expected), "{actual}"),
            (actual, expected) => assert_eq!(actual, expected.map_err(str::to_owned), "{text}"),
        }
    }

    #[test]
    fn keys_are_flags() {
        check("# nothing\n", Ok(Settings::default()));
        check("seeds:\n", Ok(Settings::default()));
        check(
            "seeds: 2\nprofile: upstream\nclock: scaled=60\nhistory: 5000\noperator: false\nsan: [a, b]\nport: 8443\n",
            Ok(Settings {
                seeds: Some(2),
                profile: Some("upstream".to_owned()),
                clock: Some(clock::mode("scaled=60").expect("a mode")),
                history: Some("5000".parse().expect("a number of entries")),
                operator: Some(false),
                san: vec!["a".to_owned(), "b".to_owned()],
                port: Some(8443),
                ..Settings::default()
            }),
        );
        let start = Settings { start_time: Some("2022-11-01".parse().expect("a day")), ..Settings::default() };
        check("start-time: 2022-11-01\n", Ok(start.clone()));
        check("start-time: 2022-11-01T00:00:00Z\n", Ok(start));
    }

    #[test]
    fn a_version_of_gardener_gets_its_patch() {
        for (given, expected) in [
            ("v1.150", "v1.150.0"),
            ("v1.999", "v1.999.0"),
            ("v1.149", "v1.149.0"),
            ("1.149.3", "v1.149.3"),
            ("newest", "newest"),
        ] {
            let settings = Settings { gardener_version: Some(expected.to_owned()), ..Settings::default() };
            check(&format!("gardener-version: '{given}'\n"), Ok(settings));
        }
    }

    #[test]
    fn the_file_refuses_the_same_values_as_flags() {
        for (text, expected) in [
            ("start-time: soon\n", "start-time: `soon` is no instant"),
            ("seed-count: 2\n", "unknown field `seed-count`"),
            ("seed-count:\n", "unknown field `seed-count`"),
            ("profile: mine\n", "profile: `mine` is none of documents, upstream"),
            ("seeds: 0\n", "seeds: 0 is not in 1..=20"),
            ("seeds: [1, 2]\n", "seeds: there is more than one value"),
            ("gardener-version: 1.120\n", "gardener-version: YAML reads it as the number 1.12: put it in quotes"),
            (
                "gardener-version: foo\n",
                "gardener-version: `foo` is neither `newest` nor a version of Gardener as v1.149",
            ),
            ("gardener-version: newst\n", "gardener-version: `newst` is neither `newest`"),
            ("gardener-version: ''\n", "gardener-version: `` is neither `newest`"),
            ("operator: maybe\n", "operator: `maybe` is none of true, false"),
            ("port: {}\n", "port: the value is not a text, number, or truth value"),
            ("- seeds\n", "the file is not a mapping"),
            // Flags of `up` outside of these settings.
            ("ephemeral: true\n", "unknown field `ephemeral`"),
            ("help: true\n", "unknown field `help`"),
        ] {
            check(text, Err(expected));
        }
    }

    #[test]
    fn a_flag_wins() {
        let of = |text: &str| Settings::parse(text).expect("settings");
        assert_eq!(of("seeds: 2\n").or(of("seeds: 3\nseed: 4\nsan: [a]\n")), of("seeds: 2\nseed: 4\nsan: [a]\n"));
    }
}
