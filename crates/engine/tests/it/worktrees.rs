//! Children in git worktrees of their own: many at once, merged or dropped, and nothing left of those that were
//! stopped on the way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use futures_util::future::join_all;
use ostler_agent::{NewChild, TurnContext, WorktreeEnd};
use ostler_testing::agent::{ScriptedAgent, done, failed, say};
use ostler_types::{ChildEvent, ChildStatus, Event, SessionId};
use tokio::sync::{mpsc, oneshot};

use crate::children::{begin_task, child, delegate, end_task};
use crate::fixture::{EngineFixture, TestEngine, eventually};

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Nobody",
            "-c",
            "user.email=nobody@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A repository with one file, and a session in it.
async fn session_in_a_repository(place: &EngineFixture, daemon: &TestEngine) -> (PathBuf, SessionId) {
    let path = place.data().join("repository");
    std::fs::create_dir(&path).unwrap();
    git(&path, &["init", "--quiet"]);
    std::fs::write(path.join("a"), "1\n").unwrap();
    git(&path, &["add", "."]);
    git(&path, &["commit", "--quiet", "-m", "first"]);
    let mut new = daemon.new_session();
    new.workspace_path = path.display().to_string();
    let id = daemon.engine.create(new).await.unwrap().id;
    (path, id)
}

fn in_worktree(call: &str, prompt: &str) -> NewChild {
    NewChild { worktree: true, ..child(call, prompt) }
}

fn left(place: &EngineFixture) -> usize {
    std::fs::read_dir(place.worktrees.path()).unwrap().count()
}

/// A child that writes a file of the name that it was told.
async fn write_a_file(turn: TurnContext) -> Result<ostler_agent::CompletedTurn, ostler_agent::FailedTurn> {
    let name = turn.history[0].text();
    std::fs::write(Path::new(&turn.session.workspace_path).join(&name), name.as_bytes()).unwrap();
    say(&turn, "written").await?;
    done()
}

#[tokio::test]
async fn twenty_children_work_in_twenty_worktrees_at_once() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (path, parent) = session_in_a_repository(&place, &daemon).await;
    daemon.engine.trust(path.display().to_string(), true).await.unwrap();
    let (told, mut heard) = mpsc::channel(1);
    agent.push(|turn| async move {
        let starts = (0..20).map(|number| {
            let new = NewChild {
                subtask: Some(format!("s{number}")),
                ..in_worktree("c", &format!("file{number}"))
            };
            turn.start_child(NewChild { tool_call_id: None, ..new })
        });
        let ids: Vec<SessionId> = join_all(starts).await.into_iter().collect::<Result<_, _>>()?;
        for id in &ids {
            let outcome = turn.wait_for_child(*id).await?;
            assert_eq!((outcome.status, outcome.error), (ChildStatus::Completed, None));
            assert_eq!(outcome.changed_files, Some(1));
        }
        let refused = turn.end_worktree(turn.session.id, WorktreeEnd::Drop).await;
        assert!(refused.is_err(), "only the worktrees of children are ended");
        for (number, id) in ids.iter().enumerate() {
            let end = if number % 2 == 0 { WorktreeEnd::Merge } else { WorktreeEnd::Drop };
            turn.end_worktree(*id, end).await?;
        }
        _ = told.send(ids).await;
        done()
    });
    for _ in 0..20 {
        agent.push(|turn| async move {
            assert!(turn.trusted, "a worktree is trusted as the workspace that it was made of");
            assert!(turn.session.worktree.is_some());
            write_a_file(turn).await
        });
    }
    daemon.say(parent, "go").await;
    let ids = heard.recv().await.unwrap();
    daemon.recorded(parent, "turn_completed", 1).await;
    for number in 0..20 {
        assert_eq!(path.join(format!("file{number}")).exists(), number % 2 == 0, "file{number}");
    }
    assert_eq!(git(&path, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(left(&place), 0);
    for id in ids {
        let workspace = daemon.engine.view(id).await.unwrap().session.workspace_path;
        assert!(workspace.starts_with(place.worktrees.path().to_str().unwrap()), "{workspace}");
    }
}

#[tokio::test]
async fn a_contradiction_is_told_and_the_worktree_stays() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (path, parent) = session_in_a_repository(&place, &daemon).await;
    let (told, mut heard) = mpsc::channel(2);
    let ours = path.clone();
    agent.push(|turn| async move {
        begin_task(&turn, "c1").await?;
        let id = turn.start_child(in_worktree("c1", "a")).await?;
        turn.wait_for_child(id).await?;
        std::fs::write(ours.join("a"), "changed here, too\n").unwrap();
        _ = told.send(turn.end_worktree(id, WorktreeEnd::Merge).await.unwrap_err().to_string()).await;
        std::fs::write(ours.join("a"), "1\n").unwrap();
        _ = told.send(turn.end_worktree(id, WorktreeEnd::Merge).await?).await;
        end_task(&turn, "c1", "merged").await?;
        done()
    });
    agent.push(write_a_file);
    daemon.say(parent, "go").await;
    let refused = heard.recv().await.unwrap();
    assert!(refused.contains("nothing was merged") && refused.contains(": a"), "{refused}");
    assert_eq!(heard.recv().await.unwrap(), "Merged 1 file into the workspace: modified a.");
    assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "a");
    daemon.recorded(parent, "turn_completed", 1).await;
    assert_eq!(left(&place), 0);
}

#[tokio::test]
async fn stopping_the_parent_at_any_stage_leaves_no_half_made_worktree() {
    for stage in 0..3 {
        let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
        let daemon = place.open(&agent).await;
        let (path, parent) = session_in_a_repository(&place, &daemon).await;
        agent.push(|turn| async move {
            let starts = (0..6).map(|number| {
                let new = NewChild { subtask: Some(format!("s{number}")), ..in_worktree("c", "x") };
                turn.start_child(NewChild { tool_call_id: None, ..new })
            });
            join_all(starts).await;
            turn.canceled.cancelled().await;
            failed("canceled")
        });
        for _ in 0..6 {
            agent.push(|turn| async move {
                turn.canceled.cancelled().await;
                failed("canceled")
            });
        }
        daemon.say(parent, "go").await;
        match stage {
            0 => daemon.recorded(parent, "subagent_started", 1).await,
            1 => eventually("worktrees are being made", async || left(&place) > 2).await,
            _ => agent.started(7).await,
        }
        daemon.cancel(parent).await.unwrap();
        let mut open = 1;
        eventually("every child has ended", async || {
            let records = daemon.records(parent).await;
            let count =
                |name: &str| records.iter().filter(|record| record.event.name().as_str() == name).count();
            open = count("subagent_started") - count("subagent_completed");
            open == 0
        })
        .await;
        assert_eq!(left(&place), 0, "stage {stage}");
        assert_eq!(git(&path, &["worktree", "list"]).lines().count(), 1, "stage {stage}");
        for record in daemon.records(parent).await {
            if let Event::Child(ChildEvent::Completed { outcome, .. }) = record.event {
                assert_eq!(outcome.status, ChildStatus::Canceled, "stage {stage}");
            }
        }
    }
}

#[test]
fn worktrees_that_a_crash_left_are_removed_at_the_next_start() {
    let place = EngineFixture::new();
    let agent = ScriptedAgent::new();
    let (told, _heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, in_worktree("c1", "x"), told));
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    let (path, parent) = place.until_crash(&agent, async |daemon| {
        let (path, parent) = session_in_a_repository(&place, daemon).await;
        daemon.say(parent, "go").await;
        agent.started(2).await;
        (path, parent)
    });
    assert!(left(&place) > 0);
    // A worktree that was being made, of a session that never was.
    let unknown = "sess_00000000000000000000000000000001";
    std::fs::create_dir(place.worktrees.path().join(unknown)).unwrap();
    place.until_stop(&ScriptedAgent::new(), async |daemon| {
        daemon.recorded(parent, "subagent_completed", 1).await;
        eventually("it is removed", async || !place.worktrees.path().join(unknown).exists()).await;
        assert_eq!(
            git(&path, &["worktree", "list"]).lines().count(),
            2,
            "one that was at work can be looked at"
        );
        daemon.engine.purge(parent).await.unwrap();
    });
    assert_eq!(left(&place), 0);
    assert_eq!(git(&path, &["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn without_a_repository_there_is_no_worktree_and_the_child_says_why() {
    let (place, agent): (EngineFixture, Arc<ScriptedAgent>) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let parent = daemon.create().await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| delegate(turn, in_worktree("c1", "x"), told));
    daemon.say(parent, "go").await;
    let (_, outcome) = heard.await.unwrap();
    assert_eq!(outcome.status, ChildStatus::Failed);
    assert!(outcome.error.unwrap().contains("not in a git repository"));
    assert_eq!(left(&place), 0);
}

#[tokio::test]
async fn worktrees_of_a_plan_are_merged_or_dropped_by_a_later_turn() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let (path, parent) = session_in_a_repository(&place, &daemon).await;
    let (told, heard) = oneshot::channel();
    agent.push(|turn| async move {
        let mut ids = Vec::new();
        for name in ["one", "two"] {
            let new = NewChild { subtask: Some(name.to_owned()), ..in_worktree("c", name) };
            ids.push(turn.start_child(NewChild { tool_call_id: None, ..new }).await?);
        }
        for id in &ids {
            assert_eq!(turn.wait_for_child(*id).await?.changed_files, Some(1));
        }
        _ = told.send(ids);
        done()
    });
    agent.push(write_a_file);
    agent.push(write_a_file);
    daemon.say(parent, "the plan").await;
    let ids = heard.await.unwrap();
    daemon.recorded(parent, "turn_completed", 1).await;
    assert!(left(&place) > 0, "they are kept until somebody decides");
    agent.push(|turn| async move {
        let merged = turn.end_worktree(ids[0], WorktreeEnd::Merge).await?;
        assert!(
            merged.starts_with("Merged 1 file into the workspace: ") && merged.contains("one"),
            "{merged}"
        );
        turn.end_worktree(ids[1], WorktreeEnd::Drop).await?;
        done()
    });
    daemon.say(parent, "merge one, drop two").await;
    daemon.recorded(parent, "turn_completed", 2).await;
    assert_eq!((path.join("one").exists(), path.join("two").exists()), (true, false));
    assert_eq!((left(&place), git(&path, &["worktree", "list"]).lines().count()), (0, 1));
}
