# SPDX-License-Identifier: Apache-2.0
"""Requests of the Python client `kubernetes` to an API server.

usage: kubernetes_client.py GARDEN_KUBECONFIG SHOOT_KUBECONFIG

Prints a line for each case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.
"""

import sys
import tempfile
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client import ApiException

GARDEN, SHOOT = sys.argv[1:3]
SPACE = "compat-python"
CASES = []


def case(area, name):
    def add(function):
        CASES.append((area, name, function))
        return function

    return add


def refused(code, function, *words, **options):
    try:
        function(*words, **options)
    except ApiException as error:
        assert error.status == code, f"{error.status} instead of {code}: {error.body}"
        return error
    raise AssertionError(f"was not refused with {code}")


def connect(path):
    settings = client.Configuration()
    config.load_kube_config(config_file=path, client_configuration=settings)
    return client.ApiClient(settings)


shoot, garden = connect(SHOOT), connect(GARDEN)
core, apps, custom = client.CoreV1Api(shoot), client.AppsV1Api(shoot), client.CustomObjectsApi(garden)
batch, rbac, leases = client.BatchV1Api(shoot), client.RbacAuthorizationV1Api(shoot), client.CoordinationV1Api(shoot)


def config_map(name, **data):
    return {"metadata": {"name": name, "labels": {"app": "x"}}, "data": data}


@case("discovery", "version")
def _():
    assert client.VersionApi(shoot).get_code().git_version.startswith("v1.")


@case("discovery", "groups and resources")
def _():
    groups = {group.name for group in client.ApisApi(garden).get_api_versions().groups}
    assert {"apps", "core.gardener.cloud"} <= groups, groups
    assert any(one.name == "pods/status" for one in client.CoreV1Api(shoot).get_api_resources().resources)


@case("discovery", "dynamic client")
def _():
    found = dynamic.DynamicClient(garden).resources.get(api_version="core.gardener.cloud/v1beta1", kind="Shoot")
    assert found.get(namespace="garden-demo").items[0].metadata.name == "local"


@case("create", "namespace, config maps, secret")
def _():
    core.create_namespace({"metadata": {"name": SPACE}})
    for number in range(5):
        core.create_namespaced_config_map(SPACE, config_map(f"c{number}", k="v"))
    secret = core.create_namespaced_secret(SPACE, {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert secret.data == {"a": "Yg=="} and secret.type == "Opaque", secret


@case("create", "what exists")
def _():
    assert "already exists" in refused(409, core.create_namespaced_config_map, SPACE, config_map("c1")).body


@case("create", "generated name, dry run")
def _():
    body = {"metadata": {"generateName": "gen-"}}
    made = core.create_namespaced_config_map(SPACE, body, dry_run="All")
    assert made.metadata.name.startswith("gen-") and made.metadata.resource_version is None, made.metadata


@case("create", "from files")
def _():
    manifest = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "ConfigMap", **config_map("f1")},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "f2"}, "spec": {"ports": [{"port": 80}]}},
        ],
    }
    utils.create_from_dict(shoot, manifest, namespace=SPACE)
    assert core.read_namespaced_service("f2", SPACE).spec.cluster_ip


@case("field validation", "strict")
def _():
    body = {**config_map("bad"), "bogus": 1}
    things = dynamic.DynamicClient(shoot).resources.get(api_version="v1", kind="ConfigMap")
    try:
        things.create(body=body, namespace=SPACE, query_params=[("fieldValidation", "Strict")])
        raise AssertionError("was not refused")
    except dynamic.exceptions.BadRequestError as error:
        assert 'unknown field \\"bogus\\"' in str(error.body), error.body


@case("read", "lists, pages, selectors")
def _():
    names = [one.metadata.name for one in core.list_namespaced_config_map(SPACE, label_selector="app in (x)").items]
    assert {"c0", "c4"} <= set(names), names
    first = core.list_namespaced_config_map(SPACE, limit=2)
    assert len(first.items) == 2 and first.metadata.remaining_item_count, first.metadata
    second = core.list_namespaced_config_map(SPACE, limit=2, _continue=first.metadata._continue)
    assert second.metadata.resource_version == first.metadata.resource_version
    one = core.list_namespaced_config_map(SPACE, field_selector="metadata.name=c1")
    assert [item.metadata.name for item in one.items] == ["c1"]
    refused(400, core.list_namespaced_config_map, SPACE, label_selector="a in")
    refused(400, core.list_namespaced_config_map, SPACE, _continue="nonsense")


@case("read", "nodes, pods, events")
def _():
    assert core.list_node().items and core.list_pod_for_all_namespaces().items
    core.list_event_for_all_namespaces()


@case("read", "not found")
def _():
    assert '"reason":"NotFound"' in refused(404, core.read_namespaced_config_map, "nope", SPACE).body


@case("watch", "changes from a version on")
def _():
    start = core.list_namespaced_config_map(SPACE).metadata.resource_version
    core.create_namespaced_config_map(SPACE, config_map("w"))
    core.patch_namespaced_config_map("w", SPACE, {"data": {"a": "1"}})
    core.delete_namespaced_config_map("w", SPACE)
    types = []
    stream = watch.Watch()
    for event in stream.stream(core.list_namespaced_config_map, SPACE, resource_version=start, timeout_seconds=10):
        types.append(event["type"])
        if len(types) == 3:
            stream.stop()
    assert types == ["ADDED", "MODIFIED", "DELETED"], types


@case("watch", "a selector's transitions")
def _():
    start = core.list_namespaced_config_map(SPACE).metadata.resource_version
    core.create_namespaced_config_map(SPACE, config_map("t"))
    core.patch_namespaced_config_map("t", SPACE, {"metadata": {"labels": {"app": "y"}}})
    stream, types = watch.Watch(), []
    options = {"resource_version": start, "timeout_seconds": 10, "label_selector": "app=x"}
    for event in stream.stream(core.list_namespaced_config_map, SPACE, **options):
        types.append(event["type"])
        if len(types) == 2:
            stream.stop()
    assert types == ["ADDED", "DELETED"], types


@case("watch", "informer")
def _():
    from kubernetes.informer import SharedInformer

    seen = []
    informer = SharedInformer(list_func=core.list_namespaced_config_map, namespace=SPACE)
    informer.add_event_handler("ADDED", lambda one: seen.append(one))
    informer.start()
    try:
        until = time.monotonic() + 10
        while len(seen) < 5 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(seen) >= 5, seen
    finally:
        informer.stop()


@case("change", "replace, conflict")
def _():
    one = core.read_namespaced_config_map("c1", SPACE)
    one.data = {"k": "new"}
    core.replace_namespaced_config_map("c1", SPACE, one)
    assert '"reason":"Conflict"' in refused(409, core.replace_namespaced_config_map, "c1", SPACE, one).body


@case("change", "patches")
def _():
    operations = [{"op": "replace", "path": "/data/k", "value": "z"}]
    assert core.patch_namespaced_config_map("c2", SPACE, operations).data == {"k": "z"}
    assert core.patch_namespaced_config_map("c2", SPACE, {"data": {"k": None}}).data is None
    refused(422, core.patch_namespaced_config_map, "c2", SPACE, [{"op": "remove", "path": "/data/nope"}])


@case("change", "Gardener's kinds by CustomObjectsApi")
def _():
    place = ("core.gardener.cloud", "v1beta1", "garden-demo", "shoots", "local")
    assert custom.patch_namespaced_custom_object(*place, {"metadata": {"labels": {"python": "y"}}})
    shown = custom.get_namespaced_custom_object_status(*place)
    assert shown["metadata"]["labels"]["python"] == "y"


@case("server-side apply", "apply, conflict, force")
def _():
    things = dynamic.DynamicClient(shoot).resources.get(api_version="v1", kind="ConfigMap")
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ssa"}, "data": {"a": "1"}}
    things.server_side_apply(body=body, namespace=SPACE, field_manager="one")
    body["data"]["a"] = "2"
    try:
        things.server_side_apply(body=body, namespace=SPACE, field_manager="two")
        raise AssertionError("no conflict")
    except dynamic.exceptions.ConflictError:
        pass
    applied = things.server_side_apply(body=body, namespace=SPACE, field_manager="two", force_conflicts=True)
    assert applied.data.a == "2"


@case("workload", "deployment, scale, status")
def _():
    template = {"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "d"}}, "template": template}
    made = apps.create_namespaced_deployment(SPACE, {"metadata": {"name": "d"}, "spec": spec})
    assert made.metadata.generation == 1 and made.spec.strategy.type == "RollingUpdate"
    assert made.status is not None, "no status"

    def ready():
        return apps.read_namespaced_deployment_status("d", SPACE).status.ready_replicas or 0

    apps.patch_namespaced_deployment_scale("d", SPACE, {"spec": {"replicas": 2}})
    until = time.monotonic() + 30
    while ready() < 2:
        assert time.monotonic() < until, "not ready"
        time.sleep(0.1)
    assert apps.read_namespaced_deployment_scale("d", SPACE).spec.replicas == 2


@case("workload", "daemon set, replication controller, job, cron job")
def _():
    template = {"metadata": {"labels": {"a": "e"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "e"}}, "template": template}
    apps.create_namespaced_daemon_set(SPACE, {"metadata": {"name": "e"}, "spec": spec})
    core.create_namespaced_replication_controller(
        SPACE, {"metadata": {"name": "e"}, "spec": {"replicas": 1, "selector": {"a": "e"}, "template": template}}
    )
    job = {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
    batch.create_namespaced_job(SPACE, {"metadata": {"name": "e"}, "spec": job})
    batch.create_namespaced_cron_job(
        SPACE, {"metadata": {"name": "e"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": job}}}
    )


@case("workload", "logs")
def _():
    pods = core.list_namespaced_pod(SPACE).items
    core.read_namespaced_pod_log(pods[0].metadata.name, SPACE)


@case("access", "reviews, roles, token")
def _():
    access = client.AuthorizationV1Api(shoot)
    attributes = {"verb": "get", "resource": "pods", "namespace": SPACE}
    assert access.create_self_subject_access_review({"spec": {"resourceAttributes": attributes}}).status.allowed
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    rbac.create_namespaced_role(SPACE, {"metadata": {"name": "r"}, "rules": rules})
    core.create_namespaced_service_account(SPACE, {"metadata": {"name": "robot"}})
    token = core.create_namespaced_service_account_token("robot", SPACE, {"spec": {}}).status.token
    settings = client.Configuration()
    settings.host, settings.ssl_ca_cert = shoot.configuration.host, shoot.configuration.ssl_ca_cert
    settings.api_key, settings.api_key_prefix = {"authorization": token}, {"authorization": "Bearer"}
    robot = client.CoreV1Api(client.ApiClient(settings))
    refused(403, robot.list_namespaced_config_map, SPACE)
    who = client.AuthenticationV1Api(shoot).create_self_subject_review({}).status.user_info
    assert "system:authenticated" in who.groups, who


@case("access", "leader election")
def _():
    lease = {"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05.123456Z"}}
    made = leases.create_namespaced_lease(SPACE, lease)
    assert made.spec.renew_time.microsecond == 123456
    made.spec.holder_identity = "b"
    leases.replace_namespaced_lease("leader", SPACE, made)
    refused(409, leases.replace_namespaced_lease, "leader", SPACE, made)


@case("watch", "renewals of a gardenlet's Lease, from the version of a list")
def _():
    space, renewals = "gardener-system-seed-lease", []
    gardenlets = client.CoordinationV1Api(garden)
    version = gardenlets.list_namespaced_lease(space).metadata.resource_version
    events = watch.Watch().stream(gardenlets.list_namespaced_lease, space, resource_version=version, timeout_seconds=300)
    for event in events:
        assert event["type"] == "MODIFIED", event
        renewals.append(event["object"].spec.renew_time)
        if len(renewals) == 3:
            break
    assert len(renewals) == 3 and sorted(renewals) == renewals, renewals


@case("own kinds", "definition, object, schema")
def _():
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    spec = {
        "group": "python.example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    definitions = client.ApiextensionsV1Api(shoot)
    definitions.create_custom_resource_definition({"metadata": {"name": "things.python.example.com"}, "spec": spec})
    things, place = client.CustomObjectsApi(shoot), ("python.example.com", "v1", SPACE, "things")
    body = {"apiVersion": "python.example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1}}
    things.create_namespaced_custom_object(*place, body)
    body = {**body, "metadata": {"name": "u"}, "spec": {"size": "x"}}
    refused(422, things.create_namespaced_custom_object, *place, body)
    definitions.delete_custom_resource_definition("things.python.example.com")


@case("delete", "preconditions, collection, namespace")
def _():
    refused(409, core.delete_namespaced_config_map, "c1", SPACE, body={"preconditions": {"uid": "other"}})
    core.delete_namespaced_config_map("c1", SPACE, propagation_policy="Foreground")
    core.delete_collection_namespaced_config_map(SPACE, label_selector="app=x")
    assert not core.list_namespaced_config_map(SPACE, label_selector="app=x").items
    core.delete_namespace(SPACE)


for area, name, function in CASES:
    try:
        function()
        print("ok", area, name, sep="\t", flush=True)
    except Exception as error:  # whatever it is, it is the result of the case
        reason = f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " ")
        print("failed", area, name, reason[:300], sep="\t", flush=True)
