//! `ostler rpc`: lines of JSON on stdin and stdout.

use std::time::Duration;

use anyhow::Context;
use ostler_doors::jsonl::{JsonlOptions, UPGRADE};

use super::CommandContext;
use super::stdio_bridge::{self, BridgedWire};
use crate::args::RpcArgs;
use crate::exit::CliExit;

const WIRE: BridgedWire = BridgedWire {
    path: "/jsonl",
    upgrade: UPGRADE,
    // Otherwise the first session could not be started.
    ready_prefix: b"{\"type\":\"ready\"",
    // Ends whatever line the client was in, and then everything.
    quit_line: Some(b"\n{\"type\":\"quit\"}\n"),
    lost_line: Some(
        "{\"type\":\"error\",\"message\":\"the daemon ended\",\"hint\":\"what it had accepted is on disk; \
         start `ostler rpc` again, and go on with a session by its `session_file`\"}\n",
    ),
    stays_for_others: false,
    lost_advice: "the daemon ended",
};

pub(super) async fn rpc(setting: CommandContext, args: RpcArgs) -> anyhow::Result<CliExit> {
    let options = match options(args) {
        Ok(options) => options,
        Err(error) => {
            report!("error: {error:#}");
            return Ok(CliExit::Usage);
        }
    };
    stdio_bridge::serve(setting, &WIRE, options.clone(), async |daemon, input, stop| {
        daemon.jsonl().serve(options, input, crate::output::wire(), stop).await
    })
    .await
}

fn options(args: RpcArgs) -> anyhow::Result<JsonlOptions> {
    let absolute = |path| std::path::absolute(path).context("the session file's path cannot be used");
    let session_file = args.session_file.map(absolute).transpose()?;
    Ok(JsonlOptions {
        cwd: stdio_bridge::directory(args.cwd.as_deref())?.to_string_lossy().into_owned(),
        model: args.model,
        system_prompt: args.system_prompt,
        session_file: session_file.map(|path| path.to_string_lossy().into_owned()),
        debug: args.debug,
        ui: !args.no_ui,
        linger: Duration::from_secs(args.linger.into()),
        max_line_bytes: usize::try_from(args.max_line_bytes)?,
        argv: std::env::args().collect(),
    })
}
