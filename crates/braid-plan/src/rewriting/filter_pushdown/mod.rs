//! Filter pushdown: conditions are evaluated as early as they may be, and those on both sides of an inner join become its condition.
//!
//! Needs: nothing. Keeps: the other operators, in their order; the rows, and that nothing fails that did not fail before.
//!
//! A condition moves through an operator if the operator would drop or keep all rows that the condition is about. Rules:
//! 1. A volatile condition does not move.
//! 2. A condition that may fail is not evaluated for rows for which it was not evaluated before. So it does not move below a join that
//!    could drop the row, nor before another condition that stays: a guard in a WHERE guards. `AND` goes on behind a null, a filter above
//!    another one does not see the row; thus conditions that may fail are not put together with those of a lower filter.
//! 3. Below what makes equal values one (GROUP BY, DISTINCT, windows, INTERSECT) a condition moves only if it is the same for equal
//!    values: 1.0 and 1.00 are one group, and have different texts.
//! 4. A condition that is needed on several inputs is copied. One with a subquery is not.
//!
//! Of an OR over both sides of a join, what follows from it for one side alone moves there, too (TPC-H Q7 and Q19). So does what follows for
//! the keys of groups alone.
//!
//! | module | contents |
//! |---|---|
//! | [`conjunct`] | conditions on their way |
//! | [`joins`] | where they go at a join |

mod conjunct;
mod joins;

use std::collections::BTreeSet;

use braid_sql::Expression;
use braid_sql::relation::{Aggregation, ColumnId, Columns, Expansion, Recursion, Relation, Rows, Windowing};

use super::expressions::{Substitution, as_column, column, in_subqueries_of, in_subquery_relations, with_inputs};
use conjunct::{Conjunct, Passage, divided, with_filters};

/// Most copies of conditions for the inputs of a union.
const COPIES_MAX: usize = 10_000;

/// The relation with its conditions further down.
pub(super) fn push_filters_down(relation: Relation, columns: &mut Columns) -> Relation {
    Pushdown { columns, stages: 0 }.pushed(relation, Vec::new())
}

/// What pushing filters down needs.
struct Pushdown<'c> {
    columns: &'c Columns,
    /// Conditions so far.
    stages: usize,
}

impl Pushdown<'_> {
    /// The conjuncts of a condition that is met.
    fn conjuncts(&mut self, condition: Expression) -> Vec<Conjunct> {
        self.stages += 1;
        Conjunct::all(condition, self.stages)
    }

    /// The rows of a relation for which all conjuncts are true.
    fn pushed(&mut self, mut relation: Relation, above: Vec<Conjunct>) -> Relation {
        if !matches!(relation, Relation::Filter { .. }) {
            in_subquery_relations(&mut relation, &mut |subquery| self.pushed(subquery, Vec::new()));
        }
        match relation {
            Relation::Filter { input, mut condition } => {
                in_subqueries_of(&mut condition, &mut |subquery| {
                    let relation = std::mem::replace(&mut subquery.relation, Relation::OneRow);
                    subquery.relation = self.pushed(relation, Vec::new());
                });
                let mut conjuncts = self.conjuncts(condition);
                conjuncts.extend(above);
                self.pushed(*input, conjuncts)
            }
            Relation::Map { input, expressions } => {
                let made = substitution(&expressions, &above);
                let (down, stay) = divided(above, |conjunct| {
                    let reads_made = conjunct.columns.iter().any(|column| made.contains_key(column));
                    if reads_made { conjunct.replaced(&made).into() } else { Passage::Same }
                });
                let input = Box::new(self.pushed(*input, down));
                with_filters(Relation::Map { input, expressions }, stay)
            }
            Relation::Join { kind, left, right, condition } => self.join(kind, (*left, *right), condition, above),
            Relation::Sort { input, keys } => {
                let (down, stay) = divided(above, |_| Passage::Same);
                let input = Box::new(self.pushed(*input, down));
                with_filters(Relation::Sort { input, keys }, stay)
            }
            Relation::Aggregate(aggregation) => self.aggregate(*aggregation, above),
            Relation::Window(windowing) => {
                let keys: BTreeSet<ColumnId> = windowing.partition_by.iter().filter_map(as_column).collect();
                let (down, stay) = self.of_keys(above, &keys);
                let input = self.pushed(windowing.input, down);
                with_filters(Relation::Window(Box::new(Windowing { input, ..*windowing })), stay)
            }
            Relation::DistinctOn { input, keys } => {
                let own: BTreeSet<ColumnId> = keys.iter().filter_map(as_column).collect();
                let (down, stay) = self.of_keys(above, &own);
                let input = Box::new(self.pushed(*input, down));
                with_filters(Relation::DistinctOn { input, keys }, stay)
            }
            Relation::Distinct { input, columns } => {
                let (down, stay) = self.of_keys(above, &columns.iter().copied().collect());
                let input = Box::new(self.pushed(*input, down));
                with_filters(Relation::Distinct { input, columns }, stay)
            }
            Relation::Expand(expansion) => {
                let made: BTreeSet<ColumnId> =
                    expansion.functions.iter().flat_map(|function| function.columns().to_vec()).collect();
                // A row may have no row of the functions.
                let (down, stay) = divided(above, |conjunct| {
                    let reads_made = conjunct.columns.iter().any(|column| made.contains(column))
                        || expansion.ordinality.is_some_and(|number| conjunct.columns.contains(&number));
                    Passage::if_passes(!conjunct.may_fail && !reads_made)
                });
                let Expansion { input, functions, ordinality } = *expansion;
                let input = self.pushed(input, down);
                with_filters(Relation::Expand(Box::new(Expansion { input, functions, ordinality })), stay)
            }
            Relation::Union { inputs, columns } => self.union(inputs, columns, above),
            Relation::SetOperation { operator, is_all, left, right, columns } => {
                let can_pass =
                    |each: &Conjunct| !each.may_fail && !each.has_subquery && each.respects_equality(self.columns);
                let (down, stay) = divided(above, |each| Passage::if_passes(can_pass(each)));
                let left = Box::new(self.rows(*left, &columns, &down));
                let right = Box::new(self.rows(*right, &columns, &down));
                with_filters(Relation::SetOperation { operator, is_all, left, right, columns }, stay)
            }
            Relation::With { cte, is_materialized, definition, body } => {
                let Rows { relation, columns } = *definition;
                let definition = Box::new(Rows { relation: self.pushed(relation, Vec::new()), columns });
                let body = Box::new(self.pushed(*body, above));
                Relation::With { cte, is_materialized, definition, body }
            }
            Relation::Recursive(recursion) => {
                let Recursion { cte, is_distinct, mut start, mut step, body } = *recursion;
                for rows in [&mut start, &mut step] {
                    rows.relation = self.pushed(std::mem::replace(&mut rows.relation, Relation::OneRow), Vec::new());
                }
                let body = self.pushed(body, above);
                Relation::Recursive(Box::new(Recursion { cte, is_distinct, start, step, body }))
            }
            Relation::OneRow
            | Relation::Table(_)
            | Relation::Values { .. }
            | Relation::Limit { .. }
            | Relation::CteScan { .. } => {
                let below = with_inputs(relation, &mut |input| self.pushed(input, Vec::new()));
                with_filters(below, above)
            }
        }
    }

    /// Conjuncts that pass an operator which keeps all rows that are equal in its keys or none, and those that stay.
    fn of_keys(&self, above: Vec<Conjunct>, keys: &BTreeSet<ColumnId>) -> (Vec<Conjunct>, Vec<Conjunct>) {
        divided(above, |conjunct| {
            let is_of_keys = !conjunct.columns.is_empty() && conjunct.columns.is_subset(keys);
            Passage::if_passes(is_of_keys && conjunct.respects_equality(self.columns))
        })
    }

    /// Conditions on keys that are in all grouping sets drop whole groups, and so does what follows from others for these keys.
    fn aggregate(&mut self, aggregation: Aggregation, above: Vec<Conjunct>) -> Relation {
        let is_in_all_sets = |at: usize| aggregation.sets.iter().all(|set| set.contains(&at));
        let keys = aggregation.keys.iter().enumerate().filter(|(at, _)| is_in_all_sets(*at)).map(|(_, key)| key);
        let keys = substitution(keys, &above);
        let of_keys = |conjunct: &Conjunct| {
            let is_of_keys =
                !conjunct.columns.is_empty() && conjunct.columns.iter().all(|column| keys.contains_key(column));
            (is_of_keys && conjunct.respects_equality(self.columns)).then(|| conjunct.replaced(&keys)).flatten()
        };
        let (mut down, stay) = divided(above, |conjunct| of_keys(conjunct).into());
        let consequences = stay.iter().filter_map(|each| each.consequence(&|column| keys.contains_key(&column)));
        down.extend(consequences.filter_map(|each| of_keys(&each)));
        let input = self.pushed(aggregation.input, down);
        with_filters(Relation::Aggregate(Box::new(Aggregation { input, ..aggregation })), stay)
    }

    /// Every input has its copies.
    fn union(&mut self, inputs: Vec<Rows>, columns: Vec<ColumnId>, above: Vec<Conjunct>) -> Relation {
        let is_small = above.len().saturating_mul(inputs.len()) <= COPIES_MAX;
        let can_pass = |each: &Conjunct| is_small && !each.has_subquery;
        let (down, stay) = divided(above, |each| Passage::if_passes(can_pass(each)));
        let inputs = inputs.into_iter().map(|input| self.rows(input, &columns, &down)).collect();
        with_filters(Relation::Union { inputs, columns }, stay)
    }

    /// An input with copies of conjuncts on the columns above.
    fn rows(&mut self, rows: Rows, above: &[ColumnId], conjuncts: &[Conjunct]) -> Rows {
        let names = self.names(&rows, above);
        let own = conjuncts.iter().map(|each| each.renamed(&names)).collect();
        let Rows { relation, columns } = rows;
        Rows { relation: self.pushed(relation, own), columns }
    }

    /// The columns of an input for the columns above.
    fn names(&self, rows: &Rows, above: &[ColumnId]) -> Substitution {
        let pairs = above.iter().zip(&rows.columns);
        pairs.map(|(above, own)| (*above, column(*own, self.columns))).collect()
    }
}

/// What stands for the columns that an operator makes, for the conjuncts above it.
fn substitution<'e>(made: impl IntoIterator<Item = &'e (ColumnId, Expression)>, above: &[Conjunct]) -> Substitution {
    match above.is_empty() {
        true => Substitution::new(),
        false => made.into_iter().cloned().collect(),
    }
}
