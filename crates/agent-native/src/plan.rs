//! A turn that carries out a plan: each subtask is given to a session of its own as soon as those that it
//! depends on are completed. No model is asked here; what the sessions said goes into the conversation.
//!
//! Nothing is kept that is not in the log: after a restart the sessions that were started are found again
//! by the names of their subtasks.

use std::fmt::Write;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use ostler_agent::{CompletedTurn, FailedTurn, NewChild, ReportError, TurnContext};
use ostler_types::{
    ChildOutcome, ChildStatus, Failure, Message, Part, Plan, Refusal, RefusalCode, Role, SessionId,
    StateLimits, Subtask, TurnReport,
};

use crate::prompts;
use crate::spending::TurnSpending;
use crate::task::{budget_within, files_in_words, session_link};

/// How much of what subtasks said a later one is told, and how much the conversation is told of all.
const DEPENDENCY_BYTES: usize = 32 << 10;
const SUMMARY_BYTES: usize = 48 << 10;
/// The least that is told of each.
const MIN_SUBTASK_BYTES: usize = 240;

/// Carries out a plan, from where it stands to its end.
pub(crate) async fn run_plan(
    context: &TurnContext,
    spending: &TurnSpending,
    plan: &Plan,
) -> Result<CompletedTurn, FailedTurn> {
    let asked = plan.concurrency.map_or(StateLimits::CHILDREN, |number| number as usize);
    let mut at_once = asked.clamp(1, StateLimits::CHILDREN);
    let mut work = PlanProgress::new(plan);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < at_once
            && let Some(index) = work.next_ready()
        {
            work.statuses[index] = SubtaskStatus::AtWork;
            running.push(run_subtask(context, index, work.new_child(index, context, spending)));
        }
        let Some((index, ended)) = running.next().await else { break };
        work.statuses[index] = match ended? {
            SubtaskEnd::Outcome(session_id, outcome) => SubtaskStatus::Ended(session_id, outcome),
            // Sessions that run in the background take up places, too; with fewer at once there is room.
            SubtaskEnd::Refused(refusal)
                if refusal.code == RefusalCode::TooManyChildren && !running.is_empty() =>
            {
                at_once = running.len();
                SubtaskStatus::Open
            }
            SubtaskEnd::Refused(refusal) => SubtaskStatus::NotStarted(refusal.message),
        };
    }
    let message = Message {
        id: context.message_id(),
        role: Role::System,
        parts: vec![Part::text(work.summary())],
        created_at: context.clock.now(),
    };
    context.report(TurnReport::NoteAdded { message }).await?;
    work.outcome()
}

/// How a subtask was left by the session that worked on it.
enum SubtaskEnd {
    Outcome(SessionId, ChildOutcome),
    Refused(Refusal),
}

/// Has a session work on a subtask, and waits for it.
async fn run_subtask(
    context: &TurnContext,
    index: usize,
    child: NewChild,
) -> (usize, Result<SubtaskEnd, FailedTurn>) {
    let ended = async {
        let session_id = context.start_child(child).await?;
        let outcome = context.wait_for_child(session_id).await?;
        Ok(SubtaskEnd::Outcome(session_id, outcome))
    };
    let ended = match ended.await {
        Ok(ended) => Ok(ended),
        Err(ReportError::Refused(refusal)) => Ok(SubtaskEnd::Refused(refusal)),
        Err(error @ (ReportError::TurnOver | ReportError::NotRecorded(_))) => Err(error.into()),
    };
    (index, ended)
}

/// A plan and how far each of its subtasks is.
struct PlanProgress<'a> {
    subtasks: &'a [Subtask],
    statuses: Vec<SubtaskStatus>,
}

enum SubtaskStatus {
    Open,
    AtWork,
    Ended(SessionId, ChildOutcome),
    NotStarted(String),
}

impl SubtaskStatus {
    /// What was answered, if it is completed.
    fn answer(&self) -> Option<&str> {
        match self {
            SubtaskStatus::Ended(_, outcome) if outcome.status == ChildStatus::Completed => {
                Some(&outcome.text)
            }
            SubtaskStatus::Ended(..)
            | SubtaskStatus::Open
            | SubtaskStatus::AtWork
            | SubtaskStatus::NotStarted(_) => None,
        }
    }

    /// Whether it will not be completed any more.
    fn will_not_complete(&self) -> bool {
        match self {
            SubtaskStatus::Ended(_, outcome) => outcome.status != ChildStatus::Completed,
            SubtaskStatus::NotStarted(_) => true,
            SubtaskStatus::Open | SubtaskStatus::AtWork => false,
        }
    }
}

impl<'a> PlanProgress<'a> {
    fn new(plan: &'a Plan) -> PlanProgress<'a> {
        PlanProgress {
            subtasks: &plan.subtasks,
            statuses: plan.subtasks.iter().map(|_| SubtaskStatus::Open).collect(),
        }
    }

    /// The first subtask that can be begun. Those that cannot any more are given up on the way, and what
    /// depends on them with them.
    fn next_ready(&mut self) -> Option<usize> {
        while let Some((index, lost)) = self.next_blocked() {
            self.statuses[index] =
                SubtaskStatus::NotStarted(format!("`{lost}`, which it depends on, was not completed"));
        }
        let ready = |index: &usize| {
            let mut needed = self.subtasks[*index].depends_on.iter();
            matches!(self.statuses[*index], SubtaskStatus::Open)
                && needed.all(|name| self.status_of(name).is_some_and(|stands| stands.answer().is_some()))
        };
        (0..self.subtasks.len()).find(ready)
    }

    /// A subtask that waits for one that will not be completed, and the name of that one.
    fn next_blocked(&self) -> Option<(usize, &'a str)> {
        let open = |(_, stands): &(usize, &SubtaskStatus)| matches!(stands, SubtaskStatus::Open);
        self.statuses.iter().enumerate().filter(open).find_map(|(index, _)| {
            let lost = |name: &&String| self.status_of(name).is_none_or(SubtaskStatus::will_not_complete);
            let name = self.subtasks[index].depends_on.iter().find(lost)?;
            Some((index, name.as_str()))
        })
    }

    fn status_of(&self, name: &str) -> Option<&SubtaskStatus> {
        let index = self.subtasks.iter().position(|subtask| subtask.id == name)?;
        self.statuses.get(index)
    }

    /// The session for a subtask. It is told what those have answered that it builds on, since it knows
    /// nothing else.
    fn new_child(&self, index: usize, context: &TurnContext, spending: &TurnSpending) -> NewChild {
        let subtask = &self.subtasks[index];
        let mut prompt = subtask.prompt.clone();
        let room = DEPENDENCY_BYTES / subtask.depends_on.len().max(1);
        for name in &subtask.depends_on {
            if let Some(answer) = self.status_of(name).and_then(SubtaskStatus::answer) {
                let shown = cut(answer, room);
                prompt.push_str(&prompts::dependency_answer(name, &shown));
            }
        }
        NewChild {
            tool_call_id: None,
            subtask: Some(subtask.id.clone()),
            description: subtask.description.clone().unwrap_or_else(|| subtask.id.clone()),
            prompt,
            agent: subtask.agent.clone(),
            model: subtask.model.clone(),
            worktree: subtask.worktree,
            background: false,
            budget: budget_within(context, spending, subtask.budget.unwrap_or_default()),
        }
    }

    /// What the conversation is told of the plan.
    fn summary(&self) -> String {
        let room = (SUMMARY_BYTES / self.subtasks.len().max(1)).max(MIN_SUBTASK_BYTES);
        let mut told = prompts::PLAN_ENDED.to_owned();
        for (subtask, stands) in self.subtasks.iter().zip(&self.statuses) {
            let (how, text) = match stands {
                SubtaskStatus::Ended(id, ChildOutcome { status, text, error, .. }) => {
                    let how = match status {
                        ChildStatus::Completed => "completed",
                        ChildStatus::Failed => "failed",
                        ChildStatus::Canceled => "stopped",
                    };
                    let why = error.as_ref().map(|why| format!(": {}", cut(why, room))).unwrap_or_default();
                    (format!("{how}{why} ({})", session_link(*id)), text.as_str())
                }
                SubtaskStatus::NotStarted(why) => (format!("not started: {}", cut(why, room)), ""),
                SubtaskStatus::Open | SubtaskStatus::AtWork => ("not started".to_owned(), ""),
            };
            let text = cut(text.trim(), room);
            let name = subtask.description.as_deref().unwrap_or_default();
            let name = if name.is_empty() { String::new() } else { format!(" ({})", cut(name, 200)) };
            _ = write!(told, "\n\n`{}`{name}: {how}", subtask.id);
            if !text.is_empty() {
                _ = write!(told, "\n{text}");
            }
            if let SubtaskStatus::Ended(_, ChildOutcome { changed_files: Some(files), .. }) = stands
                && *files > 0
            {
                told.push_str(&prompts::subtask_changes(&files_in_words(*files)));
            }
        }
        told
    }

    /// How the turn ends.
    fn outcome(&self) -> Result<CompletedTurn, FailedTurn> {
        let lost = self.subtasks.iter().zip(&self.statuses).filter(|(_, stands)| stands.answer().is_none());
        let names: Vec<String> = lost.map(|(subtask, _)| format!("`{}`", subtask.id)).collect();
        if names.is_empty() {
            let stop_reason = "subtasks_completed".to_owned();
            return Ok(CompletedTurn { stop_reason, verified: None, verification: None });
        }
        let code = "subtasks_failed".to_owned();
        let (count, of) = (names.len(), self.subtasks.len());
        let message = format!("{count} of {of} subtasks were not completed: {}", names.join(", "));
        let hint = Some(
            "see the conversation for the reasons; retry the turn to run the whole plan again".to_owned(),
        );
        Err(FailedTurn { error: Failure { code: code.clone(), message, hint }, reason: code })
    }
}

/// As much of a text as there is room for.
fn cut(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    format!("{} […]", &text[..text.floor_char_boundary(room)])
}
