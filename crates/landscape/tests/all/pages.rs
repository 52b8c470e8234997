// SPDX-License-Identifier: Apache-2.0
//! Web pages over a landscape with a history: now and at past moments, as an administrator and as another user.

use std::sync::Arc;

use axum::body::Body;
use dashboard::access::Entrance;
use dashboard::clock_state::ClockState;
use dashboard::{Dashboard, Options};
use domain::profile::Profile;
use eventlog::EventLog;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use landscape::Options as LandscapeOptions;
use process::User;

use crate::support::{Audited, evening, force_update};

const HOST: &str = "story.localhost:1";

/// A browser that has logged in.
pub(crate) struct Browser {
    dashboard: Dashboard,
    cookie: String,
}

/// Response of the dashboard.
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) text: String,
    pub(crate) location: String,
}

impl Browser {
    pub(crate) fn of(audited: &Audited, user: User) -> Self {
        let (host, now) = (audited.landscape.host().clone(), audited.landscape.now());
        let options = Options {
            landscape: "story".to_owned(),
            gardener_version: landscape::GARDENER_VERSION.to_owned(),
            rules: Profile::Documents,
            seed: 11,
            door: Arc::new(move |user| host.transport(user)),
            log: Arc::new(audited.landscape.log().clone()),
            clock: Arc::new(move || ClockState { now, settled: true, ..ClockState::default() }),
            wall: clock::Clock::wall(),
            tasks: audited.landscape.client("dashboard").tasks,
            upgrades: None,
            has_threads: false,
        };
        let dashboard = Dashboard::new(options);
        dashboard.add_name(HOST);
        let code = dashboard.sessions().code(user);
        let mut browser = Self { dashboard, cookie: String::new() };
        let request = browser.request(Method::GET, &format!("/dashboard/login?code={code}"));
        let response = audited
            .landscape
            .run(browser.dashboard.answer(Entrance::Loopback, request.body(Body::empty()).expect("a request")));
        let response = response.expect("it runs");
        let cookie = response.headers()[header::SET_COOKIE].to_str().expect("a text");
        cookie.split(';').next().unwrap_or_default().clone_into(&mut browser.cookie);
        browser
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(path).header(header::HOST, HOST).header(header::COOKIE, &self.cookie)
    }

    fn send(&self, audited: &Audited, request: Request<Body>) -> Answer {
        let answered = audited.landscape.run(async {
            let response = self.dashboard.answer(Entrance::Loopback, request).await;
            let (parts, body) = response.into_parts();
            (parts, body.collect().await.expect("a body").to_bytes())
        });
        let (parts, body) = answered.expect("it runs");
        let text = String::from_utf8(body.to_vec()).expect("UTF-8");
        let location =
            parts.headers.get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default().to_owned();
        Answer { code: parts.status, text, location }
    }

    pub(crate) fn get(&self, audited: &Audited, path: &str) -> Answer {
        let request = self.request(Method::GET, &format!("/dashboard/{path}")).body(Body::empty()).expect("a request");
        self.send(audited, request)
    }

    /// Sends a form as the page does: with its token, from the same origin.
    pub(crate) fn post(&self, audited: &Audited, page: &str, action: &str, fields: &str) -> Answer {
        let text = self.get(audited, page).text;
        let form = text
            .split(&format!("action=\"/dashboard/do/{action}\""))
            .nth(1)
            .unwrap_or_else(|| panic!("{page} has no form {action}"));
        let token =
            form.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
        let request = self
            .request(Method::POST, &format!("/dashboard/do/{action}"))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::ORIGIN, format!("http://{HOST}"))
            .header("sec-fetch-site", "same-origin")
            .body(Body::from(format!("token={token}&back=/dashboard/{page}&{fields}")));
        let answer = self.send(audited, request.expect("a request"));
        // A page in response to a form has an address of its own.
        match answer.location.strip_prefix("/dashboard/").filter(|to| to.starts_with("do/")) {
            Some(to) => self.get(audited, to),
            None => answer,
        }
    }
}

pub(crate) fn admin() -> User {
    User { name: "admin".into(), groups: vec!["system:masters".into(), "system:authenticated".into()], component: None }
}

/// The revision of the last entry before a Shoot's Kubernetes version was raised.
fn before_update(audited: &Audited) -> u64 {
    let entries = audited.entries();
    let raised = entries.iter().find(|entry| {
        let text = |sections: &eventlog::Sections| String::from_utf8_lossy(&sections.parts[3]).into_owned();
        let before = entry.previous.as_ref().map(|(_, sections)| text(sections)).unwrap_or_default();
        *entry.key.resource == *"core.gardener.cloud/shoots"
            && before.contains("\"version\":\"1.26.4\"")
            && text(&entry.object).contains("\"version\":\"1.27.1\"")
    });
    raised.expect("the story raises it").revision.0 - 1
}

/// Common properties of pages: one heading of the first rank, unique ids, no inline styles or scripts, no external
/// resources.
#[track_caller]
fn check_document(path: &str, answer: &Answer) {
    let text = &answer.text;
    assert_eq!(answer.code, StatusCode::OK, "{path}: {text}");
    assert_eq!(text.matches("<h1").count(), 1, "{path}");
    assert!(text.contains("<title>") && text.contains("lang=\"en\""), "{path}");
    for foreign in [" style=\"", "href=\"http", "src=\"http", "action=\"http", "<script>"] {
        assert!(!text.contains(foreign), "{path}: {foreign}");
    }
    let mut ids: Vec<&str> =
        text.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect();
    ids.sort_unstable();
    let repeated: Vec<&&str> = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(repeated.is_empty(), "{path}: ids {repeated:?} are there twice");
    for element in ["section", "table", "form", "svg", "details", "ul", "div", "select", "fieldset"] {
        let count = |text: &str, what: &str| text.matches(what).count();
        let (open, close) = (
            count(text, &format!("<{element} ")) + count(text, &format!("<{element}>")),
            count(text, &format!("</{element}>")),
        );
        assert_eq!(open, close, "{path}: {element}");
    }
}

/// Pages, with queries that expand them.
const PAGES: [&str; 10] = [
    "clusters",
    "clusters/demo/local",
    "landscape",
    "landscape?to=1.121",
    "time",
    "time?object=shoot",
    "forecast",
    "forecast?explain=garden-local/local",
    "faults",
    "versions",
];

#[test]
fn every_page_is_a_document_now_and_in_the_past() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let past = before_update(&audited);
    for page in PAGES {
        check_document(page, &browser.get(&audited, page));
        let path = format!("{page}{}at={past}", if page.contains('?') { "&" } else { "?" });
        let answer = browser.get(&audited, &path);
        check_document(&path, &answer);
        assert!(answer.text.contains(&format!("Showing revision {past}")), "{path}");
        assert!(
            !answer.text.contains("action=\"/dashboard/do/fault-inject\"") && !answer.text.contains("do/set-version"),
            "{path}"
        );
    }
}

#[test]
fn a_past_page_shows_the_past_state() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let past = before_update(&audited);
    let now = browser.get(&audited, "clusters").text;
    assert!(now.contains("1.27.1") && !now.contains("Showing revision"), "{now}");
    let then = browser.get(&audited, &format!("clusters?at={past}")).text;
    assert!(then.contains("1.26.4") && !then.contains("1.27.1 "), "{then}");
    assert!(then.contains(&format!("terrarium at {past} get shoots -A -o wide")), "the command is of then: {then}");
    // The bar links to the change and back.
    assert!(then.contains("id=\"bar-next\"") && then.contains("id=\"bar-now\""), "{then}");
    assert!(now.contains("Kubernetes 1.26.4 → 1.27.1"), "a mark tells the roll-out: {now}");
    let windows =
        now.split("window to come ").nth(1).and_then(|rest| rest.split('<').next()?.trim().parse::<u32>().ok());
    assert!(windows.is_some_and(|count| (29..=31).contains(&count)), "one a day for 30 days: {windows:?}");
    // Its machines are listed in the order of the roll-out.
    let cluster = browser.get(&audited, "clusters/demo/local").text;
    assert!(cluster.contains("Machines along time") && cluster.contains(" new and running"), "{cluster}");
    // A cluster that did not exist yet.
    let before = browser.get(&audited, "clusters/demo/local?at=2023-07-27T19:58:00Z");
    assert_eq!(before.code, StatusCode::NOT_FOUND);
    assert!(before.text.contains("did not exist then") && before.text.contains("It was created at"), "{}", before.text);
    let instant = browser.get(&audited, "clusters?at=2023-07-27T21:00:00Z");
    assert!(instant.text.contains("2023-07-27 21:00:00") && instant.text.contains("Read only"), "{}", instant.text);
}

#[test]
fn invalid_moments_are_reported() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    for (at, code, text) in [
        ("soon", StatusCode::BAD_REQUEST, "is neither a revision"),
        ("99999999", StatusCode::NOT_FOUND, "still to come"),
        ("2123-01-01", StatusCode::NOT_FOUND, "still to come"),
    ] {
        let answer = browser.get(&audited, &format!("time?actor=x&at={at}"));
        assert_eq!(answer.code, code, "{at}: {}", answer.text);
        assert!(answer.text.contains(text), "{at}: {}", answer.text);
        assert!(answer.text.contains("/dashboard/time?actor=x"), "{at}: the page stays reachable");
    }
    let compacted = audited.landscape.run(audited.landscape.log().compact(eventlog::Revision(50)));
    compacted.expect("it runs").expect("it is not in the future");
    let answer = browser.get(&audited, "time?at=10");
    assert_eq!(answer.code, StatusCode::GONE);
    assert!(answer.text.contains("History begins at revision 50") && answer.text.contains("at=50"), "{}", answer.text);
    let answer = browser.get(&audited, "time");
    assert!(
        answer.text.contains("History begins at revision 50: the entries up to it were removed"),
        "{}",
        answer.text
    );
}

#[test]
fn the_log_is_filtered_and_compared() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let maintained = browser.get(&audited, "time?object=shoot&actor=shoot-maintenance").text;
    assert!(maintained.contains("1.26.4 → 1.27.1"), "{maintained}");
    assert!(maintained.contains("terrarium log --object shoot --actor shoot-maintenance"), "{maintained}");
    assert!(browser.get(&audited, "time?actor=nobody-at-all").text.contains("No entry is like that"));
    assert!(
        browser.get(&audited, "time?object=shots").text.contains("there is no kind `shots`; the nearest is `shoot`")
    );
    let past = before_update(&audited);
    let text = browser.get(&audited, &format!("time?from={past}&to={}", past + 1)).text;
    assert!(text.contains("spec.kubernetes.version") && text.contains("<ins>1.27.1</ins>"), "{text}");
    let wrong = browser.get(&audited, "time?from=5&to=2").text;
    assert!(wrong.contains("at or before the second"), "{wrong}");
}

#[test]
fn a_forecast_shows_past_and_future_changes() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let past = before_update(&audited);
    let then = browser.get(&audited, &format!("forecast?at={past}&until=2d")).text;
    assert!(then.contains("What really happened") && then.contains("Kubernetes 1.26.4 → 1.27.1"), "{then}");
    let what_if = browser.get(&audited, "forecast?until=90d&expire=kubernetes/1.27=2023-08-10").text;
    assert!(what_if.contains("What would be different") && what_if.contains("Newly forced"), "{what_if}");
    assert!(what_if.contains("terrarium forecast --until 90d --expire kubernetes/1.27=2023-08-10"), "{what_if}");
    let wrong = browser.get(&audited, "forecast?until=yesterday&expire=kubernetes/9.9=2023-08-10&auto=all").text;
    for text in
        ["until: `yesterday` is no instant", "no CloudProfile has a version kubernetes/9.9", "auto: `all` is not"]
    {
        assert!(wrong.contains(text), "{text}: {wrong}");
    }
}

#[test]
fn faults_are_injected_and_cleared_by_forms() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let page = "faults?kind=task-fails";
    let answer =
        browser.post(&audited, page, "fault-inject", "kind=task-fails&set-task=Deploying+Shoot+infrastructure&times=2");
    assert_eq!(
        (answer.code, answer.location.as_str()),
        (StatusCode::SEE_OTHER, "/dashboard/faults"),
        "{}",
        answer.text
    );
    let listed = browser.get(&audited, "faults").text;
    assert!(
        listed.contains("task-fails injected") && listed.contains("0/2") && listed.contains("any Shoot"),
        "{listed}"
    );
    // The API's error message is shown, and the form keeps its input.
    let refused = browser.post(&audited, page, "fault-inject", "kind=task-fails&times=0&set-message=lost");
    assert_eq!(refused.code, StatusCode::UNPROCESSABLE_ENTITY, "{}", refused.text);
    assert!(refused.text.contains("422 Invalid") && refused.text.contains("value=\"lost\""), "{}", refused.text);
    let wrong = browser.post(&audited, page, "fault-inject", "kind=task-fails&times=twice");
    assert!(wrong.text.contains("times: `twice` is not a whole number"), "{}", wrong.text);
    let cleared = browser.post(&audited, "faults", "fault-clear", "all=true");
    assert_eq!(cleared.code, StatusCode::SEE_OTHER);
    assert!(browser.get(&audited, "faults").text.contains("No faults."));
    let forged =
        browser.request(Method::POST, "/dashboard/do/fault-clear").header(header::ORIGIN, format!("http://{HOST}"));
    assert_eq!(
        browser.send(&audited, forged.body(Body::from("all=true&token=x")).expect("a request")).code,
        StatusCode::FORBIDDEN
    );
}

#[test]
fn the_present_is_untouched_by_looking() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    // Later writes of controllers at this instant are not the pages'.
    audited.landscape.settle().expect("it settles");
    let head = audited.landscape.log().head();
    for page in PAGES {
        browser.get(&audited, page);
    }
    assert_eq!(audited.landscape.log().head(), head, "a page writes nothing:\n{}", audited.tail(5));
}

#[test]
fn rules_and_the_order_of_an_upgrade_are_shown() {
    let (audited, _) = force_update(LandscapeOptions::new(11, evening()));
    let browser = Browser::of(&audited, admin());
    let text = browser.get(&audited, "landscape?to=nonsense").text;
    assert!(text.contains("is no version of Gardener"), "{text}");
    for rule in ["A1", "C1", "C2", "G1", "G2", "O1", "O2", "E1"] {
        assert!(text.contains(&format!("<th scope=\"row\">{rule}</th>")), "{rule}: {text}");
    }
    assert!(text.contains("GardenletReady"), "{text}");
}
