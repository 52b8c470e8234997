// SPDX-License-Identifier: Apache-2.0
//! CertificateSigningRequests of Kubernetes: their validation, the rights that changes need, and the choice of those
//! that are signed.
//!
//! Deliberately absent: the contents of a request in PEM beyond its frame, which the signer reads; automatic approval
//! of kubelets that join.
//!
//! Source: k8s.io/kubernetes pkg/apis/certificates/validation/validation.go, pkg/registry/certificates/certificates/strategy.go,
//! pkg/controller/certificates/signer/signer.go @ v1.31.

use std::collections::BTreeMap;

use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::validation::{Errors, meta};

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
/// Minimum of `expirationSeconds`.
const LEAST: i64 = 600;
/// Longest and default validity of a certificate.
const LASTS: TimeDelta = TimeDelta::days(365);
/// Time by which a certificate is valid earlier than it is signed, since clocks differ.
const BEFORE: TimeDelta = TimeDelta::minutes(5);
/// Group with all rights; no certificate is signed for it on request.
const MASTERS: &str = "system:masters";
/// Signer of clients of the API server.
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const NODES: &str = "system:nodes";
const NODE_PREFIX: &str = "system:node:";
const LEGACY: &str = "kubernetes.io/legacy-unknown";
/// Types of conditions that only subresource `approval` writes.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Writes the requester into a request's `spec`; values of the client for these fields are overwritten.
pub fn set_requester(fields: &mut Map<String, Value>, who: &Requester<'_>) {
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    let Value::Object(spec) = spec else { return };
    for field in ["uid", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".to_owned(), json!(who.name));
    spec.insert("groups".to_owned(), json!(who.groups));
    if !who.uid.is_empty() {
        spec.insert("uid".to_owned(), json!(who.uid));
    }
    if !who.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(who.extra));
    }
}

/// The user that requests a certificate.
#[derive(Clone, Debug)]
pub struct Requester<'a> {
    /// Name of the user, as the authorizer knows it.
    pub name: &'a str,
    /// Groups of the user, `system:authenticated` among them.
    pub groups: Vec<&'a str>,
    /// Unique id; empty if there is none.
    pub uid: &'a str,
    /// Further properties, by key.
    pub extra: &'a BTreeMap<String, Vec<String>>,
}

/// Returns the right that a change of a request needs on `signers`, as verb and refusal; `None`: the right to write
/// is enough. `subresource`: the subresource that is written.
///
/// Source: k8s.io/kubernetes plugin/pkg/admission/certificates/{approval,signing}.
pub fn needed_right(
    subresource: &str,
    fields: &Map<String, Value>,
    old: &Map<String, Value>,
) -> Option<(&'static str, String)> {
    let quoted = apimachinery::go::quote(signer(old));
    let of_status = |fields: &Map<String, Value>, name: &str| {
        fields.get("status").and_then(|status| status.get(name)).filter(|value| !value.is_null()).cloned()
    };
    match subresource {
        "approval" => Some(("approve", format!("user not permitted to approve requests with signerName {quoted}"))),
        "status"
            if ["certificate", "conditions"].iter().any(|name| of_status(fields, name) != of_status(old, name)) =>
        {
            Some(("sign", format!("user not permitted to sign requests with signerName {quoted}")))
        }
        _ => None,
    }
}

/// Returns the name of the signer of a request.
pub fn signer(fields: &Map<String, Value>) -> &str {
    fields.get("spec").map_or("", |spec| text(spec, "signerName"))
}

/// Returns the names on `signers` of which one must be allowed: the signer's, and that of all signers of its domain.
pub fn signer_names(signer: &str) -> [String; 2] {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    [signer.to_owned(), format!("{domain}/*")]
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// All violations of a new request; `pem`: its request, decoded.
pub fn validate(pem: &str, fields: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let (path, null) = (Path::new("spec"), Value::Null);
    let spec = fields.get("spec").unwrap_or(&null);
    if !pem.trim_start().starts_with(BEGIN) {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.push(FieldError::invalid(&path.child("request"), text(spec, "request"), detail));
    }
    let usages = items(spec, "usages");
    if usages.is_empty() {
        errors.push(FieldError::required(&path.child("usages"), ""));
    }
    for (index, usage) in usages.iter().enumerate() {
        let usage = usage.as_str().unwrap_or_default();
        let at = path.child("usages").index(index);
        if !USAGES.contains(&usage) {
            errors.push(FieldError::not_supported(&at, usage, &USAGES));
        }
        if usages[..index].iter().any(|other| other == usage) {
            errors.push(FieldError::duplicate(&at, usage));
        }
    }
    let (signer, at) = (text(spec, "signerName"), path.child("signerName"));
    match signer {
        "" => errors.push(FieldError::required(&at, "")),
        LEGACY => {
            let detail = "the legacy signerName is not allowed via this API version";
            errors.push(FieldError::invalid(&at, signer, detail));
        }
        _ => match signer.split_once('/') {
            Some((domain, name)) if !name.is_empty() && domain.contains('.') => {
                meta::invalid_each(&mut errors, &at, signer, meta::dns_subdomain(domain));
            }
            _ => {
                let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
                errors.push(FieldError::invalid(&at, signer, detail));
            }
        },
    }
    if let Some(seconds) = spec.get("expirationSeconds").and_then(Value::as_i64).filter(|seconds| *seconds < LEAST) {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(FieldError::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    errors
}

fn conditions(fields: &Map<String, Value>) -> Vec<Value> {
    fields.get("status").map_or(&[][..], |status| items(status, "conditions")).to_vec()
}

fn has_condition(fields: &Map<String, Value>, type_: &str) -> bool {
    conditions(fields).iter().any(|condition| text(condition, "type") == type_)
}

/// Restores the fields that a change through a resource or subresource (`""`, `status`, `approval`) may not change,
/// and sets the times of new conditions.
pub fn keep(fields: &mut Map<String, Value>, old: &Map<String, Value>, door: &str, now: DateTime<Utc>) {
    match old.get("spec") {
        Some(spec) => fields.insert("spec".to_owned(), spec.clone()),
        None => fields.remove("spec"),
    };
    let mut new = conditions(fields);
    if door == "status" {
        // A change of `status` signs; it does not decide.
        let is_decision = |condition: &Value| DECISIONS.contains(&text(condition, "type"));
        new.retain(|condition| !is_decision(condition));
        let decided: Vec<Value> = conditions(old).into_iter().filter(is_decision).collect();
        new.splice(0..0, decided);
    }
    let before = conditions(old);
    let stamp = json!(Time::from_instant(now));
    for condition in new.iter_mut().filter(|condition| condition.is_object()) {
        if text(condition, "status").is_empty() {
            condition["status"] = json!("True");
        }
        if text(condition, "lastUpdateTime").is_empty() {
            condition["lastUpdateTime"] = stamp.clone();
        }
        if text(condition, "lastTransitionTime").is_empty() {
            let known = before.iter().find(|old| {
                text(old, "type") == text(condition, "type") && text(old, "status") == text(condition, "status")
            });
            let since = known.map(|known| known["lastTransitionTime"].clone()).filter(|time| !time.is_null());
            condition["lastTransitionTime"] = since.unwrap_or_else(|| stamp.clone());
        }
    }
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let Value::Object(status) = status {
        if new.is_empty() {
            status.remove("conditions");
        } else {
            status.insert("conditions".to_owned(), Value::Array(new));
        }
    }
}

/// All violations of a changed request.
pub fn validate_update(fields: &Map<String, Value>, old: &Map<String, Value>) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("status").child("conditions");
    if DECISIONS.iter().all(|type_| has_condition(fields, type_)) {
        let detail = "Approved and Denied conditions are mutually exclusive";
        errors.push(FieldError::invalid(&path, "Denied", detail));
    }
    for type_ in ["Approved", "Denied", "Failed"] {
        if has_condition(old, type_) && !has_condition(fields, type_) {
            let detail = format!("updates may not remove a condition of type {type_:?}");
            errors.push(FieldError::forbidden(&path, &detail));
        }
    }
    let certificate =
        |fields: &Map<String, Value>| fields.get("status").map_or("", |status| text(status, "certificate")).to_owned();
    let (new, before) = (certificate(fields), certificate(old));
    if !before.is_empty() && new != before {
        let at = Path::new("status").child("certificate");
        errors.push(FieldError::forbidden(&at, "updates may not modify existing certificate content"));
    }
    errors
}

/// True if a request's subject is checked at creation: only requests for clients of the API server are.
pub fn is_restricted(fields: &Map<String, Value>) -> bool {
    fields.get("spec").is_some_and(|spec| text(spec, "signerName") == CLIENT)
}

/// Reason for refusing a request that [`is_restricted`], given the organisations of its subject; None if it is allowed.
///
/// Source: k8s.io/kubernetes plugin/pkg/admission/certificates/subjectrestriction/admission.go @ v1.31.
pub fn restriction(groups: &[String]) -> Option<String> {
    groups.iter().any(|group| group == MASTERS).then(|| not_for_masters(CLIENT))
}

fn not_for_masters(signer: &str) -> String {
    format!("use of {signer} signer with {MASTERS} group is not allowed")
}

/// Usage of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Authenticates a client.
    Client,
    /// Authenticates a server.
    Server,
}

/// A certificate to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuance {
    /// Usage of the certificate.
    pub usage: Use,
    /// Start of its validity.
    pub not_before: DateTime<Utc>,
    /// End of its validity.
    pub not_after: DateTime<Utc>,
}

/// Returns the certificate to sign for a request whose subject is a common name in some organisations; `None`: it is
/// left to other signers, or is not approved yet.
///
/// # Errors
/// Reason why it is never signed.
pub fn wanted(
    fields: &Map<String, Value>,
    subject: (&str, &[String]),
    now: DateTime<Utc>,
) -> Option<Result<Issuance, String>> {
    let null = Value::Null;
    let (spec, status) = (fields.get("spec").unwrap_or(&null), fields.get("status").unwrap_or(&null));
    let is_decided = has_condition(fields, "Approved") && !has_condition(fields, "Denied");
    if !is_decided || has_condition(fields, "Failed") || !text(status, "certificate").is_empty() {
        return None;
    }
    let (name, groups) = subject;
    let signer = text(spec, "signerName");
    let (usage, needed, is_node) = match signer {
        CLIENT => (Use::Client, "client auth", false),
        "kubernetes.io/kube-apiserver-client-kubelet" => (Use::Client, "client auth", true),
        "kubernetes.io/kubelet-serving" => (Use::Server, "server auth", true),
        _ => return None,
    };
    let usages: Vec<&str> = items(spec, "usages").iter().filter_map(Value::as_str).collect();
    let allowed = [needed, "digital signature", "key encipherment"];
    if !usages.contains(&needed) || usages.iter().any(|usage| !allowed.contains(usage)) {
        return Some(Err(format!(
            "usages must include {needed:?}, and none but {}",
            allowed.map(|it| format!("{it:?}")).join(", ")
        )));
    }
    if groups.iter().any(|group| group == MASTERS) {
        return Some(Err(not_for_masters(signer)));
    }
    if is_node && !(name.starts_with(NODE_PREFIX) && *groups == [NODES.to_owned()]) {
        return Some(Err(format!(
            "subject common name must begin with {NODE_PREFIX:?}, and its organization be {NODES:?}"
        )));
    }
    let asked = spec
        .get("expirationSeconds")
        .and_then(Value::as_i64)
        .map(|seconds| TimeDelta::seconds(seconds.clamp(LEAST, LASTS.num_seconds())));
    Some(Ok(Issuance { usage, not_before: now - BEFORE, not_after: now + asked.unwrap_or(LASTS) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spec: Value, status: Value) -> Map<String, Value> {
        Map::from_iter([("spec".to_owned(), spec), ("status".to_owned(), status)])
    }

    fn now() -> DateTime<Utc> {
        "2023-07-27T20:00:00Z".parse().expect("an instant")
    }

    fn texts(errors: &Errors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn accepts_and_rejects_what_upstream_does() {
        let good =
            json!({"request": "eA==", "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]});
        let check = |field: &str, value: Value, expected: &[&str]| {
            let mut spec = good.clone();
            spec[field] = value;
            assert_eq!(texts(&validate(BEGIN, &of(spec, json!({})))), expected, "{field}");
        };
        check("expirationSeconds", json!(600), &[]);
        check("signerName", json!("example.com/own"), &[]);
        check("usages", json!([]), &["spec.usages: Required value"]);
        check("usages", json!(["any", "any"]), &["spec.usages[1]: Duplicate value: \"any\""]);
        check("signerName", json!(""), &["spec.signerName: Required value"]);
        let legacy = "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed \
                      via this API version";
        check("signerName", json!("kubernetes.io/legacy-unknown"), &[legacy]);
        let short =
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)";
        check("expirationSeconds", json!(599), &[short]);
        let found = texts(&validate("x", &of(good.clone(), json!({}))));
        assert_eq!(found, ["spec.request: Invalid value: \"eA==\": PEM block type must be CERTIFICATE REQUEST"]);
        validate("", &Map::new());
    }

    #[test]
    fn the_requester_is_the_authenticated_user() {
        let mut fields = of(json!({"username": "admin", "groups": ["system:masters"], "uid": "1"}), json!({}));
        let none = BTreeMap::new();
        let who = Requester { name: "jane", groups: vec!["developers"], uid: "", extra: &none };
        set_requester(&mut fields, &who);
        assert_eq!(fields["spec"], json!({"username": "jane", "groups": ["developers"]}));
        let extra = BTreeMap::from([("scopes".to_owned(), vec!["a".to_owned()])]);
        set_requester(&mut fields, &Requester { uid: "7", extra: &extra, ..who });
        assert_eq!((&fields["spec"]["uid"], &fields["spec"]["extra"]), (&json!("7"), &json!({"scopes": ["a"]})));
    }

    #[test]
    fn approving_or_signing_needs_a_right_on_the_signer() {
        let old = of(json!({"signerName": "example.com/own"}), json!({}));
        let signed = of(json!({"signerName": "kubernetes.io/other"}), json!({"certificate": "eA=="}));
        let right = |subresource: &str, new: &Map<String, Value>| needed_right(subresource, new, &old);
        assert_eq!(
            right("approval", &old),
            Some(("approve", "user not permitted to approve requests with signerName \"example.com/own\"".to_owned()))
        );
        assert_eq!(
            right("status", &signed),
            Some(("sign", "user not permitted to sign requests with signerName \"example.com/own\"".to_owned()))
        );
        assert_eq!((right("status", &old), right("", &signed)), (None, None));
        assert_eq!(signer_names("example.com/own"), ["example.com/own", "example.com/*"]);
    }

    #[test]
    fn only_approval_decides_and_a_decision_stays() {
        let old = of(json!({"signerName": "a"}), json!({}));
        let approved = json!({"conditions": [{"type": "Approved", "status": "True", "reason": "x"}]});
        let mut through_approval = of(json!({"signerName": "b"}), approved.clone());
        keep(&mut through_approval, &old, "approval", now());
        assert_eq!(through_approval["spec"], json!({"signerName": "a"}));
        let condition = &through_approval["status"]["conditions"][0];
        assert_eq!(condition["lastUpdateTime"], "2023-07-27T20:00:00Z");
        assert_eq!(condition["lastTransitionTime"], "2023-07-27T20:00:00Z");
        let mut through_status = of(json!({}), approved);
        keep(&mut through_status, &old, "status", now());
        assert!(!has_condition(&through_status, "Approved"));
        let gone = validate_update(&old, &through_approval);
        let text = "status.conditions: Forbidden: updates may not remove a condition of type \"Approved\"";
        assert_eq!(texts(&gone), [text]);
        let both = of(json!({}), json!({"conditions": [{"type": "Approved"}, {"type": "Denied"}]}));
        let text =
            "status.conditions: Invalid value: \"Denied\": Approved and Denied conditions are mutually exclusive";
        assert_eq!(texts(&validate_update(&both, &old)), [text]);
    }

    #[test]
    fn client_certificates_for_masters_are_restricted() {
        let of_signer = |signer: &str| of(json!({ "signerName": signer }), json!({}));
        let groups = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_restricted(&of_signer("kubernetes.io/kube-apiserver-client")));
        assert!(!is_restricted(&of_signer("kubernetes.io/kube-apiserver-client-kubelet")));
        assert!(!is_restricted(&Map::new()));
        let text = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        assert_eq!(restriction(&groups(&["a", "system:masters"])).as_deref(), Some(text));
        assert_eq!(restriction(&groups(&["system:masters2", "masters"])), None);
    }

    #[test]
    fn approved_requests_are_signed_by_the_rules_of_their_signer() {
        let approved = json!({"conditions": [{"type": "Approved", "status": "True"}]});
        let ask = |signer: &str, usages: Value, name: &str, groups: &[&str], status: &Value| {
            let signer = format!("kubernetes.io/{signer}");
            let spec = json!({"signerName": signer, "usages": usages, "expirationSeconds": 3600});
            let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
            wanted(&of(spec, status.clone()), (name, &groups), now())
        };
        let client = ask("kube-apiserver-client", json!(["client auth"]), "jane", &["a"], &approved);
        let hour = now() + TimeDelta::hours(1);
        let found = client.expect("it is signed").expect("it may be");
        assert_eq!((found.usage, found.not_after), (Use::Client, hour));
        assert_eq!(ask("kube-apiserver-client", json!(["client auth"]), "jane", &[], &json!({})), None, "not approved");
        assert_eq!(ask("other", json!(["client auth"]), "jane", &[], &approved), None, "another's");
        let refused = |found: Option<Result<Issuance, String>>| found.expect("an answer").expect_err("it is refused");
        let masters = ask("kube-apiserver-client", json!(["client auth"]), "jane", &["system:masters"], &approved);
        let text = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        assert_eq!(refused(masters), text);
        refused(ask("kube-apiserver-client", json!(["server auth"]), "jane", &[], &approved));
        refused(ask("kubelet-serving", json!(["server auth"]), "jane", &["system:nodes"], &approved));
        let serving = ask("kubelet-serving", json!(["server auth"]), "system:node:a", &["system:nodes"], &approved);
        assert_eq!(serving.expect("it is signed").expect("it may be").usage, Use::Server);
        let mut done = approved.clone();
        done["certificate"] = json!("eA==");
        assert_eq!(ask("kube-apiserver-client", json!(["client auth"]), "jane", &[], &done), None, "signed already");
    }
}
