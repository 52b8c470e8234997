// SPDX-License-Identifier: Apache-2.0
//! AdmissionReviews, with the fields that the webhooks here read.

use apimachinery::{Object as _, Resource, Status};
use serde::Deserialize;
use serde_json::{Value, json};

/// The request of an AdmissionReview.
#[derive(Clone, Debug)]
pub(crate) struct Review {
    api_version: String,
    uid: String,
    operation: String,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) groups: Vec<String>,
    /// The new object; null for deletions.
    pub(crate) object: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    #[serde(default)]
    api_version: String,
    request: ReviewRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewRequest {
    uid: String,
    operation: String,
    resource: Gvr,
    request_resource: Option<Gvr>,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(default)]
    object: Value,
}

#[derive(Deserialize)]
struct Gvr {
    #[serde(default)]
    group: String,
    version: String,
    resource: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UserInfo {
    username: String,
    groups: Vec<String>,
}

impl Review {
    /// # Errors
    /// Returns a message if the bytes are not an AdmissionReview.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let Wire { api_version, request } =
            serde_json::from_slice(body).map_err(|error| format!("the body is no AdmissionReview: {error}"))?;
        let gvr = request.request_resource.unwrap_or(request.resource);
        Ok(Self {
            api_version,
            uid: request.uid,
            operation: request.operation,
            group: gvr.group,
            version: gvr.version,
            resource: gvr.resource,
            namespace: request.namespace,
            name: request.name,
            user: request.user_info.username,
            groups: request.user_info.groups,
            object: request.object,
        })
    }

    /// True if there is a new object.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self.operation.as_str(), "CREATE" | "UPDATE")
    }

    /// Returns the new object.
    ///
    /// # Errors
    /// Returns an error if it is of another kind.
    pub(crate) fn object<K: Resource>(&self) -> Result<K, Status> {
        K::from_tree(self.object.clone()).map_err(|error| Status::bad_request(error.to_string()))
    }

    /// Logs the decision: rejections at level info, all others at level debug. Omits the reason, since it may reveal
    /// content of a Secret.
    pub(crate) fn log(&self, webhook: &str, decision: &Result<(), Status>) {
        let Self { operation, group, resource, namespace, name, user, .. } = self;
        match decision {
            Ok(()) => tracing::debug!(webhook, operation, group, resource, namespace, name, user, "Admitted request"),
            Err(status) => {
                let (code, reason) = (status.code, status.reason.as_str());
                tracing::info!(
                    webhook,
                    operation,
                    group,
                    resource,
                    namespace,
                    name,
                    user,
                    code,
                    reason,
                    "Rejected request"
                );
            }
        }
    }

    /// Returns the AdmissionReview with the response.
    pub(crate) fn answer(&self, decision: Result<(), Status>) -> String {
        let mut response = json!({ "uid": self.uid, "allowed": decision.is_ok(), "status": { "code": 200 } });
        if let Err(status) = decision {
            response["status"] = serde_json::to_value(status).unwrap_or_default();
        }
        json!({ "apiVersion": self.api_version, "kind": "AdmissionReview", "response": response }).to_string()
    }
}
