//! The commands, one file each, and the way from arguments to them.

mod acp;
mod agents;
mod approval_prompt;
mod approve;
mod attach;
mod branch;
mod config;
mod confirm;
mod daemon_control;
mod doctor;
mod event_output;
mod last_known_records;
mod logs;
mod manual;
mod mcp;
mod models;
mod open;
mod plan;
mod projects;
mod reconnect;
mod rpc;
mod run;
mod self_check;
mod serve;
mod service;
mod sessions;
mod stdio_bridge;
mod transfer;
mod trust;
mod tui;
mod turn_watcher;
mod undo;
mod upgrade;
mod usage;
mod watch;

use std::io::ErrorKind;
use std::path::PathBuf;

use ostler_client::{Client, ClientError};
use ostler_config::{ConfigFlag, Environment, LoadedConfig};
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, CliCommand, ConfigCommand, GlobalArgs, SchemaWire, TuiArgs};
use crate::config::{load, process_environment};
use crate::exit::CliExit;
use crate::output::{LogOutput, OutputManner, OutputStream};
use crate::paths;
use crate::resolve::SessionFinder;

/// What every command starts from.
pub(crate) struct CommandContext {
    pub(crate) data_dir: PathBuf,
    pub(crate) loaded: LoadedConfig,
    pub(crate) environment: Environment,
    pub(crate) output_manner: OutputManner,
}

impl CommandContext {
    /// Finds sessions by what was typed for them.
    fn finder<'a>(&'a self, client: &'a Client) -> SessionFinder<'a> {
        SessionFinder { client, data_dir: &self.data_dir, is_quiet: self.output_manner.quiet }
    }
}

/// Prints a document.
fn print(text: &str) -> anyhow::Result<CliExit> {
    put!("{text}");
    Ok(CliExit::Success)
}

/// Does what the arguments say.
pub async fn dispatch(cli: Cli) -> CliExit {
    let environment = process_environment();
    let manner = OutputManner { quiet: cli.global.quiet, plain: cli.global.plain };
    start_logging(&cli, manner, &environment);
    let command = cli.command.unwrap_or_else(|| CliCommand::Tui(TuiArgs::default()));
    let done = match print_static(&command) {
        Some(done) => done,
        None => match command_context(&cli.global, manner, environment, &command) {
            Ok(setting) if reads_sessions(&command) && is_missing_by_name(&setting, &cli.global) => {
                report!("error: there is no data directory {}", setting.data_dir.display());
                return CliExit::Usage;
            }
            Ok(setting) => run_command(setting, cli.global, command).await,
            Err(error) => {
                report!("error: {error:#}");
                return CliExit::Usage;
            }
        },
    };
    done.unwrap_or_else(|error| {
        // Whoever read our output has gone, and knows it.
        if error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            return CliExit::BrokenPipe;
        }
        report!("error: {error:#}");
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Unreachable { .. }) => CliExit::Unreachable,
            Some(ClientError::Refused { .. } | ClientError::Protocol(_)) | None => CliExit::Failure,
        }
    })
}

/// Prints what follows from the program alone, without a configuration; nothing for the other commands.
fn print_static(command: &CliCommand) -> Option<anyhow::Result<CliExit>> {
    Some(match command {
        CliCommand::Completions { shell } => manual::completions(*shell),
        CliCommand::Man { out } => manual::pages(out.as_deref()),
        CliCommand::Openapi => print(&format!("{:#}\n", ostler_http_api::openapi())),
        CliCommand::Schema { wire: SchemaWire::Gateway } => {
            print(&format!("{:#}\n", ostler_doors::gateway::schema()))
        }
        CliCommand::Schema { wire: SchemaWire::Jsonl } => {
            print(&format!("{:#}\n", ostler_doors::jsonl::schema()))
        }
        _ => return None,
    })
}

/// Whether a command only makes sense where there are sessions.
fn reads_sessions(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Sessions { .. }
            | CliCommand::Attach(_)
            | CliCommand::Logs(_)
            | CliCommand::Approve(_)
            | CliCommand::Cancel { .. }
            | CliCommand::Undo(_)
            | CliCommand::Fork(_)
            | CliCommand::Compact { .. }
            | CliCommand::Context { .. }
            | CliCommand::Note { .. }
            | CliCommand::Export(_)
    )
}

/// Whether somebody named a data directory that does not exist. The usual one is made when it is missing, but a
/// misspelt one must not be.
fn is_missing_by_name(setting: &CommandContext, global: &GlobalArgs) -> bool {
    let is_named = global.data_dir.is_some() || setting.environment.get("OSTLER_DATA_DIR").is_some();
    is_named && !setting.data_dir.exists()
}

fn works_without_config(command: &CliCommand) -> bool {
    matches!(
        command,
        CliCommand::Stop(_) | CliCommand::Status(_) | CliCommand::Config { command: ConfigCommand::Edit }
    )
}

fn flags(command: &CliCommand) -> Vec<ConfigFlag> {
    match command {
        CliCommand::Serve(serve) => serve.flags(),
        _ => Vec::new(),
    }
}

async fn run_command(
    setting: CommandContext,
    global: GlobalArgs,
    command: CliCommand,
) -> anyhow::Result<CliExit> {
    match command {
        CliCommand::Tui(args) => Box::pin(tui::tui(&setting, &global, args)).await,
        CliCommand::Serve(args) => serve::serve(setting, &args).await,
        CliCommand::Stop(args) => Box::pin(daemon_control::stop(&setting, &args)).await,
        CliCommand::Restart(args) => Box::pin(daemon_control::restart(&setting, &global, &args)).await,
        CliCommand::Status(args) => Box::pin(daemon_control::status(&setting, &args)).await,
        CliCommand::Run(run) => Box::pin(run::run(setting, run, global.verbose > 0)).await,
        CliCommand::Acp(args) => Box::pin(acp::acp(setting, args)).await,
        CliCommand::Rpc(args) => Box::pin(rpc::rpc(setting, args)).await,
        CliCommand::Sessions { command } => sessions::sessions(setting, command.unwrap_or_default()).await,
        CliCommand::Agents { command } => {
            Box::pin(agents::agents(setting, command.unwrap_or_default())).await
        }
        CliCommand::Projects { command } => projects::projects(setting, command.unwrap_or_default()).await,
        CliCommand::Open(args) => open::open(setting, args).await,
        CliCommand::Attach(attach) => attach::attach(setting, attach).await,
        CliCommand::Logs(logs) => logs::logs(setting, logs).await,
        CliCommand::Watch(watch) => Box::pin(watch::watch(setting, watch)).await,
        CliCommand::Approve(approve) => approve::approve(setting, approve).await,
        CliCommand::Cancel { id } => sessions::cancel(setting, id).await,
        CliCommand::Undo(args) => undo::undo(setting, args).await,
        CliCommand::Fork(args) => branch::fork(setting, args).await,
        CliCommand::Compact { id } => Box::pin(branch::compact(setting, id)).await,
        CliCommand::Context { id, json } => branch::context(setting, id, json).await,
        CliCommand::Note { id, text } => branch::note(setting, id, text).await,
        CliCommand::Export(args) => transfer::export(setting, args).await,
        CliCommand::Import(args) => transfer::import(setting, args).await,
        CliCommand::Trust(args) => trust::trust(setting, args).await,
        CliCommand::Models(args) => models::models(setting, args).await,
        CliCommand::Upgrade(args) => upgrade::upgrade(&args).await,
        CliCommand::Usage(args) => usage::usage(setting, &args).await,
        CliCommand::Mcp { command } => mcp::mcp(setting, &global, command.unwrap_or_default()).await,
        CliCommand::Doctor(doctor) => doctor::doctor(setting, doctor).await,
        CliCommand::SelfCheck(args) => Box::pin(self_check::self_check(setting, args)).await,
        CliCommand::Service { command } => service::service(setting, &global, command).await,
        CliCommand::Config { command } => Box::pin(config::config(&setting, &global, command)).await,
        CliCommand::Completions { .. }
        | CliCommand::Man { .. }
        | CliCommand::Openapi
        | CliCommand::Schema { .. } => Ok(CliExit::Success),
    }
}

fn command_context(
    global: &GlobalArgs,
    manner: OutputManner,
    environment: Environment,
    command: &CliCommand,
) -> anyhow::Result<CommandContext> {
    let data_dir = paths::data_dir(global.data_dir.as_deref(), &environment)?;
    let file = paths::config_file(global.config.as_deref(), &environment);
    let loaded = match load(file.as_ref(), &environment, &flags(command)) {
        // A daemon can be stopped, and the file repaired, whatever the file says.
        Err(error) if works_without_config(command) => {
            report!("warning: {error}");
            load(None, &Environment::from_pairs(&[]), &[])?
        }
        loaded => loaded?,
    };
    for warning in loaded.warnings.iter().filter(|_| !manner.quiet) {
        report!("warning: {warning}");
    }
    Ok(CommandContext { data_dir, loaded, environment, output_manner: manner })
}

/// The daemon's own log goes to stderr; `OSTLER_LOG` chooses what, `-v` more of it.
fn start_logging(cli: &Cli, manner: OutputManner, environment: &Environment) {
    let asked = environment.get("OSTLER_LOG").and_then(|filter| filter.to_str());
    let filter = match (asked, cli.global.verbose) {
        (Some(filter), _) => EnvFilter::new(filter),
        (None, 0) if manner.quiet => EnvFilter::new("error"),
        (None, 0) => EnvFilter::new("warn"),
        (None, 1) => EnvFilter::new("info"),
        (None, _) => EnvFilter::new("debug,hyper=info,reqwest=info"),
    };
    let color = manner.color(OutputStream::Stderr.is_terminal(), environment);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(color);
    _ = log.with_writer(|| LogOutput).try_init();
}
