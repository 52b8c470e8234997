// SPDX-License-Identifier: Apache-2.0
//! Roll-outs: the passes of `domain::rollout` in a world of values, against vectors and against every small case.
//!
//! The world does what a controller does with the passes' decisions, and jumps to the next instant at which a Machine
//! changes once no pass changes anything.

use apimachinery::meta::IntOrString;
use serde_json::Value;

use crate::world::{self, Counts, World};

const VECTORS: &str = include_str!("vectors/rollout-hand.jsonl");

fn vectors(kind: &str) -> impl Iterator<Item = Value> {
    let parsed = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).expect("vectors are JSON"));
    parsed.filter(move |vector| vector["kind"] == kind)
}

#[test]
fn traces_that_need_no_fault_and_no_update_in_place_come_out_as_recorded() {
    let mut seen = 0;
    for vector in vectors("trace").filter(|vector| world::trace::missing(vector).is_none()) {
        seen += 1;
        assert_eq!(world::trace::play(&vector), Ok(()), "{}", vector["id"]);
    }
    assert_eq!(seen, 9);
}

/// Replicas 0..=5 with every surge and unavailability, absolute and relative, and machines of different speed: what
/// must hold at every observable moment holds, and the roll-out ends with new machines only.
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

/// Scaling to any other number in the middle of a roll-out ends with that number of new machines.
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
fn rule_vectors_come_out_as_recorded() {
    let mut seen = 0;
    for vector in vectors("rule") {
        let rule = vector["rule"].as_str().expect("rules have a name");
        let Some(found) = world::apply_rule(rule, &vector["input"], &vector["expect"]) else { continue };
        seen += 1;
        assert_eq!(found, vector["expect"], "{}", vector["id"]);
    }
    assert_eq!(seen, 42, "the validation rules are tested where they live");
}
