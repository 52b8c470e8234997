// SPDX-License-Identifier: Apache-2.0
//! Ownership of fields: managed fields, and server-side apply on them.
//!
//! ```text
//! create, PUT, patch   old, new ──compare──▶ Changes ──┐
//!                                                      ├─▶ update ──▶ entries of metadata.managedFields
//!                              entries of the object ──┘
//! apply                live, configuration, entries ──▶ apply ──▶ object and entries, or conflicts
//! ```
//!
//! A [`Set`] of paths holds the fields that one manager owns; a path is a list of [`Element`]s. The schema tree defines
//! how lists and maps merge: by [`crate::schema::Topology`] if it is set, otherwise by the merge keys of strategic
//! merge patches, otherwise a list is replaced as a whole. Opaque JSON is granular in maps and atomic in lists.
//!
//! **Invariants.** All functions are pure: the time is a parameter. Order depends on the paths only, so that equal
//! inputs give equal bytes. Nothing here panics, whatever clients write into `managedFields`. An entry has the fields
//! of the version in which it was written; callers with several such versions pass their conversions ([`Version`]).
//!
//! **Tour.** `path` elements; `set` sets and `fieldsV1`; `place` topology; `typed` read-only walks; `merge` changing
//! walks; `managers` entries, ownership and conflicts.
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
