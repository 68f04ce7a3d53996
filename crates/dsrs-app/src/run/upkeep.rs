//! The upkeep of the bodies of runs: what runs have in common is stored and trained, runs with JSON are moved, and
//! texts that no run refers to are removed. Every server does it. May not know SQL.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use tokio::time::sleep;

use crate::App;
use dsrs_store::{Db, StoreError, dictionary_training, run_form, run_move, run_text_removal};

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(10);

/// The least pause between two steps that move runs. A step that took longer is followed by a pause as long: traffic comes
/// first, and the busier the database is, the slower runs are moved.
const MOVE_PAUSE: Duration = Duration::from_millis(10);

/// Rounds after which runs to move and texts to remove are looked for again.
const RARE_ROUNDS: u32 = 60;

/// A run is moved so long after its end: it may be resumed until then.
const ENDED: TimeDelta = TimeDelta::minutes(1);

/// Stores what runs have in common, as soon as runs lack it. Never returns.
pub(crate) async fn refresh_texts(db: Db) {
    run_form::refresh_texts_always(&db).await;
}

/// Works until the app is dropped.
pub(crate) async fn maintain(app: Weak<App>) {
    let mut round = 0_u32;
    let mut was_compact = false;
    while let Some(found) = app.upgrade() {
        let is_compact = read_form(&found).await;
        train(&found).await;
        let is_rare = round.is_multiple_of(RARE_ROUNDS);
        if is_rare {
            remove_texts(&found).await;
        }
        drop(found);
        if is_compact && (is_rare || !was_compact) {
            move_runs(&app).await;
        }
        (was_compact, round) = (is_compact, round.wrapping_add(1));
        sleep(PAUSE).await;
    }
}

/// Reads whether runs are stored in the compact form, which an operator may have said on another server.
async fn read_form(app: &Arc<App>) -> bool {
    match run_form::refresh_form(&app.db).await {
        Ok(is_compact) => is_compact,
        Err(error) => {
            tracing::warn!(cause = error.cause(), "could not read the form of runs");
            false
        }
    }
}

async fn train(app: &App) {
    match dictionary_training::train_due(&app.db).await {
        Ok(0) => {}
        Ok(count) => tracing::debug!(count, "trained dictionaries of graphs"),
        Err(error) => tracing::warn!(cause = error.cause(), "could not train dictionaries"),
    }
}

async fn remove_texts(app: &App) {
    if let Err(error) = run_text_removal::purge(&app.db).await {
        tracing::warn!(cause = error.cause(), "could not remove unused texts of runs");
    }
}

/// Moves runs with JSON until none is left.
async fn move_runs(app: &Weak<App>) {
    let (mut moved, mut last) = (0, None);
    while let Some(found) = app.upgrade() {
        let begin = Instant::now();
        match move_some(&found, last).await {
            Ok(Some(step)) => {
                moved += step.moved;
                last = step.last;
                if last.is_none() {
                    break;
                }
                // The move may take hours, and what it has moved shows what the rest has in common.
                train(&found).await;
            }
            Ok(None) => break,
            Err(error) => {
                tracing::warn!(cause = error.cause(), "could not move runs to the compact form");
                break;
            }
        }
        drop(found);
        sleep(begin.elapsed().max(MOVE_PAUSE)).await;
    }
    if moved > 0 {
        tracing::info!(runs = moved, "moved runs to the compact form");
    }
}

async fn move_some(
    app: &App,
    below: Option<uuid::Uuid>,
) -> Result<Option<run_move::MoveStep>, StoreError> {
    if !run_move::is_possible(&app.db).await? {
        return Ok(None);
    }
    let before = app.db.now().await? - ENDED;
    run_move::step(&app.db, below, before).await.map(Some)
}
