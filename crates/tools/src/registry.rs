//! The tools that there are, by name. Which of them a session may use is left to its policy.

use std::path::PathBuf;
use std::sync::Arc;

use ostler_types::{ToolKind, ToolSpec};

use crate::Tool;
use crate::apply_patch::ApplyPatch;
use crate::edit_file::EditFile;
use crate::git_status::GitStatus;
use crate::read_file::ReadFile;
use crate::repo_map::RepoMap;
use crate::repo_tree::RepoTree;
use crate::search::Search;
use crate::shell::Shell;
use crate::write_file::WriteFile;

/// A set of tools with different names, in a fixed order.
#[derive(Clone)]
pub struct Tools {
    tools: Vec<(String, Arc<dyn Tool>)>,
    specs: Arc<[ToolSpec]>,
}

impl Tools {
    /// The tools that every session has.
    pub fn builtin() -> Tools {
        Tools::with_map_cache(None)
    }

    /// The tools that every session has. What maps of workspaces are made from is remembered in
    /// `map_cache`, where it is given, beyond the end of the process; it holds parts of their sources.
    pub fn with_map_cache(map_cache: Option<PathBuf>) -> Tools {
        Tools::new(vec![
            Arc::new(RepoTree),
            Arc::new(RepoMap::new(map_cache)),
            Arc::new(ReadFile),
            Arc::new(Search),
            Arc::new(GitStatus),
            Arc::new(ApplyPatch),
            Arc::new(EditFile),
            Arc::new(WriteFile),
            Arc::new(Shell),
        ])
    }

    /// These tools, in this order. Of tools with one name only the first counts, so that a later one
    /// cannot take its place.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Tools {
        let mut named: Vec<(String, Arc<dyn Tool>)> = Vec::new();
        let mut specs = Vec::new();
        for tool in tools {
            let spec = tool.spec();
            if named.iter().all(|(name, _)| *name != spec.name) {
                named.push((spec.name.clone(), tool));
                specs.push(spec);
            }
        }
        Tools { tools: named, specs: specs.into() }
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, tool)| tool)
    }

    /// What a model is told of them. The order never changes, so that prompts can be cached.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }

    /// What each of them touches, in the order of the specs.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, ToolKind)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool.kind()))
    }
}
