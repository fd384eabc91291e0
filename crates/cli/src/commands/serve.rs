//! `ostler serve`: the daemon in the foreground, until somebody stops it.

use ostler_config::Auth;
use ostler_daemon::GatewayPort;
use ostler_daemon::{Daemon, DaemonConfig, token_path};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{CommandContext, open};
use crate::args::Serve;
use crate::connect::daemon_config;
use crate::exit::CliExit;
use crate::programs::own_command;

pub(super) async fn serve(setting: CommandContext, args: &Serve) -> anyhow::Result<CliExit> {
    if args.background {
        // A closed terminal ends what belongs to it; this does not any more.
        rustix::process::setsid()?;
    }
    let mut signals = StopSignals::new()?;
    raise_file_limit();
    let config = setting.loaded.config;
    let (listen, auth) = (config.server.listen, config.server.auth);
    let data_dir = setting.data_dir;
    let command = own_command(&setting.environment);
    let daemon = daemon_config(data_dir.clone(), config, setting.environment);
    let daemon = Daemon::start(DaemonConfig { listen: Some(listen), ..daemon }).await?;
    let address = daemon.address.unwrap_or(listen);
    let token = match auth {
        Auth::On => format!("the token is in {}", token_path(&data_dir).display()),
        Auth::Off => {
            "no token is required: anyone who can reach this address has full access, including agents \
                      and commands with network access"
                .to_owned()
        }
    };
    let gateway = match &daemon.gateway_port {
        GatewayPort::Off => String::new(),
        GatewayPort::Listening(gateway) => format!("  the gateway is at ws://{gateway}\n"),
        GatewayPort::Unavailable { address: wanted, reason } => {
            format!("  the gateway is at ws://{address}/gateway only; {wanted} is unavailable: {reason}\n")
        }
    };
    let page = daemon.page_address(auth)?;
    let greeting = format!(
        "ostler is ready at http://{address}\n  the page: {page}\n{gateway}  sessions are kept in {}\n  {token}\n  \
         try, in another terminal: {command} run \"list the files\"\n",
        data_dir.display()
    );
    // Nobody may be reading; that is no reason for a daemon to end.
    _ = crate::output::text(format_args!("{greeting}"));
    if args.open {
        open::browse(&data_dir, &page);
    }
    signals.next().await;
    report!("ostler is stopping; press Ctrl-C again to stop immediately");
    tokio::select! {
        () = daemon.stop() => {}
        () = signals.next() => {}
    }
    Ok(CliExit::Success)
}

/// The ways in which a daemon is asked to stop, a closed terminal among them.
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl StopSignals {
    pub(super) fn new() -> std::io::Result<StopSignals> {
        Ok(StopSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

/// Lets the daemon have as many files and connections as the system allows; the usual limit is meant
/// for programs that serve nobody.
fn raise_file_limit() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let raised = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = rustix::process::setrlimit(rustix::process::Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit on open files stays as it is");
    }
}
