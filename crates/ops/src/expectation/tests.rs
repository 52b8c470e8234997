// SPDX-License-Identifier: Apache-2.0
//! Tests of reading and judging.

use serde_json::{Value, json};

use super::*;

fn defaults() -> Defaults {
    Defaults { cluster: NamedCluster::Garden, namespace: "garden-local".to_owned() }
}

fn times() -> Times {
    let instant = |text: &str| text.parse().expect("an instant");
    Times { now: instant("2025-01-02T00:00:00Z"), start: instant("2025-01-01T00:00:00Z") }
}

fn read(text: &str) -> Result<Vec<Expectation>, Error> {
    of_arguments(&[text.to_owned()], &defaults())
}

#[track_caller]
fn differences(text: &str, seen: &[Value]) -> Vec<String> {
    let expectations = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let seen = Values::Objects(seen.to_vec());
    expectations.iter().flat_map(|expectation| expectation.differences(&seen, times())).collect()
}

/// Checks rows of an expectation and its differences; no difference: it holds.
#[track_caller]
fn check(seen: &[Value], rows: &[(&str, &[&str])]) {
    for (text, expected) in rows {
        assert_eq!(differences(text, seen), *expected, "{text}");
    }
}

fn shoot() -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
        "metadata": {
            "name": "local", "namespace": "garden-local", "generation": 2, "creationTimestamp": "2025-01-01T00:00:00Z",
            "labels": { "a": "b" }, "finalizers": ["x", "z"],
        },
        "spec": {
            "kubernetes": { "version": "1.31.1" },
            "provider": {
                "type": "local", "infrastructureConfig": { "kind": "I", "zones": [{ "name": "0", "count": 1 }] },
                "workers": [
                    { "name": "a", "minimum": 1, "maximum": 2, "maxSurge": 1, "machine": { "type": "small" } },
                    { "name": "b", "minimum": 1, "maximum": 1, "maxSurge": "25%", "machine": { "type": "large" } },
                ],
            },
        },
        "status": {
            "lastOperation": { "type": "Reconcile", "state": "Processing", "progress": 12 },
            "conditions": [
                { "type": "APIServerAvailable", "status": "True", "reason": "HealthzRequestSucceeded", "message": "" },
                { "type": "EveryNodeReady", "status": "False", "reason": "NodeNotReady", "message": "a is not ready" },
            ],
            "constraints": [{ "type": "HibernationPossible", "status": "True", "reason": "NoProblematicWebhooks" }],
        },
    })
}

#[track_caller]
fn check_matches(kind: &str, seen: &Value, rows: &[(&str, &[&str])]) {
    for (tree, expected) in rows {
        let text = format!("{{object: {{kind: {kind}, name: local}}, matches: {tree}}}");
        assert_eq!(differences(&text, std::slice::from_ref(seen)), *expected, "{tree}");
    }
}

#[test]
fn a_tree_is_compared_by_the_schema_of_its_kind() {
    check_matches(
        "Shoot",
        &shoot(),
        &[
            ("{}", &[]),
            ("{kind: Shoot, metadata: {labels: {a: b}, generation: 2}}", &[]),
            (
                "{status: {lastOperation: {state: Succeeded, progress: 12}}}",
                &["status.lastOperation.state: expected Succeeded, is Processing"],
            ),
            (
                "{metadata: {labels: {a: c, d: e}}}",
                &["metadata.labels.a: expected c, is b", "metadata.labels.d: expected e, is absent"],
            ),
            ("{metadata: {deletionTimestamp: null, labels: {c: null}}, status: {lastErrors: null}}", &[]),
            ("{metadata: {labels: null}}", &[r#"metadata.labels: expected none, is {"a":"b"}"#]),
            ("{spec: {hibernation: {enabled: true}}}", &["spec.hibernation.enabled: expected true, is absent"]),
            ("{metadata: {creationTimestamp: '2025-01-01T01:00:00+01:00'}}", &[]),
            (
                "{metadata: {creationTimestamp: '2025-01-01T00:00:01Z'}}",
                &["metadata.creationTimestamp: expected 2025-01-01T00:00:01Z, is 2025-01-01T00:00:00Z"],
            ),
            ("{metadata: {finalizers: [x, z]}}", &[]),
            ("{metadata: {finalizers: [x]}}", &[r#"metadata.finalizers: expected ["x"], is ["x","z"]"#]),
            ("{spec: {provider: {workers: [{name: b, maxSurge: 25%}, {name: a, maxSurge: '1'}]}}}", &[]),
            (
                "{spec: {provider: {workers: [{name: b, machine: {type: small}}, {name: c}]}}}",
                &[
                    "spec.provider.workers[b].machine.type: expected small, is large",
                    "spec.provider.workers[c]: expected, is absent",
                ],
            ),
            ("{spec: {provider: {infrastructureConfig: {zones: [{count: 1, name: '0'}]}}}}", &[]),
            (
                "{spec: {provider: {infrastructureConfig: {kind: J, zones: []}}}}",
                &[
                    "spec.provider.infrastructureConfig.kind: expected J, is I",
                    r#"spec.provider.infrastructureConfig.zones: expected [], is [{"count":1,"name":"0"}]"#,
                ],
            ),
            (
                "{status: {conditions: [{type: EveryNodeReady, status: 'True'}]}}",
                &["status.conditions[EveryNodeReady].status: expected True, is False"],
            ),
        ],
    );
}

#[test]
fn numbers_with_units_are_compared_by_value_and_missing_zeros_are_zero() {
    let pod = json!({ "metadata": { "name": "local" }, "spec": { "containers": [
        { "name": "a", "resources": { "requests": { "cpu": "500m", "memory": "1Gi" } } },
    ] } });
    let requests =
        |requests: &str| format!("{{spec: {{containers: [{{name: a, resources: {{requests: {requests}}}}}]}}}}");
    check_matches(
        "Pod",
        &pod,
        &[
            (&requests("{cpu: 0.5, memory: 1024Mi}"), &[]),
            (&requests("{memory: 1073741824}"), &[]),
            (&requests("{memory: 1G}"), &["spec.containers[a].resources.requests.memory: expected 1G, is 1Gi"]),
        ],
    );
    let deployment =
        json!({ "metadata": { "name": "local" }, "spec": { "paused": true }, "status": { "replicas": 1 } });
    check_matches(
        "Deployment",
        &deployment,
        &[
            ("{status: {replicas: 1, readyReplicas: 0}}", &[]),
            ("{status: {readyReplicas: null}}", &[]),
            ("{status: {readyReplicas: 1}}", &["status.readyReplicas: expected 1, is 0"]),
            ("{spec: {replicas: 0}}", &["spec.replicas: expected 0, is absent"]),
        ],
    );
}

#[test]
fn items_hold_or_show_their_differences() {
    let (one, other) = (shoot(), json!({ "kind": "Shoot", "metadata": { "name": "o", "namespace": "n" } }));
    check(
        &[],
        &[
            ("object: {kind: Shoot, name: local}", &["Shoot garden-local/local: expected, is absent"]),
            ("absent: {kind: Shoot, name: local}", &[]),
            ("absent: {kind: Shoot, namespace: '*', selector: a=b}", &[]),
            ("objects: {kind: Shoot}, count: 0", &[]),
            ("objects: {kind: Shoot}, cel: ['objects.all(o, false)']", &[]),
            (
                "objects: {kind: Shoot, selector: a=b}, matches: {spec: {}}",
                &["shoots in namespace garden-local with a=b: expected at least 1, found 0"],
            ),
            ("objects: {kind: Shoot}, count: '>=0', matches: {spec: {}}", &[]),
        ],
    );
    check(
        &[one.clone(), other],
        &[
            ("objects: {kind: Shoot, namespace: '*'}, count: '>=2'", &[]),
            (
                "objects: {kind: Shoot, namespace: '*'}, count: 3",
                &["shoots in all namespaces: expected 3, found 2 (Shoot garden-local/local, Shoot n/o)"],
            ),
            (
                "objects: {kind: Shoot, namespace: '*'}, matches: {metadata: {generation: 2}}",
                &["Shoot n/o: metadata.generation: expected 2, is 0"],
            ),
            (
                "objects: {kind: Shoot, namespace: '*'}, cel: [objects.size() == 2, 'objects.all(o, has(o.spec))']",
                &["objects.all(o, has(o.spec)): expected true, is false"],
            ),
            (
                "absent: {kind: Shoot}",
                &["Shoot garden-local/local: expected none, is there", "Shoot n/o: expected none, is there"],
            ),
            ("absent: {kind: Shoot, name: local}", &["Shoot garden-local/local: expected none, is there"]),
        ],
    );
    let cel = |text: &str| {
        differences(&format!("object: {{kind: Shoot, name: local}}, cel: [{text:?}]"), std::slice::from_ref(&one))
    };
    for text in [
        "object.metadata.generation == 2",
        "timestamp(object.metadata.creationTimestamp) < now && start < now",
        "object.spec.provider.workers.exists(w, w.maxSurge == 1)",
    ] {
        assert!(cel(text).is_empty(), "{text}");
    }
    let failed = cel("object.spec.missing == 1");
    assert!(failed[0].starts_with("object.spec.missing == 1: expected true, failed: "), "{failed:?}");
    let unknown = Values::NoCluster("seed/a".parse().expect("a cluster"));
    let of_seed = read("absent: {kind: Machine, cluster: seed/a, name: m}").expect("an expectation");
    assert_eq!(of_seed[0].differences(&unknown, times()), ["there is no cluster seed/a"]);
}

#[test]
fn conditions_and_constraints_are_found_by_type() {
    let condition = |rest: &str| format!("condition: {{of: Shoot/local, type: {rest}}}");
    check(
        &[shoot()],
        &[
            (&condition("APIServerAvailable, status: True"), &[]),
            (&condition("HibernationPossible, status: 'True', reason: NoProblematicWebhooks"), &[]),
            (
                &condition("EveryNodeReady, status: True, reason: EveryNodeReady"),
                &[
                    "status.conditions[EveryNodeReady].status: expected True, is False (a is not ready)",
                    "status.conditions[EveryNodeReady].reason: expected EveryNodeReady, is NodeNotReady",
                ],
            ),
            (
                &condition("Other, status: Unknown"),
                &[
                    "status.conditions[Other]: expected, is absent; found APIServerAvailable, EveryNodeReady, HibernationPossible",
                ],
            ),
        ],
    );
    check(&[], &[(&condition("A, status: True"), &["Shoot garden-local/local: expected, is absent"])]);
}

#[test]
fn events_are_found_by_object_reason_type_and_message() {
    let event = |namespace: &str, reason: &str, kind: &str, message: &str, count: u64| {
        json!({
            "involvedObject": { "kind": "Shoot", "name": "local", "namespace": namespace },
            "reason": reason, "type": kind, "message": message, "count": count,
        })
    };
    let seen = [
        event("garden-local", "Maintained", "Normal", "one", 2),
        event("garden-local", "Maintained", "Warning", "two", 1),
        event("garden-local", "Scheduled", "Normal", "on a", 1),
        event("garden-other", "Deleted", "Normal", "", 1),
    ];
    let expected = |rest: &str| format!("event: {{of: Shoot/garden-local/local, reason: {rest}}}");
    check(
        &seen,
        &[
            (&expected("Maintained"), &[]),
            (&expected("Maintained, type: Warning, message: tw"), &[]),
            (&expected("Maintained, count: 3"), &[]),
            (&expected("Maintained, type: Normal, count: '>=2'"), &[]),
            (&expected("Deleted, count: 0"), &[]),
            (
                &expected("Maintained, count: 1"),
                &["Event Maintained of Shoot garden-local/local: expected 1 times, found 3"],
            ),
            (
                &expected("Maintained, type: Normal, message: two"),
                &["Event Maintained of Shoot garden-local/local: expected type Normal and message with \"two\", \
                     is Warning: two"],
            ),
            (
                &expected("Deleted"),
                &["Event Deleted of Shoot garden-local/local: expected, is absent; found Maintained, Scheduled"],
            ),
        ],
    );
}

#[test]
fn requests_select_what_is_judged() {
    let watched = |text: &str| {
        let watched = read(text).expect(text)[0].watched().expect("objects");
        let WatchScope { cluster, row, namespace, fields, labels } = watched;
        let cluster = cluster.map_or_else(|| "*".to_owned(), |cluster| cluster.to_string());
        format!("{cluster} {} {} {fields} {labels}", row.plural, namespace.as_deref().unwrap_or("*"))
    };
    for (text, expected) in [
        ("object: {kind: Shoot, name: a}", "garden shoots garden-local metadata.name=a "),
        ("objects: {kind: Node, cluster: shoot/p/n, selector: a=b}, count: 1", "shoot/p/n nodes *  a=b"),
        ("absent: {kind: Machine, cluster: seed/s, namespace: '*'}", "seed/s machines *  "),
        (
            "event: {of: {kind: Seed, name: s}, reason: R}",
            "garden events * involvedObject.kind=Seed,involvedObject.name=s ",
        ),
        ("condition: {of: Seed/s, type: T, status: True}", "garden seeds * metadata.name=s "),
        (
            "object: {kind: Deployment, apiVersion: apps/v1, cluster: runtime, namespace: garden, name: d}",
            "runtime deployments garden metadata.name=d ",
        ),
        ("component: {name: gardenlet, ready: 1}", "* pods *  app=gardener,role=gardenlet"),
    ] {
        assert_eq!(watched(text), expected, "{text}");
    }
    assert!(read("object: {kind: Seed, name: s}, cel: [now > start]").expect("an expectation")[0].depends_on_time());
}

/// Text, problem, and a part of the hint.
#[test]
fn unreadable_expectations_are_refused_with_their_position() {
    for (text, what, hint) in [
        ("objekt: {kind: Shoot}", "column 1: unknown item `objekt`", "the nearest is `object`"),
        ("skew: {violations: 0}", "column 1: unknown item `skew`", "there are object"),
        ("{}", "column 1: an expectation has no item", ""),
        ("[]", "column 1: the list has no expectation", ""),
        ("- 1", "column 3: an expectation is a number, expected a map", ""),
        (
            "object: {kind: Shoot, name: a}, absent: {kind: Shoot}",
            "column 33: an expectation has one item, not `object` and `absent`",
            "",
        ),
        ("object: {kind: Shoot, nam: a}", "column 23: unknown field `nam` of `object`", "`name`"),
        ("object: {kind: Shoot}", "column 1: `object` has no `name`", "`objects`"),
        ("object: {name: a}", "column 1: `object` has no `kind`", ""),
        ("object: {kind: Shot, name: a}", "column 10: no cluster serves a kind `Shot`", "`Shoot`"),
        ("object: {kind: Machine, name: a}", "column 10: cluster garden serves no Machine", "seed/NAME"),
        (
            "object: {kind: Shoot, apiVersion: v1, name: a}",
            "column 10: no cluster serves a kind `Shoot` of v1",
            "core.gardener.cloud/v1beta1",
        ),
        ("object: {kind: Seed, name: a, namespace: b}", "column 31: Seed has no namespace", ""),
        (
            "object: {kind: Shoot, name: a, cluster: seeds/a/b/c}",
            "column 32: \"seeds/a/b/c\" is no cluster",
            "seed/NAME",
        ),
        ("object: {kind: Shoot, name: 1.30}", "column 23: `name` is a number, expected a text", "\"1.30\""),
        ("object: {kind: Shoot, name: a}, count: 1", "column 33: unknown field `count` next to `object`", ""),
        (
            "object: {kind: Shoot, name: a}, matches: {spec: {kubernets: {}}}",
            "column 50: ShootSpec has no field `spec.kubernets`",
            "`kubernetes`",
        ),
        (
            "object: {kind: Shoot, name: a}, matches: {spec: {kubernetes: {version: 1.30}}}",
            "column 63: `spec.kubernetes.version` is a number, expected a text",
            "\"1.30\"",
        ),
        (
            "object: {kind: Shoot, name: a}, matches: {spec: {provider: {workers: [{maximum: 1}]}}}",
            "column 71: `spec.provider.workers[0]` has no `name`, by which it is found",
            "",
        ),
        (
            "object: {kind: Shoot, name: a}, matches: {status: {conditions: {type: A}}}",
            "column 52: `status.conditions` is a map, expected a list",
            "",
        ),
        (
            "object: {kind: Shoot, name: a}, matches: {metadata: {generation: one}}",
            "column 54: `metadata.generation` is \"one\", expected a whole number",
            "",
        ),
        ("objects: {kind: Shoot}", "column 1: nothing is expected of the objects", "`count`"),
        ("objects: {kind: Shoot}, count: two", "column 25: `count` is \"two\", expected a number", ">=2"),
        ("objects: {kind: Shoot, selector: 'a in'}, count: 1", "column 24: ", ""),
        (
            "objects: {kind: Shoot, fieldSelector: spec.seed=a}, count: 1",
            "column 24: Shoot has no field selector `spec.seed`",
            "`spec.seedName`",
        ),
        (
            "object: {kind: Shoot, name: a}, cel: [objekt.x]",
            "column 39: there is no variable `objekt`",
            "there are object, now, start",
        ),
        ("object: {kind: Shoot, name: a}, cel: ['a =']", "column 39: no expression: ", ""),
        ("event: {of: Shoot/a, type: Odd, reason: r}", "column 22: `Odd` is no type of an Event", "Normal"),
        ("event: {of: Shoot, reason: r}", "column 9: `Shoot` is no object", "KIND/NAME"),
        ("event: {of: Seed/a/b, reason: r}", "column 9: Seed has no namespace", "Seed/NAME"),
        ("condition: {of: Shoot/a, type: T}", "column 1: `condition` has no `status`", ""),
        ("condition: {of: Shoot/a, type: T, status: yes}", "column 35: `yes` is no status of a condition", "True"),
        ("condition: {of: ConfigMap/a, type: T, status: True}", "column 13: ConfigMap has no conditions", ""),
        ("object: {kind: Shoot", "not YAML: ", ""),
    ] {
        let error = read(text).expect_err(text);
        let shown = error.to_string();
        assert!(matches!(error, Error::Input { .. }), "{text}: {error:?}");
        assert!(shown.starts_with("expectation") && shown.contains(what), "{text}: {shown}");
        assert!(error.hint().contains(hint), "{text}: {shown}: {}", error.hint());
        assert_eq!((shown.lines().count(), error.hint().lines().count() <= 1), (1, true), "{text}: {shown}");
    }
}

#[test]
fn files_are_read_with_lines_and_columns() {
    let text = "- absent: {kind: Shoot, name: a}\n- object:\n    kind: Shoot\n    name: b\n  matches:\n    spec:\n      sead: x\n";
    let of = |text: &str| of_file("a.yaml", text, &defaults()).map_err(|error| error.to_string());
    assert_eq!(of(text).expect_err("a typo"), "a.yaml:7:7: ShootSpec has no field `spec.sead`");
    let read = of(&text.replace("sead", "seedName")).expect("two expectations");
    let labels: Vec<(&str, String)> = read.iter().map(|one| (one.label(), one.subject())).collect();
    let subject = |name: &str| format!("Shoot garden-local/{name}");
    assert_eq!(labels, [("a.yaml:1", subject("a")), ("a.yaml:2", subject("b"))]);
    for (text, error) in [
        ("object: {kind: Seed, name: a}\nobject: {kind: Seed, name: b}\n", "a.yaml:2: \"object\" occurs twice"),
        ("a: &a {kind: Seed}\nobject: {<<: *a, name: b}\n", "a.yaml:2: merge keys (`<<`) are not supported"),
    ] {
        assert_eq!(of(text).expect_err(text), error);
    }
    assert!(of("object: {kind: Seed, name: a}\n---\nobject: {kind: Seed, name: b}\n").is_err(), "two documents");
    assert!(of(&" ".repeat(LONGEST + 1)).is_err_and(|error| error.starts_with("a.yaml: longer than")));
    let several = ["absent: {kind: Seed, name: a}".to_owned(), "absent: {knd: Seed}".to_owned()];
    let error = of_arguments(&several, &defaults()).expect_err("a typo").to_string();
    assert_eq!(error, "expectation 2, column 10: unknown field `knd` of `absent`");
}
