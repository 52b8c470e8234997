// SPDX-License-Identifier: Apache-2.0
//! ShootValidator: checks a Shoot against its CloudProfile, Seed and Project (plugin/pkg/shoot/validator @ v1.120.0).
//!
//! It runs before static validation, so its errors take precedence; the order of checks is upstream's.

mod machines;
mod networks;
#[cfg(test)]
mod release_tests;
mod scheduling;
#[cfg(test)]
mod tests;
mod versions;

pub use self::machines::{check_image, default_architectures, default_image};
pub use self::scheduling::taints_are_tolerated;
pub use self::versions::{check_kubernetes_version, default_kubernetes_version};

use api::constants::{annotation, condition, operation, operation_state, operation_type, task};
use api::core::*;
use api::security::CredentialsBinding;
use apimachinery::field::{FieldError, Path};

use super::{Operation, Refusal};
use crate::annotations;
use crate::defaulting::drop_unread_reference;
use crate::release::{Release, Releases};
use crate::shoot_facts::{is_confined, is_hibernation_enabled};
use crate::versions::Moment;

/// Errors of one part of the rules.
type Errors = Vec<FieldError>;

/// Inputs for the admission of a Shoot.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Operation of the request.
    pub operation: Operation,
    /// True for the subresource `binding`.
    pub binding: bool,
    /// The stored Shoot.
    pub old: Option<&'a Shoot>,
    /// Spec of the CloudProfile, merged for a NamespacedCloudProfile.
    pub cloud_profile: &'a CloudProfileSpec,
    /// Project of the Shoot's namespace.
    pub project: &'a Project,
    /// Seed of the new Shoot.
    pub seed: Option<&'a Seed>,
    /// Seed of the stored Shoot.
    pub old_seed: Option<&'a Seed>,
    /// Number of Shoots scheduled on the new seed.
    pub shoots_on_seed: i64,
    /// SecretBinding of the new Shoot.
    pub secret_binding: Option<&'a SecretBinding>,
    /// SecretBinding of the stored Shoot.
    pub old_secret_binding: Option<&'a SecretBinding>,
    /// CredentialsBinding of the new Shoot.
    pub credentials_binding: Option<&'a CredentialsBinding>,
    /// Domains of all other Shoots.
    pub domains: &'a [String],
    /// Feature gate `LiveControlPlaneMigration`.
    pub live_migration: bool,
    /// Instant of the request and release of the API server.
    pub at: Moment,
}

/// True if an update changes neither specification nor metadata, so that nothing is checked.
pub fn is_unchanged(shoot: &Shoot, old: &Shoot) -> bool {
    old.spec == shoot.spec && old.metadata == shoot.metadata
}

/// Refusal of a new Shoot with both fields that name a CloudProfile.
pub const TWO_CLOUD_PROFILES: &str = "new shoot can only specify either cloudProfileName or cloudProfile reference";

/// Removes a reference that the release does not read, and runs the checks that need no other object. `Ok(true)`: no
/// other check is needed.
///
/// # Errors
/// 500, without a reason, for a binding to the seed that the Shoot has, and for a new Shoot that names its CloudProfile
/// twice.
pub fn precheck(
    shoot: &mut Shoot,
    old: Option<&Shoot>,
    (operation, binding): (Operation, bool),
    user: &str,
    release: Release,
) -> Result<bool, Refusal> {
    drop_unread_reference(shoot, old, release);
    match (operation, old) {
        (Operation::Update, Some(old)) => {
            if binding && old.spec.seed_name == shoot.spec.seed_name {
                let text = "update of binding rejected, shoot is already assigned to the same seed";
                return Err(Refusal::Plain(text.to_owned()));
            }
            Ok(is_unchanged(shoot, old))
        }
        (Operation::Create, _) => {
            shoot.metadata.annotations.insert(annotation::CREATED_BY.to_owned(), user.to_owned());
            let named = shoot.spec.cloud_profile_name.as_deref().is_some_and(|name| !name.is_empty());
            if named && shoot.spec.cloud_profile.is_some() {
                return Err(Refusal::Plain(TWO_CLOUD_PROFILES.to_owned()));
            }
            Ok(false)
        }
        _ => Ok(false),
    }
}

/// Releases that set defaults of a Shoot before static validation and check it afterwards (plugins ShootMutator and
/// ShootValidator). Older ones do both before (ShootValidator), so that its refusals hide those of static validation.
const JUDGES_AFTER_VALIDATION: Releases = Releases::since(133);

/// True if a release checks a Shoot after static validation.
pub const fn judges_after_validation(release: Release) -> bool {
    JUDGES_AFTER_VALIDATION.contain(release)
}

/// Sets tasks, networks, versions, CPU architectures and images of a Shoot, without further checks.
///
/// # Errors
/// 403 for values that cannot be determined.
pub fn fill_in(shoot: &mut Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    if context.operation == Operation::Delete {
        return Ok(());
    }
    tasks(shoot, context);
    networks::default_networks(shoot, context.seed);
    let mut errors = Errors::new();
    versions::default_versions(&mut errors, shoot, context);
    machines::default_architectures(shoot, context.cloud_profile, context.at.release);
    errors.extend(machines::default_images(shoot, context));
    Refusal::unless_empty(&errors)
}

/// Checks a Shoot, and sets versions, images, networks and tasks.
///
/// # Errors
/// The first refusal; the last step collects all of its errors.
pub fn admit(shoot: &mut Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    let mut errors = Errors::new();
    if context.operation == Operation::Delete {
        deletion(shoot)?;
        live_migration(&mut errors, shoot, context);
        return Refusal::unless_empty(&errors);
    }
    scheduling::seed_selector(&mut errors, shoot, context)?;
    project_membership(shoot, context)?;
    scheduling::scheduling(shoot, context)?;
    hibernation(shoot, context)?;
    binding_migration(shoot, context)?;
    Refusal::unless_empty(&machines::default_images(shoot, context))?;
    tasks(shoot, context);
    internal_versions(&mut errors, shoot);
    networks::networks(&mut errors, shoot, context);
    versions::control_plane(&mut errors, shoot, context);
    region(&mut errors, shoot, context);
    access_restrictions(&mut errors, shoot, context);
    machines::provider(&mut errors, shoot, context);
    referenced_kubeconfigs(&mut errors, shoot);
    limits(&mut errors, shoot, context);
    live_migration(&mut errors, shoot, context);
    domain(&mut errors, shoot, context);
    Refusal::unless_empty(&errors)
}

/// Returns the errors of admission about versions and machine images of a changed Shoot; nothing else is checked.
pub fn check_changed_versions(
    shoot: &Shoot,
    old: &Shoot,
    cloud_profile: &CloudProfileSpec,
    at: Moment,
) -> Vec<FieldError> {
    let project = Project::default();
    let context = Context {
        operation: Operation::Update,
        binding: false,
        old: Some(old),
        cloud_profile,
        project: &project,
        seed: None,
        old_seed: None,
        shoots_on_seed: 0,
        secret_binding: None,
        old_secret_binding: None,
        credentials_binding: None,
        domains: &[],
        live_migration: false,
        at,
    };
    let mut shoot = shoot.clone();
    let mut errors = machines::default_images(&mut shoot, &context);
    if errors.is_empty() {
        versions::control_plane(&mut errors, &mut shoot, &context);
        machines::provider(&mut errors, &mut shoot, &context);
    }
    errors
}

fn forbidden(text: impl Into<String>) -> Refusal {
    Refusal::Forbidden(text.into())
}

/// Checks that a Shoot may be deleted: its control plane is not being migrated.
fn deletion(shoot: &Shoot) -> Result<(), Refusal> {
    match moving(shoot) {
        None => Ok(()),
        Some(operation) => Err(forbidden(format!(
            "cannot mark shoot for deletion during {} operation that is in state {}",
            operation.r#type, operation.state
        ))),
    }
}

/// Returns the last operation if it is a migration or an unfinished restoration.
fn moving(shoot: &Shoot) -> Option<&LastOperation> {
    shoot.status.last_operation.as_ref().filter(|operation| {
        operation.r#type == operation_type::MIGRATE
            || (operation.r#type == operation_type::RESTORE && operation.state != operation_state::SUCCEEDED)
    })
}

/// Checks the total length of the Project's and the Shoot's name, which form the technical ID.
fn project_membership(shoot: &Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    const LIMIT: usize = 21;
    const RANDOM: usize = 5;
    if context.operation != Operation::Create {
        return Ok(());
    }
    let project = &context.project.metadata.name;
    let meta = &shoot.metadata;
    let text = if meta.name.is_empty() && !meta.generate_name.is_empty() {
        (project.len() + meta.generate_name.len() > LIMIT - RANDOM).then(|| {
            format!(
                "the length of the shoot generateName and the project name must not exceed {} characters (project: \
                 {project}; shoot with generateName: {})",
                LIMIT - RANDOM,
                meta.generate_name
            )
        })
    } else {
        (project.len() + meta.name.len() > LIMIT).then(|| {
            format!(
                "the length of the shoot name and the project name must not exceed {LIMIT} characters (project: \
                 {project}; shoot: {})",
                meta.name
            )
        })
    };
    if let Some(text) = text {
        return Err(Refusal::Invalid(vec![FieldError::invalid(&Path::new("name"), &meta.name, &text)]));
    }
    if context.project.metadata.is_being_deleted() {
        return Err(forbidden(format!(
            "cannot create shoot '{}' in project '{project}' that is already marked for deletion",
            meta.name
        )));
    }
    Ok(())
}

/// Checks constraint `HibernationPossible` before hibernation; adds the tasks for infrastructure and DNS when waking up.
fn hibernation(shoot: &mut Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    let before = context.old.is_some_and(|old| is_hibernation_enabled(&old.spec));
    let after = is_hibernation_enabled(&shoot.spec);
    if !before && after {
        let mut constraints = shoot.status.constraints.iter();
        let constraint = constraints.find(|constraint| constraint.r#type == condition::HIBERNATION_POSSIBLE);
        if let Some(constraint) = constraint.filter(|constraint| constraint.status != "True") {
            return Err(forbidden(format!(
                "'HibernationPossible' constraint is '{}': {}",
                constraint.status, constraint.message
            )));
        }
    }
    if before && !after {
        annotations::add_tasks(&mut shoot.metadata.annotations, &[task::DEPLOY_INFRASTRUCTURE]);
        annotations::add_tasks(&mut shoot.metadata.annotations, &DNS_RECORDS);
    }
    Ok(())
}

/// Checks that a change from a SecretBinding to a CredentialsBinding keeps the Secret.
fn binding_migration(shoot: &Shoot, context: &Context<'_>) -> Result<(), Refusal> {
    let Some(old) = context.old else { return Ok(()) };
    let migrates = old.spec.secret_binding_name.is_some()
        && shoot.spec.secret_binding_name.is_none()
        && old.spec.credentials_binding_name.is_none()
        && shoot.spec.credentials_binding_name.is_some();
    let (true, Some(before), Some(binding)) = (migrates, context.old_secret_binding, context.credentials_binding)
    else {
        return Ok(());
    };
    let (reference, secret) = (&binding.credentials_ref, &before.secret_ref);
    let same = reference.kind == "Secret"
        && reference.api_version == "v1"
        && reference.name == secret.name
        && reference.namespace == secret.namespace;
    if same {
        return Ok(());
    }
    let text = "it is not allowed to change the referenced Secret when migrating from SecretBindingName to CredentialsBindingName";
    Err(forbidden(text))
}

const DNS_RECORDS: [&str; 3] =
    [task::DEPLOY_DNS_RECORD_INTERNAL, task::DEPLOY_DNS_RECORD_EXTERNAL, task::DEPLOY_DNS_RECORD_INGRESS];

/// Adds the tasks required in the next reconciliation.
fn tasks(shoot: &mut Shoot, context: &Context<'_>) {
    let empty = Shoot::default();
    let (old, new) = (&context.old.unwrap_or(&empty).spec, &shoot.spec);
    let families = |spec: &ShootSpec| spec.networking.as_ref().map(|networking| networking.ip_families.clone());
    let old_families = families(old).filter(|families| !families.is_empty());
    let ssh = |spec: &ShootSpec| {
        let access = spec.provider.workers_settings.as_ref().and_then(|settings| settings.ssh_access.as_ref());
        access.map(|access| access.enabled)
    };
    let is_new = context.operation == Operation::Create;
    let operation = shoot.metadata.annotation(annotation::OPERATION).unwrap_or_default();
    let infrastructure = is_new
        || old.provider.infrastructure_config != new.provider.infrastructure_config
        || old_families.is_some_and(|before| families(new).as_ref() != Some(&before))
        || ssh(old).is_some_and(|before| ssh(new).is_some_and(|after| after != before))
        || [
            operation::ROTATE_SSH_KEYPAIR,
            operation::ROTATE_CREDENTIALS_START,
            operation::ROTATE_CREDENTIALS_START_WITHOUT_WORKERS,
        ]
        .contains(&operation);
    let dns = is_new || old.dns != new.dns;
    let failed =
        shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::FAILED);
    let needs_retry = is_confined(new) && old != new && failed;
    let annotations = &mut shoot.metadata.annotations;
    if infrastructure {
        annotations::add_tasks(annotations, &[task::DEPLOY_INFRASTRUCTURE]);
    }
    if dns {
        annotations::add_tasks(annotations, &DNS_RECORDS);
    }
    if needs_retry {
        annotations.insert(annotation::NEEDS_RETRY_OPERATION.to_owned(), "true".to_owned());
    }
}

/// Checks that raw configurations are of an external version.
fn internal_versions(errors: &mut Errors, shoot: &Shoot) {
    let spec = &shoot.spec;
    let provider = Path::new("spec").child("provider");
    let mut raw = vec![
        (spec.provider.infrastructure_config.as_ref(), provider.child("infrastructureConfig")),
        (spec.provider.control_plane_config.as_ref(), provider.child("controlPlaneConfig")),
    ];
    if let Some(networking) = &spec.networking {
        let path = Path::new("spec").child("networking").child("providerConfig");
        raw.push((networking.provider_config.as_ref(), path));
    }
    for (index, worker) in spec.provider.workers.iter().enumerate() {
        let path = provider.child("workers").index(index);
        raw.push((worker.provider_config.as_ref(), path.child("providerConfig")));
        let image = worker.machine.image.as_ref().and_then(|image| image.provider_config.as_ref());
        raw.push((image, path.child("machine").child("image").child("providerConfig")));
        for (index, runtime) in worker.cri.iter().flat_map(|cri| &cri.container_runtimes).enumerate() {
            let path = path.child("cri").child("containerRuntimes").index(index).child("providerConfig");
            raw.push((runtime.provider_config.as_ref(), path));
        }
    }
    for (config, path) in raw {
        let Some(config) = config else { continue };
        let config = config.value();
        let text = |key: &str| config.get(key).and_then(|value| value.as_str()).unwrap_or_default();
        let (group, version) = text("apiVersion").rsplit_once('/').unwrap_or_else(|| ("", text("apiVersion")));
        if version == "__internal" && !text("kind").is_empty() {
            let value = format!("{group}/{version}, Kind={}", text("kind"));
            errors.push(FieldError::invalid(&path, &value, "must not use apiVersion 'internal'"));
        }
    }
}

fn region(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let region = &shoot.spec.region;
    let known: Vec<&str> = context.cloud_profile.regions.iter().map(|one| one.name.as_str()).collect();
    let unchanged = context.old.is_some_and(|old| old.spec.region == *region);
    if !unchanged && !known.contains(&region.as_str()) {
        errors.push(FieldError::not_supported(&Path::new("spec").child("region"), region, &known));
    }
}

fn access_restrictions(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let names = |shoot: &Shoot| -> std::collections::BTreeSet<String> {
        shoot.spec.access_restrictions.iter().map(|one| one.name.clone()).collect()
    };
    if names(shoot) == context.old.map(names).unwrap_or_default() {
        return;
    }
    let Some(region) = context.cloud_profile.regions.iter().find(|region| region.name == shoot.spec.region) else {
        let path = Path::new("spec").child("region");
        errors.push(FieldError::invalid(&path, &shoot.spec.region, "region not present in CloudProfile"));
        return;
    };
    let path = Path::new("spec").child("accessRestrictions");
    let valid: Vec<&str> = region.access_restrictions.iter().map(|one| one.name.as_str()).collect();
    for (index, restriction) in shoot.spec.access_restrictions.iter().enumerate() {
        if !valid.contains(&restriction.name.as_str()) {
            errors.push(FieldError::not_supported(&path.index(index), &restriction.name, &valid));
        }
    }
    let Some(seed) = context.seed else { return };
    for (index, restriction) in shoot.spec.access_restrictions.iter().enumerate() {
        if !seed.spec.access_restrictions.iter().any(|one| one.name == restriction.name) {
            let text = format!("access restriction {:?} is not supported by the seed", restriction.name);
            errors.push(FieldError::forbidden(&path.index(index), &text));
        }
    }
}

fn referenced_kubeconfigs(errors: &mut Errors, shoot: &Shoot) {
    let Some(server) = &shoot.spec.kubernetes.kube_api_server else { return };
    let is_referenced = |name: &str| {
        shoot
            .spec
            .resources
            .iter()
            .map(|resource| &resource.resource_ref)
            .any(|reference| reference.api_version == "v1" && reference.kind == "Secret" && reference.name == name)
    };
    for (index, plugin) in server.admission_plugins.iter().enumerate() {
        if let Some(name) = plugin.kubeconfig_secret_name.as_deref().filter(|name| !is_referenced(name)) {
            let path = Path::new("spec").child("kubernetes").child("kubeAPIServer").child("admissionPlugins");
            let path = path.index(index).child("kubeconfigSecretName");
            errors.push(FieldError::invalid(&path, name, "secret should be referenced in shoot .spec.resources"));
        }
    }
}

/// Releases in which the limit of nodes holds for the maximum of each pool, too.
const LIMIT_OF_POOLS: Releases = Releases::until(136);

fn limits(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let Some(most) = context.cloud_profile.limits.as_ref().and_then(|limits| limits.max_nodes_total) else { return };
    if shoot.metadata.is_being_deleted() {
        return;
    }
    let path = Path::new("spec").child("provider").child("workers");
    for (index, worker) in shoot.spec.provider.workers.iter().enumerate() {
        if worker.maximum > most && LIMIT_OF_POOLS.contain(context.at.release) {
            let text = format!(
                "the maximum node count of a worker pool must not exceed the limit of {most} configured in the \
                 CloudProfile"
            );
            errors.push(FieldError::forbidden(&path.index(index).child("maximum"), &text));
        }
    }
    let total: i64 = shoot.spec.provider.workers.iter().map(|worker| i64::from(worker.minimum)).sum();
    if total > i64::from(most) {
        let text = format!(
            "the total minimum node count of all worker pools must not exceed the limit of {most} configured in the \
             CloudProfile"
        );
        errors.push(FieldError::forbidden(&path, &text));
    }
}

/// The intent to migrate a control plane live is checked.
const LIVE_MIGRATION: Releases = Releases::since(148);

/// Checks that the control plane of a Shoot may be migrated live, if an annotation intends it.
fn live_migration(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let is_intended = annotations::is_true(&shoot.metadata.annotations, annotation::LIVE_MIGRATE);
    if !is_intended || !LIVE_MIGRATION.contain(context.at.release) {
        return;
    }
    let path = Path::new("metadata").child("annotations").key(annotation::LIVE_MIGRATE);
    if !context.live_migration {
        let text = "the \"LiveControlPlaneMigration\" feature gate is disabled in gardener-apiserver";
        errors.push(FieldError::forbidden(&path, text));
    } else if context.operation == Operation::Create {
        errors.push(FieldError::forbidden(&path, "annotation must not be set on shoot creation"));
    }
}

/// Checks that the domains of two Shoots are neither equal nor nested.
fn domain(errors: &mut Errors, shoot: &Shoot, context: &Context<'_>) {
    let Some(domain) = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_ref()) else { return };
    if context.old.is_some_and(|old| old.spec == shoot.spec) {
        return;
    }
    let path = Path::new("spec").child("dns").child("domain");
    let below = |domain: &str, other: &str| {
        domain.strip_suffix(other).is_some_and(|rest| rest.ends_with('.') || other.starts_with('.'))
    };
    for other in context.domains {
        if other == domain {
            errors.push(FieldError::duplicate(&path, domain));
            return;
        }
        if below(other, domain) || below(domain, other) {
            let text = "the domain is already used by another shoot or it is a subdomain of an already used domain";
            errors.push(FieldError::forbidden(&path, text));
            return;
        }
    }
}
