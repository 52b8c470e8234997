// SPDX-License-Identifier: Apache-2.0
//! Behaviour of a controller whose server redelivers, forgets, fails or closes connections, and its costs when nothing
//! changes.

use std::sync::Arc;

use api::kubernetes::core::ConfigMap;
use chrono::TimeDelta;
use clock::Clock;
use controller::{Controller, DecodeCache, Error, ListOptions, ObjectKey, Requeue, Store};
use parking_lot::Mutex;
use process::Tasks;

use crate::support::{Refusal, World, start};

type Passes = Arc<Mutex<Vec<String>>>;

/// Passes so far, as `name=value`, or `name gone`.
fn take(seen: &Passes) -> Vec<String> {
    std::mem::take(&mut seen.lock())
}

/// Starts a controller whose passes record the objects that they read, and end with `outcome`.
fn observe(
    world: &World,
    outcome: impl Fn(&World, &ObjectKey) -> Result<Requeue, Error> + Send + Sync + 'static,
) -> (Passes, Store<ConfigMap>) {
    let mut controller = Controller::new("observer", &world.context);
    let store = controller.watch(world.api(), ListOptions::default(), |change| vec![change.key.clone()]);
    let seen = Passes::default();
    let (noted, read) = (seen.clone(), store.clone());
    let own = World {
        clock: world.clock.clone(),
        wall: world.wall.clone(),
        server: world.server.clone(),
        context: world.context.clone(),
    };
    world.context.tasks.spawn(controller.run(1, move |key| {
        let text = match read.get(&key) {
            Some(object) => format!("{}={}", key.name, object.data["value"]),
            None => format!("{} gone", key.name),
        };
        noted.lock().push(text);
        let outcome = outcome(&own, &key);
        async move { outcome }
    }));
    (seen, store)
}

#[test]
fn each_change_causes_one_pass_with_the_latest_state() {
    World::run(|world| async move {
        world.server.put("a", "1");
        world.server.put("b", "1");
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.settle().await;
        assert_eq!(take(&seen), ["a=1", "b=1"]);
        world.server.put("b", "2");
        world.server.put("a", "2");
        world.server.put("b", "3");
        world.server.remove("a");
        world.settle().await;
        assert_eq!(take(&seen), ["b=3", "a gone"]);
        assert_eq!(
            world.server.requests(),
            ["GET /api/v1/namespaces/x/configmaps 500", "WATCH /api/v1/namespaces/x/configmaps 2"]
        );
    });
}

#[test]
fn an_ended_watch_resumes_and_redelivery_causes_no_pass() {
    World::run(|world| async move {
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.server.put("a", "1");
        world.settle().await;
        world.server.redeliver("a");
        world.server.put("b", "1");
        world.server.redeliver("b");
        world.settle().await;
        assert_eq!(take(&seen), ["a=1", "b=1"]);
        world.server.requests();
        world.server.cut();
        world.server.put("b", "2");
        world.settle().await;
        assert_eq!(take(&seen), ["b=2"]);
        assert_eq!(world.server.requests(), ["WATCH /api/v1/namespaces/x/configmaps 2"]);
    });
}

#[test]
fn a_bookmark_spares_a_new_list_after_compaction() {
    World::run(|world| async move {
        let (_, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.server.put("a", "1");
        world.settle().await;
        world.server.bookmark();
        world.settle().await;
        world.server.compact();
        world.server.requests();
        world.server.cut();
        world.settle().await;
        assert_eq!(world.server.requests(), ["WATCH /api/v1/namespaces/x/configmaps 2"]);
    });
}

#[test]
fn a_list_after_410_finds_missed_deletions() {
    World::run(|world| async move {
        let (seen, store) = observe(&world, |_, _| Ok(Requeue::OnChange));
        for name in ["a", "b", "c"] {
            world.server.put(name, "1");
        }
        world.settle().await;
        take(&seen);
        world.server.requests();
        world.server.cut();
        world.server.remove("b");
        world.server.put("c", "2");
        world.server.put("d", "1");
        world.server.compact();
        world.settle().await;
        assert_eq!(take(&seen), ["b gone", "c=2", "d=1"]);
        assert_eq!(store.len(), 3);
        assert_eq!(
            world.server.requests(),
            [
                "WATCH /api/v1/namespaces/x/configmaps 3",
                "GET /api/v1/namespaces/x/configmaps 500",
                "WATCH /api/v1/namespaces/x/configmaps 6"
            ]
        );
    });
}

#[test]
fn long_lists_are_read_in_pages() {
    World::run(|world| async move {
        for number in 0..1201 {
            world.server.put(&format!("{number:04}"), "1");
        }
        let (seen, store) = observe(&world, |_, _| Ok(Requeue::OnChange));
        for _ in 0..10 {
            world.settle().await;
        }
        assert_eq!(store.len(), 1201);
        assert_eq!(take(&seen).len(), 1201);
        assert_eq!(
            world.server.requests()[..3],
            [
                "GET /api/v1/namespaces/x/configmaps 500",
                "GET /api/v1/namespaces/x/configmaps 500 500",
                "GET /api/v1/namespaces/x/configmaps 500 1000"
            ]
        );
    });
}

#[test]
fn events_are_read_across_chunks() {
    World::run(|world| async move {
        world.server.chunks(7);
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.settle().await;
        for number in 0..5 {
            world.server.put(&format!("{number}"), "ä\u{1f600}\n");
        }
        world.settle().await;
        assert_eq!(take(&seen), ["0=ä😀\n", "1=ä😀\n", "2=ä😀\n", "3=ä😀\n", "4=ä😀\n"]);
    });
}

#[test]
fn failures_back_off_on_landscape_time_until_a_change() {
    World::run(|world| async move {
        world.server.put("a", "1");
        let times = Arc::new(Mutex::new(Vec::new()));
        let noted = times.clone();
        let (seen, _) = observe(&world, move |world, _| {
            noted.lock().push(world.milliseconds());
            Err(Error::Decode("the test fails it".to_owned()))
        });
        world.pass(TimeDelta::milliseconds(200)).await;
        assert_eq!(*times.lock(), [0, 5, 15, 35, 75, 155]);
        take(&seen);
        world.server.put("a", "2");
        world.settle().await;
        assert_eq!(take(&seen), ["a=2"]);
        assert_eq!(times.lock().last(), Some(&200));
    });
}

#[test]
fn an_idle_controller_costs_no_timer_and_no_request() {
    World::run(|world| async move {
        world.server.put("a", "1");
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.settle().await;
        take(&seen);
        world.server.requests();
        let fired = world.clock.fired();
        world.pass(TimeDelta::days(365)).await;
        world.pass_wall(TimeDelta::days(1)).await;
        assert_eq!(world.clock.fired() - fired, 0);
        assert_eq!(world.clock.next_timer(), None);
        assert_eq!(world.wall.next_timer(), None);
        assert_eq!(take(&seen), Vec::<String>::new());
        assert_eq!(world.server.requests(), Vec::<String>::new());
    });
}

#[test]
fn keys_that_wait_for_one_instant_share_a_timer() {
    World::run(|world| async move {
        for number in 0..400 {
            world.server.put(&format!("{number:03}"), "1");
        }
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::At(start() + TimeDelta::hours(2))));
        world.settle().await;
        world.settle().await;
        assert_eq!(take(&seen).len(), 400);
        let fired = world.clock.fired();
        assert_eq!(world.clock.next_timer().map(|(at, _)| at), Some(start() + TimeDelta::hours(2)));
        // Passes at the instant request the same instant again: from here on they would run endlessly.
        world.clock.fire_next(None);
        assert_eq!(world.clock.fired() - fired, 1);
        assert_eq!(world.clock.next_timer(), None);
    });
}

#[test]
fn a_pass_repeats_at_its_instant_or_at_a_change() {
    World::run(|world| async move {
        world.server.put("a", "1");
        let (seen, _) = observe(&world, |world, _| {
            let next = start() + TimeDelta::minutes(10);
            Ok(if world.milliseconds() < 600_000 { Requeue::At(next) } else { Requeue::OnChange })
        });
        world.pass(TimeDelta::minutes(5)).await;
        assert_eq!(take(&seen), ["a=1"]);
        world.server.put("a", "2");
        world.pass(TimeDelta::minutes(10)).await;
        assert_eq!(take(&seen), ["a=2", "a=2"]);
        assert_eq!(world.clock.next_timer(), None);
    });
}

#[test]
fn passes_wait_for_an_unreachable_server_and_are_no_work() {
    World::run(|world| async move {
        for _ in 0..4 {
            world.server.refuse(Refusal::Unreachable);
        }
        world.server.put("a", "1");
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.settle().await;
        assert_eq!(world.server.requests().len(), 3, "one try, and two at once after it");
        assert_eq!(world.clock.next_timer().map(|(_, class)| class), Some(clock::TimerClass::Calendar));
        world.pass_wall(TimeDelta::milliseconds(800)).await;
        world.pass_wall(TimeDelta::milliseconds(1600)).await;
        assert_eq!(take(&seen), ["a=1"]);
        assert_eq!(world.clock.next_timer(), None);
        assert_eq!(world.clock.fired(), 0);
    });
}

#[test]
fn a_refused_list_is_repeated() {
    World::run(|world| async move {
        world.server.refuse(Refusal::Status(503, "ServiceUnavailable"));
        world.server.put("a", "1");
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::OnChange));
        world.settle().await;
        assert_eq!(take(&seen), ["a=1"]);
    });
}

#[test]
fn controllers_of_one_process_decode_each_version_once() {
    World::run(|world| async move {
        let stores: Vec<_> = (0..6).map(|_| observe(&world, |_, _| Ok(Requeue::OnChange)).1).collect();
        world.settle().await;
        world.server.put("a", "1");
        world.settle().await;
        let key = ObjectKey::new("garden", "x", "a");
        let objects: Vec<_> = stores.iter().map(|store| store.get(&key).expect("the object")).collect();
        assert!(objects.windows(2).all(|pair| Arc::ptr_eq(&pair[0], &pair[1])));
        let cache = world.context.transport.shared().get::<DecodeCache>();
        assert_eq!(cache.hits_and_misses(), (5, 1));
    });
}

#[test]
fn a_controller_ends_when_its_component_is_stopped() {
    World::run(|world| async move {
        let (seen, _) = observe(&world, |_, _| Ok(Requeue::WorkAt(start() + TimeDelta::hours(1))));
        world.server.put("a", "1");
        world.settle().await;
        assert_eq!(take(&seen), ["a=1"]);
        world.context.tasks.stop();
        world.context.tasks.ended().await;
        assert_eq!(world.clock.next_timer(), None);
        world.server.put("a", "2");
        world.pass(TimeDelta::hours(2)).await;
        assert_eq!(take(&seen), Vec::<String>::new());
    });
}

#[test]
fn a_paused_component_begins_no_pass_and_time_continues() {
    World::run(|world| async move {
        let (seen, _) = observe(&world, |world, key| {
            let at = Clock::new(world.clock.clone()).now() + TimeDelta::minutes(10);
            Ok(if *key.name == *"timed" { Requeue::WorkAt(at) } else { Requeue::OnChange })
        });
        world.server.put("timed", "1");
        world.settle().await;
        assert_eq!(take(&seen), ["timed=1"]);
        world.context.tasks.pause(true);
        world.server.put("a", "1");
        world.server.put("a", "2");
        world.server.put("b", "1");
        world.pass(TimeDelta::hours(5)).await;
        assert_eq!(take(&seen), [""; 0], "what changes and whose instant comes waits");
        assert_eq!(world.clock.fire_next(None), None, "no timer holds time up");
        world.context.tasks.pause(false);
        world.settle().await;
        assert_eq!(take(&seen), ["a=2", "b=1", "timed=1"]);
    });
}

#[test]
fn concurrent_passes_are_limited_and_one_per_key() {
    World::run(|world| async move {
        for name in ["a", "b", "c", "d", "e"] {
            world.server.put(name, "1");
        }
        let mut controller = Controller::new("slow", &world.context);
        controller.watch(world.api(), ListOptions::default(), |change| vec![change.key.clone()]);
        let running: Arc<Mutex<(Vec<ObjectKey>, usize)>> = Arc::default();
        let (noted, clock) = (running.clone(), world.context.clock.clone());
        world.context.tasks.spawn(controller.run(2, move |key| {
            let (noted, clock) = (noted.clone(), clock.clone());
            async move {
                {
                    let mut state = noted.lock();
                    assert!(!state.0.contains(&key), "two passes for {key}");
                    state.0.push(key.clone());
                    state.1 = state.1.max(state.0.len());
                }
                clock.sleep(TimeDelta::seconds(1), clock::TimerClass::Work).await;
                noted.lock().0.retain(|other| *other != key);
                Ok(Requeue::OnChange)
            }
        }));
        world.settle().await;
        world.server.put("a", "2");
        world.server.put("a", "3");
        world.pass(TimeDelta::seconds(10)).await;
        assert_eq!(running.lock().1, 2);
        assert_eq!(world.clock.fired(), 6, "five first passes and one more for the key that changed meanwhile");
    });
}

/// Source: sigs.k8s.io/controller-runtime, which recovers from panics of reconcilers.
#[test]
fn a_panicking_pass_delays_only_its_key() {
    World::run(|mut world| async move {
        let told: Arc<Mutex<Vec<(String, u32, i64)>>> = Arc::default();
        let ears = told.clone();
        world.context.tasks = Tasks::catching(Clock::new(world.wall.clone()), move |panicked| {
            let heard = (panicked.name, panicked.times, panicked.pause_seconds);
            ears.lock().push(heard);
        });
        let left = Arc::new(Mutex::new(2));
        let (seen, _) = observe(&world, move |_, key| {
            let mut left = left.lock();
            if &*key.name == "a" && *left > 0 {
                *left -= 1;
                panic!("on purpose");
            }
            Ok(Requeue::OnChange)
        });
        world.server.put("a", "1");
        world.server.put("b", "1");
        world.settle().await;
        assert_eq!(take(&seen), ["a=1", "b=1"]);
        world.server.put("b", "2");
        world.pass_wall(TimeDelta::milliseconds(990)).await;
        assert_eq!(take(&seen), ["b=2"], "the key that panicked waits, others do not");
        world.pass_wall(TimeDelta::milliseconds(20)).await;
        assert_eq!(take(&seen), ["a=1"]);
        world.pass_wall(TimeDelta::milliseconds(1900)).await;
        assert_eq!(take(&seen), [""; 0]);
        world.pass_wall(TimeDelta::milliseconds(200)).await;
        assert_eq!(take(&seen), ["a=1"], "the second pause is twice as long");
        assert_eq!(*told.lock(), [("observer".to_owned(), 1, 1), ("observer".to_owned(), 2, 2)]);
        assert!(!world.context.tasks.has_panicked());
    });
}

/// A panic ends the run of a simulation with a failure.
#[test]
fn a_panicking_pass_ends_a_component_that_cannot_continue() {
    World::run(|world| async move {
        let (seen, _) = observe(&world, |_, _| panic!("on purpose"));
        world.server.put("a", "1");
        world.settle().await;
        assert_eq!(take(&seen), ["a=1"]);
        assert!(world.context.tasks.has_panicked());
    });
}
