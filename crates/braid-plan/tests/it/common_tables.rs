//! Common tables and recursions over random edges, on the operators beside their definition: in memory, and spilled.

use braid_base::{Random, SeededRandom};
use braid_exec::{Batch, ParameterRow};
use braid_plan::lowering::LoweredQuery;
use braid_plan::planning_memory::parameter_memory;
use braid_sql::{SqlState, Value};
use braid_testing::cases;

use braid_sql::testing::{FixedSession, value_of};

use crate::memory_tables::{MemoryTable, rich, spilling};
use crate::running::{Failure, run_by, run_pass, texts};

const COLUMNS: [(&str, &str); 6] = [
    ("src", "int"),
    ("dst", "int"),
    ("cost", "numeric(10,2)"),
    ("name", "text"),
    ("day", "date"),
    ("weight", "float8"),
];

/// Queries over the edges `t`.
const QUERIES: &[&str] = &[
    "WITH c AS (SELECT src, count(*) AS n, sum(cost) AS s FROM t GROUP BY src) SELECT l.src, m.n, l.s + m.s FROM c l JOIN c m ON l.n = m.n",
    "WITH c AS (SELECT src, sum(cost) AS s FROM t GROUP BY src) SELECT * FROM c WHERE s >= (SELECT avg(s) FROM c)",
    "WITH c AS MATERIALIZED (SELECT * FROM t WHERE cost > 2) SELECT src, cost, day FROM c UNION ALL SELECT dst, -cost, day + 1 FROM c",
    "WITH c AS (SELECT dst, max(name) AS name FROM t GROUP BY dst) SELECT t.src, c.name FROM t LEFT JOIN c ON c.dst = t.src WHERE t.name NOT IN (SELECT name FROM c WHERE name IS NOT NULL) OR t.name IS NULL",
    "WITH c AS (SELECT src, min(cost) AS m FROM t GROUP BY src), d AS (SELECT a.src, a.m FROM c a JOIN c b ON a.m = b.m) SELECT src, count(*), sum(m) FROM d GROUP BY src UNION ALL SELECT src, 0, m FROM c",
    "WITH c AS (SELECT src, max(cost) AS m FROM t GROUP BY src) SELECT src, (SELECT max(m) FROM c WHERE c.src = t.dst) FROM t WHERE EXISTS (SELECT 1 FROM c WHERE c.m = t.cost)",
    "WITH c AS (SELECT src, dst FROM t ORDER BY src, dst, cost, name LIMIT 5) SELECT l.src, m.dst FROM c l, c m WHERE l.dst = m.src",
    "WITH c AS (SELECT src, dst, sum(cost) AS s, 'a' AS kind FROM t GROUP BY src, dst UNION ALL SELECT dst, src, count(*), 'b' FROM t GROUP BY dst, src) SELECT l.src, l.s, m.s, o.s FROM c l, c m, c o WHERE l.src = m.src AND o.src = l.src AND l.kind = 'a' AND l.dst = 1 AND l.s > 0 AND m.kind = 'b' AND m.dst = 2 AND o.kind = 'a' AND o.dst = 2",
    "WITH c AS (SELECT name, src, max(cost) AS m FROM t GROUP BY name, src) SELECT src, m FROM c WHERE name < 'b' AND m > 1 UNION ALL SELECT src, (SELECT min(m) FROM c WHERE name = '') FROM c WHERE src IN (1, 3)",
    "WITH RECURSIVE r(n) AS (SELECT src FROM t WHERE cost > 3 UNION SELECT dst FROM r JOIN t ON src = n) SELECT n FROM r",
    "WITH RECURSIVE r(n, m) AS (SELECT src, dst FROM t UNION SELECT n, dst FROM r JOIN t ON src = m) SELECT n, count(*), min(m) FROM r GROUP BY n",
    "WITH RECURSIVE r(n, depth, total) AS (SELECT src, 0, 0::numeric FROM t WHERE src = 1 UNION ALL SELECT dst, depth + 1, total + cost FROM r JOIN t ON src = n WHERE depth < 3) SELECT depth, count(*), sum(total), max(n) FROM r GROUP BY depth",
    "WITH RECURSIVE r(n, c) AS (SELECT src, cost + 0 FROM t UNION SELECT dst, c * 1.0 FROM r JOIN t ON src = n) SELECT n, count(*) FROM r GROUP BY n",
    "WITH RECURSIVE r(n, p, d) AS (SELECT src, name, day FROM t WHERE src < 2 UNION SELECT dst, name, day + 1 FROM r JOIN t ON src = n WHERE day < date '2024-01-06') SELECT n, p, d FROM r",
    "WITH RECURSIVE r(n, w) AS (SELECT src, weight FROM t UNION SELECT dst, weight FROM r, t WHERE src = n AND weight < w) SELECT a.n, b.n, a.w FROM r a JOIN r b ON a.w = b.w WHERE a.n < b.n",
    "WITH RECURSIVE e AS (SELECT src, max(dst) AS dst FROM t GROUP BY src), r(n) AS (SELECT src FROM e UNION ALL SELECT e.dst FROM r JOIN e ON e.src = r.n AND e.dst > r.n) SELECT n, count(*) FROM r GROUP BY n",
    "WITH RECURSIVE r(n) AS (SELECT 0 UNION SELECT dst FROM r JOIN (SELECT src, dst FROM t GROUP BY src, dst HAVING count(*) < 3) q ON src >= n) SELECT * FROM r",
    "WITH RECURSIVE r(n) AS (SELECT src FROM t UNION (WITH m AS (SELECT min(dst) AS low FROM t) SELECT dst FROM r, t, m a, m b WHERE src = n AND dst > a.low AND b.low < 3)) SELECT count(*), sum(n) FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < (SELECT count(*) FROM t)) SELECT n, (SELECT count(*) FROM t WHERE src = n) FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n IN (SELECT src FROM t)) SELECT n FROM r WHERE NOT EXISTS (SELECT 1 FROM t WHERE dst = n)",
    "SELECT src, (WITH RECURSIVE r(n) AS (SELECT t.src UNION SELECT u.dst FROM r JOIN t u ON u.src = n) SELECT count(*) FROM r) FROM t",
    "SELECT src, q.n FROM t, LATERAL (WITH RECURSIVE r(n) AS (SELECT t.dst UNION ALL SELECT n + t.src FROM r WHERE n < 6 AND t.src > 0) SELECT n FROM r) q",
    "SELECT src, dst FROM t WHERE dst IN (WITH RECURSIVE r(n) AS (SELECT u.dst FROM t u WHERE u.src = t.src UNION SELECT u.dst FROM r, t u WHERE u.src = n) SELECT n FROM r WHERE n <> t.src)",
    "WITH RECURSIVE r(n) AS (SELECT src FROM t WHERE dst = 2 UNION SELECT dst FROM r JOIN t ON src = n), s(n) AS (SELECT n FROM r UNION SELECT n + 1 FROM s WHERE n < 8) SELECT s.n, r.n FROM s LEFT JOIN r ON r.n = s.n",
    "WITH RECURSIVE r(n) AS (SELECT dst FROM t UNION (SELECT n + 1 FROM r WHERE n < 9 EXCEPT SELECT src FROM t WHERE cost < 2)) SELECT n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT dst FROM t UNION SELECT DISTINCT n + 1 FROM r WHERE n < 6), c AS (SELECT n, count(*) OVER () AS all_rows FROM r) SELECT n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT src FROM t UNION SELECT dst FROM r JOIN t ON src = n) SELECT n FROM r ORDER BY n DESC LIMIT 3",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r WHERE n NOT IN (SELECT src FROM t WHERE src IS NOT NULL) LIMIT 4",
];

/// Queries with parameters, and whether the queries of a pass share their plan.
const PARAMETRISED: &[(&str, bool)] = &[
    (
        "WITH c AS (SELECT src, sum(cost) AS s FROM t WHERE dst > $1 GROUP BY src) SELECT l.src, m.s FROM c l JOIN c m ON l.s <= m.s",
        true,
    ),
    (
        "WITH c AS (SELECT src, count(*) AS n FROM t WHERE cost > $2 GROUP BY src) SELECT src, n, $1 FROM c UNION ALL SELECT src, -n, 0 FROM c WHERE n > $1",
        true,
    ),
    (
        "WITH c AS (SELECT src, max(name) AS m FROM t GROUP BY src) SELECT l.src, m.m FROM c l LEFT JOIN c m ON l.m = m.m AND m.src < $1 WHERE l.src <> $1",
        true,
    ),
    (
        "WITH c AS (SELECT src, max(cost) AS m FROM t WHERE dst < $1 GROUP BY src) SELECT src, m FROM c WHERE m = (SELECT max(m) FROM c)",
        false,
    ),
    (
        "WITH c AS (SELECT src, min(day) AS d FROM t WHERE dst <> $1 GROUP BY src) SELECT src FROM t WHERE src IN (SELECT src FROM c) AND day NOT IN (SELECT d FROM c WHERE d IS NOT NULL)",
        true,
    ),
    (
        "WITH c AS (SELECT src, dst, sum(cost) AS s, 'a' AS kind FROM t GROUP BY src, dst UNION ALL SELECT dst, src, count(*), 'b' FROM t GROUP BY dst, src) SELECT l.src, l.s, m.s FROM c l, c m WHERE l.src = m.src AND l.kind = 'a' AND l.dst = $1 AND l.s > 0 AND m.kind = 'b' AND m.dst = $1 + 1",
        true,
    ),
    (
        "WITH c AS (SELECT src, name, cost FROM t, (VALUES (1), (2)) v(n) WHERE n <= src) SELECT l.name, m.cost FROM c l, c m WHERE l.src = m.src AND l.cost > $2 AND m.src = $1",
        true,
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT src FROM t UNION SELECT dst FROM r JOIN t ON src = n) SELECT n, $2 FROM r WHERE n > $1",
        true,
    ),
    (
        "WITH RECURSIVE r(n) AS (SELECT src FROM t WHERE dst = $1 UNION SELECT dst FROM r JOIN t ON src = n WHERE cost < $2) SELECT n FROM r",
        false,
    ),
    (
        "WITH RECURSIVE r(n, k) AS (SELECT src, $2 FROM t WHERE src = $1 UNION ALL SELECT n + 1, k + 0.5 FROM r WHERE n < 5) SELECT n, k FROM r",
        false,
    ),
];

/// Random edges, as many as a few pieces hold or very few.
fn edges(random: &mut SeededRandom) -> MemoryTable {
    let bound = [4, 30, 60][random.below(3) as usize];
    let (count, nodes) = (random.below(bound), 1 + random.below(7));
    let row = |_| {
        let mut value = |bound: u64, text: &dyn Fn(u64) -> String| match random.chance(1, 9) {
            true => "NULL".to_owned(),
            false => text(random.below(bound)),
        };
        vec![
            value(nodes, &|node| node.to_string()),
            value(nodes, &|node| node.to_string()),
            value(6, &|cost| format!("{cost}.{}0", cost % 3)),
            value(4, &|name| format!("'{}'", ["", "a", "b ", "a name that is longer than a view"][name as usize])),
            value(5, &|day| format!("'2024-01-0{}'", day + 1)),
            value(4, &|weight| ["'NaN'", "0.5", "2", "0"][weight as usize].to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> = (0..count).map(row).collect();
    MemoryTable::new(&COLUMNS, &rows, 1 + random.below(20) as usize)
}

#[test]
fn queries_have_the_rows_of_their_definition() {
    let directory = tempfile::tempdir().unwrap();
    let (mut compared, mut spilled) = (0, 0);
    let cases = cases!(0..150);
    let is_replay = cases.is_replay();
    for drawn in cases {
        let mut random = SeededRandom::new(drawn.seed);
        let table = edges(&mut random);
        let query = QUERIES[random.below(QUERIES.len() as u64) as usize];
        // An endless recursion has no definition.
        let expected = match query.ends_with("LIMIT 4") {
            true => None,
            false => match table.defined_rows(query) {
                Err(error) if error.state() == SqlState::FeatureNotSupported => continue,
                rows => Some(rows.unwrap()),
            },
        };
        let expected = expected.map(|mut rows| {
            rows.sort();
            rows
        });
        let worker_count = 1 + random.below(3) as usize;
        let (executor, space) = spilling(worker_count, 1 << (6 + random.below(8)), directory.path());
        for executor in [rich(worker_count), executor] {
            let mut found = match table.rows(query, &executor) {
                Ok(found) => found,
                Err(Failure::OfSql(error)) => panic!("{query}: {error}"),
                Err(other) => panic!("{query}: {other:?}"),
            };
            found.sort();
            match &expected {
                Some(expected) => assert_eq!(&found, expected, "{query}"),
                None => assert_eq!(found.len(), 4, "{query}"),
            }
            compared += 1;
        }
        spilled += u64::from(space.file_count() > 0);
    }
    assert!(is_replay || (compared > 200 && spilled > 30), "{compared} compared, {spilled} spilled");
}

/// Each query alone, bound to a plan for many, and all in a pass.
#[test]
fn queries_with_parameters_have_the_rows_of_their_definition() {
    let (mut shared, mut apart) = (0, 0);
    for drawn in cases!(0..80) {
        let mut random = SeededRandom::new(drawn.seed);
        let table = edges(&mut random);
        let (query, can_share) = PARAMETRISED[random.below(PARAMETRISED.len() as u64) as usize];
        let (lowered, bound, columns) = table.lowered_for_many(query).unwrap();
        let count = 1 + random.below(4);
        let parameters: Vec<Vec<Value>> = (0..count)
            .map(|_| {
                let (first, second) = (random.below(6), random.below(5));
                [format!("{first}::int"), format!("{second}.50::numeric")].map(|text| value_of(&text).unwrap().1).into()
            })
            .collect();
        let row = |values: &Vec<Value>| {
            lowered
                .parameters
                .iter()
                .map(|parameter| parameter.value(values, &FixedSession, &parameter_memory(values)).unwrap())
                .collect()
        };
        let rows: Vec<ParameterRow> = parameters.iter().map(row).collect();
        let sorted = |batches: Vec<Batch>| {
            let mut found: Vec<Vec<String>> =
                batches.into_iter().flat_map(|batch| texts(&lowered, batch).unwrap()).collect();
            found.sort();
            found
        };
        let mut all = Vec::new();
        for (values, row) in parameters.iter().zip(&rows) {
            let mut expected = table.defined_rows_of(&bound, &columns, values).unwrap();
            expected.sort();
            let own = LoweredQuery { plan: lowered.plan.bind(row), ..lowered.clone() };
            assert_eq!(sorted(run_by(&own, &rich(2)).unwrap()), expected, "{query} with {values:?}");
            all.push(expected);
        }
        match run_pass(&lowered, &rows) {
            Some(found) => {
                let found: Vec<Vec<Vec<String>>> = found.into_iter().map(sorted).collect();
                assert_eq!(found, all, "{query} with {parameters:?}");
                shared += 1;
            }
            None => {
                assert!(!can_share, "{query} cannot be shared");
                apart += 1;
            }
        }
    }
    println!("{shared} passes, {apart} apart");
}
