//! The files of a workspace as counts of words: found, read by several threads, and remembered as long as
//! they are what they were.

use std::collections::HashMap;
use std::io::{Error, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ignore::WalkBuilder;
use ostler_repo_map::{SourceStamp, Tags};
use ostler_workspace_fs::{is_binary, run_in_threads};

use super::RankDeadline;
use super::words;
use crate::visible_files::{VisibleFiles, resolve_links};

/// How many files are looked at, and how many names a walk meets before it ends.
const MAX_FILES: usize = 20_000;
const MAX_WALKED_NAMES: usize = 200_000;
const MAX_DEPTH: usize = 64;
/// Larger files are data or generated, as a rule, and are passed over.
pub(super) const MAX_FILE_BYTES: u64 = 512 * 1024;
/// How many different words of a file count.
const MAX_WORDS: usize = 4_000;
/// How much memory what is remembered may take.
const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The files of one workspace, sorted by path.
pub(super) struct Corpus {
    pub(super) files: Vec<(String, Arc<CorpusFile>)>,
    pub(super) visible: VisibleFiles,
    /// Whether not all files are in it.
    pub(super) is_partial: bool,
}

/// One file.
pub(super) struct CorpusFile {
    pub(super) stamp: SourceStamp,
    /// How many words it has.
    pub(super) length: u32,
    /// How often it has each word, sorted by word.
    words: Box<[(u32, u16)]>,
    /// What it defines, once somebody has looked.
    pub(super) tags: OnceLock<Tags>,
}

/// What is remembered of workspaces, the last used at the end.
#[derive(Default)]
pub(super) struct CorpusCache(Mutex<Vec<CachedCorpus>>);

type CorpusFiles = HashMap<String, Arc<CorpusFile>>;

struct CachedCorpus {
    workspace: PathBuf,
    documents: Arc<CorpusFiles>,
    bytes: usize,
}

impl CorpusCache {
    /// Looks at the files of a workspace, and reads those that are not remembered as they are.
    pub(super) fn scan(&self, workspace: &Path, hidden: &[PathBuf], until: &RankDeadline) -> Result<Corpus> {
        let visible = VisibleFiles::open(workspace, hidden)?;
        let known = self.cached(workspace);
        let (found, is_whole) = walk(workspace, hidden, until)?;
        let next = AtomicUsize::new(0);
        let read = || {
            let mut files = Vec::new();
            while let Some((path, stamp)) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                let same =
                    known.as_deref().and_then(|known| known.get(path)).filter(|known| known.stamp == *stamp);
                let document = match same {
                    Some(same) => Arc::clone(same),
                    None if until.is_expired() => continue,
                    None => match visible.read_listed(Path::new(path), MAX_FILE_BYTES) {
                        Ok(content) => Arc::new(CorpusFile::new(&content.bytes, content.stamp)),
                        Err(_) => continue,
                    },
                };
                files.push((path.clone(), document));
            }
            files
        };
        let mut files: Vec<(String, Arc<CorpusFile>)> = run_in_threads(read).into_iter().flatten().collect();
        files.sort_by(|one, other| one.0.cmp(&other.0));
        let is_partial = !is_whole || until.is_expired();
        Ok(Corpus { files, visible, is_partial })
    }

    /// Remembers what was read. Workspaces that have not been used for longest make room.
    pub(super) fn store(&self, workspace: &Path, corpus: &Corpus) {
        let documents: CorpusFiles =
            corpus.files.iter().map(|(path, document)| (path.clone(), Arc::clone(document))).collect();
        let bytes = documents.iter().map(|(path, document)| path.len() + document.bytes()).sum();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|remembered| remembered.workspace != workspace);
        // A workspace that does not fit by itself would only drive out the others.
        if bytes > MAX_CACHE_BYTES {
            return;
        }
        all.push(CachedCorpus { workspace: workspace.to_owned(), documents: Arc::new(documents), bytes });
        while all.iter().map(|remembered| remembered.bytes).sum::<usize>() > MAX_CACHE_BYTES {
            all.remove(0);
        }
    }

    fn cached(&self, workspace: &Path) -> Option<Arc<CorpusFiles>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|remembered| remembered.workspace == workspace)?;
        Some(Arc::clone(&known.documents))
    }
}

impl Corpus {
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Where a path is in it.
    pub(super) fn position(&self, path: &str) -> Option<usize> {
        let path = path.trim_start_matches("./");
        self.files.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()
    }
}

impl CorpusFile {
    fn new(bytes: &[u8], stamp: SourceStamp) -> CorpusFile {
        let mut counts: HashMap<u32, u16> = HashMap::new();
        let mut length = 0;
        if !is_binary(bytes) {
            words::weighted_hashes(bytes, |word, weight| {
                length += 1;
                let is_new = counts.len() < MAX_WORDS;
                if let Some(count) = counts.get_mut(&word) {
                    *count = count.saturating_add(weight);
                } else if is_new {
                    counts.insert(word, weight);
                }
            });
        }
        let mut words: Vec<(u32, u16)> = counts.into_iter().collect();
        words.sort_unstable();
        CorpusFile { stamp, length, words: words.into(), tags: OnceLock::new() }
    }

    /// How often it has a word.
    pub(super) fn count(&self, word: u32) -> u16 {
        self.words.binary_search_by_key(&word, |(known, _)| *known).map_or(0, |at| self.words[at].1)
    }

    fn bytes(&self) -> usize {
        self.words.len() * 8 + self.tags.get().map_or(0, Tags::bytes) + 160
    }
}

/// The text files of a workspace with their stamps, in the order of a walk, and whether these are all. A walk
/// only says what there is: what is read is opened beneath the workspace, and never through a link.
fn walk(
    workspace: &Path,
    hidden: &[PathBuf],
    until: &RankDeadline,
) -> Result<(Vec<(String, SourceStamp)>, bool)> {
    let root = workspace.canonicalize()?;
    let hidden: Vec<PathBuf> = hidden.iter().map(|place| resolve_links(place)).collect();
    if hidden.iter().any(|place| root.starts_with(place)) {
        return Err(Error::other("the workspace is in a hidden place"));
    }
    let walk = WalkBuilder::new(&root)
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .max_depth(Some(MAX_DEPTH))
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| {
            !entry.file_name().eq_ignore_ascii_case(".git")
                && !hidden.iter().any(|place| place == entry.path())
        })
        .build();
    let mut found = Vec::new();
    for (number, entry) in walk.enumerate() {
        if number >= MAX_WALKED_NAMES || found.len() >= MAX_FILES || until.is_expired() {
            return Ok((found, false));
        }
        let Ok(entry) = entry else { continue };
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let Some(path) = entry.path().strip_prefix(&root).ok().and_then(Path::to_str) else { continue };
        if !is_file || is_skipped(path) {
            continue;
        }
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.len() > MAX_FILE_BYTES || metadata.len() == 0 {
            continue;
        }
        let modified = (metadata.mtime(), u32::try_from(metadata.mtime_nsec()).unwrap_or(0));
        let stamp = SourceStamp { size: metadata.len(), modified, inode: metadata.ino() };
        found.push((path.to_owned(), stamp));
    }
    Ok((found, true))
}

/// Whether a file is known by its name to be no text that people wrote, or to hold secrets: nobody asked to
/// have those sent anywhere.
fn is_skipped(path: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "svg", "pdf", "zip", "gz", "xz", "bz2", "zst",
        "tar", "jar", "class", "o", "a", "so", "dll", "exe", "wasm", "woff", "woff2", "ttf", "otf", "mp3",
        "mp4", "wav", "ogg", "db", "sqlite", "lock", "map", "pem", "key", "p12", "pfx", "jks", "keystore",
        "kdbx", "snap", "pyc", "bin", "dat",
    ];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_secret = name.starts_with(".env")
        || name.starts_with("id_rsa")
        || name.starts_with("id_ed25519")
        || matches!(name.as_str(), ".npmrc" | ".pypirc" | ".netrc" | ".git-credentials" | "credentials.json");
    is_secret
        || ENDINGS.contains(&ending)
        || name.contains(".min.")
        || matches!(name.as_str(), "package-lock.json" | "pnpm-lock.yaml" | "go.sum")
}
