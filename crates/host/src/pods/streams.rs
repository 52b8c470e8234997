// SPDX-License-Identifier: Apache-2.0
//! `pods/exec`, `pods/attach`, `pods/portforward`: pods here are simulated, or processes of the landscape, so there is
//! no container to connect to, and the response is an error with this reason.

use api::kubernetes::core::Pod;
use apimachinery::Status;
use apimachinery::schema::Schema;
use futures::future::BoxFuture;
use generic_apiserver::Builder;
use generic_apiserver::admission::Reads;
use generic_apiserver::subresource::{Facts, Subresource, SubresourceRequest};
use process::Response;

/// Subresources, the kinds of their options, and the verb phrase for the error.
const STREAMS: [(&str, &str, &str); 3] = [
    ("attach", "PodAttachOptions", "attach to"),
    ("exec", "PodExecOptions", "execute a command in"),
    ("portforward", "PodPortForwardOptions", "forward a port to"),
];

/// Streaming subresource of Pods.
#[derive(Clone, Copy, Debug)]
struct Stream {
    kind: &'static str,
    cannot: &'static str,
}

impl Subresource for Stream {
    fn facts(&self) -> Facts {
        Facts { group: "", version: "v1", kind: self.kind, verbs: &["create", "get"], schema: Pod::node }
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, _: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        let text = format!(
            "cannot {} pod {}: pods are simulated here and run no containers; `kubectl logs` shows what processes of the \
             landscape print",
            self.cannot, request.name
        );
        Box::pin(async move { Err(Status::bad_request(text)) })
    }
}

/// Registers the three subresources.
pub(crate) fn register(builder: Builder) -> Builder {
    let pods = api::catalogue::find("", "v1", "pods").expect("Pods have a row");
    STREAMS
        .iter()
        .fold(builder, |builder, (name, kind, cannot)| builder.subresource(pods, name, Stream { kind, cannot }))
}
