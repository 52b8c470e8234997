// SPDX-License-Identifier: Apache-2.0
//! All checks, in the order in which failures are cheapest to find.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use domain::garden::components::Program;
use terrarium_containers::engine::{self, Engine};
use terrarium_containers::image::Image;
use terrarium_e2e::compatibility::{self, World};
use terrarium_e2e::sandbox::Sandbox;
use terrarium_e2e::schemas;

use crate::{root, tidy};

/// Environment variable with the number of tests of a binary that run at once. Default: one more than the number of cores,
/// since end-to-end tests also wait for disks and processes.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Runs every check; `long` tests every installed kubectl, explores more schedules, compares forecasts with more
/// landscapes, drains nodes in more of them, injects a fault into every file operation of a log, and kills landscapes
/// more often.
pub(crate) fn test(long: bool) -> Result<(), String> {
    step("format", cargo(&["fmt", "--all", "--check"]))?;
    step(
        "clippy",
        cargo(&["clippy", "--workspace", "--all-targets", "--profile", "ci", "--quiet", "--", "-D", "warnings"]),
    )?;
    println!("== tidy");
    tidy::run()?;
    build()?;
    let mut tests = cargo(&["test", "--workspace", "--profile", "ci", "--no-fail-fast"]);
    if std::env::var_os(TEST_THREADS).is_none() {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        tests.env(TEST_THREADS, (cores + 1).to_string());
    }
    if long {
        for name in
            ["TERRARIUM_TEST_SCHEDULES", "TERRARIUM_TEST_WORLDS", "TERRARIUM_TEST_DRAINS", "TERRARIUM_TEST_KILLS"]
        {
            tests.env(name, "200");
        }
        tests.env("TERRARIUM_TEST_STARTS", "100");
        tests.env("TERRARIUM_TEST_FAULTS", "all");
        tests.env("TERRARIUM_TEST_KUBECTLS", "all");
        tests.env("TERRARIUM_TEST_MALFORMED", "100000");
    }
    let _engine = containers(&mut tests)?;
    step("tests", tests)
}

/// Builds the binaries that end-to-end tests and clients run, together with all tests: their dependencies enable features
/// of shared crates, so a separate build of the tests would compile nearly everything a second time.
fn build() -> Result<(), String> {
    step("build", cargo(&["build", "--workspace", "--all-targets", "--profile", "ci"]))
}

/// Provides tests with a container engine: the one that responds, or a new one, which ends when the returned guard is
/// dropped. Without an engine these tests are skipped, unless they are required.
fn containers(tests: &mut Command) -> Result<Option<Engine>, String> {
    let Err(why) = engine::answers(None) else { return Ok(None) };
    let folder = std::env::temp_dir().join(format!("terrarium-engine-{}", std::process::id()));
    match Engine::start(&folder) {
        Ok(engine) => {
            println!("== container engine: {}", engine.host());
            tests.env(engine::HOST, engine.host());
            Ok(Some(engine))
        }
        Err(error) if std::env::var_os(engine::NEEDED).is_some_and(|needed| needed == engine::REQUIRED) => {
            Err(format!("{why}; {error}"))
        }
        Err(error) => {
            println!("== container engine: none, so tests in containers are skipped: {why}; {error}");
            Ok(None)
        }
    }
}

/// Builds the image of the product, and its context in `target/image`.
pub(crate) fn image() -> Result<(), String> {
    step("build", cargo(&["build", "--workspace", "--bins", "--release"]))?;
    let target = root().join("target");
    let folder = target.join("image");
    let components = Program::ALL.map(Program::name);
    let names = std::iter::once("terrarium").chain(components);
    let executables: Vec<PathBuf> = names.map(|name| target.join("release").join(name)).collect();
    Image::of(&executables)?.stage(&folder)?;
    let mut build = Command::new("docker");
    build.args(["build", "--quiet", "--tag", "terrarium"]).arg(&folder);
    step("image terrarium", build)
}

/// Tests every client that is found or can be installed, and writes the results into the reference.
pub(crate) fn compatibility() -> Result<(), String> {
    build()?;
    let target = root().join("target");
    let clients = target.join("clients");
    let world = World::new(Sandbox::new(&target.join("ci"), &target.join("tmp/compatibility")));
    let (mut outcomes, mut left_out) = (Vec::new(), Vec::new());
    for kubectl in compatibility::kubectls() {
        println!("== {}", kubectl.display());
        outcomes.push(world.kubectl(&kubectl)?);
    }
    println!("== clients of registries");
    match compatibility::install_python(&clients.join("python")) {
        Ok(python) => outcomes.extend(world.python(&python)?),
        Err(why) => left_out.push(format!("clients in Python: {why}")),
    }
    match compatibility::install_node(&clients.join("node")) {
        Ok(modules) => outcomes.push(world.node(&modules)?),
        Err(why) => left_out.push(format!("the client in JavaScript: {why}")),
    }
    match compatibility::build_rust(&clients.join("rust")) {
        Ok(program) => outcomes.push(world.rust(&program)?),
        Err(why) => left_out.push(format!("the client in Rust: {why}")),
    }
    match compatibility::install_helms(&clients.join("helm")) {
        Ok(helms) => {
            for helm in helms {
                outcomes.push(world.helm(&helm)?);
            }
        }
        Err(why) => left_out.push(format!("Helm: {why}")),
    }
    let page = compatibility::page(&outcomes, &left_out);
    std::fs::write(root().join("docs/reference/compatibility.md"), &page).map_err(|error| error.to_string())?;
    println!("{page}");
    let surprises: Vec<String> = outcomes.iter().flat_map(compatibility::Outcome::surprises).collect();
    if surprises.is_empty() { Ok(()) } else { Err(format!("not known to fail:\n{}", surprises.join("\n"))) }
}

/// Sends requests generated from the served OpenAPI documents for some minutes. `seed`: selects the requests.
pub(crate) fn schemas(minutes: u32, seed: u64) -> Result<(), String> {
    build()?;
    let target = root().join("target");
    let schemathesis = schemas::install(&target.join("clients/schemas"))?;
    println!("== requests for {minutes} min, seed {seed}");
    let sandbox = Sandbox::new(&target.join("ci"), &target.join("tmp/schemas"));
    let tried = schemas::run(&sandbox, &schemathesis, Duration::from_mins(u64::from(minutes)), seed)?;
    print!("{}", schemas::table(&tried));
    schemas::judged(&tried)
}

/// Builds and runs the benchmarks with the release profile: of the simulation, of roll-outs, of a landscape of
/// processes, of forecasts, of the dashboard, or all.
pub(crate) fn bench(arguments: &[&str]) -> Result<(), String> {
    let (which, sizes) = match arguments {
        [which @ ("simulation" | "rollout" | "processes" | "forecast" | "dashboard"), sizes @ ..] => {
            (Some(*which), sizes)
        }
        sizes => (None, sizes),
    };
    let is_wanted = |name: &str| which.is_none_or(|which| which == name);
    if is_wanted("simulation") {
        run_bench("landscape", "landscape", sizes)?;
    }
    if is_wanted("rollout") {
        let words: Vec<&str> = std::iter::once("rollout").chain(sizes.iter().copied()).collect();
        run_bench("landscape", "landscape", &words)?;
    }
    if is_wanted("dashboard") {
        run_bench("landscape", "dashboard", sizes)?;
    }
    if !matches!(which, Some("simulation" | "rollout" | "dashboard")) {
        step("build", cargo(&["build", "--package", "terrarium", "--release"]))?;
    }
    for name in ["processes", "forecast"].into_iter().filter(|name| is_wanted(name)) {
        run_bench("terrarium-e2e", name, sizes)?;
    }
    Ok(())
}

fn run_bench(package: &str, name: &str, sizes: &[&str]) -> Result<(), String> {
    let mut command = cargo(&["bench", "--package", package, "--bench", name, "--"]);
    command.args(sizes);
    step(&format!("bench {name}"), command)
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(root());
    // Variables that cargo sets for this program would reach build scripts: some of them run again if a value differs from
    // that of a manual build, and nearly everything is built again.
    for (name, _) in std::env::vars_os() {
        let is_of_xtask = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_xtask) {
            command.env_remove(name);
        }
    }
    command
}

fn step(name: &str, mut command: Command) -> Result<(), String> {
    println!("== {name}");
    let status = command.status();
    let program = command.get_program().display();
    let status = status.map_err(|error| format!("cannot run {program} for `{name}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed")) }
}
