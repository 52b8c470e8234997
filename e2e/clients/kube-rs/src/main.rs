// SPDX-License-Identifier: Apache-2.0
//! Requests of the Rust client `kube` to an API server; the cases are like its own ignored tests.
//!
//! usage: kube-rs-client GARDEN_KUBECONFIG SHOOT_KUBECONFIG
//!
//! Prints a line for each case: `ok<TAB>AREA<TAB>CASE`, or `failed<TAB>AREA<TAB>CASE<TAB>REASON`.

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams, entry::CommitError,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::discovery::{self, Discovery};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};

const SPACE: &str = "compat-kube-rs";
const PATIENCE: Duration = Duration::from_secs(300);

type Outcome = Result<(), Box<dyn Error>>;

async fn connect(path: &str) -> Result<Client, Box<dyn Error>> {
    let file = Kubeconfig::read_from(Path::new(path))?;
    Ok(Client::try_from(Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)?)
}

fn typed<T: for<'de> k8s_openapi::serde::Deserialize<'de>>(tree: Value) -> Result<T, Box<dyn Error>> {
    Ok(serde_json::from_value(tree)?)
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

fn ensure(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(what.to_owned().into()) }
}

struct World {
    garden: Client,
    shoot: Client,
}

impl World {
    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.shoot.clone(), SPACE)
    }

    async fn discovery_run(&self) -> Outcome {
        let found = Discovery::new(self.garden.clone()).run().await?;
        ensure(found.has_group("core.gardener.cloud") && found.has_group("apps"), "groups are missing")
    }

    async fn discovery_of_one(&self) -> Outcome {
        let kind = GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", "Shoot");
        let (resource, _) = discovery::pinned_kind(&self.garden, &kind).await?;
        ensure(resource.plural == "shoots", "the plural name is another")?;
        let group = discovery::group(&self.garden, "core.gardener.cloud").await?;
        let resources = group.versioned_resources("v1beta1");
        ensure(resources.iter().any(|(resource, _)| resource.kind == "Shoot"), "kind Shoot is missing")
    }

    async fn version(&self) -> Outcome {
        ensure(self.shoot.apiserver_version().await?.major == "1", "the major version is no 1")
    }

    async fn get_opt_handles_404(&self) -> Outcome {
        ensure(self.maps().get_opt("nobody").await?.is_none(), "it is there")
    }

    async fn create_replace_delete(&self) -> Outcome {
        let maps = self.maps();
        let mut made = maps.create(&PostParams::default(), &typed(config_map("a", "1"))?).await?;
        made.data.get_or_insert_default().insert("key".to_owned(), "2".to_owned());
        let replaced = maps.replace("a", &PostParams::default(), &made).await?;
        let stale = maps.replace("a", &PostParams::default(), &made).await;
        ensure(matches!(stale, Err(kube::Error::Api(status)) if status.code == 409), "a stale version is taken")?;
        ensure(replaced.data.as_ref().is_some_and(|data| data["key"] == "2"), "the value is another")?;
        maps.delete("a", &DeleteParams::default()).await?;
        self.get_opt_handles_404().await
    }

    async fn dry_run(&self) -> Outcome {
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        self.maps().create(&dry, &typed(config_map("dry", "1"))?).await?;
        ensure(self.maps().get_opt("dry").await?.is_none(), "it was stored")
    }

    async fn entry_creates_and_updates(&self) -> Outcome {
        let maps = self.maps();
        let params = PostParams::default();
        let mut entry = maps.entry("entry").await?.or_insert(|| ConfigMap {
            data: Some(BTreeMap::from([("key".to_owned(), "value".to_owned())])),
            ..ConfigMap::default()
        });
        entry.commit(&params).await?;
        entry.get_mut().data.get_or_insert_default().insert("key".to_owned(), "other".to_owned());
        entry.commit(&params).await?;
        let mut stale = maps.entry("entry").await?.or_insert(ConfigMap::default);
        maps.patch("entry", &PatchParams::default(), &Patch::Merge(json!({"data": {"key": "third"}}))).await?;
        stale.get_mut().data.get_or_insert_default().insert("key".to_owned(), "fourth".to_owned());
        let conflict = stale.commit(&params).await;
        ensure(
            matches!(conflict, Err(CommitError::Save(kube::Error::Api(status))) if status.code == 409),
            "no conflict",
        )
    }

    async fn patches(&self) -> Outcome {
        let maps = self.maps();
        let apply = PatchParams::apply("kube-rs").force();
        maps.patch("p", &apply, &Patch::Apply(config_map("p", "1"))).await?;
        maps.patch("p", &PatchParams::default(), &Patch::Strategic(json!({"data": {"more": "x"}}))).await?;
        let merged = maps.patch("p", &PatchParams::default(), &Patch::Merge(json!({"data": {"key": null}}))).await?;
        ensure(merged.data.is_some_and(|data| data.len() == 1 && data["more"] == "x"), "the data are others")?;
        let labelled = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": "b"}}});
        let metadata = maps.patch_metadata("p", &apply, &Patch::Apply(labelled)).await?;
        ensure(metadata.labels()["a"] == "b", "the label is missing")
    }

    async fn pages_and_selectors(&self) -> Outcome {
        let maps = self.maps();
        for number in 0..5 {
            let mut map: ConfigMap = typed(config_map(&format!("page-{number}"), "x"))?;
            map.labels_mut().insert("page".to_owned(), "yes".to_owned());
            maps.create(&PostParams::default(), &map).await?;
        }
        let mut params = ListParams::default().labels("page=yes").limit(2);
        let mut count = 0;
        loop {
            let page = maps.list_metadata(&params).await?;
            count += page.items.len();
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
        ensure(count == 5, "the pages do not hold 5")?;
        let removed =
            maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("page=yes")).await?;
        ensure(removed.left().is_none_or(|list| list.items.len() == 5), "another number was deleted")
    }

    async fn watches(&self) -> Outcome {
        let maps = self.maps();
        let from = maps.list(&ListParams::default()).await?.metadata.resource_version.unwrap_or_default();
        let mut events = pin!(maps.watch(&WatchParams::default().timeout(20), &from).await?);
        maps.create(&PostParams::default(), &typed(config_map("watched", "1"))?).await?;
        while let Some(event) = events.try_next().await? {
            if matches!(event, WatchEvent::Added(map) if map.name_any() == "watched") {
                return Ok(());
            }
        }
        Err("the watch ended without it".into())
    }

    async fn watcher_of(&self, config: watcher::Config) -> Outcome {
        let mut events = pin!(watcher(self.maps(), config));
        while let Some(event) = events.try_next().await? {
            if let watcher::Event::InitDone = event {
                return Ok(());
            }
        }
        Err("it never was in sync".into())
    }

    async fn defines_a_kind(&self) -> Outcome {
        let definitions = Api::<CustomResourceDefinition>::all(self.shoot.clone());
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"name": {"type": "string"}, "replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"isBad": {"type": "boolean"}, "replicas": {"type": "integer"}}},
        }});
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            }},
        });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.kube-rs.example.com"},
            "spec": {
                "group": "kube-rs.example.com", "scope": "Namespaced", "versions": [version],
                "names": {"plural": "foos", "singular": "foo", "kind": "Foo"},
            },
        });
        let apply = PatchParams::apply("kube-rs").force();
        definitions.patch("foos.kube-rs.example.com", &apply, &Patch::Apply(definition)).await?;
        let established =
            await_condition(definitions.clone(), "foos.kube-rs.example.com", conditions::is_crd_established());
        tokio::time::timeout(PATIENCE, established).await??;
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("kube-rs.example.com", "v1", "Foo"), "foos");
        let foos = Api::<DynamicObject>::namespaced_with(self.shoot.clone(), SPACE, &resource);
        let foo = json!({
            "apiVersion": "kube-rs.example.com/v1", "kind": "Foo", "metadata": {"name": "baz"},
            "spec": {"name": "baz", "replicas": 1},
        });
        foos.patch("baz", &apply, &Patch::Apply(foo)).await?;
        let bad = json!({"status": {"isBad": true}});
        let shown = foos.patch_status("baz", &PatchParams::default(), &Patch::Merge(bad)).await?;
        ensure(shown.data["status"]["isBad"] == true, "the status is another")?;
        let wanted = json!({"spec": {"replicas": 2}});
        foos.patch_scale("baz", &PatchParams::default(), &Patch::Merge(wanted)).await?;
        ensure(foos.get_scale("baz").await?.spec.and_then(|spec| spec.replicas) == Some(2), "the scale is another")?;
        definitions.delete("foos.kube-rs.example.com", &DeleteParams::default()).await?;
        Ok(())
    }

    async fn a_pod_can_await_conditions(&self) -> Outcome {
        let pods = Api::<Pod>::namespaced(self.shoot.clone(), SPACE);
        let spec = json!({"containers": [{"name": "busybox", "image": "busybox:1.34.1"}]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "busybox"}, "spec": spec});
        pods.create(&PostParams::default(), &typed(pod)?).await?;
        let running = await_condition(pods.clone(), "busybox", conditions::is_pod_running());
        let pod = tokio::time::timeout(PATIENCE, running).await??.ok_or("there is no pod")?;
        pods.delete("busybox", &DeleteParams::default()).await?;
        let uid = pod.uid().ok_or("the pod has no uid")?;
        let deleted = await_condition(pods, "busybox", conditions::is_deleted(&uid));
        tokio::time::timeout(PATIENCE, deleted).await??;
        Ok(())
    }

    async fn a_deployment_becomes_available(&self) -> Outcome {
        let deployments = Api::<Deployment>::namespaced(self.shoot.clone(), SPACE);
        let template = json!({
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]},
        });
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        });
        deployments.create(&PostParams::default(), &typed(deployment)?).await?;
        let done = await_condition(deployments.clone(), "web", conditions::is_deployment_completed());
        tokio::time::timeout(PATIENCE, done).await??;
        let scaled = json!({"spec": {"replicas": 1}});
        deployments.patch_scale("web", &PatchParams::default(), &Patch::Merge(scaled)).await?;
        deployments.restart("web").await?;
        Ok(())
    }

    async fn writes_events(&self) -> Outcome {
        let services = Api::<Service>::namespaced(self.shoot.clone(), "default");
        let about = services.get("kubernetes").await?;
        let reference = k8s_openapi::api::core::v1::ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Service".to_owned()),
            name: Some(about.name_any()),
            namespace: about.namespace(),
            uid: about.uid(),
            ..Default::default()
        };
        let recorder = Recorder::new(self.shoot.clone(), Reporter::from("kube-rs"));
        let event = |note: &str| Event {
            type_: EventType::Normal,
            reason: "VeryCoolService".to_owned(),
            note: Some(note.to_owned()),
            action: "BeCool".to_owned(),
            secondary: None,
        };
        recorder.publish(&event("Sending kubernetes to detention"), &reference).await?;
        // The same event once more makes a series.
        recorder.publish(&event("Sending kubernetes to detention twice"), &reference).await?;
        let events = Api::<k8s_openapi::api::events::v1::Event>::namespaced(self.shoot.clone(), "default");
        let found = events.list(&ListParams::default()).await?;
        let ours = found.items.iter().find(|event| event.reason.as_deref() == Some("VeryCoolService"));
        ensure(
            ours.is_some_and(|event| event.series.as_ref().is_some_and(|series| series.count == 2)),
            "no series of 2",
        )
    }

    async fn asks_for_a_certificate(&self) -> Outcome {
        let requests = Api::<CertificateSigningRequest>::all(self.shoot.clone());
        let body = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "kube-rs"},
            "spec": {
                "request": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
                "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
            },
        });
        requests.create(&PostParams::default(), &typed(body)?).await?;
        let approved = json!({"status": {"conditions": [{
            "type": "Approved", "reason": "ApprovedByKubeRs", "message": "Approved.", "status": "True",
        }]}});
        let answer = requests.patch_approval("kube-rs", &PatchParams::default(), &Patch::Merge(approved)).await?;
        let conditions = answer.status.and_then(|status| status.conditions).unwrap_or_default();
        requests.delete("kube-rs", &DeleteParams::default()).await?;
        ensure(conditions.iter().any(|condition| condition.type_ == "Approved"), "it is not approved")
    }

    async fn asks_what_it_may(&self) -> Outcome {
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "metadata": {},
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": SPACE}},
        });
        let answer = Api::<SelfSubjectAccessReview>::all(self.shoot.clone())
            .create(&PostParams::default(), &typed(review)?)
            .await?;
        ensure(answer.status.is_some_and(|status| status.allowed), "it is not allowed")
    }

    /// A gardenlet renews its Lease: every renewal arrives at a watcher, which lists first.
    async fn sees_renewals_of_a_lease(&self) -> Outcome {
        let leases = Api::<Lease>::namespaced(self.garden.clone(), "gardener-system-seed-lease");
        let mut events = pin!(watcher(leases, watcher::Config::default()));
        let mut renewals = Vec::new();
        while renewals.len() < 3 {
            let event = events.try_next().await?.ok_or("the watcher has ended")?;
            if let watcher::Event::Apply(lease) = event {
                renewals.extend(lease.spec.and_then(|spec| spec.renew_time));
            }
        }
        ensure(renewals.is_sorted(), "a renewal is older than the one before")
    }

    async fn reads_and_labels_a_shoot(&self) -> Outcome {
        let kind = GroupVersionKind::gvk("core.gardener.cloud", "v1beta1", "Shoot");
        let resource = ApiResource::from_gvk(&kind);
        let shoots = Api::<DynamicObject>::namespaced_with(self.garden.clone(), "garden-demo", &resource);
        let label = json!({"metadata": {"labels": {"kube-rs": "was-here"}}});
        shoots.patch("local", &PatchParams::default(), &Patch::Merge(label)).await?;
        let found = shoots.list(&ListParams::default().labels("kube-rs=was-here")).await?;
        ensure(found.items.len() == 1, "the Shoot is not found")
    }
}

async fn case(area: &str, name: &str, outcome: impl Future<Output = Outcome>) {
    let limited = tokio::time::timeout(2 * PATIENCE, outcome).await;
    match limited.unwrap_or_else(|_| Err("it takes too long".into())) {
        Ok(()) => println!("ok\t{area}\t{name}"),
        Err(error) => println!("failed\t{area}\t{name}\t{}", error.to_string().replace(['\n', '\t'], " ")),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let (Some(garden), Some(shoot)) = (arguments.next(), arguments.next()) else {
        return Err("usage: kube-rs-client GARDEN_KUBECONFIG SHOOT_KUBECONFIG".into());
    };
    let world = World { garden: connect(&garden).await?, shoot: connect(&shoot).await? };
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}});
    Api::<Namespace>::all(world.shoot.clone()).create(&PostParams::default(), &typed(space)?).await?;
    case("discovery", "version", world.version()).await;
    case("discovery", "run", world.discovery_run()).await;
    case("discovery", "group, pinned_kind", world.discovery_of_one()).await;
    case("read", "get_opt handles 404", world.get_opt_handles_404()).await;
    case("change", "create, replace, delete", world.create_replace_delete()).await;
    case("change", "dry run", world.dry_run()).await;
    case("change", "entry", world.entry_creates_and_updates()).await;
    case("change", "patches", world.patches()).await;
    case("read", "pages, selectors, deletecollection", world.pages_and_selectors()).await;
    case("watch", "watch", world.watches()).await;
    case("watch", "watcher", world.watcher_of(watcher::Config::default())).await;
    case("watch", "watcher, streaming lists", world.watcher_of(watcher::Config::default().streaming_lists())).await;
    case("watch", "renewals of a gardenlet's Lease", world.sees_renewals_of_a_lease()).await;
    case("own kinds", "define, apply, status, scale", world.defines_a_kind()).await;
    case("workload", "await a pod", world.a_pod_can_await_conditions()).await;
    case("workload", "await a Deployment, scale, restart", world.a_deployment_becomes_available()).await;
    case("workload", "recorder", world.writes_events()).await;
    case("access", "certificate", world.asks_for_a_certificate()).await;
    case("access", "can-i", world.asks_what_it_may()).await;
    case("change", "read and label a Shoot", world.reads_and_labels_a_shoot()).await;
    Ok(())
}
