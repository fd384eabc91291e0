//! Making a child: its worktree if it gets one, its session with its first turn. What fails on the way is the
//! child's outcome, and leaves nothing half made.

use ostler_agent::NewChild;
use ostler_runner::{MadeWorktree, NewWorktree};
use ostler_types::{
    Budget, ChildOutcome, Command, Delivery, Message, MessageId, NewSession, Part, Policy, Role, Rule,
    Session, SessionId, SubmitMessage, TurnId, Worktree, workspace_key,
};

use super::child_watcher::ChildWatcher;
use super::{outcome, worktree};
use crate::engine::Engine;

/// Makes the child and sets it to work. `Err` says what became of it instead.
pub(super) async fn start(
    attendant: &ChildWatcher,
    parent: &Session,
    new: NewChild,
) -> Result<(), ChildOutcome> {
    let (engine, id) = (&attendant.engine, attendant.child);
    let made = if new.worktree { Some(make_worktree(attendant, parent).await?) } else { None };
    let workspace = made.as_ref().map(|made| made.workspace.clone());
    let worktree = made.map(|made| Worktree { repository: parent.workspace_path.clone(), base: made.base });
    let prompt = first_prompt(engine, &new.prompt);
    let session = child_session(engine, id, parent, (workspace, worktree), new);
    let started = if attendant.stop.is_cancelled() {
        Err(outcome::canceled("it was stopped before it began".to_owned()))
    } else {
        let created = engine.create_child(parent.id, session, prompt).await;
        created.map(drop).map_err(|error| outcome::failed(format!("it could not be started: {error}")))
    };
    if started.is_err() {
        worktree::discard(engine, id).await;
    }
    started
}

async fn make_worktree(attendant: &ChildWatcher, parent: &Session) -> Result<MadeWorktree, ChildOutcome> {
    let Some(worktrees) = attendant.engine.shared.runner.worktrees() else {
        return Err(outcome::failed("this daemon makes no worktrees; start it without one".to_owned()));
    };
    let new = NewWorktree { name: attendant.child.to_string(), workspace: parent.workspace_path.clone() };
    let made = worktrees.create(new, attendant.stop.clone()).await;
    made.map_err(|error| match attendant.stop.is_cancelled() {
        true => outcome::canceled("it was stopped before it began".to_owned()),
        false => outcome::failed(format!("its worktree could not be made: {error}")),
    })
}

/// What the child is: as its parent, with no more rights than it has.
fn child_session(
    engine: &Engine,
    id: SessionId,
    parent: &Session,
    (workspace, worktree): (Option<String>, Option<Worktree>),
    new: NewChild,
) -> NewSession {
    let policy = child_policy(parent, workspace.as_deref());
    let workspace = workspace.unwrap_or_else(|| parent.workspace_path.clone());
    let agent = new.agent.unwrap_or_else(|| parent.agent.clone());
    // Another agent does not know the parent's model.
    let usual = || if agent == parent.agent { parent.model.clone() } else { format!("{agent}:default") };
    let model = new.model.unwrap_or_else(usual);
    NewSession {
        runner: parent.runner.clone(),
        system_prompt: None,
        agent,
        fallback_models: parent.fallback_models.clone(),
        effort: parent.effort,
        raw_log: parent.raw_log,
        verbose_log: parent.verbose_log,
        log_root: parent.log_root.clone(),
        title: Some(new.description),
        parent_session_id: Some(parent.id),
        depth: parent.depth + 1,
        budget: Some(limited_budget(new.budget, parent.budget.unwrap_or_default())),
        worktree,
        mode: "agent".to_owned(),
        policy,
        ..NewSession::new(id, engine.clock().now(), workspace, model)
    }
}

/// The parent's policy. What it allows in its workspace, it allows in a worktree that was made of it.
fn child_policy(parent: &Session, workspace: Option<&str>) -> Policy {
    let mut policy = parent.policy.clone();
    if let Some(workspace) = workspace {
        for rule in &mut policy.approval.rules {
            let moved = workspace_key(parent.runner.as_ref(), workspace);
            move_rule(rule, &parent.workspace_key(), &moved);
        }
    }
    policy
}

/// What holds in one workspace holds in another that was made of it.
pub(super) fn move_rule(rule: &mut Rule, from: &str, to: &str) {
    if rule.workspace.as_deref() == Some(from) {
        rule.workspace = Some(to.to_owned());
    }
}

/// What a child may spend: no more than its parent.
fn limited_budget(wanted: Budget, limit: Budget) -> Budget {
    fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
    Budget {
        max_steps: least(wanted.max_steps, limit.max_steps),
        max_tokens: least(wanted.max_tokens, limit.max_tokens),
        max_seconds: least(wanted.max_seconds, limit.max_seconds),
    }
}

/// The child's first message and its turn.
fn first_prompt(engine: &Engine, text: &str) -> Command {
    let clock = engine.clock();
    let message = Message {
        id: MessageId::new(clock.uuid()),
        role: Role::User,
        parts: vec![Part::text(text)],
        created_at: clock.now(),
    };
    Command::Submit(SubmitMessage {
        message,
        turn_id: TurnId::new(clock.uuid()),
        delivery: Delivery::Queue,
        auto_run: Some(true),
        idempotency_key: None,
        by: "parent".to_owned(),
    })
}
