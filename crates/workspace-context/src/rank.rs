//! Which files matter for a prompt: those whose words match it, whose definitions are named by it, to which
//! the matching ones refer, and which the session has touched.
//!
//! Two rounds. The first looks at every file and counts words, which is cheap and kept from call to call. The
//! second looks closely at those that matched best: it cuts them into pieces by their syntax, and joins them
//! by who refers to whom. What is shown of a ranking is left to `relevant_files`.

mod chunks;
mod corpus;
mod references;
mod score;
mod text_match;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use corpus::{Corpus, CorpusCache};
use score::score;
use text_match::TextMatch;

/// How many files are looked at closely.
const MAX_CANDIDATES: usize = 300;

/// Ranks files, and remembers what it has read of workspaces. Shared by all sessions.
#[derive(Default)]
pub struct Ranker {
    corpora: CorpusCache,
}

/// What files are ranked for.
#[derive(Debug, Clone, Copy)]
pub struct RankQuery<'a> {
    /// The workspace.
    pub workspace: &'a Path,
    /// The prompt.
    pub text: &'a str,
    /// Files that the session has opened or changed, relative to the workspace, the newest first.
    pub in_play: &'a [String],
    /// What is never read, wherever it is.
    pub hidden: &'a [PathBuf],
    /// How many files are wanted.
    pub max_files: usize,
}

/// The files that matter, the best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// The files.
    pub files: Vec<RankedFile>,
    /// How many files were looked at.
    pub looked_at: usize,
    /// Whether time ran out, or there were too many files, before all of them were looked at.
    pub is_partial: bool,
}

/// A file, and why it is where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Its path, relative to the workspace.
    pub path: String,
    /// Its score. Only good for comparison within one ranking.
    pub score: f64,
    /// What the score is made of.
    pub parts: ScoreParts,
    /// The pieces that match best, the best first.
    pub chunks: Vec<RankedChunk>,
}

/// What a score is made of, each from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ScoreParts {
    /// How well the words of the whole file and of its path match.
    pub text: f64,
    /// How well its best piece matches.
    pub chunk: f64,
    /// How much of the prompt the names of its definitions cover.
    pub names: f64,
    /// How much the matching files and those in play refer to it.
    pub references: f64,
    /// Whether the session has touched it, and how lately.
    pub in_play: f64,
    /// How lately it was written, beside the newest file of the workspace.
    pub recency: f64,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedChunk {
    /// Its first line, counted from 1.
    pub first_line: usize,
    /// Its last line.
    pub last_line: usize,
    /// Its text.
    pub text: String,
    /// How well it matches, from 0 to 1.
    pub score: f64,
}

/// When work that takes too long, or that nobody waits for, ends.
#[derive(Debug, Clone)]
pub struct RankDeadline {
    deadline: Instant,
    stop: Arc<AtomicBool>,
}

impl RankDeadline {
    /// Until so much time has passed.
    pub fn in_duration(limit: Duration) -> RankDeadline {
        RankDeadline { deadline: Instant::now() + limit, stop: Arc::default() }
    }

    /// Ends the work of everybody who has a clone of this.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it is time to end.
    pub fn is_expired(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

impl Ranker {
    /// A ranker that knows nothing yet.
    pub fn new() -> Ranker {
        Ranker::default()
    }

    /// Ranks the files of a workspace. Blocks, until it is done or time is over; what was read by then is
    /// ranked, and remembered for the next time.
    pub fn rank(&self, question: &RankQuery<'_>, until: &RankDeadline) -> Ranking {
        let terms = words::terms(question.text);
        if terms.is_empty() && question.in_play.is_empty() {
            return Ranking::default();
        }
        let Ok(corpus) = self.corpora.scan(question.workspace, question.hidden, until) else {
            return Ranking::default();
        };
        let matched = TextMatch::new(&corpus, &terms);
        let candidates = candidates(&corpus, &matched, question.in_play);
        let files = score(&corpus, &matched, &candidates, question, until);
        self.corpora.store(question.workspace, &corpus);
        Ranking { files, looked_at: corpus.len(), is_partial: corpus.is_partial || until.is_expired() }
    }
}

/// The files to be looked at closely: those that match best, and those in play.
fn candidates(corpus: &Corpus, matched: &TextMatch, in_play: &[String]) -> Vec<usize> {
    let mut candidates: Vec<usize> = in_play.iter().filter_map(|path| corpus.position(path)).collect();
    let mut best: Vec<usize> = (0..corpus.len()).filter(|file| matched.scores[*file] > 0.0).collect();
    best.sort_by(|one, other| matched.scores[*other].total_cmp(&matched.scores[*one]).then(one.cmp(other)));
    for file in best {
        if candidates.len() >= MAX_CANDIDATES {
            break;
        }
        if !candidates.contains(&file) {
            candidates.push(file);
        }
    }
    candidates
}
