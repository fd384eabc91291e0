//! What models were used for: tokens and money, by day, model, session or workspace. The sums are the
//! index's; here the question is taken apart and the answer written down.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use ostler_api_types::{UsageBy, UsageRow, UsageSum, UsageTable};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_index::{UsageQuery, UsageReport};
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::QueryParams;

/// Which uses of models to sum up, and how.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageParams {
    /// What a row stands for; `day` when absent.
    by: Option<UsageBy>,
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

pub(super) async fn usage(
    State(context): State<DoorContext>,
    QueryParams(params): QueryParams<UsageParams>,
) -> Result<Json<UsageTable>, DoorError> {
    let by = params.by.unwrap_or(UsageBy::Day);
    let report = context.engine.usage(to_query(by, params)?).await?;
    Ok(Json(to_table(by, report)))
}

fn to_query(by: UsageBy, params: UsageParams) -> Result<UsageQuery, DoorError> {
    let utc_offset_minutes = params.utc_offset_minutes.unwrap_or(0);
    let offset = match utc_offset_minutes {
        minutes @ -1080..=1080 => Offset::from_seconds(minutes * 60).ok(),
        _ => None,
    };
    let offset = offset.ok_or_else(|| {
        DoorError::bad_request("bad_query", "`utc_offset_minutes` must be from -1080 to 1080")
    })?;
    let time =
        |name: &str, text: Option<String>| text.map(|text| parse_time(name, &text, offset)).transpose();
    Ok(UsageQuery {
        by: match by {
            UsageBy::Day => ostler_index::UsageGrouping::Day,
            UsageBy::Model => ostler_index::UsageGrouping::Model,
            UsageBy::Session => ostler_index::UsageGrouping::Session,
            UsageBy::Workspace => ostler_index::UsageGrouping::Workspace,
            UsageBy::Total => ostler_index::UsageGrouping::Total,
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
fn parse_time(name: &str, text: &str, offset: Offset) -> Result<Timestamp, DoorError> {
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

fn to_table(by: UsageBy, report: UsageReport) -> UsageTable {
    let keyed = |ostler_index::UsageGroup { key, sum: of }| UsageRow { key, sum: to_usage_sum(of) };
    let UsageReport { rows, left_out, total } = report;
    UsageTable { by, rows: rows.into_iter().map(keyed).collect(), left_out, total: to_usage_sum(total) }
}

fn to_usage_sum(of: ostler_index::UsageTotal) -> UsageSum {
    UsageSum { steps: of.steps, usage: of.usage, unpriced_steps: of.unpriced_steps }
}
