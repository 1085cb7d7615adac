//! The size of a syntax tree, found in one walk.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, FunctionArguments, Query, Select, SetExpr, TableFactor, TableWithJoins, Visit, Visitor};

use super::StatementSize;

impl StatementSize {
    /// The size of a tree. Walks it by recursion.
    pub fn of<T: Visit>(tree: &T) -> Self {
        let mut measure = Measure { planned: vec![Vec::new()], ..Measure::default() };
        // It never breaks off.
        let _: ControlFlow<()> = tree.visit(&mut measure);
        let planned: u64 = measure.planned.iter().flatten().fold(0, |sum, planned| sum.saturating_add(*planned));
        measure.size.copies = planned.saturating_sub(measure.size.expressions as u64);
        measure.size
    }
}

#[derive(Default)]
struct Measure {
    size: StatementSize,
    depth: usize,
    subquery_depth: usize,
    /// Of each open expression, and of the statement itself: how many expressions its operands are planned as.
    planned: Vec<Vec<u64>>,
}

impl Measure {
    fn descend(&mut self) -> ControlFlow<()> {
        self.depth += 1;
        self.size.depth = self.size.depth.max(self.depth);
        ControlFlow::Continue(())
    }

    fn ascend(&mut self) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

impl Visitor for Measure {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.size.expressions += 1;
        self.planned.push(Vec::new());
        if is_subquery(expr) {
            self.subquery_depth += 1;
            self.size.subquery_depth = self.size.subquery_depth.max(self.subquery_depth);
        }
        self.descend()
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let operands = self.planned.pop().unwrap_or_default();
        if let Some(outer) = self.planned.last_mut() {
            outer.push(planned_expressions(expr, &operands));
        }
        self.subquery_depth -= usize::from(is_subquery(expr));
        self.ascend()
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.size.named_queries += query.with.as_ref().map_or(0, |with| with.cte_tables.len());
        self.size.set_operands = self.size.set_operands.max(set_operands(&query.body));
        self.descend()
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.ascend()
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let relations = select.from.iter().map(relations_of).sum();
        self.size.relations = self.size.relations.max(relations);
        self.size.relations_total += relations;
        self.size.columns = self.size.columns.max(select.projection.len());
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.descend()
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.ascend()
    }
}

/// How often planning copies operands: all of them, all but the last, or the first.
enum Copied {
    None,
    All,
    AllButLast,
    First(u64),
}

impl Copied {
    fn by(expr: &Expr) -> Self {
        match expr {
            Expr::Function(function) => match function.name.to_string().to_ascii_lowercase().as_str() {
                "coalesce" | "nullif" | "nvl" | "ifnull" | "nvl2" => Self::AllButLast,
                "concat" | "concat_ws" => Self::All,
                _ => Self::None,
            },
            Expr::Between { .. } => Self::First(2),
            Expr::Case { operand: Some(operand), conditions, .. } if !is_name(operand) => {
                Self::First(conditions.len() as u64)
            }
            _ => Self::None,
        }
    }
}

/// How many expressions `expr` is planned as, given those that each of its operands is planned as.
fn planned_expressions(expr: &Expr, operands: &[u64]) -> u64 {
    let copied = Copied::by(expr);
    let times = |at: usize| match copied {
        Copied::All => 2,
        Copied::AllButLast if at + 1 < operands.len() => 2,
        Copied::First(times) if at == 0 => times,
        _ => 1,
    };
    let planned = operands.iter().enumerate().map(|(at, operand)| operand.saturating_mul(times(at)));
    planned.fold(1, u64::saturating_add)
}

fn is_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_))
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
        StatementSize::of(&Parser::parse_sql(&SqlDialect::for_text(sql), sql).unwrap())
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
        assert_eq!(size("with a as (select 1), b as (select 2) select * from a, b").named_queries, 2);
        assert!(!size("select a, sum(b) from t join u using (a) where b > 1 group by a").is_large());
    }

    #[test]
    fn copies_are_counted() {
        assert_eq!(size("select a + b * c between 1 and 2 from t where f(a) > 0").copies, 5);
        assert_eq!(size("select coalesce(a, coalesce(b, coalesce(c, d)))").copies, 3);
        assert_eq!(size("select coalesce(coalesce(coalesce(a, 0), 0), 0)").copies, 15);
        assert_eq!(
            size("select case a when 1 then 2 when 2 then 3 end, case a + 1 when 1 then 2 when 2 then 3 end").copies,
            3
        );
        let deep = format!("select {}a{}", "coalesce(".repeat(30), ", 0)".repeat(30));
        let error = size(&deep).check_for_planning().unwrap_err();
        assert_eq!(error.sqlstate(), "54001");
        assert!(size(&deep.replace("coalesce", "f")).check_for_planning().is_ok());
    }
}
