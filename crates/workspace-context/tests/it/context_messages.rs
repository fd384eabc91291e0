//! Whole bundles: what is in them, what is not said twice, and what happens when there is no time.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_context::{ContextMessage, GatheredSectionKind, shown_context};
use ostler_runner::{ContextBudget, Tool, ToolContext, ToolOutcome, ToolSet};
use ostler_tools::Tools;
use ostler_types::{SessionId, ToolKind, ToolSpec};
use ostler_workspace_context::{ContextGatherer, GatherRequest};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{sources, system_message, write};

const LIMIT: Duration = Duration::from_secs(300);

fn request(workspace: &Path, prompt: &str) -> GatherRequest {
    let mut request = GatherRequest::new(workspace.to_owned(), SessionId::new(Uuid::from_u128(1)), prompt);
    // A busy machine must not decide what these tests see.
    request.deadline = LIMIT;
    request
}

async fn gathered(request: GatherRequest) -> ContextMessage {
    ContextGatherer::default().gather(request, &sources(Tools::builtin().tool_set())).await.bundle
}

fn text(bundle: &ContextMessage, kind: GatheredSectionKind) -> String {
    let sections = bundle.sections.iter().filter(|section| section.kind == kind);
    sections.map(|section| format!("{}\n{}\n", section.name, section.text)).collect()
}

fn git(workspace: &Path, arguments: &[&str]) {
    let run = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(workspace)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

fn project(workspace: &Path) {
    write(
        workspace,
        &[
            ("AGENTS.md", "Always run make."),
            (".gitignore", "built/\n"),
            ("built/out.rs", "fn retry_generated() {}"),
            ("src/lib.rs", "mod retry;\nmod colour;\npub fn start() { retry::with_backoff(); }\n"),
            (
                "src/retry.rs",
                "/// Tries again after a failed request, waiting longer each time.\npub fn with_backoff() {}\n",
            ),
            ("src/colour.rs", "/// Mixes two colours.\npub fn mix() {}\n"),
            (".env", "RETRY_TOKEN=hunter2"),
            (".ostler/skills/deploy/SKILL.md", "---\nname: deploy\ndescription: how to deploy\n---\nx\n"),
        ],
    );
}

#[tokio::test]
async fn a_first_bundle_shows_the_workspace_and_the_next_one_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    git(folder.path(), &["init", "-q"]);
    git(folder.path(), &["add", "src"]);
    git(folder.path(), &["commit", "-q", "-m", "first words"]);
    let mut request = request(folder.path(), "Why are failed requests not tried again?");
    request.is_trusted = true;
    let bundle = gathered(request.clone()).await;
    let kinds: Vec<GatheredSectionKind> = bundle.sections.iter().map(|section| section.kind).collect();
    let expected = [
        GatheredSectionKind::Instructions,
        GatheredSectionKind::Repository,
        GatheredSectionKind::Repository,
        GatheredSectionKind::Files,
        GatheredSectionKind::Skills,
    ];
    assert_eq!(kinds, expected, "{:?}", bundle.text());
    let repository = text(&bundle, GatheredSectionKind::Repository);
    for part in ["src/", "pub fn with_backoff()"] {
        assert!(repository.contains(part), "{part}: {repository}");
    }
    // Nothing confines git here, and nobody was asked whether it may run.
    assert!(!repository.contains("On branch main"), "{repository}");
    let files = text(&bundle, GatheredSectionKind::Files);
    assert!(files.contains("src/retry.rs (lines 1–2)") && !files.contains("built"), "{files}");
    assert!(text(&bundle, GatheredSectionKind::Skills).contains("- deploy: how to deploy"));
    let whole = bundle.text().unwrap();
    assert!(!whole.contains("hunter2"), "{whole}");
    assert!(bundle.tokens() <= ContextBudget::default().total() + 200);

    request.shown = shown_context(&[system_message(whole)]);
    assert_eq!(gathered(request.clone()).await.text(), None);
    write(folder.path(), &[(".agents/skills/b/SKILL.md", "---\nname: b\ndescription: new\n---\nx\n")]);
    let next = gathered(request).await;
    assert_eq!(next.sections.len(), 1, "{:?}", next.text());
    assert!(next.sections[0].name == "Skills added since" && next.sections[0].text == "- b: new\n");
}

#[tokio::test]
async fn an_empty_workspace_says_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(gathered(request(folder.path(), "hello")).await, ContextMessage::default());
    let gone = folder.path().join("gone");
    assert_eq!(gathered(request(&gone, "hello")).await, ContextMessage::default());
}

#[tokio::test]
async fn an_untrusted_workspace_has_instructions_and_no_skills() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let bundle = gathered(request(folder.path(), "hello")).await;
    assert!(text(&bundle, GatheredSectionKind::Instructions).contains("Always run make."));
    assert_eq!(text(&bundle, GatheredSectionKind::Skills), "");
}

#[tokio::test]
async fn every_section_keeps_to_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..300 {
        let source = format!("/// Handles request {number}.\npub fn handle_{number}() {{}}\n").repeat(5);
        write(folder.path(), &[(&format!("src/handler_{number}.rs"), &source)]);
    }
    let mut request = request(folder.path(), "where is a request handled?");
    request.budget = ContextBudget::default().scaled_to_window(20_000);
    let limit = request.budget.total();
    let bundle = gathered(request).await;
    assert!(bundle.sections.len() >= 3, "{:?}", bundle.text());
    // Each section may add a line that says what it left out.
    assert!(bundle.tokens() <= limit + 50 * bundle.sections.len() as u64, "{} > {limit}", bundle.tokens());
}

/// A tool that never answers.
struct StuckTool;

impl Tool for StuckTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "repo_map".to_owned(), description: String::new(), input_schema: json!({}) }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, _: &Value) -> String {
        String::new()
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_map_that_is_not_ready_is_left_out_and_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    project(folder.path());
    let mut request = request(folder.path(), "");
    request.deadline = Duration::from_millis(20);
    let tools = ToolSet::from_tools(vec![Arc::new(StuckTool)]);
    let bundle = ContextGatherer::default().gather(request, &sources(&Arc::new(tools))).await.bundle;
    let repository = text(&bundle, GatheredSectionKind::Repository);
    assert!(repository.contains("repo_map did not finish within 20 ms"), "{repository}");
}
