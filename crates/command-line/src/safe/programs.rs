//! The programs that only read, with the options that keep it so. Programs whose operands need a closer look
//! are left to `expression` and `git`.

use super::options::Options;
use crate::list;

/// The options of a program that only reads, if it is listed.
pub(super) fn of(name: &str) -> Option<&'static Options> {
    PROGRAMS.iter().find(|(names, _)| list::has(names, name)).map(|(_, options)| options)
}

/// Programs that may be asked for their version. Those that look into the workspace before they answer
/// (cargo by its tool chain file, go, npm and yarn by theirs) are not among them.
pub(super) const TELL_VERSION: &str = "\
    python python3 node ruby perl php lua deno gcc g++ cc clang ld make cmake ninja bash git rg curl tar \
    docker jq sqlite3 psql";

pub(super) const UNIQ: Options =
    Options::letters("cdDiuz", "fsw").long("count repeated ignore-case unique zero-terminated");
pub(super) const DATE: Options =
    Options::letters("uRI", "dr").long("utc universal date= reference= iso-8601 rfc-3339 rfc-email");

const SUMS: Options = Options::letters("bctwz", "").long("check binary text tag status quiet zero");

/// `sort` can write a file and start a program that compresses, `file` can write what it compiles, `tree`
/// can write pages, `hostname` sets what it is given, `rg` can start programs that prepare or unpack: the
/// options for it are not listed. `xxd` and `tee` write to an operand, `less` and `man` start others, so
/// they are not here at all. `env` and `printenv` show what nobody wanted to be seen.
const PROGRAMS: &[(&str, Options)] = &[
    ("true false : whoami nproc arch tty logname", Options::letters("", "").no_operands()),
    ("exit break continue sleep", Options::letters("", "")),
    ("pwd", Options::letters("LP", "").no_operands()),
    ("wait", Options::letters("", "").no_operands()),
    ("ls", Options::letters("aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1", "ITw").long(LS)),
    ("cat tac", Options::letters("AbeEnstTuv", "").long("number show-all number-nonblank squeeze-blank")),
    ("head", Options::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("tail", Options::letters("qvz", "cn").long("lines= bytes= quiet silent verbose").number()),
    ("wc", Options::letters("clLmw", "").long("bytes chars lines words max-line-length total")),
    ("grep egrep fgrep", Options::letters("acEFGhHiIlLnoPqrRsTUvVwxyZz", "ABCdDefm").long(GREP).number()),
    ("rg", Options::letters("abcFHhiIlLnNoPpqSsuUvVwx", "ABCEefgjmMrtTd").long(RG)),
    ("stat", Options::letters("fLt", "c").long("format= printf= dereference terse file-system")),
    ("file", Options::letters("bhiLNrs0", "F").long("brief mime mime-type mime-encoding dereference")),
    ("du", Options::letters("0abcDhHklLmPsSx", "dBt").long(DU)),
    ("df", Options::letters("aHhiklPT", "tx").long("all human-readable inodes print-type total si")),
    ("sort", Options::letters("bcCdfghiMmnRrsuVz", "kt").long(SORT)),
    (
        "cut",
        Options::letters("snz", "bcdf")
            .long("bytes= characters= delimiter= fields= complement only-delimited output-delimiter="),
    ),
    ("tr", Options::letters("cCdst", "").long("complement delete squeeze-repeats truncate-set1")),
    ("basename", Options::letters("az", "s").long("multiple suffix= zero")),
    ("dirname", Options::letters("z", "").long("zero")),
    (
        "realpath",
        Options::letters("eLmPqsz", "")
            .long("canonicalize-existing canonicalize-missing relative-to= relative-base= no-symlinks zero"),
    ),
    ("readlink", Options::letters("efmnqsvz", "").long("canonicalize canonicalize-existing no-newline")),
    ("uname", Options::letters("aimnoprsv", "").no_operands()),
    ("hostname", Options::letters("s", "").no_operands()),
    ("id", Options::letters("Ggnruz", "").long("group groups name real user zero")),
    ("groups seq rev expr", Options::letters("", "")),
    ("which", Options::letters("as", "")),
    ("type", Options::letters("afPpt", "")),
    ("diff", Options::letters("abBcdeEiNnpqrsTtuwy", "UCxXIW").long(DIFF)),
    ("cmp", Options::letters("bls", "in").long("print-bytes silent quiet verbose")),
    ("comm", Options::letters("123iz", "").long("check-order nocheck-order total output-delimiter=")),
    ("nl", Options::letters("p", "bdfhilnsvw")),
    ("fold", Options::letters("bs", "w")),
    ("paste", Options::letters("sz", "d")),
    ("column", Options::letters("tx", "cso")),
    ("strings", Options::letters("afo", "nte")),
    ("od", Options::letters("abcdfiloxsv", "AjNtSw")),
    ("hexdump hd", Options::letters("bcCdovx", "nse")),
    ("tree", Options::letters("adfilpsughDFrtUcNQxnCASJ", "LPI").long("noreport dirsfirst gitignore prune")),
    ("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum", SUMS),
];

const LS: &str = "\
    all almost-all author classify color directory dereference file-type format full-time \
    group-directories-first human-readable ignore= hide= indicator-style inode no-group numeric-uid-gid \
    quoting-style recursive reverse si size sort time time-style width= zero version help";

const GREP: &str = "\
    after-context= basic-regexp before-context= binary-files= byte-offset color colour context= count \
    dereference-recursive exclude= exclude-dir= exclude-from= extended-regexp file= files-with-matches \
    files-without-match fixed-strings ignore-case include= initial-tab invert-match line-buffered \
    line-number line-regexp max-count= no-filename no-messages null null-data only-matching perl-regexp \
    quiet recursive regexp= silent text version with-filename word-regexp";

const RG: &str = "\
    after-context= before-context= binary case-sensitive color= column context= count count-matches crlf \
    encoding= files files-with-matches files-without-match fixed-strings follow glob= heading hidden \
    iglob= ignore-case ignore-file= invert-match json line-number line-regexp max-columns= max-count= \
    max-depth= max-filesize= multiline multiline-dotall no-config no-filename no-heading no-ignore \
    no-ignore-vcs no-line-number no-messages null one-file-system only-matching passthru pcre2 pretty \
    quiet regexp= replace= smart-case sort= sortr= stats text threads= trim type= type-list type-not= \
    unrestricted vimgrep with-filename word-regexp";

const DU: &str = "\
    all apparent-size bytes total max-depth= human-readable summarize exclude= one-file-system si \
    separate-dirs threshold= time block-size=";

const SORT: &str = "\
    ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort \
    month-sort numeric-sort random-sort reverse version-sort check key= merge stable field-separator= \
    unique zero-terminated";

const DIFF: &str = "\
    brief color context unified exclude= exclude-from= ignore-all-space ignore-blank-lines ignore-case \
    ignore-matching-lines= ignore-space-change ignore-trailing-space label= new-file no-dereference \
    recursive report-identical-files side-by-side strip-trailing-cr suppress-common-lines text width= \
    minimal normal";
