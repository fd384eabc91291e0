//! Agents that are known by name: how each is started, installed and given its key. Any other is configured by
//! its command.

use crate::config::AgentProgram;

/// An agent that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
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
    pub asking: Option<(&'static str, &'static str)>,
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

const PRESETS: [Preset; 6] = [
    Preset {
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
        asking: None,
    },
    Preset {
        name: "codex",
        title: "Codex",
        command: &["codex-acp"],
        install: "npm install -g @zed-industries/codex-acp",
        login: "set OPENAI_API_KEY or CODEX_API_KEY for the daemon, or run `codex login` once in a terminal",
        pass_env: &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"],
        // One of the two adapters begins in a mode in which a model decides.
        asking: Some(("mode", "workspace-write")),
    },
    Preset {
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
        ],
        asking: None,
    },
    Preset {
        name: "qwen",
        title: "Qwen Code",
        command: &["qwen", "--acp"],
        install: "npm install -g @qwen-code/qwen-code",
        login: "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL for the daemon, or run `qwen` once and log in",
        pass_env: &["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"],
        asking: None,
    },
    Preset {
        name: "opencode",
        title: "opencode",
        command: &["opencode", "acp"],
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login` once in a terminal, or set the key of its provider for the daemon",
        pass_env: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG"],
        asking: None,
    },
    Preset {
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
        asking: None,
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
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

impl Preset {
    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The program that it is.
    pub fn program(&self) -> AgentProgram {
        let (program, arguments) = self.command.split_first().expect("a preset names a program");
        let mut made = AgentProgram::new(self.name, *program, arguments.iter().copied());
        made.pass_env = self.pass_env.iter().map(|name| (*name).to_owned()).collect();
        made = made.with_network();
        made.asking = self.asking.map(|(name, choice)| (name.to_owned(), choice.to_owned()));
        made.install = Some(format!("install it: {}", self.install));
        made.login = Some(self.login.to_owned());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::{Preset, presets};

    #[test]
    fn every_preset_is_found_and_says_how_to_get_it() {
        for preset in presets() {
            let program = Preset::find(preset.name).unwrap().program();
            assert_eq!(program.name, preset.name);
            assert!(!program.program.is_empty() && program.install.is_some() && program.login.is_some());
            assert!(program.pass_env.iter().any(|name| name == "HTTPS_PROXY"));
        }
        assert_eq!(Preset::find("nobody"), None);
    }
}
