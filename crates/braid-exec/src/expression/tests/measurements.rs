//! Nanoseconds per row of the expressions of TPC-H. Run with
//! `cargo test --release -p braid-exec expression::tests::measurements -- --ignored --nocapture`.

use std::time::Instant;

use braid_base::VECTOR_ROWS;

use super::*;

/// Number of batches. Their rows differ, so that the processor does not learn the branches.
const BATCHES: usize = 64;

const ROUNDS: usize = 40;

fn pseudo_random(seed: usize) -> u64 {
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state ^ (state >> 32)
}

const WORDS: [&str; 16] = [
    "furiously",
    "special",
    "packages",
    "requests",
    "carefully",
    "deposits",
    "sleep",
    "quickly",
    "ironic",
    "accounts",
    "final",
    "pending",
    "blithely",
    "regular",
    "express",
    "the",
];

fn comment(seed: usize) -> String {
    let words = (0..7).map(|word| WORDS[pseudo_random(seed * 7 + word) as usize % WORDS.len()]);
    words.collect::<Vec<&str>>().join(" ")
}

/// Price, discount, tax, quantity, date, comment, priority (coded), comment (a large dictionary), a wide numeric, a
/// float, and a discount with nulls.
fn batches() -> Vec<Batch> {
    let priorities = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
    let priorities = Arc::new(ByteStrings::from_strings(priorities.iter().map(|value| value.as_bytes())));
    let mut comments =
        ByteStrings::from_strings((0..20_000).map(comment).collect::<Vec<_>>().iter().map(|c| c.as_bytes()));
    comments.shrink();
    let comments = Arc::new(comments);
    let one = |number: usize| {
        let ints = |column: usize, least: i64, span: u64| -> Vec<i64> {
            let random = |row: usize| pseudo_random((number * VECTOR_ROWS + row) * 16 + column);
            (0..VECTOR_ROWS).map(|row| least + (random(row) % span) as i64).collect()
        };
        let codes = |column, count| ints(column, 0, count).into_iter().map(|code| code as u32).collect::<Vec<u32>>();
        let mut own = ByteStrings::from_strings(
            (0..VECTOR_ROWS)
                .map(|row| comment(number * VECTOR_ROWS + row))
                .collect::<Vec<_>>()
                .iter()
                .map(|c| c.as_bytes()),
        );
        own.shrink();
        let valid = ints(10, 0, 10).into_iter().map(|value| value > 0).collect();
        batch([
            Vector::integers(ints(0, 90_000, 10_000_000)),
            Vector::integers(ints(1, 0, 11)),
            Vector::integers(ints(2, 0, 9)),
            Vector::integers(ints(3, 1, 50)),
            Vector::integers(ints(4, 8035, 2526)),
            Vector::new(Values::Bytes(own), None),
            Vector::new(Values::Coded(CodedStrings { codes: codes(6, 5), dictionary: priorities.clone() }), None),
            Vector::new(Values::Coded(CodedStrings { codes: codes(7, 20_000), dictionary: comments.clone() }), None),
            Vector::new(Values::Int128(ints(8, 0, 1 << 40).into_iter().map(|v| i128::from(v) << 30).collect()), None),
            Vector::new(Values::Float(ints(9, 0, 1000).into_iter().map(|value| value as f64).collect()), None),
            Vector::new(Values::Int(ints(1, 0, 11)), Some(valid)),
        ])
    };
    (0..BATCHES).map(one).collect()
}

/// The shortest times of all batches, per row. A single batch is short enough to run undisturbed on a busy machine.
fn best_ns_per_row(batches: &[Batch], mut run: impl FnMut(&mut Batch)) -> f64 {
    let mut best = [f64::INFINITY; BATCHES];
    for _ in 0..ROUNDS {
        for (batch, best) in batches.iter().zip(&mut best) {
            let mut batch = batch.clone();
            let start = Instant::now();
            run(&mut batch);
            *best = best.min(start.elapsed().as_nanos() as f64);
        }
    }
    best.iter().sum::<f64>() / (BATCHES * VECTOR_ROWS) as f64
}

#[test]
#[ignore = "a measurement, for release builds"]
fn nanoseconds_a_row() {
    let batches = batches();
    let numeric = |operation, left, right| arithmetic(operation, NumberRange::Numeric, left, right);
    let rest = |at| numeric(Arithmetic::Subtract, int(100), column(at));
    let revenue = || numeric(Arithmetic::Multiply, column(0), rest(1));
    let charge = numeric(Arithmetic::Multiply, revenue(), numeric(Arithmetic::Add, int(100), column(2)));
    let wide = numeric(Arithmetic::Multiply, column(0), numeric(Arithmetic::Multiply, column(8), int(3)));
    let year = || Expression::DatePart { part: DatePart::Year, value: Box::new(column(4)) };
    let day = Expression::DatePart { part: DatePart::Day, value: Box::new(column(4)) };
    let priority = |value| compare(Comparison::Equal, column(6), text(value));
    let list = |numbers: &[i64]| numbers.iter().map(|number| Scalar::Int(*number)).collect::<Vec<Scalar>>();
    let is_in = |at, list| Expression::In { value: Box::new(column(at)), list };
    let substring = |at| Expression::Substring { value: Box::new(column(at)), start: 1, length: Some(2) };
    let promo = like(column(7), "f%");
    let evaluated = [
        ("column", column(0)),
        ("100 - discount", rest(1)),
        ("100 - discount, with nulls", rest(10)),
        ("price * (100 - discount)", revenue()),
        ("charge", charge),
        ("128 bits", wide),
        ("float * float", arithmetic(Arithmetic::Multiply, NumberRange::Double, column(9), column(9))),
        ("year", year()),
        ("day", day),
        ("substring, strings", substring(5)),
        ("substring, small dictionary", substring(6)),
        ("case urgent 1 else 0", case(vec![(priority("1-URGENT"), int(1))], Some(int(0)))),
        ("case like revenue else 0", case(vec![(promo, revenue())], Some(int(0)))),
    ];
    for (name, expression) in evaluated {
        let mut evaluator = evaluator(expression);
        let ns = best_ns_per_row(&batches, |batch| drop(std::hint::black_box(evaluator.evaluate(batch))));
        println!("{name:36} {ns:7.2} ns");
    }
    let less = |at, value| compare(Comparison::Less, column(at), value);
    let not_less = |at, value| compare(Comparison::GreaterOrEqual, column(at), value);
    let q6 = vec![
        not_less(4, int(8766)),
        less(4, int(9131)),
        not_less(1, int(5)),
        compare(Comparison::LessOrEqual, column(1), int(7)),
        less(3, int(24)),
    ];
    let selected = [
        ("date < constant", less(4, int(9000))),
        ("date < date", less(4, column(0))),
        ("float < constant", less(9, Expression::Constant(Some(Scalar::Float(5.0))))),
        ("128 bits < constant", less(8, int(9000))),
        ("Q6", Expression::And(q6)),
        ("like %special%requests%", like(column(5), "%special%requests%")),
        ("like %special%requests%, large dict.", like(column(7), "%special%requests%")),
        ("like furiously%", like(column(5), "furiously%")),
        ("like %the", like(column(5), "%the")),
        ("like f_riously%the", like(column(5), "f_riously%the")),
        ("priority = constant", priority("1-URGENT")),
        ("comment = constant", compare(Comparison::Equal, column(5), text("final"))),
        ("comment < constant", compare(Comparison::Less, column(5), text("final"))),
        ("in 3", is_in(3, list(&[49, 14, 23]))),
        ("in 8, close", is_in(3, list(&[49, 14, 23, 45, 19, 3, 36, 9]))),
        ("in 8, far apart", is_in(0, list(&[49, 14, 23, 45, 19, 3, 36, 90_000_000]))),
        ("priority or quantity", Expression::Or(vec![priority("2-HIGH"), less(3, int(10))])),
    ];
    for (name, expression) in selected {
        let mut evaluator = evaluator(expression);
        let ns = best_ns_per_row(&batches, |batch| drop(std::hint::black_box(evaluator.select(batch))));
        println!("select {name:36} {ns:7.2} ns");
    }
}
