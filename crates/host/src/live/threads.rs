// SPDX-License-Identifier: Apache-2.0
//! Components of the host on threads of their own, as participants in landscape time.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use process::child;
use process::live::{Setup, participate};
use process::panics::{self, Panicked};
use process::{Context, Exit, Output, Transport};
use tokio::sync::oneshot;

use super::Live;
use crate::clock_service::OwnReports;

/// A component of the host that ran for so long in wall time starts with a clean record.
const CLEAN_RECORD: TimeDelta = TimeDelta::minutes(10);

impl Live {
    /// Runs a component of the host on a thread of its own. One that fails or panics, or that the clock has dropped because it
    /// reported nothing, is started again, as a process would be, with the reason why its last run ended.
    pub(super) fn spawn<F>(
        &mut self,
        name: &'static str,
        component: impl Fn(Context, Option<&str>) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        self.spawn_over(name, self.transport(name), component)
    }

    /// As [`Live::spawn`], over a transport.
    pub(super) fn spawn_over<F>(
        &mut self,
        name: &'static str,
        transport: Transport,
        component: impl Fn(Context, Option<&str>) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = Exit> + Send + 'static,
    {
        let (identity, random) = (self.identity(name), self.random.clone());
        let dial = self.clock.dial();
        let (noting, clock) = (self.clock.clone(), self.clock.clone());
        let told = Arc::new(move |panicked: Panicked| {
            let Panicked { name: task, times, message, .. } = panicked;
            noting.note_trouble(name, &format!("{task} panicked {times} times, and was begun anew: {message}"));
        });
        let setup = move || Setup {
            identity: identity.clone(),
            participant: name.to_owned(),
            random: random.clone(),
            transport: transport.clone(),
            dial: Some(dial.clone()),
            output: Output::new(child::say),
            panicked: Some(told.clone()),
        };
        let reports = OwnReports::new(self.clock.clone(), name);
        let (stop, mut stopped) = oneshot::channel();
        let runtime = tokio::runtime::Handle::current();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut ended: Option<String> = None;
            let (mut times, mut in_a_row) = (0_u32, 0_u32);
            loop {
                let stop = async {
                    let _ = (&mut stopped).await;
                };
                let began = Clock::wall().now();
                let run = AssertUnwindSafe(|| {
                    participate(setup(), reports.clone(), stop, |context| Ok(component(context, ended.as_deref())))
                });
                let why = match catch_unwind(run) {
                    Ok(Ok(Exit { code: 0, .. })) => break,
                    Ok(Ok(exit)) => exit.last_line,
                    Ok(Err(error)) => error,
                    Err(payload) => format!("it panicked: {}", panics::text(&*payload)),
                };
                times = times.saturating_add(1);
                in_a_row = if Clock::wall().now() - began >= CLEAN_RECORD { 1 } else { in_a_row.saturating_add(1) };
                let pause = panics::pause(in_a_row);
                child::say(&format!("{name} ended, and is started again in {} s: {why}", pause.num_seconds()));
                // Nobody waits for it meanwhile.
                clock.leave(name);
                clock.note_trouble(name, &format!("ended {times} times, and was started again: {why}"));
                ended = Some(why);
                let ends = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = &mut stopped => true,
                        () = Clock::wall().sleep(pause, TimerClass::Work) => false,
                    }
                });
                if ends {
                    break;
                }
            }
        })?;
        self.threads.push((stop, thread));
        Ok(())
    }
}
