//! Whatever bytes come in whatever pieces: the lines are those between the line feeds, and no more than the limit is
//! held. The first byte is the limit, the second the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_line_framing::{FramedLine, LineFramer};

fuzz_target!(|data: &[u8]| {
    let [limit, piece, bytes @ ..] = data else { return };
    let (limit, piece) = (usize::from(*limit) + 1, usize::from(*piece) + 1);
    let (mut lines, mut found) = (LineFramer::new(limit), Vec::new());
    for piece in bytes.chunks(piece) {
        lines.push(piece);
        while let Some(framed) = lines.next_line() {
            found.push(framed);
        }
        assert!(lines.buffered() <= limit + 1);
    }
    found.extend(lines.finish());
    let mut parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    assert_eq!(found.len(), parts.len());
    for (framed, part) in found.iter().zip(parts) {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        match framed {
            FramedLine::Line(line) | FramedLine::Unterminated(line) => assert_eq!(line, part),
            FramedLine::TooLong => assert!(part.len() > limit),
        }
    }
});
