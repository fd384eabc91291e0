//! Finds what a file defines and refers to. A file that does not parse gives what can be made out of
//! it, one that takes too long gives nothing; neither is an error.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{
    Node, ParseOptions, Parser, QueryCursor, QueryCursorOptions, QueryMatch, StreamingIterator, Tree,
};

use crate::language::{LanguageRules, QueryCapture, SourceLanguage};
use crate::tags::{Definition, Tags, TagsBuilder};

/// How many definitions and how many different references of one file count.
const MAX_DEFINITIONS: usize = 2_000;
const MAX_REFERENCES: usize = 2_000;
/// How long a name may be, and how much of a signature is kept, in bytes.
const MAX_NAME: usize = 100;
const MAX_SIGNATURE: usize = 160;
/// How much of a line may come before a definition and still be shown with it: `export`, say.
const MAX_BEFORE: usize = 40;
/// Longer files whose lines are longer than this on average were not written by people.
const MINIFIED_BYTES: usize = 16 * 1024;
const MINIFIED_LINE: usize = 400;
/// How many matches a query may have open at once.
const MATCH_LIMIT: u32 = 4_096;

/// Tags files, one after the other. Each thread has its own.
pub struct Tagger {
    parser: Parser,
    cursor: QueryCursor,
}

impl Tagger {
    /// A tagger for one thread.
    pub fn new() -> Tagger {
        let mut cursor = QueryCursor::new();
        cursor.set_match_limit(MATCH_LIMIT);
        Tagger { parser: Parser::new(), cursor }
    }

    /// The tags of a file, or none where it takes longer than `limit`.
    pub fn tags(&mut self, language: SourceLanguage, source: &[u8], limit: Duration) -> Tags {
        let deadline = Instant::now() + limit;
        let rules = language.rules();
        if is_minified(source) {
            return TagsBuilder::default().build();
        }
        match self.parse(rules, source, deadline) {
            Some(tree) => self.query(rules, &tree, source, deadline).tags(source),
            None => TagsBuilder::default().build(),
        }
    }

    fn parse(&mut self, rules: &LanguageRules, source: &[u8], deadline: Instant) -> Option<Tree> {
        self.parser.reset();
        self.parser.set_language(&rules.grammar).ok()?;
        let mut progress = |_: &_| continue_until(deadline);
        let options = ParseOptions::new().progress_callback(&mut progress);
        self.parser.parse_with_options(&mut |at, _| source.get(at..).unwrap_or_default(), None, Some(options))
    }

    fn query<'tree>(
        &mut self,
        rules: &LanguageRules,
        tree: &'tree Tree,
        source: &[u8],
        deadline: Instant,
    ) -> TagMatches<'tree> {
        let mut found = TagMatches::default();
        let mut progress = |_: &_| continue_until(deadline);
        let options = QueryCursorOptions::new().progress_callback(&mut progress);
        let mut matches = self.cursor.matches_with_options(&rules.query, tree.root_node(), source, options);
        while let Some(matched) = matches.next() {
            found.add(rules, matched, source);
        }
        found
    }
}

impl Default for Tagger {
    fn default() -> Tagger {
        Tagger::new()
    }
}

fn continue_until(deadline: Instant) -> ControlFlow<()> {
    if Instant::now() < deadline { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn is_minified(source: &[u8]) -> bool {
    source.len() > MINIFIED_BYTES
        && source.iter().filter(|byte| **byte == b'\n').count() < source.len() / MINIFIED_LINE
}

/// What a query has found.
#[derive(Default)]
struct TagMatches<'tree> {
    definitions: Vec<(Node<'tree>, QueryCapture, String)>,
    references: BTreeMap<String, u32>,
}

impl<'tree> TagMatches<'tree> {
    fn add(&mut self, rules: &LanguageRules, matched: &QueryMatch<'_, 'tree>, source: &[u8]) {
        let (mut definition, mut name) = (None, String::new());
        for capture in matched.captures() {
            let kind = rules.captures[capture.index as usize];
            match kind {
                QueryCapture::Name => name = text(capture.node, source),
                QueryCapture::Scope | QueryCapture::Function | QueryCapture::Value => {
                    definition = Some((capture.node, kind))
                }
                QueryCapture::Reference => self.refer(text(capture.node, source)),
                QueryCapture::Capital => {
                    let name = text(capture.node, source);
                    if name.starts_with(char::is_uppercase) {
                        self.refer(name);
                    }
                }
            }
        }
        if let Some((node, kind)) = definition
            && self.definitions.len() < MAX_DEFINITIONS
        {
            self.definitions.push((node, kind, name));
        }
    }

    fn refer(&mut self, name: String) {
        let has_room = self.references.len() < MAX_REFERENCES;
        if let Some(count) = self.references.get_mut(&name) {
            *count += 1;
        } else if has_room && !name.is_empty() {
            self.references.insert(name, 1);
        }
    }

    fn tags(mut self, source: &[u8]) -> Tags {
        let order = |kind: &QueryCapture| match kind {
            QueryCapture::Scope => 0,
            QueryCapture::Function => 1,
            QueryCapture::Value | QueryCapture::Name | QueryCapture::Reference | QueryCapture::Capital => 2,
        };
        // What is around comes before what is inside; of two patterns for one name the first counts.
        self.definitions.sort_by_key(|(node, kind, _)| {
            (node.start_byte(), std::cmp::Reverse(node.end_byte()), order(kind))
        });
        self.definitions.dedup_by(|(node, _, name), (before, _, other)| {
            node.start_byte() == before.start_byte() && name == other
        });
        let mut builder = TagsBuilder::default();
        let mut around: Vec<EnclosingDefinition> = Vec::new();
        let mut number = 0;
        for (node, kind, name) in &self.definitions {
            while around.last().is_some_and(|around| around.end <= node.start_byte()) {
                around.pop();
            }
            let parent = around.last().map(|around| around.number);
            // What a function defines for itself is nobody else's concern, and neither are the types and
            // constants by which a trait is implemented.
            let is_local = around.iter().any(|around| around.is_function);
            if is_local
                || *kind == QueryCapture::Value && around.last().is_some_and(|around| around.has_trait)
            {
                continue;
            }
            let line = u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX);
            builder.define(Definition { line, parent, name, signature: &signature(*node, source) });
            let has_trait = node.child_by_field_name("trait").is_some();
            around.push(EnclosingDefinition {
                end: node.end_byte(),
                number,
                is_function: *kind == QueryCapture::Function,
                has_trait,
            });
            number += 1;
        }
        for (name, count) in &self.references {
            builder.refer(name, *count);
        }
        builder.build()
    }
}

/// A definition around others.
struct EnclosingDefinition {
    end: usize,
    number: u32,
    is_function: bool,
    has_trait: bool,
}

/// The text of a name, or nothing where it is no name.
fn text(node: Node<'_>, source: &[u8]) -> String {
    match source.get(node.byte_range()).map(std::str::from_utf8) {
        Some(Ok(text)) if text.len() <= MAX_NAME => one_line(text),
        Some(_) | None => String::new(),
    }
}

/// How a definition begins: up to its body, or to the end of its first line where it has none.
fn signature(node: Node<'_>, source: &[u8]) -> String {
    let start = node.start_byte();
    let line_start = source[..start].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let from = if start - line_start <= MAX_BEFORE { line_start } else { start };
    let line_end =
        || source[start..].iter().position(|byte| *byte == b'\n').map_or(source.len(), |at| start + at);
    let end = node.child_by_field_name("body").map_or_else(line_end, |body| body.start_byte());
    // Eight times what is shown leaves room for indentation and long parameter lists.
    let end = end.clamp(start, start + 8 * MAX_SIGNATURE).min(source.len());
    let text = one_line(&String::from_utf8_lossy(&source[from..end]));
    let text = text.trim_end_matches(['{', ':', '=', ' ']);
    match text.len() {
        ..=MAX_SIGNATURE => text.to_owned(),
        _ => format!("{}…", &text[..text.floor_char_boundary(MAX_SIGNATURE)]),
    }
}

/// A text with all white space made one space, and nothing in it that a terminal would obey.
fn one_line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|character: char| character.is_whitespace() || character.is_control()).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}
