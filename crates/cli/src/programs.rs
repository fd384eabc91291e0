//! Where programs are looked for that the command line starts for its user.

use std::path::PathBuf;

use ostler_process::ProgramFinder;

/// Finds programs for a command that somebody types, who may stand in a workspace.
pub(crate) fn finder_for_user() -> ProgramFinder {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    ProgramFinder::new(std::env::var_os("PATH").as_deref(), move || {
        let here = std::env::current_dir().ok();
        let holds_home = |here: &PathBuf| home.as_ref().is_none_or(|home| home.starts_with(here));
        here.into_iter().filter(|here| !holds_home(here)).collect()
    })
}
