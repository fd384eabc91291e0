//! Cuts a file into pieces that can be read by themselves: along its definitions where its language is known,
//! else at blank lines.

use std::ops::Range;

use ostler_repo_map::Tags;

use super::words::is_comment;

/// How long a piece is at least and at most, in lines.
const MIN_LINES: usize = 6;
const MAX_LINES: usize = 60;
/// How long a piece is that is made of blocks between blank lines.
const BLOCK_LINES: usize = 30;

/// The pieces of a file, as ranges of lines counted from 0, in order and without gaps.
pub(super) fn chunks(lines: &[&str], tags: Option<&Tags>) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = tags.map_or_else(Vec::new, |tags| {
        let lines_of = tags.definitions().map(|definition| definition.line as usize);
        lines_of.map(|line| above(lines, line.saturating_sub(1))).collect()
    });
    let least = if starts.is_empty() {
        starts = blocks(lines);
        BLOCK_LINES
    } else {
        MIN_LINES
    };
    starts.sort_unstable();
    let mut chunks = Vec::new();
    let mut from = 0;
    for start in starts.into_iter().chain([lines.len()]) {
        let is_end = start == lines.len();
        if start > from && (is_end || start - from >= least) {
            split(from..start, &mut chunks);
            from = start;
        }
    }
    chunks
}

/// Where a definition begins with the comments and attributes above it.
fn above(lines: &[&str], line: usize) -> usize {
    let is_part = |line: &str| is_comment(line.as_bytes()) || line.trim_start().starts_with('@');
    let mut start = line.min(lines.len());
    while start > 0 && is_part(lines[start - 1]) {
        start -= 1;
    }
    start
}

fn blocks(lines: &[&str]) -> Vec<usize> {
    let is_blank = |line: &str| line.trim().is_empty();
    (1..lines.len()).filter(|at| is_blank(lines[at - 1]) && !is_blank(lines[*at])).collect()
}

/// Adds a piece, in several where it is too long.
fn split(range: Range<usize>, chunks: &mut Vec<Range<usize>>) {
    let pieces = range.len().div_ceil(MAX_LINES).max(1);
    let length = range.len().div_ceil(pieces).max(1);
    let mut start = range.start;
    while start < range.end {
        let end = (start + length).min(range.end);
        chunks.push(start..end);
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ostler_repo_map::{SourceLanguage, Tagger};

    use super::{MAX_LINES, chunks};

    #[test]
    fn pieces_follow_definitions_and_their_comments() {
        let body = "    let x = 1;\n".repeat(8);
        let source = format!(
            "use a;\n\n/// One.\n#[test]\nfn one() {{\n{body}}}\n\n/// Two.\nfn two() {{\n{body}}}\n"
        );
        let tags = Tagger::new().tags(SourceLanguage::Rust, source.as_bytes(), Duration::from_secs(600));
        let lines: Vec<&str> = source.lines().collect();
        let chunks = chunks(&lines, Some(&tags));
        let last = chunks.last().unwrap();
        assert_eq!(lines[last.start], "/// Two.");
        assert_eq!(last.end, lines.len());
    }

    #[test]
    fn pieces_cover_every_line_once() {
        for count in [0, 1, 5, 29, 30, 61, 500] {
            let lines: Vec<String> = (0..count)
                .map(|line| if line % 7 == 3 { String::new() } else { format!("line {line}") })
                .collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let chunks = chunks(&lines, None);
            let covered: Vec<usize> = chunks.iter().cloned().flatten().collect();
            assert_eq!(covered, (0..count).collect::<Vec<_>>());
            assert!(chunks.iter().all(|chunk| chunk.len() <= MAX_LINES));
        }
    }
}
