// SPDX-License-Identifier: Apache-2.0
//! `terrarium clock`: reads and moves landscape time.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::{Args, Subcommand};
use clock::{Clock, TimerClass};
use host::clock_service::ClockState;
use host::timekeeper::Mode;

use super::client::Client;
use super::{Which, block_on};
use crate::failure::Failure;
use crate::output::Output;

const LOOK: TimeDelta = TimeDelta::milliseconds(20);

/// Show or move landscape time
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the time, the mode, and what time waits for
    Show,
    /// Move on by a duration (`90s`, `30m`, `24h`, `3d`, `2w`), through every timer on the way
    Advance {
        /// How far
        #[arg(value_name = "D", value_parser = duration)]
        by: TimeDelta,
    },
    /// Move on to an instant, through every timer on the way
    Until {
        /// Where to (RFC 3339)
        #[arg(value_name = "TIME")]
        to: DateTime<Utc>,
    },
    /// Stop landscape time; `advance` and `until` still move it
    Pause,
    /// End a pause
    Resume,
    /// Let time pass at this rate of wall time
    Rate {
        /// Landscape seconds in a second of wall time
        #[arg(value_name = "R", value_parser = rate)]
        rate: f64,
    },
    /// Set how time passes by itself
    Mode {
        /// `eager` jumps to work that is near; `realtime`; `stepped` stands; `auto` jumps from timer to timer
        #[arg(value_name = "M", value_parser = ["eager", "realtime", "stepped", "auto"])]
        mode: String,
    },
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate <= 1e9 => Ok(rate),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// A number and a unit, `90s`, or several: `1h30m`.
pub(crate) fn duration(text: &str) -> Result<TimeDelta, String> {
    let wrong = || format!("`{text}` is no duration: use s, m, h, d and w, as in 90s, 24h or 2w");
    let mut total = TimeDelta::zero();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|length| *length > 0).ok_or_else(wrong)?;
        let number: i64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit = rest[digits..].chars().next().ok_or_else(wrong)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            _ => return Err(wrong()),
        };
        let part = number.checked_mul(seconds).and_then(TimeDelta::try_seconds).ok_or_else(wrong)?;
        total = total.checked_add(&part).ok_or_else(wrong)?;
        rest = &rest[digits + unit.len_utf8()..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let state = block_on(async {
        match arguments.command.as_ref().unwrap_or(&Command::Show) {
            Command::Show => client.clock().await,
            Command::Advance { by } => {
                let now = client.clock().await?.now;
                let too_far = || Failure::input("that is further than time goes", "");
                to(&client, now.checked_add_signed(*by).ok_or_else(too_far)?).await
            }
            Command::Until { to: instant } => to(&client, *instant).await,
            Command::Pause => client.command("pause").await,
            Command::Resume => client.command("resume").await,
            Command::Rate { rate } => client.set_mode(Mode::Rate(*rate)).await,
            Command::Mode { mode } => {
                let mode = match mode.as_str() {
                    "eager" => Mode::Eager,
                    "stepped" => Mode::Stepped,
                    "auto" => Mode::Auto,
                    _ => Mode::Rate(1.0),
                };
                client.set_mode(mode).await
            }
        }
    })?;
    tell(&state, output)
}

/// Moves time and waits until it has settled where it was told to go.
async fn to(client: &Client, instant: DateTime<Utc>) -> Result<ClockState, Failure> {
    let wall = Clock::wall();
    let mut state = client.advance(instant).await?;
    while state.target.is_some() {
        wall.sleep(LOOK, TimerClass::Work).await;
        state = client.clock().await?;
    }
    Ok(state)
}

fn tell(state: &ClockState, output: &mut Output) -> Result<(), Failure> {
    let time = |instant: DateTime<Utc>| instant.to_rfc3339_opts(SecondsFormat::Secs, true);
    let mode = match state.mode {
        Mode::Eager => "eager".to_owned(),
        Mode::Rate(rate) => format!("rate {rate}"),
        Mode::Stepped => "stepped".to_owned(),
        Mode::Auto => "auto".to_owned(),
    };
    let paused = if state.paused { ", paused" } else { "" };
    let next = state.next.map_or_else(String::new, |next| format!(" · next timer {}", time(next)));
    output.line(&format!("{} · {mode}{paused}{next}", time(state.now)))?;
    for name in state.waits_for.participants.iter().chain(&state.waits_for.holds) {
        output.line(&format!("  waits for {name}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_days_and_weeks() {
        for (text, seconds) in [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("3d", 259_200), ("2w", 1_209_600)] {
            assert_eq!(duration(text), Ok(TimeDelta::seconds(seconds)), "{text}");
        }
        for text in ["", "5", "h", "1y", "-1h", "99999999999999999999s", "1é"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
