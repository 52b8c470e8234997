// SPDX-License-Identifier: Apache-2.0
//! ResourceQuotas of Kubernetes: usage of a namespace's objects, and the check of a new one.
//!
//! Usage is counted from the existing objects, not read from a quota's status; so a quota holds as soon as it exists,
//! and concurrent creations never exceed it, as long as the caller guards the counted collection.
//!
//! Deliberately absent: devices that are claimed (`deviceclass`), pods that are past their grace period (they count
//! until they are deleted).
//!
//! Source: k8s.io/apiserver pkg/admission/plugin/resourcequota, k8s.io/kubernetes pkg/quota/v1/evaluator/core @ v1.31.

pub(crate) mod pods;

use std::collections::BTreeMap;

use api::kubernetes::core::{ResourceQuota, ScopedResourceSelectorRequirement};
use apimachinery::GroupResource;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Quantity;
use serde_json::{Map, Value};

pub use self::pods::qos_class;
use crate::validation::{Errors, meta};

/// Amounts by the names that quotas have for them.
pub type Amounts = BTreeMap<String, Quantity>;

/// Kinds of the core group that quotas also count under their plain names.
const COUNTED: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];
/// Names that only pods use.
const OF_PODS: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
const OF_SERVICES: [&str; 3] = ["services", "services.loadbalancers", "services.nodeports"];
const OF_CLAIMS: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// Separator between a storage class and the counted amount of its claims.
const CLASS_SUFFIX: &str = ".storageclass.storage.k8s.io/";
/// Names whose amounts are numbers of objects.
const WHOLE: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];
const SCOPES: [&str; 6] =
    ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"];

/// Adds amounts.
pub fn add(into: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let known = into.entry(name.clone()).or_default();
        *known = known.plus(*amount);
    }
}

/// Returns the resource whose objects a name of a quota counts; `None`: unknown name.
pub fn counted_by(name: &str) -> Option<GroupResource> {
    let core = |plural: &str| GroupResource { group: String::new(), resource: plural.to_owned() };
    if let Some(resource) = name.strip_prefix("count/") {
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        return Some(GroupResource { group: group.to_owned(), resource: plural.to_owned() });
    }
    if COUNTED.contains(&name) {
        return Some(core(name));
    }
    if OF_SERVICES.contains(&name) {
        return Some(core("services"));
    }
    let of_class = name.split_once(CLASS_SUFFIX).is_some_and(|(_, rest)| OF_CLAIMS.contains(&rest));
    if OF_CLAIMS.contains(&name) || of_class {
        return Some(core("persistentvolumeclaims"));
    }
    let is_extended = name.strip_prefix("requests.").is_some_and(|rest| rest.contains('/'));
    let is_huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
    (OF_PODS.contains(&name) || is_extended || is_huge).then(|| core("pods"))
}

/// Returns the usage of an object.
pub fn usage(resource: &GroupResource, fields: &Map<String, Value>) -> Amounts {
    let one = Quantity::from_integer(1);
    let mut used = Amounts::from([(format!("count/{resource}"), one)]);
    if !resource.group.is_empty() {
        return used;
    }
    let null = Value::Null;
    let spec = fields.get("spec").unwrap_or(&null);
    match resource.resource.as_str() {
        "pods" => used.append(&mut pods::usage(fields)),
        "services" => {
            let ports = spec.get("ports").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let opened = ports.iter().filter(|port| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0);
            let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default();
            let opens_no_more = spec.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
            let count = match kind {
                "LoadBalancer" if opens_no_more => opened.count(),
                "NodePort" | "LoadBalancer" => ports.len(),
                _ => 0,
            };
            let count = Quantity::from_integer(i64::try_from(count).unwrap_or(i64::MAX));
            let balancers = Quantity::from_integer(i64::from(kind == "LoadBalancer"));
            for (name, amount) in OF_SERVICES.into_iter().zip([one, balancers, count]) {
                used.insert(name.to_owned(), amount);
            }
        }
        "persistentvolumeclaims" => {
            let class = spec.get("storageClassName").and_then(Value::as_str).unwrap_or_default();
            let asked = spec.pointer("/resources/requests/storage").cloned();
            let asked = asked.and_then(|amount| serde_json::from_value::<Quantity>(amount).ok());
            for (name, amount) in OF_CLAIMS.into_iter().zip([Some(one), asked]) {
                let Some(amount) = amount else { continue };
                if !class.is_empty() {
                    used.insert(format!("{class}{CLASS_SUFFIX}{name}"), amount);
                }
                used.insert(name.to_owned(), amount);
            }
        }
        plural if COUNTED.contains(&plural) => {
            used.insert(plural.to_owned(), one);
        }
        _ => {}
    }
    used
}

/// Returns the scopes of a quota, all of which must select an object.
fn scopes(quota: &ResourceQuota) -> impl Iterator<Item = ScopedResourceSelectorRequirement> {
    let plain = quota.spec.scopes.iter().map(|name| ScopedResourceSelectorRequirement {
        scope_name: name.clone(),
        operator: "Exists".to_owned(),
        values: Vec::new(),
    });
    let selected = quota.spec.scope_selector.iter().flat_map(|selector| selector.match_expressions.iter().cloned());
    plain.chain(selected)
}

/// Returns true if the scopes of a quota select an object: only pods have scopes.
fn is_in_scope(quota: &ResourceQuota, resource: &GroupResource, fields: &Map<String, Value>) -> bool {
    let is_pod = resource.group.is_empty() && resource.resource == "pods";
    scopes(quota).all(|scope| is_pod && pods::is_in_scope(fields, &scope))
}

/// Returns the names of a quota that objects of a resource use.
fn names<'a>(quota: &'a ResourceQuota, resource: &GroupResource) -> Vec<&'a String> {
    quota.spec.hard.keys().filter(|name| counted_by(name).as_ref() == Some(resource)).collect()
}

/// Returns the usage of a quota by objects of one resource: an amount for each name of the quota that they can use.
pub fn used<'a>(
    quota: &ResourceQuota,
    resource: &GroupResource,
    objects: impl IntoIterator<Item = &'a Map<String, Value>>,
) -> Amounts {
    let names = names(quota, resource);
    let mut sum: Amounts = names.iter().map(|name| ((*name).clone(), Quantity::default())).collect();
    for fields in objects.into_iter().filter(|fields| is_in_scope(quota, resource, fields)) {
        let used = usage(resource, fields);
        for (name, total) in &mut sum {
            if let Some(amount) = used.get(name) {
                *total = total.plus(*amount);
            }
        }
    }
    sum
}

/// A write of an object.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Resource of the written object.
    pub resource: &'a GroupResource,
    /// The object as it is stored afterwards.
    pub new: &'a Map<String, Value>,
    /// The object as it was stored before; `None`: it is new.
    pub old: Option<&'a Map<String, Value>>,
}

impl Request<'_> {
    /// Returns the amounts that a quota would be charged for the write; empty: the quota does not apply.
    ///
    /// # Errors
    /// The object lacks an amount that the quota demands: `failed quota: …`.
    pub fn asks(&self, quota: &ResourceQuota) -> Result<Amounts, String> {
        let names = names(quota, self.resource);
        if names.is_empty() || !is_in_scope(quota, self.resource, self.new) {
            return Ok(Amounts::new());
        }
        let is_core = self.resource.group.is_empty();
        let may_grow = is_core && matches!(self.resource.resource.as_str(), "services" | "persistentvolumeclaims");
        if self.old.is_some() && !may_grow {
            return Ok(Amounts::new());
        }
        if is_core && self.resource.resource == "pods" {
            pods::constraints(self.new, &names)
                .map_err(|text| format!("failed quota: {}: {text}", quota.metadata.name))?;
        }
        let before = self.old.map(|old| usage(self.resource, old)).unwrap_or_default();
        let mut asked = usage(self.resource, self.new);
        asked.retain(|name, amount| {
            let more = amount.minus(before.get(name).copied().unwrap_or_default());
            *amount = more;
            names.contains(&name) && more.sign() > 0
        });
        Ok(asked)
    }
}

/// Checks that a quota has room for the requested amounts in addition to the used ones.
///
/// # Errors
/// `exceeded quota: …`.
pub fn check(quota: &ResourceQuota, asked: &Amounts, used: &Amounts) -> Result<(), String> {
    let amount = |of: &Amounts, name: &String| of.get(name).copied().unwrap_or_default();
    let hard = &quota.spec.hard;
    let exceeded: Vec<&String> = asked
        .iter()
        .filter(|(name, asked)| asked.plus(amount(used, name)) > amount(hard, name))
        .map(|(name, _)| name)
        .collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let shown = |of: &Amounts| {
        let parts = exceeded.iter().map(|name| format!("{name}={}", amount(of, name)));
        parts.collect::<Vec<_>>().join(",")
    };
    let name = &quota.metadata.name;
    Err(format!("exceeded quota: {name}, requested: {}, used: {}, limited: {}", shown(asked), shown(used), shown(hard)))
}

/// Returns all violations of a quota. `old`: the quota before the update, whose scopes must stay.
pub fn validate(quota: &ResourceQuota, old: Option<&ResourceQuota>) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("spec");
    for (name, amount) in &quota.spec.hard {
        let at = path.child("hard").key(name);
        meta::invalid_each(&mut errors, &at, name, meta::qualified_name(name));
        if !name.contains('/') && counted_by(name).is_none() {
            errors.push(FieldError::invalid(&at, name, "must be a standard resource type or fully qualified"));
            errors.push(FieldError::invalid(&at, name, "must be a standard resource for quotas"));
        }
        meta::quantity(&mut errors, amount, &at);
        let is_whole = Quantity::from_integer(amount.value()) == *amount;
        if !is_whole && (WHOLE.contains(&name.as_str()) || name.starts_with("count/")) {
            errors.push(FieldError::invalid(&at, amount, "must be an integer"));
        }
    }
    let at = path.child("scopes");
    let mut seen = Vec::new();
    for scope in &quota.spec.scopes {
        if !SCOPES.contains(&scope.as_str()) {
            errors.push(FieldError::invalid(&at, &quota.spec.scopes, "unsupported scope"));
        }
        seen.push(scope.as_str());
    }
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if seen.contains(&one) && seen.contains(&other) {
            errors.push(FieldError::invalid(&at, &quota.spec.scopes, "conflicting scopes"));
        }
    }
    if old.is_some_and(|old| old.spec.scopes != quota.spec.scopes) {
        errors.push(FieldError::invalid(&at, &quota.spec.scopes, "field is immutable"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn quota(hard: Value, scopes: &[&str]) -> ResourceQuota {
        serde_json::from_value(json!({"metadata": {"name": "q"}, "spec": {"hard": hard, "scopes": scopes}}))
            .expect("a quota")
    }

    fn resource(group: &str, plural: &str) -> GroupResource {
        GroupResource { group: group.to_owned(), resource: plural.to_owned() }
    }

    fn pod(cpu: &str, phase: &str) -> Map<String, Value> {
        let container = json!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let pod = json!({"spec": {"containers": [container]}, "status": {"phase": phase}});
        pod.as_object().cloned().expect("fields")
    }

    #[test]
    fn names_of_quotas_are_counted_by_their_kinds() {
        for (name, expected) in [
            ("count/shoots.core.gardener.cloud", Some("shoots.core.gardener.cloud")),
            ("count/configmaps", Some("configmaps")),
            ("configmaps", Some("configmaps")),
            ("requests.cpu", Some("pods")),
            ("limits.ephemeral-storage", Some("pods")),
            ("requests.example.com/gpu", Some("pods")),
            ("services.nodeports", Some("services")),
            ("fast.storageclass.storage.k8s.io/requests.storage", Some("persistentvolumeclaims")),
            ("shoots", None),
        ] {
            assert_eq!(counted_by(name).map(|found| found.to_string()).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn one_more_than_is_allowed_is_refused_in_upstreams_words() {
        let quota = quota(json!({"pods": "2", "requests.cpu": "1", "count/pods": "9"}), &[]);
        let pods = resource("", "pods");
        let there = [pod("600m", "Running"), pod("1", "Succeeded")];
        let used = used(&quota, &pods, &there);
        let shown: Vec<String> = used.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        assert_eq!(shown, ["count/pods=2", "pods=1", "requests.cpu=600m"]);
        let ask = |cpu: &str| {
            let new = pod(cpu, "");
            Request { resource: &pods, new: &new, old: None }
                .asks(&quota)
                .and_then(|asked| check(&quota, &asked, &used))
        };
        assert_eq!(ask("400m"), Ok(()));
        let text = "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1";
        assert_eq!(ask("500m"), Err(text.to_owned()));
        let mut silent = pod("1", "");
        silent["spec"]["containers"][0]["resources"] = json!({});
        let asked = Request { resource: &pods, new: &silent, old: None }.asks(&quota);
        assert_eq!(asked, Err("failed quota: q: must specify requests.cpu for: c".to_owned()));
    }

    #[test]
    fn scopes_are_about_pods() {
        let best_effort = quota(json!({"pods": "1"}), &["BestEffort"]);
        let pods = resource("", "pods");
        let asks = |pod: &Map<String, Value>| {
            Request { resource: &pods, new: pod, old: None }.asks(&best_effort).expect("it demands nothing").len()
        };
        assert_eq!((asks(&pod("0", "")), asks(&pod("1", ""))), (1, 0));
        let of_secrets = quota(json!({"secrets": "1"}), &["BestEffort"]);
        let secrets = resource("", "secrets");
        let asked = Request { resource: &secrets, new: &Map::new(), old: None }.asks(&of_secrets);
        assert_eq!(asked, Ok(Amounts::new()));
    }

    #[test]
    fn an_update_is_charged_with_its_difference() {
        let quota = quota(json!({"services.loadbalancers": "0", "services": "1"}), &[]);
        let services = resource("", "services");
        let of = |kind: &str| json!({"spec": {"type": kind, "ports": [{}]}}).as_object().cloned().expect("fields");
        let (plain, balanced) = (of("ClusterIP"), of("LoadBalancer"));
        let asked = Request { resource: &services, new: &balanced, old: Some(&plain) }.asks(&quota).expect("amounts");
        assert_eq!(asked.keys().collect::<Vec<_>>(), ["services.loadbalancers"]);
        let text = "exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: \
                    services.loadbalancers=0";
        assert_eq!(check(&quota, &asked, &used(&quota, &services, [&plain])), Err(text.to_owned()));
        let asked = Request { resource: &services, new: &plain, old: Some(&balanced) }.asks(&quota);
        assert_eq!(asked, Ok(Amounts::new()));
        // An existing pod is not counted again.
        let pods = resource("", "pods");
        let of_pods = self::quota(json!({"pods": "0"}), &[]);
        let there = pod("1", "");
        assert_eq!(Request { resource: &pods, new: &there, old: Some(&there) }.asks(&of_pods), Ok(Amounts::new()));
    }

    #[test]
    fn a_quota_names_countable_resources() {
        let texts = |errors: Errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(validate(&quota(json!({"cpu": "1", "count/shoots.core.gardener.cloud": "3"}), &[]), None).is_empty());
        assert_eq!(
            texts(validate(&quota(json!({"shoots": "1"}), &[]), None)),
            [
                "spec.hard[shoots]: Invalid value: \"shoots\": must be a standard resource type or fully qualified",
                "spec.hard[shoots]: Invalid value: \"shoots\": must be a standard resource for quotas",
            ]
        );
        assert_eq!(
            texts(validate(&quota(json!({"pods": "1500m", "cpu": "-1"}), &[]), None)),
            [
                "spec.hard[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
            ]
        );
        let old = quota(json!({}), &["BestEffort"]);
        assert_eq!(
            texts(validate(&quota(json!({}), &[]), Some(&old))),
            ["spec.scopes: Invalid value: []: field is immutable"]
        );
    }
}
