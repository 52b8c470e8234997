// SPDX-License-Identifier: Apache-2.0
//! Lines of tasks of one process that belong to different components.
//!
//! Events of `tracing` and panics have no context of their own. [`Printing`] gives each poll of a task the subscriber and the
//! output of its component, so that the lines of a component are in the log of its pod.
//!
//! **Invariants.** A future that is called by a component but belongs to the process ([`Printing::of_process`]) prints as the
//! process does.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tracing::Dispatch;
use tracing::dispatcher::{self, DefaultGuard};

use crate::Output;

thread_local! {
    /// Output of the component whose task this thread polls; `None`: that of the process.
    static OUTPUT: RefCell<Option<Output>> = const { RefCell::new(None) };
}

/// The subscriber and the output of one component. Cheap to clone.
#[derive(Clone)]
pub struct Printing(Arc<Inner>);

struct Inner {
    /// `None`: that of the process.
    output: Option<Output>,
    dispatch: Mutex<Dispatch>,
}

impl fmt::Debug for Printing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printing")
    }
}

impl Printing {
    /// Lines and panics go to `output`; events of `tracing` are dropped until [`Printing::subscribe`].
    pub fn to(output: Output) -> Self {
        Self(Arc::new(Inner { output: Some(output), dispatch: Mutex::new(Dispatch::none()) }))
    }

    /// The output and the subscriber of the whole process, as of now.
    pub fn of_process() -> Self {
        let dispatch = dispatcher::get_default(Clone::clone);
        Self(Arc::new(Inner { output: None, dispatch: Mutex::new(dispatch) }))
    }

    /// Sets the subscriber of events.
    pub fn subscribe(&self, dispatch: Dispatch) {
        *self.0.dispatch.lock() = dispatch;
    }

    /// The output of lines; `None`: that of the process.
    pub fn output(&self) -> Option<&Output> {
        self.0.output.as_ref()
    }

    /// Makes this the printing of the current thread until the value is dropped.
    pub(crate) fn enter(&self) -> Entered {
        let outer = OUTPUT.replace(self.0.output.clone());
        let dispatch = self.0.dispatch.lock().clone();
        Entered { outer, _subscriber: dispatcher::set_default(&dispatch) }
    }

    /// A future whose polls print here.
    pub fn around<F: Future + Unpin>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Around { future, printing: self.clone() }
    }
}

/// Prints a line of the component that this thread polls; false if it polls none.
pub(crate) fn line(line: &str) -> bool {
    let output = OUTPUT.with_borrow(Clone::clone);
    output.inspect(|output| output.line(line)).is_some()
}

/// Restores what was before.
pub(crate) struct Entered {
    outer: Option<Output>,
    _subscriber: DefaultGuard,
}

impl Drop for Entered {
    fn drop(&mut self) {
        OUTPUT.set(self.outer.take());
    }
}

struct Around<F> {
    future: F,
    printing: Printing,
}

impl<F: Future + Unpin> Future for Around<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _entered = self.printing.enter();
        Pin::new(&mut self.future).poll(context)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use clock::{Clock, SimulatedClock};

    use super::*;
    use crate::logging::{Format, subscriber};

    fn component(name: &'static str, lines: &Arc<Mutex<Vec<String>>>) -> Printing {
        let lines = lines.clone();
        let output = Output::new(move |line| lines.lock().push(format!("{name}: {line}")));
        let printing = Printing::to(output.clone());
        let clock = Clock::new(SimulatedClock::new(DateTime::UNIX_EPOCH));
        printing.subscribe(subscriber(clock, Format::Text, tracing::Level::INFO, output));
        printing
    }

    #[test]
    fn lines_are_those_of_the_innermost_component() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let (a, b, process) = (component("a", &lines), component("b", &lines), Printing::of_process());
        assert!(!line("nobody"));
        let outer = a.enter();
        tracing::info!("one");
        {
            let _inner = b.enter();
            tracing::info!("two");
            let _process = process.enter();
            tracing::info!("of the process");
            assert!(!line("of the process"));
        }
        assert!(line("three"));
        drop(outer);
        assert!(!line("nobody"));
        let time = "1970-01-01T00:00:00.000Z";
        assert_eq!(
            *lines.lock(),
            [format!("a: {time}\tINFO\tone"), format!("b: {time}\tINFO\ttwo"), "a: three".into()]
        );
    }
}
