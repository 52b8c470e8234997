// SPDX-License-Identifier: Apache-2.0
//! Impersonation: requests as another user, if the authorizer allows it.
//!
//! Source: k8s.io/apiserver pkg/endpoints/filters/impersonation.go.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::header::{HeaderMap, HeaderName};
use process::User;

use crate::authentication::{ANONYMOUS, UNAUTHENTICATED, UserDetails, authenticated};
use crate::authorization::{Authorizer, Question};
use crate::request::decode;
use crate::status::{Failure, Result};

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const EXTRA: &str = "impersonate-extra-";
const PREFIX: &str = "impersonate-";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// Returns the user that the headers impersonate, and removes the headers; `None`: no impersonation is requested.
///
/// # Errors
/// 400 for groups and the like without a user, 403 from the authorizer.
pub(super) fn take(
    headers: &mut HeaderMap,
    user: &User,
    cluster: &str,
    authorizer: &dyn Authorizer,
) -> Result<Option<(User, UserDetails)>> {
    let wished: Vec<HeaderName> = headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    if wished.is_empty() {
        return Ok(None);
    }
    let texts = |name: &HeaderName| {
        let values = headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect::<Vec<_>>()
    };
    let name = texts(&USER).into_iter().next().unwrap_or_default();
    let groups = texts(&GROUP);
    let uid = texts(&UID).into_iter().next().unwrap_or_default();
    let mut extra = BTreeMap::new();
    for header in &wished {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            extra.insert(decode(key, false).to_lowercase(), texts(header));
        }
    }
    for header in wished {
        headers.remove(header);
    }
    // An empty name does not request impersonation.
    if name.is_empty() && groups.is_empty() && uid.is_empty() && extra.is_empty() {
        return Ok(None);
    }
    if name.is_empty() {
        let text = format!("requested {} without impersonating a user", without_user(&groups, &uid, &extra));
        return Err(Failure::BadRequest(text));
    }

    let ask = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        let question =
            Question { user, cluster, verb: "impersonate", group, resource, subresource, namespace, name, path: "" };
        authorizer.authorize(&question).map_err(|reason| Failure::denied(&question, &reason))
    };
    let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, account)) => ask("", "serviceaccounts", "", namespace, account)?,
        None => ask("", "users", "", "", &name)?,
    }
    for group in &groups {
        ask("", "groups", "", "", group)?;
    }
    for (key, values) in &extra {
        for value in values {
            ask(AUTHENTICATION, "userextras", key, "", value)?;
        }
    }
    if !uid.is_empty() {
        ask(AUTHENTICATION, "uids", "", "", &uid)?;
    }

    let mut groups: Vec<Arc<str>> = groups.into_iter().map(Arc::from).collect();
    if groups.is_empty()
        && let Some((namespace, _)) = account
    {
        groups.push("system:serviceaccounts".into());
        groups.push(format!("system:serviceaccounts:{namespace}").into());
    }
    if name == ANONYMOUS && !groups.iter().any(|group| **group == *UNAUTHENTICATED) {
        groups.push(UNAUTHENTICATED.into());
    }
    let impersonated = authenticated(User { name: name.into(), groups, component: None });
    Ok(Some((impersonated, UserDetails { uid, extra })))
}

fn without_user(groups: &[String], uid: &str, extra: &BTreeMap<String, Vec<String>>) -> String {
    if !groups.is_empty() {
        format!("groups {groups:?}")
    } else if !extra.is_empty() {
        format!("userextras {:?}", extra.keys().collect::<Vec<_>>())
    } else {
        format!("uid {uid:?}")
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::AllowAll;

    /// Allows `impersonate` of requested values that start with `b`.
    #[derive(Debug)]
    struct OnlyB;

    impl Authorizer for OnlyB {
        fn authorize(&self, question: &Question<'_>) -> std::result::Result<(), String> {
            if question.name.starts_with('b') { Ok(()) } else { Err(String::new()) }
        }
    }

    fn check(headers: &[(&str, &str)], authorizer: &dyn Authorizer) -> Result<Option<(User, UserDetails)>> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).expect("a name");
            map.append(name, HeaderValue::from_str(value).expect("a value"));
        }
        let user = User { name: "x".into(), ..User::default() };
        let taken = take(&mut map, &user, "a", authorizer);
        assert!(map.is_empty(), "nothing reaches the handler");
        taken
    }

    fn groups(headers: &[(&str, &str)]) -> Vec<Arc<str>> {
        check(headers, &AllowAll).ok().flatten().expect("a user").0.groups
    }

    #[test]
    fn groups_follow_the_kind_of_user() {
        assert_eq!(groups(&[("impersonate-user", "bob")]), ["system:authenticated".into()]);
        assert_eq!(
            groups(&[("impersonate-user", "bob"), ("impersonate-group", "a"), ("impersonate-group", "b")]),
            ["a".into(), "b".into(), "system:authenticated".into()]
        );
        assert_eq!(
            groups(&[("impersonate-user", "system:serviceaccount:n:s")]),
            ["system:serviceaccounts".into(), "system:serviceaccounts:n".into(), "system:authenticated".into()]
        );
        assert_eq!(groups(&[("impersonate-user", "system:anonymous")]), ["system:unauthenticated".into()]);
    }

    #[test]
    fn the_authorizer_checks_every_impersonated_value() {
        assert!(check(&[("impersonate-user", "bob")], &OnlyB).is_ok());
        for (headers, message) in [
            (
                vec![("impersonate-user", "al")],
                "users \"al\" is forbidden: User \"x\" cannot impersonate resource \"users\" in API group \"\" at the \
                 cluster scope",
            ),
            (
                vec![("impersonate-user", "bob"), ("impersonate-group", "al")],
                "groups \"al\" is forbidden: User \"x\" cannot impersonate resource \"groups\" in API group \"\" at \
                 the cluster scope",
            ),
            (
                vec![("impersonate-user", "bob"), ("impersonate-extra-a%2fb", "c")],
                "userextras.authentication.k8s.io \"c\" is forbidden: User \"x\" cannot impersonate resource \
                 \"userextras/a/b\" in API group \"authentication.k8s.io\" at the cluster scope",
            ),
        ] {
            let failure = check(&headers, &OnlyB).expect_err("a refusal");
            assert_eq!(failure.status().message, message);
        }
    }

    #[test]
    fn groups_without_a_user_are_a_bad_request() {
        let failure = check(&[("impersonate-group", "a")], &AllowAll).expect_err("a refusal");
        assert_eq!(failure.status().code, 400);
        assert_eq!(failure.status().message, "requested groups [\"a\"] without impersonating a user");
        assert!(check(&[], &AllowAll).expect("no wish").is_none());
        assert!(check(&[("impersonate-user", "")], &AllowAll).expect("no wish").is_none());
    }
}
