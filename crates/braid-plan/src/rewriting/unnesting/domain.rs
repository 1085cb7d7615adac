//! The domain D: the values of outer columns for which the right side of a dependent join is computed.
//!
//! D = Π_{F(T2) ∩ A(T1)}(T1), without repetitions. It is computed of a copy of T1 if that is a plain scan, else T1 is a common table
//! expression that is read twice. A subquery that is evaluated for some rows of T1 only has the values of these rows. Values that SQL calls equal can differ (1.0 and 1.00); columns of such types are made distinct by a
//! number of the row of T1 instead, which then is a column of D, and each row of T1 has its own.

use std::collections::BTreeMap;

use braid_sql::Expression;
use braid_sql::SqlType;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{
    ColumnId, Columns, CteId, FrameBound, FrameExclusion, FrameMode, Relation, Rows, SortKey, WindowCall, WindowFrame,
    Windowing,
};

use super::Unnester;
use crate::rewriting::expressions::{column, filtered, has_volatile, replaced};
use crate::rewriting::identity_types::has_one_form;
use crate::rewriting::renumbering::copied;

/// The domain of a dependent join.
#[derive(Debug)]
pub(super) struct Domain {
    /// Its columns, as the left side calls them.
    pub outer: Vec<ColumnId>,
    /// The left side.
    left: Relation,
    /// Whether its rows are numbered.
    is_numbered: bool,
    /// A condition on the left side's rows, if it is computed of some only.
    guard: Option<Expression>,
    /// The left side as a common table expression, if it was read.
    cte: Option<CteId>,
    is_used: bool,
}

impl Domain {
    /// The domain of these columns of the left side. `is_row_wise`: whether each row counts, not each value. `guard`: a condition on the
    /// left side's rows, which never fails and is not volatile.
    pub fn new(
        left: &Relation,
        mut outer: Vec<ColumnId>,
        is_row_wise: bool,
        guard: Option<Expression>,
        unnester: &mut Unnester<'_>,
    ) -> Self {
        let is_numbered = is_row_wise || outer.iter().any(|column| !has_one_form(*column, unnester.columns));
        let left = match is_numbered {
            true => {
                let (left, number) = numbered(left.clone(), (Vec::new(), Vec::new()), "row_number", unnester.columns);
                outer.push(number);
                left
            }
            false => left.clone(),
        };
        Self { outer, left, is_numbered, guard, cte: None, is_used: false }
    }

    /// Whether each row of the left side counts.
    pub fn is_numbered(&self) -> bool {
        self.is_numbered
    }

    /// The domain once more, with its columns' new numbers.
    pub fn instance(&mut self, unnester: &mut Unnester<'_>) -> (Relation, Vec<ColumnId>) {
        self.is_used = true;
        if self.cte.is_none() && !self.is_numbered && is_scan(&self.left) && !has_volatile(&self.left) {
            let (copy, names) = copied(&self.left, unnester.columns, &mut unnester.ctes);
            let columns: Vec<ColumnId> = self.outer.iter().map(|column| names[column]).collect();
            let copy = self.guarded(copy, &names, unnester);
            return (Relation::Distinct { input: Box::new(copy), columns: columns.clone() }, columns);
        }
        let cte = *self.cte.get_or_insert_with(|| unnester.ctes.add());
        let all = self.left.columns();
        let names: Vec<ColumnId> = all.iter().map(|column| unnester.columns.add_like(*column)).collect();
        let position = |outer: &ColumnId| all.iter().position(|column| column == outer).expect("D is of the left side");
        let columns: Vec<ColumnId> = self.outer.iter().map(|outer| names[position(outer)]).collect();
        let by_name = all.iter().copied().zip(names.iter().copied()).collect();
        let scan = self.guarded(Relation::CteScan { cte, columns: names }, &by_name, unnester);
        match self.is_numbered {
            true => (scan, columns),
            false => (Relation::Distinct { input: Box::new(scan), columns: columns.clone() }, columns),
        }
    }

    /// The rows of the left side, called otherwise, for which the guard is true.
    fn guarded(&self, rows: Relation, names: &BTreeMap<ColumnId, ColumnId>, unnester: &Unnester<'_>) -> Relation {
        let Some(guard) = &self.guard else { return rows };
        let names = names.iter().map(|(own, name)| (*own, column(*name, unnester.columns))).collect();
        filtered(rows, vec![replaced(guard.clone(), &names)])
    }

    /// The left side of the join.
    pub fn left(&self) -> Relation {
        match self.cte {
            Some(cte) => Relation::CteScan { cte, columns: self.left.columns() },
            None => self.left.clone(),
        }
    }

    /// The join with what it reads.
    pub fn around(self, joined: Relation, unnester: &mut Unnester<'_>) -> Relation {
        let Some(cte) = self.cte else { return joined };
        let columns = self.left.columns();
        let (copy, names) = copied(&self.left, unnester.columns, &mut unnester.ctes);
        let columns = columns.iter().map(|column| names[column]).collect();
        let definition = Box::new(Rows { relation: copy, columns });
        Relation::With { cte, is_materialized: Some(true), definition, body: Box::new(joined) }
    }
}

/// Whether a relation is as cheap to compute twice as to keep.
fn is_scan(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow | Relation::Table(_) | Relation::Values { .. } | Relation::CteScan { .. } => true,
        Relation::Filter { input, condition } => {
            !crate::rewriting::expressions::has_subquery(condition) && is_scan(input)
        }
        _ => false,
    }
}

/// Rows with their `row_number()`, or another function without arguments, within a partition and in an order.
pub(super) fn numbered(
    input: Relation,
    (partition_by, order_by): (Vec<Expression>, Vec<SortKey>),
    function: &str,
    columns: &mut Columns,
) -> (Relation, ColumnId) {
    let entry = pg_catalog().functions_named(function).find(|entry| entry.arguments.is_empty());
    let sql_type = SqlType::of(TypeId::INT8);
    let call = WindowCall {
        function: entry.expect("the catalog has the functions of PostgreSQL").id,
        arguments: Vec::new(),
        argument_types: Vec::new(),
        sql_type,
        filter: None,
    };
    let frame = WindowFrame {
        mode: FrameMode::Range,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::CurrentRow,
        exclusion: FrameExclusion::NoOthers,
    };
    let number = columns.add(function, sql_type);
    let calls = vec![(number, call)];
    (Relation::Window(Box::new(Windowing { input, partition_by, order_by, frame, calls })), number)
}
