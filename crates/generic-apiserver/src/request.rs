// SPDX-License-Identifier: Apache-2.0
//! Parsing of requests: path, query, verb.

use std::borrow::Cow;
use std::num::IntErrorKind;

use apimachinery::field::{FieldError, Path};
use apimachinery::release::Release;
use apimachinery::selector::Fields;
use clock::Instant;
use http::{Method, Uri};
use memchr::memchr2;
use percent_encoding::percent_decode_str;
use process::User;

use crate::authentication::UserDetails;
use crate::status::{Failure, Result};

/// Longest name of a field manager, in bytes.
const MAX_MANAGER: usize = 128;

/// A request below one cluster's prefix.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// Logical cluster, `*` for all.
    pub(crate) cluster: String,
    /// The path below the cluster, without a slash at its end.
    pub(crate) path: String,
    pub(crate) target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A collection, an object or a subresource.
    Resource(ResourcePath),
    /// Discovery, health, version.
    Other,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: String,
    /// Empty for a collection.
    pub(crate) name: String,
    pub(crate) subresource: String,
    /// The deprecated `/watch/` form.
    pub(crate) watch: bool,
}

impl Route {
    /// Creates the route of a path outside every cluster.
    pub(crate) fn outside(path: &str) -> Self {
        Self { cluster: String::new(), path: path.to_owned(), target: Target::Other }
    }

    /// Parses a path; `None`: it is outside every cluster.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let below = path.strip_prefix("/clusters/")?;
        let (cluster, rest) = below.split_once('/').unwrap_or((below, ""));
        if cluster.is_empty() {
            return None;
        }
        let segments: Vec<Cow<'_, str>> =
            rest.split('/').filter(|segment| !segment.is_empty()).map(|segment| decode(segment, false)).collect();
        let segments: Vec<&str> = segments.iter().map(|segment| &**segment).collect();
        Some(Self {
            cluster: decode(cluster, false).into_owned(),
            path: format!("/{}", segments.join("/")),
            target: target(&segments),
        })
    }
}

fn target(segments: &[&str]) -> Target {
    let (group, version, rest) = match segments {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Target::Other,
    };
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        _ => (false, rest),
    };
    let (namespace, rest) = match rest {
        // `/namespaces/x` and its own subresources are the Namespace; longer paths are inside of it.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
        ["namespaces", namespace, rest @ ..] => (*namespace, rest),
        _ => ("", rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, "", String::new()),
        [plural, name] => (*plural, *name, String::new()),
        [plural, name, subresource @ ..] => (*plural, *name, subresource.join("/")),
        [] => return Target::Other,
    };
    Target::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource,
        watch,
    })
}

/// Percent-decoding; in queries a plus is a blank. Invalid UTF-8 is replaced, and a percent sign without two digits stays.
pub(crate) fn decode(text: &str, query: bool) -> Cow<'_, str> {
    if memchr2(b'%', b'+', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let blanks = if query && text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    Cow::Owned(percent_decode_str(&blanks).decode_utf8_lossy().into_owned())
}

/// Parameters after the question mark; of parameters with the same name the first counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    (decode(name, true).into_owned(), decode(value, true).into_owned())
                })
                .collect(),
        )
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Replaces the value of a parameter, if it is present.
    pub(crate) fn change(&mut self, name: &str, change: impl Fn(&str) -> String) {
        for (_, value) in self.0.iter_mut().filter(|(known, _)| known == name) {
            *value = change(value);
        }
    }

    /// Returns the name to which a field selector narrows a collection.
    pub(crate) fn selected_name(&self) -> Option<String> {
        let fields = Fields::parse(self.text("fieldSelector")).ok()?;
        let mut terms = fields.terms.into_iter();
        terms.find(|(field, _, equal)| field == "metadata.name" && *equal).map(|(_, value, _)| value)
    }

    /// Returns names and values in their order.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    /// `None` when absent; `0` and `false` are false, everything else is true.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?;
        Some(!(value == "0" || value.eq_ignore_ascii_case("false")))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>> {
        match self.get(name) {
            None | Some("") => Ok(None),
            Some(text) => match text.parse::<i64>() {
                Ok(number) => Ok(Some(number)),
                Err(error) => {
                    let is_large = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
                    let what = if is_large { "value out of range" } else { "invalid syntax" };
                    Err(Failure::BadRequest(format!("strconv.ParseInt: parsing {text:?}: {what}")))
                }
            },
        }
    }

    /// True if `dryRun=All` is set; `options` is the kind of these options.
    pub(crate) fn dry_run(&self, options: &str) -> Result<bool> {
        dry_run(&self.all("dryRun"), options)
    }

    /// Checks the options that creations, updates and patches have in common.
    pub(crate) fn field_validation(&self, options: &str) -> Result<FieldValidation> {
        let manager = self.text("fieldManager");
        let path = Path::new("fieldManager");
        if manager.len() > MAX_MANAGER {
            return Err(Failure::options(options, FieldError::too_long(&path, MAX_MANAGER)));
        }
        if manager.chars().any(char::is_control) {
            let error = FieldError::invalid(&path, manager, "should only contain printable characters");
            return Err(Failure::options(options, error));
        }
        match self.text("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            "Strict" => Ok(FieldValidation::Strict),
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let error = FieldError::not_supported(&Path::new("fieldValidation"), other, &supported);
                Err(Failure::options(options, error))
            }
        }
    }
}

/// True if a list of dry-run directives requests a dry run.
pub(crate) fn dry_run(values: &[&str], options: &str) -> Result<bool> {
    match values {
        [] | [""] => Ok(false),
        values if values.iter().all(|value| *value == "All") => Ok(true),
        values => Err(Failure::options(options, FieldError::not_supported(&Path::new("dryRun"), values, &["All"]))),
    }
}

/// Handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Release of the server whose resources are only described here ([`Builder::described`](crate::Builder::described)); an
/// extension of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribedRelease(pub Release);

impl Default for DescribedRelease {
    fn default() -> Self {
        Self(Release::UNION)
    }
}

/// A request as handlers receive it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) route: Route,
    pub(crate) query: Query,
    pub(crate) headers: http::HeaderMap,
    pub(crate) user: User,
    pub(crate) details: UserDetails,
    /// Landscape time of the request.
    pub(crate) now: Instant,
    /// Warnings about duplicate keys in a YAML body.
    pub(crate) duplicates: Vec<String>,
    /// Release of the resources that are described by this server and served by another one.
    pub(crate) described: DescribedRelease,
}

impl Call {
    pub(crate) fn header(&self, name: http::header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The API verb.
    pub(crate) fn verb(&self, path: &ResourcePath) -> &'static str {
        verb(&self.method, path, &self.query)
    }
}

/// True if a request below a cluster's prefix is for a watch: of a collection with `watch=true`, or in the deprecated
/// form of anything. For a named object `watch=true` has no effect, as upstream.
pub fn is_watch(method: &Method, uri: &Uri) -> bool {
    match Route::parse(uri.path()).map(|route| route.target) {
        Some(Target::Resource(path)) => verb(method, &path, &Query::parse(uri.query())) == "watch",
        _ => false,
    }
}

/// Returns the API verb of a request; empty for a method without a verb.
pub(crate) fn verb(method: &Method, path: &ResourcePath, query: &Query) -> &'static str {
    let collection = path.name.is_empty();
    match *method {
        Method::GET | Method::HEAD if path.watch || (collection && query.flag("watch") == Some(true)) => "watch",
        Method::GET | Method::HEAD if collection => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if collection => "deletecollection",
        Method::DELETE => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, ResourcePath, Route, Target, is_watch};

    #[track_caller]
    fn check(path: &str, expected: (&str, &str, &str, &str, &str, &str)) {
        let route = Route::parse(path).expect("a path below a cluster");
        let (group, version, plural, namespace, name, subresource) = expected;
        let resource = ResourcePath {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: subresource.to_owned(),
            watch: false,
        };
        assert_eq!(route.target, Target::Resource(resource), "{path}");
    }

    #[test]
    fn paths_name_resources() {
        check("/clusters/a/api/v1/namespaces", ("", "v1", "namespaces", "", "", ""));
        check("/clusters/a/api/v1/namespaces/x", ("", "v1", "namespaces", "", "x", ""));
        check("/clusters/a/api/v1/namespaces/x/finalize", ("", "v1", "namespaces", "", "x", "finalize"));
        check("/clusters/a/api/v1/namespaces/x/secrets", ("", "v1", "secrets", "x", "", ""));
        check("/clusters/a/apis/g/v1/namespaces/x/shoots/s/status", ("g", "v1", "shoots", "x", "s", "status"));
        check("/clusters/a/apis/g/v1/things/n%3A1/", ("g", "v1", "things", "", "n:1", ""));
    }

    #[test]
    fn watches_have_two_forms() {
        for (request, expected) in [
            ("GET /clusters/a/api/v1/pods?watch=true", true),
            ("GET /clusters/a/api/v1/pods?watch", true),
            ("GET /clusters/a/api/v1/pods?watch=false", false),
            ("GET /clusters/a/api/v1/watch/pods", true),
            ("GET /clusters/a/api/v1/watch/namespaces/n/pods/p", true),
            ("GET /clusters/a/apis/coordination.k8s.io/v1/watch/leases", true),
            ("GET /clusters/a/apis/coordination.k8s.io/v1/namespaces/watch/leases", false),
            ("GET /clusters/a/api/v1/namespaces/watch", false),
            ("GET /clusters/a/api/v1/namespaces/n/pods/p?watch=true", false),
            ("GET /clusters/a/api/v1/namespaces/n/pods/p/log?watch=true", false),
            ("POST /clusters/a/api/v1/namespaces/n/pods?watch=true", false),
            ("GET /clusters/a/apis?watch=true", false),
            ("GET /log?watch=true", false),
        ] {
            let (method, uri) = request.split_once(' ').expect("two parts");
            let (method, uri) = (method.parse().expect("a method"), uri.parse().expect("an address"));
            assert_eq!(is_watch(&method, &uri), expected, "{request}");
        }
    }

    #[test]
    fn flags_are_true_unless_0_or_false() {
        let query = Query::parse(Some("a=&b=0&c=FALSE&d=no&labelSelector=a%3Db%2Cc"));
        assert_eq!(query.flag("a"), Some(true));
        assert_eq!(query.flag("b"), Some(false));
        assert_eq!(query.flag("c"), Some(false));
        assert_eq!(query.flag("d"), Some(true));
        assert_eq!(query.flag("e"), None);
        assert_eq!(query.text("labelSelector"), "a=b,c");
    }
}
