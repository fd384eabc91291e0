//! Keeps an agent's process going: starts it, agrees with it on the protocol, starts it again with growing waits
//! when it ends by itself, and stops it when nobody has used it for a while.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AGENT_METHOD_NAMES, ClientCapabilities, FileSystemCapabilities, Implementation, InitializeRequest,
    InitializeResponse,
};
use ostler_process::{Child, Tail};
use ostler_types::Failure;

use crate::config::{AgentProgram, AgentSettings, Launch, SpawnFn};
use crate::connection::{Connection, NoAnswer};
use crate::failure::{QUOTED_BYTES, failure};
use crate::instance::{Instance, Phase};
use crate::link::Link;

/// How often the wait between two starts is doubled.
const DOUBLINGS: u32 = 5;

/// How to start an agent.
pub(crate) struct Starter {
    pub(crate) program: Arc<AgentProgram>,
    pub(crate) settings: AgentSettings,
    pub(crate) spawn: SpawnFn,
}

/// A process, and what carries its lines.
struct Running {
    link: Arc<Link>,
    child: Child,
    pump: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Why a start came to nothing.
enum NotStarted {
    /// It would come to nothing again.
    ForGood(Failure),
    /// It may be better the next time.
    ThisTime(Failure),
}

/// What ended a process.
enum End {
    /// It is not needed any more.
    Unneeded,
    /// It ended by itself, or had to be given up.
    ByItself(Failure),
}

/// Attends to an instance until it is stopped, unneeded, or given up.
pub(crate) async fn attend(instance: Arc<Instance>, starter: Arc<Starter>) {
    let stop = instance.stop.clone();
    let mut failures = 0;
    loop {
        let started = tokio::select! {
            biased;
            () = stop.cancelled() => return instance.set(Phase::Stopped),
            started = start(&instance, &starter) => started,
        };
        let why = match started {
            Ok(running) => {
                let link = Arc::clone(&running.link);
                instance.set(Phase::Ready(Arc::clone(&link)));
                let end = watch(&instance, running, starter.settings.idle).await;
                // A process that has done its work starts the count anew.
                failures = if link.has_worked() { 0 } else { failures };
                match end {
                    End::Unneeded => return instance.set(Phase::Stopped),
                    End::ByItself(why) => why,
                }
            }
            Err(NotStarted::ForGood(why)) => return instance.set(Phase::Unavailable(why)),
            Err(NotStarted::ThisTime(why)) => why,
        };
        failures += 1;
        if failures > starter.settings.tries || instance.is_retired() {
            return instance.set(Phase::Unavailable(why));
        }
        tracing::warn!(agent = starter.program.name, why = why.message, "an agent is started again");
        instance.set(Phase::Restarting(why));
        let wait = wait_before(failures, starter.settings.first_wait);
        tokio::select! {
            () = stop.cancelled() => return instance.set(Phase::Stopped),
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// How long to wait before the start after so many failures.
fn wait_before(failures: u32, first: Duration) -> Duration {
    (first * 2_u32.pow((failures - 1).min(DOUBLINGS))).min(first * 30)
}

async fn start(instance: &Instance, starter: &Starter) -> Result<Running, NotStarted> {
    let Starter { program, settings, spawn } = starter;
    let launch = Launch {
        agent: program.name.clone(),
        program: program.program.clone(),
        arguments: program.arguments.clone(),
        env: program.env.clone(),
        pass_env: program.pass_env.clone(),
        workspace: instance.workspace.clone(),
    };
    let spawn = Arc::clone(spawn);
    let prepared = tokio::task::spawn_blocking(move || spawn(&launch)).await;
    let prepared = prepared.unwrap_or_else(|error| Err(error.to_string().into())).map_err(|why| {
        let message = format!("the agent {} cannot be started: {}", program.name, why.message);
        let hint = why.hint.or_else(|| program.install.clone());
        NotStarted::ForGood(failure("agent_not_started", message, hint))
    })?;
    let (child, stdout, stdin) =
        Child::start(prepared, &instance.stderr).map_err(|error| not_spawned(program, &error))?;
    let (connection, pump) = Connection::new(stdout, stdin, settings.line_bytes);
    let mut running = Starting { child, pump: Box::pin(pump.run()) };
    let can = running.agree(&connection, program, settings, &instance.stderr).await?;
    let link = Arc::new(Link::new(connection, can, settings.patience));
    Ok(Running { link, child: running.child, pump: running.pump })
}

/// A process that has not said yet what it is.
struct Starting {
    child: Child,
    pump: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Starting {
    async fn agree(
        &mut self,
        connection: &Connection,
        program: &AgentProgram,
        settings: &AgentSettings,
        stderr: &Tail,
    ) -> Result<InitializeResponse, NotStarted> {
        let files =
            FileSystemCapabilities::new().read_text_file(settings.serves).write_text_file(settings.serves);
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(ClientCapabilities::new().fs(files).terminal(settings.serves))
            .client_info(Implementation::new("ostler", env!("CARGO_PKG_VERSION")));
        let asked = connection.request(AGENT_METHOD_NAMES.initialize, &request, settings.start);
        let answered = tokio::select! {
            biased;
            answered = asked => answered,
            () = &mut self.pump => Err(NoAnswer::Closed),
        };
        let said = match answered {
            Ok(said) => said,
            Err(error) => {
                let how = match error {
                    NoAnswer::Closed => match connection.fault() {
                        Some(fault) => fault,
                        None => self.child.ended_by_now().await.unwrap_or_else(closed),
                    },
                    NoAnswer::TooLate(time) => format!("it did not say what it is in {} s", time.as_secs()),
                    NoAnswer::Refused(error) => format!("it refused to begin: {}", error.message),
                };
                return Err(NotStarted::ThisTime(died(program, &how, stderr)));
            }
        };
        let can: InitializeResponse = serde_json::from_value(said).map_err(|error| {
            let how = format!("it does not speak the protocol: {error}");
            NotStarted::ForGood(died(program, &how, stderr))
        })?;
        if can.protocol_version != ProtocolVersion::V1 {
            let how = format!("it speaks version {} of the protocol, not version 1", can.protocol_version);
            return Err(NotStarted::ForGood(died(program, &how, stderr)));
        }
        Ok(can)
    }
}

/// Watches a process until it ends, or nobody needs it.
async fn watch(instance: &Instance, running: Running, idle: Duration) -> End {
    let Running { link, mut child, mut pump } = running;
    let unneeded = async {
        loop {
            let Err(wait) = instance.close_if_unused_for(idle) else { return };
            tokio::select! {
                () = instance.stop.cancelled() => return,
                () = instance.freed.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    };
    let how = tokio::select! {
        biased;
        () = instance.stop.cancelled() => None,
        () = unneeded => None,
        () = &mut pump => Some(match link.connection.fault() {
            Some(fault) => fault,
            None => child.ended_by_now().await.unwrap_or_else(closed),
        }),
        how = child.ended() => {
            // What it said last is still to be read; whatever it started may hold its output open for ever.
            let _ = tokio::time::timeout(Duration::from_millis(500), &mut pump).await;
            Some(how)
        }
    };
    let why = how.as_ref().map(|how| failure("agent_crashed", format!("the agent crashed: {how}"), None));
    if let Some(why) = &why {
        // Nobody may find it ready any more once its turns hear of its end.
        instance.set(Phase::Restarting(why.clone()));
    }
    let text = how.unwrap_or_else(|| "it was stopped".to_owned());
    let said = instance.stderr.last(QUOTED_BYTES);
    link.set_over(if said.is_empty() {
        text
    } else {
        format!("{text}; the last that it printed was: {said}")
    });
    // Dropping the pump closes the agent's input.
    drop(pump);
    link.connection.close();
    child.stop().await;
    why.map_or(End::Unneeded, End::ByItself)
}

fn closed() -> String {
    "it closed its output".to_owned()
}

/// What is said of a process that did not get as far as agreeing.
fn died(program: &AgentProgram, how: &str, stderr: &Tail) -> Failure {
    let said = program.redact(&stderr.last(QUOTED_BYTES));
    let said =
        if said.is_empty() { String::new() } else { format!("; the last that it printed was: {said}") };
    let message = format!("the agent {} could not be started: {how}{said}", program.name);
    let hint =
        format!("run `{} {}` by hand to see what it wants", program.program, program.arguments.join(" "));
    failure("agent_not_started", message, Some(hint))
}

fn not_spawned(program: &AgentProgram, error: &io::Error) -> NotStarted {
    let message = format!("the agent {} cannot be started: {}: {error}", program.name, program.program);
    let hint = program.install.clone().filter(|_| error.kind() == io::ErrorKind::NotFound);
    NotStarted::ForGood(failure("agent_not_started", message, hint))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::wait_before;

    #[test]
    fn waits_grow_and_have_an_end() {
        let waits = (1..8).map(|failures| wait_before(failures, Duration::from_secs(1)).as_secs());
        assert_eq!(waits.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 30, 30]);
    }
}
