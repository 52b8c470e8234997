// SPDX-License-Identifier: Apache-2.0
//! History of a landscape for readers of many moments: the revision of an instant, and the contents of lists at it.
//!
//! ```text
//! entries ──► changes: the rows of each name by revision ──► rows at R        read part of the log
//! keyframe R1 ── entries ──► rows at R ◄── entries ── keyframe R2                          unread part: the nearer one
//! ```
//!
//! [`moment`] finds the revision of an instant. [`Index`] has the [`rows`](Rows) of lists at a revision: Shoots,
//! CloudProfiles, NamespacedCloudProfiles, Projects, Seeds, Gardener's Deployments and the Leases of its instances,
//! Machines and Nodes counted per Shoot. [`Index::catch_up`] reads the log once, in the background, and keeps the history
//! of the rows, which is sufficient to build any moment. Before that, and for parts that exceed the memory limit, a
//! keyframe is built from the states of these resources at a revision if none is near, and all other moments from the
//! entries in between.
//!
//! [`exact`] is a transport to the API on which every read returns the state at one revision; [`timeline`] has the instants
//! of notable events.
//!
//! The specification of a Shoot is kept as well, in the log's own bytes: with it and the row maintenance can be forecast.
//!
//! **Deliberately absent.** Whole objects (an exact list of the API returns them), heartbeats, and authorization: the
//! caller shows rows only of namespaces that its user may list.
//!
//! **Invariants.** Rows at a revision are those that the functions of [`rows`](mod@rows) compute from the objects of an
//! exact list at it. A moment is not affected by newer entries, except by way of a keyframe that is folded back. At most
//! [`KEYFRAMES`] are kept, and the newest changes up to a fixed size, regardless of the length of the log.

mod aside;
mod changes;
mod course;
pub mod exact;
mod index;
pub mod moment;
pub mod resource;
pub mod rows;
pub mod timeline;

pub use index::{Index, KEYFRAMES, NEAR};
pub use moment::{Moment, NoMoment};
pub use rows::Rows;
pub use timeline::{Life, Timeline};
