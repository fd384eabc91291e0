//! scratch
#![allow(clippy::unwrap_used)]
use ostler_index::*;
use ostler_types::*;
use std::time::Instant;
use uuid::Uuid;
fn word(r: u64) -> String {
    let mut h = r.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1234_5678_9abc;
    let mut w = String::new();
    for _ in 0..3 + r % 7 {
        h = h.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        w.push((b'a' + ((h >> 40) % 26) as u8) as char);
    }
    w
}
#[tokio::main]
async fn main() {
    let n: u128 = std::env::args().nth(1).unwrap().parse().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.db");
    let (index, _) = Index::open(&path).unwrap();
    let mut seed = 12345u64;
    let mut rnd = move |k: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % k
    };
    let t = Instant::now();
    for i in 0..n {
        let at = jiff::Timestamp::from_second((rnd(1_000_000)) as i64).unwrap();
        let Event::SessionCreated { mut session } = create(NewSession {
            id: SessionId::new(Uuid::from_u128(i)),
            at,
            workspace_path: format!("/home/me/work/project{}", rnd(50)),
            system_prompt: None,
            agent: "native".into(),
            model: "a:b".into(),
            title: Some(format!("title {}", word(rnd(20000)))),
            parent_session_id: None,
            mode: "repl".into(),
            auto_run: true,
            policy: Policy::default(),
            idempotency_key: Some(format!("k{i}")),
        })
        .unwrap() else {
            panic!()
        };
        session.archived = rnd(3) == 0;
        session.status =
            [SessionStatus::Active, SessionStatus::Completed, SessionStatus::Failed][rnd(3) as usize];
        let texts = (1..=4u64)
            .map(|seq| {
                let mut text = String::from("the common ");
                for _ in 0..60 {
                    let r = rnd(1 << 30) as f64 / (1u64 << 30) as f64;
                    text += &word((20000.0 * r * r * r) as u64);
                    text.push(' ');
                }
                Text {
                    seq,
                    message_id: MessageId::new(Uuid::from_u128(i * 10 + u128::from(seq))),
                    role: Role::User,
                    text,
                }
            })
            .collect();
        index.update(Update { session, after_seq: 0, last_seq: 4, texts }).await.unwrap();
    }
    index.flushed().await.unwrap();
    index.rebuilt().await.unwrap();
    println!("fed {n} in {:?}", t.elapsed());
    let t = Instant::now();
    drop(index);
    println!("drop {:?}", t.elapsed());
    println!("size {} MB", std::fs::metadata(&path).unwrap().len() >> 20);
    let t = Instant::now();
    let (index, opened) = Index::open(&path).unwrap();
    println!("open {opened:?} {:?}", t.elapsed());
    let d = Filter::default;
    let q = |q: &str| Filter { q: Some(q.into()), ..d() };
    let first = index.list(Filter { limit: 50, ..d() }).await.unwrap();
    for (name, f) in [
        ("plain", d()),
        ("archived", Filter { archived: Some(false), ..d() }),
        ("status", Filter { status: Some(SessionStatus::Failed), ..d() }),
        ("status none", Filter { status: Some(SessionStatus::WaitingApproval), ..d() }),
        ("workspace", Filter { workspace: Some("/home/me/work/project7".into()), ..d() }),
        (
            "ws+arch+status",
            Filter {
                workspace: Some("/home/me/work/project7".into()),
                archived: Some(true),
                status: Some(SessionStatus::Failed),
                ..d()
            },
        ),
        ("page2", Filter { cursor: first.next_cursor, ..d() }),
        ("rare", q(&format!("\"{}\"", word(19999)))),
        ("mid", q(&format!("\"{}\"", word(777)))),
        ("frequent", q(&format!("\"{}\"", word(1)))),
        ("all", q("\"common\"")),
        ("all, two words", q("common the")),
        ("two", q(&format!("{} {}", word(3), word(77)))),
        ("prefix1", q("w")),
        ("prefix2", q("wo")),
        ("prefix3", q(&word(3)[..3])),
        ("prefix4", q(&word(4)[..4])),
        ("prefix5", q(&word(5)[..5])),
        ("phrase", q("\"the common\"")),
        ("none", q("zzzzzzz")),
        (
            "all+ws",
            Filter { q: Some("common".into()), workspace: Some("/home/me/work/project7".into()), ..d() },
        ),
    ] {
        let mut best = u128::MAX;
        let mut c = 0;
        for _ in 0..5 {
            let t = Instant::now();
            c = index.list(f.clone()).await.unwrap().sessions.len();
            best = best.min(t.elapsed().as_micros());
        }
        println!("{name}: {:.2} ms, {c}", best as f64 / 1000.0);
    }
    let t = Instant::now();
    println!("{:?} {:?}", index.counts().await, t.elapsed());
    let t = Instant::now();
    println!("{:?} {:?}", index.by_idempotency_key("k77").await, t.elapsed());
    let s = first.sessions[0].session.clone();
    let t = Instant::now();
    for i in 0..1000u64 {
        index
            .update(Update {
                session: s.clone(),
                after_seq: 4 + i,
                last_seq: 5 + i,
                texts: vec![Text {
                    seq: 5 + i,
                    message_id: MessageId::new(Uuid::from_u128(1)),
                    role: Role::User,
                    text: "a small word7 text that is new".into(),
                }],
            })
            .await
            .unwrap();
        index.flushed().await.unwrap();
    }
    println!("update+flushed {:?} each", t.elapsed() / 1000);
}
