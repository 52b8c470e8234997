// SPDX-License-Identifier: Apache-2.0
//! A Kubernetes API server for any catalogue of resources, over an event log.
//!
//! **Invariants.** The name of the product that runs on it appears in no identifier. No reconcile loops. One file
//! chooses HTTP codes. A read never returns data older than the log's head at the request's arrival.
//!
//! **Tour.** [`registry`] the hooks of a kind; [`admission`] the chain of checks.

pub mod admission;
pub mod registry;

pub use admission::{Attributes, Operation, Plugin, Reads};
pub use registry::{RequestContext, Strategy};
