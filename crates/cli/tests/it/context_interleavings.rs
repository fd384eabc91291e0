//! Things that happen to sessions in an order that nobody planned: messages of every delivery, cancels,
//! compactions, answers, and a daemon that is killed. Whatever the order, calls and results pair in every request,
//! no message is lost, every turn has one end, and the views say what the log says.
//!
//! `OSTLER_TEST_SEEDS=1000` plays more of them; a failure names its seed.

use std::collections::BTreeMap;

use ostler_api_types::{ApprovalAnswerBody, SendMessage};
use ostler_client::ClientError;
use ostler_types::{Delivery, Policy, SessionId, Verdict};
use serde_json::{Value, json};

use crate::context_checks::{
    assert_paired, assert_views, assert_whole, folder, named, rebuild, records, settle, text_of, views,
};
use crate::raw_server::RawServerReply;
use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, prompt, shell};

/// Sessions of one daemon.
const SESSIONS: usize = 4;
/// What happens to each of them.
const ACTIONS: usize = 10;

/// Numbers that look random and are the same for one seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        // The steps of xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A session, and what it was told.
struct PlayedScript {
    id: SessionId,
    dice: Dice,
    /// The messages that were sent, by their marks.
    sent: BTreeMap<String, SendOutcome>,
}

/// What the daemon said of a message.
#[derive(PartialEq, Eq)]
enum SendOutcome {
    /// It has it.
    Accepted,
    /// It does not take it.
    Refused,
    /// Nothing: it was killed.
    Unknown,
}

impl PlayedScript {
    /// Does something. What a daemon refuses, or does not answer because it was killed, is as good.
    async fn act(&mut self, stage: &ScriptedDaemon) {
        match self.dice.below(13) {
            0..=5 => self.say(stage).await,
            6 | 7 => drop(stage.client.cancel(self.id).await),
            8 => drop(stage.client.compact(self.id).await),
            9 => self.retry(stage).await,
            _ => self.answer(stage).await,
        }
    }

    async fn retry(&mut self, stage: &ScriptedDaemon) {
        let Ok(view) = stage.client.session(self.id).await else { return };
        if let Some(turn) = view.session.last_turn_id {
            _ = stage.client.retry(self.id, turn).await;
        }
    }

    async fn say(&mut self, stage: &ScriptedDaemon) {
        let mark = format!("wish-{}-end", self.sent.len());
        let quick = call("read_file", json!({"path": "a.txt"}));
        let below =
            json!({"description": "read it", "prompt": prompt(&[quick.clone(), json!("read below")])});
        let script = match self.dice.below(8) {
            0 => vec![json!(format!("{mark} is heard"))],
            1 => vec![quick.clone(), quick, json!("read twice")],
            2 => vec![json!([
                {"name": "read_file", "input": {"path": "missing.txt"}},
                {"name": "read_file", "input": {"path": "a.txt"}},
            ])],
            3 => vec![json!([
                {"name": "read_file", "input": {"path": "a.txt", "_parallel": true}},
                {"name": "repo_tree", "input": {}},
                {"name": "fly", "input": {}},
            ])],
            4 => vec![shell("sleep 0.2"), quick],
            5 => vec![json!([
                {"name": "shell", "input": {"command": "sleep 600"}},
                {"name": "read_file", "input": {"path": "a.txt"}},
            ])],
            6 => vec![call("task", below), json!("read elsewhere")],
            _ => vec![json!(format!("long {}", "words ".repeat(300)))],
        };
        let delivery = match self.dice.below(4) {
            0 => Delivery::Steer,
            1 => Delivery::Interrupt,
            _ => Delivery::Queue,
        };
        // What is shortened keeps its beginning.
        let text = format!("{mark}\n{}", prompt(&script));
        let message = SendMessage { delivery: Some(delivery), ..SendMessage::prompt(text) };
        let sent = match stage.client.send_message(self.id, &message).await {
            Ok(_) => SendOutcome::Accepted,
            Err(ClientError::Refused { .. }) => SendOutcome::Refused,
            Err(_) => SendOutcome::Unknown,
        };
        self.sent.insert(mark, sent);
    }

    async fn answer(&mut self, stage: &ScriptedDaemon) {
        let Ok(view) = stage.client.session(self.id).await else { return };
        for asked in view.pending_approvals {
            let action = if self.dice.below(2) == 0 { Verdict::Approve } else { Verdict::Deny };
            let (turn_id, tool_call_id) = (asked.turn_id, asked.tool_call_id);
            let answer = ApprovalAnswerBody {
                turn_id: Some(turn_id),
                tool_call_id,
                action,
                scope: None,
                reason: None,
                review: None,
                option: None,
            };
            _ = stage.client.approve(self.id, &answer).await;
        }
    }

    /// Fails unless the log and the last request have all that was said.
    fn check(&self, stage: &ScriptedDaemon, asked: &[Value], seed: u64) {
        let records = records(&folder(stage, self.id));
        assert_whole(&records);
        let added: Vec<String> = named(&records, "message_added")
            .into_iter()
            .filter(|record| record["data"]["message"]["role"] == "user")
            .map(|record| record["data"]["message"]["parts"][0]["text"].as_str().unwrap().to_owned())
            .collect();
        for (mark, sent) in &self.sent {
            let times = added.iter().filter(|text| text.lines().next() == Some(mark)).count();
            let is_right = match sent {
                SendOutcome::Accepted => times == 1,
                SendOutcome::Refused => times == 0,
                SendOutcome::Unknown => times <= 1,
            };
            assert!(is_right, "seed {seed}: {mark} of {} was added {times} times", self.id);
        }
        let last = asked.iter().rfind(|body| body.to_string().contains(&format!("probe {}", self.id)));
        let shown: String = last.unwrap()["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| text_of(message) + "\n")
            .collect();
        let counted = shown
            .lines()
            .filter_map(|line| line.strip_prefix("- [… and ")?.split(' ').next()?.parse::<usize>().ok());
        let missing = self
            .sent
            .iter()
            .filter(|(mark, sent)| **sent == SendOutcome::Accepted && !shown.contains(mark.as_str()));
        let (missing, counted) = (missing.count(), counted.sum::<usize>());
        assert!(missing <= counted, "seed {seed}: {missing} messages are not shown:\n{shown}");
    }
}

async fn play(seed: u64) {
    // A model without a script has nothing to do.
    let mut stage = ScriptedDaemon::directed("", &[], |asked| {
        let has_script = asked.body["messages"].as_array().unwrap().iter().any(|message| {
            message["role"] == "user" && text_of(message).lines().any(|line| line.starts_with("play "))
        });
        (!has_script && !asked.body["tools"].is_null())
            .then(|| RawServerReply::chat(&["nothing to do".to_owned()]))
    })
    .await;
    stage.write("a.txt", "one\n");
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        let policy = if number % 2 == 0 { policy_without_approvals() } else { Policy::default() };
        let (id, dice) = (stage.session(policy).await, Dice(dice.below(u64::MAX - 1) + 1));
        sessions.push(PlayedScript { id, dice, sent: BTreeMap::new() });
    }
    for _ in 0..ACTIONS {
        let (is_killed, moment, pid) = (dice.below(4) == 0, dice.below(300), stage.pid());
        let acts = futures_util::future::join_all(sessions.iter_mut().map(|session| session.act(&stage)));
        let kill = async {
            for _ in 0..moment {
                tokio::task::yield_now().await;
            }
            if is_killed {
                let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
        };
        tokio::join!(acts, kill);
        if is_killed {
            stage.crash().await;
        }
    }
    for session in &sessions {
        // What sleeps would not come to an end by itself.
        while stage.client.cancel(session.id).await.unwrap() {}
        settle(&stage, session.id).await;
        let probe = prompt(&[json!(format!("probe {}", session.id))]);
        stage.client.send_message(session.id, &SendMessage::prompt(probe)).await.unwrap();
        settle(&stage, session.id).await;
    }
    stage.stop();
    let asked = stage.asked();
    asked.iter().for_each(assert_paired);
    let mut before = Vec::new();
    for session in &sessions {
        session.check(&stage, &asked, seed);
        let folder = folder(&stage, session.id);
        assert_views(&folder);
        before.push(views(&folder));
    }
    rebuild(&stage);
    for (session, before) in sessions.iter().zip(before) {
        assert_eq!(
            views(&folder(&stage, session.id)),
            before,
            "seed {seed}: {} was made otherwise",
            session.id
        );
    }
}

/// Plays one share of the seeds.
async fn share(number: u64) {
    let seeds = std::env::var("OSTLER_TEST_SEEDS").map_or(12, |seeds| seeds.parse().unwrap());
    for seed in (number..seeds).step_by(3) {
        play(seed).await;
    }
}

#[tokio::test]
async fn whatever_happens_nothing_is_lost_one() {
    share(0).await;
}

#[tokio::test]
async fn whatever_happens_nothing_is_lost_two() {
    share(1).await;
}

#[tokio::test]
async fn whatever_happens_nothing_is_lost_three() {
    share(2).await;
}
