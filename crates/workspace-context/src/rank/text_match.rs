//! How well the words of files match those of a prompt: BM25, in which a word of the path counts as several
//! of the text.

use super::corpus::Corpus;
use super::words;

/// How soon more of the same word says nothing more, and how much a long file has to make up for.
const SATURATION: f64 = 1.2;
const LENGTH_SHARE: f64 = 0.5;
/// As how many words of the text a word of a file's name counts, and one of its directories.
const NAME_WEIGHT: f64 = 6.0;
const DIRECTORY_WEIGHT: f64 = 2.0;

/// How a prompt's words meet the files of a workspace.
pub(super) struct TextMatch {
    /// The words, with how much each says: a word that every file has says nothing.
    pub(super) terms: Vec<(u32, f64)>,
    /// The score of each file.
    pub(super) scores: Vec<f64>,
}

impl TextMatch {
    pub(super) fn new(corpus: &Corpus, terms: &[u32]) -> TextMatch {
        let lengths: f64 = corpus.files.iter().map(|(_, document)| f64::from(document.length)).sum();
        let average = (lengths / corpus.len().max(1) as f64).max(1.0);
        let mut counts = vec![vec![0.0; terms.len()]; corpus.len()];
        for ((path, document), counts) in corpus.files.iter().zip(&mut counts) {
            for (term, count) in terms.iter().zip(counts.iter_mut()) {
                *count = f64::from(document.count(*term));
            }
            let (directories, name) = path.rsplit_once('/').unwrap_or(("", path));
            for (text, weight) in [(name, NAME_WEIGHT), (directories, DIRECTORY_WEIGHT)] {
                words::hashes(text.as_bytes(), |word| {
                    if let Some(at) = terms.iter().position(|term| *term == word) {
                        counts[at] += weight;
                    }
                });
            }
        }
        let terms: Vec<(u32, f64)> = terms
            .iter()
            .enumerate()
            .map(|(at, term)| {
                let having = counts.iter().filter(|counts| counts[at] > 0.0).count() as f64;
                (*term, (1.0 + (corpus.len() as f64 - having + 0.5) / (having + 0.5)).ln())
            })
            .collect();
        let scores = corpus
            .files
            .iter()
            .zip(&counts)
            .map(|((_, document), counts)| {
                let length = f64::from(document.length) / average;
                terms.iter().zip(counts).map(|((_, says), count)| says * saturated(*count, length)).sum()
            })
            .collect();
        TextMatch { terms, scores }
    }

    /// How well a piece of text matches; `usual_length` is how many words a piece has.
    pub(super) fn score_text(&self, text: &str, usual_length: f64) -> f64 {
        let mut counts = vec![0.0; self.terms.len()];
        let mut length = 0.0;
        words::weighted_hashes(text.as_bytes(), |word, weight| {
            length += 1.0;
            if let Some(at) = self.terms.iter().position(|(term, _)| *term == word) {
                counts[at] += f64::from(weight);
            }
        });
        let length = length / usual_length;
        self.terms.iter().zip(&counts).map(|((_, says), count)| says * saturated(*count, length)).sum()
    }

    /// Which share of what the prompt says some names cover.
    pub(super) fn name_coverage<'a>(&self, names: impl Iterator<Item = &'a str>) -> f64 {
        let mut is_met = vec![false; self.terms.len()];
        for name in names {
            words::hashes(name.as_bytes(), |word| {
                if let Some(at) = self.terms.iter().position(|(term, _)| *term == word) {
                    is_met[at] = true;
                }
            });
        }
        let all: f64 = self.terms.iter().map(|(_, says)| says).sum();
        let met: f64 =
            self.terms.iter().zip(&is_met).filter(|(_, met)| **met).map(|((_, says), _)| says).sum();
        if all > 0.0 { met / all } else { 0.0 }
    }
}

fn saturated(count: f64, length: f64) -> f64 {
    count * (SATURATION + 1.0) / (count + SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * length))
}
