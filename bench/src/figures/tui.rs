//! The terminal client as a person meets it: how soon it is there, what it costs while it shows text that streams, how
//! soon a key is on the screen meanwhile, and what it holds of a very long session.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::BenchSetup;
use crate::answer::AnswerPlan;
use crate::daemon::MeasuredDaemon;
use crate::number::{BenchNumber, BenchUnit};
use crate::process::{megabytes, memory, processor_time};
use crate::report::FigureRow;
use crate::samples::{Samples, millis};
use crate::terminal::{BenchTerminal, VirtualScreen};

const WITH_DAEMON: Duration = Duration::from_millis(50);
const WITHOUT_DAEMON: Duration = Duration::from_millis(150);
const KEY: Duration = Duration::from_millis(16);
/// Of a core, in percent.
const PROCESSOR: f64 = 5.0;
const MEMORY: u64 = 30_000_000;
const SIZE: (u16, u16) = (120, 40);
/// Room for the line that says which process was started.
const WIDE: (u16, u16) = (200, 40);
/// How long a message of the daemon may take to stand at the foot of the screen.
const QUIET: Duration = Duration::from_secs(1);
const DELTA_MS: u64 = 10;

/// From the start of the program to its first frame, and to the one in which it has a daemon.
pub(super) fn start(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let runs = bench.count(15, 3);
    let (daemon, data) = bench.start_empty()?;
    let (mut first, mut ready) = (Samples::default(), Samples::default());
    for _ in 0..runs {
        let mut terminal = open(bench, data.path(), &[], SIZE)?;
        sample(&mut terminal, &mut first, &mut ready)?;
    }
    daemon.stop()?;
    let (mut first_alone, mut ready_alone) = (Samples::default(), Samples::default());
    for _ in 0..runs {
        let data = tempfile::Builder::new().prefix("data-").tempdir_in(bench.work.path())?;
        bench.starter.write_config()?;
        let mut terminal = open(bench, data.path(), &[], WIDE)?;
        sample(&mut terminal, &mut first_alone, &mut ready_alone)?;
        stop_started(&mut terminal)?;
    }
    Ok(vec![
        row("first_frame", "terminal client: first frame, a daemon runs", "< 50 ms", &first, WITH_DAEMON),
        row(
            "connected",
            "terminal client: the frame in which it is connected",
            "< 50 ms",
            &ready,
            WITH_DAEMON,
        ),
        row(
            "first_frame_alone",
            "terminal client: first frame, no daemon runs",
            "< 150 ms",
            &first_alone,
            WITHOUT_DAEMON,
        ),
        row(
            "started_daemon",
            "terminal client: the frame in which it has started one",
            "< 150 ms",
            &ready_alone,
            WITHOUT_DAEMON,
        ),
    ])
}

/// Processor time of the client while one session streams.
pub(super) async fn stream(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let (daemon, data) = bench.start_empty()?;
    let id = session(&daemon, &bench.workspace()).await?;
    let mut terminal = open(bench, data.path(), &["--session".to_owned(), id.clone()], SIZE)?;
    terminal.until("the session", |screen| screen.shows("say something"))?;
    let seconds: u64 = bench.count(10, 2);
    // A second more at each end, so that only streaming is measured.
    let deltas = usize::try_from((seconds + 2) * 1000 / DELTA_MS)?;
    say(&daemon, &id, AnswerPlan::new(deltas, DELTA_MS)).await?;
    terminal.until("text that streams", |screen| screen.shows("writing"))?;
    terminal.watch_for(Duration::from_secs(1))?;
    let (before, drawn, start) = (processor_time(terminal.id())?, terminal.drawn, Instant::now());
    terminal.watch_for(Duration::from_secs(seconds))?;
    let (used, took) = (processor_time(terminal.id())? - before, start.elapsed());
    let bytes = terminal.drawn - drawn;
    ensure!(terminal.screen().shows("writing"), "the stream ended too early");
    terminal.until("the end of the turn", |screen| screen.shows("done"))?;
    terminal.watch_for(QUIET)?;
    let idle = processor_time(terminal.id())?;
    terminal.watch_for(Duration::from_secs(seconds))?;
    let idle = processor_time(terminal.id())? - idle;
    drop(terminal);
    daemon.stop()?;
    let percent = |used: Duration| used.as_secs_f64() * 100.0 / took.as_secs_f64();
    let measured =
        format!("{:.1} %, {:.1} KB/s drawn", percent(used), bytes as f64 / 1e3 / took.as_secs_f64());
    Ok(vec![
        FigureRow::new(
            "terminal client: processor while a session streams 100 deltas a second, all of it one paragraph",
            "< 5 % of a core",
            measured,
            percent(used) < PROCESSOR,
        )
        .number(BenchNumber::new("processor", percent(used), BenchUnit::Percent)),
        FigureRow::information(
            "terminal client: processor while nothing happens",
            format!("{:.1} %", percent(idle)),
        ),
    ])
}

/// From a key to the letter on the screen, while four sessions stream that the client follows.
pub(super) async fn key(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    const SESSIONS: usize = 4;
    let keys = bench.count(200, 20);
    let (daemon, data) = bench.start_empty()?;
    let mut ids = Vec::new();
    for _ in 0..SESSIONS {
        ids.push(session(&daemon, &bench.workspace()).await?);
    }
    let mut terminal = open(bench, data.path(), &["--session".to_owned(), ids[0].clone()], SIZE)?;
    terminal.until("the session", |screen| screen.shows("say something"))?;
    // A key is pressed every 30 ms on average; what is left is for going through the sessions and for the end.
    let deltas = usize::try_from(30 * u64::try_from(keys)? / DELTA_MS + 2000)?;
    for id in &ids {
        say(&daemon, id, AnswerPlan::new(deltas, DELTA_MS)).await?;
    }
    // Each is looked at once, so that it is followed from then on.
    for _ in 0..SESSIONS {
        terminal.press("\x1bn")?;
        terminal.press("\x1b[1;3B")?;
        terminal.watch_for(Duration::from_millis(300))?;
    }
    terminal.until("text that streams", |screen| screen.shows("writing"))?;
    let mut samples = Samples::default();
    for number in 0..keys {
        // Letters that no session says, a new one each time.
        let letter = char::from(b'a' + u8::try_from(number % 26)?);
        terminal.press("\x15")?;
        terminal.until("an empty line", |screen| !screen.rows().any(|row| row.contains("› x")))?;
        terminal.watch_for(Duration::from_millis(7 + (number as u64 * 13) % 31))?;
        let pressed = Instant::now();
        terminal.press(&format!("x{letter}"))?;
        let wanted = format!("› x{letter}");
        samples.push(terminal.until("the letter", |screen| screen.shows(&wanted))? - pressed);
    }
    ensure!(terminal.screen().shows("writing"), "the streams ended too early");
    drop(terminal);
    daemon.stop()?;
    let measured = format!("{}, p99 {}", millis(samples.median()), millis(samples.percentile(99)));
    Ok(vec![
        FigureRow::new(
            "terminal client: from a key to the screen while four sessions stream",
            "< 16 ms",
            measured,
            samples.percentile(99) < KEY,
        )
        .number(BenchNumber::millis("pressed", samples.median())),
    ])
}

/// Memory of the client with a very long session open, at its end and after paging up in it.
pub(super) async fn held(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let fixture = bench.fixture(10, bench.count(100_000, 20_000)).await?;
    let daemon = bench.starter.start(&fixture.data)?;
    let id = fixture.long_id().to_string();
    let mut terminal = open(bench, &fixture.data, &["--session".to_owned(), id], SIZE)?;
    let seen = terminal.until("the end of the session", |screen| screen.shows("there is nothing to add"))?;
    let opened = seen - terminal.started;
    terminal.watch_for(QUIET)?;
    let at_end = memory(terminal.id())?.now;
    for _ in 0..bench.count(300, 20) {
        terminal.press("\x1b[5~")?;
        terminal.watch_for(Duration::from_millis(10))?;
    }
    terminal.watch_for(QUIET)?;
    let after = memory(terminal.id())?;
    drop(terminal);
    daemon.stop()?;
    let records = fixture.long;
    Ok(vec![
        FigureRow::new(
            format!("terminal client: memory with a session of {records} records open"),
            "< 30 MB",
            format!("{}, opened in {}", megabytes(at_end), millis(opened)),
            at_end < MEMORY,
        )
        .number(BenchNumber::megabytes("at_end", at_end)),
        FigureRow::new(
            "terminal client: the same after paging up 300 times",
            "< 30 MB",
            format!("{}, at most {}", megabytes(after.now), megabytes(after.peak)),
            after.now < MEMORY,
        )
        .number(BenchNumber::megabytes("paged_up", after.now)),
    ])
}

fn open(bench: &BenchSetup, data: &Path, more: &[String], size: (u16, u16)) -> Result<BenchTerminal> {
    let config = bench.starter.config_file();
    let mut arguments = vec!["tui".to_owned(), "--data-dir".to_owned(), data.display().to_string()];
    arguments.extend(["--config".to_owned(), config.display().to_string()]);
    arguments.extend_from_slice(more);
    BenchTerminal::start(bench.starter.binary(), &arguments, &bench.work.path().join("workspace"), size)
}

fn sample(terminal: &mut BenchTerminal, first: &mut Samples, ready: &mut Samples) -> Result<()> {
    let at = terminal.until("the first frame", |screen| screen.shows("Describe a task"))?;
    first.push(at - terminal.started);
    let at = terminal.until("a daemon", |screen| screen.shows("to start a session"))?;
    ready.push(at - terminal.started);
    Ok(())
}

/// Ends the daemon that the client has started, whose process it names.
fn stop_started(terminal: &mut BenchTerminal) -> Result<()> {
    terminal.until("the daemon's process", |screen| started(screen).is_some())?;
    let pid = started(terminal.screen()).and_then(Pid::from_raw).context("the process has a number")?;
    kill_process(pid, Signal::TERM)?;
    terminal.until("the daemon to be gone", |screen| screen.shows("not connected"))?;
    Ok(())
}

fn started(screen: &VirtualScreen) -> Option<i32> {
    let row = screen.rows().find(|row| row.contains("(pid "))?;
    row.split_once("(pid ")?.1.split(')').next()?.parse().ok()
}

async fn session(daemon: &MeasuredDaemon, workspace: &str) -> Result<String> {
    let body = json!({"workspace_path": workspace}).to_string();
    let answer = daemon.endpoint.connect().await?.ask("POST", "/v1/sessions", Some(&body)).await?;
    let answer: serde_json::Value = serde_json::from_slice(&answer)?;
    Ok(answer["session_id"].as_str().context("a session has an id")?.to_owned())
}

async fn say(daemon: &MeasuredDaemon, id: &str, plan: AnswerPlan) -> Result<()> {
    let part = json!({"type": "text", "text": plan.prompt()});
    let message = json!({"role": "user", "parts": [part]}).to_string();
    let path = format!("/v1/sessions/{id}/messages");
    daemon.endpoint.connect().await?.ask("POST", &path, Some(&message)).await.map(drop)
}

fn row(name: &str, figure: &str, target: &str, samples: &Samples, limit: Duration) -> FigureRow {
    let worst = millis(samples.percentile(100));
    let measured = format!("{}, worst of {} {worst}", millis(samples.median()), samples.count());
    FigureRow::new(figure, target, measured, samples.median() < limit)
        .number(BenchNumber::millis(name, samples.median()))
}
