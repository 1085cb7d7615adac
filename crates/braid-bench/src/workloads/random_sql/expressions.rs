//! Random expressions of a wanted kind over columns that are in scope, and conditions without subqueries.
//!
//! Both engines must compute the same values. Products therefore have small factors, remainders and quotients have constant
//! divisors other than 0, and no expression yields a negative zero.

use super::draw::Draw;
use super::schema::{Kind, literal, quoted};

/// A column, key or aggregate that an expression may name.
#[derive(Clone, Debug)]
pub struct Scoped {
    /// Its text.
    pub sql: String,
    /// Its kind, which determines the allowed operations.
    pub kind: Kind,
    /// The approximate number of distinct values.
    pub distinct: f64,
}

/// Maximum depth of an expression.
const DEPTH_MAX: u32 = 2;

/// An expression of `kind`.
pub fn expression(draw: &mut Draw, scope: &[Scoped], kind: Kind) -> String {
    of_kind(draw, scope, kind, DEPTH_MAX)
}

/// A column of `kind`; `None` if no column has this kind.
pub fn column<'a>(draw: &mut Draw, scope: &'a [Scoped], kind: Kind) -> Option<&'a Scoped> {
    let fitting: Vec<&Scoped> = scope.iter().filter(|scoped| scoped.kind == kind).collect();
    if fitting.is_empty() { None } else { Some(*draw.choose(&fitting)) }
}

fn of_kind(draw: &mut Draw, scope: &[Scoped], kind: Kind, depth: u32) -> String {
    if depth == 0 || draw.percent(60) {
        return leaf(draw, scope, kind);
    }
    if draw.percent(35) {
        return conditional(draw, scope, kind, depth - 1);
    }
    match kind {
        Kind::Int => integer(draw, scope, depth - 1),
        Kind::Numeric | Kind::Float => number(draw, scope, kind, depth - 1),
        Kind::Text => text(draw, scope, depth - 1),
        Kind::Bool => plain_condition(draw, scope, depth - 1),
        Kind::Date => {
            let days = draw.between(-40, 40);
            format!("({} + {days})", of_kind(draw, scope, Kind::Date, depth - 1))
        }
        Kind::Big | Kind::Wide => leaf(draw, scope, kind),
    }
}

fn leaf(draw: &mut Draw, scope: &[Scoped], kind: Kind) -> String {
    match column(draw, scope, kind) {
        Some(column) if draw.percent(85) => column.sql.clone(),
        _ => literal(draw, kind),
    }
}

/// CASE, coalesce and similar expressions of any kind.
fn conditional(draw: &mut Draw, scope: &[Scoped], kind: Kind, depth: u32) -> String {
    let value = |draw: &mut Draw| of_kind(draw, scope, kind, depth);
    match draw.below(5) {
        0 => format!("coalesce({}, {})", value(draw), value(draw)),
        1 => format!("nullif({}, {})", value(draw), value(draw)),
        2 if kind != Kind::Bool => {
            let function = *draw.choose(&["greatest", "least"]);
            format!("{function}({}, {})", value(draw), value(draw))
        }
        3 => format!("case when {} then {} end", plain_condition(draw, scope, depth), value(draw)),
        _ => {
            let (condition, then) = (plain_condition(draw, scope, depth), value(draw));
            format!("case when {condition} then {then} else {} end", value(draw))
        }
    }
}

fn integer(draw: &mut Draw, scope: &[Scoped], depth: u32) -> String {
    let of = |draw: &mut Draw, kind| of_kind(draw, scope, kind, depth);
    match draw.below(10) {
        0..=2 => format!("({} {} {})", of(draw, Kind::Int), draw.choose(&["+", "-"]), of(draw, Kind::Int)),
        3 => format!("({} * {})", of(draw, Kind::Int), draw.between(-5, 9)),
        4 => format!("({} % {})", of(draw, Kind::Int), draw.between(2, 9)),
        5 => format!("abs({})", of(draw, Kind::Int)),
        6 => format!("length({})", of(draw, Kind::Text)),
        7 => format!("({} - {})", of(draw, Kind::Date), of(draw, Kind::Date)),
        8 => format!("cast({} as integer)", of(draw, Kind::Bool)),
        _ => {
            let part = draw.choose(&["year", "month", "day", "quarter", "dow", "doy", "week"]);
            format!("extract({part} from {})", of(draw, Kind::Date))
        }
    }
}

fn number(draw: &mut Draw, scope: &[Scoped], kind: Kind, depth: u32) -> String {
    let of = |draw: &mut Draw, kind| of_kind(draw, scope, kind, depth);
    match draw.below(5) {
        0 | 1 => format!("({} {} {})", of(draw, kind), draw.choose(&["+", "-"]), of(draw, kind)),
        2 => format!("({} * {})", of(draw, kind), draw.between(2, 9)),
        3 if kind == Kind::Numeric => format!("abs({})", of(draw, kind)),
        3 => format!("({} / {})", of(draw, kind), draw.between(1, 7)),
        _ if kind == Kind::Numeric => format!("cast({} as numeric(12,2))", of(draw, Kind::Int)),
        _ => {
            let kind = *draw.choose(&[Kind::Int, Kind::Numeric]);
            format!("cast({} as double precision)", of(draw, kind))
        }
    }
}

fn text(draw: &mut Draw, scope: &[Scoped], depth: u32) -> String {
    let of = |draw: &mut Draw, kind| of_kind(draw, scope, kind, depth);
    match draw.below(6) {
        0 => format!("upper({})", of(draw, Kind::Text)),
        1 => format!("lower({})", of(draw, Kind::Text)),
        2 => format!("({} || {})", of(draw, Kind::Text), of(draw, Kind::Text)),
        3 => format!("cast({} as text)", of(draw, Kind::Int)),
        4 => {
            format!("trim(substring({} from {} for {}))", of(draw, Kind::Text), draw.between(1, 9), draw.between(0, 6))
        }
        _ => format!("replace({}, {}, {})", of(draw, Kind::Text), quoted("a"), quoted("xy")),
    }
}

/// A condition without subqueries.
pub fn condition(draw: &mut Draw, scope: &[Scoped]) -> String {
    plain_condition(draw, scope, DEPTH_MAX)
}

fn plain_condition(draw: &mut Draw, scope: &[Scoped], depth: u32) -> String {
    if depth > 0 && draw.percent(15) {
        let connective = *draw.choose(&["and", "or"]);
        let left = plain_condition(draw, scope, depth - 1);
        return format!("({left} {connective} {})", plain_condition(draw, scope, depth - 1));
    }
    if depth > 0 && draw.percent(5) {
        return format!("(not {})", plain_condition(draw, scope, depth - 1));
    }
    atom(draw, scope, depth.saturating_sub(1))
}

fn atom(draw: &mut Draw, scope: &[Scoped], depth: u32) -> String {
    let kind = some_kind(draw, scope);
    let value = of_kind(draw, scope, kind, depth);
    match draw.weighted(&[10, 3, 3, 3, 2, 3, 2]) {
        1 => format!("({value} is {}null)", not(draw)),
        2 => {
            let (low, high) = (of_kind(draw, scope, kind, depth), of_kind(draw, scope, kind, depth));
            format!("({value} {}between {low} and {high})", not(draw))
        }
        3 => format!("({value} {}in ({}))", not(draw), in_list(draw, kind)),
        4 => format!("({value} is {}distinct from {})", not(draw), of_kind(draw, scope, kind, depth)),
        5 => like(draw, scope, depth),
        6 => {
            let value = of_kind(draw, scope, Kind::Bool, depth);
            format!("({value} is {}{})", not(draw), draw.choose(&["true", "false"]))
        }
        _ => {
            let other = if draw.percent(40) { literal(draw, kind) } else { of_kind(draw, scope, kind, depth) };
            format!("({value} {} {other})", comparison(draw))
        }
    }
}

/// A comparison's operator.
pub fn comparison(draw: &mut Draw) -> &'static str {
    const OPERATORS: [&str; 7] = ["=", "=", "<>", "<", "<=", ">", ">="];
    let operator: &&str = draw.choose(&OPERATORS);
    operator
}

/// The kind of a random column, so that most expressions contain a column.
pub fn some_kind(draw: &mut Draw, scope: &[Scoped]) -> Kind {
    if scope.is_empty() || draw.percent(10) { *draw.choose(&Kind::ALL) } else { draw.choose(scope).kind }
}

fn not(draw: &mut Draw) -> &'static str {
    if draw.percent(35) { "not " } else { "" }
}

fn in_list(draw: &mut Draw, kind: Kind) -> String {
    let count = *draw.choose(&[1, 2, 3, 5, 12]);
    let mut members: Vec<String> = (0..count).map(|_| literal(draw, kind)).collect();
    if draw.percent(10) {
        members.push("null".to_owned());
    }
    members.join(", ")
}

fn like(draw: &mut Draw, scope: &[Scoped], depth: u32) -> String {
    const PATTERNS: [&str; 14] =
        ["%", "", "a", "a%", "%a", "%b%", "_", "__%", "%the%of%", "t%bytes", "%beginning of 1", "é%", "_b_", "%e%_%s%"];
    let operator = *draw.choose(&["like", "like", "ilike"]);
    let pattern: &&str = draw.choose(&PATTERNS);
    let pattern = quoted(pattern);
    format!("({} {}{operator} {pattern})", of_kind(draw, scope, Kind::Text, depth), not(draw))
}
