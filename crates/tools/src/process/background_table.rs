//! The programs that run in the background, by session. It bounds how many there are and ends them with
//! their session; what each of them does is left to `background`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use ostler_runner::ToolContext;
use ostler_types::SessionId;

use super::BackgroundProcess;
use crate::Failed;
use crate::program_confiner::{ProgramConfiner, ProgramSpec};

/// How many a session may have.
const MAX_PER_SESSION: usize = 8;
/// How many there may be in all.
const MAX_TOTAL: usize = 64;

/// The programs in the background, those included that have ended and may still be asked about.
#[derive(Default)]
pub(crate) struct BackgroundProcesses(Mutex<BackgroundTable>);

#[derive(Default)]
struct BackgroundTable {
    /// Oldest first.
    processes: Vec<Arc<BackgroundProcess>>,
    /// Places that are taken by programs that are about to start.
    starting: Vec<SessionId>,
    last_id: u64,
    is_stopped: bool,
}

impl BackgroundProcesses {
    /// Starts a program for a session. Until [`StartedBackground::keep`], dropping what is returned ends it again.
    pub(crate) async fn start(
        &self,
        confines: &ProgramConfiner,
        context: &ToolContext,
        program: ProgramSpec,
        timeout: Option<Duration>,
    ) -> Result<StartedBackground<'_>, Failed> {
        let place = self.reserve_slot(context.session)?;
        let process = BackgroundProcess::start(confines, context, program, place.id.clone(), timeout).await;
        let process =
            process.map_err(|reason| Failed::new(format!("The command was not started: {reason}")))?;
        Ok(StartedBackground { process: Arc::new(process), slot: place })
    }

    /// A program of a session.
    pub(crate) fn get(&self, session: SessionId, id: &str) -> Result<Arc<BackgroundProcess>, Failed> {
        let kept = self.lock();
        let mut own = kept.processes.iter().filter(|process| process.session == session);
        if let Some(process) = own.clone().find(|process| process.id == id) {
            return Ok(Arc::clone(process));
        }
        let known: Vec<String> = own.by_ref().map(|process| format!("`{}`", process.id)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Failed::new(format!(
            "No process `{id}`; this session has {known}. Processes end when their session is closed or \
             unloaded."
        )))
    }

    /// Ends the programs of a session, or all, and waits a moment for them to be gone.
    pub(crate) async fn end(&self, session: Option<SessionId>) {
        let is_meant =
            |process: &mut Arc<BackgroundProcess>| session.is_none_or(|session| process.session == session);
        let ended: Vec<Arc<BackgroundProcess>> = self.lock().processes.extract_if(.., is_meant).collect();
        for process in &ended {
            process.request_end();
        }
        join_all(ended.iter().map(|process| process.wait_until_ended())).await;
    }

    /// Ends all programs and lets none start any more.
    pub(crate) async fn stop(&self) {
        self.lock().is_stopped = true;
        self.end(None).await;
    }

    /// Finds a place for one more, if need be that of one that has ended.
    fn reserve_slot(&self, session: SessionId) -> Result<ReservedSlot<'_>, Failed> {
        let mut kept = self.lock();
        if kept.is_stopped {
            return Err(Failed::new("The daemon is shutting down; nothing was run."));
        }
        let starting = kept.starting.iter().filter(|other| **other == session).count();
        let own = kept.processes.iter().filter(|process| process.session == session).count();
        let is_full = own + starting >= MAX_PER_SESSION;
        if is_full || kept.processes.len() + kept.starting.len() >= MAX_TOTAL {
            let is_over = |process: &Arc<BackgroundProcess>| {
                !process.is_running() && (!is_full || process.session == session)
            };
            let Some(oldest) = kept.processes.iter().position(is_over) else {
                let (count, whose) =
                    if is_full { (MAX_PER_SESSION, "this session") } else { (MAX_TOTAL, "this machine") };
                return Err(Failed::new(format!(
                    "Nothing was run: {count} background processes of {whose} are already running. Kill one \
                     with shell_process first."
                )));
            };
            kept.processes.remove(oldest);
        }
        kept.starting.push(session);
        kept.last_id += 1;
        Ok(ReservedSlot { processes: self, session, id: format!("p{}", kept.last_id) })
    }

    fn lock(&self) -> MutexGuard<'_, BackgroundTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program that has started and is nobody's yet.
pub(crate) struct StartedBackground<'a> {
    process: Arc<BackgroundProcess>,
    slot: ReservedSlot<'a>,
}

impl StartedBackground<'_> {
    pub(crate) fn process(&self) -> &BackgroundProcess {
        &self.process
    }

    /// Leaves it to its session.
    pub(crate) fn release_to_session(self) {
        let mut kept = self.slot.processes.lock();
        // One that came too late for the stop ends with the handle.
        if !kept.is_stopped {
            kept.processes.push(Arc::clone(&self.process));
        }
    }
}

/// A place among the programs, until it is let go of.
struct ReservedSlot<'a> {
    processes: &'a BackgroundProcesses,
    session: SessionId,
    id: String,
}

impl Drop for ReservedSlot<'_> {
    fn drop(&mut self) {
        let mut kept = self.processes.lock();
        if let Some(index) = kept.starting.iter().position(|session| *session == self.session) {
            kept.starting.swap_remove(index);
        }
    }
}
