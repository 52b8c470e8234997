// SPDX-License-Identifier: Apache-2.0
//! Roll-outs: the passes of `domain::rollout` in a simulated world, checked against vectors and all small cases.
//!
//! The world executes the passes' decisions as a controller does, and once no pass changes anything, advances to the next
//! instant at which a Machine changes.

use apimachinery::meta::IntOrString;
use domain::rollout::Limits;
use domain::rollout::deployment::Strategy;
use serde_json::Value;

use crate::world::{self, Counts, World, WorldFault, WorldFaultKind};

const VECTORS: &str = include_str!("vectors/rollout-hand.jsonl");

fn vectors(kind: &str) -> impl Iterator<Item = Value> {
    let parsed = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).expect("vectors are JSON"));
    parsed.filter(move |vector| vector["kind"] == kind)
}

#[test]
fn recorded_traces_are_reproduced() {
    let mut seen = 0;
    for vector in vectors("trace") {
        seen += 1;
        assert_eq!(world::trace::missing(&vector), None, "{}", vector["id"]);
        assert_eq!(world::trace::play(&vector), Ok(()), "{}", vector["id"]);
    }
    assert_eq!(seen, 21);
}

/// Replicas 0..=5 with every surge and unavailability, absolute and relative, and machines of different speed: all bounds
/// hold at every observable instant, and the roll-out ends with new machines only.
#[test]
fn roll_outs_keep_their_bounds_in_every_small_case() {
    let limits = ["0", "1", "2", "3", "6", "20%", "50%", "100%", "150%"];
    let mut cases = 0;
    for replicas in 0..=5 {
        for surge in limits {
            for unavailable in limits.into_iter().filter(|limit| *limit != "150%") {
                for uneven in [0, 1, 2] {
                    check_bounds(replicas, surge, unavailable, uneven);
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(cases, 6 * 9 * 8 * 3);
}

#[track_caller]
fn check_bounds(replicas: i32, surge: &str, unavailable: &str, uneven: i64) {
    let value = |text: &str| text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
    let context = format!("replicas {replicas} surge {surge} unavailable {unavailable} uneven {uneven}");
    let mut world = World::new(90, 30, 30);
    world.uneven = uneven;
    world.add("md", replicas, value(surge), value(unavailable));
    let (most_surge, most_unavailable) = world.limits("md");
    world.change_template();
    let mut before: Option<Counts> = None;
    for _ in 0..200 {
        let next = world.settle_checked(|counts| {
            assert!(counts.total <= replicas + most_surge, "{context}: {counts:?}");
            assert!(counts.running >= replicas - most_unavailable, "{context}: {counts:?}");
            if let Some(before) = &before {
                assert!(counts.new >= before.new && counts.old <= before.old, "{context}: {before:?} {counts:?}");
            }
            before = Some(counts.clone());
        });
        match next {
            Some(at) => world.now = at,
            None => break,
        }
    }
    let (_, last) = world.counts().into_iter().next().expect("one MachineDeployment");
    let expected = Counts { new: replicas, total: replicas, running: replicas, updated: replicas, ..Counts::default() };
    assert_eq!(last, expected, "{context}");
    assert!(world.is_clean(), "{context}: old sets and annotations are gone");
}

/// Replicas 0..=5 of a pool in one to three zones, with one machine at each position that has each fault: no more
/// machines than the surge and one that is being replaced allow, the required number available while nothing else is
/// faulty, no machine replaced twice, no pod deleted before its budget's time has passed, and only new machines at the
/// end.
#[test]
fn roll_outs_with_a_failing_machine_succeed() {
    let kinds = [
        WorldFaultKind::CreateError("ResourceExhausted".into()),
        WorldFaultKind::NeverJoins,
        WorldFaultKind::JoinsNotReady,
        WorldFaultKind::CriticalComponentsStuck,
        WorldFaultKind::VmDeleteError("Internal".into()),
        WorldFaultKind::Unhealthy,
        WorldFaultKind::NodeDeleted,
        WorldFaultKind::Budget { misconfigured: true, until: None },
        WorldFaultKind::Budget { misconfigured: false, until: None },
        WorldFaultKind::Budget { misconfigured: false, until: Some(250) },
        WorldFaultKind::Hangs,
    ];
    let mut cases = 0;
    for replicas in 0..=5 {
        for (surge, unavailable) in [(1, 0), (0, 1), (2, 1), (0, 2), (3, 3)] {
            for zones in 1..=3 {
                for zone in 1..=zones {
                    for position in 1..=2 * i64::from(replicas) {
                        for kind in &kinds {
                            check_failing(replicas, (surge, unavailable), zones, (zone, position), kind);
                            cases += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(cases > 8_000, "{cases}");
}

fn check_failing(
    replicas: i32,
    (surge, unavailable): (i32, i32),
    zones: usize,
    (zone, position): (usize, i64),
    kind: &WorldFaultKind,
) {
    let context =
        format!("{replicas} in {zones}, surge {surge}, unavailable {unavailable}: {zone}/{position} {kind:?}");
    let [surge, unavailable] = [surge, unavailable].map(IntOrString::Int);
    let shares = domain::worker_pool::zones::distribute(replicas, replicas, &surge, &unavailable, zones);
    let mut world = World::new(90, 30, 30);
    world.settings.drain_timeout = chrono::TimeDelta::minutes(10);
    for (index, share) in shares.iter().enumerate() {
        world.add(&format!("z{}", index + 1), share.minimum, share.max_surge.clone(), share.max_unavailable.clone());
    }
    let is_lasting = matches!(kind, WorldFaultKind::Unhealthy | WorldFaultKind::Budget { .. } | WorldFaultKind::Hangs);
    world.faults = vec![WorldFault {
        md: format!("z{zone}"),
        machine: Some(position),
        kind: kind.clone(),
        times: (!is_lasting).then_some(1),
    }];
    world.change_template();
    // A failed machine may be replaced in addition to the surge.
    let gives_up = !matches!(
        kind,
        WorldFaultKind::Budget { .. }
            | WorldFaultKind::Hangs
            | WorldFaultKind::VmDeleteError(_)
            | WorldFaultKind::CreateError(_)
    );
    for _ in 0..3_000 {
        let next = world.settle();
        for ((name, counts), share) in world.counts().iter().zip(&shares) {
            let (surge, unavailable) = world.limits(name);
            let is_hit = *name == format!("z{zone}") && gives_up;
            let most = share.minimum + surge + i32::from(is_hit);
            assert!(counts.total <= most, "{context}: {name} {counts:?}");
            let least = share.minimum - unavailable - i32::from(is_hit);
            assert!(counts.running >= least, "{context}: {name} {counts:?}");
        }
        match next {
            Some(at) => world.now = at,
            None => break,
        }
    }
    for ((name, counts), share) in world.counts().iter().zip(&shares) {
        let wanted = share.minimum;
        let expected = Counts { new: wanted, total: wanted, running: wanted, updated: wanted, ..Counts::default() };
        assert_eq!(*counts, expected, "{context}: {name} at {}", world.now);
    }
    assert!(world.is_clean(), "{context}");
    // An unhealthy kubelet is the only reason to delete a pod before ten minutes have passed.
    for (machine, after) in world.forced() {
        assert!(*after >= 600 || matches!(kind, WorldFaultKind::Unhealthy), "{context}: {machine} after {after} s");
    }
    let most = 2 * i64::from(replicas) + i64::from(gives_up);
    assert!(world.created() <= most, "{context}: {} machines were made", world.created());
}

/// Replicas 0..=5 that are updated in place, with every surge and unavailability up to 3 and one machine at each position
/// that is slow, whose agent is silent until it is replaced, or whose update fails once: bounds hold at every instant,
/// without a surge the machines stay the same, and a halted roll-out ends in the desired state with the next template.
#[test]
fn updates_in_place_keep_their_bounds_in_every_small_case() {
    let kinds = [WorldFaultKind::InPlaceDuration(400), WorldFaultKind::AgentSilent, WorldFaultKind::OsUpdateFails];
    let mut cases = 0;
    for replicas in 0..=5 {
        for surge in 0..=3 {
            for unavailable in 0..=3 {
                for position in 1..=i64::from(replicas).max(1) {
                    for kind in &kinds {
                        check_in_place(replicas, (surge, unavailable), position, kind);
                        cases += 1;
                    }
                }
            }
        }
    }
    assert_eq!(cases, 16 * 16 * 3);
}

fn check_in_place(replicas: i32, (surge, unavailable): (i32, i32), position: i64, kind: &WorldFaultKind) {
    let context = format!("{replicas} replicas, surge {surge}, unavailable {unavailable}: {position} {kind:?}");
    let limits = Limits { max_surge: IntOrString::Int(surge), max_unavailable: IntOrString::Int(unavailable) };
    let mut world = World::new(90, 30, 30);
    world.add_with("md", replicas, Strategy::InPlace { limits, manual: false });
    let (surge, unavailable) = world.limits("md");
    let before = world.machine_names();
    world.faults = vec![WorldFault { md: "md".to_owned(), machine: Some(position), kind: kind.clone(), times: None }];
    world.change_template();
    play(&mut world, replicas, (surge, unavailable), &context);
    if *kind != WorldFaultKind::InPlaceDuration(400) {
        world.faults.clear();
        world.change_template();
        play(&mut world, replicas, (surge, unavailable), &context);
    }
    let (_, last) = world.counts().into_iter().next().expect("one MachineDeployment");
    let expected = Counts { new: replicas, total: replicas, running: replicas, updated: replicas, ..Counts::default() };
    assert_eq!(last, expected, "{context}");
    assert!(world.is_clean(), "{context}: old sets and annotations are gone");
    if surge == 0 {
        assert_eq!(world.machine_names(), before, "{context}");
    }
}

/// Advances a world until nothing changes by itself, and checks its bounds.
fn play(world: &mut World, replicas: i32, (surge, unavailable): (i32, i32), context: &str) {
    for _ in 0..400 {
        let next = world.settle_checked(|counts| {
            assert!(counts.total <= replicas + surge, "{context}: {counts:?}");
            assert!(counts.running >= replicas - unavailable, "{context}: {counts:?}");
        });
        match next {
            Some(at) => world.now = at,
            None => return,
        }
    }
    panic!("{context}: it never ends");
}

/// Scaling to any other number during a roll-out ends with that number of new machines.
#[test]
fn scaling_during_a_roll_out_ends_with_new_machines_only() {
    for replicas in 1..=5 {
        for target in 0..=6 {
            for after in [0, 90, 150, 240] {
                let mut world = World::new(90, 30, 30);
                world.add("md", replicas, IntOrString::Int(1), IntOrString::Int(1));
                world.change_template();
                let mut scaled = false;
                for _ in 0..200 {
                    if !scaled && world.now >= after {
                        world.scale(target);
                        scaled = true;
                    }
                    match world.settle() {
                        Some(at) => world.now = at,
                        None if !scaled => world.now = after,
                        None => break,
                    }
                }
                let (_, last) = world.counts().into_iter().next().expect("one MachineDeployment");
                let expected =
                    Counts { new: target, total: target, running: target, updated: target, ..Counts::default() };
                assert_eq!(last, expected, "{replicas} to {target} after {after} s");
            }
        }
    }
}

#[test]
fn recorded_rule_vectors_are_reproduced() {
    let mut seen = 0;
    for vector in vectors("rule") {
        let rule = vector["rule"].as_str().expect("rules have a name");
        let Some(found) = world::apply_rule(rule, &vector["input"], &vector["expect"]) else { continue };
        seen += 1;
        assert_eq!(found, vector["expect"], "{}", vector["id"]);
    }
    assert_eq!(seen, 42, "the validation rules are tested where they live");
}
