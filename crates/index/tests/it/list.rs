//! Order, filters and pages.

use ostler_index::{Index, IndexError, ListFilter};
use ostler_types::{Session, SessionStatus};

use crate::{IndexFixture, id, numbers, session, update};

#[tokio::test]
async fn the_newest_activity_comes_first_and_ids_decide_between_equals() {
    let fixture = IndexFixture::new();
    for (n, at) in [(3, 100), (1, 300), (2, 200), (5, 200), (4, 200)] {
        fixture.add(session(n, at)).await;
    }
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [1, 5, 4, 2, 3]);
    fixture.index.update(update(session(3, 400), 1, 2, &[])).await.unwrap();
    let listing = fixture.list(ListFilter::default()).await;
    assert_eq!(numbers(&listing), [3, 1, 5, 4, 2]);
    assert_eq!(listing.sessions[0].session, session(3, 400));
    assert_eq!((listing.sessions[0].last_seq, listing.sessions[1].last_seq), (2, 1));
    assert_eq!((listing.next_cursor, listing.sessions[0].snippet.clone()), (None, None));
}

#[tokio::test]
async fn each_filter_holds_alone_and_with_the_others() {
    let fixture = IndexFixture::new();
    let mut all = Vec::new();
    for n in 0..128u128 {
        let session = Session {
            status: if n & 1 == 0 { SessionStatus::Active } else { SessionStatus::WaitingApproval },
            workspace_path: if n & 2 == 0 { "/a".into() } else { "/b".into() },
            archived: n & 4 != 0,
            parent_session_id: (n & 8 != 0).then(|| id(1000)),
            title: (n & 16 != 0).then(|| format!("zebra {n}")),
            pinned: n & 64 != 0,
            ..session(n, 1000 - i64::try_from(n).unwrap())
        };
        fixture.add(session.clone()).await;
        all.push(session);
    }
    for bits in 0..256u32 {
        let has = |bit: u32| bits & (1 << bit) != 0;
        if has(3) && has(5) {
            continue;
        }
        let filter = ListFilter {
            status: has(0).then_some(SessionStatus::WaitingApproval),
            workspace: has(1).then(|| "/b".to_owned()),
            archived: has(2).then_some(true),
            pinned: has(6).then_some(has(7)),
            parent: has(3).then(|| id(1000)),
            top_level_only: has(5),
            q: has(4).then(|| "zeb".to_owned()),
            limit: 200,
            cursor: None,
        };
        let passes = |session: &&Session| {
            filter.status.is_none_or(|status| session.status == status)
                && filter.workspace.as_ref().is_none_or(|workspace| session.workspace_path == *workspace)
                && filter.archived.is_none_or(|archived| session.archived == archived)
                && filter.pinned.is_none_or(|pinned| session.pinned == pinned)
                && filter.parent.is_none_or(|parent| session.parent_session_id == Some(parent))
                && (!filter.top_level_only || session.parent_session_id.is_none())
                && (filter.q.is_none() || session.title.is_some())
        };
        let wanted: Vec<u128> =
            all.iter().filter(passes).map(|session| session.id.uuid().as_u128()).collect();
        assert_eq!(numbers(&fixture.list(filter.clone()).await), wanted, "{filter:?}");
        assert!(!wanted.is_empty());
    }
    let none = ListFilter { workspace: Some("/".into()), ..ListFilter::default() };
    assert_eq!(numbers(&fixture.list(none).await), [0u128; 0]);
}

#[tokio::test]
async fn a_name_leads_to_the_open_session_that_has_it() {
    let fixture = IndexFixture::new();
    let named = |n, name: &str| Session { name: Some(name.to_owned()), ..session(n, 1) };
    for (n, name) in [(1, "beta"), (2, "alpha"), (3, "gamma")] {
        fixture.add(named(n, name)).await;
    }
    fixture.add(session(4, 1)).await;
    fixture.index.flush().await.unwrap();
    assert_eq!(fixture.index.by_name("alpha").await, Ok(Some(id(2))));
    assert_eq!(fixture.index.by_name("delta").await, Ok(None));
    let names = |sessions: Vec<Session>| sessions.into_iter().filter_map(|it| it.name).collect::<Vec<_>>();
    assert_eq!(names(fixture.index.named_sessions("", 2).await.unwrap()), ["alpha", "beta"]);
    assert_eq!(names(fixture.index.named_sessions("beta", 2).await.unwrap()), ["gamma"]);
    let closed = Session { status: SessionStatus::Completed, ..named(2, "alpha") };
    fixture.index.update(update(closed, 1, 2, &[])).await.unwrap();
    fixture.index.flush().await.unwrap();
    assert_eq!(fixture.index.by_name("alpha").await, Ok(None));
    assert_eq!(names(fixture.index.named_sessions("", 9).await.unwrap()), ["beta", "gamma"]);
}

#[tokio::test]
async fn a_changed_session_leaves_the_filter_it_passed() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    let archived = |archived| ListFilter { archived: Some(archived), ..ListFilter::default() };
    assert_eq!(numbers(&fixture.list(archived(false)).await), [1]);
    fixture.index.update(update(Session { archived: true, ..session(1, 2) }, 1, 2, &[])).await.unwrap();
    assert_eq!(numbers(&fixture.list(archived(false)).await), [0u128; 0]);
    assert_eq!(numbers(&fixture.list(archived(true)).await), [1]);
}

#[tokio::test]
async fn pages_have_neither_gap_nor_double_while_sessions_become_active() {
    for q in [None, Some("common".to_owned())] {
        let fixture = IndexFixture::new();
        for n in 0..25u128 {
            // Many share their second, so that pages break between equals.
            let session = session(n, i64::try_from(n / 4).unwrap());
            fixture.index.update(update(session, 0, 1, &[(1, "common word")])).await.unwrap();
        }
        let mut seen = Vec::new();
        let mut cursor = None;
        let mut now = 1000;
        loop {
            let listing =
                fixture.list(ListFilter { q: q.clone(), limit: 4, cursor, ..ListFilter::default() }).await;
            assert!(listing.sessions.len() <= 4);
            seen.extend(numbers(&listing));
            // One that was seen becomes active, and a new one appears: both belong before the first page.
            now += 1;
            fixture
                .index
                .update(update(session(seen[0], now), 1, 1 + u64::try_from(now).unwrap(), &[]))
                .await
                .unwrap();
            fixture.add(session(u128::try_from(now).unwrap(), now)).await;
            match listing.next_cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, (0..25).rev().collect::<Vec<u128>>());
    }
}

#[tokio::test]
async fn the_last_page_says_so_even_when_it_is_full() {
    let fixture = IndexFixture::new();
    for n in 0..4 {
        fixture.add(session(n, 1)).await;
    }
    let page = |limit, cursor| ListFilter { limit, cursor, ..ListFilter::default() };
    let first = fixture.list(page(2, None)).await;
    let second = fixture.list(page(2, first.next_cursor.clone())).await;
    assert_eq!((numbers(&first), numbers(&second)), (vec![3, 2], vec![1, 0]));
    assert_eq!((first.next_cursor.is_some(), second.next_cursor), (true, None));
}

#[tokio::test]
async fn limits_are_bounded_and_cursors_checked() {
    let fixture = IndexFixture::new();
    for n in 0..205 {
        fixture.add(session(n, 1)).await;
    }
    for (limit, wanted) in [(0, 1), (1, 1), (200, 200), (201, 200), (usize::MAX, 200)] {
        assert_eq!(fixture.list(ListFilter { limit, ..ListFilter::default() }).await.sessions.len(), wanted);
    }
    for bad in ["", "nonsense", "sess_00000000000000000000000000000001", "'; DROP TABLE sessions"] {
        let filter = ListFilter { cursor: Some(bad.into()), ..ListFilter::default() };
        assert_eq!(fixture.index.list(filter).await, Err(IndexError::BadCursor));
    }
}
