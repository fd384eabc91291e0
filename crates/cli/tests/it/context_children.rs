//! Many sessions that one session starts, each in a git worktree of its own: at work at once, stopped with their
//! parent, merged and dropped. What they ask is in `context_child_approvals`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use ostler_types::SessionId;
use serde_json::{Value, json};

use crate::context_checks::{assert_paired, assert_views, assert_whole, folder, named, records};
use crate::scripted::{ScriptedDaemon, ScriptedTurn, policy_without_approvals, prompt, shell, write};

/// A step that has other sessions work on these scripts at once, each in a worktree of its own.
fn tasks(scripts: &[Vec<Value>]) -> Value {
    let task = |(number, steps): (usize, &Vec<Value>)| {
        let description = format!("part {number}");
        let input = json!({
            "description": description, "prompt": prompt(steps), "worktree": true, "_parallel": number == 0,
        });
        json!({"name": "task", "input": input})
    };
    scripts.iter().enumerate().map(task).collect()
}

/// A step that ends the worktrees of these sessions, one after the other.
fn ends(sessions: &[(SessionId, &str)]) -> Value {
    let end = |(id, action): &(SessionId, &str)| json!({"name": "task_control", "input": {"task_id": id, "action": action}});
    sessions.iter().map(end).collect()
}

/// A daemon whose workspace is a repository with one commit.
async fn repository() -> ScriptedDaemon {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    stage.commit();
    stage
}

fn git(stage: &ScriptedDaemon, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(&stage.work).args(arguments);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// All that a repository holds but its worktrees: commits, branches, the index, and the files.
fn state(stage: &ScriptedDaemon) -> [String; 4] {
    [
        git(stage, &["rev-parse", "HEAD"]),
        git(stage, &["for-each-ref"]),
        git(stage, &["status", "--porcelain"]),
        git(stage, &["stash", "list"]),
    ]
}

/// The worktrees that git knows of, and the directories that there are. Fails when these are not the same.
fn worktrees(stage: &ScriptedDaemon) -> BTreeSet<PathBuf> {
    let known = git(stage, &["worktree", "list", "--porcelain"]);
    let known = known.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from);
    let known: BTreeSet<PathBuf> = known.filter(|path| *path != stage.work.canonicalize().unwrap()).collect();
    let place = stage.data.with_file_name("data-worktrees");
    let there = std::fs::read_dir(place).into_iter().flatten().map(|found| found.unwrap().path());
    let there = there.filter(|path| path.extension().is_none_or(|extension| extension != "index"));
    // What is known of a worktree lies beside it, in a file of its name.
    let is_file = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    let (notes, there): (BTreeSet<PathBuf>, BTreeSet<PathBuf>) =
        there.map(|path| path.canonicalize().unwrap()).partition(is_file);
    assert_eq!(notes, there.iter().map(|path| path.with_extension("json")).collect());
    assert_eq!(known, there, "git and the disk agree");
    known
}

fn children(turn: &ScriptedTurn) -> Vec<SessionId> {
    turn.all("subagent_started")
        .iter()
        .map(|data| data["session_id"].as_str().unwrap().parse().unwrap())
        .collect()
}

/// How many processes there are whose arguments hold these words.
fn processes(words: &str) -> usize {
    let numbers = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = numbers.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(words)).count()
}

/// Fails unless those processes end, which takes the kernel a moment.
async fn assert_gone(stage: &ScriptedDaemon, words: &str) {
    for _ in 0..2_000 {
        if processes(words) == 0 {
            return;
        }
        stage.client.health().await.unwrap();
    }
    panic!("{} processes are left", processes(words));
}

#[tokio::test]
async fn twenty_sessions_work_in_twenty_worktrees_and_are_merged_or_dropped() {
    let mut stage = repository().await;
    let before = state(&stage);
    let id = stage.session(policy_without_approvals()).await;
    let script = |number: usize| {
        vec![
            write(&format!("part-{number}.txt"), &format!("{number}\n")),
            json!(format!("wrote part {number}")),
        ]
    };
    let scripts: Vec<Vec<Value>> = (0..20).map(script).collect();
    let turn = stage.play(id, &[tasks(&scripts)]).await;
    let completed = turn.all("tool_call_completed");
    assert_eq!(completed.len(), 20);
    let mut ends_of: Vec<(SessionId, &str)> = Vec::new();
    for data in &completed {
        let result = &data["tool_result"];
        let number = data["tool_call"]["id"].as_str().unwrap().strip_prefix("call-0-").unwrap().to_owned();
        let text = result["parts"][0]["text"].as_str().unwrap();
        assert!(result["ok"] == true && text.starts_with(&format!("wrote part {number}\n")), "{data}");
        let child: SessionId = result["details"]["session_id"].as_str().unwrap().parse().unwrap();
        let action = if number.parse::<u32>().unwrap().is_multiple_of(2) { "merge" } else { "drop" };
        ends_of.push((child, action));
    }
    assert_eq!(state(&stage), before, "the repository is as it was");
    assert_eq!(worktrees(&stage).len(), 20);
    let turn = stage.play(id, &[ends(&ends_of)]).await;
    assert!(turn.results().iter().all(|result| result.ok), "{:?}", turn.results());
    assert!(worktrees(&stage).is_empty());
    for number in 0..20 {
        assert_eq!(stage.work.join(format!("part-{number}.txt")).exists(), number % 2 == 0, "part {number}");
    }
    assert_eq!(state(&stage)[..2], before[..2], "no commit and no branch is left");
    stage.asked().iter().for_each(assert_paired);
    stage.stop();
    for session in std::iter::once(id).chain(ends_of.iter().map(|(child, _)| *child)) {
        assert_whole(&records(&folder(&stage, session)));
        assert_views(&folder(&stage, session));
    }
}

/// Waits until every session that was started has ended, and gives how.
async fn outcomes(stage: &ScriptedDaemon, id: SessionId) -> Vec<Value> {
    for _ in 0..20_000 {
        let records = records(&folder(stage, id));
        let ended = named(&records, "subagent_completed");
        if ended.len() == named(&records, "subagent_started").len() {
            return ended.into_iter().map(|record| record["data"].clone()).collect();
        }
        stage.client.session(id).await.unwrap();
    }
    panic!("not every session ends");
}

#[tokio::test]
async fn stopping_a_session_in_the_middle_leaves_no_process_and_no_half_made_worktree() {
    let stage = repository().await;
    let before = state(&stage);
    let id = stage.session(policy_without_approvals()).await;
    // Each has words of its own that name the processes of this test and no others.
    let mark = format!("sleep 86{}", std::process::id());
    let script = |number: usize| {
        let steps = vec![shell(&mark)];
        if number < 3 { [vec![write("new.txt", "mine\n")], steps].concat() } else { steps }
    };
    let scripts: Vec<Vec<Value>> = (0..12).map(script).collect();
    let mut turn = stage.start(id, &[tasks(&scripts)]).await;
    while turn.all("subagent_started").len() < 12 {
        turn.until("subagent_started").await;
    }
    while processes(&mark) < 3 {
        stage.client.session(id).await.unwrap();
    }
    assert!(stage.client.cancel(id).await.unwrap());
    assert_eq!(turn.finish().await["type"], "turn_canceled");
    let ended = outcomes(&stage, id).await;
    assert!(ended.iter().all(|outcome| outcome["status"] == "canceled"), "{ended:?}");
    assert_gone(&stage, &mark).await;
    assert_eq!(state(&stage), before, "the repository is as it was");
    // What one of them had written can still be looked at; the others leave nothing.
    for path in worktrees(&stage) {
        assert_eq!(std::fs::read_to_string(path.join("new.txt")).unwrap(), "mine\n", "{}", path.display());
        assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "one\n");
    }
    for child in children(&turn) {
        // One that was stopped before it was made is no session.
        if let Ok(view) = stage.client.session(child).await {
            assert!(view.running_turn_id.is_none() && view.queue.is_empty());
        }
    }
    // The next turn is told of all twelve.
    stage.play(id, &[json!("I see")]).await;
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn stopping_a_session_while_worktrees_are_made_leaves_none() {
    let stage = repository().await;
    let before = state(&stage);
    let id = stage.session(policy_without_approvals()).await;
    let scripts: Vec<Vec<Value>> = (0..20).map(|_| vec![json!("never said")]).collect();
    for wanted in [1, 8] {
        let mut turn = stage.start(id, &[tasks(&scripts)]).await;
        for _ in 0..wanted {
            turn.until("subagent_started").await;
        }
        stage.client.cancel(id).await.unwrap();
        outcomes(&stage, id).await;
        let kept = worktrees(&stage).len();
        let ended: Vec<Value> = outcomes(&stage, id).await;
        let completed = ended.iter().filter(|outcome| outcome["status"] == "completed").count();
        assert!(kept <= completed, "{kept} worktrees, and {completed} were at their end: {ended:?}");
        assert_eq!(state(&stage), before);
    }
    stage.play(id, &[json!("on")]).await;
    stage.asked().iter().for_each(assert_paired);
}

#[tokio::test]
async fn worktrees_and_what_they_hold_outlive_a_daemon_that_is_killed() {
    let mut stage = repository().await;
    let before = state(&stage);
    let id = stage.session(policy_without_approvals()).await;
    let written = vec![write("new.txt", "mine\n"), json!("written")];
    let mark = format!("sleep 87{}", std::process::id());
    let scripts = [written, vec![write("half.txt", "half\n"), shell(&mark)], vec![shell(&mark)]];
    let mut turn = stage.start(id, &[tasks(&scripts)]).await;
    turn.until("tool_call_completed").await;
    let runs = |child: &SessionId| {
        let records = records(&folder(&stage, *child));
        named(&records, "tool_call_started").iter().any(|it| it["data"]["tool_call"]["name"] == "shell")
    };
    while children(&turn).iter().filter(|child| runs(child)).count() < 2 {
        stage.client.session(id).await.unwrap();
    }
    stage.crash().await;
    let mut turn = stage.follow(id, turn.id).await;
    turn.finish().await;
    assert_eq!(turn.all("subagent_started").len(), 3, "none was started again");
    let ended = outcomes(&stage, id).await;
    let status = |word: &str| ended.iter().filter(|outcome| outcome["status"] == word).count();
    assert_eq!((status("completed"), status("failed")), (1, 2), "{ended:?}");
    assert_gone(&stage, &mark).await;
    assert_eq!(state(&stage), before);
    let done: SessionId = ended.iter().find(|it| it["status"] == "completed").unwrap()["session_id"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let others = children(&turn).into_iter().filter(|child| *child != done);
    let all: Vec<(SessionId, &str)> = others.map(|child| (child, "drop")).chain([(done, "merge")]).collect();
    let turn = stage.play(id, &[ends(&all)]).await;
    assert!(turn.results().iter().all(|result| result.ok), "{:?}", turn.results());
    assert!(worktrees(&stage).is_empty());
    assert_eq!(stage.read("new.txt"), "mine\n");
    assert!(!stage.work.join("half.txt").exists());
}
