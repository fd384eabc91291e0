//! `ostler open`: the page of a running daemon in a browser. Opening one is left to the system; where it has none, the
//! address that was printed does.

use ostler_process::Invocation;

use crate::programs::finder_for_user;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;

use super::CommandContext;
use crate::args::OpenArgs;
use crate::connect::find_running;
use crate::exit::CliExit;

pub(super) async fn open(setting: CommandContext, args: OpenArgs) -> anyhow::Result<CliExit> {
    let client = find_running(&setting.data_dir).await.with_context(|| {
        format!("no daemon answers at {}; start one with `ostler serve --open`", setting.data_dir.display())
    })?;
    let code = client.login_code().await?;
    say!("{}", code.address);
    if !args.print {
        browse(&setting.data_dir, &code.address);
    }
    Ok(CliExit::Success)
}

/// Asks the system to show an address. The code in it is not for the list of processes, which everybody on the machine
/// can read: the browser is given a private file that leads on. Some systems become the browser, so nobody waits for
/// the end of that.
pub(super) fn browse(data_dir: &Path, address: &str) {
    if let Err(error) = try_browse(data_dir, address) {
        report!("could not open a browser ({error}); open the address yourself");
    }
}

fn try_browse(data_dir: &Path, address: &str) -> std::io::Result<()> {
    let path = data_dir.join("open.html");
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    write!(
        file,
        "<!doctype html><title>Ostler</title><meta http-equiv=refresh content=\"0;url={address}\">"
    )?;
    let programs = finder_for_user(data_dir);
    let program = programs.find("xdg-open").map_err(std::io::Error::other)?;
    // It is a script that looks for others.
    let invocation = Invocation::new(program).args([&path]);
    let mut command = invocation.envs(programs.environment(std::env::vars_os())).prepare();
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.own_group().detach().spawn().map(drop)
}
