//! The native agent: a model, tools, and the loop between them.
//!
//! A turn runs from a prompt until the model stops asking for tools: `turn` is that loop, `step` one answer of
//! the model (`answer` puts it together, `model_fallback` says whose), `batch` the calls of one answer, `call` one call. How the
//! work is checked and reviewed is left to `acceptance`, which other agents use too. `own` are the tools of the loop itself, `plan` is a turn without a model, `bundle` what is told of the workspace,
//! `compaction` what keeps the conversation within the model's window, `spending` what it all takes.
//!
//! The loop keeps nothing between two steps that is not in the log, so that a turn which waited for an approval
//! can be picked up by a new process.

mod batch;
mod call;
mod compaction;
mod context_settings;
mod loop_tools;
mod model_fallback;
mod plan;
mod prompts;
mod skill;
mod spending;
mod step;
mod streamed_answer;
mod task;
mod task_control;
mod tool_spec_cache;
mod turn;
mod workspace_context;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_acceptance::{Baselines, CheckpointTracker, note_interrupted_turn};
use ostler_agent::{Agent, CompletedTurn, FailedTurn, ReportError, TurnContext};
use ostler_models::{Model, ModelError, ModelRegistry};
use ostler_runner::{PrepareContext, Runner};
use ostler_types::{ModelInfo, Secrets, SessionId, ToolKind, ToolSpec};
use serde_json::Value;

use crate::loop_tools::LoopTool;
use crate::spending::TurnSpending;
use crate::tool_spec_cache::ToolSpecCache;

pub use context_settings::TurnContextSettings;

/// Finds the model of a name.
type Resolve = dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync;

/// Says what is known of the model of a name.
type Describe = dyn Fn(&str) -> ModelInfo + Send + Sync;

/// The native agent. One serves all sessions.
pub struct NativeAgent {
    resolve: Box<Resolve>,
    /// The workspaces, and what works in them.
    runner: Arc<dyn Runner>,
    max_steps: u32,
    baselines: Option<Arc<Baselines>>,
    /// Words that no model is shown.
    secrets: Secrets,
    describe: Box<Describe>,
    context: Option<TurnContextSettings>,
    specs: ToolSpecCache,
}

/// The tools that the loop itself has, and what they touch at most. A session that may not start others has
/// none of them.
pub fn loop_tools() -> Vec<(ToolSpec, ToolKind)> {
    [LoopTool::Task, LoopTool::TaskControl].map(|own| (own.spec(), own.kind_of(&Value::Null))).into()
}

impl NativeAgent {
    /// An agent with these models and the tools of this runner, whose turns have at most `max_steps` steps.
    pub fn new(models: Arc<ModelRegistry>, runner: Arc<dyn Runner>, max_steps: u32) -> NativeAgent {
        let known = Arc::clone(&models);
        NativeAgent::with_model(move |name| models.resolve(name), runner, max_steps)
            .with_model_info(move |name| known.info(name))
    }

    /// The same with models that come from elsewhere, such as a test.
    pub fn with_model(
        resolve: impl Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync + 'static,
        runner: Arc<dyn Runner>,
        max_steps: u32,
    ) -> NativeAgent {
        NativeAgent {
            resolve: Box::new(resolve),
            runner,
            max_steps,
            baselines: None,
            secrets: Secrets::default(),
            describe: Box::new(|name| ModelInfo::unknown(name)),
            context: None,
            specs: ToolSpecCache::default(),
        }
    }

    /// The same, knowing this of its models: how long a conversation may be, above all.
    #[must_use]
    pub fn with_model_info(
        self,
        describe: impl Fn(&str) -> ModelInfo + Send + Sync + 'static,
    ) -> NativeAgent {
        NativeAgent { describe: Box::new(describe), ..self }
    }

    /// The same, telling sessions of their workspaces. Without this nothing is told, and there are no skills.
    #[must_use]
    pub fn with_context(self, settings: TurnContextSettings) -> NativeAgent {
        NativeAgent { context: Some(settings), ..self }
    }

    /// The same, masking these words in what tools tell the model.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> NativeAgent {
        NativeAgent { secrets, ..self }
    }

    /// The same, knowing what turns have written into files that decide what checks run.
    #[must_use]
    pub fn with_baselines(self, baselines: Arc<Baselines>) -> NativeAgent {
        NativeAgent { baselines: Some(baselines), ..self }
    }
}

impl Agent for NativeAgent {
    fn prepare(&self, session: SessionId, workspace: &str) {
        if self.context.as_ref().is_some_and(|settings| settings.bundle) {
            let workspace = workspace.to_owned();
            self.runner.context().prepare(PrepareContext { session, workspace });
        }
    }

    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>> {
        async move {
            let canceled = turn.canceled.clone();
            let checkpoints = CheckpointTracker::new(Arc::clone(&self.runner), &turn).await;
            let spending = TurnSpending::default();
            // Whatever the turn holds, a stream or a child process, ends when its future is dropped. It goes
            // first, so that it has heard of everything that was recorded before it was stopped.
            let ended = tokio::select! {
                biased;
                ended = turn::run(self, &turn, &checkpoints, &spending) => ended,
                () = canceled.cancelled() => Err(FailedTurn::from(ReportError::TurnOver)),
            };
            if ended.is_err()
                && let Err(error) = spending.record_unused(&turn).await
            {
                tracing::debug!(%error, "what the last answer took is not recorded");
            }
            // How a turn that was cut short left the workspace is seen when nothing of it runs any more.
            if ended.is_err()
                && let Err(error) = checkpoints.capture_after_turn(&turn).await
            {
                tracing::debug!(reason = error.reason, "how the turn left the workspace is not recorded");
            }
            if ended.is_err() {
                note_interrupted_turn(&turn, &*self.runner, self.baselines.as_deref(), &checkpoints).await;
            }
            ended
        }
        .boxed()
    }

    fn can_resume_turns(&self) -> bool {
        true
    }
}
