//! The page that the daemon serves, as `make page` builds it from `web/`: inside the binary in a release build, read
//! from the disk in one for development. How its files are sent is left to the http door.

use std::borrow::Cow;

/// The files that were there when this was built, by name. Empty in a build for development.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What is shown in place of a page that has not been built.
const UNBUILT: &[u8] = include_bytes!("unbuilt.html");

/// A file of the page, such as `index.html` or `assets/a.js`. There is always an `index.html`.
pub fn file(name: &str) -> Option<Cow<'static, [u8]>> {
    let found = if cfg!(debug_assertions) { from_disk(name) } else { embedded(name) };
    found.or_else(|| (name == "index.html").then_some(Cow::Borrowed(UNBUILT)))
}

fn embedded(name: &str) -> Option<Cow<'static, [u8]>> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, content)| Cow::Borrowed(*content))
}

fn from_disk(name: &str) -> Option<Cow<'static, [u8]>> {
    let is_name = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if name.is_empty() || !std::path::Path::new(name).components().all(is_name) {
        return None;
    }
    std::fs::read(std::path::Path::new(env!("OSTLER_PAGE_FOLDER")).join(name)).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::file;

    #[test]
    fn there_is_always_a_page_and_nothing_beside_it() {
        let index = file("index.html").expect("there is always one");
        assert!(index.starts_with(b"<!doctype html>") || index.starts_with(b"<!DOCTYPE html>"));
        for name in ["", "..", "../package.json", "assets/../../package.json", "/etc/passwd", "nothing.js"] {
            assert!(file(name).is_none(), "{name}");
        }
    }
}
