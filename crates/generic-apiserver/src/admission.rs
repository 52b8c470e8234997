// SPDX-License-Identifier: Apache-2.0
//! Admission: the chain of checks between decoding and storage.
//!
//! Plugins are synchronous: they read the server's own fold of the log, which is as new as the request. What they read
//! *decisively* becomes a guard of the append; when a guard fails the chain runs again, as often as others that
//! succeed make it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use apimachinery::{GroupVersionResource, Resource, Status};

use crate::registry::RequestContext;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// Removal of an object (or marking it).
    Delete,
}

/// The request as admission sees it.
#[derive(Debug)]
pub struct Attributes<'a> {
    /// What is being done.
    pub operation: Operation,
    /// Group, version and plural name of the resource.
    pub resource: &'a GroupVersionResource,
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Name; empty while the server has not generated one.
    pub name: &'a str,
    /// The rest of the request.
    pub request: &'a RequestContext,
    /// The new object (the old one for deletions), a typed kind or a `DynamicObject`.
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

    /// Whether the resource is `K`'s and the request is for the main resource.
    pub fn is_main<K: Resource>(&self) -> bool {
        self.is::<K>() && self.request.subresource.is_empty()
    }

    /// Whether the resource is `K`'s, whatever the subresource.
    pub fn is<K: Resource>(&self) -> bool {
        self.resource.group == K::GROUP && self.resource.resource == K::PLURAL
    }
}

/// Consistent reads of one snapshot of the server's state; decisive ones are recorded as guards.
pub trait Snapshot: fmt::Debug {
    /// An object's decoded form.
    fn get_any(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<Arc<dyn Any + Send + Sync>>;
    /// All objects of a namespace (`None`: of all), decoded, in key order.
    fn list_any(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Arc<dyn Any + Send + Sync>>;
    /// Records that the decision rests on an object as it is (or on its absence).
    fn guard_key(&mut self, group: &str, plural: &str, namespace: &str, name: &str);
    /// Records that the decision rests on a collection as it is, status aside.
    fn guard_collection(&mut self, group: &str, plural: &str);
}

/// Typed reads for plugins.
#[derive(Debug)]
pub struct Reads<'a>(pub &'a mut dyn Snapshot);

impl Reads<'_> {
    /// An object.
    pub fn get<K: Resource>(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.get_any(K::GROUP, K::PLURAL, namespace, name)?.downcast().ok()
    }

    /// An object, on which the decision rests.
    pub fn get_decisive<K: Resource>(&mut self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.0.guard_key(K::GROUP, K::PLURAL, namespace, name);
        self.get(namespace, name)
    }

    /// All objects of a namespace (`None`: of all), in key order.
    pub fn list<K: Resource>(&self, namespace: Option<&str>) -> Vec<Arc<K>> {
        let all = self.0.list_any(K::GROUP, K::PLURAL, namespace);
        all.into_iter().filter_map(|object| object.downcast().ok()).collect()
    }

    /// All objects, on whose collection (status aside) the decision rests.
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

    /// Warnings for the client, whatever becomes of the request; runs after the plugin's validating phase, unless that refuses.
    fn warnings(&self, _attributes: &mut Attributes<'_>, _reads: &mut Reads<'_>) -> Vec<String> {
        Vec::new()
    }
}
