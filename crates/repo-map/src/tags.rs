//! What one file defines and refers to, packed into one text: a large tree has millions of names, and
//! a text of lines costs a fraction of as many strings. The same text is what the disk keeps.

use std::fmt::Write;
use std::sync::Arc;

/// The definitions and references of one file. Cheap to clone.
///
/// A definition is a line `D<line> <parent>\t<name>\t<signature>`, where the parent is the number of
/// the definition around it, counted from 0, or `-`; a reference is a line `R<count> <name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags(Arc<str>);

/// Something that a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition<'a> {
    /// Where it begins, counted from 1.
    pub line: u32,
    /// Which definition of the same file is around it.
    pub parent: Option<u32>,
    /// Its name; empty for what only holds others, as an implementation does.
    pub name: &'a str,
    /// How it begins, on one line.
    pub signature: &'a str,
}

impl Tags {
    /// What the file defines, in the order of its text.
    pub fn definitions(&self) -> impl Iterator<Item = Definition<'_>> {
        self.0.lines().filter_map(definition)
    }

    /// The names that the file refers to, each once, with how often.
    pub fn references(&self) -> impl Iterator<Item = (&str, u32)> {
        self.0.lines().filter_map(|line| {
            let (count, name) = line.strip_prefix('R')?.split_once(' ')?;
            Some((name, count.parse().ok()?))
        })
    }

    /// How much memory they take, about.
    pub fn bytes(&self) -> usize {
        self.0.len() + 32
    }

    /// The packed text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Tags out of a packed text. Lines that are none are passed over.
    pub(crate) fn from_text(text: &str) -> Tags {
        Tags(text.into())
    }
}

fn definition(line: &str) -> Option<Definition<'_>> {
    let mut fields = line.strip_prefix('D')?.splitn(3, '\t');
    let (line, parent) = fields.next()?.split_once(' ')?;
    let (name, signature) = (fields.next()?, fields.next()?);
    Some(Definition { line: line.parse().ok()?, parent: parent.parse().ok(), name, signature })
}

/// Packs tags.
#[derive(Default)]
pub(crate) struct TagsBuilder(String);

impl TagsBuilder {
    /// Adds a definition. Neither text may hold a tab or a line break.
    pub(crate) fn define(&mut self, definition: Definition<'_>) {
        let Definition { line, parent, name, signature } = definition;
        let parent = parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "D{line} {parent}\t{name}\t{signature}");
    }

    /// Adds a name that is referred to.
    pub(crate) fn refer(&mut self, name: &str, count: u32) {
        // As above.
        let _ = writeln!(self.0, "R{count} {name}");
    }

    pub(crate) fn build(self) -> Tags {
        Tags(self.0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{Definition, Tags, TagsBuilder};

    #[test]
    fn what_is_packed_comes_out_again() {
        let mut builder = TagsBuilder::default();
        let outer = Definition { line: 3, parent: None, name: "", signature: "impl A" };
        let inner = Definition { line: 4, parent: Some(0), name: "b", signature: "fn b()" };
        builder.define(outer);
        builder.define(inner);
        builder.refer("c", 7);
        let tags = builder.build();
        assert_eq!(tags.definitions().collect::<Vec<_>>(), [outer, inner]);
        assert_eq!(tags.references().collect::<Vec<_>>(), [("c", 7)]);
        assert_eq!(Tags::from_text(tags.as_str()), tags);
    }

    #[test]
    fn junk_is_passed_over() {
        let tags = Tags::from_text("D\nDx y\tz\tw\nD1 -\tonly two\nR\nRx y\n\u{0}\n");
        assert_eq!((tags.definitions().count(), tags.references().count()), (0, 0));
    }
}
