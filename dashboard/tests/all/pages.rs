// SPDX-License-Identifier: Apache-2.0
//! Content of pages.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use dashboard::access::Entrance;
use eventlog::{Actor, Append, EventLog, Expect, Key, MemoryLog, Sections, Verb};
use html5ever::parse_document;
use html5ever::tendril::TendrilSink;
use http_body_util::BodyExt;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde_json::json;

use crate::support::{Api, PROFILES, PROJECTS, SHOOTS, Stage, failure, landscape, profile, shoot};

/// Returns name and attributes of every element.
fn elements(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    fn walk(node: &Handle, found: &mut Vec<(String, Vec<(String, String)>)>) {
        if let NodeData::Element { name, attrs, .. } = &node.data {
            let attributes = attrs.borrow();
            let attributes = attributes.iter().map(|it| (it.name.local.to_string(), it.value.to_string()));
            found.push((name.local.to_string(), attributes.collect()));
        }
        node.children.borrow().iter().for_each(|child| walk(child, found));
    }
    let dom = parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(html);
    let errors: Vec<String> = dom.errors.borrow().iter().map(ToString::to_string).collect();
    assert_eq!(errors, Vec::<String>::new(), "{html}");
    let mut found = Vec::new();
    walk(&dom.document, &mut found);
    found
}

#[tokio::test]
async fn every_page_is_sound_html() {
    let stage = Stage::new(landscape());
    for path in [
        "clusters",
        "clusters?filter=a:b&sort=-nodes",
        "clusters/demo/local",
        "clusters/demo/lokal",
        "create",
        "versions",
        "versions/local",
        "versions/none",
        "landscape",
        "time",
        "forecast",
        "forecast?expire=kubernetes/1.26.4=2023-09-30&auto=all=off&auto=x=y&explain=garden-demo/local",
        "faults",
        "nothing",
    ] {
        let answer = stage.get(&format!("/dashboard/{path}")).await;
        let all = elements(&answer.text);
        let (mut ids, mut headings) = (BTreeSet::new(), 0);
        for (name, attributes) in &all {
            headings += usize::from(name == "h1");
            for (key, value) in attributes {
                assert_ne!(key, "style", "{path}: {name}");
                assert!(!key.starts_with("on"), "{path}: {name} {key}");
                assert!(key != "id" || ids.insert(value.clone()), "{path}: two elements have id {value}");
                let is_address = matches!(key.as_str(), "href" | "src" | "action");
                assert!(!is_address || value.starts_with('/') || value.starts_with('#'), "{path}: {value}");
            }
        }
        assert_eq!(headings, 1, "{path}");
        for wanted in ["title", "main"] {
            assert_eq!(
                all.iter().filter(|(name, _)| name == wanted).count(),
                1 + usize::from(wanted == "title") * titles_of_pictures(&all),
                "{path}: {wanted}"
            );
        }
    }
}

/// Returns the number of titles in SVGs, which have their own.
fn titles_of_pictures(all: &[(String, Vec<(String, String)>)]) -> usize {
    all.iter().filter(|(name, _)| name == "title").count() - 1
}

#[tokio::test]
async fn names_with_markup_are_text() {
    let script = "<script>alert(1)</script>";
    let mut object = shoot("local", "1.27.1");
    object["status"] = json!({ "lastOperation": { "description": script, "type": script, "state": "Error", "progress": 5 },
        "conditions": [{ "type": script, "status": "False", "message": script }] });
    object["spec"]["purpose"] = json!(script);
    let project = json!({ "metadata": { "name": script }, "spec": { "namespace": "garden-demo" } });
    let stage = Stage::new(landscape().with(SHOOTS, &[object]).with(PROJECTS, &[project]));
    for path in [
        "clusters",
        "clusters/%3Cscript%3Ealert(1)%3C%2Fscript%3E/local",
        "clusters?filter=%3Cscript%3E",
        "clusters/%3Cscript%3E/x",
    ] {
        let answer = stage.get(&format!("/dashboard/{path}")).await;
        assert!(!answer.text.contains("<script>"), "{path}");
        assert!(answer.text.contains("&lt;script&gt;"), "{path}");
    }
}

#[tokio::test]
async fn clusters_are_filtered_and_sorted_in_a_total_order() {
    let shoots = [shoot("b", "1.27.1"), shoot("a", "1.26.4"), shoot("c", "1.27.1")];
    let stage = Stage::new(landscape().with(SHOOTS, &shoots));
    let names = async |query: &str| {
        let text = stage.get(&format!("/dashboard/clusters?{query}")).await.text;
        let mut found: Vec<(usize, &str)> = ["a", "b", "c"]
            .iter()
            .filter_map(|name| Some((text.find(&format!("Select garden-demo/{name}\""))?, *name)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, name)| name).collect::<String>()
    };
    assert_eq!(names("").await, "abc");
    assert_eq!(names("sort=-kubernetes").await, "bca");
    assert_eq!(names("sort=kubernetes").await, "abc");
    assert_eq!(names("filter=version:1.27").await, "bc");
    assert_eq!(names("filter=-version:1.27").await, "a");
    assert_eq!(names("filter=class:deprecated").await, "a");
    assert_eq!(names("filter=forced:30d").await, "a", "1.26.4 expires at midnight");
    assert_eq!(names("filter=nothing").await, "");
    assert_eq!(names("filter=colour:red+version:1.27").await, "bc", "by the rest");
    let text = stage.get("/dashboard/clusters?filter=colour:red").await.text;
    assert!(text.contains("`colour:` is not a key"), "the message stands at the box");
}

#[tokio::test]
async fn windows_do_not_overlap() {
    let shoots: Vec<_> = (0..401).map(|number| shoot(&format!("s{number:03}"), "1.27.1")).collect();
    let stage = Stage::new(landscape().with(SHOOTS, &shoots));
    let mut all = Vec::new();
    for page in 1..=9 {
        let text = stage.get(&format!("/dashboard/clusters?sort=purpose&page={page}")).await.text;
        let on_page: Vec<String> = text
            .match_indices("aria-label=\"Select garden-demo/")
            .map(|(at, it)| text[at + it.len()..][..4].to_owned())
            .collect();
        assert!(on_page.len() <= 50);
        all.extend(on_page);
    }
    assert_eq!(all.len(), 401);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 401);
}

/// Returns the value of the selected option.
fn selected(text: &str, id: &str) -> String {
    let select = &text[text.find(&format!("<select id=\"{id}\"")).expect("a choice")..];
    let select = &select[..select.find("</select>").expect("an end")];
    let option = select.split("<option").find(|option| option.contains(" selected")).expect("one is selected");
    let value = option.split_once("value=\"").expect("a value").1;
    value[..value.find('"').expect("an end")].to_owned()
}

#[tokio::test]
async fn the_latest_supported_version_is_preselected() {
    let stage = Stage::new(landscape());
    let text = stage.get("/dashboard/create").await.text;
    assert_eq!(selected(&text, "version"), "1.27.1");
    assert_eq!(selected(&text, "pool0-image"), "gardenlinux/1.0.0");
    assert!(text.contains("value=\"1.28.0\"") && !text.contains("value=\"1.26.3\""));
    assert!(text.contains("Previews and deprecated versions"));
}

#[tokio::test]
async fn nothing_is_preselected_where_only_previews_and_deprecated_versions_are() {
    let versions = json!([
        { "version": "1.28.0", "classification": "preview" },
        { "version": "1.27.0", "classification": "deprecated" },
        { "version": "1.26.3", "classification": "supported", "expirationDate": "2023-07-01T00:00:00Z" },
    ]);
    let stage = Stage::new(landscape().with(PROFILES, &[profile(versions)]));
    let text = stage.get("/dashboard/create").await.text;
    assert_eq!(selected(&text, "version"), "");
    assert!(text.contains("no version is supported or unclassified and not expired"));
    assert!(text.contains("an empty spec.kubernetes.version would give 1.27.0"));
}

#[tokio::test]
async fn a_refused_creation_shows_the_apis_error_at_the_field() {
    let message =
        "shoots.core.gardener.cloud \"late\" is forbidden: spec.kubernetes.version: Unsupported value: \"1.26.4\"";
    let mut api = landscape();
    api.refusal = Some(failure(403, "Forbidden", message));
    let stage = Stage::new(api);
    let answer = stage.post("create", "step=create&project=demo&name=late&version=1.26.4&back=/dashboard/create").await;
    assert_eq!(answer.code, 403);
    let at = answer.text.find("id=\"version-causes\"").expect("a cause at the field");
    assert!(
        answer.text[at..]
            .starts_with("id=\"version-causes\"><li>shoots.core.gardener.cloud &quot;late&quot; is forbidden")
    );
    assert_eq!(selected(&answer.text, "version"), "1.26.4", "the form is as it was");
    assert!(answer.text.contains("value=\"late\""));
}

#[tokio::test]
async fn answers_to_forms_have_their_own_address() {
    let mut api = landscape();
    api.refusal = Some(failure(403, "Forbidden", "no"));
    let stage = Stage::new(api);
    let form = "step=create&project=demo&name=late&version=1.26.4&back=/dashboard/create";
    let answer = stage.post_only("create", form).await;
    assert_eq!((answer.code.as_u16(), answer.text.as_str()), (303, ""));
    let location = answer.headers["location"].to_str().expect("an address").to_owned();
    let writes = stage.writes().len();
    // Reloading shows the same page, and sends nothing again.
    for _ in 0..2 {
        let page = stage.get(&location).await;
        assert_eq!(page.code, 403);
        assert!(page.text.contains("value=\"late\""), "{location}");
    }
    assert_eq!(stage.writes().len(), writes);
    // An unknown or no longer kept answer leads to the form.
    for number in 0..8 {
        stage.post_only("create", &format!("{form}&number={number}")).await;
    }
    for address in [location.as_str(), "/dashboard/do/create", "/dashboard/do/create?answer=x"] {
        let answer = stage.get(address).await;
        let location = answer.headers["location"].to_str().expect("an address");
        assert_eq!((answer.code.as_u16(), location), (303, "/dashboard/create"), "{address}");
    }
    assert_eq!(stage.get("/dashboard/do/nothing").await.code, 404);
}

#[tokio::test]
async fn an_unknown_cluster_or_profile_names_the_nearest() {
    let stage = Stage::new(landscape());
    let answer = stage.get("/dashboard/clusters/demo/lokal").await;
    assert_eq!(answer.code, 404);
    assert!(answer.text.contains("href=\"/dashboard/clusters/demo/local\""));
    let answer = stage.get("/dashboard/versions/lokal").await;
    assert_eq!(answer.code, 404);
    assert!(answer.text.contains("href=\"/dashboard/versions/local\""));
}

#[tokio::test]
async fn a_page_reports_a_missing_api() {
    let stage = Stage::new(Api::default());
    let answer = stage.get("/dashboard/clusters").await;
    assert_eq!(answer.code, 503);
    assert!(
        answer.text.contains("503 ServiceUnavailable: the server is unavailable")
            && answer.text.contains("id=\"clock\"")
    );
}

#[tokio::test]
async fn a_change_of_a_version_is_previewed() {
    let stage = Stage::new(landscape());
    let form = "profile=local&version=kubernetes/1.26.4&classification=same&expires=none&back=/dashboard/versions";
    let answer = stage.post("versions", &format!("{form}&step=look")).await;
    assert_eq!(answer.code, 200);
    assert!(answer.text.contains("Only without the change"), "the forced update goes away: {}", answer.text);
    assert!(stage.writes().iter().all(|write| write.ends_with("?dryRun=All")), "{:?}", stage.writes());
    let answer = stage.post("versions", &format!("{form}&step=apply&of=look.")).await;
    assert_eq!(answer.code, 303);
    assert!(stage.writes().iter().any(|write| write == &format!("PATCH {PROFILES}/local")), "{:?}", stage.writes());
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_again() {
    let stage = Stage::new(landscape());
    let answer = stage.get("/dashboard/clusters").await;
    let tag = answer.headers["etag"].to_str().expect("text").to_owned();
    let asked = |tag: &str| stage.request("GET", "/dashboard/clusters").header("if-none-match", tag.to_owned());
    let again = stage.send(asked(&tag).body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!((again.code.as_u16(), again.text.as_str()), (304, ""));
    let other = stage.send(asked("\"1-1\"").body(axum::body::Body::empty()).expect("a request")).await;
    assert_eq!(other.code, 200);
    assert!(!stage.get("/dashboard/nothing").await.headers.contains_key("etag"), "what is not there may come");
}

#[tokio::test]
async fn a_forecast_is_exported_as_csv() {
    let stage = Stage::new(landscape());
    let page = stage.get("/dashboard/forecast?until=30d").await.text;
    assert!(page.contains("href=\"/dashboard/forecast.csv?until=30d\""), "{page}");
    let answer = stage.get("/dashboard/forecast.csv?until=30d").await;
    assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8");
    let mut lines = answer.text.split("\r\n");
    assert!(
        lines.next().is_some_and(|header| header.starts_with("time,windowBegin,windowEnd,shoot,")),
        "{}",
        answer.text
    );
    assert!(
        lines.next().is_some_and(|line| line.contains(",garden-demo/local,,kubernetes,1.26.4,1.27.")),
        "{}",
        answer.text
    );
    let nothing = stage.get("/dashboard/forecast.csv?until=30d&only=failed").await;
    assert_eq!(nothing.text.matches("\r\n").count(), 1, "the header alone: {}", nothing.text);
}

#[tokio::test]
async fn an_assumption_links_to_the_panel_that_applies_it() {
    let stage = Stage::new(landscape());
    let text = stage
        .get("/dashboard/forecast?expire=kubernetes/1.26.4=2023-09-30&classify=kubernetes/1.28.0=supported")
        .await
        .text;
    for part in [
        "Apply kubernetes/1.28.0 is supported, in local",
        "Apply kubernetes/1.26.4 expires 2023-09-30T00:00:00Z, in local",
        "name=\"expires\" value=\"2023-09-30T00:00:00Z\"",
        "name=\"classification\" value=\"supported\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!stage.get("/dashboard/forecast").await.text.contains("Apply to the landscape"));
}

#[tokio::test]
async fn time_moves_step_by_step() {
    let stage = Stage::new(landscape());
    for (form, said) in [
        ("goal=1h&pause=5001", "pause: milliseconds, a whole number from 0 to 5000"),
        ("goal=1h&pause=", "pause: milliseconds, a whole number from 0 to 5000"),
        ("goal=soon&pause=0", "`soon` is no instant"),
        ("goal=2023-07-01&pause=0", "2023-07-01 00:00:00 is past"),
    ] {
        stage.post("time-steps", &format!("{form}&back=/dashboard/time")).await;
        let text = stage.get("/dashboard/time").await.text;
        assert!(text.contains(said), "{form}: {text}");
    }
    assert!(stage.writes().is_empty() && stage.dashboard.walks().current().is_none());
    assert_eq!(stage.post("time-steps", "goal=1h&pause=200&back=/dashboard/time").await.code, 303);
    while stage.writes().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.writes(), ["POST /terrarium/clock/advance"]);
    let text = stage.get("/dashboard/faults").await.text;
    assert!(
        text.contains("step by step to <time datetime=\"2023-07-27T21:00:00Z\">") && text.contains(">Stop<"),
        "{text}"
    );
    stage.post("clock", "command=stop&back=/dashboard/faults").await;
    assert!(stage.dashboard.walks().current().is_none());
}

/// Returns a Shoot's sections for the log.
fn sections(shoot: &serde_json::Value) -> Sections {
    let (metadata, name) = (&shoot["metadata"], &shoot["metadata"]["name"]);
    let parts = [
        format!(
            "{{\"kind\":\"Shoot\",\"apiVersion\":\"core.gardener.cloud/v1beta1\",\"metadata\":{{\"name\":{name},\
             \"namespace\":\"garden-demo\",\"uid\":{name}"
        ),
        format!(",\"creationTimestamp\":{},\"labels\":{}", metadata["creationTimestamp"], metadata["labels"]),
        ",\"managedFields\":[{\"manager\":\"kubectl\"}]}".to_owned(),
        format!(",\"spec\":{}", shoot["spec"]),
        format!(",\"status\":{}}}", shoot["status"]),
    ];
    Sections { parts: parts.map(Bytes::from) }
}

/// Returns many Shoots that differ in the fields that lists show, filter and sort by.
fn many() -> Vec<serde_json::Value> {
    let one = |number: usize| {
        let mut shoot = shoot(&format!("s{number:03}"), ["1.26.4", "1.27.1", "1.27.0"][number % 3]);
        shoot["metadata"]["labels"] = json!({ "team": (["a", "b"][number % 2]) });
        shoot["spec"]["purpose"] = json!((["testing", "production"][number % 2]));
        let begin = format!("{:02}0000+0000", number % 24);
        shoot["spec"]["maintenance"] = json!({ "timeWindow": { "begin": begin, "end": format!("{:02}0000+0000", (number + 1) % 24) },
            "autoUpdate": { "kubernetesVersion": !number.is_multiple_of(5), "machineImageVersion": true } });
        shoot["status"] = json!({ "technicalID": format!("shoot--demo--s{number:03}"), "seedName": "local", "hibernated": number.is_multiple_of(7),
            "gardener": { "version": "v1.120.0", "name": "", "id": "" },
            "lastOperation": { "type": "Reconcile", "state": (["Succeeded", "Failed"][usize::from(number.is_multiple_of(11))]),
                "progress": 100, "lastUpdateTime": "2023-07-27T19:00:00Z", "description": "" },
            "lastErrors": if number.is_multiple_of(11) { json!([{ "description": "no", "codes": ["ERR_INFRA_DEPENDENCIES"] }]) } else { json!([]) },
            "conditions": [{ "type": "APIServerAvailable", "status": (["True", "False"][usize::from(number.is_multiple_of(13))]),
                "reason": "R", "message": format!("about {number}"), "lastTransitionTime": "2023-07-27T18:00:00Z" }],
            "constraints": [{ "type": "HibernationPossible", "status": "False", "reason": "R", "message": "no",
                "lastTransitionTime": "2023-07-27T18:00:00Z" }] });
        if number.is_multiple_of(17) {
            // Its rotation affects maintenance, too: the whole Shoot is read from the API.
            shoot["status"]["credentials"] = json!({ "rotation": {} });
        }
        shoot
    };
    (0..600).map(one).collect()
}

/// Returns the text of a region of a page, without the tokens of its forms.
fn region(text: &str, id: &str) -> String {
    let begin = text.find(&format!("<section id=\"{id}\"")).unwrap_or_else(|| panic!("no region {id}: {text}"));
    let (region, _) = text[begin..].split_once("</section>").expect("it ends");
    let (_, region) = region.split_once('>').expect("its tag ends");
    let mut parts = region.split("name=\"token\" value=\"");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| shown + part.split_once('"').map_or("", |(_, rest)| rest))
}

#[tokio::test]
async fn pages_from_log_and_api_are_equal() {
    let shoots = many();
    let log = MemoryLog::new();
    for (number, shoot) in shoots.iter().enumerate() {
        let name = shoot["metadata"]["name"].as_str().expect("a name");
        let append = Append {
            key: Key::new("garden", "core.gardener.cloud/shoots", "garden-demo", name),
            expect: Expect::Absent,
            guards: Vec::new(),
            verb: Verb::Create,
            object: sections(shoot),
            volatile: false,
            actor: Arc::new(Actor::default()),
            time: "2023-07-27T19:00:00Z".parse().expect("an instant"),
            writer: (1, number as u64),
        };
        log.append(append).await.expect("nothing is in its way");
    }
    let api = || landscape().with(SHOOTS, &shoots);
    let (listed, indexed) = (Stage::new(api()), Stage::with_log(api(), log));
    let columns = "column=technical&column=created&column=provider&column=images&column=gardener";
    for query in [
        columns,
        "page=3",
        "sort=maintenance",
        "sort=-maintenance&page=2",
        "sort=readiness",
        "sort=issue",
        "sort=-status",
        "filter=forced:30d",
        "filter=forced:1h",
        "filter=label:team%3Da+purpose:testing",
        "filter=image:gardenlinux+class:deprecated",
        "filter=state:failed+-state:hibernated",
        "filter=condition:API",
        "filter=nothing",
    ] {
        let path = format!("/dashboard/clusters?{query}");
        let (one, other) = (listed.get(&path).await.text, indexed.get(&path).await.text);
        assert_eq!(region(&one, "list"), region(&other, "list"), "{query}");
    }
    let asked = indexed.asked.lock().clone();
    let whole = asked.iter().filter(|(_, path, _)| path.starts_with(SHOOTS)).count();
    assert_eq!(whole, 0, "no list of all Shoots is asked for");
    let (one, other) =
        (listed.get("/dashboard/versions/local").await.text, indexed.get("/dashboard/versions/local").await.text);
    for id in ["table", "warnings"] {
        assert_eq!(region(&one, id), region(&other, id), "{id}");
    }
    let users = region(&other, "users");
    for part in
        ["600 Shoots use it. These are 1 to 100", "Page 1 of 6", "users=2", "garden-demo/s000", "garden-demo/s297"]
    {
        assert!(users.contains(part), "{part}: {users}");
    }
    assert!(
        !users.contains("garden-demo/s300") && !users.contains("s001"),
        "whose version expires first comes first: {users}"
    );
    let last = indexed.get("/dashboard/versions/local?users=6").await.text;
    assert!(region(&last, "users").contains("These are 501 to 600"));
    assert!(other.len() < 300_000, "{} bytes", other.len());
    let (one, other) = (listed.get("/dashboard/landscape").await.text, indexed.get("/dashboard/landscape").await.text);
    for id in ["seeds", "versions"] {
        assert_eq!(region(&one, id), region(&other, id), "{id}");
    }
}

#[tokio::test]
async fn a_long_page_is_compressed_for_clients_that_accept_gzip() {
    let stage = Stage::new(landscape().with(SHOOTS, &many()));
    let asked = [("gzip, deflate, br", true), ("br;q=1.0, GZIP;q=0.5", true), ("gzip;q=0", false), ("br", false)];
    for (path, (asked, is_packed)) in ["clusters", "forecast"].into_iter().flat_map(|path| asked.map(|it| (path, it))) {
        let path = format!("/dashboard/{path}");
        let plain = stage.get(&path).await;
        assert!(!plain.headers.contains_key("content-encoding"));
        let request = stage.request("GET", &path).header("accept-encoding", asked);
        let request = request.body(axum::body::Body::empty()).expect("a request");
        let response = stage.dashboard.answer(Entrance::Loopback, request).await;
        assert_eq!(response.headers().contains_key("content-encoding"), is_packed, "{asked}");
        assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        let mut text = String::new();
        if is_packed {
            flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut text).expect("it is packed");
        } else {
            (&*bytes).read_to_string(&mut text).expect("text");
        }
        assert!(text == plain.text, "{asked}: another page");
        assert!(!is_packed || bytes.len() < 60_000, "{} bytes of {}", bytes.len(), text.len());
    }
}

#[tokio::test]
async fn a_forecast_page_is_sent_in_two_parts() {
    let stage = Stage::new(landscape());
    let request = stage.request("GET", "/dashboard/forecast?until=30d").body(axum::body::Body::empty());
    let response = stage.dashboard.answer(Entrance::Loopback, request.expect("a request")).await;
    let mut body = response.into_body();
    let mut parts = Vec::new();
    while let Some(frame) = body.frame().await {
        let bytes = frame.expect("a frame").into_data().expect("bytes");
        parts.push(String::from_utf8(bytes.to_vec()).expect("text"));
    }
    let [first, second] = &parts[..] else { panic!("{parts:?}") };
    assert!(
        first.contains("<section id=\"question\"") && first.ends_with("The forecast is being made.</p>"),
        "{first}"
    );
    assert!(second.starts_with("<section id=\"dates\"") && second.ends_with("</html>"), "{second}");
    assert!(second.contains("garden-demo/local") && !second.contains("<!--"), "{second}");
    assert!(first.contains("data-live=") && second.contains("id=\"timebar\""), "what is live has an end, too");
}

#[tokio::test]
async fn an_assumption_about_automatic_updates_has_a_command() {
    let text =
        Stage::new(landscape()).get("/dashboard/forecast?auto=garden-demo%3Doff&auto=all&auto=x%3Don").await.text;
    assert!(text.contains("terrarium forecast --until 90d --auto garden-demo=off --auto all --auto x=on"), "{text}");
    for said in ["auto: `all` is not NAMESPACE=on", "no Shoot is in namespace x; the nearest is `garden-demo`"] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[tokio::test]
async fn nodes_of_a_cluster_are_counted() {
    let log = MemoryLog::new();
    let node = |name: &str, ready: &str| {
        let status = format!(",\"status\":{{\"conditions\":[{{\"type\":\"Ready\",\"status\":\"{ready}\"}}]}}}}");
        let head = format!("{{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"{name}\"");
        Sections { parts: [head, String::new(), "}".to_owned(), String::new(), status].map(Bytes::from) }
    };
    for (number, (name, ready)) in [("a", "True"), ("b", "False"), ("c", "True")].into_iter().enumerate() {
        let append = Append {
            key: Key::new("shoot--demo--local", "/nodes", "", name),
            expect: Expect::Absent,
            guards: Vec::new(),
            verb: Verb::Create,
            object: node(name, ready),
            volatile: false,
            actor: Arc::new(Actor::default()),
            time: "2023-07-27T19:00:00Z".parse().expect("an instant"),
            writer: (1, number as u64),
        };
        log.append(append).await.expect("nothing is in its way");
    }
    let mut object = shoot("local", "1.26.4");
    object["status"] = json!({ "technicalID": "shoot--demo--local" });
    let stage = Stage::with_log(landscape().with(SHOOTS, &[object, shoot("new", "1.27.1")]), log);
    let list = region(&stage.get("/dashboard/clusters").await.text, "list");
    assert!(list.contains("<td>2/3<br><span class=\"far nowrap\">of 1 to 3</span></td>"), "{list}");
    assert!(list.contains("<td>0<br><span class=\"far nowrap\">of 1 to 3</span></td>"), "{list}");
}

#[tokio::test]
async fn users_of_each_version_move_or_stay_and_why() {
    let stage = Stage::new(
        landscape()
            .with(SHOOTS, &[shoot("a", "1.26.4"), shoot("b", "1.27.1"), shoot("c", "1.27.1"), shoot("d", "1.26.4")]),
    );
    let users = region(&stage.get("/dashboard/versions/local").await.text, "users");
    let (rest, image) = users.split_once("<h3>gardenlinux 1.0.0</h3>").expect("a group");
    let (new, old) = rest.split_once("<h3>kubernetes 1.26.4</h3>").expect("a group, behind that of the higher version");
    assert!(new.contains("<h3>kubernetes 1.27.1</h3>") && !new.contains("garden-demo/a"), "{new}");
    assert!(new.contains("garden-demo/b stays, because ") && new.contains("garden-demo/c stays, because "), "{new}");
    for part in ["garden-demo/a", "control plane", "2023-07-28 09:", "1.27.", "expired"] {
        assert!(old.contains(part), "{part}: {old}");
    }
    assert!(image.contains("4 users stay, because ") && image.contains("garden-demo/b, pool a"), "{image}");
}

#[tokio::test]
async fn a_new_version_shows_its_forced_target() {
    let stage = Stage::new(landscape());
    let page = async |query: &str| stage.get(&format!("/dashboard/create?version=1.26.4{query}")).await.text;
    let text = page("&begin=090000%2B0000&end=100000%2B0000").await;
    assert!(
        text.contains("1.26.4 expires in 0 days, on 2023-07-28 00:00:00; forced to 1.27.1 at 2023-07-28 09:"),
        "{text}"
    );
    assert!(text.contains("for this window"), "{text}");
    let text = page("").await;
    assert!(text.contains("1.26.4 expires in 0 days, on 2023-07-28 00:00:00; where it is forced to"), "{text}");
    assert!(text.contains("gardenlinux/2.0.0 (preview)") && text.contains("gardenlinux/1.0.0 (supported)"), "{text}");
}

#[tokio::test]
async fn a_forecast_without_assumptions_has_the_same_time_and_user() {
    let stage = Stage::new(landscape());
    let forced = async |query: &str| {
        let text = stage.get(&format!("/dashboard/forecast?{query}")).await.text;
        let (_, list) = text.split_once("No longer forced").expect("a difference");
        list.split_once("</li>").expect("it ends").0.to_owned()
    };
    let never = "expire=kubernetes/1.26.4=2030-01-01";
    // Until midnight no update is forced in either case; after it, demo/local is no longer forced.
    for (until, expected) in
        [("1h", ": 0</strong>"), ("30d", ": 1</strong>: garden-demo/local"), ("1h", ": 0</strong>")]
    {
        let shown = forced(&format!("until={until}&{never}")).await;
        assert!(shown.starts_with(expected), "{until}: {shown}");
        assert_eq!(forced(&format!("until={until}&{never}")).await, shown, "asked again");
    }
}

#[tokio::test]
async fn a_part_of_the_list_is_sent_alone() {
    let shoots: Vec<_> = (0..450).map(|number| shoot(&format!("s{number:03}"), "1.27.1")).collect();
    let stage = Stage::new(landscape().with(SHOOTS, &shoots));
    for (query, rows) in [("windows=2", 100), ("page=9", 50), ("filter=s00", 10), ("filter=nothing", 0)] {
        let (part, page) = (
            stage.get(&format!("/dashboard/rows?{query}")).await,
            stage.get(&format!("/dashboard/clusters?{query}")).await,
        );
        assert_eq!(part.text.matches("aria-label=\"Select ").count(), rows, "{query}");
        assert_eq!(region(&part.text, "list"), region(&page.text, "list"), "{query}: links lead to pages");
        assert!(!part.text.contains("<html") && !part.text.contains("id=\"timebar\""), "{query}");
    }
    assert_eq!(stage.get("/dashboard/rows?at=soon").await.code, 400);
}
