//! The programs that only read, with the options that keep it so and the places that they read. Programs
//! whose operands need a closer look are left to `expression` and `git`.

use super::options::{self, Operands, Options, Parsed};
use crate::{Extent, Place, Word, list};

/// The places that a listed program reads; nothing where it is not listed or may do more than read.
pub(super) fn places(name: &str, words: &[Word]) -> Option<Vec<Place>> {
    let (options, parsed) = parsed(name, words)?;
    if options.operands == Operands::Text {
        return Some(parsed.option_files());
    }
    match name {
        "grep" | "egrep" | "fgrep" => {
            let skipped = usize::from(!parsed.has("e f regexp file"));
            let extent = if parsed.has("r d recursive") { Extent::Below } else { Extent::Itself };
            Some(parsed.files_after(skipped, extent))
        }
        "rg" => {
            let skipped = usize::from(!parsed.has("e f regexp files type-list"));
            Some(parsed.files_after(skipped, Extent::Below))
        }
        "du" | "tree" => Some(parsed.files(Extent::Below)),
        "ls" if parsed.has("R recursive") => Some(parsed.files(Extent::Below)),
        // What two directories hold is compared through links.
        "diff" if !parsed.has("no-dereference") => Some(parsed.files(Extent::File)),
        "diff" if parsed.has("r recursive") => Some(parsed.files(Extent::Below)),
        // An operand with `@` names a file with more operands.
        "strings" if parsed.operands.iter().any(|word| !begins_plainly(word)) => None,
        _ => Some(parsed.files(Extent::Itself)),
    }
}

/// The words of a listed program, sorted out.
pub(super) fn parsed<'words>(
    name: &str,
    words: &'words [Word],
) -> Option<(&'static Options, Parsed<'words>)> {
    let (_, options) = PROGRAMS.iter().find(|(names, _)| list::has(names, name))?;
    if name == "tree" && words.iter().any(hides_a_letter) {
        return None;
    }
    Some((options, options::read(words, options)?))
}

/// `tree` takes the value of a letter from the next word and goes on with the letters, unlike every other
/// program. Then one that writes could follow where others have the value.
fn hides_a_letter(word: &Word) -> bool {
    let letters = word.literal().and_then(|text| text.strip_prefix('-')).unwrap_or_default();
    let value = letters.find(['L', 'P', 'I']).map(|position| &letters[position + 1..]);
    !letters.starts_with('-') && value.is_some_and(|value| !value.is_empty())
}

fn begins_plainly(word: &Word) -> bool {
    let start = match word {
        Word::Literal(text) => text,
        Word::Unknown { prefix, .. } => prefix,
    };
    !start.starts_with('@') && (!start.is_empty() || word.literal().is_some())
}

/// Programs that may be asked for their version. Those that look into the workspace before they answer
/// (cargo by its tool chain file, go, npm and yarn by theirs) are not among them, nor those that first obey a
/// file in the home directory (curl, psql, sqlite3).
pub(super) const TELL_VERSION: &str = "\
    python python3 node ruby perl php lua deno gcc g++ cc clang ld make cmake ninja bash git rg tar docker jq";

pub(super) const UNIQ: Options =
    Options::letters("cdDiuz", "fsw").long("count repeated ignore-case unique zero-terminated");
pub(super) const DATE: Options = Options::letters("uR", "d")
    .files("r")
    .attached("I")
    .long("utc universal date= reference@ iso-8601 rfc-3339 rfc-email");

/// Without `-c`, which reads the files that a file names.
const SUMS: Options = Options::letters("btwz", "").long("binary text tag zero");
const NO_OPERANDS: Options = Options::letters("", "").operands(Operands::None);
const TEXT: Options = Options::letters("", "").operands(Operands::Text);

/// `sort` can write a file and start a program that compresses, `file` can write what it compiles, `tree`
/// can write pages, `hostname` sets what it is given, `rg` can start programs that prepare or unpack, and
/// several take the names of more files from a file: the options for it are not listed. Nor are those that
/// follow links below a directory, which can lead anywhere. `xxd` and `tee` write to an operand, `less` and
/// `man` start others, so they are not here at all. `env` and `printenv` show what nobody wanted to be seen.
const PROGRAMS: &[(&str, Options)] = &[
    ("true false : whoami nproc arch tty logname wait", NO_OPERANDS),
    ("exit break continue sleep groups seq expr", TEXT),
    ("pwd", Options::letters("LP", "").operands(Operands::None)),
    ("ls", Options::letters("aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1", "ITw").long(LS)),
    ("cat tac", Options::letters("AbeEnstTuv", "").long("number show-all number-nonblank squeeze-blank")),
    ("head", Options::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("tail", Options::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("wc", Options::letters("clLmw", "").long("bytes chars lines words max-line-length total")),
    (
        "grep egrep fgrep",
        Options::letters("abcEFGhHiIlLnoPqrsTUvVwxyZz", "ABCdDem").files("f").long(GREP).number(),
    ),
    ("rg", Options::letters("abcFHhiIlnNoPpqSsuUvVwx0.", "ABCEegjmMrtTd").files("f").long(RG)),
    ("stat", Options::letters("fLt", "c").long("format= printf= dereference terse file-system")),
    ("file", Options::letters("bhiLNrs0", "F").long("brief mime mime-type mime-encoding dereference")),
    ("du", Options::letters("0abcDhHklmPsSx", "dBt").long(DU)),
    ("df", Options::letters("aHhiklPT", "tx").long("all human-readable inodes print-type total si")),
    ("sort", Options::letters("bcCdfghiMmnRrsuVz", "kt").long(SORT)),
    (
        "cut",
        Options::letters("snz", "bcdf")
            .long("bytes= characters= delimiter= fields= complement only-delimited output-delimiter="),
    ),
    (
        "tr",
        Options::letters("cCdst", "")
            .long("complement delete squeeze-repeats truncate-set1")
            .operands(Operands::Text),
    ),
    ("basename", Options::letters("az", "s").long("multiple suffix= zero").operands(Operands::Text)),
    ("dirname", Options::letters("z", "").long("zero").operands(Operands::Text)),
    (
        "realpath",
        Options::letters("eLmPqsz", "")
            .long("canonicalize-existing canonicalize-missing relative-to@ relative-base@ no-symlinks zero"),
    ),
    ("readlink", Options::letters("efmnqsvz", "").long("canonicalize canonicalize-existing no-newline")),
    ("uname", Options::letters("aimnoprsv", "").operands(Operands::None)),
    ("hostname", Options::letters("s", "").operands(Operands::None)),
    ("id", Options::letters("Ggnruz", "").long("group groups name real user zero").operands(Operands::Text)),
    ("rev", Options::letters("", "")),
    ("which", Options::letters("as", "")),
    ("type", Options::letters("afPpt", "")),
    ("diff", Options::letters("abBcdeEiNnpqrsTtuwy", "UCxIW").files("X").long(DIFF)),
    ("cmp", Options::letters("bls", "in").long("print-bytes silent quiet verbose")),
    ("comm", Options::letters("123iz", "").long("check-order nocheck-order total output-delimiter=")),
    ("nl", Options::letters("p", "bdfhilnsvw")),
    ("fold", Options::letters("bs", "w")),
    ("paste", Options::letters("sz", "d")),
    ("column", Options::letters("tx", "cso")),
    ("strings", Options::letters("afo", "nte")),
    ("od", Options::letters("abcdfiloxsv", "AjNtS").attached("w")),
    ("hexdump hd", Options::letters("bcCdovx", "nse")),
    ("tree", Options::letters("adfipsughDFrtUcNQxnCASJ", "LPI").long("noreport dirsfirst gitignore prune")),
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
