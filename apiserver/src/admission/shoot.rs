// SPDX-License-Identifier: Apache-2.0
//! Plugins that validate and complete Shoots.

use std::sync::Arc;

use api::constants::{annotation, label, role};
use api::core::{ExposureClass, NamespacedCloudProfile, Project, SecretBinding, Seed, Shoot};
use api::kubernetes::core::Secret;
use api::security::CredentialsBinding;
use apimachinery::{GroupResource, Resource as _};
use domain::admission::Refusal;
use domain::admission::shoot::{self as rules, Context};
use domain::admission::{bindings, namespaced_cloud_profile as profiles};
use domain::cloud_profile::{NAMESPACED_CLOUD_PROFILE, counts_by_name, no_reference, reference};
use domain::release::Release;
use domain::versions::Moment;
use generic_apiserver::{Attributes, Operation, Plugin, Reads};

use super::access::{Access, Target};
use super::{
    CloudProfileOf, Verdict, apply_exposure_class, operation, project_of_shoot, refused, reserve_resources, stored,
    writes,
};

/// Merges the scheduling part of a Shoot's ExposureClass into it.
pub(super) struct ShootExposureClass;

impl Plugin for ShootExposureClass {
    fn name(&self) -> &'static str {
        "ShootExposureClass"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<Shoot>(attributes, &[""]) {
            return Ok(());
        }
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        let Some(name) = shoot.spec.exposure_class_name.clone() else { return Ok(()) };
        let result = match reads.get::<ExposureClass>("", &name) {
            Some(class) => apply_exposure_class(shoot, &class),
            None => Err(Refusal::Forbidden(format!("exposureclasses.core.gardener.cloud {name:?} not found"))),
        };
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}

/// Sets the domain of a Shoot that gets a seed; holds the default domains.
pub(super) struct ShootDNS(pub(super) Vec<String>, pub(super) Release);

impl Plugin for ShootDNS {
    fn name(&self) -> &'static str {
        "ShootDNS"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        if !writes::<Shoot>(attributes, &["", "binding"]) {
            return Ok(());
        }
        let operation = operation(attributes);
        let old = stored::<Shoot>(attributes);
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        let unchanged = |old: &Shoot| {
            old.spec.dns == shoot.spec.dns && old.spec.seed_name == shoot.spec.seed_name && old.spec.seed_name.is_some()
        };
        if old.is_some_and(unchanged) {
            return Ok(());
        }
        let domains = default_domains(&self.0, reads);
        let result = project_of_shoot(shoot, reads).and_then(|project| {
            bindings::assign_domain(shoot, old, operation, &project.metadata.name, &domains, self.1)
        });
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}

/// Returns the default domains, the preferred one first: those of the garden's Secrets, then the configured ones.
fn default_domains(configured: &[String], reads: &Reads<'_>) -> Vec<String> {
    let secrets = reads.list::<Secret>(Some("garden"));
    let mut found: Vec<(i64, String)> = secrets
        .iter()
        .map(|secret| &secret.metadata)
        .filter(|meta| meta.label(label::ROLE) == Some(role::DEFAULT_DOMAIN))
        .filter_map(|meta| {
            let priority = meta.annotation(annotation::DNS_DEFAULT_DOMAIN_PRIORITY);
            let priority = priority.and_then(|text| text.parse().ok()).unwrap_or(0);
            Some((-priority, meta.annotation(annotation::DNS_DOMAIN)?.to_owned()))
        })
        .collect();
    found.sort_by_key(|(order, _)| *order);
    let mut domains: Vec<String> = found.into_iter().map(|(_, domain)| domain).collect();
    domains.extend(configured.iter().filter(|domain| !domains.contains(domain)).cloned().collect::<Vec<_>>());
    domains
}

/// Validates a Shoot by its CloudProfile, Seed and Project.
pub(super) struct ShootValidator {
    pub(super) access: Access,
    pub(super) release: Release,
    /// Feature gate `LiveControlPlaneMigration`.
    pub(super) live_migration: bool,
}

impl Plugin for ShootValidator {
    fn name(&self) -> &'static str {
        "ShootValidator"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        let subresource = attributes.request.subresource.clone();
        if !attributes.is::<Shoot>() || !matches!(&*subresource, "" | "binding") {
            return Ok(());
        }
        let old = stored::<Shoot>(attributes);
        let request = attributes.request;
        let kind = operation(attributes);
        let Some(shoot) = attributes.object::<Shoot>() else { return Ok(()) };
        let binding = &*subresource == "binding";
        let result =
            rules::precheck(shoot, old, (kind, binding), &request.user.name, self.release).and_then(|is_done| {
                if is_done {
                    Ok(())
                } else if rules::judges_after_validation(self.release) {
                    fill_in(shoot, old, (kind, binding), request, self.release, reads)
                } else {
                    judge(shoot, old, (kind, binding), (self, request), reads)
                }
            });
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }

    fn validate(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Verdict {
        let subresource = attributes.request.subresource.clone();
        if !rules::judges_after_validation(self.release)
            || !attributes.is::<Shoot>()
            || !matches!(&*subresource, "" | "binding")
        {
            return Ok(());
        }
        let old = stored::<Shoot>(attributes);
        let request = attributes.request;
        let kind = operation(attributes);
        // Fields that validation sets are present already.
        let Some(mut shoot) = attributes.object::<Shoot>().cloned() else { return Ok(()) };
        if old.is_some_and(|old| rules::is_unchanged(&shoot, old)) && attributes.operation == Operation::Update {
            return Ok(());
        }
        let binding = &*subresource == "binding";
        let result = judge(&mut shoot, old, (kind, binding), (self, request), reads);
        result.map_err(|refusal| refused::<Shoot>(attributes, refusal))
    }
}

/// Completes a Shoot by its CloudProfile and Seed.
fn fill_in(
    shoot: &mut Shoot,
    old: Option<&Shoot>,
    (operation, binding): (domain::admission::Operation, bool),
    request: &generic_apiserver::RequestContext,
    release: Release,
    reads: &mut Reads<'_>,
) -> Result<(), Refusal> {
    if operation == domain::admission::Operation::Delete {
        return Ok(());
    }
    let profile = find_profile(shoot, old, operation, release, reads)?;
    let seed = find_seed(shoot.spec.seed_name.as_ref(), reads)?;
    let context = Context {
        operation,
        binding,
        old,
        cloud_profile: profile.spec(),
        project: &Project::default(),
        seed: seed.as_deref(),
        old_seed: None,
        shoots_on_seed: 0,
        secret_binding: None,
        old_secret_binding: None,
        credentials_binding: None,
        domains: &[],
        live_migration: false,
        at: Moment::new(request.now, release),
    };
    rules::fill_in(shoot, &context)
}

/// Finds the CloudProfile of a Shoot. Versions and images are chosen by the current profile: a concurrent change must be noticed.
fn find_profile(
    shoot: &Shoot,
    old: Option<&Shoot>,
    operation: domain::admission::Operation,
    release: Release,
    reads: &mut Reads<'_>,
) -> Result<CloudProfileOf, Refusal> {
    use domain::admission::Operation::{Create, Delete};

    let decisive = operation == Create
        || old.map(|old| &old.spec).is_some_and(|before| {
            before.kubernetes.version != shoot.spec.kubernetes.version
                || before.provider.workers != shoot.spec.provider.workers
                || reference(before) != reference(&shoot.spec)
        });
    CloudProfileOf::find(shoot, decisive && operation != Delete, reads).map_err(|why| {
        let why = if reference(&shoot.spec).is_none() { no_reference(release) } else { why };
        Refusal::Internal(format!("could not find referenced cloud profile: {why}"))
    })
}

fn find_seed(name: Option<&String>, reads: &mut Reads<'_>) -> Result<Option<Arc<Seed>>, Refusal> {
    let Some(name) = name else { return Ok(None) };
    let found = reads.get::<Seed>("", name);
    let text = || format!("could not find referenced seed {name:?}: seed.core.gardener.cloud {name:?} not found");
    found.map(Some).ok_or_else(|| Refusal::Internal(text()))
}

fn judge(
    shoot: &mut Shoot,
    old: Option<&Shoot>,
    (operation, binding): (domain::admission::Operation, bool),
    (validator, request): (&ShootValidator, &generic_apiserver::RequestContext),
    reads: &mut Reads<'_>,
) -> Result<(), Refusal> {
    use domain::admission::Operation::Create;

    let release = validator.release;
    let namespace = shoot.metadata.namespace.clone();
    let before = old.map(|old| &old.spec);
    if operation == Create && shoot.spec.seed_name.is_some() {
        let (group, plural, name) = (Shoot::GROUP, Shoot::PLURAL, shoot.metadata.name.as_str());
        let target = Target { group, plural, subresource: "binding", namespace: &namespace, name };
        if !validator.access.may(request, "update", target) {
            let user = apimachinery::go::quote(&request.user.name);
            let text = format!("user {user} is not allowed to set .spec.seedName for \"shoots\"");
            return Err(Refusal::Forbidden(text));
        }
    }
    let profile = find_profile(shoot, old, operation, release, reads)?;
    if let Some(old) = old {
        reference_change(shoot, old, &profile, release, reads)?;
    }
    let new_seed = find_seed(shoot.spec.seed_name.as_ref(), reads)?;
    let old_seed = find_seed(before.and_then(|before| before.seed_name.as_ref()), reads).unwrap_or_default();
    let project = project_of_shoot(shoot, reads)?;
    let missing = |what: &str, resource: &str, name: &str| {
        Refusal::Internal(format!("could not find referenced {what}: {resource} {name:?} not found"))
    };
    let secret_binding = match &shoot.spec.secret_binding_name {
        None => None,
        Some(name) => Some(
            reads
                .get::<SecretBinding>(&namespace, name)
                .ok_or_else(|| missing("secret binding", "secretbinding.core.gardener.cloud", name))?,
        ),
    };
    let credentials_binding = match &shoot.spec.credentials_binding_name {
        None => None,
        Some(name) => Some(
            reads
                .get::<CredentialsBinding>(&namespace, name)
                .ok_or_else(|| missing("credentials binding", "credentialsbinding.security.gardener.cloud", name))?,
        ),
    };
    let old_secret_binding = before
        .and_then(|before| before.secret_binding_name.as_ref())
        .and_then(|name| reads.get::<SecretBinding>(&namespace, name));

    let is_other = |other: &Shoot| {
        other.metadata.name != shoot.metadata.name || other.metadata.namespace != shoot.metadata.namespace
    };
    let gets_seed = shoot.spec.seed_name.is_some() && before.is_none_or(|old| old.seed_name != shoot.spec.seed_name);
    let has_limit = new_seed.as_ref().is_some_and(|seed| seed.status.allocatable.contains_key("shoots"));
    let shoots_on_seed = if gets_seed && has_limit {
        let shoots = reads.list::<Shoot>(None);
        let on_seed = shoots.iter().filter(|other| {
            is_other(other)
                && (other.spec.seed_name == shoot.spec.seed_name || other.status.seed_name == shoot.spec.seed_name)
        });
        i64::try_from(on_seed.count()).unwrap_or(i64::MAX)
    } else {
        0
    };
    let has_domain = shoot.spec.dns.as_ref().is_some_and(|dns| dns.domain.is_some());
    let domains: Vec<String> = if has_domain && before != Some(&shoot.spec) {
        let shoots = reads.list::<Shoot>(None);
        let others = shoots.iter().filter(|other| is_other(other));
        others.filter_map(|other| other.spec.dns.as_ref()?.domain.clone()).collect()
    } else {
        Vec::new()
    };
    let context = Context {
        operation,
        binding,
        old,
        cloud_profile: profile.spec(),
        project: &project,
        seed: new_seed.as_deref(),
        old_seed: old_seed.as_deref(),
        shoots_on_seed,
        secret_binding: secret_binding.as_deref(),
        old_secret_binding: old_secret_binding.as_deref(),
        credentials_binding: credentials_binding.as_deref(),
        domains: &domains,
        live_migration: validator.live_migration,
        at: Moment::new(request.now, release),
    };
    rules::admit(shoot, &context)
}

/// Checks the change of a Shoot to another profile: it has the same CloudProfile, and everything that the Shoot uses. In releases
/// that read only the name, static validation checks changes.
fn reference_change(
    shoot: &Shoot,
    old: &Shoot,
    profile: &CloudProfileOf,
    release: Release,
    reads: &mut Reads<'_>,
) -> Result<(), Refusal> {
    if counts_by_name(release) {
        return Ok(());
    }
    let (Some(before), Some(now)) = (reference(&old.spec), reference(&shoot.spec)) else { return Ok(()) };
    if before == now {
        return Ok(());
    }
    let root = profile.root();
    let old_root = if before.kind == NAMESPACED_CLOUD_PROFILE {
        let found = reads.get::<NamespacedCloudProfile>(&old.metadata.namespace, &before.name);
        let missing = || {
            let resource = NAMESPACED_CLOUD_PROFILE.to_lowercase();
            let group = NamespacedCloudProfile::GROUP.to_owned();
            Refusal::NotFound(GroupResource { group, resource }, before.name.clone())
        };
        found.ok_or_else(missing)?.spec.parent.clone()
    } else {
        before.clone()
    };
    profiles::check_hierarchy((&before, &old_root), (&now, &root), release)?;
    let old_profile = CloudProfileOf::find(old, false, reads).map_err(|why| {
        Refusal::Plain(format!("could not find cloudProfileSpec from the shoot cloudProfile reference: {why}"))
    })?;
    profiles::check_still_offered(shoot, old_profile.spec(), profile.spec(), release)
}

/// Sets the resources that kubelets reserve.
pub(super) struct ShootResourceReservation;

impl Plugin for ShootResourceReservation {
    fn name(&self) -> &'static str {
        "ShootResourceReservation"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, _: &mut Reads<'_>) -> Verdict {
        if attributes.operation != Operation::Delete
            && attributes.is_main::<Shoot>()
            && let Some(shoot) = attributes.object::<Shoot>()
        {
            reserve_resources(shoot);
        }
        Ok(())
    }
}
