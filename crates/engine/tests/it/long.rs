//! Sessions of thousands of turns: what is read to go on does not grow with them.

use ostler_agent::{CompletedTurn, FailedTurn, TurnContext};
use ostler_testing::agent::{ScriptedAgent, done, say};
use ostler_types::{CompactionTrigger, Message, MessageId, NewCompaction, Part, Role, TurnReport};

use crate::fixture::EngineFixture;

const TURNS: usize = 2_000;
/// Turns between two compactions.
const EVERY: usize = 50;

/// Makes the conversation shorter when it has become long, then answers.
async fn turn(turn: TurnContext) -> Result<CompletedTurn, FailedTurn> {
    assert!(turn.history.len() <= 2 * EVERY + 3, "{} messages are shown", turn.history.len());
    if turn.history.len() >= 2 * EVERY {
        let (first, last) = (turn.history[0].id, turn.history[turn.history.len() - 2].id);
        let summary = Message {
            id: MessageId::new(turn.clock.uuid()),
            role: Role::System,
            parts: vec![Part::text("what was said before")],
            created_at: turn.clock.now(),
        };
        let compaction = NewCompaction {
            from_message_id: first,
            to_message_id: last,
            tokens_before: 100,
            tokens_after: 10,
            trigger: CompactionTrigger::Threshold,
            summary: Some(summary),
            pruned: Vec::new(),
        };
        turn.report(TurnReport::Compacted(Box::new(compaction))).await?;
    }
    say(&turn, "an answer of some length, so that a log of many of them is not small").await?;
    done()
}

#[test]
fn waking_reads_no_more_after_thousands_of_turns() {
    let place = EngineFixture::new();
    let agent = ScriptedAgent::new();
    for _ in 0..TURNS {
        agent.push(turn);
    }
    let id = place.until_stop(&agent, async |daemon| {
        let id = daemon.create().await;
        for number in 1..=TURNS {
            daemon.say(id, &format!("question {number}")).await;
            agent.ended(number).await;
        }
        id
    });
    let log = std::fs::metadata(place.data().join(format!("sessions/{id}/events.ndjson"))).unwrap().len();
    let agent = ScriptedAgent::new();
    agent.push(turn);
    let read = place.until_crash(&agent, async |daemon| {
        daemon.say(id, "one more").await;
        agent.ended(1).await;
        daemon.log.bytes_read()
    });
    assert!(log > 1 << 20, "the log has {log} bytes");
    assert!(read < log / 4, "{read} of {log} bytes were read to go on");
}
