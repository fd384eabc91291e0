//! Pieces of the files that matter for a prompt, as text. Which they are is for `rank` to say.

use crate::prompts;
use crate::rank::{RankedFile, Ranking};
use ostler_context::redact;
use ostler_context::tokens_to_bytes;

/// How many files are ranked to be shown.
pub(crate) const MAX_FILES: usize = 8;
/// Pieces that match less than this beside the best are not worth their room.
const MIN_SCORE: f64 = 0.35;
/// Files whose score is less than this share of the best one's are left out.
const MIN_SHARE: f64 = 0.5;
/// How long a line may be.
const MAX_LINE: usize = 300;

/// The best pieces of the best files, as many as fit.
pub(crate) fn relevant_text(ranking: &Ranking, budget: u64) -> String {
    let mut room = tokens_to_bytes(budget);
    let best = ranking.files.first().map_or(0.0, |file| file.score);
    let mut text = String::new();
    for file in ranking.files.iter().filter(|file| file.score >= MIN_SHARE * best) {
        let piece = best_piece(file);
        if piece.len() > room {
            // A smaller piece may still fit, but a path alone is worth more than its absence.
            let line = format!("{}\n", file.path);
            if line.len() <= room {
                room -= line.len();
                text.push_str(&line);
            }
            continue;
        }
        room -= piece.len();
        text.push_str(&piece);
    }
    if ranking.is_partial && !text.is_empty() {
        text.push_str(&prompts::partial_search(ranking.looked_at));
    }
    text
}

/// The best piece of a file with its place, or its path alone where no piece matches well.
fn best_piece(file: &RankedFile) -> String {
    let Some(chunk) = file.chunks.first().filter(|chunk| chunk.score >= MIN_SCORE) else {
        return format!("{}\n", file.path);
    };
    let mut text = format!("{} (lines {}–{})\n", file.path, chunk.first_line, chunk.last_line);
    for line in redact(&chunk.text).lines() {
        let end = line.floor_char_boundary(MAX_LINE);
        let more = if end < line.len() { "…" } else { "" };
        text.push_str(&format!("│ {}{more}\n", &line[..end]));
    }
    text
}
