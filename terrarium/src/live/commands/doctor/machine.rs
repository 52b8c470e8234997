// SPDX-License-Identifier: Apache-2.0
//! Requirements of a landscape on the machine.

use std::fs::{self, File};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use chrono::TimeDelta;
use clock::Clock;
use rustix::process::{Resource, getrlimit};
use serde_json::Value;

use super::Finding;
use crate::failure::Failure;
use crate::live::directory::{Directory, Facts};
use crate::live::landscapes::size;

/// Minimum number of open files. A landscape in use has some hundred: watches, connections of processes, and log files.
const DESCRIPTORS: u64 = 1024;
/// Minimum free space in bytes. A log in use grows by some MiB per day of landscape time.
const FREE: u64 = 1 << 30;
/// Number of writes that are timed.
const WRITES: usize = 9;
/// Duration of a safe write from which on a disk is slow. Disks with a safe cache are faster.
const SLOW: TimeDelta = TimeDelta::milliseconds(25);
/// Minor versions of kubectl that are tested with landscapes.
const MINORS: std::ops::RangeInclusive<u32> = 27..=33;
/// Maximum wall time for a connection to a server of this machine.
const NEAR: Duration = Duration::from_millis(500);

/// Checks the number of files and connections that a process may have open.
pub(super) fn descriptors() -> Finding {
    let limit = getrlimit(Resource::Nofile);
    match limit.current {
        Some(current) if current < DESCRIPTORS => {
            let what = format!("a process may have {current} files open");
            Finding::warning("descriptors", what, format!("ulimit -n {DESCRIPTORS}, before `terrarium up`"))
        }
        Some(current) => Finding::ok("descriptors", format!("a process may have {current} files open")),
        None => Finding::ok("descriptors", "a process may have any number of files open"),
    }
}

/// Checks the kubectl on the PATH.
pub(super) fn kubectl() -> Finding {
    let remedy = "https://kubernetes.io/docs/tasks/tools, or use `terrarium get`";
    let Ok(output) = Command::new("kubectl").args(["version", "--client", "-o", "json"]).output() else {
        return Finding::warning("kubectl", "kubectl is not on the PATH", remedy);
    };
    let version: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let version = &version["clientVersion"];
    let minor = version["minor"].as_str().and_then(|minor| minor.trim_end_matches('+').parse::<u32>().ok());
    let text = version["gitVersion"].as_str().unwrap_or("of an unknown version");
    match minor {
        Some(minor) if MINORS.contains(&minor) => Finding::ok("kubectl", text),
        _ => {
            let (first, last) = (MINORS.start(), MINORS.end());
            Finding::warning("kubectl", format!("{text}; landscapes are tested with 1.{first} to 1.{last}"), "")
        }
    }
}

/// Checks the free space on the disk, and the duration of a safe write.
pub(super) fn disk(folder: &Path) -> Finding {
    let free = rustix::fs::statvfs(folder).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
    let Ok(free) = free else { return Finding::warning("disk", "the free space of the disk is unknown", "") };
    let room = format!("{} free", size(free));
    let took = match fdatasync(folder) {
        Ok(took) => took,
        Err(error) => {
            return Finding::failure(
                "disk",
                format!("cannot write: {error}; {room}"),
                "make room, or mount it writable",
            );
        }
    };
    let what = format!("{room}; a write is safe after {:.1} ms", took.as_seconds_f64() * 1000.0);
    if free < FREE {
        return Finding::warning("disk", what, "make room: a log that cannot be written ends its landscape");
    }
    if took > SLOW {
        let remedy =
            "writes wait for that: another disk, or `terrarium up --durability fast` where losing some is fine";
        return Finding::warning("disk", what, remedy);
    }
    Finding::ok("disk", what)
}

/// Median duration of some writes.
fn fdatasync(folder: &Path) -> std::io::Result<TimeDelta> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    let wall = Clock::wall();
    let timed = || -> std::io::Result<Vec<TimeDelta>> {
        let mut file = File::create(&path)?;
        let mut times = Vec::new();
        for _ in 0..WRITES {
            let began = wall.now();
            file.write_all(&[1; 512])?;
            file.sync_data()?;
            times.push(wall.now() - began);
        }
        times.sort();
        Ok(times)
    };
    let times = timed();
    let _ = fs::remove_file(&path);
    Ok(times?[WRITES / 2])
}

/// Checks the port of a landscape: open if it runs, free if it is stopped.
pub(super) fn port(directory: &Directory, facts: &Facts) -> Result<Finding, Failure> {
    let Facts { port, bind, .. } = facts;
    if let Some(host) = directory.host()? {
        return Ok(if is_unused_address(&host.address) {
            let remedy = format!("see `terrarium logs host`; `terrarium down` stops process {}", host.pid);
            Finding::failure(
                "port",
                format!("the host holds the landscape and does not listen on {}", host.address),
                remedy,
            )
        } else {
            Finding::ok("port", format!("the host listens on {}", host.address))
        });
    }
    Ok(match (port, TcpListener::bind((*bind, *port))) {
        (0, _) => Finding::ok("port", "a free one is taken at the first start"),
        (port, Ok(_)) => Finding::ok("port", format!("{port} is free")),
        (port, Err(error)) => {
            Finding::failure("port", format!("cannot listen on {bind}:{port}: {error}"), "stop what listens there")
        }
    })
}

/// True if a server, given as URL or `host:port`, refuses connections.
pub(super) fn is_unused_address(server: &str) -> bool {
    let authority = server.strip_prefix("https://").unwrap_or(server).split('/').next().unwrap_or_default();
    match authority.parse() {
        Ok(address) => TcpStream::connect_timeout(&address, NEAR).is_err(),
        // A host name may be on another machine, and is not checked.
        Err(_) => false,
    }
}
