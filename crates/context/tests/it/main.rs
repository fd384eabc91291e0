//! What a model is shown, by the public interface: bundles of real directories, rankings, skills, and plans
//! for conversations of every shape.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bundles;
mod compactions;
mod conversations;
mod instructions;
mod ranking;
mod skills;
mod validity;

use std::path::Path;

/// Writes files beneath a directory.
fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
