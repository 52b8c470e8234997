// SPDX-License-Identifier: Apache-2.0
//! What a new Kubernetes version forbids in the spec of a Shoot, and what it becomes.

use std::collections::BTreeMap;

use api::core::{AdmissionPlugin, KubeletConfig, KubeletConfigReserved, ShootSpec};
use apimachinery::meta::Quantity;

use crate::features::{admission_plugin, feature_gate};
use crate::release::Release;
use crate::versions::{ParseError, Version};

const CLIENT_AUTHENTICATION: &str = ".spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication is set to nil. \
    Reason: The field was no-op since its introduction and can no longer be enabled for Shoot clusters using Kubernetes \
    version 1.31+";
const OIDC_CONFIG: &str = ".spec.kubernetes.kubeAPIServer.oidcConfig is set to nil. Reason: The field has been \
    deprecated in favor of structured authentication and can no longer be enabled for Shoot clusters using Kubernetes \
    version 1.32+";

/// Changes what the Kubernetes versions in the spec no longer allow, and says so in a sentence each.
///
/// `old` and `new` are the control plane's versions before and after; the pools' versions are in the spec. Fields of
/// the control plane change when their boundary is crossed; feature gates, admission plugins and kubelets of pools are
/// looked at whatever the version was before.
///
/// # Errors
/// When the version of a pool with its own kubelet configuration does not parse.
pub fn migrate(
    spec: &mut ShootSpec,
    old: &Version,
    new: &Version,
    release: Release,
) -> Result<Vec<String>, ParseError> {
    // As in every comparison with a bound, pre-releases count as their release.
    let (old, new) = (old.release(), new.release());
    let crosses = |minor: u64| old < Version::new(1, minor, 0) && new >= Version::new(1, minor, 0);
    let mut operations = Vec::new();

    if let Some(server) = &mut spec.kubernetes.kube_api_server {
        let had_client_authentication =
            server.oidc_config.as_mut().is_some_and(|oidc| crosses(31) && oidc.client_authentication.take().is_some());
        if had_client_authentication {
            operations.push(CLIENT_AUTHENTICATION.to_owned());
        }
        if crosses(32) && server.oidc_config.take().is_some() {
            operations.push(OIDC_CONFIG.to_owned());
        }
    }

    drop_feature_gates(spec, release, &mut operations);
    drop_admission_plugins(spec, release, &mut operations);

    if crosses(30)
        && let Some(kubelet) = &mut spec.kubernetes.kubelet
    {
        operations.extend(limit_swap(kubelet, "spec.kubernetes.kubelet"));
    }
    for_each_pool_kubelet(spec, |kubelet, path, version| {
        if *version >= Version::new(1, 30, 0) {
            operations.extend(limit_swap(kubelet, path));
        }
    })?;
    if crosses(31)
        && let Some(kubelet) = &mut spec.kubernetes.kubelet
    {
        operations.extend(move_system_reserved(kubelet, "spec.kubernetes.kubelet"));
    }
    for_each_pool_kubelet(spec, |kubelet, path, version| {
        if *version >= Version::new(1, 31, 0) {
            operations.extend(move_system_reserved(kubelet, path));
        }
    })?;
    Ok(operations)
}

/// Calls `each` with the kubelet configuration of every pool that has one, its path and its Kubernetes version.
fn for_each_pool_kubelet(
    spec: &mut ShootSpec,
    mut each: impl FnMut(&mut KubeletConfig, &str, &Version),
) -> Result<(), ParseError> {
    for (index, worker) in spec.provider.workers.iter_mut().enumerate() {
        let Some(kubernetes) = &mut worker.kubernetes else { continue };
        let version = kubernetes.version.as_ref().unwrap_or(&spec.kubernetes.version);
        if let Some(kubelet) = &mut kubernetes.kubelet {
            let version: Version = version.parse()?;
            each(kubelet, &format!("spec.provider.workers[{index}].kubernetes.kubelet"), &version.release());
        }
    }
    Ok(())
}

fn drop_feature_gates(spec: &mut ShootSpec, release: Release, operations: &mut Vec<String>) {
    let kubernetes = &mut spec.kubernetes;
    let version = &kubernetes.version;
    let mut gates_at = |gates: Option<&mut BTreeMap<String, bool>>, path: &str, version: &str| {
        let Some(gates) = gates else { return };
        let parsed = Version::parse(version);
        let mut dropped = Vec::new();
        gates.retain(|name, _| {
            let stays = parsed
                .as_ref()
                .is_ok_and(|version| feature_gate(name, release).is_some_and(|gate| gate.is_supported(version)));
            if !stays {
                dropped.push(name.clone());
            }
            stays
        });
        if !dropped.is_empty() {
            operations.push(format!(
                "Removed feature gates from \"{path}.featureGates\" because they are not supported in Kubernetes \
                 version {version:?}: {}",
                dropped.join(", ")
            ));
        }
    };
    let api_server = kubernetes.kube_api_server.as_mut().map(|config| &mut config.feature_gates);
    gates_at(api_server, "spec.kubernetes.kubeAPIServer", version);
    let controller_manager = kubernetes.kube_controller_manager.as_mut().map(|config| &mut config.feature_gates);
    gates_at(controller_manager, "spec.kubernetes.kubeControllerManager", version);
    let scheduler = kubernetes.kube_scheduler.as_mut().map(|config| &mut config.feature_gates);
    gates_at(scheduler, "spec.kubernetes.kubeScheduler", version);
    let proxy = kubernetes.kube_proxy.as_mut().map(|config| &mut config.feature_gates);
    gates_at(proxy, "spec.kubernetes.kubeProxy", version);
    let kubelet = kubernetes.kubelet.as_mut().map(|config| &mut config.feature_gates);
    gates_at(kubelet, "spec.kubernetes.kubelet", version);
    for (index, worker) in spec.provider.workers.iter_mut().enumerate() {
        let Some(own) = &mut worker.kubernetes else { continue };
        let path = format!("spec.provider.workers[{index}].kubernetes.kubelet");
        let version = own.version.as_ref().unwrap_or(version);
        gates_at(own.kubelet.as_mut().map(|config| &mut config.feature_gates), &path, version);
    }
}

fn drop_admission_plugins(spec: &mut ShootSpec, release: Release, operations: &mut Vec<String>) {
    let Some(server) = &mut spec.kubernetes.kube_api_server else { return };
    let version = Version::parse(&spec.kubernetes.version);
    let stays = |plugin: &AdmissionPlugin| {
        let known = admission_plugin(&plugin.name, release);
        version.as_ref().is_ok_and(|version| known.is_some_and(|known| known.is_supported(version)))
    };
    let mut dropped: Vec<String> =
        server.admission_plugins.iter().filter(|plugin| !stays(plugin)).map(|plugin| plugin.name.clone()).collect();
    if dropped.is_empty() {
        return;
    }
    dropped.sort();
    server.admission_plugins.retain(stays);
    operations.push(format!(
        "Removed admission plugins from \"spec.kubernetes.kubeAPIServer.admissionPlugins\" because they are not \
         supported in Kubernetes version {:?}: {}",
        spec.kubernetes.version,
        dropped.join(", ")
    ));
}

fn limit_swap(kubelet: &mut KubeletConfig, path: &str) -> Option<String> {
    let behavior =
        kubelet.memory_swap.as_mut()?.swap_behavior.as_mut().filter(|behavior| *behavior == "UnlimitedSwap")?;
    "LimitedSwap".clone_into(behavior);
    Some(format!(
        "{path}.memorySwap.swapBehavior is set to 'LimitedSwap'. Reason: 'UnlimitedSwap' cannot be used for Kubernetes \
         version 1.30 and higher."
    ))
}

fn move_system_reserved(kubelet: &mut KubeletConfig, path: &str) -> Option<String> {
    let system = kubelet.system_reserved.take()?;
    let sum = match kubelet.kube_reserved.take() {
        None => system,
        Some(kube) => KubeletConfigReserved {
            cpu: add(kube.cpu, system.cpu),
            memory: add(kube.memory, system.memory),
            ephemeral_storage: add(kube.ephemeral_storage, system.ephemeral_storage),
            pid: add(kube.pid, system.pid),
        },
    };
    kubelet.kube_reserved = Some(sum);
    Some(format!(
        ".{path}.systemReserved is added to .{path}.kubeReserved. Reason: The systemReserved field is forbidden for \
         Shoot clusters using Kubernetes version 1.31+, its value has to be added to kubeReserved"
    ))
}

fn add(left: Option<Quantity>, right: Option<Quantity>) -> Option<Quantity> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.plus(right)),
        (left, right) => left.or(right),
    }
}
