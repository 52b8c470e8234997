# SPDX-License-Identifier: Apache-2.0
"""Requests of the Python client `kr8s` to an API server.

usage: kr8s_client.py GARDEN_KUBECONFIG SHOOT_KUBECONFIG

Prints a line for each case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.
"""

import sys

import kr8s
from kr8s.objects import ConfigMap, Deployment, Namespace, Pod, Secret, new_class

GARDEN, SHOOT = sys.argv[1:3]
SPACE = "compat-kr8s"
shoot, garden = kr8s.api(kubeconfig=SHOOT), kr8s.api(kubeconfig=GARDEN)


def config_map(name, **data):
    return ConfigMap({"metadata": {"name": name, "namespace": SPACE, "labels": {"app": "x"}}, "data": data}, api=shoot)


def discovery():
    assert shoot.version()["gitVersion"].startswith("v1.")
    assert any(one["kind"] == "Shoot" for one in garden.api_resources())
    assert "core.gardener.cloud/v1beta1" in list(garden.api_versions())


def create():
    Namespace({"metadata": {"name": SPACE}}, api=shoot).create()
    for number in range(3):
        config_map(f"c{number}", k="v").create()
    Secret({"metadata": {"name": "s", "namespace": SPACE}, "stringData": {"a": "b"}}, api=shoot).create()


def read():
    names = [one.name for one in shoot.get("configmaps", namespace=SPACE, label_selector={"app": "x"})]
    assert names == ["c0", "c1", "c2"], names
    one = list(shoot.get("configmaps", namespace=SPACE, field_selector="metadata.name=c1"))
    assert len(one) == 1 and one[0].exists()
    assert not config_map("nope").exists()
    assert list(shoot.get("nodes")) and list(shoot.get("pods", namespace=kr8s.ALL))
    shoots = new_class(kind="Shoot", version="core.gardener.cloud/v1beta1", namespaced=True)
    assert shoots.get("local", namespace="garden-demo", api=garden).spec.region == "local"


def change():
    one = ConfigMap.get("c1", namespace=SPACE, api=shoot)
    one.patch({"data": {"k": "w"}})
    one.label({"a": "b"})
    one.annotate({"a": "b"})
    one.refresh()
    assert one.data.k == "w" and one.labels["a"] == "b" and one.annotations["a"] == "b"
    one.patch([{"op": "replace", "path": "/data/k", "value": "z"}], type="json")
    assert one.data.k == "z"


def watch():
    types = []
    for type_, _ in shoot.watch("configmaps", namespace=SPACE, label_selector={"app": "x"}):
        types.append(type_)
        if len(types) == 3:
            break
    assert types == ["ADDED"] * 3, types


def workload():
    template = {"metadata": {"labels": {"a": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "d"}}, "template": template}
    one = Deployment({"metadata": {"name": "d", "namespace": SPACE}, "spec": spec}, api=shoot)
    one.create()
    one.wait("condition=Available", timeout=300)
    one.scale(2)
    assert one.replicas == 2
    pod = Pod({"metadata": {"name": "p", "namespace": SPACE}, "spec": template["spec"]}, api=shoot)
    pod.create()
    pod.wait("condition=Ready", timeout=300)
    assert pod.ready()
    pod.delete()
    pod.wait("delete", timeout=300)


def access():
    assert garden.whoami() == "admin"


def delete():
    config_map("c1").delete(propagation_policy="Foreground")
    config_map("c1").wait("delete", timeout=300)
    Namespace({"metadata": {"name": SPACE}}, api=shoot).delete()


for area, function in [
    ("discovery", discovery),
    ("create", create),
    ("read", read),
    ("change", change),
    ("watch", watch),
    ("workload", workload),
    ("access", access),
    ("delete", delete),
]:
    try:
        function()
        print("ok", area, "all", sep="\t", flush=True)
    except Exception as error:  # whatever it is, it is the result of the case
        reason = f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " ")
        print("failed", area, "all", reason[:300], sep="\t", flush=True)
