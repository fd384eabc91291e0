//! Agents that others wrote: one on the protocol's own SDK for Rust, one on that for Node, and a real one against
//! a stand-in for its provider.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ostler_agent_acp::{AgentProgram, Preset};
use ostler_types::{Policy, ToolKind, Verdict};

use crate::fixture::{World, agent_of, check, directory, host, settings, until, within};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The directory with what others wrote, which is installed if it is not.
fn installed(part: &str) -> PathBuf {
    let (script, place) = (repository().join("tests/acp/setup.sh"), repository().join("target/acp-agents"));
    let mut command = Command::new(&script);
    command.arg(&place);
    if part == "claude" {
        command.arg("adapters");
    }
    let done = command.output().expect("the script that installs agents runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "run {} and see why it fails: {said}", script.display());
    place.join(part)
}

fn world_of(program: AgentProgram, policy: Policy) -> World {
    let directory = directory();
    World { host: host(&directory, policy), agent: agent_of(program, settings()), directory }
}

fn sdk_of_node() -> AgentProgram {
    let script = repository().join("tests/acp/agent.mjs").display().to_string();
    AgentProgram::new("node", "node", [script, installed("sdk").display().to_string()])
}

fn sdk_of_rust() -> AgentProgram {
    AgentProgram::new("rust", env!("CARGO_BIN_EXE_ostler-agent-acp-sdk-agent"), [""; 0])
}

#[tokio::test]
async fn agents_on_the_sdks_are_understood() {
    for program in [sdk_of_rust(), sdk_of_node()] {
        let mut policy = Policy::default();
        policy.approval.require_for_kinds.clear();
        let world = world_of(program, policy);
        assert_eq!(world.ask("hello").await.unwrap().stop_reason, "end_turn");
        assert_eq!(world.answers(), ["You said: hello"]);
        world.ask("call").await.unwrap();
        assert_eq!(world.results()[0].text(), "a.txt b.txt");
        world.ask("write").await.unwrap();
        assert_eq!(std::fs::read_to_string(world.workspace().join("by-sdk.txt")).unwrap(), "written\n");
        assert!(world.answers().last().unwrap().contains("It holds written"), "{:?}", world.answers());
        world.ask("run").await.unwrap();
        assert!(world.answers().last().unwrap().contains("0: it's me"), "{:?}", world.answers());
    }
}

#[tokio::test]
async fn agents_on_the_sdks_are_asked_and_canceled() {
    for program in [sdk_of_rust(), sdk_of_node()] {
        let world = world_of(program, Policy::default());
        for (verdict, ok) in [(Verdict::Approve, true), (Verdict::Deny, false)] {
            let running = world.begin(if ok { "ask" } else { "ask again" });
            within(world.host.until(|host| host.state().pending_approvals().next().is_some())).await;
            let approval = world.host.state().pending_approvals().next().unwrap().clone();
            assert_eq!(approval.kind, ToolKind::Exec);
            world.host.answer(&approval.tool_call_id.0, verdict, None).unwrap();
            running.await.unwrap().unwrap();
            check(&world.host);
            assert_eq!(world.results().pop().unwrap().ok, ok);
        }
        let running = world.begin("wait");
        within(world.host.until(|host| host.deltas().iter().any(|delta| delta.text.contains("wait")))).await;
        world.host.cancel();
        assert_eq!(running.await.unwrap().unwrap_err().reason, "turn_over");
        world.ask("and on").await.unwrap();
        assert_eq!(world.agent.statuses().len(), 1);
    }
}

/// A stand-in for a provider; it ends with the test.
struct Provider {
    process: Child,
    port: u16,
}

impl Provider {
    fn start(notes: &Path) -> Provider {
        let script = repository().join("tests/acp/mock_anthropic.py");
        let mut command = Command::new("python3");
        let mut process = command.arg(script).arg(notes).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Provider { process, port: line.trim().parse().expect("it prints its port") }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
#[ignore = "downloads 370 MB; `cargo nextest run -p ostler-agent-acp --run-ignored all` runs it"]
async fn claude_works_against_a_stand_in_for_its_provider() {
    let place = installed("claude").join("node_modules");
    let directory = directory();
    let provider = Provider::start(&directory.path().join("requests"));
    let mut program = Preset::find("claude").unwrap().program();
    program.program = place.join("node/bin/node").display().to_string();
    let script = place.join("@agentclientprotocol/claude-agent-acp/dist/index.js");
    program.arguments = vec![script.display().to_string()];
    program.env = [
        ("ANTHROPIC_API_KEY", "sk-ant-nothing".to_owned()),
        ("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", provider.port)),
        ("HOME", directory.path().display().to_string()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let world =
        World { host: host(&directory, Policy::default()), agent: agent_of(program, settings()), directory };
    world.ask("say hello").await.unwrap();
    assert!(world.answers().concat().contains("Hello from the mock."), "{:?}", world.answers());
    let running = world.begin("use the shell");
    within(world.host.until(|host| host.state().pending_approvals().next().is_some())).await;
    let approval = world.host.state().pending_approvals().next().unwrap().clone();
    assert!(approval.summary.contains("touch made-by-claude"), "{}", approval.summary);
    assert!(!world.workspace().join("made-by-claude").exists());
    world.host.answer(&approval.tool_call_id.0, Verdict::Approve, None).unwrap();
    running.await.unwrap().unwrap();
    check(&world.host);
    until(|| world.workspace().join("made-by-claude").exists()).await;
    assert!(world.results().iter().any(|result| result.text().contains("done")), "{:?}", world.results());
    within(world.agent.stop()).await;
}
