// SPDX-License-Identifier: Apache-2.0
use super::*;

fn read<T: serde::de::DeserializeOwned>(tree: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(tree).expect("an object"))
}

fn image(name: &str, version: &str) -> String {
    format!("{}:{version}", Program::named(name).map_or("mine", Program::image))
}

fn deployment(name: &str, version: &str, annotations: &Value) -> Arc<Deployment> {
    let labels = json!({ "app": "gardener", "role": name });
    let mut annotations = annotations.clone();
    annotations[annotation::CLUSTER] = json!("runtime");
    read(json!({
        "metadata": { "name": name, "annotations": annotations },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "spec": { "containers": [{ "name": name, "image": image(name, version) }] } },
        },
        "status": { "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "readyReplicas": 1 },
    }))
}

/// `end`: exit code and last line of a process that has ended.
fn pod(name: &str, version: &str, end: Option<(i32, &str)>) -> Arc<Pod> {
    let (state, last) = match end {
        None => (json!({ "running": {} }), json!({})),
        Some((code, line)) => (
            json!({ "waiting": { "reason": "CrashLoopBackOff" } }),
            json!({ "terminated": { "exitCode": code, "message": format!("first\n{line}") } }),
        ),
    };
    read(json!({
        "metadata": {
            "name": format!("{name}-{version}"),
            "labels": { "app": "gardener", "role": name },
            "annotations": { annotation::CLUSTER: "runtime" },
        },
        "spec": { "containers": [{ "name": name, "image": image(name, version) }] },
        "status": { "containerStatuses": [{
            "name": name, "ready": end.is_none(), "restartCount": i32::from(end.is_some()), "state": state,
            "lastState": last,
        }] },
    }))
}

/// Deployment of a component in the cluster of a Seed, with an image.
fn seed_deployment(name: &str, seed: &str, image: &str) -> Arc<Deployment> {
    let mut deployment = Arc::unwrap_or_clone(deployment(name, "v1.141.0", &json!({})));
    deployment.metadata.annotations.insert(annotation::CLUSTER.to_owned(), cluster::of_seed(seed));
    deployment.spec.template.spec.containers[0].image = image.to_owned();
    Arc::new(deployment)
}

/// One Seed that is at the version, and one for each reason.
#[test]
fn an_extension_names_the_seeds_that_hold_it_up() {
    let seed = |name: &str, gardenlet: Option<&str>, ready: &str| -> Arc<Seed> {
        let mut seed = json!({ "metadata": { "name": name }, "status": { "conditions": [
            { "type": "GardenletReady", "status": ready, "message": "Gardenlet stopped posting seed status." },
        ] } });
        if let Some(version) = gardenlet {
            seed["status"]["gardener"] = json!({ "id": "", "name": "", "version": version });
        }
        read(seed)
    };
    let gardenlet = |name: &str, conditions: Value| -> Arc<api::seedmanagement::Gardenlet> {
        read(json!({ "metadata": { "name": name, "namespace": "garden" }, "status": { "conditions": conditions } }))
    };
    let own = |version: &str| image("gardenlet", version);
    let deployments = [
        seed_deployment("gardenlet", "done", &own("v1.141.0")),
        seed_deployment("gardenlet", "foreign", "busybox:1"),
        seed_deployment("gardenlet", "new", &own("v1.141.0")),
        seed_deployment("gardenlet", "old", &own("v1.140.0")),
        seed_deployment("gardener-extension-provider-local", "lost", "local:v1.140.0"),
    ];
    let registered = |seed, version| Instance::owned(Component::Gardenlet, seed, version);
    let running = Landscape {
        instances: vec![registered("done", "v1.141.0"), registered("old", "v1.140.0")],
        ..Landscape::default()
    };
    let found = super::gardenlets::Gardenlets {
        running: &running,
        seeds: &[
            seed("old", Some("v1.140.0"), "True"),
            seed("done", Some("v1.141.0"), "True"),
            seed("foreign", None, "Unknown"),
        ],
        gardenlets: &[
            gardenlet("done", json!([])),
            gardenlet("new", json!([{ "type": "SeedRegistered", "status": "Progressing", "message": "Waiting" }])),
        ],
        deployments: &deployments,
        pods: &[],
    };
    let target = GardenerVersion::parse("1.141.0").expect("a version");
    let why = "Deployment gardener-extension-provider-local has image local:v1.140.0";
    let expected = [
        why,
        "Seed foreign: gardenlet does not run: its image busybox:1 is not one of this component, no gardenlet is registered, \
         gardenlet has not reconciled the Seed, GardenletReady is Unknown: Gardenlet stopped posting seed status",
        "Seed lost: there is no Deployment of gardenlet, no gardenlet is registered, gardenlet has not created the Seed",
        "Seed new: no gardenlet is registered, gardenlet has not created the Seed (Waiting)",
        &format!(
            "Seed old: Deployment gardenlet has image {}, gardenlet v1.140.0 is registered, gardenlet v1.140.0 has \
             reconciled the Seed last",
            own("v1.140.0")
        ),
    ];
    assert_eq!(found.explained(why.to_owned(), &target), expected.join("; "));
}

const LINE: &str = "Error: failed verifying Gardener version: too old [rule=C2, component=gardener-scheduler, \
                    version=v1.146.0, against=1.148.0]";

fn running(apiserver: &str) -> Landscape {
    Landscape { instances: vec![Instance::new(Component::Apiserver, apiserver)], ..Landscape::default() }
}

#[test]
fn a_component_that_crash_loops_is_not_at_its_version() {
    let target = GardenerVersion::parse("1.148.0").expect("a version");
    let name = "gardener-scheduler";
    let pods = [pod(name, "v1.148.0", None), pod(name, "v1.146.0", Some((3, LINE)))];
    let row = Row::of(&deployment(name, "v1.146.0", &json!({})), &pods);
    assert_eq!(row.runs, ["v1.148.0"], "what crash-loops does not run");
    assert_eq!(row.object()["rule"], "C2");
    assert_eq!(row.object()["exitCode"], 3);
    assert_eq!(row.object()["message"], LINE);
    let text = format!("gardener-scheduler v1.146.0 (runtime) does not start: {}", LINE.trim_start_matches("Error: "));
    let defect = |row: &Row, apiserver| row.defect(&target, &running(apiserver), Profile::Documents);
    assert_eq!(defect(&row, "1.148.0"), Some(Defect::Lasting(text.clone())));
    // The process starts as soon as the gardener-apiserver that refused it has ended.
    assert_eq!(defect(&row, "1.147.0"), Some(Defect::Passing(text)));
}

#[test]
fn pods_of_an_older_template_are_replaced_and_no_defect() {
    let name = "gardener-scheduler";
    let pods = [pod(name, "v1.148.0", None), pod(name, "v1.146.0", Some((3, LINE)))];
    let deployment = deployment(name, "v1.148.0", &json!({}));
    assert_eq!(crashes(std::slice::from_ref(&deployment), &pods), []);
    let row = Row::of(&deployment, &pods);
    assert_eq!((row.object()["rule"].clone(), row.runs), (json!(null), vec!["v1.148.0".to_owned()]));
}

#[test]
fn a_component_needs_every_instance_ready_at_the_version() {
    let target = GardenerVersion::parse("1.148.0").expect("a version");
    let name = "gardener-scheduler";
    let defect = |version: &str, annotations: &Value, pod: Arc<Pod>| {
        let row = Row::of(&deployment(name, version, annotations), &[pod]);
        row.defect(&target, &running("1.148.0"), Profile::Documents)
    };
    let none = json!({});
    assert_eq!(defect("v1.148.0", &none, pod(name, "v1.148.0", None)), None);
    assert_eq!(
        defect("v1.147.0", &none, pod(name, "v1.147.0", None)),
        Some(Defect::Lasting(
            "gardener-scheduler (runtime): its Deployment asks for v1.147.0, not v1.148.0".to_owned()
        ))
    );
    let pinned = json!({ annotation::COMPONENT_VERSION: "v1.147.0" });
    assert_eq!(defect("v1.147.0", &pinned, pod(name, "v1.147.0", None)), None, "it has releases of its own");
    let foreign = Row::of(&deployment("mine", "v1", &none), &[pod("mine", "v1", None)]);
    assert_eq!(foreign.defect(&target, &running("1.148.0"), Profile::Documents), None, "it is a user's");
    assert_eq!(
        defect("v1.148.0", &none, pod(name, "v1.147.0", None)),
        Some(Defect::Passing(
            "gardener-scheduler (runtime): pod gardener-scheduler-v1.147.0 of the old version has not ended".to_owned()
        ))
    );
    let ended = defect("v1.148.0", &none, pod(name, "v1.148.0", Some((1, "error: no"))));
    let text = "gardener-scheduler v1.148.0 (runtime) does not start: error: no";
    assert_eq!(ended, Some(Defect::Passing(text.to_owned())), "it may start the next time");
}

/// The old pod of a gardenlet continues to run while the new one, with another configuration, does not start.
#[test]
fn a_state_is_the_reason_from_the_first_crash_on() {
    let (name, line) = ("gardenlet", "error: unrecognized feature gate: Foo");
    let mut rolling = (*deployment(name, "v1.148.0", &json!({}))).clone();
    rolling.status.replicas = 2;
    let row = |crash| Row::of(&rolling, &[pod(name, "v1.148.0", None), pod(name, "v1.148.0", crash)]);
    assert_eq!(row(Some((1, line))).state, line);
    assert_eq!(row(Some((1, line))).silence(), None, "the old one answers");
    assert_eq!(row(None).state, "Deployment gardenlet: 1 of 1 updated, 1 available");
}

#[test]
fn a_component_that_is_not_started_is_a_lasting_defect() {
    let (target, name) = (GardenerVersion::parse("1.148.0").expect("a version"), "gardener-scheduler");
    let pods = [pod(name, "v1.148.0", None)];
    let with = |image: &str, replicas: i32| {
        let mut deployment = (*deployment(name, "v1.148.0", &json!({}))).clone();
        image.clone_into(&mut deployment.spec.template.spec.containers[0].image);
        deployment.spec.replicas = Some(replicas);
        Row::of(&deployment, &pods)
    };
    let joined = Landscape {
        instances: vec![Instance::new(Component::Apiserver, "1.148.0"), Instance::new(Component::Scheduler, "1.148.0")],
        ..Landscape::default()
    };
    for (image, replicas, state, joined_state) in [
        ("registry/gardener/scheduler:v1.148.0", 1, None, None),
        ("gardener/gcm:v1.148.0", 1, Some("its image gardener/gcm:v1.148.0 is not one of this component"), Some(())),
        (
            "gardener/gardenlet:v1.148.0",
            1,
            Some("its image gardener/gardenlet:v1.148.0 is not one of this component"),
            Some(()),
        ),
        ("gardener/scheduler", 1, Some("its image gardener/scheduler is not one of this component"), Some(())),
        ("gardener/scheduler:v1.148.0", 0, Some("its Deployment has 0 replicas"), None),
    ] {
        let row = with(image, replicas);
        assert_eq!(row.state, state.unwrap_or("ready"), "{image} {replicas}");
        let text = state.map(|state| format!("gardener-scheduler (runtime): {state}"));
        assert_eq!(row.absence(&running("1.148.0")), text, "{image} {replicas}");
        let defect = row.defect(&target, &running("1.148.0"), Profile::Documents);
        assert_eq!(defect, text.clone().map(Defect::Lasting), "{image} {replicas}");
        assert_eq!(row.absence(&joined), text.filter(|_| joined_state.is_some()), "{image} {replicas}, one joined");
    }
    let mine = Row::of(&deployment("mine", "v1", &json!({})), &[]);
    assert_eq!(mine.absence(&running("1.148.0")), None, "it is a user's");
}

#[test]
fn components_without_a_deployment_are_rows() {
    let seed = |name: &str, gardener: Value| -> Arc<Seed> {
        read(json!({ "metadata": { "name": name }, "status": { "gardener": gardener } }))
    };
    let seeds = [seed("a", json!({ "id": "i", "name": "n", "version": "v" })), seed("b", Value::Null)];
    let there = ["gardener-apiserver", "gardener-admission-controller", "gardener-controller-manager"];
    let there: Vec<Arc<Deployment>> = there.map(|name| deployment(name, "v1.148.0", &json!({}))).into();
    let found = |has_operator| {
        let rows = missing(&there, has_operator, &seeds, &[]);
        rows.iter().map(|row| row.cells().join(" ")).collect::<Vec<String>>()
    };
    let scheduler = "gardener-scheduler runtime - - 0/0 there is no Deployment of it";
    let gardenlet = "gardenlet seed--a - - 0/0 there is no Deployment of it";
    let operator = "gardener-operator runtime - - 0/0 there is no Deployment of it";
    assert_eq!(found(false), [scheduler, gardenlet]);
    assert_eq!(found(true), [operator, scheduler, gardenlet]);
    let target = GardenerVersion::parse("1.148.0").expect("a version");
    let defect = missing(&there, false, &[], &[])[0].defect(&target, &running("1.148.0"), Profile::Documents);
    let text = "gardener-scheduler (runtime): there is no Deployment of it";
    assert_eq!(defect, Some(Defect::Lasting(text.to_owned())));
}

/// One Gardenlet with a tag, and three by digest: one that never ran, one whose Seed has lost its Deployment, one that runs.
#[test]
fn a_gardenlet_whose_version_cannot_be_told_is_named() {
    let gardenlet = |name: &str, repository: Value| -> Arc<Gardenlet> {
        read(json!({
            "metadata": { "name": name, "namespace": "garden" },
            "spec": { "deployment": { "helm": { "ociRepository": repository } } },
        }))
    };
    let by_digest = |name| gardenlet(name, json!({ "repository": "r", "tag": "v1.141.0", "digest": "sha256:0" }));
    let gardenlets = [
        gardenlet("tagged", json!({ "repository": "r", "tag": "v1.140.0" })),
        by_digest("new"),
        by_digest("lost"),
        by_digest("old"),
    ];
    let gardener = json!({ "id": "i", "name": "n", "version": "v" });
    let lost: Arc<Seed> = read(json!({ "metadata": { "name": "lost" }, "status": { "gardener": gardener } }));
    let there = ["gardener-apiserver", "gardener-admission-controller", "gardener-controller-manager"];
    let mut there: Vec<Arc<Deployment>> = there.map(|name| deployment(name, "v1.141.0", &json!({}))).into();
    there.push(deployment("gardener-scheduler", "v1.141.0", &json!({})));
    there.push(seed_deployment("gardenlet", "old", &image("gardenlet", "v1.140.0")));
    let why = |name: &str| {
        format!(
            "Gardenlet garden/{name}: cannot tell the version of the chart \"r@sha256:0\": it has no tag, and there is no \
             annotation \"terrarium.dev/version\"; set `ref` or `tag` of spec.deployment.helm.ociRepository, without a digest"
        )
    };
    let target = GardenerVersion::parse("1.141.0").expect("a version");
    let running = running("1.141.0");
    let rows = missing(&there, false, &[lost], &gardenlets);
    let shown: Vec<String> = rows.iter().map(|row| row.cells().join(" ")).collect();
    assert_eq!(shown, ["lost", "new"].map(|name| format!("gardenlet seed--{name} - - 0/0 {}", why(name))));
    for (row, name) in rows.iter().zip(["lost", "new"]) {
        let text = format!("gardenlet (seed--{name}): {}", why(name));
        assert_eq!(row.absence(&running), Some(text.clone()));
        assert_eq!(row.defect(&target, &running, Profile::Documents), Some(Defect::Lasting(text)));
    }
    assert_eq!(gardenlets::undeployed_changes(&gardenlets, &there), [why("old")]);
}

#[test]
fn the_end_of_the_landscape_is_no_crash() {
    let name = "gardener-scheduler";
    let deployment = deployment(name, "v1.148.0", &json!({}));
    for (reason, message, expected) in
        [("Error", "error: no", 1), (domain::garden::rollout::UNOBSERVED, "the host before, process 7, was killed", 0)]
    {
        let mut pod = (*pod(name, "v1.148.0", Some((137, message)))).clone();
        let end = pod.status.container_statuses[0].last_state.terminated.as_mut().expect("an end");
        reason.clone_into(&mut end.reason);
        let found = crashes(std::slice::from_ref(&deployment), &[Arc::new(pod)]);
        assert_eq!(found.len(), expected, "{reason}");
    }
}

/// The old pod serves while the new one, which restarts at this instant, does not start.
#[test]
fn a_wait_ends_with_the_process_that_does_not_start() {
    let (target, name) = (GardenerVersion::parse("1.148.0").expect("a version"), "gardener-scheduler");
    let mut rolling = (*deployment(name, "v1.148.0", &json!({}))).clone();
    rolling.status.replicas = 2;
    let deployments = [Arc::new(rolling)];
    let waits = "Deployment gardener-scheduler: 1 of 1 updated, 1 available";
    let end = |crash: Option<(i32, &str)>, unanswered: Option<&str>| {
        let pods = [pod(name, "v1.147.0", None), pod(name, "v1.148.0", crash)];
        let why = obstacle(&deployments[0], &pods, &target).expect("it waits");
        given_up(why, &deployments, &pods, unanswered.map(str::to_owned))
    };
    assert_eq!(end(None, None), State::Waits(waits.to_owned()));
    assert_eq!(end(None, Some("it hangs")), State::Waits(format!("{waits}; it hangs")));
    let text = "gardener-scheduler v1.148.0 (runtime) does not start: error: no";
    assert_eq!(end(Some((1, "error: no")), None), State::Waits(format!("{waits}; {text}")));
    let State::Refused(refused) = end(Some((3, LINE)), None) else { panic!("a rule refused it") };
    assert!(refused.ends_with(LINE.trim_start_matches("Error: ")), "{refused}");
}

#[test]
fn a_component_that_only_waits_is_pending() {
    let name = "gardener-scheduler";
    let mut waiting = (*deployment(name, "v1.148.0", &json!({}))).clone();
    waiting.status.available_replicas = 0;
    let row = |pod| Row::of(&waiting, &[pod]);
    let text = "gardener-scheduler (runtime) does not run: Deployment gardener-scheduler: 1 of 1 updated, 0 available";
    let waits = row(pod(name, "v1.148.0", None));
    assert_eq!(waits.pending(&running("1.148.0")), Some(text.to_owned()));
    let joined = Landscape { instances: vec![Instance::new(Component::Scheduler, "1.148.0")], ..Landscape::default() };
    assert_eq!(waits.pending(&joined), None);
    assert_eq!(row(pod(name, "v1.148.0", Some((3, LINE)))).pending(&running("1.148.0")), None, "it fails");
}

#[test]
fn a_component_without_a_running_process_is_silent() {
    let name = "gardener-apiserver";
    let row = |pods: &[Arc<Pod>]| Row::of(&deployment(name, "v1.122.0", &json!({})), pods);
    let crashing = row(&[pod(name, "v1.122.0", Some((3, LINE)))]);
    let text = LINE.trim_start_matches("Error: ");
    assert_eq!(crashing.silence(), Some(format!("gardener-apiserver v1.122.0 (runtime) does not start: {text}")));
    let expected = "no instance of gardener-apiserver v1.122.0 (runtime) runs";
    assert_eq!(row(&[]).silence().as_deref(), Some(expected));
    assert_eq!(row(&[pod(name, "v1.122.0", None)]).silence(), None);
}
