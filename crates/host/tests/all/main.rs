// SPDX-License-Identifier: Apache-2.0
//! A host and its clusters: the integration tests of this crate, in one binary that is linked once.

mod access;
mod clock_object;
mod clusters;
mod conformance;
mod core_kinds;
mod custom_resources;
mod events;
mod extension_servers;
mod identity;
mod inside;
mod installed;
mod kubelet;
mod leases;
mod log;
mod malformed;
mod openapi;
mod placement;
mod protobuf;
mod registry;
mod services;
mod storage;
mod subresources;
mod support;
mod threads;
mod time;
mod workload;
mod workloads;
