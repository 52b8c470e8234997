// SPDX-License-Identifier: Apache-2.0
//! Access control of the pages.
//!
//! ```text
//! Host          the listener's own name, or 421; checked first
//! cookie        a session, or 401
//! POST          Origin is the page's own, Sec-Fetch-Site (if sent) says the same, and the form's token is the session's
//! ```
//!
//! **Invariants.** A secret is kept as its SHA-256 only; it is compared by looking its hash up. No secret is in a log.
//!
//! **Tour.** [`sessions`] login codes and sessions; [`Entrance`] the listener of a request; [`may_post`] checks that a form was
//! sent by a page of this host; [`secret`] random text.

pub mod sessions;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{HOST, HeaderMap, ORIGIN};
use ring::rand::{SecureRandom, SystemRandom};

use crate::Dashboard;

/// Listener that accepted a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// The listener on the loopback device, over HTTP.
    Loopback,
    /// The landscape's own port, over HTTPS.
    Landscape,
}

impl Entrance {
    /// Returns the name of the cookie that holds a session's secret.
    pub fn cookie(self) -> &'static str {
        match self {
            Self::Loopback => "terrarium",
            Self::Landscape => "__Host-terrarium",
        }
    }

    /// Returns the header that sets the cookie; an empty value removes it.
    pub fn set_cookie(self, value: &str) -> String {
        let (path, secure) = match self {
            Self::Loopback => ("/dashboard/", ""),
            Self::Landscape => ("/", "; Secure"),
        };
        let age = if value.is_empty() { "; Max-Age=0" } else { "" };
        format!("{}={value}; HttpOnly; SameSite=Strict; Path={path}{secure}{age}", self.cookie())
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Loopback => "http",
            Self::Landscape => "https",
        }
    }
}

/// Returns the host that a request is for, in lower case; `None`: the request names none, or several.
pub fn host_of(headers: &HeaderMap, uri: &http::Uri) -> Option<String> {
    let mut named = headers.get_all(HOST).iter();
    let of_header = match (named.next(), named.next()) {
        (Some(host), None) => Some(host.to_str().ok()?.to_ascii_lowercase()),
        (None, _) => None,
        (Some(_), Some(_)) => return None,
    };
    let of_uri = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
    match (of_header, of_uri) {
        (Some(header), Some(uri)) if header != uri => None,
        (header, uri) => header.or(uri),
    }
}

impl Dashboard {
    /// True if a request to this host is for these pages. False protects against DNS rebinding: a browser that resolves another
    /// name to this listener.
    pub(crate) fn is_its_name(&self, entrance: Entrance, host: &str) -> bool {
        match entrance {
            Entrance::Loopback => self.0.names.lock().contains(host),
            Entrance::Landscape => {
                let name = match host.rsplit_once(':') {
                    Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
                    _ => host,
                };
                self.0.landscape_names.lock().contains(name)
            }
        }
    }
}

/// True if a form was sent by a page of this host.
///
/// Browsers send `Origin: null` for a page without a referrer, as these pages are; then `Sec-Fetch-Site`, which no script can
/// set, must state that the page is of the same origin.
pub fn may_post(entrance: Entrance, host: &str, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site");
    let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
    let is_own = match origin {
        Some("null") => site == Some("same-origin"),
        Some(origin) => origin.eq_ignore_ascii_case(&format!("{}://{host}", entrance.scheme())),
        None => false,
    };
    is_own && site.is_none_or(|site| site == "same-origin")
}

/// Returns random text of the operating system, of 256 bits, for URLs and cookies.
pub fn secret() -> String {
    URL_SAFE_NO_PAD.encode(random::<32>())
}

/// Returns random letters and digits of the operating system: a name that cannot be guessed.
pub fn random_name(length: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    random::<64>().iter().take(length).map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

/// Returns random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the system has random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        all.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    #[test]
    fn a_form_is_accepted_from_the_same_origin_only() {
        for (entrance, given, expected) in [
            (Entrance::Loopback, &[("origin", "http://a.localhost:1")][..], true),
            (Entrance::Loopback, &[("origin", "http://A.localhost:1"), ("sec-fetch-site", "same-origin")], true),
            (Entrance::Loopback, &[("origin", "null"), ("sec-fetch-site", "same-origin")], true),
            (Entrance::Landscape, &[("origin", "https://a.localhost:1")], true),
            (Entrance::Loopback, &[("origin", "https://a.localhost:1")], false),
            (Entrance::Landscape, &[("origin", "http://a.localhost:1")], false),
            (Entrance::Loopback, &[("origin", "http://a.localhost:2")], false),
            (Entrance::Loopback, &[("origin", "http://b.localhost:1")], false),
            (Entrance::Loopback, &[("origin", "null")], false),
            (Entrance::Loopback, &[("origin", "null"), ("sec-fetch-site", "cross-site")], false),
            (Entrance::Loopback, &[("origin", "http://a.localhost:1"), ("sec-fetch-site", "same-site")], false),
            (Entrance::Loopback, &[("sec-fetch-site", "same-origin")], false),
            (Entrance::Loopback, &[], false),
        ] {
            assert_eq!(may_post(entrance, "a.localhost:1", &headers(given)), expected, "{entrance:?} {given:?}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let of = |all: &[(&'static str, &str)], uri: &str| host_of(&headers(all), &uri.parse().expect("a URI"));
        assert_eq!(of(&[("host", "A.localhost:1")], "/dashboard/"), Some("a.localhost:1".to_owned()));
        assert_eq!(of(&[], "https://a:1/dashboard/"), Some("a:1".to_owned()));
        assert_eq!(of(&[("host", "a:1")], "http://a:1/"), Some("a:1".to_owned()));
        assert_eq!(of(&[("host", "a:1")], "http://b:1/"), None);
        assert_eq!(of(&[("host", "a:1"), ("host", "b:1")], "/"), None);
        assert_eq!(of(&[], "/"), None);
    }

    #[test]
    fn random_names_are_long_and_unlike() {
        let (one, other) = (random_name(12), random_name(12));
        assert!(
            one.len() == 12 && one != other && one.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
        );
        assert_ne!(secret(), secret());
    }
}
