//! Scalar subqueries whose values depend on the query.
//!
//! The subqueries are shared plans, which run first. Then their values are known: one for all queries is a constant of the plan that reads
//! it, and one for each query is a parameter. That plan is therefore shared while the pass runs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use braid_storage::Scalar;

use super::{Shared, Sharing, common_value};
use crate::plan::shared_operator::{InputSharing, SharedOperator, SubqueryValue};
use crate::plan::{CteId, Plan};
use crate::sharing::query_conditions::{ParameterRow, PassParameters};
use crate::{ExecError, Expression, SetStore};

/// What the plan that reads the values needs to be shared.
struct ScalarSharing {
    store: Arc<SetStore>,
    rows: Vec<ParameterRow>,
    /// Whether the rows of each common table around it have sets.
    tables: HashMap<CteId, bool>,
}

/// Rows of a subquery that tell whether there are several.
const ROWS_WANTED: u64 = 2;

impl Sharing<'_> {
    pub(super) fn with_scalars(&self, subqueries: &[Plan], input: &Plan) -> Result<Shared, ExecError> {
        let subquery = |plan: &Plan| Ok(self.first_rows(self.plan(plan)?));
        let subqueries = subqueries.iter().map(subquery).collect::<Result<_, ExecError>>()?;
        let sharing = Arc::new(ScalarSharing {
            store: self.store().clone(),
            rows: self.parameters.rows.to_vec(),
            tables: self.tables.borrow().clone(),
        });
        Ok(self.shared(SharedOperator::Scalars { subqueries, input: input.clone(), sharing }))
    }

    /// The rows of a subquery that are needed, for each query.
    fn first_rows(&self, Shared { plan, set }: Shared) -> Plan {
        let Some(set) = set else { return plan };
        let (limit, sets) = (Some(ROWS_WANTED), self.set_column(set));
        Plan::Shared(Box::new(SharedOperator::Limit { input: plan, offset: 0, limit, sets }))
    }
}

impl InputSharing for ScalarSharing {
    fn store(&self) -> &Arc<SetStore> {
        &self.store
    }

    fn share(&self, input: &Plan, values: Vec<SubqueryValue>) -> Result<Plan, ExecError> {
        let mut rows = self.rows.clone();
        let values: Vec<Expression> = values.into_iter().map(|value| stands_for(value, &mut rows)).collect();
        let plan = input.bind_subquery_values(&values).bind_known(|parameter| common_value(&rows, parameter));
        let parameters = PassParameters { rows: &rows, store: &self.store };
        let sharing = Sharing { parameters, tables: RefCell::new(self.tables.clone()) };
        Ok(sharing.with_set(sharing.plan(&plan.with_filters_in_scans())?).plan)
    }
}

/// What stands for a value: a further parameter if each query has its own.
fn stands_for(value: SubqueryValue, rows: &mut [ParameterRow]) -> Expression {
    match value {
        SubqueryValue::OfAll(value) => value,
        SubqueryValue::OfEach(values) => {
            let parameter = rows[0].len();
            let add = |(row, value): (&mut ParameterRow, Option<Scalar>)| row.push(value);
            rows.iter_mut().zip(values).for_each(add);
            Expression::Parameter(parameter)
        }
    }
}

impl fmt::Debug for ScalarSharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScalarSharing").field("query_count", &self.rows.len()).finish_non_exhaustive()
    }
}
