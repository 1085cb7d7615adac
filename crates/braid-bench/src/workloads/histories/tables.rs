//! The tables of a history.
//!
//! - `changing_0`, `changing_1`: nine thousand rows of mixed types at first.
//! - `changing_2`: a random table of the random generator, with which its other tables, `t0` to `t4`, are joined.
//! - `fixed`, `small`: as the first two, and something to join them with. They do not change.
//!
//! All but the smallest have more rows than the 4096 up to which Braid runs a query at once, outside of passes.

use super::super::random_sql::draw::Draw;
use super::super::random_sql::schema::{Table, tables};

/// Number of the tables that change.
pub const CHANGING_COUNT: usize = 3;

/// Least rows of `changing_2`: more than the 4096 of a query that runs at once.
const RANDOM_ROWS_MIN: usize = 4500;

const COLUMNS: &str =
    "(id integer not null, k integer, v integer, g smallint, n numeric(10,2), s text, d date, b boolean)";

/// The tables.
pub struct HistoryTables {
    /// Those of the random generator. The last one is `changing_2`.
    pub random: Vec<Table>,
}

/// The name of a table that changes.
pub fn changing(number: usize) -> String {
    format!("changing_{number}")
}

impl HistoryTables {
    /// The tables of `seed`.
    pub fn new(seed: u64) -> Self {
        let mut random = tables(seed);
        let last = random.last_mut().expect("the generator has several tables");
        last.name = changing(CHANGING_COUNT - 1);
        let rows = std::mem::take(&mut last.rows);
        let times = RANDOM_ROWS_MIN.div_ceil(rows.len());
        last.rows = std::iter::repeat_n(rows, times).flatten().collect();
        Self { random }
    }

    /// The statements that make all tables with their first rows.
    pub fn statements(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for (name, rows, factor) in [("changing_0", 9000, 31), ("changing_1", 9000, 17), ("fixed", 12_000, 7)] {
            statements.push(format!("create table {name} {COLUMNS}"));
            statements.push(format!(
                "insert into {name} select value, value * 7919 % 1009, \
                 case when value % 13 = 0 then null else value * {factor} % 200 end, value % 7, \
                 cast(value * 37 % 5000 as numeric(10,2)) * 0.25, 'name ' || (value * {factor} % 61), \
                 date '2020-01-01' + value % 700, case when value % 5 > 0 then value % 3 = 0 end \
                 from generate_series(1, {rows}) as s(value)"
            ));
        }
        statements.push("create table small (k integer not null, w integer, label text)".to_owned());
        statements.push(
            "insert into small select value * 3, value * 11 % 200, 'name ' || (value % 40) \
             from generate_series(1, 300) as s(value)"
                .to_owned(),
        );
        for table in &self.random {
            statements.push(table.create());
            statements.extend(table.inserts());
        }
        statements
    }

    /// Some random rows for a table that changes, as `VALUES` lists them.
    pub fn added_rows(&self, table: usize, draw: &mut Draw) -> String {
        let rows: Vec<String> = (0..draw.between(1, 60)).map(|_| self.added_row(table, draw)).collect();
        rows.join(", ")
    }

    fn added_row(&self, table: usize, draw: &mut Draw) -> String {
        if table == CHANGING_COUNT - 1 {
            let rows = &self.random.last().expect("the generator has several tables").rows;
            return format!("({})", draw.choose(rows).join(", "));
        }
        let value = if draw.percent(10) { "null".to_owned() } else { draw.between(0, 199).to_string() };
        format!(
            "({}, {}, {value}, {}, {}.25, 'name {}', '2021-{:02}-{:02}', {})",
            // No multiple of 600, so that a constant of a form that fails is the number of one row.
            draw.between(0, 19) * 600 + draw.between(1, 599),
            draw.between(0, 1008),
            draw.between(0, 6),
            draw.between(0, 1250),
            draw.between(0, 70),
            draw.between(1, 12),
            draw.between(1, 28),
            draw.choose(&["true", "false", "null"]),
        )
    }
}

#[cfg(test)]
mod tests {
    use braid_testing::cases;

    use super::*;

    #[test]
    fn the_random_table_that_changes_has_enough_rows_for_passes() {
        for case in cases!(0..50) {
            let tables = HistoryTables::new(case.seed);
            let last = tables.random.last().unwrap();
            assert!((RANDOM_ROWS_MIN..3 * RANDOM_ROWS_MIN).contains(&last.rows.len()), "{}", last.rows.len());
            assert_eq!(last.name, "changing_2");
            let mut draw = Draw::new(case.seed);
            let columns = |rows: &str| rows.split("), (").next().unwrap().matches(", ").count() + 1;
            assert_eq!(columns(&tables.added_rows(0, &mut draw)), COLUMNS.split(", ").count());
        }
    }
}
