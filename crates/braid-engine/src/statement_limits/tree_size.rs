//! The size of a syntax tree, found in one walk.

use braid_catalog::functions::may_be_catalog_call;
use braid_sql::syntax::walk::{Tree, Walk};
use sqlparser::ast::{Expr, FunctionArguments, Query, Select, SetExpr, TableFactor, TableWithJoins};

use super::StatementSize;

impl StatementSize {
    /// The size of a tree. Walks it by recursion.
    pub fn of(tree: &dyn Tree) -> Self {
        let mut measure = Measure::default();
        tree.walk(&mut measure);
        measure.size
    }
}

#[derive(Default)]
struct Measure {
    size: StatementSize,
    depth: usize,
    subquery_depth: usize,
}

impl Measure {
    fn descend(&mut self) {
        self.depth += 1;
        self.size.depth = self.size.depth.max(self.depth);
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }
}

impl Walk for Measure {
    fn enter_expression(&mut self, expr: &Expr) {
        self.size.expressions += 1;
        self.size.catalog_calls += usize::from(may_be_catalog_call(expr));
        if is_subquery(expr) {
            self.subquery_depth += 1;
            self.size.subquery_depth = self.size.subquery_depth.max(self.subquery_depth);
        }
        self.descend();
    }

    fn leave_expression(&mut self, expr: &Expr) {
        self.subquery_depth -= usize::from(is_subquery(expr));
        self.ascend();
    }

    fn enter_query(&mut self, query: &Query) {
        self.size.named_queries += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        self.size.set_operands = self.size.set_operands.max(set_operands(&query.body));
        self.descend();
    }

    fn leave_query(&mut self, _: &Query) {
        self.ascend();
    }

    fn enter_select(&mut self, select: &Select) {
        let relations = select.from.iter().map(relations_of).sum();
        self.size.relations = self.size.relations.max(relations);
        self.size.relations_total += relations;
        self.size.columns = self.size.columns.max(select.projection.len());
    }

    fn enter_table_factor(&mut self, _: &TableFactor) {
        self.descend();
    }

    fn leave_table_factor(&mut self, _: &TableFactor) {
        self.ascend();
    }
}

fn is_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => true,
        Expr::Function(function) => matches!(function.args, FunctionArguments::Subquery(_)),
        _ => false,
    }
}

/// Operands of a tree of set operations.
fn set_operands(body: &SetExpr) -> usize {
    let mut operands = 0;
    let mut rest = vec![body];
    while let Some(body) = rest.pop() {
        match body {
            SetExpr::SetOperation { left, right, .. } => rest.extend([&**left, &**right]),
            _ => operands += 1,
        }
    }
    operands
}

fn relations_of(joins: &TableWithJoins) -> usize {
    let mut relations = 0;
    let mut rest = vec![joins];
    while let Some(joins) = rest.pop() {
        for factor in std::iter::once(&joins.relation).chain(joins.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => rest.push(table_with_joins),
                _ => relations += 1,
            }
        }
    }
    relations
}

#[cfg(test)]
mod tests {
    use sqlparser::parser::Parser;

    use super::*;
    use crate::statement::SqlDialect;

    fn size(sql: &str) -> StatementSize {
        StatementSize::of(&Parser::parse_sql(&SqlDialect::for_text(sql), sql).unwrap()[0])
    }

    #[test]
    fn parts_are_counted() {
        let simple = size("select 1");
        assert_eq!((simple.depth, simple.expressions, simple.columns, simple.set_operands), (2, 1, 1, 1));
        assert_eq!(size("select (1 + 2) * 3").depth, 5);
        assert_eq!(size("select (select (select 1))").subquery_depth, 2);
        assert_eq!(size("select 1 where exists (select 1) and 1 in (select 2)").subquery_depth, 1);
        let joins = size("select * from a, b join (c join d on true) on true, (select * from e, f) g");
        assert_eq!((joins.relations, joins.relations_total), (5, 7));
        assert_eq!(size("select 1 union (select 2 union select 3) except select 4").set_operands, 3);
        assert_eq!(size("select pg_catalog.Pg_My_Temp_Schema(), abs(1)").catalog_calls, 1);
        assert_eq!(size("with a as (select 1), b as (select 2) select * from a, b").named_queries, 2);
        assert!(!size("select a, sum(b) from t join u using (a) where b > 1 group by a").is_large());
    }
}
