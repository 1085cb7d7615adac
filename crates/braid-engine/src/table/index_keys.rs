//! The keys of indexes of expressions and of indexes with a condition, computed of rows for the store.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Weak};

use arrow::array::{ArrayRef, BooleanArray, new_null_array};
use arrow::datatypes::DataType;
use braid_plan::values::counted_values::counted_array_of;
use braid_sql::Value;
use braid_storage::{ComputedKeys, KeyEvaluator, KeyForm, MemberSource, TableDef};

use crate::front_end::{IndexExpression, IndexRole};
use crate::statement_context::StatementContext;
use crate::stored_row::stored_array;
use crate::{Database, EngineError};

/// No session has this number.
const NO_SESSION: i32 = 0;

/// Computes the keys of a database's indexes.
pub(crate) struct IndexKeys(Weak<Database>);

impl IndexKeys {
    /// Those of a database.
    pub fn of(database: &Arc<Database>) -> Self {
        Self(Arc::downgrade(database))
    }
}

impl fmt::Debug for IndexKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IndexKeys").finish_non_exhaustive()
    }
}

impl KeyEvaluator for IndexKeys {
    fn evaluate(
        &self,
        def: &TableDef,
        form: &KeyForm,
        columns: &[(usize, ArrayRef)],
        rows: (usize, &dyn Fn(usize) -> bool),
    ) -> Result<ComputedKeys, Box<dyn Error + Send + Sync>> {
        let database = self.0.upgrade().ok_or("the database is closed")?;
        // What an index is of is the same in all sessions.
        let context = StatementContext::new(database, "", NO_SESSION);
        Ok(computed(&context, (def, form), columns, rows)?)
    }
}

fn computed(
    context: &StatementContext,
    (def, form): (&TableDef, &KeyForm),
    columns: &[(usize, ArrayRef)],
    (row_count, is_needed): (usize, &dyn Fn(usize) -> bool),
) -> Result<ComputedKeys, EngineError> {
    let def = Arc::new(def.clone());
    let mut places: Vec<ArrayRef> = vec![new_null_array(&DataType::Null, 0); def.columns.len()];
    columns.iter().for_each(|(at, array)| places[*at] = Arc::clone(array));
    let budget = context.value_budget();
    let mut has_row = vec![true; row_count];
    if let Some(text) = &form.condition {
        let condition = IndexExpression::bind(context, &def, IndexRole::Condition, text)?;
        let values = condition.values(&places, (&mut has_row, is_needed), &budget)?;
        has_row.iter_mut().zip(&values).for_each(|(has_row, value)| *has_row &= *value == Value::Bool(true));
    }
    // An expression may fail in rows that the index does not have.
    let mut member = |source: &MemberSource| match source {
        MemberSource::Column(id) => {
            let at = def.position(*id).ok_or_else(|| EngineError::internal("an index of a column that is gone"))?;
            Ok(places[at].clone())
        }
        MemberSource::Expression { text, column_type, .. } => {
            let expression = IndexExpression::bind(context, &def, IndexRole::Member, text)?;
            let values = expression.values(&places, (&mut has_row, is_needed), &budget)?;
            let bytes = values.iter().map(Value::heap_bytes).sum();
            Ok(counted_array_of(bytes, &budget, || stored_array(&values, *column_type))?)
        }
    };
    let members = form.members.iter().map(|known| member(&known.source)).collect::<Result<_, EngineError>>()?;
    Ok(ComputedKeys { members, has_row: Some(BooleanArray::from(has_row)) })
}
