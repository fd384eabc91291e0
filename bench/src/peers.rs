//! Other programs that keep coding-agent sessions going, side by side with the daemon: the same model server, the same
//! prompts, the same machine, one after the other in one run. Each is driven by its own protocol, in a file of its own.
//! A program that cannot be installed or driven is shown as not measured, with the reason.

mod answers;
mod codex;
mod environment;
mod install;
mod opencode;
mod ostler;
mod pi;
mod process_tree;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::timeout;

use self::codex::Codex;
use self::environment::PeerEnvironment;
use self::install::Package;
use self::opencode::Opencode;
use self::ostler::Ostler;
use self::pi::Pi;
use self::process_tree::ProcessTreeUsage;
use crate::answer::AnswerPlan;
use crate::figures::BenchSetup;
use crate::load::{self, LoadOutcome};
use crate::process::{kilobytes, megabytes};
use crate::samples::{Samples, millis, seconds};
use crate::tree::git;

/// Time limit for each group of rows of a peer.
const LIMIT: Duration = Duration::from_secs(180);
/// Idle time before memory is read.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// The rows of the table: of a program that was just started, of turns one after the other, of many at once.
const ALONE_ROWS: [&str; 2] = ["from start to ready", "memory of the idle program"];
const TURN_ROWS: [&str; 4] = [
    "first delta of a turn",
    "first delta of a new session, from asking for the session",
    "processor time of a turn of 10 deltas",
    "bytes written to disk for such a turn",
];
const MANY_ROWS: [&str; 4] = ["wall", "processor time", "peak memory", "memory that each of them adds"];

/// A program that keeps sessions going.
trait BenchPeer: Sized {
    /// Starts it, and returns after its first answer.
    async fn start(site: &PeerEnvironment) -> Result<Self>;

    /// Its processes, without their children.
    fn processes(&self) -> Vec<u32>;

    /// Makes new sessions, and returns their names.
    async fn open(&mut self, site: &PeerEnvironment, count: usize) -> Result<Vec<String>>;

    /// Has each of these sessions answer at once, and fails unless every answer is whole.
    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<LoadOutcome>;

    /// Ends it.
    async fn stop(self) -> Result<()>;
}

/// The number of starts, turns, sessions and deltas to measure.
#[derive(Clone, Copy)]
struct PeerCounts {
    starts: usize,
    turns: usize,
    sessions: usize,
    deltas: usize,
}

/// The cells of one program, one for each row.
struct PeerColumn {
    title: String,
    cells: Vec<String>,
}

/// Installs the peers below `place`, measures them, and returns a table in Markdown.
pub async fn table(bench: &BenchSetup, place: &Path) -> Result<String> {
    let counts = PeerCounts {
        starts: bench.count(5, 1),
        turns: bench.count(30, 3),
        sessions: bench.count(50, 3),
        deltas: bench.count(100, 10),
    };
    let workspace = bench.directory().join("peers-workspace");
    std::fs::create_dir(&workspace)?;
    // Without a repository of its own, peers would treat the repository around it as their project.
    git(&workspace, &["init", "--quiet"])?;
    let site = |programs: &Path| -> Result<PeerEnvironment> {
        let home = tempfile::Builder::new().prefix("home-").tempdir_in(bench.directory())?;
        let (programs, workspace) = (programs.to_owned(), workspace.clone());
        Ok(PeerEnvironment { programs, home, workspace, mock: bench.mock_address() })
    };
    let mut columns = vec![bare(bench, counts).await?];
    let own = site(bench.binary())?;
    columns.push(PeerColumn { title: "Ostler".to_owned(), cells: cells::<Ostler>(&own, counts).await });
    for (name, packages) in
        [("codex", codex::PACKAGES), ("opencode", opencode::PACKAGES), ("pi", pi::PACKAGES)]
    {
        eprintln!("{name} …");
        let title = format!("{name} {}", packages.first().map_or("", |package: &Package| package.version));
        let cells = match install::installed(place, name, packages) {
            Ok(programs) => {
                let site = site(&programs)?;
                match name {
                    "codex" => cells::<Codex>(&site, counts).await,
                    "opencode" => cells::<Opencode>(&site, counts).await,
                    _ => cells::<Pi>(&site, counts).await,
                }
            }
            Err(error) => vec![not_measured(&error); ALONE_ROWS.len() + TURN_ROWS.len() + MANY_ROWS.len()],
        };
        columns.push(PeerColumn { title, cells });
    }
    Ok(markdown(&columns, counts))
}

/// The column of a client that asks the model server directly.
async fn bare(bench: &BenchSetup, counts: PeerCounts) -> Result<PeerColumn> {
    let mut firsts = Samples::default();
    for _ in 0..counts.turns {
        firsts.extend(load::bare(bench.mock_address(), 1, short_plan()).await?.firsts);
    }
    let wall = load::bare(bench.mock_address(), counts.sessions, long_plan(counts)).await?.wall;
    let mut cells = vec!["–".to_owned(); ALONE_ROWS.len() + TURN_ROWS.len() + MANY_ROWS.len()];
    cells[ALONE_ROWS.len()] = millis(firsts.median());
    cells[ALONE_ROWS.len() + TURN_ROWS.len()] = seconds(wall);
    Ok(PeerColumn { title: "bare client".to_owned(), cells })
}

/// Measures one program. If a group of rows fails, its cells hold the reason.
async fn cells<P: BenchPeer>(site: &PeerEnvironment, counts: PeerCounts) -> Vec<String> {
    let mut cells = Vec::new();
    cells.extend(cells_or_reason(
        timeout(LIMIT, measure_alone::<P>(site, counts)).await.context("it took too long"),
    ));
    cells.extend(cells_or_reason(timeout(LIMIT, turns::<P>(site, counts)).await.context("it took too long")));
    cells.extend(cells_or_reason(
        timeout(LIMIT, measure_many::<P>(site, counts)).await.context("it took too long"),
    ));
    cells
}

fn cells_or_reason<const ROWS: usize>(measured: Result<Result<[String; ROWS]>>) -> [String; ROWS] {
    measured.flatten().unwrap_or_else(|error| std::array::from_fn(|_| not_measured(&error)))
}

fn not_measured(error: &anyhow::Error) -> String {
    let reason: String =
        format!("{error:#}").replace('|', "/").split_whitespace().collect::<Vec<_>>().join(" ");
    format!("not measured: {}", reason.chars().take(160).collect::<String>())
}

async fn measure_alone<P: BenchPeer>(
    site: &PeerEnvironment,
    counts: PeerCounts,
) -> Result<[String; ALONE_ROWS.len()]> {
    // The first start creates databases and caches; it is not counted.
    P::start(site).await?.stop().await?;
    let (mut starts, mut idle) = (Samples::default(), 0);
    for _ in 0..counts.starts {
        let begun = Instant::now();
        let peer = P::start(site).await?;
        starts.push(begun.elapsed());
        tokio::time::sleep(IDLE_TIME).await;
        idle = ProcessTreeUsage::measure(&peer.processes())?.resident;
        peer.stop().await?;
    }
    Ok([millis(starts.median()), megabytes(idle)])
}

async fn turns<P: BenchPeer>(
    site: &PeerEnvironment,
    counts: PeerCounts,
) -> Result<[String; TURN_ROWS.len()]> {
    let mut peer = P::start(site).await?;
    let sessions = peer.open(site, 1).await?;
    // The first turn sets up connections and caches; it is not counted.
    peer.stream(&sessions, short_plan()).await?;
    let before = ProcessTreeUsage::measure(&peer.processes())?;
    let mut firsts = Samples::default();
    for _ in 0..counts.turns {
        firsts.extend(peer.stream(&sessions, short_plan()).await?.firsts);
    }
    // Work that a program defers belongs to the turn.
    tokio::time::sleep(IDLE_TIME).await;
    let after = ProcessTreeUsage::measure(&peer.processes())?;
    let mut firsts_of_new = Samples::default();
    for _ in 0..counts.starts {
        let begun = Instant::now();
        let sessions = peer.open(site, 1).await?;
        let made = begun.elapsed();
        firsts_of_new
            .extend(peer.stream(&sessions, short_plan()).await?.firsts.into_iter().map(|first| made + first));
    }
    peer.stop().await?;
    let turns = u32::try_from(counts.turns)?;
    let written = after.written.saturating_sub(before.written) / u64::from(turns);
    Ok([
        millis(firsts.median()),
        millis(firsts_of_new.median()),
        millis(after.processor.saturating_sub(before.processor) / turns),
        kilobytes(written),
    ])
}

async fn measure_many<P: BenchPeer>(
    site: &PeerEnvironment,
    counts: PeerCounts,
) -> Result<[String; MANY_ROWS.len()]> {
    let mut peer = P::start(site).await?;
    tokio::time::sleep(IDLE_TIME).await;
    let idle = ProcessTreeUsage::measure(&peer.processes())?;
    // As above, the first turn is not counted.
    let first = peer.open(site, 1).await?;
    peer.stream(&first, short_plan()).await?;
    let sessions = peer.open(site, counts.sessions).await?;
    let before = ProcessTreeUsage::measure(&peer.processes())?;
    let outcome = peer.stream(&sessions, long_plan(counts)).await?;
    let after = ProcessTreeUsage::measure(&peer.processes())?;
    peer.stop().await?;
    let each = after.peak.saturating_sub(idle.resident) / counts.sessions as u64;
    Ok([
        seconds(outcome.wall),
        seconds(after.processor.saturating_sub(before.processor)),
        megabytes(after.peak),
        megabytes(each),
    ])
}

fn short_plan() -> AnswerPlan {
    AnswerPlan::new(10, 2)
}

fn long_plan(counts: PeerCounts) -> AnswerPlan {
    AnswerPlan::new(counts.deltas, 20)
}

fn markdown(columns: &[PeerColumn], counts: PeerCounts) -> String {
    let titles: Vec<&str> = columns.iter().map(|column| column.title.as_str()).collect();
    let mut table = format!("| | {} |\n|{}\n", titles.join(" | "), " --- |".repeat(titles.len() + 1));
    let PeerCounts { sessions, deltas, .. } = counts;
    let many = MANY_ROWS.map(|row| format!("{sessions} sessions at once, {deltas} deltas each: {row}"));
    let names = ALONE_ROWS.iter().chain(&TURN_ROWS).map(|row| (*row).to_owned()).chain(many);
    for (row, name) in names.enumerate() {
        let cells: Vec<&str> = columns.iter().map(|column| column.cells[row].as_str()).collect();
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{ALONE_ROWS, MANY_ROWS, PeerColumn, PeerCounts, TURN_ROWS, markdown, not_measured};

    #[test]
    fn a_peer_that_fails_has_the_reason_in_its_rows() {
        let reason = not_measured(&anyhow::anyhow!("npm: a | b\n{}", "x".repeat(300)));
        assert!(reason.starts_with("not measured: npm: a / b xxx") && reason.len() < 200, "{reason}");
        let rows = ALONE_ROWS.len() + TURN_ROWS.len() + MANY_ROWS.len();
        let columns = [
            PeerColumn { title: "ours".to_owned(), cells: vec!["1 ms".to_owned(); rows] },
            PeerColumn { title: "theirs".to_owned(), cells: vec![reason.clone(); rows] },
        ];
        let table = markdown(&columns, PeerCounts { starts: 1, turns: 1, sessions: 50, deltas: 1 });
        assert!(table.starts_with("| | ours | theirs |\n| --- | --- | --- |\n"), "{table}");
        assert_eq!(table.lines().count(), rows + 2);
        assert!(table.ends_with(&format!("adds | 1 ms | {reason} |\n")), "{table}");
    }
}
