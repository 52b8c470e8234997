// SPDX-License-Identifier: Apache-2.0
//! A Kubernetes API server for any catalogue of resources, over an event log.
//!
//! **Invariants.** The name of the product that runs on it appears in no identifier. No reconcile loops. One file
//! chooses HTTP codes. A read never returns data older than the log's head at the request's arrival.
//!
//! **Tour.** A module knows only modules of its own and earlier lines, and no two know each other.
//!
//! * [`authentication`]: users of requests; [`authorization`]: their permissions; `status`: failures; `request`: path,
//!   query and verb; `sections`: stored objects as text; [`protobuf`]: messages.
//! * [`registry`]: the hooks of a kind; [`admission`]: the chain of checks; [`subresource`]: hooks of subresources;
//!   [`clusters`]: logical clusters; [`observer`]: notification of changes.
//! * `kind`: a kind without its type; `storage`: the fold of the log; `snapshot`: its reads for admission; `negotiation`,
//!   `bodies`, [`views`]: forms of requests and responses; [`webhooks`].
//! * `scope`: the resource of a request and its objects; `table`, `output`, `event_form`: responses.
//! * `openapi`: schemas of kinds for clients; `reviews`; `routes`: the resources of a server; [`discovery`].
//! * `handlers`: the verbs, and in `handlers::write` the append of an object to the log.
//! * [`http`]: the HTTPS front end; [`server`]: a [`Server`], and in `server::delegates` servers of custom resources behind
//!   it; [`Builder`].
//! * [`validator`]: the guarantees of every watch.
//!
//! Managed fields are a section of stored objects; `handlers::ownership` decides which objects have them.

pub mod admission;
pub mod authentication;
pub mod authorization;
mod backend;
mod bodies;
mod builder;
pub mod clusters;
pub mod discovery;
mod event_form;
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

pub use admission::{Attributes, Operation, Plugin, Reads};
pub use authentication::Authenticator;
pub use authorization::{AllowAll, Authenticated, Authorizer};
pub use backend::Foundation;
pub use builder::{Builder, Local, RECENT_BYTES};
pub use clusters::{Cluster, Clusters, FixedClusters};
pub use event_form::EventForm;
pub use owner::controller_of;
pub use registry::{Generic, RequestContext, ScalePaths, Shape, Strategy};
pub use request::{DescribedRelease, is_watch};
pub use server::Server;
pub use table::AGES_AT;
