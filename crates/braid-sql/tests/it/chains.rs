//! Long chains of operators are bound and computed on an ordinary stack, in time about in proportion to their length.

use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::syntax::walk::Tree;
use braid_sql::syntax::{Chains, SqlDialect, parser_of};
use braid_sql::tables::NoTables;
use braid_sql::testing::FixedSession;
use braid_sql::{Evaluation, SqlError, Value};

use crate::binding_time::ALONE;

/// The usual stack of a thread.
const STACK_BYTES: usize = 2 << 20;

const TERMS: usize = 10_000;

/// Most timings of a chain, of which the smallest counts.
const TIMINGS_MAX: usize = 20;

/// The value of a chain of so many terms. It is computed again until it takes no longer than `limit`.
fn value_within(limit: Duration, operator: &str, term: &str) -> Result<Value, SqlError> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = vec![term; TERMS].join(operator);
    let mut smallest = Duration::MAX;
    for _ in 0..TIMINGS_MAX {
        let (value, elapsed) = timed(text.clone());
        if elapsed <= limit {
            return value;
        }
        smallest = smallest.min(elapsed);
    }
    panic!("{term}{operator}{term} takes {smallest:?}");
}

fn timed(text: String) -> (Result<Value, SqlError>, Duration) {
    let work = move || {
        let began = Instant::now();
        let dialect = SqlDialect::for_text(&text);
        let mut syntax = parser_of(&dialect, &text).unwrap().parse_expr().unwrap();
        rebind_all(&mut syntax);
        let statement = Statement::new(&text, &FixedSession, &NoTables);
        let bound = statement.binder().output_expression(&syntax);
        let value = bound.and_then(|bound| Evaluation::new(&FixedSession, &[]).value(&bound));
        (value, began.elapsed())
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap()
}

#[test]
fn chains_of_ten_thousand_terms_take_less_than_a_second() {
    for (operator, term, expected) in [
        (" + ", "1", Value::Int4(10_000)),
        (" - ", "1", Value::Int4(-9998)),
        (" || ", "'ab'", Value::text("ab".repeat(TERMS))),
        (" || ", "'a' || 1", Value::text("a1".repeat(TERMS))),
        (" OR ", "1 = 2", Value::Bool(false)),
        (" + ", "1 + null", Value::Null),
    ] {
        let value = value_within(Duration::from_secs(1), operator, term);
        assert_eq!(value, Ok(expected), "{term}{operator}{term}");
    }
}

#[test]
fn long_texts_are_copied_once() {
    let value = value_within(Duration::from_secs(10), " || ", &format!("'{}'", "x".repeat(4000)));
    assert_eq!(value, Ok(Value::text("x".repeat(4000 * TERMS))));
}

#[test]
fn the_error_of_a_long_chain_has_its_place() {
    let error = value_within(Duration::from_secs(1), " + ", "1 + true").unwrap_err();
    assert_eq!((error.position(), error.message()), (Some(3), "operator does not exist: integer + boolean"));
}

/// A tree that is made shallow twice stays as it is.
#[test]
fn shallow_trees_stay() {
    let text = format!("f({}) || ({})", vec!["a"; 40].join(" + "), vec!["b"; 40].join(" || "));
    let dialect = SqlDialect::for_text(&text);
    let mut once = parser_of(&dialect, &text).unwrap().parse_expr().unwrap();
    rebind_all(&mut once);
    let mut twice = once.clone();
    twice.rewrite(&mut Chains);
    assert_eq!(once, twice);
}
