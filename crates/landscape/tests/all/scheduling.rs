// SPDX-License-Identifier: Apache-2.0
//! Scheduling of Shoots that fit no seed at first.

use api::core::{Condition, LastOperation, Seed, Shoot};
use api::kubernetes::core::Event;
use controller::{Api, Error, ListOptions};
use landscape::{Component, Landscape, Options, preset};
use process::Context;

fn events(landscape: &Landscape, admin: &Context) -> Vec<String> {
    let api = Api::<Event>::namespaced(admin, "garden", "garden-demo");
    let (mut events, _) = run(landscape, api.list(&ListOptions::default()));
    events.retain(|event| event.source.component == "shoot-scheduler");
    let text = |it: &Event| format!("{} {} {} ({})", it.r#type, it.reason, it.message, it.count);
    events.iter().map(text).collect()
}

#[track_caller]
fn run<T>(landscape: &Landscape, future: impl Future<Output = Result<T, Error>>) -> T {
    let result = landscape.run(future).unwrap_or_else(|failure| panic!("{failure}"));
    let result = result.unwrap_or_else(|error| panic!("{error}"));
    landscape.settle().unwrap_or_else(|failure| panic!("{failure}"));
    result
}

#[test]
fn an_unschedulable_shoot_is_scheduled_once_a_seed_fits() {
    let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
    let mut options = Options::new(1, start);
    let mut seed = options.seeds.remove(0);
    let mut landscape = Landscape::start(options).expect("a landscape that starts");
    let admin = landscape.client("admin");
    run(&landscape, preset::create(&admin));
    // Otherwise it would report that the Seed's gardenlet is missing.
    landscape.stop_component(&Component::ControllerManager).expect("it stops");

    let seeds = Api::<Seed>::all(&admin, "garden");
    seed.spec.settings.get_or_insert_default().scheduling.get_or_insert_default().visible = false;
    let created = run(&landscape, seeds.create(&seed));
    let mut ready = created.clone();
    ready.status.last_operation = Some(LastOperation::default());
    ready.status.conditions =
        vec![Condition { r#type: "GardenletReady".to_owned(), status: "True".to_owned(), ..Condition::default() }];
    let hidden = run(&landscape, seeds.update_status(&created, &ready));

    let shoots = Api::<Shoot>::namespaced(&admin, "garden", "garden-demo");
    run(&landscape, shoots.create(&preset::shoot("local")));
    let text =
        "Failed to schedule Shoot: none of the 1 seeds is valid for scheduling (not deleting, visible and ready)";
    let shoot = run(&landscape, shoots.get("local"));
    let operation = shoot.status.last_operation.expect("a last operation");
    assert_eq!(
        (operation.r#type.as_str(), operation.state.as_str(), operation.progress, operation.description.as_str()),
        ("Create", "Pending", 0, text)
    );
    assert_eq!(events(&landscape, &admin), [format!("Warning SchedulingFailed {text} (1)")]);

    let timers = landscape.counts().timers;
    landscape.run_until(start + chrono::TimeDelta::minutes(50)).expect("time passes");
    assert_eq!(events(&landscape, &admin).len(), 1, "nothing changed, nothing is said again");
    assert_eq!(landscape.counts().timers, timers, "nothing is retried by a timer");

    let mut visible = hidden.clone();
    visible.spec.settings.get_or_insert_default().scheduling.get_or_insert_default().visible = true;
    run(&landscape, seeds.update(&hidden, &visible));
    let shoot = run(&landscape, shoots.get("local"));
    assert_eq!(shoot.spec.seed_name.as_deref(), Some("local"));
    let said = events(&landscape, &admin);
    assert_eq!(said[1..], ["Normal SchedulingSuccessful Scheduled to seed 'local' (1)"]);
}
