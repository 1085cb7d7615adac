//! SQL conditions on one column as predicates on encoded data.
//!
//! A translation is exact or absent: the predicate selects precisely the rows for which the expression is *true*. SQL's
//! three-valued logic is kept by translating `NOT e` as "the rows for which `e` is *false*", which is not the complement
//! of "is true" where a null is involved.
//!
//! Translated: comparisons with literals (either side), BETWEEN, IN lists, `=` joined by OR on one column, IS [NOT] NULL,
//! IS [NOT] DISTINCT FROM, boolean columns, LIKE with a fixed prefix, and NOT of these where one predicate can say it.
//! Casts of the column are looked through when they lose nothing and keep the order. Everything else is evaluated above
//! the scan, on decoded rows.

use std::cmp::Ordering;
use std::ops::Bound;

use braid_base::ColumnId;
use braid_exec::expression::Comparison;
use braid_storage::{ColumnPredicate, ColumnType, Scalar, TableDef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator};

use crate::comparison::{Position, cast_is_exact, compare, never, position};

/// The rows of the table for which `expr` is true, as a predicate on one of its columns; `None` if there is no exact
/// one.
pub fn translate_filter(expr: &Expr, def: &TableDef) -> Option<(ColumnId, ColumnPredicate)> {
    translate(expr, def, Truth::True)
}

/// Which rows are wanted: those for which an expression is true, or those for which it is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Truth {
    True,
    False,
}

impl Truth {
    fn negated_if(self, negated: bool) -> Self {
        match (self, negated) {
            (truth, false) => truth,
            (Self::True, true) => Self::False,
            (Self::False, true) => Self::True,
        }
    }
}

fn translate(expr: &Expr, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    match expr {
        Expr::Alias(alias) => translate(&alias.expr, def, truth),
        Expr::Not(inner) => translate(inner, def, truth.negated_if(true)),
        Expr::Column(_) => {
            let (column, column_type) = column(expr, def)?;
            (column_type == ColumnType::Boolean)
                .then(|| (column, ColumnPredicate::equal(Scalar::Bool(truth == Truth::True))))
        }
        Expr::BinaryExpr(binary) => translate_binary(binary, def, truth),
        Expr::Between(between) => translate_between(between, def, truth),
        Expr::InList(list) => translate_in_list(list, def, truth),
        Expr::Like(like) => translate_like(like, def, truth),
        Expr::IsNull(inner) => Some((column(inner, def)?.0, null_test(truth))),
        Expr::IsNotNull(inner) => Some((column(inner, def)?.0, null_test(truth.negated_if(true)))),
        Expr::IsUnknown(inner) => Some((boolean_column(inner, def)?, null_test(truth))),
        Expr::IsNotUnknown(inner) => Some((boolean_column(inner, def)?, null_test(truth.negated_if(true)))),
        // Never null themselves: true where the inner expression is, and false where that is false or null, which no
        // single predicate says.
        Expr::IsTrue(inner) if truth == Truth::True => translate(inner, def, Truth::True),
        Expr::IsFalse(inner) if truth == Truth::True => translate(inner, def, Truth::False),
        Expr::IsNotTrue(inner) if truth == Truth::False => translate(inner, def, Truth::True),
        Expr::IsNotFalse(inner) if truth == Truth::False => translate(inner, def, Truth::False),
        _ => None,
    }
}

fn null_test(truth: Truth) -> ColumnPredicate {
    match truth {
        Truth::True => ColumnPredicate::IsNull,
        Truth::False => ColumnPredicate::IsNotNull,
    }
}

/// The column that `expr` is, looking through casts that lose nothing.
fn column(expr: &Expr, def: &TableDef) -> Option<(ColumnId, ColumnType)> {
    match expr {
        Expr::Alias(alias) => column(&alias.expr, def),
        Expr::Column(name) => def.column(&name.name).map(|(id, column)| (id, column.column_type)),
        Expr::Cast(cast) => {
            let (id, column_type) = column(&cast.expr, def)?;
            cast_is_exact(column_type, cast.field.data_type()).then_some((id, column_type))
        }
        Expr::TryCast(cast) => {
            let (id, column_type) = column(&cast.expr, def)?;
            cast_is_exact(column_type, cast.field.data_type()).then_some((id, column_type))
        }
        _ => None,
    }
}

fn boolean_column(expr: &Expr, def: &TableDef) -> Option<ColumnId> {
    column(expr, def).filter(|(_, column_type)| *column_type == ColumnType::Boolean).map(|(id, _)| id)
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        Expr::Alias(alias) => literal(&alias.expr),
        _ => None,
    }
}

fn translate_binary(binary: &BinaryExpr, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    if let Operator::Or | Operator::And = binary.op {
        return translate_alternatives(binary, def, truth);
    }
    let ((column, column_type), value, mirrored) = match (column(&binary.left, def), literal(&binary.right)) {
        (Some(column), Some(value)) => (column, value, false),
        _ => (column(&binary.right, def)?, literal(&binary.left)?, true),
    };
    let distinct = match binary.op {
        Operator::IsDistinctFrom => Some(truth),
        Operator::IsNotDistinctFrom => Some(truth.negated_if(true)),
        _ => None,
    };
    let predicate = match distinct {
        Some(truth) => translate_distinct(column_type, value, truth)?,
        None => {
            let comparison = comparison(binary.op)?;
            let comparison = if mirrored { comparison.mirrored() } else { comparison };
            compare(column_type, if truth == Truth::True { comparison } else { comparison.negated() }, value)?
        }
    };
    Some((column, predicate))
}

/// The comparison that `operator` stands for.
pub(crate) fn comparison(operator: Operator) -> Option<Comparison> {
    Some(match operator {
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

/// `column IS DISTINCT FROM value`: never null itself.
fn translate_distinct(column_type: ColumnType, value: &ScalarValue, truth: Truth) -> Option<ColumnPredicate> {
    match (value.is_null(), truth) {
        (true, truth) => Some(null_test(truth.negated_if(true))),
        (false, Truth::False) => compare(column_type, Comparison::Equal, value),
        // Other than the value, or null: no single predicate says that.
        (false, Truth::True) => None,
    }
}

/// `a = 1 OR a IN (2, 3)`, and its negation `NOT (a = 1 OR a = 2)`, as one list.
fn translate_alternatives(binary: &BinaryExpr, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    let joins = if truth == Truth::True { Operator::Or } else { Operator::And };
    // A side that is never wanted adds nothing: DataFusion writes `a IN (1, NULL)` as `a = 1 OR NULL`.
    for (side, other) in [(&binary.left, &binary.right), (&binary.right, &binary.left)] {
        if binary.op == joins && literal(side).is_some_and(|value| is_never(value, truth)) {
            return translate(other, def, truth);
        }
    }
    let (column, left) = translate(&binary.left, def, truth)?;
    let (other, right) = translate(&binary.right, def, truth)?;
    if column != other {
        return None;
    }
    if binary.op == joins {
        let mut values = listed_values(left)?;
        values.extend(listed_values(right)?);
        return Some((column, in_list(values)));
    }
    intersect(&left, &right).map(|predicate| (column, predicate))
}

/// Whether a boolean literal is not `truth`: its opposite, or null.
fn is_never(literal: &ScalarValue, truth: Truth) -> bool {
    match literal {
        ScalarValue::Boolean(Some(value)) => *value != (truth == Truth::True),
        value => value.is_null(),
    }
}

/// The values that `predicate` lists, if it lists values.
fn listed_values(predicate: ColumnPredicate) -> Option<Vec<Scalar>> {
    match predicate {
        ColumnPredicate::In(values) => Some(values),
        ColumnPredicate::Range { low: Bound::Included(low), high: Bound::Included(high) } if low == high => {
            Some(vec![low])
        }
        _ => None,
    }
}

/// Both predicates on one column as one, where that is simple.
pub(crate) fn intersect(left: &ColumnPredicate, right: &ColumnPredicate) -> Option<ColumnPredicate> {
    use ColumnPredicate::{In, IsNotNull, IsNull, NotEqual, NotIn, Range};
    Some(match (left, right) {
        (IsNull, IsNull) => IsNull,
        (IsNull, _) | (_, IsNull) => never(),
        (IsNotNull, other) | (other, IsNotNull) => other.clone(),
        (In(values), other) | (other, In(values)) => {
            in_list(values.iter().filter(|value| other.matches(Some(value))).cloned().collect())
        }
        (Range { low: a, high: b }, Range { low: c, high: d }) => {
            let low = tighter(a, c, Ordering::Greater)?.clone();
            let high = tighter(b, d, Ordering::Less)?.clone();
            if is_empty_between(&low, &high) { never() } else { Range { low, high } }
        }
        (Range { .. }, _) | (_, Range { .. }) => return None,
        (NotEqual(_) | NotIn(_), NotEqual(_) | NotIn(_)) => {
            let excluded = |predicate: &ColumnPredicate| match predicate {
                NotEqual(value) => vec![value.clone()],
                NotIn(values) => values.clone(),
                _ => Vec::new(),
            };
            not_in_list([excluded(left), excluded(right)].concat())
        }
    })
}

/// The bound that excludes more, `further` being the order of its value to the other's.
fn tighter<'a>(a: &'a Bound<Scalar>, b: &'a Bound<Scalar>, further: Ordering) -> Option<&'a Bound<Scalar>> {
    let (Bound::Included(x) | Bound::Excluded(x)) = a else { return Some(b) };
    let (Bound::Included(y) | Bound::Excluded(y)) = b else { return Some(a) };
    Some(match x.compare(y)? {
        Ordering::Equal if matches!(a, Bound::Excluded(_)) => a,
        Ordering::Equal => b,
        order if order == further => a,
        _ => b,
    })
}

/// Whether no value lies between the bounds, whatever the type's values are.
fn is_empty_between(low: &Bound<Scalar>, high: &Bound<Scalar>) -> bool {
    let (Bound::Included(x) | Bound::Excluded(x)) = low else { return false };
    let (Bound::Included(y) | Bound::Excluded(y)) = high else { return false };
    match x.compare(y) {
        Some(Ordering::Greater) => true,
        Some(Ordering::Equal) => !matches!((low, high), (Bound::Included(_), Bound::Included(_))),
        _ => false,
    }
}

fn translate_between(between: &Between, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    let (column, column_type) = column(&between.expr, def)?;
    let (low, high) = (literal(&between.low)?, literal(&between.high)?);
    if truth.negated_if(between.negated) == Truth::False {
        // Below or above: two ranges.
        return None;
    }
    let low = compare(column_type, Comparison::GreaterOrEqual, low)?;
    let high = compare(column_type, Comparison::LessOrEqual, high)?;
    intersect(&low, &high).map(|predicate| (column, predicate))
}

fn translate_in_list(list: &InList, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    let (column, column_type) = column(&list.expr, def)?;
    let literals: Option<Vec<&ScalarValue>> = list.list.iter().map(literal).collect();
    let truth = truth.negated_if(list.negated);
    in_literals(column_type, literals?, truth == Truth::True).map(|predicate| (column, predicate))
}

/// `column [NOT] IN (literals)`.
pub(crate) fn in_literals<'a>(
    column_type: ColumnType,
    literals: impl IntoIterator<Item = &'a ScalarValue>,
    wanted: bool,
) -> Option<ColumnPredicate> {
    let mut values = Vec::new();
    for literal in literals {
        if literal.is_null() {
            if wanted {
                continue;
            }
            // Different from each value, but not known to differ from the null: never true.
            return Some(never());
        }
        if let Position::At(value) = position(column_type, literal)? {
            values.push(value);
        }
    }
    Some(if wanted { in_list(values) } else { not_in_list(values) })
}

/// `IN`, in the canonical form: no duplicates, ascending; equality if there is one value.
fn in_list(values: Vec<Scalar>) -> ColumnPredicate {
    let mut values = distinct(values);
    match values.len() {
        1 => ColumnPredicate::equal(values.swap_remove(0)),
        _ => ColumnPredicate::In(values),
    }
}

fn not_in_list(values: Vec<Scalar>) -> ColumnPredicate {
    let mut values = distinct(values);
    match values.len() {
        0 => ColumnPredicate::IsNotNull,
        1 => ColumnPredicate::NotEqual(values.swap_remove(0)),
        _ => ColumnPredicate::NotIn(values),
    }
}

fn distinct(mut values: Vec<Scalar>) -> Vec<Scalar> {
    values.sort_by(|a, b| a.compare(b).unwrap_or(Ordering::Equal));
    values.dedup();
    values
}

/// `column LIKE 'prefix%'` and `column LIKE 'text'`.
fn translate_like(like: &Like, def: &TableDef, truth: Truth) -> Option<(ColumnId, ColumnPredicate)> {
    let (column, column_type) = column(&like.expr, def)?;
    if like.case_insensitive || like.escape_char.is_some_and(|escape| escape != '\\') {
        return None;
    }
    let pattern = match literal(&like.pattern)? {
        value if value.is_null() => return Some((column, never())),
        ScalarValue::Utf8(Some(v)) | ScalarValue::Utf8View(Some(v)) | ScalarValue::LargeUtf8(Some(v)) => v,
        _ => return None,
    };
    if !matches!(column_type, ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_)) {
        return None;
    }
    let truth = truth.negated_if(like.negated);
    let prefix = pattern.trim_end_matches('%');
    if prefix.contains(['%', '_', '\\']) {
        return None;
    }
    if prefix.len() == pattern.len() {
        let comparison = if truth == Truth::True { Comparison::Equal } else { Comparison::NotEqual };
        let value = ScalarValue::Utf8(Some(pattern.clone()));
        return Some((column, compare(column_type, comparison, &value)?));
    }
    match truth {
        _ if prefix.is_empty() && truth == Truth::True => Some((column, ColumnPredicate::IsNotNull)),
        _ if prefix.is_empty() => Some((column, never())),
        Truth::True => {
            let low = prefix.as_bytes().to_vec();
            // A byte of UTF-8 is at most 0xF4, so the last one can be raised: the first string after all with the
            // prefix.
            let mut high = low.clone();
            *high.last_mut().expect("the prefix is not empty") += 1;
            let (low, high) = (Bound::Included(Scalar::Bytes(low)), Bound::Excluded(Scalar::Bytes(high)));
            Some((column, ColumnPredicate::Range { low, high }))
        }
        Truth::False => None,
    }
}
