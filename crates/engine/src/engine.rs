//! The way in for doors: find or wake the actor of a session, and hand it what is asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use ostler_agent::Agent;
use ostler_eventlog::{FeedPosition, Log, LogError};
use ostler_index::{Index, ListFilter, SessionListing};
use ostler_runner::Runner;
use ostler_types::{
    Accepted, AnswerApproval, Clock, Command, PendingApproval, Refusal, RunnerName, Secrets, Session,
    SessionId, SessionView, TurnId,
};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::actor::ActorInput;
use crate::config::EngineConfig;
use crate::error::EngineError;
use crate::feed::{Deltas, FeedSubscription};
use crate::files::Uploads;
use crate::history::{self, HistoryPage};
use crate::hub::Hub;
use crate::projects::ProjectStore;
use crate::recovery::{self, ActorOrigin};
use crate::rules::RuleStore;
use crate::session_folder::SessionFolders;
use crate::session_names::SessionNames;
use crate::subscriber_queue::SubscriberQueue;
use crate::subscription::Subscription;
use crate::trust::TrustStore;
use crate::view_files::ViewFiles;

/// Inputs that may wait for one actor.
const MAX_PENDING_INPUTS: usize = 64;
/// How long a client waits for the list while the index is being rebuilt.
const REBUILD_WAIT: Duration = Duration::from_secs(20);
/// Sessions that may be awake without hurry to sleep.
const CROWDED_ABOVE: usize = 64;
/// How long an idle session stays awake when there are more.
const CROWDED_IDLE_TIMEOUT: Duration = Duration::from_millis(100);
/// Sessions that settle at the same time.
const SETTLE_CONCURRENCY: usize = 16;
/// How often a session is woken for one request.
const MAX_WAKE_ATTEMPTS: u32 = 10;

/// Keeps sessions going. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<EngineShared>,
}

/// What every actor can reach.
pub(crate) struct EngineShared {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) views: ViewFiles,
    pub(crate) folders: SessionFolders,
    pub(crate) index: Arc<dyn Index>,
    pub(crate) agents: HashMap<String, Arc<dyn Agent>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: RuleStore,
    pub(crate) trust: TrustStore,
    pub(crate) projects: ProjectStore,
    pub(crate) runner: Arc<dyn Runner>,
    pub(crate) secrets: Secrets,
    idle_after: Duration,
    pub(crate) turns_disabled: bool,
    /// Permits of the sessions that settle at the same time.
    pub(crate) settle_permits: tokio::sync::Semaphore,
    pub(crate) deltas: Arc<Deltas>,
    data_dir: PathBuf,
    awake: Mutex<HashMap<SessionId, ActorHandle>>,
    /// Hubs of sessions that were lost to another owner while they had subscribers.
    kept_hubs: Mutex<HashMap<SessionId, Weak<Hub>>>,
    stopping: watch::Sender<bool>,
    /// Whether the sessions that were left open have been looked after.
    pub(crate) open_sessions_recovered: watch::Sender<bool>,
    /// Whether the index knows all sessions, too.
    pub(crate) index_recovered: watch::Sender<bool>,
    /// Taken while a session is made under an idempotency key or a name, so that two requests make one.
    pub(crate) creating: tokio::sync::Mutex<()>,
    pub(crate) names: SessionNames,
    /// The attachments that are on their way to disk.
    pub(crate) uploads: Uploads,
}

/// The way to an actor.
#[derive(Clone)]
pub(crate) struct ActorHandle {
    pub(crate) inputs: mpsc::Sender<ActorInput>,
    pub(crate) hub: Arc<Hub>,
    /// Set when the actor has panicked.
    pub(crate) panicked: Arc<AtomicBool>,
}

impl Engine {
    /// Starts an engine. Sessions that were left in a hurry are recovered in the background, so
    /// that starting costs the same however many there are.
    pub async fn start(config: EngineConfig) -> Engine {
        let (documents, feed_end) = (&config.documents, config.log.feed_end());
        let shared = Arc::new(EngineShared {
            views: ViewFiles::start(config.log.clone(), SessionFolders::new(&config.data_dir)),
            folders: SessionFolders::new(&config.data_dir),
            rules: RuleStore::load(documents, config.rules).await,
            trust: TrustStore::load(documents).await,
            projects: ProjectStore::load(documents).await,
            runner: config.runner,
            secrets: config.secrets,
            log: config.log,
            index: config.index,
            agents: config.agents,
            clock: config.clock,
            idle_after: config.idle_after,
            turns_disabled: config.turns_disabled,
            settle_permits: tokio::sync::Semaphore::new(SETTLE_CONCURRENCY),
            deltas: Arc::new(Deltas::new(feed_end)),
            data_dir: config.data_dir,
            awake: Mutex::default(),
            kept_hubs: Mutex::default(),
            stopping: watch::Sender::new(false),
            open_sessions_recovered: watch::Sender::new(false),
            index_recovered: watch::Sender::new(false),
            creating: tokio::sync::Mutex::default(),
            names: SessionNames::default(),
            uploads: Uploads::default(),
        });
        tokio::spawn(recovery::recover(Arc::clone(&shared), config.index_opened));
        Engine { shared }
    }

    /// Asks a session for something, and returns once it is on disk. An answer to a question of a session
    /// that it has started goes on to that one.
    pub async fn submit(&self, id: SessionId, command: Command) -> Result<Accepted, EngineError> {
        self.refuse_if_stopping()?;
        let input = |reply| ActorInput::Command { command: Box::new(command.clone()), reply };
        let accepted = self.ask(id, input).await??;
        let Accepted::Forward { session_id, turn_id: asked } = accepted else { return Ok(accepted) };
        let mut answer = command;
        if let Command::Answer(AnswerApproval { turn_id, .. }) = &mut answer {
            *turn_id = asked;
        }
        self.ask(session_id, |reply| ActorInput::Command { command: Box::new(answer.clone()), reply }).await?
    }

    /// How a session stands.
    pub async fn view(&self, id: SessionId) -> Result<SessionView, EngineError> {
        self.ask(id, |reply| ActorInput::View { reply }).await
    }

    /// A page of its messages: the newest, or those before a record.
    pub async fn messages(
        &self,
        id: SessionId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<HistoryPage, EngineError> {
        let end = self.view(id).await?.last_seq + 1;
        let before = before.unwrap_or(end).min(end);
        Ok(history::page(&*self.shared.log, id, before, limit).await?)
    }

    /// Follows a session from the record after `after`.
    pub async fn subscribe(&self, id: SessionId, after: u64) -> Result<Subscription, EngineError> {
        self.ask(id, |reply| ActorInput::Subscribe { after, queue: Arc::default(), reply }).await?
    }

    /// The same for a task that waits for several subscriptions at once: `changed` is notified when [`Subscription::ready`]
    /// may have something to give, and may be shared by all of them.
    pub async fn subscribe_notifying(
        &self,
        id: SessionId,
        after: u64,
        changed: &Arc<Notify>,
    ) -> Result<Subscription, EngineError> {
        let queue = || Arc::new(SubscriberQueue::notifying(Arc::clone(changed)));
        self.ask(id, |reply| ActorInput::Subscribe { after, queue: queue(), reply }).await?
    }

    /// The same without text as it streams, for whoever only waits for records.
    pub(crate) async fn subscribe_quietly(
        &self,
        id: SessionId,
        after: u64,
    ) -> Result<Subscription, EngineError> {
        self.ask(id, |reply| ActorInput::Subscribe {
            after,
            queue: Arc::new(SubscriberQueue::records_only()),
            reply,
        })
        .await?
    }

    /// Follows all sessions, from a position or from now.
    pub fn subscribe_all(&self, after: Option<FeedPosition>) -> Result<FeedSubscription, EngineError> {
        let (log, deltas) = (self.shared.log.clone(), self.shared.deltas.clone());
        if after.is_some_and(|after| after > *log.feed_end().borrow()) {
            let message = "the cursor is ahead of everything that has been recorded";
            return Err(Refusal::invalid("cursor_ahead", message)
                .hint("start again without a cursor")
                .into());
        }
        Ok(FeedSubscription::new(log, deltas, after))
    }

    /// Lists and searches sessions.
    pub async fn list(&self, filter: ListFilter) -> Result<SessionListing, EngineError> {
        self.wait_until_recovered().await?;
        Ok(self.shared.index.list(filter).await?)
    }

    /// Every approval that waits, oldest first.
    pub async fn approvals(&self) -> Result<Vec<PendingApproval>, EngineError> {
        wait_for_flag(&self.shared.open_sessions_recovered).await?;
        let hubs: Vec<Arc<Hub>> = self.shared.awake().values().map(|handle| handle.hub.clone()).collect();
        let mut approvals: Vec<PendingApproval> = hubs.iter().flat_map(|hub| hub.approvals()).collect();
        approvals.sort_by_key(|approval| (approval.requested_at, approval.tool_call_id.clone()));
        Ok(approvals)
    }

    /// The names of the agents that sessions can have.
    pub fn agents(&self) -> Vec<String> {
        let mut names: Vec<String> = self.shared.agents.keys().cloned().collect();
        names.sort();
        names
    }

    /// Where the workspaces are.
    pub fn runner(&self) -> &dyn Runner {
        &*self.shared.runner
    }

    /// Whether the owner trusts what a workspace itself says. It is named by its key ([`Session::workspace_key`]).
    pub async fn is_trusted(&self, workspace: &str) -> bool {
        self.shared.trusts(workspace).await
    }

    /// The workspaces that are trusted.
    pub fn trusted_workspaces(&self) -> Vec<String> {
        self.shared.trust.list()
    }

    /// Trusts a workspace from now on, or no longer. It holds once it is on disk.
    pub async fn trust(&self, workspace: String, trusted: bool) -> Result<(), EngineError> {
        let kept = self.shared.trust.set(&workspace, trusted).await;
        kept.map_err(|error| LogError::Io(format!("trust cannot be remembered: {error}")).into())
    }

    /// Where times and ids come from.
    pub fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    /// Where everything is kept.
    pub fn data_dir(&self) -> &Path {
        &self.shared.data_dir
    }

    /// How many sessions are in memory now.
    pub fn awake_count(&self) -> usize {
        self.shared.awake().len()
    }

    /// Fires when the engine begins to stop, for those who keep connections open.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.shared.stopping()
    }

    /// The session in which this turn runs, or waits in the queue. Such sessions are always awake.
    pub async fn session_of_turn(&self, turn_id: TurnId) -> Result<Option<SessionId>, EngineError> {
        wait_for_flag(&self.shared.open_sessions_recovered).await?;
        let ids: Vec<SessionId> = self.shared.awake().keys().copied().collect();
        for id in ids {
            let has = |view: SessionView| {
                let queued = view.queue.iter().any(|queued| queued.turn_id == turn_id);
                queued || view.running_turn_id == Some(turn_id)
            };
            if self.view(id).await.is_ok_and(has) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns when no turn runs that could go on by itself; one that waits for an answer may wait.
    pub async fn wait_until_idle(&self) {
        let mut end = self.shared.log.feed_end();
        loop {
            end.mark_unchanged();
            let ids: Vec<SessionId> = self.shared.awake().keys().copied().collect();
            let mut busy = false;
            for id in ids {
                let works =
                    |view: SessionView| view.running_turn_id.is_some() && view.pending_approvals.is_empty();
                busy |= self.view(id).await.is_ok_and(works);
            }
            if !busy || self.shared.turns_disabled || end.changed().await.is_err() {
                return;
            }
        }
    }

    /// Ends all turns in order and leaves everything on disk. Nothing is accepted from now on.
    pub async fn stop(&self) {
        self.shared.stopping.send_replace(true);
        let handles: Vec<ActorHandle> = self.shared.awake().values().cloned().collect();
        let stops = handles.iter().map(|handle| async {
            if handle.inputs.send(ActorInput::Stop).await.is_ok() {
                handle.inputs.closed().await;
            }
        });
        join_all(stops).await;
        for (_, hub) in self.shared.kept_hubs().drain() {
            hub.upgrade().inspect(|hub| hub.close());
        }
        if let Err(error) = self.shared.index.flush().await {
            tracing::warn!(%error, "the index lags; it is caught up at the next start");
        }
    }

    /// Asks an actor, waking it if it sleeps. One that falls asleep in between is woken again.
    pub(crate) async fn ask<T>(
        &self,
        id: SessionId,
        input: impl Fn(oneshot::Sender<T>) -> ActorInput,
    ) -> Result<T, EngineError> {
        let mut panicked = false;
        for _ in 0..MAX_WAKE_ATTEMPTS {
            let (reply, answer) = oneshot::channel();
            let handle = self.shared.handle(id);
            if handle.inputs.send(input(reply)).await.is_ok()
                && let Ok(answer) = answer.await
            {
                return Ok(answer);
            }
            self.refuse_if_stopping()?;
            recovery::check_can_wake(&self.shared, id).await?;
            panicked |= handle.panicked.load(Ordering::Relaxed);
        }
        // Owners that take the session from each other end their actors, too, with the requests that they had.
        Err(match panicked {
            true => LogError::Io("the session breaks down each time that it is woken".to_owned()).into(),
            false => LogError::Lost.into(),
        })
    }

    pub(crate) async fn wait_until_recovered(&self) -> Result<(), EngineError> {
        wait_for_flag(&self.shared.index_recovered).await
    }

    pub(crate) fn refuse_if_stopping(&self) -> Result<(), EngineError> {
        if *self.shared.stopping.borrow() { Err(EngineError::ShuttingDown) } else { Ok(()) }
    }
}

/// Why nothing can be done on a runner that this engine does not have.
pub(crate) fn unknown_runner(name: &RunnerName) -> Refusal {
    let message = format!("the workspace lies on the runner `{name}`, which this daemon does not have");
    Refusal::conflict("unknown_runner", message)
}

/// Whether this is the hub that is kept for a session.
fn is_kept_in(kept: &HashMap<SessionId, Weak<Hub>>, id: SessionId, hub: &Arc<Hub>) -> bool {
    kept.get(&id).is_some_and(|kept| std::ptr::eq(kept.as_ptr(), Arc::as_ptr(hub)))
}

/// Waits for something that happens once after the start.
async fn wait_for_flag(happened: &watch::Sender<bool>) -> Result<(), EngineError> {
    let mut happened = happened.subscribe();
    let waited = tokio::time::timeout(REBUILD_WAIT, happened.wait_for(|happened| *happened)).await;
    waited.map(|_| ()).map_err(|_| EngineError::Rebuilding)
}

impl EngineShared {
    /// Why nobody should work in a directory.
    pub(crate) async fn workspace_problem(&self, workspace: &str) -> Option<String> {
        self.runner.workspaces().unsuitable_reason(workspace.to_owned()).await
    }

    /// The runner that a session's workspace lies on.
    pub(crate) fn runner_of(&self, session: &Session) -> Result<&Arc<dyn Runner>, Refusal> {
        match &session.runner {
            None => Ok(&self.runner),
            Some(name) => Err(unknown_runner(name)),
        }
    }

    /// Whether a workspace, by its key, is trusted; a worktree is as the workspace that it was made of.
    pub(crate) async fn trusts(&self, workspace: &str) -> bool {
        match self.runner.worktrees() {
            Some(worktrees) => self.trust.is_trusted(&worktrees.root_workspace(workspace.to_owned()).await),
            None => self.trust.is_trusted(workspace),
        }
    }

    /// How long an idle session stays awake: not long, when many are.
    pub(crate) fn idle_timeout(&self) -> Duration {
        if self.is_crowded() { self.idle_after.min(CROWDED_IDLE_TIMEOUT) } else { self.idle_after }
    }

    /// Whether many sessions are awake.
    pub(crate) fn is_crowded(&self) -> bool {
        self.awake().len() > CROWDED_ABOVE
    }

    /// The actor of a session, started if there is none.
    fn handle(self: &Arc<Self>, id: SessionId) -> ActorHandle {
        if let Some(handle) = self.awake().get(&id) {
            return handle.clone();
        }
        recovery::spawn(self, id, ActorOrigin::Asleep)
    }

    /// Registers an actor, unless there is one or the engine stops.
    pub(crate) fn register(
        &self,
        id: SessionId,
    ) -> Result<(ActorHandle, mpsc::Receiver<ActorInput>), ActorHandle> {
        let mut awake = self.awake();
        if let Some(handle) = awake.get(&id) {
            return Err(handle.clone());
        }
        let (inputs, receiver) = mpsc::channel(MAX_PENDING_INPUTS);
        let new_hub = || Arc::new(Hub::new(id, 0, self.clock.clone()));
        if *self.stopping.borrow() {
            // Nobody is woken any more, or it would start what is queued: this handle leads nowhere.
            return Err(ActorHandle { inputs, hub: new_hub(), panicked: Arc::default() });
        }
        let kept = self.kept_hubs().remove(&id).and_then(|hub| hub.upgrade());
        let handle = ActorHandle { inputs, hub: kept.unwrap_or_else(new_hub), panicked: Arc::default() };
        awake.insert(id, handle.clone());
        Ok((handle, receiver))
    }

    /// Takes an actor off the list, if it may go.
    pub(crate) fn unregister(&self, id: SessionId, may_go: impl FnOnce() -> bool) -> bool {
        let mut awake = self.awake();
        let goes = may_go();
        if goes {
            awake.remove(&id);
        }
        goes
    }

    /// Takes the actor with this hub off the list, if it is still on it.
    pub(crate) fn unregister_hub(&self, id: SessionId, hub: &Arc<Hub>) {
        let mut awake = self.awake();
        if awake.get(&id).is_some_and(|handle| Arc::ptr_eq(&handle.hub, hub)) {
            awake.remove(&id);
        }
    }

    /// Keeps the hub of an actor that lost its session for as long as it has subscribers. The next local actor of the
    /// session reuses it.
    pub(crate) fn keep_hub(&self, id: SessionId, hub: &Arc<Hub>) {
        let mut kept = self.kept_hubs();
        kept.retain(|_, hub| hub.strong_count() > 0);
        if *self.stopping.borrow() {
            // Those that were kept may have been closed already.
            return hub.close();
        }
        kept.insert(id, Arc::downgrade(hub));
    }

    /// Whether a hub is kept, and no actor has taken it up.
    pub(crate) fn is_kept_hub(&self, id: SessionId, hub: &Arc<Hub>) -> bool {
        is_kept_in(&self.kept_hubs(), id, hub)
    }

    /// Shows the subscribers of a kept hub the log up to this record. Returns whether it is still kept.
    pub(crate) fn advance_kept_hub(&self, id: SessionId, hub: &Arc<Hub>, last_seq: u64) -> bool {
        // The lock keeps the next actor from taking the hub up in between.
        let kept = self.kept_hubs();
        let is_kept = is_kept_in(&kept, id, hub);
        if is_kept {
            hub.start_from(last_seq, Vec::new());
        }
        is_kept
    }

    /// Ends the subscriptions of a kept hub whose session was removed. Returns whether it is still kept, which it is not.
    pub(crate) fn close_kept_hub(&self, id: SessionId, hub: &Arc<Hub>) -> bool {
        let mut kept = self.kept_hubs();
        if is_kept_in(&kept, id, hub) {
            kept.remove(&id);
            hub.close();
        }
        false
    }

    /// Changes when the engine begins to stop.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    fn kept_hubs(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Hub>>> {
        self.kept_hubs.lock().expect("no code panics while it holds the list of hubs")
    }

    /// The fan-out of a session that is awake.
    pub(crate) fn hub(&self, id: SessionId) -> Option<Arc<Hub>> {
        self.awake().get(&id).map(|handle| handle.hub.clone())
    }

    fn awake(&self) -> MutexGuard<'_, HashMap<SessionId, ActorHandle>> {
        self.awake.lock().expect("no code panics while it holds the list of actors")
    }
}
