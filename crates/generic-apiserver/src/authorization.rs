// SPDX-License-Identifier: Apache-2.0
//! Authorization: decides which requests a user may make.

use std::fmt;

use process::User;

use crate::authentication::UNAUTHENTICATED;

/// Requested action and its target; a text that does not apply is empty.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// User that makes the request.
    pub user: &'a User,
    /// Logical cluster; `*` for requests across clusters.
    pub cluster: &'a str,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for non-resource paths the
    /// lower-case HTTP method.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Plural resource name; empty for non-resource paths.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for all namespaces and for cluster-scoped resources.
    pub namespace: &'a str,
    /// Name of the object; empty for collections.
    pub name: &'a str,
    /// Path below the cluster, for non-resource paths.
    pub path: &'a str,
}

/// Decides whether requests are allowed.
pub trait Authorizer: Send + Sync + fmt::Debug + 'static {
    /// Returns `Ok` if the request is allowed.
    ///
    /// # Errors
    /// The reason of the refusal; may be empty.
    fn authorize(&self, question: &Question<'_>) -> Result<(), String>;

    /// Returns the decision on a request, with the reason also if it is allowed.
    fn explain(&self, question: &Question<'_>) -> Decision {
        match self.authorize(question) {
            Ok(()) => Decision { allowed: true, reason: String::new() },
            Err(reason) => Decision { allowed: false, reason },
        }
    }

    /// Returns the rules of a user in a namespace, as far as they can be listed.
    fn rules(&self, _user: &User, _cluster: &str, _namespace: &str) -> Rules {
        Rules { incomplete: true, ..Rules::default() }
    }
}

/// Decision of an authorizer, and its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// True if the request is allowed.
    pub allowed: bool,
    /// Reason of the decision; may be empty.
    pub reason: String,
}

impl<A: Authorizer + ?Sized> Authorizer for std::sync::Arc<A> {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        (**self).authorize(question)
    }

    fn explain(&self, question: &Question<'_>) -> Decision {
        (**self).explain(question)
    }

    fn rules(&self, user: &User, cluster: &str, namespace: &str) -> Rules {
        (**self).rules(user, cluster, namespace)
    }
}

/// Rules that allow a user to make requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Rules for resources.
    pub resources: Vec<ResourceRule>,
    /// Rules for non-resource paths.
    pub paths: Vec<PathRule>,
    /// True if the rules may be incomplete.
    pub incomplete: bool,
}

/// Rule for resources; `*` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Allowed verbs; `*` for all.
    pub verbs: Vec<String>,
    /// API groups.
    pub groups: Vec<String>,
    /// Plural names, with `/subresource` for subresources.
    pub resources: Vec<String>,
    /// Names of objects; empty: all.
    pub names: Vec<String>,
}

/// Rule for non-resource paths; a `*` at the end matches every suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// Allowed verbs; `*` for all.
    pub verbs: Vec<String>,
    /// Allowed paths; `*` at the end matches every suffix.
    pub paths: Vec<String>,
}

impl Rules {
    /// Returns rules that allow everything.
    pub fn everything() -> Self {
        let all = || vec!["*".to_owned()];
        let resources = vec![ResourceRule { verbs: all(), groups: all(), resources: all(), names: Vec::new() }];
        Self { resources, paths: vec![PathRule { verbs: all(), paths: all() }], incomplete: false }
    }
}

/// Authorizer that allows every request of every user.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Question<'_>) -> Result<(), String> {
        Ok(())
    }

    fn rules(&self, _: &User, _: &str, _: &str) -> Rules {
        Rules::everything()
    }
}

/// Authorizer that allows authenticated users everything, and other users the version and health paths only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authenticated;

impl Authorizer for Authenticated {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        let first = question.path.split('/').nth(1).unwrap_or_default();
        let open = matches!(first, "healthz" | "livez" | "readyz" | "version") && question.verb == "get";
        if is_known(question.user) || open { Ok(()) } else { Err(String::new()) }
    }

    fn rules(&self, user: &User, _: &str, _: &str) -> Rules {
        if is_known(user) {
            return Rules::everything();
        }
        let paths = ["/healthz", "/livez", "/readyz", "/version", "/version/"].map(ToOwned::to_owned).into();
        let rule = PathRule { verbs: vec!["get".to_owned()], paths };
        Rules { paths: vec![rule], ..Rules::default() }
    }
}

/// True if the user is authenticated.
pub(crate) fn is_known(user: &User) -> bool {
    user.groups.iter().all(|group| **group != *UNAUTHENTICATED)
}
