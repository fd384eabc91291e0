//! A real adapter against a stand-in for its provider. It downloads 370 MB, so it is only there with the feature
//! `adapters`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ostler_agent_acp::Preset;
use ostler_types::{Policy, Verdict};

use crate::fixture::{World, agent_of, check, directory, host, settings, until, within};
use crate::real::{installed, repository};

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
