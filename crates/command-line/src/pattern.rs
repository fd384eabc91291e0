//! A remembered rule for one command, and which rules would allow more than anybody meant. Whole lines are
//! left to `decision`.

use serde::{Deserialize, Serialize};

use crate::builtin::is_interpreter;
use crate::decision::runs_in_other_directory;
use crate::environment::{assignments_are_harmless, redirects_do_nothing};
use crate::{ShellWord, SimpleCommand, is_safe, word_list};

/// The words that a command must have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    /// The program and its arguments, word for word.
    pub argv: Vec<String>,
    /// Whether other words may follow.
    #[serde(default)]
    pub open: bool,
}

impl Pattern {
    /// Refuses patterns that would let a command through whatever it does. The error says what to remember
    /// instead.
    pub fn check(&self) -> Result<(), String> {
        let Some(first) = self.argv.first().filter(|first| !first.is_empty()) else {
            return Err("A pattern needs the name of a program; add it as the first word.".to_owned());
        };
        if !self.open {
            return Ok(());
        }
        let name = first.rsplit('/').next().unwrap_or(first);
        if is_interpreter(name) || word_list::contains_word(STARTS_OTHERS, name) {
            return Err(format!(
                "`{name}` can run any program that its words name, so it cannot be allowed with all of \
                 them; allow the exact command instead."
            ));
        }
        let second = self.argv.get(1).map(String::as_str);
        if !word_list::contains_word(HAS_SUBCOMMANDS, name) {
            return Ok(());
        }
        match second {
            None | Some("") => {
                Err(format!("`{name}` does many things; add the word that says which of them is meant."))
            }
            Some(option) if option.starts_with('-') => Err(format!(
                "An option before the subcommand can make `{name}` run any program; allow the exact command \
                 instead."
            )),
            Some(word) if is_open_ended(name, word) => Err(format!(
                "`{name} {word}` can run any program that its words name; allow the exact command instead."
            )),
            Some(_) => Ok(()),
        }
    }

    /// Returns true where the command, or a command that it starts, runs in another directory.
    pub fn runs_in_other_directory(&self) -> bool {
        let argv = self.argv.iter().map(|word| ShellWord::Literal(word.clone())).collect();
        runs_in_other_directory(&SimpleCommand { argv, ..SimpleCommand::default() })
    }

    /// Whether this pattern lets the command through. What comes in by a pipe or a redirect or is set in the
    /// environment can change what a program does, so a command with any of that is matched by none.
    pub fn matches(&self, command: &SimpleCommand) -> bool {
        let Some(words) = command.argv.iter().map(ShellWord::literal).collect::<Option<Vec<&str>>>() else {
            return false;
        };
        let same = if self.open {
            words.len() >= self.argv.len()
                && self.argv.iter().zip(&words).all(|(wanted, word)| wanted == word)
                && !words[self.argv.len()..].iter().any(|word| takes_program(word))
        } else {
            self.argv == words
        };
        // A program that only reads does with its input what it does with files.
        let takes_orders = command.piped && !is_safe(command);
        same && !takes_orders
            && self.check().is_ok()
            && assignments_are_harmless(command)
            && redirects_do_nothing(command)
    }
}

/// Programs that start others or carry out what their words say, beside the interpreters.
const STARTS_OTHERS: &str = "\
    env nice nohup timeout time stdbuf setsid ionice chronic chrt taskset xargs parallel find fd fdfind \
    sudo doas su runuser pkexec ssh scp sftp rsync make gmake ninja just awk gawk mawk nawk sed vi vim \
    nvim view emacs nano less more man tar zip rg sort strace ltrace script watch flock chroot unshare \
    nsenter busybox toybox npx bunx uvx pipx corepack at batch crontab systemd-run systemctl entr \
    nix-shell direnv java dotnet eval source . exec command builtin trap alias coproc xvfb-run tmux \
    screen socat nc ncat tclsh openssl gcc cc clang ld bwrap firejail proot setpriv capsh if while for \
    case [[ [ test printf";

/// Programs whose first word says what they do.
const HAS_SUBCOMMANDS: &str = "\
    git cargo npm pnpm yarn go docker podman kubectl uv poetry pipenv bundle gem pip pip3 rustup gh hg \
    jj svn nix brew apt apt-get helm terraform mvn gradle mix composer conda";

/// Subcommands that start what their words name.
const OPEN_ENDED_SUBCOMMANDS: &[(&str, &str)] = &[
    (
        "git",
        "config bisect rebase submodule filter-branch difftool mergetool grep fetch pull push clone \
            ls-remote remote archive send-email credential hook maintenance for-each-repo",
    ),
    ("cargo", "config install"),
    ("npm", "exec x explore config init create"),
    ("pnpm", "exec dlx config create init"),
    ("yarn", "exec dlx node config create init"),
    ("go", "run tool generate env"),
    ("docker", "run exec compose container cp build buildx"),
    ("podman", "run exec compose container cp build unshare"),
    ("kubectl", "run exec cp debug plugin config"),
    ("uv", "run tool"),
    ("poetry", "run shell config"),
    ("pipenv", "run shell"),
    ("bundle", "exec config"),
    ("gem", "exec"),
    ("rustup", "run toolchain"),
    ("gh", "extension alias ssh-key codespace config api"),
    ("jj", "config util fix run diffedit split"),
    ("nix", "run shell develop eval repl build"),
    ("brew", "sh ruby irb bundle"),
    ("helm", "plugin"),
    ("mix", "run eval cmd do"),
    ("composer", "exec config"),
    ("conda", "run config"),
];

/// Options by which programs that build or fetch take the name of another program or file, or a
/// configuration.
const TAKES_PROGRAM: &str = "\
    exec toolexec vettool config upload-pack receive-pack output pager to-command ext-diff \
    use-compress-program rsh pre shell script-shell editor node-options require";

fn is_open_ended(program: &str, subcommand: &str) -> bool {
    OPEN_ENDED_SUBCOMMANDS
        .iter()
        .any(|(name, subcommands)| *name == program && word_list::contains_word(subcommands, subcommand))
}

fn takes_program(word: &str) -> bool {
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    word.starts_with('-') && word_list::contains_word(TAKES_PROGRAM, name)
}
