// SPDX-License-Identifier: Apache-2.0
//! Reviews: questions about identity and permission, sent as the creation of an object that is never stored.
//!
//! | group | kinds |
//! | --- | --- |
//! | `authentication.k8s.io` | SelfSubjectReview, TokenReview |
//! | `authorization.k8s.io` | SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview, LocalSubjectAccessReview |
//!
//! Source: k8s.io/kubernetes pkg/registry/authentication, pkg/registry/authorization,
//! pkg/apis/authorization/validation/validation.go.

use apimachinery::catalogue::ResourceInfo;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::Time;
use clock::Clock;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE};
use process::{Response, User};
use serde_json::{Value, json};

use crate::authentication::{Authenticator, Credentials, Identity, Unauthorized, UserDetails, authenticated};
use crate::authorization::{Authorizer, Decision, Question};
use crate::negotiation::{self, Form, Input, input, unsupported_body};
use crate::request::{Call, ResourcePath};
use crate::status::{Failure, Result, json_response};

/// A served review.
pub(crate) struct Review {
    pub(crate) info: ResourceInfo,
}

/// Answers a request for a review.
pub(crate) async fn answer(
    authorizer: &dyn Authorizer,
    authenticator: Option<&dyn Authenticator>,
    wall: &Clock,
    call: &Call,
    path: &ResourcePath,
    review: &Review,
    body: &[u8],
) -> Result<Response> {
    let info = &review.info;
    if info.namespaced == path.namespace.is_empty() || !path.subresource.is_empty() {
        return Err(Failure::NoSuchResource);
    }
    if call.method != Method::POST || !path.name.is_empty() || call.route.cluster == "*" {
        return Err(Failure::NoSuchMethod);
    }
    negotiation::route(call, "create", body.len())?;
    let form = negotiation::form(call.header(ACCEPT)).ok_or_else(|| negotiation::not_acceptable(true))?;
    if form != Form::Object {
        let resource = info.group_resource();
        return Err(Failure::NotAcceptable(format!(
            "the resource {resource} does not support being converted to a Table"
        )));
    }
    let mut tree = read(call, info, body)?;
    let status = match info.kind {
        "SelfSubjectReview" => json!({ "userInfo": user_info(&call.user, &call.details) }),
        "TokenReview" => token(authenticator, wall, call, &tree["spec"]).await,
        "SelfSubjectRulesReview" => rules(authorizer, call, &tree["spec"])?,
        _ => access(authorizer, call, path, info, &tree["spec"])?,
    };
    tree["apiVersion"] = json!(apimachinery::resource::group_version(info.group, info.version));
    tree["kind"] = json!(info.kind);
    if !tree["metadata"].is_object() {
        tree["metadata"] = json!({});
    }
    tree["metadata"]["creationTimestamp"] = match info.kind {
        "SelfSubjectReview" => serde_json::to_value(Time::from_instant(call.now)).unwrap_or_default(),
        _ => Value::Null,
    };
    tree["status"] = status;
    Ok(json_response(201, format!("{tree}\n")))
}

fn read(call: &Call, info: &ResourceInfo, body: &[u8]) -> Result<Value> {
    if input(call.header(CONTENT_TYPE)) != Input::Json {
        return Err(unsupported_body(true));
    }
    let (kind, version) = (info.kind, info.version);
    let fail = |error: &str| {
        Failure::BadRequest(format!("{kind} in version {version:?} cannot be handled as a {kind}: {error}"))
    };
    let tree: Value = serde_json::from_slice(body).map_err(|error| fail(&error.to_string()))?;
    if !tree.is_object() {
        return Err(fail("json: cannot unmarshal into Go value"));
    }
    match tree["kind"].as_str() {
        Some(other) if other != kind => {
            Err(Failure::BadRequest(format!("{other} in version {version:?} cannot be handled as a {kind}")))
        }
        _ => Ok(tree),
    }
}

pub(crate) fn user_info(user: &User, details: &UserDetails) -> Value {
    let groups: Vec<&str> = user.groups.iter().map(|group| &**group).collect();
    let mut info = json!({ "username": &*user.name });
    if !details.uid.is_empty() {
        info["uid"] = json!(details.uid);
    }
    if !groups.is_empty() {
        info["groups"] = json!(groups);
    }
    if !details.extra.is_empty() {
        info["extra"] = json!(details.extra);
    }
    info
}

async fn token(authenticator: Option<&dyn Authenticator>, wall: &Clock, call: &Call, spec: &Value) -> Value {
    let token = spec["token"].as_str().unwrap_or_default();
    let Some(authenticator) = authenticator else { return json!({ "user": {} }) };
    let credentials = Credentials {
        cluster: &call.route.cluster,
        certificates: &[],
        bearer_token: (!token.is_empty()).then_some(token),
        now: call.now,
        wall: wall.now(),
    };
    let asked = spec["audiences"].as_array().into_iter().flatten();
    let audiences: Vec<String> = asked.filter_map(Value::as_str).map(str::to_owned).collect();
    match authenticator.review(credentials, &audiences).await {
        Ok((Identity::User(user), meant)) => {
            let user = user_info(&authenticated(user), &UserDetails::default());
            let mut status = json!({ "authenticated": true, "user": user });
            if !meant.is_empty() {
                status["audiences"] = json!(meant);
            }
            status
        }
        Ok((Identity::Anonymous | Identity::FrontProxy, _)) => json!({ "user": {} }),
        // The audiences of a token may be shown to the token's holder.
        Err(Unauthorized(why)) if why.starts_with("token audiences ") => {
            json!({ "user": {}, "error": format!("[invalid bearer token, {why}]") })
        }
        Err(_) => json!({ "user": {}, "error": "invalid bearer token" }),
    }
}

fn rules(authorizer: &dyn Authorizer, call: &Call, spec: &Value) -> Result<Value> {
    let namespace = spec["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(Failure::BadRequest("no namespace on request".to_owned()));
    }
    let rules = authorizer.rules(&call.user, &call.route.cluster, namespace);
    let list = |rules: &[(Vec<String>, Value)]| -> Vec<Value> {
        let filled = |(verbs, rest): &(Vec<String>, Value)| {
            let mut rule = rest.clone();
            rule["verbs"] = json!(verbs);
            rule
        };
        rules.iter().map(filled).collect()
    };
    let resources: Vec<(Vec<String>, Value)> = rules
        .resources
        .into_iter()
        .map(|rule| {
            let mut rest = json!({ "apiGroups": rule.groups, "resources": rule.resources });
            if !rule.names.is_empty() {
                rest["resourceNames"] = json!(rule.names);
            }
            (rule.verbs, rest)
        })
        .collect();
    let paths: Vec<(Vec<String>, Value)> =
        rules.paths.into_iter().map(|rule| (rule.verbs, json!({ "nonResourceURLs": rule.paths }))).collect();
    Ok(json!({
        "resourceRules": list(&resources),
        "nonResourceRules": list(&paths),
        "incomplete": rules.incomplete,
    }))
}

fn access(
    authorizer: &dyn Authorizer,
    call: &Call,
    path: &ResourcePath,
    info: &ResourceInfo,
    spec: &Value,
) -> Result<Value> {
    let at = Path::new("spec");
    let (resource, other) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = Vec::new();
    if !resource.is_null() && !other.is_null() {
        let detail = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid(&at.child("nonResourceAttributes"), other.clone(), detail));
    }
    if resource.is_null() && other.is_null() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(&at.child("resourceAttributes"), Value::Null, detail));
    }
    let text = |tree: &Value, name: &str| tree[name].as_str().unwrap_or_default().to_owned();
    let user = if info.kind == "SelfSubjectAccessReview" {
        call.user.clone()
    } else {
        let groups = spec["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into);
        let user = User { name: text(spec, "user").into(), groups: groups.collect(), component: None };
        if user.name.is_empty() && user.groups.is_empty() {
            let detail = "at least one of user or group must be specified";
            errors.push(FieldError::invalid(&at.child("user"), "", detail));
        }
        user
    };
    if info.kind == "LocalSubjectAccessReview" && text(resource, "namespace") != path.namespace {
        let detail = format!("must match metadata.namespace: {}", path.namespace);
        let field = at.child("resourceAttributes").child("namespace");
        errors.push(FieldError::invalid(&field, text(resource, "namespace"), &detail));
    }
    if !errors.is_empty() {
        return Err(Failure::Invalid(info.group_kind(), String::new(), errors));
    }
    let attributes = if resource.is_null() { other } else { resource };
    let [verb, group, plural, subresource, namespace, name, asked] =
        ["verb", "group", "resource", "subresource", "namespace", "name", "path"].map(|name| text(attributes, name));
    let question = Question {
        user: &user,
        cluster: &call.route.cluster,
        verb: &verb,
        group: &group,
        resource: &plural,
        subresource: &subresource,
        namespace: &namespace,
        name: &name,
        path: &asked,
    };
    let Decision { allowed, reason } = authorizer.explain(&question);
    Ok(if reason.is_empty() { json!({ "allowed": allowed }) } else { json!({ "allowed": allowed, "reason": reason }) })
}
