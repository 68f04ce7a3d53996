//! Files of runs in object storage: Parquet, compressed with zstd. A look-up reads the footer of a file and the one
//! group of rows that may have the run. May not know the database.

use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use futures_util::stream::StreamExt;
use object_store::buffered::BufWriter;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, parse_url_opts};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;
use parquet::arrow::async_writer::AsyncArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;
use url::Url;
use uuid::Uuid;

use super::columns::{batch, run, schema};
use super::error::ArchiveError;
use super::object_reader::ObjectReader;
use dsrs_store::run_archive::ArchivedRun;

/// A group of rows ends at so many runs or bytes: a look-up reads a whole group.
const GROUP_RUNS: usize = 1000;
const GROUP_BYTES: usize = 8 << 20;

/// The files of an archive.
pub struct RunFiles {
    store: Arc<dyn ObjectStore>,
    /// The path of the URL.
    root: Path,
    schema: SchemaRef,
}

impl RunFiles {
    /// Opens the archive at a URL: `file:///…`, `s3://…`, `gs://…` or `az://…`. Credentials and options have the
    /// names of their environment variables, such as `AWS_ACCESS_KEY_ID`.
    ///
    /// # Errors
    /// If there is no such kind of storage, or its configuration is not complete.
    pub fn open(url: &str, options: &[(String, String)]) -> Result<Self, ArchiveError> {
        let url = Url::parse(url).map_err(ArchiveError::new)?;
        let options = options.iter().map(|(name, text)| (name, text));
        let (store, root) = parse_url_opts(&url, options).map_err(ArchiveError::new)?;
        Ok(Self { store: Arc::from(store), root, schema: schema() })
    }

    fn path(&self, name: &str) -> Path {
        Path::from_iter(self.root.parts().chain(Path::from(name).parts()))
    }

    /// Begins a file. It exists once it is finished, in place of one of the same name.
    pub(super) async fn create(&self, name: &str) -> Result<RunFileWriter, ArchiveError> {
        let object = BufWriter::new(self.store.clone(), self.path(name));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("dsrs-server ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = AsyncArrowWriter::try_new(object, self.schema.clone(), Some(properties));
        Ok(RunFileWriter {
            writer: writer.map_err(ArchiveError::new)?,
            schema: self.schema.clone(),
        })
    }

    /// The names of the files of a directory.
    pub(super) async fn list(&self, directory: &str) -> Result<Vec<String>, ArchiveError> {
        let prefix = self.path(directory);
        let mut found = self.store.list(Some(&prefix));
        let mut names = Vec::new();
        while let Some(object) = found.next().await {
            let location = object.map_err(ArchiveError::new)?.location;
            let parts: Vec<_> = location.prefix_match(&prefix).into_iter().flatten().collect();
            if let [file] = parts.as_slice() {
                names.push(format!("{directory}/{}", file.as_ref()));
            }
        }
        Ok(names)
    }

    pub(super) async fn delete(&self, name: &str) -> Result<(), ArchiveError> {
        self.store.delete(&self.path(name)).await.map_err(ArchiveError::new)
    }

    /// Looks a run up in a file.
    pub(super) async fn find(
        &self,
        name: &str,
        id: Uuid,
    ) -> Result<Option<ArchivedRun>, ArchiveError> {
        let reader = ObjectReader::new(self.store.clone(), self.path(name));
        let file = ParquetRecordBatchStreamBuilder::new(reader).await.map_err(ArchiveError::new)?;
        let id = id.to_string();
        let groups = file.metadata().row_groups().iter().enumerate();
        let groups = groups.filter(|(_, group)| may_have(group, &id)).map(|(place, _)| place);
        let groups: Vec<usize> = groups.collect();
        if groups.is_empty() {
            return Ok(None);
        }
        let ids = ProjectionMask::leaves(file.parquet_schema(), [0]);
        let is_wanted = ArrowPredicateFn::new(ids, move |batch| {
            let ids = batch.column(0).as_string_opt::<i32>().map(|ids| ids.iter());
            let found = ids.map(|ids| ids.map(|found| Some(found == Some(id.as_str()))).collect());
            Ok(found.unwrap_or_else(|| BooleanArray::from(vec![false; batch.num_rows()])))
        });
        let rows = file
            .with_row_groups(groups)
            .with_row_filter(RowFilter::new(vec![Box::new(is_wanted)]))
            .with_limit(1);
        let mut rows = rows.build().map_err(ArchiveError::new)?;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(ArchiveError::new)?;
            if batch.num_rows() > 0 {
                return run(&batch, 0).map(Some);
            }
        }
        Ok(None)
    }
}

/// Whether a group of rows may have an id, which is the first column.
fn may_have(group: &RowGroupMetaData, id: &str) -> bool {
    let bounds = group.columns().first().and_then(|ids| ids.statistics());
    let Some(Statistics::ByteArray(bounds)) = bounds else { return true };
    let least = bounds.min_opt().is_none_or(|least| least.data() <= id.as_bytes());
    least && bounds.max_opt().is_none_or(|most| id.as_bytes() <= most.data())
}

/// Writes one file.
pub(super) struct RunFileWriter {
    writer: AsyncArrowWriter<BufWriter>,
    schema: SchemaRef,
}

impl RunFileWriter {
    pub(super) async fn add(&mut self, runs: &[ArchivedRun]) -> Result<(), ArchiveError> {
        let batch = batch(&self.schema, runs).map_err(ArchiveError::new)?;
        self.writer.write(&batch).await.map_err(ArchiveError::new)?;
        let is_full = self.writer.in_progress_rows() >= GROUP_RUNS
            || self.writer.in_progress_size() >= GROUP_BYTES;
        if is_full {
            self.writer.flush().await.map_err(ArchiveError::new)?;
        }
        Ok(())
    }

    /// The bytes so far.
    pub(super) fn bytes(&self) -> i64 {
        i64::try_from(self.writer.bytes_written()).unwrap_or(i64::MAX)
    }

    /// Completes the file. Returns its size.
    pub(super) async fn finish(mut self) -> Result<i64, ArchiveError> {
        self.writer.finish().await.map_err(ArchiveError::new)?;
        Ok(self.bytes())
    }
}
