// SPDX-License-Identifier: Apache-2.0
//! chromedriver: a process that drives browsers, on a port that is free.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Names of the browser's program; the first that is installed is used.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
const DRIVER: &str = "chromedriver";
/// Output of the driver before its port.
const ON_PORT: &str = "started successfully on port ";

/// Returns the paths of browser and driver.
///
/// # Errors
/// One of them is missing: its name, and its source.
pub(crate) fn programs() -> Result<(PathBuf, PathBuf), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |name: &str| std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let browser = BROWSERS.iter().find_map(|name| find(name)).ok_or("no chromium on the PATH (Debian: chromium)")?;
    let driver = find(DRIVER).ok_or("no chromedriver on the PATH (Debian: chromium-driver)")?;
    Ok((browser, driver))
}

/// A running driver. Dropping it ends it and every browser that it started.
#[derive(Debug)]
pub(crate) struct Driver {
    child: Child,
    port: u16,
    /// Kept open: the driver ends when it writes to a closed pipe.
    _output: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts a driver.
    ///
    /// # Panics
    /// It cannot be started, or does not print its port.
    pub(crate) fn start() -> Self {
        let (_, program) = programs().expect("with_browser has found both programs");
        let mut command = Command::new(program);
        // A process group of its own, which is killed as a whole.
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().expect("a driver that can be run");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let port = loop {
            let mut line = String::new();
            let length = output.read_line(&mut line).expect("text");
            assert!(length > 0, "the driver ended before it said its port");
            let digits = line.split_once(ON_PORT).map(|(_, rest)| rest.trim_end_matches(['.', '\n']));
            if let Some(port) = digits.and_then(|digits| digits.parse().ok()) {
                break port;
            }
        };
        Self { child, port, _output: output }
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}
