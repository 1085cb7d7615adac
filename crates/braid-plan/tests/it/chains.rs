//! Long chains of operators have the values of the same chains in two parts, which are short.

use braid_base::{Random, SeededRandom};
use braid_sql::SqlError;
use braid_testing::cases;

use crate::running::rows;

const TABLE: &str = "(VALUES (1, 2::bigint, 1.5, 2.5::float8, 3::smallint, 'x', 'yz'::varchar(5), 'ab'::char(3)), \
                     (2147483000, 9223372036854775000, 0.25, 1e10, 32000, '', NULL, ''), \
                     (-7, NULL, -3.125, 0, 1, 'ö', 'q', 'c'), (NULL, 4, 0, -1, 2, 'z', 'w', NULL)) \
                     v(i, b, d, f, s, t, c, p)";

fn one_of<'a>(random: &mut SeededRandom, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// Operands, with operators between them, of which a chain has a few.
fn parts(random: &mut SeededRandom) -> (Vec<&'static str>, Vec<&'static str>) {
    let (operators, operands): (&[&str], &[&str]) = match random.below(4) {
        0 => (&["||"], &["t", "c", "p", "'a'", "i", "d", "upper(t)", "coalesce(c, t)", "'b' || 'c'"]),
        1 => (&["+", "-"], &["1", "2", "i", "s", "3", "4 * 5", "abs(i)", "nullif(s, 3)"]),
        2 => (&["+", "-"], &["d", "1", "0.5", "i", "b", "d * 2", "CASE i WHEN 1 THEN d ELSE 2 END"]),
        _ => (&["+", "-"], &["f", "1", "i", "d", "b", "'2'", "NULL", "(SELECT 3)", "1 / i", "(SELECT max(i) FROM w)"]),
    };
    let common: Vec<&str> = (0..3).map(|_| one_of(random, operands)).collect();
    let count = 32 + random.below(30) as usize;
    let operand = |random: &mut SeededRandom| {
        if random.below(8) > 0 { one_of(random, &common) } else { one_of(random, operands) }
    };
    let operands = (0..count).map(|_| operand(random)).collect();
    (operands, (1..count).map(|_| one_of(random, operators)).collect())
}

fn shown(result: Result<Vec<Vec<String>>, SqlError>) -> String {
    match result {
        Ok(mut rows) => {
            rows.sort();
            format!("{rows:?}")
        }
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

#[test]
fn long_chains_are_computed_as_short_ones() {
    let (mut differences, mut answered) = (Vec::new(), 0);
    for case in cases!(0..120) {
        let random = &mut case.random();
        let (operands, operators) = parts(random);
        let split = 25;
        let mut chain = operands[0].to_owned();
        let mut in_parts = chain.clone();
        for (at, (operator, operand)) in operators.iter().zip(&operands[1..]).enumerate() {
            if at > 0 && at % split == 0 {
                in_parts = format!("({in_parts})");
            }
            chain += &format!(" {operator} {operand}");
            in_parts += &format!(" {operator} {operand}");
        }
        let form = random.below(5);
        let query = |chain: &str| {
            let what = match form {
                0 => format!("SELECT {chain} FROM {TABLE}"),
                1 => format!("SELECT i FROM {TABLE} WHERE ({chain}) IS NOT NULL"),
                2 => format!("SELECT max({chain}), count(*) FROM {TABLE} WHERE i IS NOT NULL GROUP BY s % 2"),
                3 => format!("SELECT {chain}, count(*) FROM {TABLE} GROUP BY {chain}"),
                _ => format!("SELECT x FROM {TABLE}, LATERAL (SELECT {chain} AS x) q"),
            };
            format!("WITH w(i) AS (VALUES (1), (2)) {what}")
        };
        let (long, short) = (rows(&query(&chain)), rows(&query(&in_parts)));
        answered += usize::from(long.is_ok());
        let (long, short) = (shown(long), shown(short));
        if long != short {
            differences.push(format!("{}\n  long  {long}\n  short {short}", query(&chain)));
        }
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    assert!(answered > 60, "{answered} queries have rows");
}

#[test]
fn constant_beginnings_of_chains_are_computed_before_the_query() {
    let ones = vec!["1"; 40].join(" + ");
    let of = |sql: &str| shown(rows(sql));
    assert_eq!(of(&format!("SELECT {ones} + x FROM generate_series(1, 2) x")), "[[\"41\"], [\"42\"]]");
    assert_eq!(of(&format!("SELECT 1 / x + {ones} + NULL FROM generate_series(0, 1) x")), "[[\"\\\\N\"], [\"\\\\N\"]]");
    let too_large = format!("SELECT 2147483600 + {ones} + x FROM generate_series(1, 0) x");
    assert_eq!(of(&too_large), "[]");
    // PostgreSQL computes it when it plans, too.
    assert_eq!(of(&too_large.replace("40", "0").replace("00 +", "40 +")), "22003 integer out of range");
    assert_eq!(
        of(&format!("SELECT 2147483640 + {ones} + x FROM generate_series(1, 1) x")),
        "22003 integer out of range"
    );
}
