//! Descriptions of MCP servers, which a client hands on to its agent.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    EnvVariable, HttpHeader, McpCapabilities, McpServer, McpServerHttp, McpServerStdio,
};

/// An MCP server that an agent is to use.
#[derive(Clone, PartialEq, Eq)]
pub struct McpDescription {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
}

/// How such a server is reached. Values of variables and headers may be secret.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// By a program that the agent starts.
    Stdio {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables that it gets.
        env: BTreeMap<String, String>,
    },
    /// By an address.
    Http {
        /// The address.
        url: String,
        /// Headers that go with every request.
        headers: BTreeMap<String, String>,
    },
}

impl std::fmt::Debug for McpDescription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("McpDescription").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The server as an agent with these abilities is told of it; none when it could not reach it.
pub fn to_mcp_server(server: &McpDescription, abilities: &McpCapabilities) -> Option<McpServer> {
    let name = server.name.clone();
    match &server.transport {
        McpTransport::Stdio { command, env } => {
            let (program, arguments) = command.split_first()?;
            let variables = env.iter().map(|(name, value)| EnvVariable::new(name.clone(), value.clone()));
            let described = McpServerStdio::new(name, program).args(arguments.to_vec());
            Some(McpServer::Stdio(described.env(variables.collect())))
        }
        McpTransport::Http { url, headers } if abilities.http => {
            let headers = headers.iter().map(|(name, value)| HttpHeader::new(name.clone(), value.clone()));
            Some(McpServer::Http(McpServerHttp::new(name, url.clone()).headers(headers.collect())))
        }
        McpTransport::Http { .. } => None,
    }
}

/// A server that an editor hands on; none when it is of a kind that is not spoken any more.
pub fn from_mcp_server(server: McpServer) -> Option<McpDescription> {
    match server {
        McpServer::Stdio(stdio) => {
            let program = stdio.command.to_string_lossy().into_owned();
            let command = std::iter::once(program).chain(stdio.args).collect();
            let env = stdio.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
            Some(McpDescription { name: stdio.name, transport: McpTransport::Stdio { command, env } })
        }
        McpServer::Http(http) => {
            let headers = http.headers.into_iter().map(|header| (header.name, header.value)).collect();
            let transport = McpTransport::Http { url: http.url, headers };
            Some(McpDescription { name: http.name, transport })
        }
        _ => None,
    }
}
