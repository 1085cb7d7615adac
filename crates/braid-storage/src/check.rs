//! `check`: reads every byte that the manifest names and says what is wrong with it.
//!
//! For each data file: it is there, its header is its own, its length is what the manifest implies (of a table with dropped
//! columns, no less: the manifest does not know where their segments end). For each segment:
//! it can be read, its checksum holds, its padding is zero, it opens, it decodes completely, and row count, null count
//! and bounds are as in the manifest. For the manifest and the logs: they can be read, and together are the state this process works
//! with, whose chunks have the same deleted rows.
//! For each enforced key: no two rows have the same. For each foreign key: rows refer to rows that there are. Each key tree has the keys of its
//! chunks; the other checks do not use the trees that are there. Data files that nothing names are listed. So a flipped bit shows wherever it is.
//!
//! The check goes on after a fault, works on one snapshot while the database is in use, keeps a bounded number of
//! segments in memory, and changes nothing but for temporary [key trees](crate::key_index). Dropping its future stops it.

mod bounds;
mod report;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use braid_base::{ChunkId, SEGMENT_ALIGN_BYTES, TableId};
use braid_io::IoReason;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};

use crate::checksum::checksum;
use crate::chunk_reader::gather_all;
use crate::commit_log::recovery::recover;
use crate::data_directory::DataDirectory;
use crate::data_file::DataFile;
use crate::data_file_header::{DATA_FILE_HEADER_BYTES, DataFileId, HeaderFault, verify_header};
use crate::key_search::{check_key, check_key_trees, first_unsatisfied};
use crate::manifest::{Manifest, ManifestChunk, ManifestTable};
use crate::segment::Segment;
use crate::store::Store;
use crate::store_shared::{CommitLock, StoreShared};
use crate::{Catalog, ChunkMeta, DeletedRows, FileRange, SegmentMeta, SegmentPlace, StoreError, TableVersion};

pub use report::{BoundsFault, CheckProgress, CheckReport, Fault, FaultKind};

/// Segments read and verified at the same time: enough for the disk's queue and a few cores.
const SEGMENTS_IN_FLIGHT_MAX: usize = 8;

impl Store {
    /// Verifies everything on disk; calls `progress` after each segment.
    pub fn check<'a>(&'a self, progress: impl Fn(CheckProgress) + Send + Sync + 'a) -> BoxFuture<'a, CheckReport> {
        Box::pin(self.check_unboxed(Box::new(progress)))
    }

    async fn check_unboxed(&self, progress: Box<dyn Fn(CheckProgress) + Send + Sync + '_>) -> CheckReport {
        let shared = self.shared();
        let catalog = self.snapshot();
        let mut report = CheckReport::default();
        let faults = check_newest_state(shared, &mut report.bytes).await;
        report.faults.extend(faults);
        let segments_total = catalog.tables().map(|t| t.chunks.len() * t.def.columns.len()).sum();
        for version in catalog.tables() {
            report.tables += 1;
            report.chunks += version.chunks.len();
            let next_chunk = catalog.entry(version.def.id).map_or(0, |entry| entry.next_chunk_id);
            for file in files_of(version, next_chunk).values() {
                report.files += 1;
                let faults = check_file(shared, version, file, &mut report.bytes).await;
                report.faults.extend(faults);
            }
            let segments: Vec<(Arc<ChunkMeta>, usize)> = version
                .chunks
                .iter()
                .flat_map(|chunk| (0..version.def.columns.len()).map(|column| (Arc::clone(chunk), column)))
                .collect();
            let mut results = stream::iter(segments)
                .map(|(chunk, column)| check_segment(Arc::clone(shared), Arc::clone(version), chunk, column))
                .buffer_unordered(SEGMENTS_IN_FLIGHT_MAX);
            while let Some((bytes, fault)) = results.next().await {
                report.segments += 1;
                report.bytes += bytes;
                report.faults.extend(fault);
                progress(CheckProgress { segments: report.segments, segments_total, bytes: report.bytes });
            }
        }
        for version in catalog.tables() {
            let (bytes, faults) = check_trees(shared, &catalog, version).await;
            report.bytes += bytes;
            report.faults.extend(faults);
        }
        let tables = without_trees(&catalog);
        for version in tables.values() {
            report.faults.extend(check_keys(shared, version).await);
            report.faults.extend(check_references(shared, &tables, version).await);
        }
        match find_orphans(shared) {
            Ok(orphans) => report.orphans = orphans,
            Err(error) => report.faults.push(Fault::of_path(self.dir(), FaultKind::Store(error.to_string()))),
        }
        report.sort();
        report
    }
}

/// The tables of a state, with nothing known of their keys.
fn without_trees(catalog: &Catalog) -> BTreeMap<TableId, TableVersion> {
    let chunk = |chunk: &Arc<ChunkMeta>| Arc::new(ChunkMeta { keys: Arc::default(), ..(**chunk).clone() });
    let fresh =
        |version: &Arc<TableVersion>| version.with_chunks(version.chunks.iter().map(chunk).collect(), version.sequence);
    catalog.tables().map(|version| (version.def.id, fresh(version))).collect()
}

/// The key trees of a table that are not what its chunks say, and the bytes of all.
async fn check_trees(shared: &Arc<StoreShared>, catalog: &Catalog, version: &TableVersion) -> (u64, Vec<Fault>) {
    let (mut bytes, mut faults) = (0, Vec::new());
    for (path, file_bytes, checked) in check_key_trees(shared, catalog, version).await {
        bytes += file_bytes;
        if let Err(reason) = checked {
            let kind = FaultKind::KeyTree(reason);
            faults.push(Fault { table: Some(version.def.name.clone()), ..Fault::of_path(&path, kind) });
        }
    }
    (bytes, faults)
}

/// The keys of a table that two of its rows have.
async fn check_keys(shared: &Arc<StoreShared>, version: &TableVersion) -> Vec<Fault> {
    let path = shared.directory.manifest();
    let fault = |kind| Fault { table: Some(version.def.name.clone()), ..Fault::of_path(&path, kind) };
    let mut faults = Vec::new();
    for key in version.def.unique_keys() {
        match check_key(shared, version, key).await {
            Ok(()) => {}
            Err(StoreError::DuplicateKey(repeated)) => {
                faults.push(fault(FaultKind::RepeatedKey { key: repeated.key.clone() }));
            }
            Err(error) => faults.push(fault(FaultKind::Store(error.to_string()))),
        }
    }
    faults
}

/// The foreign keys of a table that one of its rows does not satisfy.
async fn check_references(
    shared: &Arc<StoreShared>,
    tables: &BTreeMap<TableId, TableVersion>,
    version: &TableVersion,
) -> Vec<Fault> {
    let path = shared.directory.manifest();
    let fault = |kind| Fault { table: Some(version.def.name.clone()), ..Fault::of_path(&path, kind) };
    let mut faults = Vec::new();
    for key in version.def.foreign_keys.iter().filter(|key| key.validated) {
        match first_unsatisfied(shared, (version, key), tables.get(&key.referenced)).await {
            Ok(None) => {}
            Ok(Some(_)) => faults.push(fault(FaultKind::MissingKey { key: key.name.clone() })),
            Err(error) => faults.push(fault(FaultKind::Store(error.to_string()))),
        }
    }
    faults
}

/// The manifest and the log on disk against the state in memory, at a moment when no commit changes either.
async fn check_newest_state(shared: &Arc<StoreShared>, bytes_read: &mut u64) -> Vec<Fault> {
    let path = shared.directory.manifest();
    let fault = |kind| vec![Fault::of_path(&path, kind)];
    let mut batches = shared.group_commit.watch_batches();
    let lock = loop {
        let lock = match CommitLock::acquire(shared).await {
            Ok(lock) => lock,
            Err(error) => return fault(FaultKind::Store(error.to_string())),
        };
        if lock.catalog().sequence() == shared.snapshot().sequence() {
            break lock;
        }
        drop(lock);
        drop(batches.changed().await);
    };
    let of_blocking = Arc::clone(shared);
    let read = tokio::task::spawn_blocking(move || {
        of_blocking.group_commit.while_unwritten(|| read_newest_state(&of_blocking.directory))
    });
    let read = read.await;
    let read = read.unwrap_or_else(|error| Err(StoreError::Stopped { reason: error.to_string() }));
    let (catalog, manifest) = match read {
        Ok(Some((manifest, bytes))) => {
            *bytes_read += bytes;
            (lock.catalog(), manifest)
        }
        Ok(None) => return fault(FaultKind::Missing),
        Err(StoreError::Manifest { source, .. }) => return fault(FaultKind::Manifest(source)),
        Err(StoreError::Log { path, source }) => return vec![Fault::of_path(&path, FaultKind::Log(source))],
        Err(error) => return fault(FaultKind::Store(error.to_string())),
    };
    let (expected, found) = (catalog.sequence(), manifest.sequence);
    if expected != found {
        return fault(FaultKind::Sequence { expected, found });
    }
    // A checkpoint that failed when the directory was opened has left them there.
    let is_left_out = |table: &&ManifestTable| {
        let is_temporary = manifest.schemas.iter().any(|known| known.id == table.def.schema && known.is_temporary);
        is_temporary && catalog.by_id(table.def.id).is_none()
    };
    let pairs = catalog.tables().zip(manifest.tables.iter().filter(|table| !is_left_out(table)));
    pairs.flat_map(|(version, table)| deleted_rows_faults(version, &table.chunks, &path)).collect()
}

/// The newest state on disk, and the bytes of the manifest and the logs; `None` without a manifest.
fn read_newest_state(directory: &DataDirectory) -> Result<Option<(Manifest, u64)>, StoreError> {
    let Some(bytes) = directory.read_manifest()? else { return Ok(None) };
    let malformed = |source| StoreError::Manifest { path: directory.manifest(), source };
    let recovered = recover(directory, Manifest::decode(&bytes).map_err(malformed)?)?;
    Ok(Some((recovered.manifest, bytes.len() as u64 + recovered.log_bytes)))
}

/// The chunks of a table that do not have the deleted rows of the manifest, or not some of their rows.
fn deleted_rows_faults(version: &TableVersion, chunks: &[ManifestChunk], path: &Path) -> Vec<Fault> {
    let fault = |(chunk, on_disk): (&Arc<ChunkMeta>, &ManifestChunk)| {
        let row_count = chunk.row_count;
        let is_some =
            |deleted: &DeletedRows| deleted.row_count() == row_count && (1..row_count).contains(&deleted.count());
        if chunk.deleted == on_disk.deleted && chunk.deleted.as_deref().is_none_or(is_some) {
            return None;
        }
        let count = |deleted: &Option<Arc<DeletedRows>>| deleted.as_ref().map_or(0, |deleted| deleted.count());
        let (in_memory, on_disk) = (count(&chunk.deleted), count(&on_disk.deleted));
        let kind = FaultKind::DeletedRows { row_count, in_memory, on_disk };
        let table = Some(version.def.name.clone());
        Some(Fault { table, chunk: Some(chunk.id), ..Fault::of_path(path, kind) })
    };
    version.chunks.iter().zip(chunks).filter_map(fault).collect()
}

/// The data files of a table, each with the bytes it should have. `next_chunk` is the number that the table's next chunk gets.
fn files_of(version: &TableVersion, next_chunk: u32) -> BTreeMap<DataFileId, ExpectedFile> {
    let has_dropped_columns = version.def.columns.len() < usize::from(version.def.next_column_id);
    let mut files = BTreeMap::new();
    for chunk in version.chunks.iter() {
        let Some(file) = &chunk.file else { continue };
        let (length, is_cut) = (DATA_FILE_HEADER_BYTES as u64, false);
        let file = files.entry(file.id()).or_insert_with(|| ExpectedFile { file: Arc::clone(file), length, is_cut });
        let end = chunk.segments.iter().filter_map(SegmentMeta::file_range).map(FileRange::end).max().unwrap_or(0);
        file.length = file.length.max(end);
        // The chunk behind it may have been in the file.
        let behind = ChunkId(chunk.id.0 + 1);
        file.is_cut = has_dropped_columns || behind.0 < next_chunk && version.chunk(behind).is_none();
    }
    files
}

struct ExpectedFile {
    file: Arc<DataFile>,
    length: u64,
    /// Whether bytes behind these may be of columns or chunks that have gone.
    is_cut: bool,
}

async fn check_file(
    shared: &StoreShared,
    version: &TableVersion,
    expected: &ExpectedFile,
    bytes_read: &mut u64,
) -> Vec<Fault> {
    let ExpectedFile { file, length, is_cut } = expected;
    let fault = |offset, kind| Fault {
        table: Some(version.def.name.clone()),
        column: None,
        chunk: None,
        file: file.path().to_owned(),
        offset,
        kind,
    };
    if file.is_missing() || !file.path().exists() {
        return vec![fault(None, FaultKind::Missing)];
    }
    let mut faults = Vec::new();
    let is_aligned = |bytes: u64| bytes.is_multiple_of(SEGMENT_ALIGN_BYTES as u64);
    match file.handle().len_bytes() {
        Ok(found) if found == *length => {}
        Ok(found) if *is_cut && found > *length && is_aligned(found) => {}
        Ok(found) => faults.push(fault(None, FaultKind::Length { expected: *length, found })),
        Err(error) => faults.push(fault(None, FaultKind::Read(error))),
    }
    match shared.device.read(file.handle(), 0, DATA_FILE_HEADER_BYTES, IoReason::Check).await {
        Ok(block) => {
            *bytes_read += block.len() as u64;
            let header: Result<(), HeaderFault> = verify_header(block.as_slice(), file.id(), version.def.id);
            faults.extend(header.err().map(|error| fault(Some(0), FaultKind::Header(error))));
        }
        Err(error) => faults.push(fault(Some(0), FaultKind::Read(error))),
    }
    faults
}

/// Bytes read, and what is wrong with the segment.
async fn check_segment(
    shared: Arc<StoreShared>,
    version: Arc<TableVersion>,
    chunk: Arc<ChunkMeta>,
    column: usize,
) -> (u64, Option<Fault>) {
    let meta = &chunk.segments[column];
    let fault = |kind| Fault {
        table: Some(version.def.name.clone()),
        column: Some(version.def.columns[column].name.clone()),
        chunk: Some(chunk.id),
        file: chunk.file.as_ref().map_or_else(|| shared.directory.manifest(), |file| file.path().to_owned()),
        offset: meta.file_range().map(|range| range.offset),
        kind,
    };
    let (stored, bytes) = match &meta.place {
        SegmentPlace::InMemory(segment) => (segment.bytes().clone(), 0),
        // Reported once, with the file.
        SegmentPlace::InFile(_) if chunk.data_file().is_missing() => return (0, None),
        SegmentPlace::InFile(range) => {
            let (offset, len) = (range.offset, range.stored_bytes as usize);
            match shared.device.read(chunk.data_file().handle(), offset, len, IoReason::Check).await {
                Ok(buffer) => (buffer.into_bytes(), len as u64),
                Err(error) => return (0, Some(fault(FaultKind::Read(error)))),
            }
        }
    };
    let (decoded_version, decoded_chunk) = (Arc::clone(&version), Arc::clone(&chunk));
    let decode = move || verify_segment(&decoded_version, &decoded_chunk, column, stored);
    let verified = tokio::task::spawn_blocking(decode);
    let verdict = verified.await.unwrap_or_else(|error| Err(FaultKind::Structure(error.to_string())));
    (bytes, verdict.err().map(fault))
}

fn verify_segment(version: &TableVersion, chunk: &ChunkMeta, column: usize, stored: Bytes) -> Result<(), FaultKind> {
    let meta = &chunk.segments[column];
    let column_type = meta.stored_type(version.def.columns[column].column_type);
    let bytes = stored.slice(..meta.segment_bytes as usize);
    let found = checksum(&bytes);
    if found != meta.checksum {
        return Err(FaultKind::Checksum { expected: meta.checksum, found });
    }
    if stored[bytes.len()..].iter().any(|&byte| byte != 0) {
        return Err(FaultKind::Padding);
    }
    let segment = Segment::open(bytes, column_type).map_err(|error| FaultKind::Structure(error.to_string()))?;
    let (expected, found) = (u64::from(chunk.row_count), segment.row_count() as u64);
    if expected != found {
        return Err(FaultKind::RowCount { expected, found });
    }
    let array = gather_all(&segment);
    let (expected, found) = (u64::from(chunk.row_count), array.len() as u64);
    if expected != found {
        return Err(FaultKind::RowCount { expected, found });
    }
    let (expected, found) = (u64::from(meta.zone_map.null_count), array.null_count() as u64);
    if expected != found {
        return Err(FaultKind::NullCount { expected, found });
    }
    bounds::verify(&array, column_type.physical(), &meta.zone_map)
}

/// Data files in the directory that neither the manifest names nor anything in this process is writing or reading.
fn find_orphans(shared: &StoreShared) -> Result<Vec<std::path::PathBuf>, StoreError> {
    let mut orphans = shared.directory.list_data_files()?;
    // Ids are alive before their files exist and after they are gone.
    orphans.retain(|id| !shared.directory.files_alive().contains(id));
    let paths = orphans.into_iter().map(|id| shared.directory.data_file(id));
    Ok(paths.filter(|path| path.exists()).collect())
}
