//! The definition of a plan's rows: evaluation row by row, joins by nested loops, and no optimisation.

use std::cmp::Ordering;

use super::memory_tables::{Table, canonical, compare, compare_rows, integer};
use super::windows::windowed;
use super::*;
use crate::expression::{Arithmetic, Comparison, LikePattern};
use crate::plan::JoinKind;
use crate::plan::SortKey;
use crate::plan::{AggregateCall, AggregateFunction, AverageKind};
use crate::values::numeric_quotient::{Numeric, numeric_quotient};

/// Maximum rows of an operator, and maximum pairs of a join. A larger plan would take too long.
pub(super) const ROWS_MAX: usize = 2000;
const PAIRS_MAX: usize = 30_000;

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The plan fails.
    SeveralRows,
    /// Several answers are right and the definition does not list them, or the plan is too large.
    Undefined,
}

/// The specified order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Any,
    Total,
    /// The answer is any rows of this number, in any order.
    Some(usize),
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub rows: Vec<Row>,
    pub order: Order,
}

/// Tables by their numbers, the query's parameters and the values of subqueries.
pub struct Definition<'a> {
    pub tables: &'a [Arc<Table>],
    pub parameters: &'a [Value],
    /// None for one that failed, which may or may not be noticed by a row.
    pub subquery_values: Vec<Option<Value>>,
}

impl Definition<'_> {
    pub fn answer(&self, plan: &Plan) -> Result<Answer, NoAnswer> {
        let answer = match plan {
            Plan::Source { source, .. } => {
                let table: usize = source.describe().parse().unwrap();
                Answer { rows: self.tables[table].rows.clone(), order: Order::Any }
            }
            Plan::Filter { input, condition } => self.filter(self.answer(input)?, condition)?,
            Plan::Project { input, expressions } => {
                let Answer { rows, order } = self.answer(input)?;
                let project = |row: &Row| expressions.iter().map(|expression| self.value(expression, row)).collect();
                Answer { rows: rows.iter().map(project).collect::<Result<_, _>>()?, order }
            }
            Plan::Join { build, probe, condition, .. } => {
                let widths = (probe.column_count(), build.column_count());
                let (build, probe) = (self.answer(build)?.all()?, self.answer(probe)?.all()?);
                Answer { rows: self.join(&probe, &build, widths, condition)?, order: Order::Any }
            }
            Plan::Aggregate { input, spec } => {
                Answer { rows: aggregate(self.answer(input)?, spec)?, order: Order::Any }
            }
            Plan::Sort { input, spec } => sort(self.answer(input)?.all()?, spec)?,
            Plan::Limit { input, offset, limit } => {
                self.answer(input)?.limit(*offset as usize, limit.map(|limit| limit as usize))
            }
            Plan::Union(plans) => {
                let rows: Result<Vec<Vec<Row>>, NoAnswer> = plans.iter().map(|plan| self.answer(plan)?.all()).collect();
                Answer { rows: rows?.concat(), order: Order::Any }
            }
            Plan::Expand { input, lists } => {
                let rows = self.answer(input)?.all()?;
                let expanded = |(number, list): (usize, &Vec<Option<usize>>), row: &Row| {
                    let columns = list.iter().map(|column| column.and_then(|column| row[column].clone()));
                    columns.chain([canonical(Some(Scalar::Int(number as i64)))]).collect::<Row>()
                };
                let of_list = |list| rows.iter().map(move |row| expanded(list, row));
                Answer { rows: lists.iter().enumerate().flat_map(of_list).collect(), order: Order::Any }
            }
            Plan::Window { input, spec } => {
                Answer { rows: windowed(self.answer(input)?.all()?, spec), order: Order::Any }
            }
            Plan::With { cte, definition, body } => self.with_table(*cte, definition, body)?,
            Plan::Recursion { spec, start, step, body } => self.with_recursion(spec, (start, step), body)?,
            Plan::CteScan { .. } => unreachable!("the rows of common tables are tables"),
            Plan::Peers { input, keys, kept } => match self.answer(input)? {
                Answer { rows, order: Order::Total } => {
                    Answer { rows: peers::kept_rows(rows, keys, *kept), order: Order::Total }
                }
                _ => return Err(NoAnswer::Undefined),
            },
            Plan::ProjectSet { input, call } => {
                let rows = self.answer(input)?.all()?;
                Answer { rows: project_sets::rows_of(call, &rows), order: Order::Any }
            }
            Plan::Accumulate { input, spec, foreign } => {
                let input = self.answer(input)?;
                if !matches!(input.order, Order::Total) && foreign.iter().any(|call| call.function.needs_order()) {
                    return Err(NoAnswer::Undefined);
                }
                let rows = input.clone().all()?;
                let groups = aggregate(input, spec)?;
                let with_values = |group| accumulations::with_values(group, &rows, spec, foreign);
                Answer { rows: groups.into_iter().map(with_values).collect(), order: Order::Any }
            }
            Plan::Shared(_) => unreachable!("plans are generated for one query"),
            Plan::WithScalars { subqueries, input } => {
                let value = |plan: &Plan| match self.scalar(plan) {
                    Err(NoAnswer::SeveralRows) => Ok(None),
                    value => value.map(Some),
                };
                let subquery_values: Result<Vec<Option<Value>>, NoAnswer> = subqueries.iter().map(value).collect();
                Definition { subquery_values: subquery_values?, ..*self }.answer(input)?
            }
        };
        if answer.rows.len() > ROWS_MAX { Err(NoAnswer::Undefined) } else { Ok(answer) }
    }

    fn scalar(&self, plan: &Plan) -> Result<Value, NoAnswer> {
        let answer = self.answer(plan)?;
        match (answer.order, answer.rows.len()) {
            (Order::Some(0), _) | (_, 0) => Ok(None),
            (Order::Some(1), _) => Err(NoAnswer::Undefined),
            (_, 1) => Ok(answer.rows[0][0].clone()),
            _ => Err(NoAnswer::SeveralRows),
        }
    }

    fn filter(&self, input: Answer, condition: &Expression) -> Result<Answer, NoAnswer> {
        let order = input.order;
        let mut kept = Vec::new();
        for row in input.all()? {
            if self.is_true(condition, &row)? {
                kept.push(row);
            }
        }
        Ok(Answer { rows: kept, order })
    }

    fn is_true(&self, condition: &Expression, row: &[Value]) -> Result<bool, NoAnswer> {
        Ok(matches!(self.value(condition, row)?, Some(Scalar::Bool(true))))
    }

    fn value(&self, expression: &Expression, row: &[Value]) -> Result<Value, NoAnswer> {
        let value = |expression: &Expression| self.value(expression, row);
        let boolean = |value: bool| Some(Scalar::Bool(value));
        Ok(match expression {
            Expression::Column(column) => row[*column].clone(),
            Expression::Constant(constant) => canonical(constant.clone()),
            Expression::Parameter(parameter) => self.parameters[*parameter].clone(),
            Expression::SubqueryValue(subquery) => {
                self.subquery_values[*subquery].clone().ok_or(NoAnswer::Undefined)?
            }
            Expression::Arithmetic { operation, left, right, .. } => {
                let (Some(left), Some(right)) = (value(left)?, value(right)?) else { return Ok(None) };
                let (left, right) = (integer(&left), integer(&right));
                let result = match operation {
                    Arithmetic::Add => left.checked_add(right),
                    Arithmetic::Subtract => left.checked_sub(right),
                    Arithmetic::Multiply => left.checked_mul(right),
                };
                canonical(Some(Scalar::Int128(result.ok_or(NoAnswer::Undefined)?)))
            }
            Expression::Compare { comparison, left, right } => {
                let (Some(left), Some(right)) = (value(left)?, value(right)?) else { return Ok(None) };
                let order = compare(&left, &right);
                boolean(match comparison {
                    Comparison::Equal => order.is_eq(),
                    Comparison::NotEqual => order.is_ne(),
                    Comparison::Less => order.is_lt(),
                    Comparison::LessOrEqual => order.is_le(),
                    Comparison::Greater => order.is_gt(),
                    Comparison::GreaterOrEqual => order.is_ge(),
                })
            }
            Expression::And(parts) => decided(parts.iter().map(value), false)?,
            Expression::Or(parts) => decided(parts.iter().map(value), true)?,
            Expression::Not(part) => match value(part)? {
                Some(Scalar::Bool(part)) => boolean(!part),
                _ => None,
            },
            Expression::IsNull(part) => boolean(value(part)?.is_none()),
            Expression::In { value: part, list } => {
                value(part)?.and_then(|part| boolean(list.iter().any(|known| compare(&part, known).is_eq())))
            }
            Expression::Like { value: part, pattern } => match (value(part)?, value(pattern)?) {
                (Some(Scalar::Bytes(text)), Some(Scalar::Bytes(pattern))) => {
                    boolean(LikePattern::new(&pattern).matches(&text))
                }
                _ => None,
            },
            Expression::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if self.is_true(condition, row)? {
                        return value(result);
                    }
                }
                otherwise.as_deref().map_or(Ok(None), value)?
            }
            other => unreachable!("{other} is not generated"),
        })
    }

    fn join(
        &self,
        probe: &[Row],
        build: &[Row],
        (probe_width, build_width): (usize, usize),
        condition: &JoinCondition,
    ) -> Result<Vec<Row>, NoAnswer> {
        if probe.len() * build.len() > PAIRS_MAX {
            return Err(NoAnswer::Undefined);
        }
        let kind = condition.kind;
        let mut build_has_partner = vec![false; build.len()];
        let mut rows: Vec<Row> = Vec::new();
        for probe in probe {
            let (mut partner_count, mut perhaps) = (0, false);
            for (at, build) in build.iter().enumerate() {
                let equal = keys_equal(condition, probe, build);
                let pair = if equal == Some(false) { Vec::new() } else { [&probe[..], build].concat() };
                if kind == JoinKind::ProbeTruth && equal != Some(false) {
                    let of_keys = equal.or((!condition.null_keys.are_unknown()).then_some(false));
                    let of_residual = match &condition.residual {
                        None => Some(true),
                        Some(residual) => self.value(residual, &pair)?.map(|value| value == Scalar::Bool(true)),
                    };
                    let both = [of_keys, of_residual];
                    partner_count += usize::from(both == [Some(true); 2]);
                    perhaps |= !both.contains(&Some(false)) && both.contains(&None);
                    continue;
                }
                let counts = |residual: &Expression| self.is_true(residual, &pair);
                if equal == Some(false) || !condition.residual.as_ref().map_or(Ok(true), counts)? {
                    continue;
                }
                if equal.is_none() {
                    perhaps |= condition.null_keys.are_unknown();
                    continue;
                }
                partner_count += 1;
                build_has_partner[at] = true;
                if kind == JoinKind::ProbeSingle && partner_count > 1 {
                    return Err(NoAnswer::SeveralRows);
                }
                if kind.makes_pairs() {
                    rows.push(pair);
                }
            }
            let mark = if partner_count > 0 { Some(true) } else { (!perhaps).then_some(false) };
            match kind {
                JoinKind::ProbeOuter | JoinKind::ProbeSingle | JoinKind::FullOuter if partner_count == 0 => {
                    rows.push([&probe[..], &vec![None; build_width]].concat());
                }
                JoinKind::ProbeSemi if mark == Some(true) => rows.push(probe.clone()),
                JoinKind::ProbeAnti if mark == Some(false) => rows.push(probe.clone()),
                JoinKind::ProbeMark | JoinKind::ProbeTruth => {
                    rows.push([&probe[..], &[mark.map(Scalar::Bool)]].concat())
                }
                _ => {}
            }
        }
        for (build, has_partner) in build.iter().zip(build_has_partner) {
            match kind {
                JoinKind::BuildOuter | JoinKind::FullOuter if !has_partner => {
                    rows.push([&vec![None; probe_width], &build[..]].concat());
                }
                JoinKind::BuildSemi if has_partner => rows.push(build.clone()),
                JoinKind::BuildAnti if !has_partner => rows.push(build.clone()),
                _ => {}
            }
        }
        Ok(rows)
    }
}

impl Answer {
    /// The rows, if they are known.
    pub(super) fn all(self) -> Result<Vec<Row>, NoAnswer> {
        if let Order::Some(_) = self.order { Err(NoAnswer::Undefined) } else { Ok(self.rows) }
    }

    fn limit(self, offset: usize, limit: Option<usize>) -> Self {
        let row_count = if let Order::Some(count) = self.order { count } else { self.rows.len() };
        let left = row_count.saturating_sub(offset).min(limit.unwrap_or(usize::MAX));
        match self.order {
            Order::Total => Self { rows: self.rows.into_iter().skip(offset).take(left).collect(), order: self.order },
            _ if left == 0 => Self { rows: Vec::new(), order: Order::Any },
            _ if left == self.rows.len() => Self { rows: self.rows, order: Order::Any },
            _ => Self { rows: self.rows, order: Order::Some(left) },
        }
    }
}

/// AND (`decisive` is false) or OR (`decisive` is true). Without a decisive part, it is unknown if any part is unknown.
fn decided(parts: impl Iterator<Item = Result<Value, NoAnswer>>, decisive: bool) -> Result<Value, NoAnswer> {
    let parts: Vec<Value> = parts.collect::<Result<_, _>>()?;
    let is_decisive = |part: &Value| matches!(part, Some(Scalar::Bool(part)) if *part == decisive);
    if parts.iter().any(is_decisive) {
        return Ok(Some(Scalar::Bool(decisive)));
    }
    Ok(parts.iter().all(Option::is_some).then_some(Scalar::Bool(!decisive)))
}

/// Whether the keys are equal; `None` if that is unknown because of a null.
fn keys_equal(condition: &JoinCondition, probe: &[Value], build: &[Value]) -> Option<bool> {
    let mut unknown = false;
    for (probe_key, build_key) in condition.probe_keys.iter().zip(&condition.build_keys) {
        match (&probe[*probe_key], &build[*build_key]) {
            (Some(probe), Some(build)) if compare(probe, build).is_ne() => return Some(false),
            (Some(_), Some(_)) => {}
            (None, None) if condition.null_keys.are_equal() => {}
            _ if condition.null_keys.are_equal() => return Some(false),
            _ => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

fn aggregate(input: Answer, spec: &AggregationSpec) -> Result<Vec<Row>, NoAnswer> {
    let counts_rows = |call: &AggregateCall| call.function == AggregateFunction::CountRows && call.filter.is_none();
    if let Order::Some(count) = input.order
        && spec.keys.is_empty()
        && spec.aggregates.iter().all(counts_rows)
    {
        return Ok(vec![vec![Some(Scalar::Int(count as i64)); spec.aggregates.len()]]);
    }
    let mut rows = input.all()?;
    let key = |row: &Row| -> Row { spec.keys.iter().map(|key| row[*key].clone()).collect() };
    rows.sort_by(|a, b| compare_rows(&key(a), &key(b)));
    let mut groups: Vec<&[Row]> = rows.chunk_by(|a, b| compare_rows(&key(a), &key(b)).is_eq()).collect();
    if spec.keys.is_empty() && groups.is_empty() {
        groups.push(&[]);
    }
    let result = |group: &[Row]| {
        let keys = spec.keys.iter().map(|key| Ok(group[0][*key].clone()));
        keys.chain(spec.aggregates.iter().map(|call| aggregated(call, group))).collect()
    };
    groups.into_iter().map(result).collect()
}

fn aggregated(call: &AggregateCall, group: &[Row]) -> Result<Value, NoAnswer> {
    use AggregateFunction as F;
    let counts = |row: &&Row| call.filter.is_none_or(|filter| matches!(row[filter], Some(Scalar::Bool(true))));
    let kept = group.iter().filter(counts);
    if call.function == F::CountRows {
        return Ok(Some(Scalar::Int(kept.count() as i64)));
    }
    let mut values: Vec<Scalar> = kept.filter_map(|row| row[call.argument.unwrap()].clone()).collect();
    values.sort_by(compare);
    if call.distinct {
        values.dedup_by(|a, b| compare(a, b).is_eq());
    }
    let sum =
        || values.iter().try_fold(0_i128, |sum, value| sum.checked_add(integer(value))).ok_or(NoAnswer::Undefined);
    let is_true = |value: &Scalar| matches!(value, Scalar::Bool(true));
    Ok(canonical(match (call.function, values.first()) {
        (F::Count, _) => Some(Scalar::Int(values.len() as i64)),
        (_, None) => None,
        (F::Minimum, Some(first)) => Some(first.clone()),
        (F::Maximum, _) => values.last().cloned(),
        (F::BoolAnd, _) => Some(Scalar::Bool(values.iter().all(is_true))),
        (F::BoolOr, _) => Some(Scalar::Bool(values.iter().any(is_true))),
        (F::Sum, Some(Scalar::Float(_))) => Some(Scalar::Float(
            values.iter().map(|value| if let Scalar::Float(value) = value { *value } else { 0.0 }).sum(),
        )),
        (F::Sum, _) => Some(Scalar::Int128(sum()?)),
        (F::Average(AverageKind::Numeric { scale, result_scale }), _) => {
            let count = Numeric { unscaled: values.len() as i128, scale: 0 };
            let average = numeric_quotient(Numeric { unscaled: sum()?, scale }, count, result_scale);
            Some(Scalar::Int128(average.ok_or(NoAnswer::Undefined)?))
        }
        (other, _) => unreachable!("{other:?} is not generated"),
    }))
}

fn sort(mut rows: Vec<Row>, spec: &SortSpec) -> Result<Answer, NoAnswer> {
    let by_keys = |a: &Row, b: &Row| {
        spec.keys
            .iter()
            .map(|key| compare_keys(key, &a[key.column], &b[key.column]))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    };
    rows.sort_by(by_keys);
    let ties_are_equal = |ties: &[Row]| ties.iter().all(|row| compare_rows(row, &ties[0]).is_eq());
    let is_total = rows.chunk_by(|a, b| by_keys(a, b).is_eq()).all(ties_are_equal);
    if let Some(limit) = spec.limit.filter(|limit| *limit < rows.len()) {
        let at_limit = |row: &&Row| limit > 0 && by_keys(row, &rows[limit - 1]).is_eq();
        let ties: Vec<Row> = rows.iter().filter(at_limit).cloned().collect();
        let is_cut = limit > 0 && by_keys(&rows[limit - 1], &rows[limit]).is_eq();
        if is_cut && !ties_are_equal(&ties) {
            return Err(NoAnswer::Undefined);
        }
        rows.truncate(limit);
    }
    Ok(Answer { rows, order: if is_total { Order::Total } else { Order::Any } })
}

pub fn compare_keys(key: &SortKey, a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if key.descending => compare(b, a),
        (Some(a), Some(b)) => compare(a, b),
        _ if key.nulls_first => a.is_some().cmp(&b.is_some()),
        _ => a.is_none().cmp(&b.is_none()),
    }
}
