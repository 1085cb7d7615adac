//! The table "Seconds of a pass by type and number of queries" of docs/one-pass.md: scale 1, hot, 2 cores.

/// Numbers of queries of the table's columns.
const QUERIES: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0];

/// For each type: its name, the seconds of one query alone, and of a pass by [`QUERIES`].
#[rustfmt::skip]
const TYPES: [(&str, f64, [f64; 6]); 8] = [
    ("Q1",  0.0588, [0.0874, 0.0810, 0.0761, 0.0763, 0.0829, 0.0688]),
    ("Q4",  0.0295, [0.0280, 0.0374, 0.0468, 0.0778, 0.0893, 0.0910]),
    ("Q6",  0.0093, [0.0115, 0.0197, 0.0290, 0.0312, 0.0387, 0.0542]),
    ("Q8",  0.0324, [0.0253, 0.0353, 0.0452, 0.0540, 0.0760, 0.0718]),
    ("Q12", 0.0231, [0.0202, 0.0490, 0.0540, 0.0639, 0.0666, 0.0674]),
    ("Q13", 0.0646, [0.0635, 0.0847, 0.16,   0.21,   0.25,   0.24]),
    ("Q14", 0.0187, [0.0100, 0.0175, 0.0252, 0.0504, 0.0645, 0.0693]),
    ("Q19", 0.0199, [0.0100, 0.0114, 0.0155, 0.0136, 0.0169, 0.0249]),
];

/// How many types there are.
pub(super) const TYPE_COUNT: usize = TYPES.len();

/// Microseconds of one query alone.
pub(super) fn alone_us(kind: usize) -> f64 {
    TYPES[kind].1 * 1e6
}

/// Microseconds of a pass, linear in the logarithm of its queries between the columns, the last one beyond them.
pub(super) fn shared_us(kind: usize, queries: usize) -> f64 {
    let (_, _, seconds) = TYPES[kind];
    let at = queries as f64;
    let Some(above) = QUERIES.iter().position(|&column| column >= at) else { return seconds[5] * 1e6 };
    if above == 0 {
        return seconds[0] * 1e6;
    }
    let share = (at / QUERIES[above - 1]).ln() / (QUERIES[above] / QUERIES[above - 1]).ln();
    (seconds[above - 1] + share * (seconds[above] - seconds[above - 1])) * 1e6
}

/// Queries per second if every pass is full.
pub(super) fn capacity_per_s(pass_queries_max: usize) -> f64 {
    let round_us: f64 = (0..TYPE_COUNT).map(|kind| shared_us(kind, pass_queries_max)).sum();
    1e6 * (TYPE_COUNT * pass_queries_max) as f64 / round_us
}

#[test]
fn times_are_those_of_the_table_and_between_them() {
    let is_close = |a: f64, b: f64| (a - b).abs() < 1.0;
    for (kind, (name, alone, seconds)) in TYPES.iter().enumerate() {
        assert!(is_close(alone_us(kind), alone * 1e6), "{name}");
        for (queries, seconds) in QUERIES.iter().zip(seconds) {
            assert!(is_close(shared_us(kind, *queries as usize), seconds * 1e6), "{name} {queries}");
        }
    }
    assert!(is_close(shared_us(0, 2), 84_200.0) && is_close(shared_us(0, 4096), 68_800.0));
}
