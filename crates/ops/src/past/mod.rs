// SPDX-License-Identifier: Apache-2.0
//! The past of a landscape for whoever looks at many moments of it: which revision an instant is, and what lists show there.
//!
//! ```text
//! keyframe R1 ── entries ──► rows at R ◄── entries ── keyframe R2      the nearer one, forwards or backwards
//! ```
//!
//! [`moment`] finds the revision of an instant. [`Index`] has [`rows`](Rows) of what lists show at a revision: Shoots,
//! CloudProfiles, NamespacedCloudProfiles, Projects, Seeds, Gardener's Deployments and the Leases of its instances, Machines
//! and Nodes counted per Shoot. It is folded from the log: a keyframe is made from the states of these resources at a
//! revision when none is near, and every other moment from the entries between.
//!
//! [`exact`] is a way to the API on which every read shows one revision; [`timeline`] has what happened when.
//!
//! Of a Shoot there is its specification, too, in the log's own bytes: with it and the row maintenance can be foreseen.
//!
//! **Deliberately absent.** Whole objects (an exact list of the API has them), heartbeats, and who may see which row: a caller
//! shows rows of namespaces that its user may list.
//!
//! **Invariants.** Rows at a revision are what the typed objects of the API's exact list at it give, by the functions of
//! [`rows`](mod@rows). Nothing is read of the log that is newer than the revision, or than the keyframe that is folded
//! back. At most
//! [`KEYFRAMES`] are kept; moments share the rows that are the same in them.

pub mod exact;
mod index;
pub mod moment;
pub mod resource;
pub mod rows;
pub mod timeline;

pub use index::{Index, KEYFRAMES, NEAR};
pub use moment::{Moment, NoMoment};
pub use rows::Rows;
pub use timeline::Timeline;
