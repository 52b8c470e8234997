// SPDX-License-Identifier: Apache-2.0
//! Values as they stand on the wire, without their types: what reads, writes and compares every kind.
//!
//! A struct of an API is a list of named [`Fields`]; a field is a [`Wire`], which can be looked at ([`View`]) and filled
//! ([`Slot`]). The functions here walk these, so that a kind brings data and a few lines of its own, and what it takes to
//! read and write JSON is compiled once for all kinds. The attribute `api_type` of crate `api-derive` implements both
//! traits.
//!
//! **Invariants.** No function here has a type parameter for a kind. Fields are written in the order of their struct;
//! unknown fields are skipped, since [`crate::decode`] has reported them; `null` leaves a field as it was made.
//!
//! **Tour.** This file has the traits; `leaf` scalars; `container` options, lists and maps; [`read`] and [`read_tree`]
//! fill, [`merge`] changes; [`write()`] and [`to_tree`] are the ways out; `with_serde` serves types with a serializer of their own.

mod container;
mod leaf;
mod merging;
mod reading;
mod with_serde;
mod writing;

use std::borrow::Cow;
use std::fmt;

pub use api_derive::api_type;
use serde_json::Value;

pub use self::merging::merge;
pub use self::reading::{from_tree, read, read_tree};
pub use self::with_serde::{deserialize, serialize};
pub use self::writing::{to_tree, to_tree_of, write, write_field};
use crate::meta::Raw;

/// A value of an API type.
pub trait Wire: fmt::Debug + Send + Sync {
    /// The value, to look at.
    fn view(&self) -> View<'_>;
    /// The value, to fill.
    fn slot(&mut self) -> Slot<'_>;
    /// Whether Go's `omitempty` leaves it out.
    fn is_zero(&self) -> bool;
}

/// One value, by its form.
#[derive(Debug)]
pub enum View<'a> {
    /// `null`.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// Opaque JSON.
    Raw(&'a Raw),
    /// JSON that is taken apart.
    Tree(&'a Value),
    /// A list.
    List(&'a dyn List),
    /// A map with text keys.
    Map(&'a dyn Dictionary),
    /// A struct.
    Struct(&'a dyn Fields),
}

/// Where a value goes, by its form.
#[derive(Debug)]
pub enum Slot<'a> {
    /// A scalar.
    Leaf(&'a mut dyn Leaf),
    /// Opaque JSON.
    Raw(&'a mut Raw),
    /// JSON that is taken apart.
    Tree(&'a mut Value),
    /// A value that may be absent.
    Optional(&'a mut dyn Optional),
    /// A list.
    List(&'a mut dyn List),
    /// A map with text keys.
    Map(&'a mut dyn Dictionary),
    /// A struct.
    Struct(&'a mut dyn Fields),
}

/// A struct as its fields.
pub trait Fields: Wire {
    /// Names and rules of the fields, in the order in which they are written.
    fn fields(&self) -> &'static [FieldInfo];
    /// The field at a position of [`Fields::fields`].
    fn field(&self, position: usize) -> &dyn Wire;
    /// The field at a position of [`Fields::fields`], to fill.
    fn field_mut(&mut self, position: usize) -> &mut dyn Wire;
}

/// What is written of a field beside its value.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Name in JSON.
    pub name: &'static str,
    /// `,"name":`
    pub key: &'static str,
    /// Whether it is written when it is zero.
    pub always: bool,
}

/// A scalar that comes from one token of JSON.
pub trait Leaf: fmt::Debug {
    /// Takes the value of a token.
    ///
    /// # Errors
    /// A token that is no value of this type.
    fn set(&mut self, token: Token<'_>) -> Result<(), String>;
}

/// A scalar of JSON.
#[derive(Clone, Debug)]
pub enum Token<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean(bool),
    /// A number as it is written.
    Number(Cow<'a, str>),
    /// A text.
    Text(Cow<'a, str>),
}

/// A value that may be absent.
pub trait Optional: fmt::Debug {
    /// Makes the value absent.
    fn clear(&mut self);
    /// Puts a zero value there.
    fn fill(&mut self) -> &mut dyn Wire;
    /// The value that is there, else a zero value.
    fn get_or_fill(&mut self) -> &mut dyn Wire;
}

/// A list.
pub trait List: fmt::Debug {
    /// How many items it has.
    fn len(&self) -> usize;
    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// An item.
    fn get(&self, position: usize) -> &dyn Wire;
    /// Removes all items.
    fn clear(&mut self);
    /// Adds a zero item.
    fn push(&mut self) -> &mut dyn Wire;
}

/// A map with text keys.
pub trait Dictionary: fmt::Debug {
    /// Hands over every entry, in order of the keys.
    fn each(&self, visit: &mut dyn FnMut(&str, &dyn Wire));
    /// Removes all entries.
    fn clear(&mut self);
    /// Sets the entry to a zero value.
    fn set(&mut self, key: String) -> &mut dyn Wire;
    /// The entry that is there, else one of a zero value.
    fn get_or_set(&mut self, key: String) -> &mut dyn Wire;
    /// Removes the entry.
    fn remove(&mut self, key: &str);
}

/// Whether every field is zero: what [`Wire::is_zero`] is for a struct.
pub fn has_zero_fields(value: &dyn Fields) -> bool {
    (0..value.fields().len()).all(|position| value.field(position).is_zero())
}

/// Writes a struct for `Debug`, by the names of its fields in JSON.
///
/// # Errors
/// Those of the formatter.
pub fn debug(value: &dyn Fields, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut out = f.debug_struct(name);
    for (position, info) in value.fields().iter().enumerate() {
        out.field(info.name, &value.field(position));
    }
    out.finish()
}

#[cfg(test)]
mod tests;
