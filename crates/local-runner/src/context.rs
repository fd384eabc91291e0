//! What models are told of the workspaces of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{
    FindSkills, GatherContext, GatheredContext, LateContext, PrepareContext, WorkspaceContext,
};
use ostler_types::SessionId;
use ostler_workspace_context::{GatherRequest, GatherResult, GatherSources, SkillLocations, Skills};

use crate::LocalRunner;

/// How what models are told is gathered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextGatherSettings {
    /// The time that gathering may take.
    pub deadline: Duration,
    /// Directories with skills of the owner's own.
    pub skill_directories: Vec<PathBuf>,
    /// What is never read for this, wherever it is; the same that the tools are given.
    pub hidden: Vec<PathBuf>,
}

impl Default for ContextGatherSettings {
    fn default() -> ContextGatherSettings {
        let (skill_directories, hidden) = (Vec::new(), Vec::new());
        ContextGatherSettings { deadline: Duration::from_secs(2), skill_directories, hidden }
    }
}

impl WorkspaceContext for LocalRunner {
    fn gather(&self, request: GatherContext) -> BoxFuture<'_, GatheredContext> {
        let GatherContext { session, workspace, trusted, prompt, in_play, shown, budget } = request;
        let about = self.request(session, workspace);
        let request = GatherRequest { prompt, in_play, shown, budget, is_trusted: trusted, ..about };
        async move {
            let GatherResult { bundle, skills } = self.gatherer.gather(request, &self.sources()).await;
            GatheredContext { text: bundle.text(), skills }
        }
        .boxed()
    }

    fn prepare(&self, PrepareContext { session, workspace }: PrepareContext) {
        self.gatherer.prepare(&self.request(session, workspace), &self.sources());
    }

    fn late_context(&self, request: LateContext) -> BoxFuture<'_, Option<String>> {
        let LateContext { session, workspace, budget } = request;
        let request = GatherRequest { budget, ..self.request(session, workspace) };
        std::future::ready(self.gatherer.late_context(&request, &self.sources()).text()).boxed()
    }

    fn skill_names(&self, request: FindSkills) -> BoxFuture<'_, Vec<String>> {
        let places = self.skill_places(request);
        let found = tokio::task::spawn_blocking(move || {
            Skills::find(&places).all().iter().map(|skill| skill.name.clone()).collect()
        });
        async move { found.await.unwrap_or_default() }.boxed()
    }

    fn read_skill(&self, request: FindSkills, name: String) -> BoxFuture<'_, Result<String, String>> {
        let (places, wanted) = (self.skill_places(request), name.clone());
        let read = tokio::task::spawn_blocking(move || Skills::find(&places).load(&wanted));
        async move {
            match read.await {
                Ok(read) => read.map_err(|error| error.to_string()),
                Err(_) => Err(format!("The skill {name} could not be read.")),
            }
        }
        .boxed()
    }
}

impl LocalRunner {
    fn request(&self, session: SessionId, workspace: String) -> GatherRequest {
        let ContextGatherSettings { deadline, skill_directories, hidden } = &*self.context;
        GatherRequest {
            skill_directories: skill_directories.clone(),
            hidden: hidden.clone(),
            deadline: *deadline,
            ..GatherRequest::new(PathBuf::from(workspace), session, "")
        }
    }

    fn sources(&self) -> GatherSources {
        let tools = Arc::clone(&self.tools);
        let checked_out = Arc::new(move |workspace: &Path| tools.checked_out(workspace));
        GatherSources { tools: Arc::clone(self.tools.tool_set()), checked_out }
    }

    fn skill_places(&self, request: FindSkills) -> SkillLocations {
        SkillLocations {
            directories: self.context.skill_directories.clone(),
            trusted_workspace: request.trusted.then(|| PathBuf::from(request.workspace)),
            hidden: self.context.hidden.clone(),
        }
    }
}
