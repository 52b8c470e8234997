// SPDX-License-Identifier: Apache-2.0
//! One process: starting it, hearing it, ending it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process::child::{Ready, Said, Unready};
use process::panics::Panicked;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::Program;

/// Wall time that a process has to end after its standard input has ended; then it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// Longest line that is kept; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 16 * 1024;

/// A process that runs.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
    errors: Option<Lines<BufReader<ChildStderr>>>,
}

/// What a process does, as the kubelet sees it.
#[derive(Debug)]
pub(super) enum News {
    /// It is ready.
    Ready(Ready),
    /// Something in it panicked, and it goes on.
    Panicked(Panicked),
    /// It does not want to be asked; `None`: it does again.
    Unready(Option<Unready>),
    /// It prints.
    Line(String),
    /// It has ended, and everything that it printed has been read.
    Ended(ExitStatus),
}

impl Process {
    /// Starts a process in a group of its own and gives it its assignment.
    pub(super) async fn start(launch: &Program) -> io::Result<Self> {
        let mut child = Command::new(path(launch))
            .arg0(&launch.name)
            .args(&launch.args)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let mut input = child.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
        let mut line = serde_json::to_vec(&launch.assignment)?;
        line.push(b'\n');
        input.write_all(&line).await?;
        input.flush().await?;
        let output = child.stdout.take().map(lines);
        let errors = child.stderr.take().map(lines);
        Ok(Self { child, input: Some(input), output, errors })
    }

    /// What it does next.
    pub(super) async fn news(&mut self) -> io::Result<News> {
        loop {
            let (output, errors) = (&mut self.output, &mut self.errors);
            if output.is_none() && errors.is_none() {
                return Ok(News::Ended(self.child.wait().await?));
            }
            tokio::select! {
                biased;
                line = next(output) => match line {
                    Some(line) => return Ok(match Said::read(&line) {
                        Some(Said::Ready(ready)) => News::Ready(ready),
                        Some(Said::Panicked(panicked)) => News::Panicked(panicked),
                        Some(Said::Unready(unready)) => News::Unready(unready),
                        None => News::Line(cut(line)),
                    }),
                    None => self.output = None,
                },
                line = next(errors) => match line {
                    Some(line) => return Ok(News::Line(cut(line))),
                    None => self.errors = None,
                },
            }
        }
    }

    /// Its id; `None`: it has ended.
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Asks it to end.
    pub(super) fn stop(&mut self) {
        self.input = None;
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.start_kill();
    }
}

/// Path by which a program is started: its name, unless the name is another file's by now.
fn path(launch: &Program) -> &Path {
    let identity = |path: &Path| std::fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let held = identity(&launch.path);
    if held.is_some() && identity(&launch.name) == held { &launch.name } else { &launch.path }
}

fn lines<R: AsyncRead + Unpin>(stream: R) -> Lines<BufReader<R>> {
    BufReader::new(stream).lines()
}

async fn next<R: AsyncRead + Unpin>(lines: &mut Option<Lines<BufReader<R>>>) -> Option<String> {
    match lines {
        // What is no text ends the stream as if the process had closed it.
        Some(lines) => lines.next_line().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

fn cut(mut line: String) -> String {
    if line.len() > LONGEST_LINE {
        line.truncate(line.floor_char_boundary(LONGEST_LINE));
    }
    line
}
