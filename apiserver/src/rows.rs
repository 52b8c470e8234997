// SPDX-License-Identifier: Apache-2.0
//! Rows of the catalogue for the kinds that are served or read here.

use api::kubernetes::core as kubernetes;
use apimachinery::Resource;
use apimachinery::catalogue::ResourceInfo;
use generic_apiserver::Builder;

/// The row of a kind.
pub(crate) fn row<K: Resource>() -> ResourceInfo {
    let subresources: &'static [&'static str] = match K::PLURAL {
        "shoots" => &["status", "binding"],
        "backupbuckets"
        | "backupentries"
        | "namespacedcloudprofiles"
        | "controllerinstallations"
        | "projects"
        | "seeds" => &["status"],
        _ => &[],
    };
    ResourceInfo {
        group: K::GROUP,
        version: K::VERSION,
        kind: K::KIND,
        plural: K::PLURAL,
        singular: "",
        short_names: &[],
        categories: &[],
        namespaced: K::NAMESPACED,
        subresources,
        columns: &[],
        field_selectors: &[],
        heartbeat_fields: &[],
        custom: false,
        schema: K::node,
    }
}

/// Folds the kinds of Kubernetes that admission reads.
pub(crate) fn known(builder: Builder) -> Builder {
    builder
        .known::<kubernetes::Namespace>(&row::<kubernetes::Namespace>())
        .known::<kubernetes::Secret>(&row::<kubernetes::Secret>())
        .known::<kubernetes::ConfigMap>(&row::<kubernetes::ConfigMap>())
}
