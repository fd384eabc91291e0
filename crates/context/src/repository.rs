//! The shape of the workspace: its tree, the definitions that matter, how git stands. All of it is what the
//! tools of the same names say, so that it keeps to the same rules: what is hidden, what is ignored, and that
//! nothing of the repository's own is run.

use std::sync::Arc;
use std::time::Duration;

use ostler_tools::{Tool, ToolContext, Tools};
use ostler_types::ToolKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::budget::Budget;
use crate::gather::Request;
use crate::tokens::bytes_of;

/// How many levels of the tree are shown.
const TREE_DEPTH: usize = 2;
/// How many bytes a line of the tree has, about.
const TREE_LINE: usize = 16;
/// What git says where there is no repository, and the tree where there is nothing.
const NO_REPOSITORY: &str = "not in a git repository";
const NO_FILES: &str = "[There are no files here";
const NO_SOURCES: &str = "There is no source code here";

/// What the tools said, each empty where there is nothing to show.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) tree: String,
    pub(crate) map: String,
    pub(crate) git: String,
}

/// Asks the tools, all at once. One that has not answered in time is left out, and said to be.
pub(crate) async fn look(tools: &Tools, request: &Request) -> Shape {
    let Budget { tree, map, git, .. } = request.budget;
    let entries = (bytes_of(tree) / TREE_LINE).clamp(1, 5_000);
    let focus: Vec<&String> = request.in_play.iter().take(8).collect();
    let ask = |name: &'static str, input: Value, budget: u64| ask(tools, name, input, budget, request);
    let (tree, map, git) = tokio::join!(
        ask("repo_tree", json!({"depth": TREE_DEPTH, "max_files": entries}), tree),
        ask("repo_map", json!({"focus": focus, "max_tokens": map.clamp(1, 20_000)}), map),
        ask("git_status", json!({}), git),
    );
    Shape {
        tree: if tree.contains(NO_FILES) { String::new() } else { tree },
        map: if map.contains(NO_SOURCES) { String::new() } else { map },
        git: if git.contains(NO_REPOSITORY) { String::new() } else { git },
    }
}

async fn ask(tools: &Tools, name: &'static str, input: Value, budget: u64, request: &Request) -> String {
    // Nobody is asked here, so what would have to be asked about is left out.
    let only_reads =
        |tool: &&Arc<dyn Tool>| tool.kind_of(&input) == ToolKind::Read && tool.warning(&input).is_none();
    let Some(tool) = tools.get(name).filter(|_| budget > 0).filter(only_reads) else { return String::new() };
    let context = ToolContext::new(request.workspace.clone(), request.session, Arc::new(|_, _| {}));
    match timeout(request.deadline, tool.run(input, context)).await {
        // A tool that came to nothing says why, which is only of use where the model asked for it.
        Ok(outcome) if outcome.ok => cut(&outcome.text, budget),
        Ok(outcome) if outcome.text.contains(NO_REPOSITORY) => NO_REPOSITORY.to_owned(),
        Ok(_) => String::new(),
        Err(_) => late(name, request.deadline),
    }
}

fn late(name: &str, deadline: Duration) -> String {
    format!(
        "[{name} was not ready within {} ms and is left out; call it if you need it.]",
        deadline.as_millis()
    )
}

/// A text within a budget, cut between lines.
pub(crate) fn cut(text: &str, budget: u64) -> String {
    let limit = bytes_of(budget);
    if text.len() <= limit {
        return text.trim_end().to_owned();
    }
    let kept = &text[..text.floor_char_boundary(limit)];
    let kept = kept.rfind('\n').map_or(kept, |end| &kept[..end]);
    let left = text[kept.len()..].lines().filter(|line| !line.is_empty()).count();
    format!("{kept}\n[… {left} more lines]")
}
