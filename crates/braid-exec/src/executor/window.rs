//! Window functions: rows are sorted by their partitions and the order within these.

use std::sync::Arc;

use super::sort::SortInput;
use super::{Executor, Rows, Wanted, place_among};
use crate::plan::{Plan, SortSpec, WindowSpec};
use crate::runtime::stop::Stop;
use crate::windows::{Part, WindowSource, sort_keys};

impl Executor {
    pub(super) async fn window(&self, input: &Plan, spec: &WindowSpec, wanted: Wanted) -> Result<Rows, Stop> {
        let width = input.column_count();
        let mut spec = spec.clone();
        let (own, of_calls) = wanted.columns.split_at(width);
        let mut needed = of_calls.iter();
        spec.calls.retain(|_| needed.next().is_some_and(|needed| *needed));
        let mut read = own.to_vec();
        spec.columns().for_each(|column| read[column] = true);
        // A filter on the keys of partitions drops whole partitions.
        let below = wanted.of_input(read.clone(), |column| spec.partition_by.contains(&column).then_some(column));
        let mut rows = self.rows(input, below).await?;
        let kept: Vec<usize> = (0..width).filter(|column| read[*column]).collect();
        rows.relayout(kept.iter().copied().map(Some).collect());
        let spec = Arc::new(spec.moved(|column| place_among(&kept, column).expect("its columns are read")));
        let mut results = kept.len()..;
        let positions = (0..width)
            .map(|column| place_among(&kept, column))
            .chain(of_calls.iter().map(|needed| if *needed { results.next() } else { None }));
        let positions = positions.collect();
        let mut rows = self.windowed(rows, spec, kept.len()).await?;
        rows.relayout(positions);
        Ok(rows)
    }

    /// The rows with the results of all calls.
    async fn windowed(&self, rows: Rows, spec: Arc<WindowSpec>, width: usize) -> Result<Rows, Stop> {
        let column_count = width + spec.calls.len();
        let sort = Arc::new(SortSpec { keys: sort_keys(&spec), limit: None });
        let runs = self.sorted_runs(SortInput { rows, kept: (0..width).collect(), spec: sort }).await?;
        let in_order = spec.partition_by.is_empty();
        let source = WindowSource::new(vec![Part::Sorted(runs)], spec, self.budget.clone(), self.cancelled.clone());
        let mut rows = self.of_source(Arc::new(source), column_count, &Wanted::columns(Vec::new()));
        rows.in_order = in_order;
        Ok(rows)
    }
}
