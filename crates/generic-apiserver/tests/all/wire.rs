// SPDX-License-Identifier: Apache-2.0
//! HTTPS over real connections: authentication of clients, and handling of their requests.

use clock::Clock;
use std::sync::Arc;

use bytes::Bytes;
use chrono::TimeDelta;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use generic_apiserver::authentication::{self, Authenticator, Identity, Unauthorized, UserDetails, front_proxy};
use generic_apiserver::authorization::Question;
use generic_apiserver::http::Options;
use generic_apiserver::{Authenticated, Authorizer, FixedClusters};
use http_body_util::BodyExt;
use process::https::{Credentials, Watches};
use process::pki::{Key, Leaf, Validity};
use process::transport::{ResponseFuture, TransportError, full};
use process::{Request, Response, Tasks, User};
use serde_json::json;

use crate::support::World;
use crate::support::wire::{Wire, authority, get, pair, read, send};

const WIDGETS: &str = "/clusters/a/apis/example.com/v1/namespaces/n/widgets";

/// Runs a future concurrently with the test.
fn background<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> oneshot::Receiver<T> {
    let (send, receive) = oneshot::channel();
    Tasks::new().spawn(async move {
        let _ = send.send(future.await);
    });
    receive
}

/// Answers with the user and the other details of the request.
fn echo(request: Request) -> ResponseFuture {
    let user = request.extensions().get::<User>().cloned().unwrap_or_default();
    let details = request.extensions().get::<UserDetails>().cloned().unwrap_or_default();
    let stamp = request.extensions().get::<front_proxy::Stamp>().copied();
    let groups: Vec<&str> = user.groups.iter().map(|group| &**group).collect();
    let headers: Vec<&str> = request.headers().keys().map(http::HeaderName::as_str).collect();
    let shown = json!({
        "user": &*user.name, "groups": groups, "uid": details.uid, "extra": details.extra, "headers": headers,
        "head": stamp.and_then(|stamp| stamp.head).map(|head| head.0),
        "version": format!("{:?}", request.version()),
    });
    Box::pin(async move { Ok(Response::new(full(shown.to_string()))) })
}

#[tokio::test]
async fn a_user_is_authenticated_by_certificate_or_token() {
    let wire = Wire::new(echo).await;
    let (code, shown) = get(&wire.user("jane", &["dev", "ops"]), "/clusters/a/api", &[]).await;
    assert_eq!((code, &shown["user"]), (200, &json!("jane")));
    assert_eq!(shown["groups"], json!(["dev", "ops", "system:authenticated"]));
    assert_eq!(shown["version"], "HTTP/2.0");
    let robot = wire.client(Credentials::Token("secret".to_owned()), Watches::Shared);
    let (_, shown) = get(&robot, "/clusters/a/api", &[]).await;
    assert_eq!(shown["user"], "robot");
    assert!(!shown["headers"].to_string().contains("authorization"), "{shown}");
    let nobody = wire.client(Credentials::None, Watches::Shared);
    let (_, shown) = get(&nobody, "/clusters/a/api", &[]).await;
    assert_eq!((&shown["user"], &shown["groups"]), (&json!("system:anonymous"), &json!(["system:unauthenticated"])));
}

#[tokio::test]
async fn wrong_credentials_are_answered_with_401() {
    let wire = Wire::new(echo).await;
    let stranger = pair(&authority("elsewhere"), Leaf::Client("jane", &[]));
    let late = {
        let validity = Validity::starting(Clock::wall().now() - TimeDelta::hours(1), TimeDelta::minutes(1));
        wire.users.issue(Leaf::Client("jane", &[]), &Key::transport().expect("a key"), validity).expect("a certificate")
    };
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
        "reason": "Unauthorized", "code": 401,
    });
    for credentials in
        [Credentials::Certificate(stranger), Credentials::Certificate(late), Credentials::Token("guess".to_owned())]
    {
        let client = wire.client(credentials, Watches::Shared);
        assert_eq!(get(&client, "/clusters/a/api", &[]).await, (401, expected.clone()));
    }
}

#[tokio::test]
async fn only_a_front_proxy_names_the_user() {
    let wire = Wire::new(echo).await;
    let said = [("x-remote-user", "root"), ("x-remote-group", "system:masters"), ("x-log-head", "7")];
    let (_, shown) = get(&wire.user("jane", &[]), "/clusters/a/api", &said).await;
    assert_eq!((&shown["user"], &shown["head"]), (&json!("jane"), &json!(null)));
    assert!(!shown["headers"].to_string().contains("x-"), "{shown}");
    let front = |name| {
        let credentials = Credentials::Certificate(pair(&wire.proxies, Leaf::Client(name, &[])));
        wire.client(credentials, Watches::Shared)
    };
    let (_, shown) = get(&front("front"), "/clusters/a/api", &said).await;
    assert_eq!((&shown["user"], &shown["head"]), (&json!("root"), &json!(7)));
    assert_eq!(shown["groups"], json!(["system:masters", "system:authenticated"]));
    assert_eq!(get(&front("front"), "/clusters/a/api", &[]).await.0, 401, "it has to name a user");
    assert_eq!(get(&front("other"), "/clusters/a/api", &said).await.0, 401);
}

/// Allows jane to impersonate every user except root.
#[derive(Debug)]
struct NotRoot;

impl Authorizer for NotRoot {
    fn authorize(&self, question: &Question<'_>) -> Result<(), String> {
        if &*question.user.name == "jane" && question.name != "root" { Ok(()) } else { Err(String::new()) }
    }
}

#[tokio::test]
async fn users_may_impersonate_others() {
    let wire = Wire::with(echo, |options| options.authorizer = Arc::new(NotRoot)).await;
    let jane = wire.user("jane", &[]);
    let headers = [
        ("impersonate-user", "bob"),
        ("impersonate-group", "x"),
        ("impersonate-uid", "1"),
        ("impersonate-extra-scopes", "view"),
    ];
    let (code, shown) = get(&jane, "/clusters/a/api", &headers).await;
    assert_eq!((code, &shown["user"]), (200, &json!("bob")));
    assert_eq!(shown["groups"], json!(["x", "system:authenticated"]));
    assert_eq!((&shown["uid"], &shown["extra"]), (&json!("1"), &json!({"scopes": ["view"]})));
    let (code, status) = get(&jane, "/clusters/a/api", &[("impersonate-user", "root")]).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "users \"root\" is forbidden: User \"jane\" cannot impersonate resource \"users\" in API group \"\" at the \
         cluster scope"
    );
}

#[tokio::test]
async fn a_panic_ends_one_response_only() {
    let (release, released) = oneshot::channel::<()>();
    let released = released.shared();
    let wire = Wire::new(move |request: Request| {
        assert!(!request.uri().path().ends_with("before"), "a bug");
        let released = released.clone();
        Box::pin(async move {
            assert!(!request.uri().path().ends_with("within"), "a bug");
            if process::https::is_watch(request.uri().query()) {
                let first = futures::stream::iter([Ok(http_body::Frame::data(Bytes::from_static(b"first")))]);
                let frames = first.chain(futures::stream::once(async move {
                    let _ = released.await;
                    panic!("a bug")
                }));
                return Ok(Response::new(http_body_util::StreamBody::new(frames).boxed_unsync()));
            }
            Ok(Response::new(full("fine")))
        })
    })
    .await;
    let client = wire.user("jane", &[]);
    for path in ["/clusters/a/before", "/clusters/a/within"] {
        let text = "This request caused apiserver to panic. Look in the logs for details.\n";
        assert_eq!(get(&client, path, &[]).await, (500, json!(text)));
    }
    let watch = send(&client, "GET", &format!("{WIDGETS}?watch=true"), &[], Bytes::new()).await;
    let mut watch = watch.into_body();
    assert!(watch.frame().await.is_some_and(|frame| frame.is_ok()));
    release.send(()).expect("a receiver");
    assert!(watch.frame().await.is_some_and(|frame| frame.is_err()), "it breaks off");
    assert_eq!(get(&client, "/clusters/a/x", &[]).await, (200, json!("fine")));
    assert!(!wire.tasks.has_panicked());
}

#[tokio::test]
async fn a_missing_response_is_a_time_out() {
    let wire = Wire::new(|_| Box::pin(std::future::pending())).await;
    let client = wire.user("jane", &[]);
    for (path, method, seconds) in
        [("/clusters/a/api", "GET", 60), ("/clusters/a/api?timeout=32s", "GET", 32), (WIDGETS, "POST", 34)]
    {
        let client = client.clone();
        let answer = background(async move { read(send(&client, method, path, &[], Bytes::new()).await).await });
        wire.wall.pass(TimeDelta::seconds(seconds)).await;
        let (code, status) = answer.await.expect("an answer");
        assert_eq!((code, &status["reason"]), (504, &json!("Timeout")));
        assert_eq!(status["message"], "Timeout: request did not complete within the allotted timeout");
    }
}

#[tokio::test]
async fn long_running_responses_end_with_serving_only() {
    let lasting = |options: &mut Options| options.lasting = Arc::new(|path| path.ends_with("/idle"));
    let wire = Wire::with(
        |_| {
            let body = http_body_util::StreamBody::new(futures::stream::pending());
            Box::pin(async move { Ok(Response::new(body.boxed_unsync())) })
        },
        lasting,
    )
    .await;
    let client = wire.user("jane", &[]);
    let request = http::Request::get("/clusters/a/idle").extension(process::https::Lasting).body(full(""));
    let answer = client.send(request.expect("a request")).await.expect("a response");
    assert!(!wire.wall.sleeps(TimeDelta::seconds(60)), "nothing ends it");
    wire.serving.stop();
    assert_eq!(read(answer).await, (200, json!("")));
    wire.serving.ended().await;
}

#[tokio::test]
async fn large_answers_are_compressed_and_watches_never() {
    let large = |bytes: usize| {
        move |_: Request| -> ResponseFuture { Box::pin(async move { Ok(Response::new(full(vec![b'x'; bytes]))) }) }
    };
    let gzip = [("accept-encoding", "gzip, deflate")];
    for (bytes, path, headers, zipped) in [
        (131_073, WIDGETS.to_owned(), &gzip[..], true),
        (131_072, WIDGETS.to_owned(), &gzip[..], false),
        (131_073, WIDGETS.to_owned(), &[("accept-encoding", "identity")], false),
        (131_073, format!("{WIDGETS}?watch=true"), &gzip[..], false),
    ] {
        let wire = Wire::new(large(bytes)).await;
        let response = send(&wire.user("jane", &[]), "GET", &path, headers, Bytes::new()).await;
        let encoding = response.headers().get("content-encoding").cloned();
        assert_eq!(encoding.is_some_and(|encoding| encoding == "gzip"), zipped, "{bytes} {path}");
        assert_eq!(response.headers().get("vary").is_some(), zipped);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let plain = if zipped {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&*body), &mut plain).expect("gzip");
            plain
        } else {
            body.to_vec()
        };
        assert_eq!(plain.len(), bytes);
    }
}

#[tokio::test]
async fn complete_responses_are_indented_for_human_readers() {
    let of_type = |type_: &'static str| {
        move |_: Request| -> ResponseFuture {
            let response = http::Response::builder().header("content-type", type_).body(full(r#"{"b":[1],"a":{}}"#));
            Box::pin(async move { Ok(response.expect("a response")) })
        }
    };
    let (compact, indented) = (r#"{"b":[1],"a":{}}"#, "{\n  \"b\": [\n    1\n  ],\n  \"a\": {}\n}");
    let curl = [("user-agent", "curl/8.5.0")];
    for (type_, path, headers, expected) in [
        ("application/json", WIDGETS.to_owned(), &curl[..], indented),
        ("application/json", WIDGETS.to_owned(), &[], compact),
        ("application/json", format!("{WIDGETS}?pretty=true"), &[], indented),
        ("application/json", format!("{WIDGETS}?watch=true"), &curl, compact),
        ("application/json", "/clusters/a/openapi/v3".to_owned(), &curl, compact),
        ("text/plain", WIDGETS.to_owned(), &curl, compact),
    ] {
        let wire = Wire::new(of_type(type_)).await;
        let response = send(&wire.user("jane", &[]), "GET", &path, headers, Bytes::new()).await;
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        assert_eq!(String::from_utf8_lossy(&body), expected, "{type_} {path}");
    }
}

#[tokio::test]
async fn answers_carry_the_audit_id_of_their_request() {
    let wire = Wire::new(echo).await;
    let client = wire.user("jane", &[]);
    let id = |response: Response| response.headers().get("audit-id").cloned();
    let first = id(send(&client, "GET", "/clusters/a/api", &[], Bytes::new()).await).expect("an id");
    let second = id(send(&client, "GET", "/clusters/a/api", &[], Bytes::new()).await).expect("an id");
    assert_ne!(first, second);
    let third = id(send(&client, "GET", "/clusters/a/api", &[("audit-id", "mine")], Bytes::new()).await);
    assert_eq!(third.expect("an id"), "mine");
}

/// Part of `/metrics` while one request is in flight: that request, and the one for the metrics.
const TWO: &str = "inflight_requests 2\n";

async fn served(change: impl FnOnce(&mut Options)) -> (World, Wire) {
    let world = World::with(|builder| builder.clusters(FixedClusters::new(["a", "b"], "1.27.1"))).await;
    let server = world.server.clone();
    let wire = Wire::with(move |request| server.call(request), change).await;
    world.server.start(&wire.tasks);
    (world, wire)
}

#[tokio::test]
async fn a_server_answers_over_the_wire() {
    let (_world, wire) = served(|_| ()).await;
    let client = wire.user("jane", &[]);
    let widget = Bytes::from(json!({"metadata": {"name": "w"}}).to_string());
    assert_eq!(read(send(&client, "POST", WIDGETS, &[], widget).await).await.0, 201);
    assert_eq!(get(&client, WIDGETS, &[]).await.1["items"][0]["metadata"]["name"], "w");
    let huge = Bytes::from(vec![b' '; 3 * 1024 * 1024 + 1]);
    let (code, status) = read(send(&client, "POST", WIDGETS, &[], huge).await).await;
    assert_eq!((code, &status["message"]), (413, &json!("Request entity too large: limit is 3145728")));
    assert_eq!(get(&client, "/livez", &[]).await, (200, json!("ok")));
    let nobody = wire.client(Credentials::None, Watches::Shared);
    let (code, status) = get(&nobody, "/metrics", &[]).await;
    let forbidden = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    assert_eq!((code, &status["message"]), (403, &json!(forbidden)));
    assert_eq!(
        get(&wire.client(Credentials::Token("guess".to_owned()), Watches::Shared), "/metrics", &[]).await.0,
        401
    );
    let (_, metrics) = get(&client, "/metrics", &[]).await;
    let line = r#"apiserver_request_total{verb="create",group="example.com",version="v1",resource="widgets",subresource="",code="201"} 1"#;
    assert!(metrics.as_str().is_some_and(|text| text.contains(line)), "{metrics}");
}

/// Authenticator with home cluster `a` for clients with a certificate.
#[derive(Debug)]
struct AtHome(Arc<dyn Authenticator>);

impl Authenticator for AtHome {
    fn authenticate<'a>(
        &'a self,
        credentials: authentication::Credentials<'a>,
    ) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        self.0.authenticate(credentials)
    }

    fn home<'a>(&'a self, credentials: authentication::Credentials<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (!credentials.certificates.is_empty()).then(|| "a".to_owned()) })
    }
}

#[tokio::test]
async fn unknown_paths_are_404_for_authorized_users() {
    let clusters = FixedClusters::new(["a", "b"], "1.27.1");
    let world = World::with(|builder| builder.clusters(clusters).authorizer(Authenticated)).await;
    let server = world.server.clone();
    let wire = Wire::with(
        move |request| server.call(request),
        |options| {
            options.authenticator = Arc::new(AtHome(options.authenticator.clone()));
            options.outside = Arc::new(|path| path == "/own");
        },
    )
    .await;
    world.server.start(&wire.tasks);
    let (user, nobody) = (wire.user("jane", &[]), wire.client(Credentials::None, Watches::Shared));
    let robot = wire.client(Credentials::Token("secret".to_owned()), Watches::Shared);
    let wrong = wire.client(Credentials::Token("guess".to_owned()), Watches::Shared);
    let missing = (404, json!("404 page not found\n"));
    for path in ["/foo", "/foo/bar", "/own", "/clusters/a/foo", "/apis/none.example.com/v1/bar"] {
        assert_eq!(get(&user, path, &[]).await, missing, "{path}");
        let (code, status) = get(&nobody, path, &[]).await;
        assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")), "{path}");
        assert_eq!(get(&wrong, path, &[]).await.0, 401, "{path}");
    }
    assert_eq!(get(&robot, "/foo", &[]).await, missing, "without a home cluster");
    let (_, status) = get(&nobody, "/foo", &[]).await;
    assert_eq!(status["message"], "forbidden: User \"system:anonymous\" cannot get path \"/foo\"");
    assert_eq!(get(&user, "/version", &[]).await.0, 200);
    assert_eq!(get(&user, "/livez", &[]).await, (200, json!("ok")));
}

#[tokio::test]
async fn a_thousand_watches_share_one_connection() {
    let (world, wire) = served(|options| options.limits.long_running = 1_200).await;
    let client = wire.user("jane", &[]);
    let mut watches = Vec::new();
    for _ in 0..1_200 {
        watches.push(send(&client, "GET", &format!("{WIDGETS}?watch=true"), &[], Bytes::new()).await.into_body());
    }
    let (code, status) = get(&client, &format!("{WIDGETS}?watch=true"), &[]).await;
    assert_eq!((code, &status["reason"]), (429, &json!("TooManyRequests")));
    world.send("POST", WIDGETS, &json!({"metadata": {"name": "w"}})).await.expect_code(201);
    for mut watch in watches {
        let frame = watch.frame().await.expect("a frame").expect("data").into_data().expect("data");
        assert!(frame.starts_with(b"{\"type\":\"ADDED\""));
    }
}

/// A process that a debugger stops answers no pings.
#[tokio::test]
async fn clients_of_the_same_machine_are_not_pinged() {
    let wire = Wire::new(echo).await;
    let jane = wire.user("jane", &[]);
    let (_, shown) = get(&jane, "/clusters/a/api", &[]).await;
    assert_eq!(shown["version"], "HTTP/2.0");
    assert!(!wire.wall.sleeps(TimeDelta::seconds(30)));
}

#[tokio::test]
async fn too_many_concurrent_requests_get_retry_after() {
    let (_, wire) = served(|options| options.limits.requests = 0).await;
    let client = wire.user("jane", &[]);
    let response = send(&client, "GET", WIDGETS, &[], Bytes::new()).await;
    assert_eq!(response.headers().get("retry-after").map(http::HeaderValue::as_bytes), Some(&b"1"[..]));
    let (code, status) = read(response).await;
    assert_eq!((code, &status["reason"]), (429, &json!("TooManyRequests")));
    assert_eq!(status["message"], "Too many requests, please try again later.");
    assert_eq!(get(&client, "/livez", &[]).await.0, 200, "how the server is may be asked for all the same");
    let watch = send(&client, "GET", &format!("{WIDGETS}?watch=true"), &[], Bytes::new()).await;
    assert_eq!(watch.status(), 200);
}

#[tokio::test]
async fn watches_may_have_connections_of_their_own() {
    let wire = Wire::new(echo).await;
    let pair = pair(&wire.users, Leaf::Client("jane", &[]));
    let client = wire.client(Credentials::Certificate(pair), Watches::Http1);
    assert_eq!(get(&client, WIDGETS, &[]).await.1["version"], "HTTP/2.0");
    assert_eq!(get(&client, &format!("{WIDGETS}?watch=true"), &[]).await.1["version"], "HTTP/1.1");
}

#[tokio::test]
async fn stopping_ends_watches_and_finishes_requests() {
    for watches in [Watches::Shared, Watches::Http1] {
        let (release, released) = oneshot::channel::<()>();
        let released = released.shared();
        let (world, _) = served(|_| ()).await;
        let server = world.server.clone();
        let wire = Wire::new(move |request: Request| -> ResponseFuture {
            let (server, released) = (server.clone(), released.clone());
            Box::pin(async move {
                if request.uri().query() == Some("slow") {
                    let _ = released.await;
                }
                server.call(request).await
            })
        })
        .await;
        let credentials = Credentials::Certificate(pair(&wire.users, Leaf::Client("jane", &[])));
        let client = wire.client(credentials, watches);
        let watch = send(&client, "GET", &format!("{WIDGETS}?watch=true"), &[], Bytes::new()).await;
        let metrics = wire.user("reader", &[]);
        let slow = background({
            let client = client.clone();
            async move { get(&client, &format!("{WIDGETS}?slow"), &[]).await }
        });
        while !get(&metrics, "/metrics", &[]).await.1.as_str().is_some_and(|text| text.contains(TWO)) {}
        wire.tasks.stop();
        let rest = watch.into_body().collect().await.expect("a clean end").to_bytes();
        assert_eq!(rest.len(), 0);
        assert_eq!(wire.serving.ended().now_or_never(), None, "the slow request is not over");
        release.send(()).expect("a request that waits");
        assert_eq!(slow.await.expect("an answer").0, 200);
        wire.serving.ended().await;
        wire.tasks.ended().await;
        let request = http::Request::get(WIDGETS).body(full("")).expect("a request");
        let error = wire.user("jane", &[]).send(request).await.expect_err("an unreachable server");
        assert!(matches!(error, TransportError::Unreachable(_)), "{error}");
    }
}

#[tokio::test]
async fn open_requests_are_cut_after_the_grace_period() {
    // Another length than that of a handshake.
    let grace = |options: &mut Options| options.limits.grace = TimeDelta::seconds(20);
    let wire = Wire::with(|_| Box::pin(std::future::pending()), grace).await;
    let client = wire.user("jane", &[]);
    let request = http::Request::get("/clusters/a/x").body(full("")).expect("a request");
    let answer = background(client.send(request));
    while !get(&client, "/metrics", &[]).await.1.as_str().is_some_and(|text| text.contains(TWO)) {}
    wire.serving.stop();
    wire.wall.pass(TimeDelta::seconds(20)).await;
    wire.serving.ended().await;
    let error = answer.await.expect("a task").expect_err("a cut");
    assert!(matches!(error, TransportError::Broken(_)), "{error}");
}

#[tokio::test]
async fn a_too_large_head_is_answered() {
    let wire = Wire::new(echo).await;
    for client in [wire.user("jane", &[]), wire.client(Credentials::None, Watches::Shared)] {
        let large = "x".repeat(300_000);
        let ordinary = [("x-note", "y".repeat(60_000))];
        for headers in [vec![("x-note", &*large)], vec![("audit-id", &*large)], vec![("authorization", &*large)]] {
            let (code, text) = get(&client, "/clusters/a/api", &headers).await;
            assert_eq!((code, text), (431, json!("431 Request Header Fields Too Large")));
        }
        let many: Vec<(String, String)> = (0..300).map(|number| (format!("x-{number}"), "1".to_owned())).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(get(&client, "/clusters/a/api", &many).await.0, 431);
        let headers: Vec<(&str, &str)> = ordinary.iter().map(|(name, value)| (*name, &**value)).collect();
        assert_eq!(get(&client, "/clusters/a/api", &headers).await.0, 200);
        // The id of a request is not returned at any length.
        let id = "i".repeat(2000);
        let answer = send(&client, "GET", "/clusters/a/api", &[("audit-id", &id)], Bytes::new()).await;
        assert!(answer.headers()["audit-id"].len() < 100);
    }
}

/// A connection of HTTP/1.1 on which bytes are written by hand.
async fn by_hand(wire: &Wire) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
    use rustls_pki_types::pem::PemObject;
    let mut roots = rustls::RootCertStore::empty();
    let authority = rustls_pki_types::CertificateDer::from_pem_slice(wire.host.pair().certificate.as_bytes());
    roots.add(authority.expect("PEM")).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let stream = tokio::net::TcpStream::connect(wire.serving.address()).await.expect("a connection");
    let name = rustls_pki_types::ServerName::try_from("localhost").expect("a name");
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake")
}

/// Returns the response to some bytes, up to the end of the connection.
async fn sent_back(wire: &Wire, bytes: &[u8]) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = by_hand(wire).await;
    stream.write_all(bytes).await.expect("room");
    let mut answer = Vec::new();
    // A client that is refused before everything was read may find the connection reset.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn invalid_requests_on_a_raw_connection_are_answered() {
    let (_world, wire) = served(|_| ()).await;
    let head = "Host: a\r\nConnection: close\r\n";
    for (request, expected) in [
        (format!("GET /clusters/a/api HTTP/1.1\r\n{head}X-Note: {}\r\n\r\n", "x".repeat(300_000)), "431"),
        (format!("GET /clusters/a/api HTTP/1.1\r\n{head}{}\r\n", "X-Note: x\r\n".repeat(300)), "431"),
        (format!("GET /clusters/a/api?{} HTTP/1.1\r\n{head}\r\n", "x".repeat(70_000)), "414"),
        (format!("GE T /clusters/a/api HTTP/1.1\r\n{head}\r\n"), "400"),
        (format!("POST {WIDGETS} HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"), "400"),
        (format!("POST {WIDGETS} HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n5\r\n{{}}\r\n0\r\n\r\n"), "400"),
        (format!("POST {WIDGETS} HTTP/1.1\r\n{head}Content-Length: x\r\n\r\n{{}}"), "400"),
    ] {
        let answer = sent_back(&wire, request.as_bytes()).await;
        let start = &request[..request.len().min(60)];
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{start}: {answer}");
    }
}

#[tokio::test]
async fn an_incomplete_head_times_out_early() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let wire = Wire::new(echo).await;
    let mut stream = by_hand(&wire).await;
    stream.write_all(b"GET /clusters/a/api HTTP/1.1\r\nHost: a\r\n\r\n").await.expect("room");
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).await.expect("an answer");
    assert_eq!(&begun, b"HTTP/1.1 200");
    assert!(!wire.wall.sleeps(TimeDelta::seconds(30)), "an idle connection may stay");
    stream.write_all(b"GET /clusters/a/ap").await.expect("room");
    wire.wall.pass(TimeDelta::seconds(30)).await;
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(!String::from_utf8_lossy(&rest).contains("HTTP/1.1 "), "it is closed without an answer");
}

/// Reads one response of a connection, head and body.
async fn one_answer(stream: &mut tokio_rustls::client::TlsStream<tokio::net::TcpStream>) -> String {
    use tokio::io::AsyncReadExt;
    let mut answer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            if body.len() >= length.parse::<usize>().expect("a length") {
                return text;
            }
        }
        let byte = stream.read_u8().await.expect("the connection goes on");
        answer.push(byte);
    }
}

/// Python's `requests` sends head and body apart; nine of 27 of its requests after a refusal failed.
#[tokio::test]
async fn a_connection_stays_open_after_a_refusal() {
    use tokio::io::AsyncWriteExt;
    let (_world, wire) = served(|_| ()).await;
    let mut stream = by_hand(&wire).await;
    let host = "Host: a\r\nContent-Type: application/json\r\n";
    let (known, token) = ("Authorization: Bearer secret\r\n", "Authorization: Bearer guess\r\n");
    let large = " ".repeat(4 << 20);
    for (head, body, expected) in [
        (format!("POST {WIDGETS} HTTP/1.1\r\n{host}{token}Content-Length: 2\r\n\r\n"), "{}", "401"),
        (format!("POST /clusters/none/api/v1/x HTTP/1.1\r\n{host}{known}Content-Length: 2\r\n\r\n"), "{}", "404"),
        (format!("POST {WIDGETS} HTTP/1.1\r\n{host}{known}Content-Length: {}\r\n\r\n", large.len()), &large, "413"),
        (
            format!("POST {WIDGETS} HTTP/1.1\r\n{host}{token}Transfer-Encoding: chunked\r\n\r\n"),
            "1\r\nx\r\n0\r\n\r\n",
            "401",
        ),
        (format!("POST /livez HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n"), "{}", "200"),
    ] {
        stream.write_all(head.as_bytes()).await.expect("room");
        stream.flush().await.expect("room");
        // Time in which the response may arrive before the body is sent.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        stream.write_all(body.as_bytes()).await.expect("the connection is open");
        let answer = one_answer(&mut stream).await;
        assert!(answer.starts_with(&format!("http/1.1 {expected} ")), "{head}: {answer}");
        assert!(!answer.contains("connection: close"), "{head}: {answer}");
    }
    let silent = format!("POST {WIDGETS} HTTP/1.1\r\n{host}{token}Content-Length: 2\r\n\r\n");
    stream.write_all(silent.as_bytes()).await.expect("room");
    wire.wall.pass(TimeDelta::seconds(1)).await;
    let answer = one_answer(&mut stream).await;
    assert!(answer.starts_with("http/1.1 401 ") && answer.contains("connection: close"), "{answer}");
    let mut stream = by_hand(&wire).await;
    let expectant =
        format!("POST {WIDGETS} HTTP/1.1\r\n{host}{token}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    stream.write_all(expectant.as_bytes()).await.expect("room");
    let answer = one_answer(&mut stream).await;
    assert!(answer.starts_with("http/1.1 401 ") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn unread_lists_do_not_fill_the_memory() {
    let (world, wire) = served(|options| options.limits.held = 20 << 20).await;
    // More than the buffers of a connection hold.
    let note = "x".repeat(200_000);
    for name in 0..30 {
        let widget = json!({"metadata": {"name": format!("w-{name}"), "annotations": {"note": note}}});
        world.send("POST", WIDGETS, &widget).await.expect_code(201);
    }
    let (jane, joe) = (wire.user("jane", &[]), wire.user("joe", &[]));
    let list = async |client| send(client, "GET", WIDGETS, &[], Bytes::new()).await;
    let unread = list(&jane).await;
    assert_eq!(unread.status(), 200);
    let refused = list(&jane).await;
    assert_eq!(refused.headers().get("retry-after").map(http::HeaderValue::as_bytes), Some(&b"1"[..]));
    let (code, status) = read(refused).await;
    assert_eq!((code, &status["reason"]), (429, &json!("TooManyRequests")));
    assert_eq!(get(&jane, &format!("{WIDGETS}?limit=0&labelSelector=none"), &[]).await.0, 200, "a small one");
    assert_eq!(read(list(&joe).await).await.0, 200, "another user");
    assert_eq!(read(unread).await.1["items"].as_array().map(Vec::len), Some(30));
    while read(list(&jane).await).await.0 != 200 {}
    // Without a time limit a few clients that read nothing would block the lists of all others.
    let granted = async |client| loop {
        let response = list(client).await;
        if response.status() == 200 {
            return response;
        }
    };
    let (jim, joan) = (wire.user("jim", &[]), wire.user("joan", &[]));
    let (unread, joes, more) = (granted(&jane).await, granted(&joe).await, granted(&jim).await);
    assert_eq!(read(list(&joan).await).await.0, 429);
    wire.wall.pass(TimeDelta::seconds(60)).await;
    while read(list(&joan).await).await.0 != 200 {}
    assert!(unread.into_body().collect().await.is_err(), "it breaks off");
    assert_eq!(read(joes).await.1["items"].as_array().map(Vec::len), Some(30), "another connection");
    drop(more);
}

/// Repeats [`unread_lists_do_not_fill_the_memory`] over an HTTP/1.1 connection from which nothing more is read.
#[tokio::test]
async fn an_unread_answer_ends_its_connection_in_time() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let large = |_: Request| -> ResponseFuture { Box::pin(async { Ok(Response::new(full(vec![b'x'; 16 << 20]))) }) };
    let wire = Wire::with(large, |options| options.limits.held = 20 << 20).await;
    let mut stream = by_hand(&wire).await;
    let request = "GET /clusters/a/api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("room");
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.expect("an answer");
    let jane = wire.user("jane", &[]);
    assert_eq!(send(&jane, "GET", "/clusters/a/api", &[], Bytes::new()).await.status(), 429);
    wire.wall.pass(TimeDelta::seconds(60)).await;
    while send(&jane, "GET", "/clusters/a/api", &[], Bytes::new()).await.status() != 200 {}
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest).await;
    assert!(read.is_err() || rest.len() < 16 << 20, "{} bytes", rest.len());
}
