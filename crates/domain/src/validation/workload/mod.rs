// SPDX-License-Identifier: Apache-2.0
//! Validation of the Kubernetes kinds that users create.
//!
//! The rules read trees that the schema has pruned, since no type here has all fields of a pod. Defaults of pod templates
//! need not be set: a missing field counts as its default.
//!
//! Deliberately absent: rules for kinds and fields that no behavior of Gardener depends on: security contexts, probes and
//! hooks, DNS settings, sources of variables and volumes, NetworkPolicies, Ingresses, EndpointSlices, LimitRanges,
//! StorageClasses, HorizontalPodAutoscalers, FlowSchemas, PriorityLevelConfigurations.
//!
//! Source: k8s.io/kubernetes pkg/apis/apps/validation/validation.go, pkg/registry/apps/*/strategy.go @ v1.31.

mod batch;
mod budgets;
mod claims;
mod classes;
mod containers;
mod data;
mod events;
mod go;
mod pods;
mod scheduling;
mod services;
#[cfg(test)]
mod tests;
mod tree;
mod volumes;
mod webhooks;

use apimachinery::meta::TextMap;

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::LabelSelector;
use apimachinery::selector::Labels;
use serde_json::{Map, Value};

use self::tree::{is_same, is_same_map, items, non_negative, number, set, text, texts};
use super::{Errors, meta};

pub use self::batch::{cron_job, job, job_update, select_own_pods};
pub use self::budgets::{disruption_budget, disruption_budget_status, lease};
pub use self::claims::{claim, claim_update};
pub use self::classes::{
    SYSTEM_CLASSES, SystemClass, priority_class, priority_class_update, runtime_class, runtime_class_update,
};
pub use self::data::{
    config_map, config_map_update, controller_revision, controller_revision_update, secret, secret_update,
};
pub use self::events::event;
pub use self::pods::{ephemeral_update, pod, pod_update};
pub use self::services::{service, service_update};
pub use self::webhooks::{Url, webhooks};

const MISMATCH: &str = "`selector` does not match template `labels`";

/// A kind of API group `apps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A Deployment.
    Deployment,
    /// A ReplicaSet.
    ReplicaSet,
    /// A StatefulSet.
    StatefulSet,
    /// A DaemonSet.
    DaemonSet,
}

impl Kind {
    /// Returns the kind of a resource by its plural name.
    pub fn of(plural: &str) -> Option<Self> {
        Some(match plural {
            "deployments" => Self::Deployment,
            "replicasets" => Self::ReplicaSet,
            "statefulsets" => Self::StatefulSet,
            "daemonsets" => Self::DaemonSet,
            _ => return None,
        })
    }
}

/// Returns all violations of a new object's fields, in upstream's order. Metadata is checked elsewhere, except the name
/// of a StatefulSet, which is part of its pods' names.
pub fn create(kind: Kind, name: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    if kind == Kind::StatefulSet && !name.is_empty() {
        let path = Path::new("metadata").child("name");
        // The rule for a subdomain is checked elsewhere.
        if meta::dns_subdomain(name).is_empty() {
            meta::invalid_each(&mut errors, &path, name, meta::dns_label(name));
        }
    }
    errors.extend(check(kind, fields));
    errors
}

/// Returns all violations of a changed object's fields, in upstream's order.
pub fn update(kind: Kind, fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = check(kind, fields);
    let (spec, old) = (spec(fields), spec(old));
    let path = Path::new("spec");
    if kind != Kind::StatefulSet {
        if !is_same(spec.get("selector"), old.get("selector")) {
            let value = spec.get("selector").filter(|it| !it.is_null());
            let value = value.map_or_else(|| "null".to_owned(), go::label_selector);
            errors.push(go::invalid(&path.child("selector"), &value, "field is immutable"));
        }
        return errors;
    }
    const MAY_CHANGE: [&str; 6] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let fixed = |spec: &Value| {
        let mut fields = spec.as_object().cloned().unwrap_or_default();
        fields.retain(|name, _| !MAY_CHANGE.contains(&name.as_str()));
        fields
    };
    if !is_same_map(&fixed(spec), &fixed(old)) {
        let text = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                    'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
        errors.push(FieldError::forbidden(&path, text));
    }
    errors
}

fn spec(fields: &Map<String, Value>) -> &Value {
    fields.get("spec").unwrap_or(&Value::Null)
}

fn check(kind: Kind, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = spec(fields);
    let path = Path::new("spec");
    match kind {
        Kind::Deployment => deployment(&mut errors, spec, &path),
        Kind::ReplicaSet => replica_set(&mut errors, spec, &path),
        Kind::StatefulSet => stateful_set(&mut errors, spec, &path),
        Kind::DaemonSet => daemon_set(&mut errors, spec, &path),
    }
    errors
}

fn deployment(errors: &mut Errors, spec: &Value, path: &Path) {
    non_negative(errors, spec, "replicas", path);
    selector_and_template(errors, spec, "deployment", "invalid label selector", path);
    let empty = Map::new();
    let strategy = spec.get("strategy").and_then(Value::as_object).unwrap_or(&empty);
    let at = path.child("strategy");
    let rolling = strategy.get("rollingUpdate").filter(|it| !it.is_null());
    match strategy.get("type").and_then(Value::as_str).unwrap_or_default() {
        "Recreate" => {
            if rolling.is_some() {
                let text = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(FieldError::forbidden(&at.child("rollingUpdate"), text));
            }
        }
        "RollingUpdate" => match rolling {
            None => {
                let text = "this should be defaulted and never be nil";
                errors.push(FieldError::required(&at.child("rollingUpdate"), text));
            }
            Some(rolling) => rolling_deployment(errors, rolling, &at.child("rollingUpdate")),
        },
        _ => {
            let value = go::strategy("DeploymentStrategy", "RollingUpdateDeployment", strategy);
            errors.push(go::not_supported(&at, &value, &["Recreate", "RollingUpdate"]));
        }
    }
    non_negative(errors, spec, "minReadySeconds", path);
    non_negative(errors, spec, "revisionHistoryLimit", path);
    if let Some(deadline) = number(spec, "progressDeadlineSeconds") {
        non_negative(errors, spec, "progressDeadlineSeconds", path);
        if deadline <= number(spec, "minReadySeconds").unwrap_or(0) {
            let at = path.child("progressDeadlineSeconds");
            errors.push(FieldError::invalid(&at, deadline, "must be greater than minReadySeconds"));
        }
    }
}

fn rolling_deployment(errors: &mut Errors, rolling: &Value, path: &Path) {
    let (unavailable, surge) = (set(rolling, "maxUnavailable"), set(rolling, "maxSurge"));
    let at = path.child("maxUnavailable");
    int_or_percent(errors, unavailable, &at);
    int_or_percent(errors, surge, &path.child("maxSurge"));
    if amount(unavailable) == 0 && amount(surge) == 0 {
        errors.push(go::invalid(&at, &go::int_or_string(unavailable), "may not be 0 when `maxSurge` is 0"));
    }
    at_most_all(errors, unavailable, &at);
}

fn replica_set(errors: &mut Errors, spec: &Value, path: &Path) {
    non_negative(errors, spec, "replicas", path);
    non_negative(errors, spec, "minReadySeconds", path);
    // The word is upstream's.
    selector_and_template(errors, spec, "deployment", "invalid label selector", path);
}

fn stateful_set(errors: &mut Errors, spec: &Value, path: &Path) {
    let policy = text(spec, "podManagementPolicy");
    if !policy.is_empty() && !matches!(policy, "OrderedReady" | "Parallel") {
        let text = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid(&path.child("podManagementPolicy"), policy, text));
    }
    let empty = Map::new();
    let strategy = spec.get("updateStrategy").and_then(Value::as_object).unwrap_or(&empty);
    let at = path.child("updateStrategy");
    let rolling = strategy.get("rollingUpdate").filter(|it| !it.is_null());
    match strategy.get("type").and_then(Value::as_str).unwrap_or_default() {
        "" => errors.push(FieldError::required(&at, "")),
        "OnDelete" => {
            if let Some(rolling) = rolling {
                let partition = number(rolling, "partition").unwrap_or(0);
                let unavailable = match set(rolling, "maxUnavailable") {
                    Some(_) => "(*intstr.IntOrString)(…)",
                    None => "(*intstr.IntOrString)(nil)",
                };
                let value = format!(
                    "apps.RollingUpdateStatefulSetStrategy{{Partition:{partition}, MaxUnavailable:{unavailable}}}"
                );
                let text = "only allowed for updateStrategy 'RollingUpdate'";
                errors.push(go::invalid(&at.child("rollingUpdate"), &value, text));
            }
        }
        "RollingUpdate" => {
            if let Some(rolling) = rolling {
                let at = at.child("rollingUpdate");
                non_negative(errors, rolling, "partition", &at);
                if let Some(unavailable) = set(rolling, "maxUnavailable") {
                    let at = at.child("maxUnavailable");
                    int_or_percent(errors, Some(unavailable), &at);
                    if amount(Some(unavailable)) == 0 {
                        errors.push(go::invalid(&at, &go::int_or_string(Some(unavailable)), "cannot be 0"));
                    }
                    at_most_all(errors, Some(unavailable), &at);
                }
            }
        }
        _ => {
            let value = go::strategy("StatefulSetUpdateStrategy", "RollingUpdateStatefulSetStrategy", strategy);
            errors.push(go::invalid(&at, &value, "must be 'RollingUpdate' or 'OnDelete'"));
        }
    }
    if let Some(policy) = set(spec, "persistentVolumeClaimRetentionPolicy") {
        let at = path.child("persistentVolumeClaimRetentionPolicy");
        for field in ["whenDeleted", "whenScaled"] {
            tree::one_of(errors, policy, field, &["Retain", "Delete"], &at);
        }
    }
    non_negative(errors, spec, "replicas", path);
    non_negative(errors, spec, "minReadySeconds", path);
    if let Some(ordinals) = set(spec, "ordinals") {
        // The path is one element, as upstream's.
        meta::non_negative(errors, number(ordinals, "start").unwrap_or(0), &path.child("ordinals.start"));
    }
    let matching = selector(errors, spec, Some("statefulset"), path);
    let template = spec.get("template").unwrap_or(&Value::Null);
    let at = path.child("template");
    match matching {
        Err(()) => {
            let value = go::label_selector(spec.get("selector").unwrap_or(&Value::Null));
            errors.push(go::invalid(&path.child("selector"), &value, ""));
        }
        Ok(matching) => {
            mismatch(errors, matching.as_ref(), template, &at);
            // Upstream does not check the rest of the pod either: its pods are refused one by one.
            pods::template_metadata(errors, template, &at);
        }
    }
    restart_policy(errors, template, "StatefulSet", &at);
}

fn daemon_set(errors: &mut Errors, spec: &Value, path: &Path) {
    let template = spec.get("template").unwrap_or(&Value::Null);
    let at = path.child("template");
    let empty = set(spec, "selector").filter(|selector| is_empty_selector(selector));
    // A missing selector has no error of its own; it only matches nothing.
    let mut of_selector = Errors::new();
    let matching = selector(&mut of_selector, spec, None, path);
    if set(spec, "selector").is_some() {
        errors.append(&mut of_selector);
    }
    if let Ok(matching) = matching {
        mismatch(errors, matching.as_ref(), template, &at);
    }
    if let Some(empty) = empty {
        let text = "empty selector is invalid for daemonset";
        errors.push(go::invalid(&path.child("selector"), &go::label_selector(empty), text));
    }
    pods::template(errors, template, &at);
    restart_policy(errors, template, "DaemonSet", &at);
    non_negative(errors, spec, "minReadySeconds", path);
    let none = Map::new();
    let strategy = spec.get("updateStrategy").and_then(Value::as_object).unwrap_or(&none);
    let at = path.child("updateStrategy");
    match strategy.get("type").and_then(Value::as_str).unwrap_or_default() {
        "OnDelete" => {}
        "RollingUpdate" => match strategy.get("rollingUpdate").filter(|it| !it.is_null()) {
            None => errors.push(FieldError::required(&at.child("rollingUpdate"), "")),
            Some(rolling) => rolling_daemon_set(errors, rolling, &at.child("rollingUpdate")),
        },
        _ => {
            let value = go::strategy("DaemonSetUpdateStrategy", "RollingUpdateDaemonSet", strategy);
            errors.push(go::not_supported(&at, &value, &["RollingUpdate", "OnDelete"]));
        }
    }
    non_negative(errors, spec, "revisionHistoryLimit", path);
}

fn rolling_daemon_set(errors: &mut Errors, rolling: &Value, path: &Path) {
    let (unavailable, surge) = (set(rolling, "maxUnavailable"), set(rolling, "maxSurge"));
    let (of_unavailable, of_surge) = (path.child("maxUnavailable"), path.child("maxSurge"));
    int_or_percent(errors, unavailable, &of_unavailable);
    int_or_percent(errors, surge, &of_surge);
    at_most_all(errors, unavailable, &of_unavailable);
    at_most_all(errors, surge, &of_surge);
    match (amount(unavailable) != 0, amount(surge) != 0) {
        (true, true) => {
            let text = "may not be set when maxUnavailable is non-zero";
            errors.push(go::invalid(&of_surge, &go::int_or_string(surge), text));
        }
        (false, false) => errors.push(FieldError::required(&of_unavailable, "cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

/// Checks the parts that Deployments and ReplicaSets share.
fn selector_and_template(errors: &mut Errors, spec: &Value, word: &str, invalid: &str, path: &Path) {
    let matching = selector(errors, spec, Some(word), path);
    let Ok(matching) = matching else {
        let value = go::label_selector(spec.get("selector").unwrap_or(&Value::Null));
        errors.push(go::invalid(&path.child("selector"), &value, invalid));
        return;
    };
    let template = spec.get("template").unwrap_or(&Value::Null);
    let path = path.child("template");
    mismatch(errors, matching.as_ref(), template, &path);
    pods::template(errors, template, &path);
    restart_policy(errors, template, "ReplicaSet", &path);
}

/// Adds violations of `spec.selector`, and returns the selected labels; `None`: nothing. `word`: kind in the message
/// about an empty selector.
///
/// # Errors
/// The selector is invalid.
fn selector(errors: &mut Errors, spec: &Value, word: Option<&str>, path: &Path) -> Result<Option<Labels>, ()> {
    let path = path.child("selector");
    let Some(selector) = set(spec, "selector") else {
        errors.push(FieldError::required(&path, ""));
        return Ok(None);
    };
    let typed: LabelSelector = serde_json::from_value(selector.clone()).map_err(|_| ())?;
    meta::label_selector_with_values(errors, &typed, &path);
    if let Some(word) = word.filter(|_| is_empty_selector(selector)) {
        let text = format!("empty selector is invalid for {word}");
        errors.push(go::invalid(&path, &go::label_selector(selector), &text));
    }
    Labels::from_selector(&typed).map(Some).map_err(drop)
}

fn is_empty_selector(selector: &Value) -> bool {
    texts(selector, "matchLabels").is_empty() && items(selector, "matchExpressions").is_empty()
}

/// Adds an error if the object's selector does not match the labels of its template.
fn mismatch(errors: &mut Errors, selector: Option<&Labels>, template: &Value, path: &Path) {
    let metadata = template.get("metadata").unwrap_or(&Value::Null);
    let labels: TextMap = texts(metadata, "labels");
    if !selector.is_some_and(|selector| selector.matches(&labels)) {
        let value = go::string_map(set(metadata, "labels"));
        errors.push(go::invalid(&path.child("metadata").child("labels"), &value, MISMATCH));
    }
}

/// Checks that pods of these kinds always restart.
fn restart_policy(errors: &mut Errors, template: &Value, kind: &str, path: &Path) {
    let spec = template.get("spec").unwrap_or(&Value::Null);
    let path = path.child("spec");
    let policy = text(spec, "restartPolicy");
    if !policy.is_empty() && policy != "Always" {
        errors.push(FieldError::not_supported(&path.child("restartPolicy"), policy, &["Always"]));
    }
    if set(spec, "activeDeadlineSeconds").is_some() {
        let text = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(FieldError::forbidden(&path.child("activeDeadlineSeconds"), &text));
    }
}

/// Checks a non-negative number or a percentage.
fn int_or_percent(errors: &mut Errors, value: Option<&Value>, path: &Path) {
    match value {
        Some(Value::String(text)) if percent(text).is_none() => {
            let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                          '93%', regex used for validation is '[0-9]+%')";
            errors.push(go::invalid(path, &go::int_or_string(value), detail));
        }
        Some(Value::Number(number)) => meta::non_negative(errors, number.as_i64().unwrap_or(0), path),
        _ => {}
    }
}

/// Returns the number of a percentage; `i64::MAX` if it does not fit.
fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Returns the number, or that of the percentage.
fn amount(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::String(text)) => percent(text).or_else(|| text.parse().ok()).unwrap_or(0),
        Some(value) => value.as_i64().unwrap_or(0),
        None => 0,
    }
}

fn at_most_all(errors: &mut Errors, value: Option<&Value>, path: &Path) {
    if let Some(Value::String(text)) = value
        && percent(text).is_some_and(|percent| percent > 100)
    {
        errors.push(go::invalid(path, &go::int_or_string(value), "must not be greater than 100%"));
    }
}
