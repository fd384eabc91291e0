//! What a model is told of a workspace: gathered from its files, which stay on the runner.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::BoxFuture;
use ostler_types::SessionId;
use serde::{Deserialize, Serialize};

/// Gathers what a model is told of workspaces. Nothing is changed, and what cannot be found out in time is left out.
pub trait WorkspaceContext: Send + Sync {
    /// The text of a message about the workspace: instructions, the shape of the repository, files that matter for the
    /// prompt, skills; none where there is nothing new to tell. Dropping the future ends the work.
    ///
    /// What takes long to find out (how the git repository stands) is not waited for where the session was
    /// [prepared](WorkspaceContext::prepare): the text says that it follows, and `late_context` or the next text has it.
    fn gather(&self, request: GatherContext) -> BoxFuture<'_, GatheredContext>;

    /// Begins to find out what the first text of a new session needs, and returns at once. Called when the session is
    /// created, at most once; it is no promise that the session comes to be, or that anything is gathered for it. A
    /// runner may do nothing.
    fn prepare(&self, request: PrepareContext);

    /// The text of a message with what [`WorkspaceContext::gather`] said would follow; none while it is still being
    /// looked at. Does not wait for it.
    fn late_context(&self, request: LateContext) -> BoxFuture<'_, Option<String>>;

    /// The names of the skills that a session can read: the owner's own, and those of a trusted workspace.
    fn skill_names(&self, request: FindSkills) -> BoxFuture<'_, Vec<String>>;

    /// The text of one of them. The error says why it cannot be read, in words for a model.
    fn read_skill(&self, request: FindSkills, name: String) -> BoxFuture<'_, Result<String, String>>;
}

/// What was gathered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatheredContext {
    /// The text of a message; none where there is nothing new to tell.
    pub text: Option<String>,
    /// The names of the skills that the session can read, as [`WorkspaceContext::skill_names`] has them.
    pub skills: Vec<String>,
}

/// A session that was just created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrepareContext {
    /// The session.
    pub session: SessionId,
    /// Its workspace.
    pub workspace: String,
}

/// A session that was told that something follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateContext {
    /// The session.
    pub session: SessionId,
    /// Its workspace.
    pub workspace: String,
    /// The most tokens of each section.
    pub budget: ContextBudget,
}

/// What to gather, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatherContext {
    /// The session.
    pub session: SessionId,
    /// Its workspace.
    pub workspace: String,
    /// Whether the workspace is trusted. Its instructions are shown either way, since they are only text; its skills
    /// are not listed until it is trusted.
    pub trusted: bool,
    /// The text of the prompt.
    pub prompt: String,
    /// Files that the session has opened or changed, relative to the workspace, the newest first.
    pub in_play: Vec<String>,
    /// What the model has been shown already.
    pub shown: ShownContext,
    /// The most tokens of each section.
    pub budget: ContextBudget,
}

/// Whose skills to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindSkills {
    /// The workspace.
    pub workspace: String,
    /// Whether it is trusted; otherwise its own skills do not count.
    pub trusted: bool,
}

/// What a model has been shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownContext {
    /// The digest of each instruction file as it was shown; empty for one that is no longer there.
    pub instructions: BTreeMap<String, String>,
    /// The names of the skills.
    pub skills: BTreeSet<String>,
    /// Whether the shape of the repository was.
    pub repository: bool,
    /// Whether the state of the git repository is still to follow (true), or has followed (false); none where nothing was
    /// put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaits_git: Option<bool>,
}

/// The most tokens of each section, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContextBudget {
    /// The instruction files together.
    pub instructions: u64,
    /// The tree of the workspace.
    pub tree: u64,
    /// The definitions that matter.
    pub map: u64,
    /// How the git repository stands.
    pub git: u64,
    /// Pieces of the files that matter for the prompt.
    pub files: u64,
    /// The list of skills.
    pub skills: u64,
}

impl Default for ContextBudget {
    fn default() -> ContextBudget {
        ContextBudget { instructions: 8_000, tree: 600, map: 1_500, git: 400, files: 3_000, skills: 1_000 }
    }
}

impl ContextBudget {
    /// The same where it is at most a fifth of a model's window, and less of everything where it is not: a
    /// small model must have room to work.
    #[must_use]
    pub fn scaled_to_window(self, window: u64) -> ContextBudget {
        let (whole, room) = (self.total().max(1), window / 5);
        if whole <= room {
            return self;
        }
        let share = |part: u64| part.saturating_mul(room) / whole;
        ContextBudget {
            instructions: share(self.instructions),
            tree: share(self.tree),
            map: share(self.map),
            git: share(self.git),
            files: share(self.files),
            skills: share(self.skills),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.instructions + self.tree + self.map + self.git + self.files + self.skills
    }
}

#[cfg(test)]
mod tests {
    use super::ContextBudget;

    #[test]
    fn a_small_window_makes_everything_smaller() {
        assert_eq!(ContextBudget::default().scaled_to_window(1_000_000), ContextBudget::default());
        let small = ContextBudget::default().scaled_to_window(8_000);
        assert!(small.total() <= 1_600 && small.total() > 1_500, "{small:?}");
        assert!(small.instructions > small.files && small.files > small.map);
    }
}
