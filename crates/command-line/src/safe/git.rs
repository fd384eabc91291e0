//! The subcommands of git that only read. Options before the subcommand can name programs to start, so only
//! those that do less than usual are taken.

use super::options::{self, ParsedOptions, SafeOptions};
use crate::{ReadExtent, ReadTarget, ShellWord, word_list};

/// The places that a subcommand reads beside the repository; nothing when it may do more than read. Which
/// operands are paths depends on the repository, and git compares files outside of it where it is told to, so
/// all of them count.
pub(super) fn places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    let harmless = |word: &&ShellWord| matches!(word.literal(), Some("--no-pager" | "--no-optional-locks"));
    let own = words.iter().take_while(harmless).count();
    let [subcommand, words @ ..] = &words[own..] else { return None };
    let name = subcommand.literal()?;
    if matches!(name, "--version" | "version") {
        return words.is_empty().then(Vec::new);
    }
    if words.iter().any(asks_for_signatures) {
        return None;
    }
    let Some((_, options)) = SUBCOMMANDS.iter().find(|(names, _)| word_list::contains_word(names, name))
    else {
        return is_listing(name, words).then(Vec::new);
    };
    options::parse_options(words, options).map(|parsed| all_places(&parsed))
}

/// Git differs from option to option in whether a value may stand apart, so such a value may be an operand.
fn all_places(parsed: &ParsedOptions<'_>) -> Vec<ReadTarget> {
    let mut places = parsed.files(ReadExtent::Below);
    places.extend(parsed.separate_values.iter().map(|value| ReadTarget::from_path(value, ReadExtent::Below)));
    places
}

/// Subcommands that read or write depending on their operands.
fn is_listing(name: &str, words: &[ShellWord]) -> bool {
    let Some(texts) = words.iter().map(ShellWord::literal).collect::<Option<Vec<&str>>>() else {
        return false;
    };
    let has = |wanted: &[&str]| texts.iter().any(|text| wanted.contains(text));
    let fits =
        |options: &SafeOptions| options::parse_options(words, options).map(|parsed| parsed.operands.len());
    match (name, texts.as_slice()) {
        ("branch", _) => fits(&BRANCH).is_some_and(|count| count == 0 || has(&["--list", "-l"])),
        ("tag", _) => fits(&TAG).is_some_and(|count| count == 0 || has(&["--list", "-l"])),
        // The configuration of the user may hold what logs in somewhere.
        ("config", ["--get" | "--get-all", key]) => {
            let known = ["user.name", "user.email", "core.", "branch.", "remote.", "init.", "submodule."];
            known.iter().any(|known| key.starts_with(known))
        }
        ("remote", [] | ["-v" | "--verbose"]) => true,
        ("remote", ["get-url", name]) => !name.starts_with('-'),
        ("stash" | "worktree", ["list"]) => true,
        ("reflog", [] | ["show"]) => true,
        _ => false,
    }
}

/// To show who signed a commit, git starts the program that its configuration names for it.
fn asks_for_signatures(word: &ShellWord) -> bool {
    let text = match word {
        ShellWord::Literal(text) => text,
        ShellWord::Unknown { source, .. } => source,
    };
    text.contains("%G") || text.contains("signature") || text.contains("describe:")
}

const BRANCH: SafeOptions = SafeOptions::letters("ailrqv", "").long(
    "list all remotes verbose show-current contains= no-contains= merged= no-merged= points-at= sort= \
    format= color no-color column no-column ignore-case",
);
const TAG: SafeOptions = SafeOptions::letters("liqn0123456789", "").long(
    "list contains= no-contains= merged= no-merged= points-at= sort= format= column no-column ignore-case \
    color",
);

const SUBCOMMANDS: &[(&str, SafeOptions)] = &[
    ("status", SafeOptions::letters("sbuvznormal", "").long(STATUS)),
    ("log shortlog rev-list", SafeOptions::letters("abcepuwsizEFPgMCDR", "nSGLU").long(HISTORY).number()),
    ("show diff", SafeOptions::letters("abcpuwszMCDR", "nSGLU").long(HISTORY).number()),
    (
        "blame annotate",
        SafeOptions::letters("bcefklnpstwMC", "L").long("since= abbrev= date= porcelain show-email root"),
    ),
    ("rev-parse", SafeOptions::letters("q", "").long(REV_PARSE)),
    ("ls-files", SafeOptions::letters("cdmoiskutvz", "x").long(LS_FILES)),
    (
        "ls-tree",
        SafeOptions::letters("drtlz", "").long("name-only name-status full-name full-tree abbrev long"),
    ),
    ("cat-file", SafeOptions::letters("tsep", "")),
    (
        "describe",
        SafeOptions::letters("", "").long("tags always dirty long abbrev= all contains match= exclude="),
    ),
    ("merge-base", SafeOptions::letters("a", "").long("all is-ancestor fork-point octopus independent")),
    ("name-rev", SafeOptions::letters("", "").long("tags name-only always no-undefined")),
    ("show-ref", SafeOptions::letters("dqs", "").long("head heads tags branches hash abbrev verify quiet")),
    (
        "for-each-ref",
        SafeOptions::letters("", "").long("format= sort= count= contains= merged= no-merged= points-at="),
    ),
    ("check-ignore", SafeOptions::letters("qvnz", "").long("quiet verbose non-matching no-index")),
    ("count-objects", SafeOptions::letters("vH", "").long("verbose human-readable")),
    ("grep", SafeOptions::letters("aciEFGhHIlLnopqrvwWz", "ABCem").files("f").long(GREP).number()),
];

const STATUS: &str = "\
    short branch show-stash porcelain long verbose untracked-files ignore-submodules ignored column \
    no-column ahead-behind no-ahead-behind renames no-renames find-renames";

const HISTORY: &str = "\
    patch no-patch stat shortstat numstat dirstat summary name-only name-status raw oneline graph \
    no-graph decorate no-decorate decorate-refs= all branches tags remotes max-count= skip= since= \
    after= until= before= author= committer= grep= invert-grep all-match regexp-ignore-case \
    extended-regexp fixed-strings format= pretty abbrev-commit no-abbrev-commit abbrev date= \
    relative-date reverse merges no-merges first-parent follow topo-order date-order author-date-order \
    simplify-by-decoration full-history ancestry-path left-right cherry-pick cherry-mark boundary count \
    walk-reflogs cached staged merge-base no-index unified= color no-color color-words word-diff \
    word-diff-regex= color-moved no-ext-diff no-textconv ignore-all-space ignore-space-change \
    ignore-space-at-eol ignore-blank-lines ignore-cr-at-eol ignore-submodules diff-filter= \
    diff-algorithm= minimal patience histogram find-renames find-copies find-copies-harder no-renames \
    full-index binary check quiet exit-code relative no-relative no-prefix src-prefix= dst-prefix= \
    function-context inter-hunk-context= text pickaxe-all pickaxe-regex cc numbered email notes no-notes \
    mailmap use-mailmap show-pulls objects max-parents= min-parents= root compact-summary";

const REV_PARSE: &str = "\
    show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir abbrev-ref short verify \
    quiet symbolic symbolic-full-name is-inside-work-tree is-inside-git-dir is-bare-repository \
    is-shallow-repository all branches tags remotes show-superproject-working-tree";

const LS_FILES: &str = "\
    cached deleted modified others ignored stage killed unmerged exclude= exclude-standard directory \
    no-empty-directory error-unmatch full-name eol abbrev deduplicate";

const GREP: &str = "\
    cached untracked no-index text ignore-case word-regexp invert-match max-depth= recursive \
    extended-regexp fixed-strings perl-regexp line-number column files-with-matches name-only \
    files-without-match null only-matching count color no-color break heading show-function context= \
    after-context= before-context= function-context max-count= and or not all-match quiet";
