//! The upkeep of the bodies of runs: dictionaries of graphs are trained, runs of the release before are moved, and texts that
//! no run refers to are removed. Every server does it; two that begin at once take turns. May not know SQL.

use std::sync::Weak;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::sleep;

use crate::App;
use dsrs_store::{StoreError, dictionary_training, run_move, shared_text};

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(10);

/// The pause between two steps that move runs: traffic comes first.
const MOVE_PAUSE: Duration = Duration::from_millis(100);

/// Rounds after which runs to move and texts to remove are looked for again.
const LOOKED_FOR: u32 = 60;

/// How long ago a run has ended that is moved.
const ENDED: TimeDelta = TimeDelta::minutes(1);

/// Works until the app is dropped.
pub(crate) async fn maintain(app: Weak<App>) {
    let mut round = 0_u32;
    loop {
        if round.is_multiple_of(LOOKED_FOR) {
            move_runs(&app).await;
        }
        let Some(found) = app.upgrade() else { return };
        train(&found).await;
        if round.is_multiple_of(LOOKED_FOR)
            && let Err(error) = shared_text::purge(&found.db).await
        {
            tracing::warn!(cause = error.cause(), "could not remove unused texts of runs");
        }
        drop(found);
        round = round.wrapping_add(1);
        sleep(PAUSE).await;
    }
}

async fn train(app: &App) {
    match dictionary_training::train_due(&app.db).await {
        Ok(0) => {}
        Ok(count) => tracing::debug!(count, "trained dictionaries of graphs"),
        Err(error) => tracing::warn!(cause = error.cause(), "could not train dictionaries"),
    }
}

/// Moves runs of the release before until none is left.
async fn move_runs(app: &Weak<App>) {
    let mut moved = 0;
    while let Some(found) = app.upgrade() {
        match move_some(&found).await {
            Ok(step) => {
                moved += step.moved;
                if step.is_complete {
                    break;
                }
            }
            Err(error) => {
                tracing::warn!(cause = error.cause(), "could not move runs of the release before");
                break;
            }
        }
        drop(found);
        sleep(MOVE_PAUSE).await;
    }
    if moved > 0 {
        tracing::info!(runs = moved, "moved runs of the release before to their compact form");
    }
}

async fn move_some(app: &App) -> Result<run_move::MoveStep, StoreError> {
    run_move::step(&app.db, app.db.now().await? - ENDED).await
}
