//! All that can happen to the terminal client, and all that it can ask for. Between the two stands [`crate::update`].

use crossterm::event::KeyEvent;
use ostler_api_types::{
    ApprovalAnswerBody, ChangeQueued, ContextView, CreateSession, ListedSession, ModelList, SendMessage,
    SessionWithContext, StoredFile, UndoTurn, Undone, UpdateSession,
};
use ostler_types::{FileChange, MessageId, PendingApproval, Record, SessionId, ToolCallId, TurnId};

use crate::picture::ShownPicture;
use crate::stream_line::StreamLine;

/// Something that happened.
#[derive(Debug)]
pub enum TuiInput {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The wheel was turned.
    Wheel {
        /// Away from the reader.
        up: bool,
    },
    /// The mouse was clicked.
    Click {
        /// The column, from 0.
        column: u16,
        /// The row, from 0.
        row: u16,
    },
    /// The terminal has another size.
    Resize {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// Time has passed.
    Tick {
        /// Milliseconds since some moment.
        now: u64,
        /// Seconds since 1970.
        unix: i64,
    },
    /// The screen was drawn, which may have shown that something is missing.
    ScreenDrawn,
    /// The daemon said something, or a request to it came to nothing.
    News(DaemonNews),
    /// The editor was closed; none when it failed or nothing came of it.
    EditorClosed(Option<String>),
    /// A command of the person's own has ended.
    CommandEnded {
        /// The session that it was run for.
        id: Option<SessionId>,
        /// The command.
        command: String,
        /// What it printed, and how it ended.
        output: String,
    },
}

/// What comes from the daemon.
#[derive(Debug)]
pub enum DaemonNews {
    /// There is a connection.
    Connected {
        /// What there is to say about it.
        note: Option<String>,
    },
    /// There is none (any more).
    Disconnected {
        /// Why.
        why: String,
        /// Whether one is being started.
        starting: bool,
    },
    /// The sessions, and all that waits for an answer.
    Listed {
        /// Newest activity first.
        sessions: Vec<ListedSession>,
        /// Over all sessions.
        approvals: Vec<PendingApproval>,
    },
    /// Something happened in some session.
    Feed(Box<Record>),
    /// A session as it stands.
    Loaded(Box<SessionWithContext>),
    /// Lines of a session's stream, in order.
    Lines {
        /// The session.
        id: SessionId,
        /// The lines.
        lines: Vec<StreamLine>,
    },
    /// A session's stream has ended.
    Ended {
        /// The session.
        id: SessionId,
        /// Why it cannot be opened again, if it cannot.
        refused: Option<String>,
    },
    /// An older page of a session.
    Older {
        /// The session.
        id: SessionId,
        /// The first record of the page.
        first: u64,
        /// The records; fewer if they could not be had.
        records: Vec<Record>,
    },
    /// A session was made for a first message.
    Created {
        /// The message's key.
        key: String,
        /// The session.
        id: SessionId,
    },
    /// A message is in.
    Sent {
        /// The session.
        id: SessionId,
        /// The message's key.
        key: String,
    },
    /// A message or a session for one is not in.
    NotSent {
        /// The session, unless that was to be made.
        id: Option<SessionId>,
        /// The message's key.
        key: String,
        /// Why.
        why: String,
        /// Whether it may go through later.
        later: bool,
    },
    /// An answer to an approval was not taken.
    NotAnswered {
        /// The session.
        id: SessionId,
        /// The call.
        call: String,
        /// Why.
        why: String,
        /// Whether somebody else has answered.
        over: bool,
    },
    /// A change of a waiting message was not taken.
    NotRequeued {
        /// The session.
        id: SessionId,
        /// What a person has written for it.
        text: Option<String>,
        /// Why.
        why: String,
    },
    /// The models that there are.
    Models(ModelList),
    /// The agents that there are.
    Agents(Vec<String>),
    /// Files for a completion.
    Files {
        /// What was looked for.
        query: String,
        /// The files.
        paths: Vec<String>,
    },
    /// Sessions in which something was said.
    Found {
        /// What was looked for.
        query: String,
        /// The sessions.
        sessions: Vec<ListedSession>,
    },
    /// What an undo would do, or did.
    Undone {
        /// The session.
        id: SessionId,
        /// The turn.
        turn: TurnId,
        /// Whether nothing was done yet.
        preview: bool,
        /// What.
        undone: Undone,
    },
    /// What the model is shown.
    Context(ContextView),
    /// A file is with the daemon.
    Attached {
        /// The session.
        id: SessionId,
        /// The file.
        file: StoredFile,
    },
    /// What a call would change that is asked about, if that can be told.
    Compared {
        /// The session that shows the question.
        id: SessionId,
        /// The call.
        call: ToolCallId,
        /// The files.
        files: Option<Vec<FileChange>>,
    },
    /// A picture is here; without bytes it is not to be had.
    Picture {
        /// Its number.
        number: u32,
        /// What it is made of.
        bytes: Vec<u8>,
    },
    /// Something worth a line.
    Notice(String),
    /// A request came to nothing.
    Failed(String),
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum TuiEffect {
    /// Leave.
    Quit,
    /// Stop, to be continued by the shell.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Put a text on the clipboard.
    Copy(String),
    /// Ring.
    Bell,
    /// Listen to the mouse, or no longer.
    Mouse(bool),
    /// Let the person write in an editor.
    Edit(String),
    /// Remember what was sent.
    Remember(String),
    /// Look for the daemon now; start one if that is wished.
    Connect {
        /// Whether to start one.
        start: bool,
    },
    /// Ask for the sessions and for all that waits.
    List,
    /// Ask how a session stands.
    Load(SessionId),
    /// Follow a session from a record on; an earlier wish to is forgotten.
    Follow {
        /// The session.
        id: SessionId,
        /// The record.
        after: u64,
    },
    /// Follow it no longer.
    Unfollow(SessionId),
    /// Ask for the records from `first` up to `before`.
    Older {
        /// The session.
        id: SessionId,
        /// The first one.
        first: u64,
        /// The first one that is known.
        before: u64,
    },
    /// Make a session for a first message.
    Create {
        /// The session.
        session: Box<CreateSession>,
        /// The message's key.
        key: String,
    },
    /// Say something.
    Send {
        /// The session.
        id: SessionId,
        /// The message.
        message: Box<SendMessage>,
        /// Its key.
        key: String,
    },
    /// Answer an approval.
    Answer {
        /// The session.
        id: SessionId,
        /// The answer.
        answer: Box<ApprovalAnswerBody>,
    },
    /// Stop the running turn.
    Cancel(SessionId),
    /// Take a waiting message back.
    Withdraw(SessionId, MessageId),
    /// Change a waiting message.
    Requeue {
        /// The session.
        id: SessionId,
        /// The message.
        message: MessageId,
        /// What is to change.
        change: Box<ChangeQueued>,
        /// What a person has written for it.
        text: Option<String>,
    },
    /// Repeat a turn.
    Retry(SessionId, TurnId),
    /// Make the conversation shorter.
    Compact(SessionId),
    /// Go another way from here.
    Fork(SessionId),
    /// Close a session.
    Close(SessionId),
    /// Bring the workspace back.
    Undo {
        /// The session.
        id: SessionId,
        /// What.
        undo: UndoTurn,
    },
    /// Change a session.
    Update(SessionId, Box<UpdateSession>),
    /// Choose something of what a session's agent offers.
    Choose {
        /// The session.
        id: SessionId,
        /// What is chosen.
        setting: String,
        /// How.
        choice: String,
    },
    /// Ask for the models.
    Models,
    /// Ask for the agents.
    Agents,
    /// Ask for files.
    Files {
        /// The session, if there is one.
        id: Option<SessionId>,
        /// A part of a path.
        query: String,
    },
    /// Ask where something was said.
    Search(String),
    /// Ask what the model is shown.
    Context(SessionId),
    /// Give the daemon a file.
    Attach {
        /// The session.
        id: SessionId,
        /// The file.
        path: String,
    },
    /// Run a command of the person's own.
    Shell {
        /// The session that is told of it.
        id: Option<SessionId>,
        /// Where.
        workspace: String,
        /// The command.
        command: String,
    },
    /// Ask what a call would change that waits for an answer.
    Compare {
        /// The session that shows the question.
        id: SessionId,
        /// The one whose call it is.
        of: SessionId,
        /// The call.
        call: ToolCallId,
    },
    /// Ask for a picture.
    Picture {
        /// The session.
        id: SessionId,
        /// Where in the session's folder it lies.
        reference: String,
        /// Its number.
        number: u32,
    },
    /// Give a picture to the terminal.
    Show {
        /// The picture.
        shown: ShownPicture,
        /// What it is made of.
        bytes: Vec<u8>,
    },
    /// Trust a workspace.
    Trust(String),
}
