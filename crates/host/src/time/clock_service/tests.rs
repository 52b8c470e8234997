// SPDX-License-Identifier: Apache-2.0
//! The clock service over a log that can be shut, and without servers.

use chrono::DateTime;
use clock::SimulatedClock;
use eventlog::MemoryLog;
use futures::FutureExt;

use super::*;
use crate::time::gated_log::{Gate, GatedLog};
use crate::time::timekeeper::REPORT_LIMIT;

#[tokio::test]
async fn time_is_not_shown_before_entries_are_durable() {
    let (durable, log) = GatedLog::shut();
    durable.send_replace(Gate::Open);
    let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range");
    let (tasks, barriers): (_, Barriers) =
        (Tasks::new(), Arc::new(|| std::future::ready(Some(LineCounts::default())).boxed()));
    let clock = ClockService::start(at(0), Mode::Stepped, Clock::wall(), log, barriers, &tasks);
    let dial: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let shown = dial.clone();
    clock.show_on(move |now| shown.lock().push(now));
    clock.advance(at(10), TimeDelta::zero()).await.expect("time moves");
    assert_eq!(dial.lock().last(), Some(&at(10)));

    durable.send_replace(Gate::Shut);
    let mut advance = clock.advance(at(20), TimeDelta::zero());
    for _ in 0..100 {
        assert!(advance.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert_eq!(dial.lock().last(), Some(&at(10)), "a landscape that starts again would begin behind what is lost");
    durable.send_replace(Gate::Open);
    advance.await.expect("time moves");
    assert_eq!(dial.lock().last(), Some(&at(20)));
}

/// A participant may report once more between the decision on a grant and its delivery.
#[tokio::test]
async fn a_grant_is_sent_once_after_entries_are_durable() {
    let (durable, log) = GatedLog::shut();
    durable.send_replace(Gate::Open);
    let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range");
    let (tasks, barriers): (_, Barriers) =
        (Tasks::new(), Arc::new(|| std::future::ready(Some(LineCounts::default())).boxed()));
    let clock = ClockService::start(at(0), Mode::Stepped, Clock::wall(), log, barriers, &tasks);
    let others_run = async || {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    for (name, rejoins) in [("reports", false), ("joins-again", true)] {
        let joined = clock.join(name, Join::default());
        let mut sequence = 0;
        let mut report = |grant: u64| {
            sequence += 1;
            clock.idle(name, Idle { sequence, grant, ..Idle::default() })
        };
        let (mut first, mut second);
        first = report(joined.number);
        assert!(first.as_mut().now_or_never().is_none());
        others_run().await;
        durable.send_replace(Gate::Shut);
        let mut advance = clock.advance(clock.now() + TimeDelta::seconds(10), TimeDelta::zero());
        assert!(advance.as_mut().now_or_never().is_none());
        others_run().await;
        let granted = if rejoins { clock.join(name, Join::default()).number } else { joined.number };
        second = report(granted);
        assert!(second.as_mut().now_or_never().is_none(), "{name}: what happened before is not durable");
        durable.send_replace(Gate::Open);
        others_run().await;
        let number = if rejoins {
            assert!(second.as_mut().now_or_never().is_none(), "{name}: its join returned this instant");
            granted
        } else {
            let Some(Ok(Some(Answer::Grant(grant)))) = second.as_mut().now_or_never() else { panic!("no grant") };
            assert!(report(grant.number).now_or_never().is_none(), "{name}: once");
            grant.number
        };
        assert_eq!(number, joined.number + 1);
        advance.await.expect("time moves");
        clock.leave(name);
    }
}

#[tokio::test]
async fn an_advance_fails_while_no_server_answers() {
    let at = |seconds: i64| DateTime::from_timestamp(1_690_488_000 + seconds, 0).expect("in range");
    let (tasks, barriers): (_, Barriers) =
        (Tasks::new(), Arc::new(|| std::future::ready(Some(LineCounts::default())).boxed()));
    let (wall, log) = (SimulatedClock::new(at(0)), Arc::new(MemoryLog::new()));
    let clock = ClockService::start(at(0), Mode::Stepped, Clock::new(wall.clone()), log, barriers, &tasks);
    let set_outage = |name| clock.with(|keeper, wall| keeper.set_outage(name, wall));
    set_outage(Some("server"));
    let mut advance = clock.advance(at(60), TimeDelta::zero());
    let mut ended = None;
    for _ in 0..1000 {
        ended = advance.as_mut().now_or_never();
        if ended.is_some() {
            break;
        }
        tokio::task::yield_now().await;
        wall.fire_next(None);
    }
    assert_eq!(ended, Some(Ok(at(0))), "time stands");
    assert_eq!(wall.now() - at(0), REPORT_LIMIT);
    assert_eq!(clock.state().absences.len(), 1);
    let again = clock.advance(at(60), TimeDelta::zero()).await;
    assert_eq!(again, Err(CommandError::Absent("server".to_owned())));
    set_outage(None);
    assert_eq!(clock.advance(at(60), TimeDelta::zero()).await, Ok(at(60)));
}
