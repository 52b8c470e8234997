// SPDX-License-Identifier: Apache-2.0
//! Changes of a Shoot's spec that a new Kubernetes version requires.
//!
//! Source: pkg/controllermanager/controller/shoot/maintenance/reconciler.go, v1.120.0 to v1.149.0.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use api::core::{AdmissionPlugin, DNSProvider, KubeletConfig, KubeletConfigReserved, ShootSpec};
use apimachinery::meta::Quantity;

use super::binding::BINDING_MIGRATED;
use crate::features::{admission_plugin, feature_gate};
use crate::release::{Release, Releases};
use crate::versions::{ParseError, Version};

/// A change of the spec, and the releases of gardener-controller-manager that make it.
struct Migration {
    releases: Releases,
    change: Change,
    /// Sentence that reports it. `PATH` stands for the kubelet or the DNS provider.
    text: &'static str,
}

/// A change of the spec. Functions of single fields return `None` if nothing changes.
enum Change {
    /// Applies to the Shoot as a whole, when its Kubernetes version crosses a minor.
    Shoot(u64, fn(&mut ShootSpec) -> Option<()>),
    /// Applies to each DNS provider, when the Kubernetes version crosses a minor.
    DnsProvider(u64, fn(&mut DNSProvider) -> Option<()>),
    /// Applies to the Shoot's kubelets, when the Kubernetes version crosses a minor, and to those of a pool whose version
    /// is at least that minor, crossed or not.
    Kubelet(u64, fn(&mut KubeletConfig) -> Option<()>),
    /// Applies by the Kubernetes versions in the spec, crossed or not. Returns its own sentences.
    Always(fn(&mut ShootSpec, Release) -> Vec<String>),
}

/// All migrations in the order in which they are made and reported.
const MIGRATIONS: &[Migration] = &[
    Migration {
        releases: Releases::until(141),
        change: Change::Shoot(31, |spec| {
            let server = spec.kubernetes.kube_api_server.as_mut()?;
            server.oidc_config.as_mut()?.client_authentication.take().map(drop)
        }),
        text: ".spec.kubernetes.kubeAPIServer.oidcConfig.clientAuthentication is set to nil. Reason: The field was no-op \
            since its introduction and can no longer be enabled for Shoot clusters using Kubernetes version 1.31+",
    },
    Migration {
        releases: Releases::until(142),
        change: Change::Shoot(32, |spec| spec.kubernetes.kube_api_server.as_mut()?.oidc_config.take().map(drop)),
        text: ".spec.kubernetes.kubeAPIServer.oidcConfig is set to nil. Reason: The field has been deprecated in favor of \
            structured authentication and can no longer be enabled for Shoot clusters using Kubernetes version 1.32+",
    },
    Migration {
        releases: Releases::since(122),
        change: Change::Shoot(33, |spec| {
            spec.kubernetes.kube_controller_manager.as_mut()?.pod_eviction_timeout.take().map(drop)
        }),
        text: ".spec.kubernetes.kubeControllerManager.podEvictionTimeout is set to nil. Reason: The field was deprecated in \
            favour of `spec.kubernetes.kubeAPIServer.defaultNotReadyTolerationSeconds` and \
            `spec.kubernetes.kubeAPIServer.defaultUnreachableTolerationSeconds` and can no longer be enabled for Shoot \
            clusters using Kubernetes version 1.33+",
    },
    Migration {
        releases: Releases::since(123),
        change: Change::Shoot(33, |spec| {
            spec.kubernetes.cluster_autoscaler.as_mut()?.max_empty_bulk_delete.take().map(drop)
        }),
        text: ".spec.kubernetes.clusterAutoscaler.maxEmptyBulkDelete is set to nil. Reason: The field was deprecated in \
            favour of `.spec.kubernetes.clusterAutoscaler.maxScaleDownParallelism` and can no longer be enabled for Shoot \
            clusters using Kubernetes version 1.33+",
    },
    Migration {
        releases: Releases::since(136),
        change: Change::Shoot(35, |spec| {
            spec.kubernetes.kube_api_server.as_mut()?.enable_anonymous_authentication.take().map(drop)
        }),
        text: ".spec.kubernetes.kubeAPIServer.enableAnonymousAuthentication was removed. Reason: The field is no longer \
            supported for Shoot clusters using Kubernetes version 1.35+",
    },
    Migration { releases: Releases::since(127), change: Change::Shoot(34, migrate_binding), text: BINDING_MIGRATED },
    Migration {
        releases: Releases::since(136),
        change: Change::Shoot(35, |spec| spec.kubernetes.kube_scheduler.as_mut()?.kube_max_pd_vols.take().map(drop)),
        text: ".spec.kubernetes.kubeScheduler.kubeMaxPDVols was removed. Reason: kubeMaxPDVols is deprecated and not \
            respected by the kube-scheduler",
    },
    Migration {
        releases: Releases::since(136),
        change: Change::Shoot(35, |spec| {
            spec.kubernetes.kube_api_server.as_mut()?.watch_cache_sizes.as_mut()?.default.take().map(drop)
        }),
        text: ".spec.kubernetes.kubeAPIServer.watchCacheSizes.default was removed. Reason: the default size configuration \
            is deprecated and not respected by the kube-apiserver",
    },
    Migration {
        releases: Releases::since(136),
        change: Change::Shoot(35, |spec| spec.addons.take().map(drop)),
        text: ".spec.addons was removed. Reason: addons are not supported anymore for Kubernetes versions 1.35+",
    },
    Migration {
        releases: Releases::since(139),
        change: Change::DnsProvider(35, |provider| provider.secret_name.take().map(drop)),
        text: ".PATH.secretName was removed. Reason: The field is no longer supported for Shoot clusters using Kubernetes \
            version 1.35+",
    },
    Migration { releases: Releases::ALL, change: Change::Always(drop_feature_gates), text: "" },
    Migration { releases: Releases::ALL, change: Change::Always(drop_admission_plugins), text: "" },
    Migration {
        releases: Releases::until(133),
        change: Change::Kubelet(30, limit_swap),
        text: "PATH.memorySwap.swapBehavior is set to 'LimitedSwap'. Reason: 'UnlimitedSwap' cannot be used for Kubernetes \
            version 1.30 and higher.",
    },
    Migration {
        releases: Releases::until(141),
        change: Change::Kubelet(31, move_system_reserved),
        text: ".PATH.systemReserved is added to .PATH.kubeReserved. Reason: The systemReserved field is forbidden for Shoot \
            clusters using Kubernetes version 1.31+, its value has to be added to kubeReserved",
    },
];

/// Changes parts of the spec that its Kubernetes versions no longer allow, and returns a sentence for each.
///
/// `old` and `new` are the control plane's versions before and after; the pools' versions are in the spec. Fields of the
/// control plane change when their boundary is crossed; feature gates, admission plugins and kubelets of pools are
/// checked regardless of the previous version. A Shoot with a SecretBinding receives the name of the CredentialsBinding
/// that would be created for it; [`binding`](super::binding) selects the one to use.
///
/// # Errors
/// The version of a pool with its own kubelet configuration is invalid.
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
    for Migration { change, text, .. } in MIGRATIONS.iter().filter(|row| row.releases.contain(release)) {
        let told_of = |path: &str| text.replace("PATH", path);
        match change {
            Change::Shoot(minor, change) => {
                operations.extend(crosses(*minor).then(|| change(spec)).flatten().map(|()| (*text).to_owned()));
            }
            Change::DnsProvider(minor, change) if crosses(*minor) => {
                let providers = spec.dns.iter_mut().flat_map(|dns| &mut dns.providers).enumerate();
                operations.extend(providers.filter_map(|(index, provider)| {
                    change(provider).map(|()| told_of(&format!("spec.dns.providers[{index}]")))
                }));
            }
            Change::DnsProvider(..) => {}
            Change::Kubelet(minor, change) => {
                let of_shoot = spec.kubernetes.kubelet.as_mut().filter(|_| crosses(*minor));
                operations.extend(of_shoot.and_then(change).map(|()| told_of("spec.kubernetes.kubelet")));
                for_each_pool_kubelet(spec, |kubelet, path, version| {
                    if *version >= Version::new(1, *minor, 0) {
                        operations.extend(change(kubelet).map(|()| told_of(path)));
                    }
                })?;
            }
            Change::Always(change) => operations.extend(change(spec, release)),
        }
    }
    Ok(operations)
}

fn migrate_binding(spec: &mut ShootSpec) -> Option<()> {
    if spec.credentials_binding_name.is_some() {
        return None;
    }
    let name = spec.secret_binding_name.take()?;
    spec.credentials_binding_name = Some(super::binding::migrated_name(&name));
    Some(())
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

fn drop_feature_gates(spec: &mut ShootSpec, release: Release) -> Vec<String> {
    let mut operations = Vec::new();
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
    operations
}

fn drop_admission_plugins(spec: &mut ShootSpec, release: Release) -> Vec<String> {
    let Some(server) = &mut spec.kubernetes.kube_api_server else { return Vec::new() };
    let version = Version::parse(&spec.kubernetes.version);
    let stays = |plugin: &AdmissionPlugin| {
        let known = admission_plugin(&plugin.name, release);
        version.as_ref().is_ok_and(|version| known.is_some_and(|known| known.is_supported(version)))
    };
    let mut dropped: Vec<String> =
        server.admission_plugins.iter().filter(|plugin| !stays(plugin)).map(|plugin| plugin.name.clone()).collect();
    if dropped.is_empty() {
        return Vec::new();
    }
    dropped.sort();
    server.admission_plugins.retain(stays);
    vec![format!(
        "Removed admission plugins from \"spec.kubernetes.kubeAPIServer.admissionPlugins\" because they are not \
         supported in Kubernetes version {:?}: {}",
        spec.kubernetes.version,
        dropped.join(", ")
    )]
}

fn limit_swap(kubelet: &mut KubeletConfig) -> Option<()> {
    let behavior = kubelet.memory_swap.as_mut()?.swap_behavior.as_mut()?;
    if behavior != "UnlimitedSwap" {
        return None;
    }
    "LimitedSwap".clone_into(behavior);
    Some(())
}

fn move_system_reserved(kubelet: &mut KubeletConfig) -> Option<()> {
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
    Some(())
}

fn add(left: Option<Quantity>, right: Option<Quantity>) -> Option<Quantity> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.plus(right)),
        (left, right) => left.or(right),
    }
}
