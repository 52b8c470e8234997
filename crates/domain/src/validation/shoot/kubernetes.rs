// SPDX-License-Identifier: Apache-2.0
//! Validation of the configuration of a Shoot's Kubernetes components.

use std::num::IntErrorKind;

use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::go::quote;
use apimachinery::meta::Duration;

use super::super::Errors;
use super::super::common::{invalid_duration, one_of};
use super::super::vertical_pod_autoscaler;
use super::autoscalers::cluster_autoscaler;
use super::kube_api_server::kube_api_server;
use super::kubelet;
use super::refused::{Field, refusal, refuse};
use super::shared::{control_plane_autoscaling, feature_gates, forbidden_for_workerless};
use crate::release::{Release, Releases};
use crate::versions::meets_constraint;

/// kube-proxy has the mode `NFTables`.
const NFTABLES: Releases = Releases::since(135);

/// The mode `NFTables` requires its feature gate for Kubernetes versions in which the gate is off by default.
const NFTABLES_KNOWS_ALPHA: Releases = Releases::until(141);

/// The size of a node's IPv6 pod network has its own field, `nodeCIDRMaskSizeIPv6`.
const NODE_CIDR_MASK_SIZE_IPV6: Releases = Releases::since(138);

/// Shoots have the setting `enableStaticTokenKubeconfig`.
const HAS_STATIC_TOKEN: Releases = Releases::until(122);

/// `kubeMaxPDVols` must be a positive number.
const VOLUMES_ARE_COUNTED: Releases = Releases::since(130);

pub(super) fn kubernetes(errors: &mut Errors, spec: &ShootSpec, workerless: bool, release: Release, path: &Path) {
    let kubernetes = &spec.kubernetes;
    let version = kubernetes.version.as_str();
    if version.is_empty() {
        errors.push(FieldError::required(&path.child("version"), "kubernetes version must not be empty"));
        return;
    }
    if kubernetes.enable_static_token_kubeconfig == Some(true) && HAS_STATIC_TOKEN.contain(release) {
        let text = "setting this field to true is not supported";
        errors.push(FieldError::invalid(&path.child("enableStaticTokenKubeconfig"), true, text));
    }
    if let Some(etcd) = &kubernetes.etcd {
        let path = path.child("etcd");
        for (field, config, memory) in [("main", &etcd.main, "300M"), ("events", &etcd.events, "60M")] {
            if let Some(autoscaling) = config.as_ref().and_then(|config| config.autoscaling.as_ref()) {
                let path = path.child(field).child("autoscaling");
                control_plane_autoscaling(errors, autoscaling, &[("memory", memory)], &path);
            }
        }
    }
    if let Some(server) = &kubernetes.kube_api_server {
        kube_api_server(errors, server, spec, (workerless, release), &path.child("kubeAPIServer"));
    }
    if let Some(manager) = &kubernetes.kube_controller_manager {
        let path = path.child("kubeControllerManager");
        kube_controller_manager(errors, manager, spec.networking.as_ref(), (version, release), workerless, &path);
    }
    if workerless {
        let fields = [
            ("kubeScheduler", kubernetes.kube_scheduler.is_some()),
            ("kubeProxy", kubernetes.kube_proxy.is_some()),
            ("kubelet", kubernetes.kubelet.is_some()),
            ("clusterAutoScaler", kubernetes.cluster_autoscaler.is_some()),
            ("verticalPodAutoScaler", kubernetes.vertical_pod_autoscaler.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
        return;
    }
    if let Some(scheduler) = &kubernetes.kube_scheduler {
        let path = path.child("kubeScheduler");
        if let Some(profile) = &scheduler.profile {
            one_of(errors, profile, &["balanced", "bin-packing"], &path.child("profile"));
        }
        if let Some(count) = &scheduler.kube_max_pd_vols {
            max_volumes(errors, count, version, release, &path.child("kubeMaxPDVols"));
        }
        feature_gates(errors, &scheduler.feature_gates, version, release, &path.child("featureGates"));
    }
    if let Some(proxy) = &kubernetes.kube_proxy {
        let path = path.child("kubeProxy");
        proxy_mode(errors, proxy, version, release, &path.child("mode"));
        feature_gates(errors, &proxy.feature_gates, version, release, &path.child("featureGates"));
    }
    if let Some(config) = &kubernetes.kubelet {
        kubelet::kubelet(errors, config, version, release, &path.child("kubelet"));
    }
    if let Some(autoscaler) = &kubernetes.cluster_autoscaler {
        cluster_autoscaler(errors, autoscaler, version, release, &path.child("clusterAutoscaler"));
    }
    if let Some(autoscaler) = &kubernetes.vertical_pod_autoscaler {
        let path = path.child("verticalPodAutoscaler");
        vertical_pod_autoscaler::of_shoot(errors, autoscaler, version, release, &path);
    }
}

/// Checks the maximum number of volumes of a node, which is a text.
///
/// Source: pkg/apis/core/validation/shoot.go @ v1.130.0 and v1.136.0 (`validateKubeMaxPDVols`).
fn max_volumes(errors: &mut Errors, count: &str, version: &str, release: Release, path: &Path) {
    if refuse(errors, Field::KubeMaxPdVols, version, release, path) || !VOLUMES_ARE_COUNTED.contain(release) {
        return;
    }
    let text = match count.parse::<i64>() {
        Ok(1..) => return,
        Ok(_) => "must be positive".to_owned(),
        Err(error) => {
            let is_large = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
            let why = if is_large { "value out of range" } else { "invalid syntax" };
            format!("conversion error: strconv.Atoi: parsing {}: {why}", quote(count))
        }
    };
    errors.push(FieldError::invalid(path, count, &text));
}

/// Checks the mode of kube-proxy.
fn proxy_mode(errors: &mut Errors, proxy: &KubeProxyConfig, version: &str, release: Release, path: &Path) {
    let Some(mode) = &proxy.mode else {
        errors.push(FieldError::required(path, "must be set when .spec.kubernetes.kubeProxy is set"));
        return;
    };
    let has_nftables = NFTABLES.contain(release);
    let modes: &[&str] = if has_nftables { &["IPTables", "IPVS", "NFTables"] } else { &["IPTables", "IPVS"] };
    one_of(errors, mode, modes, path);
    if mode != "NFTables" || !has_nftables {
        return;
    }
    let gate = proxy.feature_gates.get("NFTablesProxyMode").copied();
    let is_alpha = meets_constraint(version, "< 1.31").unwrap_or(false);
    let text = if NFTABLES_KNOWS_ALPHA.contain(release) && is_alpha {
        (gate != Some(true))
            .then_some("NFTables mode requires feature gate NFTablesProxyMode=true for Kubernetes < 1.31")
    } else {
        (gate == Some(false))
            .then_some("NFTables mode cannot be used when feature gate NFTablesProxyMode is explicitly set to false")
    };
    if let Some(text) = text {
        errors.push(FieldError::invalid(path, mode, text));
    }
}

/// Checks the sizes of the nodes' pod networks.
///
/// Source: pkg/api/core/validation/shoot.go, v1.137.0 to v1.149.0.
fn node_cidr_mask_sizes(
    errors: &mut Errors,
    manager: &KubeControllerManagerConfig,
    families: &[String],
    release: Release,
    path: &Path,
) {
    let (is_ipv4, is_ipv6) = (families == ["IPv4"], families == ["IPv6"]);
    let has_ipv6_size = NODE_CIDR_MASK_SIZE_IPV6.contain(release);
    let (size, size_ipv6) = (manager.node_cidr_mask_size, manager.node_cidr_mask_size_ipv6);
    let path_of = |field: &str| path.child(field);
    if size.is_some() && size_ipv6.is_some() && is_ipv6 {
        let text = "only one of nodeCIDRMaskSize or nodeCIDRMaskSizeIPv6 can be set for single-stack clusters";
        errors.push(FieldError::forbidden(&path_of("nodeCIDRMaskSize"), text));
    }
    let range_text = match size {
        Some(size) if is_ipv4 && !(16..=28).contains(&size) => Some("nodeCIDRMaskSize must be between 16 and 28"),
        Some(size) if is_ipv6 && has_ipv6_size && !(64..=124).contains(&size) => {
            Some("nodeCIDRMaskSize must be between 64 and 124 for IPv6 single-stack clusters")
        }
        _ => None,
    };
    if let Some(text) = range_text {
        errors.push(FieldError::invalid(&path_of("nodeCIDRMaskSize"), size, text));
    }
    let Some(size) = size_ipv6 else { return };
    let path = path_of("nodeCIDRMaskSizeIPv6");
    if is_ipv4 {
        let text = "nodeCIDRMaskSizeIPv6 cannot be set for IPv4 single-stack clusters";
        errors.push(FieldError::forbidden(&path, text));
    } else if !(64..=124).contains(&size) {
        errors.push(FieldError::invalid(&path, size, "nodeCIDRMaskSizeIPv6 must be between 64 and 124"));
    }
}

fn kube_controller_manager(
    errors: &mut Errors,
    manager: &KubeControllerManagerConfig,
    networking: Option<&Networking>,
    (version, release): (&str, Release),
    workerless: bool,
    path: &Path,
) {
    if workerless {
        let fields = [
            ("nodeCIDRMaskSize", manager.node_cidr_mask_size.is_some()),
            ("nodeCIDRMaskSizeIPv6", manager.node_cidr_mask_size_ipv6.is_some()),
            ("horizontalPodAutoscaler", manager.horizontal_pod_autoscaler.is_some()),
            ("podEvictionTimeout", manager.pod_eviction_timeout.is_some()),
            ("nodeMonitorGracePeriod", manager.node_monitor_grace_period.is_some()),
        ];
        forbidden_for_workerless(errors, &fields, path);
    } else {
        if let Some(networking) = networking {
            node_cidr_mask_sizes(errors, manager, &networking.ip_families, release, path);
        }
        let periods = [
            ("podEvictionTimeout", manager.pod_eviction_timeout),
            ("nodeMonitorGracePeriod", manager.node_monitor_grace_period),
        ];
        for (field, period) in periods {
            let (Some(period), path) = (period, path.child(field)) else { continue };
            let is_eviction = field == "podEvictionTimeout";
            match refusal(Field::PodEvictionTimeout, version, release).filter(|_| is_eviction) {
                Some(refusal) if refusal.is_invalid => errors.push(invalid_duration(&path, period, refusal.text)),
                Some(refusal) => errors.push(FieldError::forbidden(&path, refusal.text)),
                None if period.nanoseconds <= 0 => {
                    let text = format!("{field} must be larger than 0");
                    errors.push(invalid_duration(&path, period, &text));
                }
                None => {}
            }
        }
        if let Some(autoscaler) = &manager.horizontal_pod_autoscaler {
            horizontal_pod_autoscaler(errors, autoscaler, &path.child("horizontalPodAutoscaler"));
        }
    }
    feature_gates(errors, &manager.feature_gates, version, release, &path.child("featureGates"));
}

fn horizontal_pod_autoscaler(errors: &mut Errors, autoscaler: &HorizontalPodAutoscalerConfig, path: &Path) {
    let second = Duration::from_seconds(1);
    let least = |errors: &mut Errors,
                 field: &str,
                 value: Option<Duration>,
                 is_wrong: fn(Duration, Duration) -> bool,
                 text: &str| {
        if let Some(value) = value
            && is_wrong(value, second)
        {
            errors.push(invalid_duration(&path.child(field), value, text));
        }
    };
    let below_second = |value: Duration, second: Duration| value < second;
    let text = "syncPeriod must not be less than a second";
    least(errors, "syncPeriod", autoscaler.sync_period, below_second, text);
    if let Some(tolerance) = autoscaler.tolerance
        && tolerance <= 0.0
    {
        let text = "tolerance of must be greater than 0";
        errors.push(FieldError::invalid(&path.child("tolerance"), tolerance, text));
    }
    let text = "downScale stabilization must not be less than a second";
    least(errors, "downscaleStabilization", autoscaler.downscale_stabilization, below_second, text);
    let text = "initial readiness delay must be greater than 0";
    let not_positive = |value: Duration, _: Duration| value.nanoseconds <= 0;
    least(errors, "initialReadinessDelay", autoscaler.initial_readiness_delay, not_positive, text);
    let text = "cpu initialization period must not be less than a second";
    least(errors, "cpuInitializationPeriod", autoscaler.cpu_initialization_period, below_second, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setting of the controller of HorizontalPodAutoscalers in nanoseconds; expected error.
    #[test]
    fn waits_of_the_autoscaler_have_their_least_length() {
        let second = 1_000_000_000;
        for (field, least, text) in [
            ("syncPeriod", second, "syncPeriod must not be less than a second"),
            ("downscaleStabilization", second, "downScale stabilization must not be less than a second"),
            ("initialReadinessDelay", 1, "initial readiness delay must be greater than 0"),
            ("cpuInitializationPeriod", second, "cpu initialization period must not be less than a second"),
        ] {
            let said = |nanoseconds: i64| {
                let mut autoscaler = HorizontalPodAutoscalerConfig::default();
                let duration = Some(Duration { nanoseconds });
                match field {
                    "syncPeriod" => autoscaler.sync_period = duration,
                    "downscaleStabilization" => autoscaler.downscale_stabilization = duration,
                    "initialReadinessDelay" => autoscaler.initial_readiness_delay = duration,
                    _ => autoscaler.cpu_initialization_period = duration,
                }
                let mut errors = Errors::new();
                horizontal_pod_autoscaler(&mut errors, &autoscaler, &Path::new("hpa"));
                errors.iter().map(|error| format!("{} {error}", error.field)).collect::<Vec<_>>()
            };
            assert_eq!(said(least), Vec::<String>::new(), "{field}");
            let [error] = &said(least - 1)[..] else { panic!("one error of {field}") };
            assert!(error.starts_with(&format!("hpa.{field} ")) && error.ends_with(text), "{error}");
        }
    }
}
