//! Full-text search: what is found, where, and that nothing typed is an error.

use ostler_index::{Index, ListFilter, MatchedMessage};
use ostler_types::{MessageId, Role, Session};
use uuid::Uuid;

use crate::{IndexFixture, session, titled, update};

async fn said(texts: &[(u128, &str)]) -> IndexFixture {
    let fixture = IndexFixture::new();
    for (n, said) in texts {
        let session = session(*n, i64::try_from(*n).unwrap());
        fixture.index.update(update(session, 0, 1, &[(1, said)])).await.unwrap();
    }
    fixture
}

const NONE: [u128; 0] = [];

#[tokio::test]
async fn words_phrases_and_an_unfinished_last_word() {
    let fixture =
        said(&[(1, "The red horse jumps"), (2, "a horse, red"), (3, "Übergröße naïve"), (4, "馬 🐎 x")])
            .await;
    for (q, wanted) in [
        ("horse", &[2, 1][..]),
        ("HORSE red", &[2, 1]),
        ("hor", &[2, 1]),
        ("hor red", &[]),
        ("red hor", &[2, 1]),
        ("\"red horse\"", &[1]),
        ("\"red hor\"", &[]),
        ("\"red hor", &[1]),
        ("jum", &[1]),
        ("ju", &[1]),
        ("j", &[]),
        ("x", &[4]),
        ("ubergr", &[3]),
        ("NAIVE", &[3]),
        ("馬", &[4]),
        ("cow", &[]),
    ] {
        assert_eq!(fixture.search(q).await, wanted, "{q}");
    }
}

#[tokio::test]
async fn nothing_that_is_typed_is_an_error() {
    let fixture = said(&[(1, "a OR b NEAR c: text rowid \"quoted\" it's 100% foo_bar c++")]).await;
    let blank = [1];
    for q in ["", "   ", "\"", "\"\"", "\0", "\u{3000}"] {
        assert_eq!(fixture.search(q).await, blank, "{q:?}");
    }
    for q in ["*", "***", "()", "-", "^", ":", "🐎", "'", "+ -", "\u{300}", "\u{fffe}"] {
        assert_eq!(fixture.search(q).await, NONE, "{q:?}");
    }
    for q in [
        "OR",
        "a OR",
        "OR b",
        "AND",
        "NOT",
        "a NOT",
        "NEAR(",
        "NEAR(a b, 5",
        "text:",
        "text : b",
        "rowid:",
        "a*",
        "*a",
        "^a",
        "\"a OR b\"",
        "\"a",
        "a\"",
        "{text} : a",
        "- {text} : a",
        "c++",
        "foo_bar",
        "foo-bar",
        "it's",
        "100%",
        "a\0b",
        "(a)",
        "\"\"\"\"",
        "a \"\" b",
        "\u{202e}a",
        "'; DROP TABLE texts; --",
    ] {
        let filter = ListFilter { q: Some(q.to_owned()), ..ListFilter::default() };
        assert!(fixture.index.list(filter).await.is_ok(), "{q:?}");
    }
    for long in [
        "a".repeat(10_240),
        "a ".repeat(5_120),
        "\"a\" ".repeat(2_560),
        "é\"*(".repeat(2_048),
        "馬".repeat(4_000),
    ] {
        let filter = ListFilter { q: Some(long), ..ListFilter::default() };
        assert!(fixture.index.list(filter).await.is_ok());
    }
    assert_eq!(fixture.search("a ".repeat(5_120).as_str()).await, [1]);
    assert_eq!(fixture.search("foo_b").await, [1]);
    assert_eq!(fixture.search("horse OR a").await, NONE, "OR is a word like any other");
}

#[tokio::test]
async fn titles_are_found_until_they_change() {
    let fixture = IndexFixture::new();
    fixture.index.update(update(titled(1, 1, "Old title"), 0, 1, &[])).await.unwrap();
    assert_eq!(fixture.search("old").await, [1]);
    fixture.index.update(update(titled(1, 2, "New title"), 1, 2, &[])).await.unwrap();
    assert_eq!((fixture.search("old").await, fixture.search("new ti").await), (vec![], vec![1]));
    fixture.index.update(update(session(1, 3), 2, 3, &[])).await.unwrap();
    assert_eq!(fixture.search("title").await, NONE);
}

#[tokio::test]
async fn the_snippet_is_of_the_newest_match_and_says_whose_it_is() {
    let fixture = IndexFixture::new();
    let long = "so\nlong ".repeat(50) + "then a\n\n horse " + &"and more ".repeat(50);
    let texts = [(2, "first horse"), (5, long.as_str()), (7, "cow")];
    fixture.index.update(update(titled(1, 1, "My horse title"), 0, 9, &texts)).await.unwrap();
    fixture.index.update(update(titled(2, 2, "A horse in the title"), 0, 9, &[(3, "cow")])).await.unwrap();
    let listing = fixture.list(ListFilter { q: Some("hors".into()), ..ListFilter::default() }).await;
    let [by_title, by_text] = &listing.sessions[..] else { panic!("{listing:?}") };
    assert_eq!((by_title.snippet.as_deref(), by_title.source), (Some("A horse in the title"), None));
    let snippet = by_text.snippet.as_deref().unwrap();
    assert!(snippet.contains("then a horse and more") && snippet.len() < 300, "{snippet}");
    let message_id = MessageId::new(Uuid::from_u128(5));
    assert_eq!(by_text.source, Some(MatchedMessage { seq: 5, message_id, role: Role::User }));
}

#[tokio::test]
async fn a_long_text_is_searched_in_its_beginning_and_a_long_word_makes_no_long_snippet() {
    let fixture = IndexFixture::new();
    let long = format!("early {} ä{} late", "x".repeat(40_000), "ä".repeat(20_000));
    fixture.index.update(update(session(1, 1), 0, 1, &[(1, &long)])).await.unwrap();
    assert_eq!((fixture.search("early").await, fixture.search("late").await), (vec![1], vec![]));
    let listing = fixture.list(ListFilter { q: Some("early".into()), ..ListFilter::default() }).await;
    let snippet = listing.sessions[0].snippet.as_deref().unwrap();
    assert!(snippet.starts_with("early xxx") && snippet.chars().count() <= 241, "{}", snippet.len());
}

#[tokio::test]
async fn many_matches_and_few_are_listed_alike() {
    let fixture = IndexFixture::new();
    for n in 0..2_100u128 {
        let rare = if n % 300 == 0 { "everywhere seldom" } else { "everywhere" };
        let session = Session { archived: n % 2 == 1, ..session(n, i64::try_from(n * 7 % 2_100).unwrap()) };
        fixture.index.update(update(session, 0, 1, &[(1, rare)])).await.unwrap();
    }
    let by_activity =
        |numbers: &mut Vec<u128>| numbers.sort_by_key(|n| std::cmp::Reverse((n * 7 % 2_100, *n)));
    let mut wanted: Vec<u128> = (0..2_100).step_by(300).collect();
    by_activity(&mut wanted);
    assert_eq!(fixture.search("seldom").await, wanted);
    let mut wanted: Vec<u128> = (0..2_100).collect();
    by_activity(&mut wanted);
    assert_eq!(fixture.search("everywhere").await, wanted[..50]);
    wanted.retain(|n| n % 2 == 1);
    let filter = ListFilter { q: Some("every".into()), archived: Some(true), ..ListFilter::default() };
    let listing = fixture.list(filter).await;
    assert_eq!(crate::numbers(&listing), wanted[..50]);
    assert!(listing.sessions.iter().all(|listed| listed.snippet.as_deref() == Some("everywhere")));
}
