// SPDX-License-Identifier: Apache-2.0
//! Access control, and the headers of every answer.

use axum::body::Body;
use dashboard::access::Entrance;
use dashboard::view::administrator;
use http::Request;

use crate::support::{HOST, Stage, landscape};

#[tokio::test]
async fn every_response_has_the_security_headers() {
    let stage = Stage::new(landscape());
    for path in ["/dashboard/clusters", "/dashboard/nothing", "/dashboard/login?code=x", "/dashboard/"] {
        let answer = stage.get(path).await;
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                 form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                 trusted-types terrarium",
            ),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(answer.headers.get(name).map(|it| it.to_str().expect("text")), Some(value), "{path}");
        }
    }
}

#[tokio::test]
async fn another_host_is_refused_before_the_cookie_is_looked_at() {
    let stage = Stage::new(landscape());
    for host in ["localhost:8080", "127.0.0.1:8080", "evil.example", "test-abcdefghijkl.localhost:81"] {
        let request = Request::get("/dashboard/clusters").header("host", host).body(Body::empty()).expect("a request");
        assert_eq!(stage.send(request).await.code, 421, "{host}");
    }
    assert!(stage.asked.lock().is_empty());
    let request = Request::get("/dashboard/clusters").header("host", HOST).body(Body::empty()).expect("a request");
    let answer = stage.send(request).await;
    assert_eq!(answer.code, 401);
    assert!(answer.text.contains("terrarium dashboard"), "it names the command");
}

#[tokio::test]
async fn a_link_logs_in_once() {
    let stage = Stage::new(landscape());
    let code = stage.dashboard.sessions().code(administrator());
    let login = |site: &'static str| {
        let link = format!("/dashboard/login?code={code}");
        Request::get(link).header("host", HOST).header("sec-fetch-site", site).body(Body::empty()).expect("a request")
    };
    let answer = stage.send(login("none")).await;
    assert_eq!(
        (answer.code.as_u16(), &answer.headers["location"]),
        (303, &"/dashboard/clusters".parse().expect("text"))
    );
    let cookie = answer.headers["set-cookie"].to_str().expect("text");
    assert!(
        cookie.starts_with("terrarium=") && cookie.ends_with("; HttpOnly; SameSite=Strict; Path=/dashboard/"),
        "{cookie}"
    );
    assert_eq!(stage.send(login("none")).await.code, 401, "a second time");
}

#[tokio::test]
async fn a_foreign_link_opens_an_intermediate_page() {
    let stage = Stage::new(landscape());
    let code = stage.dashboard.sessions().code(administrator());
    let request = Request::get(format!("/dashboard/login?code={code}")).header("host", HOST);
    let request = request.header("sec-fetch-site", "cross-site").body(Body::empty()).expect("a request");
    let answer = stage.send(request).await;
    assert_eq!(answer.code, 200);
    assert!(answer.text.contains("http-equiv=\"refresh\"") && answer.headers.contains_key("set-cookie"));
}

#[tokio::test]
async fn over_https_the_cookie_is_of_the_host_alone() {
    assert_eq!(Entrance::Landscape.set_cookie("a"), "__Host-terrarium=a; HttpOnly; SameSite=Strict; Path=/; Secure");
}

#[tokio::test]
async fn a_form_needs_session_origin_and_token() {
    let stage = Stage::new(landscape());
    let token = stage.token("shoots");
    let own = format!("http://{HOST}");
    let form = |token: &str| format!("token={token}&operation=reconcile&shoot=garden-demo/local");
    for (what, origin, site, body) in [
        ("no origin", None, None, form(&token)),
        ("another origin", Some("http://evil.example"), None, form(&token)),
        ("another site", Some(own.as_str()), Some("cross-site"), form(&token)),
        ("no token", Some(own.as_str()), Some("same-origin"), form("")),
        ("the token of another action", Some(own.as_str()), Some("same-origin"), form(&stage.token("clock"))),
    ] {
        let mut request = stage.request("POST", "/dashboard/do/shoots");
        for (name, value) in [("origin", origin), ("sec-fetch-site", site)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answer = stage.send(request.body(Body::from(body)).expect("a request")).await;
        assert_eq!(answer.code, 403, "{what}");
        assert!(answer.text.contains("too old"), "{what}");
    }
    assert_eq!(stage.writes(), Vec::<String>::new(), "nothing was changed");
    assert_eq!(stage.post("shoots", "operation=reconcile&shoot=garden-demo/local").await.code, 303);
    let path = "/clusters/garden/apis/core.gardener.cloud/v1beta1/namespaces/garden-demo/shoots/local";
    assert_eq!(stage.writes(), [format!("PATCH {path}")]);
}

#[tokio::test]
async fn long_and_unreadable_forms_are_refused() {
    let stage = Stage::new(landscape());
    assert_eq!(stage.post("shoots", &"a".repeat(2 << 20)).await.code, 413);
    assert_eq!(stage.post("shoots", &"a=1&".repeat(1_001)).await.code, 413);
    assert_eq!(stage.post("shoots", "operation=%ff").await.code, 400);
    assert_eq!(stage.get("/dashboard/clusters?filter=%ff").await.code, 400);
    assert_eq!(stage.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn logging_out_ends_the_session() {
    let stage = Stage::new(landscape());
    let answer = stage.post("logout", "").await;
    assert!(answer.headers["set-cookie"].to_str().expect("text").contains("Max-Age=0"));
    assert_eq!(stage.get("/dashboard/clusters").await.code, 401);
}

#[tokio::test]
async fn a_form_redirects_to_pages_of_ours_only() {
    let stage = Stage::new(landscape());
    for back in ["https://evil.example/", "//evil.example/", "/elsewhere"] {
        let answer = stage.post("scheme", &format!("scheme=dark&back={back}")).await;
        assert_eq!(answer.headers["location"], "/dashboard/clusters", "{back}");
    }
    let answer = stage.post("scheme", "scheme=dark&back=/dashboard/versions").await;
    assert_eq!(answer.headers["location"], "/dashboard/versions");
    assert!(stage.get("/dashboard/versions").await.text.contains("data-scheme=\"dark\""));
}

#[tokio::test]
async fn a_token_logs_in_over_https_only() {
    let path = "/clusters/garden/apis/authentication.k8s.io/v1/tokenreviews";
    let review = |status: serde_json::Value| {
        std::collections::BTreeMap::from([(path.to_owned(), serde_json::json!({ "status": status }))])
    };
    let robot = serde_json::json!({ "authenticated": true, "user": { "username": "system:serviceaccount:default:robot", "groups": ["system:authenticated"] } });
    let nobody = serde_json::json!({ "user": {}, "error": "token expired" });
    let request = |origin: &'static str| {
        Request::post("/dashboard/login")
            .header("host", "localhost:6443")
            .header("origin", origin)
            .body(Body::from("bearer=secret"))
            .expect("a request")
    };
    for (status, entrance, origin, code) in [
        (robot.clone(), Entrance::Landscape, "https://localhost:6443", 303),
        (robot.clone(), Entrance::Landscape, "https://evil.example", 403),
        (robot, Entrance::Loopback, "http://localhost:6443", 421),
        (nobody, Entrance::Landscape, "https://localhost:6443", 401),
    ] {
        let mut api = landscape();
        api.answers = review(status);
        let stage = Stage::new(api);
        stage.dashboard.add_landscape_name("localhost");
        let response = stage.dashboard.answer(entrance, request(origin)).await;
        assert_eq!(response.status(), code, "{entrance:?} {origin}");
        let cookie = response.headers().get("set-cookie").and_then(|cookie| cookie.to_str().ok()).map(str::to_owned);
        assert_eq!(cookie.is_some(), code == 303, "{entrance:?} {origin}");
        let Some(cookie) = cookie else { continue };
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let page = Request::get("/dashboard/faults").header("host", "localhost:6443").header("cookie", cookie);
        let page = stage.dashboard.answer(Entrance::Landscape, page.body(Body::empty()).expect("a request")).await;
        assert_eq!(page.status(), 200);
        let asked = stage.asked.lock();
        let last = asked.last().expect("it asked");
        assert_eq!(last.2, "system:serviceaccount:default:robot", "{last:?}");
    }
}
