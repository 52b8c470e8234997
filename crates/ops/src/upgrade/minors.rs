// SPDX-License-Identifier: Apache-2.0
//! Changes of each minor on the way to a version, and the affected objects.

use domain::skew::notes::{ShootVersions, gates_gone};
use domain::skew::releases::{GateEvent, first_release};
use domain::skew::{Component, GardenerVersion};
use domain::upgrade::changes::{Change, Changes, of_minor};
use domain::versions::{Version, normalize};
use serde_json::{Value, json};

use crate::spelling::first_of;
use crate::upgrade::fleet::Fleet;

/// Maximum number of Shoots that are listed.
const NAMED: usize = 3;

/// A minor version with its changes.
#[derive(Clone, Debug)]
pub struct Minor {
    number: u64,
    changes: Changes,
    /// Clusters on Kubernetes versions whose support ends.
    dropped: Vec<String>,
    /// Settings that prevent components from starting: each with the component and upstream's message.
    gone: Vec<String>,
    /// Changes, each with the Shoots that it may affect.
    hit: Vec<(Change, Vec<String>)>,
}

/// Returns the minors above the oldest component, up to the target. Other majors are unknown.
pub fn on_the_way(fleet: &Fleet, target: &GardenerVersion) -> Vec<Minor> {
    let own = fleet.landscape.instances.iter().filter(|one| one.component != Component::Extension);
    let oldest = own.filter_map(|one| GardenerVersion::parse(&one.version)).min();
    let (Some(oldest), (1, last)) = (oldest, target.minor()) else { return Vec::new() };
    let clusters = fleet.all_clusters();
    (oldest.minor().1.saturating_add(1)..=last).map(|minor| of(minor, fleet, &clusters)).collect()
}

fn of(minor: u64, fleet: &Fleet, clusters: &[(String, String)]) -> Minor {
    let changes = of_minor(minor);
    let is_dropped = |version: &str| {
        Version::parse(&normalize(version))
            .is_ok_and(|version| version.major == 1 && changes.kubernetes_dropped.contains(&version.minor))
    };
    let dropped = clusters.iter().filter(|(_, version)| is_dropped(version));
    let dropped = dropped.map(|(name, version)| format!("{name} ({version})")).collect();
    // A removal that already applies one minor earlier is reported there.
    let release = |minor| GardenerVersion::release(1, minor, 0);
    let before = gates_gone(&release(minor - 1), &fleet.gates);
    let settings = |noted: &str| noted.split(", with which").next().unwrap_or_default().to_owned();
    let known: Vec<String> = before.iter().map(|note| settings(&note.text)).collect();
    let gone = gates_gone(&release(minor), &fleet.gates).into_iter().map(|note| note.text);
    let gone = gone.filter(|text| !known.contains(&settings(text))).collect();
    let hit = |change: &Change| {
        let is_hit = |shoot: &&ShootVersions| change.scope.may_hit(shoot);
        (*change, fleet.shoots.iter().filter(is_hit).map(|shoot| shoot.name.clone()).collect())
    };
    let hit = changes.rows.iter().map(hit).collect();
    Minor { number: minor, changes, dropped, gone, hit }
}

const fn becomes(event: GateEvent) -> &'static str {
    match event {
        GateEvent::Added => "new, off by default",
        GateEvent::AddedOn => "new, on by default",
        GateEvent::TurnsOn => "is on by default",
        GateEvent::IsLocked => "is on and locked",
        GateEvent::Removed => "is removed; what it guarded happens",
    }
}

/// Formats the minor as JSON.
pub fn object(minor: &Minor) -> Value {
    let Minor { number, changes, dropped, gone, hit } = minor;
    let version = |minor: &u64| format!("1.{minor}");
    let gates = changes.gates.iter().map(|(name, components, event)| {
        json!({ "name": name, "components": components.split(',').collect::<Vec<_>>(), "change": becomes(*event) })
    });
    let components = hit.iter().map(|(change, shoots)| {
        json!({
            "component": change.what,
            "kind": change.kind.as_str(),
            "how": change.how,
            "scope": change.scope.words(),
            "restartsKubeApiserver": change.restarts_kube_apiserver,
            "shoots": shoots,
        })
    });
    let released = first_release(*number);
    json!({
        "minor": version(number),
        "released": released.as_ref().map(|(date, _)| date.to_string()),
        "newestPatch": released.map(|(_, newest)| newest.to_string()),
        "gates": gates.collect::<Vec<Value>>(),
        "gatesGone": gone,
        "kubernetes": {
            "supported": changes.kubernetes_gained.iter().map(version).collect::<Vec<_>>(),
            "dropped": changes.kubernetes_dropped.iter().map(version).collect::<Vec<_>>(),
            "clusters": dropped,
        },
        "components": components.collect::<Vec<Value>>(),
    })
}

/// Formats the minor as lines of text.
pub fn lines(minor: &Minor, fleet: &Fleet) -> Vec<String> {
    let Minor { number, changes, dropped, gone, hit } = minor;
    let names = |names: &[String]| first_of(names.iter().map(String::as_str), NAMED);
    let versions = |minors: &[u64]| minors.iter().map(|minor| format!("1.{minor}")).collect::<Vec<_>>().join(", ");
    let released = first_release(*number)
        .map_or_else(String::new, |(date, newest)| format!(" (released on {date}; newest known patch {newest})"));
    let mut lines = vec![format!("1.{number}{released}")];
    for (name, components, event) in &changes.gates {
        lines.push(format!("  gate {name} ({}): {}", components.replace(',', ", "), becomes(*event)));
    }
    lines.extend(gone.iter().map(|text| format!("  hits: {text}")));
    if !changes.kubernetes_gained.is_empty() {
        lines.push(format!("  Kubernetes: support for {} from here on", versions(&changes.kubernetes_gained)));
    }
    if !changes.kubernetes_dropped.is_empty() {
        let affected = if dropped.is_empty() { "no cluster that is given".to_owned() } else { names(dropped) };
        lines.push(format!(
            "  Kubernetes: no support any more for {}; hits: {affected}",
            versions(&changes.kubernetes_dropped)
        ));
    }
    for (change, shoots) in hit {
        let restarts = if change.restarts_kube_apiserver { "; kube-apiserver restarts" } else { "" };
        let affected = match (shoots.len(), fleet.shoots.len()) {
            (0, _) | (_, 0) => change.scope.words(),
            (some, all) => format!("{}: {some} of {all} given, {}", change.scope.words(), names(shoots)),
        };
        lines.push(format!("  {} {}: {}{restarts}; hits {affected}", change.kind.as_str(), change.what, change.how));
    }
    lines.push(format!("  always: {}", changes.always()));
    lines
}
