//! Scalar subqueries whose values depend on the query of a pass: they run for all queries, before the plan that reads the values is shared.

use std::sync::Arc;

use braid_storage::Scalar;

use super::{Executor, Rows, Wanted};
use crate::plan::shared_operator::{InputSharing, SubqueryValue};
use crate::plan::{Plan, SortSpec};
use crate::query_sets::query_bitmap::queries_of;
use crate::query_sets::set_calculator::sets_of;
use crate::runtime::stop::Stop;
use crate::sorting::SortWorker;
use crate::{ExecError, QueryBitmap, SetStore};

impl Executor {
    pub(super) async fn shared_scalars(
        &self,
        subqueries: &[Plan],
        input: &Plan,
        sharing: &Arc<dyn InputSharing>,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut values = Vec::with_capacity(subqueries.len());
        for subquery in subqueries {
            values.push(match subquery.column_count() {
                1 => SubqueryValue::OfAll(self.scalar_or_error(subquery).await?),
                _ => SubqueryValue::OfEach(self.scalar_of_each(subquery, sharing.store()).await?),
            });
        }
        let shared = sharing.share(input, values)?;
        self.rows(&shared, wanted.apart()).await
    }

    /// The value of a subquery for each query. Queries with several rows fail.
    async fn scalar_of_each(&self, subquery: &Plan, store: &SetStore) -> Result<Vec<Option<Scalar>>, Stop> {
        let rows = self.rows(subquery, Wanted::columns(vec![true; 2])).await?;
        let no_order = Arc::new(SortSpec { keys: Vec::new(), limit: None });
        let workers = self.drain(rows, || SortWorker::new(no_order.clone(), self.budget.clone())).await?;
        let found = SortWorker::finish(workers, 2)?;
        let [values, sets] = found.columns() else { unreachable!("a subquery has a value and a set") };
        let mut of_queries = vec![None; store.query_count()];
        let mut has_value = QueryBitmap::none(store.query_count());
        let mut has_several = QueryBitmap::none(store.query_count());
        for (row, set) in sets_of(sets).into_iter().enumerate() {
            for query in queries_of(&store.words(set)) {
                if has_value.contains(query) {
                    has_several.insert(query);
                }
                has_value.insert(query);
                of_queries[query.index()] = values.value(row);
            }
        }
        if !has_several.is_empty() {
            store.gone().fail(has_several.words(), ExecError::SeveralRows);
        }
        Ok(of_queries)
    }
}
