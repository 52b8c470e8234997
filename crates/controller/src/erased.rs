// SPDX-License-Identifier: Apache-2.0
//! Untyped objects: the base of requests, stores and reflectors, so that these are compiled once.
//!
//! [`crate::Api`], [`crate::Store`] and [`crate::Reflector`] are typed wrappers. An object that is stored as a `K` is
//! returned as a `K`.

use std::any::{Any, TypeId};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use api::constants::annotation;
use apimachinery::meta::ObjectMeta;

use crate::decode::Readable;
use crate::error::Error;

/// An object that can be read from an API server.
pub(crate) trait Object: Any + fmt::Debug + Send + Sync {
    /// `metadata` of the object.
    fn meta(&self) -> &ObjectMeta;
    /// Returns a copy with the annotation of the cluster where it was read.
    fn of_cluster(&self, cluster: &str) -> Shared;
}

/// A shared object.
pub(crate) type Shared = Arc<dyn Object>;

impl<K: Readable> Object for K {
    fn meta(&self) -> &ObjectMeta {
        self.object_meta()
    }

    fn of_cluster(&self, cluster: &str) -> Shared {
        let mut copy = self.clone();
        copy.object_meta_mut().annotations.insert(annotation::CLUSTER.to_owned(), cluster.to_owned());
        Arc::new(copy)
    }
}

/// Decoder of one type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) type_: TypeId,
    pub(crate) read: fn(&[u8]) -> Result<Shared, Error>,
    /// [`Readable::of_metadata`]
    pub(crate) of_metadata: fn(&ObjectMeta) -> Option<Shared>,
    /// Returns the object that a server in this process has decoded.
    pub(crate) known: fn(Arc<dyn Any + Send + Sync>) -> Option<Shared>,
}

impl Reader {
    pub(crate) fn of<K: Readable>() -> Self {
        Self {
            type_: TypeId::of::<K>(),
            read: |bytes| Ok(Arc::new(K::read(bytes)?)),
            of_metadata: |metadata| {
                let object = Arc::new(K::of_metadata(metadata)?);
                Some(object)
            },
            known: |object| {
                let object: Arc<K> = object.downcast().ok()?;
                Some(object)
            },
        }
    }
}

/// Converts a shared object to its type.
pub(crate) fn typed<K: Readable>(object: Shared) -> Arc<K> {
    let object: Arc<dyn Any + Send + Sync> = object;
    object.downcast().unwrap_or_else(|_| unreachable!("what comes out has the type that was put in"))
}

/// Returns an object as [`typed`], by reference.
pub(crate) fn typed_ref<K: Readable>(object: &dyn Object) -> &K {
    let object: &dyn Any = object;
    object.downcast_ref().unwrap_or_else(|| unreachable!("what comes out has the type that was put in"))
}

/// Converts a shared object to an owned one of its type.
pub(crate) fn owned<K: Readable>(object: Shared) -> K {
    Arc::unwrap_or_clone(typed(object))
}

/// A request whose response is an untyped value.
pub(crate) type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A request whose response is an object of a type.
pub(crate) struct TypedAnswer<'a, K> {
    pub(crate) answer: Answering<'a, Shared>,
    pub(crate) kind: PhantomData<fn() -> K>,
}

impl<'a, K> TypedAnswer<'a, K> {
    pub(crate) fn new(answer: Answering<'a, Shared>) -> Self {
        Self { answer, kind: PhantomData }
    }
}

impl<K: Readable> Future for TypedAnswer<'_, K> {
    type Output = Result<K, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.answer.as_mut().poll(cx).map_ok(owned)
    }
}
