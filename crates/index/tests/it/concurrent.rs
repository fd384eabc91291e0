//! Many at once: updates, lists and a clearing at the same time.

use std::sync::Arc;

use ostler_index::{Index, ListFilter};

use crate::{IndexFixture, id, numbers, session, update};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn everybody_reads_what_they_wrote() {
    let fixture = Arc::new(IndexFixture::new());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8u128 {
        let fixture = fixture.clone();
        tasks.spawn(async move {
            for seq in 1..=40u64 {
                let said = format!("session{n}step{seq}");
                let session = session(n, i64::try_from(seq).unwrap());
                fixture.index.update(update(session, seq - 1, seq, &[(seq, &said)])).await.unwrap();
                if seq % 4 == 0 {
                    assert_eq!(fixture.search(&format!("\"{said}\"")).await, [n]);
                }
            }
        });
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(fixture.index.counts().await.unwrap().texts, 320);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clearing_while_others_read_and_write_leaves_a_whole_index() {
    let fixture = Arc::new(IndexFixture::new());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..4u128 {
        let fixture = fixture.clone();
        tasks.spawn(async move {
            for seq in 1..=100u64 {
                fixture.index.update(update(session(n, 1), seq - 1, seq, &[(seq, "horse")])).await.unwrap();
                fixture.search("horse").await;
            }
        });
    }
    for _ in 0..5 {
        fixture.index.clear().await.unwrap();
        tokio::task::yield_now().await;
    }
    while let Some(result) = tasks.join_next().await {
        result.unwrap();
    }
    // Whoever was cleared away in the middle is behind a hole, and says so.
    for n in 0..4u128 {
        let position = fixture.index.position(id(n)).await.unwrap();
        let texts: Vec<(u64, &str)> = (position + 1..=101).map(|seq| (seq, "horse")).collect();
        fixture.index.update(update(session(n, 2), position, 101, &texts)).await.unwrap();
    }
    fixture.index.flush().await.unwrap();
    assert_eq!(fixture.index.counts().await.unwrap().texts, 404);
}

#[tokio::test]
async fn a_dropped_question_does_no_harm() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    for _ in 0..50 {
        let mut question = Box::pin(fixture.index.list(ListFilter::default()));
        let waker = std::task::Waker::noop();
        let _ = question.as_mut().poll(&mut std::task::Context::from_waker(waker));
        drop(question);
    }
    assert_eq!(numbers(&fixture.list(ListFilter::default()).await), [1]);
    fixture.index.clear().await.unwrap();
    assert_eq!(fixture.index.position(id(1)).await, Ok(0));
}
