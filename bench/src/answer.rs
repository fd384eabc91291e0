//! The text that the mock streams, and the proof that it arrived. It is made of cells of one size, one
//! in each delta, and a cell says which one it is and when it was sent. So a client that has put the
//! deltas together knows whether any is missing, twice or out of place, and how long each took.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::clock;

/// The smallest cell: six digits, a space, sixteen digits, a space.
pub const MIN_CELL: usize = 24;

/// What the mock is to answer. Written as a prompt, `bench:100x20`: 100 deltas, 20 ms apart.
/// `bench:100x20x50` makes them 50 bytes long, `even:100x20` has the first wait its turn among the answers that began
/// at the same time, `tool:3x1` has the model call a tool first, and `fast:100` sends them all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerPlan {
    /// How many deltas.
    pub deltas: usize,
    /// The time between two of them.
    pub every: Duration,
    /// The bytes of text in each.
    pub cell: usize,
    /// Whether many answers come evenly over time, however close to each other they were asked for.
    pub even: bool,
    /// Whether the model first has the command `true` run, and answers when it has the result.
    pub tool: bool,
}

impl AnswerPlan {
    /// So many deltas, so many milliseconds apart.
    pub fn new(deltas: usize, millis: u64) -> AnswerPlan {
        AnswerPlan { deltas, every: Duration::from_millis(millis), cell: MIN_CELL, even: false, tool: false }
    }

    /// The same, with many answers spread evenly over time.
    pub fn spread_evenly(self) -> AnswerPlan {
        AnswerPlan { even: true, ..self }
    }

    /// The same after a call of the tool `shell`.
    pub fn after_tool(self) -> AnswerPlan {
        AnswerPlan { tool: true, ..self }
    }

    /// The same with so many bytes in each delta.
    pub fn with_cells_of(self, cell: usize) -> AnswerPlan {
        AnswerPlan { cell: cell.max(MIN_CELL), ..self }
    }

    /// Reads a plan out of a prompt.
    pub fn parse(prompt: &str) -> Option<AnswerPlan> {
        // What the model is told of the workspace comes after it.
        let prompt = prompt.lines().next()?;
        if let Some(deltas) = prompt.strip_prefix("fast:") {
            return Some(AnswerPlan::new(deltas.parse().ok()?, 0));
        }
        let known = |kind: &str| matches!(kind, "bench" | "even" | "tool");
        let (kind, numbers) = prompt.split_once(':').filter(|(kind, _)| known(kind))?;
        let mut numbers = numbers.split('x');
        let mut next = || numbers.next()?.parse::<u64>().ok();
        let (deltas, millis) = (usize::try_from(next()?).ok()?, next()?);
        let plan =
            AnswerPlan { even: kind == "even", tool: kind == "tool", ..AnswerPlan::new(deltas, millis) };
        Some(next().and_then(|cell| usize::try_from(cell).ok()).map_or(plan, |cell| plan.with_cells_of(cell)))
    }

    /// The prompt that asks for it.
    pub fn prompt(&self) -> String {
        let kind = match (self.tool, self.even) {
            (true, _) => "tool",
            (false, true) => "even",
            (false, false) => "bench",
        };
        format!("{kind}:{}x{}x{}", self.deltas, self.every.as_millis(), self.cell)
    }

    /// How long the answer takes at least.
    pub fn ideal(&self) -> Duration {
        self.every * u32::try_from(self.deltas.saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

/// Fills a cell in place.
pub fn write_cell(cell: &mut [u8], index: usize, sent: u64) {
    digits(&mut cell[..6], index as u64);
    cell[6] = b' ';
    digits(&mut cell[7..23], sent);
    cell[23..].fill(b'.');
    let end = cell.len() - 1;
    cell[end] = b' ';
}

fn digits(place: &mut [u8], mut number: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).expect("a digit fits in a byte");
        number /= 10;
    }
}

/// An answer as a client puts it together.
#[derive(Debug)]
pub struct AssembledAnswer {
    plan: AnswerPlan,
    text: String,
    cells: usize,
    /// When the first delta was here.
    pub first_at: Option<u64>,
    /// How long each delta took from the mock to here.
    pub latencies: Vec<Duration>,
}

/// What was measured of one answer.
#[derive(Debug)]
pub struct AnswerTimings {
    /// From the request to the first delta; to the end, when there is no delta.
    pub first: Duration,
    /// From the mock to here, each delta.
    pub latencies: Vec<Duration>,
}

impl AssembledAnswer {
    /// An answer of which nothing is here yet.
    pub fn new(plan: AnswerPlan) -> AssembledAnswer {
        AssembledAnswer { plan, text: String::new(), cells: 0, first_at: None, latencies: Vec::new() }
    }

    /// Splices in the text of a delta that came at `now`.
    pub fn take(&mut self, offset: usize, text: &str, now: u64) -> Result<()> {
        ensure!(offset <= self.text.len(), "a delta is missing before byte {offset}");
        self.first_at.get_or_insert(now);
        ostler_types::splice(&mut self.text, offset as u64, text);
        while self.text.len() >= (self.cells + 1) * self.plan.cell {
            let cell = &self.text[self.cells * self.plan.cell..][..self.plan.cell];
            let (index, sent) = read_cell(cell).with_context(|| format!("{cell:?} is not a cell"))?;
            ensure!(index == self.cells, "delta {index} came in the place of {}", self.cells);
            self.latencies.push(Duration::from_nanos(now.saturating_sub(sent)));
            self.cells += 1;
        }
        Ok(())
    }

    /// Adds text at the end.
    pub fn append(&mut self, text: &str, now: u64) -> Result<()> {
        self.take(self.text.len(), text, now)
    }

    /// What is here so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Fails unless all of the answer is here.
    pub fn check(&self) -> Result<()> {
        let expected = self.plan.deltas * self.plan.cell;
        if self.cells != self.plan.deltas || self.text.len() != expected {
            bail!(
                "{} of {} deltas came, {} of {expected} bytes",
                self.cells,
                self.plan.deltas,
                self.text.len()
            );
        }
        Ok(())
    }

    /// What was measured of it, when all of it is here; it was asked for at `asked`.
    pub fn into_timings(self, asked: u64) -> Result<AnswerTimings> {
        self.check()?;
        let first = self.first_at.unwrap_or_else(clock::now);
        Ok(AnswerTimings {
            first: Duration::from_nanos(first.saturating_sub(asked)),
            latencies: self.latencies,
        })
    }
}

fn read_cell(cell: &str) -> Option<(usize, u64)> {
    let (index, rest) = cell.split_once(' ')?;
    Some((index.parse().ok()?, rest.get(..16)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{AnswerPlan, AssembledAnswer, write_cell};

    fn cell(plan: AnswerPlan, index: usize) -> String {
        let mut cell = vec![0; plan.cell];
        write_cell(&mut cell, index, 1_000 * index as u64);
        String::from_utf8(cell).unwrap()
    }

    #[test]
    fn plans_are_written_as_prompts() {
        for (prompt, plan) in [
            ("bench:100x20", AnswerPlan::new(100, 20)),
            ("bench:2000x5x100", AnswerPlan::new(2000, 5).with_cells_of(100)),
            ("even:10x20x24", AnswerPlan::new(10, 20).spread_evenly()),
            ("tool:3x1", AnswerPlan::new(3, 1).after_tool()),
            ("fast:7", AnswerPlan::new(7, 0)),
        ] {
            assert_eq!(AnswerPlan::parse(prompt), Some(plan), "{prompt}");
            assert_eq!(AnswerPlan::parse(&format!("{prompt}\nmore")), Some(plan), "{prompt}");
            assert_eq!(AnswerPlan::parse(&plan.prompt()), Some(plan), "{prompt}");
        }
        for prompt in ["", "hello", "bench:", "bench:1", "bench:ax1", "fast:"] {
            assert_eq!(AnswerPlan::parse(prompt), None, "{prompt}");
        }
    }

    #[test]
    fn deltas_are_spliced_and_timed_however_they_are_cut() {
        let plan = AnswerPlan::new(3, 1).with_cells_of(30);
        let text: String = (0..3).map(|index| cell(plan, index)).collect();
        let mut answer = AssembledAnswer::new(plan);
        answer.append(&text[..40], 5_000).unwrap();
        assert!(answer.check().is_err());
        // A client that comes late gets the text from its start again.
        answer.take(0, &text[..70], 6_000).unwrap();
        answer.append(&text[70..], 7_000).unwrap();
        answer.check().unwrap();
        let micros: Vec<u128> = answer.latencies.iter().map(std::time::Duration::as_micros).collect();
        assert_eq!(micros, [5, 5, 5]);
        assert_eq!(answer.first_at, Some(5_000));
    }

    #[test]
    fn what_is_missing_or_out_of_place_is_an_error() {
        let plan = AnswerPlan::new(2, 1);
        assert!(AssembledAnswer::new(plan).take(24, &cell(plan, 1), 0).is_err(), "a hole");
        assert!(AssembledAnswer::new(plan).append(&cell(plan, 1), 0).is_err(), "the second one first");
        assert!(AssembledAnswer::new(plan).append("nothing like a cell at all", 0).is_err());
    }
}
