// SPDX-License-Identifier: Apache-2.0
//! Deletion confirmation, finalizers, DNS domains, and Seeds in use.

use api::constants::{annotation, finalizer, label, operation_state, operation_type};
use api::core::*;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;
use apimachinery::selector::Labels;

use super::{Operation, Refusal};
use crate::annotations::is_true;
use crate::release::{Release, Releases};

/// Checks that the deletion of an object of these kinds was confirmed, by a second user if the Project requires dual
/// approval (DeletionConfirmation).
///
/// # Errors
/// 403.
pub fn check_deletion(meta: &ObjectMeta, resource: &str, project: Option<&Project>, user: &str) -> Result<(), Refusal> {
    if !is_true(&meta.annotations, annotation::CONFIRMATION_DELETION) {
        let text = format!("must have a {:?} annotation to delete", annotation::CONFIRMATION_DELETION);
        return Err(Refusal::Forbidden(text));
    }
    let Some(project) = project else { return Ok(()) };
    let is_service_account = user.starts_with("system:serviceaccount:");
    for approval in project.spec.dual_approval_for_deletion.iter().filter(|approval| approval.resource == resource) {
        let selected = Labels::from_selector(&approval.selector).is_ok_and(|labels| labels.matches(&meta.labels));
        let exempt = is_service_account && approval.include_service_accounts == Some(false);
        if selected && !exempt && meta.annotation(annotation::DELETION_CONFIRMED_BY) == Some(user) {
            let text = "you are not allowed to both confirm the deletion and send the actual DELETE request - another \
                        subject must perform the deletion";
            return Err(Refusal::Forbidden(text.to_owned()));
        }
    }
    Ok(())
}

/// Records the user who confirmed a Shoot's deletion (DeletionConfirmation on writes).
pub fn record_confirmation(meta: &mut ObjectMeta, old: Option<&ObjectMeta>, user: &str) {
    let confirmed = is_true(&meta.annotations, annotation::CONFIRMATION_DELETION);
    let before = old.filter(|old| is_true(&old.annotations, annotation::CONFIRMATION_DELETION));
    if !confirmed {
        meta.annotations.remove(annotation::DELETION_CONFIRMED_BY);
        return;
    }
    let name = before.map_or(user, |old| old.annotation(annotation::DELETION_CONFIRMED_BY).unwrap_or_default());
    meta.annotations.insert(annotation::DELETION_CONFIRMED_BY.to_owned(), name.to_owned());
}

/// True if an update removes Gardener's finalizer.
pub fn removes_finalizer(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    old.has_finalizer(finalizer::GARDENER) && !new.has_finalizer(finalizer::GARDENER)
}

/// Checks that the finalizer of a Shoot is not removed before its deletion has succeeded (FinalizerRemoval).
///
/// # Errors
/// 403.
pub fn check_shoot_finalizer(shoot: &Shoot, old: &Shoot) -> Result<(), Refusal> {
    let status = &shoot.status;
    let finished = status.technical_id.is_empty()
        || status.last_operation.as_ref().is_none_or(|operation| {
            operation.r#type == operation_type::DELETE
                && operation.state == operation_state::SUCCEEDED
                && operation.progress == 100
        });
    if !removes_finalizer(&shoot.metadata, &old.metadata) || finished {
        return Ok(());
    }
    let text = "finalizer \"gardener\" cannot be removed because shoot deletion has not completed successfully yet";
    Err(Refusal::Forbidden(text.to_owned()))
}

/// Checks that the finalizer of a binding is not removed while it is in use; `kind` is `secret binding` or `credentials
/// binding` (FinalizerRemoval).
///
/// # Errors
/// 403 while a Shoot uses it.
pub fn check_binding_finalizer(
    kind: &str,
    new: &ObjectMeta,
    old: &ObjectMeta,
    in_use: impl FnOnce() -> bool,
) -> Result<(), Refusal> {
    if !removes_finalizer(new, old) || !in_use() {
        return Ok(());
    }
    Err(Refusal::Forbidden(format!(
        "finalizer must not be removed - {kind} {}/{} is still in use by at least one shoot",
        new.namespace, new.name
    )))
}

/// Checks that a Seed with Shoots is not deleted (SeedValidator).
///
/// # Errors
/// 403.
pub fn check_seed_deletion<'a>(name: &str, shoots: impl IntoIterator<Item = &'a Shoot>) -> Result<(), Refusal> {
    let uses = |shoot: &Shoot| {
        shoot.spec.seed_name.as_deref() == Some(name) || shoot.status.seed_name.as_deref() == Some(name)
    };
    if shoots.into_iter().any(uses) {
        return Err(Refusal::Forbidden(format!("cannot delete seed {name} since it is still used by shoot(s)")));
    }
    Ok(())
}

/// Checks that zones are not removed while the Seed has Shoots (SeedValidator).
///
/// # Errors
/// 403.
pub fn check_seed_zones(new: &Seed, old: &Seed, in_use: impl FnOnce() -> bool) -> Result<(), Refusal> {
    let zones = &new.spec.provider.zones;
    let removed: Vec<&str> =
        old.spec.provider.zones.iter().filter(|zone| !zones.contains(zone)).map(String::as_str).collect();
    if removed.is_empty() || !in_use() {
        return Ok(());
    }
    let name = &new.metadata.name;
    let text = format!("cannot remove zones {removed:?} from Seed {name} as there are Shoots scheduled to this Seed");
    Err(Refusal::Forbidden(text.replace("\", \"", "\" \"")))
}

/// Sets the label with the Seed's own name (SeedMutator).
pub fn label_seed(seed: &mut Seed) {
    seed.metadata.labels.retain(|key, _| !key.starts_with(label::SEED_NAME_PREFIX));
    seed.metadata.labels.insert(format!("{}{}", label::SEED_NAME_PREFIX, seed.metadata.name), "true".to_owned());
}

/// ShootDNS: assigns a domain below the first default domain to a Shoot that is assigned to a Seed; a domain below a
/// default domain must have the assigned form.
///
/// # Errors
/// 422 for a Shoot without a domain if there is no default domain, and for another Shoot's default domain.
pub fn assign_domain(
    shoot: &mut Shoot,
    old: Option<&Shoot>,
    operation: Operation,
    project: &str,
    default_domains: &[String],
    release: Release,
) -> Result<(), Refusal> {
    let path = Path::new("spec").child("dns");
    let invalid = |name: &str, text: &str| Err(Refusal::Invalid(vec![FieldError::invalid(&path, name, text)]));
    let default_of = |domain: &str| {
        default_domains
            .iter()
            .find(|default| domain.strip_suffix(default.as_str()).is_some_and(|rest| rest.ends_with('.')))
    };
    let name = shoot.metadata.name.clone();
    let domain = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.clone());
    let default = domain.as_deref().and_then(default_of);
    let has_primary = |shoot: &Shoot| {
        shoot.spec.dns.iter().flat_map(|dns| &dns.providers).any(|provider| provider.primary == Some(true))
    };
    if default.is_some() && has_primary(shoot) {
        return invalid(&name, "primary dns provider must not be set when default domain is used");
    }
    let unmanaged = uses_unmanaged_dns(&shoot.spec);
    let old_domain = old.and_then(|old| old.spec.dns.as_ref()?.domain.as_ref());
    let old_seed = old.and_then(|old| old.spec.seed_name.as_ref());
    let judged = operation == Operation::Create || old_seed.is_none() || old_domain.is_none();
    if let (true, false, Some(domain), Some(default)) = (judged, unmanaged, &domain, default) {
        let generated = &shoot.metadata.generate_name;
        if !generated.is_empty() && (name.is_empty() || name.starts_with(generated.as_str())) {
            let wanted = format!(".{project}.{default}");
            if !domain.ends_with(&wanted) {
                let text = format!(
                    "shoot with 'metadata.generateName' uses a default domain but does not match expected scheme: \
                     <random-subdomain>.<project-name>.<default-domain> (expected '{wanted}' to be a suffix of \
                     '{domain}')"
                );
                return invalid(&name, &text);
            }
        } else if *domain != format!("{name}.{project}.{default}") {
            let text = format!(
                "shoot uses a default domain but does not match expected scheme: \
                 <shoot-name>.<project-name>.<default-domain> (expected '{name}.{project}.{default}', but got \
                 '{domain}')"
            );
            return invalid(&name, &text);
        }
    }
    if shoot.spec.seed_name.is_none() {
        return Ok(());
    }
    if old_seed.is_some() {
        return functionless_providers(shoot, release);
    }
    if !unmanaged {
        let dns = shoot.spec.dns.get_or_insert_default();
        if dns.domain.is_none() {
            dns.domain = default_domains.first().map(|default| format!("{name}.{project}.{default}"));
        }
        if dns.domain.is_none() {
            let text = "shoot domain field .spec.dns.domain must be set if provider != unmanaged";
            return Err(Refusal::Invalid(vec![FieldError::required(&Path::new("spec").child("DNS"), text)]));
        }
    }
    let below_default = shoot.spec.dns.as_ref().and_then(|dns| dns.domain.as_deref()).and_then(default_of).is_some();
    if !has_primary(shoot)
        && !below_default
        && let Some(first) = shoot.spec.dns.as_mut().and_then(|dns| dns.providers.first_mut())
    {
        first.primary = Some(true);
    }
    functionless_providers(shoot, release)
}

/// True if the primary provider, or the first one if none is primary, is unmanaged.
fn uses_unmanaged_dns(spec: &ShootSpec) -> bool {
    let Some(dns) = &spec.dns else { return false };
    let primary =
        dns.providers.iter().find(|provider| provider.primary == Some(true)).or_else(|| dns.providers.first());
    primary.is_some_and(|provider| provider.r#type.as_deref() == Some("unmanaged"))
}

/// Releases whose admission requires `secretName` of DNS providers that are not the primary one.
const REQUIRES_SECRET_NAME: Releases = Releases::until(135);
/// Releases whose admission requires `credentialsRef` instead. Later releases validate it.
const REQUIRES_CREDENTIALS_REF: Releases = Releases::between(135, 136);

fn functionless_providers(shoot: &Shoot, release: Release) -> Result<(), Refusal> {
    let path = Path::new("spec").child("dns").child("providers");
    let providers = shoot.spec.dns.iter().flat_map(|dns| &dns.providers).enumerate();
    for (index, provider) in providers.filter(|(_, provider)| provider.primary != Some(true)) {
        let (lacks_credentials, path, text) = if REQUIRES_SECRET_NAME.contain(release) {
            let text = "non-primary DNS providers in .spec.dns.providers must specify a `type` and `secretName`";
            (provider.secret_name.is_none(), path.clone(), text)
        } else if REQUIRES_CREDENTIALS_REF.contain(release) {
            let text = "non-primary DNS providers must specify `type` and `credentialsRef`";
            (provider.credentials_ref.is_none(), path.index(index), text)
        } else {
            return Ok(());
        };
        if lacks_credentials || provider.r#type.is_none() {
            return Err(Refusal::Invalid(vec![FieldError::required(&path, text)]));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::DOCUMENTED;

    #[test]
    fn deletion_needs_a_confirmation_that_go_reads_as_true() {
        let check = |value: &str, accepted: bool| {
            let mut meta = ObjectMeta::default();
            meta.annotations.insert("confirmation.gardener.cloud/deletion".to_owned(), value.to_owned());
            assert_eq!(check_deletion(&meta, "shoots", None, "alice").is_ok(), accepted, "{value}");
        };
        for value in ["1", "t", "T", "true", "TRUE", "True"] {
            check(value, true);
        }
        for value in ["", "yes", "0", "tRUE", "false"] {
            check(value, false);
        }
        let text = "must have a \"confirmation.gardener.cloud/deletion\" annotation to delete";
        let refusal = Refusal::Forbidden(text.to_owned());
        assert_eq!(check_deletion(&ObjectMeta::default(), "shoots", None, "alice"), Err(refusal));
    }

    #[test]
    fn a_project_can_require_two_persons_for_deletions() {
        let mut project = Project::default();
        project.spec.dual_approval_for_deletion =
            vec![DualApprovalForDeletion { resource: "shoots".to_owned(), ..DualApprovalForDeletion::default() }];
        let mut meta = ObjectMeta::default();
        meta.annotations.insert("confirmation.gardener.cloud/deletion".to_owned(), "true".to_owned());
        record_confirmation(&mut meta, None, "alice");
        assert!(check_deletion(&meta, "shoots", Some(&project), "alice").is_err());
        assert!(check_deletion(&meta, "shoots", Some(&project), "bob").is_ok());
    }

    #[test]
    fn a_scheduled_shoot_gets_a_domain() {
        let defaults = ["example.com".to_owned()];
        let mut shoot = Shoot::default();
        shoot.metadata.name = "local".to_owned();
        assert_eq!(assign_domain(&mut shoot, None, Operation::Create, "demo", &defaults, DOCUMENTED), Ok(()));
        assert_eq!(shoot.spec.dns, None, "not before there is a seed");
        let old = shoot.clone();
        shoot.spec.seed_name = Some("seed".to_owned());
        assert_eq!(assign_domain(&mut shoot, Some(&old), Operation::Update, "demo", &defaults, DOCUMENTED), Ok(()));
        assert_eq!(shoot.spec.dns.unwrap().domain.as_deref(), Some("local.demo.example.com"));

        let mut shoot = old.clone();
        shoot.spec.seed_name = Some("seed".to_owned());
        let text = "shoot domain field .spec.dns.domain must be set if provider != unmanaged";
        let error = FieldError::required(&Path::new("spec.DNS"), text);
        let refusal = Refusal::Invalid(vec![error]);
        assert_eq!(assign_domain(&mut shoot, Some(&old), Operation::Update, "demo", &[], DOCUMENTED), Err(refusal));
    }

    #[test]
    fn other_dns_providers_need_credentials_by_release() {
        let shoot = |provider: serde_json::Value| -> Shoot {
            let spec =
                serde_json::json!({ "seedName": "seed", "dns": { "domain": "own.org", "providers": [provider] } });
            serde_json::from_value(serde_json::json!({ "metadata": { "name": "local" }, "spec": spec }))
                .expect("a Shoot")
        };
        let by_name = serde_json::json!({ "type": "t", "secretName": "a" });
        let reference = serde_json::json!({ "kind": "Secret", "apiVersion": "v1", "name": "a" });
        let by_reference = serde_json::json!({ "type": "t", "credentialsRef": reference });
        for (provider, release, expected) in [
            (&by_name, 134, ""),
            (&by_reference, 134, "spec.dns.providers"),
            (&by_name, 135, "spec.dns.providers[0]"),
            (&by_reference, 135, ""),
            (&by_name, 136, ""),
        ] {
            let mut shoot = shoot(provider.clone());
            let old = shoot.clone();
            let result = assign_domain(&mut shoot, Some(&old), Operation::Update, "demo", &[], Release(release));
            let field = match &result {
                Err(Refusal::Invalid(errors)) => errors[0].field.as_str(),
                _ => "",
            };
            assert_eq!((field, result.is_ok()), (expected, expected.is_empty()), "{provider} {release}");
        }
    }

    #[test]
    fn a_default_domain_belongs_to_the_shoot_of_that_name() {
        let check = |domain: &str, accepted: bool| {
            let mut shoot = Shoot::default();
            shoot.metadata.name = "local".to_owned();
            shoot.spec.dns = Some(DNS { domain: Some(domain.to_owned()), providers: Vec::new() });
            let result =
                assign_domain(&mut shoot, None, Operation::Create, "demo", &["example.com".to_owned()], DOCUMENTED);
            assert_eq!(result.is_ok(), accepted, "{domain}");
        };
        check("local.demo.example.com", true);
        check("own.org", true);
        check("other.demo.example.com", false);
        check("local.other.example.com", false);
    }
}
