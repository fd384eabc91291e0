//! The map of a tree: what is found in each language, what ranks high, what is remembered.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod caching;
mod languages;
mod ranking;

use std::time::Duration;

use ostler_repo_map::{SourceLanguage, Tagger, Tags};

/// The tags of a source, without a limit that a busy machine could reach.
fn tags(language: SourceLanguage, source: &str) -> Tags {
    Tagger::new().tags(language, source.as_bytes(), Duration::from_secs(600))
}
