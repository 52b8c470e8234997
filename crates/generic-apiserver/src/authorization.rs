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
    /// Subresource.
    pub subresource: &'a str,
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
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
}

/// Everybody may do everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Question<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Whoever said who he is may do everything; everybody else may ask for version and health.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authenticated;

impl Authorizer for Authenticated {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        let known = question.user.groups.iter().all(|group| **group != *UNAUTHENTICATED);
        let first = question.path.split('/').nth(1).unwrap_or_default();
        let open = matches!(first, "healthz" | "livez" | "readyz" | "version") && question.verb == "get";
        if known || open { Ok(()) } else { Err(String::new()) }
    }
}
