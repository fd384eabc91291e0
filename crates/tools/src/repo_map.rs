//! The tool that shows which definitions of the workspace matter, ranked by who refers to whom.
//!
//! It finds and reads the files; what they define, how they rank and what is remembered is for the crate
//! `ostler_repo_map` to say.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_repo_map::{RenderedMap, RepoMapCache, SourceLanguage, SourceStamp, Tagger, Tags, WorkspaceTags};
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use ostler_workspace_fs::run_in_threads;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{StopFlag, run_blocking};
use crate::hidden_paths::HiddenPaths;
use crate::text::{cut, reveal_line};
use crate::workspace::Workspace;
use crate::workspace_walk::{MAX_DEPTH, OmittedEntries, WorkDeadline, WorkspaceEntry, WorkspaceWalk, stamp};
use crate::{Failed, input, prompts};

const DEFAULT_MAX_TOKENS: usize = 2_000;
/// How many bytes a token has, about.
const BYTES_PER_TOKEN: usize = 4;
/// Larger files are generated, as a rule, and are passed over.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// How many files are read.
const MAX_FILES: usize = 50_000;
/// How long one file may take, and all of them together.
const FILE_TIME_LIMIT: Duration = Duration::from_secs(2);
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Shows the definitions of the workspace that matter.
pub(crate) struct RepoMap {
    cache: Arc<RepoMapCache>,
    hidden_paths: Arc<HiddenPaths>,
}

impl RepoMap {
    /// With a cache directory, what is known of a workspace outlives the process.
    pub(crate) fn new(cache_directory: Option<PathBuf>, hidden: Arc<HiddenPaths>) -> RepoMap {
        RepoMap { cache: Arc::new(RepoMapCache::new(cache_directory)), hidden_paths: hidden }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoMapInput {
    /// Paths or names to focus on, comma-separated or as a list. Code that they use or that uses them is
    /// ranked first. Default: the whole workspace.
    #[schemars(extend("type" = ["string", "array"], "items" = {"type": "string"}))]
    #[schemars(with = "Option<String>")]
    focus: Option<Value>,
    /// Maximum length of the map in tokens. Default 2000.
    #[schemars(range(min = 1, max = 20_000))]
    max_tokens: Option<usize>,
}

impl Tool for RepoMap {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "repo_map".to_owned(),
            description: prompts::REPO_MAP.to_owned(),
            input_schema: input::schema::<RepoMapInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, input: &Value) -> String {
        match focus_words(input.get("focus")).as_deref() {
            Ok([]) | Err(_) => "map the workspace".to_owned(),
            Ok(words) => format!("map the workspace around {}", reveal_line(&words.join(", "))),
        }
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let (cache, hidden) = (Arc::clone(&self.cache), Arc::clone(&self.hidden_paths));
        run_blocking(move |stop| {
            let input: RepoMapInput = input::parse(input)?;
            let focus = focus_words(input.focus.as_ref())?;
            let max_tokens = input.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
            let workspace = Workspace::open(&context.workspace, &hidden)?;
            let survey = survey(&workspace, &context.workspace, &cache, stop)?;
            let map = survey.tags.index().map(&focus, max_tokens * BYTES_PER_TOKEN);
            Ok(outcome(&map, &survey))
        })
        .boxed()
    }
}

/// The words of a focus, given as a text or as a list.
fn focus_words(focus: Option<&Value>) -> Result<Vec<String>, Failed> {
    let texts: Option<Vec<&str>> = match focus {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text]),
        Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => None,
    };
    let texts = texts.ok_or_else(|| {
        Failed::new("`focus` must be paths or names, separated by commas or as a list of strings.")
    })?;
    let words = texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|word| !word.is_empty());
    Ok(words.map(str::to_owned).collect())
}

/// What is there to be mapped.
struct SourceSurvey {
    tags: Arc<WorkspaceTags>,
    omitted: OmittedEntries,
    /// Files that were too large, could not be read, or came too late.
    passed_over: usize,
    is_late: bool,
}

/// Looks at every source file, and reads those that are not known as they are.
fn survey(
    workspace: &Workspace,
    root: &Path,
    cache: &RepoMapCache,
    stop: &StopFlag,
) -> Result<SourceSurvey, Failed> {
    let until = WorkDeadline::new(stop, TIME_LIMIT);
    let walk = WorkspaceWalk::new(workspace, ".", MAX_DEPTH, &until)?
        .with_stamps(|path| SourceLanguage::from_path(path).is_some());
    let (mut entries, mut omitted) = walk.run();
    entries.retain(|entry| entry.stamp.is_some());
    let mut passed_over = 0;
    if entries.len() > MAX_FILES {
        passed_over += entries.len() - MAX_FILES;
        entries.truncate(MAX_FILES);
        omitted.too_many = true;
    }
    let before = cache.get(root);
    let mut files: HashMap<String, (SourceStamp, Tags)> = HashMap::with_capacity(entries.len());
    let mut unknown = Vec::new();
    for entry in &entries {
        let path = entry.path.to_string_lossy();
        let known = before
            .as_deref()
            .zip(entry.stamp)
            .and_then(|(known, stamp)| Some((known.tags(&path, stamp)?, stamp)));
        match known {
            Some((tags, stamp)) => {
                files.insert(path.into_owned(), (stamp, tags.clone()));
            }
            None => unknown.push(entry),
        }
    }
    let read = read_all(&walk, &unknown, &until);
    passed_over += unknown.len() - read.len();
    let is_late = until.is_over();
    let known = match before {
        // Nothing is new and nothing has gone: what was joined before still holds.
        Some(before) if read.is_empty() && before.len() == files.len() => {
            cache.put(root, &before, false);
            before
        }
        Some(_) | None => {
            files.extend(read);
            let known = Arc::new(WorkspaceTags::new(files));
            cache.put(root, &known, true);
            known
        }
    };
    Ok(SourceSurvey { tags: known, omitted, passed_over, is_late })
}

/// The tags of files, each with the stamp of what was read.
fn read_all(
    walk: &WorkspaceWalk<'_>,
    entries: &[&WorkspaceEntry],
    until: &WorkDeadline,
) -> Vec<(String, (SourceStamp, Tags))> {
    if entries.is_empty() {
        return Vec::new();
    }
    let next = AtomicUsize::new(0);
    let read = Mutex::new(Vec::with_capacity(entries.len()));
    run_in_threads(|| {
        let mut tagger = Tagger::new();
        while let Some(entry) = entries.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !until.is_over())
        {
            if let Some(tagged) = read_one(walk, entry, &mut tagger) {
                read.lock().unwrap_or_else(PoisonError::into_inner).push(tagged);
            }
        }
    });
    read.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn read_one(
    walk: &WorkspaceWalk<'_>,
    entry: &WorkspaceEntry,
    tagger: &mut Tagger,
) -> Option<(String, (SourceStamp, Tags))> {
    let language = SourceLanguage::from_path(&entry.path)?;
    let (file, stat) = walk.read(entry).ok()?;
    let stamp = stamp(&stat);
    let mut source = Vec::new();
    // Too large a file is remembered as one without tags, or it would be looked at each time.
    if stamp.size <= MAX_FILE_BYTES {
        file.take(MAX_FILE_BYTES).read_to_end(&mut source).ok()?;
    }
    let tags = tagger.tags(language, &source, FILE_TIME_LIMIT);
    Some((entry.path.to_string_lossy().into_owned(), (stamp, tags)))
}

fn outcome(map: &RenderedMap, survey: &SourceSurvey) -> ToolOutcome {
    let mut notes = Vec::new();
    if map.all_definitions == 0 {
        notes.push("No source code found in a supported language.".to_owned());
    } else if map.definitions < map.all_definitions {
        notes.push(format!(
            "{} of {} definitions are shown; raise max_tokens or set focus to see others.",
            map.definitions, map.all_definitions
        ));
    }
    if !map.unknown.is_empty() {
        let unknown: Vec<String> = map.unknown.iter().map(|word| reveal_line(cut(word, 100).0)).collect();
        notes.push(format!("Nothing found with the name {}.", unknown.join(", ")));
    }
    if survey.is_late {
        notes.push(
            "Reading took too long, so the map is incomplete; call the tool again to continue.".to_owned(),
        );
    } else if survey.omitted.too_many || survey.passed_over > 0 {
        notes.push(format!("{} files could not be read or exceed the limit.", survey.passed_over));
    }
    let mut text = map.text.clone();
    if !notes.is_empty() {
        text.push_str(&format!("[{}]\n", notes.join(" ")));
    }
    let details = json!({
        "files": map.files,
        "definitions": map.definitions,
        "all_files": survey.tags.len(),
        "all_definitions": map.all_definitions,
        "truncated": map.definitions < map.all_definitions || survey.is_late,
    });
    ToolOutcome::done(text, details)
}
