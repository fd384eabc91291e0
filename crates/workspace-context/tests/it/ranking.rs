//! Rankings of small trees: what makes a file come first, what is never read, and what happens without time.
//! How good rankings are on real repositories is measured by `ranking/run.sh`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ostler_workspace_context::{RankDeadline, RankQuery, RankedFile, Ranker, Ranking};

use crate::write;

fn rank(ranker: &Ranker, workspace: &Path, text: &str, in_play: &[&str], hidden: &[PathBuf]) -> Ranking {
    let in_play: Vec<String> = in_play.iter().map(|path| (*path).to_owned()).collect();
    let question = RankQuery { workspace, text, in_play: &in_play, hidden, max_files: 20 };
    ranker.rank(&question, &RankDeadline::in_duration(Duration::from_secs(300)))
}

fn paths(ranking: &Ranking) -> Vec<&str> {
    ranking.files.iter().map(|file| file.path.as_str()).collect()
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let filler = "pub fn other() { let value = 1; }\n".repeat(30);
    write(
        folder.path(),
        &[
            (
                "src/parse.rs",
                "/// Reads numbers.\npub struct Tokenizer;\nimpl Tokenizer { pub fn next_token(&self) {} }\n",
            ),
            (
                "src/net/retry.rs",
                "/// Waits before another attempt.\npub fn backoff_delay() -> u64 { clock_tick() }\n",
            ),
            ("src/net/mod.rs", &filler),
            ("src/clock.rs", "pub fn clock_tick() -> u64 { 7 }\n"),
            (
                "src/big.rs",
                &format!("{filler}\n/// Attempts to reconcile ledgers.\npub fn reconcile() {{}}\n\n{filler}"),
            ),
            ("tests/retry.rs", "fn test_backoff_delay() { backoff_delay(); attempt(); attempt(); }\n"),
            ("README.md", "Retry: attempt after a delay. Backoff, attempt, delay.\n"),
            ("notes.txt", "one\n\ntwo about lighthouses\n\nthree\n"),
        ],
    );
    folder
}

#[test]
fn words_names_and_paths_find_the_file() {
    let folder = tree();
    let ranker = Ranker::new();
    for (question, expected) in [
        ("How long does it wait between attempts, and what is the backoff?", "src/net/retry.rs"),
        ("next_token", "src/parse.rs"),
        ("the tokenizer for numbers", "src/parse.rs"),
        ("Where are ledgers reconciled?", "src/big.rs"),
        ("lighthouse", "notes.txt"),
    ] {
        let ranking = rank(&ranker, folder.path(), question, &[], &[]);
        assert_eq!(paths(&ranking).first(), Some(&expected), "{question}: {:?}", ranking.files);
        assert!(!ranking.is_partial && ranking.looked_at == 8);
    }
}

#[test]
fn the_best_piece_is_the_one_that_answers() {
    let folder = tree();
    let ranking = rank(&Ranker::new(), folder.path(), "reconcile ledgers", &[], &[]);
    let chunk = &ranking.files[0].chunks[0];
    assert!(chunk.text.contains("pub fn reconcile()"), "{}", chunk.text);
    assert!(chunk.first_line > 10 && chunk.last_line - chunk.first_line < 60, "{chunk:?}");
}

#[test]
fn what_the_session_touched_comes_up() {
    let folder = tree();
    let ranker = Ranker::new();
    let find = |ranking: &Ranking, path: &str| -> Option<RankedFile> {
        ranking.files.iter().find(|file| file.path == path).cloned()
    };
    let before = rank(&ranker, folder.path(), "backoff", &[], &[]);
    assert_eq!(find(&before, "src/parse.rs"), None);
    let after = rank(&ranker, folder.path(), "backoff", &["./src/parse.rs", "gone.rs"], &[]);
    let played = find(&after, "src/parse.rs").unwrap();
    assert!(played.parts.in_play == 1.0 && played.score > 0.25, "{played:?}");
    // With no words to go by, what was touched is all there is.
    assert_eq!(paths(&rank(&ranker, folder.path(), "and the", &["src/clock.rs"], &[])), ["src/clock.rs"]);
    assert_eq!(rank(&ranker, folder.path(), "and the", &[], &[]), Ranking::default());
}

#[test]
fn what_matching_files_refer_to_has_a_share() {
    let folder = tree();
    let ranking = rank(&Ranker::new(), folder.path(), "backoff clock", &[], &[]);
    let clock = ranking.files.iter().find(|file| file.path == "src/clock.rs").unwrap();
    assert!(clock.parts.references > 0.0, "{clock:?}");
}

#[test]
fn a_file_that_changed_is_read_again_and_others_are_not() {
    let folder = tree();
    let ranker = Ranker::new();
    assert!(paths(&rank(&ranker, folder.path(), "zebra", &[], &[])).is_empty());
    write(folder.path(), &[("src/clock.rs", "/// A zebra.\npub fn zebra() {}\n")]);
    write(folder.path(), &[("src/new.rs", "/// Another zebra crossing here.\npub fn crossing() {}\n")]);
    let ranking = rank(&ranker, folder.path(), "zebra", &[], &[]);
    assert_eq!(paths(&ranking), ["src/clock.rs", "src/new.rs"]);
    // What is remembered needs no time, and gives the same answer.
    let question =
        RankQuery { workspace: folder.path(), text: "zebra", in_play: &[], hidden: &[], max_files: 20 };
    let fresh = Ranker::new();
    let out_of_time = RankDeadline::in_duration(Duration::from_secs(300));
    out_of_time.stop();
    assert!(fresh.rank(&question, &out_of_time).is_partial);
    assert_eq!(rank(&ranker, folder.path(), "zebra", &[], &[]), ranking);
}

#[test]
fn nothing_is_read_that_is_ignored_hidden_secret_or_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, elsewhere) = (folder.path().join("workspace"), folder.path().join("elsewhere"));
    write(&elsewhere, &[("x.rs", "fn walrus() {}")]);
    write(
        &workspace,
        &[
            (".gitignore", "out/\n"),
            ("out/x.rs", "fn walrus() {}"),
            ("data/x.rs", "fn walrus() {}"),
            (".git/x.rs", "fn walrus() {}"),
            (".env.local", "WALRUS=1"),
            ("key.pem", "walrus"),
            ("src/x.rs", "fn walrus() {}"),
        ],
    );
    std::fs::write(workspace.join("binary.rs"), b"walrus\0walrus").unwrap();
    std::os::unix::fs::symlink(&elsewhere, workspace.join("folder")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("x.rs"), workspace.join("file.rs")).unwrap();
    let hidden = [workspace.join("data")];
    assert_eq!(paths(&rank(&Ranker::new(), &workspace, "walrus", &[], &hidden)), ["src/x.rs"]);
    // A workspace in a hidden place has no files at all.
    let all = [folder.path().to_owned()];
    assert_eq!(rank(&Ranker::new(), &workspace, "walrus", &[], &all), Ranking::default());
}
