//! The commands, one file each, and the way from arguments to them.

mod acp;
mod agents;
mod approve;
mod attach;
mod branch;
mod doctor;
mod follow;
mod models;
mod open;
mod plan;
mod projects;
mod pump;
mod rpc;
mod run;
mod serve;
mod sessions;
mod transfer;
mod trust;
mod tui;
mod turn;
mod undo;
mod usage;

use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

use clap::CommandFactory;
use ostler_client::ClientError;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command, Config as ConfigCommand, Global, Tui, Wire};
use crate::config::{Environment, Flag, Inputs, Loaded, load};
use crate::exit::Exit;
use crate::paths;

/// What every command starts from.
pub(crate) struct Setting {
    pub(crate) data_dir: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) environment: Environment,
}

/// Prints a document. A reader that has seen enough of it is no failure.
fn print(text: &str) -> Exit {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Exit::Failure,
        Ok(()) | Err(_) => Exit::Success,
    }
}

/// Does what the arguments say.
pub async fn dispatch(cli: Cli) -> Exit {
    let environment = Environment::of_process();
    start_logging(&cli, &environment);
    let command = cli.command.unwrap_or_else(|| Command::Tui(Tui::default()));
    if let Command::Completions { shell } = &command {
        clap_complete::generate(*shell, &mut Cli::command(), "ostler", &mut std::io::stdout());
        return Exit::Success;
    }
    if let Command::Openapi = &command {
        return print(&format!("{:#}\n", ostler_doors::http::openapi()));
    }
    if let Command::Schema { wire } = &command {
        let schema = match wire {
            Wire::Gateway => ostler_doors::gateway::schema(),
            Wire::Jsonl => ostler_doors::jsonl::schema(),
        };
        return print(&format!("{schema:#}\n"));
    }
    let flags = match &command {
        Command::Serve(serve) => serve.flags(),
        _ => Vec::new(),
    };
    let setting = match setting(&cli.global, environment, &flags) {
        Ok(setting) => setting,
        Err(error) => {
            eprintln!("error: {error:#}");
            return Exit::Usage;
        }
    };
    let done = match command {
        Command::Tui(args) => Box::pin(tui::tui(&setting, &cli.global, args)).await,
        Command::Serve(args) => serve::serve(setting, &args).await,
        Command::Run(run) => run::run(setting, run, cli.global.verbose > 0).await,
        Command::Acp(args) => Box::pin(acp::acp(setting, args)).await,
        Command::Rpc(args) => Box::pin(rpc::rpc(setting, args)).await,
        Command::Sessions { command } => sessions::sessions(setting, command).await,
        Command::Agents { command } => Box::pin(agents::agents(setting, command)).await,
        Command::Projects { command } => projects::projects(setting, command).await,
        Command::Open(args) => open::open(setting, args).await,
        Command::Attach(attach) => attach::attach(setting, attach).await,
        Command::Approve(approve) => approve::approve(setting, approve).await,
        Command::Cancel { id } => sessions::cancel(setting, id).await,
        Command::Undo(args) => undo::undo(setting, args).await,
        Command::Fork(args) => branch::fork(setting, args).await,
        Command::Compact { id } => branch::compact(setting, id).await,
        Command::Context { id, json } => branch::context(setting, id, json).await,
        Command::Note { id, text } => branch::note(setting, id, text).await,
        Command::Export(args) => transfer::export(setting, args).await,
        Command::Import(args) => transfer::import(setting, args).await,
        Command::Trust(args) => trust::trust(setting, args).await,
        Command::Models(args) => models::models(setting, args).await,
        Command::Usage(args) => usage::usage(setting, &args).await,
        Command::Doctor(doctor) => doctor::doctor(setting, doctor).await,
        Command::Config { command: ConfigCommand::Show { json } } => show_config(&setting, json),
        Command::Completions { .. } | Command::Openapi | Command::Schema { .. } => Ok(Exit::Success),
    };
    done.unwrap_or_else(|error| {
        // Whoever read our output has gone, and knows it.
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return Exit::Failure;
        }
        eprintln!("error: {error:#}");
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Unreachable { .. }) => Exit::Unreachable,
            Some(ClientError::Refused { .. } | ClientError::Protocol(_)) | None => Exit::Failure,
        }
    })
}

fn setting(global: &Global, environment: Environment, flags: &[Flag]) -> anyhow::Result<Setting> {
    let data_dir = paths::data_dir(global.data_dir.as_deref(), &environment)?;
    let file = paths::config_file(global.config.as_deref(), &environment);
    let loaded = load(Inputs { file: file.as_ref(), environment: &environment, flags })?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(Setting { data_dir, loaded, environment })
}

/// The daemon's own log goes to stderr; `OSTLER_LOG` chooses what, `-v` more of it.
fn start_logging(cli: &Cli, environment: &Environment) {
    let asked = environment.get("OSTLER_LOG").and_then(|filter| filter.to_str());
    let filter = match (asked, cli.global.verbose) {
        (Some(filter), _) => EnvFilter::new(filter),
        (None, 0) => EnvFilter::new("warn"),
        (None, 1) => EnvFilter::new("info"),
        (None, _) => EnvFilter::new("debug,hyper=info,reqwest=info"),
    };
    _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

fn show_config(setting: &Setting, json: bool) -> anyhow::Result<Exit> {
    if json {
        println!("{}", serde_json::to_string_pretty(&setting.loaded.entries(&setting.environment))?);
    } else {
        print!("{}", setting.loaded.table(&setting.environment));
    }
    Ok(Exit::Success)
}
