// SPDX-License-Identifier: Apache-2.0
//! Who set which fields: managed fields, and server-side apply on them.
//!
//! ```text
//! create, PUT, patch   old, new ──compare──▶ Changes ──┐
//!                                                      ├─▶ update ──▶ entries of metadata.managedFields
//!                              entries of the object ──┘
//! apply                live, configuration, entries ──▶ apply ──▶ object and entries, or conflicts
//! ```
//!
//! A [`Set`] of paths is what one manager owns; a path is a list of [`Element`]s. How lists and maps merge is told by the
//! schema tree: [`crate::schema::Topology`] where it is set, else the merge keys of strategic merge patches, else a list is
//! replaced as a whole. Opaque JSON is granular in maps and atomic in lists.
//!
//! **Invariants.** All functions are pure: what time it is, is handed in. Order comes from the paths alone, so that equal
//! inputs give equal bytes. Nothing here panics, whatever clients write into `managedFields`. An entry is about the fields of
//! the version that it was written in; who has such versions hands in how objects are converted ([`Version`]).
//!
//! **Tour.** `path` elements; `set` sets and `fieldsV1`; `place` topology; `typed` walks that look; `merge` walks that
//! change; `managers` entries, ownership and conflicts.
//!
//! Source: sigs.k8s.io/structured-merge-diff v4, apimachinery pkg/util/managedfields @ v0.32.

mod managers;
mod merge;
mod path;
mod place;
mod set;
mod typed;

pub use self::managers::{
    Applied, ApplyError, Conflict, Version, Versions, Writer, allowed_by_last_applied, apply, apply_across,
    conflict_status, decode, differ_in_time_only, track_all, update, update_across,
};
pub use self::path::{Element, Scalar, text_of};
pub use self::set::Set;
pub use self::typed::{Changes, compare, set_of, violations};

#[cfg(test)]
mod tests;
