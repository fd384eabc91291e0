//! The bodies and answers of the HTTP API, once for the server and its clients. Their doc comments are part of the
//! OpenAPI document. Nouns that the daemon itself works with are in `types`; queries and streams are not here, nor is
//! the body of an attachment, which both sides read and write without a copy.

#![allow(
    missing_docs,
    reason = "a doc comment becomes a description in the OpenAPI document, and some fields have none"
)]

mod approvals;
mod capabilities;
mod daemon;
mod derived_sessions;
mod files;
mod messages;
mod policy;
mod sessions;
mod turns;
mod usage;
mod workspaces;

pub use approvals::{ApprovalAnswerBody, ApprovalAnswered, ApprovalDiff, Approvals};
pub use capabilities::{
    AgentList, AgentSessionList, ContextShare, ContextView, ModelList, OneTool, ToolList,
};
pub use daemon::{ConfiguredProvider, Health, LoginCode, LoginRequest, SettingsView};
pub use derived_sessions::{ForkSession, PieceBody, PlanRequest, SubtaskBody};
pub use files::{FileList, StoredFile};
pub use messages::{
    AttachmentReference, CancelRequest, Canceled, ChangeQueued, InputPart, MessagePage, MessageQueue,
    MessageWithdrawn, SendMessage, Sent, Speaker, Started, Waits,
};
pub use policy::{ApprovalBody, ModelBody, PatchReviewBody, PolicyBody, RuleBody, VerifyBody};
pub use sessions::{
    ContextUsage, CreateMode, CreateSession, Created, ListedSession, SessionClosed, SessionPage,
    SessionWithContext, UpdateSession,
};
pub use turns::{NotUndone, TurnDiff, TurnFile, UndoTurn, Undone};
pub use usage::{UsageBy, UsageRow, UsageSum, UsageTable};
pub use workspaces::{
    AddProject, DirectoryList, FoundFile, FoundFiles, OneDirectory, ProjectList, ProjectRemoved, ProjectView,
    TrustWorkspace, WorkspaceTrust,
};
