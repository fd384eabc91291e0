//! A directory for tests of the sandbox, which must not lie where a confined program has a directory of its
//! own: there, what is outside could not be told from what is inside. Shared by several crates' tests.

use std::path::{Path, PathBuf};

/// What a confined program has for itself.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/run", "/dev/shm"];

/// The target directory's own place for tests, or another where the repository itself lies in `/tmp`.
pub(crate) fn beside_tmp(target: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let caches = home.map(|home| home.join(".cache")).into_iter().chain([PathBuf::from("/var/cache")]);
    let places = std::iter::once(PathBuf::from(target))
        .chain(caches.filter(|cache| cache.is_dir() || cache.parent().is_some_and(Path::is_dir)));
    let is_open = |place: &PathBuf| !PRIVATE.iter().any(|private| place.starts_with(private));
    let place = places.filter(is_open).find_map(|place| {
        let place = if place == Path::new(target) { place } else { place.join("ostler-tests") };
        std::fs::create_dir_all(&place).ok().map(|()| place)
    });
    place.expect("a directory that is not private to confined programs")
}
