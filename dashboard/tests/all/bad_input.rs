// SPDX-License-Identifier: Apache-2.0
//! Answers of pages to requests that they cannot fulfil: moments, names, markup. Further ones are in `pages` and `security`.

use std::sync::Arc;

use bytes::Bytes;
use eventlog::{Actor, Append, EventLog, Expect, Key, MemoryLog, Revision, Sections, Verb};
use serde_json::{Value, json};

use crate::support::{SHOOTS, Stage, landscape, log, shoot};

#[tokio::test]
async fn an_invalid_moment_gets_a_form_for_another() {
    let stage = Stage::with_log(landscape(), log(10).await);
    for at in ["soon", "-1", "1.5", "2023-02-30", "99999999999999999999", "%3Cscript%3E"] {
        let answer = stage.get(&format!("/dashboard/clusters?filter=x&at={at}")).await;
        assert_eq!(answer.code, 400, "{at}");
        for part in
            ["id=\"at-revision\"", "id=\"at-time\"", "name=\"filter\" value=\"x\"", "/dashboard/clusters?filter=x"]
        {
            assert!(answer.text.contains(part), "{at}: {part}: {}", answer.text);
        }
        assert!(!answer.text.contains("<script>"), "{at}");
    }
}

#[tokio::test]
async fn a_moment_without_history_links_to_the_nearest() {
    let log = log(10).await;
    log.compact(Revision(4)).await.expect("it is not in the future");
    let stage = Stage::with_log(landscape(), log);
    for (at, code, said, nearest) in [
        ("3", 410, "History begins at revision 4", "at=4\""),
        ("4", 200, "Showing revision 4", ""),
        ("2023-07-27T18:59:59Z", 410, "History begins at revision 5", "at=5\""),
        ("2023-07-27T19:04:00Z", 200, "Showing revision 5", ""),
        ("10", 200, "Showing revision 10", ""),
        ("11", 404, "The last revision is 10.", "at=10\""),
        ("2023-07-27T20:00:00Z", 200, "Showing revision 10", ""),
        ("2023-07-27T20:00:01Z", 404, "2023-07-27 20:00:01 is still to come", "href=\"/dashboard/clusters\""),
    ] {
        let answer = stage.get(&format!("/dashboard/clusters?at={at}")).await;
        assert_eq!(answer.code.as_u16(), code, "{at}: {}", answer.text);
        assert!(answer.text.contains(said) && answer.text.contains(nearest), "{at}: {}", answer.text);
    }
}

#[tokio::test]
async fn the_page_of_a_later_cluster_shows_its_creation() {
    let mut api = landscape().with(SHOOTS, &[shoot("local", "1.26.4")]);
    let namespaced = SHOOTS.replace("/shoots", "/namespaces/garden-demo/shoots");
    for path in [SHOOTS.to_owned(), namespaced] {
        api.past.insert(path, Vec::new());
    }
    let stage = Stage::with_log(api, log(10).await);
    let answer = stage.get("/dashboard/clusters/demo/local?at=5").await;
    assert_eq!(answer.code, 404);
    for part in ["Cluster demo/local did not exist then", "It was created at", "at=2023-07-27T20"] {
        assert!(answer.text.contains(part), "{part}: {}", answer.text);
    }
    let answer = stage.get("/dashboard/clusters/demo/lokal?at=5").await;
    assert_eq!(answer.code, 404);
    assert!(answer.text.contains("There is no cluster demo/lokal"), "{}", answer.text);
}

/// Appends an entry that creates or deletes a Shoot or a CloudProfile.
async fn happens(log: &MemoryLog, resource: &str, namespace: &str, verb: Verb, time: &str) -> Revision {
    let key = Key::new("garden", resource, namespace, "gone");
    let expect = if verb == Verb::Create { Expect::Absent } else { Expect::Revision(log.head()) };
    let append = Append {
        key,
        expect,
        guards: Vec::new(),
        verb,
        object: Sections { parts: ["{", "", "}", "", "}"].map(|part| Bytes::from_static(part.as_bytes())) },
        volatile: false,
        actor: Arc::new(Actor::default()),
        time: time.parse().expect("an instant"),
        writer: (2, log.head().0),
    };
    log.append(append).await.expect("nothing is in its way").revision
}

#[tokio::test]
async fn pages_of_deleted_objects_show_when_they_existed() {
    for (resource, namespace, path, what) in [
        ("core.gardener.cloud/shoots", "garden-demo", "clusters/demo/gone", "Cluster demo/gone"),
        ("core.gardener.cloud/cloudprofiles", "", "versions/gone", "CloudProfile gone"),
    ] {
        let log = log(5).await;
        happens(&log, resource, namespace, Verb::Create, "2023-07-27T19:30:00Z").await;
        happens(&log, resource, namespace, Verb::Delete, "2023-07-27T19:31:00Z").await;
        happens(&log, resource, namespace, Verb::Create, "2023-07-27T19:32:00Z").await;
        happens(&log, resource, namespace, Verb::Delete, "2023-07-27T19:33:00Z").await;
        let mut api = landscape().with(SHOOTS, &[]);
        api.past.insert(SHOOTS.replace("/shoots", "/namespaces/garden-demo/shoots"), Vec::new());
        let stage = Stage::with_log(api, log);
        let now = stage.get(&format!("/dashboard/{path}")).await;
        let then = stage.get(&format!("/dashboard/{path}?at=7")).await;
        assert_eq!((now.code.as_u16(), then.code.as_u16()), (404, 404));
        assert!(now.text.contains(&format!("{what} does not exist any more")), "{}", now.text);
        assert!(then.text.contains(&format!("{what} did not exist then")), "{}", then.text);
        for part in ["at=6\"", "19:30:00", ", and deleted at", "19:31:00", "at=8\"", "19:32:00", "19:33:00"] {
            assert!(now.text.contains(part) && then.text.contains(part), "{part}: {}", then.text);
        }
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_filters_by_the_rest() {
    let stage = Stage::new(landscape().with(SHOOTS, &[shoot("a", "1.26.4"), shoot("b", "1.27.1")]));
    for (filter, said) in [
        ("version:1.27+%22open", "a quotation mark has no end"),
        ("colour:red+version:1.27", "`colour:` is not a key: use one of project, seed"),
        ("forced:soon+version:1.27", "`forced:soon` needs a length of time"),
    ] {
        let answer = stage.get(&format!("/dashboard/clusters?filter={filter}")).await;
        assert_eq!(answer.code, 200, "{filter}");
        assert!(
            answer.text.contains(said) && answer.text.contains("aria-invalid=\"true\""),
            "{filter}: {}",
            answer.text
        );
        assert!(!answer.text.contains("Select garden-demo/a\""), "{filter}: the rest counts");
    }
}

/// An annotation, a label, a Project, an Event, a condition: markup from any of them is text.
#[tokio::test]
async fn markup_in_annotations_and_events_is_text() {
    let script = "<script>alert(1)</script>\"'&";
    let mut object = shoot("local", "1.26.4");
    object["metadata"]["annotations"] = json!({ "note": script });
    object["metadata"]["labels"] = json!({ "label": script });
    let event: Value = json!({ "metadata": { "name": "e" }, "involvedObject": { "uid": "local" }, "reason": script,
        "type": script, "message": script, "lastTimestamp": "2023-07-27T19:00:00Z" });
    let events = "/clusters/garden/api/v1/namespaces/garden-demo/events";
    let stage = Stage::new(landscape().with(SHOOTS, &[object]).with(events, &[event]));
    let text = stage.get("/dashboard/clusters/demo/local").await.text;
    assert!(!text.contains("<script>"), "{text}");
    assert!(text.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count() >= 4, "the Event and the manifest: {text}");
}

#[tokio::test]
async fn a_window_that_is_no_number_is_the_first() {
    let shoots: Vec<_> = (0..450).map(|number| shoot(&format!("s{number:03}"), "1.27.1")).collect();
    let stage = Stage::new(landscape().with(SHOOTS, &shoots));
    let rows = async |query: &str| {
        let text = stage.get(&format!("/dashboard/clusters?{query}")).await.text;
        (text.matches("aria-label=\"Select ").count(), text)
    };
    for query in ["page=0", "page=-1", "page=x", "windows=0", "windows=", "windows=99999999999999999999"] {
        let (count, text) = rows(query).await;
        assert!(count == 50 && text.contains("Select garden-demo/s000\""), "{query}: {count}");
    }
    assert_eq!(rows("windows=2").await.0, 100);
    assert_eq!(rows("windows=40").await.0, 450, "no more than there are");
    let (count, text) = rows("page=8&windows=2").await;
    assert!(count == 100 && text.contains("Pages 8 to 9 of 9") && !text.contains("rel=\"next\""), "{count}");
    assert!(rows("").await.1.contains("data-next=\"/dashboard/clusters?windows=5\""), "the script asks for more");
    assert!(rows("page=99").await.1.contains("Page 9 of 9"));
}

#[tokio::test]
async fn host_objects_are_shown_while_gardener_apiserver_is_unavailable() {
    let mut api = landscape();
    api.away.push("/clusters/garden/apis/core.gardener.cloud".to_owned());
    let stage = Stage::with_log(api, log(10).await);
    for page in ["time", "faults", "landscape"] {
        let answer = stage.get(&format!("/dashboard/{page}")).await;
        assert_eq!(answer.code, 200, "{page}: {}", answer.text);
    }
    let text = stage.get("/dashboard/landscape").await.text;
    for part in ["id=\"components\"", "id=\"rules\"", "503 ServiceUnavailable", "It has not answered since"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for page in ["clusters", "clusters/demo/local", "versions", "forecast", "create"] {
        let answer = stage.get(&format!("/dashboard/{page}")).await;
        assert_eq!(answer.code, 503, "{page}: {}", answer.text);
        for part in [
            "503 ServiceUnavailable: the server is unavailable",
            "It has not answered since",
            "id=\"clock\"",
            "id=\"timebar\"",
        ] {
            assert!(answer.text.contains(part), "{page}: {part}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_forecast_offers_only_ends_that_it_takes() {
    let stage = Stage::new(landscape());
    let text = stage.get("/dashboard/forecast").await.text;
    let (_, hint) = text.split_once("id=\"until-hint\">").expect("the field has a hint");
    let (offered, _) = hint.split_once(';').expect("the hint names the default last");
    let offered: Vec<&str> = offered.split(", ").map(|end| end.trim_start_matches("or ")).collect();
    assert_eq!(offered, ["90d", "52w", "2027-01-31"]);
    for until in offered {
        let text = stage.get(&format!("/dashboard/forecast?until={until}")).await.text;
        assert!(text.contains(&format!("name=\"until\" value=\"{until}\"")), "{until}: {text}");
        assert!(!text.contains("is no instant"), "{until}: {text}");
    }
    let text = stage.get("/dashboard/forecast?until=1y").await.text;
    let said = "until: `1y` is no instant: use 2027-01-31, 2027-01-31T10:00:00Z, now, or a duration as 90s, 24h or 2w";
    assert!(text.contains(said), "{text}");
    let usual = stage.get("/dashboard/forecast").await.text;
    let period = |text: &str| {
        let (_, from) = text.split_once("<p>From ").expect("the period is shown");
        from.split_once("</p>").expect("its end").0.to_owned()
    };
    assert_eq!(period(&text), period(&usual), "the answer is that of the default");
}
