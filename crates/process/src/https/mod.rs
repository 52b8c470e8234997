// SPDX-License-Identifier: Apache-2.0
//! The transport of a landscape: HTTPS to one server.
//!
//! Requests share a connection of HTTP/2; watches may have HTTP/1.1 connections of their own, so that a slow one does
//! not delay other requests. Bodies of responses are streams; bodies of requests are read completely before they are
//! sent, unless the request is [`Streamed`].
//!
//! **Invariants.** The server's certificate is verified against the given authorities only, on wall time, unless the
//! options are `insecure`; no proxy, no redirect and nothing else of the environment is taken into account. Nothing is
//! retried: the sender knows whether a request may be repeated.

mod trust;

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use http::header::{AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, PathAndQuery};
use http_body::Frame;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use self::trust::{Refused, Trusted, Unverified};
use crate::pki::Pair;
use crate::transport::{Body, BodyError, Request, Response, Transport, TransportError};

/// Time limit for the establishment of a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Interval and timeout of keep-alive pings within a machine, where only a stopped process does not answer.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(15));
/// Interval and timeout of keep-alive pings over a network, where connections break without notice.
const PING_OVER_NETWORK: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(5));
/// Maximum size of a response head in bytes.
const HEAD: u32 = 1 << 20;
/// Flow-control windows in bytes: of one response, and of all that share a connection.
const WINDOWS: (u32, u32) = (2 << 20, (1 << 31) - 1);
/// Time limit for the beginning of a response, unless the request is [`Lasting`].
const TIMEOUT: Duration = Duration::from_secs(90);

/// Credentials of the client.
#[derive(Clone, Default)]
pub enum Credentials {
    /// No credentials: the user is `system:anonymous`.
    #[default]
    None,
    /// A client certificate.
    Certificate(Pair),
    /// A bearer token.
    Token(String),
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Certificate(_) => "Certificate",
            Self::Token(_) => "Token",
        })
    }
}

/// Extension of a request whose response may take long, like that of a long poll: it has no timeout, and uses the
/// connections of watches.
#[derive(Clone, Copy, Debug)]
pub struct Lasting;

/// Extension of a request whose body is streamed, while the response is read already.
#[derive(Clone, Copy, Debug)]
pub struct Streamed;

/// Connections of watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watches {
    /// A stream of the connection shared by all requests.
    #[default]
    Shared,
    /// An HTTP/1.1 connection for each watch.
    Http1,
}

/// Distance of a server, which determines the timeouts of idle connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// The server is on this machine.
    #[default]
    Machine,
    /// The server may be on another machine: an idle connection is tested and closed sooner.
    Network,
}

/// Address of a server, and credentials for its requests.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Address of the server, `host:port`.
    pub server: String,
    /// Addresses of the host of `server`; empty: those of the name service.
    pub addresses: Vec<SocketAddr>,
    /// Accepted server certificates or their authorities, as PEM.
    pub authorities: String,
    /// Accepts every certificate of the server; `authorities` are ignored.
    pub insecure: bool,
    /// Credentials of the client.
    pub credentials: Credentials,
    /// Connections of watches.
    pub watches: Watches,
    /// Distance of the server.
    pub reach: Reach,
    /// Default of header `User-Agent`: `component/version`.
    pub user_agent: String,
}

/// Error in the options of a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot set up HTTPS to {server}: {reason}")]
pub struct OptionsError {
    /// The server.
    pub server: String,
    /// Description of the error.
    pub reason: String,
}

/// Creates a transport over HTTPS. It connects with the first request.
///
/// # Errors
/// Certificates, keys, or header values that cannot be used.
pub fn transport(options: &Options) -> Result<Transport, OptionsError> {
    let fail = |reason: String| OptionsError { server: options.server.clone(), reason };
    let server: Authority = options.server.parse().map_err(|error: http::uri::InvalidUri| fail(error.to_string()))?;
    let shared = client(options, server.host(), false).map_err(fail)?;
    let watching = match options.watches {
        Watches::Shared => shared.clone(),
        Watches::Http1 => client(options, server.host(), true).map_err(fail)?,
    };
    let authorization = match &options.credentials {
        Credentials::Token(token) => {
            let value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|error| fail(error.to_string()))?;
            Some(value)
        }
        Credentials::None | Credentials::Certificate(_) => None,
    };
    let agent = match options.user_agent.as_str() {
        "" => None,
        text => Some(HeaderValue::try_from(text).map_err(|error| fail(error.to_string()))?),
    };
    let dialed = options.addresses.first().map_or_else(|| options.server.clone(), ToString::to_string);
    let sender = Arc::new(Sender { server, dialed, shared, watching, authorization, agent });
    Ok(Transport::new(move |request| {
        let sender = sender.clone();
        Box::pin(async move { sender.send(request).await })
    }))
}

struct Sender {
    server: Authority,
    /// Address of connections, in errors.
    dialed: String,
    shared: reqwest::Client,
    watching: reqwest::Client,
    authorization: Option<HeaderValue>,
    agent: Option<HeaderValue>,
}

impl Sender {
    async fn send(&self, request: Request) -> Result<Response, TransportError> {
        let (parts, body) = request.into_parts();
        let lasting = parts.extensions.get::<Lasting>().is_some();
        let client = if lasting || is_watch(parts.uri.query()) { &self.watching } else { &self.shared };
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let body = if parts.extensions.get::<Streamed>().is_some() {
            reqwest::Body::wrap(Sent(Mutex::new(body)))
        } else {
            let body = body.collect().await.map_err(|error| TransportError::Broken(error.to_string()))?;
            body.to_bytes().into()
        };
        let mut headers = parts.headers;
        if let Some(value) = &self.authorization {
            headers.insert(AUTHORIZATION, value.clone());
        }
        if let Some(value) = &self.agent {
            headers.entry(USER_AGENT).or_insert_with(|| value.clone());
        }
        let url = format!("https://{}{path}", self.server);
        let response = client.request(parts.method, url).headers(headers).body(body).send();
        let response = if lasting {
            response.await
        } else {
            let silent = |_| TransportError::Broken(format!("no answer within {} s", TIMEOUT.as_secs()));
            tokio::time::timeout(TIMEOUT, response).await.map_err(silent)?
        };
        let response: http::Response<reqwest::Body> = response.map_err(|error| self.failure(&error))?.into();
        Ok(response.map(|body| body.map_err(|error| BodyError(reason(&error))).boxed_unsync()))
    }

    /// Error of a request without a response; the texts are Go's as far as users know them.
    fn failure(&self, error: &reqwest::Error) -> TransportError {
        if !error.is_connect() {
            return TransportError::Broken(reason(error));
        }
        let is_refused = innermost(error)
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        TransportError::Unreachable(if is_refused {
            format!("dial tcp {}: connect: connection refused", self.dialed)
        } else {
            reason(error)
        })
    }
}

/// A body that is `Sync`, as reqwest requires without ever sharing it.
struct Sent(Mutex<Body>);

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(self.get_mut().0.get_mut()).poll_frame(cx)
    }
}

/// True if a query requests a watch, as servers parse it: a value other than `0` or `false`.
pub fn is_watch(query: Option<&str>) -> bool {
    query.unwrap_or_default().split('&').any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        name == "watch" && value != "0" && !value.eq_ignore_ascii_case("false")
    })
}

fn client(options: &Options, host: &str, http1: bool) -> Result<reqwest::Client, String> {
    let mut tls = tls(options)?;
    tls.alpn_protocols = vec![if http1 { b"http/1.1".to_vec() } else { b"h2".to_vec() }];
    let ping = match options.reach {
        Reach::Machine => PING,
        Reach::Network => PING_OVER_NETWORK,
    };
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .https_only(true)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tcp_nodelay(true)
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(ping.0)
        .http2_keep_alive_timeout(ping.1)
        .http2_keep_alive_while_idle(true)
        // Many requests share one connection: a response with a large head, or one that is read slowly, must neither
        // break it nor delay the others.
        .http2_max_header_list_size(HEAD)
        .http2_initial_stream_window_size(WINDOWS.0)
        .http2_initial_connection_window_size(WINDOWS.1);
    let builder =
        if options.addresses.is_empty() { builder } else { builder.resolve_to_addrs(host, &options.addresses) };
    let builder = if http1 { builder.http1_only() } else { builder.http2_prior_knowledge() };
    builder.build().map_err(|error| reason(&error))
}

fn tls(options: &Options) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = if options.insecure {
        Arc::new(Unverified(provider.clone()))
    } else {
        Arc::new(Trusted::new(&options.authorities, provider.clone())?)
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match &options.credentials {
        Credentials::None | Credentials::Token(_) => Ok(config.with_no_client_auth()),
        Credentials::Certificate(pair) => {
            let chain: Vec<_> = CertificateDer::pem_slice_iter(pair.certificate.as_bytes())
                .collect::<Result<_, _>>()
                .map_err(|error| format!("client certificate: {error}"))?;
            let key =
                PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|error| format!("client key: {error}"))?;
            config.with_client_auth_cert(chain, key).map_err(|error| format!("client certificate: {error}"))
        }
    }
}

/// Innermost cause: the outer errors only name the failed request.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut last = error;
    // The source of an `io::Error` is that of the error within it.
    while let Some(next) = inner(last).or_else(|| last.source()) {
        last = next;
    }
    last
}

/// Error within an `io::Error`.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let inner: &(dyn Error + 'static) = error.downcast_ref::<io::Error>()?.get_ref()?;
    Some(inner)
}

/// Message of the innermost cause.
fn reason(error: &(dyn Error + 'static)) -> String {
    let last = innermost(error);
    if let Some(refused) = last.downcast_ref::<rustls::Error>().and_then(Refused::of) {
        return refused.to_string();
    }
    let text = last.to_string();
    // Some messages end with the address of a document.
    text.split(": https://").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::{Authority, Key, Validity};

    fn authority() -> String {
        let validity =
            Validity::starting("2025-06-01T00:00:00Z".parse().expect("an instant"), chrono::TimeDelta::days(1));
        let authority = Authority::new("ca", Key::transport().expect("a key"), validity).expect("an authority");
        authority.pair().certificate.clone()
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let refused = |change: fn(&mut Options)| {
            let mut options = Options { server: "127.0.0.1:1".into(), authorities: authority(), ..Options::default() };
            change(&mut options);
            transport(&options).err().map(|error| error.to_string())
        };
        assert_eq!(refused(|_| ()), None);
        assert_eq!(
            refused(|options| options.authorities.clear()).as_deref(),
            Some("cannot set up HTTPS to 127.0.0.1:1: authorities: no certificate")
        );
        let insecure = |options: &mut Options| (options.authorities, options.insecure) = (String::new(), true);
        assert_eq!(refused(insecure), None);
        assert!(
            refused(|options| {
                let pair = Pair { certificate: String::new(), key: "no key".to_owned() };
                options.credentials = Credentials::Certificate(pair);
            })
            .is_some_and(|text| text.contains("client key"))
        );
        assert!(refused(|options| options.credentials = Credentials::Token("a\nb".into())).is_some());
    }

    #[test]
    fn watches_are_recognized_by_their_query() {
        for (query, expected) in [
            (None, false),
            (Some("watch=true"), true),
            (Some("limit=1&watch"), true),
            (Some("watch=0"), false),
            (Some("watch=False"), false),
            (Some("x=watch"), false),
        ] {
            assert_eq!(is_watch(query), expected, "{query:?}");
        }
    }

    #[test]
    fn the_reason_is_that_of_the_innermost_error() {
        let nested = io::Error::other(io::Error::other("no route"));
        assert_eq!(reason(&nested), "no route");
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let found = innermost(&io::Error::other(refused)).downcast_ref::<io::Error>().map(io::Error::kind);
        assert_eq!(found, Some(io::ErrorKind::ConnectionRefused));
    }

    #[tokio::test]
    async fn a_refused_connection_is_named_as_in_go() {
        let bound = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = bound.expect("a port");
        for (server, addresses) in
            [(address.to_string(), Vec::new()), (format!("hook.default.svc:{}", address.port()), vec![address])]
        {
            let options = Options { server, addresses, authorities: authority(), ..Options::default() };
            let transport = transport(&options).expect("options that work");
            let answer = transport.send(http::Request::new(crate::transport::full(""))).await;
            let expected = TransportError::Unreachable(format!("dial tcp {address}: connect: connection refused"));
            assert_eq!(answer.err(), Some(expected));
        }
    }
}
