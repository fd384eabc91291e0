//! The native agent: a model, tools, and the loop between them.
//!
//! A turn runs from a prompt until the model stops asking for tools: `turn` is that loop, `step` one answer of
//! the model (`answer` puts it together, `lineup` says whose), `batch` the calls of one answer, `call` one call. How the
//! work is checked and reviewed is left to `turn-care`, which other agents use too. `own` are the tools of the loop itself, `plan` is a turn without a model, `bundle` what is told of the workspace,
//! `compaction` what keeps the conversation within the model's window, `spending` what it all takes.
//!
//! The loop keeps nothing between two steps that is not in the log, so that a turn which waited for an approval
//! can be picked up by a new process.

mod answer;
mod batch;
mod bundle;
mod call;
mod compaction;
mod lineup;
mod own;
mod plan;
mod settings;
mod skill;
mod specs;
mod spending;
mod step;
mod task;
mod task_control;
mod turn;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::{Agent, Completed, Failed, ReportError, TurnContext};
use ostler_context::Gatherer;
use ostler_models::{Model, ModelError, Models};
use ostler_runner::Runner;
use ostler_tools::{Tool, Tools};
use ostler_turn_care::{Checkpoints, OwnChecks};
use ostler_types::{ModelInfo, Secrets, SessionId, ToolKind, ToolSpec};
use serde_json::Value;

use crate::own::OwnTool;
use crate::specs::Specs;
use crate::spending::Spending;

pub use settings::ContextSettings;

/// Finds the model of a name.
type Resolve = dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync;

/// Says what is known of the model of a name.
type Describe = dyn Fn(&str) -> ModelInfo + Send + Sync;

/// Finds the tools that a session has besides.
pub type MoreTools = Arc<dyn Fn(MoreFor) -> BoxFuture<'static, More> + Send + Sync>;

/// Who has tools besides.
#[derive(Debug, Clone)]
pub struct MoreFor {
    /// The session.
    pub session: SessionId,
    /// Where it works.
    pub workspace: PathBuf,
    /// Whether that is trusted.
    pub trusted: bool,
    /// Whether the model can be told something now.
    pub tells: bool,
}

/// What a session has besides.
#[derive(Default)]
pub struct More {
    /// The tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the model is to be told of them, once.
    pub notice: Option<String>,
}

/// The native agent. One serves all sessions.
pub struct NativeAgent {
    resolve: Box<Resolve>,
    tools: Arc<Tools>,
    max_steps: u32,
    runner: Option<Arc<dyn Runner>>,
    more_tools: Option<MoreTools>,
    own_checks: Option<OwnChecks>,
    /// Words that no model is shown.
    secrets: Secrets,
    describe: Box<Describe>,
    context: Option<ContextSettings>,
    /// Looks at workspaces.
    gatherer: Gatherer,
    specs: Specs,
}

/// The tools that the loop itself has, and what they touch at most. A session that may not start others has
/// none of them.
pub fn loop_tools() -> Vec<(ToolSpec, ToolKind)> {
    [OwnTool::Task, OwnTool::TaskControl].map(|own| (own.spec(), own.kind_of(&Value::Null))).into()
}

impl NativeAgent {
    /// An agent with these models and tools, whose turns have at most `max_steps` steps.
    pub fn new(models: Arc<Models>, tools: Arc<Tools>, max_steps: u32) -> NativeAgent {
        let known = Arc::clone(&models);
        NativeAgent::with_model(move |name| models.resolve(name), tools, max_steps)
            .with_model_info(move |name| known.info(name))
    }

    /// The same with models that come from elsewhere, such as a test.
    pub fn with_model(
        resolve: impl Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync + 'static,
        tools: Arc<Tools>,
        max_steps: u32,
    ) -> NativeAgent {
        NativeAgent {
            resolve: Box::new(resolve),
            tools,
            max_steps,
            runner: None,
            more_tools: None,
            own_checks: None,
            secrets: Secrets::default(),
            describe: Box::new(|name| ModelInfo::unknown(name)),
            context: None,
            gatherer: Gatherer::default(),
            specs: Specs::default(),
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
    pub fn with_context(self, settings: ContextSettings) -> NativeAgent {
        NativeAgent { context: Some(settings), ..self }
    }

    /// The same with more tools, which depend on the workspace.
    #[must_use]
    pub fn with_more_tools(self, more_tools: MoreTools) -> NativeAgent {
        NativeAgent { more_tools: Some(more_tools), ..self }
    }

    /// The same, masking these words in what tools tell the model.
    #[must_use]
    pub fn with_secrets(self, secrets: Secrets) -> NativeAgent {
        NativeAgent { secrets, ..self }
    }

    /// The same, hearing how workspaces that are trusted have themselves checked.
    #[must_use]
    pub fn with_own_checks(self, own_checks: OwnChecks) -> NativeAgent {
        NativeAgent { own_checks: Some(own_checks), ..self }
    }

    /// The same with a place to keep workspaces as they were before each turn.
    #[must_use]
    pub fn with_runner(self, runner: Arc<dyn Runner>) -> NativeAgent {
        NativeAgent { runner: Some(runner), ..self }
    }
}

impl Agent for NativeAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<Completed, Failed>> {
        async move {
            let canceled = turn.canceled.clone();
            let checkpoints = Checkpoints::new(self.runner.clone(), &turn).await;
            let spending = Spending::default();
            // Whatever the turn holds, a stream or a child process, ends when its future is dropped. It goes
            // first, so that it has heard of everything that was recorded before it was stopped.
            let ended = tokio::select! {
                biased;
                ended = turn::run(self, &turn, &checkpoints, &spending) => ended,
                () = canceled.cancelled() => Err(Failed::from(ReportError::Over)),
            };
            if ended.is_err()
                && let Err(error) = spending.record_unused(&turn).await
            {
                tracing::debug!(%error, "what the last answer took is not recorded");
            }
            // How a turn that was cut short left the workspace is seen when nothing of it runs any more.
            if ended.is_err()
                && let Err(error) = checkpoints.after_turn(&turn).await
            {
                tracing::debug!(reason = error.reason, "how the turn left the workspace is not recorded");
            }
            ended
        }
        .boxed()
    }

    fn resumes(&self) -> bool {
        true
    }
}
