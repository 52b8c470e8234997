// SPDX-License-Identifier: Apache-2.0
//! Which kinds the host serves, and with which hooks.

use api::terrarium;
use apimachinery::DynamicObject;
use apimachinery::catalogue::ResourceInfo;
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
