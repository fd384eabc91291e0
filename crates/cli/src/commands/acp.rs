//! `ostler acp`: the Agent Client Protocol on stdin and stdout, for editors.

use ostler_doors::acp::{AcpOptions, UPGRADE};

use super::CommandContext;
use super::stdio_bridge::{self, BridgedWire};
use crate::args::AcpArgs;
use crate::exit::CliExit;

const WIRE: BridgedWire = BridgedWire {
    path: "/acp",
    upgrade: UPGRADE,
    ready_prefix: b"",
    quit_line: None,
    lost_line: None,
    stays_for_others: true,
    lost_advice: "the daemon ended; what it had accepted is on disk: start `ostler acp` again, and load the session",
};

pub(super) async fn acp(setting: CommandContext, args: AcpArgs) -> anyhow::Result<CliExit> {
    let options = match options(args) {
        Ok(options) => options,
        Err(error) => {
            report!("error: {error:#}");
            return Ok(CliExit::Usage);
        }
    };
    stdio_bridge::serve(setting, &WIRE, options.clone(), async |daemon, input, stop| {
        Ok(daemon.acp().serve(options, input, crate::output::wire(), stop).await)
    })
    .await
}

fn options(args: AcpArgs) -> anyhow::Result<AcpOptions> {
    Ok(AcpOptions {
        cwd: stdio_bridge::directory(args.cwd.as_deref())?.to_string_lossy().into_owned(),
        model: args.model,
        system_prompt: args.system_prompt,
        ..AcpOptions::default()
    })
}
