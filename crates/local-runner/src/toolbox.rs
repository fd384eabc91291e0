//! Tools, tool servers and command lines of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{
    CommandOutcome, OfferTools, OfferedTools, OutputSink, ReadText, RunCommand, ToolContext, ToolSet, Toolbox,
};
use ostler_types::ToolSpec;

use crate::LocalRunner;
use crate::read_text::read_text;

impl Toolbox for LocalRunner {
    fn built_in_tools(&self) -> Arc<ToolSet> {
        Arc::clone(self.tools.tool_set())
    }

    fn offer_tools(&self, request: OfferTools) -> BoxFuture<'_, OfferedTools> {
        async move {
            let Some(servers) = &self.servers else {
                return OfferedTools { tools: self.built_in_tools(), notice: None };
            };
            let workspace = Path::new(&request.workspace);
            let mut tools = servers.tools(workspace, request.trusted, &request.held_back).await;
            let mut notice = None;
            if let Some(session) = request.session {
                tools.extend(servers.of_editors().tools(session, workspace).await);
                notice = request.tells.then(|| servers.of_editors().notice(session)).flatten();
            }
            let built_in = self.tools.tool_set();
            let tools = match tools.is_empty() {
                true => Arc::clone(built_in),
                false => Arc::new(ToolSet::clone(built_in).with_tools(tools)),
            };
            OfferedTools { tools, notice }
        }
        .boxed()
    }

    fn last_offered(&self, workspace: &str) -> Arc<[ToolSpec]> {
        self.servers.as_ref().map(|servers| servers.last_offered(Path::new(workspace))).unwrap_or_default()
    }

    fn server_statuses(&self) -> Vec<serde_json::Value> {
        self.servers.as_ref().map(|servers| servers.statuses()).unwrap_or_default()
    }

    fn set_trusted(&self, workspace: String, trusted: bool) -> BoxFuture<'_, ()> {
        async move {
            if let Some(servers) = &self.servers {
                servers.set_trusted(PathBuf::from(workspace), trusted).await;
            }
        }
        .boxed()
    }

    fn run_command(&self, run: RunCommand, output: Arc<OutputSink>) -> BoxFuture<'_, CommandOutcome> {
        async move {
            let mut context = ToolContext::new(PathBuf::from(run.workspace), run.session, output);
            context.unconfined = run.unconfined;
            self.tools.run_command(&context, &run.line, run.timeout).await
        }
        .boxed()
    }

    fn uncommitted_changes(
        &self,
        workspace: String,
        unconfined: bool,
    ) -> BoxFuture<'_, Result<String, String>> {
        async move { self.tools.uncommitted_changes(Path::new(&workspace), unconfined).await }.boxed()
    }

    fn read_text(&self, read: ReadText) -> BoxFuture<'_, Result<String, String>> {
        read_text(&self.tools, read).boxed()
    }

    fn confines_programs(&self) -> bool {
        self.tools.confines_programs()
    }

    fn unconfined_warning(&self) -> Option<String> {
        self.tools.unconfined_warning()
    }
}
