//! Agents that are known by name: how each is started, installed and given its key, and where it keeps its login and
//! its state. Any other is configured by its command.

use std::path::{Path, PathBuf};

use crate::config::AgentProgram;

/// An agent that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPreset {
    /// Its name.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The program and its arguments.
    pub command: &'static [&'static str],
    /// How to install it.
    pub install: &'static str,
    /// How to log in to it, or which key it takes.
    pub login: &'static str,
    /// The variables of the daemon's environment that it gets.
    pub pass_env: &'static [&'static str],
    /// A setting and its choice by which it asks a person, where it would not by itself.
    pub ask_setting: Option<(&'static str, &'static str)>,
    /// Whether it announces calls as in progress before it asks for permission to make them.
    pub announces_before_asking: bool,
    /// Where it keeps its login and its state, which it has to write.
    pub state_paths: &'static [AgentStatePath],
    /// Variables that name a file that it reads.
    pub file_variables: &'static [&'static str],
}

/// A directory or a file of an agent's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentStatePath {
    /// The variable that names another base directory.
    variable: Option<&'static str>,
    /// The base directory, relative to the home directory, where the variable is not set.
    base: &'static str,
    /// The place in the base directory, or the base directory itself where this is empty.
    name: &'static str,
    /// Initial content of a file; `None` for a directory.
    content: Option<&'static str>,
}

impl AgentStatePath {
    /// A directory in the home directory.
    const fn directory(base: &'static str) -> AgentStatePath {
        AgentStatePath { variable: None, base, name: "", content: None }
    }

    /// A directory in the home directory that a variable moves elsewhere.
    const fn directory_by_variable(variable: &'static str, base: &'static str) -> AgentStatePath {
        AgentStatePath { variable: Some(variable), base, name: "", content: None }
    }

    /// A directory below a base directory that a variable moves, such as those that desktops agree on.
    const fn directory_below(
        variable: &'static str,
        base: &'static str,
        name: &'static str,
    ) -> AgentStatePath {
        AgentStatePath { variable: Some(variable), base, name, content: None }
    }

    /// Where it is for a process with this home directory and these variables. A variable that is empty or names no
    /// absolute path is not obeyed: what it means depends on the directory that the agent is in.
    pub fn path(&self, home: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let moved = self.variable.and_then(variable).filter(|base| base.is_absolute());
        let base = match moved {
            Some(base) => base,
            None => join(home?.to_owned(), self.base),
        };
        Some(join(base, self.name))
    }

    /// Initial content, if it is a file.
    pub fn content(&self) -> Option<&'static str> {
        self.content
    }
}

/// Joins without leaving a slash behind where nothing is joined.
fn join(path: PathBuf, part: &str) -> PathBuf {
    if part.is_empty() { path } else { path.join(part) }
}

/// Variables that say how the network is reached; every agent needs them where they are set.
const NETWORK: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
];

const PRESETS: [AgentPreset; 6] = [
    AgentPreset {
        name: "claude",
        title: "Claude Code",
        command: &["claude-agent-acp"],
        install: "npm install -g @agentclientprotocol/claude-agent-acp (needs Node 22 or newer)",
        login: "set ANTHROPIC_API_KEY for the daemon, or run `claude /login` once in a terminal",
        pass_env: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
        ],
        ask_setting: None,
        announces_before_asking: false,
        state_paths: &[
            AgentStatePath::directory_by_variable("CLAUDE_CONFIG_DIR", ".claude"),
            AgentStatePath {
                variable: Some("CLAUDE_CONFIG_DIR"),
                base: "",
                name: ".claude.json",
                content: Some("{}\n"),
            },
        ],
        file_variables: &["NODE_EXTRA_CA_CERTS"],
    },
    AgentPreset {
        name: "codex",
        title: "Codex",
        command: &["codex-acp"],
        install: "npm install -g @zed-industries/codex-acp",
        login: "set OPENAI_API_KEY or CODEX_API_KEY for the daemon, or run `codex login` once in a terminal",
        pass_env: &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"],
        // One of the two adapters begins in a mode in which a model decides.
        ask_setting: Some(("mode", "workspace-write")),
        // The adapter that is maintained with the protocol does.
        announces_before_asking: true,
        state_paths: &[AgentStatePath::directory_by_variable("CODEX_HOME", ".codex")],
        file_variables: &["NODE_EXTRA_CA_CERTS"],
    },
    AgentPreset {
        name: "gemini",
        title: "Gemini CLI",
        command: &["gemini", "--acp"],
        install: "npm install -g @google/gemini-cli",
        login: "set GEMINI_API_KEY for the daemon, or run `gemini` once in a terminal and log in",
        pass_env: &[
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_GEMINI_BASE_URL",
            "GEMINI_CLI_HOME",
        ],
        ask_setting: None,
        announces_before_asking: false,
        state_paths: &[AgentStatePath::directory_below("GEMINI_CLI_HOME", "", ".gemini")],
        file_variables: &["NODE_EXTRA_CA_CERTS"],
    },
    AgentPreset {
        name: "qwen",
        title: "Qwen Code",
        command: &["qwen", "--acp"],
        install: "npm install -g @qwen-code/qwen-code",
        login: "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL for the daemon, or run `qwen` once and log in",
        pass_env: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"],
        ask_setting: None,
        announces_before_asking: false,
        state_paths: &[AgentStatePath::directory(".qwen")],
        file_variables: &["NODE_EXTRA_CA_CERTS"],
    },
    AgentPreset {
        name: "opencode",
        title: "opencode",
        command: &["opencode", "acp"],
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login` once in a terminal, or set the key of its provider for the daemon",
        pass_env: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG"],
        ask_setting: None,
        announces_before_asking: true,
        state_paths: &[
            AgentStatePath::directory_below("XDG_CONFIG_HOME", ".config", "opencode"),
            AgentStatePath::directory_below("XDG_DATA_HOME", ".local/share", "opencode"),
            AgentStatePath::directory_below("XDG_STATE_HOME", ".local/state", "opencode"),
            AgentStatePath::directory_below("XDG_CACHE_HOME", ".cache", "opencode"),
        ],
        file_variables: &["NODE_EXTRA_CA_CERTS", "OPENCODE_CONFIG"],
    },
    AgentPreset {
        name: "goose",
        title: "goose",
        command: &["goose", "acp"],
        install: "see https://block.github.io/goose for its installer",
        login: "run `goose configure` once in a terminal",
        pass_env: &[
            "GOOSE_PROVIDER",
            "GOOSE_MODEL",
            "GOOSE_MODE",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GOOGLE_API_KEY",
        ],
        ask_setting: None,
        announces_before_asking: false,
        state_paths: &[
            AgentStatePath::directory_below("XDG_CONFIG_HOME", ".config", "goose"),
            AgentStatePath::directory_below("XDG_DATA_HOME", ".local/share", "goose"),
            AgentStatePath::directory_below("XDG_STATE_HOME", ".local/state", "goose"),
        ],
        file_variables: &["NODE_EXTRA_CA_CERTS"],
    },
];

impl AgentProgram {
    /// The same with the variables that say how the network is reached.
    #[must_use]
    pub fn with_network(mut self) -> AgentProgram {
        self.pass_env.extend(NETWORK.iter().map(|name| (*name).to_owned()));
        self
    }
}

/// The agents that are known by name.
pub fn presets() -> &'static [AgentPreset] {
    &PRESETS
}

impl AgentPreset {
    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static AgentPreset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The program that it is.
    pub fn program(&self) -> AgentProgram {
        let (program, arguments) = self.command.split_first().expect("a preset names a program");
        let mut made = AgentProgram::new(self.name, *program, arguments.iter().copied());
        made.pass_env = self.pass_env.iter().map(|name| (*name).to_owned()).collect();
        made = made.with_network();
        made.ask_setting = self.ask_setting.map(|(name, choice)| (name.to_owned(), choice.to_owned()));
        made.announces_before_asking = self.announces_before_asking;
        made.install = Some(format!("install it: {}", self.install));
        made.login = Some(self.login.to_owned());
        made
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{AgentPreset, presets};

    #[test]
    fn every_preset_is_found_and_says_how_to_get_it() {
        for preset in presets() {
            let program = AgentPreset::find(preset.name).unwrap().program();
            assert_eq!(program.name, preset.name);
            assert!(!program.program.is_empty() && program.install.is_some() && program.login.is_some());
            assert!(program.pass_env.iter().any(|name| name == "HTTPS_PROXY"));
        }
        assert_eq!(AgentPreset::find("nobody"), None);
    }

    /// Where a preset keeps its state, for a home directory and a variable.
    fn places(name: &str, home: Option<&str>, variable: (&str, &str)) -> Vec<String> {
        let value = |asked: &str| (asked == variable.0).then(|| PathBuf::from(variable.1));
        let state = AgentPreset::find(name).unwrap().state_paths.iter();
        let paths = state.filter_map(|place| place.path(home.map(Path::new), value));
        paths.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn state_is_in_the_home_directory_or_where_variables_move_it() {
        let none = ("", "");
        assert_eq!(places("claude", Some("/h"), none), ["/h/.claude", "/h/.claude.json"]);
        let moved = ("CLAUDE_CONFIG_DIR", "/c");
        assert_eq!(places("claude", Some("/h"), moved), ["/c", "/c/.claude.json"]);
        assert_eq!(places("claude", None, moved), ["/c", "/c/.claude.json"]);
        assert_eq!(places("codex", Some("/h"), ("CODEX_HOME", "/x")), ["/x"]);
        for relative in ["codex-home", ""] {
            assert_eq!(places("codex", Some("/h"), ("CODEX_HOME", relative)), ["/h/.codex"]);
        }
        assert_eq!(places("gemini", Some("/h"), none), ["/h/.gemini"]);
        assert_eq!(places("gemini", Some("/h"), ("GEMINI_CLI_HOME", "/g")), ["/g/.gemini"]);
        assert_eq!(places("qwen", Some("/h"), none), ["/h/.qwen"]);
        let opencode =
            ["/h/.config/opencode", "/data/opencode", "/h/.local/state/opencode", "/h/.cache/opencode"];
        assert_eq!(places("opencode", Some("/h"), ("XDG_DATA_HOME", "/data")), opencode);
        let goose = ["/h/.config/goose", "/h/.local/share/goose", "/h/.local/state/goose"];
        assert_eq!(places("goose", Some("/h"), none), goose);
        assert_eq!(places("goose", None, none), [""; 0], "nowhere without a home directory");
    }

    #[test]
    fn an_agent_gets_the_variables_that_move_its_state() {
        // Those of desktops are passed to every child process.
        for preset in presets() {
            let variables = preset.state_paths.iter().filter_map(|place| place.variable);
            for variable in variables.filter(|variable| !variable.starts_with("XDG_")) {
                assert!(preset.pass_env.contains(&variable), "{variable}");
            }
        }
    }
}
