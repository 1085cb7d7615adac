//! A block on its way from a file, while whoever asked for it still works on the one before.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{BlockPlace, QuerySpill, SpillFile};
use crate::runtime::result_rows::ResultRows;
use crate::{ExecError, Reservation};

/// A block that is being read. Dropping it ends that.
// A task, because a request that has its turn and is not polled would keep all others from theirs.
pub(crate) struct BlockAhead(JoinSet<Result<ResultRows, ExecError>>);

impl BlockAhead {
    /// Begins to read, as soon as all of the file's blocks are written. What a block takes is asked of the budget. When others
    /// have it, writes may give it back; without a block nobody could go on and give memory back, so it is read in any
    /// case.
    pub(crate) fn begin(
        spill: &Arc<QuerySpill>,
        file: &Arc<SpillFile>,
        place: BlockPlace,
        operator: &'static str,
    ) -> Self {
        Self::read(spill, file, place, Reservation::new(spill.budget().clone(), operator))
    }

    /// The same for a block that nobody waits for; `None` when there is no memory for it now.
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
    /// When an earlier write failed, or it cannot be read.
    pub(crate) async fn rows(mut self) -> Result<ResultRows, ExecError> {
        let read = self.0.join_next().await.expect("a block is on its way");
        read.map_err(|error| ExecError::Foreign(Box::new(error)))?
    }
}
