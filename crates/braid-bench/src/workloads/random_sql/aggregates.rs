//! GROUP BY: keys, functions, HAVING, and the resulting columns.

use super::draw::Draw;
use super::expressions::{Scoped, column, condition, expression, some_kind};
use super::query::Condition;
use super::schema::Kind;

/// A column of a result.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its expression.
    pub sql: String,
    /// Its kind, which determines the allowed operations.
    pub kind: Kind,
    /// Whether engines differ in its last digits.
    pub is_approximate: bool,
}

impl Output {
    /// The column of an expression. The last digits of a quotient must not be compared or added up.
    pub fn of(sql: String, kind: Kind) -> Self {
        let is_approximate = sql.contains('/');
        Self { sql, kind, is_approximate }
    }
}

/// The grouping of a scope.
pub struct Grouping {
    /// The expressions of the keys. Without keys, all rows are one group.
    pub keys: Vec<String>,
    /// Conditions on groups.
    pub having: Vec<Condition>,
    /// The columns of the result.
    pub outputs: Vec<Output>,
    /// The approximate number of groups.
    pub rows: f64,
}

/// Groups a scope of `rows` rows.
pub fn grouping(draw: &mut Draw, scope: &[Scoped], rows: f64) -> Grouping {
    let keys = keys(draw, scope);
    let calls: Vec<Output> = (0..draw.between(1, 4)).map(|_| call(draw, scope)).collect();
    let groups = keys.iter().map(|key| key.distinct).product::<f64>().min(rows).max(1.0);
    let exact = calls.iter().filter(|call| !call.is_approximate);
    let mut of_groups: Vec<Scoped> = keys.clone();
    of_groups.extend(exact.map(|call| Scoped { sql: call.sql.clone(), kind: call.kind, distinct: groups }));
    let mut outputs: Vec<Output> = Vec::new();
    for key in &keys {
        if draw.percent(90) {
            outputs.push(Output::of(key.sql.clone(), key.kind));
        }
    }
    outputs.extend(calls);
    if draw.percent(20) && !of_groups.is_empty() {
        let kind = some_kind(draw, &of_groups);
        outputs.push(Output::of(expression(draw, &of_groups, kind), kind));
    }
    let mut having = Vec::new();
    if draw.percent(25) {
        having.push(Condition::Plain(condition(draw, &of_groups)));
    }
    Grouping { keys: keys.into_iter().map(|key| key.sql).collect(), having, outputs, rows: groups }
}

/// Each key names a column, because a number by itself would be a position.
fn keys(draw: &mut Draw, scope: &[Scoped]) -> Vec<Scoped> {
    let count = draw.weighted(&[3, 8, 4, 2]);
    let mut keys: Vec<Scoped> = draw.sample(scope, count).into_iter().cloned().collect();
    for key in &mut keys {
        if draw.percent(25) {
            let kind = some_kind(draw, scope);
            let sql = expression(draw, scope, kind);
            if scope.iter().any(|scoped| sql.contains(&scoped.sql)) {
                *key = Scoped { sql, kind, distinct: key.distinct * 2.0 };
            }
        }
    }
    keys
}

/// A call of an aggregate function.
pub fn call(draw: &mut Draw, scope: &[Scoped]) -> Output {
    let mut output = match draw.weighted(&[4, 3, 7, 5, 3, 1]) {
        0 => Output::of("count(*)".to_owned(), Kind::Int),
        1 => {
            let kind = some_kind(draw, scope);
            of_argument(draw, scope, "count", kind, Kind::Int)
        }
        2 => sum(draw, scope),
        3 => extreme(draw, scope),
        4 => average(draw, scope),
        _ => {
            let function = *draw.choose(&["bool_and", "bool_or"]);
            of_argument(draw, scope, function, Kind::Bool, Kind::Bool)
        }
    };
    if draw.percent(20) {
        output.sql = format!("{} filter (where {})", output.sql, condition(draw, scope));
    }
    output
}

/// `min` or `max`, which PostgreSQL does not define for booleans.
pub fn extreme(draw: &mut Draw, scope: &[Scoped]) -> Output {
    let kind = match some_kind(draw, scope) {
        Kind::Bool => Kind::Text,
        kind => kind,
    };
    let function = *draw.choose(&["min", "max"]);
    of_argument(draw, scope, function, kind, kind)
}

fn sum(draw: &mut Draw, scope: &[Scoped]) -> Output {
    let kind = *draw.choose(&[Kind::Int, Kind::Int, Kind::Big, Kind::Numeric, Kind::Wide, Kind::Float]);
    let result = match kind {
        Kind::Big | Kind::Numeric => Kind::Wide,
        other => other,
    };
    of_argument(draw, scope, "sum", kind, result)
}

fn average(draw: &mut Draw, scope: &[Scoped]) -> Output {
    let kind = *draw.choose(&[Kind::Int, Kind::Int, Kind::Numeric, Kind::Float, Kind::Big]);
    let mut output = of_argument(draw, scope, "avg", kind, Kind::Float);
    output.is_approximate = true;
    output
}

fn of_argument(draw: &mut Draw, scope: &[Scoped], function: &str, kind: Kind, result: Kind) -> Output {
    let argument = match column(draw, scope, kind) {
        Some(column) if draw.percent(60) => column.sql.clone(),
        _ => expression(draw, scope, kind),
    };
    // DuckDB's sum of distinct bigints may wrap around.
    let may_be_distinct = (function, kind) != ("sum", Kind::Big);
    let distinct = if may_be_distinct && draw.percent(15) { "distinct " } else { "" };
    Output::of(format!("{function}({distinct}{argument})"), result)
}
