// SPDX-License-Identifier: Apache-2.0
//! The container engine: a running one, or one that is started for the tests.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Environment variable with the engine's address, if that is not the default.
pub const HOST: &str = "DOCKER_HOST";
/// Environment variable that decides whether tests need an engine: with [`REQUIRED`] a missing one is a failure, otherwise they
/// are skipped.
pub const NEEDED: &str = "TERRARIUM_TEST_CONTAINERS";
/// Value of [`NEEDED`].
pub const REQUIRED: &str = "required";

/// Maximum number of checks whether a new engine answers, and the time between two of them.
const LOOKS: u32 = 300;
const LOOK: Duration = Duration::from_millis(100);

/// An engine that was started. Dropping it ends it.
#[derive(Debug)]
pub struct Engine {
    child: Child,
    folder: PathBuf,
}

impl Engine {
    /// Returns the value of [`HOST`] for clients.
    pub fn host(&self) -> String {
        format!("unix://{}", self.folder.join("docker.sock").display())
    }

    /// Starts an engine that keeps all its data in a folder, and waits until it answers. It creates networks of containers, so it
    /// needs root.
    ///
    /// # Errors
    /// It cannot be started, or ends, or does not answer; its last line.
    pub fn start(folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot start dockerd: {error}");
        std::fs::create_dir_all(folder).map_err(failed)?;
        let log = folder.join("dockerd.log");
        let file = std::fs::File::create(&log).map_err(failed)?;
        let place = |name: &str| folder.join(name).display().to_string();
        let child = Command::new("dockerd")
            .args(["--data-root", &place("data"), "--exec-root", &place("exec"), "--pidfile", &place("pid")])
            .args(["--host", &format!("unix://{}", place("docker.sock"))])
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(failed)?)
            .stderr(file)
            .spawn()
            .map_err(failed)?;
        let mut engine = Self { child, folder: folder.to_owned() };
        let last_line = || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.lines().last().unwrap_or_default().to_owned()
        };
        for _ in 0..LOOKS {
            if answers(Some(&engine.host())).is_ok() {
                return Ok(engine);
            }
            if let Ok(Some(status)) = engine.child.try_wait() {
                return Err(format!("dockerd ended with {status}: {}", last_line()));
            }
            pause();
        }
        Err(format!("dockerd does not answer: {}", last_line()))
    }
}

#[expect(clippy::disallowed_methods, reason = "a tool waits for another one, outside of all landscapes")]
fn pause() {
    std::thread::sleep(LOOK);
}

impl Drop for Engine {
    fn drop(&mut self) {
        // It ends its containers, and removes its networks; killed, it would leave them behind.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Checks that an engine answers: the one at an address, or the default one.
///
/// # Errors
/// No engine answers: the reason.
pub fn answers(host: Option<&str>) -> Result<(), String> {
    let mut command = Command::new("docker");
    command.args(["info", "--format", "{{.ServerVersion}}"]);
    if let Some(host) = host {
        command.env(HOST, host);
    }
    let output = command.output().map_err(|error| format!("cannot run docker: {error}"))?;
    if output.status.success() && !output.stdout.trim_ascii().is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("no container engine answers: {}", said.lines().last().unwrap_or("`docker info` says nothing")))
}
