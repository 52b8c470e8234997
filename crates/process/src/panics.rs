// SPDX-License-Identifier: Apache-2.0
//! Panics: their messages, and the pauses before a restart.
//!
//! A panic is a fault of this program. It is always reported: [`say_panics`] prints each one as a line, with the task,
//! the message and the place; a component that survives one reports it ([`Panicked`]).
//!
//! **Invariants.** In a simulation no panic is caught: it fails the run.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{Location, PanicHookInfo};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::printing;

/// Wall time until the restart after the first panic.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(1);
/// Maximum such pause.
const LONGEST_PAUSE: TimeDelta = TimeDelta::minutes(5);

thread_local! {
    /// Message and place of this thread's last panic.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    /// Place at which the task that this thread polls was spawned.
    static TASK: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Report of a panic whose origin is restarted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Panicked {
    /// Origin of the panic: a controller and its object, or a task.
    pub name: String,
    /// Number of panics of this origin in the process.
    pub times: u32,
    /// Message and place of the panic.
    pub message: String,
    /// Wall time until the restart, in seconds.
    pub pause_seconds: i64,
}

/// Prints every panic from now on as one line: in the log of its component ([`printing`]), or with `say`. Only the
/// first call has an effect.
pub fn say_panics(say: impl Fn(&str) + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(move |info| {
        let text = described(info);
        LAST.set(Some(text.clone()));
        let task = TASK.get().map_or_else(String::new, |task| format!(", task of {}:{}", task.file(), task.line()));
        let thread = std::thread::current();
        let line = format!("panic: thread {}{task}: {text}", thread.name().unwrap_or("without a name"));
        if !printing::line(&line) {
            say(&line);
        }
    }));
}

/// Returns the pause after the `times`th panic (from 1): a second, doubled each time up to five minutes.
pub fn pause(times: u32) -> TimeDelta {
    let doubled = FIRST_PAUSE.checked_mul(1 << times.saturating_sub(1).min(16));
    doubled.map_or(LONGEST_PAUSE, |pause| pause.min(LONGEST_PAUSE))
}

/// Returns the message of a caught panic, with its place if [`say_panics`] has recorded it on this thread.
pub fn text(payload: &(dyn Any + Send)) -> String {
    LAST.take().unwrap_or_else(|| message(payload).to_owned())
}

/// Sets the task that this thread polls from now on, by its place of spawn; returns the previous one.
pub(crate) fn enter(task: Option<&'static Location<'static>>) -> Option<&'static Location<'static>> {
    TASK.replace(task)
}

fn described(info: &PanicHookInfo<'_>) -> String {
    let message = message(info.payload());
    match info.location() {
        Some(place) => format!("{message} ({}:{})", place.file(), place.line()),
        None => message.to_owned(),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_from_a_second_to_five_minutes() {
        let seconds: Vec<i64> = (1..12).map(|times| pause(times).num_seconds()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!((pause(0), pause(u32::MAX)), (FIRST_PAUSE, LONGEST_PAUSE));
    }

    #[test]
    fn message_of_a_panic_is_returned() {
        let caught = |panics: fn()| text(&*std::panic::catch_unwind(panics).expect_err("it panics"));
        assert!(caught(|| panic!("on purpose")).starts_with("on purpose"));
        assert!(caught(|| panic!("on purpose, {}", 2)).starts_with("on purpose, 2"));
        assert!(caught(|| std::panic::panic_any(7)).starts_with("no message"));
    }
}
