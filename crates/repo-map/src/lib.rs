//! The map of a source tree: which definitions matter, found by who refers to whom.
//!
//! Three steps, each usable alone: [`Tagger`] finds what one file defines and refers to, [`SymbolIndex`]
//! joins files by those names and ranks them, [`RepoMapCache`] remembers tags from call to call. It walks no
//! directory and opens no source file: whoever calls it decides which files there are and reads them.

mod cache;
mod disk_cache;
mod focus;
mod graph;
mod index;
mod language;
mod rank;
mod render;
mod tagger;
mod tags;

pub use cache::{RepoMapCache, SourceStamp, WorkspaceTags};
pub use index::{RenderedMap, SymbolIndex};
pub use language::SourceLanguage;
pub use tagger::Tagger;
pub use tags::{Definition, Tags};
