//! The files of a tree joined by their names. Built once for a state of the tree, asked often.

use std::path::Path;

use crate::focus::Focus;
use crate::graph::{Edge, edges};
use crate::language::{LanguageFamily, SourceLanguage};
use crate::rank::definition_ranks;
use crate::render::render;
use crate::tags::Tags;

/// The files of a tree, and who refers to whom.
pub struct SymbolIndex {
    pub(crate) files: Vec<IndexedFile>,
    /// The file of each definition; a file's definitions follow one another.
    pub(crate) file_of: Vec<u32>,
    pub(crate) edges: Vec<Edge>,
    /// Whether each definition has a name.
    pub(crate) is_named: Vec<bool>,
}

/// One file of an index.
pub(crate) struct IndexedFile {
    pub(crate) path: String,
    pub(crate) family: LanguageFamily,
    pub(crate) tags: Tags,
    /// The number of its first definition.
    pub(crate) first_definition: u32,
}

/// What matters in a tree, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMap {
    /// Paths, and beneath each the line and the beginning of definitions in it.
    pub text: String,
    /// How many files are in the text.
    pub files: usize,
    /// How many definitions are in the text.
    pub definitions: usize,
    /// How many definitions there are.
    pub all_definitions: usize,
    /// Words of the focus that mean nothing in this tree.
    pub unknown: Vec<String>,
}

impl SymbolIndex {
    /// Joins files, given in a fixed order by their paths. Those in no known language are left out.
    pub fn build(files: impl IntoIterator<Item = (String, Tags)>) -> SymbolIndex {
        let (mut known, mut file_of) = (Vec::new(), Vec::new());
        for (path, tags) in files {
            let Some(language) = SourceLanguage::from_path(Path::new(&path)) else {
                continue;
            };
            let (Ok(number), Ok(first_definition)) =
                (u32::try_from(known.len()), u32::try_from(file_of.len()))
            else {
                break;
            };
            file_of.extend(tags.definitions().map(|_| number));
            known.push(IndexedFile { path, family: language.family(), tags, first_definition });
        }
        let edges = edges(&known);
        let definitions = known.iter().flat_map(|file| file.tags.definitions());
        let is_named = definitions.map(|definition| !definition.name.is_empty()).collect();
        SymbolIndex { files: known, file_of, edges, is_named }
    }

    /// The definitions that matter most to a reader of `focus` (paths or names; everything where it
    /// is empty), as many as fit into `max_bytes`.
    pub fn map(&self, focus: &[String], max_bytes: usize) -> RenderedMap {
        let focus = Focus::new(self, focus);
        let mut ranks = definition_ranks(self, &focus.start, &focus.boost);
        for (rank, boost) in ranks.iter_mut().zip(&focus.boost) {
            *rank *= f64::from(*boost);
        }
        render(self, &ranks, max_bytes, focus.unknown)
    }

    /// How much memory it takes beside the tags, about.
    pub(crate) fn bytes(&self) -> usize {
        self.edges.len() * size_of::<Edge>() + self.file_of.len() * 5 + self.files.len() * 128
    }
}
