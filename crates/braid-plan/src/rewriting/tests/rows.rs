//! Each rule, and all rules together, keep the rows of all forms over random data, and fail for none that did not fail before.

use braid_sql::relation::{ColumnId, Columns, Query, Relation};
use braid_sql::testing::FixedSession;
use braid_sql::testing::naive::{TableRows, rows_of};

use super::forms::FORMS;
use super::{SmallTables, bound};
use crate::rewriting::renumbering::each_relation;
use crate::rewriting::unnesting::tests::{ARRAYS, FORMS as NESTED_FORMS};
use crate::rewriting::{
    array_subqueries, cross_joins, derived_constants, empties, factoring, filter_pushdown, folding, inlining,
    invariants, orders, outer_joins, pruning, restricted_tables, rewrite,
};

/// A rule, which may know the results of the query.
pub(super) type Rule = fn(Relation, &[ColumnId], &mut Columns) -> Relation;

/// All rules by name.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("inlining", |relation, _, columns| inlining::inline_common_tables(relation, columns)),
    ("folding", |relation, _, _| folding::fold_constants(relation, &FixedSession).relation),
    ("array_subqueries", |relation, _, columns| array_subqueries::aggregate_arrays(relation, columns)),
    ("factoring", |relation, _, _| factoring::factor_disjunctions(relation)),
    ("outer_joins", |relation, _, columns| outer_joins::simplify_outer_joins(relation, columns)),
    ("derived_constants", |relation, _, columns| derived_constants::derive_constants(relation, columns).relation),
    ("filter_pushdown", |relation, _, columns| filter_pushdown::push_filters_down(relation, columns)),
    ("restricted_tables", |relation, _, columns| {
        let pushed = filter_pushdown::push_filters_down(relation, columns);
        restricted_tables::restrict_common_tables(pushed, columns).relation
    }),
    ("cross_joins", |relation, _, _| cross_joins::avoid_cross_joins(relation)),
    ("invariants", |relation, _, columns| invariants::move_invariants(relation, columns)),
    ("pruning", |relation, outputs, _| pruning::prune_columns(relation, outputs, &Default::default())),
    ("orders", |relation, _, columns| orders::remove_orders(relation, columns)),
    ("empties", |relation, _, columns| {
        let folded = folding::fold_constants(relation, &FixedSession).relation;
        empties::remove_empty_inputs(folded, columns)
    }),
    ("pushed and connected", |relation, _, columns| {
        let pushed = filter_pushdown::push_filters_down(relation, columns);
        cross_joins::avoid_cross_joins(pushed)
    }),
    ("all", |relation, outputs, columns| rewrite(relation, outputs, columns, &FixedSession)),
];

/// Random databases on which a form is tried.
const SEEDS: u64 = 8;

/// The rows as texts in any order; `None` for an error.
fn answer(query: &Query, columns: &Columns, tables: &dyn TableRows) -> Option<Vec<String>> {
    let rows = rows_of(query, columns, (&FixedSession, &[]), tables).ok()?;
    let mut texts: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
    texts.sort();
    Some(texts)
}

/// A query after a rule.
struct Rewritten {
    rule: String,
    query: Query,
    columns: Columns,
}

fn rewritten(sql: &str, query: &Query, columns: &Columns, (name, rule): (&str, Rule)) -> Rewritten {
    let outputs: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    let mut columns = columns.clone();
    let relation = rule(query.relation.clone(), &outputs, &mut columns);
    check_columns(sql, name, &relation, &columns);
    Rewritten { rule: name.to_owned(), query: Query { relation, outputs: query.outputs.clone() }, columns }
}

impl Rewritten {
    fn check(&self, sql: &str, before: &[String], tables: &dyn TableRows) {
        let after = answer(&self.query, &self.columns, tables);
        let plan = || self.query.relation.text(&self.columns, &FixedSession);
        assert_eq!(Some(before), after.as_deref(), "{}: {sql}\n{}\n{tables:?}", self.rule, plan());
    }
}

/// Asserts that a query has the same rows after each of these rules, over the data of some seeds. How often it had rows or none, and did not
/// fail.
pub(super) fn check_form(sql: &str, rules: &[(&str, Rule)], seeds: u64) -> usize {
    let (query, columns) = bound(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let rewritten: Vec<Rewritten> = rules.iter().map(|rule| rewritten(sql, &query, &columns, *rule)).collect();
    let mut answers = 0;
    for seed in 0..seeds {
        let tables = SmallTables::random(seed);
        let Some(before) = answer(&query, &columns, &tables) else { continue };
        answers += 1;
        rewritten.iter().for_each(|rewritten| rewritten.check(sql, &before, &tables));
    }
    answers
}

/// The same for all rules and one database; whether the query does not fail.
pub(super) fn check_bound(sql: &str, query: &Query, columns: &Columns, tables: &dyn TableRows) -> bool {
    let Some(before) = answer(query, columns, tables) else { return false };
    RULES.iter().for_each(|rule| rewritten(sql, query, columns, *rule).check(sql, &before, tables));
    true
}

/// No column is made by two operators, and none is read that no operator makes.
fn check_columns(sql: &str, name: &str, relation: &Relation, columns: &Columns) {
    let text = || relation.text(columns, &FixedSession);
    let free = relation.free_columns();
    assert!(free.is_empty(), "{name}: {sql}: {free:?} is free\n{}", text());
    let is_rewritten = name == "all";
    let mut made = std::collections::BTreeSet::new();
    each_relation(relation, &mut |operator| {
        for column in operator.made_columns() {
            assert!(made.insert(column) || !is_rewritten, "{name}: {sql}: {column} is made twice\n{}", text());
        }
    });
}

fn check_all(forms: &[&str], rules: &[(&str, Rule)]) {
    let fails = |sql: &&&str| std::panic::catch_unwind(|| check_form(sql, rules, SEEDS)).is_err();
    let failed: Vec<_> = forms.iter().filter(fails).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn every_rule_keeps_the_rows_of_all_forms() {
    check_all(FORMS, RULES);
}

#[test]
fn every_rule_keeps_the_rows_of_nested_forms() {
    check_all(NESTED_FORMS, RULES);
    check_all(ARRAYS, RULES);
}
