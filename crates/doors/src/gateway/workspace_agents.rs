//! The agents that sessions can be made for: what `AGENTS.md` of the workspace describes, and always the default one.
//!
//! A section counts as an agent when `Model:` or `Description:` stands below its heading; other sections are
//! instructions for whoever reads the file, and none of this door's business. The section, with its heading, becomes
//! the system prompt of the agent's sessions, which is also how a session knows for whom it was made.

use std::path::Path;

use ostler_runner::Runner;

/// The agent of a session that names none.
pub(super) const DEFAULT_AGENT: &str = "assistant";
/// How many agents a file may describe.
const MAX_AGENTS: usize = 100;

/// An agent as the workspace describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WorkspaceAgent {
    pub(super) id: String,
    /// As it is written there; the daemon's default when absent.
    pub(super) model: Option<String>,
    pub(super) description: String,
    /// Its section, with the heading.
    pub(super) prompt: Option<String>,
}

impl WorkspaceAgent {
    /// Its model as this daemon calls models: other programs write `provider/model`.
    pub(super) fn model_name(&self) -> Option<String> {
        let model = self.model.as_deref()?;
        let slash = model.find([':', '/']).filter(|at| model.as_bytes()[*at] == b'/');
        Some(slash.map_or(model.to_owned(), |at| format!("{}:{}", &model[..at], &model[at + 1..])))
    }
}

/// The agents of a workspace, the default one first. A file that is not there or makes no sense describes none.
pub(super) async fn read_agents(runner: &dyn Runner, workspace: &Path) -> Vec<WorkspaceAgent> {
    let text = runner.workspaces().instructions(workspace.display().to_string()).await;
    let mut agents = parse_agents(&text.unwrap_or_default());
    let default = agents.iter().position(|agent| agent.id == DEFAULT_AGENT);
    let default = default.map_or_else(default_agent, |index| agents.remove(index));
    agents.insert(0, default);
    agents
}

/// The agent that a session was made for, told by its prompt.
pub(super) fn agent_id_of_prompt(prompt: Option<&str>) -> Option<&str> {
    heading(prompt?.lines().next()?)
}

fn default_agent() -> WorkspaceAgent {
    let description = "The daemon's own agent, with the daemon's default model".to_owned();
    WorkspaceAgent { id: DEFAULT_AGENT.to_owned(), model: None, description, prompt: None }
}

fn parse_agents(text: &str) -> Vec<WorkspaceAgent> {
    let mut agents: Vec<WorkspaceAgent> = Vec::new();
    let mut sections: Vec<Vec<&str>> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        // A heading above the sections ends one, too.
        let begins = !fenced && (heading(line).is_some() || line.starts_with("# "));
        if begins {
            sections.push(Vec::new());
        }
        sections.iter_mut().last().into_iter().for_each(|section| section.push(line));
    }
    for section in sections {
        let agent = parse_agent(&section).filter(|agent| agents.iter().all(|other| other.id != agent.id));
        agents.extend(agent);
    }
    agents.truncate(MAX_AGENTS);
    agents
}

fn parse_agent(section: &[&str]) -> Option<WorkspaceAgent> {
    let (first, rest) = section.split_first()?;
    let id = heading(first)?.to_owned();
    let value = |name: &str| {
        let values =
            rest.iter().filter_map(|line| line.trim().trim_start_matches(['-', '*', ' ']).split_once(':'));
        let mut values = values.filter(|(key, _)| key.trim_matches('*').eq_ignore_ascii_case(name));
        let value = values.next()?.1.trim_matches(['*', ' ', '`', '\t']);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let (model, description) = (value("Model"), value("Description"));
    if model.is_none() && description.is_none() {
        return None;
    }
    let prompt = Some(section.join("\n").trim().to_owned());
    Some(WorkspaceAgent { id, model, description: description.unwrap_or_default(), prompt })
}

/// The name in a heading of the second level.
fn heading(line: &str) -> Option<&str> {
    let name = line.strip_prefix("## ")?.trim().trim_end_matches('#').trim();
    (!name.is_empty() && name.len() <= 100).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{WorkspaceAgent, agent_id_of_prompt, parse_agents};

    #[test]
    fn sections_with_a_model_or_a_description_are_agents() {
        let text = "# Agents\n\n## assistant\nModel: anthropic/claude-opus-4-6\nDescription: helps\n\nBe kind.\n\
                    ```\n## not a heading\n```\n\n## Build\nrun make\n\n## critic\n- **Model:** `demo:demo`\n\
                    \n## critic\nModel: other\n# End\nModel: none\n";
        let agents = parse_agents(text);
        let names: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(names, ["assistant", "critic"]);
        assert_eq!(agents[0].model_name().as_deref(), Some("anthropic:claude-opus-4-6"));
        assert_eq!(agents[0].description, "helps");
        let prompt = agents[0].prompt.as_deref().unwrap();
        assert!(prompt.contains("Be kind.") && prompt.contains("## not a heading"), "{prompt}");
        assert!(!prompt.contains("run make"));
        assert_eq!(agent_id_of_prompt(Some(prompt)), Some("assistant"));
        assert_eq!(agents[1].model.as_deref(), Some("demo:demo"));
        assert_eq!(agent_id_of_prompt(Some("be kind")), None);
    }

    #[test]
    fn a_model_is_named_by_its_provider_first() {
        let name = |model: &str| {
            WorkspaceAgent { model: Some(model.to_owned()), ..WorkspaceAgent::default() }
                .model_name()
                .unwrap_or_default()
        };
        assert_eq!(name("openrouter/anthropic/claude:beta"), "openrouter:anthropic/claude:beta");
        assert_eq!(name("ollama:library/qwen3"), "ollama:library/qwen3");
        assert_eq!(name("qwen3"), "qwen3");
    }
}
