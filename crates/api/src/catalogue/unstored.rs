// SPDX-License-Identifier: Apache-2.0
//! Rows that are served, but not stored: reviews, Events of `events.k8s.io`, HorizontalPodAutoscalers of the older version.

use apimachinery::catalogue::ResourceInfo;
use apimachinery::schema::Node;

use super::bare;
use super::kubernetes::EVENT;
use crate::kubernetes::tables;

const AUTHENTICATION: &str = "authentication.k8s.io";

/// Row of a review; its table may be absent.
macro_rules! review {
    ($group:expr, $version:literal, $table:literal, $kind:literal, $plural:literal, $namespaced:literal) => {
        bare($group, $version, $kind, $plural, $namespaced, &[], &[], || {
            tables::node($table, $kind).unwrap_or(Node::Raw)
        })
    };
}

/// Rows of reviews. SelfSubjectReview includes its older versions: kubectl 1.27 knows no other.
pub(super) fn reviews() -> Vec<ResourceInfo> {
    const AUTHORIZATION: &str = "authorization.k8s.io";
    vec![
        review!(AUTHENTICATION, "v1", "authentication", "SelfSubjectReview", "selfsubjectreviews", false),
        review!(AUTHENTICATION, "v1beta1", "authentication", "SelfSubjectReview", "selfsubjectreviews", false),
        review!(AUTHENTICATION, "v1alpha1", "authentication", "SelfSubjectReview", "selfsubjectreviews", false),
        review!(AUTHENTICATION, "v1", "authentication", "TokenReview", "tokenreviews", false),
        review!(AUTHORIZATION, "v1", "authorization", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false),
        review!(AUTHORIZATION, "v1", "authorization", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false),
        review!(AUTHORIZATION, "v1", "authorization", "SubjectAccessReview", "subjectaccessreviews", false),
        review!(AUTHORIZATION, "v1", "authorization", "LocalSubjectAccessReview", "localsubjectaccessreviews", true),
    ]
}

/// Row of Events of `events.k8s.io`; they are those of `v1` with other names for some fields.
pub(super) fn events() -> ResourceInfo {
    ResourceInfo {
        field_selectors: &[
            ("regarding.kind", ".regarding.kind"),
            ("regarding.namespace", ".regarding.namespace"),
            ("regarding.name", ".regarding.name"),
            ("regarding.uid", ".regarding.uid"),
            ("regarding.apiVersion", ".regarding.apiVersion"),
            ("regarding.resourceVersion", ".regarding.resourceVersion"),
            ("regarding.fieldPath", ".regarding.fieldPath"),
            ("reason", ".reason"),
            ("reportingController", ".reportingController"),
            ("type", ".type"),
        ],
        ..bare("events.k8s.io", "v1", "Event", "events", true, &["ev"], EVENT, || {
            tables::node("events", "Event").unwrap_or(Node::Raw)
        })
    }
}

/// Row of HorizontalPodAutoscalers of `autoscaling/v1`.
pub(super) fn autoscalers() -> ResourceInfo {
    ResourceInfo {
        version: "v1",
        schema: || tables::node("autoscaling", "HorizontalPodAutoscaler").unwrap_or(Node::Raw),
        ..super::unread::autoscalers()
    }
}
