// SPDX-License-Identifier: Apache-2.0
//! Allocation of the addresses and ports of Services.
//!
//! The allocator tries addresses from a position that is derived from the Service's name, so that the same Services get
//! the same addresses, independent of the order of their creation. Nothing listens there: simulated pods run nothing.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/service/storage.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use api::kubernetes::core::Service;
use apimachinery::fnv::fnv32;
use apimachinery::{DynamicObject, Resource as _, Status};
use generic_apiserver::admission::{Attributes, Operation, Plugin, Reads};
use serde_json::{Map, Value, json};

use domain::defaulting::workload::put;

use crate::clusters::networks::Networks;

/// Namespace and name of the Service of the API server.
const API_SERVER: (&str, &str) = ("default", "kubernetes");
/// First node port that Services get.
const FIRST_NODE_PORT: u32 = 30_000;
/// Number of node ports.
const NODE_PORTS: u32 = 2_768;

fn text<'a>(spec: &'a Map<String, Value>, name: &str) -> &'a str {
    spec.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Allocates the cluster addresses and node ports of Services.
#[derive(Clone, Debug)]
pub(crate) struct ServiceAddresses(pub(crate) Networks);

impl Plugin for ServiceAddresses {
    fn name(&self) -> &'static str {
        "ServiceAddresses"
    }

    fn admit(&self, attributes: &mut Attributes<'_>, reads: &mut Reads<'_>) -> Result<(), Status> {
        if attributes.operation == Operation::Delete || !attributes.is_main::<Service>() {
            return Ok(());
        }
        let old = attributes.old.and_then(|old| old.downcast_ref::<DynamicObject>()).and_then(spec_of).cloned();
        let name = format!("{}/{}", attributes.namespace, attributes.name);
        let Some(service) = attributes.object.downcast_mut::<DynamicObject>() else { return Ok(()) };
        let Some(Value::Object(spec)) = service.fields.get_mut("spec") else { return Ok(()) };
        if let Some(old) = &old {
            keep(spec, old);
        }
        if text(spec, "type") == "ExternalName" {
            for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
                spec.remove(field);
            }
            return Ok(());
        }
        let needs_address = text(spec, "clusterIP").is_empty();
        let needs_ports = opens_ports(spec) && ports(spec).any(|port| node_port(port) == 0);
        if needs_address || needs_ports {
            reads.0.guard_collection(Service::GROUP, Service::PLURAL);
            let all = reads.0.list_any(Service::GROUP, Service::PLURAL, None);
            let all: Vec<&Map<String, Value>> =
                all.iter().filter_map(|it| it.downcast_ref::<DynamicObject>()).filter_map(spec_of).collect();
            if needs_address {
                let taken: BTreeSet<&str> = all.iter().map(|other| text(other, "clusterIP")).collect();
                let (first, count) = self.0.of_services(&attributes.request.cluster);
                let is_api_server = (attributes.namespace, attributes.name) == API_SERVER;
                let own = is_api_server.then(|| Ipv4Addr::from(first + 1).to_string());
                let own = own.filter(|own| !taken.contains(own.as_str()));
                let address = own.or_else(|| {
                    free(&name, count, |number| {
                        // Reserved: the network address, the address of the API server and the last address.
                        let address = Ipv4Addr::from(first + number).to_string();
                        let is_free = (2..count - 1).contains(&number) && !taken.contains(address.as_str());
                        is_free.then_some(address)
                    })
                });
                spec.insert("clusterIP".to_owned(), json!(address));
            }
            if needs_ports {
                let mut taken: BTreeSet<u64> = all.iter().flat_map(|other| ports(other).map(node_port)).collect();
                for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    if node_port(port) == 0 {
                        let key = format!("{name}:{}", port["port"]);
                        let number = free(&key, NODE_PORTS, |number| {
                            let number = u64::from(FIRST_NODE_PORT + number);
                            (!taken.contains(&number)).then_some(number)
                        });
                        taken.extend(number);
                        port["nodePort"] = json!(number);
                    }
                }
            }
        }
        let address = text(spec, "clusterIP").to_owned();
        put(spec, "clusterIPs", json!([address]));
        put(spec, "ipFamilies", json!(["IPv4"]));
        put(spec, "ipFamilyPolicy", json!("SingleStack"));
        Ok(())
    }
}

fn spec_of(service: &DynamicObject) -> Option<&Map<String, Value>> {
    service.fields.get("spec")?.as_object()
}

/// Copies the allocated fields that an update leaves out from the old object.
fn keep(spec: &mut Map<String, Value>, old: &Map<String, Value>) {
    if text(spec, "type") == "ExternalName" || text(old, "type") == "ExternalName" {
        return;
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if let Some(value) = old.get(field) {
            put(spec, field, value.clone());
        }
    }
    if !opens_ports(spec) || !opens_ports(old) {
        return;
    }
    let before: Vec<(Value, Value)> = ports(old).map(|port| (port["port"].clone(), port["nodePort"].clone())).collect();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let known = before.iter().find(|(number, _)| *number == port["port"]);
        if let Some((_, opened)) = known.filter(|_| node_port(port) == 0) {
            port["nodePort"] = opened.clone();
        }
    }
}

fn opens_ports(spec: &Map<String, Value>) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)),
        _ => false,
    }
}

fn ports(spec: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    spec.get("ports").and_then(Value::as_array).into_iter().flatten()
}

fn node_port(port: &Value) -> u64 {
    port.get("nodePort").and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the first suitable number below `count`, starting from the position of a name; `None`: no number is
/// suitable.
fn free<T>(name: &str, count: u32, take: impl Fn(u32) -> Option<T>) -> Option<T> {
    let start = fnv32(name.bytes()) % count;
    (0..count).find_map(|step| take((start + step) % count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_number_after_the_names_is_taken() {
        let start = free("a/b", 10, Some).expect("a number");
        assert_eq!(free("a/b", 10, |number| (number != start).then_some(number)), Some((start + 1) % 10));
        assert_eq!(free("a/b", 10, |_| None::<u32>), None);
    }
}
