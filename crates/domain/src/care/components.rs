// SPDX-License-Identifier: Apache-2.0
//! Checks of conditions `APIServerAvailable`, `ControlPlaneHealthy`, `ObservabilityComponentsHealthy` and
//! `SystemComponentsHealthy`.

use super::conditions::Finding;

/// Inputs of the checks: a Deployment, StatefulSet or DaemonSet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Name of the object.
    pub name: String,
    /// Value of `metadata.generation`.
    pub generation: i64,
    /// Value of `status.observedGeneration`.
    pub observed_generation: i64,
    /// Desired number of replicas (of a DaemonSet: pods).
    pub replicas: i32,
    /// Number of replicas of the current template (`status.updatedReplicas`).
    pub updated_replicas: i32,
    /// Number of available (of a StatefulSet: ready) replicas.
    pub available_replicas: i32,
}

impl Workload {
    /// Returns the reason for which it is unhealthy; `None` if it is healthy.
    pub fn problem(&self) -> Option<String> {
        if self.observed_generation < self.generation {
            return Some(format!("observed generation outdated ({}/{})", self.observed_generation, self.generation));
        }
        // A Deployment with more than one replica is available with one replica less while it rolls out.
        let required = if self.replicas > 1 { self.replicas - 1 } else { self.replicas };
        (self.available_replicas < required).then(|| {
            "condition \"Available\" has invalid status False (expected True) due to MinimumReplicasUnavailable: \
             Deployment does not have minimum availability."
                .to_owned()
        })
    }

    /// True if every replica is of the current template and available.
    pub fn is_rolled_out(&self) -> bool {
        self.observed_generation >= self.generation
            && self.updated_replicas >= self.replicas
            && self.available_replicas >= self.replicas
    }
}

/// Checks `APIServerAvailable`: kube-apiserver is reachable.
pub fn api_server(kube_apiserver: Option<&Workload>) -> Finding {
    match kube_apiserver {
        Some(workload) if workload.available_replicas > 0 => Finding::passed(
            "HealthzRequestSucceeded",
            "API server /healthz endpoint responded with success status code.",
        ),
        _ => Finding::failed("APIServerDown", "Could not reach API server during client initialization."),
    }
}

/// Checks `ControlPlaneHealthy`: the required Deployments and etcds exist and are healthy. Lists are in name order.
pub fn control_plane(
    required_deployments: &[&str],
    deployments: &[Workload],
    required_etcds: &[&str],
    etcds: &[Workload],
) -> Finding {
    let missing = |required: &[&str], present: &[Workload]| {
        let mut names: Vec<String> = required
            .iter()
            .filter(|name| !present.iter().any(|workload| workload.name == **name))
            .map(|name| (*name).to_owned())
            .collect();
        names.sort();
        names
    };
    let missing_deployments = missing(required_deployments, deployments);
    if !missing_deployments.is_empty() {
        let message = format!("Missing required deployments: [{}]", missing_deployments.join(" "));
        return Finding::failed("DeploymentMissing", message);
    }
    let of = |required: &[&str], present: &'_ [Workload]| -> Option<(String, String)> {
        present
            .iter()
            .filter(|workload| required.contains(&workload.name.as_str()))
            .find_map(|workload| workload.problem().map(|problem| (workload.name.clone(), problem)))
    };
    if let Some((name, problem)) = of(required_deployments, deployments) {
        return Finding::failed("DeploymentUnhealthy", format!("Deployment \"{name}\" is unhealthy: {problem}"));
    }
    let missing_etcds = missing(required_etcds, etcds);
    if !missing_etcds.is_empty() {
        return Finding::failed("EtcdMissing", format!("Missing required etcds: [{}]", missing_etcds.join(" ")));
    }
    if let Some(etcd) = etcds.iter().find(|etcd| etcd.problem().is_some()) {
        let message = format!("Etcd extension resource \"{}\" is unhealthy: etcd is not ready", etcd.name);
        return Finding::failed("EtcdUnhealthy", message);
    }
    let stopped: Vec<&str> = deployments
        .iter()
        .filter(|workload| workload.replicas == 0 && required_deployments.contains(&workload.name.as_str()))
        .map(|workload| workload.name.as_str())
        .collect();
    if !stopped.is_empty() {
        let message = format!(
            "The following deployments have been scaled down to 0 replicas (perhaps by dependency-watchdog-prober): {}",
            stopped.join(", ")
        );
        return Finding::failed("ControllersScaledDown", message);
    }
    Finding::passed("ControlPlaneRunning", "All control plane components are healthy.")
}

/// Checks `ObservabilityComponentsHealthy`: always healthy, as no observability component is simulated that could fail.
pub fn observability() -> Finding {
    Finding::passed("ObservabilityComponentsRunning", "All observability components are healthy.")
}

/// Checks `SystemComponentsHealthy`: the tunnel into the cluster is established and the workload of `kube-system` is healthy.
///
/// `tunnel` is the workload of vpn-shoot, `None` if it is not deployed; a workerless Shoot does not have one.
pub fn system_components(is_workerless: bool, tunnel: Option<&Workload>, workloads: &[Workload]) -> Finding {
    if let Some(workload) = workloads.iter().find(|workload| workload.problem().is_some()) {
        let message = format!("{} is unhealthy: {}", workload.name, workload.problem().unwrap_or_default());
        return Finding::failed("ResourcesHealthy", message);
    }
    if !is_workerless {
        match tunnel {
            None => {
                return Finding::failed(
                    "NoTunnelDeployed",
                    "no tunnels are currently deployed to perform health-check on",
                );
            }
            Some(tunnel) if tunnel.available_replicas == 0 => {
                return Finding::failed("TunnelConnectionBroken", "Tunnel connection has not been established");
            }
            Some(_) => {}
        }
    }
    Finding::passed("SystemComponentsRunning", "All system components are healthy.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(name: &str, available: i32) -> Workload {
        Workload {
            name: name.to_owned(),
            generation: 1,
            observed_generation: 1,
            replicas: 1,
            updated_replicas: 1,
            available_replicas: available,
        }
    }

    #[track_caller]
    fn check(finding: &Finding, status: &str, reason: &str, message: &str) {
        assert_eq!((finding.status, finding.reason.as_str(), finding.message.as_str()), (status, reason, message));
    }

    #[test]
    fn control_plane_names_missing_and_unhealthy_deployments() {
        let etcds = [workload("etcd-events", 1), workload("etcd-main", 1)];
        let both = [workload("kube-apiserver", 1), workload("kube-scheduler", 1)];
        let required = ["kube-scheduler", "kube-apiserver"];
        let needed = ["etcd-main", "etcd-events"];
        check(
            &control_plane(&required, &both, &needed, &etcds),
            "True",
            "ControlPlaneRunning",
            "All control plane components are healthy.",
        );
        check(
            &control_plane(&required, &[], &needed, &etcds),
            "False",
            "DeploymentMissing",
            "Missing required deployments: [kube-apiserver kube-scheduler]",
        );
        check(
            &control_plane(&required, &both, &needed, &[]),
            "False",
            "EtcdMissing",
            "Missing required etcds: [etcd-events etcd-main]",
        );
        let down = [workload("kube-apiserver", 0), workload("kube-scheduler", 1)];
        assert_eq!(control_plane(&required, &down, &needed, &etcds).reason, "DeploymentUnhealthy");
        let stopped = [workload("kube-apiserver", 1), Workload { replicas: 0, ..workload("kube-scheduler", 0) }];
        check(
            &control_plane(&required, &stopped, &needed, &etcds),
            "False",
            "ControllersScaledDown",
            "The following deployments have been scaled down to 0 replicas (perhaps by dependency-watchdog-prober): \
             kube-scheduler",
        );
    }

    #[test]
    fn api_server_is_available_while_one_replica_is() {
        check(
            &api_server(Some(&workload("kube-apiserver", 1))),
            "True",
            "HealthzRequestSucceeded",
            "API server /healthz endpoint responded with success status code.",
        );
        check(
            &api_server(Some(&workload("kube-apiserver", 0))),
            "False",
            "APIServerDown",
            "Could not reach API server during client initialization.",
        );
    }

    #[test]
    fn system_components_need_a_tunnel_unless_workerless() {
        let tunnel = workload("vpn-shoot", 1);
        check(
            &system_components(false, Some(&tunnel), std::slice::from_ref(&tunnel)),
            "True",
            "SystemComponentsRunning",
            "All system components are healthy.",
        );
        check(
            &system_components(false, None, &[]),
            "False",
            "NoTunnelDeployed",
            "no tunnels are currently deployed to perform health-check on",
        );
        assert_eq!(system_components(true, None, &[]).status, "True");
    }
}
