//! The native agent: a model, tools, and the loop between them.
//!
//! A turn runs from a prompt until the model stops asking for tools: `turn` is that loop, `step`
//! one answer of the model (`answer` puts it together, `lineup` says whose),  `batch` the calls of one answer, `call` one call, `verify` the check
//! and `review` the question at the end, `checkpoint` what both compare with. The loop keeps nothing between two steps that is not in the log, so that a turn which
//! waited for an approval can be picked up by a new process.

mod answer;
mod batch;
mod call;
mod checkpoint;
mod lineup;
mod project;
mod prompt;
mod review;
mod step;
mod turn;
mod verify;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_agent::{Agent, Completed, Failed, ReportError, TurnContext};
use ostler_checkpoint::Store;
use ostler_models::{Model, ModelError, Models};
use ostler_tools::{Tool, Tools};

use crate::checkpoint::Checkpoints;

/// Finds the model of a name.
type Resolve = dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync;

/// Finds the tools that sessions of a workspace have besides.
pub type MoreTools = Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Vec<Arc<dyn Tool>>> + Send + Sync>;

/// The native agent. One serves all sessions.
pub struct NativeAgent {
    resolve: Box<Resolve>,
    tools: Arc<Tools>,
    max_steps: u32,
    checkpoints: Option<Arc<Store>>,
    more_tools: Option<MoreTools>,
}

impl NativeAgent {
    /// An agent with these models and tools, whose turns have at most `max_steps` steps.
    pub fn new(models: Arc<Models>, tools: Arc<Tools>, max_steps: u32) -> NativeAgent {
        NativeAgent::with_model(move |name| models.resolve(name), tools, max_steps)
    }

    /// The same with models that come from elsewhere, such as a test.
    pub fn with_model(
        resolve: impl Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync + 'static,
        tools: Arc<Tools>,
        max_steps: u32,
    ) -> NativeAgent {
        NativeAgent { resolve: Box::new(resolve), tools, max_steps, checkpoints: None, more_tools: None }
    }

    /// The same with more tools, which depend on the workspace.
    #[must_use]
    pub fn with_more_tools(self, more_tools: MoreTools) -> NativeAgent {
        NativeAgent { more_tools: Some(more_tools), ..self }
    }

    /// The same with a place to keep workspaces as they were before each turn.
    #[must_use]
    pub fn with_checkpoints(self, store: Arc<Store>) -> NativeAgent {
        NativeAgent { checkpoints: Some(store), ..self }
    }
}

impl Agent for NativeAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<Completed, Failed>> {
        async move {
            let canceled = turn.canceled.clone();
            let checkpoints = Checkpoints::new(self.checkpoints.clone(), &turn);
            // Whatever the turn holds, a stream or a child process, ends when its future is dropped.
            let ended = tokio::select! {
                () = canceled.cancelled() => Err(Failed::from(ReportError::Over)),
                ended = turn::run(self, &turn, &checkpoints) => ended,
            };
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
