//! Data directories as a daemon would have left them, with more sessions and records than anybody
//! would make by hand. They are written through the crates that the daemon writes with, so that the
//! format has one home; only the syncs are left out.

mod disk;
mod history;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};
use ostler_eventlog::{Disk, FileLog, Log, RealDisk};
use ostler_index::{Index, IndexUpdate, IndexedText, ModelUse, SqliteIndex};
use ostler_types::{Event, MessageEvent, Record, SessionId, State, StepEvent};

use disk::UnsyncedDisk;
use history::SyntheticHistory;

/// Sessions that are written at the same time.
const MAX_CONCURRENT_SESSIONS: usize = 128;
/// Turns of the long session that are appended together.
const TURNS_PER_APPEND: usize = 400;

/// A data directory.
#[derive(Debug, Clone)]
pub struct DataFixture {
    /// Where it lies.
    pub data: PathBuf,
    /// How many ordinary sessions it has.
    pub sessions: usize,
    /// The least number of records of its long session; it has none when this is zero.
    pub long: u64,
}

impl DataFixture {
    /// Makes a data directory below `root`, unless it is there from before.
    pub async fn make(root: &Path, sessions: usize, long: u64) -> Result<DataFixture> {
        let home = root.join(format!("{sessions}-{long}"));
        let (data, done) = (home.join("data"), home.join("complete"));
        let fixture = DataFixture { data, sessions, long };
        if done.exists() {
            return Ok(fixture);
        }
        let start = Instant::now();
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&home)?;
        fixture.write().await.context("cannot write the fixture")?;
        RealDisk.sync_all(&home)?;
        std::fs::write(&done, [])?;
        eprintln!("wrote {sessions} sessions and {long} records in {:.1} s", start.elapsed().as_secs_f64());
        Ok(fixture)
    }

    /// The id of an ordinary session.
    pub fn id(index: usize) -> SessionId {
        history::id(index)
    }

    /// The id of the long session.
    pub fn long_id(&self) -> SessionId {
        history::id(self.sessions)
    }

    async fn write(&self) -> Result<()> {
        let log = FileLog::open(&self.data, Arc::new(UnsyncedDisk))?;
        let (index, _) = SqliteIndex::open(&self.data.join("index.db"))?;
        let writer = FixtureWriter { log, index, data: self.data.clone() };
        let all = stream::iter(0..self.sessions)
            .map(|index| writer.ordinary(index))
            .buffer_unordered(MAX_CONCURRENT_SESSIONS);
        all.try_collect::<Vec<()>>().await?;
        if self.long > 0 {
            writer.long(self.sessions, self.long).await?;
        }
        writer.index.flush().await?;
        Ok(writer.index.mark_rebuilt().await?)
    }
}

struct FixtureWriter {
    log: FileLog,
    index: SqliteIndex,
    data: PathBuf,
}

impl FixtureWriter {
    /// A session with one short turn.
    async fn ordinary(&self, index: usize) -> Result<()> {
        let mut history = SyntheticHistory::begin(index)?;
        history.turn()?;
        self.append(&mut history).await?;
        self.leave_asleep(history.state()).await
    }

    async fn long(&self, index: usize, records: u64) -> Result<()> {
        let mut history = SyntheticHistory::begin(index)?;
        while history.state().last_seq < records {
            for _ in 0..TURNS_PER_APPEND {
                history.turn_with_tool()?;
            }
            self.append(&mut history).await?;
        }
        self.leave_asleep(history.state()).await
    }

    /// Appends what the history holds, and tells the index.
    async fn append(&self, history: &mut SyntheticHistory) -> Result<()> {
        let (first, new, records) = history.take();
        let session = history.state().session.clone();
        let epoch = self.log.claim(session.id).await?.epoch;
        self.log.append(session.id, epoch, first, new).await?;
        let texts = records.iter().filter_map(searchable_text).collect();
        let uses = records.iter().filter_map(recorded_usage).collect();
        let last_seq = history.state().last_seq;
        Ok(self
            .index
            .update(IndexUpdate {
                session,
                after_seq: first - 1,
                last_seq,
                running_turn_id: None,
                texts,
                uses,
            })
            .await?)
    }

    /// Leaves a session as one that has gone to sleep.
    async fn leave_asleep(&self, state: &State) -> Result<()> {
        let dir = self.data.join("sessions").join(state.session.id.to_string());
        ostler_recorder::write_session(&dir, &state.view())?;
        let epoch = self.log.claim(state.session.id).await?.epoch;
        let snapshot = ostler_recorder::encode_snapshot(state, None)?;
        self.log.save_snapshot(state.session.id, epoch, snapshot.into()).await?;
        Ok(self.log.release(state.session.id, epoch, true).await?)
    }
}

/// What a record says that a model took.
fn recorded_usage(record: &Record) -> Option<ModelUse> {
    let Event::Step(StepEvent::UsageRecorded { model, usage, .. }) = &record.event else { return None };
    Some(ModelUse { seq: record.seq, at: record.ts, model: model.clone(), usage: *usage })
}

/// What can be searched for in a record.
fn searchable_text(record: &Record) -> Option<IndexedText> {
    let (Event::Message(MessageEvent::Added { message, .. })
    | Event::Message(MessageEvent::ModelOutputCompleted { message, .. })) = &record.event
    else {
        return None;
    };
    Some(IndexedText { seq: record.seq, message_id: message.id, role: message.role, text: message.text() })
}
