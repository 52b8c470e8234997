// SPDX-License-Identifier: Apache-2.0
//! `/healthz`, `/livez`, `/readyz` (k8s.io/apiserver pkg/server/healthz).

use std::fmt;
use std::sync::Arc;

use process::Response;

use crate::request::Query;
use crate::status::{plain, plain_text};

type Check = dyn Fn() -> bool + Send + Sync;

/// Named checks, in the order in which they were added; `ping`, which always succeeds, is the first. Cheap to clone.
#[derive(Clone)]
pub struct Health(Vec<(&'static str, bool, Arc<Check>)>);

impl Default for Health {
    fn default() -> Self {
        Self(vec![("ping", true, Arc::new(|| true))])
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, ..)| name)).finish()
    }
}

impl Health {
    /// Adds a check for liveness and readiness.
    #[must_use]
    pub fn check(mut self, name: &'static str, holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.0.push((name, true, Arc::new(holds)));
        self
    }

    /// Adds a check for readiness only.
    #[must_use]
    pub fn ready(mut self, name: &'static str, holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.0.push((name, false, Arc::new(holds)));
        self
    }

    /// True if every check succeeds.
    pub fn is_ready(&self) -> bool {
        self.0.iter().all(|(_, _, holds)| holds())
    }

    /// Answers `/livez`, `/readyz/ping` and similar paths; `None` for a check that does not exist.
    pub(crate) fn answer(&self, path: &[&str], query: &Query) -> Option<Response> {
        let (endpoint, only) = match path {
            [endpoint @ ("healthz" | "livez" | "readyz")] => (*endpoint, None),
            [endpoint @ ("healthz" | "livez" | "readyz"), name] => (*endpoint, Some(*name)),
            _ => return None,
        };
        let mut checks = self
            .0
            .iter()
            .filter(|(name, live, _)| (*live || endpoint == "readyz") && only.is_none_or(|only| only == *name));
        if let Some(name) = only {
            let (_, _, holds) = checks.next()?;
            let failed = || plain_text(500, format!("internal server error: {name}: reason withheld\n"));
            return Some(if holds() { plain(200, "ok") } else { failed() });
        }
        let excluded = query.all("exclude");
        let (mut lines, mut healthy) = (Vec::new(), true);
        let mut unknown = excluded.clone();
        for (name, _, holds) in checks {
            unknown.retain(|known| known != name);
            if excluded.contains(name) {
                lines.push(format!("[+]{name} excluded: ok"));
            } else if holds() {
                lines.push(format!("[+]{name} ok"));
            } else {
                healthy = false;
                lines.push(format!("[-]{name} failed: reason withheld"));
            }
        }
        if !unknown.is_empty() {
            let quoted: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
            let quoted = quoted.join(", ");
            lines.push(format!("warn: some health checks cannot be excluded: no matches for {quoted}"));
        }
        if healthy && query.flag("verbose").is_none() {
            return Some(plain(200, "ok"));
        }
        let (code, end) = if healthy { (200, "passed") } else { (500, "failed") };
        lines.push(format!("{endpoint} check {end}\n"));
        Some(plain_text(code, lines.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[track_caller]
    fn check(health: &Health, path: &str, query: &str, expected: (u16, &str)) {
        let path: Vec<&str> = path.split('/').collect();
        let response = health.answer(&path, &Query::parse(Some(query))).expect("an answer");
        let code = response.status().as_u16();
        let body = futures::executor::block_on(response.into_body().collect()).expect("a body").to_bytes();
        assert_eq!((code, &*String::from_utf8_lossy(&body)), expected, "{path:?}?{query}");
    }

    #[test]
    fn checks_are_listed_on_request_or_failure() {
        let health = Health::default().check("log", || true).ready("clock", || false);
        check(&health, "livez", "", (200, "ok"));
        check(&health, "livez", "verbose", (200, "[+]ping ok\n[+]log ok\nlivez check passed\n"));
        check(&health, "livez", "verbose&exclude=log", (200, "[+]ping ok\n[+]log excluded: ok\nlivez check passed\n"));
        check(
            &health,
            "livez",
            "verbose&exclude=x",
            (
                200,
                "[+]ping ok\n[+]log ok\nwarn: some health checks cannot be excluded: no matches for \"x\"\nlivez check passed\n",
            ),
        );
        check(
            &health,
            "readyz",
            "",
            (500, "[+]ping ok\n[+]log ok\n[-]clock failed: reason withheld\nreadyz check failed\n"),
        );
        check(&health, "readyz", "exclude=clock", (200, "ok"));
        check(&health, "readyz/log", "", (200, "ok"));
        check(&health, "readyz/clock", "", (500, "internal server error: clock: reason withheld\n"));
        assert!(health.answer(&["livez", "clock"], &Query::default()).is_none());
        assert!(!health.is_ready());
    }
}
