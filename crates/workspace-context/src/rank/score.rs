//! Puts the parts of a score together, for the files that are looked at closely.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ostler_repo_map::{SourceLanguage, Tagger};
use ostler_workspace_fs::run_in_threads;

use super::chunks::chunks;
use super::corpus::{Corpus, MAX_FILE_BYTES};
use super::references::references;
use super::text_match::TextMatch;
use super::{RankDeadline, RankQuery, RankedChunk, RankedFile, ScoreParts};

/// How much each part counts.
const TEXT_WEIGHT: f64 = 0.60;
const CHUNK_WEIGHT: f64 = 0.10;
const NAMES_WEIGHT: f64 = 0.20;
const REFERENCES_WEIGHT: f64 = 0.05;
const IN_PLAY_WEIGHT: f64 = 0.30;
const RECENCY_WEIGHT: f64 = 0.05;
/// As how much the files count that seldom are the answer: tests and examples, prose, data.
const TEST_FILE_WEIGHT: f64 = 0.5;
const PROSE_WEIGHT: f64 = 0.6;
const DATA_WEIGHT: f64 = 0.5;
/// How many words a piece has, usually.
const USUAL_CHUNK_WORDS: f64 = 150.0;
/// How many pieces of a file are given.
const MAX_CHUNKS: usize = 3;
/// How many of the best matches the references are seen from.
const MAX_FOCUS_FILES: usize = 12;
/// How long one file may take to be taken apart.
const FILE_TIME_LIMIT: Duration = Duration::from_secs(1);
/// In how many seconds a file's recency halves.
const RECENCY_HALF_LIFE_SECONDS: f64 = 3.0 * 24.0 * 3_600.0;

/// One file that was looked at closely.
struct ExaminedFile {
    file: usize,
    chunks: Vec<RankedChunk>,
    names: f64,
}

/// The best files, with their pieces.
pub(super) fn score(
    corpus: &Corpus,
    matched: &TextMatch,
    candidates: &[usize],
    question: &RankQuery<'_>,
    until: &RankDeadline,
) -> Vec<RankedFile> {
    let mut close = examine_candidates(corpus, matched, candidates, until);
    close.sort_by_key(|close| close.file);
    let most = |scores: &mut dyn Iterator<Item = f64>| scores.fold(f64::MIN_POSITIVE, f64::max);
    let most_text = most(&mut candidates.iter().map(|file| matched.scores[*file]));
    let most_chunk = most(&mut close.iter().filter_map(|close| Some(close.chunks.first()?.score)));
    let referred = references(
        tagged_candidates(corpus, candidates),
        &focus_files(corpus, matched, candidates, question.in_play),
    );
    let newest = corpus.files.iter().map(|(_, document)| document.stamp.modified.0).max().unwrap_or(0);
    let about_tests = question.text.to_ascii_lowercase().contains("test");
    let mut files: Vec<RankedFile> = close
        .into_iter()
        .map(|mut close| {
            let (path, document) = &corpus.files[close.file];
            close.chunks.iter_mut().for_each(|chunk| chunk.score /= most_chunk);
            let age = (newest - document.stamp.modified.0) as f64;
            let played = question.in_play.iter().position(|played| played.trim_start_matches("./") == path);
            let parts = ScoreParts {
                text: matched.scores[close.file] / most_text,
                chunk: close.chunks.first().map_or(0.0, |chunk| chunk.score),
                names: close.names,
                references: referred.get(path).copied().unwrap_or(0.0),
                in_play: played.map_or(0.0, |place| 1.0 / (1.0 + place as f64 / 4.0)),
                recency: 0.5_f64.powf(age / RECENCY_HALF_LIFE_SECONDS),
            };
            let score = total(&parts) * kind_weight(path, about_tests);
            close.chunks.truncate(MAX_CHUNKS);
            RankedFile { path: path.clone(), score, parts, chunks: close.chunks }
        })
        .collect();
    files.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.path.cmp(&other.path)));
    files.truncate(question.max_files);
    files
}

fn total(parts: &ScoreParts) -> f64 {
    TEXT_WEIGHT * parts.text
        + CHUNK_WEIGHT * parts.chunk
        + NAMES_WEIGHT * parts.names
        + REFERENCES_WEIGHT * parts.references
        + IN_PLAY_WEIGHT * parts.in_play
        + RECENCY_WEIGHT * parts.recency
}

/// Reads the candidates again, takes them apart, and finds the pieces that match.
fn examine_candidates(
    corpus: &Corpus,
    matched: &TextMatch,
    candidates: &[usize],
    until: &RankDeadline,
) -> Vec<ExaminedFile> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tagger = Tagger::new();
        let mut close = Vec::new();
        while let Some(file) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
            close.push(examine(corpus, matched, *file, &mut tagger, until.is_expired()));
        }
        close
    };
    run_in_threads(work).into_iter().flatten().collect()
}

/// When time is over a file keeps its score by words, and has no pieces.
fn examine(
    corpus: &Corpus,
    matched: &TextMatch,
    file: usize,
    tagger: &mut Tagger,
    is_over: bool,
) -> ExaminedFile {
    let mut close = ExaminedFile { file, chunks: Vec::new(), names: 0.0 };
    let (path, document) = &corpus.files[file];
    let read = || corpus.visible.read_listed(Path::new(path), MAX_FILE_BYTES).ok();
    let Some(content) = (!is_over).then(read).flatten() else { return close };
    let tags = SourceLanguage::from_path(Path::new(path)).map(|language| {
        // What the file has become since it was counted is close enough for a rank.
        document.tags.get_or_init(|| tagger.tags(language, &content.bytes, FILE_TIME_LIMIT))
    });
    let text = String::from_utf8_lossy(&content.bytes);
    let lines: Vec<&str> = text.lines().collect();
    for range in chunks(&lines, tags) {
        let text = lines[range.clone()].join("\n");
        let score = matched.score_text(&text, USUAL_CHUNK_WORDS);
        if score > 0.0 {
            close.chunks.push(RankedChunk { first_line: range.start + 1, last_line: range.end, text, score });
        }
    }
    close.chunks.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.first_line.cmp(&other.first_line))
    });
    close.names =
        tags.map_or(0.0, |tags| matched.name_coverage(tags.definitions().map(|definition| definition.name)));
    close
}

fn tagged_candidates(corpus: &Corpus, candidates: &[usize]) -> Vec<(String, ostler_repo_map::Tags)> {
    let mut candidates = candidates.to_vec();
    candidates.sort_unstable();
    let files = candidates.into_iter().map(|file| &corpus.files[file]);
    files.filter_map(|(path, document)| Some((path.clone(), document.tags.get()?.clone()))).collect()
}

/// What the references are seen from: the files in play, and those that match best.
fn focus_files(
    corpus: &Corpus,
    matched: &TextMatch,
    candidates: &[usize],
    in_play: &[String],
) -> Vec<String> {
    let mut best: Vec<usize> =
        candidates.iter().copied().filter(|file| matched.scores[*file] > 0.0).collect();
    best.sort_by(|one, other| matched.scores[*other].total_cmp(&matched.scores[*one]).then(one.cmp(other)));
    let best = best.into_iter().take(MAX_FOCUS_FILES).map(|file| corpus.files[file].0.clone());
    in_play.iter().take(MAX_FOCUS_FILES).cloned().chain(best).collect()
}

/// As how much a file counts by what it is.
fn kind_weight(path: &str, about_tests: bool) -> f64 {
    const ASIDES: &[&str] = &[
        "test",
        "tests",
        "__tests__",
        "spec",
        "specs",
        "testdata",
        "fixtures",
        "examples",
        "example",
        "benches",
        "bench",
    ];
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let is_aside = folders.split('/').any(|folder| ASIDES.contains(&folder))
        || ["_test.", ".test.", ".spec.", "_spec.", "tests."].iter().any(|mark| name.contains(mark))
        || name.starts_with("test_");
    let of_place = if is_aside && !about_tests { TEST_FILE_WEIGHT } else { 1.0 };
    if name.ends_with(".d.ts") {
        return of_place * PROSE_WEIGHT;
    }
    let of_kind = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "md" | "txt" | "rst" | "adoc" => PROSE_WEIGHT,
        "json" | "yaml" | "yml" | "toml" | "xml" | "csv" | "html" | "css" | "ini" | "cfg" | "orig" => {
            DATA_WEIGHT
        }
        _ => 1.0,
    };
    let is_record =
        ["changelog", "license", "copying", "notice"].iter().any(|record| name.starts_with(record));
    of_place * if is_record { PROSE_WEIGHT * DATA_WEIGHT } else { of_kind }
}
