//! Checked rows between checking and storing: they wait in a file, so that checking needs no
//! connection to the database, and storing needs no more than writing. May not know what a row is.

use std::future::Future;
use std::io::{self, BufWriter, Write};
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use crate::AppError;
use crate::spool::SpoolFile;
use crate::task::run_blocking;
use dsrs_store::StoreError;

const CHUNK_ROWS: usize = 500;

/// A chunk ends once its rows reach this size.
const CHUNK_BYTES: usize = 1 << 20;

/// Chunks that wait to be stored.
const CHUNKS: usize = 2;

/// The destination of chunks.
pub(crate) trait ChunkStore<R>: Send {
    /// Stores the next rows.
    fn add(&mut self, chunk: &[R]) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// Writes rows to a file.
pub(crate) struct RowWriter<R> {
    file: BufWriter<SpoolFile>,
    row: PhantomData<fn(R)>,
}

/// Rows in a file, in order.
pub(crate) struct RowFile<R> {
    file: SpoolFile,
    row: PhantomData<fn() -> R>,
}

impl<R: Serialize> RowWriter<R> {
    pub(crate) fn new(file: SpoolFile) -> Self {
        Self { file: BufWriter::new(file), row: PhantomData }
    }

    pub(crate) fn add(&mut self, row: &R) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, row)?;
        self.file.write_all(b"\n")
    }

    /// The rows, complete.
    pub(crate) fn finish(self) -> io::Result<RowFile<R>> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(RowFile { file, row: PhantomData })
    }
}

impl<R: DeserializeOwned + Send + Sync + 'static> RowFile<R> {
    /// Stores all rows, of which only a few chunks are in memory.
    pub(crate) async fn store(self, store: &mut impl ChunkStore<R>) -> Result<(), AppError> {
        let (sender, mut chunks) = mpsc::channel(CHUNKS);
        let reading = run_blocking(move || self.read(&sender));
        let storing = async move {
            while let Some(chunk) = chunks.recv().await {
                store.add(&chunk).await?;
            }
            Ok::<(), StoreError>(())
        };
        let (read, stored) = tokio::join!(reading, storing);
        stored?;
        let broken = |why: String| AppError::Internal(format!("checked rows: {why}"));
        let read = read.ok_or_else(|| broken("reading panicked".to_owned()))?;
        read.map_err(|error| broken(error.to_string()))
    }

    /// Passes the rows on in chunks, until the receiver has failed.
    fn read(self, chunks: &mpsc::Sender<Vec<R>>) -> io::Result<()> {
        let mut rows = serde_json::Deserializer::from_reader(self.file.into_reader()?).into_iter();
        let (mut chunk, mut begin) = (Vec::new(), 0);
        while let Some(row) = rows.next() {
            chunk.push(row?);
            if chunk.len() >= CHUNK_ROWS || rows.byte_offset() - begin >= CHUNK_BYTES {
                begin = rows.byte_offset();
                if chunks.blocking_send(std::mem::take(&mut chunk)).is_err() {
                    return Ok(());
                }
            }
        }
        if !chunk.is_empty() {
            // The store reports why it has failed.
            let _ = chunks.blocking_send(chunk);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    use crate::spool::SpoolSpace;

    struct Sizes(Vec<usize>, Vec<String>);

    impl ChunkStore<String> for Sizes {
        async fn add(&mut self, chunk: &[String]) -> Result<(), StoreError> {
            self.0.push(chunk.len());
            self.1.extend_from_slice(chunk);
            Ok(())
        }
    }

    async fn stored(rows: &[String]) -> Sizes {
        let mut writer = RowWriter::new(SpoolSpace::of_test(u64::MAX).file(Uuid::nil()));
        for row in rows {
            writer.add(row).unwrap();
        }
        let mut store = Sizes(Vec::new(), Vec::new());
        writer.finish().unwrap().store(&mut store).await.unwrap();
        store
    }

    #[tokio::test]
    async fn rows_arrive_in_order_in_chunks_of_bounded_count_and_size() {
        let rows: Vec<String> = (0..1201).map(|n| format!("{{\"a\": \"{n}\\n\"}}")).collect();
        let Sizes(sizes, found) = stored(&rows).await;
        assert_eq!((sizes, found), (vec![500, 500, 201], rows));
        let long = vec!["x".repeat(600 << 10); 5];
        assert_eq!(stored(&long).await.0, [2, 2, 1]);
        assert!(stored(&[]).await.0.is_empty());
    }
}
