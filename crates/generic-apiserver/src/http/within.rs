// SPDX-License-Identifier: Apache-2.0
//! A handler that is called in its own process, without a connection.

use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use futures::future::{Either, select};
use process::printing::Printing;
use process::transport::{ResponseFuture, until};
use process::{Request, Tasks, Transport, TransportError};

use super::guard::guarded;

/// Returns a transport to a handler of a component in this process. Its log lines are those of the component, a panic
/// becomes a response, and requests end as with a separate process: `grace` after the tasks were stopped.
pub fn within(
    tasks: &Tasks,
    wall: &Clock,
    grace: TimeDelta,
    handler: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static,
) -> Transport {
    let (shutdown, wall) = (tasks.shutdown(), wall.clone());
    let printing = tasks.printing().cloned().unwrap_or_else(Printing::of_process);
    Transport::new(guarded(move |request| {
        let (answer, wall, ends) = (handler(request), wall.clone(), shutdown.clone());
        let answer: ResponseFuture = Box::pin(async move {
            let body_ends = ends.clone();
            let cut = async {
                ends.observed().await;
                wall.sleep(grace, TimerClass::Work).await;
            };
            match select(answer, std::pin::pin!(cut)).await {
                Either::Left((answer, _)) => {
                    Ok(answer?.map(|body| until(body, Box::pin(async move { body_ends.observed().await }))))
                }
                Either::Right(_) => Err(TransportError::Broken("the server has ended".to_owned())),
            }
        });
        Box::pin(printing.around(answer))
    }))
}
