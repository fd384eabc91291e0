//! Where programs are looked for that the command line starts for its user.

use std::path::{Path, PathBuf};

use ostler_config::Environment;
use ostler_process::ProgramFinder;
use ostler_types::shell_word;

/// Finds programs for a command that somebody types, who may stand in a workspace. Nothing is taken from there, nor
/// from a workspace of any session in this data directory.
pub(crate) fn finder_for_user(data_dir: &Path) -> ProgramFinder {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let index = data_dir.join("index.db");
    ProgramFinder::new(std::env::var_os("PATH").as_deref(), move || {
        let here = std::env::current_dir().ok();
        let holds_home = |place: &PathBuf| home.as_ref().is_none_or(|home| home.starts_with(place));
        let workspaces = ostler_index::workspaces(&index);
        here.into_iter().chain(workspaces).filter(|place| !holds_home(place)).collect()
    })
}

/// How a person types this program: by its name where the shell finds it, else by its path.
pub(crate) fn own_command(environment: &Environment) -> String {
    let path = environment.get("PATH").unwrap_or_default().to_owned();
    if std::env::split_paths(&path).any(|directory| directory.join("ostler").is_file()) {
        return "ostler".to_owned();
    }
    let Ok(program) = std::env::current_exe() else { return "ostler".to_owned() };
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| program.strip_prefix(here).map(Path::to_owned).ok());
    let typed = below.unwrap_or(program).to_string_lossy().into_owned();
    let is_plain = typed.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c));
    if is_plain { typed } else { shell_word(&typed) }
}
