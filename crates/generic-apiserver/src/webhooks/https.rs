// SPDX-License-Identifier: Apache-2.0
//! Webhooks over HTTPS.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use apimachinery::meta::ByteString;
use bytes::Bytes;
use chrono::TimeDelta;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use parking_lot::Mutex;
use process::Transport;
use process::https::{self, Lasting, Watches};
use process::transport::full;

use super::{ClientConfig, Endpoint, WebhookCaller};
use crate::status::BODY_LIMIT;

/// Maximum number of open transports to webhooks.
const MOST_OPEN: usize = 64;

/// Name that may resolve to a process of the landscape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// A host of a cluster's network.
    Host(&'a str),
    /// A pod of a cluster.
    Pod {
        /// Namespace of the pod.
        namespace: &'a str,
        /// Name of the pod.
        name: &'a str,
    },
}

/// Resolver of a name in a cluster to `host:port`.
pub type Names = Arc<dyn Fn(&str, Name<'_>) -> Option<String> + Send + Sync>;

/// Server, its addresses, and the trusted authorities.
type Place = (String, Vec<SocketAddr>, String);

/// Sends reviews over HTTPS. The server's certificate is judged by the webhook's `caBundle` only.
pub struct HttpsCaller {
    names: Names,
    user_agent: String,
    open: Mutex<BTreeMap<Place, Transport>>,
}

impl fmt::Debug for HttpsCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpsCaller").field("user_agent", &self.user_agent).finish_non_exhaustive()
    }
}

impl HttpsCaller {
    /// Creates a caller that resolves names by `names` first.
    pub fn new(user_agent: &str, names: Names) -> Self {
        Self { names, user_agent: user_agent.to_owned(), open: Mutex::default() }
    }

    /// Transport to a webhook.
    async fn way(
        &self,
        cluster: &str,
        client: &ClientConfig,
        endpoint: Option<&Result<Endpoint, String>>,
        url: &Uri,
    ) -> Result<Transport, String> {
        let host = url.host().unwrap_or_default();
        let (server, addresses) = match ((self.names)(cluster, Name::Host(host)), endpoint) {
            (Some(server), _) => (server, Vec::new()),
            // The certificate is that of the Service, regardless of the endpoint.
            (None, Some(endpoint)) => {
                let addresses = self.addresses(cluster, endpoint.as_ref().map_err(Clone::clone)?).await?;
                let port = addresses.first().map_or(443, SocketAddr::port);
                (format!("{host}:{port}"), addresses)
            }
            (None, None) => (format!("{host}:{}", url.port_u16().unwrap_or(443)), Vec::new()),
        };
        let bundle = ByteString::from_base64(&client.ca_bundle)?;
        let authorities = String::from_utf8_lossy(&bundle.0).into_owned();
        if authorities.trim().is_empty() {
            // Unlike upstream: there are no authorities that everybody trusts.
            return Err("tls: failed to verify certificate: x509: certificate signed by unknown authority".to_owned());
        }
        let place = (server, addresses, authorities);
        let mut open = self.open.lock();
        if let Some(transport) = open.get(&place) {
            return Ok(transport.clone());
        }
        let options = https::Options {
            server: place.0.clone(),
            addresses: place.1.clone(),
            authorities: place.2.clone(),
            // Many webhooks speak HTTP/1.1 only.
            watches: Watches::Http1,
            user_agent: self.user_agent.clone(),
            ..https::Options::default()
        };
        let transport = https::transport(&options).map_err(|error| error.reason)?;
        // Users can create any number of places by writing objects.
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        open.insert(place, transport.clone());
        Ok(transport)
    }

    /// Addresses of an endpoint.
    async fn addresses(&self, cluster: &str, endpoint: &Endpoint) -> Result<Vec<SocketAddr>, String> {
        let Endpoint { host, port, pod } = endpoint;
        if let Some((namespace, name)) = pod
            && let Some(server) = (self.names)(cluster, Name::Pod { namespace, name })
            && let Ok(address) = server.parse()
        {
            return Ok(vec![address]);
        }
        let found = tokio::net::lookup_host((host.as_str(), *port)).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() { Err(format!("dial tcp: lookup {host}: no such host")) } else { Ok(addresses) }
    }
}

impl WebhookCaller for HttpsCaller {
    fn call<'a>(
        &'a self,
        cluster: &'a str,
        client: &'a ClientConfig,
        endpoint: Option<&'a Result<Endpoint, String>>,
        url: &'a str,
        review: Bytes,
        _: TimeDelta,
    ) -> BoxFuture<'a, Result<Bytes, String>> {
        Box::pin(async move {
            let failed = |reason: String| format!("Post {url:?}: {reason}");
            let uri: Uri = url.parse().map_err(|_| failed("the URL cannot be read".to_owned()))?;
            let transport = self.way(cluster, client, endpoint, &uri).await.map_err(failed)?;
            let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let mut request = http::Request::post(path)
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json")
                .body(full(review))
                .map_err(|error| failed(error.to_string()))?;
            // The caller has a time-out of its own.
            request.extensions_mut().insert(Lasting);
            let response = transport.send(request).await.map_err(|error| failed(error.to_string()))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), BODY_LIMIT).collect().await;
            let body = body.map_err(|error| failed(error.to_string()))?.to_bytes();
            match status {
                StatusCode::OK => Ok(body),
                StatusCode::NOT_FOUND => Err("the server could not find the requested resource".to_owned()),
                other => {
                    let text = String::from_utf8_lossy(&body);
                    Err(format!(
                        "an error on the server ({other}: {:?}) has prevented the request from succeeding",
                        text.trim()
                    ))
                }
            }
        })
    }
}
