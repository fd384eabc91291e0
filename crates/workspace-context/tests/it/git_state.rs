//! How the state of git reaches a model: when it is waited for, when it follows, and that nobody is told what is no longer
//! so.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_context::{ContextMessage, shown_context};
use ostler_runner::{ShownContext, Tool, ToolContext, ToolOutcome, ToolSet};
use ostler_types::{SessionId, ToolKind, ToolSpec};
use ostler_workspace_context::{ContextGatherer, GatherRequest, GatherSources};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::system_message;

const CHANGED: &str = "This may be out of date";

/// A repository: what is checked out, and a git that answers when it is let.
struct FakeRepository {
    branch: Mutex<Option<String>>,
    /// How many answers git may give.
    may_answer: Semaphore,
    asked: AtomicUsize,
}

struct FakeGitStatus(Arc<FakeRepository>);

impl Tool for FakeGitStatus {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "git_status".to_owned(), description: String::new(), input_schema: json!({}) }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, _: &Value) -> String {
        String::new()
    }

    fn run(&self, _: Value, _: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async {
            let number = self.0.asked.fetch_add(1, Ordering::SeqCst) + 1;
            self.0.may_answer.acquire().await.unwrap().forget();
            match &*self.0.branch.lock().unwrap() {
                Some(branch) => {
                    ToolOutcome::done(format!("On branch {branch}.\nLook {number}.\n"), json!({}))
                }
                None => ToolOutcome::failed("The workspace is not in a git repository."),
            }
        }
        .boxed()
    }
}

struct GitStateFixture {
    gatherer: ContextGatherer,
    repository: Arc<FakeRepository>,
    sources: GatherSources,
    place: tempfile::TempDir,
}

impl GitStateFixture {
    fn new(branch: Option<&str>) -> GitStateFixture {
        let repository = Arc::new(FakeRepository {
            branch: Mutex::new(branch.map(str::to_owned)),
            may_answer: Semaphore::new(0),
            asked: AtomicUsize::new(0),
        });
        let known = Arc::clone(&repository);
        let checked_out = move |_: &Path| {
            known.branch.lock().unwrap().as_ref().map(|branch| format!("On branch {branch}.\n"))
        };
        let tools = Arc::new(ToolSet::from_tools(vec![Arc::new(FakeGitStatus(Arc::clone(&repository)))]));
        let sources = GatherSources { tools, checked_out: Arc::new(checked_out) };
        GitStateFixture {
            gatherer: ContextGatherer::default(),
            repository,
            sources,
            place: tempfile::tempdir().unwrap(),
        }
    }

    fn request(&self, session: u128) -> GatherRequest {
        let workspace: PathBuf = self.place.path().to_owned();
        // A busy machine must not decide what these tests see.
        let deadline = Duration::from_secs(300);
        GatherRequest {
            deadline,
            ..GatherRequest::new(workspace, SessionId::new(Uuid::from_u128(session)), "")
        }
    }

    fn prepare(&self, session: u128) {
        self.gatherer.prepare(&self.request(session), &self.sources);
    }

    async fn gather(&self, session: u128, shown: ShownContext) -> ContextMessage {
        let request = GatherRequest { shown, ..self.request(session) };
        self.gatherer.gather(request, &self.sources).await.bundle
    }

    fn late(&self, session: u128) -> Option<String> {
        self.gatherer.late_context(&self.request(session), &self.sources).text()
    }

    fn let_answer(&self, count: usize) {
        self.repository.may_answer.add_permits(count);
    }

    fn check_out(&self, branch: &str) {
        *self.repository.branch.lock().unwrap() = Some(branch.to_owned());
    }

    fn asked(&self) -> usize {
        self.repository.asked.load(Ordering::SeqCst)
    }
}

fn text(bundle: &ContextMessage) -> String {
    bundle.text().unwrap_or_default()
}

/// What a model knows that was told this.
fn shown(texts: &[&str]) -> ShownContext {
    shown_context(&texts.iter().map(|text| system_message((*text).to_owned())).collect::<Vec<_>>())
}

#[tokio::test]
async fn a_new_session_is_told_the_branch_at_once_and_the_rest_when_it_is_there() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.prepare(1);
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    assert!(
        first.contains("On branch main.\n[Changes and recent commits") && !first.contains("Look"),
        "{first}"
    );
    assert_eq!(shown(&[&first]).awaits_git, Some(true));
    assert_eq!(fixture.late(1), None);
    let next = fixture.gather(1, shown(&[&first])).await;
    assert_eq!(next, ContextMessage::default(), "nothing is there yet");
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    let late = fixture.late(1).unwrap();
    assert!(late.contains("On branch main.\nLook 1.") && late.contains(CHANGED), "{late}");
    assert_eq!(shown(&[&first, &late]).awaits_git, Some(false));
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn what_follows_is_also_told_by_the_next_turn() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.prepare(1);
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    let next = text(&fixture.gather(1, shown(&[&first])).await);
    assert!(next.contains("# Git status\nOn branch main.\nLook 1."), "{next}");
    let known = shown(&[&first, &next]);
    assert_eq!((known.awaits_git, known.repository), (Some(false), true));
    assert_eq!(fixture.gather(1, known).await, ContextMessage::default());
}

#[tokio::test]
async fn a_look_that_is_over_is_told_at_once_and_said_to_be_older() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.let_answer(1);
    fixture.prepare(1);
    fixture.gatherer.wait_until_idle().await;
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    assert!(first.contains("Look 1.") && first.contains(CHANGED), "{first}");
    assert_eq!(shown(&[&first]).awaits_git, None);
}

#[tokio::test]
async fn a_look_at_another_branch_or_of_long_ago_is_not_told() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.let_answer(1);
    fixture.prepare(1);
    fixture.gatherer.wait_until_idle().await;
    fixture.check_out("other");
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    assert!(first.contains("On branch other.\n[Changes and recent commits"), "{first}");
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    let late = fixture.late(1).unwrap();
    assert!(late.contains("On branch other.\nLook 2."), "{late}");

    fixture.let_answer(1);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(2)).await;
    fixture.prepare(2);
    tokio::time::resume();
    fixture.gatherer.wait_until_idle().await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    let first = text(&fixture.gather(2, ShownContext::default()).await);
    assert!(first.contains("[Changes and recent commits"), "{first}");
}

#[tokio::test]
async fn a_session_that_is_not_new_waits_for_git() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.let_answer(1);
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    assert!(first.contains("Look 1.") && !first.contains(CHANGED), "{first}");
    // It was told that something follows, by a daemon that is no more.
    let awaits = ShownContext { repository: true, awaits_git: Some(true), ..ShownContext::default() };
    assert_eq!(fixture.gather(2, awaits).await, ContextMessage::default());
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    assert!(fixture.late(2).unwrap().contains("Look 2."));
}

#[tokio::test]
async fn where_git_has_to_be_asked_it_is_waited_for() {
    let fixture = GitStateFixture::new(Some("main"));
    let sources = GatherSources { checked_out: Arc::new(|_| None), ..fixture.sources.clone() };
    fixture.gatherer.prepare(&fixture.request(1), &sources);
    fixture.let_answer(1);
    let first = fixture.gatherer.gather(fixture.request(1), &sources).await.bundle;
    assert!(text(&first).contains("Look 1."), "{first:?}");
    let fixture = GitStateFixture::new(None);
    fixture.let_answer(1);
    fixture.prepare(1);
    assert_eq!(
        fixture.gather(1, ShownContext::default()).await,
        ContextMessage::default(),
        "there is no repository"
    );
}

#[tokio::test]
async fn a_git_that_fails_is_said_to_once() {
    let fixture = GitStateFixture::new(Some("main"));
    fixture.prepare(1);
    let first = text(&fixture.gather(1, ShownContext::default()).await);
    *fixture.repository.branch.lock().unwrap() = None;
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    let late = fixture.late(1).unwrap();
    assert!(late.contains("could not be read"), "{late}");
    assert_eq!(shown(&[&first, &late]).awaits_git, Some(false));
}

#[tokio::test]
async fn many_new_sessions_of_a_workspace_ask_git_once() {
    let fixture = GitStateFixture::new(Some("main"));
    // A look begins at most once a second, so the clock must not move while the sessions are created.
    tokio::time::pause();
    for session in 1..100 {
        fixture.prepare(session);
    }
    tokio::time::resume();
    fixture.let_answer(1);
    fixture.gatherer.wait_until_idle().await;
    assert_eq!(fixture.asked(), 1);
    // Those that were created after the look began are not told of it; they look when they are used, together.
    let first = text(&fixture.gather(50, ShownContext::default()).await);
    assert!(first.contains("[Changes and recent commits"), "{first}");
    let first = text(&fixture.gather(51, ShownContext::default()).await);
    assert!(first.contains("[Changes and recent commits"), "{first}");
    fixture.let_answer(2);
    fixture.gatherer.wait_until_idle().await;
    // The two may share a look; where they do not, either can reach git first.
    let late = fixture.late(50).unwrap();
    assert!(late.contains("Look 2.") || late.contains("Look 3."), "{late}");
    assert!(fixture.asked() <= 3);
}
