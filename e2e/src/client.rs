// SPDX-License-Identifier: Apache-2.0
//! Clients by other vendors: programs of `e2e/clients` that send requests to a landscape over HTTPS.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// A Python program that prints JSON, line by line. Dropping it ends it.
#[derive(Debug)]
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    /// Starts a program of `e2e/clients`.
    ///
    /// # Panics
    /// There is no python3 on the PATH.
    pub fn start(program: &str, words: &[&str]) -> Self {
        let mut child = Command::new("python3")
            .arg(format!("{}/clients/{program}", env!("CARGO_MANIFEST_DIR")))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("no python3 on the PATH: the end-to-end tests need one");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("it is piped");
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    /// Returns its next line.
    ///
    /// # Panics
    /// It has ended, or printed text that is not JSON.
    pub fn line(&mut self) -> Value {
        let line = self.lines.next().expect("the client has ended; see its standard error").expect("text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
