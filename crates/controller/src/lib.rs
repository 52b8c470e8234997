// SPDX-License-Identifier: Apache-2.0
//! How a controller works: a typed client, reflectors, a work queue on landscape time, Events, leader election.
//!
//! Controllers see the world through the API and nothing else, or version skew could not be tested.
//!
//! Requests, stores and reflectors work with objects without types; what is typed is a thin face ([`erased`]).
//!
//! **Invariants.** No polling in landscape time. Nothing retries inside a pass. Order of everything that can be seen is
//! key order or revision order.
//!
//! **Tour.** [`Api`] one kind in one scope; [`Reflector`], [`Store`] and [`Index`] a local copy; [`Controller`] queue
//! and passes; [`Recorder`] Events; [`leadership`]; [`discovery`]; [`DecodeCache`] what the reflectors of a process share.

pub mod api;
pub mod decode;
mod difference;
pub mod discovery;
mod erased;
pub mod leadership;
pub mod queue;
pub mod recorder;
pub mod reflector;
mod request;
pub mod runner;
mod store;

pub use self::api::{Api, ApiResource, Error, ListOptions, Patch, WatchEvent, WatchStream};
pub use self::decode::{DecodeCache, PartialObject, Readable};
pub use self::difference::merge_patch;
pub use self::queue::{ObjectKey, QueueHandle, Requeue};
pub use self::recorder::{Action, EventType, ObjectRef, Recorder};
pub use self::reflector::{Change, Index, Reflector, Store};
pub use self::request::push_query;
pub use self::runner::Controller;
