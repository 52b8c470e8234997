// SPDX-License-Identifier: Apache-2.0
//! Resolution of the names of processes: `NAME.NAMESPACE` and `NAME.NAMESPACE.svc` resolve to a process that serves,
//! runs in a pod of that namespace with label `role: NAME`, and is in the client's cluster or in `runtime`.
//!
//! Unlike upstream: the label replaces the selector of a Service. [`generic_apiserver::webhooks`] resolves the Services
//! of a cluster; a pod of one of these processes is found by its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::cluster;
use api::kubernetes::core::Pod;
use controller::ObjectKey;
use generic_apiserver::webhooks::{Name, Names, Resolved};
use parking_lot::Mutex;

/// Serving components. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Services(Arc<Mutex<BTreeMap<ObjectKey, Endpoint>>>);

#[derive(Debug)]
struct Endpoint {
    role: String,
    server: Resolved,
}

impl Services {
    /// Records that a pod's component has become ready, or has ended (`None`).
    pub(crate) fn note(&self, key: &ObjectKey, pod: &Pod, ready: Option<Resolved>) {
        let mut all = self.0.lock();
        let role = pod.metadata.labels.get("role");
        match ready.filter(|ready| !ready.server.is_empty()).zip(role) {
            Some((server, role)) => {
                all.insert(key.clone(), Endpoint { role: role.clone(), server });
            }
            None => {
                all.remove(key);
            }
        }
    }

    /// Returns the server of a name.
    fn find(&self, cluster: &str, host: &str) -> Option<Resolved> {
        let mut parts = host.split('.');
        let (name, namespace) = (parts.next()?, parts.next()?);
        if !matches!((parts.next(), parts.next()), (None | Some("svc"), None)) {
            return None;
        }
        let all = self.0.lock();
        let is_it = |(key, endpoint): &(&ObjectKey, &Endpoint)| {
            (&*key.cluster == cluster || &*key.cluster == cluster::RUNTIME)
                && &*key.namespace == namespace
                && endpoint.role == name
        };
        all.iter().find(is_it).map(|(_, endpoint)| endpoint.server.clone())
    }

    /// Returns the resolver in the form that webhooks need.
    pub(crate) fn names(&self) -> Names {
        let services = self.clone();
        Arc::new(move |cluster, name| match name {
            Name::Host(host) => services.find(cluster, host),
            Name::Pod { namespace, name } => {
                let all = services.0.lock();
                all.get(&ObjectKey::new(cluster, namespace, name)).map(|endpoint| endpoint.server.clone())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_to_a_process_that_is_ready() {
        let services = Services::default();
        let mut pod = Pod::default();
        pod.metadata.labels.insert("role".to_owned(), "hook".to_owned());
        let key = ObjectKey::new("runtime", "garden", "hook-1");
        services.note(&key, &pod, Some(Resolved { server: "127.0.0.1:7".to_owned(), inside: None }));
        for (host, found) in [
            ("hook.garden", true),
            ("hook.garden.svc", true),
            ("hook.garden.example", false),
            ("hook.garden.svc.cluster", false),
            ("hook.other", false),
            ("other.garden", false),
            ("hook", false),
        ] {
            assert_eq!(services.find("garden", host).is_some(), found, "{host}");
        }
        services.note(&key, &pod, None);
        assert!(services.find("garden", "hook.garden").is_none());
    }
}
