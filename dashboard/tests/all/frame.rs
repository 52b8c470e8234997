// SPDX-License-Identifier: Apache-2.0
//! The frame of every page: its command, its moment, its bar of time.

use std::sync::Arc;

use axum::body::Body;
use dashboard::access::Entrance;
use dashboard::upgrades::{Progress, Upgrades};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use process::User;

use crate::support::{Stage, landscape, log, old};

const PAGES: [&str; 8] =
    ["clusters", "clusters/demo/local", "create", "versions/local", "landscape", "time", "forecast", "faults"];

/// Returns the command at the foot of a page.
fn command(text: &str) -> &str {
    let (_, rest) = text.split_once("<code id=\"command\">").unwrap_or_else(|| panic!("no command: {text}"));
    rest.split_once("</code>").expect("it ends").0
}

#[tokio::test]
async fn the_foot_of_a_page_has_its_command() {
    let stage = Stage::with_log(old(), log(10).await);
    for page in PAGES {
        let now = stage.get(&format!("/dashboard/{page}")).await.text;
        assert!(!command(&now).contains("terrarium at"), "{page}: {}", command(&now));
        if page == "create" {
            continue;
        }
        let then = stage.get(&format!("/dashboard/{page}?at=5")).await.text;
        for present in
            ["terrarium forecast</code>", "terrarium upgrade apply", "terrarium skew check</code>", "terrarium fault"]
        {
            assert!(!then.contains(present), "{page} at revision 5: {present}");
        }
        let command = command(&then);
        assert!(
            command.contains("terrarium at 5 ") || command.contains("--until 5"),
            "{page} at revision 5: {command}"
        );
    }
    let then = stage.get("/dashboard/forecast?at=5&until=30d").await.text;
    assert!(
        command(&then).ends_with("terrarium forecast -f - --seed 1 --from 2023-07-27T19:04:00Z --until 30d"),
        "{}",
        command(&then)
    );
}

#[tokio::test]
async fn present_pages_are_live_and_forms_keep_their_input() {
    let stage = Stage::with_log(old(), log(10).await);
    for page in PAGES.into_iter().chain(["nothing"]) {
        let text = stage.get(&format!("/dashboard/{page}")).await.text;
        assert!(text.contains(&format!("data-live=\"/dashboard/{page}\"")), "{page}");
        assert_eq!(text.contains("data-only=\"time\""), matches!(page, "create" | "time" | "nothing"), "{page}");
        let past = stage.get(&format!("/dashboard/{page}?at=5")).await.text;
        assert!(!past.contains("data-live"), "{page}: the past does not change");
    }
}

#[tokio::test]
async fn a_live_page_does_not_redraw_forms() {
    let stage = Stage::with_log(old(), log(10).await);
    for (path, expected) in [
        ("stream?page=/dashboard/create&only=time&region=clock:old&region=timebar:old", &["clock", "timebar"][..]),
        ("stream?page=/dashboard/faults&region=clock:old&region=faults:old", &["clock", "faults"]),
    ] {
        let request = stage.request("GET", &format!("/dashboard/{path}")).body(Body::empty()).expect("a request");
        let mut body = stage.dashboard.answer(Entrance::Loopback, request).await.into_body();
        let mut told = String::new();
        while !expected.iter().all(|id| told.contains(&format!("\"id\":\"{id}\""))) {
            let frame = body.frame().await.expect("it goes on").expect("a frame");
            told.push_str(std::str::from_utf8(frame.data_ref().expect("text")).expect("text"));
        }
        assert!(!told.contains("\"id\":\"form\""), "{told}");
    }
}

#[tokio::test]
async fn the_search_stays_at_the_moment_that_is_shown() {
    let stage = Stage::with_log(old(), log(10).await);
    let text = stage.get("/dashboard/faults?at=5").await.text;
    let (_, search) = text.split_once("role=\"search\"").expect("a search");
    let (search, _) = search.split_once("</form>").expect("its end");
    assert!(search.contains("<input type=\"hidden\" name=\"at\" value=\"5\">"), "{search}");
}

#[tokio::test]
async fn the_bar_shows_moment_revision_and_future_changes() {
    let stage = Stage::with_log(old(), log(10).await);
    let text = stage.get("/dashboard/faults?at=5").await.text;
    for part in ["role=\"slider\"", "aria-valuetext=\"27 July 2023 19:04, revision 5\"", "kubernetes 1.26.4 of local"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn one_sign_stands_for_nothing_in_tables() {
    let stage = Stage::with_log(old(), log(10).await);
    for page in PAGES.into_iter().chain(["landscape?to=1.121", "forecast?until=1y"]) {
        let text = stage.get(&format!("/dashboard/{page}")).await.text;
        for other in ["<td>-</td>", "<td>—</td>", ">·<"] {
            assert!(!text.contains(other), "{page}: {other}");
        }
    }
}

#[tokio::test]
async fn the_page_moves_time_as_the_command_does() {
    let stage = Stage::new(landscape());
    for (until, said) in [
        ("soon", "`soon` is no time as"),
        ("shoot/demo/local=Happy", "`Happy` is no state of a Shoot"),
        ("shoot/demo/none=Failed", "there is no Shoot none in Project demo"),
        ("2027-01-31 shoot/demo/local", "a Shoot is named behind `window` only"),
        ("2023-07-01", "2023-07-01 00:00:00 is past"),
        ("window local", "`local` is not shoot/PROJECT/NAME"),
    ] {
        stage.post("time-until", &format!("until={until}&back=/dashboard/time")).await;
        let text = stage.get("/dashboard/time").await.text;
        assert!(text.contains(said), "{until}: {text}");
    }
    assert_eq!(stage.writes(), Vec::<String>::new());
    for until in ["window", "window shoot/demo/local", "2023-07-28", "90d"] {
        stage.post("time-until", &format!("until={until}&back=/dashboard/time")).await;
    }
    assert_eq!(stage.writes(), vec!["POST /terrarium/clock/advance"; 4]);
    stage.post("time-until", "until=shoot/demo/local=Succeeded&back=/dashboard/time").await;
    let text = stage.get("/dashboard/faults").await.text;
    assert!(text.contains("until garden-demo/local is Succeeded"), "{text}");
}

#[tokio::test]
async fn lanes_of_a_forecast_are_projects_or_versions() {
    let stage = Stage::new(landscape());
    let lane = async |query: &str| {
        let text = stage.get(&format!("/dashboard/forecast{query}")).await.text;
        (
            text.contains("<text x=\"4\" y=\"28\">garden-demo</text>"),
            text.contains("<text x=\"4\" y=\"28\">kubernetes 1.26.4</text>"),
        )
    };
    assert_eq!(lane("").await, (true, false));
    assert_eq!(lane("?lanes=version").await, (false, true));
    assert_eq!(lane("?lanes=other").await, (true, false));
}

/// Executor of upgrades that only records its calls.
#[derive(Default)]
struct Noted(Mutex<(Vec<String>, Option<Progress>)>);

impl Upgrades for Noted {
    fn begin(&self, user: User, to: &str) {
        let mut state = self.0.lock();
        state.0.push(format!("{} begins {to}", user.name));
        let steps = vec!["gardener-apiserver v1.120.0 -> v1.121.0".to_owned(), "gardenlet".to_owned()];
        state.1 = Some(Progress { to: to.to_owned(), steps, done: 1, is_running: true, ..Progress::default() });
    }

    fn pause(&self) {
        let mut state = self.0.lock();
        state.0.push("pause".to_owned());
        if let Some(progress) = &mut state.1 {
            progress.is_pausing = true;
        }
    }

    fn progress(&self) -> Option<Progress> {
        self.0.lock().1.clone()
    }

    fn changes(&self) -> u64 {
        self.0.lock().0.len() as u64
    }
}

#[tokio::test]
async fn an_upgrade_is_begun_watched_and_paused() {
    let noted = Arc::new(Noted::default());
    let stage = Stage::with(old(), log(10).await, Some(noted.clone()));
    let ask = async |fields: &str| {
        stage.post("upgrade", &format!("{fields}&back=/dashboard/landscape")).await;
        stage.get("/dashboard/landscape").await.text
    };
    assert!(ask("step=begin&to=nonsense").await.contains("`nonsense` is no version of Gardener"));
    assert!(noted.0.lock().0.is_empty());
    let text = ask("step=begin&to=1.121.0").await;
    for part in
        ["the upgrade to 1.121.0 has begun", "1 of 2 steps done; now gardenlet", "Pause before the next component"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(ask("step=begin&to=1.121.0").await.contains("an upgrade is going on already"));
    let text = ask("step=pause").await;
    assert!(text.contains("It ends before the next component") && !text.contains(">Pause before"), "{text}");
    assert_eq!(noted.0.lock().0, ["admin begins 1.121.0", "pause"]);
    noted.0.lock().1 = Some(Progress {
        to: "1.121.0".to_owned(),
        problem: Some("paused before gardenlet".to_owned()),
        ..Progress::default()
    });
    let text = stage.get("/dashboard/landscape").await.text;
    assert!(text.contains("ended after 0 of 0 steps: paused before gardenlet"), "{text}");
    let past = stage.get("/dashboard/landscape?at=5").await.text;
    assert!(!past.contains("paused before gardenlet"), "that was not then");
}
