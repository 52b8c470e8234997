// SPDX-License-Identifier: Apache-2.0
//! One component in its form: start, output, end.

use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use http::HeaderValue;
use parking_lot::Mutex;
use process::child::{Assignment, ChildMessage, Unready};
use process::inside::{Component, End, Started};
use process::panics::Panicked;
use process::{Context, Exit, Output, Transport, User};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::{Form, Inside, Local, POD_VARIABLE, Program, RunInside, Served};

/// Wall time between the end of a process's standard input and its kill: its grace period to end.
pub(crate) const GRACE: Duration = Duration::from_secs(10);
/// Status of a process that was ended by SIGKILL.
const SIGKILL: i32 = 9;
/// Maximum length of a stored line in bytes; the rest of a longer one is dropped.
const LONGEST_LINE: usize = 16 * 1024;

/// A running component in one of its forms.
pub(super) enum Process {
    Child(Box<ChildProcess>),
    Inside(InsideProcess),
}

/// A process of this machine.
pub(super) struct ChildProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
    errors: Option<Lines<BufReader<ChildStderr>>>,
}

/// Tasks of this process.
pub(super) struct InsideProcess {
    started: Started,
    news: UnboundedReceiver<News>,
    /// Output that is still to be read after the end.
    rest: VecDeque<News>,
}

/// Report of a process to the kubelet.
#[derive(Clone, Debug)]
pub(super) enum News {
    /// The process is ready.
    Ready(Served),
    /// A task of the process panicked; the process continues.
    Panicked(Panicked),
    /// The process reports that it is not ready; `None`: ready again.
    Unready(Option<Unready>),
    /// A line of output.
    Line(String),
    /// The process has ended, and all its output has been read.
    Ended(ExitStatus),
}

impl Process {
    /// Starts a component in its form and passes its assignment.
    pub(super) async fn start(launch: &Program, context: &Context, inside: Option<&Inside>) -> io::Result<Self> {
        match &launch.form {
            Form::Process { path, name, args } => {
                let started = ChildProcess::start(path, name, args, &launch.assignment).await;
                let started =
                    started.map_err(|error| io::Error::other(format!("cannot start {}: {error}", name.display())));
                Ok(Self::Child(Box::new(started?)))
            }
            Form::Inside { user, run } => {
                let inside = inside.ok_or_else(|| io::Error::other("this host runs no components in its process"))?;
                InsideProcess::start(user, run, &launch.assignment, context, inside).map(Self::Inside)
            }
        }
    }

    /// Returns the next report or line; the last is [`News::Ended`].
    pub(super) async fn news(&mut self) -> io::Result<News> {
        match self {
            Self::Child(child) => child.news().await,
            Self::Inside(inside) => Ok(inside.news().await),
        }
    }

    /// Id of the process; `None`: it has ended, or runs in this process.
    pub(super) fn id(&self) -> Option<u32> {
        match self {
            Self::Child(child) => child.child.id(),
            Self::Inside(_) => None,
        }
    }

    /// Requests the end of the process.
    pub(super) fn stop(&mut self) {
        match self {
            Self::Child(child) => child.input = None,
            Self::Inside(inside) => inside.started.stop(),
        }
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        match self {
            // An error means that it has ended already.
            Self::Child(child) => drop(child.child.start_kill()),
            Self::Inside(inside) => inside.started.kill(),
        }
    }
}

impl ChildProcess {
    /// Starts a process in a process group of its own and passes its assignment.
    async fn start(path: &Path, name: &Path, args: &[String], assignment: &Assignment) -> io::Result<Self> {
        let mut child = Command::new(held(path, name))
            .arg0(name)
            .args(args)
            .env_clear()
            .env(POD_VARIABLE, assignment.participant())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let mut input = child.stdin.take().ok_or_else(|| io::Error::other("no standard input"))?;
        let mut line = serde_json::to_vec(assignment)?;
        line.push(b'\n');
        input.write_all(&line).await?;
        input.flush().await?;
        let output = child.stdout.take().map(lines);
        let errors = child.stderr.take().map(lines);
        Ok(Self { child, input: Some(input), output, errors })
    }

    async fn news(&mut self) -> io::Result<News> {
        loop {
            let (output, errors) = (&mut self.output, &mut self.errors);
            if output.is_none() && errors.is_none() {
                return Ok(News::Ended(self.child.wait().await?));
            }
            tokio::select! {
                biased;
                line = next(output) => match line {
                    Some(line) => return Ok(ChildMessage::read(&line).map_or_else(|| News::Line(cut(line)), |said| News::of(said, None))),
                    None => self.output = None,
                },
                line = next(errors) => match line {
                    Some(line) => return Ok(News::Line(cut(line))),
                    None => self.errors = None,
                },
            }
        }
    }
}

impl InsideProcess {
    fn start(
        user: &User,
        run: &RunInside,
        assignment: &Assignment,
        context: &Context,
        inside: &Inside,
    ) -> io::Result<Self> {
        let pod = HeaderValue::try_from(assignment.participant()).map_err(io::Error::other)?;
        let (sender, news) = unbounded();
        let offered: Arc<Mutex<Option<Transport>>> = Arc::default();
        let (lines, states, served) = (sender.clone(), sender, offered.clone());
        // Without a receiver the component is about to be dropped.
        let output = Output::with_state(
            move |line| drop(lines.unbounded_send(News::Line(cut(line.to_owned())))),
            move |state| drop(states.unbounded_send(News::of(state, served.lock().clone()))),
        );
        let local = Local {
            log: inside.log.clone(),
            time: inside.time.clone(),
            names: inside.names.clone(),
            offer: Box::new(move |transport| *offered.lock() = Some(transport)),
        };
        let (run, assignment) = (run.clone(), assignment.clone());
        let started = inside.starter.start(Component {
            identity: assignment.identity(),
            user: user.clone(),
            pod: Some(pod),
            random: context.random.clone(),
            output,
            work: Box::new(move |context, stop| run(context, assignment, local, stop)),
        });
        Ok(Self { started, news, rest: VecDeque::new() })
    }

    async fn news(&mut self) -> News {
        if let Some(next) = self.rest.pop_front() {
            return next;
        }
        tokio::select! {
            biased;
            Some(news) = self.news.next() => news,
            end = self.started.ended() => {
                while let Ok(printed) = self.news.try_recv() {
                    self.rest.push_back(printed);
                }
                let status = match end {
                    End::Exit(Exit { code, last_line }) => {
                        self.rest.extend((!last_line.is_empty()).then(|| News::Line(cut(last_line))));
                        i32::from(code) << 8
                    }
                    End::Killed => SIGKILL,
                };
                let ended = News::Ended(ExitStatus::from_raw(status));
                self.rest.push_back(ended.clone());
                self.rest.pop_front().unwrap_or(ended)
            }
        }
    }
}

impl News {
    fn of(said: ChildMessage, transport: Option<Transport>) -> Self {
        match said {
            ChildMessage::Ready(ready) => Self::Ready(Served { ready, transport }),
            ChildMessage::Panicked(panicked) => Self::Panicked(panicked),
            ChildMessage::Unready(unready) => Self::Unready(unready),
        }
    }
}

/// Path by which a program is started: its name, unless that name refers to another file by now.
fn held<'a>(path: &'a Path, name: &'a Path) -> &'a Path {
    let identity = |path: &Path| std::fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let held = identity(path);
    if held.is_some() && identity(name) == held { name } else { path }
}

fn lines<R: AsyncRead + Unpin>(stream: R) -> Lines<BufReader<R>> {
    BufReader::new(stream).lines()
}

async fn next<R: AsyncRead + Unpin>(lines: &mut Option<Lines<BufReader<R>>>) -> Option<String> {
    match lines {
        // Invalid UTF-8 ends the stream as if the process had closed it.
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
