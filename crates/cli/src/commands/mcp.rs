//! `ostler mcp`: the tool servers in the user's own configuration file. The daemon starts them; this only writes down
//! which there are, and asks it how they are.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ostler_client::ToolServer;
use ostler_config::{McpSection, check_server};
use ostler_types::{in_one_line, shell_word};
use serde_json::json;

use super::CommandContext;
use crate::args::{GlobalArgs, McpAdd, McpCommand};
use crate::config::edit;
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::paths::config_file;

/// Characters of what somebody else has named or said.
const WIDTH: usize = 120;

pub(super) async fn mcp(
    setting: CommandContext,
    global: &GlobalArgs,
    command: McpCommand,
) -> anyhow::Result<CliExit> {
    match command {
        McpCommand::Add(add) => change(&setting, global, ServerChange::Add(add)).await,
        McpCommand::Rm { name } => change(&setting, global, ServerChange::Remove(name)).await,
        McpCommand::List { check, json } => list(&setting, check, json).await,
    }
}

enum ServerChange {
    Add(McpAdd),
    Remove(String),
}

async fn change(
    setting: &CommandContext,
    global: &GlobalArgs,
    change: ServerChange,
) -> anyhow::Result<CliExit> {
    let path = path(setting, global)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let (changed, done) = match change {
        ServerChange::Add(add) => {
            let (name, force) = (add.name.clone(), add.force);
            if setting.loaded.config.mcp.contains_key(&name) && !force {
                anyhow::bail!(
                    "a server `{name}` exists already; replace it with --force, or choose another name"
                );
            }
            let server = server(add);
            // What stands where a name should may be the secret itself, so it is not repeated.
            if let Err((_, why)) = check_server(&name, &server) {
                report!("error: the server cannot be added: {why}");
                return Ok(CliExit::Usage);
            }
            warn_of_variables(setting, &server);
            (edit::with_server(&path, &text, &name, &server)?, format!("added server `{name}` to"))
        }
        ServerChange::Remove(name) => match edit::without_server(&path, &text, &name)? {
            Some(changed) => (changed, format!("removed server `{}` from", in_one_line(&name, WIDTH))),
            None => anyhow::bail!(
                "{} has no server `{}`; `ostler mcp list` lists them",
                path.display(),
                in_one_line(&name, WIDTH)
            ),
        },
    };
    edit::write(&path, &changed)?;
    say!("{done} {}", path.display());
    if find_running(&setting.data_dir).await.is_ok() && !setting.output_manner.quiet {
        report!(
            "note: the running daemon has already read this file; apply the change with `ostler restart`"
        );
    }
    Ok(CliExit::Success)
}

/// The file to change: the one that is read, or would be.
fn path(setting: &CommandContext, global: &GlobalArgs) -> anyhow::Result<PathBuf> {
    let file = config_file(global.config.as_deref(), &setting.environment);
    Ok(file.context("no home directory; name a file with --config")?.path)
}

fn server(add: McpAdd) -> McpSection {
    let McpAdd { command, url, env, bearer_env, kind, timeout, name: _, force: _ } = add;
    McpSection {
        command,
        pass_env: env,
        url,
        bearer_token_env: bearer_env,
        kind,
        timeout_seconds: timeout,
        ..McpSection::default()
    }
}

/// A variable that is not set here may be set where the daemon runs, so this is no error.
fn warn_of_variables(setting: &CommandContext, server: &McpSection) {
    for name in server.pass_env.iter().chain(&server.bearer_token_env) {
        if setting.environment.get(name).is_none() && !setting.output_manner.quiet {
            report!("note: {name} is not set here; the daemon needs it in its own environment");
        }
    }
}

async fn list(setting: &CommandContext, check: bool, json: bool) -> anyhow::Result<CliExit> {
    let client = find_running(&setting.data_dir).await;
    if check && client.is_err() {
        client
            .as_ref()
            .map_err(Clone::clone)
            .context("servers are started by a daemon, and none is running; start one with `ostler serve`")?;
    }
    let here = std::env::current_dir().ok().filter(|_| check);
    let here = here.as_deref().and_then(Path::to_str);
    let states = match &client {
        Ok(client) => Some(client.tool_servers(here).await?),
        Err(_) => None,
    };
    let servers = &setting.loaded.config.mcp;
    if json {
        let of = |(name, server): (&String, &McpSection)| {
            let state = best_state(states.as_deref(), name);
            json!({"name": name, "runs": command_or_address(server), "state": state.map(|state| &state.state),
                "tools": state.map(|state| &state.tools), "error": state.and_then(|state| state.error.as_ref())})
        };
        crate::output::json(&servers.iter().map(of).collect::<Vec<_>>())?;
        return Ok(CliExit::Success);
    }
    if servers.is_empty() {
        say!("No MCP servers; add one with `ostler mcp add NAME -- COMMAND`");
    }
    let mut all_well = true;
    for (name, server) in servers {
        let state = best_state(states.as_deref(), name);
        all_well &= !check || state.is_some_and(|state| state.state == "ready");
        say!(
            "{name:<16}  {:<28}  {}",
            state_text(states.is_some(), state),
            in_one_line(&command_or_address(server), WIDTH)
        );
        if let Some(error) = state.and_then(|state| state.error.as_ref()) {
            say!("    {}", in_one_line(error, WIDTH * 2));
        }
    }
    Ok(if all_well { CliExit::Success } else { CliExit::Failure })
}

/// How a server is: the best of what it is in several workspaces.
fn best_state<'a>(states: Option<&'a [ToolServer]>, name: &str) -> Option<&'a ToolServer> {
    let of_name = states?.iter().filter(|state| state.name == name);
    of_name.max_by_key(|state| match state.state.as_str() {
        "ready" => 3,
        "starting" | "restarting" => 2,
        "unavailable" => 1,
        _ => 0,
    })
}

fn state_text(is_daemon: bool, state: Option<&ToolServer>) -> String {
    match state {
        Some(state) if state.state == "ready" => format!("ready, {} tools", state.tools.len()),
        Some(state) if state.state == "stopped" => "not needed yet".to_owned(),
        Some(state) => in_one_line(&state.state, WIDTH),
        None if is_daemon => "not loaded yet".to_owned(),
        None => "no daemon running".to_owned(),
    }
}

/// What is run or asked. People put secrets in arguments and addresses, so little of them is shown.
fn command_or_address(server: &McpSection) -> String {
    match &server.url {
        Some(url) => url.split(['?', '#']).next().unwrap_or_default().to_owned(),
        None => match &server.command[..] {
            [] => String::new(),
            [program] => shell_word(program),
            [program, ..] => format!("{} …", shell_word(program)),
        },
    }
}
