// SPDX-License-Identifier: Apache-2.0
//! Responses of gardener-apiserver: the integration tests of this crate, in one binary that is linked once.

mod access;
mod capabilities;
mod gardenlets;
mod histories;
mod kubeconfig;
mod malformed;
mod neighbours;
mod opaque;
mod profile_references;
mod references;
mod releases;
mod served_fields;
mod shoots;
mod support;
mod versions;
