// SPDX-License-Identifier: Apache-2.0
//! Validation of changes of a Shoot.

use api::constants::{annotation, operation};
use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::super::Errors;
use super::super::meta::immutable;
use super::differences::{differences, keep};
use super::facts::{is_in_hibernation, primary_provider};
use super::gates::{Gates, in_place_gate};
use super::shared::cloud_profile_reference;
use crate::cloud_profile::counts_by_name;
use crate::release::{Release, Releases};
use crate::shoot_facts::is_in_place;
use crate::versions::{Operator, Version, compare_versions};
use crate::worker_pool::hash::{NODE_LOCAL_DNS_ALWAYS_COUNTS, node_local_dns_counts};
use crate::worker_pool::is_ipvs;

/// Path of the time to live of Events.
pub(super) const EVENT_TTL: &str = "spec.kubernetes.kubeAPIServer.eventTTL";

/// An update may keep an invalid time to live of Events.
const EVENT_TTL_IS_KEPT: Releases = Releases::between(136, 143);

/// Path of the issuers whose tokens are accepted, up to the index.
pub(super) const ACCEPTED_ISSUERS: &str = "spec.kubernetes.kubeAPIServer.serviceAccountConfig.acceptedIssuers[";

/// An update may keep invalid accepted issuers.
const ACCEPTED_ISSUERS_ARE_KEPT: Releases = Releases::since(135);

/// The refusal of a change during the deletion begins with its reason.
const DELETION_IS_REASON: Releases = Releases::since(121);

/// Static validation checks changes of the seed selector; in later releases admission does.
const SEED_SELECTOR_IS_KEPT: Releases = Releases::until(136);

/// The exposure class is immutable.
const EXPOSURE_CLASS_IS_KEPT: Releases = Releases::until(139);

/// The version of the machine image of an in-place pool must not go down.
const IMAGE_STAYS_OR_RISES: Releases = Releases::since(136);

/// True if an update does not change the time to live of Events and the release does not check it then.
pub(super) fn keeps_event_ttl(new: &Shoot, old: &Shoot, release: Release) -> bool {
    match (&new.spec.kubernetes.kube_api_server, &old.spec.kubernetes.kube_api_server) {
        (Some(new), Some(old)) => EVENT_TTL_IS_KEPT.contain(release) && new.event_ttl == old.event_ttl,
        _ => false,
    }
}

/// True if an update does not change the accepted issuers and the release does not check them then.
pub(super) fn keeps_accepted_issuers(new: &Shoot, old: &Shoot, release: Release) -> bool {
    let config = |shoot: &Shoot| shoot.spec.kubernetes.kube_api_server.as_ref()?.service_account_config.clone();
    match (config(new), config(old)) {
        (Some(new), Some(old)) => {
            ACCEPTED_ISSUERS_ARE_KEPT.contain(release) && new.accepted_issuers == old.accepted_issuers
        }
        _ => false,
    }
}

pub(super) fn spec(errors: &mut Errors, new_shoot: &Shoot, old_shoot: &Shoot, gates: Gates) {
    let (new, old, path) = (&new_shoot.spec, &old_shoot.spec, Path::new("spec"));
    if new_shoot.metadata.is_being_deleted() && new != old {
        let has_reason = DELETION_IS_REASON.contain(gates.release);
        let head =
            if has_reason { "cannot update shoot spec if deletion timestamp is set. Requested changes: " } else { "" };
        errors.push(FieldError::forbidden(&path, &format!("{head}{}", differences(new, old).join(","))));
        return;
    }
    keep(errors, &new.region, &old.region, &path, "region");
    cloud_profile_reference(errors, new, gates.release, &path);
    if counts_by_name(gates.release) {
        let name = |spec: &ShootSpec| spec.cloud_profile_name.clone().unwrap_or_default();
        keep(errors, &name(new), &name(old), &path, "cloudProfileName");
    }
    bindings(errors, new, old, &path);
    if EXPOSURE_CLASS_IS_KEPT.contain(gates.release) {
        keep(errors, &new.exposure_class_name, &old.exposure_class_name, &path, "exposureClassName");
    }
    dns(errors, new, old, &path.child("dns"));
    let kubernetes = path.child("kubernetes");
    version(errors, &new.kubernetes.version, &old.kubernetes.version, false, &kubernetes.child("version"));
    let mask = |spec: &ShootSpec| {
        spec.kubernetes.kube_controller_manager.as_ref().and_then(|manager| manager.node_cidr_mask_size)
    };
    let manager = kubernetes.child("kubeControllerManager");
    keep(errors, &mask(new), &mask(old), &manager, "nodeCIDRMaskSize");
    let mask_ipv6 = |spec: &ShootSpec| spec.kubernetes.kube_controller_manager.as_ref()?.node_cidr_mask_size_ipv6;
    // A Shoot that becomes dual-stack receives the field later.
    if mask_ipv6(old).is_some() {
        keep(errors, &mask_ipv6(new), &mask_ipv6(old), &manager, "nodeCIDRMaskSizeIPv6");
    }
    if new.seed_name.is_some() && SEED_SELECTOR_IS_KEPT.contain(gates.release) {
        let path = path.child("seedSelector");
        match (&old.seed_selector, &new.seed_selector) {
            (None, Some(_)) => {
                let text = "cannot set seed selector when .spec.seedName is set";
                errors.push(FieldError::forbidden(&path, text));
            }
            (Some(_), Some(_)) => immutable(errors, &new.seed_selector, &old.seed_selector, &path),
            _ => {}
        }
    }
    let workers = path.child("provider").child("workers");
    let switched = match (new.provider.workers.is_empty(), old.provider.workers.is_empty()) {
        (true, false) => Some("cannot switch from a Shoot with workers to a workerless Shoot"),
        (false, true) => Some("cannot switch from a workerless Shoot to a Shoot with workers"),
        _ => None,
    };
    if let Some(text) = switched {
        errors.push(FieldError::forbidden(&workers, text));
        return;
    }
    keep(errors, &new.provider.r#type, &old.provider.r#type, &path.child("provider"), "type");
    for (index, worker) in new.provider.workers.iter().enumerate() {
        let before = old.provider.workers.iter().find(|before| before.name == worker.name);
        pool(errors, worker, before, gates, &workers.index(index));
    }
    for (index, worker) in new.provider.workers.iter().enumerate() {
        let before = old.provider.workers.iter().find(|before| before.name == worker.name).unwrap_or(worker);
        let (now, then) = (effective_version(worker, new), effective_version(before, old));
        let path = workers.index(index).child("kubernetes").child("version");
        version(errors, now, then, !is_in_place(worker), &path);
        if is_in_place(worker) && IMAGE_STAYS_OR_RISES.contain(gates.release) {
            let path = workers.index(index).child("machine").child("image").child("version");
            image_version(errors, image_version_of(worker), image_version_of(before), &path);
        }
    }
    networking(errors, new.networking.as_ref(), old.networking.as_ref(), gates.release, &path.child("networking"));
    if new.scheduler_name != old.scheduler_name
        && (old.scheduler_name.is_some() || new.scheduler_name.as_deref() != Some("default-scheduler"))
    {
        let text = "field is immutable";
        errors.push(FieldError::invalid(&path.child("schedulerName"), &new.scheduler_name, text));
    }
}

fn effective_version<'a>(worker: &'a Worker, spec: &'a ShootSpec) -> &'a str {
    let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.version.as_deref());
    own.unwrap_or(&spec.kubernetes.version)
}

fn bindings(errors: &mut Errors, new: &ShootSpec, old: &ShootSpec, path: &Path) {
    let has_credentials = new.credentials_binding_name.as_deref().is_some_and(|name| !name.is_empty());
    if old.credentials_binding_name.is_some() && !has_credentials {
        let path = path.child("credentialsBindingName");
        errors.push(FieldError::forbidden(&path, "the field cannot be unset"));
    }
    let migrates = old.secret_binding_name.is_some() && new.secret_binding_name.is_none() && has_credentials;
    if !migrates {
        keep(errors, &new.secret_binding_name, &old.secret_binding_name, path, "secretBindingName");
    }
}

fn dns(errors: &mut Errors, new: &ShootSpec, old: &ShootSpec, path: &Path) {
    let Some(before) = &old.dns else { return };
    let Some(dns) = &new.dns else {
        immutable(errors, &new.dns, &old.dns, path);
        return;
    };
    if before.domain.is_some() {
        keep(errors, &dns.domain, &before.domain, path, "domain");
    }
    if new.seed_name.is_none() {
        return;
    }
    let Some(primary) = primary_provider(before) else { return };
    let path = path.child("providers");
    let text = match (primary_provider(dns), &primary.r#type) {
        (None, _) => "removing a primary provider is not allowed",
        (Some(DNSProvider { r#type: None, .. }), Some(_)) => "removing the primary provider type is not allowed",
        (Some(DNSProvider { r#type: Some(new), .. }), Some(old)) if new != old => {
            "changing primary provider type is not allowed"
        }
        _ => return,
    };
    errors.push(FieldError::forbidden(&path, text));
}

/// Checks that a Kubernetes version does not decrease, nor skip a minor unless `may_skip`.
fn version(errors: &mut Errors, new: &str, old: &str, may_skip: bool, path: &Path) {
    if new.is_empty() {
        let text = "cannot validate kubernetes version upgrade because it is unset";
        errors.push(FieldError::invalid(path, new, text));
        return;
    }
    match compare_versions(new, Operator::Less, old) {
        Ok(false) => {}
        Ok(true) => errors.push(FieldError::forbidden(path, "kubernetes version downgrade is not supported")),
        Err(error) => errors.push(FieldError::invalid(path, new, &error.to_string())),
    }
    if may_skip {
        return;
    }
    let before = match Version::parse(old) {
        Ok(before) => before,
        Err(error) => {
            errors.push(FieldError::invalid(path, old, &error.to_string()));
            return;
        }
    };
    let limit = Version::new(before.major, before.minor.saturating_add(2), 0);
    match compare_versions(new, Operator::GreaterOrEqual, &limit.to_string()) {
        Ok(false) => {}
        Ok(true) => {
            errors.push(FieldError::forbidden(path, "kubernetes version upgrade cannot skip a minor version"));
        }
        Err(error) => errors.push(FieldError::invalid(path, new, &error.to_string())),
    }
}

fn image_version_of(worker: &Worker) -> &str {
    worker.machine.image.as_ref().and_then(|image| image.version.as_deref()).unwrap_or_default()
}

/// Checks that the version of a machine image does not decrease.
///
/// Source: pkg/apis/core/validation/shoot.go (`validateMachineImageVersionInPlaceUpdate`) @ v1.136.0.
fn image_version(errors: &mut Errors, new: &str, old: &str, path: &Path) {
    if new.is_empty() {
        let text = "cannot validate machine image version upgrade because it is unset";
        errors.push(FieldError::invalid(path, new, text));
        return;
    }
    match compare_versions(new, Operator::Less, old) {
        Ok(false) => {}
        Ok(true) => {
            let text = "machine image version downgrade is not supported when the update strategy is AutoInPlaceUpdate or \
                        ManualInPlaceUpdate";
            errors.push(FieldError::forbidden(path, text));
        }
        Err(error) => errors.push(FieldError::invalid(path, new, &error.to_string())),
    }
}

/// Checks changes of a pool: the update strategy is immutable, and so are fields that an in-place update cannot change.
fn pool(errors: &mut Errors, new: &Worker, old: Option<&Worker>, gates: Gates, path: &Path) {
    let Some(old) = old else {
        in_place_gate(errors, new, gates, path);
        return;
    };
    let text = match (is_in_place(old), is_in_place(new)) {
        (true, false) => "from AutoInPlaceUpdate/ManualInPlaceUpdate to AutoRollingUpdate",
        (false, true) => "from AutoRollingUpdate to AutoInPlaceUpdate/ManualInPlaceUpdate",
        _ => "",
    };
    if !text.is_empty() {
        let text = format!("update strategy cannot be changed {text}");
        errors.push(FieldError::invalid(&path.child("updateStrategy"), &new.update_strategy, &text));
    }
    if new.update_strategy != old.update_strategy || !is_in_place(new) {
        return;
    }
    let text =
        |what: &str| format!("{what} cannot be changed if update strategy is AutoInPlaceUpdate/ManualInPlaceUpdate");
    let machine = path.child("machine");
    if new.machine.r#type != old.machine.r#type {
        errors.push(FieldError::invalid(&machine.child("type"), &new.machine.r#type, &text("machine type")));
    }
    if let (Some(image), Some(before)) = (&new.machine.image, &old.machine.image)
        && image.name != before.name
    {
        let path = machine.child("image").child("name");
        errors.push(FieldError::invalid(&path, &image.name, &text("machine image name")));
    }
    if let (Some(cri), Some(before)) = (&new.cri, &old.cri)
        && cri.name != before.name
    {
        errors.push(FieldError::invalid(&path.child("cri").child("name"), &cri.name, &text("CRI name")));
    }
    if new.volume != old.volume {
        errors.push(FieldError::invalid(&path.child("volume"), &new.volume, &text("volume")));
    }
}

fn networking(errors: &mut Errors, new: Option<&Networking>, old: Option<&Networking>, release: Release, path: &Path) {
    let Some(old) = old else { return };
    let Some(new) = new else {
        errors.push(FieldError::forbidden(path, "networking cannot be set to nil if it's already set"));
        return;
    };
    keep(errors, &new.r#type, &old.r#type, path, "type");
    if old.pods.is_some() {
        keep(errors, &new.pods, &old.pods, path, "pods");
    }
    if old.services.is_some() {
        keep(errors, &new.services, &old.services, path, "services");
    }
    ip_families(errors, &new.ip_families, &old.ip_families, release, &path.child("ipFamilies"));
}

/// Changes of the IP families are checked.
const FAMILIES_ARE_JUDGED: Releases = Releases::since(125);

/// A dual-stack Shoot may return to IPv4.
const DUAL_STACK_ENDS: Releases = Releases::since(132);

/// Checks that a Shoot becomes dual-stack, or no longer is, and changes its IP families in no other way.
///
/// Source: pkg/apis/core/validation/shoot.go (`validateIPFamiliesUpdate`) @ v1.125.0, v1.132.0.
fn ip_families(errors: &mut Errors, new: &[String], old: &[String], release: Release, path: &Path) {
    let both = ["IPv4", "IPv6"];
    let begins = old == ["IPv4"] && new == both;
    let ends = old == both && new == ["IPv4"] && DUAL_STACK_ENDS.contain(release);
    if new != old && !begins && !ends && FAMILIES_ARE_JUDGED.contain(release) {
        let list = |families: &[String]| families.join(" ");
        let text =
            format!("unsupported IP family update: oldIPFamilies=[{}], newIPFamilies=[{}]", list(old), list(new));
        errors.push(FieldError::forbidden(path, &text));
    }
}

/// Checks that high availability is added while the Shoot is awake; once set and scheduled it is immutable.
pub(super) fn high_availability(errors: &mut Errors, new: &Shoot, old: &Shoot) {
    let tolerance = |shoot: &Shoot| {
        let availability = shoot.spec.control_plane.as_ref()?.high_availability.as_ref()?;
        Some(availability.failure_tolerance.r#type.clone())
    };
    let (now, before) = (tolerance(new), tolerance(old));
    let path = Path::new("spec.controlPlane").child("highAvailability").child("failureTolerance").child("type");
    if now.is_some() && before.is_none() && is_in_hibernation(new) {
        let text = "Shoot is currently hibernated and cannot be scaled up to HA. Please make sure your cluster has \
                    woken up before scaling it up to HA";
        errors.push(FieldError::forbidden(&path, text));
    }
    if let Some(before) = before
        && new.spec.seed_name.is_some()
    {
        immutable(errors, &now.unwrap_or_default(), &before, &path);
    }
}

/// Checks that node-local DNS is unchanged while it contributes to the hash of a pool that is updated in place.
pub(super) fn node_local_dns(errors: &mut Errors, new: &ShootSpec, old: &ShootSpec, release: Release) {
    let enabled = |spec: &ShootSpec| {
        let dns = spec.system_components.as_ref().and_then(|components| components.node_local_dns.as_ref());
        dns.is_some_and(|dns| dns.enabled)
    };
    let counts = |pool: &Worker| node_local_dns_counts(effective_version(pool, old), is_ipvs(old), release);
    if enabled(new) != enabled(old) && old.provider.workers.iter().any(|pool| is_in_place(pool) && counts(pool)) {
        let path = Path::new("spec").child("systemComponents").child("nodeLocalDNS");
        let text = if NODE_LOCAL_DNS_ALWAYS_COUNTS.contain(release) {
            "node-local-dns setting can not be changed if shoot has at least one worker pool with update strategy \
             AutoInPlaceUpdate/ManualInPlaceUpdate"
        } else {
            "the node-local-dns setting cannot be changed if the shoot has at least one worker pool with an update strategy \
             of either AutoInPlaceUpdate or ManualInPlaceUpdate, and is running a Kubernetes version below 1.34.0 or if \
             kube-proxy runs in IPVS mode."
        };
        errors.push(FieldError::forbidden(&path, text));
    }
}

/// Checks that a pool with a pending in-place update is unchanged, unless the update is forced.
pub(super) fn pending_in_place_updates(errors: &mut Errors, new: &Shoot, old: &Shoot) {
    if new.metadata.annotation(annotation::OPERATION) == Some(operation::FORCE_IN_PLACE_UPDATE) {
        return;
    }
    let updates = new.status.in_place_updates.as_ref().and_then(|updates| updates.pending_worker_updates.as_ref());
    let Some(pending) = updates else { return };
    let path = Path::new("spec").child("kubernetes").child("version");
    let before_update = errors.len();
    for (which, shoot) in [("old", old), ("new", new)] {
        if let Err(error) = Version::parse(&shoot.spec.kubernetes.version) {
            let text = format!("failed to parse {which} control plane kubernetes version: {error}");
            errors.push(FieldError::forbidden(&path, &text));
        }
    }
    if errors.len() > before_update {
        return;
    }
    let workers = Path::new("spec").child("provider").child("workers");
    for (index, worker) in new.spec.provider.workers.iter().enumerate() {
        let is_pending = pending.auto_in_place_update.contains(&worker.name)
            || pending.manual_in_place_update.contains(&worker.name);
        let before = old.spec.provider.workers.iter().find(|before| before.name == worker.name);
        let (true, true, Some(before)) = (is_in_place(worker), is_pending, before) else { continue };
        let version = |worker: &Worker, spec: &ShootSpec| Version::parse(effective_version(worker, spec));
        let (now, then) = match (version(worker, &new.spec), version(before, &old.spec)) {
            (Ok(now), Ok(then)) => (now, then),
            (_, Err(error)) => {
                let at = old.spec.provider.workers.iter().position(|one| one.name == worker.name).unwrap_or(index);
                let text = format!("failed to calculate effective kubernetes version for old worker: {error}");
                errors.push(FieldError::forbidden(&workers.index(at), &text));
                continue;
            }
            (Err(error), _) => {
                let text = format!("failed to calculate effective kubernetes version for new worker: {error}");
                errors.push(FieldError::forbidden(&workers.index(index), &text));
                continue;
            }
        };
        let same = worker == before
            && now == then
            && effective_kubelet(worker, &new.spec) == effective_kubelet(before, &old.spec);
        if !same {
            let text = format!(
                "the worker pool {:?} is currently undergoing an in-place update. No changes are allowed to the \
                 worker pool, the Shoot Kubernetes version, or the Shoot kubelet configuration. You can force an \
                 update with annotating the Shoot with 'gardener.cloud/operation=force-in-place-update'",
                worker.name
            );
            errors.push(FieldError::forbidden(&workers.index(index), &text));
        }
    }
}

fn effective_kubelet<'a>(worker: &'a Worker, spec: &'a ShootSpec) -> Option<&'a KubeletConfig> {
    let own = worker.kubernetes.as_ref().and_then(|kubernetes| kubernetes.kubelet.as_ref());
    own.or(spec.kubernetes.kubelet.as_ref())
}
