//! What is told of a workspace later than the rest: after the first calls of a turn, or with the next turn.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ostler_agent::Agent;
use ostler_agent_native::{NativeAgent, TurnContextSettings};
use ostler_context::{ContextMessage, GatheredSectionKind};
use ostler_local_runner::LocalRunner;
use ostler_models::Model;
use ostler_runner::{
    Checkpoints, FindSkills, GatherContext, GatheredContext, LateContext, PrepareContext, Runner,
    ThirdPartyAgents, Toolbox, WorkspaceContext, Workspaces, Worktrees,
};
use ostler_testing::model::{ScriptedStep, calls, text};
use ostler_types::{Role, SessionId};
use serde_json::json;

use crate::fixture::{NativeAgentFixture, world};
use crate::tools::runner;

/// A runner whose workspaces have a repository that git takes its time to look at.
struct SlowGitRunner {
    inner: LocalRunner,
    /// What was asked, in order.
    asked: Mutex<Vec<String>>,
    /// How often git is still asked in vain.
    not_ready: Mutex<usize>,
}

impl SlowGitRunner {
    fn note(&self, what: impl Into<String>) {
        self.asked.lock().unwrap().push(what.into());
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn bundle(awaits_git: bool, text: &str) -> Option<String> {
    let mut bundle = ContextMessage::default();
    bundle.shown.repository = true;
    bundle.shown.awaits_git = Some(awaits_git);
    bundle.push(GatheredSectionKind::Repository, "Git status", text.to_owned());
    bundle.text()
}

impl WorkspaceContext for SlowGitRunner {
    fn gather(&self, request: GatherContext) -> BoxFuture<'_, GatheredContext> {
        self.note(format!("gather {:?}", request.shown.awaits_git));
        let text = if request.shown.repository { None } else { bundle(true, "On branch main.") };
        ready(GatheredContext { text, skills: Vec::new() }).boxed()
    }

    fn prepare(&self, request: PrepareContext) {
        self.note(format!("prepare {}", request.workspace));
    }

    fn late_context(&self, _: LateContext) -> BoxFuture<'_, Option<String>> {
        self.note("late");
        let mut not_ready = self.not_ready.lock().unwrap();
        let text = if *not_ready == 0 { bundle(false, "Nothing is changed.") } else { None };
        *not_ready = not_ready.saturating_sub(1);
        ready(text).boxed()
    }

    fn skill_names(&self, _: FindSkills) -> BoxFuture<'_, Vec<String>> {
        self.note("skills");
        ready(Vec::new()).boxed()
    }

    fn read_skill(&self, _: FindSkills, name: String) -> BoxFuture<'_, Result<String, String>> {
        ready(Err(name)).boxed()
    }
}

impl Runner for SlowGitRunner {
    fn workspaces(&self) -> &dyn Workspaces {
        self.inner.workspaces()
    }

    fn checkpoints(&self) -> Option<&dyn Checkpoints> {
        self.inner.checkpoints()
    }

    fn worktrees(&self) -> Option<&dyn Worktrees> {
        self.inner.worktrees()
    }

    fn toolbox(&self) -> &dyn Toolbox {
        self.inner.toolbox()
    }

    fn context(&self) -> &dyn WorkspaceContext {
        self
    }

    fn agents(&self) -> &dyn ThirdPartyAgents {
        self.inner.agents()
    }

    fn end_session(&self, session: SessionId) -> BoxFuture<'_, ()> {
        self.inner.end_session(session)
    }
}

fn with_slow_git(
    answers: Vec<Vec<ScriptedStep>>,
    not_ready: usize,
) -> (NativeAgentFixture, Arc<SlowGitRunner>) {
    let mut world = world(answers);
    let inner = LocalRunner::clone(&runner(&world.tools));
    let (asked, not_ready) = (Mutex::default(), Mutex::new(not_ready));
    let slow = Arc::new(SlowGitRunner { inner, asked, not_ready });
    let model: Arc<dyn Model> = world.model.clone();
    let agent = NativeAgent::with_model(move |_| Ok(model.clone()), slow.clone(), 10);
    world.agent = Arc::new(agent.with_context(TurnContextSettings::default()));
    (world, slow)
}

/// The last lines of what nobody said and the model was told, in a request.
fn told(world: &NativeAgentFixture, request: usize) -> Vec<String> {
    let messages = &world.model.requests()[request].messages;
    let told = messages.iter().filter(|message| message.role == Role::System);
    told.map(|message| message.text().lines().last().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn what_follows_is_told_once_and_as_soon_as_calls_have_run() {
    let call = |id: &'static str| calls(&[(id, "echo", json!({}))]);
    let (world, slow) = with_slow_git(vec![call("c1"), call("c2"), call("c3"), text("done"), text("x")], 1);
    world.ask("hello").await.unwrap();
    let (branch, rest) = ("On branch main.", "Nothing is changed.");
    let seen: Vec<_> = (0..4).map(|request| told(&world, request)).collect();
    assert_eq!(seen, [vec![branch], vec![branch], vec![branch, rest], vec![branch, rest]]);
    assert_eq!(slow.asked(), ["gather None", "late", "late"]);
    world.ask("again").await.unwrap();
    assert_eq!(slow.asked(), ["gather Some(false)"]);
    world.check();
}

#[tokio::test]
async fn a_turn_without_calls_leaves_it_to_the_next_one() {
    let (world, slow) = with_slow_git(vec![text("hi"), text("hi")], 0);
    world.ask("hello").await.unwrap();
    assert_eq!(slow.asked(), ["gather None"], "no answer waits for it");
    world.ask("again").await.unwrap();
    assert_eq!(slow.asked(), ["gather Some(true)"]);
}

#[tokio::test]
async fn a_new_session_is_prepared_unless_nothing_is_told_of_workspaces() {
    let (world, slow) = with_slow_git(Vec::new(), 0);
    let session = world.host.state().session.id;
    world.agent.prepare(session, "/w");
    assert_eq!(slow.asked(), ["prepare /w"]);
    let off = TurnContextSettings { bundle: false, ..TurnContextSettings::default() };
    let model: Arc<dyn Model> = world.model;
    let silent = NativeAgent::with_model(move |_| Ok(model.clone()), slow.clone(), 10).with_context(off);
    silent.prepare(session, "/w");
    assert!(slow.asked().is_empty());
}
