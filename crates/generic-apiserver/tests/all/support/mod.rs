// SPDX-License-Identifier: Apache-2.0
//! A server with two kinds on a memory log, and raw requests into it.

pub(crate) mod wire;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use apimachinery::catalogue::{Cell, Column, ResourceInfo};
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;
use apimachinery::schema::{Field, Node, ObjectRef, ObjectSchema, Schema};
use apimachinery::wire::api_type;
use apimachinery::{DynamicObject, Resource};
use bytes::Bytes;
use clock::{Clock, Random, SimulatedClock};
use eventlog::{EventLog, MemoryLog, Revision};
use generic_apiserver::{Builder, FixedClusters, Foundation, RequestContext, Server, Strategy};
use http_body_util::BodyExt;
use process::transport::full;
use process::{Body, User};
use serde_json::{Value, json};

/// A typed kind with a status.
#[api_type(no_schema)]
pub(crate) struct Widget {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: WidgetSpec,
    pub(crate) status: WidgetStatus,
}

#[api_type(no_schema)]
pub(crate) struct WidgetSpec {
    #[schema(always)]
    pub(crate) size: i64,
    pub(crate) color: String,
    pub(crate) parts: Vec<String>,
}

#[api_type(no_schema)]
pub(crate) struct WidgetStatus {
    pub(crate) phase: String,
    pub(crate) heartbeat: String,
}

macro_rules! schema {
    ($type:ty, $name:literal, $($field:ident: $node:expr),*) => {
        impl Schema for $type {
            fn node() -> Node {
                fn object() -> &'static ObjectSchema {
                    static SCHEMA: OnceLock<ObjectSchema> = OnceLock::new();
                    SCHEMA.get_or_init(|| ObjectSchema {
                        name: $name,
                        package: "example.com",
                        description: "",
                        fields: vec![$(Field::new(stringify!($field), $node)),*],
                    })
                }
                Node::Object(ObjectRef::Static(object))
            }

            fn differing_fields(&self, other: &Self) -> Option<Vec<&'static str>> {
                let fields = [$((stringify!($field), self.$field != other.$field)),*];
                Some(fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect())
            }
        }
    };
}

schema!(WidgetSpec, "WidgetSpec", size: i64::node(), color: Node::String, parts: Node::List(Box::new(Node::String)));
schema!(WidgetStatus, "WidgetStatus", phase: Node::String, heartbeat: Node::String);
schema!(Widget, "Widget", metadata: ObjectMeta::node(), spec: WidgetSpec::node(), status: WidgetStatus::node());

impl Resource for Widget {
    const GROUP: &'static str = "example.com";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Widget";
    const PLURAL: &'static str = "widgets";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

pub(crate) struct WidgetStrategy;

impl Strategy<Widget> for WidgetStrategy {
    fn default(&self, widget: &mut Widget) {
        if widget.spec.color.is_empty() {
            "grey".clone_into(&mut widget.spec.color);
        }
    }

    fn validate_create(&self, widget: &Widget, _: &RequestContext) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if widget.spec.size < 0 {
            let path = Path::new("spec").child("size");
            errors.push(FieldError::invalid(&path, widget.spec.size, "must be greater than or equal to 0"));
        }
        errors
    }

    fn validate_update(&self, widget: &Widget, _: &Widget, request: &RequestContext) -> Vec<FieldError> {
        self.validate_create(widget, request)
    }

    fn warnings(&self, widget: &Widget, _: Option<&Widget>, _: &RequestContext) -> Vec<String> {
        if widget.spec.color == "beige" { vec!["beige is \"deprecated\"".to_owned()] } else { Vec::new() }
    }
}

const COLUMNS: &[Column] = &[
    Column::new("Size", "integer", Cell::Path(".spec.size"), 0),
    Column::new("Age", "date", Cell::Path(".metadata.creationTimestamp"), 0),
];

pub(crate) fn widgets() -> ResourceInfo {
    ResourceInfo {
        group: "example.com",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        singular: "widget",
        short_names: &["wd"],
        categories: &["all"],
        namespaced: true,
        subresources: &["status", "scale"],
        columns: COLUMNS,
        field_selectors: &[("spec.color", "spec.color")],
        heartbeat_fields: &["status.heartbeat"],
        schema: Widget::node,
        ..ResourceInfo::BASE
    }
}

pub(crate) fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> ResourceInfo {
    ResourceInfo { group, version, kind, plural, ..ResourceInfo::BASE }
}

/// A custom kind, kept as a tree.
pub(crate) fn gadgets() -> ResourceInfo {
    ResourceInfo {
        namespaced: true,
        subresources: &["status"],
        custom: true,
        ..row("custom.example.com", "v1alpha1", "Gadget", "gadgets")
    }
}

/// Number of the next writer: two servers on one log have different ones.
static WRITERS: AtomicU64 = AtomicU64::new(1_000);

pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) log: MemoryLog,
    pub(crate) clock: SimulatedClock,
    pub(crate) wall: SimulatedClock,
}

struct NoHooks;

impl Strategy<DynamicObject> for NoHooks {}

impl World {
    /// Clusters `a` and `b`, each with namespace `n`.
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(more: impl FnOnce(Builder) -> Builder) -> Self {
        Self::on(MemoryLog::new(), more).await
    }

    pub(crate) async fn on(log: MemoryLog, more: impl FnOnce(Builder) -> Builder) -> Self {
        Self::over(log.clone(), Arc::new(log), more).await
    }

    /// Creates a world as [`World::on`], with a server that uses `log` through a wrapper.
    pub(crate) async fn over(
        log: MemoryLog,
        wrapped: Arc<dyn EventLog>,
        more: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let start = "2023-07-27T20:00:00Z".parse().expect("an instant");
        let (clock, wall) = (SimulatedClock::new(start), SimulatedClock::new(start));
        let foundation = Foundation {
            log: wrapped,
            clock: Clock::new(clock.clone()),
            wall: Clock::new(wall.clone()),
            random: Random::new(1),
            writer: WRITERS.fetch_add(1, Ordering::Relaxed),
            recent_bytes: generic_apiserver::RECENT_BYTES,
        };
        let builder = Builder::new(foundation)
            .clusters(FixedClusters::new(["a", "b"], "1.27.1"))
            .cluster_annotation("example.com/cluster")
            .resource::<Widget>(&widgets(), WidgetStrategy)
            .resource::<DynamicObject>(&gadgets(), NoHooks)
            .resource::<DynamicObject>(&row("", "v1", "Namespace", "namespaces"), NoHooks);
        let is_new = log.head() == Revision(0);
        let world = Self { server: more(builder).build(), log, clock, wall };
        if !is_new {
            return world;
        }
        for cluster in ["a", "b"] {
            for namespace in ["n", "n-b"] {
                let path = format!("/clusters/{cluster}/api/v1/namespaces");
                world.send("POST", &path, &json!({"metadata": {"name": namespace}})).await.expect_code(201);
            }
        }
        world
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.raw(method, path, &[], body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &Value::Null).await
    }

    pub(crate) async fn patch(&self, type_: &str, path: &str, body: &Value) -> Answer {
        let type_ = format!("application/{type_}");
        self.raw("PATCH", path, &[("content-type", &type_)], body.to_string()).await
    }

    pub(crate) async fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let (parts, body) = self.open(method, path, headers, body).await;
        let body = body.collect().await.expect("a whole body").to_bytes();
        let text = String::from_utf8(body.to_vec()).expect("text");
        Answer { code: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (http::response::Parts, Body) {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let user = User { name: "admin".into(), groups: vec!["system:masters".into()], component: None };
        let request = request.extension(user).body(full(body.into())).expect("a request");
        self.server.call(request).await.expect("a response").into_parts()
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text);
        self.json()
    }

    /// Returns the `Warning` headers in their order.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect()
    }

    /// Checks code, reason and message of a failure.
    #[track_caller]
    pub(crate) fn expect_failure(self, code: u16, reason: &str, message: &str) -> Value {
        let status = self.expect_code(code);
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["status"], "Failure");
        assert_eq!(status["code"], code);
        assert_eq!(status["message"], message);
        assert_eq!(status["reason"].as_str().unwrap_or_default(), reason);
        status
    }
}

impl World {
    pub(crate) fn wall_now(&self) -> clock::Instant {
        Clock::new(self.wall.clone()).now()
    }
}
