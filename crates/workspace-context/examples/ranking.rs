//! Measures the ranking: how often a file that answers a question is among the first five, beside a plain
//! search. Run by `ranking/run.sh`, which fetches the repositories; it is no test, since it needs a network.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ostler_workspace_context::{RankDeadline, RankQuery, Ranker};
use serde::Deserialize;

const TOP: usize = 5;

#[derive(Deserialize)]
struct RankingQuestions {
    question: Vec<RankingQuestion>,
}

#[derive(Deserialize)]
struct RankingQuestion {
    repository: String,
    text: String,
    answers: Vec<String>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(questions), Some(repositories)) = (arguments.next(), arguments.next()) else {
        return Err("usage: ranking QUESTIONS.toml DIRECTORY_OF_REPOSITORIES".into());
    };
    let RankingQuestions { question: all } = toml::from_str(&std::fs::read_to_string(questions)?)?;
    let ranker = Ranker::new();
    let (mut ranked, mut plain, mut reciprocal) = (0, 0, 0.0);
    println!("place of the answer: ranked, plain search");
    for asked in &all {
        let workspace = repositories.join(&asked.repository);
        let question =
            RankQuery { workspace: &workspace, text: &asked.text, in_play: &[], hidden: &[], max_files: 100 };
        let started = Instant::now();
        let ranking = ranker.rank(&question, &RankDeadline::in_duration(Duration::from_secs(600)));
        let took = started.elapsed();
        let paths: Vec<&str> = ranking.files.iter().map(|file| file.path.as_str()).collect();
        let searched = plain_search(&workspace, &asked.text)?;
        let searched: Vec<&str> = searched.iter().map(String::as_str).collect();
        let (mine, theirs) = (answer_rank(&paths, &asked.answers), answer_rank(&searched, &asked.answers));
        ranked += usize::from(mine.is_some_and(|place| place <= TOP));
        plain += usize::from(theirs.is_some_and(|place| place <= TOP));
        reciprocal += mine.map_or(0.0, |place| 1.0 / place as f64);
        println!(
            "{:>4} {:>4}  {:>5} ms  {}: {}",
            rank_text(mine),
            rank_text(theirs),
            took.as_millis(),
            asked.repository,
            asked.text
        );
    }
    let percent = |count: usize| 100.0 * count as f64 / all.len() as f64;
    println!(
        "in the first {TOP} of {}: ranked {ranked} ({:.0} %), plain search {plain} ({:.0} %)",
        all.len(),
        percent(ranked),
        percent(plain)
    );
    println!("mean reciprocal rank: {:.2}", reciprocal / all.len() as f64);
    Ok(())
}

fn answer_rank(paths: &[&str], answers: &[String]) -> Option<usize> {
    paths.iter().position(|path| answers.iter().any(|answer| answer == path)).map(|place| place + 1)
}

fn rank_text(place: Option<usize>) -> String {
    place.map_or_else(|| "–".to_owned(), |place| place.to_string())
}

/// What a search for the words of the question would give: files by how many of its words they have, and how
/// often. Words of up to three letters are left out, as anybody would who searches.
fn plain_search(root: &Path, text: &str) -> std::io::Result<Vec<String>> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|character: char| !character.is_alphanumeric()).filter(|word| word.len() > 3).collect();
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(content) = std::fs::read_to_string(&path) {
                let content = content.to_lowercase();
                let counts = words.iter().map(|word| content.matches(word).count());
                let (met, times) =
                    counts.fold((0, 0), |(met, times), count| (met + usize::from(count > 0), times + count));
                let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                found.push((met, times, relative));
            }
        }
    }
    found.sort_by(|one, other| other.cmp(one));
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}
