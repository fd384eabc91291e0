//! `ostler trust`: whether what lies in a workspace may start processes and change what is asked, and what
//! that would be.

use std::path::Path;

use anyhow::Context;
use ostler_api_types::WorkspaceTrust;
use ostler_types::{Brought, in_one_line};

use super::CommandContext;
use crate::args::Trust;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::sanitize;

/// How much of a line of somebody else's is shown.
const MAX_LINE_CHARS: usize = 200;

pub(super) async fn trust(setting: CommandContext, args: Trust) -> anyhow::Result<CliExit> {
    let workspace = args.workspace.as_deref().unwrap_or(Path::new("."));
    let workspace =
        workspace.canonicalize().with_context(|| format!("{} cannot be used", workspace.display()))?;
    let workspace = workspace.to_string_lossy().into_owned();
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let stands = match (args.show, args.revoke) {
        (true, _) => reached.client.workspace_trust(&workspace).await,
        (false, revoke) => reached.client.trust(&workspace, !revoke).await,
    };
    reached.stop_when_idle().await;
    let WorkspaceTrust { trusted, brings, .. } = stands?;
    if trusted {
        say!("{} is trusted: its own settings, checks and servers are used", sanitize(&workspace));
    } else {
        say!("{} is not trusted: its settings, checks and servers are ignored", sanitize(&workspace));
    }
    put!("{}", listing(&brings, trusted));
    Ok(CliExit::Success)
}

/// What a workspace brings, a line each; empty where it brings nothing.
fn listing(brings: &Brought, trusted: bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(brings.verify_commands.iter().map(|command| format!("checked by  {command}")));
    let server = |server: &ostler_types::BroughtServer| {
        format!("server      {}: {} ({})", server.name, server.runs, server.file)
    };
    lines.extend(brings.servers.iter().map(server));
    lines.extend(brings.rules.iter().map(|rule| {
        let note = if trusted && !rule.in_force { " (not in force yet)" } else { "" };
        format!("allows      {} {}{note}", rule.rule.tool, rule.rule.subject)
    }));
    lines.extend(brings.asks.iter().map(|asks| format!("asks about  {asks}")));
    let problems = brings
        .problems
        .iter()
        .map(|problem| format!("  problem     {}\n", in_one_line(problem, MAX_LINE_CHARS * 2)));
    let problems: String = problems.collect();
    if lines.is_empty() {
        return problems;
    }
    let heading = if trusted { "It brings:" } else { "It would bring:" };
    let lines: String =
        lines.iter().map(|line| format!("  {}\n", in_one_line(line, MAX_LINE_CHARS))).collect();
    format!("{heading}\n{lines}{problems}")
}

#[cfg(test)]
mod tests {
    use ostler_types::{Brought, BroughtRule, BroughtServer, Rule};

    use super::listing;

    #[test]
    fn what_a_workspace_brings_is_told_in_plain_letters() {
        assert_eq!(listing(&Brought::default(), false), "");
        let rule = Rule {
            tool: "shell".to_owned(),
            subject: "make\u{1b}[2K\ndeploy".to_owned(),
            whole: false,
            workspace: None,
            commands: Vec::new(),
        };
        let brings = Brought {
            verify_commands: vec!["make check".to_owned()],
            servers: vec![BroughtServer {
                name: "docs".to_owned(),
                runs: "./docs".to_owned(),
                file: ".mcp.json".to_owned(),
            }],
            rules: vec![BroughtRule { rule, in_force: false }],
            asks: vec!["every call that can read".to_owned()],
            problems: vec!["x is not used".to_owned()],
        };
        assert_eq!(
            listing(&brings, true),
            "It brings:\n  checked by  make check\n  server      docs: ./docs (.mcp.json)\n  allows      shell make ⏎ \
             deploy (not in force yet)\n  asks about  every call that can read\n  problem     x is not used\n"
        );
    }
}
