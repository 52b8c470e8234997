// SPDX-License-Identifier: Apache-2.0
//! Signs approved CertificateSigningRequests with the certificate authority of their cluster.
//!
//! Source: k8s.io/kubernetes pkg/controller/certificates/signer/signer.go.

use std::fmt;
use std::sync::Arc;

use api::kubernetes::tables;
use apimachinery::Resource;
use apimachinery::meta::{ByteString, ObjectMeta};
use apimachinery::schema::{Node, Schema};
use apimachinery::wire::api_type;
use controller::{Api, Controller, Error, ListOptions, ObjectKey, Requeue, Store};
use domain::certificates::{Use, wanted};
use futures::future::BoxFuture;
use process::Context;
use process::pki::{self, Authority, Validity};
use serde_json::{Map, Value, json};

const CONCURRENCY: usize = 5;

/// Looks up the certificate authority for a cluster's clients; `None`: the cluster has none.
pub type AuthorityOf = Arc<dyn Fn(String) -> BoxFuture<'static, Result<Option<Authority>, String>> + Send + Sync>;

/// Options of the signing controller.
#[derive(Clone)]
pub struct Options {
    /// Lookup of each cluster's certificate authority.
    pub authority_of: AuthorityOf,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options")
    }
}

/// The fields of a CertificateSigningRequest that this controller reads and writes.
#[api_type(no_schema)]
pub(crate) struct SigningRequest {
    metadata: ObjectMeta,
    spec: Value,
    status: Value,
}

impl Resource for SigningRequest {
    const GROUP: &'static str = "certificates.k8s.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "CertificateSigningRequest";
    const PLURAL: &'static str = "certificatesigningrequests";
    const NAMESPACED: bool = false;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Schema for SigningRequest {
    fn node() -> Node {
        tables::node("certificates", Self::KIND).expect("the tables hold every kind of Kubernetes that is served")
    }
}

/// Runs the controller until the component stops.
pub(crate) async fn run(context: &Context, options: Options) {
    let mut controller = Controller::new("csrsigning", context);
    let api = Api::<SigningRequest>::all(context, "*");
    let requests = controller.watch(api.clone(), ListOptions::default(), |change| {
        if change.new.is_some() { vec![change.key.clone()] } else { Vec::new() }
    });
    let signer = Arc::new(Signer { context: context.clone(), options, api, requests });
    controller
        .run(CONCURRENCY, move |key| {
            let signer = signer.clone();
            async move { signer.reconcile(&key).await }
        })
        .await;
}

struct Signer {
    context: Context,
    options: Options,
    api: Api<SigningRequest>,
    requests: Store<SigningRequest>,
}

impl Signer {
    async fn reconcile(&self, key: &ObjectKey) -> Result<Requeue, Error> {
        let Some(request) = self.requests.get(key) else { return Ok(Requeue::OnChange) };
        let now = self.context.clock.now();
        let text = request.spec["request"].as_str().unwrap_or_default();
        let pem: ByteString = serde_json::from_value(json!(text)).unwrap_or_default();
        let pem = String::from_utf8_lossy(&pem.0).into_owned();
        let fields = [("spec".to_owned(), request.spec.clone()), ("status".to_owned(), request.status.clone())];
        let subject = pki::subject(&pem);
        let known = subject.as_ref().map_or(("", &[][..]), |(name, groups)| (name.as_str(), groups.as_slice()));
        let Some(wanted) = wanted(&Map::from_iter(fields), known, now) else { return Ok(Requeue::OnChange) };
        let signed = match (wanted, subject) {
            (_, Err(error)) => Err(error.to_string()),
            (Err(why), _) => Err(why),
            (Ok(wanted), Ok(_)) => {
                let found = (self.options.authority_of)(key.cluster.to_string()).await;
                let found =
                    found.map_err(|error| Error::Decode(format!("the authority of {}: {error}", key.cluster)))?;
                let Some(authority) = found else { return Ok(Requeue::OnChange) };
                let validity = Validity { not_before: wanted.not_before, not_after: wanted.not_after };
                let signed = match wanted.usage {
                    Use::Client => authority.sign_request(&pem, validity),
                    Use::Server => authority.sign_server_request(&pem, validity),
                };
                signed.map_err(|error| error.to_string())
            }
        };
        let mut new = SigningRequest::clone(&request);
        if !new.status.is_object() {
            new.status = json!({});
        }
        match signed {
            Ok(certificate) => {
                new.status["certificate"] = json!(ByteString(certificate.into_bytes()).to_base64());
            }
            Err(why) => {
                let failed =
                    json!({"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why});
                match &mut new.status["conditions"] {
                    Value::Array(conditions) => conditions.push(failed),
                    other => *other = json!([failed]),
                }
            }
        }
        self.api.update_status(&request, &new).await?;
        Ok(Requeue::OnChange)
    }
}
