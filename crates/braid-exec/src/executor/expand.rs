//! Rows for grouping sets.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::plan::Plan;
use crate::runtime::expand::{ColumnLists, Expand};
use crate::runtime::stop::Stop;

impl Executor {
    pub(super) async fn expand(&self, input: &Plan, lists: &ColumnLists, wanted: Wanted) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        for list in lists.iter() {
            let needed = list.iter().zip(&wanted.columns).filter(|(_, needed)| **needed);
            needed.filter_map(|(column, _)| *column).for_each(|column| read[column] = true);
        }
        // A filter drops rows of all lists, if the column is the same in all.
        let origin = |at: usize| {
            let column = *lists.first()?.get(at)?;
            lists.iter().all(|list| list[at] == column).then_some(column).flatten()
        };
        let mut rows = self.rows(input, wanted.of_input(read, origin)).await?;
        let (lists, needed): (_, Arc<[bool]>) = (lists.clone(), wanted.columns.into());
        let column_count = needed.len();
        rows.push(Arc::new(move || Box::new(Expand::new(lists.clone(), needed.clone()))), column_count);
        Ok(rows)
    }
}
