// SPDX-License-Identifier: Apache-2.0
//! Scalars with a wire form of their own: quantities, integer-or-string, raw JSON, bytes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `runtime.RawExtension` and `apiextensions.JSON`: any JSON value, kept as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawExtension(pub Value);

/// `intstr.IntOrString`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntOrString {
    /// A number.
    Int(i32),
    /// A text, mostly a percentage.
    String(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

/// `resource.Quantity` in its canonical form, `1500m`, `2Gi`, `1e3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    text: String,
}

/// `[]byte`: base64 on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteString(pub Vec<u8>);

impl Default for Quantity {
    fn default() -> Self {
        Self { text: "0".to_owned() }
    }
}

impl Serialize for IntOrString {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        todo!()
    }
}

impl<'de> Deserialize<'de> for IntOrString {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        todo!()
    }
}

impl Serialize for Quantity {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        todo!()
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        todo!()
    }
}

impl Serialize for ByteString {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        todo!()
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        todo!()
    }
}
