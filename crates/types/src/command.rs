//! Commands: everything that can be asked of a session, by a client, by its agent or by the engine.
//! Ids and times come in with the command, so that deciding stays pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    AgentState, ApprovalOption, ChildUpdate, CommandResult, Effort, Event, Failure, Message, MessageId,
    Moment, NewCompaction, Part, Plan, Policy, PolicyContext, Resolution, ReviewAnswer, Reviewed, Scope,
    SessionId, Subject, ToolCall, ToolCallId, ToolKind, ToolResult, TurnId, TurnPatch, Usage,
};

/// What can be asked of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Add a message and, unless told otherwise, answer it.
    Submit(SubmitMessage),
    /// Start a turn on the messages that have not been answered.
    Run {
        /// The new turn's id.
        turn_id: TurnId,
    },
    /// Take back a queued message.
    Withdraw {
        /// The message.
        message_id: MessageId,
        /// Who asks.
        by: String,
    },
    /// Change a queued message, its place or its delivery; what is absent stays.
    Requeue(RequeueMessage),
    /// Answer an approval.
    Answer(AnswerApproval),
    /// Stop the running turn.
    Cancel(CancelTurn),
    /// Repeat the last turn, which failed or was canceled.
    Retry {
        /// The turn to repeat.
        retry_of: TurnId,
        /// The new turn's id.
        turn_id: TurnId,
    },
    /// Make the conversation shorter for the model, in a turn of its own.
    Compact {
        /// The new turn's id.
        turn_id: TurnId,
    },
    /// Begin the conversation anew: nothing that was said so far is shown to the model any more.
    Reset {
        /// What takes the place of it, up to its last message.
        compaction: Box<NewCompaction>,
    },
    /// Have other sessions work on a plan, in a turn of its own.
    RunPlan {
        /// The new turn's id.
        turn_id: TurnId,
        /// The plan.
        plan: Plan,
    },
    /// A session that this one has started has something to say.
    Child {
        /// That session.
        session_id: SessionId,
        /// What it says.
        news: ChildUpdate,
    },
    /// Change what may be changed.
    Update(SessionChange),
    /// Close the session.
    Close {
        /// Who asks.
        by: String,
    },
    /// The daemon stops: end the turn unless it only waits, and leave the queue for the next start.
    Suspend {
        /// Whether the agent can go on with calls that have not started.
        resumable: bool,
    },
    /// The session was read back from disk with a turn open, and nobody runs that turn.
    Recover {
        /// Whether the agent can go on with calls that have not started.
        resumable: bool,
    },
    /// The agent of the running turn reports.
    Report {
        /// The turn that it speaks of; reports of a turn that is over are refused.
        turn_id: TurnId,
        /// What it says.
        report: TurnReport,
    },
}

/// A message for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SubmitMessage {
    /// The message.
    pub message: Message,
    /// The id of the turn that will answer it, if it needs one of its own.
    pub turn_id: TurnId,
    /// What to do when a turn is running.
    pub delivery: Delivery,
    /// Whether to answer now; the session's own setting when absent.
    pub auto_run: Option<bool>,
    /// The caller's key: asking twice with one key adds one message.
    pub idempotency_key: Option<String>,
    /// Who asks.
    pub by: String,
}

/// A change of a queued message; what is absent stays.
#[derive(Debug, Clone, PartialEq)]
pub struct RequeueMessage {
    /// The message.
    pub message_id: MessageId,
    /// The turn that will answer it, should its delivery change.
    pub turn_id: TurnId,
    /// Its new content.
    pub parts: Option<Vec<Part>>,
    /// How it is to be delivered.
    pub delivery: Option<Delivery>,
    /// The queued message to put it before; `Some(None)` puts it last.
    pub before: Option<Option<MessageId>>,
    /// Who asks.
    pub by: String,
}

/// An answer to an approval.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerApproval {
    /// The turn that the call belongs to.
    pub turn_id: TurnId,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Yes or no.
    pub verdict: Verdict,
    /// For how long.
    pub scope: Scope,
    /// Why; the model sees it when the answer is no.
    pub reason: Option<String>,
    /// The rejected files and the comments, when a review is answered.
    pub review: Option<ReviewAnswer>,
    /// Which of the offered answers, when the call's agent offers some.
    pub option: Option<String>,
    /// Who answers.
    pub by: String,
}

/// A request to stop a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct CancelTurn {
    /// The turn to stop; whichever runs when absent. A turn that is named but no longer runs leaves the
    /// running one alone: the next may have begun before the request arrived.
    pub turn_id: Option<TurnId>,
    /// Who asks.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// A call that an agent wants to run.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedCall {
    /// The call, as the tool will see it.
    pub tool_call: ToolCall,
    /// What it touches.
    pub kind: ToolKind,
    /// What it will do, for people.
    pub summary: String,
    /// Why the tool wants a person to be asked whatever the policy says.
    pub risk: Option<String>,
    /// Whether the workspace was trusted when the turn began.
    pub trusted: bool,
    /// What it acts on, as the tool says.
    pub subject: Subject,
    /// The answers that the call's agent offers. One that offers some wants to be answered by a person.
    pub options: Vec<ApprovalOption>,
}

/// What only the engine knows when it decides a command. No client and no agent can set it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DecisionFacts {
    /// The text that the model has written of its current message, for a command that ends the turn.
    pub partial: Option<Message>,
    /// What counts for a proposed call beside the session's policy.
    pub policy_context: PolicyContext,
    /// The call that starts, as it was when the policy let it through unasked.
    pub auto_approved: Option<ToolCall>,
    /// The first record that is still shown to the model beside the summary of a compaction.
    pub first_kept_seq: u64,
}

/// What an agent can say about its turn.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnReport {
    /// Hand over the messages that steer this turn, before its next step.
    TakeSteering,
    /// Another model takes over, because the one before it could not begin to answer.
    ModelResolved(Resolution),
    /// The model cannot answer yet, and will be asked again.
    ModelWaiting {
        /// The model.
        model: String,
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How many there are at most.
        attempts: u32,
        /// How long until the next.
        wait_ms: u64,
        /// How it failed.
        error: Failure,
    },
    /// A model was used, and no message came of it.
    UsageSpent {
        /// The model.
        model: String,
        /// What it took.
        usage: Usage,
    },
    /// The model finished a message.
    StepFinished {
        /// The model that wrote it.
        model: String,
        /// The message.
        message: Message,
        /// Why the model stopped.
        stop_reason: String,
        /// What it cost.
        usage: Usage,
    },
    /// The model finished a message that asks for nothing, in a turn with nothing to check: the turn ends with it. Where
    /// messages steer it meanwhile, they are handed over instead ([`Accepted::Steering`]), and it goes on.
    LastStepFinished {
        /// The model that wrote it.
        model: String,
        /// The message.
        message: Message,
        /// Why the model stopped.
        stop_reason: String,
        /// What it cost.
        usage: Usage,
    },
    /// The calls of the last message are about to run.
    BatchStarted {
        /// Whether they run side by side.
        parallel: bool,
    },
    /// A call of a sequential batch failed; the rest will not run.
    BatchHalted {
        /// The call that failed.
        tool_call_id: ToolCallId,
    },
    /// Every call has its result.
    BatchCompleted,
    /// May this call run? Leads to an approval where the policy wants one.
    CallProposed(ProposedCall),
    /// The call is about to take effect.
    CallStarted {
        /// The call, as the tool will see it.
        tool_call: ToolCall,
        /// What it touches.
        kind: ToolKind,
    },
    /// The call has its result.
    CallFinished {
        /// The result.
        result: ToolResult,
        /// How long it took.
        duration_ms: u64,
        /// The id of the message that carries it to the model.
        message_id: MessageId,
    },
    /// The workspace was captured.
    CheckpointCreated {
        /// The checkpoint.
        checkpoint_id: String,
        /// Before or after the turn's changes.
        moment: Moment,
        /// How many files it holds.
        files: u64,
        /// How many bytes they have.
        bytes: u64,
        /// How many files it does not hold, because they are too large.
        left_out: u64,
    },
    /// The workspace could not be captured.
    CheckpointFailed {
        /// Before or after the turn's changes.
        moment: Moment,
        /// Why not.
        reason: String,
    },
    /// This is what the turn changed; leads to a question when it is to wait.
    ReviewRequested {
        /// The changes.
        patch: TurnPatch,
        /// Whether somebody has to say yes.
        waits: bool,
    },
    /// The model is told something that nobody said: what came of a review, what the workspace holds.
    NoteAdded {
        /// What it is told.
        message: Message,
    },
    /// The conversation was made shorter.
    Compacted(Box<NewCompaction>),
    /// This is how the agent stands: what can be chosen, what it plans.
    AgentUpdated(Box<AgentState>),
    /// Another session is about to be started.
    SubagentStarted {
        /// That session.
        session_id: SessionId,
        /// The call that starts it, unless a plan does.
        tool_call_id: Option<ToolCallId>,
        /// The subtask of the plan that it works on.
        subtask: Option<String>,
        /// What it is for, in a line.
        description: String,
        /// Whether the turn goes on without waiting for it.
        background: bool,
    },
    /// The workspace is being checked.
    VerificationStarted {
        /// Which round, from 1.
        round: u32,
        /// The commands.
        commands: Vec<String>,
    },
    /// The check is over.
    VerificationCompleted {
        /// Which round, from 1.
        round: u32,
        /// Whether every command succeeded.
        ok: bool,
        /// How each went.
        results: Vec<CommandResult>,
        /// What the model is told of a failure.
        feedback: Option<Message>,
    },
    /// The turn is done.
    Completed {
        /// Why the model stopped.
        stop_reason: String,
        /// Whether the workspace was checked, and held.
        verified: Option<bool>,
        /// What there is to say of the check, such as why there was none.
        verification: Option<String>,
    },
    /// The turn cannot go on.
    Failed {
        /// What went wrong.
        error: Failure,
        /// A stable word for why.
        reason: String,
    },
}

/// What to do with a message that comes while a turn runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Let it be the next turn.
    #[default]
    Queue,
    /// Hand it to the model before its next step.
    Steer,
    /// Cancel the turn, then run it.
    Interrupt,
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run.
    Approve,
    /// It may not.
    Deny,
}

/// A change of a session's settings; what is absent stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionChange {
    /// A new title; an empty one removes it.
    pub title: Option<String>,
    /// Put away or back.
    pub archived: Option<bool>,
    /// Kept at the head of lists, or no longer.
    pub pinned: Option<bool>,
    /// Another model, from the next turn on.
    pub model: Option<String>,
    /// Other models to take its place.
    pub fallback_models: Option<Vec<String>>,
    /// Another effort, from the next turn on; `Some(None)` leaves it to the model's maker again.
    pub effort: Option<Option<Effort>>,
    /// Begin or stop to keep the traffic with providers, from the next turn on.
    pub raw_log: Option<bool>,
    /// Begin or stop to keep thinking, times and tokens, from now on.
    pub verbose_log: Option<bool>,
    /// Another policy, from now on.
    pub policy: Option<Policy>,
    /// Choices among the agent's settings; those that are not named stay.
    pub agent_settings: BTreeMap<String, String>,
}

/// What a command led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What to record, in order, all or nothing.
    pub events: Vec<EventFor>,
    /// What to tell the one who asked.
    pub accepted: Accepted,
}

/// An event and the turn that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct EventFor {
    /// The turn, if any.
    pub turn_id: Option<TurnId>,
    /// The event.
    pub event: Event,
}

/// The answer to a command that was not refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Accepted {
    /// Done; there is nothing to add.
    Done,
    /// The command asked for what was already so.
    Unchanged,
    /// The message is in; this turn will answer it.
    Message {
        /// The message.
        message_id: MessageId,
        /// The turn, unless none was asked for.
        turn_id: Option<TurnId>,
    },
    /// The turn begins.
    Turn {
        /// The turn.
        turn_id: TurnId,
    },
    /// These messages steer the turn from now on.
    Steering(Vec<Message>),
    /// The call may run now.
    Allowed,
    /// The call was refused.
    Denied {
        /// Why, if a reason was given.
        reason: Option<String>,
    },
    /// The call waits for an answer.
    Waiting,
    /// The call was answered by one of the answers that its agent offered.
    Chosen {
        /// Which.
        option: String,
        /// Whether it was a yes.
        allowed: bool,
    },
    /// The review was answered.
    Reviewed(Box<Reviewed>),
    /// The question is that of a session which this one has started; it is to be answered there.
    Forward {
        /// That session.
        session_id: SessionId,
        /// Its turn.
        turn_id: TurnId,
    },
}
