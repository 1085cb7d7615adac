//! Common table expressions without the rows that none of their readers wants: a reader of the rows with `year = 2001` and one of those
//! with `year = 2002` need the rows with `year = 2001 OR year = 2002`.
//!
//! Needs: conditions right above the scans, where [filter pushdown](super::filter_pushdown) puts them, and tables that are read several
//! times in place, after [inlining](super::inlining). Keeps: the readers with their conditions. The alternatives go down in the definition
//! as far as they can, through unions, in whose branches constants decide some of them, and to the keys of groups.
//!
//! Every reader must have a condition on columns of the table only, without subqueries, that cannot fail. A definition that may fail stays
//! whole: it fails for a row that no one wants, too, as in PostgreSQL, which computes all rows of a definition that it does not inline. So
//! does one with volatile functions.

use std::collections::BTreeMap;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, CteId, Relation, Rows};

use super::Ruled;
use super::expressions::{
    Substitution, all_of, column, conjuncts, filtered, has_subquery, has_volatile, in_subquery_relations, is_volatile,
    replaced, truth, with_inputs,
};
use super::factoring::factored;
use super::failing::{may_fail, relation_may_fail};
use super::filter_pushdown::push_filters_down;

/// Most readers whose conditions are put together.
const READERS_MAX: usize = 64;

/// The relation with conditions on its common table expressions.
pub(super) fn restrict_common_tables(relation: Relation, columns: &mut Columns) -> Ruled {
    let mut restriction = Restriction { columns, readers: BTreeMap::new(), is_changed: false };
    let relation = restriction.restricted(relation);
    Ruled { relation, is_changed: restriction.is_changed }
}

struct Restriction<'c> {
    columns: &'c mut Columns,
    /// The readers of each common table expression that were met. All are met before the definition.
    readers: BTreeMap<CteId, Vec<Reader>>,
    is_changed: bool,
}

/// A scan of a common table expression.
struct Reader {
    columns: Vec<ColumnId>,
    /// The conditions on its rows that may be evaluated for all rows of the definition.
    conditions: Vec<Expression>,
}

impl Restriction<'_> {
    fn restricted(&mut self, mut relation: Relation) -> Relation {
        in_subquery_relations(&mut relation, &mut |subquery| self.restricted(subquery));
        match relation {
            Relation::With { cte, is_materialized, definition, body } => {
                let body = Box::new(self.restricted(*body));
                let definition = Box::new(self.definition(cte, *definition));
                Relation::With { cte, is_materialized, definition, body }
            }
            Relation::CteScan { cte, columns } => {
                self.note(cte, &columns, None);
                Relation::CteScan { cte, columns }
            }
            Relation::Filter { input, condition } => {
                let input = match *input {
                    Relation::CteScan { cte, columns } => {
                        self.note(cte, &columns, Some(&condition));
                        Relation::CteScan { cte, columns }
                    }
                    other => self.restricted(other),
                };
                Relation::Filter { input: Box::new(input), condition }
            }
            other => with_inputs(other, &mut |input| self.restricted(input)),
        }
    }

    fn note(&mut self, cte: CteId, columns: &[ColumnId], condition: Option<&Expression>) {
        let conditions = condition.cloned().map(conjuncts).unwrap_or_default().into_iter();
        let conditions = conditions.filter(|each| is_of_table(each, columns)).collect();
        self.readers.entry(cte).or_default().push(Reader { columns: columns.to_vec(), conditions });
    }

    /// A definition, all of whose readers were met.
    fn definition(&mut self, cte: CteId, definition: Rows) -> Rows {
        let Rows { mut relation, columns } = definition;
        let readers = self.readers.remove(&cte).unwrap_or_default();
        let wanted = self.wanted(&readers, &columns);
        if !wanted.is_empty() && !has_volatile(&relation) && !relation_may_fail(&relation) {
            self.is_changed = true;
            relation = push_filters_down(filtered(relation, wanted), self.columns);
        }
        Rows { relation: self.restricted(relation), columns }
    }

    /// The conditions of the rows of a definition that some reader wants; none if one of them wants all.
    fn wanted(&self, readers: &[Reader], columns: &[ColumnId]) -> Vec<Expression> {
        let wants_all = readers.iter().any(|reader| reader.conditions.is_empty());
        if wants_all || readers.is_empty() || readers.len() > READERS_MAX {
            return Vec::new();
        }
        let mut alternatives: Vec<Expression> = Vec::with_capacity(readers.len());
        for reader in readers {
            let names = reader.columns.iter().zip(columns);
            let names: Substitution = names.map(|(own, made)| (*own, column(*made, self.columns))).collect();
            let alternative = replaced(all_of(reader.conditions.clone()), &names);
            if !alternatives.contains(&alternative) {
                alternatives.push(alternative);
            }
        }
        match alternatives.len() {
            1 => alternatives.into_iter().flat_map(conjuncts).collect(),
            _ => factored(truth(Node::Or(alternatives))),
        }
    }
}

/// Whether a condition reads columns of the table, nothing else, and may be evaluated for any row.
fn is_of_table(condition: &Expression, columns: &[ColumnId]) -> bool {
    let read = condition.free_columns();
    !read.is_empty()
        && read.iter().all(|column| columns.contains(column))
        && !has_subquery(condition)
        && !is_volatile(condition)
        && !may_fail(condition)
}
