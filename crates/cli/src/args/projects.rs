//! The arguments of `ostler projects`.

use std::path::PathBuf;

use clap::Subcommand;

/// `ostler projects`.
#[derive(Debug, Clone, Subcommand)]
pub enum ProjectsCommand {
    /// List projects in the order they were added.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Register a workspace.
    Add {
        /// The workspace [default: the current directory]
        #[arg(value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Remove a project; its sessions are kept.
    Rm {
        /// The project: its id, or its directory
        #[arg(value_name = "ID|DIR")]
        project: String,
    },
}

impl Default for ProjectsCommand {
    fn default() -> ProjectsCommand {
        ProjectsCommand::List { json: false }
    }
}
