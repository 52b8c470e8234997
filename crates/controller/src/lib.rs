// SPDX-License-Identifier: Apache-2.0
//! How a controller works: a typed client, reflectors, a work queue on landscape time, Events, leader election.
//!
//! Controllers see the world through the API and nothing else, or version skew could not be tested.
//!
//! **Invariants.** No polling in landscape time. Nothing retries inside a pass. Order of everything that can be seen is
//! key order or revision order.
//!
//! **Tour.** [`Api`] one kind in one scope; [`Reflector`] and [`Store`] a local copy; [`Controller`] queue and passes;
//! [`Recorder`] Events; [`leader_election`].

pub mod api;
pub mod leader_election;
pub mod queue;
pub mod recorder;
pub mod reflector;
pub mod runner;

pub use self::api::{Api, Error, ListOptions, Patch, WatchEvent};
pub use self::queue::{ObjectKey, Requeue};
pub use self::recorder::{EventType, ObjectRef, Recorder};
pub use self::reflector::{Change, Reflector, Store};
pub use self::runner::Controller;
