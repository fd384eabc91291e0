//! Reads `.mcp.json`, the format in which many agents find the MCP servers of a project. What it says beyond
//! that, such as which calls need no approval, is not heard. A server that cannot be used is left out and
//! told; the others are used.

use std::collections::BTreeMap;

use ostler_mcp::{ServerConfig, Transport};
use serde::Deserialize;

/// The longest name of a server.
const MAX_NAME: usize = 64;

/// The file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpJson {
    mcp_servers: BTreeMap<String, serde_json::Value>,
}

/// One server, as far as it is heard.
#[derive(Deserialize)]
struct McpJsonServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// The servers that can be used, and what is wrong with the others.
pub(super) fn parse(text: &str) -> (Vec<ServerConfig>, Vec<String>) {
    let file: McpJson = match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(file) => file,
        // Its words name a field or a place in the file, and no value.
        Err(error) => {
            let why = format!("line {}: {}", error.line(), category(&error));
            return (Vec::new(), vec![format!("{} is not used: {why}", super::SERVERS_FILE)]);
        }
    };
    let (mut servers, mut problems) = (Vec::new(), Vec::new());
    for (name, value) in file.mcp_servers {
        match server(&name, value) {
            Ok(found) => servers.extend(found),
            Err(why) => {
                let name = ostler_types::in_one_line(&name, MAX_NAME);
                problems.push(format!("the server `{name}` of {} is not used: {why}", super::SERVERS_FILE));
            }
        }
    }
    (servers, problems)
}

fn category(error: &serde_json::Error) -> &'static str {
    if error.is_data() {
        "it is no table of servers; expected {\"mcpServers\": {\"NAME\": {\"command\": …}}}"
    } else {
        "it is not JSON; mend it"
    }
}

/// A server; none where it is switched off.
fn server(name: &str, value: serde_json::Value) -> Result<Option<ServerConfig>, String> {
    let server: McpJsonServer = serde_json::from_value(value)
        .map_err(|_| "a field has the wrong type; `command` is a text, `args` a list of texts".to_owned())?;
    if server.disabled {
        return Ok(None);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err("its name is empty, too long or has odd characters; give it another".to_owned());
    }
    let values = server.env.values().chain(server.headers.values()).chain(&server.args);
    if values.chain(&server.url).chain(&server.command).any(|value| value.contains("${")) {
        return Err(
            "it asks for variables of your environment, which a workspace does not get; name this server \
                    in your own configuration, or write the value"
                .to_owned(),
        );
    }
    let transport = match (server.command, server.url) {
        (Some(_), Some(_)) => return Err("a server has a `command` or a `url`, not both".to_owned()),
        (Some(program), None) => {
            Transport::Stdio { command: [program].into_iter().chain(server.args).collect(), env: server.env }
        }
        (None, Some(_)) if server.kind.as_deref() == Some("sse") => {
            return Err(
                "it speaks the old protocol of two connections, which is not spoken here; use its `http` \
                        address"
                    .to_owned(),
            );
        }
        (None, Some(url)) => Transport::Http { url, headers: server.headers },
        (None, None) => return Err("it has neither `command` nor `url`; give it one".to_owned()),
    };
    let config = ServerConfig::new(name, transport);
    config.check_untrusted()?;
    Ok(Some(config))
}

#[cfg(test)]
mod tests {
    use ostler_mcp::Transport;
    use ostler_types::ToolKind;

    use super::parse;

    #[test]
    fn a_server_that_chooses_what_code_is_loaded_is_left_out() {
        for name in
            ["LD_PRELOAD", "ld_audit", "GLIBC_TUNABLES", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "GIT_SSH"]
        {
            let text = format!(
                r#"{{"mcpServers": {{"a": {{"command": "x", "env": {{"{name}": "./y"}}}}, "b": {{"command": "z"}}}}}}"#
            );
            let (servers, problems) = parse(&text);
            assert_eq!(servers.len(), 1, "{name}");
            assert!(problems.len() == 1 && problems[0].contains(name), "{problems:?}");
        }
    }

    #[test]
    fn servers_are_read_and_nothing_else_is_heard() {
        let text = r#"{"inputs": [], "mcpServers": {
            "a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}, "alwaysAllow": ["*"], "kind": "read"},
            "b": {"type": "http", "url": "https://h/mcp", "headers": {"A": "b"}},
            "off": {"command": "x", "disabled": true}}}"#;
        let (servers, problems) = parse(text);
        assert!(problems.is_empty(), "{problems:?}");
        let [first, second] = &servers[..] else { panic!("{servers:?}") };
        assert_eq!(
            (first.name.as_str(), first.kind),
            ("a", ToolKind::Exec),
            "its own word on that is not taken"
        );
        assert!(
            matches!(&first.transport, Transport::Stdio { command, .. } if command == &["npx", "-y", "x"])
        );
        assert!(matches!(&second.transport, Transport::Http { url, .. } if url == "https://h/mcp"));
    }

    #[test]
    fn one_that_cannot_be_used_does_not_stop_the_others() {
        let text = r#"{"mcpServers": {"good": {"command": "x"}, "both": {"command": "x", "url": "http://h"},
            "none": {}, "wrong": {"command": ["x"]}, "old": {"type": "sse", "url": "http://h"},
            "greedy": {"command": "x", "env": {"K": "${ANTHROPIC_API_KEY}"}},
            "odd\u001b[2J": {"command": "x"}, "file": {"url": "file:///etc/passwd"}, "list": []}}"#;
        let (servers, problems) = parse(text);
        assert_eq!((servers.len(), problems.len()), (1, 8), "{problems:?}");
        assert!(problems.iter().any(|told| told.contains("`greedy`") && told.contains("environment")));
        for text in ["", "{", "[]", "{\"mcpServers\": []}", "{\"servers\": {}}", "null"] {
            let (servers, problems) = parse(text);
            assert!(servers.is_empty() && problems.len() == 1, "{text}: {problems:?}");
            assert!(problems[0].starts_with(".mcp.json is not used: line "), "{problems:?}");
        }
    }
}
