// SPDX-License-Identifier: Apache-2.0
//! Rows of a list of faults: target, hits and state of each.

use api::terrarium::{Fault, FaultSpec};
use chrono::{DateTime, Utc};
use domain::fault::{self, Target};
use serde_json::{Value, json};

/// Formats a fault with its status as JSON for scripts.
pub fn object(fault: &Fault, now: DateTime<Utc>) -> Value {
    json!({
        "id": fault.metadata.name,
        "spec": fault.spec,
        "status": fault.status,
        "state": fault::state(fault, now).as_str(),
    })
}

/// Target of a fault, for example `Shoot garden-demo/local, pool a`.
pub fn place(spec: &FaultSpec) -> String {
    let parts = [
        spec.shoot.as_ref().map(|shoot| format!("Shoot {}/{}", shoot.namespace, shoot.name)),
        Some(&spec.pool).filter(|pool| !pool.is_empty()).map(|pool| format!("pool {pool}")),
        spec.zone.map(|zone| format!("zone {zone}")),
        spec.machine.map(|machine| format!("machine {machine}")),
        Some(&spec.node).filter(|node| !node.is_empty()).map(|node| format!("Node {node}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if !parts.is_empty() {
        return parts.join(", ");
    }
    match fault::kind(&spec.kind).map(|kind| kind.target) {
        Some(Target::Component) if !spec.instance.is_empty() => format!("Pod {}", spec.instance),
        Some(Target::Component) => spec.component.clone(),
        Some(Target::Seed) => format!("Seed {}", spec.seed_name),
        Some(Target::Machine) => "any machine".to_owned(),
        Some(Target::Shoot) | None => "any Shoot".to_owned(),
    }
}

/// Row of a list of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Name of the fault.
    pub id: String,
    /// Kind of the fault.
    pub kind: String,
    /// Target of the fault.
    pub place: String,
    /// `HITS/LIMIT`; `lasting` for a fault that acts continuously, whose hits are not counted.
    pub done: String,
    /// Landscape time and target of the last hit; `None`: no hit yet.
    pub last: Option<(DateTime<Utc>, String)>,
    /// Last instant at which it may hit; `None`: no limit.
    pub until: Option<DateTime<Utc>>,
    /// State of the fault at the instant of the list.
    pub state: &'static str,
    /// Settings, `NAME="VALUE"` each.
    pub settings: Vec<String>,
}

impl Row {
    /// Returns the row of a fault at an instant.
    pub fn of(fault: &Fault, now: DateTime<Utc>) -> Self {
        let (spec, status) = (&fault.spec, &fault.status);
        let times = if spec.always { "always".to_owned() } else { spec.times.unwrap_or(1).to_string() };
        Self {
            id: fault.metadata.name.clone(),
            kind: spec.kind.clone(),
            place: place(spec),
            done: match fault::kind(&spec.kind) {
                Some(kind) if kind.lasts => "lasting".to_owned(),
                _ => format!("{}/{times}", status.times),
            },
            last: status.last_time.map(|last| (last.0, status.last_target.clone())),
            until: spec.until.map(|until| until.0),
            state: fault::state(fault, now).as_str(),
            settings: spec.settings.iter().map(|(name, value)| format!("{name}={value:?}")).collect(),
        }
    }
}
