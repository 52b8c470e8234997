// SPDX-License-Identifier: Apache-2.0
//! The types that every kind shares (`k8s.io/apimachinery/pkg/apis/meta/v1` and its neighbours).
//!
//! Order of the fields is Go's, since it is the order in which they are served.

mod duration;
mod object_meta;
mod quantity;
mod raw;
mod scalars;
mod sorted;
mod text_map;
mod time;

pub use self::duration::*;
pub use self::object_meta::*;
pub use self::quantity::*;
pub use self::raw::{Raw, RawExtension};
pub(crate) use self::raw::{mark, marked, nesting};
pub use self::scalars::*;
pub use self::text_map::TextMap;
pub use self::time::*;
