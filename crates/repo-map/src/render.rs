//! Turns ranks into text: the best definitions that fit, by file, each beneath what it lies in.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use crate::index::{IndexedFile, RenderedMap, SymbolIndex};
use crate::tags::Definition;

/// How deep what lies around a definition is shown.
const MAX_DEPTH: usize = 8;
/// No line is shorter than this, in bytes.
const MIN_LINE: usize = 8;

/// The text of the definitions with the highest ranks that fits into `max_bytes`.
pub(crate) fn render(
    index: &SymbolIndex,
    ranks: &[f64],
    max_bytes: usize,
    unknown: Vec<String>,
) -> RenderedMap {
    let order = best(ranks, &index.is_named, max_bytes / MIN_LINE + 1);
    let mut sheets: Vec<FileExcerpt<'_>> = Vec::new();
    let mut sheet_of: HashMap<u32, usize> = HashMap::new();
    let mut left = max_bytes;
    for site in order {
        let number = index.file_of[site as usize];
        let file = &index.files[number as usize];
        let at = *sheet_of.entry(number).or_insert_with(|| {
            sheets.push(FileExcerpt::new(file));
            sheets.len() - 1
        });
        match sheets[at].add(site - file.first_definition, left) {
            Some(bytes) => left -= bytes,
            None => break,
        }
    }
    let mut map = RenderedMap { text: String::new(), files: 0, definitions: 0, all_definitions: 0, unknown };
    map.all_definitions = index.is_named.iter().filter(|is_named| **is_named).count();
    for sheet in sheets.iter().filter(|sheet| !sheet.lines.is_empty()) {
        map.files += 1;
        map.definitions +=
            sheet.lines.keys().filter(|number| !sheet.definitions[**number as usize].name.is_empty()).count();
        sheet.write(&mut map.text);
    }
    map
}

/// The numbers of the `count` highest ranks with a name, the highest first, and of equals the first.
fn best(ranks: &[f64], is_named: &[bool], count: usize) -> Vec<u32> {
    let mut order: Vec<u32> =
        (0..).zip(is_named).filter(|(_, named)| **named).map(|(site, _)| site).collect();
    let by_rank =
        |one: &u32, other: &u32| ranks[*other as usize].total_cmp(&ranks[*one as usize]).then(one.cmp(other));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_rank);
        order.truncate(count);
    }
    order.sort_unstable_by(by_rank);
    order
}

/// What is shown of one file.
struct FileExcerpt<'a> {
    path: String,
    definitions: Vec<Definition<'a>>,
    /// The definitions shown, with how deep they lie.
    lines: BTreeMap<u32, usize>,
}

impl<'a> FileExcerpt<'a> {
    fn new(file: &'a IndexedFile) -> FileExcerpt<'a> {
        // A name with a line break in it must not look like two.
        let path = file.path.escape_debug().to_string().replace("\\\"", "\"").replace("\\'", "'");
        FileExcerpt { path, definitions: file.tags.definitions().collect(), lines: BTreeMap::new() }
    }

    /// Adds a definition and what lies around it, and says how many bytes that took; nothing where
    /// there are fewer left.
    fn add(&mut self, number: u32, left: usize) -> Option<usize> {
        let definition = self.definitions.get(number as usize)?;
        if self.lines.contains_key(&number) {
            return Some(0);
        }
        let mut chain = vec![number];
        let mut parent = definition.parent;
        while let Some(around) = parent.filter(|_| chain.len() < MAX_DEPTH) {
            chain.push(around);
            parent = self.definitions.get(around as usize).and_then(|definition| definition.parent);
        }
        let mut bytes = if self.lines.is_empty() { self.path.len() + 2 } else { 0 };
        let mut new = Vec::new();
        for (depth, number) in chain.into_iter().rev().enumerate() {
            if !self.lines.contains_key(&number) {
                bytes += self.line(number, depth).len();
                new.push((number, depth));
            }
        }
        if bytes > left {
            return None;
        }
        self.lines.extend(new);
        Some(bytes)
    }

    fn line(&self, number: u32, depth: usize) -> String {
        let indent = 2 * depth;
        self.definitions.get(number as usize).map_or_else(String::new, |definition| {
            format!("  {}│ {:indent$}{}\n", definition.line, "", definition.signature)
        })
    }

    fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}:", self.path);
        for (number, depth) in &self.lines {
            text.push_str(&self.line(*number, *depth));
        }
    }
}
