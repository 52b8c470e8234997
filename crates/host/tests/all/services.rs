// SPDX-License-Identifier: Apache-2.0
//! Services, and the initial objects of every namespace, from the view of kubectl.

use kube_controllers::workload::Options;
use serde_json::{Value, json};

use crate::workloads::World;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const NAMESPACES: &str = "/api/v1/namespaces";

fn service(name: &str, spec: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": spec})
}

#[test]
fn every_namespace_has_account_and_authority_restored() {
    let world = World::new(Options::default());
    world.ask("POST", NAMESPACES, json!({"metadata": {"name": "later"}}));
    world.settle(1);
    for namespace in ["default", "kube-system", "later"] {
        let at = |rest: &str| format!("{NAMESPACES}/{namespace}/{rest}");
        world.get(&at("serviceaccounts/default"));
        assert_eq!(world.get(&at("configmaps/kube-root-ca.crt"))["data"], json!({"ca.crt": "PEM"}));
    }
    let map = format!("{NAMESPACES}/later/configmaps/kube-root-ca.crt");
    world.ask("DELETE", &format!("{NAMESPACES}/later/serviceaccounts/default"), Value::Null);
    world.ask("PATCH", &map, json!({"data": {"ca.crt": "mine"}}));
    world.settle(1);
    world.get(&format!("{NAMESPACES}/later/serviceaccounts/default"));
    assert_eq!(world.get(&map)["data"], json!({"ca.crt": "PEM"}));

    world.ask("DELETE", &format!("{NAMESPACES}/later"), Value::Null);
    world.settle(60);
    let names: Vec<Value> = world.list(NAMESPACES).iter().map(|it| it["metadata"]["name"].clone()).collect();
    assert!(!names.contains(&json!("later")), "{names:?}");
}

#[test]
fn pods_find_the_api_server_by_a_service() {
    let world = World::new(Options::default());
    let kubernetes = world.get(&format!("{SERVICES}/kubernetes"));
    assert_eq!(kubernetes["spec"]["clusterIP"], "100.64.0.1");
    assert_eq!(kubernetes["spec"]["clusterIPs"], json!(["100.64.0.1"]));
    assert_eq!(kubernetes["spec"]["type"], "ClusterIP");
}

#[test]
fn the_api_server_has_endpoints() {
    let world = World::new(Options::default());
    let ports = json!([{"name": "https", "port": 443, "protocol": "TCP"}]);
    let endpoints = world.get("/api/v1/namespaces/default/endpoints/kubernetes");
    let address = endpoints["subsets"][0]["addresses"][0]["ip"].clone();
    assert_eq!(endpoints["subsets"], json!([{"addresses": [{"ip": address}], "ports": ports}]));
    let slices = world.list("/apis/discovery.k8s.io/v1/endpointslices");
    let [slice] = slices.as_slice() else { panic!("one slice: {slices:?}") };
    assert_eq!(slice["endpoints"][0]["addresses"], json!([address]));
    assert_eq!(slice["metadata"]["labels"]["kubernetes.io/service-name"], "kubernetes");
    assert_eq!(slice["ports"], ports);
}

/// Source: pkg/controlplane/reconcilers @ v1.32.
#[test]
fn deleted_endpoints_of_the_api_server_return() {
    let world = World::new(Options::default());
    for (path, field) in [
        ("/api/v1/namespaces/default/endpoints/kubernetes", "subsets"),
        ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes", "endpoints"),
    ] {
        let before = world.get(path);
        world.ask("DELETE", path, Value::Null);
        let after = world.get(path);
        assert_eq!(after[field], before[field], "{path}");
        assert_ne!(after["metadata"]["uid"], before["metadata"]["uid"], "{path}");
    }
}

#[test]
fn addresses_are_of_the_networks_of_the_cluster() {
    let world = World::new(Options::default());
    let spec = json!({"kubernetesVersion": "1.31.1", "podCIDR": "10.1.0.0/16", "serviceCIDR": "10.2.0.0/16"});
    let cluster = json!({"metadata": {"name": "seed--a"}, "spec": spec});
    world.ask("POST", "/apis/terrarium.dev/v1alpha1/clusters", cluster);
    world.settle(1);
    let (code, kubernetes) = world.send_in("seed--a", "GET", &format!("{SERVICES}/kubernetes"), Value::Null);
    assert_eq!((code, &kubernetes["spec"]["clusterIP"]), (200, &json!("10.2.0.1")));
    let web = service("web", json!({"ports": [{"port": 80}]}));
    let (_, web) = world.send_in("seed--a", "POST", SERVICES, web);
    let address = web["spec"]["clusterIP"].as_str().expect("an address");
    assert!(address.starts_with("10.2.") && address != "10.2.0.1", "{address}");
}

#[test]
fn services_get_addresses_and_ports_and_keep_them() {
    let world = World::new(Options::default());
    let created =
        world.ask("POST", SERVICES, service("web", json!({"ports": [{"port": 80}], "selector": {"app": "web"}})));
    let address = created["spec"]["clusterIP"].as_str().expect("an address").to_owned();
    assert!(address.starts_with("100."), "{address}");
    assert_eq!(
        created["spec"],
        json!({
            "clusterIP": address, "clusterIPs": [address], "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "selector": {"app": "web"}, "sessionAffinity": "None", "type": "ClusterIP",
        })
    );
    let path = format!("{SERVICES}/web");
    let opened = world.ask("PATCH", &path, json!({"spec": {"type": "NodePort"}}));
    let port = opened["spec"]["ports"][0]["nodePort"].as_u64().expect("a port");
    assert!((30_000..32_768).contains(&port), "{port}");
    // A client that replaces the Service need not know the allocated address.
    let replaced = world.ask("PUT", &path, service("web", json!({"type": "NodePort", "ports": [{"port": 80}]})));
    assert_eq!(replaced["spec"]["clusterIP"], json!(address));
    assert_eq!(replaced["spec"]["ports"][0]["nodePort"], json!(port));

    let headless = world.ask("POST", SERVICES, service("db", json!({"clusterIP": "None"})));
    assert_eq!(headless["spec"]["clusterIPs"], json!(["None"]));
    let external = service("out", json!({"type": "ExternalName", "externalName": "example.com"}));
    assert_eq!(world.ask("POST", SERVICES, external)["spec"]["clusterIP"], Value::Null);
}

#[test]
fn no_two_services_share_an_address() {
    let world = World::new(Options::default());
    let addresses: std::collections::BTreeSet<String> = (0..50)
        .map(|number| {
            let spec = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
            let created = world.ask("POST", SERVICES, service(&format!("s{number}"), spec));
            format!("{} {}", created["spec"]["clusterIP"], created["spec"]["ports"][0]["nodePort"])
        })
        .collect();
    let of =
        |at: usize| addresses.iter().map(|it| it.split(' ').nth(at)).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!((of(0), of(1)), (50, 50));
}

#[test]
fn services_that_lead_nowhere_are_refused() {
    let world = World::new(Options::default());
    let (code, status) = world.send("POST", SERVICES, service("web", json!({"selector": {"app": "web"}})));
    assert_eq!((code, &status["message"]), (422, &json!("Service \"web\" is invalid: spec.ports: Required value")));
    world.ask("POST", SERVICES, service("web", json!({"ports": [{"port": 80}]})));
    let patch = json!({"spec": {"clusterIP": "100.64.9.9", "clusterIPs": ["100.64.9.9"]}});
    let (code, status) = world.send("PATCH", &format!("{SERVICES}/web"), patch);
    let text = "Service \"web\" is invalid: spec.clusterIPs[0]: Invalid value: []string{\"100.64.9.9\"}: may not change \
                once set";
    assert_eq!((code, &status["message"]), (422, &json!(text)));
}
