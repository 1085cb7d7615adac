//! Common table expressions in place of their scans, by PostgreSQL's rule: those that are read once and not MATERIALIZED, and those that
//! are NOT MATERIALIZED. One that nothing reads goes. Recursive ones, and those with volatile functions, stay.
//!
//! Beyond PostgreSQL's rule, one that is read several times is copied if it is rows of a table, or constants, with no more than columns,
//! constants and comparisons of both. To keep such rows would copy the table. Its scan for each reader is a scan anyway, in which zone
//! maps, the reader's own conditions and key filters of its joins leave out rows, and which reads only the columns that this reader needs.
//! Groups, joins, sorts and functions are computed once.
//!
//! Needs: nothing; before [unnesting](super::unnesting), which makes common table expressions that are better kept. Keeps: the operators
//! of the definition, whose columns are called as those of the scan.

use std::collections::BTreeMap;

use braid_sql::Expression;
use braid_sql::expression::Node;
use braid_sql::relation::{ColumnId, Columns, CteId, Relation, Rows};

use super::expressions::{as_column, column, has_subquery, has_volatile, in_subquery_relations, mapped, with_inputs};
use super::failing::is_comparison;
use super::renumbering::{CteNumbers, copied, each_relation, renamed};

/// Most operators of all copies of definitions.
const COPIED_MAX: usize = 2_000;

/// Most operators above each other in a definition. Definitions that read one another would make a tree that is too deep for the stack.
const DEPTH_MAX: usize = 50;

/// The relation with fewer common table expressions.
pub(super) fn inline_common_tables(relation: Relation, columns: &mut Columns) -> Relation {
    let ctes = CteNumbers::after(&relation);
    let mut scans = BTreeMap::new();
    count_scans(&relation, &mut |cte| *scans.entry(cte).or_insert(0) += 1);
    if scans.is_empty() && !has_common_table(&relation) {
        return relation;
    }
    Inliner { columns, ctes, scans, copied: 0 }.inlined(relation)
}

struct Inliner<'c> {
    columns: &'c mut Columns,
    ctes: CteNumbers,
    /// How often each common table expression is read.
    scans: BTreeMap<CteId, usize>,
    /// Operators of copies so far.
    copied: usize,
}

impl Inliner<'_> {
    fn inlined(&mut self, mut relation: Relation) -> Relation {
        in_subquery_relations(&mut relation, &mut |subquery| self.inlined(subquery));
        match relation {
            Relation::With { cte, is_materialized, definition, body } => {
                let body = self.inlined(*body);
                if self.scans.get(&cte).is_none_or(|count| *count == 0) {
                    count_scans(&definition.relation, &mut |inner| {
                        self.scans.entry(inner).and_modify(|count| *count = count.saturating_sub(1));
                    });
                    return body;
                }
                let Rows { relation, columns } = *definition;
                let definition = Rows { relation: self.inlined(relation), columns };
                self.put(cte, is_materialized, definition, body)
            }
            other => with_inputs(other, &mut |input| self.inlined(input)),
        }
    }

    /// The body with the definition in place of its scans, or around it.
    fn put(&mut self, cte: CteId, is_materialized: Option<bool>, definition: Rows, mut body: Relation) -> Relation {
        let count = self.scans.get(&cte).copied().unwrap_or(0);
        let mut size = 0;
        each_relation(&definition.relation, &mut |_| size += 1);
        let copied = self.copied + size * count.saturating_sub(1);
        let is_wanted = match is_materialized {
            Some(true) => false,
            Some(false) => copied <= COPIED_MAX,
            None => count == 1 || is_scan(&definition.relation),
        };
        let stays = !is_wanted || depth(&definition.relation) > DEPTH_MAX || has_volatile(&definition.relation);
        if stays {
            return Relation::With { cte, is_materialized, definition: Box::new(definition), body: Box::new(body) };
        }
        self.copied = copied;
        let mut left = 0;
        count_scans(&body, &mut |scanned| left += usize::from(scanned == cte));
        // A subquery that is in several expressions has its definitions as often.
        self.scans.entry(cte).and_modify(|count| *count = count.saturating_sub(left));
        self.replace_scans(&mut body, cte, &mut left, &mut Some(definition));
        body
    }

    /// Replaces the scans, of which `left` are left. The last one gets the definition itself.
    fn replace_scans(&mut self, relation: &mut Relation, cte: CteId, left: &mut usize, definition: &mut Option<Rows>) {
        if let Relation::CteScan { cte: own, columns } = relation {
            if *own == cte
                && let Some(rows) = definition
            {
                *left = left.saturating_sub(1);
                let rows = match *left {
                    0 => definition.take(),
                    _ => Some(self.copy(rows)),
                };
                if let Some(rows) = rows {
                    *relation = self.named(rows, columns);
                }
            }
            return;
        }
        in_subquery_relations(relation, &mut |mut subquery| {
            self.replace_scans(&mut subquery, cte, left, definition);
            subquery
        });
        for input in relation.inputs_mut() {
            self.replace_scans(input, cte, left, definition);
        }
    }

    /// A definition with columns that no other operator makes.
    fn copy(&mut self, rows: &Rows) -> Rows {
        count_scans(&rows.relation, &mut |inner| {
            self.scans.entry(inner).and_modify(|count| *count += 1);
        });
        let (relation, names) = copied(&rows.relation, self.columns, &mut self.ctes);
        Rows { relation, columns: rows.columns.iter().map(|column| names[column]).collect() }
    }

    /// The definition with the columns of the scan. A column of it that the scan has twice is copied.
    fn named(&self, rows: Rows, scan: &[ColumnId]) -> Relation {
        let (mut names, mut copies) = (BTreeMap::new(), Vec::new());
        for (own, above) in rows.columns.iter().zip(scan) {
            match names.get(own) {
                None => {
                    names.insert(*own, *above);
                }
                Some(first) => copies.push((*above, column(*first, self.columns))),
            }
        }
        mapped(renamed(rows.relation, names), copies)
    }
}

/// Calls `each` for all scans of common table expressions, also in subqueries.
fn count_scans(relation: &Relation, each: &mut dyn FnMut(CteId)) {
    each_relation(relation, &mut |relation| {
        if let Relation::CteScan { cte, .. } = relation {
            each(*cte);
        }
    });
}

fn depth(relation: &Relation) -> usize {
    1 + relation.inputs().into_iter().map(depth).max().unwrap_or(0)
}

/// Whether a definition is a scan of a table or of constants, with conditions that compare columns with constants.
fn is_scan(relation: &Relation) -> bool {
    match relation {
        Relation::OneRow | Relation::Table(_) | Relation::Values { .. } => true,
        Relation::Filter { input, condition } => is_comparisons(condition) && is_scan(input),
        Relation::Map { input, expressions } => {
            expressions.iter().all(|(_, value)| as_column(value).is_some() || is_constant(value)) && is_scan(input)
        }
        _ => false,
    }
}

fn is_comparisons(condition: &Expression) -> bool {
    let is_one = match &condition.node {
        Node::Column(..) | Node::And(_) | Node::Or(_) | Node::Not(_) => true,
        _ => is_comparison(condition) || is_constant(condition),
    };
    is_one && condition.operands().into_iter().all(is_comparisons)
}

/// Whether an expression reads no row.
fn is_constant(expression: &Expression) -> bool {
    !has_subquery(expression) && expression.free_columns().is_empty()
}

fn has_common_table(relation: &Relation) -> bool {
    let mut has = false;
    each_relation(relation, &mut |relation| has |= matches!(relation, Relation::With { .. }));
    has
}
