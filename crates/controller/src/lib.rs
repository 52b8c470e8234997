// SPDX-License-Identifier: Apache-2.0
//! Controller runtime: a typed client, reflectors, a work queue on landscape time, Events, leader election.
//!
//! Controllers use the API and nothing else; otherwise version skew could not be tested.
//!
//! Requests, stores and reflectors handle untyped objects; the typed API is a thin wrapper ([`erased`]).
//!
//! **Invariants.** No polling in landscape time. Nothing is retried inside a pass. The order of all observable effects
//! is key order or revision order.
//!
//! **Tour.** [`Api`] one kind in one scope; [`Reflector`], [`Store`] and [`Index`] a local copy, which knows own writes
//! ([`Api::with_store`]); [`Controller`] queue and passes; [`Recorder`] Events; [`leadership`]; [`discovery`];
//! [`DecodeCache`] the cache shared by the reflectors of a process.

pub mod api;
mod cache;
pub mod decode;
mod difference;
pub mod discovery;
mod erased;
mod error;
pub mod leadership;
pub mod queue;
pub mod recorder;
pub mod reflector;
mod request;
pub mod runner;
mod store;

pub use self::api::{Api, ApiResource, CONFLICTS, ListOptions, Patch, WatchEvent, WatchStream};
pub use self::cache::DecodeCache;
pub use self::decode::{PartialObject, Readable};
pub use self::difference::merge_patch;
pub use self::error::Error;
pub use self::queue::{ObjectKey, QueueHandle, Requeue};
pub use self::recorder::{Action, EventType, ObjectRef, Recorder};
pub use self::reflector::{Change, Index, Reflector, Store};
pub use self::request::push_query;
pub use self::runner::Controller;
