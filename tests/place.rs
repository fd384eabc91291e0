//! Directories and programs for tests of the sandbox, wherever the repository lies. Shared by several crates.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a confined program has for itself: there, what is outside could not be told from what is inside.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev/shm"];

/// The target directory's own place for tests, or another where that is private to confined programs or
/// closed to ordinary users.
pub(crate) fn beside_tmp(target: &str) -> PathBuf {
    let fits = |place: &Path| !PRIVATE.iter().any(|private| place.starts_with(private)) && is_open(place);
    let target = PathBuf::from(target);
    if fits(&target) {
        return target;
    }
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let caches = std::iter::once(PathBuf::from("/var/cache")).chain(home);
    let mut places = caches.map(|cache| cache.join("ostler-tests"));
    let made = places.find(|place| {
        !PRIVATE.iter().any(|private| place.starts_with(private)) && std::fs::create_dir_all(place).is_ok()
    });
    made.expect("a directory that is not private to confined programs")
}

/// A program that every user can start: itself, or a copy where its own place is closed to others.
#[allow(dead_code, reason = "not every crate runs its tests as somebody else")]
pub(crate) fn for_everybody(program: &Path) -> PathBuf {
    if is_open(program) {
        return program.to_owned();
    }
    let metadata = program.metadata().expect("the program is there");
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let place = beside_tmp("/tmp").join("programs");
    let copy = place.join(format!("{name}-{}-{}", metadata.size(), metadata.mtime_nsec()));
    if !copy.exists() {
        std::fs::create_dir_all(&place).expect("a place for the copy");
        let part = place.join(format!("{name}-{}", std::process::id()));
        std::fs::copy(program, &part).expect("the program can be copied");
        std::fs::rename(&part, &copy).expect("the copy gets its name");
    }
    copy
}

/// Whether others than its owner can go there.
fn is_open(path: &Path) -> bool {
    path.ancestors().all(|part| part.metadata().is_ok_and(|metadata| metadata.mode() & 0o001 != 0))
}
