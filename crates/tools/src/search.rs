//! The tool that finds text in files, by the libraries of ripgrep. It searches lines, not names.
//!
//! Files are found first, then searched by several threads; `merge` puts what they find in the order
//! of the files, so that the same tree always gives the same answer. `lines` searches one file.

mod file_search;
mod hit_merger;

use std::time::Duration;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use ostler_workspace_fs::run_in_threads;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use self::file_search::{FileSearch, Hits};
use self::hit_merger::HitMerger;
use crate::blocking::{StopFlag, run_blocking};
use crate::hidden_paths::HiddenPaths;
use crate::text::reveal_line;
use crate::workspace::Workspace;
use crate::workspace_walk::{MAX_DEPTH, OmittedEntries, WorkDeadline, WorkspaceEntry, WorkspaceWalk};
use crate::{Failed, input, prompts};

const DEFAULT_MAX_RESULTS: usize = 100;
/// How large a regular expression may grow.
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;
/// How long a search may take.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// How many files a thread takes at once.
const FILES_PER_CHUNK: usize = 16;

/// Finds lines in the files of the workspace.
pub(crate) struct Search {
    hidden_paths: Arc<HiddenPaths>,
}

impl Search {
    pub(crate) fn new(hidden: Arc<HiddenPaths>) -> Search {
        Search { hidden_paths: hidden }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// Text or regular expression to find. Matches within one line.
    #[schemars(length(min = 1))]
    query: String,
    /// Files to search, for example `*.rs` or `src/**/*.ts`; `!*.md` excludes files. Default: all.
    glob: Option<String>,
    /// Treat query as a regular expression (Rust syntax). Default: plain text.
    regex: Option<bool>,
    /// Maximum number of matching lines. Default 100.
    #[schemars(range(min = 1, max = 1_000))]
    max_results: Option<usize>,
    /// File or directory to search, relative to the workspace. Default: the workspace.
    path: Option<String>,
    /// Number of lines to show before and after each match. Default 0.
    #[schemars(range(min = 0, max = 10))]
    context_lines: Option<usize>,
    /// Return only the paths of files with a match.
    files_only: Option<bool>,
    /// Case sensitivity: `sensitive`, `insensitive`, or `smart` (sensitive if the query has capital letters).
    /// Default `sensitive`.
    #[schemars(extend("enum" = ["sensitive", "insensitive", "smart"]))]
    case: Option<String>,
}

impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search".to_owned(),
            description: prompts::SEARCH.to_owned(),
            input_schema: input::schema::<SearchInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(query) = field("query") else {
            return "search, but the input says not for what".to_owned();
        };
        let beneath = field("path").map(|path| format!(" beneath {}", reveal_line(path))).unwrap_or_default();
        let within = field("glob").map(|glob| format!(" in {}", reveal_line(glob))).unwrap_or_default();
        format!("search for {}{beneath}{within}", reveal_line(query))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let hidden = Arc::clone(&self.hidden_paths);
        run_blocking(move |stop| {
            let input: SearchInput = input::parse(input)?;
            search(&Workspace::open(&context.workspace, &hidden)?, &input, stop, TIME_LIMIT)
        })
        .boxed()
    }
}

fn search(
    workspace: &Workspace,
    input: &SearchInput,
    stop: &StopFlag,
    limit: Duration,
) -> Result<ToolOutcome, Failed> {
    let matcher = matcher(input)?;
    let globs = globs(input.glob.as_deref().filter(|glob| !glob.is_empty()))?;
    let until = WorkDeadline::new(stop, limit);
    let path = input.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let max_results = input.max_results.unwrap_or(DEFAULT_MAX_RESULTS);
    let context = input.context_lines.unwrap_or(0);
    let is_files_only = input.files_only.unwrap_or(false);
    let file_search = || FileSearch::new(&matcher, &until, max_results, context, is_files_only);
    let merge = HitMerger::new(max_results, context > 0 && !is_files_only);
    if path != "."
        && let Ok((file, stat)) = workspace.read(path)
    {
        merge.add_chunk(0, vec![file_search().search(&workspace.relative(path)?, file, &stat)]);
        return Ok(merge.outcome(&OmittedEntries::default(), until.is_over()));
    }
    let walk = WorkspaceWalk::new(workspace, path, MAX_DEPTH, &until)?;
    let (mut entries, omitted) = walk.run();
    entries.retain(|entry| is_searched(entry, &globs));
    let chunks: Vec<&[WorkspaceEntry]> = entries.chunks(FILES_PER_CHUNK).collect();
    run_in_threads(|| {
        let mut file_search = file_search();
        while let Some(number) = merge.next(chunks.len()).filter(|_| !until.is_over()) {
            let hits = chunks[number].iter().map(|entry| search_entry(&walk, entry, &mut file_search));
            merge.add_chunk(number, hits.collect());
        }
    });
    Ok(merge.outcome(&omitted, until.is_over()))
}

fn is_searched(entry: &WorkspaceEntry, globs: &Override) -> bool {
    entry.kind == FileType::RegularFile && !globs.matched(&entry.path, false).is_ignore()
}

fn search_entry(walk: &WorkspaceWalk<'_>, entry: &WorkspaceEntry, search: &mut FileSearch<'_>) -> Hits {
    match walk.read(entry) {
        Ok((file, stat)) => search.search(&entry.path, file, &stat),
        Err(_) => Hits::unreadable(),
    }
}

fn matcher(input: &SearchInput) -> Result<RegexMatcher, Failed> {
    let is_regex = input.regex.unwrap_or(false);
    if !is_regex && input.query.contains('\n') {
        return Err(Failed::new(
            "`query` contains a line break, but a match must be within one line. Search for a single line.",
        ));
    }
    let mut builder = RegexMatcherBuilder::new();
    match input.case.as_deref() {
        None | Some("" | "sensitive") => {}
        Some("insensitive") => {
            builder.case_insensitive(true);
        }
        Some("smart") => {
            builder.case_smart(true);
        }
        Some(other) => {
            return Err(Failed::new(format!(
                "`case` must be `sensitive`, `insensitive` or `smart`, but was `{}`.",
                reveal_line(other)
            )));
        }
    }
    builder
        .fixed_strings(!is_regex)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_REGEX_BYTES)
        .build(&input.query)
        .map_err(|error| {
            Failed::new(format!(
                "`query` is not a valid regular expression: {error}. Correct it, or omit `regex` to search \
                 for literal text."
            ))
        })
}

fn globs(glob: Option<&str>) -> Result<Override, Failed> {
    let mut builder = OverrideBuilder::new(".");
    if let Some(glob) = glob {
        builder.add(glob).map_err(|error| bad_glob(&error))?;
    }
    builder.build().map_err(|error| bad_glob(&error))
}

fn bad_glob(error: &ignore::Error) -> Failed {
    Failed::new(format!("`glob` is not valid: {error}. Use a pattern such as `*.rs` or `src/**/*.ts`."))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SearchInput, search};
    use crate::blocking::StopFlag;
    use crate::hidden_paths::HiddenPaths;
    use crate::workspace::Workspace;

    #[test]
    fn a_search_out_of_time_says_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x\n").unwrap();
        let workspace = Workspace::open(folder.path(), &HiddenPaths::default()).unwrap();
        let input: SearchInput = serde_json::from_value(serde_json::json!({"query": "x"})).unwrap();
        let late = search(&workspace, &input, &StopFlag::default(), Duration::ZERO).unwrap();
        assert!(late.text.contains("timed out"), "{}", late.text);
        assert_eq!(late.details.unwrap()["truncated"], true);
        let good = search(&workspace, &input, &StopFlag::default(), Duration::from_secs(600)).unwrap();
        assert_eq!(good.text, "a:1: x\n");
    }
}
