// SPDX-License-Identifier: Apache-2.0
//! Tests of all filters and scores together, while nodes and pods are created and deleted.

use api::kubernetes::core::Container;
use apimachinery::meta::{ObjectMeta, Quantity};
use serde_json::{Value, json};

use super::*;

fn node(name: &str, change: impl FnOnce(&mut Node)) -> Change<Node> {
    let mut node = Node { metadata: ObjectMeta::named("", name), ..Node::default() };
    node.metadata.labels.insert("kubernetes.io/hostname".into(), name.into());
    node.status.conditions =
        vec![NodeCondition { r#type: "Ready".into(), status: "True".into(), ..NodeCondition::default() }];
    let quantity = |text: &str| text.parse::<Quantity>().expect("a quantity");
    node.status.allocatable =
        [("cpu", "2"), ("memory", "4Gi"), ("pods", "3")].map(|(name, text)| (name.into(), quantity(text))).into();
    change(&mut node);
    Change { key: ObjectKey::new("c", "", name), old: None, new: Some(Arc::new(node)) }
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.into(), effect: effect.into(), ..Taint::default() }
}

fn pod(name: &str, node: &str, cpu: &str) -> Pod {
    let mut pod = Pod { metadata: ObjectMeta::named("n", name), ..Pod::default() };
    name.clone_into(&mut pod.metadata.uid);
    node.clone_into(&mut pod.spec.node_name);
    let mut container = Container::default();
    container.resources.requests.insert("cpu".into(), cpu.parse().expect("a quantity"));
    pod.spec.containers = vec![container];
    pod
}

/// Returns a pod with label `app` and a specification.
fn of_app(app: &str, node: &str, spec: Value) -> Pod {
    let mut pod = Pod { metadata: ObjectMeta::named("n", &format!("{app}-{node}")), ..Pod::default() };
    pod.metadata.uid.clone_from(&pod.metadata.name);
    pod.metadata.labels.insert("app".into(), app.into());
    pod.spec = apimachinery::wire::from_tree(spec).expect("a specification");
    node.clone_into(&mut pod.spec.node_name);
    pod
}

fn key(pod: &Pod) -> ObjectKey {
    ObjectKey::new("c", &pod.metadata.namespace, &pod.metadata.name)
}

fn appears(pod: &Pod) -> Change<Pod> {
    Change { key: key(pod), old: None, new: Some(Arc::new(pod.clone())) }
}

fn goes(pod: &Pod) -> Change<Pod> {
    Change { key: key(pod), old: Some(Arc::new(pod.clone())), new: None }
}

fn places(nodes: Vec<Change<Node>>) -> Places {
    let places = Places::default();
    for change in &nodes {
        places.observe_node(change);
    }
    places
}

#[track_caller]
fn check(places: &Places, pod: &Pod, expected: &str) {
    let metadata = &pod.metadata;
    let incoming = Incoming::new(&metadata.namespace, &metadata.labels, &pod.spec, Volumes::default());
    let text = match places.choose("c", &incoming, &|_| TextMap::new()) {
        Choice::Node(name) | Choice::Nowhere(name) => name,
        other => format!("{other:?}"),
    };
    // The texts about preemption have tests of their own.
    let text = text.split(" preemption: ").next().unwrap_or_default();
    assert_eq!(text, expected);
}

/// "List of default constraints … defaultConstraints: maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable:
/// ScheduleAnyway".
#[test]
fn equal_pods_are_spread_before_nodes_are_filled_evenly() {
    let open = |node: &mut Node| {
        node.status.allocatable.insert("pods".into(), "20".parse().expect("a quantity"));
    };
    let names = ["a", "b", "c"];
    let places = places(names.iter().map(|name| node(name, open)).collect());
    for number in 0..5 {
        places.observe_pod(&appears(&pod(&format!("other-{number}"), "c", "1m")));
    }
    let web = |node: &str| of_app("web", node, json!({}));
    check(&places, &web(""), "a");
    places.observe_pod(&appears(&web("a")));
    check(&places, &web(""), "b");
    places.observe_pod(&appears(&web("b")));
    check(&places, &web(""), "c");
    places.observe_pod(&appears(&web("c")));
    // Every node has one: the node with the fewest pods is next.
    check(&places, &web(""), "a");
    places.observe_pod(&goes(&web("b")));
    check(&places, &web(""), "b");
    check(&places, &of_app("api", "", json!({})), "b");
    // A pod without labels is like no other.
    check(&places, &pod("bare", "", "1m"), "b");
}

#[test]
fn the_fitting_node_with_the_fewest_pods_is_chosen() {
    let any = Pod::default();
    check(&Places::default(), &any, "NoNodes");
    let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
    check(&places, &any, "a");
    places.observe_pod(&appears(&pod("1", "a", "0")));
    check(&places, &any, "b");
    places.observe_pod(&appears(&pod("2", "b", "0")));
    check(&places, &any, "a");
    places.observe_pod(&goes(&pod("2", "b", "0")));
    check(&places, &any, "b");
}

#[test]
fn a_pod_counts_from_its_placement_on_and_only_once() {
    let any = Pod::default();
    let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
    let first = pod("1", "a", "0");
    places.assume(&key(&first), "1", &TextMap::new(), &first.spec);
    check(&places, &any, "b");
    places.observe_pod(&appears(&first));
    places.observe_pod(&appears(&pod("2", "b", "0")));
    check(&places, &any, "a");
}

#[test]
fn taints_selectors_and_resources_keep_pods_away() {
    let any = Pod::default();
    let cordoned = |node: &mut Node| node.spec.unschedulable = true;
    let tainted = |node: &mut Node| node.spec.taints = vec![taint("gpu", "NoSchedule")];
    let labelled = |node: &mut Node| drop(node.metadata.labels.insert("disk".into(), "ssd".into()));
    let rather_not = |node: &mut Node| node.spec.taints = vec![taint("old", "PreferNoSchedule")];
    let lost = |node: &mut Node| "Unknown".clone_into(&mut node.status.conditions[0].status);
    let all =
        || vec![node("a", cordoned), node("b", tainted), node("c", labelled), node("d", rather_not), node("e", lost)];
    let ssd = of_app("x", "", json!({"nodeSelector": {"disk": "ssd"}}));
    check(&places(all()), &any, "c");
    check(&places(all()), &ssd, "c");
    let without_c = places(all().into_iter().filter(|change| &*change.key.name != "c").collect());
    check(&without_c, &any, "d");
    check(
        &without_c,
        &ssd,
        "0/4 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
         1 node(s) had untolerated taint {gpu: }, 1 node(s) were not ready, 1 node(s) were unschedulable.",
    );
    let tolerant = of_app("x", "", json!({"tolerations": [{"operator": "Exists"}]}));
    check(&places(vec![node("b", tainted)]), &tolerant, "b");

    let one = places(vec![node("a", |_| ())]);
    one.observe_pod(&appears(&pod("1", "a", "1500m")));
    check(&one, &pod("x", "", "500m"), "a");
    check(&one, &pod("x", "", "501m"), "0/1 nodes are available: 1 Insufficient cpu.");
    one.observe_pod(&appears(&pod("2", "a", "0")));
    one.observe_pod(&appears(&pod("3", "a", "0")));
    check(&one, &pod("x", "", "0"), "0/1 nodes are available: 1 Too many pods.");
}

/// Returns a rule about pods of an app on the same host; `kind`: affinity or anti-affinity.
fn rule(kind: &str, app: &str) -> Value {
    let term = json!({"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}});
    json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
}

#[test]
fn pods_that_keep_apart_fill_the_nodes_and_then_wait() {
    let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
    let far = rule("podAntiAffinity", "web");
    check(&places, &of_app("web", "", far.clone()), "a");
    places.observe_pod(&appears(&of_app("web", "a", far.clone())));
    check(&places, &of_app("web", "", far.clone()), "b");
    places.observe_pod(&appears(&of_app("web", "b", far.clone())));
    let full = "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.";
    check(&places, &of_app("web", "", far.clone()), full);
    // Pods on nodes keep others away, too; the filters apply in the scheduler's order.
    let repelled = "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.";
    check(&places, &of_app("web", "", json!({})), repelled);
    let picky = of_app("web", "", json!({"nodeSelector": {"disk": "ssd"}}));
    check(&places, &picky, "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.");
    check(&places, &of_app("other", "", json!({})), "a");
    places.observe_node(&node("c", |_| ()));
    check(&places, &of_app("web", "", far.clone()), "c");
    // An ending pod is still on its node.
    let mut ending = of_app("web", "a", far.clone());
    ending.metadata.deletion_timestamp = Some(apimachinery::meta::Time::default());
    let there = Arc::new(of_app("web", "a", far.clone()));
    let ends = Change { key: key(&there), old: Some(there), new: Some(Arc::new(ending.clone())) };
    places.observe_pod(&ends);
    check(&places, &of_app("web", "", far.clone()), "c");
    places.observe_pod(&goes(&ending));
    check(&places, &of_app("web", "", far), "a");
}

#[test]
fn pods_with_affinity_join_the_others() {
    let places = places(vec![node("a", |_| ()), node("b", |_| ())]);
    let near = || of_app("x", "", rule("podAffinity", "web"));
    check(&places, &near(), "0/2 nodes are available: 2 node(s) didn't match pod affinity rules.");
    places.observe_pod(&appears(&of_app("web", "b", json!({}))));
    check(&places, &near(), "b");
    places.observe_pod(&goes(&of_app("web", "b", json!({}))));
    let assumed = of_app("web", "a", json!({}));
    places.assume(&key(&assumed), "u", &assumed.metadata.labels, &assumed.spec);
    check(&places, &near(), "a");
    places.forget("u");
    check(&places, &near(), "0/2 nodes are available: 2 node(s) didn't match pod affinity rules.");
}

#[test]
fn pods_are_spread_over_zones() {
    let zone =
        |name: &'static str| node(name, move |node| drop(node.metadata.labels.insert("zone".into(), name[..1].into())));
    let places = places(vec![zone("a1"), zone("a2"), zone("b1"), node("x", |_| ())]);
    let spread = |unsatisfiable: &str| {
        json!({"topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": unsatisfiable,
            "labelSelector": {"matchLabels": {"app": "web"}},
        }]})
    };
    places.observe_pod(&appears(&of_app("web", "a1", json!({}))));
    check(&places, &of_app("web", "", spread("DoNotSchedule")), "b1");
    check(&places, &of_app("web", "", spread("ScheduleAnyway")), "b1");
    for number in 0..3 {
        places.observe_pod(&appears(&pod(&format!("full-{number}"), "b1", "0")));
    }
    check(
        &places,
        &of_app("web", "", spread("DoNotSchedule")),
        "0/4 nodes are available: 1 Too many pods, 1 node(s) didn't match pod topology spread constraints (missing \
         required label), 2 node(s) didn't match pod topology spread constraints.",
    );
    check(&places, &of_app("web", "", spread("ScheduleAnyway")), "a2");
}

/// A preference decides among nodes that fit, before the number of pods does; taints count more than one preference.
#[test]
fn preferences_decide_among_the_nodes_that_fit() {
    let zone =
        |name: &'static str| node(name, move |node| drop(node.metadata.labels.insert("zone".into(), name.into())));
    let prefers = |zones: &[(&str, i32)]| {
        let term = |(zone, weight): &(&str, i32)| {
            let expression = json!({"key": "zone", "operator": "In", "values": [zone]});
            json!({"weight": weight, "preference": {"matchExpressions": [expression]}})
        };
        let terms: Vec<Value> = zones.iter().map(term).collect();
        json!({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}})
    };
    let places = places(vec![zone("a"), zone("b"), zone("c")]);
    for number in 0..2 {
        places.observe_pod(&appears(&pod(&format!("b-{number}"), "b", "0")));
    }
    check(&places, &of_app("x", "", prefers(&[("b", 1)])), "b");
    check(&places, &of_app("x", "", prefers(&[("b", 1), ("c", 2)])), "c");
    check(&places, &of_app("x", "", prefers(&[("d", 1)])), "a");
    places.observe_pod(&appears(&pod("b-3", "b", "0")));
    check(&places, &of_app("x", "", prefers(&[("b", 1)])), "a");
    places.observe_node(&node("c", |node| {
        node.metadata.labels.insert("zone".into(), "c".into());
        node.spec.taints = vec![taint("old", "PreferNoSchedule")];
    }));
    check(&places, &of_app("x", "", prefers(&[("c", 100)])), "a");

    let wish = |kind: &str, app: &str| {
        let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}});
        let wish = json!({"weight": 5, "podAffinityTerm": term});
        json!({"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}})
    };
    let places = super::tests::places(vec![zone("a"), zone("b"), zone("c")]);
    places.observe_pod(&appears(&of_app("web", "b", json!({}))));
    check(&places, &of_app("x", "", wish("podAffinity", "web")), "b");
    places.observe_pod(&appears(&of_app("db", "a", json!({}))));
    check(&places, &of_app("x", "", wish("podAntiAffinity", "web")), "c");
    places.observe_pod(&appears(&of_app("fan", "a", wish("podAffinity", "new"))));
    check(&places, &of_app("new", "", json!({})), "a");
}

/// Obstacles that other pods or other nodes cause do not count.
#[test]
fn a_nodes_own_properties_decide_whether_it_takes_a_pod() {
    let zone = |node: &mut Node| drop(node.metadata.labels.insert("zone".into(), "b".into()));
    let places = places(vec![
        node("a", |_| {}),
        node("cordoned", |node| node.spec.unschedulable = true),
        node("silent", |node| node.status.conditions.clear()),
        node("tainted", |node| node.spec.taints = vec![taint("gpu", "NoSchedule")]),
        node("z", zone),
    ]);
    places.observe_pod(&appears(&pod("1", "a", "1500m")));
    let takes = |pod: &Pod| {
        let nodes = ["a", "cordoned", "none", "silent", "tainted", "z"];
        nodes.into_iter().filter(|node| places.may_take("c", node, &pod.spec)).collect::<Vec<_>>()
    };
    assert_eq!(takes(&pod("x", "", "500m")), ["a", "z"]);
    assert_eq!(takes(&pod("x", "", "501m")), ["z"]);
    assert_eq!(takes(&pod("x", "", "3")), [""; 0]);
    assert_eq!(takes(&of_app("x", "", json!({ "nodeSelector": { "zone": "b" } }))), ["z"]);
    let tolerant = json!({ "tolerations": [{ "key": "gpu", "operator": "Exists" }] });
    assert_eq!(takes(&of_app("x", "", tolerant)), ["a", "tainted", "z"]);
    let apart = json!({ "affinity": { "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [
        { "labelSelector": {}, "topologyKey": "kubernetes.io/hostname" }
    ] } } });
    assert_eq!(takes(&of_app("x", "", apart)), ["a", "z"]);
}
