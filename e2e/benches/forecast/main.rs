// SPDX-License-Identifier: Apache-2.0
//! The benchmark of `terrarium forecast`, run as by a user with a large landscape: `cargo xtask bench forecast [quick|full]`.
//!
//! Prints one table, and one line of JSON at the end. Runs `terrarium` of the release profile on manifests with the size and
//! fields of kubectl's output for a real landscape. `quick` takes a tenth of the Shoots; `full` four times as many.
//!
//! **Tour.** [`manifests`] the CloudProfile and the Shoots.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures wall time")]

mod manifests;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

/// Error with a text for the user.
type Failure = Box<dyn std::error::Error>;

/// Wall time between two readings of the program's memory; the kernel keeps the highest value.
const LOOK: Duration = Duration::from_millis(2);

/// Documented bounds for 5,000 Shoots: seconds until the answer, and bytes of memory.
const PROMISED: (f64, u64) = (10.0, 500 * 1024);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let shoots = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => 5_000,
        ["quick"] => 500,
        ["full"] => 20_000,
        other => {
            eprintln!("error: unknown arguments {other:?}: expected nothing, `quick` or `full`");
            return ExitCode::from(2);
        }
    };
    match measure(shoots) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: {} Shoots take more than {} s or {} MiB", shoots, PROMISED.0, PROMISED.1 / 1024);
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Measures every question in every form of manifests; returns true if the documented bounds hold.
fn measure(shoots: u64) -> Result<bool, Failure> {
    let terrarium = terrarium()?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-forecast");
    std::fs::create_dir_all(&folder)?;
    let mut report = Map::new();
    let mut holds = true;
    for form in [manifests::Form::YamlList, manifests::Form::JsonList, manifests::Form::YamlDocuments] {
        let file = folder.join(form.file_name());
        manifests::write(&file, form, shoots)?;
        let megabytes = std::fs::metadata(&file)?.len() as f64 / 1e6;
        let explained = manifests::name_of(shoots / 2);
        for (key, what, words) in [
            ("table", "every change", &[][..]),
            (
                "expireByWeek",
                "--expire --summary week --explain",
                &["--expire", manifests::EXPIRE, "--summary", "week", "--explain", &explained],
            ),
        ] {
            let answer = ask(&terrarium, &file, words)?;
            holds &= shoots > 5_000 || (answer.seconds < PROMISED.0 && answer.kibibytes < PROMISED.1);
            let mebibytes = answer.kibibytes as f64 / 1024.0;
            println!(
                "{:<24} {megabytes:>7.1} MB   {what:<36} {:>7.2} s   {mebibytes:>7.1} MiB   {:>8} lines",
                form.file_name(),
                answer.seconds,
                answer.lines
            );
            let name = format!("{}{}{}", form.key(), &key[..1].to_uppercase(), &key[1..]);
            report
                .insert(name, json!({"seconds": answer.seconds, "kibibytes": answer.kibibytes, "lines": answer.lines}));
        }
        std::fs::remove_file(&file)?;
    }
    report.insert("shoots".to_owned(), json!(shoots));
    println!("{}", Value::Object(report));
    Ok(holds)
}

/// Resources that an answer took.
struct Answer {
    seconds: f64,
    kibibytes: u64,
    lines: usize,
}

fn ask(terrarium: &Path, file: &Path, words: &[&str]) -> Result<Answer, Failure> {
    let answer = file.with_extension("answer");
    let mut command = Command::new(terrarium);
    command.args(["forecast", "--from", manifests::FROM, "--until", manifests::UNTIL, "-f"]).arg(file).args(words);
    let started = Instant::now();
    let mut child = command.stdout(std::fs::File::create(&answer)?).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut kibibytes = 0;
    let exit = loop {
        let peak = std::fs::read_to_string(&status).ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        kibibytes = kibibytes.max(peak.unwrap_or_default());
        if let Some(exit) = child.try_wait()? {
            break exit;
        }
        std::thread::sleep(LOOK);
    };
    let seconds = started.elapsed().as_secs_f64();
    if !exit.success() {
        return Err(format!("{command:?} ended with {exit}").into());
    }
    let lines = std::fs::read_to_string(&answer)?.lines().count();
    std::fs::remove_file(&answer)?;
    if lines < 10 {
        return Err(format!("{command:?} printed {lines} lines: nothing happens to these Shoots").into());
    }
    Ok(Answer { seconds, kibibytes, lines })
}

/// Returns the program of the release build.
fn terrarium() -> Result<PathBuf, Failure> {
    let bench = std::env::current_exe()?;
    let folder = bench.ancestors().nth(2).ok_or("a benchmark lies two levels below the profile's folder")?;
    let terrarium = std::env::var_os("TERRARIUM_BINARY").map_or_else(|| folder.join("terrarium"), PathBuf::from);
    if terrarium.is_file() {
        Ok(terrarium)
    } else {
        Err(format!("{} is missing: `cargo xtask bench` builds it", terrarium.display()).into())
    }
}
