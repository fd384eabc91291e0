//! The nouns of Ostler, and its pure rules.
//!
//! A session is a log of events. [`decide`] says which events a command leads to, or refuses it;
//! [`State::apply`] folds an event into the state. Nothing here does IO, reads a clock, makes an id,
//! spawns or awaits: the engine passes in ids and times, and writes down what is decided.

// A new event or report must be looked at wherever one is told from another.
#![warn(clippy::wildcard_enum_match_arm)]

mod agent_description;
mod agent_state;
mod apply;
mod child;
mod clock;
mod command;
mod context_section;
mod conversation;
mod decide;
mod delta;
mod event;
mod event_name;
mod ids;
mod live_text;
mod message;
mod model;
mod object;
mod policy;
mod printable;
mod raw;
mod record;
mod refusal;
mod review;
mod runner_name;
mod secrets;
mod session;
mod state;
mod subject;
mod tool;
mod view;
mod work_mode;
mod workspace_settings;

pub use agent_description::{AgentDescription, AgentLink, AgentProcess, AgentSession};
pub use agent_state::{
    AgentChoice, AgentCommand, AgentSetting, AgentState, ApprovalOption, LoginMethod, OptionKind, PlanEntry,
};
pub use child::{
    Budget, Child, ChildCall, ChildOutcome, ChildStatus, ChildUpdate, ForkedFrom, MAX_SESSION_DEPTH, Plan,
    Purpose, Subtask, Worktree,
};
pub use clock::Clock;
pub use command::{
    Accepted, AnswerApproval, CancelTurn, Command, Decision, DecisionFacts, Delivery, EventFor, ProposedCall,
    RequeueMessage, SessionChange, SubmitMessage, TurnReport, Verdict,
};
pub use context_section::{ContextKind, ContextSection};
pub use conversation::{Compaction, CompactionTrigger, Conversation, NewCompaction};
pub use decide::{create, decide};
pub use delta::{Delta, DeltaKind};
pub use event::{
    AgentEvent, ApprovalEvent, BatchEvent, CallEvent, CallName, ChildEvent, CommandResult, Event, Failure,
    MessageEvent, SessionEvent, StepEvent, TurnEvent, WorkspaceEvent,
};
pub use event_name::{EventName, UnknownEvent};
pub use ids::{IdError, MessageId, SessionId, ToolCallId, TurnId};
pub use live_text::{LiveText, Spliced, splice, unseen_part};
pub use message::{Message, Part, Picture, Role};
pub use model::{Ability, Cost, Effort, InfoSource, ModelInfo, ModelPolicy, Prices, Resolution, ResolvedBy};
pub use object::{object, optional_object};
pub use policy::{
    ApprovalPolicy, CommandPattern, JudgedCall, Judgement, PatchReview, PatchReviewMode, Policy,
    PolicyContext, Rule, Scope, VerifyPolicy,
};
pub use printable::{in_one_line, is_printable, printable, shell_word};
pub use raw::RawLine;
pub use record::{NewRecord, Record};
pub use refusal::{Refusal, RefusalCode, RefusalKind};
pub use review::{
    ChangeKind, FileChange, Moment, PATCH_REVIEW, RejectedFile, ReviewAnswer, ReviewComment, Reviewed,
    TurnPatch,
};
pub use runner_name::{RunnerName, workspace_key};
pub use secrets::{Secrets, stream_tail_start};
pub use session::{NewSession, Session, SessionStatus, SessionView, Usage};
pub use state::{
    AnsweredApproval, CallStatus, ContextUse, OpenBatch, OpenCall, OpenReview, OpenTurn, PendingApproval,
    Queued, State, StateLimits, TurnStatus, TurnSummary,
};
pub use subject::{CommandLine, Subject};
pub use tool::{ToolCall, ToolKind, ToolResult, ToolSpec, results};
pub use view::View;
pub use work_mode::{WORK_MODES, WorkMode};
pub use workspace_settings::{Brought, BroughtRule, BroughtServer};
