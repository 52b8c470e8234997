// SPDX-License-Identifier: Apache-2.0
//! Index of the past: at any moment its rows equal the API's exact lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::core::{CloudProfile, NamespacedCloudProfile, Project, Seed, Shoot};
use api::kubernetes::apps::Deployment;
use api::kubernetes::core::Node;
use api::machine::Machine;
use apimachinery::Resource;
use chrono::TimeDelta;
use clock::Random;
use controller::Api;
use domain::forecast::{self, Offer, Settings};
use domain::release::DOCUMENTED;
use eventlog::{EventLog, Revision};
use landscape::Options;
use ops::gates::{gates_for, pool_forms};
use ops::past::rows::{ComponentRow, Count, Map, ProfileRow, ProjectRow, Rows, SeedRow, ShootRow};
use ops::past::{Index, KEYFRAMES, NoMoment};
use process::Context;
use serde_json::Value;

use crate::support::{evening, force_update};

/// Number of compared moments.
const MOMENTS: u64 = 200;

/// Exact list of a kind in all clusters at a revision.
async fn list<K: Resource>(context: &Context, cluster: &str, at: Revision) -> Vec<(String, K)> {
    let path = format!(
        "/clusters/{cluster}/{}{}/{}/{}?resourceVersion={at}&resourceVersionMatch=Exact",
        if K::GROUP.is_empty() { "api" } else { "apis/" },
        K::GROUP,
        K::VERSION,
        K::PLURAL
    )
    .replace("api//", "api/");
    let tree = ops::read::tree(&context.transport, &path, "application/json").await.expect("it is retained");
    let items = tree["items"].as_array().cloned().unwrap_or_default();
    let read = |item: Value| {
        let annotations = &item["metadata"]["annotations"];
        let cluster = annotations[api::constants::annotation::CLUSTER].as_str().unwrap_or(cluster).to_owned();
        (cluster, K::read(item.to_string().as_bytes()).expect("an object"))
    };
    items.into_iter().map(read).collect()
}

fn compare<R: Clone + PartialEq + std::fmt::Debug>(what: &str, at: Revision, map: &Map<R>, expected: Vec<R>) {
    let mut rows: Vec<String> = map.values().map(|row| format!("{row:?}")).collect();
    let mut expected: Vec<String> = expected.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected, "{what} at {at}");
}

fn counts<K>(
    objects: &[(String, K)],
    name: impl Fn(&str, &K) -> String,
    is_ready: impl Fn(&K) -> bool,
) -> BTreeMap<String, Count> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for (cluster, object) in objects {
        let count = counts.entry(name(cluster, object)).or_default();
        count.all += 1;
        count.ready += i64::from(is_ready(object));
    }
    counts
}

/// Asserts that maintenance has the same effect on a Shoot and on the Shoot of its row; returns false if the row is
/// marked as incomplete.
fn is_foreseen_by_its_row(rows: &Rows, shoot: &Shoot) -> bool {
    let name = format!("{}/{}", shoot.metadata.namespace, shoot.metadata.name);
    let row = rows.shoots.get(name.as_str()).expect("a row");
    let now = row.created + TimeDelta::hours(1);
    let random = Random::new(1);
    let draw = |purpose: &str, key: &str, ordinal: u64| random.draw(purpose, key, ordinal);
    let mut scratch = Shoot::default();
    row.schedule(&mut scratch);
    assert_eq!(forecast::next_run(&scratch, now, &draw), forecast::next_run(shoot, now, &draw), "{name}");
    let spec = rows.specs.get(name.as_str()).expect("a specification");
    let Some(known) = Some(row).filter(|row| row.is_plain).and_then(|row| row.shoot(spec)) else { return false };
    assert_eq!(known.spec, shoot.spec, "{name}");
    let profile = rows.profiles.values().find(|profile| profile.key == row.spec.profile).expect("a profile");
    let offer = Offer { name: profile.key.name.clone(), first: profile.offered.clone(), changes: Vec::new() };
    let gates = gates_for(DOCUMENTED);
    let until = now + TimeDelta::days(90);
    let settings = Settings {
        from: now,
        until,
        draw: &draw,
        gates,
        disables_nginx_ingress: false,
        forms: &|_| pool_forms(DOCUMENTED),
    };
    let changes = |shoot: &Shoot| forecast::course(shoot, &offer, &settings).changes;
    assert_eq!(changes(&known), changes(shoot), "{name}");
    true
}

#[test]
fn rows_at_any_moment_equal_the_exact_lists() {
    let (audited, _) = force_update(Options::new(5, evening()));
    let landscape = &audited.landscape;
    let context = landscape.client("admin");
    let log: Arc<dyn EventLog> = Arc::new(landscape.log().clone());
    let (head, random) = (log.head().0, Random::new(1));
    let (index, quick) = (Index::new(log.clone()), Index::new(log));
    let compared = landscape.run(async {
        quick.catch_up().await.expect("it reads the log");
        assert!(quick.upto().0 >= head && !quick.is_behind(), "up to {}", quick.upto());
        let (mut shoots, mut plain) = (0, 0);
        for moment in 0..MOMENTS {
            let at = Revision(1 + random.draw("moment", "past", moment) % head);
            let rows = index.at(at).await.expect("it is retained");
            assert_eq!(quick.at(at).await.as_ref(), Ok(&rows), "of what was read before, at {at}");
            let own = list::<Shoot>(&context, "garden", at).await;
            shoots += own.len();
            compare("Shoots", at, &rows.shoots, own.iter().map(|(_, shoot)| ShootRow::of(shoot)).collect());
            plain += own.iter().filter(|(_, shoot)| is_foreseen_by_its_row(&rows, shoot)).count();
            let whole = list::<CloudProfile>(&context, "garden", at).await;
            let namespaced = list::<NamespacedCloudProfile>(&context, "garden", at).await;
            let profiles = whole.iter().map(|(_, profile)| ProfileRow::of(profile));
            let profiles = profiles.chain(namespaced.iter().map(|(_, profile)| ProfileRow::of_namespaced(profile)));
            compare("profiles", at, &rows.profiles, profiles.collect());
            let projects = list::<Project>(&context, "garden", at).await;
            compare("Projects", at, &rows.projects, projects.iter().map(|(_, it)| ProjectRow::of(it)).collect());
            let seeds = list::<Seed>(&context, "garden", at).await;
            compare("Seeds", at, &rows.seeds, seeds.iter().map(|(_, it)| SeedRow::of(it)).collect());
            let components = list::<Deployment>(&context, "runtime", at).await;
            compare(
                "components",
                at,
                &rows.components,
                components.iter().map(|(_, it)| ComponentRow::of(it)).collect(),
            );
            let machines = list::<Machine>(&context, "*", at).await;
            let machines = counts(
                &machines,
                |_, machine| machine.metadata.namespace.clone(),
                |machine| machine.status.current_status.phase == "Running",
            );
            let found = rows.machines.iter().map(|(name, count)| (name.to_string(), *count));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), machines, "Machines at {at}");
            let mut nodes = BTreeMap::new();
            for (_, shoot) in own.iter().filter(|(_, shoot)| !shoot.status.technical_id.is_empty()) {
                let cluster = &shoot.status.technical_id;
                nodes.extend(counts(
                    &list::<Node>(&context, cluster, at).await,
                    |_, _| cluster.clone(),
                    |node| node.status.conditions.iter().any(|it| it.r#type == "Ready" && it.status == "True"),
                ));
            }
            let found = rows.nodes.iter().map(|(name, count)| (name.to_string(), *count));
            assert_eq!(found.collect::<BTreeMap<_, _>>(), nodes, "Nodes at {at}");
        }
        assert_eq!(quick.keyframes(), 0, "none is needed");
        let last = quick.upto();
        assert_eq!(index.at(Revision(last.0 + 1)).await, Err(NoMoment::RevisionToCome(last)));
        (shoots, plain)
    });
    let (shoots, plain) = compared.expect("it runs");
    assert!(shoots > 100, "there are Shoots at most moments");
    assert!(plain > 100, "rows are enough for most: {plain} of {shoots}");
    assert!((1..=KEYFRAMES).contains(&index.keyframes()), "{} keyframes", index.keyframes());
}

#[test]
fn compacted_history_is_not_shown() {
    let (audited, _) = force_update(Options::new(5, evening()));
    let landscape = &audited.landscape;
    let log: Arc<dyn EventLog> = Arc::new(landscape.log().clone());
    let index = Index::new(log.clone());
    landscape
        .run(async {
            let at = Revision(log.head().0 / 2);
            let before = index.at(at).await.expect("it is retained");
            log.compact(Revision(at.0 + 10)).await.expect("it is not in the future");
            assert_eq!(index.at(at).await, Err(NoMoment::Forgotten(Revision(at.0 + 10))));
            assert!(!before.seeds.is_empty());
            index.at(log.head()).await.expect("the head");
            // New reads begin there, and earlier rows are removed.
            index.catch_up().await.expect("it reads the log");
            let again = index.at(Revision(at.0 + 20)).await.expect("it is retained");
            log.compact(Revision(at.0 + 30)).await.expect("it is not in the future");
            let forgotten = Err(NoMoment::Forgotten(Revision(at.0 + 30)));
            assert_eq!(index.at(Revision(at.0 + 20)).await, forgotten);
            index.catch_up().await.expect("it reads the log");
            assert_eq!(index.at(Revision(at.0 + 20)).await, forgotten);
            assert_ne!(index.at(Revision(at.0 + 40)).await.as_ref(), Ok(&again));
        })
        .expect("it runs");
    let shoots = landscape
        .run(Api::<Shoot>::all(&landscape.client("admin"), "garden").list(&controller::ListOptions::default()));
    assert_eq!(shoots.expect("it runs").expect("a list").0.len(), 1);
}
