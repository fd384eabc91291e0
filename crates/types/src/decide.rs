//! The rules. [`decide`] looks at the state, a command and what the engine knows besides, and says what is to be recorded.
//!
//! The submodules group the rules by what they are about: [`message`] (what people say), [`turn`]
//! (how turns begin and end), [`approval`] (questions and answers), [`child`] (sessions that it has started), [`report`] (what an agent says).

mod approval;
mod child;
mod message;
mod report;
mod turn;

pub(crate) use child::end_notice_id;

use crate::{
    Accepted, AgentEvent, Command, Decision, DecisionFacts, Event, EventFor, NewSession, Policy, Refusal,
    RefusalKind, Session, SessionChange, SessionEvent, SessionStatus, State, StateLimits, StepEvent, TurnId,
    Usage,
};

/// What a command leads to, or why it is refused. Pure: the same state, command and facts, the same answer.
pub fn decide(state: &State, command: Command, facts: &DecisionFacts) -> Result<Decision, Refusal> {
    match command {
        Command::Submit(submit) => message::submit(state, submit, facts),
        Command::Run { turn_id } => turn::run(state, turn_id),
        Command::Withdraw { message_id, by } => message::withdraw(state, message_id, by),
        Command::Requeue(requeue) => message::requeue(state, requeue),
        Command::Answer(answer) => approval::answer(state, answer),
        Command::Cancel(cancel) => {
            check_label("reason", cancel.reason.as_deref())?;
            Ok(turn::cancel(state, cancel, facts))
        }
        Command::Retry { retry_of, turn_id } => turn::retry(state, retry_of, turn_id),
        Command::Compact { turn_id } => turn::compact(state, turn_id),
        Command::Reset { compaction } => turn::reset(state, *compaction),
        Command::RunPlan { turn_id, plan } => turn::run_plan(state, turn_id, plan),
        Command::Child { session_id, news } => Ok(child::child_update(state, session_id, news)),
        Command::Update(change) => update(state, change),
        Command::Close { by } => Ok(turn::close(state, by, facts)),
        Command::Suspend { resumable } => Ok(turn::suspend(state, resumable, facts)),
        Command::Recover { resumable } => Ok(turn::recover(state, resumable, facts)),
        Command::Report { turn_id, report } => report::report(state, turn_id, report, facts),
    }
}

/// The first events of a new session.
pub fn create(new: NewSession) -> Result<Vec<Event>, Refusal> {
    check_label("title", new.title.as_deref())?;
    check_label("idempotency_key", new.idempotency_key.as_deref())?;
    check_label("name", new.name.as_deref())?;
    if new.system_prompt.as_ref().is_some_and(|prompt| prompt.len() > StateLimits::MESSAGE_BYTES) {
        return Err(too_large("system_prompt", StateLimits::MESSAGE_BYTES));
    }
    check_policy(&new.policy)?;
    check_fallbacks(&new.fallback_models)?;
    let session = Session {
        id: new.id,
        created_at: new.at,
        updated_at: new.at,
        status: SessionStatus::Active,
        workspace_path: new.workspace_path,
        runner: new.runner,
        system_prompt: new.system_prompt,
        last_turn_id: None,
        agent: new.agent,
        model: new.model,
        fallback_models: without_duplicates(new.fallback_models),
        effort: new.effort,
        raw_log: new.raw_log,
        verbose_log: new.verbose_log,
        log_root: new.log_root,
        title: new.title.filter(|title| !title.is_empty()),
        archived: false,
        pinned: false,
        parent_session_id: new.parent_session_id,
        depth: new.depth,
        name: new.name,
        agent_session_id: new.agent_session_id,
        agent_settings: new.agent_settings,
        budget: new.budget,
        worktree: new.worktree,
        forked_from: new.forked_from,
        mode: new.mode,
        auto_run: new.auto_run,
        policy: new.policy,
        usage: Usage::default(),
        idempotency_key: new.idempotency_key,
    };
    let resolved = new.resolution.map(|resolution| Event::Step(StepEvent::ModelResolved { resolution }));
    let agent = new.agent_state.map(|agent| Event::Agent(AgentEvent::Updated { agent: *agent }));
    Ok(std::iter::once(Event::Session(SessionEvent::Created { session }))
        .chain(resolved)
        .chain(agent)
        .collect())
}

fn update(state: &State, change: SessionChange) -> Result<Decision, Refusal> {
    check_label("title", change.title.as_deref())?;
    change.policy.as_ref().map_or(Ok(()), check_policy)?;
    change.fallback_models.as_deref().map_or(Ok(()), check_fallbacks)?;
    let mut session = state.session.clone();
    if let Some(title) = change.title {
        session.title = Some(title).filter(|title| !title.is_empty());
    }
    session.archived = change.archived.unwrap_or(session.archived);
    session.pinned = change.pinned.unwrap_or(session.pinned);
    session.model = change.model.unwrap_or(session.model);
    session.fallback_models = change.fallback_models.map_or(session.fallback_models, without_duplicates);
    session.effort = change.effort.unwrap_or(session.effort);
    session.raw_log = change.raw_log.unwrap_or(session.raw_log);
    session.verbose_log = change.verbose_log.unwrap_or(session.verbose_log);
    session.policy = change.policy.unwrap_or(session.policy);
    for (name, choice) in change.agent_settings {
        check_label("agent_settings", Some(&name))?;
        check_label("agent_settings", Some(&choice))?;
        session.agent_settings.insert(name, choice);
    }
    if session.agent_settings.len() > StateLimits::SETTINGS {
        return Err(too_large("agent_settings", StateLimits::SETTINGS));
    }
    if session == state.session {
        return Ok(Decision::unchanged());
    }
    Ok(Decision {
        events: vec![session_event(Event::Session(SessionEvent::Updated { session }))],
        accepted: Accepted::Done,
    })
}

impl Decision {
    fn done(events: Vec<EventFor>) -> Decision {
        Decision { events, accepted: Accepted::Done }
    }

    fn unchanged() -> Decision {
        Decision { events: Vec::new(), accepted: Accepted::Unchanged }
    }
}

/// An event of the session as a whole.
fn session_event(event: Event) -> EventFor {
    EventFor { turn_id: None, event }
}

/// An event of a turn.
fn turn_event(turn_id: TurnId, event: Event) -> EventFor {
    EventFor { turn_id: Some(turn_id), event }
}

fn refuse_if_closed(state: &State) -> Result<(), Refusal> {
    if state.session.status == SessionStatus::Completed {
        return Err(Refusal::conflict("session_closed", "this session is closed")
            .hint("make a new session; the old one can still be read"));
    }
    Ok(())
}

fn check_policy(policy: &Policy) -> Result<(), Refusal> {
    if policy.approval.rules.len() > StateLimits::RULES {
        let message = format!("a session has at most {} rules", StateLimits::RULES);
        return Err(Refusal::new(RefusalKind::TooLarge, "too_many_rules", message));
    }
    let patterns = policy.approval.rules.iter().flat_map(|rule| &rule.commands);
    for pattern in patterns {
        pattern.check().map_err(|why| Refusal::invalid("bad_rule", why))?;
    }
    Ok(())
}

/// The names, each where it comes first.
fn without_duplicates(names: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

fn check_fallbacks(models: &[String]) -> Result<(), Refusal> {
    if models.len() > StateLimits::FALLBACK_MODELS {
        let message = format!("a session has at most {} fallback models", StateLimits::FALLBACK_MODELS);
        return Err(Refusal::new(RefusalKind::TooLarge, "too_many_models", message));
    }
    models.iter().try_for_each(|model| check_label("fallback_models", Some(model)))
}

fn check_label(name: &str, value: Option<&str>) -> Result<(), Refusal> {
    match value {
        Some(value) if value.len() > StateLimits::LABEL_BYTES => {
            Err(too_large(name, StateLimits::LABEL_BYTES))
        }
        _ => Ok(()),
    }
}

fn too_large(what: &str, limit: usize) -> Refusal {
    Refusal::new(RefusalKind::TooLarge, "too_large", format!("{what} is larger than {limit} bytes"))
}
