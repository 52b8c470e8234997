// SPDX-License-Identifier: Apache-2.0
//! Identity and position between our own servers: headers by which a front server that has authenticated a user passes
//! it to the server behind it.
//!
//! | header | holds |
//! | --- | --- |
//! | `X-Remote-User`, `X-Remote-Group` (one each), `X-Remote-Uid`, `X-Remote-Extra-KEY` | the user, as in Kubernetes |
//! | `X-Remote-Component` | `component/version`, where the user is a component |
//! | `X-Log-Head` | the log's head when the request arrived: the response must not be older |
//! | `X-Landscape-Time` | landscape time when the request arrived, RFC 3339 |
//!
//! **Invariants.** [`strip`] removes all of them from requests of other clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use clock::Instant;
use eventlog::Revision;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use process::User;

use super::UserDetails;

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const COMPONENT: HeaderName = HeaderName::from_static("x-remote-component");
const HEAD: HeaderName = HeaderName::from_static("x-log-head");
const TIME: HeaderName = HeaderName::from_static("x-landscape-time");
const EXTRA: &str = "x-remote-extra-";
const REMOTE: &str = "x-remote-";

/// Head of the log and landscape time when a request arrived at the front server: an extension of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// The log's head.
    pub head: Option<Revision>,
    /// Landscape time.
    pub now: Option<Instant>,
}

/// Removes all headers that only a front proxy may set.
pub fn strip(headers: &mut HeaderMap) {
    let internal = |name: &&HeaderName| name.as_str().starts_with(REMOTE) || **name == HEAD || **name == TIME;
    let names: Vec<HeaderName> = headers.keys().filter(internal).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Writes user and position to the headers, for the front server. Values that are not valid in a header are left out.
pub fn write(headers: &mut HeaderMap, user: &User, details: &UserDetails, stamp: Stamp) {
    strip(headers);
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            headers.append(name, value);
        }
    };
    put(USER, &user.name);
    for group in &user.groups {
        put(GROUP, group);
    }
    if !details.uid.is_empty() {
        put(UID, &details.uid);
    }
    for (key, values) in &details.extra {
        if let Ok(name) = HeaderName::try_from(format!("{EXTRA}{key}")) {
            for value in values {
                put(name.clone(), value);
            }
        }
    }
    if let Some((component, version)) = &user.component {
        put(COMPONENT, &format!("{component}/{version}"));
    }
    if let Some(head) = stamp.head {
        put(HEAD, &head.to_string());
    }
    if let Some(now) = stamp.now {
        put(TIME, &now.to_rfc3339());
    }
}

/// Reads and removes the headers of a front proxy; `None`: they name no user.
pub fn read(headers: &mut HeaderMap) -> Option<(User, UserDetails, Stamp)> {
    let texts = |name: &HeaderName| {
        let values: Vec<String> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
        values
    };
    let first = |name: &HeaderName| texts(name).into_iter().next();
    let name = first(&USER).filter(|name| !name.is_empty())?;
    let component = first(&COMPONENT).and_then(|text| {
        let (component, version) = text.split_once('/')?;
        Some((Arc::from(component), Arc::from(version)))
    });
    let groups = texts(&GROUP).into_iter().map(Arc::from).collect();
    let mut extra = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            extra.insert(key.to_owned(), texts(name));
        }
    }
    let details = UserDetails { uid: first(&UID).unwrap_or_default(), extra };
    let stamp = Stamp {
        head: first(&HEAD).and_then(|text| text.parse().ok()).map(Revision),
        now: first(&TIME).and_then(|text| text.parse().ok()),
    };
    strip(headers);
    Some((User { name: name.into(), groups, component }, details, stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_headers_are_read_back() {
        let user = User {
            name: "jänë".into(),
            groups: vec!["a".into(), "b".into()],
            component: Some(("gardenlet".into(), "v1.120.0".into())),
        };
        let extra = [("scopes".to_owned(), vec!["x".to_owned(), "y".to_owned()])].into();
        let details = UserDetails { uid: "1".to_owned(), extra };
        let stamp =
            Stamp { head: Some(Revision(7)), now: Some("2025-06-01T00:00:00.25Z".parse().expect("an instant")) };
        let mut headers = HeaderMap::new();
        headers.insert(USER, HeaderValue::from_static("another user"));
        headers.insert("accept", HeaderValue::from_static("*/*"));
        write(&mut headers, &user, &details, stamp);
        assert_eq!(read(&mut headers), Some((user, details, stamp)));
        assert_eq!(headers.len(), 1, "nothing is left but what was there before");
        assert_eq!(read(&mut headers), None);
    }
}
