// SPDX-License-Identifier: Apache-2.0
//! A landscape of real processes with a home of its own, and real kubectl.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A landscape in a folder of its own. Dropping it stops its processes and removes it.
#[derive(Debug)]
pub struct Sandbox {
    binaries: PathBuf,
    folder: PathBuf,
    /// Form of the components; `None`: that of `TERRARIUM_COMPONENTS`, otherwise that of a new landscape.
    form: Option<&'static str>,
}

/// Version of kubectl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kubectl {
    /// The oldest `kubectl.1.N` in the folder of the one on the PATH.
    Oldest,
    /// The newest `kubectl.1.N` in the folder of the one on the PATH.
    Newest,
}

/// Returns the folder of this build's binaries: a test runs in `target/PROFILE/deps`.
///
/// # Panics
/// The workspace has not been built.
pub fn binaries() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its path");
    let folder = test.ancestors().nth(2).expect("two levels below the profile's folder").to_owned();
    assert!(
        folder.join("terrarium").is_file(),
        "no `terrarium` in {}: build the workspace first, as `cargo xtask test` does",
        folder.display()
    );
    folder
}

/// True if an environment variable, such as `TERRARIUM_TEST_BROWSER`, is `required`: then a test fails if the programs that it
/// needs are missing; otherwise it is skipped.
pub fn is_required(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "required")
}

impl Sandbox {
    /// Creates a sandbox in a folder, which is replaced.
    ///
    /// # Panics
    /// The folder cannot be made.
    pub fn new(binaries: &Path, folder: &Path) -> Self {
        let new = || Self { binaries: binaries.to_owned(), folder: folder.to_owned(), form: None };
        let sandbox = new();
        if folder.join("data").exists() {
            // Removes the landscape of an earlier test that was killed.
            drop(new());
        }
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).expect("the target folder is writable");
        sandbox
    }

    /// Sets the form of the components, overriding the environment; `default` leaves it to the program.
    ///
    /// `processes` is for tests that signal single components, inspect their binaries, or prove once for each mechanism (upgrade,
    /// version skew, partition, kills) that processes behave as components inside the host do.
    #[must_use]
    pub fn with_components(mut self, form: &'static str) -> Self {
        self.form = Some(form);
        self
    }

    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = match program {
            "terrarium" => Command::new(self.binaries.join(program)),
            other => Command::new(other),
        };
        command
            .args(words)
            .current_dir(&self.folder)
            .env("NO_COLOR", "1")
            .env("HOME", &self.folder)
            .env("XDG_DATA_HOME", self.folder.join("data"))
            .env("KUBECONFIG", self.kubeconfig())
            .env_remove("TERRARIUM_LANDSCAPE")
            .env_remove("TERRARIUM_DATA_DIR");
        match self.form {
            None => {}
            Some("default") => drop(command.env_remove("TERRARIUM_COMPONENTS")),
            Some(form) => drop(command.env("TERRARIUM_COMPONENTS", form)),
        }
        command
    }

    /// Returns the folder of our programs.
    pub(crate) fn binaries(&self) -> &Path {
        &self.binaries
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the kubeconfig that the landscape's contexts are written to.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Returns the landscape's directory.
    pub fn directory(&self) -> PathBuf {
        self.folder.join("data/terrarium/default")
    }

    /// Runs `terrarium` and returns its standard output.
    ///
    /// # Panics
    /// The command fails.
    #[track_caller]
    pub fn terrarium(&self, words: &[&str]) -> String {
        let output = self.command("terrarium", words).output().expect("our own program");
        succeeded("terrarium", words, &output)
    }

    /// Runs `terrarium` with an environment variable and returns its standard output.
    ///
    /// # Panics
    /// The command fails.
    #[track_caller]
    pub fn terrarium_with(&self, (name, value): (&str, &str), words: &[&str]) -> String {
        let output = self.command("terrarium", words).env(name, value).output().expect("our own program");
        succeeded("terrarium", words, &output)
    }

    /// Runs `terrarium` in a new folder of the sandbox; returns its standard output.
    ///
    /// # Panics
    /// The command fails.
    #[track_caller]
    pub fn terrarium_in(&self, folder: &str, words: &[&str]) -> String {
        let folder = self.folder.join(folder);
        std::fs::create_dir_all(&folder).expect("the sandbox is writable");
        let output = self.command("terrarium", words).current_dir(folder).output().expect("our own program");
        succeeded("terrarium", words, &output)
    }

    /// Runs `terrarium` and returns its standard output.
    ///
    /// # Errors
    /// It fails, with its standard error, or cannot be run.
    pub fn try_terrarium(&self, words: &[&str]) -> Result<String, String> {
        let output = self.command("terrarium", words).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() { Ok(text) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// Runs `terrarium` and returns its standard output and its standard error.
    ///
    /// # Panics
    /// The command fails.
    #[track_caller]
    pub fn terrarium_with_notes(&self, words: &[&str]) -> (String, String) {
        let output = self.command("terrarium", words).output().expect("our own program");
        (succeeded("terrarium", words, &output), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Runs `terrarium`, expects a refusal, and returns its exit code and its standard error.
    ///
    /// # Panics
    /// The command succeeds, is killed, or prints more than three lines, progress not counted.
    #[track_caller]
    pub fn terrarium_refused(&self, words: &[&str]) -> (i32, String) {
        self.terrarium_refused_with(("NO_COLOR", "1"), words)
    }

    /// Runs `terrarium` with an environment variable and expects a refusal; returns exit code and standard error.
    ///
    /// # Panics
    /// The command succeeds, is killed, or prints more than three lines, progress not counted.
    #[track_caller]
    pub fn terrarium_refused_with(&self, (name, value): (&str, &str), words: &[&str]) -> (i32, String) {
        let output = self.command("terrarium", words).env(name, value).output().expect("our own program");
        let error = without_progress(&String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success(), "terrarium {words:?}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(error.starts_with("error: ") && error.lines().count() <= 3, "terrarium {words:?}: {error}");
        (output.status.code().expect("it ends by itself"), error)
    }

    /// Starts `terrarium`, without input, and leaves it running.
    ///
    /// # Panics
    /// It cannot be run.
    pub fn start_terrarium(&self, words: &[&str]) -> Running {
        let mut command = self.command("terrarium", words);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Running(child.expect("our own program"))
    }

    /// Runs kubectl on a context of the landscape (`garden`, `runtime`, `seed-local`), or on one with its whole name, and returns
    /// its standard output.
    ///
    /// # Panics
    /// It fails, or warns.
    #[track_caller]
    pub fn kubectl(&self, version: Kubectl, context: &str, words: &[&str]) -> String {
        let output = self.run_kubectl(version, context, words);
        let warnings = String::from_utf8_lossy(&output.stderr);
        assert!(!warnings.contains("Warning"), "kubectl {words:?}: {warnings}");
        succeeded("kubectl", words, &output)
    }

    /// Runs kubectl, expects a refusal, and returns its standard error.
    ///
    /// # Panics
    /// It does not fail.
    #[track_caller]
    pub fn kubectl_refused(&self, version: Kubectl, context: &str, words: &[&str]) -> String {
        let output = self.run_kubectl(version, context, words);
        assert!(!output.status.success(), "kubectl {words:?}: {}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Writes a file into the sandbox; returns its path.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("the sandbox is writable");
        path.to_string_lossy().into_owned()
    }

    /// Runs kubectl with another kubeconfig and returns its standard output.
    ///
    /// # Errors
    /// It fails: its standard error.
    ///
    /// # Panics
    /// It cannot be run.
    pub fn kubectl_with(&self, version: Kubectl, kubeconfig: &str, words: &[&str]) -> Result<String, String> {
        let all = [&["--kubeconfig", kubeconfig], words].concat();
        let output = self.command(&version.path().to_string_lossy(), &all).output().expect("a kubectl that can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Runs kubectl and returns its output, after success and failure.
    ///
    /// # Panics
    /// There is no kubectl.
    pub fn run_kubectl(&self, version: Kubectl, context: &str, words: &[&str]) -> Output {
        let context = match context {
            "garden" => "terrarium-default".to_owned(),
            whole if whole.starts_with("terrarium-") => whole.to_owned(),
            other => format!("terrarium-default-{other}"),
        };
        let path = version.path();
        let mut all = vec!["--context", context.as_str()];
        all.extend(words);
        self.command(&path.to_string_lossy(), &all).output().expect("a kubectl that can be run")
    }

    /// Returns the processes of the landscape.
    pub fn processes(&self) -> Vec<u32> {
        let Some(host) = self.host() else { return Vec::new() };
        let mut all = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("a Linux system").filter_map(Result::ok) {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            // After the name, which ends with the last parenthesis: state, parent.
            let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
            if pid == host || parent == Some(host) {
                all.push(pid);
            }
        }
        all
    }

    /// Returns the process of a component.
    ///
    /// # Panics
    /// The component does not run.
    pub fn process_of(&self, component: &str) -> u32 {
        let found = self.processes_of(component).first().copied();
        found.unwrap_or_else(|| panic!("no {component} runs"))
    }

    /// Returns the processes of a component: of its own binary, or of `terrarium component NAME`.
    pub fn processes_of(&self, component: &str) -> Vec<u32> {
        let is_it = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            let program = words.first().and_then(|word| word.rsplit(|byte| *byte == b'/').next());
            [program, words.get(2).copied()].contains(&Some(component.as_bytes()))
        };
        self.processes().into_iter().filter(is_it).collect()
    }

    /// Returns the host's process, if there is a landscape.
    pub fn host(&self) -> Option<u32> {
        let host = std::fs::read_to_string(self.directory().join("host.json")).ok()?;
        let host: serde_json::Value = serde_json::from_str(&host).ok()?;
        host["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok())
    }

    /// Returns the lines of all files of the landscape that report a panic.
    pub fn panics(&self) -> Vec<String> {
        panics(&self.directory())
    }

    /// Kills the host, without waiting.
    ///
    /// # Panics
    /// There is no host, or `kill` cannot be run.
    pub fn kill_host(&self) {
        let host = self.host().expect("a landscape that runs").to_string();
        let killed = Command::new("kill").args(["-9", &host]).status().expect("every system has kill");
        assert!(killed.success(), "kill {host}");
    }

    /// Kills every process of the landscape at once, the host first, and waits until they have ended.
    ///
    /// # Panics
    /// `kill` cannot be run.
    pub fn kill_all(&self) {
        let processes = self.processes();
        let words: Vec<String> = std::iter::once("-9".to_owned()).chain(processes.iter().map(u32::to_string)).collect();
        // Components end by themselves after their host: some may have ended already.
        Command::new("kill").args(words).output().expect("every system has kill");
        for pid in processes {
            // The host is not a child of this process: its entry is removed when another process reaps it.
            while is_alive(pid) {
                std::thread::yield_now();
            }
        }
    }
}

/// A running command.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Waits for its end; returns its exit code, and all its output.
    ///
    /// # Panics
    /// It cannot be waited for.
    pub fn wait(self) -> (Option<i32>, String) {
        let output = self.0.wait_with_output().expect("it is a child");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    }

    /// True once the process has ended.
    ///
    /// # Panics
    /// The state of the process cannot be read.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("it is a child").is_some()
    }

    /// Kills it, as a terminal that is closed by force does.
    ///
    /// # Panics
    /// It cannot be killed.
    pub fn kill(mut self) {
        self.0.kill().expect("it is a child");
        self.0.wait().expect("it is a child");
    }

    /// Sends Ctrl-C; returns its exit code, and all its output.
    ///
    /// # Panics
    /// `kill` cannot be run.
    pub fn interrupt(self) -> (Option<i32>, String) {
        self.signal("INT")
    }

    /// Sends a signal, such as `HUP`, and waits for the end; returns exit code and output.
    ///
    /// # Panics
    /// `kill` cannot be run.
    pub fn signal(self, name: &str) -> (Option<i32>, String) {
        let killed = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(killed.expect("every system has kill").success());
        let output = self.0.wait_with_output().expect("it is a child");
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    }
}

fn panics(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|file| file.path()) {
        if path.is_dir() {
            found.extend(panics(&path));
        } else {
            let text = std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let text = text.unwrap_or_default();
            let lines = text.lines().filter(|line| line.contains("panicked at") || line.contains("server panic"));
            found.extend(lines.map(|line| format!("{}: {line}", path.display())));
        }
    }
    found
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let runs = stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']));
    // The main thread may have ended while others still hold the process's files and sockets.
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    runs || threads() > 1
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let landscapes = self.command("terrarium", &["landscape", "list", "-o", "name"]).output();
        let names = landscapes.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        for name in names.lines() {
            let _ = self.command("terrarium", &["down", "--purge", "--landscape", name]).output();
        }
    }
}

impl Kubectl {
    /// Returns the program.
    ///
    /// # Panics
    /// There is no kubectl on the PATH.
    pub fn path(self) -> PathBuf {
        self.find()
            .expect("no kubectl on the PATH: the end-to-end tests need one (https://kubernetes.io/docs/tasks/tools/)")
    }

    /// Returns the program; `None` if there is no kubectl on the PATH.
    pub fn find(self) -> Option<PathBuf> {
        let all = Self::all();
        match self {
            Self::Oldest => all.into_iter().next(),
            Self::Newest => all.into_iter().next_back(),
        }
    }

    /// Returns every `kubectl.1.N` in the folder of the one on the PATH, the oldest first; that one if there are none.
    pub fn all() -> Vec<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|file| file.is_file());
        let Some(found) = found else { return Vec::new() };
        let real = found.canonicalize().unwrap_or_else(|_| found.clone());
        let minor =
            |file: &PathBuf| -> Option<u32> { file.file_name()?.to_str()?.strip_prefix("kubectl.1.")?.parse().ok() };
        let mut versions: Vec<PathBuf> = real
            .parent()
            .and_then(|folder| std::fs::read_dir(folder).ok())
            .map(|files| {
                files.filter_map(Result::ok).map(|file| file.path()).filter(|file| minor(file).is_some()).collect()
            })
            .unwrap_or_default();
        versions.sort_by_key(|file| minor(file));
        if versions.is_empty() { vec![found] } else { versions }
    }
}

/// Returns standard error without the lines of progress, which slow commands print.
pub(crate) fn without_progress(text: &str) -> String {
    let is_progress = |line: &str| line.starts_with("progress: ") || line.starts_with("hint: hourly reconciliations ");
    text.split_inclusive('\n').filter(|line| !is_progress(line)).collect()
}

#[track_caller]
fn succeeded(program: &str, words: &[&str], output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {words:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}
