//! Updates: what counts as news, how far the index is, what removal takes away, what failure keeps.

use ostler_index::{Index, IndexCounts, IndexError, ListFilter, OpenedIndex, SqliteIndex};
use ostler_types::Session;
use rusqlite::Connection;

use crate::{IndexFixture, id, numbers, session, titled, update};

#[tokio::test]
async fn a_replay_changes_nothing() {
    let fixture = IndexFixture::new();
    let position = async || fixture.index.position(id(1)).await.unwrap();
    assert_eq!(position().await, 0);
    let newest = update(titled(1, 50, "newest"), 3, 5, &[(4, "four"), (5, "five")]);
    fixture.index.update(update(titled(1, 30, "older"), 0, 3, &[(2, "two")])).await.unwrap();
    fixture.index.update(newest.clone()).await.unwrap();
    let before = fixture.list(ListFilter::default()).await;
    assert_eq!(position().await, 5);
    for replay in [
        newest,
        update(titled(1, 30, "older"), 0, 3, &[(2, "other")]),
        update(titled(1, 99, "stale"), 0, 5, &[(1, "other")]),
    ] {
        fixture.index.update(replay).await.unwrap();
        assert_eq!(fixture.list(ListFilter::default()).await, before);
    }
    assert_eq!((fixture.search("other").await, fixture.search("stale").await), (vec![], vec![]));
    // Texts that are in already are skipped, those that are new are not.
    let overlap = update(titled(1, 60, "newest"), 3, 6, &[(4, "four"), (5, "changed"), (6, "six")]);
    fixture.index.update(overlap).await.unwrap();
    assert_eq!((fixture.search("five six").await, fixture.search("changed").await), (vec![], vec![]));
    assert_eq!((fixture.search("five").await, fixture.search("six").await), (vec![1], vec![1]));
    assert_eq!(fixture.index.counts().await.unwrap(), IndexCounts { sessions: 1, texts: 4 });
}

#[tokio::test]
async fn the_position_does_not_pass_a_hole() {
    let fixture = IndexFixture::new();
    fixture.index.update(update(titled(1, 10, "first"), 0, 2, &[(2, "two")])).await.unwrap();
    // The update with the records 3 and 4 was lost.
    fixture.index.update(update(titled(1, 30, "third"), 4, 6, &[(6, "six")])).await.unwrap();
    let listing = fixture.list(ListFilter::default()).await;
    assert_eq!(
        (listing.sessions[0].session.title.as_deref(), listing.sessions[0].last_seq),
        (Some("third"), 6)
    );
    assert_eq!((fixture.search("six").await, fixture.search("third").await), (vec![1], vec![1]));
    assert_eq!(fixture.index.position(id(1)).await, Ok(2));
    // Fed again from the position, in two steps: the row stays the newest.
    fixture.index.update(update(titled(1, 20, "second"), 2, 4, &[(4, "four")])).await.unwrap();
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [1]);
    assert_eq!(fixture.index.position(id(1)).await, Ok(4));
    assert_eq!(fixture.search("second").await, [0u128; 0]);
    fixture.index.update(update(titled(1, 30, "third"), 4, 6, &[(6, "six")])).await.unwrap();
    assert_eq!(fixture.list(ListFilter::default()).await, listing);
    assert_eq!(fixture.index.position(id(1)).await, Ok(6));
    assert_eq!((fixture.search("four").await, fixture.search("six").await), (vec![1], vec![1]));
    assert_eq!(fixture.index.counts().await.unwrap().texts, 3);
}

#[tokio::test]
async fn removing_a_session_removes_what_was_said_in_it() {
    let fixture = IndexFixture::new();
    for n in 1..=3 {
        let texts = [(2, "horse"), (900_000, "horse again")];
        fixture.index.update(update(titled(n, 1, "horses"), 0, 900_000, &texts)).await.unwrap();
    }
    fixture.index.remove(id(2)).await.unwrap();
    fixture.index.remove(id(77)).await.unwrap();
    assert_eq!(fixture.search("horse").await, [3, 1]);
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [3, 1]);
    assert_eq!(fixture.index.counts().await.unwrap(), IndexCounts { sessions: 2, texts: 4 });
    assert_eq!(fixture.index.position(id(2)).await, Ok(0));
    // A session of that id may come again, and begins anew.
    fixture.index.update(update(session(2, 1), 0, 1, &[(1, "cow")])).await.unwrap();
    assert_eq!((fixture.search("horse").await, fixture.search("cow").await), (vec![3, 1], vec![2]));
}

#[tokio::test]
async fn the_first_session_under_a_key_is_found() {
    let fixture = IndexFixture::new();
    for (n, key) in [(3, "k"), (2, "k"), (4, "other")] {
        fixture.add(Session { idempotency_key: Some(key.into()), ..session(n, 1) }).await;
    }
    fixture.add(session(1, 1)).await;
    assert_eq!(fixture.index.by_idempotency_key("k").await, Ok(Some(id(2))));
    assert_eq!(fixture.index.by_idempotency_key("other").await, Ok(Some(id(4))));
    assert_eq!(fixture.index.by_idempotency_key("").await, Ok(None));
}

#[tokio::test]
async fn a_session_is_found_by_its_agents_id_as_soon_as_that_is_told() {
    let fixture = IndexFixture::new();
    fixture.index.mark_rebuilt().await.unwrap();
    for n in 1..=200 {
        let own = format!("own-{n}");
        let told = Session { agent: "fault".into(), agent_session_id: Some(own.clone()), ..session(n, 1) };
        fixture.index.update(update(told, 0, 1, &[])).await.unwrap();
        assert_eq!(fixture.index.by_agent_session("fault", &own).await, Ok(Some(id(n))));
        assert_eq!(fixture.index.by_agent_session("other", &own).await, Ok(None));
    }
}

#[tokio::test]
async fn failed_writes_are_kept_and_made_good() {
    let fixture = IndexFixture::new();
    fixture.index.mark_rebuilt().await.unwrap();
    fixture.add(session(1, 1)).await;
    fixture.index.flush().await.unwrap();
    let other = Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    fixture.index.update(update(session(1, 5), 1, 2, &[(2, "kept")])).await.unwrap();
    fixture.add(session(2, 2)).await;
    assert!(matches!(fixture.index.flush().await, Err(IndexError::Storage(_))));
    // Lists show what there is, and the position says how little that is.
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [1]);
    assert_eq!(fixture.index.position(id(1)).await, Ok(1));
    other.execute_batch("ROLLBACK").unwrap();
    fixture.index.flush().await.unwrap();
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [1, 2]);
    assert_eq!((fixture.search("kept").await, fixture.index.position(id(1)).await), (vec![1], Ok(2)));
    assert_eq!(fixture.index.lost(), 0);
    assert_eq!(fixture.reopen().1, OpenedIndex::Existing);
}

#[tokio::test]
async fn too_many_failed_writes_are_given_up_and_the_next_opening_knows() {
    let fixture = IndexFixture::new();
    fixture.index.mark_rebuilt().await.unwrap();
    let other = Connection::open(fixture.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let big = "word ".repeat(13_000);
    let texts: Vec<(u64, &str)> = (1..=100).map(|seq| (seq, big.as_str())).collect();
    for n in 1..=7 {
        fixture.index.update(update(session(n, 1), 0, 100, &texts)).await.unwrap();
        fixture.index.flush().await.unwrap_err();
    }
    let lost = fixture.index.lost();
    assert!(lost > 0 && lost < 7, "{lost}");
    other.execute_batch("ROLLBACK").unwrap();
    let kept = fixture.list(ListFilter::default()).await.sessions.len();
    assert_eq!(kept as u64, 7 - lost);
    // What comes after a lost update is news, but no reason to claim that nothing is missing.
    fixture.index.update(update(session(1, 2), 100, 101, &[(101, "later")])).await.unwrap();
    assert_eq!(fixture.search("later").await, [1]);
    assert_eq!(fixture.index.position(id(1)).await, Ok(0));
    assert_eq!(fixture.reopen().1, OpenedIndex::Empty);
}

#[tokio::test]
async fn an_update_that_cannot_be_stored_does_not_hold_up_the_others() {
    let fixture = IndexFixture::new();
    fixture.index.update(update(session(1, 1), 0, u64::MAX, &[])).await.unwrap();
    fixture.add(session(2, 1)).await;
    fixture.index.flush().await.unwrap();
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [2]);
    assert_eq!(fixture.index.lost(), 1);
}

#[tokio::test]
async fn what_is_queued_when_the_index_is_dropped_is_committed() {
    let fixture = IndexFixture::new();
    for n in 0..500 {
        fixture.add(session(n, 1)).await;
    }
    let (fixture, _) = fixture.reopen();
    assert_eq!(fixture.index.counts().await.unwrap().sessions, 500);
}

#[test]
fn the_index_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<SqliteIndex>();
}

#[tokio::test]
async fn many_updates_become_few_commits() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    fixture.index.flush().await.unwrap();
    let wal = fixture.dir.path().join("index.db-wal");
    let before = std::fs::metadata(&wal).unwrap().len();
    for seq in 2..=200u64 {
        let said = format!("word{seq}");
        let told = session(1, i64::try_from(seq).unwrap());
        fixture.index.update(update(told, seq - 1, seq, &[(seq, &said)])).await.unwrap();
    }
    fixture.index.flush().await.unwrap();
    let written = std::fs::metadata(&wal).unwrap().len() - before;
    assert!(written < 400_000, "{written} bytes, where a commit of each update takes a few thousand");
    assert_eq!(fixture.index.position(id(1)).await, Ok(200));
    assert_eq!((fixture.search("word2").await, fixture.search("word200").await), (vec![1], vec![1]));
}
