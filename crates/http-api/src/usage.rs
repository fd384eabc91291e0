//! What models were used for: tokens and money, by day, model, session or workspace. The sums are the
//! index's; here the question is taken apart and the answer written down.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use ostler_door_kit::{DoorContext, DoorError};
use ostler_index::{UsageBy, UsageQuery, UsageReport, UsageRow, UsageSum};
use ostler_types::{SessionId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::Params;

/// Which uses of models to sum up, and how.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageParams {
    /// What a row stands for; `day` when absent.
    by: Option<By>,
    /// Only what was used at this time or later: an RFC 3339 time, or a date for its beginning.
    from: Option<String>,
    /// Only what was used before this time: an RFC 3339 time, or a date for its beginning.
    to: Option<String>,
    /// Only what this session used.
    session: Option<SessionId>,
    /// Only what was used in this directory.
    workspace: Option<String>,
    /// Only what this model did, as `provider:model`.
    model: Option<String>,
    /// How many minutes ahead of UTC days and dates begin; 0 when absent.
    #[schemars(range(min = -1080, max = 1080))]
    utc_offset_minutes: Option<i32>,
}

/// What a row stands for.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    Day,
    Model,
    Session,
    Workspace,
    Total,
}

/// What was used.
#[derive(Serialize, JsonSchema)]
pub(super) struct UsageTable {
    by: By,
    /// At most 1,000 rows: the newest days first, of all else the dearest first.
    rows: Vec<Keyed>,
    /// How many more rows there would have been.
    left_out: u64,
    /// Everything that was asked for, with what was left out.
    total: Sum,
}

/// What was used by one day, model, session or workspace.
#[derive(Serialize, JsonSchema)]
struct Keyed {
    /// The date, the model's name, the session's id, the workspace's path, or `total`.
    key: String,
    #[serde(flatten)]
    sum: Sum,
}

/// What some answers took together.
#[derive(Serialize, JsonSchema)]
struct Sum {
    /// How many answers of a model.
    steps: u64,
    #[serde(flatten)]
    usage: Usage,
    /// How many of them have no price, so that the cost is at least what it says.
    unpriced_steps: u64,
}

pub(super) async fn usage(
    State(context): State<DoorContext>,
    Params(params): Params<UsageParams>,
) -> Result<Json<UsageTable>, DoorError> {
    let by = params.by.unwrap_or(By::Day);
    let report = context.engine.usage(query(by, params)?).await?;
    Ok(Json(table(by, report)))
}

fn query(by: By, params: UsageParams) -> Result<UsageQuery, DoorError> {
    let utc_offset_minutes = params.utc_offset_minutes.unwrap_or(0);
    let offset = match utc_offset_minutes {
        minutes @ -1080..=1080 => Offset::from_seconds(minutes * 60).ok(),
        _ => None,
    };
    let offset = offset.ok_or_else(|| {
        DoorError::bad_request("bad_query", "`utc_offset_minutes` must be from -1080 to 1080")
    })?;
    let time = |name: &str, text: Option<String>| text.map(|text| time(name, &text, offset)).transpose();
    Ok(UsageQuery {
        by: match by {
            By::Day => UsageBy::Day,
            By::Model => UsageBy::Model,
            By::Session => UsageBy::Session,
            By::Workspace => UsageBy::Workspace,
            By::Total => UsageBy::Total,
        },
        from: time("from", params.from)?,
        to: time("to", params.to)?,
        session: params.session,
        workspace: params.workspace,
        model: params.model,
        utc_offset_minutes,
    })
}

/// A time, or the beginning of a day where this offset holds.
fn time(name: &str, text: &str, offset: Offset) -> Result<Timestamp, DoorError> {
    let date = || {
        // A longer text would be read as a date too, and its time be left out.
        let date: Date = text.parse().ok().filter(|_| text.len() == "2026-01-31".len())?;
        offset.to_timestamp(date.to_datetime(Time::midnight())).ok()
    };
    text.parse().ok().or_else(date).ok_or_else(|| {
        let message = format!("`{name}` must be a date or an RFC 3339 time");
        DoorError::bad_request("bad_query", message)
            .hint("such as 2026-01-31 or 2026-01-31T12:00:00Z; a plus sign is written %2B in a query")
    })
}

fn table(by: By, report: UsageReport) -> UsageTable {
    let keyed = |UsageRow { key, sum: of }| Keyed { key, sum: sum(of) };
    let UsageReport { rows, left_out, total } = report;
    UsageTable { by, rows: rows.into_iter().map(keyed).collect(), left_out, total: sum(total) }
}

fn sum(UsageSum { steps, usage, unpriced_steps }: UsageSum) -> Sum {
    Sum { steps, usage, unpriced_steps }
}
