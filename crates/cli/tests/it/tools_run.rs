//! The tools that run programs, each by a call that a model makes, through a real daemon and its sandbox.

use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, shell};

#[tokio::test]
async fn commands_run_to_their_end_and_say_how_they_ended() {
    let stage = ScriptedDaemon::new("").await;
    let mut policy = policy_without_approvals();
    policy.verify.auto = false;
    policy.verify.commands = vec!["test -f made.txt".to_owned(), "echo checked".to_owned()];
    let id = stage.session(policy).await;
    let turn = stage
        .play(
            id,
            &[
                shell("echo out; echo err >&2; touch made.txt"),
                shell("exit 7"),
                call("shell", json!({"command": "while :; do :; done", "timeout_seconds": 1})),
                call("verify", json!({})),
                call("verify", json!({"commands": ["echo other; false"]})),
                call("diagram", json!({"format": "dot", "source": "digraph { stall -> horse }"})),
            ],
        )
        .await;
    let results = turn.results();
    let [plain, failing, endless, verify, failed, diagram] = &results[..] else { panic!("{results:?}") };
    assert!(plain.ok && plain.text.contains("out\n") && plain.text.contains("err\n"), "{}", plain.text);
    assert!(!failing.ok && failing.text.contains("exit code 7"), "{}", failing.text);
    assert!(!endless.ok && endless.text.contains("timed out after 1 s"), "{}", endless.text);
    assert!(verify.ok && verify.text.contains("checked"), "{}", verify.text);
    assert!(!failed.ok && failed.text.contains("other"), "{}", failed.text);
    assert!(diagram.ok, "{}", diagram.text);
    let kept = diagram.result["artifacts"][0].as_str().expect("the picture or its description is kept");
    let kept = std::fs::read_to_string(stage.data.join("sessions").join(id.to_string()).join(kept)).unwrap();
    assert!(kept.contains("stall"), "{kept}");
    let end = turn.records.last().unwrap();
    assert!(end["data"]["verification"].as_str().unwrap().contains("switches verification off"), "{end}");
}

#[tokio::test]
async fn a_command_in_the_background_is_looked_at_spoken_to_and_ended() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let process = |action: &str, more: Value| {
        let mut input = json!({"process_id": "p1", "action": action});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call("shell_process", input)
    };
    let turn = stage
        .play(
            id,
            &[
                call(
                    "shell",
                    json!({"command": "echo begun; while read l; do echo got $l; done", "background": true}),
                ),
                process("write", json!({"input": "hay\n", "wait_seconds": 20})),
                process("poll", json!({})),
                process("kill", json!({})),
                process("poll", json!({})),
            ],
        )
        .await;
    let results = turn.results();
    assert!(results.iter().all(|result| result.ok), "{results:#?}");
    let running: Vec<bool> = results.iter().map(|it| it.result["details"]["running"] == true).collect();
    assert_eq!(running, [true, true, true, false, false], "{results:#?}");
    let said: String = results.iter().map(|result| result.text.as_str()).collect();
    assert!(said.contains("begun") && said.contains("got hay"), "{said}");

    let other = stage.session(policy_without_approvals()).await;
    let turn = stage.play(other, &[process("poll", json!({}))]).await;
    assert!(!turn.result().ok, "a process belongs to its session: {}", turn.result().text);
}

#[tokio::test]
async fn the_web_is_there_only_when_the_owner_wants_it() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[call("web_fetch", json!({"url": "http://127.0.0.1:9/"}))]).await;
    assert!(turn.result().text.contains("Unknown skill: web_fetch"), "{}", turn.result().text);
    assert!(!stage.offered().contains(&"web_fetch".to_owned()));
    let (_, tools) = stage.request("GET", "/v1/tools", &Value::Null).await;
    assert!(!tools.to_string().contains("web_fetch"), "{tools}");

    let stage = ScriptedDaemon::new("[web]\nfetch = true\n").await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[call("web_fetch", json!({"url": url}))]).await;
    assert!(stage.offered().contains(&"web_fetch".to_owned()));
    assert!(!turn.result().ok, "this machine is not the web: {}", turn.result().text);
    assert!(listener.accept().is_err(), "nobody came");
}

#[tokio::test]
async fn endless_output_is_bounded_for_the_model_on_disk_and_in_memory() {
    let stage = ScriptedDaemon::new("").await;
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[shell("head -c 200000000 /dev/zero | tr '\\0' x; echo the end")]).await;
    let result = turn.result();
    assert!(result.ok && result.text.contains("the end"), "{}", result.text.len());
    assert!(result.text.len() < 40 * 1024, "{}", result.text.len());
    assert!(result.text.contains("of 200000008 bytes were kept"), "what is missing is told");
    let session = stage.data.join("sessions").join(id.to_string());
    let kept = session.join(result.result["artifacts"][0].as_str().unwrap());
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 8 << 20);
    assert!(std::fs::metadata(session.join("events.ndjson")).unwrap().len() < 200 * 1024);
    let status = std::fs::read_to_string(format!("/proc/{}/status", stage.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
    assert!(peak < 256 * 1024, "the daemon held {peak} kB");
}
