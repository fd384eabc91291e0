//! `ostler acp`: the Agent Client Protocol on stdin and stdout, for editors.

use ostler_doors::acp::{Options, UPGRADE};

use super::Setting;
use super::pump::{self, Wire};
use crate::args::Acp;
use crate::exit::Exit;

const WIRE: Wire = Wire {
    path: "/acp",
    upgrade: UPGRADE,
    ready: b"",
    quit: None,
    cut: None,
    stays: true,
    advice: "the daemon ended; what it had accepted is on disk: start `ostler acp` again, and load the session",
};

pub(super) async fn acp(setting: Setting, args: Acp) -> anyhow::Result<Exit> {
    let options = match options(args) {
        Ok(options) => options,
        Err(error) => {
            aside!("error: {error:#}");
            return Ok(Exit::Usage);
        }
    };
    pump::serve(setting, &WIRE, options.clone(), async |daemon, input, stop| {
        Ok(daemon.acp().serve(options, input, crate::output::wire(), stop).await)
    })
    .await
}

fn options(args: Acp) -> anyhow::Result<Options> {
    Ok(Options {
        cwd: pump::directory(args.cwd.as_deref())?.to_string_lossy().into_owned(),
        model: args.model,
        system_prompt: args.system_prompt,
        ..Options::default()
    })
}
