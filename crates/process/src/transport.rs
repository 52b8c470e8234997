// SPDX-License-Identifier: Apache-2.0
//! Requests to API servers: HTTPS in a landscape, the server's router in a simulation.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;

/// A body of requests and responses.
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BodyError>;
/// A request; its URI is a path that begins with `/clusters/NAME`.
pub type Request = http::Request<Body>;
/// A response.
pub type Response = http::Response<Body>;

/// Decoded object of a response's body: an extension of the response, where server and client are one process. An
/// object is decoded once for each version and type, and kept as long as its server keeps that version. Code that
/// changes a body must remove the extension.
#[derive(Clone, Default)]
pub struct Decoded(Arc<Mutex<Vec<Arc<dyn Any + Send + Sync>>>>);

impl Decoded {
    /// Creates the extension with an object that its server has decoded as this type.
    pub fn new(object: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Arc::new(Mutex::new(vec![object])))
    }

    /// Returns the object as the type with this id, if it has been decoded.
    pub fn get(&self, type_: TypeId) -> Option<Arc<dyn Any + Send + Sync>> {
        let known = self.0.lock();
        known.iter().find(|object| (***object).type_id() == type_).cloned()
    }

    /// Stores the object as its type for other readers.
    pub fn keep(&self, object: Arc<dyn Any + Send + Sync>) {
        self.0.lock().push(object);
    }

    /// Drops the decoded objects: the version has been superseded, and a late reader can decode it.
    pub fn release(&self) {
        self.0.lock().clear();
    }
}

impl fmt::Debug for Decoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoded")
    }
}

/// A body that broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the body broke off: {0}")]
pub struct BodyError(pub String);

/// Creates a body from bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    http_body_util::Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Wraps a body that breaks off when a future resolves.
pub fn until(body: Body, end: BoxFuture<'static, ()>) -> Body {
    Until { body: Some(body), end }.boxed_unsync()
}

struct Until {
    /// Wrapped body; `None` once it has broken off.
    body: Option<Body>,
    end: BoxFuture<'static, ()>,
}

impl http_body::Body for Until {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        if this.end.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        this.body = None;
        Poll::Ready(Some(Err(BodyError("the server does not answer any more".to_owned()))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(http_body::Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, http_body::Body::size_hint)
    }
}

/// An authenticated user: a request extension in a simulation, from certificate or token in a landscape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name of the user, as in roles: `system:serviceaccount:garden:default`.
    pub name: Arc<str>,
    /// Groups of the user, as in roles.
    pub groups: Vec<Arc<str>>,
    /// Component and version, if the user is a component of the landscape.
    pub component: Option<(Arc<str>, Arc<str>)>,
}

/// Reason for which a request got no response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No server answers under the name.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// A fault cuts the component off from the server, in the process of both.
    #[error("cannot reach the API server: {CUT_OFF}")]
    CutOff(Cut),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// Reason for which a request gets no response while a fault cuts its sender off.
pub(crate) const CUT_OFF: &str = "a fault cuts this process off";

impl TransportError {
    /// The reason without the class of the error.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unreachable(reason) | Self::Broken(reason) => reason,
            Self::CutOff(_) => CUT_OFF,
        }
    }
}

/// A fault between a component and a server in one process: extension of a response that stands for none, so that the
/// component sees the end of the fault instead of trying again from time to time. Cheap to clone.
#[derive(Clone)]
pub struct Cut(Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>);

impl Cut {
    /// Creates a cut that has ended when the future of `end` resolves.
    pub fn new(end: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(end))
    }

    /// Waits until the component is no longer cut off.
    pub fn ended(&self) -> BoxFuture<'static, ()> {
        (self.0)()
    }
}

impl PartialEq for Cut {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.0), Arc::as_ptr(&other.0))
    }
}

impl Eq for Cut {}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cut")
    }
}

/// Future of a response.
pub type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, TransportError>> + Send>>;

/// Values that the clients of one process share, one for each type, for example a cache of decoded objects.
///
/// The values must not change results, only costs.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Shared {
    /// Returns the value of a type; created with the first call.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = self.0.lock();
        let value = values.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().expect("the entry of a type holds that type")
    }

    /// Sets the value of a type for later calls of [`Shared::get`].
    pub fn set<T: Send + Sync + 'static>(&self, value: T) {
        self.0.lock().insert(TypeId::of::<T>(), Arc::new(value));
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

type SendFunction = dyn Fn(Request) -> ResponseFuture + Send + Sync;

/// Sends requests with one component's identity. Cheap to clone.
#[derive(Clone)]
pub struct Transport {
    send: Arc<SendFunction>,
    shared: Shared,
}

impl Transport {
    /// Creates a transport that passes every request to `send` and has its own shared values.
    pub fn new(send: impl Fn(Request) -> ResponseFuture + Send + Sync + 'static) -> Self {
        Self { send: Arc::new(send), shared: Shared::default() }
    }

    /// Returns the transport with the shared values of a process, for several components of one process.
    #[must_use]
    pub fn sharing(self, shared: &Shared) -> Self {
        Self { shared: shared.clone(), ..self }
    }

    /// Values that the clients of this transport share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Sends a request.
    pub fn send(&self, request: Request) -> ResponseFuture {
        (self.send)(request)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transport")
    }
}
