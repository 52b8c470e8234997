# SPDX-License-Identifier: Apache-2.0
"""An independent client: watches Shoots over HTTPS and acts on each maintenance.

usage: shoots.py GARDEN RUNTIME [--annotate]

GARDEN and RUNTIME are files with the output of `kubectl config view --raw --minify -o json` for the two clusters. Prints
{"ready": true}, and then a line {"shoot", "now"} for every maintenance of a Shoot, which is when it gets tasks; with
--annotate it counts the maintenances in an annotation of the Shoot first. `now` is landscape time after that. Ends when
its standard input does. Requires only Python's standard library.
"""

import base64
import http.client
import json
import os
import ssl
import sys
import tempfile
import threading
import urllib.parse

SHOOTS = "/apis/core.gardener.cloud/v1beta1/shoots"
CLOCK = "/apis/terrarium.dev/v1alpha1/clocks/landscape"
TASKS = "shoot.gardener.cloud/tasks"
COUNT = "client.example/maintained"


class Server:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        url = urllib.parse.urlsplit(cluster["server"])
        self.host, self.port, self.prefix = url.hostname, url.port, url.path
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]))
            pair.write(base64.b64decode(user["client-key-data"]))
            pair.flush()
            self.context.load_cert_chain(pair.name)
        self.requests = self.connect()

    def connect(self):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context)

    def call(self, method, path, body=None):
        headers = {"Content-Type": "application/merge-patch+json"} if body else {}
        self.requests.request(method, path, body and json.dumps(body), headers)
        response = self.requests.getresponse()
        text = response.read().decode()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text}")
        return json.loads(text)

    def watch(self, path):
        connection = self.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {response.read().decode()}")
        return response


def name(shoot):
    return f"{shoot['metadata']['namespace']}/{shoot['metadata']['name']}"


def annotation(shoot, key):
    return shoot["metadata"].get("annotations", {}).get(key)


def follow(server, runtime, annotates):
    shoots = server.call("GET", server.prefix + SHOOTS)
    has_tasks = {name(shoot): annotation(shoot, TASKS) for shoot in shoots["items"]}
    version = shoots["metadata"]["resourceVersion"]
    frames = server.watch(f"{server.prefix}{SHOOTS}?watch=1&resourceVersion={version}")
    print(json.dumps({"ready": True}), flush=True)
    count = {}
    for frame in frames:
        event = json.loads(frame)
        shoot = event["object"]
        if event["type"] == "ERROR":
            raise RuntimeError(f"watch: {shoot}")
        had_tasks, has_tasks[name(shoot)] = has_tasks.get(name(shoot)), annotation(shoot, TASKS)
        if had_tasks or not has_tasks[name(shoot)]:
            continue
        told = {"shoot": name(shoot)}
        if annotates:
            count[name(shoot)] = count.get(name(shoot), 0) + 1
            namespaced = f"/namespaces/{shoot['metadata']['namespace']}/shoots"
            path = server.prefix + SHOOTS.replace("/shoots", namespaced) + "/" + shoot["metadata"]["name"]
            server.call("PATCH", path, {"metadata": {"annotations": {COUNT: str(count[name(shoot)])}}})
        told["now"] = runtime.call("GET", runtime.prefix + CLOCK)["status"]["now"]
        print(json.dumps(told), flush=True)


def run():
    try:
        follow(Server(sys.argv[1]), Server(sys.argv[2]), "--annotate" in sys.argv[3:])
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    # A thread cannot end the process in another way.
    os._exit(1)


threading.Thread(target=run, daemon=True).start()
sys.stdin.read()
