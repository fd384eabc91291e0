//! Programs whose words are a small language: `find`, `test`, `[[` and `sed`.

use super::options::{self, SafeOptions};
use crate::{ReadExtent, ReadTarget, ShellWord, word_list};

/// Tests and actions of `find` that take no value and only read or print. Those that follow links are left
/// out.
const FIND_ALONE: &str = "\
    -H -P -a -and -o -or -not -true -false -empty -readable -writable -executable -prune -print \
    -print0 -ls -quit -depth -d -mount -xdev -daystart -nouser -nogroup -noleaf -ignore_readdir_race \
    -warn -nowarn";
/// The ones that take one value.
const FIND_VALUED: &str = "\
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type \
    -size -mtime -mmin -atime -amin -ctime -cmin -newermt -maxdepth -mindepth -perm -user -group \
    -uid -gid -links -inum -fstype -used -printf -context";
/// The ones whose value is a file.
const FIND_FILES: &str = "-newer -anewer -cnewer -samefile";

pub(super) fn find_places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    let mut places = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            let ShellWord::Unknown { prefix, .. } = word else { return None };
            if word.could_be_option() || prefix.starts_with(['(', ')', '!', ',']) {
                return None;
            }
            places.extend(ReadTarget::from_word(word, ReadExtent::Below));
            continue;
        };
        if word_list::contains_word(FIND_VALUED, text) {
            let value = words.next()?.literal()?;
            (text != "-printf" || !follows_links(value)).then_some(())?;
        } else if word_list::contains_word(FIND_FILES, text) {
            places.push(ReadTarget::from_path(words.next()?.literal()?, ReadExtent::Itself));
        } else if text.starts_with('-') {
            word_list::contains_word(FIND_ALONE, text).then_some(())?;
        } else if !matches!(text, "(" | ")" | "!" | ",") {
            places.push(ReadTarget::from_path(text, ReadExtent::Below));
        }
    }
    Some(places)
}

/// Whether a `-printf` format of `find` has a directive (`%Y`) that follows symbolic links.
fn follows_links(format: &str) -> bool {
    let mut rest = format.chars();
    while rest.by_ref().any(|character| character == '%') {
        let mut directive = rest.by_ref().skip_while(|character| "-+ #0123456789.".contains(*character));
        match directive.next() {
            Some('Y') => return true,
            // A time has a letter of its own.
            Some('A' | 'B' | 'C' | 'T') => _ = directive.next(),
            Some(_) | None => {}
        }
    }
    false
}

/// Operators that look at the file that comes next.
const FILE_TESTS: &str = "-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S";

/// `-v` evaluates the name that it is given. A word that is not known could be it.
pub(super) fn test_places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    let is_known = |word: &ShellWord| match word.literal() {
        Some(text) => !matches!(text, "-v" | "-R"),
        None => !word.could_be_option(),
    };
    words.iter().all(is_known).then(|| tested_files(words))
}

/// Operators that compare numbers evaluate their words. Those that another shell would read as redirects or
/// as the end of the command are left out too, because the line may end up with one.
pub(super) fn double_test_places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    const DOUBTFUL: &[&str] =
        &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "&&", "||", "<", ">", "(", ")", "=~"];
    let is_plain = |word: &ShellWord| word.literal().is_none_or(|text| !DOUBTFUL.contains(&text));
    words.iter().all(is_plain).then(|| tested_files(words))
}

fn tested_files(words: &[ShellWord]) -> Vec<ReadTarget> {
    let mut places = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        let compares = matches!(text, "-nt" | "-ot" | "-ef");
        if compares || word_list::contains_word(FILE_TESTS, text) {
            places.extend(
                words.get(position + 1).and_then(|next| ReadTarget::from_word(next, ReadExtent::Itself)),
            );
        }
        if compares && position > 0 {
            places.extend(ReadTarget::from_word(&words[position - 1], ReadExtent::Itself));
        }
    }
    places
}

const SED: SafeOptions = SafeOptions::letters("nErsuz", "").long("quiet silent regexp-extended separate");

/// Only `sed -n` with a script that prints lines: other commands of `sed` write files and start programs.
pub(super) fn sed_places(words: &[ShellWord]) -> Option<Vec<ReadTarget>> {
    let parsed = options::parse_options(words, &SED)?;
    let script = parsed.operands.first()?.literal()?;
    let only_prints = parsed.has("n quiet silent") && script.split(';').all(prints_lines);
    only_prints.then(|| parsed.files_after(1, ReadExtent::Itself))
}

/// `5p`, `$p`, `5,10p`, `/pattern/p`, `/from/,/to/p`
fn prints_lines(command: &str) -> bool {
    let Some(address) = command.trim().strip_suffix('p') else { return false };
    let Some(rest) = after_address(address) else { return false };
    match rest.strip_prefix(',') {
        Some(second) => after_address(second.strip_prefix('+').unwrap_or(second)) == Some(""),
        None => rest.is_empty(),
    }
}

fn after_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, rest) = pattern.split_once('/')?;
        return (!pattern.contains(['\\', '\n', '['])).then_some(rest);
    }
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}
