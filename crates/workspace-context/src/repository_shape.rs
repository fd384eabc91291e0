//! The shape of the workspace: its tree, and the definitions that matter. Both are what the tools of the same names say,
//! so that they keep to the same rules: what is hidden, and what is ignored. How git stands is for `git_state`.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_runner::ToolSet;
use ostler_runner::{Tool, ToolContext};
use ostler_types::ToolKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::gather::GatherRequest;
use crate::prompts::{self, REPO_MAP_EMPTY, REPO_TREE_EMPTY};
use ostler_context::tokens_to_bytes;
use ostler_runner::ContextBudget;

/// How many levels of the tree are shown.
const TREE_DEPTH: usize = 2;
/// How many bytes a line of the tree has, about.
const TREE_LINE: usize = 16;

/// What the tools said, each empty where there is nothing to show.
#[derive(Debug, Clone, Default)]
pub(crate) struct RepositoryShape {
    pub(crate) tree: String,
    pub(crate) map: String,
}

/// What makes two looks at a shape the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RepositoryShapeKey {
    workspace: PathBuf,
    focus: Vec<String>,
    budget: ContextBudget,
}

impl RepositoryShapeKey {
    /// The shape that is asked for.
    pub(crate) fn from_request(request: &GatherRequest) -> RepositoryShapeKey {
        let GatherRequest { workspace, in_play, budget, .. } = request;
        RepositoryShapeKey { workspace: workspace.clone(), focus: in_play.clone(), budget: *budget }
    }
}

/// Asks the tools, all at once. One that has not answered in time is left out, and said to be.
pub(crate) async fn repository_shape(tools: &ToolSet, request: &GatherRequest) -> RepositoryShape {
    let ContextBudget { tree, map, .. } = request.budget;
    let entries = (tokens_to_bytes(tree) / TREE_LINE).clamp(1, 5_000);
    let focus: Vec<&String> = request.in_play.iter().take(8).collect();
    let ask = |name: &'static str, input: Value, budget: u64| ask_tool(tools, name, input, budget, request);
    let (tree, map) = tokio::join!(
        ask("repo_tree", json!({"depth": TREE_DEPTH, "max_files": entries}), tree),
        ask("repo_map", json!({"focus": focus, "max_tokens": map.clamp(1, 20_000)}), map),
    );
    RepositoryShape {
        tree: if tree.contains(REPO_TREE_EMPTY) { String::new() } else { tree },
        map: if map.contains(REPO_MAP_EMPTY) { String::new() } else { map },
    }
}

async fn ask_tool(
    tools: &ToolSet,
    name: &'static str,
    input: Value,
    budget: u64,
    request: &GatherRequest,
) -> String {
    let Some(tool) = read_only_tool(tools, name, &input).filter(|_| budget > 0) else { return String::new() };
    let context = ToolContext::new(request.workspace.clone(), request.session, Arc::new(|_, _| {}));
    match timeout(request.deadline, tool.run(input, context)).await {
        // A tool that came to nothing says why, which is only of use where the model asked for it.
        Ok(outcome) if outcome.ok => cut_to_budget(&outcome.text, budget),
        Ok(_) => String::new(),
        Err(_) => prompts::tool_timed_out(name, request.deadline),
    }
}

/// A tool that only reads. Nobody is asked here, so what would have to be asked about is left out.
pub(crate) fn read_only_tool<'a>(tools: &'a ToolSet, name: &str, input: &Value) -> Option<&'a Arc<dyn Tool>> {
    let only_reads =
        |tool: &&Arc<dyn Tool>| tool.kind_of(input) == ToolKind::Read && tool.warning(input).is_none();
    tools.get(name).filter(only_reads)
}

/// A text within a budget, cut between lines.
pub(crate) fn cut_to_budget(text: &str, budget: u64) -> String {
    let limit = tokens_to_bytes(budget);
    if text.len() <= limit {
        return text.trim_end().to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit)];
    let kept = kept.rfind('\n').map_or(kept, |end| &kept[..end]);
    let left = text[kept.len()..].lines().filter(|line| !line.is_empty()).count();
    format!("{kept}\n[… {left} more lines]")
}
