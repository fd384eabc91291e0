//! `ostler-bench`: measures a released daemon and prints one table.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use ostler_bench::agent;
use ostler_bench::clock;
use ostler_bench::figures::{BenchSetup, FIGURES, WITHOUT_DAEMON};
use ostler_bench::mock::MockModelServer;
use ostler_bench::number::{self, BenchNumber};
use ostler_bench::peers;
use ostler_bench::process;
use ostler_bench::report::{self, FigureRow};
use ostler_bench::terminal;
use ostler_bench::tls_server;

const HELP: &str = "\
Measures a released daemon against a mock model server, and prints a table.

  ostler-bench [--binary FILE] [--only FIGURE,…] [--daemon] [--quick] [--write] [--json FILE] [--fixtures DIR]
  ostler-bench --peers [--binary FILE] [--quick]
  ostler-bench mock
  ostler-bench ask URL COUNT

  --binary    the daemon [default: target/release/ostler]
  --only      only these figures, separated by commas
  --daemon    leave out figures of code that is part of the bench itself
  --quick     small counts: shows that everything works, and its figures mean nothing
  --write     put the table into bench/README.md
  --json      also write the numbers of the table to this file, for `cargo xtask bench --compare`
  --peers     install other programs of the kind from npm, and print a table of them and the daemon side by side
  --fixtures  keep the data directories here, and use those that are there
  mock        only run the mock model server, until it is killed
  ask         only ask a model server for so many answers at once";

/// Where this crate lies.
const HOME: &str = env!("CARGO_MANIFEST_DIR");

/// What was asked for.
struct Flags {
    binary: PathBuf,
    figures: Vec<String>,
    quick: bool,
    write: bool,
    peers: bool,
    json: Option<PathBuf>,
    fixtures: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("--help" | "-h") => {
            println!("{HELP}");
            Ok(())
        }
        Some("mock") => mock(),
        Some(agent::AGENT_ARGUMENT) => be_agent(&arguments[1..]),
        Some(terminal::TERMINAL_ARGUMENT) => terminal::become_program(&arguments[1..]),
        Some("ask") => ask(&arguments[1..]),
        _ => flags(arguments).and_then(|flags| run(&flags)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Is the agent that the daemon and the bare way to it start.
fn be_agent(arguments: &[String]) -> Result<()> {
    let epoch = arguments.first().and_then(|epoch| epoch.parse().ok());
    clock::follow(epoch.context("the agent is started by the bench itself")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(agent::serve())
}

fn flags(arguments: Vec<String>) -> Result<Flags> {
    let all = || FIGURES.map(str::to_owned).to_vec();
    let target = Path::new(HOME).join("../target");
    let mut flags = Flags {
        binary: target.join("release/ostler"),
        figures: all(),
        quick: false,
        write: false,
        peers: false,
        json: None,
        fixtures: None,
    };
    let mut arguments = arguments.into_iter();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{flag} wants a value"));
        match flag.as_str() {
            "--binary" => flags.binary = value()?.into(),
            "--only" => flags.figures = value()?.split(',').map(str::to_owned).collect(),
            "--fixtures" => flags.fixtures = Some(value()?.into()),
            "--json" => flags.json = Some(value()?.into()),
            "--daemon" => flags.figures.retain(|figure| !WITHOUT_DAEMON.contains(&figure.as_str())),
            "--peers" => flags.peers = true,
            "--quick" => flags.quick = true,
            "--write" => flags.write = true,
            _ => bail!("`{flag}` is not known; --help tells what is"),
        }
    }
    if let Some(unknown) = flags.figures.iter().find(|figure| !FIGURES.contains(&figure.as_str())) {
        bail!("there is no figure `{unknown}`; there are {}", FIGURES.join(", "));
    }
    if flags.peers && (flags.write || flags.json.is_some() || flags.figures.len() < FIGURES.len()) {
        bail!("--peers prints a table of its own: leave out --only, --daemon, --json and --write");
    }
    if flags.write && (flags.quick || flags.figures.len() < FIGURES.len()) {
        bail!("--write is for a whole run: leave out --quick and --only");
    }
    Ok(flags)
}

fn run(flags: &Flags) -> Result<()> {
    // Below the target directory, because the system's place for temporary files is often in memory.
    let place = Path::new(HOME).join("../target");
    std::fs::create_dir_all(&place)?;
    let bench = BenchSetup::new(&flags.binary, &place, flags.fixtures.clone(), flags.quick)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if flags.peers {
        print!("{}", runtime.block_on(peers::table(&bench, &place.join("bench-peers")))?);
        return Ok(());
    }
    let (mut rows, mut failed, load) = (Vec::new(), 0, process::load());
    for figure in &flags.figures {
        eprintln!("{figure} … (load {})", process::load());
        match runtime.block_on(bench.measure(figure)) {
            Ok(measured) => rows.extend(measured),
            Err(error) => {
                failed += 1;
                rows.push(FigureRow::new(figure, "", format!("could not be measured: {error:#}"), false));
            }
        }
    }
    let began =
        format!("\nThe load of the machine (`/proc/loadavg`, one minute) was {load} when the run began.\n");
    let table = report::table(&rows) + &began;
    print!("{table}");
    if let Some(file) = &flags.json {
        let numbers: Vec<BenchNumber> = rows.into_iter().flat_map(|row| row.numbers).collect();
        number::write(file, &load, &numbers)?;
    }
    if failed > 0 {
        bail!("{failed} figures could not be measured");
    }
    if flags.write {
        report::write(&Path::new(HOME).join("README.md"), &table)?;
    }
    Ok(())
}

fn ask(arguments: &[String]) -> Result<()> {
    let [url, count] = arguments else { bail!("`ask` wants an address and a number; --help tells more") };
    let count = count.parse().with_context(|| format!("`{count}` is not a number"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(tls_server::ask(url, count))
}

fn mock() -> Result<()> {
    let mock = MockModelServer::start()?;
    println!("http://{}/v1", mock.address);
    loop {
        std::thread::park();
    }
}
