//! The programs that only read, with the options that keep it so and the places that they read. Programs
//! whose operands need a closer look are left to `expression` and `git`.

use super::options::{self, OperandKind, ParsedOptions, SafeOptions};
use crate::{ReadExtent, ReadTarget, ShellWord, word_list};

/// The places that a listed program reads; nothing where it is not listed or may do more than read.
pub(super) fn places(name: &str, words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    let (options, parsed) = parsed(name, words)?;
    if options.operands == OperandKind::Text {
        return Some(parsed.option_files());
    }
    match name {
        "grep" | "egrep" | "fgrep" => {
            let skipped = usize::from(!parsed.has("e f regexp file"));
            let extent = if parsed.has("r d recursive") { ReadExtent::Below } else { ReadExtent::Itself };
            Some(parsed.files_after(skipped, extent))
        }
        "rg" => {
            let skipped = usize::from(!parsed.has("e f regexp files type-list"));
            Some(parsed.files_after(skipped, ReadExtent::Below))
        }
        "du" | "tree" => Some(parsed.files(ReadExtent::Below)),
        "ls" if parsed.has("R recursive") => Some(parsed.files(ReadExtent::Below)),
        // What two directories hold is compared through links.
        "diff" if !parsed.has("no-dereference") => Some(parsed.files(ReadExtent::File)),
        "diff" if parsed.has("r recursive") => Some(parsed.files(ReadExtent::Below)),
        // An operand with `@` names a file with more operands.
        "strings" if parsed.operands.iter().any(|word| !begins_plainly(word)) => None,
        _ => Some(parsed.files(ReadExtent::Itself)),
    }
}

/// The words of a listed program, sorted out.
pub(super) fn parsed<'words>(
    name: &str,
    words: &'words [ShellWord],
) -> Option<(&'static SafeOptions, ParsedOptions<'words>)> {
    let (_, options) = PROGRAMS.iter().find(|(names, _)| word_list::contains_word(names, name))?;
    if name == "tree" && words.iter().any(hides_a_letter) {
        return None;
    }
    Some((options, options::parse_options(words, options)?))
}

/// `tree` takes the value of a letter from the next word and goes on with the letters, unlike every other
/// program. Then one that writes could follow where others have the value.
fn hides_a_letter(word: &ShellWord) -> bool {
    let letters = word.literal().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
    let value = letters.find(['L', 'P', 'I']).map(|position| &letters[position + 1..]);
    !letters.starts_with('-') && value.is_some_and(|value| !value.is_empty())
}

fn begins_plainly(word: &ShellWord) -> bool {
    let start = match word {
        ShellWord::Literal(text) => text,
        ShellWord::Unknown { prefix, .. } => prefix,
    };
    !start.starts_with('@') && (!start.is_empty() || word.literal().is_some())
}

/// Programs that may be asked for their version. Those that look into the workspace before they answer
/// (cargo by its tool chain file, go, npm and yarn by theirs) are not among them, nor those that first obey a
/// file in the home directory (curl, psql, sqlite3).
pub(super) const TELL_VERSION: &str = "\
    python python3 node ruby perl php lua deno gcc g++ cc clang ld make cmake ninja bash git rg tar docker jq";

pub(super) const UNIQ: SafeOptions =
    SafeOptions::letters("cdDiuz", "fsw").long("count repeated ignore-case unique zero-terminated");
pub(super) const DATE: SafeOptions = SafeOptions::letters("uR", "d")
    .files("r")
    .attached("I")
    .long("utc universal date= reference@ iso-8601 rfc-3339 rfc-email");

/// Without `-c`, which reads the files that a file names.
const SUMS: SafeOptions = SafeOptions::letters("btwz", "").long("binary text tag zero");
const NO_OPERANDS: SafeOptions = SafeOptions::letters("", "").operands(OperandKind::None);
const TEXT: SafeOptions = SafeOptions::letters("", "").operands(OperandKind::Text);

/// `sort` can write a file and start a program that compresses, `file` can write what it compiles, `tree`
/// can write pages, `hostname` sets what it is given, `rg` can start programs that prepare or unpack, and
/// several take the names of more files from a file: the options for it are not listed. Nor are those that
/// follow links below a directory, which can lead anywhere. `xxd` and `tee` write to an operand, `less` and
/// `man` start others, so they are not here at all. `env` and `printenv` show what nobody wanted to be seen.
const PROGRAMS: &[(&str, SafeOptions)] = &[
    ("true false : whoami nproc arch tty logname wait", NO_OPERANDS),
    ("exit break continue sleep groups seq expr", TEXT),
    ("pwd", SafeOptions::letters("LP", "").operands(OperandKind::None)),
    ("ls", SafeOptions::letters("aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1", "ITw").long(LS)),
    ("cat tac", SafeOptions::letters("AbeEnstTuv", "").long("number show-all number-nonblank squeeze-blank")),
    ("head", SafeOptions::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("tail", SafeOptions::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("wc", SafeOptions::letters("clLmw", "").long("bytes chars lines words max-line-length total")),
    (
        "grep egrep fgrep",
        SafeOptions::letters("abcEFGhHiIlLnoPqrsTUvVwxyZz", "ABCdDem").files("f").long(GREP).number(),
    ),
    ("rg", SafeOptions::letters("abcFHhiIlnNoPpqSsuUvVwx0.", "ABCEegjmMrtTd").files("f").long(RG)),
    ("stat", SafeOptions::letters("fLt", "c").long("format= printf= dereference terse file-system")),
    ("file", SafeOptions::letters("bhiLNrs0", "F").long("brief mime mime-type mime-encoding dereference")),
    ("du", SafeOptions::letters("0abcDhHklmPsSx", "dBt").long(DU)),
    ("df", SafeOptions::letters("aHhiklPT", "tx").long("all human-readable inodes print-type total si")),
    ("sort", SafeOptions::letters("bcCdfghiMmnRrsuVz", "kt").long(SORT)),
    (
        "cut",
        SafeOptions::letters("snz", "bcdf")
            .long("bytes= characters= delimiter= fields= complement only-delimited output-delimiter="),
    ),
    (
        "tr",
        SafeOptions::letters("cCdst", "")
            .long("complement delete squeeze-repeats truncate-set1")
            .operands(OperandKind::Text),
    ),
    ("basename", SafeOptions::letters("az", "s").long("multiple suffix= zero").operands(OperandKind::Text)),
    ("dirname", SafeOptions::letters("z", "").long("zero").operands(OperandKind::Text)),
    (
        "realpath",
        SafeOptions::letters("eLmPqsz", "")
            .long("canonicalize-existing canonicalize-missing relative-to@ relative-base@ no-symlinks zero"),
    ),
    ("readlink", SafeOptions::letters("efmnqsvz", "").long("canonicalize canonicalize-existing no-newline")),
    ("uname", SafeOptions::letters("aimnoprsv", "").operands(OperandKind::None)),
    ("hostname", SafeOptions::letters("s", "").operands(OperandKind::None)),
    (
        "id",
        SafeOptions::letters("Ggnruz", "")
            .long("group groups name real user zero")
            .operands(OperandKind::Text),
    ),
    ("rev", SafeOptions::letters("", "")),
    ("which", SafeOptions::letters("as", "")),
    ("type", SafeOptions::letters("afPpt", "")),
    ("diff", SafeOptions::letters("abBcdeEiNnpqrsTtuwy", "UCxIW").files("X").long(DIFF)),
    ("cmp", SafeOptions::letters("bls", "in").long("print-bytes silent quiet verbose")),
    ("comm", SafeOptions::letters("123iz", "").long("check-order nocheck-order total output-delimiter=")),
    ("nl", SafeOptions::letters("p", "bdfhilnsvw")),
    ("fold", SafeOptions::letters("bs", "w")),
    ("paste", SafeOptions::letters("sz", "d")),
    ("column", SafeOptions::letters("tx", "cso")),
    ("strings", SafeOptions::letters("afo", "nte")),
    ("od", SafeOptions::letters("abcdfiloxsv", "AjNtS").attached("w")),
    ("hexdump hd", SafeOptions::letters("bcCdovx", "nse")),
    (
        "tree",
        SafeOptions::letters("adfipsughDFrtUcNQxnCASJ", "LPI").long("noreport dirsfirst gitignore prune"),
    ),
    ("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum", SUMS),
];

const LS: &str = "\
    all almost-all author classify color directory file-type format full-time group-directories-first \
    human-readable ignore= hide= indicator-style inode no-group numeric-uid-gid quoting-style recursive \
    reverse si size sort time time-style width= zero version help";

const GREP: &str = "\
    after-context= basic-regexp before-context= binary-files= byte-offset color colour context= count \
    exclude= exclude-dir= exclude-from@ extended-regexp file@ files-with-matches files-without-match \
    fixed-strings ignore-case include= initial-tab invert-match line-buffered line-number line-regexp \
    max-count= no-filename no-messages null null-data only-matching perl-regexp quiet recursive regexp= \
    silent text version with-filename word-regexp";

const RG: &str = "\
    after-context= before-context= binary case-sensitive color= column context= count count-matches crlf \
    encoding= files files-with-matches files-without-match fixed-strings glob= heading hidden iglob= \
    ignore-case ignore-file@ invert-match json line-number line-regexp max-columns= max-count= max-depth= \
    max-filesize= multiline multiline-dotall no-config no-filename no-heading no-ignore no-ignore-vcs \
    no-line-number no-messages null one-file-system only-matching passthru pcre2 pretty quiet regexp= \
    replace= smart-case sort= sortr= stats text threads= trim type= type-list type-not= unrestricted \
    vimgrep with-filename word-regexp";

const DU: &str = "\
    all apparent-size bytes total max-depth= human-readable summarize exclude= one-file-system si \
    separate-dirs threshold= time block-size=";

const SORT: &str = "\
    ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort \
    month-sort numeric-sort random-sort reverse version-sort check key= merge stable field-separator= \
    unique zero-terminated";

const DIFF: &str = "\
    brief color context unified exclude= exclude-from@ ignore-all-space ignore-blank-lines ignore-case \
    ignore-matching-lines= ignore-space-change ignore-trailing-space label= new-file no-dereference \
    recursive report-identical-files side-by-side strip-trailing-cr suppress-common-lines text width= \
    minimal normal";
