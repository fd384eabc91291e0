//! The supervisor over children that are no processes, in time that does not pass by itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::run::backoff;
use super::{
    Instance, InstanceLease, InstancePhase, Launcher, NotReady, StartFailure, Supervised, Supervisor,
    SupervisorSettings,
};

/// What happens to the children of a test.
#[derive(Default)]
struct FakeWorld {
    /// How the next starts end; they succeed when nothing is said.
    starts: Mutex<VecDeque<StartFailure<&'static str>>>,
    /// Has each child that runs fail.
    crash: Notify,
    log: Mutex<Vec<(&'static str, &'static str)>>,
    running: watch::Sender<usize>,
    /// How long an orderly end takes.
    stop_time: Mutex<Duration>,
    /// Whether a child has proven itself as soon as it is ready.
    is_proven: Mutex<bool>,
}

impl FakeWorld {
    fn count(&self, what: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|(happened, _)| *happened == what).count()
    }

    fn note(&self, what: &'static str, name: &'static str) {
        self.log.lock().unwrap().push((what, name));
    }
}

struct FakeChild {
    name: &'static str,
    world: Arc<FakeWorld>,
}

/// A child that runs until it is dropped.
struct FakeRunning(Arc<FakeWorld>);

impl Drop for FakeRunning {
    fn drop(&mut self) {
        self.0.running.send_modify(|count| *count -= 1);
    }
}

impl Supervised for FakeChild {
    type Key = &'static str;
    type Handle = &'static str;
    type Running = FakeRunning;
    type Failure = &'static str;

    async fn start(
        &self,
        launcher: Launcher,
    ) -> Result<(&'static str, FakeRunning), StartFailure<&'static str>> {
        assert_eq!(launcher.slot.is_some(), self.takes_slot());
        self.world.note("start", self.name);
        if let Some(failure) = self.world.starts.lock().unwrap().pop_front() {
            return Err(failure);
        }
        self.world.running.send_modify(|count| *count += 1);
        Ok((self.name, FakeRunning(Arc::clone(&self.world))))
    }

    async fn watch(&self, _running: &mut FakeRunning) -> &'static str {
        self.world.crash.notified().await;
        "it crashed"
    }

    async fn stop(&self, running: FakeRunning) {
        let time = *self.world.stop_time.lock().unwrap();
        tokio::time::sleep(time).await;
        drop(running);
        self.world.note("stop", self.name);
    }

    fn is_proven(&self, _handle: &&'static str, _uptime: Duration) -> bool {
        *self.world.is_proven.lock().unwrap()
    }

    fn log_failure(&self, _failure: &&'static str, _failures: u32) {
        self.world.note("failure", self.name);
    }

    fn takes_slot(&self) -> bool {
        self.name != "remote"
    }

    fn yields_to(&self, other: &FakeChild) -> bool {
        self.name != "pinned" && self.name != other.name
    }

    fn no_slot_failure(&self, _capacity: usize) -> StartFailure<&'static str> {
        StartFailure::Permanent("there is no slot")
    }
}

struct SupervisorTest {
    world: Arc<FakeWorld>,
    supervisor: Supervisor<FakeChild>,
}

fn settings() -> SupervisorSettings {
    SupervisorSettings {
        capacity: 2,
        idle_timeout: Duration::from_secs(600),
        evict_after: Duration::from_secs(30),
        restarts: 3,
        first_backoff: Duration::from_secs(1),
        retry_after: Duration::from_secs(300),
        remembered: 16,
    }
}

fn test(settings: SupervisorSettings) -> SupervisorTest {
    SupervisorTest { world: Arc::default(), supervisor: Supervisor::new(settings) }
}

impl SupervisorTest {
    fn instance(&self, name: &'static str) -> Option<Arc<Instance<FakeChild>>> {
        self.supervisor.instance(&name, || FakeChild { name, world: Arc::clone(&self.world) })
    }

    async fn lease(&self, name: &'static str) -> Result<InstanceLease<FakeChild>, NotReady<&'static str>> {
        Supervisor::lease(|| self.instance(name), None).await
    }

    /// Waits until so many children run. Time passes meanwhile.
    async fn until_running(&self, wanted: usize) {
        self.world.running.subscribe().wait_for(|count| *count == wanted).await.unwrap();
    }
}

#[test]
fn the_pause_doubles_up_to_thirty_times_the_first() {
    let pauses = (1..9).map(|failures| backoff(Duration::from_secs(1), failures).as_secs());
    assert_eq!(pauses.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 30, 30, 30]);
    assert_eq!(backoff(Duration::from_secs(1), u32::MAX), Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_started_once_and_shared() {
    let test = test(settings());
    assert_eq!(test.world.count("start"), 0, "nothing starts before it is needed");
    let (one, other) = tokio::join!(test.lease("a"), test.lease("a"));
    assert_eq!((one.unwrap().handle, other.unwrap().handle), ("a", "a"));
    assert_eq!(test.world.count("start"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_ended_when_it_is_idle_and_not_while_it_is_leased() {
    let test = test(settings());
    let lease = test.lease("a").await.unwrap();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(test.world.count("stop"), 0);
    let released = Instant::now();
    drop(lease);
    test.until_running(0).await;
    assert_eq!(released.elapsed().as_secs(), 600);
    test.lease("a").await.unwrap();
    assert_eq!(test.world.count("start"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_request_counts_as_use() {
    let test = test(settings());
    drop(test.lease("a").await.unwrap());
    let released = Instant::now();
    tokio::time::sleep(Duration::from_secs(500)).await;
    test.instance("a").unwrap();
    test.until_running(0).await;
    assert_eq!(released.elapsed().as_secs(), 1100);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_is_tried_again_with_growing_pauses() {
    let test = test(settings());
    test.world.starts.lock().unwrap().extend([StartFailure::Transient("not yet"); 3]);
    let asked = Instant::now();
    let lease = test.lease("a").await.unwrap();
    assert_eq!((lease.handle, asked.elapsed().as_secs()), ("a", 1 + 2 + 4));

    test.world.starts.lock().unwrap().extend([StartFailure::Transient("not at all"); 4]);
    let asked = Instant::now();
    let refused = test.lease("b").await.err();
    assert_eq!(refused, Some(NotReady::Unavailable("not at all")));
    assert_eq!((asked.elapsed().as_secs(), test.world.count("failure")), (1 + 2 + 4, 3 + 4));
    // It is left alone for a while, and then tried anew.
    assert!(test.lease("b").await.is_err());
    assert_eq!(test.world.count("start"), 8);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!(test.lease("b").await.unwrap().handle, "b");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_permanent_is_not_tried_again() {
    let test = test(settings());
    test.world.starts.lock().unwrap().push_back(StartFailure::Permanent("no such program"));
    assert_eq!(test.lease("a").await.err(), Some(NotReady::Unavailable("no such program")));
    assert_eq!(test.world.count("start"), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_is_patient_only_for_a_while_is_told_why_it_takes_long() {
    let test = test(settings());
    test.world.starts.lock().unwrap().extend([StartFailure::Transient("not yet"); 3]);
    let patience = Some(Duration::from_secs(2));
    let leased = Supervisor::lease(|| test.instance("a"), patience).await;
    assert_eq!(leased.err(), Some(NotReady::TimedOut(Some("not yet"))));
    let instance = test.instance("a").unwrap();
    instance.wait_until_settled(Duration::from_secs(60)).await;
    assert!(matches!(instance.phase(), InstancePhase::Restarting("not yet")));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_crashes_is_restarted_until_it_crashed_too_often() {
    let test = test(settings());
    for start in 1..=4 {
        let lease = test.lease("a").await.unwrap();
        assert_eq!((lease.handle, test.world.count("start")), ("a", start));
        test.world.crash.notify_one();
        test.until_running(0).await;
        drop(lease);
    }
    assert_eq!(test.lease("a").await.err(), Some(NotReady::Unavailable("it crashed")));
}

#[tokio::test(start_paused = true)]
async fn the_failures_of_a_child_that_has_proven_itself_are_forgotten() {
    let test = test(settings());
    *test.world.is_proven.lock().unwrap() = true;
    for start in 1..=20 {
        test.lease("a").await.unwrap();
        assert_eq!(test.world.count("start"), start);
        test.world.crash.notify_one();
        test.until_running(0).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_retired_child_ends_with_its_last_lease_and_is_replaced_at_once() {
    let test = test(settings());
    let (one, other) = (test.lease("a").await.unwrap(), test.lease("a").await.unwrap());
    one.retire();
    drop(one);
    test.lease("a").await.unwrap();
    test.until_running(2).await;
    assert_eq!(test.world.count("stop"), 0, "somebody uses it");
    drop(other);
    test.until_running(1).await;
    assert_eq!(test.supervisor.instances().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_child_that_is_idle_for_longest_makes_room() {
    let test = test(settings());
    *test.world.stop_time.lock().unwrap() = Duration::from_secs(2);
    drop(test.lease("a").await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    drop(test.lease("b").await.unwrap());
    tokio::time::sleep(Duration::from_secs(30)).await;
    let lease = test.lease("c").await.unwrap();
    assert_eq!(*test.world.log.lock().unwrap().last_chunk().unwrap(), [("stop", "a"), ("start", "c")]);
    assert_eq!((lease.handle, *test.world.running.borrow()), ("c", 2), "there are never more than two");
}

#[tokio::test(start_paused = true)]
async fn where_no_child_makes_room_there_is_no_slot() {
    let test = test(settings());
    let _used = test.lease("a").await.unwrap();
    drop(test.lease("b").await.unwrap());
    let refused = Some(NotReady::Unavailable("there is no slot"));
    assert_eq!(test.lease("c").await.err(), refused, "it is not idle for long enough");
    let _remote = test.lease("remote").await.unwrap();
    assert_eq!(*test.world.running.borrow(), 3, "what is no process takes no slot");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_yield_is_not_evicted() {
    let test = test(SupervisorSettings { capacity: 1, evict_after: Duration::ZERO, ..settings() });
    drop(test.lease("pinned").await.unwrap());
    assert_eq!(test.lease("a").await.err(), Some(NotReady::Unavailable("there is no slot")));
}

#[tokio::test(start_paused = true)]
async fn a_start_waits_for_the_slot_of_a_child_that_is_ending() {
    let test = test(SupervisorSettings { capacity: 1, ..settings() });
    *test.world.stop_time.lock().unwrap() = Duration::from_secs(3);
    let lease = test.lease("a").await.unwrap();
    lease.retire();
    drop(lease);
    // One start waits for the slot; there is none for the other.
    let (one, other) = tokio::join!(test.lease("b"), test.lease("c"));
    assert_eq!(one.unwrap().handle, "b");
    assert_eq!(other.err(), Some(NotReady::Unavailable("there is no slot")));
}

#[tokio::test(start_paused = true)]
async fn a_child_keeps_its_slot_while_it_is_restarted() {
    let test = test(SupervisorSettings { capacity: 1, evict_after: Duration::ZERO, ..settings() });
    let lease = test.lease("a").await.unwrap();
    test.world.crash.notify_one();
    test.until_running(0).await;
    assert_eq!(test.lease("b").await.err(), Some(NotReady::Unavailable("there is no slot")));
    test.until_running(1).await;
    drop(lease);
    test.lease("c").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_removed_child_has_ended_also_when_it_is_leased() {
    let test = test(settings());
    let _lease = test.lease("a").await.unwrap();
    test.supervisor.remove(&["a", "unknown"]).await;
    assert_eq!((*test.world.running.borrow(), test.supervisor.instances().len()), (0, 0));
    let gone = Supervisor::<FakeChild>::lease(|| None, None).await;
    assert_eq!(gone.err(), Some(NotReady::Stopped));
}

#[tokio::test(start_paused = true)]
async fn shutting_down_waits_for_every_child_and_starts_none_after() {
    let test = test(settings());
    *test.world.stop_time.lock().unwrap() = Duration::from_secs(3);
    let _lease = test.lease("a").await.unwrap();
    test.lease("b").await.unwrap();
    test.supervisor.shut_down().await;
    assert_eq!((*test.world.running.borrow(), test.world.count("stop")), (0, 2));
    assert_eq!(test.lease("a").await.err(), Some(NotReady::Stopped));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_supervisor_ends_its_children() {
    let SupervisorTest { world, supervisor } = test(settings());
    let find = || supervisor.instance(&"a", || FakeChild { name: "a", world: Arc::clone(&world) });
    Supervisor::lease(find, None).await.unwrap();
    drop(supervisor);
    world.running.subscribe().wait_for(|count| *count == 0).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn instances_that_have_ended_are_remembered_up_to_a_number() {
    let test = test(SupervisorSettings { remembered: 2, retry_after: Duration::ZERO, ..settings() });
    for name in ["a", "b", "c"] {
        test.world.starts.lock().unwrap().push_back(StartFailure::Permanent("broken"));
        assert!(test.lease(name).await.is_err());
    }
    let names: Vec<_> = test.supervisor.instances().iter().map(|instance| instance.child().name).collect();
    assert_eq!(names, ["c"]);
}

#[tokio::test(start_paused = true)]
async fn every_change_is_told() {
    let test = test(settings());
    let mut changes = test.supervisor.changes();
    drop(test.lease("a").await.unwrap());
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    test.until_running(0).await;
    tokio::time::timeout(Duration::from_secs(1), changes.changed()).await.unwrap().unwrap();
}
