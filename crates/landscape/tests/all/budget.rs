// SPDX-License-Identifier: Apache-2.0
//! Costs of a landscape without clients.

use landscape::{Options, Sync};

use crate::support::{Audited, evening};

/// A Shoot costs at most 50 entries and 10 timers per day with window-only reconciliation.
#[test]
fn an_unchanged_shoot_costs_50_entries_and_10_timers_daily() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.create_shoot("local");
    // The first window applies the update; the days after it are idle.
    audited.until("2023-07-29T00:00:00Z");
    let before = audited.landscape.counts();
    let head = audited.landscape.log();
    let from = eventlog::EventLog::head(head);
    let days = 5;
    audited.until("2023-08-03T00:00:00Z");
    let after = audited.landscape.counts();
    let (entries, timers) = ((after.entries - before.entries) / days, (after.timers - before.timers) / days);
    let tail = audited.tail(eventlog::EventLog::head(audited.landscape.log()).0 - from.0);
    assert!(entries <= 50, "{entries} entries a day\n{tail}");
    assert!(timers <= 10, "{timers} timers a day\n{tail}");
    assert!(entries > 0, "it is reconciled once a day");
}

/// Requests of a reconciliation: start, result, the copy for extensions twice, two Events, the first request to the
/// cluster, conditions and the label that follows them twice.
#[test]
fn a_reconcile_that_changes_nothing_makes_at_most_12_requests() {
    let mut audited = Audited::start(Options { sync: Sync::Hourly, ..Options::new(1, evening()) });
    audited.create_shoot("local");
    audited.until("2023-07-29T12:00:00Z");
    let before = audited.landscape.counts();
    let hours = 6;
    audited.until("2023-07-29T18:00:00Z");
    let after = audited.landscape.counts();
    let requests = (after.requests - before.requests) / hours;
    let tail = audited.tail(after.revision - before.revision);
    assert!(requests <= 12, "{requests} requests an hour\n{tail}");
    assert!(requests >= 6, "it is reconciled every hour: {requests} requests an hour\n{tail}");
}

#[test]
fn an_idle_landscape_costs_nothing() {
    let mut audited = Audited::start(Options::new(1, evening()));
    audited.until("2023-07-27T23:00:00Z");
    let before = audited.landscape.counts();
    audited.until("2023-08-06T23:00:00Z");
    let after = audited.landscape.counts();
    assert_eq!(after.entries - before.entries, 0, "{}", audited.tail(20));
    assert_eq!(after.timers - before.timers, 0);
}
