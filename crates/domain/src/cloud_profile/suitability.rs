// SPDX-License-Identifier: Apache-2.0
//! Versions of a machine image that a worker pool can run: CPU architecture, capabilities, container runtimes, kubelet
//! version, and updates in place. Tests are those of maintenance (`maintenance/tests.rs`) and of the shown default image.

use api::core::{CloudProfileSpec, MachineImageVersion, Worker};

use super::machine_type;
use crate::capabilities::{self, machine_type_architecture, supports_architecture};
use crate::release::Releases;
use crate::shoot_facts::is_in_place;
use crate::versions::{Constraint, Moment, Operator, Version, compare_versions};

/// Releases in which maintenance updates a pool that is updated in place to versions that it can reach so.
const IN_PLACE_IS_FILTERED: Releases = Releases::since(124);
/// Releases in which the current version of such a pool counts as reachable.
const IN_PLACE_CURRENT_STAYS: Releases = Releases::since(128);

/// Returns the reason for which a pool cannot run a version of its image; `None` if it can.
pub fn unsuitable(
    entry: &MachineImageVersion,
    worker: &Worker,
    kubelet: &Version,
    profile: &CloudProfileSpec,
    at: Moment,
) -> Option<String> {
    let registered = capabilities::registered(profile);
    let of_pool = machine_type(profile, &worker.machine.r#type);
    let of_type = || of_pool.and_then(|one| machine_type_architecture(one, registered));
    let architecture = worker.machine.architecture.as_deref().or_else(of_type).unwrap_or("amd64");
    if !supports_architecture(entry, architecture, registered) {
        return Some(format!("does not support CPU architecture {architecture:?}"));
    }
    if let Some(machine_type) = of_pool.filter(|one| !capabilities::may_choose(profile, one, entry, at.release)) {
        let set = capabilities::go_map(&machine_type.capabilities);
        return Some(format!("does not support the capabilities {set} of machine type {:?}", machine_type.name));
    }
    if !supports_container_runtimes(entry, worker) {
        return Some("does not support the pool's container runtimes".to_owned());
    }
    if let Some(constraint) = &entry.kubelet_version_constraint
        && !Constraint::parse(constraint).is_ok_and(|constraint| constraint.is_met_by(kubelet))
    {
        return Some(format!("does not support kubelet {kubelet} (`{constraint}`)"));
    }
    unreachable_in_place(entry, worker, at)
}

/// Returns the reason for which a pool that is updated in place cannot reach a version of its image; `None` if it can, or if
/// it is not updated in place. Source: `filterForInPlaceUpdateConstraint` of
/// pkg/controllermanager/controller/shoot/maintenance @ v1.124.0, v1.128.0.
fn unreachable_in_place(entry: &MachineImageVersion, worker: &Worker, at: Moment) -> Option<String> {
    if !is_in_place(worker) || !IN_PLACE_IS_FILTERED.contain(at.release) {
        return None;
    }
    let current = worker.machine.image.as_ref().and_then(|image| image.version.as_deref());
    let current = current.filter(|version| !version.is_empty())?;
    let Some(updates) = entry.in_place_updates.as_ref().filter(|updates| updates.supported) else {
        return Some("does not support updates in place".to_owned());
    };
    if entry.version == current && IN_PLACE_CURRENT_STAYS.contain(at.release) {
        return None;
    }
    let Some(least) = &updates.min_version_for_update else {
        return Some("names no version that can be updated to it in place".to_owned());
    };
    let is_reached = compare_versions(least, Operator::LessOrEqual, current).unwrap_or(false);
    (!is_reached).then(|| format!("can be reached in place from {least} or later"))
}

fn supports_container_runtimes(entry: &MachineImageVersion, worker: &Worker) -> bool {
    let (name, wanted) = match &worker.cri {
        None => ("containerd", &[][..]),
        Some(cri) => (cri.name.as_str(), cri.container_runtimes.as_slice()),
    };
    entry.cri.iter().find(|cri| cri.name == name).is_some_and(|cri| {
        wanted.iter().all(|wanted| cri.container_runtimes.iter().any(|runtime| runtime.r#type == wanted.r#type))
    })
}
