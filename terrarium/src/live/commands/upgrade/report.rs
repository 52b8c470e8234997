// SPDX-License-Identifier: Apache-2.0
//! Report of an upgrade, for other programs and users.

use std::fmt::Write as _;
use std::path::Path;

use domain::skew::GardenerVersion;
use serde_json::{Value, json};

use super::moves::Move;
use crate::failure::Failure;

/// An executed or attempted move.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ExecutedMove {
    pub(super) step: Move,
    /// Duration in seconds of wall time.
    pub(super) seconds: f64,
    /// Reason for which it failed.
    pub(super) problem: Option<String>,
}

/// Report of an upgrade.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Report {
    landscape: String,
    to: String,
    /// Moves in order; empty until they are known.
    pub(super) moves: Vec<Move>,
    /// The first moves, as far as they were begun.
    pub(super) taken: Vec<ExecutedMove>,
}

impl Report {
    pub(super) fn new(landscape: &str, to: &GardenerVersion) -> Self {
        Self { landscape: landscape.to_owned(), to: format!("v{to}"), moves: Vec::new(), taken: Vec::new() }
    }

    /// Replaces the target by one with its patch.
    pub(super) fn set_target(&mut self, to: &GardenerVersion) {
        self.to = format!("v{to}");
    }

    /// Wall time of all moves in seconds.
    pub(super) fn seconds(&self) -> f64 {
        // The sum of no floats is -0.0.
        self.taken.iter().fold(0.0, |sum, taken| sum + taken.seconds)
    }

    /// Writes the report to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, file: &Path, failure: Option<&Failure>) -> Result<(), Failure> {
        std::fs::write(file, self.text(file, failure))
            .map_err(|error| Failure::Failed(format!("the report cannot be written to {}: {error}", file.display())))
    }

    /// Formats the report according to the file's extension.
    fn text(&self, file: &Path, failure: Option<&Failure>) -> String {
        let why = failure.map(ToString::to_string);
        let rest = self.moves.get(self.taken.len()..).unwrap_or_default();
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => format!("{:#}\n", self.json(rest, why.as_deref())),
            Some("xml") => self.junit(rest, why.as_deref()),
            _ => self.plain(rest, why.as_deref()),
        }
    }

    fn json(&self, rest: &[Move], why: Option<&str>) -> Value {
        let entry = |step: &Move, state: &str| {
            json!({
                "component": step.component.name(), "instance": step.owner, "instances": step.instances,
                "from": step.from.to_string(), "to": step.to.to_string(), "state": state,
            })
        };
        let taken = self.taken.iter().map(|taken| {
            let mut entry = entry(&taken.step, if taken.problem.is_some() { "failed" } else { "done" });
            entry["seconds"] = json!(taken.seconds);
            if let Some(problem) = &taken.problem {
                entry["message"] = json!(problem);
            }
            entry
        });
        let steps: Vec<Value> = taken.chain(rest.iter().map(|step| entry(step, "not begun"))).collect();
        json!({ "landscape": self.landscape, "to": self.to, "succeeded": why.is_none(), "message": why, "steps": steps })
    }

    fn junit(&self, rest: &[Move], why: Option<&str>) -> String {
        let has_failed = self.taken.iter().any(|taken| taken.problem.is_some());
        // A failure outside of the moves is a test case of its own.
        let other = why.filter(|_| !has_failed);
        let failures = usize::from(has_failed || other.is_some());
        let seconds = self.seconds();
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let name = escaped(&format!("upgrade of {} to {}", self.landscape, self.to));
        let (tests, skipped) = (self.taken.len() + usize::from(other.is_some()) + rest.len(), rest.len());
        // Writing to memory cannot fail.
        let _ = writeln!(
            xml,
            "<testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" \
             time=\"{seconds:.3}\">"
        );
        for taken in &self.taken {
            let name = escaped(&taken.step.to_string());
            let _ = write!(xml, "  <testcase classname=\"upgrade\" name=\"{name}\" time=\"{:.3}\"", taken.seconds);
            let _ = match &taken.problem {
                None => writeln!(xml, "/>"),
                Some(problem) => writeln!(xml, "><failure message=\"{}\"/></testcase>", escaped(problem)),
            };
        }
        if let Some(other) = other {
            let _ = writeln!(
                xml,
                "  <testcase classname=\"upgrade\" name=\"{name}\" time=\"0.000\"><failure message=\"{}\"/></testcase>",
                escaped(other)
            );
        }
        for step in rest {
            let (name, why) = (escaped(&step.to_string()), escaped(why.unwrap_or_default()));
            let _ = writeln!(
                xml,
                "  <testcase classname=\"upgrade\" name=\"{name}\"><skipped message=\"{why}\"/></testcase>"
            );
        }
        xml.push_str("</testsuite>\n");
        xml
    }

    fn plain(&self, rest: &[Move], why: Option<&str>) -> String {
        let mut text = format!("upgrade of {} to {}\n", self.landscape, self.to);
        for taken in &self.taken {
            let state = taken.problem.as_deref().unwrap_or("done");
            let _ = writeln!(text, "{}: {state}, {:.1} s", taken.step, taken.seconds);
        }
        for step in rest {
            let _ = writeln!(text, "{step}: not begun");
        }
        let _ = writeln!(text, "{}", why.unwrap_or("succeeded"));
        text
    }
}

/// Escapes a text for an attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use domain::skew::Component;

    use super::*;

    fn step(component: Component) -> Move {
        let version = |text: &str| GardenerVersion::parse(text).expect("a version");
        Move { component, owner: String::new(), from: version("1.120.0"), to: version("1.121.0"), instances: 1 }
    }

    #[test]
    fn a_report_has_three_forms() {
        let mut report = Report::new("default", &GardenerVersion::release(1, 121, 0));
        report.taken.push(ExecutedMove { step: step(Component::Operator), seconds: 1.25, problem: None });
        report.taken.push(ExecutedMove {
            step: step(Component::Apiserver),
            seconds: 0.5,
            problem: Some("refused <A1> & \"more\"".to_owned()),
        });
        report.moves = [Component::Operator, Component::Apiserver, Component::Scheduler].map(step).into();
        let failure = Failure::Failed("refused".to_owned());
        let text = |name: &str| report.text(Path::new(name), Some(&failure));
        assert_eq!(
            text("r.xml"),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"upgrade of default to v1.121.0\" tests=\"3\" \
             failures=\"1\" skipped=\"1\" time=\"1.750\">\n  <testcase classname=\"upgrade\" name=\"gardener-operator \
             v1.120.0 -&gt; v1.121.0\" time=\"1.250\"/>\n  <testcase classname=\"upgrade\" name=\"gardener-apiserver \
             v1.120.0 -&gt; v1.121.0\" time=\"0.500\"><failure message=\"refused &lt;A1&gt; &amp; \
             &quot;more&quot;\"/></testcase>\n  <testcase classname=\"upgrade\" name=\"gardener-scheduler v1.120.0 -&gt; \
             v1.121.0\"><skipped message=\"refused\"/></testcase>\n</testsuite>\n"
        );
        let json: Value = serde_json::from_str(&text("r.json")).expect("JSON");
        assert_eq!(json["succeeded"], json!(false));
        let states: Vec<&str> =
            json["steps"].as_array().expect("steps").iter().filter_map(|step| step["state"].as_str()).collect();
        assert_eq!(states, ["done", "failed", "not begun"]);
        assert_eq!(
            text("r.txt"),
            "upgrade of default to v1.121.0\ngardener-operator v1.120.0 -> v1.121.0: done, 1.2 s\ngardener-apiserver \
             v1.120.0 -> v1.121.0: refused <A1> & \"more\", 0.5 s\ngardener-scheduler v1.120.0 -> v1.121.0: not \
             begun\nrefused\n"
        );
    }

    /// The failure is before the first move, between two, or after the last one; without a failure there is no such
    /// case.
    #[test]
    fn a_failure_outside_of_the_moves_is_a_test_case() {
        let failure = Failure::Refused("gate <A> is gone".to_owned());
        let mut report = Report::new("default", &GardenerVersion::release(1, 121, 0));
        let head = |counts: &str| {
            let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
            format!("{xml}\n<testsuite name=\"upgrade of default to v1.121.0\" {counts}>\n")
        };
        let cause = "  <testcase classname=\"upgrade\" name=\"upgrade of default to v1.121.0\" time=\"0.000\"><failure \
                     message=\"gate &lt;A&gt; is gone\"/></testcase>\n";
        let text = |report: &Report, failure| report.text(Path::new("r.xml"), failure);
        let counts = "tests=\"1\" failures=\"1\" skipped=\"0\" time=\"0.000\"";
        assert_eq!(text(&report, Some(&failure)), format!("{}{cause}</testsuite>\n", head(counts)));
        let counts = "tests=\"0\" failures=\"0\" skipped=\"0\" time=\"0.000\"";
        assert_eq!(text(&report, None), format!("{}</testsuite>\n", head(counts)));
        report.moves = [Component::Operator, Component::Apiserver].map(step).into();
        for component in [Component::Operator, Component::Apiserver] {
            report.taken.push(ExecutedMove { step: step(component), seconds: 0.5, problem: None });
            let (tests, skipped, seconds) =
                if component == Component::Operator { (3, 1, "0.500") } else { (3, 0, "1.000") };
            let counts = format!("tests=\"{tests}\" failures=\"1\" skipped=\"{skipped}\" time=\"{seconds}\"");
            let found = text(&report, Some(&failure));
            assert!(found.starts_with(&head(&counts)) && found.contains(cause), "{found}");
        }
    }
}
