// SPDX-License-Identifier: Apache-2.0
//! Which kinds the host serves, and with which hooks.

use api::terrarium;
use apimachinery::catalogue::ResourceInfo;
use apimachinery::{DynamicObject, Resource};
use generic_apiserver::{Builder, Generic};

use crate::core_kinds::CoreStrategy;
use crate::namespaces::NamespaceStrategy;

/// Registers every row.
///
/// Kinds are kept as trees pruned by their schema, since nobody here reads them; but for Cluster objects, which say
/// which clusters exist.
pub(crate) fn register<'a>(mut builder: Builder, rows: impl IntoIterator<Item = &'a ResourceInfo>) -> Builder {
    for row in rows {
        builder = if row.describes::<terrarium::Cluster>() {
            builder.resource::<terrarium::Cluster>(row, Generic)
        } else if row.group.is_empty() && row.plural == "namespaces" {
            builder.resource::<DynamicObject>(row, NamespaceStrategy)
        } else if row.custom {
            builder.resource::<DynamicObject>(row, Generic)
        } else {
            builder.resource::<DynamicObject>(row, CoreStrategy::of(row.group, row.plural))
        };
    }
    builder
}

/// The row of Cluster objects, without which no cluster exists.
pub(crate) fn cluster_row() -> ResourceInfo {
    ResourceInfo {
        group: terrarium::Cluster::GROUP,
        version: terrarium::Cluster::VERSION,
        kind: terrarium::Cluster::KIND,
        plural: terrarium::Cluster::PLURAL,
        singular: "cluster",
        short_names: &[],
        categories: &[],
        namespaced: false,
        subresources: &[],
        columns: &[],
        field_selectors: &[],
        heartbeat_fields: &[],
        custom: true,
        schema: <terrarium::Cluster as apimachinery::schema::Schema>::node,
    }
}
