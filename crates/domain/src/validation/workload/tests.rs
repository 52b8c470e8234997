// SPDX-License-Identifier: Apache-2.0
//! One row per rule: a change of a valid object, and the expected errors.

use serde_json::{Value, json};

use super::*;

fn good(kind: Kind) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a", "more": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        },
    });
    match kind {
        Kind::Deployment => {
            spec["replicas"] = json!(1);
            spec["progressDeadlineSeconds"] = json!(600);
            let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
            spec["strategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
        }
        Kind::ReplicaSet => spec["replicas"] = json!(1),
        Kind::StatefulSet => {
            spec["replicas"] = json!(1);
            spec["podManagementPolicy"] = json!("OrderedReady");
            spec["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
        }
        Kind::DaemonSet => {
            let rolling = json!({"maxSurge": 0, "maxUnavailable": 1});
            spec["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
        }
    }
    json!({ "spec": spec })
}

fn fields(tree: Value) -> Map<String, Value> {
    match tree {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Returns a valid object with changes: a pointer below `spec` and its new value; null removes it.
fn changed(kind: Kind, changes: &[(&str, Value)]) -> Map<String, Value> {
    let mut tree = good(kind);
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer has a slash");
        let parent = tree["spec"].pointer_mut(parent).expect("the parent is there");
        match (parent, name.parse::<usize>()) {
            (Value::Array(list), Ok(index)) if index == list.len() => list.push(value.clone()),
            (Value::Array(list), Ok(index)) => list[index] = value.clone(),
            (Value::Object(map), _) if value.is_null() => drop(map.remove(name)),
            (Value::Object(map), _) => drop(map.insert(name.to_owned(), value.clone())),
            (other, _) => panic!("{other} has no fields"),
        }
    }
    fields(tree)
}

#[track_caller]
fn check(kind: Kind, changes: &[(&str, Value)], expected: &[&str]) {
    let found: Vec<String> = create(kind, "a", &changed(kind, changes)).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{kind:?} {changes:?}");
}

const ALL: [Kind; 4] = [Kind::Deployment, Kind::ReplicaSet, Kind::StatefulSet, Kind::DaemonSet];

#[test]
fn a_selector_must_match_the_labels_of_the_template() {
    for kind in ALL {
        check(kind, &[], &[]);
        check(
            kind,
            &[("/template/metadata/labels", json!({"b": "1", "a": "b"}))],
            &["spec.template.metadata.labels: Invalid value: map[string]string{\"a\":\"b\", \"b\":\"1\"}: `selector` \
               does not match template `labels`"],
        );
        check(
            kind,
            &[("/template/metadata", Value::Null)],
            &[
                "spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does not match template \
               `labels`",
            ],
        );
        check(
            kind,
            &[("/selector", json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}))],
            &["spec.template.metadata.labels: Invalid value: map[string]string{\"app\":\"a\", \"more\":\"b\"}: \
               `selector` does not match template `labels`"],
        );
        check(kind, &[("/selector", json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}))], &[]);
    }
}

#[test]
fn a_selector_is_required_valid_and_selects_something() {
    let mismatch = "spec.template.metadata.labels: Invalid value: map[string]string{\"app\":\"a\", \"more\":\"b\"}: \
                    `selector` does not match template `labels`";
    for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::StatefulSet] {
        check(kind, &[("/selector", Value::Null)], &["spec.selector: Required value", mismatch]);
    }
    check(Kind::DaemonSet, &[("/selector", Value::Null)], &[mismatch]);
    for (kind, word) in ALL.into_iter().zip(["deployment", "deployment", "statefulset", "daemonset"]) {
        let expected = format!(
            "spec.selector: Invalid value: v1.LabelSelector{{MatchLabels:map[string]string(nil), \
             MatchExpressions:[]v1.LabelSelectorRequirement(nil)}}: empty selector is invalid for {word}"
        );
        check(kind, &[("/selector", json!({}))], &[&expected]);
    }
    let wrong = json!({"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]});
    let value = "v1.LabelSelector{MatchLabels:map[string]string(nil), \
                 MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:\"a\", Operator:\"Is\", \
                 Values:[]string{\"b\"}}}}";
    let operator = "spec.selector.matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator";
    let whole = format!("spec.selector: Invalid value: {value}: invalid label selector");
    check(Kind::Deployment, &[("/selector", wrong.clone())], &[operator, &whole]);
    let whole = format!("spec.selector: Invalid value: {value}");
    check(Kind::StatefulSet, &[("/selector", wrong.clone())], &[operator, &whole]);
    check(Kind::DaemonSet, &[("/selector", wrong)], &[operator]);
}

#[test]
fn a_selector_cannot_be_changed() {
    let selector = json!({"matchLabels": {"more": "b"}});
    for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::DaemonSet] {
        let found = update(kind, &changed(kind, &[("/selector", selector.clone())]), &changed(kind, &[]));
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{\"more\":\"b\"}, \
              MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable"]
        );
        let same = json!({"matchLabels": {"app": "a"}, "matchExpressions": []});
        assert_eq!(update(kind, &changed(kind, &[("/selector", same)]), &changed(kind, &[])), []);
    }
    let kind = Kind::StatefulSet;
    for (change, may) in [
        (("/selector", selector), false),
        (("/serviceName", json!("other")), false),
        (("/replicas", json!(3)), true),
        (("/minReadySeconds", json!(3)), true),
        (("/template/spec/hostname", json!("h")), true),
        (("/volumeClaimTemplates", json!([])), true),
    ] {
        let found = update(kind, &changed(kind, std::slice::from_ref(&change)), &changed(kind, &[]));
        assert_eq!(found.is_empty(), may, "{change:?}");
    }
}

#[test]
fn numbers_are_not_negative() {
    let negative = |path: &str| format!("{path}: Invalid value: -1: must be greater than or equal to 0");
    for (kind, field) in [
        (Kind::Deployment, "replicas"),
        (Kind::Deployment, "minReadySeconds"),
        (Kind::Deployment, "revisionHistoryLimit"),
        (Kind::ReplicaSet, "replicas"),
        (Kind::ReplicaSet, "minReadySeconds"),
        (Kind::StatefulSet, "replicas"),
        (Kind::StatefulSet, "minReadySeconds"),
        (Kind::DaemonSet, "minReadySeconds"),
        (Kind::DaemonSet, "revisionHistoryLimit"),
    ] {
        check(kind, &[(&format!("/{field}"), json!(-1))], &[&negative(&format!("spec.{field}"))]);
        check(kind, &[(&format!("/{field}"), json!(0))], &[]);
    }
    check(
        Kind::Deployment,
        &[("/minReadySeconds", json!(600))],
        &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    );
    check(
        Kind::StatefulSet,
        &[("/updateStrategy/rollingUpdate/partition", json!(-1))],
        &[&negative("spec.updateStrategy.rollingUpdate.partition")],
    );
}

#[test]
fn a_rolling_update_can_move() {
    let zero = "intstr.IntOrString{Type:0, IntVal:0, StrVal:\"\"}";
    let at = "spec.strategy.rollingUpdate";
    let bounds = |surge: Value, unavailable: Value| {
        [("/strategy/rollingUpdate/maxSurge", surge), ("/strategy/rollingUpdate/maxUnavailable", unavailable)]
    };
    let none = format!("{at}.maxUnavailable: Invalid value: {zero}: may not be 0 when `maxSurge` is 0");
    check(Kind::Deployment, &bounds(json!(0), json!(0)), &[&none]);
    check(
        Kind::Deployment,
        &bounds(json!("0%"), json!("0%")),
        &[&none.replace(zero, "intstr.IntOrString{Type:1, IntVal:0, StrVal:\"0%\"}")],
    );
    check(Kind::Deployment, &bounds(json!(1), json!(0)), &[]);
    check(Kind::Deployment, &bounds(json!("200%"), json!("100%")), &[]);
    check(
        Kind::Deployment,
        &bounds(json!("1"), json!("101%")),
        &[
            &format!(
                "{at}.maxSurge: Invalid value: intstr.IntOrString{{Type:1, IntVal:0, StrVal:\"1\"}}: a valid percent \
                 string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for \
                 validation is '[0-9]+%')"
            ),
            &format!(
                "{at}.maxUnavailable: Invalid value: intstr.IntOrString{{Type:1, IntVal:0, StrVal:\"101%\"}}: must not \
                 be greater than 100%"
            ),
        ],
    );
    check(
        Kind::Deployment,
        &[("/strategy", json!({"type": "Slow"}))],
        &["spec.strategy: Unsupported value: apps.DeploymentStrategy{Type:\"Slow\", \
           RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}: supported values: \"Recreate\", \"RollingUpdate\""],
    );
    check(
        Kind::Deployment,
        &[("/strategy/type", json!("Recreate"))],
        &["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    );
    let at = "spec.updateStrategy.rollingUpdate";
    check(
        Kind::DaemonSet,
        &[("/updateStrategy/rollingUpdate/maxUnavailable", json!(0))],
        &[&format!("{at}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0")],
    );
    check(
        Kind::DaemonSet,
        &[("/updateStrategy/rollingUpdate/maxSurge", json!(1))],
        &[&format!(
            "{at}.maxSurge: Invalid value: intstr.IntOrString{{Type:0, IntVal:1, StrVal:\"\"}}: may not be set when \
             maxUnavailable is non-zero"
        )],
    );
    check(
        Kind::StatefulSet,
        &[("/updateStrategy/rollingUpdate/maxUnavailable", json!(0))],
        &[&format!("{at}.maxUnavailable: Invalid value: {zero}: cannot be 0")],
    );
}

#[test]
fn pods_of_a_template_run_for_ever_and_have_containers() {
    for (kind, word) in
        [(Kind::Deployment, "ReplicaSet"), (Kind::StatefulSet, "StatefulSet"), (Kind::DaemonSet, "DaemonSet")]
    {
        let text = format!(
            "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in {word} is not Supported"
        );
        check(
            kind,
            &[("/template/spec/restartPolicy", json!("Never")), ("/template/spec/activeDeadlineSeconds", json!(5))],
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"", &text],
        );
    }
    for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::DaemonSet] {
        check(kind, &[("/template/spec/containers", json!([]))], &["spec.template.spec.containers: Required value"]);
        check(
            kind,
            &[("/template/spec/containers/1", json!({"name": "c"}))],
            &[
                "spec.template.spec.containers[1].image: Required value",
                "spec.template.spec.containers[1].name: Duplicate value: \"c\"",
            ],
        );
    }
}

#[track_caller]
fn check_pod(spec: Value, expected: &[&str]) {
    let found: Vec<String> = pod(&fields(json!({ "spec": spec }))).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_pod_is_looked_at_as_its_template() {
    check_pod(json!({"containers": [{"name": "c", "image": "i"}]}), &[]);
    check_pod(json!({}), &["spec.containers: Required value"]);
    check_pod(
        json!({"containers": [{}]}),
        &["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"],
    );
    check_pod(
        json!({"containers": [{"name": "c", "image": " i", "imagePullPolicy": "Sometimes"}]}),
        &[
            "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace",
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \
         \"IfNotPresent\", \"Never\"",
        ],
    );
    let ports =
        json!([{"containerPort": 0}, {"containerPort": 70000, "name": "web"}, {"containerPort": 80, "name": "web"}]);
    check_pod(
        json!({"containers": [{"name": "c", "image": "i", "ports": ports}]}),
        &[
            "spec.containers[0].ports[0].containerPort: Required value",
            "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].ports[2].name: Duplicate value: \"web\"",
        ],
    );
    let mounts = json!([{"name": "data", "mountPath": "/a"}, {"name": "gone", "mountPath": "/a"}]);
    let volumes = json!([{"name": "data", "secret": {}}, {"name": "data", "configMap": {"name": "m"}}]);
    check_pod(
        json!({"containers": [{"name": "c", "image": "i", "volumeMounts": mounts}], "volumes": volumes}),
        &[
            "spec.volumes[0].secret.secretName: Required value",
            "spec.volumes[1].name: Duplicate value: \"data\"",
            "spec.containers[0].volumeMounts[1].name: Not found: \"gone\"",
            "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
        ],
    );
    let resources = json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1500m", "memory": "-1"}});
    check_pod(
        json!({"containers": [{"name": "c", "image": "i", "resources": resources}]}),
        &[
            "spec.containers[0].resources.requests: Invalid value: \"1500m\": must be less than or equal to cpu limit of 1",
            "spec.containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    let init = json!([{"name": "c", "image": "i", "restartPolicy": "Never"}]);
    check_pod(
        json!({"containers": [{"name": "c", "image": "i", "env": [{}, {"name": "A=B"}]}], "initContainers": init}),
        &[
            "spec.containers[0].env[0].name: Required value",
            "spec.containers[0].env[1].name: Invalid value: \"A=B\": environment variable name must not contain '='",
            "spec.initContainers[0].name: Duplicate value: \"c\"",
            "spec.initContainers[0].restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
        ],
    );
}

#[test]
fn of_a_pod_little_may_change() {
    let old = json!({
        "containers": [{"name": "c", "image": "i:1"}], "tolerations": [{"key": "a", "operator": "Exists"}],
        "activeDeadlineSeconds": 10,
    });
    let check = |pointer: &str, value: Value, binds: bool, expected: &[&str]| {
        let mut new = old.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer has a slash");
        new.pointer_mut(parent).expect("the parent is there")[name] = value;
        let (new, old) = (fields(json!({ "spec": new })), fields(json!({ "spec": old })));
        let found: Vec<String> = pod_update(&new, &old, binds).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{pointer}");
    };
    let other = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                 `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
                 tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    check("/nodeSelector", json!({}), false, &[]);
    check("/nodeSelector", json!({"a": "b"}), false, &[other]);
    check("/nodeName", json!("n"), false, &[other]);
    check("/nodeName", json!("n"), true, &[]);
    check("/containers", json!([{"name": "c", "image": "i:2"}]), false, &[]);
    check("/containers", json!([{"name": "d", "image": "i:1"}]), false, &[other]);
    let two = json!([{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]);
    check("/containers", two, false, &["spec.containers: Forbidden: pod updates may not add or remove containers"]);
    let more = json!([{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists"}]);
    check("/tolerations", more, false, &[]);
    let kept = "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds";
    check("/tolerations", json!([]), false, &[kept]);
    check("/activeDeadlineSeconds", json!(9), false, &[]);
    let less = "spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value";
    check("/activeDeadlineSeconds", json!(11), false, &[less]);
}

#[test]
fn malformed_objects_do_not_panic() {
    for spec in [json!(null), json!(1), json!([]), json!({"selector": 1, "template": [1], "strategy": "x"})] {
        for kind in ALL {
            create(kind, "", &fields(json!({ "spec": spec })));
            update(kind, &fields(json!({ "spec": spec })), &Map::new());
        }
        pod(&fields(json!({ "spec": spec })));
        pod_update(&fields(json!({ "spec": spec })), &Map::new(), false);
    }
}
