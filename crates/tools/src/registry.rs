//! The tools that there are, by name. Which of them a session may use is left to its policy.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_process::ProgramFinder;
use ostler_runner::{CommandOutcome, Tool, ToolContext, ToolSet};
use ostler_sandbox::Sandbox;
use ostler_types::{SessionId, ToolSpec};

use crate::apply_patch::ApplyPatch;
use crate::diagram::Diagram;
use crate::edit_file::EditFile;
use crate::editors::Editors;
use crate::file_tracker::FileTracker;
use crate::git_status::{self, GitStatus};
use crate::hidden_paths::HiddenPaths;
use crate::process::{self, BackgroundProcesses};
use crate::program_confiner::ProgramConfiner;
use crate::read_file::ReadFile;
use crate::repo_map::RepoMap;
use crate::repo_tree::RepoTree;
use crate::search::Search;
use crate::shell::{Shell, ShellProcess};
use crate::verify::Verify;
use crate::web_fetch::{WebFetch, WebSettings};
use crate::write_file::WriteFile;

/// The built-in tools, and the processes that they left running.
#[derive(Clone)]
pub struct Tools {
    tools: Arc<ToolSet>,
    confiner: Arc<ProgramConfiner>,
    processes: Arc<BackgroundProcesses>,
    editors: Arc<Editors>,
}

/// What the built-in tools are given.
#[derive(Debug, Clone, Default)]
pub struct ToolSettings {
    /// What confines programs. Without one, or with one that cannot confine on this machine, each call
    /// that would run a program carries a warning and needs a person's word.
    pub sandbox: Option<Sandbox>,
    /// Whether programs may run unconfined without anybody's word, because the owner has turned the
    /// sandbox off. One that works is used all the same.
    pub allow_unconfined: bool,
    /// Whether confined programs may use the network.
    pub sandbox_network: bool,
    /// Directories besides the workspace that confined programs may write, such as a build cache. They
    /// must exist.
    pub writable: Vec<PathBuf>,
    /// Files and directories that no tool and no program sees, wherever the workspace is: Ostler's data, its
    /// configuration, files with keys. Those that the sandbox was given are added. A workspace in one of
    /// them has no tools.
    pub hidden: Vec<PathBuf>,
    /// The user's home directory, in which the places of secrets are known and hidden too. That of the
    /// sandbox when it is left out.
    pub home: Option<PathBuf>,
    /// The daemon's environment, of which programs are given a part.
    pub environment: Vec<(OsString, OsString)>,
    /// Finds programs that nobody named in a command. Without one, only the workspace is passed over.
    pub programs: Option<ProgramFinder>,
    /// Where to remember, beyond the end of the process, what maps of workspaces are made from. It holds
    /// parts of their sources.
    pub map_cache: Option<PathBuf>,
    /// What may be fetched from the web.
    pub web: WebSettings,
}

impl Tools {
    /// The built-in tools.
    pub fn new(settings: ToolSettings) -> Tools {
        let hidden = Arc::new(hidden(&settings));
        let ToolSettings { sandbox, allow_unconfined, sandbox_network, writable, map_cache, web, .. } =
            settings;
        let (network, environment, programs) = (sandbox_network, settings.environment, settings.programs);
        let hides = hidden.clone();
        let confines = ProgramConfiner {
            sandbox,
            allow_unconfined,
            network,
            writable,
            hidden_paths: hides,
            environment,
            programs,
        };
        let confines = Arc::new(confines);
        let processes = Arc::new(BackgroundProcesses::default());
        let sight = FileTracker::default();
        let mut tools: Vec<Arc<dyn Tool>> = vec![
            Arc::new(RepoTree::new(hidden.clone())),
            Arc::new(RepoMap::new(map_cache, hidden.clone())),
            Arc::new(ReadFile::new(hidden.clone(), sight.clone())),
            Arc::new(Search::new(hidden.clone())),
            Arc::new(GitStatus::new(confines.clone())),
            Arc::new(ApplyPatch::new(hidden.clone(), sight.clone())),
            Arc::new(EditFile::new(hidden.clone(), sight.clone())),
            Arc::new(WriteFile::new(hidden, sight.clone())),
            Arc::new(Shell::new(confines.clone(), processes.clone())),
            Arc::new(ShellProcess::new(processes.clone())),
            Arc::new(Verify::new(confines.clone())),
            Arc::new(Diagram::new(confines.clone())),
        ];
        if web.enabled {
            tools.push(Arc::new(WebFetch::new(&web)));
        }
        Tools {
            tools: Arc::new(ToolSet::from_tools(tools)),
            confiner: confines,
            processes,
            editors: sight.editors,
        }
    }

    /// The built-in tools without any sandbox: programs have all rights of this process. For tests.
    pub fn builtin() -> Tools {
        Tools::new(ToolSettings { allow_unconfined: true, ..ToolSettings::default() })
    }

    /// These tools and no others, in this order; commands run unconfined. For tests.
    pub fn with_tools(tools: Vec<Arc<dyn Tool>>) -> Tools {
        let confines = Arc::new(ProgramConfiner { allow_unconfined: true, ..ProgramConfiner::default() });
        let (processes, editors) = (Arc::default(), Arc::default());
        Tools { tools: Arc::new(ToolSet::from_tools(tools)), confiner: confines, processes, editors }
    }

    /// The tools by their names.
    pub fn tool_set(&self) -> &Arc<ToolSet> {
        &self.tools
    }

    /// What `git_status` begins with, as far as it is known without running git: the branch or commit that is checked out, and
    /// what is half done. None where git has to be asked. Blocks.
    pub fn checked_out(&self, workspace: &Path) -> Option<String> {
        git_status::checked_out(&self.confiner, workspace)
    }

    /// Runs a shell command in the workspace, confined like the tools, and waits for it. Dropping the
    /// future kills all that it started. A command that cannot be started is an outcome too, not an error.
    pub async fn run_command(
        &self,
        context: &ToolContext,
        command: &str,
        timeout: Duration,
    ) -> CommandOutcome {
        process::run_command(&self.confiner, context, command, timeout).await
    }

    /// The changes of a workspace that are not committed, a line for each; empty where everything is. `unconfined` says
    /// that somebody agreed to run git where nothing confines it. The error says why git did not answer.
    pub async fn uncommitted_changes(&self, workspace: &Path, unconfined: bool) -> Result<String, String> {
        git_status::uncommitted(&self.confiner, workspace, unconfined).await.map_err(|failed| failed.0)
    }

    /// The editors that show files of sessions, which the tools for files look at too.
    pub fn editors(&self) -> &Arc<Editors> {
        &self.editors
    }

    /// Ends the processes that a session left running, and waits a moment for them to be gone. To be
    /// called when the session is closed or goes to sleep.
    pub async fn end_session(&self, session: SessionId) {
        self.processes.end(Some(session)).await;
    }

    /// Ends all processes that sessions left running, lets no more be left, and cleans up after the
    /// sandbox. To be called when the daemon stops.
    pub async fn stop(&self) {
        self.processes.stop().await;
        self.confiner.clean_up_abandoned().await;
    }

    /// Whether the sandbox confines the programs that these tools start.
    pub fn confines_programs(&self) -> bool {
        self.confiner.sandbox().is_some()
    }

    /// What a person must know before a program runs, where nothing confines it.
    pub fn unconfined_warning(&self) -> Option<String> {
        self.confiner.warning()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// What a model is told of them. The order never changes, so that prompts can be cached.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.specs()
    }
}

/// What the settings hide, and what the sandbox hides by its own.
fn hidden(settings: &ToolSettings) -> HiddenPaths {
    let mut places = settings.hidden.clone();
    let of_sandbox = settings.sandbox.as_ref().map(Sandbox::settings);
    if let Some(known) = of_sandbox {
        places.extend(known.hidden.iter().chain([&known.data_dir, &known.scratch]).cloned());
    }
    let home = settings.home.clone().or_else(|| of_sandbox.map(|known| known.home.clone()));
    HiddenPaths::new(places, home)
}
