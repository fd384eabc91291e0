//! The commands, one file each, and the way from arguments to them.

mod acp;
mod agents;
mod approve;
mod attach;
mod branch;
mod doctor;
mod follow;
mod known_ends;
mod logs;
mod manual;
mod mcp;
mod models;
mod open;
mod patience;
mod plan;
mod projects;
mod pump;
mod rpc;
mod run;
mod self_check;
mod serve;
mod service;
mod sessions;
mod transfer;
mod trust;
mod tui;
mod turn;
mod undo;
mod usage;
mod watch;

use std::io::ErrorKind;
use std::path::PathBuf;

use ostler_client::ClientError;
use ostler_config::{Environment, Flag, Loaded};
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, Config as ConfigCommand, Global, Tui, Wire};
use crate::config::{load, process_environment};
use crate::exit::Exit;
use crate::output::{LogOutput, Manner, Place};
use crate::paths;

/// What every command starts from.
pub(crate) struct Setting {
    pub(crate) data_dir: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) environment: Environment,
    pub(crate) manner: Manner,
}

/// Prints a document.
fn print(text: &str) -> anyhow::Result<Exit> {
    put!("{text}");
    Ok(Exit::Success)
}

/// Does what the arguments say.
pub async fn dispatch(cli: Cli) -> Exit {
    let environment = process_environment();
    let manner = Manner { quiet: cli.global.quiet, plain: cli.global.plain };
    start_logging(&cli, manner, &environment);
    let command = cli.command.unwrap_or_else(|| Command::Tui(Tui::default()));
    let done = match printed(&command) {
        Some(done) => done,
        None => match setting(&cli.global, manner, environment, &flags(&command)) {
            Ok(setting) => carry_out(setting, cli.global, command).await,
            Err(error) => {
                aside!("error: {error:#}");
                return Exit::Usage;
            }
        },
    };
    done.unwrap_or_else(|error| {
        // Whoever read our output has gone, and knows it.
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return Exit::NobodyReads;
        }
        aside!("error: {error:#}");
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Unreachable { .. }) => Exit::Unreachable,
            Some(ClientError::Refused { .. } | ClientError::Protocol(_)) | None => Exit::Failure,
        }
    })
}

/// Prints what follows from the program alone, without a configuration; nothing for the other commands.
fn printed(command: &Command) -> Option<anyhow::Result<Exit>> {
    Some(match command {
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { out } => manual::pages(out.as_deref()),
        Command::Openapi => print(&format!("{:#}\n", ostler_http_api::openapi())),
        Command::Schema { wire: Wire::Gateway } => print(&format!("{:#}\n", ostler_doors::gateway::schema())),
        Command::Schema { wire: Wire::Jsonl } => print(&format!("{:#}\n", ostler_doors::jsonl::schema())),
        _ => return None,
    })
}

fn flags(command: &Command) -> Vec<Flag> {
    match command {
        Command::Serve(serve) => serve.flags(),
        _ => Vec::new(),
    }
}

async fn carry_out(setting: Setting, global: Global, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Tui(args) => Box::pin(tui::tui(&setting, &global, args)).await,
        Command::Serve(args) => serve::serve(setting, &args).await,
        Command::Run(run) => Box::pin(run::run(setting, run, global.verbose > 0)).await,
        Command::Acp(args) => Box::pin(acp::acp(setting, args)).await,
        Command::Rpc(args) => Box::pin(rpc::rpc(setting, args)).await,
        Command::Sessions { command } => sessions::sessions(setting, command.unwrap_or_default()).await,
        Command::Agents { command } => Box::pin(agents::agents(setting, command.unwrap_or_default())).await,
        Command::Projects { command } => projects::projects(setting, command.unwrap_or_default()).await,
        Command::Open(args) => open::open(setting, args).await,
        Command::Attach(attach) => attach::attach(setting, attach).await,
        Command::Logs(logs) => logs::logs(setting, logs).await,
        Command::Watch(watch) => Box::pin(watch::watch(setting, watch)).await,
        Command::Approve(approve) => approve::approve(setting, approve).await,
        Command::Cancel { id } => sessions::cancel(setting, id).await,
        Command::Undo(args) => undo::undo(setting, args).await,
        Command::Fork(args) => branch::fork(setting, args).await,
        Command::Compact { id } => Box::pin(branch::compact(setting, id)).await,
        Command::Context { id, json } => branch::context(setting, id, json).await,
        Command::Note { id, text } => branch::note(setting, id, text).await,
        Command::Export(args) => transfer::export(setting, args).await,
        Command::Import(args) => transfer::import(setting, args).await,
        Command::Trust(args) => trust::trust(setting, args).await,
        Command::Models(args) => models::models(setting, args).await,
        Command::Usage(args) => usage::usage(setting, &args).await,
        Command::Mcp { command } => mcp::mcp(setting, &global, command.unwrap_or_default()).await,
        Command::Doctor(doctor) => doctor::doctor(setting, doctor).await,
        Command::SelfCheck(args) => Box::pin(self_check::self_check(setting, args)).await,
        Command::Service { command } => service::service(setting, &global, command).await,
        Command::Config { command: ConfigCommand::Show { json } } => show_config(&setting, json),
        Command::Completions { .. } | Command::Man { .. } | Command::Openapi | Command::Schema { .. } => {
            Ok(Exit::Success)
        }
    }
}

fn setting(
    global: &Global,
    manner: Manner,
    environment: Environment,
    flags: &[Flag],
) -> anyhow::Result<Setting> {
    let data_dir = paths::data_dir(global.data_dir.as_deref(), &environment)?;
    let file = paths::config_file(global.config.as_deref(), &environment);
    let loaded = load(file.as_ref(), &environment, flags)?;
    for warning in loaded.warnings.iter().filter(|_| !manner.quiet) {
        aside!("warning: {warning}");
    }
    Ok(Setting { data_dir, loaded, environment, manner })
}

/// The daemon's own log goes to stderr; `OSTLER_LOG` chooses what, `-v` more of it.
fn start_logging(cli: &Cli, manner: Manner, environment: &Environment) {
    let asked = environment.get("OSTLER_LOG").and_then(|filter| filter.to_str());
    let filter = match (asked, cli.global.verbose) {
        (Some(filter), _) => EnvFilter::new(filter),
        (None, 0) if manner.quiet => EnvFilter::new("error"),
        (None, 0) => EnvFilter::new("warn"),
        (None, 1) => EnvFilter::new("info"),
        (None, _) => EnvFilter::new("debug,hyper=info,reqwest=info"),
    };
    let color = manner.color(Place::Stderr.is_terminal(), environment);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(color);
    _ = log.with_writer(|| LogOutput).try_init();
}

fn show_config(setting: &Setting, json: bool) -> anyhow::Result<Exit> {
    if json {
        crate::output::json(&setting.loaded.entries(&setting.environment))?;
    } else {
        put!("{}", setting.loaded.table(&setting.environment));
    }
    Ok(Exit::Success)
}
