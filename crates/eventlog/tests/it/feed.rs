//! The feed: every record of every session, in order, once, whatever becomes of its file.

use ostler_eventlog::{FeedPosition, Log};

use crate::fixture::{EPOCH, LogFixture, append_each, assert_feed_whole, read_feed, said, session};

#[tokio::test]
async fn the_feed_has_the_order_of_the_appends() {
    let data = LogFixture::new();
    let log = data.open();
    let mut end = log.feed_end();
    assert_eq!(*end.borrow_and_update(), FeedPosition(0));
    let mut expected = Vec::new();
    for number in 0..30 {
        let text = format!("{number}");
        append_each(&log, session(number % 3), &[&text]).await;
        expected.push(text);
    }
    assert!(end.has_changed().unwrap());
    assert_eq!(*end.borrow_and_update(), FeedPosition(30));
    let texts: Vec<String> = read_feed(&log).await.iter().map(|record| said(&record.line)).collect();
    assert_eq!(texts, expected);
    let some = log.read_feed(FeedPosition(10), 3).await.unwrap();
    assert_eq!(some.iter().map(|record| said(&record.line)).collect::<Vec<_>>(), ["10", "11", "12"]);
    assert_eq!(some.last().unwrap().next, FeedPosition(13));
    assert!(log.read_feed(FeedPosition(30), 3).await.unwrap().is_empty());
    assert!(log.read_feed(FeedPosition(u64::MAX), 3).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_feed_cut_or_spoilt_anywhere_since_the_last_settle_is_made_whole() {
    let data = LogFixture::new();
    let log = data.open();
    let (one, two) = (session(1), session(2));
    append_each(&log, one, &["a", "b"]).await;
    append_each(&log, two, &["c"]).await;
    log.release(one, EPOCH, true).await.unwrap();
    append_each(&log, two, &["d"]).await;
    append_each(&log, one, &["e"]).await;
    drop(log);
    let path = data.path().join("feed");
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole.len(), 5 * 48);
    // The first three places were synced by the settling; what came later may be lost.
    for cut in 3 * 48..=whole.len() {
        let mut bytes = whole[..cut].to_vec();
        if cut % 2 == 1 {
            bytes.resize(whole.len() + 17, 0);
        }
        std::fs::write(&path, &bytes).unwrap();
        let log = data.open();
        assert_feed_whole(&log, &[one, two]).await;
        assert_eq!(log.feed_end().borrow().0, 5, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_feed_that_is_lost_comes_back_as_far_as_sessions_are_unsettled() {
    let data = LogFixture::new();
    let log = data.open();
    append_each(&log, session(1), &["a", "b", "c"]).await;
    drop(log);
    std::fs::remove_file(data.path().join("feed")).unwrap();
    // A marker that was torn makes no difference: then the feed is checked from its start.
    std::fs::write(data.path().join("unsettled").join(session(1).to_string()), "{\"se").unwrap();
    let log = data.open();
    assert_feed_whole(&log, &[session(1)]).await;
    append_each(&log, session(1), &["d"]).await;
    drop(log);
    assert_feed_whole(&data.open(), &[session(1)]).await;
}
