//! Random tables with their rows, as SQL.
//!
//! A column draws its values from a small or a large domain, evenly or with one value for most rows, with or without nulls,
//! in any order or sorted. All tables draw texts and dates from the same few values, so that joins find partners.
//!
//! Rows are inserted in pieces. A commit merges chunks that have fewer than twice the inserted rows. Each piece is therefore
//! less than half of the previous one, so that it stays a separate chunk.

use std::fmt;
use std::fmt::Write;

use super::draw::Draw;

/// The kind of a value, which determines the allowed operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer for computations, of at most some millions.
    Int,
    /// A bigint of any size. It is compared, and not used in computations.
    Big,
    /// A numeric for computations.
    Numeric,
    /// A numeric beyond 64 bits. It is compared, and not used in computations.
    Wide,
    /// A double that is a multiple of 1/4, so that sums are exact in any order.
    Float,
    /// A text.
    Text,
    /// A date.
    Date,
    /// A boolean.
    Bool,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 8] =
        [Self::Int, Self::Big, Self::Numeric, Self::Wide, Self::Float, Self::Text, Self::Date, Self::Bool];
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name; tables have columns of the same names.
    pub name: String,
    /// Its type in SQL.
    pub sql_type: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// The approximate number of distinct values.
    pub distinct: f64,
}

/// A table with its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Values as SQL, row by row.
    pub rows: Vec<Vec<String>>,
}

/// The range of the number of rows of each table. The last table fills several batches.
const ROW_COUNTS: [(i64, i64); 6] = [(0, 1), (2, 9), (10, 40), (40, 120), (150, 400), (1100, 2600)];

/// The tables of `seed`.
pub fn tables(seed: u64) -> Vec<Table> {
    let mut draw = Draw::new(seed);
    ROW_COUNTS.iter().enumerate().map(|(at, (low, high))| table(&mut draw, at, *low, *high)).collect()
}

fn table(draw: &mut Draw, number: usize, low: i64, high: i64) -> Table {
    let row_count = draw.between(low, high) as usize;
    let column_count = draw.between(4, 9) as usize;
    let mut columns = Vec::new();
    let mut values = Vec::new();
    for at in 0..column_count {
        // Every table has something to be joined by.
        let kind = if at == 0 { Kind::Int } else { *draw.choose(&Kind::ALL) };
        let domain = Domain::random(draw, kind, row_count);
        values.push(domain.values(draw, row_count));
        let distinct = (domain.size as f64).min(row_count as f64).max(1.0);
        columns.push(Column { name: format!("c{at}"), sql_type: domain.sql_type, kind, distinct });
    }
    let rows = (0..row_count).map(|row| values.iter().map(|column| column[row].clone()).collect()).collect();
    Table { name: format!("t{number}"), columns, rows }
}

impl Table {
    /// `CREATE TABLE`.
    pub fn create(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|c| format!("{} {}", c.name, c.sql_type)).collect();
        format!("create table {} ({})", self.name, columns.join(", "))
    }

    /// The statements that insert its rows, one chunk each.
    pub fn inserts(&self) -> Vec<String> {
        let (mut rest, mut statements) = (&self.rows[..], Vec::new());
        while !rest.is_empty() {
            // 5/8 of what is left: the next piece is at most 5/8 of 3/8, less than half of this one.
            let (piece, after) = rest.split_at((rest.len() * 5).div_ceil(8));
            let rows: Vec<String> = piece.iter().map(|row| format!("({})", row.join(", "))).collect();
            statements.push(format!("insert into {} values {}", self.name, rows.join(", ")));
            rest = after;
        }
        statements
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{};", self.create())?;
        self.inserts().iter().try_for_each(|insert| writeln!(f, "{insert};"))
    }
}

/// The values that a column draws from.
struct Domain {
    kind: Kind,
    sql_type: &'static str,
    /// The number of distinct values.
    size: i64,
    /// The minimum, for numbers.
    base: i64,
    null_percent: u64,
    /// The share of rows with the first value.
    skew_percent: u64,
    is_sorted: bool,
}

impl Domain {
    fn random(draw: &mut Draw, kind: Kind, row_count: usize) -> Self {
        let size = match (draw.weighted(&[1, 5, 5, 4, 3]), kind) {
            (_, Kind::Bool) => 2,
            (0, _) => 1,
            (1, _) => 4,
            (2, _) => 12,
            (3, _) => 60,
            (_, _) => (row_count as i64).clamp(1, 1000),
        };
        let sql_type = match kind {
            Kind::Int => *draw.choose(&["integer", "integer", "bigint", "smallint"]),
            Kind::Big => "bigint",
            Kind::Numeric => *draw.choose(&["numeric(9,2)", "numeric(7,3)", "numeric(12,2)"]),
            Kind::Wide => *draw.choose(&["numeric(25,3)", "numeric(30,0)"]),
            Kind::Float => "double precision",
            Kind::Text => *draw.choose(&["text", "varchar(60)"]),
            Kind::Date => "date",
            Kind::Bool => "boolean",
        };
        Self {
            kind,
            sql_type,
            size,
            base: *draw.choose(&[0, 0, 0, 1, -3, -40, 100]),
            null_percent: *draw.choose(&[0, 0, 5, 15, 50, 100, 10, 0]),
            skew_percent: *draw.choose(&[0, 0, 0, 40, 90]),
            is_sorted: draw.percent(25),
        }
    }

    fn values(&self, draw: &mut Draw, row_count: usize) -> Vec<String> {
        let mut members: Vec<i64> = (0..row_count)
            .map(|_| if draw.percent(self.skew_percent) { 0 } else { draw.between(0, self.size - 1) })
            .collect();
        if self.is_sorted {
            members.sort_unstable();
        }
        let value = |member| if draw.percent(self.null_percent) { "null".to_owned() } else { self.value(member) };
        members.into_iter().map(value).collect()
    }

    /// One of its values, as SQL.
    fn value(&self, member: i64) -> String {
        match self.kind {
            Kind::Int => (self.base + member).to_string(),
            Kind::Big => big(self.base + member),
            Kind::Numeric => (self.base + member).checked_mul(125).map_or_else(String::new, |n| fixed(n, 2)),
            Kind::Wide => wide(self.base + member),
            Kind::Float => quarters(self.base + member),
            Kind::Text => quoted(&text(member)),
            Kind::Date => date(self.base + member),
            Kind::Bool => (member == 1).to_string(),
        }
    }
}

/// A literal of a kind, mostly a value that columns have, too.
pub fn literal(draw: &mut Draw, kind: Kind) -> String {
    draw.for_literal(|draw| random_literal(draw, kind))
}

fn random_literal(draw: &mut Draw, kind: Kind) -> String {
    let member = if draw.percent(80) { draw.between(-3, 15) } else { draw.between(-50, 400) };
    match kind {
        Kind::Int => member.to_string(),
        Kind::Big => big(member),
        Kind::Numeric => fixed(member * *draw.choose(&[125, 125, 50, 1]), 2),
        Kind::Wide => wide(member),
        Kind::Float => format!("cast({} as double precision)", quarters(member)),
        Kind::Text => quoted(&text(member.abs())),
        Kind::Date => format!("date {}", date(member)),
        Kind::Bool => draw.choose(&["true", "false"]).to_string(),
    }
}

/// A text in SQL's quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Every third number lies near one of bigint's limits.
fn big(number: i64) -> String {
    match number.rem_euclid(3) {
        0 => (i64::MAX - number.abs()).to_string(),
        1 => (i64::MIN + 1 + number.abs()).to_string(),
        _ => number.to_string(),
    }
}

/// A whole number. Even numbers are multiplied by 10^18, so that they exceed 64 bits from 10 on.
fn wide(number: i64) -> String {
    let value = if number % 2 == 0 { i128::from(number) * 10i128.pow(18) + 7 } else { i128::from(number) };
    value.to_string()
}

fn quarters(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", number.abs() / 4, number.abs() % 4 * 25)
}

/// `units` of 10^-`scale`.
fn fixed(units: i64, scale: usize) -> String {
    let (sign, digits) = (if units < 0 { "-" } else { "" }, format!("{:0>width$}", units.abs(), width = scale + 1));
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Days around 2000-02-28; every tenth day is years away.
fn date(number: i64) -> String {
    let (year, month) = match number.rem_euclid(10) {
        0 => (1969 + number.rem_euclid(60), 12),
        _ => (2000, 2 + number.rem_euclid(2)),
    };
    format!("'{year}-{month:02}-{:02}'", 1 + number.rem_euclid(29))
}

/// Texts that are empty, short, of the maximum length within a string view, longer, or different only in their last letter.
fn text(member: i64) -> String {
    const WORDS: [&str; 12] =
        ["", "a", "b", "ab", "B", "abc", "élan", "it's", "twelve bytes", "thirteen byte", "100%_x", "Zebra crossing"];
    let mut text = WORDS[(member % 12) as usize].to_owned();
    if member >= 12 {
        let _ = write!(text, " the same beginning of {}", member / 12);
    }
    text
}
