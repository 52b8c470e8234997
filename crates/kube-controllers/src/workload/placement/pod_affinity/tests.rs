// SPDX-License-Identifier: Apache-2.0
//! Two zones with two nodes each: `a1`, `a2`, `b1`, `b2`; and `x`, which is in no zone.

use api::kubernetes::core::PodSpec;
use serde_json::{Value, json};

use super::*;

const NODES: [&str; 5] = ["a1", "a2", "b1", "b2", "x"];

fn node_labels(node: &str) -> TextMap {
    let mut labels = TextMap::new();
    labels.insert("host".into(), node.into());
    if node != "x" {
        labels.insert("zone".into(), node[..1].into());
    }
    labels
}

/// Returns a pod with label `app` and its terms: `near zone web`, `far host db`, `like zone web 5`, `shun host db 5`;
/// several separated by commas.
fn pod(namespace: &str, app: &str, wants: &str) -> (PodTraits, Affinities) {
    let mut lists = [(); 4].map(|()| Vec::<Value>::new());
    for want in wants.split(", ").filter(|want| !want.is_empty()) {
        let words: Vec<&str> = want.split(' ').collect();
        let selector = json!({"matchLabels": {"app": words[2]}});
        let mut term = json!({"topologyKey": words[1], "labelSelector": selector});
        match words.get(3).copied() {
            Some("everywhere") => term["namespaceSelector"] = json!({}),
            Some("teams") => term["namespaceSelector"] = json!({"matchLabels": {"team": "t"}}),
            Some("in") => term["namespaces"] = json!([words[4]]),
            _ => {}
        }
        let weight = || words[3].parse::<i32>().expect("a weight");
        match words[0] {
            "near" => lists[0].push(term),
            "far" => lists[1].push(term),
            "like" => lists[2].push(json!({"weight": weight(), "podAffinityTerm": term})),
            "shun" => lists[3].push(json!({"weight": weight(), "podAffinityTerm": term})),
            other => panic!("{other}"),
        }
    }
    let [near, far, like, shun] = lists;
    let affinity = json!({
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": near,
            "preferredDuringSchedulingIgnoredDuringExecution": like,
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": far,
            "preferredDuringSchedulingIgnoredDuringExecution": shun,
        },
    });
    let spec: PodSpec = match wants {
        "" => PodSpec::default(),
        _ => apimachinery::wire::from_tree(json!({"affinity": affinity})).expect("a specification"),
    };
    let mut labels = TextMap::new();
    labels.insert("app".into(), app.into());
    let own = spec.affinity.as_ref().map(|affinity| Affinities::of(affinity, namespace, &labels)).unwrap_or_default();
    (PodTraits::of(namespace, &labels, &spec), own)
}

fn survey(come: &(PodTraits, Affinities), there: &[(&str, (PodTraits, Affinities))]) -> Survey {
    let mut pod_index = PodIndex::default();
    for (node, (traits, _)) in there {
        pod_index.change(traits, node, Count { present: 1, staying: 1 });
    }
    let all: BTreeMap<&str, TextMap> = NODES.map(|node| (node, node_labels(node))).into();
    let label = |node: &str, key: &str| all.get(node)?.get(key).map(String::as_str);
    let namespaces = |namespace: &str| {
        let mut labels = TextMap::new();
        if namespace == "t" {
            labels.insert("team".into(), "t".into());
        }
        labels
    };
    Survey::of(&come.0, &come.1, &pod_index, label, &namespaces)
}

/// Checks which of the nodes fit.
#[track_caller]
fn check(come: &(PodTraits, Affinities), there: &[(&str, (PodTraits, Affinities))], expected: &str) {
    let survey = survey(come, there);
    let fit: Vec<&str> = NODES.into_iter().filter(|node| survey.obstacle(&node_labels(node)).is_none()).collect();
    assert_eq!(fit.join(" "), expected);
}

/// "this Pod should (or, in the case of anti-affinity, should not) run in an X if that X is already running one or more
/// Pods that meet rule Y", where X is a topology domain.
#[test]
fn required_affinity_and_anti_affinity_select_nodes() {
    let web = pod("n", "web", "");
    let there = [("a1", web.clone())];
    check(&pod("n", "x", "near zone web"), &there, "a1 a2");
    check(&pod("n", "x", "near host web"), &there, "a1");
    check(&pod("n", "x", "near zone db"), &there, "");
    check(&pod("n", "x", "far zone web"), &there, "b1 b2 x");
    check(&pod("n", "x", "far host web"), &there, "a2 b1 b2 x");
    check(&pod("n", "x", "near zone web, far host web"), &there, "a2");
    check(&pod("n", "x", ""), &there, "a1 a2 b1 b2 x");
    let both = [("a1", web.clone()), ("b2", pod("n", "db", ""))];
    // One pod has to match all terms.
    check(&pod("n", "x", "near zone web, near zone db"), &both, "");
    check(&pod("n", "x", "far host web, far host db"), &both, "a2 b1 x");
    // A node without the label is near to no pod by it.
    check(&pod("n", "x", "near zone web"), &[("x", web.clone())], "");
    check(&pod("n", "x", "far zone web"), &[("x", web)], "a1 a2 b1 b2 x");
}

/// Source: k8s.io/kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
#[test]
fn the_first_of_a_group_with_self_affinity_fits_anywhere() {
    check(&pod("n", "web", "near zone web"), &[], "a1 a2 b1 b2");
    check(&pod("n", "web", "near zone web"), &[("b1", pod("n", "web", ""))], "b1 b2");
    check(&pod("n", "web", "near zone db"), &[], "");
    check(&pod("n", "web", "near zone web in other"), &[], "");
}

/// Anti-affinity holds both ways, but does not move pods that are already on nodes.
#[test]
fn anti_affinity_of_placed_pods_keeps_others_away() {
    let shy = [("a1", pod("n", "db", "far zone web"))];
    check(&pod("n", "web", ""), &shy, "b1 b2 x");
    check(&pod("n", "other", ""), &shy, "a1 a2 b1 b2 x");
    check(&pod("o", "web", ""), &shy, "a1 a2 b1 b2 x");
    check(&pod("o", "web", ""), &[("a1", pod("n", "db", "far host web everywhere"))], "a2 b1 b2 x");
    // Required affinity has no such effect.
    check(&pod("n", "web", ""), &[("a1", pod("n", "db", "near zone web"))], "a1 a2 b1 b2 x");
}

/// Source: k8s.io/api core/v1, `PodAffinityTerm.namespaces` and `namespaceSelector`.
#[test]
fn terms_are_about_namespaces() {
    let there = [("a1", pod("n", "web", "")), ("a2", pod("o", "web", "")), ("b1", pod("t", "web", ""))];
    check(&pod("n", "x", "far host web"), &there, "a2 b1 b2 x");
    check(&pod("n", "x", "far host web in o"), &there, "a1 b1 b2 x");
    check(&pod("n", "x", "far host web teams"), &there, "a1 a2 b2 x");
    check(&pod("n", "x", "far host web everywhere"), &there, "b2 x");
}

#[test]
fn the_first_failed_check_is_reported() {
    let text = |wants: &str, there: &[(&str, (PodTraits, Affinities))]| {
        survey(&pod("n", "web", wants), there).obstacle(&node_labels("a1")).map(Obstacle::text)
    };
    let shy = ("a1", pod("n", "db", "far host web"));
    assert_eq!(text("", std::slice::from_ref(&shy)), Some("node(s) didn't satisfy existing pods anti-affinity rules"));
    assert_eq!(text("far host db", std::slice::from_ref(&shy)), Some("node(s) didn't match pod anti-affinity rules"));
    assert_eq!(text("far host db, near host x", &[shy]), Some("node(s) didn't match pod affinity rules"));
    assert_eq!(text("far host db, like host db 5", &[]), None);
}

/// "the scheduler … adds the value of the weight for that expression to a sum", for each pod; preferences of pods on
/// nodes count as well, and their required affinity counts 1.
#[test]
fn preferences_of_both_pods_add_up() {
    let scores = |come: &(PodTraits, Affinities), there: &[(&str, (PodTraits, Affinities))]| {
        let survey = survey(come, there);
        NODES.map(|node| survey.preference(&node_labels(node)))
    };
    let web = pod("n", "web", "");
    let there = [("a1", web.clone()), ("a1", web.clone()), ("b1", web.clone())];
    assert_eq!(scores(&pod("n", "x", "like zone web 5"), &there), [10, 10, 5, 5, 0]);
    assert_eq!(scores(&pod("n", "x", "shun host web 3"), &there), [-6, 0, -3, 0, 0]);
    assert_eq!(scores(&pod("n", "x", "like zone web 5, shun host web 3"), &there), [4, 10, 2, 5, 0]);
    let fans = [("b2", pod("n", "db", "like zone web 7")), ("a2", pod("n", "db", "near host web"))];
    assert_eq!(scores(&web, &fans), [0, 1, 7, 7, 0]);
    assert!(!survey(&pod("n", "x", ""), &fans).has_wishes());
}

/// "matchLabelKeys is a set of pod label keys to select which pods will be taken into consideration": upstream's server
/// writes them into the selector.
#[test]
fn labels_in_common_narrow_a_selector_down() {
    let mut labels = TextMap::new();
    labels.insert("app".into(), "web".into());
    labels.insert("pod-template-hash".into(), "1".into());
    let selector = LabelSelector {
        match_labels: [("app".to_owned(), "web".to_owned())].into_iter().collect(),
        ..LabelSelector::default()
    };
    let keys = ["pod-template-hash".to_owned(), "missing".to_owned()];
    let text = |same: &[String], other: &[String]| {
        narrowed(Some(&selector), &labels, same, other).expect("a selector").to_string()
    };
    assert_eq!(text(&keys, &[]), "app=web,pod-template-hash=1");
    assert_eq!(text(&[], &keys), "app=web,pod-template-hash!=1");
    assert!(narrowed(None, &labels, &keys, &[]).is_none());
}
