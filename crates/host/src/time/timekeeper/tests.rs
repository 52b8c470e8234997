// SPDX-License-Identifier: Apache-2.0
//! The timekeeper with toys for participants.

use std::ops::RangeInclusive;

use process::activity::Watching;

use super::*;

fn at(seconds: i64) -> Instant {
    Instant::from_timestamp(1_690_488_000 + seconds, 0).expect("in range")
}

/// Wall time at the start: another day than landscape time, so that the two cannot be confused.
fn wall(milliseconds: i64) -> Instant {
    Instant::from_timestamp(1_800_000_000, 0).expect("in range") + TimeDelta::milliseconds(milliseconds)
}

const HEAD: Revision = Revision(10);

/// A participant that has timers at these seconds, one watch, and answers every grant at once.
struct Toy {
    name: &'static str,
    reads_dial: bool,
    /// Number of grants that it was sent.
    granted: usize,
    timers: Vec<(i64, bool)>,
    fired: Vec<i64>,
}

impl Toy {
    fn new(name: &'static str, work: &[i64], calendar: &[i64]) -> Self {
        let mut timers: Vec<_> = work.iter().map(|s| (*s, true)).chain(calendar.iter().map(|s| (*s, false))).collect();
        timers.sort_unstable();
        Self { name, reads_dial: false, granted: 0, timers, fired: Vec::new() }
    }

    fn take(&mut self, keeper: &mut Timekeeper, grant: &Grant, barrier: u64) {
        self.granted += 1;
        while self.timers.first().is_some_and(|(due, _)| at(*due) <= grant.now) {
            self.fired.push(self.timers.remove(0).0);
        }
        keeper.report(self.name, self.idle(grant.number, barrier));
    }

    fn watch(&self) -> u64 {
        self.name.bytes().map(u64::from).sum()
    }

    fn idle(&self, grant: u64, barrier: u64) -> Idle {
        Idle {
            sequence: 0,
            grant,
            watching: Watching([(self.watch(), barrier)].into()),
            next: self.timers.first().map(|(due, _)| at(*due)),
            work: self.timers.iter().find(|(_, work)| *work).map(|(due, _)| at(*due)),
        }
    }
}

/// Line counts of API servers that sent one line per barrier to the watches of these toys.
fn line_counts(toys: &[Toy], barrier: u64) -> LineCounts {
    LineCounts(toys.iter().map(|toy| (toy.watch(), barrier)).collect())
}

/// Drives a timekeeper while the wall clock stands; returns the last decision and the grants on the way, in seconds.
fn drive(keeper: &mut Timekeeper, toys: &mut [Toy], now: Instant) -> (Decision, Vec<i64>) {
    let (mut grants, mut barrier) = (Vec::new(), 0);
    for _ in 0..1000 {
        match keeper.decide(HEAD, now) {
            Decision::Barrier { number, .. } => {
                barrier = number;
                keeper.barrier_stands(number, line_counts(toys, number), now);
                for toy in &mut *toys {
                    keeper.report(toy.name, toy.idle(keeper.grants, barrier));
                }
            }
            Decision::Grant { grant, to } => {
                if grants.last() != Some(&(grant.now - at(0)).num_seconds()) {
                    grants.push((grant.now - at(0)).num_seconds());
                }
                for toy in toys.iter_mut().filter(|toy| to.iter().any(|name| name == toy.name)) {
                    toy.take(keeper, &grant, barrier);
                }
            }
            end => return (end, grants),
        }
    }
    panic!("it does not come to an end: {grants:?}");
}

/// Calls [`drive`] at each of these seconds of wall time; returns the last decision and all grants.
fn wait(keeper: &mut Timekeeper, toys: &mut [Toy], seconds: RangeInclusive<i64>) -> (Decision, Vec<i64>) {
    let mut grants = Vec::new();
    let mut end = Decision::Done;
    for second in seconds {
        // Toys count the lines of one call of `drive`.
        keeper.disturb();
        let (last, more) = drive(keeper, toys, wall(second * 1000));
        grants.extend(more);
        end = last;
    }
    (end, grants)
}

fn joined(mode: Mode, toys: &mut [Toy]) -> Timekeeper {
    joined_at(at(0), mode, toys)
}

fn joined_at(now: Instant, mode: Mode, toys: &mut [Toy]) -> Timekeeper {
    let mut keeper = Timekeeper::new(now, mode, wall(0));
    for toy in toys {
        let grant = keeper.join(toy.name, Join { reads_dial: toy.reads_dial, is_command: false }, wall(0));
        toy.take(&mut keeper, &grant, 0);
    }
    keeper
}

#[test]
fn an_advance_fires_every_timer_and_ends_at_its_target() {
    let mut toys = [Toy::new("a", &[5, 30], &[60]), Toy::new("b", &[7], &[30, 900])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.advance(at(100), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    assert_eq!(keeper.advance(at(200), TimeDelta::zero(), wall(0)), Err(CommandError::Busy(at(100))));
    let (end, grants) = drive(&mut keeper, &mut toys, wall(0));
    assert_eq!((end, grants), (Decision::Done, vec![5, 7, 30, 60, 100]));
    assert_eq!(toys[0].fired, [5, 30, 60]);
    assert_eq!(toys[1].fired, [7, 30]);
    assert_eq!(keeper.now(wall(99_000)), at(100), "stepped time stands");
    assert_eq!(keeper.advance(at(99), TimeDelta::zero(), wall(0)), Err(CommandError::Backwards(at(100))));
}

#[test]
fn time_moves_to_near_work_until_the_mode_is_set() {
    let mut toys = [Toy::new("a", &[90, 7200], &[100]), Toy::new("b", &[95], &[])];
    let mut keeper = joined(Mode::Eager, &mut toys);
    keeper.await_mode(wall(0));
    assert!(keeper.is_starting(HEAD));
    let (end, grants) = wait(&mut keeper, &mut toys, 0..=20);
    assert_eq!(grants, [90, 95]);
    assert!(matches!(end, Decision::Wait { until: Some(_) }), "{end:?}");
    assert!(!keeper.is_starting(HEAD), "nothing near is left");
    assert_eq!(keeper.now(wall(20_400)), at(95), "wall time does not count");
    keeper.set_mode(Mode::Stepped, wall(20_500));
    assert!(wait(&mut keeper, &mut toys, 21..=40).1.is_empty(), "stepped time stands");
    assert_eq!(keeper.now(wall(41_000)), at(95));
}

#[test]
fn a_missing_mode_is_awaited_for_a_minute() {
    let mut toys = [Toy::new("a", &[], &[7200])];
    let mut keeper = joined(Mode::Eager, &mut toys);
    keeper.await_mode(wall(0));
    let grants = wait(&mut keeper, &mut toys, 0..=62).1;
    assert_eq!(grants, [1, 2], "then time runs by itself");
}

#[test]
fn eager_jumps_to_near_work_and_no_calendar() {
    let mut toys = [Toy::new("a", &[90, 120], &[100, 7200]), Toy::new("b", &[], &[95])];
    let mut keeper = joined(Mode::Eager, &mut toys);
    let (end, grants) = drive(&mut keeper, &mut toys, wall(0));
    assert_eq!(grants, [90, 95, 100, 120]);
    assert_eq!(end, Decision::Wait { until: Some(wall(1000)) }, "then time runs at rate 1");
    assert_eq!(keeper.now(wall(400)), at(120) + TimeDelta::milliseconds(400));
    assert_eq!(drive(&mut keeper, &mut toys, wall(2000)).1, [122], "each participant gets the time");
}

#[test]
fn work_that_is_an_hour_away_is_not_jumped_to() {
    let mut toys = [Toy::new("a", &[3601], &[])];
    let mut keeper = joined(Mode::Eager, &mut toys);
    assert_eq!(drive(&mut keeper, &mut toys, wall(0)).1, [0; 0]);
}

#[test]
fn auto_moves_time_while_a_timer_exists() {
    let mut toys = [Toy::new("a", &[1], &[86_400])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    assert_eq!(drive(&mut keeper, &mut toys, wall(0)), (Decision::Wait { until: None }, vec![1, 86_400]));
}

#[test]
fn scaled_time_never_passes_a_timer_before_its_owner_acted() {
    let mut toys = [Toy::new("a", &[], &[600])];
    let mut keeper = joined(Mode::Rate(3600.0), &mut toys);
    assert_eq!(keeper.now(wall(1000)), at(600), "an hour has passed, but not the timer");
    assert_eq!(drive(&mut keeper, &mut toys, wall(1000)).1, [600, 3600]);
    assert_eq!(toys[0].fired, [600]);
}

#[test]
fn every_mode_stops_at_the_end_of_time() {
    let end = (END - at(0)).num_seconds();
    for (mode, start, timers, jumps) in [
        (Mode::Rate(1.0), -10_000, &[][..], false),
        (Mode::Rate(1.0), -10_000, &[-3, 0, 1], false),
        (Mode::Rate(1.0), -1500, &[30], false),
        (Mode::Rate(1e9), -10_000, &[30], false),
        (Mode::Eager, -10_000, &[], false),
        (Mode::Eager, -10_000, &[30], false),
        (Mode::Eager, -10_000, &[-5, 30], false),
        (Mode::Eager, -500_000, &[0], true),
        (Mode::Auto, -10_000, &[30], true),
        (Mode::Auto, -500_000, &[-3, 1], true),
        (Mode::Auto, -500_000, &[0], true),
        (Mode::Auto, 0, &[1], true),
    ] {
        let what = format!("{mode:?} from {start} ms with timers at {timers:?}");
        let timers: Vec<i64> = timers.iter().map(|seconds| end + seconds).collect();
        let mut toys = [Toy::new("a", &timers, &[]), Toy::new("b", &[], &[])];
        let mut keeper = joined_at(END + TimeDelta::milliseconds(start), mode, &mut toys);
        let seconds = if jumps { 0 } else { 20 };
        let (decision, grants) = wait(&mut keeper, &mut toys, 0..=seconds);
        assert_eq!(decision, Decision::Wait { until: None }, "{what}");
        assert!(start == 0 || grants.last() == Some(&end), "{what}: {grants:?}");
        let due: Vec<i64> = timers.into_iter().filter(|due| *due <= end).collect();
        assert_eq!(toys[0].fired, due, "{what}");
        assert_eq!((keeper.granted(), keeper.now(wall(i64::MAX / 1_000_000))), (END, END), "{what}");
        assert_eq!(wait(&mut keeper, &mut toys, 21..=25).1, [0; 0], "{what}");
    }
}

#[test]
fn no_command_and_no_start_passes_the_end_of_time() {
    let end = (END - at(0)).num_seconds();
    let mut toys = [Toy::new("a", &[end + 30], &[])];
    let mut keeper = joined_at(END - TimeDelta::seconds(10), Mode::Eager, &mut toys);
    keeper.await_mode(wall(0));
    assert_eq!(wait(&mut keeper, &mut toys, 0..=5).1, [0; 0]);
    assert!(!keeper.is_starting(HEAD), "a timer after the end does not delay the start");
    keeper.set_mode(Mode::Stepped, wall(6000));
    let past = keeper.advance(END + TimeDelta::seconds(1), TimeDelta::zero(), wall(6000)).expect_err("no such time");
    assert_eq!(past.to_string(), "that is further than time goes: it ends at 9999-12-31T23:59:59Z");
    keeper.advance(END, TimeDelta::zero(), wall(6000)).expect("nothing is at work");
    assert_eq!(wait(&mut keeper, &mut toys, 6..=6), (Decision::Done, vec![end]));
}

#[test]
fn time_stands_while_a_participant_works_or_lags_behind() {
    let mut toys = [Toy::new("a", &[5], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Barrier { number: 1, at: HEAD });
    let waiting = Decision::Wait { until: None };
    assert_eq!(keeper.decide(HEAD, wall(0)), waiting, "the API servers have not answered");
    keeper.barrier_stands(1, line_counts(&toys, 1), wall(0));
    assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Wait { until: Some(wall(1000)) }, "it has not seen it");
    assert_eq!(keeper.waits_for(wall(0)).participants, ["a"]);
    keeper.report("a", toys[0].idle(0, 1));
    // Its last action was a write: the log's head has changed.
    let Decision::Barrier { number, .. } = keeper.decide(Revision(11), wall(0)) else { panic!("again") };
    keeper.barrier_stands(number, line_counts(&toys, number), wall(0));
    keeper.report("a", toys[0].idle(0, 2));
    let Decision::Grant { grant, to } = keeper.decide(Revision(11), wall(0)) else { panic!("time moves") };
    assert_eq!((grant.number, to), (1, vec!["a".to_owned()]));
    assert_eq!(keeper.decide(Revision(11), wall(10)), Decision::Wait { until: Some(wall(1010)) });
}

/// Ten participants that read the dial, and one with timers: only that one is granted a step.
#[test]
fn a_dial_reader_without_timers_gets_no_grant() {
    let names = ["b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let mut toys: Vec<Toy> = names.iter().map(|name| Toy::new(name, &[], &[])).collect();
    toys.push(Toy::new("a", &[1, 2, 3, 4, 5], &[]));
    for toy in &mut toys {
        toy.reads_dial = true;
    }
    toys.push(Toy::new("teller", &[], &[]));
    let mut keeper = joined(Mode::Auto, &mut toys);
    assert_eq!(drive(&mut keeper, &mut toys, wall(0)).1, [1, 2, 3, 4, 5]);
    // The first one is that of the join.
    let granted: Vec<usize> = toys.iter().map(|toy| toy.granted - 1).collect();
    assert_eq!(granted, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 5], "a participant without a dial gets the time");
    assert_eq!(keeper.granted(), at(5));
}

#[test]
fn all_lines_of_watches_are_read_before_time_moves() {
    let pairs = |pairs: &[(u64, u64)]| pairs.iter().copied().collect();
    let line_counts = || LineCounts(pairs(&[(1, 0), (2, 4), (3, 7)]));
    for (read, unread, moves, what) in [
        (&[][..], &[][..], true, "no watch"),
        (&[(1, 0)], &[], true, "no line was sent"),
        (&[(2, 4), (3, 9)], &[], true, "all has been read, and more"),
        (&[(2, 3)], &[(2, 4)], false, "a line is on the way"),
        (&[(2, 4), (3, 0)], &[(3, 7)], false, "those of another watch are"),
        (&[(1, 0), (9, 1)], &[], false, "its end is on the way"),
    ] {
        let mut keeper = Timekeeper::new(at(0), Mode::Auto, wall(0));
        keeper.join("a", Join::default(), wall(0));
        keeper.report("a", Idle { watching: Watching(pairs(read)), next: Some(at(5)), ..Idle::default() });
        let Decision::Barrier { number: 1, .. } = keeper.decide(HEAD, wall(0)) else { panic!("{what}") };
        assert_eq!(keeper.unread("a"), None, "{what}: no report was requested yet");
        keeper.barrier_stands(1, line_counts(), wall(0));
        assert_eq!(keeper.waits_for(wall(0)).participants.is_empty(), moves, "{what}");
        assert_eq!(keeper.unread("a").map(|line_counts| line_counts.0).unwrap_or_default(), pairs(unread), "{what}");
        let decision = keeper.decide(HEAD, wall(0));
        assert_eq!(matches!(decision, Decision::Grant { .. }), moves, "{what}: {decision:?}");
    }
}

#[test]
fn no_two_watches_of_a_landscape_have_one_number() {
    let mut keeper = Timekeeper::new(at(0), Mode::Stepped, wall(0));
    let first = keeper.join("a", Join::default(), wall(0)).watches;
    let again = keeper.join("a", Join::default(), wall(0)).watches;
    let other = keeper.join("b", Join::default(), wall(0)).watches;
    assert_eq!((first, again, other), (Some(0), Some(1 << 32), Some(2 << 32)));
}

#[test]
fn an_opened_watch_needs_a_barrier() {
    let mut toys = [Toy::new("a", &[], &[])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.advance(at(0), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    assert_eq!(drive(&mut keeper, &mut toys, wall(0)).0, Decision::Done);
    assert!(keeper.is_settled(HEAD));
    keeper.disturb();
    assert!(!keeper.is_settled(HEAD));
    keeper.advance(at(0), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    assert_eq!(keeper.decide(HEAD, wall(0)), Decision::Barrier { number: 2, at: HEAD });
}

#[test]
fn a_participant_without_reports_is_dropped_after_30_s() {
    let mut toys = [Toy::new("a", &[5], &[]), Toy::new("mute", &[5], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    let mut answering = [toys.into_iter().next().expect("two toys")];
    let (end, grants) = wait(&mut keeper, &mut answering, 0..=29);
    assert_eq!((end, grants), (Decision::Wait { until: Some(wall(30_000)) }, vec![]));
    let (_, grants) = wait(&mut keeper, &mut answering, 30..=30);
    assert_eq!(grants, [0; 0]);
    assert_eq!(keeper.dropped().collect::<Vec<_>>(), ["mute"]);
    keeper.resume(wall(31_000));
    assert_eq!(wait(&mut keeper, &mut answering, 31..=31).1, [5]);
    assert_eq!(keeper.report("mute", Idle::default()), Report::NotJoined, "it has to join again");
}

/// A stalled machine prevents looks of the host and answers of its participants.
#[test]
fn a_stall_of_the_machine_drops_no_participant() {
    let mut toys = [Toy::new("a", &[5], &[]), Toy::new("late", &[5], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    let [toy, mut late] = toys;
    let mut answering = [toy];
    assert_eq!(wait(&mut keeper, &mut answering, 0..=20).1, [0; 0]);
    let (end, grants) = wait(&mut keeper, &mut answering, 90..=90);
    assert_eq!((end, grants), (Decision::Wait { until: Some(wall(91_000)) }, vec![]));
    assert_eq!(keeper.dropped().next(), None);
    let [toy] = answering;
    late.fired.clear();
    let mut both = [toy, late];
    assert_eq!(wait(&mut keeper, &mut both, 91..=91).1, [5]);
    assert_eq!(both[1].fired, [5], "it missed nothing");

    keeper.hold("pod gardenlet", wall(91_000));
    both[0].timers.push((9, true));
    keeper.report("a", both[0].idle(keeper.grants, 0));
    assert_eq!(wait(&mut keeper, &mut both, 200..=200).1, [0; 0], "what starts has had one second");
    assert_eq!(wait(&mut keeper, &mut both, 201..=208).1, [0; 0]);
    assert_eq!(wait(&mut keeper, &mut both, 209..=209).1, [9]);
}

#[test]
fn a_thread_of_the_host_is_never_dropped() {
    let mut toys = [Toy::new("a", &[5], &[]), Toy::new("own", &[5], &[])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.keep("own");
    keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    let [toy, own] = toys;
    let mut answering = [toy];
    let (end, grants) = wait(&mut keeper, &mut answering, 0..=300);
    assert_eq!((end, grants), (Decision::Wait { until: None }, vec![]));
    let waits_for = keeper.waits_for(wall(300_000)).participants;
    assert_eq!((keeper.dropped().next(), waits_for), (None, vec!["own".to_owned()]));
    let [toy] = answering;
    assert_eq!(wait(&mut keeper, &mut [toy, own], 301..=301).1, [5, 60]);
}

#[test]
fn a_command_stops_where_a_component_does_not_answer() {
    let advance = |keeper: &mut Timekeeper, ignores: bool| {
        let mut toys = [Toy::new("a", &[5, 9], &[]), Toy::new("mute", &[5], &[])];
        *keeper = joined(Mode::Stepped, &mut toys);
        keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
        if ignores {
            keeper.ignore_absence();
        }
        let [answering, _] = toys;
        let mut answering = [answering];
        wait(keeper, &mut answering, 0..=30).1
    };
    let mut keeper = Timekeeper::new(at(0), Mode::Stepped, wall(0));
    assert_eq!(advance(&mut keeper, false), [0; 0], "time stands where it was dropped");
    assert_eq!((keeper.target(), keeper.now(wall(31_000))), (None, at(0)));
    let absences =
        |keeper: &Timekeeper| -> Vec<_> { keeper.absences().map(|it| (it.name.clone(), it.since, it.until)).collect() };
    assert_eq!(absences(&keeper), [("mute".to_owned(), at(0), None)]);
    assert_eq!(advance(&mut keeper, true), [5, 9, 60], "it goes on where that was asked for");
    assert_eq!(absences(&keeper), [("mute".to_owned(), at(0), None)]);
    keeper.join("mute", Join::default(), wall(31_000));
    assert_eq!(absences(&keeper), [("mute".to_owned(), at(0), Some(at(60)))], "it is back");
}

#[test]
fn time_that_moves_by_itself_waits_for_an_absent_component() {
    type Act = fn(&mut Timekeeper, Instant);
    let ways: [(&str, Act); 4] = [
        ("it is back", |keeper, wall| {
            keeper.join("mute", Join::default(), wall);
        }),
        ("it has ended", |keeper, wall| keeper.leave("mute", wall)),
        ("the user wants it", Timekeeper::resume),
        ("another mode", |keeper, wall| keeper.set_mode(Mode::Auto, wall)),
    ];
    for mode in [Mode::Eager, Mode::Auto] {
        for (name, act) in ways {
            let mut toys = [Toy::new("a", &[40, 90], &[]), Toy::new("mute", &[40], &[])];
            let mut keeper = joined(mode, &mut toys);
            let [mut answering, _] = toys;
            wait(&mut keeper, std::slice::from_mut(&mut answering), 0..=100);
            let waits = keeper.waits_for(wall(100_000)).participants;
            assert_eq!((waits, keeper.is_stopped()), (vec!["mute".to_owned()], true), "{mode:?}");
            let stood = keeper.now(wall(100_000));
            assert!(stood <= at(40), "{mode:?}: {stood}");
            act(&mut keeper, wall(100_000));
            assert_eq!(keeper.now(wall(100_000)), stood, "{mode:?}: {name}");
            assert!(!keeper.is_stopped(), "{mode:?}: {name}");
        }
    }
    // A command that ignores absences continues, and the mode after it.
    let mut toys = [Toy::new("a", &[40, 90], &[]), Toy::new("mute", &[40], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    let [mut answering, _] = toys;
    keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    keeper.ignore_absence();
    wait(&mut keeper, std::slice::from_mut(&mut answering), 0..=100);
    assert_eq!((keeper.now(wall(100_000)), answering.fired), (at(90), vec![40, 90]));
}

#[test]
fn a_command_that_does_not_answer_is_no_absence() {
    let mut keeper = joined(Mode::Stepped, &mut [Toy::new("a", &[], &[])]);
    keeper.join("printer", Join { is_command: true, ..Join::default() }, wall(0));
    assert!(keeper.is_command("printer") && !keeper.is_command("a"));
    for second in 1..=30 {
        keeper.decide(HEAD, wall(second * 1000));
    }
    assert_eq!((keeper.dropped().collect::<Vec<_>>(), keeper.absences().count()), (vec!["printer"], 0));
}

#[test]
fn a_wait_for_an_unresponsive_server_restarts_the_limit() {
    let mut toys = [Toy::new("a", &[5], &[]), Toy::new("waits", &[5], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    let mut answering = [toys.into_iter().next().expect("two toys")];
    assert_eq!(wait(&mut keeper, &mut answering, 0..=20).1, [0; 0]);
    keeper.server_is_unresponsive("server", wall(20_000));
    assert_eq!(wait(&mut keeper, &mut answering, 21..=49).1, [0; 0]);
    assert_eq!(keeper.dropped().collect::<Vec<_>>(), ["server"]);
    keeper.server_answers("server");
    assert_eq!(keeper.dropped().next(), None);
    assert_eq!(wait(&mut keeper, &mut answering, 50..=50).1, [0; 0]);
    assert_eq!(keeper.dropped().collect::<Vec<_>>(), ["waits"]);
    keeper.leave("waits", wall(51_000));
    assert_eq!(keeper.dropped().next(), None, "a participant that has ended is not awaited");
    assert_eq!(wait(&mut keeper, &mut answering, 51..=51).1, [5]);
}

#[test]
fn a_command_stops_when_no_server_answers() {
    for (ignores, expected) in [(false, vec![]), (true, vec![5, 9, 60])] {
        let mut toys = [Toy::new("a", &[5, 9], &[])];
        let mut keeper = joined(Mode::Stepped, &mut toys);
        keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
        if ignores {
            keeper.ignore_absence();
        }
        keeper.set_outage(Some("server"), wall(0));
        assert_eq!(wait(&mut keeper, &mut toys, 0..=29).1, [0; 0], "it may answer again");
        let waits_for = keeper.waits_for(wall(29_000)).participants;
        assert_eq!((keeper.absent_server(), waits_for), (None, vec!["server".to_owned()]));
        assert_eq!(wait(&mut keeper, &mut toys, 30..=30).1, expected, "ignores: {ignores}");
        assert_eq!((keeper.target(), keeper.absent_server()), (None, Some("server")));
        let stands = keeper.granted();
        keeper.set_outage(None, wall(31_000));
        let absence = Absence { name: "server".to_owned(), since: at(0), until: Some(stands) };
        assert_eq!((keeper.absences().collect::<Vec<_>>(), keeper.absent_server()), (vec![&absence], None));
    }
}

#[test]
fn a_short_outage_of_all_servers_delays_time() {
    let mut toys = [Toy::new("a", &[5, 9], &[])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    keeper.set_outage(Some("server"), wall(0));
    assert_eq!(wait(&mut keeper, &mut toys, 0..=20).1, [0; 0]);
    keeper.set_outage(None, wall(20_000));
    assert_eq!(wait(&mut keeper, &mut toys, 21..=21), (Decision::Done, vec![5, 9, 60]));
    assert_eq!(keeper.absences().count(), 0);

    let mut keeper = joined(Mode::Rate(1.0), &mut []);
    keeper.set_outage(Some("server"), wall(2000));
    assert_eq!(keeper.now(wall(9000)), at(2), "time that runs by itself stands");
    keeper.set_outage(None, wall(10_000));
    assert_eq!(keeper.now(wall(13_000)), at(5));
}

#[test]
fn a_report_that_was_overtaken_counts_for_nothing() {
    let mut keeper = Timekeeper::new(at(0), Mode::Stepped, wall(0));
    let grant = keeper.join("a", Join::default(), wall(0)).number;
    let report = |sequence| Idle { sequence, grant, next: Some(at(60)), ..Idle::default() };
    assert_eq!(keeper.report("a", Idle { next: None, ..report(2) }), Report::Taken);
    assert_eq!(keeper.report("a", report(1)), Report::Overtaken);
    assert_eq!(keeper.next_timer(), None);
    assert_eq!(keeper.report("a", Idle { next: None, ..report(2) }), Report::Taken, "it may be repeated");
}

#[test]
fn a_hold_ends_after_ten_seconds_at_the_latest() {
    let mut toys = [Toy::new("a", &[5], &[])];
    let mut keeper = joined(Mode::Auto, &mut toys);
    keeper.hold("pod gardenlet", wall(0));
    assert_eq!(wait(&mut keeper, &mut toys, 0..=9), (Decision::Wait { until: Some(wall(10_000)) }, vec![]));
    assert_eq!(keeper.waits_for(wall(9000)).holds, ["pod gardenlet"]);
    assert_eq!(wait(&mut keeper, &mut toys, 10..=10).1, [5]);
}

#[test]
fn a_hold_stops_time_that_runs_by_itself() {
    for mode in [Mode::Eager, Mode::Rate(60.0)] {
        let mut toys = [Toy::new("a", &[], &[86_400])];
        let mut keeper = joined(mode, &mut toys);
        keeper.hold("pod gardenlet", wall(0));
        keeper.hold("pod gardener-apiserver", wall(2000));
        assert_eq!(drive(&mut keeper, &mut toys, wall(5000)), (Decision::Wait { until: Some(wall(6000)) }, vec![]));
        assert_eq!(keeper.now(wall(5000)), at(0));
        keeper.release("pod gardenlet", wall(6000));
        assert_eq!(keeper.now(wall(6000)), at(0), "the other one lasts");
        keeper.release("pod gardener-apiserver", wall(7000));
        keeper.release("pod gardener-apiserver", wall(9000));
        let passed = if mode == Mode::Eager { 3 } else { 180 };
        assert_eq!(keeper.now(wall(10_000)), at(passed), "{mode:?}: from where it stood on");
        assert_eq!(drive(&mut keeper, &mut toys, wall(10_000)).1, [passed]);
    }
}

#[test]
fn a_pause_stops_time_and_a_command_still_moves_it() {
    let mut toys = [Toy::new("a", &[5], &[])];
    let mut keeper = joined(Mode::Eager, &mut toys);
    keeper.pause(wall(500));
    assert_eq!(drive(&mut keeper, &mut toys, wall(5000)).1, [0; 0]);
    keeper.advance(at(6), TimeDelta::zero(), wall(5000)).expect("nothing is at work");
    assert_eq!(drive(&mut keeper, &mut toys, wall(5000)).1, [5, 6]);
    assert_eq!(keeper.now(wall(9000)), at(6));
    keeper.resume(wall(10_000));
    assert_eq!(keeper.now(wall(10_500)), at(6) + TimeDelta::milliseconds(500), "the pause itself did not pass");
}

#[test]
fn a_command_gives_others_time_after_each_step() {
    let mut toys = [Toy::new("a", &[5, 7], &[])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.advance(at(10), TimeDelta::seconds(2), wall(0)).expect("nothing is at work");
    let Decision::Barrier { number, .. } = keeper.decide(HEAD, wall(0)) else { panic!("a barrier first") };
    keeper.barrier_stands(number, line_counts(&toys, number), wall(0));
    keeper.report("a", toys[0].idle(0, number));
    keeper.reached_others(wall(100));
    assert_eq!(keeper.decide(HEAD, wall(100)), Decision::Wait { until: Some(wall(1100)) });
    keeper.reached_others(wall(1000));
    assert_eq!(keeper.decide(HEAD, wall(2000)), Decision::Wait { until: Some(wall(3000)) }, "it acted");
    keeper.disturb();
    assert_eq!(drive(&mut keeper, &mut toys, wall(3000)), (Decision::Done, vec![5, 7, 10]), "no client was reached");
    // Without the option time does not wait.
    keeper.advance(at(20), TimeDelta::zero(), wall(4000)).expect("nothing is at work");
    keeper.reached_others(wall(4000));
    keeper.disturb();
    assert_eq!(drive(&mut keeper, &mut toys, wall(4000)), (Decision::Done, vec![20]));
}

#[test]
fn a_command_that_is_halted_ends_where_time_stands() {
    let mut toys = [Toy::new("a", &[5, 7], &[])];
    let mut keeper = joined(Mode::Stepped, &mut toys);
    keeper.advance(at(10), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    loop {
        let decision = keeper.decide(HEAD, wall(0));
        match decision {
            Decision::Barrier { number, .. } => {
                keeper.barrier_stands(number, line_counts(&toys, number), wall(0));
                keeper.report("a", toys[0].idle(keeper.grants, number));
            }
            Decision::Grant { grant, to } if to == ["a"] => {
                toys[0].take(&mut keeper, &grant, 1);
                break keeper.halt();
            }
            Decision::Grant { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    keeper.disturb();
    assert_eq!(drive(&mut keeper, &mut toys, wall(0)), (Decision::Done, vec![]));
    assert_eq!((keeper.now(wall(9000)), keeper.target()), (at(5), None));
}

#[test]
fn a_live_lock_stops_jumps_until_it_is_acknowledged() {
    let live_lock = || LiveLock {
        key: eventlog::Key::new("garden", "r", "ns", "a"),
        actor: eventlog::Actor::default(),
        at: at(0),
        writes: 65,
        created: None,
    };
    for mode in [Mode::Eager, Mode::Auto] {
        let mut toys = [Toy::new("a", &[5], &[])];
        let mut keeper = joined(mode, &mut toys);
        assert!(keeper.is_pressed());
        keeper.stop_for(live_lock(), wall(0));
        assert!(!keeper.is_pressed());
        assert_eq!(drive(&mut keeper, &mut toys, wall(9000)), (Decision::Wait { until: None }, vec![]), "{mode:?}");
        assert_eq!(keeper.now(wall(9000)), at(0));
        keeper.resume(wall(9000));
        assert_eq!(drive(&mut keeper, &mut toys, wall(9000)).1, [5]);
    }
    // Time that runs with the wall clock continues, and a command ends.
    let mut keeper = joined(Mode::Rate(1.0), &mut []);
    assert!(!keeper.is_pressed());
    keeper.advance(at(60), TimeDelta::zero(), wall(0)).expect("nothing is at work");
    assert!(keeper.is_pressed());
    keeper.stop_for(live_lock(), wall(0));
    assert_eq!(keeper.target(), None);
    assert_eq!(keeper.now(wall(1000)), at(1));
    keeper.advance(at(60), TimeDelta::zero(), wall(1000)).expect("nothing is at work");
    assert_eq!(keeper.live_lock(), None, "a new command tries again");
}
