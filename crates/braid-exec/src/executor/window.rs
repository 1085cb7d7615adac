//! Window functions: partitions are divided among the workers; without partitions, all workers sort, and one evaluates.

use std::sync::Arc;

use super::sort::SortInput;
use super::{Executor, Rows, Wanted, place_among};
use crate::plan::{Plan, SetColumn, SortSpec, WindowSpec};
use crate::runtime::stop::Stop;
use crate::spill::OperatorMemory;
use crate::windows::{HashedPartitions, Part, PartitionSink, WindowRun, WindowSource, sort_keys};

/// A worker keeps this share of the rows of a run together before it divides them.
const FEW_ROWS_SHARE: usize = 8;

impl Executor {
    /// The functions over the rows of one query, or of each query of a pass, whose rows have sets.
    pub(super) async fn window(
        &self,
        input: &Plan,
        spec: &WindowSpec,
        sets: Option<&SetColumn>,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let width = input.column_count();
        let mut spec = spec.clone();
        let (own, of_calls) = wanted.columns.split_at(width);
        let mut needed = of_calls.iter();
        spec.calls.retain(|_| needed.next().is_some_and(|needed| *needed));
        let mut read = own.to_vec();
        sets.iter().for_each(|sets| read[sets.column] = true);
        spec.columns().for_each(|column| read[column] = true);
        // A filter on the keys of partitions drops whole partitions.
        let below = wanted.of_input(read.clone(), |column| spec.partition_by.contains(&column).then_some(column));
        let mut rows = self.rows(input, below).await?;
        let kept: Vec<usize> = (0..width).filter(|column| read[*column]).collect();
        rows.relayout(kept.iter().copied().map(Some).collect());
        let spec = Arc::new(spec.moved(|column| place_among(&kept, column).expect("its columns are read")));
        // Without functions a row comes once for all its queries.
        let sets = sets.filter(|_| !spec.calls.is_empty()).map(|sets| SetColumn {
            store: sets.store.clone(),
            column: place_among(&kept, sets.column).expect("sets are read"),
        });
        let mut results = kept.len()..;
        let positions = (0..width)
            .map(|column| place_among(&kept, column))
            .chain(of_calls.iter().map(|needed| if *needed { results.next() } else { None }));
        let positions = positions.collect();
        let mut rows = self.windowed(rows, spec, sets, kept.len()).await?;
        rows.relayout(positions);
        Ok(rows)
    }

    /// The rows with the results of all calls.
    async fn windowed(
        &self,
        rows: Rows,
        spec: Arc<WindowSpec>,
        sets: Option<SetColumn>,
        width: usize,
    ) -> Result<Rows, Stop> {
        let column_count = width + spec.calls.len();
        let in_order = spec.partition_by.is_empty();
        let parts = match in_order {
            true => {
                let sort = Arc::new(SortSpec { keys: sort_keys(&spec), limit: None });
                let input = SortInput { rows, kept: (0..width).collect(), spec: sort };
                vec![Part::Sorted(self.sorted_runs(input).await?)]
            }
            false => self.hashed_partitions(rows, &spec, width).await?,
        };
        let run = WindowRun {
            spec,
            sets,
            budget: self.budget.clone(),
            spill: self.spill.clone(),
            worker_count: self.worker_count,
            tuning: self.tuning.sorting,
            cancelled: self.cancelled.clone(),
        };
        let source = WindowSource::new(parts, run);
        let mut rows = self.of_source(Arc::new(source), column_count, &Wanted::columns(Vec::new()));
        rows.in_order = in_order;
        Ok(rows)
    }

    /// The rows divided by the hash of their partitions' keys.
    async fn hashed_partitions(&self, rows: Rows, spec: &WindowSpec, width: usize) -> Result<Vec<Part>, Stop> {
        let spill = self.spill.clone().map(|spill| {
            let memory = OperatorMemory::new(&spill, self.worker_count);
            (spill, memory)
        });
        let partitions = Arc::new(HashedPartitions::new(width, spill, self.budget.clone()));
        let few_rows_max = self.tuning.sorting.run_rows / FEW_ROWS_SHARE;
        let sinks = self.drain(rows, || PartitionSink::new(&partitions, spec, few_rows_max)).await?;
        Ok(partitions.parts(sinks)?)
    }
}
