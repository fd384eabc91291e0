//! `ostler`: the terminal client in the current directory, with a daemon in the background if there is none.

use ostler_process::{Invocation, Program};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ostler_client::SessionFilter;
use ostler_tui::{ColorDepth, DaemonConnector, PictureProtocol, TuiOptions};

use super::CommandContext;
use crate::args::{GlobalArgs, SessionRef, TuiArgs};
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::output::OutputStream;
use crate::programs::finder_for_user;

/// How long a daemon may take to answer after it was started, and how often it is looked for.
const MAX_POLLS: u32 = 2000;
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) async fn tui(
    setting: &CommandContext,
    global: &GlobalArgs,
    args: TuiArgs,
) -> anyhow::Result<CliExit> {
    if !(OutputStream::Stdout.is_terminal() && std::io::stdin().is_terminal()) {
        report!("error: no terminal; use `ostler run`, or see `ostler --help`");
        return Ok(CliExit::Usage);
    }
    let workspace = match args.directory {
        Some(directory) => std::fs::canonicalize(&directory)
            .map_err(|error| anyhow::anyhow!("{}: {error}", directory.display()))?,
        None => std::env::current_dir()?,
    };
    let workspace = workspace
        .to_str()
        .ok_or_else(|| anyhow::anyhow!("the path of this directory is not text; rename it"))?
        .to_owned();
    let variable = |name: &str| setting.environment.get(name).and_then(|value| value.to_str());
    let session = match (&args.session, args.continue_last) {
        (Some(SessionRef::Id(id)), _) => Some(*id),
        (Some(given), _) => {
            let client = find_running(&setting.data_dir).await?;
            Some(setting.finder(&client).session(given).await?)
        }
        (None, true) => newest_session(setting, &workspace).await,
        (None, false) => None,
    };
    let editor = variable("VISUAL").or_else(|| variable("EDITOR")).filter(|editor| !editor.is_empty());
    std::fs::create_dir_all(&setting.data_dir)?;
    let theme = args.theme.or_else(|| setting.output_manner.plain.then(|| "plain".to_owned()));
    let options = TuiOptions {
        session,
        theme: theme.or_else(|| variable("OSTLER_THEME").map(str::to_owned)).unwrap_or_default(),
        depth: ColorDepth::from_environment(variable("NO_COLOR"), variable("COLORTERM"), variable("TERM")),
        mouse: args.mouse,
        home: variable("HOME").map(str::to_owned),
        editor: editor.unwrap_or("vi").to_owned(),
        programs: finder_for_user(&setting.data_dir),
        history: Some(setting.data_dir.join("history.jsonl")),
        pictures: PictureProtocol::from_environment(variable),
        connector: daemon_connector(setting.data_dir.clone(), global),
        workspace,
    };
    ostler_tui::run(options).await?;
    Ok(CliExit::Success)
}

/// The session of this directory in which something happened last, if a daemon can be asked.
async fn newest_session(setting: &CommandContext, workspace: &str) -> Option<ostler_types::SessionId> {
    let client = find_running(&setting.data_dir).await.ok()?;
    let workspace = Some(workspace.to_owned());
    let filter =
        SessionFilter { workspace, archived: Some(false), limit: Some(1), ..SessionFilter::default() };
    Some(client.list_sessions(&filter).await.ok()?.sessions.first()?.session.id)
}

fn daemon_connector(data_dir: PathBuf, global: &GlobalArgs) -> DaemonConnector {
    let config = global.config.clone();
    let data_dir = Arc::new(data_dir);
    let looked_for = Arc::clone(&data_dir);
    DaemonConnector {
        find: Box::new(move || {
            let data_dir = Arc::clone(&looked_for);
            async move { find_running(&data_dir).await }.boxed()
        }),
        start: Box::new(move || start_daemon(Arc::clone(&data_dir), config.clone(), Vec::new()).boxed()),
    }
}

/// Starts a daemon that outlives us, with these flags, and waits until it answers.
pub(super) async fn start_daemon(
    data_dir: Arc<PathBuf>,
    config: Option<PathBuf>,
    flags: Vec<String>,
) -> Result<String, String> {
    let failed =
        |why: String| format!("the daemon could not be started: {why}; `ostler serve` shows details");
    let log = data_dir.join("daemon.log");
    let output =
        std::fs::File::create(&log).map_err(|error| failed(format!("{}: {error}", log.display())))?;
    let mut invocation = Invocation::new(Program::current_executable())
        .args(["serve", "--background", "--data-dir"])
        .args([data_dir.as_path()])
        .args(flags)
        .inherit_environment()
        .inherit_directory();
    if let Some(config) = config {
        invocation = invocation.args(["--config".as_ref(), config.as_os_str()]);
    }
    let mut command = invocation.prepare();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(output)
        .detach()
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let pid = child.id().unwrap_or_default();
    for _ in 0..MAX_POLLS {
        if find_running(&data_dir).await.is_ok() {
            return Ok(format!("started a daemon in the background (pid {pid}); `ostler stop` stops it"));
        }
        if let Ok(Some(_)) = child.try_wait() {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(failed(said.trim().to_owned()));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(failed(format!("it does not answer; see {}", log.display())))
}
