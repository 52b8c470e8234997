// SPDX-License-Identifier: Apache-2.0
//! The tree that describes a type: the one source of decoding checks, patches, OpenAPI and `explain`.
//!
//! Trees of typed kinds come from `#[api_type]` and are static; trees of kinds known by a table are built once
//! and leaked. Recursion is broken by [`ObjectRef`], which resolves lazily.

mod change;
mod meta;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

pub use self::change::{Change, EACH, changed, without};
use crate::meta::{ByteString, Duration, IntOrString, MicroTime, Quantity, RawExtension, TextMap, Time};

/// A type with a schema tree.
pub trait Schema {
    /// The node for a value of this type.
    fn node() -> Node;

    /// Takes every field from an older value but those with these names in JSON; `false` if the type cannot tell its
    /// fields apart, and nothing was taken.
    fn keep_fields(&mut self, _old: &Self, _except: &[&str]) -> bool {
        false
    }

    /// Names of the fields that differ between two values, in order; `None` if that can only be told from what they are
    /// written as.
    fn differing_fields(&self, _other: &Self) -> Option<Vec<&'static str>> {
        None
    }
}

/// One node of the tree.
#[derive(Clone, Debug)]
pub enum Node {
    /// A struct with named fields.
    Object(ObjectRef),
    /// A map with text keys.
    Map(Box<Node>),
    /// A list.
    List(Box<Node>),
    /// A text.
    String,
    /// A truth value.
    Boolean,
    /// A whole number; bits 16, 32 or 64.
    Integer {
        /// Width in bits: 16, 32 or 64.
        bits: u8,
        /// Whether negative numbers are allowed.
        signed: bool,
    },
    /// A number.
    Number,
    /// [`IntOrString`].
    IntOrString,
    /// [`Quantity`].
    Quantity,
    /// [`Duration`].
    Duration,
    /// [`Time`].
    Time,
    /// [`MicroTime`].
    MicroTime,
    /// [`ByteString`].
    Bytes,
    /// Any JSON.
    Raw,
}

/// A lazily resolved struct.
#[derive(Clone, Copy)]
pub enum ObjectRef {
    /// A derived struct.
    Static(fn() -> &'static ObjectSchema),
    /// A struct built from a table.
    Table(&'static LazyLock<ObjectSchema, Box<dyn FnOnce() -> ObjectSchema + Send>>),
    /// A struct without some of its fields.
    Partial(&'static ObjectSchema),
    /// A struct that may have fields beside those that are named: any JSON.
    Open(&'static ObjectSchema),
}

impl ObjectRef {
    /// The struct.
    pub fn get(&self) -> &'static ObjectSchema {
        match self {
            Self::Static(resolve) => resolve(),
            Self::Table(lazy) => lazy,
            Self::Partial(schema) | Self::Open(schema) => schema,
        }
    }

    /// Whether fields that are not named are kept.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get().name)
    }
}

/// A struct.
#[derive(Debug)]
pub struct ObjectSchema {
    /// Name of the Go struct, `ShootSpec`.
    pub name: &'static str,
    /// Import path of the Go package, `k8s.io/api/core/v1`; its last segment is how Go names the type in errors.
    pub package: &'static str,
    /// What it is.
    pub description: &'static str,
    /// Fields in the order in which they are served.
    pub fields: Vec<Field>,
}

impl ObjectSchema {
    /// A field by its JSON name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The type as Go prints it, `v1beta1.ShootSpec`.
    pub fn go_type(&self) -> String {
        format!("{}.{}", self.package.rsplit('/').next().unwrap_or_default(), self.name)
    }
}

impl Node {
    /// The struct that this node is.
    pub fn as_object(&self) -> Option<&'static ObjectSchema> {
        match self {
            Self::Object(reference) => Some(reference.get()),
            _ => None,
        }
    }

    /// The type as Go prints it. Named string types are not known here: they print as `string`.
    pub fn go_type(&self) -> String {
        match self {
            Self::Object(reference) => reference.get().go_type(),
            Self::Map(values) => format!("map[string]{}", values.go_type()),
            Self::List(items) => format!("[]{}", items.go_type()),
            Self::String => "string".to_owned(),
            Self::Boolean => "bool".to_owned(),
            Self::Integer { bits, signed } => format!("{}int{bits}", if *signed { "" } else { "u" }),
            Self::Number => "float64".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::Duration => "v1.Duration".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::MicroTime => "v1.MicroTime".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Raw => "runtime.RawExtension".to_owned(),
        }
    }
}

/// When a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// Always, also when it is zero.
    Always,
    /// Left out when it is zero or empty.
    OmitEmpty,
    /// Left out when it is absent.
    Pointer,
}

/// How a list or map merges under server-side apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// By the type's default.
    #[default]
    Default,
    /// Replaced as a whole.
    Atomic,
    /// A set of scalars.
    Set,
    /// A list keyed by fields of its items.
    Map,
    /// A struct or map merged field by field.
    Granular,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// JSON name.
    pub name: &'static str,
    /// What it is, from the doc comment.
    pub description: &'static str,
    /// Type of the value.
    pub node: Node,
    /// Whether the API demands it.
    pub required: bool,
    /// When it is written.
    pub emit: Emit,
    /// Key of the items under strategic merge patch.
    pub merge_key: Option<&'static str>,
    /// Strategy under strategic merge patch: `merge`, `replace`, `retainKeys`.
    pub patch_strategy: Option<&'static str>,
    /// Topology under server-side apply.
    pub topology: Topology,
    /// Keys of a [`Topology::Map`].
    pub list_map_keys: &'static [&'static str],
    /// Whether unknown fields below are kept.
    pub preserve_unknown: bool,
    /// Whether upstream marks it as deprecated.
    pub deprecated: bool,
    /// Number in the protobuf message, where one is known.
    pub protobuf: Option<Protobuf>,
}

/// Where a field stands in the protobuf form of its struct.
///
/// A struct that Go embeds is served with its fields in the place of the embedding; on the protobuf wire it is a message
/// of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protobuf {
    /// Number of the message that holds the field, for fields of an embedded struct.
    pub embedded_in: Option<u32>,
    /// Number of the field in its message.
    pub number: u32,
}

impl Protobuf {
    /// A field of the struct's own message.
    pub const fn of(number: u32) -> Self {
        Self { embedded_in: None, number }
    }
}

impl<T: Schema> Schema for Option<T> {
    fn node() -> Node {
        T::node()
    }
}

impl<T: Schema> Schema for Box<T> {
    fn node() -> Node {
        T::node()
    }
}

impl<T: Schema> Schema for Vec<T> {
    fn node() -> Node {
        Node::List(Box::new(T::node()))
    }
}

impl<T: Schema> Schema for BTreeMap<String, T> {
    fn node() -> Node {
        Node::Map(Box::new(T::node()))
    }
}

impl Schema for TextMap {
    fn node() -> Node {
        Node::Map(Box::new(Node::String))
    }
}

macro_rules! leaf {
    ($($type:ty => $node:expr),* $(,)?) => {
        $(impl Schema for $type {
            fn node() -> Node {
                $node
            }
        })*
    };
}

leaf! {
    String => Node::String,
    bool => Node::Boolean,
    u16 => Node::Integer { bits: 16, signed: false },
    u32 => Node::Integer { bits: 32, signed: false },
    i32 => Node::Integer { bits: 32, signed: true },
    i64 => Node::Integer { bits: 64, signed: true },
    f64 => Node::Number,
    IntOrString => Node::IntOrString,
    Quantity => Node::Quantity,
    Duration => Node::Duration,
    Time => Node::Time,
    MicroTime => Node::MicroTime,
    ByteString => Node::Bytes,
    RawExtension => Node::Raw,
}
