//! A data file: an immutable file of column segments. Its bytes are described in [`crate::data_file_header`].
//!
//! Life of a file: it is created doomed, so that it is deleted when its writer ends without a commit; the commit that names it in
//! a manifest spares it; the commit that no longer names it dooms it again. A doomed file is deleted with the last
//! reference, that is, when the last scan of the last table version that has it is over. If the process dies first,
//! the next open deletes it, because no manifest names it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_base::TableId;
use braid_io::{FileHandle, IoError, OpenMode};

use crate::data_directory::DataDirectory;
use crate::data_file_header::DataFileId;

/// An open file of segments that is deleted with its last reference once no manifest names it.
pub struct DataFile {
    id: DataFileId,
    table: TableId,
    handle: FileHandle,
    directory: Arc<DataDirectory>,
    doomed: AtomicBool,
    missing: bool,
}

/// Where a data file's handle comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It was created just now.
    Created,
    /// The manifest names it.
    Named,
    /// The manifest names it and the directory lacks it: the handle is of an empty file without a name.
    Missing,
}

impl DataFile {
    /// Creates the file; it is doomed until [`Self::spare`]. Blocks for as long as the file system takes.
    pub(crate) fn create(directory: &Arc<DataDirectory>, id: DataFileId, table: TableId) -> Result<Arc<Self>, IoError> {
        directory.files_alive().insert(id);
        match directory.open_data_file(id, OpenMode::Create) {
            Ok(handle) => Ok(Self::with_handle(directory, id, table, handle, Origin::Created)),
            Err(error) => {
                directory.files_alive().remove(&id);
                Err(error)
            }
        }
    }

    /// Opens a file that the manifest names. One that is missing does not keep the other tables from being read: an
    /// empty file of its name, which is nowhere in the directory, takes its place, and reads of it are short.
    pub(crate) fn open(directory: &Arc<DataDirectory>, id: DataFileId, table: TableId) -> Result<Arc<Self>, IoError> {
        let path = directory.data_file(id);
        if path.exists() {
            let handle = directory.open_data_file(id, OpenMode::Read)?;
            return Ok(Self::with_handle(directory, id, table, handle, Origin::Named));
        }
        tracing::error!(file = %path.display(), table = %table, "a data file is missing; reads of it will fail");
        let handle = directory.open_data_file(id, OpenMode::Create)?;
        directory.remove(&path);
        Ok(Self::with_handle(directory, id, table, handle, Origin::Missing))
    }

    fn with_handle(
        directory: &Arc<DataDirectory>,
        id: DataFileId,
        table: TableId,
        handle: FileHandle,
        origin: Origin,
    ) -> Arc<Self> {
        directory.files_alive().insert(id);
        let directory = Arc::clone(directory);
        let doomed = AtomicBool::new(origin == Origin::Created);
        Arc::new(Self { id, table, handle, directory, doomed, missing: origin == Origin::Missing })
    }

    /// The open file.
    pub fn handle(&self) -> &FileHandle {
        &self.handle
    }

    /// Identity within the data directory.
    pub fn id(&self) -> DataFileId {
        self.id
    }

    /// The table whose rows it holds.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        self.handle.path()
    }

    /// Whether the manifest names it and the directory lacks it.
    pub(crate) fn is_missing(&self) -> bool {
        self.missing
    }

    /// Lets the file outlive its last reference: a manifest is about to name it.
    pub(crate) fn spare(&self) {
        self.doomed.store(false, Ordering::Release);
    }

    /// Deletes the file with its last reference: no manifest names it any more.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }
}

impl Drop for DataFile {
    fn drop(&mut self) {
        if self.doomed.load(Ordering::Acquire) && !self.missing {
            self.directory.remove(self.handle.path());
        }
        self.directory.files_alive().remove(&self.id);
    }
}

impl fmt::Debug for DataFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFile")
            .field("path", &self.path())
            .field("doomed", &self.doomed.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}
