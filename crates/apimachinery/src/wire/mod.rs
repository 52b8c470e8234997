// SPDX-License-Identifier: Apache-2.0
//! Values in their wire form, without their types: reading, writing and comparing for every kind.
//!
//! A struct of an API is a list of named [`Fields`]; a field is a [`Wire`], which can be read ([`View`]) and filled
//! ([`Slot`]). The functions here walk these, so that a kind consists of data and a few lines of code, and the code to
//! read and write JSON is compiled once for all kinds. The attribute `api_type` of crate `api-derive` implements both
//! traits.
//!
//! **Invariants.** No function here has a type parameter for a kind. Fields are written in the order of their struct;
//! unknown fields are skipped, since [`crate::decode`] has reported them; `null` leaves a field unchanged.
//!
//! **Tour.** This file has the traits; `leaf` scalars; `container` options, lists and maps; [`read`] and [`read_tree`]
//! fill values, [`merge`] changes them; [`write()`] and [`to_tree`] output them; `with_serde` is for types with their
//! own serializer.

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
    /// Returns the value for reading.
    fn view(&self) -> View<'_>;
    /// Returns the value for filling.
    fn slot(&mut self) -> Slot<'_>;
    /// True if Go's `omitempty` leaves the value out.
    fn is_zero(&self) -> bool;
}

/// One value, by its form.
#[derive(Debug)]
pub enum View<'a> {
    /// JSON `null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// Opaque JSON.
    Raw(&'a Raw),
    /// Parsed JSON.
    Tree(&'a Value),
    /// A list.
    List(&'a dyn List),
    /// A map with text keys.
    Map(&'a dyn Dictionary),
    /// A struct.
    Struct(&'a dyn Fields),
}

/// Destination of a value, by its form.
#[derive(Debug)]
pub enum Slot<'a> {
    /// A scalar.
    Leaf(&'a mut dyn Leaf),
    /// Opaque JSON.
    Raw(&'a mut Raw),
    /// Parsed JSON.
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
    /// Returns names and rules of the fields, in the order in which they are written.
    fn fields(&self) -> &'static [FieldInfo];
    /// Returns the field at a position of [`Fields::fields`].
    fn field(&self, position: usize) -> &dyn Wire;
    /// Returns the field at a position of [`Fields::fields`] for filling.
    fn field_mut(&mut self, position: usize) -> &mut dyn Wire;
}

/// Name of a field, and the rule for writing it.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Name in JSON.
    pub name: &'static str,
    /// Key in JSON, `,"name":`.
    pub key: &'static str,
    /// True if the field is also written when it is zero.
    pub always: bool,
}

/// A scalar that is read from one token of JSON.
pub trait Leaf: fmt::Debug {
    /// Sets the value of a token.
    ///
    /// # Errors
    /// A token that is not a value of this type.
    fn set(&mut self, token: Token<'_>) -> Result<(), String>;
}

/// A scalar of JSON.
#[derive(Clone, Debug)]
pub enum Token<'a> {
    /// JSON `null`.
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
    /// Sets the value to absent.
    fn clear(&mut self);
    /// Sets a zero value.
    fn fill(&mut self) -> &mut dyn Wire;
    /// Returns the present value, or sets and returns a zero value.
    fn get_or_fill(&mut self) -> &mut dyn Wire;
}

/// A list.
pub trait List: fmt::Debug {
    /// Returns the number of items.
    fn len(&self) -> usize;
    /// True if the list is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns an item.
    fn get(&self, position: usize) -> &dyn Wire;
    /// Removes all items.
    fn clear(&mut self);
    /// Adds a zero item.
    fn push(&mut self) -> &mut dyn Wire;
}

/// A map with text keys.
pub trait Dictionary: fmt::Debug {
    /// Visits every entry, in order of the keys.
    fn each(&self, visit: &mut dyn FnMut(&str, &dyn Wire));
    /// Removes all entries.
    fn clear(&mut self);
    /// Sets the entry to a zero value.
    fn set(&mut self, key: String) -> &mut dyn Wire;
    /// Returns the present entry, or sets and returns one of a zero value.
    fn get_or_set(&mut self, key: String) -> &mut dyn Wire;
    /// Removes the entry.
    fn remove(&mut self, key: &str);
}

/// True if every field is zero: [`Wire::is_zero`] of a struct.
pub fn has_zero_fields(value: &dyn Fields) -> bool {
    (0..value.fields().len()).all(|position| value.field(position).is_zero())
}

/// Formats a struct for `Debug`, by the names of its fields in JSON.
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
