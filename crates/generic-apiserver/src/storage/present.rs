// SPDX-License-Identifier: Apache-2.0
//! Objects of kinds that users define as their schema has them now, whatever it was when they were stored: what it does not
//! name is pruned, and what is missing has its default.
//!
//! Source: `schemaCoercingDecoder` and the defaulting of pkg/apiserver/customresource_handler.go,
//! k8s.io/apiextensions-apiserver.

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlog::{EventLog, Key, Sections};

use super::view::{self, Lens};
use crate::kind::Kind;

/// The log as a server of these kinds sees it: the log itself if users have defined none of them.
pub(crate) fn view(log: Arc<dyn EventLog>, kinds: &[Arc<dyn Kind>]) -> Arc<dyn EventLog> {
    let custom = kinds.iter().filter(|kind| kind.names().info.custom);
    let custom: BTreeMap<_, _> = custom.map(|kind| (kind.names().log_resource.clone(), kind.clone())).collect();
    if custom.is_empty() { log } else { view::through(log, Present(custom)) }
}

/// The kinds by resource.
struct Present(BTreeMap<Arc<str>, Arc<dyn Kind>>);

impl Lens for Present {
    fn concerns(&self, resource: &str) -> bool {
        self.0.contains_key(resource)
    }

    fn show(&self, key: &Key, object: &mut Sections) {
        if let Some(shown) = self.0.get(&key.resource).and_then(|kind| kind.present(object)) {
            *object = shown;
        }
    }
}
