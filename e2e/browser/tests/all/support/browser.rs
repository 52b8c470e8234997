// SPDX-License-Identifier: Apache-2.0
//! A user at a browser: opens pages, acts by pointer or by keyboard alone, and reads.
//!
//! Tests wait for visible content, never for a length of time.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clock::{Clock, TimerClass};
use fantoccini::actions::{InputSource, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use parking_lot::Mutex;
use serde_json::{Value, json};
use terrarium_e2e::sandbox::Sandbox;
use url::{ParseError, Url};

use super::driver::{self, Driver};

/// Maximum wall time until awaited content is visible.
const LIMIT: TimeDelta = TimeDelta::seconds(90);
/// Wall time between two checks.
const LOOK: TimeDelta = TimeDelta::milliseconds(50);
/// Maximum number of presses of Tab to reach an element.
const TABS: usize = 600;

/// Input device of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A mouse.
    Pointer,
    /// A keyboard alone.
    Keyboard,
}

/// A command of chromedriver in addition to those of WebDriver.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

/// A browser with a profile of its own.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    client: Client,
    name: String,
    /// URL prefix of the pages, after the login.
    base: Arc<Mutex<String>>,
    by: By,
}

impl Browser {
    /// Starts a browser.
    pub(crate) async fn start(driver: &Driver, name: &str) -> Self {
        let (program, _) = driver::programs().expect("with_browser has found both programs");
        let profile = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-profile-{name}"));
        let _ = std::fs::remove_dir_all(&profile);
        let capabilities = json!({
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL" },
            "goog:chromeOptions": {
                "binary": program,
                "args": [
                    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                    "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
                    "--window-size=1280,900", format!("--user-data-dir={}", profile.display()),
                ],
            },
        });
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities.as_object().expect("an object").clone());
        let client = builder.connect(&driver.url()).await.expect("a browser that starts");
        Self { client, name: name.to_owned(), base: Arc::default(), by: By::Pointer }
    }

    /// Ends the browser.
    pub(crate) async fn close(self) {
        let _ = self.client.close().await;
    }

    /// Returns the same browser with another input device.
    pub(crate) fn by(&self, by: By) -> Self {
        Self { by, ..self.clone() }
    }

    async fn extension(&self, path: &'static str, body: Value) -> Value {
        self.client.issue_cmd(Extension { path, body }).await.expect("a command that the driver knows")
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.extension("goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// Opens the pages of a landscape by the link that `terrarium dashboard` prints.
    pub(crate) async fn log_in(&self, sandbox: &Sandbox, words: &[&str]) {
        let link = sandbox.terrarium(&[&["dashboard", "--no-open"], words].concat());
        self.client.goto(link.trim()).await.expect("a page");
        let url = self.client.current_url().await.expect("an address").to_string();
        let (origin, rest) = url.split_once("/dashboard/").expect("a page of the dashboard");
        assert_eq!(rest, "clusters", "the code is not in the address any more");
        *self.base.lock() = format!("{origin}/dashboard/");
    }

    /// Opens a page by its path below `/dashboard/`.
    pub(crate) async fn open(&self, path: &str) {
        let base = self.base.lock().clone();
        self.client.goto(&format!("{base}{path}")).await.expect("a page");
    }

    /// Returns path and query of the shown page, below `/dashboard/`.
    pub(crate) async fn address(&self) -> String {
        let url = self.client.current_url().await.expect("an address").to_string();
        url.split_once("/dashboard/").map_or(url.as_str(), |(_, rest)| rest).to_owned()
    }

    /// Evaluates an expression. The debugger runs it, not the page: its Content-Security-Policy does not apply.
    pub(crate) async fn evaluate(&self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.devtools("Runtime.evaluate", parameters).await;
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Returns the text of an element; empty: it does not exist.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let expression = format!("document.querySelector({})?.innerText ?? ''", json!(selector));
        self.evaluate(&expression).await.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the value of a field.
    pub(crate) async fn value(&self, selector: &str) -> String {
        let expression = format!("document.querySelector({}).value", json!(selector));
        self.evaluate(&expression).await.as_str().unwrap_or_default().to_owned()
    }

    /// True if an element exists.
    pub(crate) async fn has(&self, selector: &str) -> bool {
        self.evaluate(&format!("!!document.querySelector({})", json!(selector))).await == true
    }

    /// Waits until an expression is true.
    pub(crate) async fn until(&self, what: &str, expression: &str) {
        let wall = Clock::wall();
        let begun = wall.now();
        loop {
            // While a page is loaded, the evaluation fails.
            let parameters = json!({ "expression": expression, "returnByValue": true });
            let command = json!({ "cmd": "Runtime.evaluate", "params": parameters });
            let answer = self.client.issue_cmd(Extension { path: "goog/cdp/execute", body: command }).await;
            if answer.is_ok_and(|answer| answer["result"]["value"] == true) {
                return;
            }
            if wall.now() - begun > LIMIT {
                let (at, page) = (self.address().await, self.text("body").await);
                panic!("{what} is not seen at {at}:\n{page}");
            }
            wall.sleep(LOOK, TimerClass::Work).await;
        }
    }

    /// Waits until an element has a text in it.
    pub(crate) async fn until_text(&self, selector: &str, text: &str) {
        let expression =
            format!("(document.querySelector({})?.innerText ?? '').includes({})", json!(selector), json!(text));
        self.until(&format!("`{text}` in {selector}"), &expression).await;
    }

    /// Waits until an existing element no longer contains a text.
    pub(crate) async fn until_gone(&self, selector: &str, text: &str) {
        let expression = format!(
            "document.readyState === 'complete' && document.querySelector({0}) !== null && !document.querySelector({0}).innerText.includes({1})",
            json!(selector),
            json!(text)
        );
        self.until(&format!("{selector} without `{text}`"), &expression).await;
    }

    /// Waits until the page at an address is shown.
    pub(crate) async fn until_at(&self, part: &str) {
        let expression = format!("document.readyState === 'complete' && location.href.includes({})", json!(part));
        self.until(&format!("a page at {part}"), &expression).await;
    }

    /// Performs an action, and waits until another document is loaded.
    async fn leaving(&self, act: impl Future<Output = ()>) {
        self.evaluate("window.stays = true").await;
        act.await;
        self.until("another page", "window.stays === undefined && document.readyState === 'complete'").await;
    }

    async fn find(&self, selector: &str) -> Element {
        let found = self.client.find(Locator::Css(selector)).await;
        match found {
            Ok(element) => element,
            Err(error) => panic!("{selector} is not at {}: {error}\n{}", self.address().await, self.text("main").await),
        }
    }

    /// Presses keys, one after the other.
    pub(crate) async fn press(&self, keys: &[char]) {
        let mut actions = KeyActions::new("keyboard".to_owned());
        for key in keys {
            actions = actions.then(KeyAction::Down { value: *key }).then(KeyAction::Up { value: *key });
        }
        self.client.perform_actions(actions).await.expect("keys are pressed");
    }

    /// Moves the focus to an element with Tab, and asserts that it has focus.
    pub(crate) async fn tab_to(&self, selector: &str) {
        assert!(
            self.has(selector).await,
            "{selector} is not at {}:\n{}",
            self.address().await,
            self.text("main").await
        );
        let here = format!("document.activeElement !== null && document.activeElement.matches({})", json!(selector));
        for _ in 0..TABS {
            if self.evaluate(&here).await == true {
                let outline = "getComputedStyle(document.activeElement).outlineStyle !== 'none'";
                assert_eq!(self.evaluate(outline).await, true, "focus on {selector} is not seen");
                return;
            }
            self.press(&[Key::Tab.into()]).await;
        }
        panic!("Tab does not lead to {selector}");
    }

    async fn in_the_middle(&self, selector: &str) {
        let expression = format!(
            "document.querySelector({0})?.closest('details:not([open]) > :not(summary)')?.parentElement.setAttribute('open', ''); \
             document.querySelector({0})?.scrollIntoView({{ block: 'center' }})",
            json!(selector)
        );
        self.evaluate(&expression).await;
    }

    /// Activates an element: a click, or Enter on it.
    pub(crate) async fn activate(&self, selector: &str) {
        match self.by {
            By::Pointer => {
                self.in_the_middle(selector).await;
                // A live page may have drawn the element again meanwhile: then it is another one.
                while let Err(error) = self.find(selector).await.click().await {
                    assert!(error.is_stale_element_reference(), "{selector}: {error}");
                }
            }
            By::Keyboard => {
                self.tab_to(selector).await;
                self.press(&[Key::Enter.into()]).await;
            }
        }
    }

    /// Activates an element that loads another page.
    pub(crate) async fn follow(&self, selector: &str) {
        self.leaving(self.activate(selector)).await;
    }

    /// Presses keys that load another page.
    pub(crate) async fn press_to_leave(&self, keys: &[char]) {
        self.leaving(self.press(keys)).await;
    }

    /// Replaces the text of a field.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        match self.by {
            By::Pointer => loop {
                self.in_the_middle(selector).await;
                let field = self.find(selector).await;
                // A live page may have drawn the field again meanwhile: then it is another one.
                if field.clear().await.is_ok()
                    && field.send_keys(text).await.is_ok()
                    && self.value(selector).await == text
                {
                    break;
                }
            },
            By::Keyboard => {
                self.tab_to(selector).await;
                let control: char = Key::Control.into();
                let all = KeyActions::new("keyboard".to_owned())
                    .then(KeyAction::Down { value: control })
                    .then(KeyAction::Down { value: 'a' })
                    .then(KeyAction::Up { value: 'a' })
                    .then(KeyAction::Up { value: control });
                self.client.perform_actions(all).await.expect("keys are pressed");
                self.press(&[Key::Delete.into()]).await;
                self.press(&text.chars().collect::<Vec<_>>()).await;
            }
        }
        assert_eq!(self.value(selector).await, text, "{selector}");
    }

    /// Chooses a value.
    pub(crate) async fn choose(&self, selector: &str, value: &str) {
        match self.by {
            By::Pointer => {
                self.in_the_middle(selector).await;
                self.find(selector).await.select_by_value(value).await.expect("it offers the value");
            }
            By::Keyboard => {
                self.tab_to(selector).await;
                let expression = format!(
                    "(() => {{ const it = document.querySelector({}); const to = [...it.options].findIndex((one) => one.value === {}); \
                     return to - it.selectedIndex; }})()",
                    json!(selector),
                    json!(value)
                );
                let steps = self.evaluate(&expression).await.as_i64().expect("a number");
                let key: char = if steps < 0 { Key::Up.into() } else { Key::Down.into() };
                for _ in 0..steps.abs() {
                    self.press(&[key]).await;
                }
            }
        }
        assert_eq!(self.value(selector).await, value, "{selector}");
    }

    /// Drags from one place of an element to another; both are fractions of its width.
    pub(crate) async fn drag(&self, selector: &str, from: f64, to: f64) {
        self.in_the_middle(selector).await;
        let expression = format!(
            "(() => {{ const box = document.querySelector({}).getBoundingClientRect(); return [box.left, box.top + box.height / 2, box.width]; }})()",
            json!(selector)
        );
        let place = self.evaluate(&expression).await;
        let number = |index: usize| place[index].as_f64().expect("a number");
        #[expect(clippy::cast_possible_truncation, reason = "a place in a window is a small number")]
        let at = |share: f64| PointerAction::MoveTo {
            duration: None,
            x: (number(0) + share * number(2)).round() as i64,
            y: number(1).round() as i64,
        };
        let actions = MouseActions::new("mouse".to_owned())
            .then(at(from))
            .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
            .then(at(f64::midpoint(from, to)))
            .then(at(to))
            .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
        self.client.perform_actions(actions).await.expect("it can be dragged");
    }

    /// Performs a [`Browser::drag`] that loads another page.
    pub(crate) async fn drag_to_leave(&self, selector: &str, from: f64, to: f64) {
        self.leaving(self.drag(selector, from, to)).await;
    }

    /// Enables or disables scripts of pages.
    pub(crate) async fn set_scripts(&self, are_on: bool) {
        self.devtools("Emulation.setScriptExecutionDisabled", json!({ "value": !are_on })).await;
    }

    /// Sets the width of the window, in pixels, and the colour scheme of the operating system.
    pub(crate) async fn set_window(&self, width: u32, scheme: &str) {
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Returns the findings of [`terrarium_browser::CHECKER`] and, if its file is named, of axe-core. The bar of time keeps its
    /// place while the page scrolls, and content under it would count as too near to it: it is moved to its static place at the
    /// end of the page.
    pub(crate) async fn violations(&self) -> Vec<String> {
        self.set_bar("'position', 'static'").await;
        let mut list = self.evaluate(terrarium_browser::CHECKER).await;
        let mut all = list.as_array_mut().expect("a list").split_off(0);
        if let Some(axe) = axe() {
            self.evaluate(&format!("{axe}\n0")).await;
            let mut found = self.evaluate(terrarium_browser::AXE).await;
            all.append(found.as_array_mut().expect("a list"));
        }
        self.set_bar("'position', ''").await;
        all.iter().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Sets a CSS property of the bar of time, if the page has one.
    async fn set_bar(&self, property: &str) {
        self.evaluate(&format!("void document.querySelector('#timebar')?.style.setProperty({property})")).await;
    }

    /// Returns errors that the browser has reported since the last call: of scripts, and of the Content-Security-Policy.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let log = self.extension("se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().cloned().unwrap_or_default();
        let problems = entries.iter().filter(|entry| entry["level"] == "SEVERE" || entry["level"] == "WARNING");
        problems.map(|entry| format!("{}: {}", entry["level"], entry["message"])).collect()
    }

    /// Asserts that the only errors since the last call are answers with an error code, which the browser reports, too.
    pub(crate) async fn expect_code(&self, code: u16) {
        let text = format!("the server responded with a status of {code}");
        let problems = self.problems().await;
        assert!(problems.iter().all(|problem| problem.contains(&text)), "{problems:?}");
    }

    /// Stores a screenshot of the whole page in `target/browser`.
    pub(crate) async fn screenshot(&self, name: &str) -> Vec<u8> {
        // The bar of time keeps its place while the page scrolls: in a screenshot of the whole page it would hide content.
        self.set_bar("'position', 'static'").await;
        let size = "[innerWidth, Math.min(document.documentElement.scrollHeight, 6000)]";
        let size = self.evaluate(size).await;
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let bytes = self.keep(name, parameters).await;
        self.set_bar("'position', ''").await;
        bytes
    }

    /// Stores a screenshot of the window alone.
    pub(crate) async fn screenshot_of_window(&self, name: &str) -> Vec<u8> {
        self.keep(name, json!({ "format": "png" })).await
    }

    async fn keep(&self, name: &str, parameters: Value) -> Vec<u8> {
        let picture = self.devtools("Page.captureScreenshot", parameters).await;
        let bytes = STANDARD.decode(picture["data"].as_str().unwrap_or_default()).expect("base64");
        let folder = super::root().join("target/browser");
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        std::fs::write(folder.join(format!("{}-{name}.png", self.name)), &bytes).expect("the folder is writable");
        bytes
    }
}

/// Returns the text of axe-core, if environment variable [`terrarium_browser::AXE_CORE`] has its path.
fn axe() -> Option<String> {
    let path = std::env::var_os(terrarium_browser::AXE_CORE).filter(|path| !path.is_empty())?;
    let text = std::fs::read_to_string(&path);
    Some(text.unwrap_or_else(|error| panic!("{} names {}: {error}", terrarium_browser::AXE_CORE, path.display())))
}
