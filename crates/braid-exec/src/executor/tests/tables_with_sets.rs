//! Tables whose scans find the sets of the queries that want their rows, as those on disk do.

use std::fmt;

use super::memory_tables::Table;
use super::*;
use crate::query_sets::index::indexed_predicates::DictionarySets;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation, set_column};
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, SetFilter, StartedSource};
use crate::{Batch, SetNumber};

pub struct TableWithSets {
    table: Table,
    filters: Arc<[SetFilter]>,
}

impl TableWithSets {
    pub fn new(table: Table, filters: Vec<SetFilter>) -> Self {
        Self { table, filters: filters.into() }
    }
}

impl fmt::Debug for TableWithSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with sets by {:?}", self.table, self.filters.iter().map(|f| f.column).collect::<Vec<_>>())
    }
}

impl Source for TableWithSets {
    fn worker_count_max(&self) -> usize {
        self.table.worker_count_max()
    }

    fn start(&self, filters: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Started { table: self.table.start(filters), filters: self.filters.clone() })
    }

    fn describe(&self) -> String {
        self.table.describe()
    }
}

struct Started {
    table: Arc<dyn StartedSource>,
    filters: Arc<[SetFilter]>,
}

impl StartedSource for Started {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(FeedWithSets { feed: self.table.feed(), filters: self.filters.clone() })
    }
}

struct FeedWithSets {
    feed: Box<dyn Feed>,
    filters: Arc<[SetFilter]>,
}

impl Feed for FeedWithSets {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            let morsel = self.feed.next().await?;
            let filters = &self.filters;
            Ok(morsel.map(|morsel| Box::new(MorselWithSets { morsel, filters }) as Box<dyn Morsel + '_>))
        })
    }
}

struct MorselWithSets<'a> {
    morsel: Box<dyn Morsel + 'a>,
    filters: &'a [SetFilter],
}

impl Morsel for MorselWithSets<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        while let Some(mut batch) = self.morsel.next_batch()? {
            let mut sets = vec![SetNumber::ALL; batch.row_count()];
            for SetFilter { column, predicates } in self.filters {
                let found = predicates.sets_of(&batch.column(*column), &mut DictionarySets::default());
                let mut calculator = SetCalculator::new(predicates.store().clone());
                calculator.apply(SetOperation::Intersect, &mut sets, &found)?;
            }
            batch.retain(&sets.iter().map(|set| *set != SetNumber::EMPTY).collect::<Vec<_>>());
            sets.retain(|set| *set != SetNumber::EMPTY);
            if !sets.is_empty() {
                batch.push(Arc::new(set_column(&sets)));
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}
