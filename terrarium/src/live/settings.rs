// SPDX-License-Identifier: Apache-2.0
//! `up --config FILE`: flags of `up` kept in a file, as YAML; a flag that is given wins.
//!
//! ```yaml
//! gardener-version: v1.120.0
//! profile: upstream
//! seeds: 2
//! start-time: 2023-07-27T20:00:00Z
//! preset: demo
//! ```

use std::net::IpAddr;
use std::path::Path;

use chrono::TimeDelta;
use host::timekeeper::Mode;
use serde::{Deserialize, Deserializer};

use super::clock;
use super::retention::Retention;
use crate::failure::Failure;
use ops::instant::{When, duration};

/// What a file may say: what a landscape is created with, by the names of the flags.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    pub(crate) gardener_version: Option<String>,
    pub(crate) kubernetes_version: Option<String>,
    pub(crate) seeds: Option<u32>,
    pub(crate) apiservers: Option<u32>,
    pub(crate) operator: Option<bool>,
    pub(crate) skew_enforcement: Option<String>,
    pub(crate) allow_downgrade: Option<bool>,
    pub(crate) authorization: Option<String>,
    #[serde(deserialize_with = "time")]
    pub(crate) event_ttl: Option<TimeDelta>,
    #[serde(deserialize_with = "start_time")]
    pub(crate) start_time: Option<When>,
    pub(crate) seed: Option<u64>,
    pub(crate) profile: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) durability: Option<String>,
    #[serde(deserialize_with = "retention")]
    pub(crate) history: Option<Retention>,
    #[serde(deserialize_with = "mode")]
    pub(crate) clock: Option<Mode>,
    pub(crate) port: Option<u16>,
    pub(crate) bind: Option<IpAddr>,
    pub(crate) san: Vec<String>,
    pub(crate) preset: Option<String>,
}

fn retention<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Retention>, D::Error> {
    let text = serde_yaml_ng::Value::deserialize(deserializer)?;
    let text = text.as_str().map_or_else(|| serde_yaml_ng::to_string(&text).unwrap_or_default(), str::to_owned);
    text.trim().parse().map(Some).map_err(serde::de::Error::custom)
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TimeDelta>, D::Error> {
    duration(&String::deserialize(deserializer)?).map(Some).map_err(serde::de::Error::custom)
}

fn start_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<When>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
    clock::mode(&String::deserialize(deserializer)?).map(Some).map_err(serde::de::Error::custom)
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or says what no flag can say.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let place = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::input(format!("{place}: cannot read the file: {error}"), ""))?;
        Self::parse(&text).map_err(|what| {
            Failure::input(format!("{place}: {what}"), "its keys are the flags of `terrarium up`, as in `seeds: 2`")
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Self::default());
        }
        let read: Self = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
        let one_of = |name: &str, value: &Option<String>, known: &[&str]| match value {
            Some(value) if !known.contains(&value.as_str()) => {
                Err(format!("{name}: `{value}` is none of {}", known.join(", ")))
            }
            _ => Ok(()),
        };
        one_of("profile", &read.profile, &["documents", "upstream"])?;
        one_of("skew-enforcement", &read.skew_enforcement, &["enforce", "warn", "off"])?;
        one_of("authorization", &read.authorization, &["always-allow", "rbac"])?;
        one_of("log", &read.log, &["sled", "memory"])?;
        one_of("durability", &read.durability, &["durable", "fast"])?;
        one_of("preset", &read.preset, &["empty", "demo"])?;
        if read.seeds.is_some_and(|seeds| !(1..=20).contains(&seeds)) {
            return Err("seeds: between 1 and 20".to_owned());
        }
        if read.apiservers.is_some_and(|apiservers| !(1..=9).contains(&apiservers)) {
            return Err("apiservers: between 1 and 9".to_owned());
        }
        Ok(read)
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
        check(
            "seeds: 2\nprofile: upstream\nclock: scaled=60\nhistory: 5000\n",
            Ok(Settings {
                seeds: Some(2),
                profile: Some("upstream".to_owned()),
                clock: Some(clock::mode("scaled=60").expect("a mode")),
                history: Some("5000".parse().expect("a number of entries")),
                ..Settings::default()
            }),
        );
        let start = Settings { start_time: Some("2022-11-01".parse().expect("a day")), ..Settings::default() };
        check("start-time: 2022-11-01\n", Ok(start.clone()));
        check("start-time: 2022-11-01T00:00:00Z\n", Ok(start));
        check("start-time: soon\n", Err("`soon` is no instant"));
        check("seed-count: 2\n", Err("unknown field `seed-count`"));
        check("profile: mine\n", Err("profile: `mine` is none of documents, upstream"));
        check("seeds: 0\n", Err("seeds: between 1 and 20"));
    }
}
