//! `ostler serve`: the daemon in the foreground, until somebody stops it.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Setting;
use crate::config::Auth;
use crate::daemon::{Daemon, DaemonSettings, token_path};
use crate::exit::Exit;

pub(super) async fn serve(setting: Setting) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let config = setting.loaded.config;
    let (listen, auth) = (config.server.listen, config.server.auth);
    let data_dir = setting.data_dir;
    let daemon =
        Daemon::start(DaemonSettings::new(data_dir.clone(), Some(listen), config, setting.environment)).await?;
    let address = daemon.address.unwrap_or(listen);
    println!("ostler is ready at http://{address}");
    println!("  sessions are kept in {}", data_dir.display());
    match auth {
        Auth::On => println!("  the token is in {}", token_path(&data_dir).display()),
        Auth::Off => println!("  no token is asked for: whoever can reach this address comes in"),
    }
    println!("  try, in another terminal: ostler run \"list the files\"");
    signals.next().await;
    eprintln!("ostler is stopping; once more to stop at once");
    tokio::select! {
        () = daemon.stop() => {}
        () = signals.next() => {}
    }
    Ok(Exit::Success)
}

/// The ways in which a daemon is asked to stop, a closed terminal among them.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
