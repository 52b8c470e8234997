// SPDX-License-Identifier: Apache-2.0
//! Requests that schemathesis generates from the served OpenAPI documents, on a landscape: each is answered, and none with a
//! server error.
//!
//! schemathesis draws requests that conform to a document and requests that nearly do; `e2e/clients/schemas/hooks.py` configures
//! the exceptions: a watch lasts, and two server errors are answers of the real API server, too. Afterwards the host must still
//! run, no process may have panicked, and the log must contain what the API lists.
//!
//! **Deliberately absent**: conformance of answers to their schemas (fields that Go omits or writes as null are in the tests of
//! `host`), and documents of the landscape's own groups: a request there moves its clock or stops its parts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::compatibility::install_packages;
use crate::sandbox::{Kubectl, Sandbox};

const SCHEMATHESIS: &str = "schemathesis 4.32.5";
/// Context and document. Each takes another path through the servers: Gardener's groups behind the aggregation layer, core kinds,
/// definitions of kinds, and kinds that are defined by them.
const DOCUMENTS: [(&str, &str); 5] = [
    ("garden", "apis/core.gardener.cloud/v1beta1"),
    ("garden", "api/v1"),
    ("garden", "apis/apiextensions.k8s.io/v1"),
    ("seed-local", "apis/apps/v1"),
    ("seed-local", "apis/extensions.gardener.cloud/v1alpha1"),
];
/// Name of errors of schemathesis itself in its report.
const OWN_ERROR: &str = "Runtime Error";
/// A document that gets no request in its share of the time gets more time, up to this multiple of its share.
const LONGEST: u32 = 32;
/// Timeout of a request, in seconds of wall time.
const PATIENCE: &str = "30";

/// Installs schemathesis into a folder and returns the program.
///
/// # Errors
/// The package manager's error.
pub fn install(folder: &Path) -> Result<PathBuf, String> {
    install_packages(folder, &[SCHEMATHESIS])?;
    Ok(folder.join("bin/schemathesis"))
}

/// Result of the requests of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentResult {
    /// Context and document.
    pub document: String,
    /// Number of sent requests.
    pub requests: u64,
    /// Output of schemathesis, if an answer was wrong or missing.
    pub failure: Option<String>,
    /// Number of runs that schemathesis itself ended with an error, so that an operation was tested less.
    pub own_errors: u64,
}

/// Starts a landscape, tests every document for its share of the time, and checks the state of the landscape afterwards.
///
/// # Errors
/// schemathesis cannot be run, the host has ended, or a process has panicked.
///
/// # Panics
/// A command of the landscape fails.
pub fn run(sandbox: &Sandbox, schemathesis: &Path, time: Duration, seed: u64) -> Result<Vec<DocumentResult>, String> {
    sandbox.terrarium(&["up", "--preset", "demo"]);
    let host = sandbox.host();
    let share = time / u32::try_from(DOCUMENTS.len()).expect("a few documents");
    let mut tried = Vec::new();
    for (context, document) in DOCUMENTS {
        let way = ClusterAccess::to(sandbox, context)?;
        tried.push(way.try_document(schemathesis, &format!("{context}: {document}"), document, share, seed)?);
    }
    if host.is_none() || sandbox.host() != host || !host.is_some_and(|host| sandbox.processes().contains(&host)) {
        return Err("the host has ended".to_owned());
    }
    let panics = sandbox.panics();
    if !panics.is_empty() {
        return Err(format!("panics: {}", panics.join("\n")));
    }
    sandbox.kubectl(Kubectl::Newest, "garden", &["get", "namespaces"]);
    sandbox.terrarium(&["replay", "--verify"]);
    Ok(tried)
}

/// Access of schemathesis to a cluster.
struct ClusterAccess<'a> {
    sandbox: &'a Sandbox,
    url: String,
    authorities: String,
    certificate: String,
}

impl<'a> ClusterAccess<'a> {
    fn to(sandbox: &'a Sandbox, context: &str) -> Result<Self, String> {
        let view = sandbox.kubectl(Kubectl::Newest, context, &["config", "view", "--raw", "--minify", "-o", "json"]);
        let view: Value = serde_json::from_str(&view).map_err(|error| error.to_string())?;
        let (cluster, user) = (&view["clusters"][0]["cluster"], &view["users"][0]["user"]);
        let data = |value: &Value| {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|error| error.to_string())
        };
        let pair = format!("{}\n{}", data(&user["client-certificate-data"])?, data(&user["client-key-data"])?);
        Ok(Self {
            sandbox,
            url: cluster["server"].as_str().ok_or("the kubeconfig names no server")?.to_owned(),
            authorities: sandbox.file("authorities.pem", &data(&cluster["certificate-authority-data"])?),
            certificate: sandbox.file("administrator.pem", &pair),
        })
    }

    fn try_document(
        &self,
        schemathesis: &Path,
        name: &str,
        document: &str,
        share: Duration,
        seed: u64,
    ) -> Result<DocumentResult, String> {
        let mut time = share;
        loop {
            let (report, printed) = self.run(schemathesis, document, time, seed)?;
            match DocumentResult::of(name, &report, &printed) {
                Some(tried) => return Ok(tried),
                // schemathesis counts from its start, and a busy machine may need that time to read the document.
                None if time_was_up(&report) && time < share * LONGEST => time *= 2,
                None => return Err(format!("{name}: no request was sent: {printed}")),
            }
        }
    }

    /// Runs schemathesis on one document; returns its report, and its output.
    fn run(&self, schemathesis: &Path, document: &str, time: Duration, seed: u64) -> Result<(String, String), String> {
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/schemas");
        let report = self.sandbox.folder().join("report.json");
        let _ = std::fs::remove_file(&report);
        let mut command = self.sandbox.command(&schemathesis.to_string_lossy(), &["run"]);
        command.arg(format!("{}/openapi/v3/{document}", self.url)).args(["--url", &self.url]);
        command.args(["--tls-verify", &self.authorities, "--request-cert", &self.certificate]);
        command.args(["--phases", "coverage,fuzzing", "--max-time", &time.as_secs().max(1).to_string()]);
        command.args(["--seed", &seed.to_string(), "--request-timeout", PATIENCE, "--workers", "2", "--no-color"]);
        command.args(["--checks", "no_server_error", "--continue-on-failure", "--no-shrink"]);
        // The time that schemathesis takes to generate a request says nothing about the servers.
        command.args(["--suppress-health-check", "all", "--warnings", "off", "--generation-database", "none"]);
        command.args(["--report", "json", "--report-json-path"]).arg(&report);
        command.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", hooks).env("PYTHONDONTWRITEBYTECODE", "1");
        let answer = command.output().map_err(|error| format!("cannot run {}: {error}", schemathesis.display()))?;
        let [out, err] = [&answer.stdout, &answer.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        Ok((std::fs::read_to_string(&report).unwrap_or_default(), format!("{out}{err}")))
    }
}

/// True if schemathesis ended because its time was up.
fn time_was_up(report: &str) -> bool {
    serde_json::from_str(report).is_ok_and(|report: Value| report["stop_reason"] == "max_time")
}

impl DocumentResult {
    /// Reads a report in JSON; `None`: no request was tested. An error of schemathesis itself is not a failure, any other error
    /// is, for example a missing answer.
    fn of(document: &str, report: &str, printed: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(report).ok()?;
        let requests = report["test_cases"]["generated"].as_u64().filter(|count| *count > 0)?;
        let errors = report["errors"].as_array()?;
        let (own, others): (Vec<&Value>, Vec<&Value>) = errors.iter().partition(|error| error["title"] == OWN_ERROR);
        let is_wrong = !report["failures"].as_array()?.is_empty() || !others.is_empty();
        Some(Self {
            document: document.to_owned(),
            requests,
            failure: is_wrong.then(|| printed.to_owned()),
            own_errors: own.iter().filter_map(|error| error["count"].as_u64()).sum(),
        })
    }
}

/// Returns the rows of the results.
pub fn table(tried: &[DocumentResult]) -> String {
    let row = |one: &DocumentResult| {
        let outcome = if one.failure.is_some() { "failed" } else { "no server error" };
        let own = if one.own_errors > 0 {
            format!(" ({} errors of schemathesis itself)", one.own_errors)
        } else {
            String::new()
        };
        format!("{:>7}  {:<16}  {}{own}\n", one.requests, outcome, one.document)
    };
    tried.iter().map(row).collect()
}

/// Returns the failures as an error, document by document, after the version of schemathesis.
///
/// # Errors
/// Some document has a failure.
pub fn judged(tried: &[DocumentResult]) -> Result<(), String> {
    let failed = tried.iter().filter_map(|one| Some(format!("{}\n{}", one.document, one.failure.as_ref()?)));
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("{SCHEMATHESIS}:\n{}", failed.join("\n"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_and_empty_ones_refused() {
        let report = |generated: u64, failures: &str, errors: &str| {
            format!("{{\"test_cases\":{{\"generated\":{generated}}},\"failures\":[{failures}],\"errors\":[{errors}]}}")
        };
        let own = "{\"title\":\"Runtime Error\",\"count\":2}";
        let hangs = "{\"title\":\"Network Error\",\"count\":1}";
        let of = |report: &str| DocumentResult::of("d", report, "printed");
        let tried = |failure: Option<&str>, own_errors: u64| {
            Some(DocumentResult {
                document: "d".to_owned(),
                requests: 454,
                failure: failure.map(str::to_owned),
                own_errors,
            })
        };
        assert_eq!(of(&report(454, "", "")), tried(None, 0));
        assert_eq!(of(&report(454, "", own)), tried(None, 2));
        assert_eq!(of(&report(454, "", hangs)), tried(Some("printed"), 0));
        assert_eq!(of(&report(454, "{}", own)), tried(Some("printed"), 2));
        for text in ["", "{}", &report(0, "", "")] {
            assert_eq!(of(text), None, "{text}");
            assert!(!time_was_up(text), "{text}");
        }
        assert!(time_was_up("{\"stop_reason\":\"max_time\",\"test_cases\":{\"generated\":0}}"));
    }

    #[test]
    fn a_failed_document_is_reported_with_its_output() {
        let one = |document: &str, failure: Option<&str>| DocumentResult {
            document: document.to_owned(),
            requests: 7,
            failure: failure.map(str::to_owned),
            own_errors: 0,
        };
        let tried = [one("garden: api/v1", None), one("garden: apis/apps/v1", Some("500: oh"))];
        assert_eq!(judged(&tried[..1]), Ok(()));
        assert_eq!(judged(&tried), Err(format!("{SCHEMATHESIS}:\ngarden: apis/apps/v1\n500: oh")));
        let rows = "      7  no server error   garden: api/v1\n      7  failed            garden: apis/apps/v1\n";
        assert_eq!(table(&tried), rows);
    }
}
