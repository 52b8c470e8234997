// SPDX-License-Identifier: Apache-2.0
//! Bodies in other media types than JSON. Those of requests are converted before they are read.

pub(crate) mod protobuf;
pub(crate) mod yaml;

use bytes::Bytes;

use self::protobuf::Expected;
use crate::request::Call;
use crate::status::Result;

/// Converts the body of a request to JSON and changes the headers accordingly; `expected`: the kind that a message must
/// have.
///
/// # Errors
/// 400 for an invalid body, 415 for a kind that has no message.
pub(crate) fn to_json(call: &mut Call, expected: impl FnOnce() -> Expected, body: Bytes) -> Result<Bytes> {
    let body = yaml::read(call, body)?;
    protobuf::read(call, expected, body)
}
