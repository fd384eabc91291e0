//! `ostler upgrade`: replaces this program by the newest release, if the build names an address for releases.

use anyhow::Context;

use crate::args::UpgradeArgs;
use crate::exit::CliExit;
use crate::upgrade::{RELEASES_URL, ReleaseSource, is_newer};

/// The version of this program.
const CURRENT: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn upgrade(args: &UpgradeArgs) -> anyhow::Result<CliExit> {
    let Some(base) = RELEASES_URL.filter(|base| !base.is_empty()) else {
        report!("error: this build has no upgrade address; upgrade it the way it was installed");
        return Ok(CliExit::Failure);
    };
    let releases = ReleaseSource::new(base)?;
    let latest = releases.latest().await?;
    if !is_newer(&latest.version, CURRENT) {
        say!("up to date: version {CURRENT}");
        return Ok(CliExit::Success);
    }
    if args.check {
        say!("version {} is available; this is {CURRENT}", latest.version);
        return Ok(CliExit::Success);
    }
    let program = std::env::current_exe().context("this program cannot find itself")?;
    releases.install(&latest, &program).await?;
    say!(
        "upgraded {} from {CURRENT} to {}; apply it to the daemon with `ostler restart`",
        program.display(),
        latest.version
    );
    Ok(CliExit::Success)
}
