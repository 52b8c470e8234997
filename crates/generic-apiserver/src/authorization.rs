// SPDX-License-Identifier: Apache-2.0
//! Authorization: may this user do this?

use std::fmt;

use process::User;

use crate::authentication::UNAUTHENTICATED;

/// What is asked for; every text is empty where it does not apply.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Who asks.
    pub user: &'a User,
    /// Logical cluster; `*` for requests across clusters.
    pub cluster: &'a str,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; the lower-case HTTP method for
    /// paths that are no resource.
    pub verb: &'a str,
    /// API group.
    pub group: &'a str,
    /// Plural resource name; empty for paths that are no resource.
    pub resource: &'a str,
    /// Subresource; empty for the object itself.
    pub subresource: &'a str,
    /// Namespace; empty for all, and for what has none.
    pub namespace: &'a str,
    /// Name of the object; empty for collections.
    pub name: &'a str,
    /// Path below the cluster, for paths that are no resource.
    pub path: &'a str,
}

/// Decides about requests.
pub trait Authorizer: Send + Sync + fmt::Debug + 'static {
    /// Whether the request may go on.
    ///
    /// # Errors
    /// The reason of the refusal; may be empty.
    fn authorize(&self, question: &Question<'_>) -> Result<(), String>;

    /// As [`Authorizer::authorize`], for who wants to know why.
    fn explain(&self, question: &Question<'_>) -> Decision {
        match self.authorize(question) {
            Ok(()) => Decision { allowed: true, reason: String::new() },
            Err(reason) => Decision { allowed: false, reason },
        }
    }

    /// What a user may do in a namespace, as far as it can be listed.
    fn rules(&self, _user: &User, _cluster: &str, _namespace: &str) -> Rules {
        Rules { incomplete: true, ..Rules::default() }
    }
}

/// Whether something is allowed, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is.
    pub allowed: bool,
    /// Why, or why not; may be empty.
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

/// What somebody may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// For resources.
    pub resources: Vec<ResourceRule>,
    /// For paths that are no resource.
    pub paths: Vec<PathRule>,
    /// Whether there may be more.
    pub incomplete: bool,
}

/// Verbs on resources; `*` is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// Verbs that are allowed; `*` for all.
    pub verbs: Vec<String>,
    /// API groups.
    pub groups: Vec<String>,
    /// Plural names, with `/subresource` where it is one.
    pub resources: Vec<String>,
    /// Names; empty: all.
    pub names: Vec<String>,
}

/// Verbs on paths; a `*` at the end is everything below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathRule {
    /// Verbs that are allowed; `*` for all.
    pub verbs: Vec<String>,
    /// Paths that are allowed; one that ends with `*` stands for all that begin so.
    pub paths: Vec<String>,
}

impl Rules {
    /// Everything is allowed.
    pub fn everything() -> Self {
        let all = || vec!["*".to_owned()];
        let resources = vec![ResourceRule { verbs: all(), groups: all(), resources: all(), names: Vec::new() }];
        Self { resources, paths: vec![PathRule { verbs: all(), paths: all() }], incomplete: false }
    }
}

/// Everybody may do everything.
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

/// An authenticated user may do everything; everybody else may ask for version and health.
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

/// Whether the user said who they are.
pub(crate) fn is_known(user: &User) -> bool {
    user.groups.iter().all(|group| **group != *UNAUTHENTICATED)
}
