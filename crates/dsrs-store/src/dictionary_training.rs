//! Trains dictionaries from the newest runs of the graphs that are due, in the background. May not know when it is
//! called.

use uuid::Uuid;

use super::dictionary_table::DueGraph;
use super::run_body::{Dictionary, ReadBody, dictionary_of, documents_size};
use super::{Db, StoreError};

/// The runs that a dictionary is made of.
const SAMPLES: i64 = 300;

/// A run whose documents are larger would have most of the dictionary.
const LARGEST_SAMPLE: usize = 32 << 10;

/// With the prefixes that are stored elsewhere.
const LARGEST_DOCUMENTS: usize = 4 << 20;

/// Fewer have too little in common.
const FEWEST_SAMPLES: usize = 50;

/// The sizes of a dictionary, and how much smaller than its samples it is at least.
const SMALLEST: usize = 2 << 10;
const LARGEST: usize = 16 << 10;
const SHARE: usize = 16;

/// Trains what is due; returns how many dictionaries are new. A graph that fails delays no other.
pub async fn train_due(db: &Db) -> Result<usize, StoreError> {
    db.bodies.refresh(db).await?;
    let (mut trained, mut failed) = (0, None);
    for due in db.bodies.dictionaries.take_due() {
        match train(db, &due).await {
            Ok(is_new) => trained += usize::from(is_new),
            Err(error) => failed = Some(error),
        }
        db.bodies.dictionaries.check_soon(due.graph);
    }
    db.bodies.refresh(db).await?;
    failed.map_or(Ok(trained), Err)
}

/// Trains a dictionary of a graph, unless another server does. False if its runs have too little in common.
async fn train(db: &Db, due: &DueGraph) -> Result<bool, StoreError> {
    if has_new_dictionary(db, due).await? {
        return Ok(false);
    }
    let samples = samples(db, due).await?;
    if samples.len() < FEWEST_SAMPLES {
        return Ok(false);
    }
    let whole: usize = samples.iter().map(Vec::len).sum();
    let most = (whole / SHARE).clamp(SMALLEST, LARGEST);
    let trained = tokio::task::spawn_blocking(move || Dictionary::train(&samples, most)).await;
    let Some(content) = trained.map_err(|_| StoreError::internal("a training has ended"))? else {
        return Ok(false);
    };
    store(db, due, &content).await
}

/// Whether a server has trained a dictionary of the graph lately.
async fn has_new_dictionary(db: &Db, due: &DueGraph) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar(
        "select exists (select from run_dictionaries where graph_id = $1
                          and created_at > clock_timestamp() - interval '10 minutes')",
    );
    Ok(found.bind(due.graph).fetch_one(&mut *db.all_workspaces().await?).await?)
}

/// Stores a dictionary, unless another server has stored one meanwhile.
async fn store(db: &Db, due: &DueGraph, content: &[u8]) -> Result<bool, StoreError> {
    let stored = sqlx::query(
        "insert into run_dictionaries (workspace_id, graph_id, content, created_at, used_on)
         select $1, $2, $3, clock_timestamp(), current_date
         where not exists (select from run_dictionaries where graph_id = $2
                             and created_at > clock_timestamp() - interval '10 minutes')",
    );
    let stored = stored.bind(due.workspace).bind(due.graph).bind(content);
    let stored = stored.execute(&mut *db.all_workspaces().await?).await?;
    Ok(stored.rows_affected() == 1)
}

/// The newest runs of a graph, before compression.
async fn samples(db: &Db, due: &DueGraph) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut connection = db.all_workspaces().await?;
    let bodies = sqlx::query_as(
        "select id, body
         from (select id, body from runs where workspace_id = $1 and graph_name = $2 and graph_id = $3
               order by created_at desc, id desc limit $4) newest
         where octet_length(body) <= $5",
    );
    let bodies = bodies.bind(due.workspace).bind(&*due.name).bind(due.graph).bind(SAMPLES);
    let bodies = bodies.bind(LARGEST_SAMPLE as i64);
    let bodies: Vec<(Uuid, Vec<u8>)> = bodies.fetch_all(&mut *connection).await?;
    let numbers = bodies.iter().filter_map(|(_, body)| dictionary_of(body).ok().flatten());
    let dictionaries = db.bodies.dictionaries.load(&mut connection, numbers.collect()).await?;
    let mut samples = Vec::new();
    for (id, body) in bodies {
        // A small body may have large documents.
        if documents_size(&body).is_ok_and(|size| size > LARGEST_DOCUMENTS) {
            continue;
        }
        let dictionary = dictionary_of(&body).ok().flatten();
        let dictionary = dictionary.and_then(|number| dictionaries.get(&number));
        match ReadBody::new(&body, dictionary.map(AsRef::as_ref)) {
            Ok(read) if read.layout().len() <= LARGEST_SAMPLE => {
                samples.push(read.layout().to_vec())
            }
            Ok(_) => {}
            Err(error) => tracing::error!(run = %id, %error, "a run cannot be read"),
        }
    }
    Ok(samples)
}
