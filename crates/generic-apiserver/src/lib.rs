// SPDX-License-Identifier: Apache-2.0
//! A Kubernetes API server for any catalogue of resources, over an event log.
//!
//! **Invariants.** The name of the product that runs on it appears in no identifier. No reconcile loops. One file
//! chooses HTTP codes. A read never returns data older than the log's head at the request's arrival.
//!
//! **Tour.** [`Builder`] creates a [`Server`]; `routes` lists its resources; `handlers` implements the verbs, and
//! `handlers::write` the append of an object to the log; [`registry`] defines the hooks of a kind; [`admission`] the
//! chain of checks; [`observer`] notification of changes; [`clusters`] logical clusters; `delegates` servers of custom
//! resources; [`authentication`] the users of requests; [`authorization`] their permissions; [`http`] the HTTPS front
//! end; `openapi` schemas of kinds for clients; [`protobuf`] bodies in protobuf; [`validator`] the guarantees of every
//! watch.
//!
//! Managed fields are a section of stored objects; `handlers::ownership` decides which objects have them.

pub mod admission;
pub mod authentication;
pub mod authorization;
mod backend;
mod builder;
pub mod clusters;
mod delegates;
pub mod discovery;
mod handlers;
mod heartbeat;
pub mod http;
mod kind;
mod meta;
mod negotiation;
pub mod observer;
mod openapi;
mod output;
mod owner;
pub mod protobuf;
pub mod registry;
mod request;
mod reviews;
mod routes;
mod scope;
mod sections;
pub mod server;
mod snapshot;
mod status;
mod storage;
pub mod subresource;
mod table;
pub mod validator;
pub mod views;
pub mod webhooks;
mod yaml;

pub use admission::{Attributes, Operation, Plugin, Reads};
pub use authentication::Authenticator;
pub use authorization::{AllowAll, Authenticated, Authorizer};
pub use backend::Foundation;
pub use builder::{Builder, Local, RECENT_BYTES};
pub use clusters::{Cluster, Clusters, FixedClusters};
pub use owner::controller_of;
pub use registry::{Generic, RequestContext, ScalePaths, Shape, Strategy};
pub use request::{DescribedRelease, is_watch};
pub use server::Server;
pub use table::AGES_AT;
