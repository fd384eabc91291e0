//! Gathers what a model is shown of a workspace: instructions, the shape of the repository, the files that
//! matter for the prompt, skills. It reads; it records nothing, and what it cannot have in time it leaves out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_runner::ToolSet;
use ostler_types::SessionId;
use tokio::time::timeout;

use crate::git_state::{GitStateRequest as GitQuestion, GitStates};
use crate::rank::{RankDeadline, RankQuery, Ranker, Ranking};
use crate::repository_shape::{RepositoryShape, RepositoryShapeKey};
use crate::single_flight::SingleFlight;
use crate::skills::{SkillLocations, Skills};
use crate::visible_files::VisibleFiles;
use crate::{instructions, prompts, relevant_files, repository_shape};
use ostler_context::{ContextMessage, GatheredSectionKind};
use ostler_runner::ContextBudget;
use ostler_runner::ShownContext;

/// How long everything together may take, when nothing else is said.
const DEFAULT_DEADLINE: Duration = Duration::from_secs(3);
/// How many files in play are looked at.
const MAX_IN_PLAY: usize = 64;

/// What is to be gathered, and for whom.
#[derive(Debug, Clone)]
pub struct GatherRequest {
    /// The workspace.
    pub workspace: PathBuf,
    /// The session, for the tools that are asked.
    pub session: SessionId,
    /// The text of the prompt.
    pub prompt: String,
    /// Files that the session has opened or changed, relative to the workspace, the newest first.
    pub in_play: Vec<String>,
    /// What the model has been shown already; see `ostler_context::shown_in`.
    pub shown: ShownContext,
    /// The most tokens of each section.
    pub budget: ContextBudget,
    /// Whether the owner trusts the workspace. Its instructions are shown either way, since they are only
    /// text; its skills are not listed until it is trusted.
    pub is_trusted: bool,
    /// Directories with skills of the owner's own.
    pub skill_directories: Vec<PathBuf>,
    /// Files and directories that are never read: Ostler's own data, and where programs keep secrets. The
    /// same that the tools are given.
    pub hidden: Vec<PathBuf>,
    /// How long everything together may take.
    pub deadline: Duration,
}

impl GatherRequest {
    /// A request for a workspace that nobody trusts, with the default budget.
    pub fn new(workspace: PathBuf, session: SessionId, prompt: impl Into<String>) -> GatherRequest {
        GatherRequest {
            workspace,
            session,
            prompt: prompt.into(),
            in_play: Vec::new(),
            shown: ShownContext::default(),
            budget: ContextBudget::default(),
            is_trusted: false,
            skill_directories: Vec::new(),
            hidden: Vec::new(),
            deadline: DEFAULT_DEADLINE,
        }
    }

    /// Where skills are looked for.
    pub fn skill_locations(&self) -> SkillLocations {
        SkillLocations {
            directories: self.skill_directories.clone(),
            trusted_workspace: self.is_trusted.then(|| self.workspace.clone()),
            hidden: self.hidden.clone(),
        }
    }
}

/// Says what `git_status` would begin with in a workspace, as far as it can be read without running git; none where git
/// has to be asked. May block.
pub type ReadCheckedOut = dyn Fn(&Path) -> Option<String> + Send + Sync;

/// Whom a gatherer asks.
#[derive(Clone)]
pub struct GatherSources {
    /// The tools that say what the shape of a workspace is.
    pub tools: Arc<ToolSet>,
    /// Reads what is checked out.
    pub checked_out: Arc<ReadCheckedOut>,
}

/// What was gathered for one turn.
#[derive(Debug, Clone, Default)]
pub struct GatherResult {
    /// What the model does not know yet.
    pub bundle: ContextMessage,
    /// The names of all skills that the session can read.
    pub skills: Vec<String>,
}

/// Gathers for all sessions, and spares them work that one has done for another.
#[derive(Default)]
pub struct ContextGatherer {
    /// Remembers what files hold, so that the next session need not read them again.
    ranker: Arc<Ranker>,
    shapes: SingleFlight<RepositoryShapeKey, RepositoryShape>,
    git: GitStates,
}

impl ContextGatherer {
    /// Gathers a bundle. The shape of the repository and the ranked files are only in the first one of a
    /// conversation; later ones hold instructions and skills that are new. Dropping the future ends the work.
    pub async fn gather(&self, request: GatherRequest, sources: &GatherSources) -> GatherResult {
        gather(self, request, sources).await
    }

    /// Begins to find out what the first bundle of a new session needs, and returns at once. Of the request, only the
    /// session and the workspace matter. Needs a tokio runtime.
    pub fn prepare(&self, request: &GatherRequest, sources: &GatherSources) {
        if let Some(question) = GitQuestion::from_gather_request(request, sources) {
            self.git.prepare(question);
        }
    }

    /// What a bundle said would follow, if it is there by now.
    pub fn late_context(&self, request: &GatherRequest, sources: &GatherSources) -> ContextMessage {
        let mut bundle = ContextMessage::default();
        let question = GitQuestion::from_gather_request(request, sources);
        self.git.add_late(&mut bundle, request.session, question, request.budget.git);
        bundle
    }

    /// Waits until nothing is being found out for sessions that were prepared or told that more follows.
    pub async fn wait_until_idle(&self) {
        self.git.wait_until_idle().await;
    }
}

async fn gather(
    gatherer: &ContextGatherer,
    mut request: GatherRequest,
    sources: &GatherSources,
) -> GatherResult {
    request.in_play.truncate(MAX_IN_PLAY);
    let until = RankDeadline::in_duration(request.deadline);
    let _stop = StopOnDrop(until.clone());
    let is_first = !request.shown.repository;
    let request = Arc::new(request);
    // First of all, since it takes longest.
    let git = GitQuestion::from_gather_request(&request, sources).filter(|_| is_first);
    let git = git.map(|question| gatherer.git.first_query(question));
    // Ranking may take all the time there is, and must not cost the model its instructions.
    let reading = {
        let checked_out = git.as_ref().map(|_| Arc::clone(&sources.checked_out));
        run_blocking(&request, move |request| read_files(request, checked_out.as_deref()))
    };
    let ranking = async {
        if !is_first {
            return Ranking::default();
        }
        let ranker = Arc::clone(&gatherer.ranker);
        run_blocking(&request, move |request| rank(request, &ranker, &until)).await
    };
    let shape = async {
        if !is_first {
            return RepositoryShape::default();
        }
        // Each look keeps to the deadline, and nobody waits for more than two.
        let tools = &sources.tools;
        let look = gatherer.shapes.run(RepositoryShapeKey::from_request(&request), || {
            repository_shape::repository_shape(tools, &request)
        });
        timeout(2 * request.deadline, look).await.unwrap_or_default()
    };
    let (read, ranking, shape) = tokio::join!(reading, ranking, shape);
    let ReadFiles { instructions: mut bundle, skills, checked_out } = read;
    bundle.push(GatheredSectionKind::Repository, prompts::FILES_HEADING, shape.tree);
    bundle.push(GatheredSectionKind::Repository, prompts::DEFINITIONS_HEADING, shape.map);
    if let Some(git) = git {
        gatherer.git.add_first(&mut bundle, git, checked_out, request.budget.git).await;
    }
    if request.shown.awaits_git == Some(true) {
        let question = GitQuestion::from_gather_request(&request, sources);
        gatherer.git.add_late(&mut bundle, request.session, question, request.budget.git);
    }
    let files = relevant_files::relevant_text(&ranking, request.budget.files);
    bundle.push(GatheredSectionKind::Files, prompts::RELEVANT_FILES_HEADING, files);
    skills.add(&mut bundle, &request.shown, request.budget.skills);
    bundle.shown.repository = is_first && !bundle.sections.is_empty();
    GatherResult { bundle, skills: skills.all().iter().map(|skill| skill.name.clone()).collect() }
}

/// Does work that blocks on a thread that may. The work looks at the clock itself; what still takes much longer
/// than it should, as on a disk that hangs, is not waited for and counts as nothing.
async fn run_blocking<T: Default + Send + 'static>(
    request: &Arc<GatherRequest>,
    work: impl FnOnce(&GatherRequest) -> T + Send + 'static,
) -> T {
    let (limit, request) = (2 * request.deadline, Arc::clone(request));
    let work = tokio::task::spawn_blocking(move || work(&request));
    timeout(limit, work).await.ok().and_then(Result::ok).unwrap_or_default()
}

/// What was read from files.
#[derive(Default)]
struct ReadFiles {
    instructions: ContextMessage,
    skills: Skills,
    /// What is checked out, as far as it is known without git.
    checked_out: Option<String>,
}

fn read_files(request: &GatherRequest, checked_out: Option<&ReadCheckedOut>) -> ReadFiles {
    let mut read = ReadFiles {
        instructions: ContextMessage::default(),
        skills: Skills::find(&request.skill_locations()),
        checked_out: checked_out.and_then(|read| read(&request.workspace)),
    };
    let Ok(visible) = VisibleFiles::open(&request.workspace, &request.hidden) else { return read };
    let budget = request.budget.instructions;
    instructions::add_instructions(
        &mut read.instructions,
        &visible,
        &request.in_play,
        &request.shown,
        budget,
    );
    read
}

fn rank(request: &GatherRequest, ranker: &Ranker, until: &RankDeadline) -> Ranking {
    if request.budget.files == 0 {
        return Ranking::default();
    }
    let question = RankQuery {
        workspace: &request.workspace,
        text: &request.prompt,
        in_play: &request.in_play,
        hidden: &request.hidden,
        max_files: relevant_files::MAX_FILES,
    };
    ranker.rank(&question, until)
}

/// A thread cannot be dropped, so it is told.
struct StopOnDrop(RankDeadline);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
