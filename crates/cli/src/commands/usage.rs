//! `ostler usage`: what models were used for, as a table. The sums are the daemon's.

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};
use ostler_api_types::{UsageBy, UsageSum, UsageTable};
use ostler_client::UsageFilter;
use ostler_types::in_one_line;

use super::CommandContext;
use crate::args::{UsageArgs, UsageByArg as ByArg, UsageSince};
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::money;

/// Characters of a key, at most; only a path can have more.
const KEY_WIDTH: usize = 80;

pub(super) async fn usage(setting: CommandContext, args: &UsageArgs) -> anyhow::Result<CliExit> {
    let (filter, since) = filter(args, &Zoned::now());
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let table = reached.client.usage(&filter).await;
    reached.stop_when_idle().await;
    if args.json {
        crate::output::json(&table?)?;
    } else {
        put!("{}", draw(&table?, since));
    }
    Ok(CliExit::Success)
}

/// What to ask for, and the first day of it. All days begin as today does, so that none is missed or
/// counted twice when the clocks change.
fn filter(args: &UsageArgs, now: &Zoned) -> (UsageFilter, Date) {
    let since = match args.since {
        UsageSince::Days(days) => now.date().saturating_sub((i64::from(days) - 1).days()),
        UsageSince::Date(date) => date,
    };
    let by = match args.by {
        ByArg::Day => UsageBy::Day,
        ByArg::Model => UsageBy::Model,
        ByArg::Session => UsageBy::Session,
        ByArg::Workspace => UsageBy::Workspace,
    };
    let (from, utc_offset_minutes) = (Some(since.to_string()), now.offset().seconds() / 60);
    (UsageFilter { from, utc_offset_minutes, ..UsageFilter::new(by) }, since)
}

fn draw(table: &UsageTable, since: Date) -> String {
    if table.rows.is_empty() {
        return format!("No model usage since {since}\n");
    }
    let head = [table.by.as_str(), "steps", "input", "cached", "output", "cost"].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(table.rows.iter().map(|row| cells(in_one_line(&row.key, KEY_WIDTH), &row.sum)));
    lines.push(cells("total".to_owned(), &table.total));
    let mut text = align(&lines);
    if table.left_out > 0 {
        text += &format!("{} more rows omitted; the total includes them\n", table.left_out);
    }
    if table.total.unpriced_steps > 0 {
        text += &format!("steps without a known price: {}\n", count(table.total.unpriced_steps));
    }
    text
}

fn cells(key: String, sum: &UsageSum) -> [String; 6] {
    let cost = match (sum.usage.cost_usd, sum.unpriced_steps) {
        (Some(cost), 0) => money(cost),
        (Some(cost), _) => format!("≥{}", money(cost)),
        (None, _) => "?".to_owned(),
    };
    let tokens = [sum.usage.input_tokens, sum.usage.cached_tokens, sum.usage.output_tokens];
    let [input, cached, output] = tokens.map(count);
    [key, count(sum.steps), input, cached, output, cost]
}

/// Columns in parallel, the first to the left and the others to the right.
fn align(lines: &[[String; 6]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        text += &format!("{:<width$}", line[0], width = widths[0]);
        for (cell, width) in line.iter().zip(widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}

/// A number with its thousands apart.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use ostler_api_types::{UsageBy, UsageRow, UsageSum, UsageTable};
    use ostler_types::{Cost, Usage};

    use super::{ByArg, UsageArgs, UsageSince, draw, filter};

    fn sum(steps: u64, tokens: u64, nanos: Option<u64>, unpriced_steps: u64) -> UsageSum {
        let cost_usd = nanos.map(Cost::from_nanos);
        let usage = Usage { input_tokens: tokens, output_tokens: 7, cost_usd, ..Usage::default() };
        UsageSum { steps, usage, unpriced_steps }
    }

    #[test]
    fn a_table_is_aligned_and_says_what_it_does_not_know() {
        let row = |key: &str, sum| UsageRow { key: key.to_owned(), sum };
        let table = UsageTable {
            by: UsageBy::Model,
            rows: vec![
                row("a:long-name", sum(1200, 1_234_567, Some(12_345_000_000), 0)),
                row("b:b\u{1b}[31m", sum(2, 900, Some(1_000_000), 1)),
                row("c:c", sum(1, 10, None, 1)),
            ],
            left_out: 0,
            total: sum(1203, 1_235_477, Some(12_346_000_000), 2),
        };
        let text = draw(&table, "2026-01-31".parse().unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "model        steps      input  cached  output      cost");
        assert_eq!(lines[1], "a:long-name  1,200  1,234,567       0       7    $12.35");
        assert!(lines[2].starts_with("b:b") && lines[2].ends_with("≥$0.0010"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(lines[3], "c:c              1         10       0       7         ?");
        assert_eq!(lines[4], "total        1,203  1,235,477       0       7   ≥$12.35");
        assert_eq!(lines[5..], ["steps without a known price: 2"]);
    }

    #[test]
    fn a_week_has_seven_days_of_which_today_is_one_and_they_begin_here() {
        let now: jiff::Zoned = "2026-03-02T00:30:00+05:30[+05:30]".parse().unwrap();
        let args = |since| UsageArgs { by: ByArg::Day, since, json: false };
        let (week, since) = filter(&args(UsageSince::Days(7)), &now);
        assert_eq!((week.from.as_deref(), week.utc_offset_minutes), (Some("2026-02-24"), 330));
        assert_eq!(since.to_string(), "2026-02-24");
        assert_eq!(filter(&args(UsageSince::Days(1)), &now).0.from.as_deref(), Some("2026-03-02"));
        assert_eq!(filter(&args(UsageSince::Days(u16::MAX)), &now).0.from.as_deref(), Some("1846-09-28"));
        let date = UsageSince::Date("2025-12-31".parse().unwrap());
        assert_eq!(filter(&args(date), &now).0.from.as_deref(), Some("2025-12-31"));
    }
}
