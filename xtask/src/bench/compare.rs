//! Compares the numbers of old and new runs, and prints the result as a table. Pure: reads no file, runs nothing.

use std::collections::BTreeSet;

use super::numbers::{RunNumber, RunNumbers};

/// The share by which a number may get worse.
const TOLERANCE: f64 = 0.05;

/// Every number of either side, in the order of their names.
#[derive(Debug)]
pub(super) struct BenchComparison(Vec<ComparedNumber>);

#[derive(Debug)]
struct ComparedNumber {
    name: String,
    unit: String,
    old: Option<MeasuredSide>,
    new: Option<MeasuredSide>,
    verdict: NumberVerdict,
}

/// A number over the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MeasuredSide {
    median: f64,
    least: f64,
    most: f64,
    runs: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NumberVerdict {
    Same,
    Better,
    Worse,
    /// Worse by the medians, but the runs of both sides overlap.
    Unclear,
    /// Only the new side has it.
    Added,
    /// Only the old side has it.
    Gone,
}

/// Compares two sides. It is an error if a number has different units or directions.
pub(super) fn compare(old: &[RunNumbers], new: &[RunNumbers]) -> Result<BenchComparison, String> {
    let names: BTreeSet<&String> =
        old.iter().chain(new).flat_map(|RunNumbers(numbers)| numbers.keys()).collect();
    let line = |name: &String| {
        let of = |runs: &[RunNumbers]| -> Vec<RunNumber> {
            runs.iter().filter_map(|RunNumbers(numbers)| numbers.get(name).cloned()).collect()
        };
        let (old, new) = (of(old), of(new));
        let first = old.first().or(new.first()).ok_or_else(|| format!("`{name}` has no value"))?.clone();
        let is_alike =
            |number: &RunNumber| number.unit == first.unit && number.is_lower_better == first.is_lower_better;
        if !old.iter().chain(&new).all(is_alike) {
            return Err(format!("`{name}` does not mean the same in all files"));
        }
        let (old, new) = (MeasuredSide::from_numbers(&old), MeasuredSide::from_numbers(&new));
        let verdict = verdict(old, new, first.is_lower_better);
        Ok(ComparedNumber { name: name.clone(), unit: first.unit, old, new, verdict })
    };
    names.into_iter().map(line).collect::<Result<Vec<ComparedNumber>, String>>().map(BenchComparison)
}

impl MeasuredSide {
    fn from_numbers(numbers: &[RunNumber]) -> Option<MeasuredSide> {
        let mut values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
        values.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(MeasuredSide { median, least, most, runs: values.len() })
    }
}

fn verdict(old: Option<MeasuredSide>, new: Option<MeasuredSide>, is_lower_better: bool) -> NumberVerdict {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (None, _) => return NumberVerdict::Added,
        (Some(_), None) => return NumberVerdict::Gone,
    };
    let (before, after) = if is_lower_better { (old, new) } else { (new, old) };
    // Of zero any growth is more than the tolerance.
    if after.median > before.median * (1.0 + TOLERANCE) {
        if after.least > before.most { NumberVerdict::Worse } else { NumberVerdict::Unclear }
    } else if before.median > after.median * (1.0 + TOLERANCE) && before.least > after.most {
        NumberVerdict::Better
    } else {
        NumberVerdict::Same
    }
}

impl BenchComparison {
    /// The names of the numbers that fail the comparison. A missing number fails too: its figure may have failed to run.
    pub(super) fn worse(&self) -> Vec<&str> {
        let fails = |line: &&ComparedNumber| match line.verdict {
            NumberVerdict::Worse | NumberVerdict::Gone => true,
            NumberVerdict::Same | NumberVerdict::Better | NumberVerdict::Unclear | NumberVerdict::Added => {
                false
            }
        };
        self.0.iter().filter(fails).map(|line| line.name.as_str()).collect()
    }

    /// All numbers in columns, sorted so that regressions come last, where a terminal shows them.
    pub(super) fn table(&self) -> String {
        let mut lines: Vec<&ComparedNumber> = self.0.iter().collect();
        lines.sort_by_key(|line| line.verdict.weight());
        let rows: Vec<[String; 5]> = lines.into_iter().map(ComparedNumber::cells).collect();
        let heads = ["number", "old", "new", "change", ""].map(str::to_owned);
        let all: Vec<&[String; 5]> = std::iter::once(&heads).chain(&rows).collect();
        let width =
            |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut table = String::new();
        for row in all {
            let [name, old, new, change, verdict] = row;
            let [a, b, c, d, _] = widths;
            table += format!("{name:a$}  {old:>b$}  {new:>c$}  {change:>d$}  {verdict}").trim_end();
            table.push('\n');
        }
        table
    }
}

impl NumberVerdict {
    fn weight(self) -> u8 {
        match self {
            NumberVerdict::Same => 0,
            NumberVerdict::Added => 1,
            NumberVerdict::Better => 2,
            NumberVerdict::Unclear => 3,
            NumberVerdict::Gone => 4,
            NumberVerdict::Worse => 5,
        }
    }

    fn text(self) -> &'static str {
        match self {
            NumberVerdict::Same => "",
            NumberVerdict::Added => "new",
            NumberVerdict::Better => "better",
            NumberVerdict::Unclear => "unclear: the runs overlap",
            NumberVerdict::Gone => "GONE",
            NumberVerdict::Worse => "WORSE",
        }
    }
}

impl ComparedNumber {
    fn cells(&self) -> [String; 5] {
        let side = |side: Option<MeasuredSide>| match side {
            None => "–".to_owned(),
            Some(MeasuredSide { median, runs: 1, .. }) => {
                format!("{} {}", digits(median), self.unit).trim_end().to_owned()
            }
            Some(MeasuredSide { median, least, most, .. }) => {
                format!("{} ({}…{}) {}", digits(median), digits(least), digits(most), self.unit)
                    .trim_end()
                    .to_owned()
            }
        };
        let change = match (self.old, self.new) {
            (Some(old), Some(new)) if old.median > 0.0 => {
                format!("{:+.1} %", (new.median / old.median - 1.0) * 100.0)
            }
            (None | Some(_), None | Some(_)) => String::new(),
        };
        [self.name.clone(), side(self.old), side(self.new), change, self.verdict.text().to_owned()]
    }
}

/// A number with as many digits as mean something.
fn digits(value: f64) -> String {
    match value {
        value if value < 10.0 => format!("{value:.2}"),
        value if value < 100.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BenchComparison, compare};
    use crate::bench::numbers::{RunNumber, RunNumbers};

    fn run(values: &[(&str, f64)], is_lower_better: bool) -> RunNumbers {
        let number = |value| RunNumber { value, unit: "ms".to_owned(), is_lower_better };
        RunNumbers(
            values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), number(*value)))
                .collect::<BTreeMap<_, _>>(),
        )
    }

    fn of(old: &[f64], new: &[f64], is_lower_better: bool) -> BenchComparison {
        let runs = |values: &[f64]| -> Vec<RunNumbers> {
            values.iter().map(|value| run(&[("a", *value)], is_lower_better)).collect()
        };
        compare(&runs(old), &runs(new)).unwrap()
    }

    #[test]
    fn more_than_a_twentieth_worse_fails_and_less_does_not() {
        assert!(of(&[100.0], &[104.9], true).worse().is_empty());
        assert_eq!(of(&[100.0], &[105.1], true).worse(), ["a"]);
        assert!(of(&[100.0], &[10.0], true).worse().is_empty());
        assert_eq!(of(&[100.0], &[94.0], false).worse(), ["a"]);
        assert!(of(&[100.0], &[200.0], false).worse().is_empty());
        assert!(of(&[0.0], &[0.0], true).worse().is_empty());
        assert_eq!(of(&[0.0], &[0.1], true).worse(), ["a"], "any loss where there was none");
    }

    #[test]
    fn runs_that_overlap_are_no_proof() {
        let overlapping = of(&[100.0, 101.0, 130.0], &[110.0, 112.0, 129.0], true);
        assert!(overlapping.worse().is_empty());
        assert!(overlapping.table().contains("unclear"), "{}", overlapping.table());
        assert_eq!(of(&[100.0, 101.0, 109.0], &[110.0, 112.0, 129.0], true).worse(), ["a"]);
        assert!(of(&[100.0, 101.0, 109.0], &[80.0, 90.0, 99.0], true).table().contains("better"));
        assert!(!of(&[100.0, 101.0, 109.0], &[80.0, 90.0, 100.0], true).table().contains("better"));
    }

    #[test]
    fn a_number_that_is_gone_fails_and_a_new_one_does_not() {
        let (one, both) = (run(&[("a", 1.0)], true), run(&[("a", 1.0), ("b", 2.0)], true));
        assert_eq!(compare(&[both], &[one]).unwrap().worse(), ["b"]);
        let (one, both) = (run(&[("a", 1.0)], true), run(&[("a", 1.0), ("b", 2.0)], true));
        assert!(compare(&[one], &[both]).unwrap().worse().is_empty());
        compare(&[run(&[("a", 1.0)], true)], &[run(&[("a", 1.0)], false)]).unwrap_err();
    }

    #[test]
    fn the_table_ends_with_what_got_worse() {
        let old = run(&[("first.turn", 2.0), ("idle.heap", 10.0), ("start.empty", 20.0)], true);
        let new = run(&[("first.turn", 3.0), ("idle.heap", 10.0), ("start.empty", 10.0)], true);
        let expected = "\
number            old       new    change
idle.heap     10.0 ms   10.0 ms    +0.0 %
start.empty   20.0 ms   10.0 ms   -50.0 %  better
first.turn    2.00 ms   3.00 ms   +50.0 %  WORSE
";
        let table = compare(&[old], &[new]).unwrap().table();
        let words = |text: &str| -> Vec<Vec<String>> {
            text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
        };
        assert_eq!(words(&table), words(expected), "{table}");
    }
}
