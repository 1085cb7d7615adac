//! Random queries over random tables.
//!
//! The number of rows is estimated through joins. Joins with too many rows are left out, so that no case takes long.

use super::aggregates::{Output, grouping};
use super::draw::Draw;
use super::expressions::{Scoped, condition, expression, some_kind};
use super::query::{Body, Condition, From, Item, Join, OrderKey, Query, Relation, Select, Source, Value};
use super::schema::{Kind, Table};

/// Maximum estimated rows of a join.
const JOINED_ROWS_MAX: f64 = 30_000.0;

/// Maximum estimated rows of an answer. A query with more rows is grouped.
const ANSWERED_ROWS_MAX: f64 = 1500.0;

/// A generator of random queries.
pub struct Generator<'a> {
    pub(super) draw: Draw,
    tables: &'a [Table],
    name_count: usize,
}

/// A SELECT with its columns and its estimated number of rows.
struct Selected {
    select: Select,
    outputs: Vec<Output>,
    rows: f64,
}

impl<'a> Generator<'a> {
    /// A generator of queries on `tables`.
    pub fn new(seed: u64, tables: &'a [Table]) -> Self {
        Self::of(Draw::new(seed), tables)
    }

    /// A generator of queries by given choices.
    pub fn of(draw: Draw, tables: &'a [Table]) -> Self {
        Self { draw, tables, name_count: 0 }
    }

    /// A query.
    pub fn case(&mut self) -> Query {
        self.name_count = 0;
        let (mut query, outputs, _) = self.query(2);
        if self.draw.percent(30) {
            self.order(&mut query, &outputs);
        }
        query
    }

    /// A query without an order, its columns, and its estimated number of rows.
    fn query(&mut self, depth: u32) -> (Query, Vec<Output>, f64) {
        let first = self.select(depth, None);
        if !self.draw.percent(12) || first.outputs.iter().any(|output| output.is_approximate) {
            return (Query::of(first.select), first.outputs, first.rows);
        }
        let kinds: Vec<Kind> = first.outputs.iter().map(|output| output.kind).collect();
        let second = self.select(depth.saturating_sub(1), Some(&kinds));
        let operation = *self.draw.choose(&["union all", "union all", "union", "union", "intersect", "except"]);
        let (left, right) = (Body::Select(Box::new(first.select)), Body::Select(Box::new(second.select)));
        let body = Body::Set { operation, left: Box::new(left), right: Box::new(right) };
        let query = Query { body, order_by: Vec::new(), limit: None, offset: None };
        (query, first.outputs, first.rows + second.rows)
    }

    /// Sorts by all columns in a random order, so that a limit has exactly one answer.
    fn order(&mut self, query: &mut Query, outputs: &[Output]) {
        const DIRECTIONS: [&str; 6] =
            ["", "desc", "asc nulls first", "asc nulls last", "desc nulls first", "desc nulls last"];
        if outputs.iter().any(|output| output.is_approximate) {
            return;
        }
        let columns: Vec<usize> = (0..outputs.len()).collect();
        let sorted = self.draw.sample(&columns, outputs.len());
        let keys = sorted.into_iter().map(|at| (format!("o{at}"), *self.draw.choose(&DIRECTIONS)));
        query.order_by = keys.map(|(name, direction)| OrderKey { name, direction }).collect();
        query.limit = if self.draw.percent(60) { Some(self.draw.between(0, 25) as u64) } else { None };
        query.offset = if self.draw.percent(25) { Some(self.draw.between(0, 12) as u64) } else { None };
    }

    /// A SELECT, with columns of `kinds` if they are given.
    fn select(&mut self, depth: u32, kinds: Option<&[Kind]>) -> Selected {
        let (from, scope, rows) = self.from(depth, 4);
        let mut conditions = Vec::new();
        for _ in 0..self.draw.weighted(&[4, 4, 2, 1]) {
            conditions.push(self.condition(&scope, depth.min(2)));
        }
        let is_grouped = self.draw.percent(45) || rows > ANSWERED_ROWS_MAX;
        let mut select = Select {
            is_distinct: false,
            items: Vec::new(),
            from,
            conditions,
            group_by: Vec::new(),
            having: Vec::new(),
        };
        if let Some(kinds) = kinds {
            let outputs: Vec<Output> = kinds.iter().map(|kind| self.output(&scope, *kind)).collect();
            select.items = items(&outputs);
            return Selected { select, outputs, rows };
        }
        if is_grouped {
            let grouping = grouping(&mut self.draw, &scope, rows);
            select.items = items(&grouping.outputs);
            (select.group_by, select.having) = (grouping.keys, grouping.having);
            return Selected { select, outputs: grouping.outputs, rows: grouping.rows };
        }
        self.plain_columns(select, &scope, rows, depth)
    }

    fn plain_columns(&mut self, mut select: Select, scope: &[Scoped], rows: f64, depth: u32) -> Selected {
        let mut outputs = Vec::new();
        for _ in 0..self.draw.between(1, 5) {
            let kind = some_kind(&mut self.draw, scope);
            outputs.push(self.output(scope, kind));
        }
        select.items = items(&outputs);
        select.is_distinct = self.draw.percent(15);
        if depth > 0 && self.draw.percent(10) {
            let (query, kind) = self.one_value(scope, depth - 1);
            let name = format!("o{}", outputs.len());
            outputs.push(Output { sql: name.clone(), kind, is_approximate: false });
            select.items.push(Item { value: Value::Query(Box::new(query)), name });
        }
        Selected { select, outputs, rows }
    }

    fn output(&mut self, scope: &[Scoped], kind: Kind) -> Output {
        Output::of(expression(&mut self.draw, scope, kind), kind)
    }

    /// FROM with a limited number of relations, the columns in scope after it, and the number of its rows.
    pub(super) fn from(&mut self, depth: u32, relations_max: usize) -> (From, Vec<Scoped>, f64) {
        let (first, mut scope, mut rows) = self.relation(depth);
        let mut from = From { first, joins: Vec::new() };
        let count = self.draw.weighted(&[8, 8, 4, 2]).min(relations_max - 1);
        for _ in 0..count {
            let (relation, columns, added) = self.relation(depth);
            if let Some((join, joined)) = self.join((&scope, rows), relation, (&columns, added)) {
                from.joins.push(join);
                scope.extend(columns);
                rows = joined;
            }
        }
        (from, scope, rows)
    }

    /// A name that is unique in the query.
    pub(super) fn new_name(&mut self, prefix: &str) -> String {
        self.name_count += 1;
        format!("{prefix}{}", self.name_count)
    }

    /// A table or, less often, a query.
    fn relation(&mut self, depth: u32) -> (Relation, Vec<Scoped>, f64) {
        let alias = self.new_name("r");
        if depth > 0 && self.draw.percent(18) {
            let (query, outputs, rows) = self.query(depth - 1);
            let of_output = |(at, output): (usize, &Output)| {
                let sql = format!("{alias}.o{at}");
                (!output.is_approximate).then_some(Scoped { sql, kind: output.kind, distinct: 10.0 })
            };
            let scope: Vec<Scoped> = outputs.iter().enumerate().filter_map(of_output).collect();
            if !scope.is_empty() {
                return (Relation { source: Source::Query(Box::new(query)), alias }, scope, rows);
            }
        }
        let table = &self.tables[self.draw.weighted(&[1, 3, 5, 5, 4, 2])];
        let scoped = |column: &super::schema::Column| Scoped {
            sql: format!("{alias}.{}", column.name),
            kind: column.kind,
            distinct: column.distinct,
        };
        let scope = table.columns.iter().map(scoped).collect();
        (Relation { source: Source::Table(table.name.clone()), alias }, scope, table.rows.len() as f64)
    }

    /// Joins a relation to FROM, and returns the estimated number of rows; `None` if it is too large.
    fn join(
        &mut self,
        (scope, rows): (&[Scoped], f64),
        relation: Relation,
        (columns, added): (&[Scoped], f64),
    ) -> Option<(Join, f64)> {
        let pairs = rows * added;
        let both: Vec<Scoped> = scope.iter().chain(columns).cloned().collect();
        if pairs <= 4000.0 && self.draw.percent(15) {
            return Some(self.join_without_equality(relation, &both, pairs.max(rows + added)));
        }
        let mut on = Vec::new();
        let mut joined = pairs;
        for _ in 0..if self.draw.percent(25) { 2 } else { 1 } {
            if let Some((sql, distinct)) = self.equal_columns(scope, columns) {
                on.push(Condition::Plain(sql));
                joined /= distinct.max(1.0);
            }
        }
        // Skew and nulls make more of them.
        let joined = (joined * 3.0).min(pairs).max(rows + added);
        if on.is_empty() || joined > JOINED_ROWS_MAX {
            return None;
        }
        if self.draw.percent(25) {
            on.push(Condition::Plain(condition(&mut self.draw, &both)));
        }
        let kind = ["join", "left join", "right join", "full join"][self.draw.weighted(&[9, 5, 3, 3])];
        Some((Join { kind, relation, on }, joined))
    }

    fn join_without_equality(&mut self, relation: Relation, both: &[Scoped], rows: f64) -> (Join, f64) {
        let kind = *self.draw.choose(&["cross join", "join", "left join", "right join", "full join"]);
        let on = match kind {
            "cross join" => Vec::new(),
            _ => vec![Condition::Plain(condition(&mut self.draw, both))],
        };
        (Join { kind, relation, on }, rows)
    }

    /// An equality of a column of each side, and the approximate number of distinct values.
    pub(super) fn equal_columns(&mut self, left: &[Scoped], right: &[Scoped]) -> Option<(String, f64)> {
        for _ in 0..6 {
            let (a, b) = (self.draw.choose(left).clone(), self.draw.choose(right).clone());
            let are_numbers = [a.kind, b.kind].iter().all(|kind| matches!(kind, Kind::Int | Kind::Numeric));
            if a.kind == b.kind || (are_numbers && self.draw.percent(50)) {
                let operator = if self.draw.percent(12) { "is not distinct from" } else { "=" };
                return Some((format!("({} {operator} {})", a.sql, b.sql), a.distinct.max(b.distinct)));
            }
        }
        None
    }
}

fn items(outputs: &[Output]) -> Vec<Item> {
    let item =
        |(at, output): (usize, &Output)| Item { value: Value::Expression(output.sql.clone()), name: format!("o{at}") };
    outputs.iter().enumerate().map(item).collect()
}
