//! Agents that others wrote: one on the protocol's own SDK for Rust, and one on that for Node.

use std::path::{Path, PathBuf};
use std::process::Command;

use ostler_agent_acp::AgentProgram;
use ostler_types::{Policy, ToolKind, Verdict};

use crate::fixture::{AcpTestSession, agent_of, check, directory, host, settings, within};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The directory with the protocol's SDK for Node, which is installed if it is not.
fn installed_sdk() -> PathBuf {
    let (script, place) = (repository().join("tests/acp/setup.sh"), repository().join("target/acp-agents"));
    let done = Command::new(&script).arg(&place).output().expect("the script that installs agents runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "run {} and see why it fails: {said}", script.display());
    place.join("sdk")
}

fn world_of(program: AgentProgram, policy: Policy) -> AcpTestSession {
    let directory = directory();
    AcpTestSession { host: host(&directory, policy), agent: agent_of(program, settings()), directory }
}

fn sdk_of_node() -> AgentProgram {
    let script = repository().join("tests/acp/agent.mjs").display().to_string();
    AgentProgram::new("node", "node", [script, installed_sdk().display().to_string()])
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
