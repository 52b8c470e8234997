// SPDX-License-Identifier: Apache-2.0
//! The types that every kind shares (`k8s.io/apimachinery/pkg/apis/meta/v1` and its neighbours).
//!
//! Order of the fields is Go's, since it is the order in which they are served.

mod object_meta;
mod scalars;
mod time;

pub use self::object_meta::*;
pub use self::scalars::*;
pub use self::time::*;
