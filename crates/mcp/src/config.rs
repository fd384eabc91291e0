//! What is configured of a server. Where it is read from is left to others.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ostler_process::is_loader_variable;
use ostler_types::ToolKind;
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

/// The shortest word that is taken out of texts. Shorter ones would tear words that are no secret.
const MIN_SECRET_BYTES: usize = 6;
/// How long a call may be silent where nothing is said.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// Headers that the protocol sets itself.
const PROTOCOL_HEADERS: [&str; 5] =
    ["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// One server, as its owner configured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name, which becomes part of the names of its tools.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// What its tools touch. Never taken from the server, whose hints can only make it stricter.
    pub kind: ToolKind,
    /// The only tools to offer, by the names that the server gives them. All where it is none.
    pub enabled_tools: Option<Vec<String>>,
    /// The tools not to offer, by the names that the server gives them.
    pub disabled_tools: Vec<String>,
    /// How long a call may go without an answer or a sign of progress.
    pub timeout: Duration,
}

/// How a server is reached. Its `Debug` shows no value of a variable or of a header, and nothing of an
/// address that may be a key.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process of our own that speaks over its standard input and output.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables that it gets beside those that every child process gets.
        env: BTreeMap<String, String>,
    },
    /// A server that runs already, over Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers that go with every request; they may be secret.
        headers: BTreeMap<String, String>,
    },
}

impl ServerConfig {
    /// A server with the usual settings: its tools run programs if it is a process of ours, and reach
    /// other machines if it is not.
    pub fn new(name: impl Into<String>, transport: Transport) -> ServerConfig {
        let kind = match transport {
            Transport::Stdio { .. } => ToolKind::Exec,
            Transport::Http { .. } => ToolKind::Network,
        };
        let (enabled_tools, disabled_tools) = (None, Vec::new());
        ServerConfig {
            name: name.into(),
            transport,
            kind,
            enabled_tools,
            disabled_tools,
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Says what is wrong with it, before anything is started.
    pub fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("An MCP server has an empty name; give it one.".to_owned());
        }
        match &self.transport {
            Transport::Stdio { command, .. } => match command.first() {
                Some(program) if !program.is_empty() => Ok(()),
                Some(_) | None => {
                    Err(format!("The MCP server `{}` names no program; set its command.", self.name))
                }
            },
            Transport::Http { url, headers } => {
                let named = |why: String| format!("The MCP server `{}`: {why}", self.name);
                check_url(url).map_err(named)?;
                headers.iter().try_for_each(|(name, value)| header(name, value).map(drop)).map_err(named)
            }
        }
    }

    /// The same for a server that a workspace or an editor names, which may not choose what code programs load.
    pub fn check_untrusted(&self) -> Result<(), String> {
        self.check()?;
        let Transport::Stdio { env, .. } = &self.transport else { return Ok(()) };
        match env.keys().find(|name| is_loader_variable(name)) {
            Some(name) => Err(format!(
                "it sets {}, which makes programs load or run other code; leave it out, or name this server in \
                 your own configuration",
                name.escape_debug()
            )),
            None => Ok(()),
        }
    }

    /// Whether the owner wants this tool offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let is_listed = |list: &[String]| list.iter().any(|name| name == tool);
        self.enabled_tools.as_deref().is_none_or(is_listed) && !is_listed(&self.disabled_tools)
    }

    /// A text without the values that only the server should know.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut secrets = match &self.transport {
            Transport::Stdio { env, .. } => env.values().cloned().collect(),
            Transport::Http { url, headers } => {
                let mut secrets: Vec<String> = headers.values().cloned().collect();
                // `Bearer KEY` may be shown as `KEY` alone.
                secrets
                    .extend(headers.values().filter_map(|value| Some(value.split_once(' ')?.1.to_owned())));
                secrets.extend(secrets_of(url));
                secrets
            }
        };
        secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[secret]"))
    }
}

/// A header, in the form in which it is sent.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = |what| format!("the header `{name}` has {what} that HTTP does not allow; correct it.");
    let header_name = HeaderName::try_from(name).map_err(|_| wrong("a name"))?;
    if PROTOCOL_HEADERS.contains(&header_name.as_str()) {
        return Err(format!("the header `{name}` belongs to the protocol and cannot be set; remove it."));
    }
    let mut header_value = HeaderValue::try_from(value).map_err(|_| wrong("a value"))?;
    header_value.set_sensitive(true);
    Ok((header_name, header_value))
}

/// An address of a kind that is spoken to.
pub(crate) fn check_url(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its url is no address ({error}); correct it."))?;
    match parsed.scheme() {
        "http" | "https" if parsed.has_host() => Ok(parsed),
        scheme => Err(format!("its url has the scheme `{scheme}`; only http and https are spoken.")),
    }
}

fn secrets_of(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else {
        return Vec::new();
    };
    let mut secrets: Vec<String> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
    secrets.extend([url.password(), url.query()].into_iter().flatten().map(str::to_owned));
    secrets.retain(|secret| secret.len() >= MIN_SECRET_BYTES);
    secrets
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Stdio { command, env } => {
                let env: Vec<&String> = env.keys().collect();
                f.debug_struct("Stdio").field("command", command).field("env", &env).finish()
            }
            Transport::Http { url, headers } => {
                let headers: Vec<&String> = headers.keys().collect();
                let mut shown = url.clone();
                for secret in secrets_of(url) {
                    shown = shown.replace(&secret, "[secret]");
                }
                f.debug_struct("Http").field("url", &shown).field("headers", &headers).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_types::ToolKind;

    use super::{ServerConfig, Transport};

    fn http(url: &str, headers: &[(&str, &str)]) -> ServerConfig {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ServerConfig::new("far", Transport::Http { url: url.to_owned(), headers })
    }

    #[test]
    fn secrets_are_neither_shown_nor_told() {
        let config =
            http("https://me:hunter22@host/mcp?key=k-12345678", &[("authorization", "Bearer abcdefgh")]);
        let shown = format!("{config:?}");
        for secret in ["hunter22", "k-12345678", "abcdefgh"] {
            assert!(!shown.contains(secret), "{shown}");
            let told = config.redact(&format!("refused: {secret} (key=k-12345678)"));
            assert!(
                !told.contains("k-12345678") && (secret == "k-12345678" || !told.contains(secret)),
                "{told}"
            );
        }
        assert!(shown.contains("authorization"));
        let env =
            BTreeMap::from([("TOKEN".to_owned(), "t-987654".to_owned()), ("A".to_owned(), "1".to_owned())]);
        let config = ServerConfig::new("near", Transport::Stdio { command: vec!["x".to_owned()], env });
        assert!(!format!("{config:?}").contains("t-987654"));
        assert_eq!(config.redact("1: bad token t-987654"), "1: bad token [secret]");
    }

    #[test]
    fn what_cannot_work_is_refused_before_anything_starts() {
        assert!(http("http://localhost:1/mcp", &[]).check().is_ok());
        for url in ["file:///etc/passwd", "ftp://host/", "localhost", "", "http://"] {
            assert!(http(url, &[]).check().is_err(), "{url}");
        }
        assert!(http("http://h/", &[("a b", "c")]).check().is_err());
        assert!(http("http://h/", &[("Mcp-Session-Id", "c")]).check().is_err());
        let told =
            http("http://h/", &[("a", "secret\nvalue")]).check().expect_err("a line break is no value");
        assert!(!told.contains("secret\nvalue"), "{told}");
        let empty = Transport::Stdio { command: Vec::new(), env: BTreeMap::new() };
        assert!(ServerConfig::new("near", empty).check().is_err());
    }

    #[test]
    fn the_kind_follows_the_transport_and_tools_follow_the_lists() {
        let mut config = http("http://h/", &[]);
        assert_eq!(config.kind, ToolKind::Network);
        assert!(config.offers("a"));
        config.enabled_tools = Some(vec!["a".to_owned(), "b".to_owned()]);
        config.disabled_tools = vec!["b".to_owned()];
        assert_eq!(["a", "b", "c"].map(|tool| config.offers(tool)), [true, false, false]);
    }
}
