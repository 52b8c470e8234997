// SPDX-License-Identifier: Apache-2.0
//! Bodies of requests in protobuf.

use apimachinery::meta::DeleteOptions;
use apimachinery::schema::Schema as _;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::Scope;
use super::draft::{Draft, cannot_be_handled, unrecognized};
use crate::negotiation::media;
use crate::protobuf::{Envelope, MEDIA_TYPE, is_known};
use crate::status::{Failure, Result};

impl Scope {
    pub(super) fn is_protobuf(&self) -> bool {
        media(self.call.header(CONTENT_TYPE)) == MEDIA_TYPE
    }

    /// Reads the body of a POST or PUT. There is nothing to warn of: unknown fields have no names, and of fields that
    /// come twice the last counts.
    pub(super) fn protobuf_draft(&self, body: &[u8]) -> Result<Draft> {
        let names = self.names();
        if names.info.custom || !is_known(&names.node) {
            return Err(Failure::UnsupportedMediaType(vec!["application/json"]));
        }
        let envelope = Envelope::open(body).map_err(|error| Failure::BadRequest(unrecognized(names, body, &error)))?;
        let mut type_meta = json!({ "apiVersion": envelope.api_version, "kind": envelope.kind });
        self.own_type(&mut type_meta)?;
        let mut tree =
            envelope.tree(&names.node).map_err(|error| Failure::BadRequest(cannot_be_handled(names, &error)))?;
        self.own_type(&mut tree)?;
        Ok(Draft { tree, warnings: Vec::new() })
    }

    /// Reads the options of a DELETE.
    pub(super) fn protobuf_options(body: &[u8]) -> Result<DeleteOptions> {
        let refused = |error: String| Failure::BadRequest(error);
        let envelope = Envelope::open(body).map_err(refused)?;
        if !matches!(envelope.kind.as_str(), "" | "DeleteOptions") {
            return Err(refused("decoded object cannot be converted to DeleteOptions".to_owned()));
        }
        let mut tree = envelope.tree(&DeleteOptions::node()).map_err(refused)?;
        if let Value::Object(fields) = &mut tree {
            fields.remove("apiVersion");
            fields.remove("kind");
        }
        serde_json::from_value(tree).map_err(|error| refused(error.to_string()))
    }
}
