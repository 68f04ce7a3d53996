//! `GET /v1/usage`: runs, calls, tokens, cost and scores over time.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::Query;
use crate::routes::run::time;
use crate::views::UsageReportView;
use dsrs_app::App;
use dsrs_store::usage::{UsageDimension, UsageInterval, UsageQuery};

/// The time that is read if `since` is not given.
const DEFAULT_TIME: TimeDelta = TimeDelta::days(30);

/// Read the usage
///
/// Runs, requests to models, tokens, cost and scores, in sums by the hour in which the run, evaluation or optimization was
/// created. The sums are written in the transactions that write what they count, and stay when retention removes runs.
/// `by` divides them: by `graph`, `version`, `state_version`, `key`, `user_id`, `work` (`run`, `evaluation`, `judging`,
/// `optimization`), and by either `tag` or `model`. A run counts for each of its tags and models, so those sums can
/// exceed the whole. All filters narrow the sums together. At most 5000 rows.
#[utoipa::path(
    get, path = "/v1/usage", tag = "usage",
    params(
        ("since" = Option<String>, Query, description = "From the hour of this time (RFC 3339); 30 days before `until` if absent"),
        ("until" = Option<String>, Query, description = "Before this time (RFC 3339); now if absent"),
        ("interval" = Option<String>, Query, pattern = "^(hour|day)$", description = "The periods; days are those of UTC. All in one if absent"),
        ("by" = Option<Vec<String>>, Query, description = "By what the sums are divided, separated by commas"),
        ("graph" = Option<String>, Query, description = "Only of the graph with this name"),
        ("version" = Option<u32>, Query, description = "Only of this graph version"),
        ("state_version" = Option<u32>, Query, description = "Only of this state version"),
        ("key" = Option<String>, Query, description = "Only of the key with this label"),
        ("user_id" = Option<String>, Query, description = "Only of runs of this user"),
        ("work" = Option<String>, Query, pattern = "^(run|evaluation|judging|optimization)$", description = "Only of this kind of work"),
        ("tag" = Option<String>, Query, min_length = 1, pattern = "^[^\\u0000]+$", description = "Only of runs with this tag"),
        ("model" = Option<String>, Query, description = "Only of requests to the model with this alias")),
    responses((status = 200, description = "The usage", body = UsageReportView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn usage_read(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let query = read_query(query)?;
    let items = app.usage(&caller.scope(), &query).await?;
    Ok(answer::ok(&UsageReportView::of(&query, &items)))
}

fn read_query(mut query: Query) -> Result<UsageQuery, ApiProblem> {
    let until = query.read("until", "an RFC 3339 time", time).unwrap_or_else(Utc::now);
    let since = query.read("since", "an RFC 3339 time", time).unwrap_or_else(|| before(until));
    let interval = query.read("interval", "`hour` or `day`", |text| match text {
        "hour" => Some(UsageInterval::Hour),
        "day" => Some(UsageInterval::Day),
        _ => None,
    });
    let by = read_dimensions(&mut query);
    let mut only = Vec::new();
    for dimension in UsageDimension::ALL {
        only.extend(read_value(&mut query, dimension).map(|value| (dimension, value)));
    }
    let read = UsageQuery { since, until, interval, by, only };
    if !read.is_valid() {
        query.refuse("sums are divided and narrowed by `tag` or by `model`, not by both");
    }
    if since >= until {
        query.refuse("`since` must be before `until`");
    }
    query.close()?;
    Ok(read)
}

fn before(until: DateTime<Utc>) -> DateTime<Utc> {
    until.checked_sub_signed(DEFAULT_TIME).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

fn known_dimensions() -> String {
    let names = UsageDimension::ALL.map(UsageDimension::as_str).join("`, `");
    format!("one or more of `{names}`, separated by commas")
}

/// `by=graph,model` and `by=graph&by=model` are the same: generated clients write either.
fn read_dimensions(query: &mut Query) -> Vec<UsageDimension> {
    let mut found = Vec::new();
    for text in query.all("by") {
        for name in text.split(',') {
            match UsageDimension::ALL.into_iter().find(|known| known.as_str() == name) {
                Some(known) if found.contains(&known) => {
                    query.refuse(&format!("`by` names `{name}` twice"));
                }
                Some(known) => found.push(known),
                None => {
                    let wanted = known_dimensions();
                    query.refuse(&format!("`by` must be {wanted}, found `{name}`"));
                }
            }
        }
    }
    found
}

fn read_value(query: &mut Query, dimension: UsageDimension) -> Option<String> {
    let name = dimension.as_str();
    match dimension {
        UsageDimension::Version | UsageDimension::StateVersion => {
            query.number(name).map(|number| number.to_string())
        }
        UsageDimension::Work => {
            let known = ["run", "evaluation", "judging", "optimization"];
            let wanted = "`run`, `evaluation`, `judging` or `optimization`";
            query.read(name, wanted, |text| known.contains(&text).then(|| text.to_owned()))
        }
        _ => query.read(name, "a text that is not empty", |text| {
            (!text.is_empty()).then(|| text.to_owned())
        }),
    }
}
