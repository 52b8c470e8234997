// SPDX-License-Identifier: Apache-2.0
//! Admission: the chain of checks between decoding and storage.
//!
//! Plugins are synchronous: they read the server's own fold of the log, which is at least as new as the request. Their
//! *decisive* reads become guards of the append; when a guard fails because of a concurrent write, the chain runs
//! again, up to a limit in `handlers::write`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use apimachinery::{GroupVersionResource, Resource, Status};

use crate::registry::RequestContext;

/// Operation that admission reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creation of an object.
    Create,
    /// Change of an object.
    Update,
    /// Deletion of an object, also if it is only marked as deleted.
    Delete,
}

/// Attributes of a request that admission reviews.
#[derive(Debug)]
pub struct Attributes<'a> {
    /// Operation of the request.
    pub operation: Operation,
    /// Group, version and plural name of the resource.
    pub resource: &'a GroupVersionResource,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name; empty while the server has not generated one.
    pub name: &'a str,
    /// Cluster, time, user and options of the request.
    pub request: &'a RequestContext,
    /// The new object (for deletions the old one), a typed kind or a `DynamicObject`.
    pub object: &'a mut (dyn Any + Send),
    /// The stored object, for updates and deletions.
    pub old: Option<&'a (dyn Any + Send + Sync)>,
}

impl Attributes<'_> {
    /// The new object, if it is a `K`.
    pub fn object<K: Resource>(&mut self) -> Option<&mut K> {
        self.object.downcast_mut()
    }

    /// The stored object, if it is a `K`.
    pub fn old<K: Resource>(&self) -> Option<&K> {
        self.old?.downcast_ref()
    }

    /// True if the resource is that of `K` and the request is for the main resource.
    pub fn is_main<K: Resource>(&self) -> bool {
        self.is::<K>() && self.request.subresource.is_empty()
    }

    /// True if the resource is that of `K`, for any subresource.
    pub fn is<K: Resource>(&self) -> bool {
        self.resource.group == K::GROUP && self.resource.resource == K::PLURAL
    }
}

/// Consistent reads of one snapshot of the server's state; decisive ones are recorded as guards.
pub trait Snapshot: fmt::Debug {
    /// Returns an object in decoded form.
    fn get_any(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Arc<dyn Any + Send + Sync>>;
    /// Returns all decoded objects of a namespace in key order; `None`: of all namespaces.
    fn list_any(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Arc<dyn Any + Send + Sync>>;
    /// Records that the decision depends on the present version of an object (or on its absence).
    fn guard_key(&mut self, group: &str, plural: &str, namespace: &str, name: &str);
    /// Records that the decision depends on the present state of a collection, except for the status of its objects.
    fn guard_collection(&mut self, group: &str, plural: &str);
}

/// Typed reads for plugins.
#[derive(Debug)]
pub struct Reads<'a>(pub &'a mut dyn Snapshot);

impl Reads<'_> {
    /// Returns an object.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.get_any(K::GROUP, K::PLURAL, namespace, name)?.downcast().ok()
    }

    /// Returns an object on which the decision depends.
    pub fn get_decisive<K: Resource>(&mut self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.guard_key(K::GROUP, K::PLURAL, namespace, name);
        self.get(namespace, name)
    }

    /// Returns all objects of a namespace in key order; `None`: of all namespaces.
    pub fn list<K: Resource>(&self, namespace: Option<&str>) -> Vec<Arc<K>> {
        let all = self.0.list_any(K::GROUP, K::PLURAL, namespace);
        all.into_iter().filter_map(|object| object.downcast().ok()).collect()
    }

    /// Returns all objects; the decision depends on the collection, except for their status.
    pub fn list_decisive<K: Resource>(&mut self) -> Vec<Arc<K>> {
        self.0.guard_collection(K::GROUP, K::PLURAL);
        self.list(None)
    }
}

/// One plugin of the chain.
///
/// ```
/// use apimachinery::{DynamicObject, Status};
/// use generic_apiserver::{Attributes, Plugin, Reads};
///
/// /// Writes the user into a label of each new object.
/// struct Author;
///
/// impl Plugin for Author {
///     fn name(&self) -> &'static str {
///         "Author"
///     }
///
///     fn admit(&self, attributes: &mut Attributes<'_>, _reads: &mut Reads<'_>) -> Result<(), Status> {
///         let user = attributes.request.user.name.to_string();
///         if let Some(object) = attributes.object.downcast_mut::<DynamicObject>() {
///             object.metadata.labels.insert("author".to_owned(), user);
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Plugin: Send + Sync + 'static {
    /// Name of the plugin.
    fn name(&self) -> &'static str;

    /// Mutating phase: may change the object.
    ///
    /// # Errors
    /// The refusal, mostly 403.
    fn admit(&self, _attributes: &mut Attributes<'_>, _reads: &mut Reads<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Validating phase: runs after every plugin's mutating phase and after static validation; changes nothing.
    ///
    /// # Errors
    /// The refusal, mostly 403.
    fn validate(&self, _attributes: &mut Attributes<'_>, _reads: &mut Reads<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Returns warnings for the client, also if the request fails later; runs after the plugin's validating phase
    /// unless that refuses.
    fn warnings(&self, _attributes: &mut Attributes<'_>, _reads: &mut Reads<'_>) -> Vec<String> {
        Vec::new()
    }
}
