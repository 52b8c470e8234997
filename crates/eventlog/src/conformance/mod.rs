// SPDX-License-Identifier: Apache-2.0
//! Requirements on every implementation of [`EventLog`], as tests: call [`crate::conformance!`] in the
//! implementation's test module with an expression that creates an empty log.
//!
//! **Tour.** `entries` appends, reads and compaction; `subscriptions`; `things` the objects of the suite.

mod entries;
mod subscriptions;
mod things;

use std::future::Future;

pub use self::entries::*;
pub use self::subscriptions::*;
pub use self::things::{delete, put, update, update_status};

/// Runs every clause as a test of its own on a new log.
#[macro_export]
macro_rules! conformance {
    ($new:expr) => {
        $crate::conformance!(@each $new;
            revisions_rise_by_one_entry_at_a_time
            an_append_needs_what_it_expects
            key_guards_see_every_change_of_the_key
            collection_guards_do_not_see_status
            volatile_entries_fail_no_guard
            guards_are_limited_in_number_and_objects_in_size
            a_repeated_append_is_answered_with_the_first_result
            time_never_decreases
            a_subscription_starts_after_its_revision
            every_subscriber_learns_the_position
            a_subscription_to_a_cluster_gets_that_cluster
            a_subscription_can_be_resumed_anywhere
            entries_carry_the_state_before_and_after
            reading_a_range_gives_what_was_appended
            the_state_at_every_revision_can_be_read
            compaction_forgets_history_and_keeps_state
            volatile_entries_reach_subscribers_and_are_not_history
            replay_gives_the_live_state
            concurrent_writers_leave_no_gap
            a_position_is_in_step_with_the_entries
            a_resumed_subscription_does_not_travel_back_in_time
            no_entry_is_delivered_twice
            no_entry_is_lost_by_a_slow_reader
            compacting_at_a_deletion_drops_no_entry_on_its_way
            a_subscription_from_a_compaction_gets_later_deletions
            a_subscription_to_the_future_is_refused
        );
    };
    (@each $new:expr; $($clause:ident)*) => {
        $(
            #[test]
            fn $clause() {
                $crate::conformance::block_on($crate::conformance::$clause(&$new));
            }
        )*
    };
}

/// Runs a future on a runtime of its own.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}
