// SPDX-License-Identifier: Apache-2.0
//! Webhooks and other servers that objects name, over HTTPS.

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
use process::https::{self, Credentials, Lasting, Watches};
use process::transport::full;

use super::{ClientConfig, Endpoint, NoEndpoint, WebhookCaller};
use crate::status::BODY_LIMIT;

/// Go's text for a certificate of an authority that a client does not trust.
const UNKNOWN_AUTHORITY: &str = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
/// Maximum number of open transports of a dialer.
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

/// Server of the landscape to which a name resolves.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Address of the server, `host:port`.
    pub server: String,
    /// Transport to it and authorities of its certificate as PEM, if it is in this process.
    pub inside: Option<(Transport, String)>,
}

/// Resolver of a name in a cluster.
pub type Names = Arc<dyn Fn(&str, Name<'_>) -> Option<Resolved> + Send + Sync>;

/// Certificates of servers that a client accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Certificates of the authorities of a PEM text.
    Authorities(String),
    /// All certificates.
    Any,
}

impl Trust {
    /// True if certificates of the authorities in a PEM text are accepted.
    fn accepts(&self, authorities: &str) -> bool {
        match self {
            Self::Authorities(bundle) => bundle.contains(authorities.trim()),
            Self::Any => true,
        }
    }
}

/// Server, its addresses, and the accepted certificates.
type Place = (String, Vec<SocketAddr>, Trust);

/// Creates transports to servers that objects of a cluster name, and keeps at most [`MOST_OPEN`] of them.
pub struct Dialer {
    names: Names,
    options: https::Options,
    open: Mutex<BTreeMap<Place, Transport>>,
}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialer").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Dialer {
    /// Creates a dialer that resolves names by `names` first, and shows `credentials` to servers.
    pub fn new(user_agent: &str, credentials: Credentials, names: Names) -> Self {
        // Many servers speak HTTP/1.1 only.
        let (watches, user_agent) = (Watches::Http1, user_agent.to_owned());
        let options = https::Options { credentials, watches, user_agent, ..https::Options::default() };
        Self { names, options, open: Mutex::default() }
    }

    /// Returns a transport to a host and port. `endpoint`: endpoint of the Service with that name, or the reason for which
    /// it has none; `None` if the host is no Service.
    ///
    /// # Errors
    /// The reason for a missing endpoint, an unknown host, or certificates that cannot be read.
    pub async fn transport(
        &self,
        cluster: &str,
        (host, port): (&str, u16),
        endpoint: Option<&Result<Endpoint, NoEndpoint>>,
        trust: Trust,
    ) -> Result<Transport, String> {
        let (server, addresses) = match ((self.names)(cluster, Name::Host(host)), endpoint) {
            (Some(Resolved { inside: Some((transport, authorities)), .. }), _) if trust.accepts(&authorities) => {
                return Ok(transport);
            }
            (Some(found), _) => (found.server, Vec::new()),
            // The certificate is that of the Service, regardless of the endpoint.
            (None, Some(endpoint)) => {
                let addresses = self.addresses(cluster, endpoint.as_ref().map_err(ToString::to_string)?).await?;
                let port = addresses.first().map_or(443, SocketAddr::port);
                (format!("{host}:{port}"), addresses)
            }
            (None, None) => (format!("{host}:{port}"), Vec::new()),
        };
        let place = (server, addresses, trust);
        let mut open = self.open.lock();
        if let Some(transport) = open.get(&place) {
            return Ok(transport.clone());
        }
        let mut options =
            https::Options { server: place.0.clone(), addresses: place.1.clone(), ..self.options.clone() };
        match &place.2 {
            Trust::Authorities(bundle) => options.authorities.clone_from(bundle),
            Trust::Any => options.insecure = true,
        }
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
            && let Some(found) = (self.names)(cluster, Name::Pod { namespace, name })
            && let Ok(address) = found.server.parse()
        {
            return Ok(vec![address]);
        }
        let found = tokio::net::lookup_host((host.as_str(), *port)).await;
        let addresses: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
        if addresses.is_empty() { Err(format!("dial tcp: lookup {host}: no such host")) } else { Ok(addresses) }
    }
}

/// Sends reviews over HTTPS. The server's certificate is verified by the webhook's `caBundle` only.
#[derive(Debug)]
pub struct HttpsCaller(Dialer);

impl HttpsCaller {
    /// Creates a caller that resolves names by `names` first.
    pub fn new(user_agent: &str, names: Names) -> Self {
        Self(Dialer::new(user_agent, Credentials::None, names))
    }

    /// Transport to a webhook.
    async fn transport(
        &self,
        cluster: &str,
        client: &ClientConfig,
        endpoint: Option<&Result<Endpoint, NoEndpoint>>,
        url: &Uri,
    ) -> Result<Transport, String> {
        let authorities = bundle(&client.ca_bundle)?;
        let server = (url.host().unwrap_or_default(), url.port_u16().unwrap_or(443));
        self.0.transport(cluster, server, endpoint, Trust::Authorities(authorities)).await
    }
}

/// Reads a field `caBundle`: base64 of a PEM text.
///
/// # Errors
/// It is not base64, or is empty.
pub fn bundle(base64: &str) -> Result<String, String> {
    let bundle = ByteString::from_base64(base64)?;
    let authorities = String::from_utf8_lossy(&bundle.0).into_owned();
    if authorities.trim().is_empty() {
        // Unlike upstream: there are no authorities that all clients trust.
        return Err(UNKNOWN_AUTHORITY.to_owned());
    }
    Ok(authorities)
}

impl WebhookCaller for HttpsCaller {
    fn call<'a>(
        &'a self,
        cluster: &'a str,
        client: &'a ClientConfig,
        endpoint: Option<&'a Result<Endpoint, NoEndpoint>>,
        url: &'a str,
        review: Bytes,
        _: TimeDelta,
    ) -> BoxFuture<'a, Result<Bytes, String>> {
        Box::pin(async move {
            let failed = |reason: String| format!("Post {url:?}: {reason}");
            let uri: Uri = url.parse().map_err(|_| failed("the URL cannot be read".to_owned()))?;
            let transport = self.transport(cluster, client, endpoint, &uri).await.map_err(failed)?;
            let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
            let mut request = http::Request::post(path)
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json")
                .body(full(review))
                .map_err(|error| failed(error.to_string()))?;
            // The caller has a time-out of its own.
            request.extensions_mut().insert(Lasting);
            let response = transport.send(request).await.map_err(|error| failed(error.reason().to_owned()))?;
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
