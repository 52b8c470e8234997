// SPDX-License-Identifier: Apache-2.0
//! Output of tasks of one process that belong to different components.
//!
//! Events of `tracing` and panics have no context of their own. [`Printing`] sets the subscriber and the output of its
//! component for each poll of a task, so that the lines of a component are in the log of its pod.
//!
//! **Invariants.** A future that is called by a component but belongs to the process ([`Printing::of_process`]) uses
//! the process's output.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tracing::dispatcher::{self, DefaultGuard};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber};

use crate::Output;

thread_local! {
    /// Output of the component whose task this thread polls; `None`: that of the process.
    static OUTPUT: RefCell<Option<Output>> = const { RefCell::new(None) };
}

/// Subscriber and output of one component. Cheap to clone.
#[derive(Clone)]
pub struct Printing(Arc<Inner>);

struct Inner {
    /// Output; `None`: that of the process.
    output: Option<Output>,
    /// Subscriber during polls.
    dispatch: Dispatch,
    /// Subscriber to which that of a component forwards.
    behind: Arc<Mutex<Dispatch>>,
}

impl fmt::Debug for Printing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printing")
    }
}

impl Printing {
    /// Prints lines and panics to `output`; events of `tracing` are dropped until [`Printing::subscribe`].
    pub fn to(output: Output) -> Self {
        let behind = Arc::new(Mutex::new(Dispatch::none()));
        Self(Arc::new(Inner { output: Some(output), dispatch: Dispatch::new(Forward(behind.clone())), behind }))
    }

    /// Output and subscriber of the whole process, as of now.
    pub fn of_process() -> Self {
        let dispatch = dispatcher::get_default(Clone::clone);
        Self(Arc::new(Inner { output: None, dispatch, behind: Arc::new(Mutex::new(Dispatch::none())) }))
    }

    /// Sets the subscriber of events, including those of the current poll.
    pub fn subscribe(&self, dispatch: Dispatch) {
        *self.0.behind.lock() = dispatch;
    }

    /// Output of lines; `None`: that of the process.
    pub fn output(&self) -> Option<&Output> {
        self.0.output.as_ref()
    }

    /// Makes this the printing of the current thread until the value is dropped.
    pub(crate) fn enter(&self) -> Entered {
        let outer = OUTPUT.replace(self.0.output.clone());
        Entered { outer, _subscriber: dispatcher::set_default(&self.0.dispatch) }
    }

    /// Wraps a future whose polls print here.
    pub fn around<F: Future + Unpin>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        Around { future, printing: self.clone() }
    }
}

/// Subscriber that forwards everything to another one, which may be replaced.
struct Forward(Arc<Mutex<Dispatch>>);

impl Forward {
    fn behind(&self) -> Dispatch {
        self.0.lock().clone()
    }
}

impl Subscriber for Forward {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // The forwarding target decides each time.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.behind().enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.behind().new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.behind().record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.behind().record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        self.behind().event(event);
    }

    fn enter(&self, span: &Id) {
        self.behind().enter(span);
    }

    fn exit(&self, span: &Id) {
        self.behind().exit(span);
    }
}

/// Prints a line of the component whose task this thread polls; returns false if there is none.
pub(crate) fn line(line: &str) -> bool {
    let output = OUTPUT.with_borrow(Clone::clone);
    output.inspect(|output| output.line(line)).is_some()
}

/// Restores the previous printing when dropped.
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
