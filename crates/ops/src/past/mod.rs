// SPDX-License-Identifier: Apache-2.0
//! The past of a landscape for readers of many moments of it: which revision an instant is, and what lists show there.
//!
//! ```text
//! entries ──► changes: of each name its rows, each from a revision on ──► rows at R        what has been read
//! keyframe R1 ── entries ──► rows at R ◄── entries ── keyframe R2                          what has not: the nearer one
//! ```
//!
//! [`moment`] finds the revision of an instant. [`Index`] has [`rows`](Rows) of what lists show at a revision: Shoots,
//! CloudProfiles, NamespacedCloudProfiles, Projects, Seeds, Gardener's Deployments and the Leases of its instances, Machines
//! and Nodes counted per Shoot. [`Index::catch_up`] reads the log once, beside the requests, and keeps what rows were: a moment
//! is made of that alone. Until then, and where there was too much to keep, a keyframe is made from the states of these
//! resources at a revision when none is near, and every other moment from the entries between.
//!
//! [`exact`] is a way to the API on which every read shows one revision; [`timeline`] has what happened when.
//!
//! Of a Shoot there is its specification, too, in the log's own bytes: with it and the row maintenance can be foreseen.
//!
//! **Deliberately absent.** Whole objects (an exact list of the API has them), heartbeats, and who may see which row: a caller
//! shows rows of namespaces that its user may list.
//!
//! **Invariants.** Rows at a revision are what the typed objects of the API's exact list at it give, by the functions of
//! [`rows`](mod@rows). A moment is not made of what is newer than it, but of the keyframe that is folded back. At most
//! [`KEYFRAMES`] are kept, and changes of a bounded size, whatever the length of the log: the newest.

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
