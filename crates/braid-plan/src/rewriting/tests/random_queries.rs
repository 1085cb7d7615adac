//! Random queries: joins of all kinds, nested tables, common tables, conditions with and without guards.

use super::rows::{RULES, check_form};

/// Random queries, each with all rules together and with one alone.
const QUERIES: u64 = 300;

/// Random databases on which each is tried.
const DATABASES: u64 = 4;

/// Something of FROM with the names of its columns.
struct Item {
    text: String,
    columns: Vec<String>,
}

struct Generator {
    state: u64,
    names: usize,
}

impl Generator {
    fn next(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 16).unwrap() % bound
    }

    fn one_of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        let at = self.next(list.len());
        list[at]
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("q{}", self.names)
    }

    /// A column of some items.
    fn column(&mut self, columns: &[String]) -> String {
        let at = self.next(columns.len());
        columns[at].clone()
    }

    /// An integer.
    fn value(&mut self, columns: &[String]) -> String {
        let column = self.column(columns);
        match self.next(10) {
            0 => self.next(4).to_string(),
            1 => format!("6 / {column}"),
            2 => format!("{column} + {}", self.next(3)),
            3 => format!("COALESCE({column}, {})", self.column(columns)),
            4 => format!("CASE WHEN {} THEN {column} ELSE 1 END", self.condition(columns, 0)),
            5 => format!("abs({column})"),
            _ => column,
        }
    }

    fn condition(&mut self, columns: &[String], depth: usize) -> String {
        let column = self.column(columns);
        let operator = self.one_of(&["=", "=", "=", "<", ">=", "<>"]);
        match self.next(if depth == 0 { 8 } else { 15 }) {
            0 => format!("{column} {operator} {}", self.next(4)),
            1 => format!("{column} = {}", self.next(4)),
            2 => format!("{column} IS NULL"),
            3 => format!("{column} IN (1, {})", self.next(4)),
            4 => format!("{column} IS DISTINCT FROM {}", self.column(columns)),
            5..8 => format!("{column} {operator} {}", self.column(columns)),
            8 => format!("({}) AND ({})", self.condition(columns, depth - 1), self.condition(columns, depth - 1)),
            9 => format!("({}) OR ({})", self.condition(columns, depth - 1), self.condition(columns, depth - 1)),
            10 => format!("NOT ({})", self.condition(columns, depth - 1)),
            11 => format!("({}) {}", self.condition(columns, depth - 1), self.one_of(&["IS TRUE", "IS NOT TRUE"])),
            12 => {
                let common = self.condition(columns, 0);
                let (first, second) = (self.condition(columns, depth - 1), self.condition(columns, depth - 1));
                format!("({common} AND {first}) OR ({common} AND ({second}))")
            }
            13 => format!("{column} BETWEEN {} AND 3", self.value(columns)),
            _ => format!("{} {operator} {}", self.value(columns), self.value(columns)),
        }
    }

    fn conjunction(&mut self, columns: &[String]) -> String {
        let count = 1 + self.next(3);
        let conjuncts: Vec<String> = (0..count).map(|_| format!("({})", self.condition(columns, 2))).collect();
        conjuncts.join(" AND ")
    }

    /// A table, or a query in its place.
    fn table(&mut self, depth: usize) -> Item {
        let name = self.name();
        let (table, own) = [("t", ["a", "b"]), ("s", ["x", "y"]), ("r", ["k", "v"])][self.next(3)];
        let columns = own.iter().map(|column| format!("{name}.{column}")).collect();
        let inner: Vec<String> = own.iter().map(|column| (*column).to_owned()).collect();
        let [first, second] = own;
        let condition = self.conjunction(&inner);
        let query = match self.next(if depth == 0 { 3 } else { 13 }) {
            0..4 => return Item { text: format!("{table} {name}"), columns },
            4 => format!("SELECT {first}, {second} FROM {table} WHERE {condition}"),
            5 => format!("SELECT {first}, {} AS {second} FROM {table}", self.value(&inner)),
            6 => format!("SELECT {first}, sum({second})::int AS {second} FROM {table} GROUP BY {first}"),
            7 => format!("SELECT DISTINCT {first}, {second} FROM {table}"),
            8 => format!(
                "SELECT {first}, {second} FROM {table} UNION ALL SELECT a, {} FROM t",
                self.value(&["b".to_owned()])
            ),
            9 => format!(
                "SELECT {first}, {second} FROM {table} {} SELECT k, v FROM r",
                self.one_of(&["EXCEPT", "INTERSECT", "UNION"])
            ),
            10 => format!("SELECT {first}, (count(*) OVER (PARTITION BY {first}))::int AS {second} FROM {table}"),
            11 => format!(
                "SELECT {first}, max({second}) AS {second} FROM {table} GROUP BY ROLLUP ({first}) HAVING {first} IS NOT NULL OR count(*) > 1"
            ),
            _ => {
                let item = self.joined(depth - 1);
                let (one, other) = (self.column(&item.columns), self.column(&item.columns));
                let condition = self.conjunction(&item.columns);
                format!("SELECT {one} AS {first}, {other} AS {second} FROM {} WHERE {condition}", item.text)
            }
        };
        Item { text: format!("({query}) {name}"), columns }
    }

    /// A table, or a join.
    fn joined(&mut self, depth: usize) -> Item {
        if depth == 0 || self.next(4) == 0 {
            return self.table(depth);
        }
        let (left, right) = (self.joined(depth - 1), self.table(depth - 1));
        let columns: Vec<String> = left.columns.into_iter().chain(right.columns).collect();
        let kind = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT JOIN"]);
        let condition = self.conjunction(&columns);
        Item { text: format!("{} {kind} {} ON {condition}", left.text, right.text), columns }
    }

    /// A common table expression `w(a, b)`, and its readers.
    fn common_table(&mut self) -> (String, Vec<Item>) {
        let item = self.joined(1);
        let (one, other) = (self.column(&item.columns), self.column(&item.columns));
        let rows = format!("FROM {} WHERE {}", item.text, self.conjunction(&item.columns));
        let query = match self.next(4) {
            0 => format!("SELECT {one}, {other} {rows}"),
            1 => format!("SELECT {one}, count({other})::int {rows} GROUP BY {one}"),
            2 => format!("SELECT {one}, max({other}) {rows} GROUP BY {one} UNION ALL SELECT x, 1 FROM s"),
            _ => format!("SELECT DISTINCT {one}, {other} {rows}"),
        };
        let readers = (0..2 + self.next(2)).map(|_| {
            let name = self.name();
            let columns = vec![format!("{name}.a"), format!("{name}.b")];
            Item { text: format!("w {name}"), columns }
        });
        let readers = readers.collect();
        (format!("WITH w(a, b) AS ({query}) "), readers)
    }

    fn query(&mut self) -> String {
        if self.next(4) == 0 {
            let (with, readers) = self.common_table();
            let own: Vec<String> =
                readers.iter().map(|reader| format!(" AND ({})", self.condition(&reader.columns, 1))).collect();
            return format!("{with}{}", self.query_of(readers, &own.concat()));
        }
        let (count, depth) = [(1, 2), (2, 1), (3, 0)][self.next(3)];
        let items = (0..count).map(|_| self.joined(depth)).collect();
        self.query_of(items, "")
    }

    /// A query of these items, with these conditions among others.
    fn query_of(&mut self, items: Vec<Item>, own: &str) -> String {
        let columns: Vec<String> = items.iter().flat_map(|item| item.columns.clone()).collect();
        let from: Vec<String> = items.into_iter().map(|item| item.text).collect();
        let condition = self.conjunction(&columns);
        let further = match self.next(6) {
            0 => format!("AND EXISTS (SELECT 1 FROM s z WHERE z.x = {})", self.column(&columns)),
            1 => format!("AND {} NOT IN (SELECT z.k FROM r z WHERE z.v > 1)", self.column(&columns)),
            2 => format!(
                "AND {} > (SELECT min(z.k) FROM r z WHERE z.v = {})",
                self.column(&columns),
                self.column(&columns)
            ),
            _ => String::new(),
        };
        let (one, other) = (self.column(&columns), self.column(&columns));
        let head = match self.next(4) {
            0 => format!("SELECT {one}, count({other})"),
            _ => format!("SELECT {one}, {other}"),
        };
        let groups = if head.contains("count") {
            format!("GROUP BY {one} HAVING {one} > 0 OR count(*) > 1")
        } else {
            String::new()
        };
        format!("{head} FROM {} WHERE {condition}{own} {further} {groups}", from.join(", "))
    }
}

#[test]
fn every_rule_keeps_the_rows_of_random_queries() {
    let first: u64 = std::env::var("BRAID_SEED").ok().map_or(0, |seed| seed.parse().unwrap());
    let mut answers = 0;
    for seed in first..first + QUERIES {
        let state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let sql = Generator { state, names: 0 }.query();
        let at = usize::try_from(seed).unwrap() % RULES.len();
        let rules = [RULES[at], RULES[RULES.len() - 1]];
        let checked = std::panic::catch_unwind(|| check_form(&sql, &rules, DATABASES));
        answers += checked.unwrap_or_else(|_| panic!("BRAID_SEED={seed}: {sql}"));
    }
    // The others divide by zero.
    let tried = usize::try_from(QUERIES * DATABASES).unwrap();
    assert!(answers > tried / 3, "{answers} answers of {tried}");
}
