//! Reads `.ostler/config.toml` of a workspace: a few of the keys of the user's own configuration, in the same
//! words, and nothing else.

use std::path::Path;

use ostler_config::server_config;
use ostler_config::{ConfigError, check_server, keys_of, parse_unchecked};
use ostler_mcp::ServerConfig;
use ostler_runner::AdditionalApprovals;
use ostler_types::Rule;

/// What a workspace may set; `*` stands for any name, and what ends in `.` for all that is below.
const ALLOWED_KEYS: [&str; 12] = [
    "verify.commands",
    "approval.require_for_kinds",
    "approval.require_for_tools",
    "approval.safe_commands",
    "approval.rules",
    "mcp.*.command",
    "mcp.*.env.",
    "mcp.*.url",
    "mcp.*.headers.",
    "mcp.*.enabled_tools",
    "mcp.*.disabled_tools",
    "mcp.*.timeout_seconds",
];
/// How many commands, and how many rules, a workspace may name.
const MAX_COMMANDS: usize = 16;
const MAX_RULES: usize = 100;

/// What a workspace sets, its servers aside.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WorkspaceConfig {
    /// The commands that check a turn's work.
    pub(super) verify_commands: Vec<String>,
    /// What is asked about besides.
    pub(super) asks: AdditionalApprovals,
    /// What is allowed without asking, in this workspace.
    pub(super) rules: Vec<Rule>,
}

/// Takes a file apart. An error says which line is wrong, and what to do.
pub(super) fn parse(
    workspace: &Path,
    text: Option<&str>,
) -> Result<(WorkspaceConfig, Vec<ServerConfig>), String> {
    let Some(text) = text else { return Ok((WorkspaceConfig::default(), Vec::new())) };
    read(workspace, text)
        .map_err(|error| format!("{} is not used: {}", super::SETTINGS_FILE, one_line_error(&error)))
}

fn read(workspace: &Path, text: &str) -> Result<(WorkspaceConfig, Vec<ServerConfig>), ConfigError> {
    let name = Path::new(super::SETTINGS_FILE);
    let fail = |line: usize, key: &str, message: &str| {
        Err(ConfigError {
            origin: format!("line {line}"),
            key: Some(key.to_owned()),
            message: message.to_owned(),
        })
    };
    let keys = keys_of(name, text)?;
    let line_of = |wanted: &str| keys.iter().find(|(key, _)| key == wanted).map_or(1, |(_, line)| *line);
    // Before anything is read as what it says, so that the answer is the same whatever it says.
    if let Some((key, line)) = keys.iter().find(|(key, _)| !is_allowed(key)) {
        return fail(
            *line,
            key,
            "a workspace cannot set this, whether it is trusted or not. It can set `verify.commands`, the keys of \
             `approval`, and servers in `mcp` (without `kind`); the rest belongs in your own configuration",
        );
    }
    let config = parse_unchecked(name, text)?;
    let mut servers = Vec::new();
    for (name, server) in &config.mcp {
        check_server(name, server).map_err(|(member, why)| {
            let key = format!("mcp.{name}.{member}");
            ConfigError { origin: format!("line {}", line_of(&key)), key: Some(key), message: why }
        })?;
        let config = server_config(name, server);
        config.check_untrusted().map_err(|why| {
            let key = format!("mcp.{name}.env");
            let is_below = |(set, _): &&(String, usize)| set.starts_with(&key);
            let line = keys.iter().find(is_below).map_or(1, |(_, line)| *line);
            ConfigError { origin: format!("line {line}"), key: Some(key), message: why }
        })?;
        servers.push(config);
    }
    let approval = config.approval;
    let sets = |key: &str| keys.iter().any(|(set, _)| set == key);
    if config.verify.commands.len() > MAX_COMMANDS {
        let key = "verify.commands";
        return fail(line_of(key), key, "there are too many commands; make one of them that runs the others");
    }
    if approval.rules.len() > MAX_RULES {
        return fail(
            line_of("approval.rules"),
            "approval.rules",
            "there are too many rules; keep 100 of them",
        );
    }
    let here = workspace.to_string_lossy();
    for rule in &approval.rules {
        let wrong = rule.commands.iter().find_map(|pattern| pattern.check().err());
        let elsewhere = rule.workspace.as_deref().is_some_and(|other| other != here);
        let elsewhere =
            elsewhere.then(|| "a workspace has rules for itself only; leave `workspace` out".to_owned());
        if let Some(why) = wrong.or(elsewhere) {
            return fail(line_of("approval.rules"), "approval.rules", &why);
        }
    }
    let asks = AdditionalApprovals {
        kinds: if sets("approval.require_for_kinds") { approval.require_for_kinds } else { Vec::new() },
        tools: approval.require_for_tools,
        safe_commands: approval.safe_commands,
    };
    let rules = approval.rules.into_iter().map(|rule| rule.in_workspace(&here)).collect();
    Ok((WorkspaceConfig { verify_commands: config.verify.commands, asks, rules }, servers))
}

/// Whether a key may stand in a workspace, as a value or on the way to one.
fn is_allowed(key: &str) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    ALLOWED_KEYS.iter().any(|allowed| {
        let open = allowed.ends_with('.');
        let allowed: Vec<&str> = allowed.trim_end_matches('.').split('.').collect();
        let fits = allowed.iter().zip(&parts).all(|(wanted, part)| *wanted == "*" || wanted == part);
        fits && (parts.len() <= allowed.len() || open)
    })
}

/// An error in a line, without the name of the file, which is said already.
fn one_line_error(error: &ConfigError) -> String {
    let origin = error.origin.replace(&format!("{}:", super::SETTINGS_FILE), "line ");
    ConfigError { origin, ..error.clone() }.to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ostler_types::ToolKind;

    use super::{AdditionalApprovals, is_allowed, parse};

    fn read(text: &str) -> Result<(super::WorkspaceConfig, Vec<ostler_mcp::ServerConfig>), String> {
        parse(Path::new("/w"), Some(text))
    }

    #[test]
    fn a_workspace_says_how_it_is_checked_and_what_is_asked() {
        let text = "[verify]\ncommands = [\"make check\"]\n[approval]\nrequire_for_kinds = [\"read\"]\n\
                    require_for_tools = [\"search\"]\nsafe_commands = false\nrules = [{ tool = \"shell\", subject = \"make\" }]\n\
                    [mcp.docs]\ncommand = [\"./docs\"]\nenv = { A = \"b\" }\ntimeout_seconds = 5\n";
        let (settings, servers) = read(text).unwrap();
        assert_eq!(settings.verify_commands, ["make check"]);
        assert_eq!(
            (settings.asks.kinds, settings.asks.tools),
            (vec![ToolKind::Read], vec!["search".to_owned()])
        );
        assert!(!settings.asks.safe_commands);
        assert_eq!(settings.rules[0].workspace.as_deref(), Some("/w"), "it holds nowhere else");
        assert_eq!((servers[0].name.as_str(), servers[0].kind), ("docs", ToolKind::Exec));
        let (settings, _) = read("[verify]\ncommands = []\n").unwrap();
        assert_eq!(
            settings.asks,
            AdditionalApprovals::default(),
            "the defaults are not the workspace's word"
        );
    }

    #[test]
    fn what_belongs_to_the_owner_is_refused_by_its_name() {
        for (text, key) in [
            ("base_url = \"http://evil\"", "base_url"),
            ("sandbox = \"off\"", "sandbox"),
            ("[sandbox]\nmode = \"off\"", "sandbox"),
            ("[providers.openai]\nbase_url = \"http://evil\"", "providers"),
            ("[server]\nlisten = \"0.0.0.0:1\"", "server"),
            ("[models]\ndefault = \"a:b\"", "models"),
            ("[agents.x]\nkind = \"acp\"\ncommand = [\"x\"]", "agents"),
            ("[mcp.x]\ncommand = [\"x\"]\nkind = \"read\"", "mcp.x.kind"),
            ("[verify]\nauto = false", "verify.auto"),
            ("[gateway]\nlisten = \"0.0.0.0:1\"", "gateway"),
            ("[web]\nfetch = true", "web"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(&format!("`{key}`")) && told.contains("a workspace cannot set"), "{told}");
            assert!(!told.contains("evil"), "{told}");
        }
        assert!(is_allowed("mcp") && is_allowed("mcp.x") && is_allowed("mcp.x.env.A"));
        assert!(!is_allowed("mcp.x.command.y") && !is_allowed("verify.commands.x"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, words) in [
            ("[verify", "line 1"),
            ("[verify]\n\ncommands = \"make\"", "line 3: `verify.commands`"),
            ("[approval]\nrules = [{ tool = \"shell\" }]", "line 2"),
            ("[approval]\nrules = [{ tool = \"a\", subject = \"b\", workspace = \"/\" }]", "for itself only"),
            ("[mcp.x]\ncommand = []", "names no program"),
            ("[mcp.x]\ncommand = [\"a\"]\nurl = \"http://h\"", "not both"),
            ("[mcp.\"a b\"]\ncommand = [\"a\"]", "letters, digits"),
            ("[mcp.x]\nurl = \"file:///etc/passwd\"", "only http and https"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.starts_with(".ostler/config.toml is not used: ") && told.contains(words), "{told}");
        }
        let many = format!("[verify]\ncommands = [{}]", "\"a\",".repeat(17));
        assert!(read(&many).unwrap_err().contains("too many"));
    }
}
