//! Random plans over random tables. Columns have kinds, so that every plan is well-typed.

use braid_base::{Random, SeededRandom};

use super::memory_tables::{KINDS, Kind, Table};
use super::*;
use crate::expression::{Arithmetic, Comparison, NumberRange};
use crate::keys::null_keys::NullKeys;
use crate::plan::JoinKind;
use crate::plan::SortKey;
use crate::plan::{AggregateCall, AggregateFunction, AverageKind};
use crate::plan::{CteId, RecursionSpec};

const JOIN_KINDS: [JoinKind; 10] = [
    JoinKind::Inner,
    JoinKind::ProbeOuter,
    JoinKind::BuildOuter,
    JoinKind::FullOuter,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::ProbeMark,
    JoinKind::ProbeTruth,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
];

/// A plan and the kinds of its columns.
pub type Typed = (Plan, Vec<Kind>);

pub struct Generator {
    pub random: SeededRandom,
    pub tables: Vec<Arc<Table>>,
    /// The distance between integers: small, so that keys are addresses, or large, so that keys are hashed.
    step: i64,
    /// Whether most operators are joins, so that filters go through several.
    mostly_joins: bool,
    /// The kinds of the query's parameters in scope.
    parameters: Vec<Kind>,
    /// The kinds of the subquery values in scope.
    subquery_values: Vec<Kind>,
    /// Whether plans define common tables.
    nests_tables: bool,
    /// Whether some of them are recursions.
    recurs: bool,
    /// The common tables in scope, with the kinds of their columns.
    common_tables: Vec<(CteId, Vec<Kind>)>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        let step = [1, 1, 7, 100_000, 1 << 40][random.below(5) as usize];
        let mostly_joins = random.chance(2, 3);
        let row_count_max = if mostly_joins { 12 } else { 300 };
        let table_count = 1 + random.below(4) as usize;
        let tables = (0..table_count).map(|number| Table::random(number, row_count_max, step, &mut random)).collect();
        Self {
            random,
            tables,
            step,
            mostly_joins,
            parameters: Vec::new(),
            subquery_values: Vec::new(),
            nests_tables: false,
            recurs: false,
            common_tables: Vec::new(),
        }
    }

    /// Allows parameters in the next plans, and returns their kinds.
    pub fn take_parameters(&mut self) -> Vec<Kind> {
        self.parameters = (0..1 + self.below(4)).map(|_| self.one_of(&KINDS)).collect();
        self.parameters.clone()
    }

    /// Allows common tables in the next plans.
    pub fn nest_tables(&mut self) {
        self.nests_tables = true;
    }

    /// Allows recursions, too.
    pub fn recur(&mut self) {
        self.nests_tables = true;
        self.recurs = true;
    }

    /// Constants for parameters.
    pub fn parameter_row(&mut self, kinds: &[Kind]) -> Vec<Value> {
        let constant = |kind: &Kind| match self.constant(*kind) {
            Expression::Constant(Some(Scalar::Bytes(_))) if self.chance(1, 3) => {
                let pattern = self.one_of(&["%", "a%", "%b%", "_", "%a%b%", "b_%"]);
                Some(Scalar::Bytes(pattern.into()))
            }
            Expression::Constant(constant) => constant,
            _ => unreachable!("a constant"),
        };
        kinds.iter().map(constant).collect()
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u64) as usize
    }

    fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.random.chance(numerator, denominator)
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub fn plan(&mut self, depth: usize) -> Typed {
        if !self.common_tables.is_empty() && self.chance(if depth == 0 { 4 } else { 1 }, 6) {
            return self.table_scan();
        }
        if self.recurs && depth > 0 && self.chance(1, 3) {
            return self.recursion(depth);
        }
        if self.nests_tables && depth > 0 && self.chance(1, 4) {
            return self.with_table(depth);
        }
        if depth == 0 || self.chance(1, 12) {
            let table = self.below(self.tables.len());
            let table = self.tables[table].clone();
            let kinds = table.kinds.clone();
            return (Plan::Source { source: table, column_count: kinds.len() }, kinds);
        }
        if self.mostly_joins {
            match self.below(10) {
                0..5 => return self.join(depth),
                5 | 6 => return self.sort(depth),
                _ => {}
            }
        }
        match self.below(20) {
            0..3 => self.filter(depth),
            3..6 => self.project(depth),
            6..12 => self.join(depth),
            12..15 => self.aggregate(depth),
            15 => self.sort(depth),
            16 => self.limit(depth),
            17..19 => self.union(depth),
            _ => self.with_scalars(depth),
        }
    }

    fn filter(&mut self, depth: usize) -> Typed {
        let (input, kinds) = self.plan(depth - 1);
        let condition = self.condition(&kinds, 2);
        (Plan::Filter { input: input.into(), condition }, kinds)
    }

    fn project(&mut self, depth: usize) -> Typed {
        let (input, kinds) = self.plan(depth - 1);
        let mut projected = Vec::new();
        let mut expressions = Vec::new();
        for _ in 0..1 + self.below(kinds.len() + 2) {
            if self.chance(3, 4) {
                let column = self.below(kinds.len());
                projected.push(kinds[column]);
                expressions.push(Expression::Column(column));
            } else {
                let kind = self.one_of(&KINDS);
                projected.push(if kind == Kind::Int { Kind::Wide } else { kind });
                expressions.push(self.expression(kind, &kinds, 2));
            }
        }
        (Plan::Project { input: input.into(), expressions }, projected)
    }

    fn join(&mut self, depth: usize) -> Typed {
        let build_depth = self.below(depth);
        let probe_depth = if build_depth == depth - 1 { self.below(depth) } else { depth - 1 };
        let (build, build_kinds) = self.plan(build_depth);
        let (probe, probe_kinds) = self.plan(probe_depth);
        let (mut build_keys, mut probe_keys) = (Vec::new(), Vec::new());
        for _ in 0..self.one_of(&[0, 1, 1, 1, 1, 2, 2]) {
            let build_key = self.below(build_kinds.len());
            if let Some(probe_key) = self.column(build_kinds[build_key], &probe_kinds) {
                build_keys.push(build_key);
                probe_keys.push(probe_key);
            }
        }
        let kind = match self.below(6) {
            0 | 1 => JoinKind::Inner,
            2 => JoinKind::ProbeOuter,
            _ => self.one_of(&JOIN_KINDS),
        };
        let both = [&probe_kinds[..], &build_kinds].concat();
        let residual = self.chance(1, 3).then(|| self.condition(&both, 1));
        let may_be_not_in = matches!(kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && build_keys.len() == 1;
        let null_keys = if (may_be_not_in || kind == JoinKind::ProbeTruth) && self.chance(1, 2) {
            NullKeys::Unknown
        } else if self.chance(1, 2) {
            NullKeys::EqualNull
        } else {
            NullKeys::EqualNothing
        };
        let columns = kind.columns();
        let mut kinds = Vec::new();
        kinds.extend(probe_kinds.iter().filter(|_| columns.probe));
        kinds.extend(columns.mark.then_some(Kind::Bool));
        kinds.extend(build_kinds.iter().filter(|_| columns.build));
        let condition = JoinCondition { kind, build_keys, probe_keys, residual, null_keys };
        (Plan::join(build, probe, condition), kinds)
    }

    fn aggregate(&mut self, depth: usize) -> Typed {
        let (input, kinds) = self.plan(depth - 1);
        let keys: Vec<usize> = (0..self.one_of(&[0, 1, 1, 2, 2, 3])).map(|_| self.below(kinds.len())).collect();
        let call_count = self.below(4).max(usize::from(keys.is_empty()));
        let calls: Vec<(AggregateCall, Kind)> = (0..call_count).map(|_| self.call(&kinds)).collect();
        let result_kinds = keys.iter().map(|key| kinds[*key]).chain(calls.iter().map(|call| call.1)).collect();
        let spec = AggregationSpec { keys, aggregates: calls.into_iter().map(|call| call.0).collect() };
        (Plan::Aggregate { input: input.into(), spec: spec.into() }, result_kinds)
    }

    fn call(&mut self, kinds: &[Kind]) -> (AggregateCall, Kind) {
        use AggregateFunction as F;
        let column = self.below(kinds.len());
        let average = F::Average(AverageKind::Numeric { scale: 0, result_scale: 2 });
        let (function, kind) = match (self.below(5), kinds[column]) {
            (0, _) => (F::Count, Kind::Int),
            (1, kind) => (F::Minimum, kind),
            (2, kind) => (F::Maximum, kind),
            (3, Kind::Int | Kind::Wide) => (F::Sum, Kind::Wide),
            (3, Kind::Float) => (F::Sum, Kind::Float),
            (4, Kind::Int | Kind::Wide) => (average, Kind::Wide),
            (3, Kind::Bool) => (F::BoolAnd, Kind::Bool),
            (4, Kind::Bool) => (F::BoolOr, Kind::Bool),
            _ => (F::CountRows, Kind::Int),
        };
        let argument = (function != F::CountRows).then_some(column);
        let distinct = argument.is_some() && self.chance(1, 4);
        let filter = if self.chance(1, 4) { self.column(Kind::Bool, kinds) } else { None };
        // Extremes of nothing but Int stay Int; the plan may not know, and Wide is no promise.
        (AggregateCall { function, argument, distinct, filter }, kind)
    }

    fn sort(&mut self, depth: usize) -> Typed {
        let (input, kinds) = self.plan(depth - 1);
        let mut columns: Vec<usize> = (0..kinds.len()).collect();
        let wanted = if self.chance(2, 3) { columns.len() } else { self.below(columns.len() + 1) };
        (0..columns.len()).for_each(|at| {
            let other = self.below(columns.len());
            columns.swap(at, other);
        });
        columns.truncate(wanted);
        let key =
            |column, this: &mut Self| SortKey { column, descending: this.chance(1, 2), nulls_first: this.chance(1, 2) };
        let keys = columns.into_iter().map(|column| key(column, self)).collect();
        let limit = self.chance(1, 2).then(|| self.few());
        let sorted = Plan::Sort { input: input.into(), spec: SortSpec { keys, limit }.into() };
        match self.below(4) {
            0 => (self.limited(sorted), kinds),
            1 => {
                let columns: Vec<usize> = (0..1 + self.below(3)).map(|_| self.below(kinds.len())).collect();
                let kept = columns.iter().map(|column| kinds[*column]).collect();
                let expressions = columns.into_iter().map(Expression::Column).collect();
                (self.limited(Plan::Project { input: sorted.into(), expressions }), kept)
            }
            _ => (sorted, kinds),
        }
    }

    /// The number of rows of a random limit.
    fn few(&mut self) -> usize {
        let bound = self.one_of(&[4, 4, 30]);
        self.below(bound)
    }

    fn limited(&mut self, input: Plan) -> Plan {
        let offset = if self.chance(1, 2) { 0 } else { self.few() as u64 };
        let limit = self.chance(3, 4).then(|| self.few() as u64);
        Plan::Limit { input: input.into(), offset, limit }
    }

    fn limit(&mut self, depth: usize) -> Typed {
        let (input, kinds) = self.plan(depth - 1);
        let limited = self.limited(input);
        if self.chance(1, 2) {
            return (limited, kinds);
        }
        let call =
            AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None };
        let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
        (Plan::Aggregate { input: limited.into(), spec: spec.into() }, vec![Kind::Int])
    }

    fn union(&mut self, depth: usize) -> Typed {
        let (first, kinds) = self.plan(depth - 1);
        let mut plans = vec![first];
        for _ in 0..self.below(3) {
            let (input, from) = self.plan(depth - 1);
            let expressions = kinds.iter().map(|kind| self.union_column(*kind, &from)).collect();
            plans.push(Plan::Project { input: input.into(), expressions });
        }
        // What may be wide in one of them may be in all.
        let kinds = kinds.into_iter().map(|kind| if kind == Kind::Int { Kind::Wide } else { kind }).collect();
        (Plan::Union(plans), kinds)
    }

    fn union_column(&mut self, kind: Kind, from: &[Kind]) -> Expression {
        match self.column(kind, from) {
            Some(column) if self.chance(7, 8) => Expression::Column(column),
            _ => self.constant(kind),
        }
    }

    fn with_scalars(&mut self, depth: usize) -> Typed {
        let outer = std::mem::take(&mut self.subquery_values);
        let (mut subqueries, mut scope) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.below(2) {
            let (subquery, kind) = self.scalar(depth);
            subqueries.push(subquery);
            scope.push(kind);
        }
        self.subquery_values = scope;
        let (input, kinds) = match self.below(3) {
            0 => self.filter(depth),
            1 => self.project(depth),
            _ => self.join(depth),
        };
        self.subquery_values = outer;
        (Plan::WithScalars { subqueries, input: input.into() }, kinds)
    }

    fn table_scan(&mut self) -> Typed {
        let at = self.below(self.common_tables.len());
        let (cte, kinds) = self.common_tables[at].clone();
        (Plan::CteScan { cte, column_count: kinds.len() }, kinds)
    }

    /// A recursion over a part of a plan's columns and the number of the step, which ends it. Rows come once, or each time.
    fn recursion(&mut self, depth: usize) -> Typed {
        let (start, from) = self.plan(depth - 1);
        let columns: Vec<usize> = (0..1 + self.below(2)).map(|_| self.below(from.len())).collect();
        // What may be wide in a step may be in all.
        let wide = |column: &usize| if from[*column] == Kind::Int { Kind::Wide } else { from[*column] };
        let kinds: Vec<Kind> = columns.iter().map(wide).chain([Kind::Wide]).collect();
        let column_count = kinds.len();
        let (is_distinct, adds_keys) = (self.chance(1, 2), self.chance(1, 3));
        // Sometimes rows are compared by copies of their columns.
        let with_keys = |expressions: Vec<Expression>| match adds_keys {
            true => [&expressions[..], &expressions].concat(),
            false => expressions,
        };
        let keys = if adds_keys { column_count..2 * column_count } else { 0..column_count };
        let zero = Expression::Constant(Some(Scalar::Int(0)));
        let expressions = with_keys(columns.into_iter().map(Expression::Column).chain([zero]).collect());
        let start = Plan::Project { input: start.into(), expressions };
        let around = self.common_tables.clone();
        let cte = CteId(around.iter().map(|(cte, _)| cte.0 + 1).max().unwrap_or(0));
        self.common_tables.push((cte, kinds.clone()));
        let (joined, expressions) = self.step(depth, cte, &kinds, is_distinct);
        let step = Plan::Project { input: joined.into(), expressions: with_keys(expressions) };
        let (body, body_kinds) = self.plan(depth - 1);
        self.common_tables = around;
        let spec = RecursionSpec { cte, column_count, distinct_by: is_distinct.then(|| keys.collect()) };
        (Plan::Recursion { spec, start: start.into(), step: step.into(), body: body.into() }, body_kinds)
    }

    /// The rows of the last step, joined with others, and what the step makes of both. The last column is the number of the step.
    fn step(&mut self, depth: usize, cte: CteId, kinds: &[Kind], is_distinct: bool) -> (Plan, Vec<Expression>) {
        let number = kinds.len() - 1;
        let integer = |value: i64| Expression::Constant(Some(Scalar::Int(value))).into();
        let is_early = Expression::Compare {
            comparison: Comparison::Less,
            left: Expression::Column(number).into(),
            right: integer(1 + self.below(4) as i64),
        };
        let scan = Plan::CteScan { cte, column_count: kinds.len() };
        let scan = Plan::Filter { input: scan.into(), condition: is_early };
        let other_depth = self.below(depth.min(3));
        let (other, other_kinds) = self.plan(other_depth);
        let key = self.column(kinds[0], &other_kinds);
        let condition = JoinCondition {
            kind: JoinKind::Inner,
            build_keys: key.into_iter().collect(),
            probe_keys: key.map(|_| 0).into_iter().collect(),
            residual: None,
            null_keys: NullKeys::EqualNothing,
        };
        let both = [kinds, &other_kinds].concat();
        let mut expressions: Vec<Expression> =
            kinds[..number].iter().map(|kind| self.union_column(*kind, &both)).collect();
        expressions.push(match is_distinct && self.chance(1, 2) {
            true => Expression::Column(number),
            false => Expression::Arithmetic {
                operation: Arithmetic::Add,
                left: Expression::Column(number).into(),
                right: integer(1),
                range: NumberRange::Numeric,
            },
        });
        (Plan::join(other, scan, condition), expressions)
    }

    /// A common table, sometimes with the number of one around it.
    fn with_table(&mut self, depth: usize) -> Typed {
        let (definition, kinds) = self.plan(depth - 1);
        let around = self.common_tables.clone();
        let fresh = around.iter().map(|(cte, _)| cte.0 + 1).max().unwrap_or(0);
        let cte = match around.first() {
            Some((known, _)) if self.chance(1, 5) => *known,
            _ => CteId(fresh),
        };
        self.common_tables.retain(|(known, _)| *known != cte);
        self.common_tables.push((cte, kinds));
        let (body, kinds) = self.plan(depth - 1);
        self.common_tables = around;
        (Plan::With { cte, definition: definition.into(), body: body.into() }, kinds)
    }

    /// A plan with one column, mostly with at most one row.
    fn scalar(&mut self, depth: usize) -> (Plan, Kind) {
        let sub_depth = self.below(depth.min(3));
        let (input, kinds) = self.plan(sub_depth);
        let column = self.below(kinds.len());
        if self.chance(4, 5) {
            let (call, kind) = self.call(&kinds);
            let spec = AggregationSpec { keys: Vec::new(), aggregates: vec![call] };
            return (Plan::Aggregate { input: input.into(), spec: spec.into() }, kind);
        }
        let projected = Plan::Project { input: input.into(), expressions: vec![Expression::Column(column)] };
        let keys = vec![SortKey { column: 0, descending: false, nulls_first: true }];
        let limit = self.chance(4, 5).then_some(1);
        (Plan::Sort { input: projected.into(), spec: SortSpec { keys, limit }.into() }, kinds[column])
    }

    /// A column of a kind.
    fn column(&mut self, kind: Kind, kinds: &[Kind]) -> Option<usize> {
        let columns: Vec<usize> = (0..kinds.len()).filter(|column| kinds[*column].is_like(kind)).collect();
        if columns.is_empty() { None } else { Some(self.one_of(&columns)) }
    }

    fn constant(&mut self, kind: Kind) -> Expression {
        if self.chance(1, 10) {
            return Expression::Constant(None);
        }
        let number = self.random.below(8);
        Expression::Constant(Some(kind.scalar(number, self.step)))
    }

    fn parameter(&mut self, kind: Kind) -> Option<Expression> {
        let (parameters, subquery_values) = (self.parameters.clone(), self.subquery_values.clone());
        let parameter = self.column(kind, &parameters).map(Expression::Parameter);
        parameter.or_else(|| self.column(kind, &subquery_values).map(Expression::SubqueryValue))
    }

    fn leaf(&mut self, kind: Kind, kinds: &[Kind]) -> Expression {
        let leaf = match self.below(6) {
            0..4 => self.column(kind, kinds).map(Expression::Column),
            4 => self.parameter(kind),
            _ => None,
        };
        leaf.or_else(|| self.parameter(kind)).unwrap_or_else(|| self.constant(kind))
    }

    fn expression(&mut self, kind: Kind, kinds: &[Kind], depth: usize) -> Expression {
        match (self.below(4), kind) {
            _ if depth == 0 => self.leaf(kind, kinds),
            (0, _) => {
                let branches = vec![(self.condition(kinds, depth - 1), self.leaf(kind, kinds))];
                let otherwise = self.chance(1, 2).then(|| self.leaf(kind, kinds).into());
                Expression::Case { branches, otherwise }
            }
            (1..3, Kind::Int | Kind::Wide) => {
                let operation = self.one_of(&[Arithmetic::Add, Arithmetic::Subtract]);
                let left = self.expression(kind, kinds, depth - 1).into();
                let right = self.leaf(kind, kinds).into();
                Expression::Arithmetic { operation, left, right, range: NumberRange::Numeric }
            }
            (1..3, Kind::Bool) => self.condition(kinds, depth - 1),
            _ => self.leaf(kind, kinds),
        }
    }

    pub fn condition(&mut self, kinds: &[Kind], depth: usize) -> Expression {
        const COMPARISONS: [Comparison; 6] = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        let kind = self.one_of(kinds);
        match self.below(if depth == 0 { 7 } else { 10 }) {
            0..4 => {
                let (left, right) = (self.leaf(kind, kinds).into(), self.leaf(kind, kinds).into());
                Expression::Compare { comparison: self.one_of(&COMPARISONS), left, right }
            }
            4 => Expression::IsNull(self.leaf(kind, kinds).into()),
            5 if kind == Kind::Text => {
                let pattern = self.one_of(&["%", "a%", "b%", "a string%", "%t%r%", "_ %", "%b"]);
                let pattern = match self.parameter(Kind::Text) {
                    Some(pattern) if self.chance(1, 2) => pattern,
                    _ => Expression::Constant(Some(Scalar::Bytes(pattern.into()))),
                };
                Expression::Like { value: self.leaf(kind, kinds).into(), pattern: pattern.into() }
            }
            5 => {
                let first = self.random.below(4);
                let numbers = if kind == Kind::Bool { first..first + 1 } else { first + 2..first + 5 };
                let list = numbers.map(|number| kind.scalar(number, self.step)).collect();
                Expression::In { value: self.leaf(kind, kinds).into(), list }
            }
            6 => self.leaf(Kind::Bool, kinds),
            7 => Expression::And(vec![self.condition(kinds, depth - 1), self.condition(kinds, depth - 1)]),
            8 => Expression::Or(vec![self.condition(kinds, depth - 1), self.condition(kinds, depth - 1)]),
            _ => Expression::Not(self.condition(kinds, depth - 1).into()),
        }
    }
}
