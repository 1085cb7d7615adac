//! Common table expressions: one that is read once is part of its reader, the others are made once and kept.
//!
//! The [rules](crate::rewriting) decide which definitions are copied into their readers; what comes here is to be computed once. A
//! definition that one scan reads, once, needs no keeping: the scan's operators get its rows directly, and so do key filters of joins
//! above it.
//!
//! A definition is computed when the first scan is reached. Below a union that may be after other rows were returned, so that its
//! arithmetic may not [overflow](super::forms).

use braid_exec::plan::{CteId as LoweredCte, Plan};
use braid_sql::SqlError;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, CteId, Relation, Rows};
use braid_sql::{Expression, SqlState};

use super::forms::Place;
use super::query::Lowering;
use super::relations::Input;
use crate::values::Form;

/// A common table expression, as its scans need it.
#[derive(Clone)]
pub(super) enum CommonTable {
    /// The definition of the only scan.
    Read(Rows),
    /// The forms of the columns that are kept.
    Kept(Vec<Form>),
}

impl Lowering<'_> {
    /// What reads a common table expression.
    pub(super) fn with_table(&self, cte: CteId, definition: &Rows, body: &Relation) -> Result<Input, SqlError> {
        let count = scan_count(body, cte);
        if count <= 1 {
            self.common_tables.borrow_mut().insert(cte, CommonTable::Read(definition.clone()));
            return self.relation(body);
        }
        let definition_plan =
            self.at_place(self.place_of_table(body), || self.with_scalars(&definition.relation, &definition.columns))?;
        let forms = definition.columns.iter().map(|column| self.form(*column)).collect();
        self.common_tables.borrow_mut().insert(cte, CommonTable::Kept(forms));
        let Input { plan, columns } = self.with_own_scalars(|| self.relation(body))?;
        let (definition, body) = (Box::new(definition_plan), Box::new(plan));
        Ok(Input { plan: Plan::With { cte: LoweredCte(cte.0), definition, body }, columns })
    }

    /// The rows of a common table expression, whose columns have these numbers here.
    pub(super) fn table_scan(&self, cte: CteId, columns: &[ColumnId]) -> Result<Input, SqlError> {
        let table = self.common_tables.borrow().get(&cte).cloned();
        let missing = || SqlError::new(SqlState::InternalError, format!("common table {} is not known here", cte.0));
        let (plan, forms) = match table.ok_or_else(missing)? {
            CommonTable::Read(definition) => {
                let plan = self.ordered_columns(&definition.relation, &definition.columns)?;
                (plan, definition.columns.iter().map(|column| self.form(*column)).collect())
            }
            CommonTable::Kept(forms) => (Plan::CteScan { cte: LoweredCte(cte.0), column_count: columns.len() }, forms),
        };
        columns.iter().zip(forms).for_each(|(column, form)| self.note_form(*column, form));
        Ok(Input { plan, columns: columns.to_vec() })
    }

    /// The place of a definition that this body reads. All of its rows are kept before a scan returns the first.
    fn place_of_table(&self, body: &Relation) -> Place {
        let place = self.place.get();
        if has_union(body) { place.united() } else { place.collected() }
    }
}

/// Whether a part of the relation's rows may be returned before another part is computed.
fn has_union(relation: &Relation) -> bool {
    matches!(relation, Relation::Union { .. } | Relation::Recursive(_)) || relation.inputs().into_iter().any(has_union)
}

/// How often a relation reads a common table expression, in its expressions, too. A scan in the step of a recursion reads it again and
/// again.
pub(super) fn scan_count(relation: &Relation, id: CteId) -> usize {
    let own = usize::from(matches!(relation, Relation::CteScan { cte, .. } if *cte == id));
    let of_expressions = relation.expressions().into_iter().map(|expression| scan_count_of_expression(expression, id));
    let repeated = match relation {
        Relation::Recursive(recursion) => scan_count(&recursion.step.relation, id),
        _ => 0,
    };
    let of_inputs = relation.inputs().into_iter().map(|input| scan_count(input, id));
    own + repeated + of_expressions.sum::<usize>() + of_inputs.sum::<usize>()
}

fn scan_count_of_expression(expression: &Expression, id: CteId) -> usize {
    let own = match &expression.node {
        Node::Subquery(subquery) => scan_count(&subquery.relation, id),
        _ => 0,
    };
    own + expression.operands().into_iter().map(|operand| scan_count_of_expression(operand, id)).sum::<usize>()
}
