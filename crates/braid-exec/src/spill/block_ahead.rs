//! A block that is read from a file while its consumer still processes the previous one.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{BlockPlace, QuerySpill, SpillFile};
use crate::runtime::result_rows::ResultRows;
use crate::{ExecError, Reservation};

/// A block that is being read. Dropping it cancels the read.
// The read is a task, because a request that is scheduled but not polled would block all other requests.
pub(crate) struct BlockAhead(JoinSet<Result<ResultRows, ExecError>>);

impl BlockAhead {
    /// Starts a read, which waits until all of the file's blocks are written. The block's memory counts against the budget. If
    /// the budget refuses it, finished writes may free memory. The block is read in any case, because otherwise no worker
    /// could continue and free memory.
    pub(crate) fn begin(
        spill: &Arc<QuerySpill>,
        file: &Arc<SpillFile>,
        place: BlockPlace,
        operator: &'static str,
    ) -> Self {
        Self::read(spill, file, place, Reservation::new(spill.budget().clone(), operator))
    }

    /// As [`Self::begin`], for a block that no worker waits for yet. `None` if its memory is refused.
    pub(crate) fn begin_if_free(
        spill: &Arc<QuerySpill>,
        file: &Arc<SpillFile>,
        place: BlockPlace,
        operator: &'static str,
    ) -> Option<Self> {
        let mut reservation = Reservation::new(spill.budget().clone(), operator);
        reservation.resize(place.memory_bytes).is_ok().then(|| Self::read(spill, file, place, reservation))
    }

    fn read(spill: &Arc<QuerySpill>, file: &Arc<SpillFile>, place: BlockPlace, mut reservation: Reservation) -> Self {
        let (spill, file) = (spill.clone(), file.clone());
        let mut reading = JoinSet::new();
        reading.spawn(async move {
            if let Err(ExecError::Memory(_)) = reservation.resize(place.memory_bytes) {
                spill.until_all_written().await?;
                drop(reservation.resize(place.memory_bytes));
            }
            spill.until_written(&file).await?;
            let columns = spill.read(&file, place).await?;
            Ok(ResultRows::holding(place.row_count, columns, reservation))
        });
        Self(reading)
    }

    /// Its rows.
    ///
    /// # Errors
    /// When an earlier write failed, or the read fails.
    pub(crate) async fn rows(mut self) -> Result<ResultRows, ExecError> {
        let read = self.0.join_next().await.expect("a block is on its way");
        read.map_err(|error| ExecError::Foreign(Box::new(error)))?
    }
}
