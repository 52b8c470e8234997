// SPDX-License-Identifier: Apache-2.0
//! Events about objects (`core/v1` Event), aggregated by count as client-go does.

use process::Context;

use crate::api::Error;

/// Type of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// `Normal`
    Normal,
    /// `Warning`
    Warning,
}

/// The object that an Event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectRef {
    /// `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
}

impl ObjectRef {
    /// A reference to a typed object.
    pub fn of<K: apimachinery::Resource>(object: &K) -> Self {
        let _ = object;
        todo!()
    }
}

/// Writes Events of one component into one cluster. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Recorder {
    context: Context,
}

impl Recorder {
    /// A recorder for `cluster`; the component's name becomes the Event's source.
    pub fn new(context: &Context, cluster: &str) -> Self {
        let _ = cluster;
        Self { context: context.clone() }
    }

    /// Writes an Event, or raises the count of an equal one of the last 10 minutes.
    pub async fn publish(&self, about: &ObjectRef, type_: EventType, reason: &str, message: &str) -> Result<(), Error> {
        let _ = (about, type_, reason, message, &self.context);
        todo!()
    }
}
