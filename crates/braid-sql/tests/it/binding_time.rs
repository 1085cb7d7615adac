//! Binding a text takes time about in proportion to its length, whatever it consists of.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::NoTables;
use braid_sql::testing::FixedSession;
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

/// Room for trees as deep as the texts here make them.
const STACK_BYTES: usize = 1 << 30;

/// Four times the text takes at most so many times as long. Linear is 4, quadratic 16.
const RATIO_MAX: f64 = 8.0;

/// Held while texts are timed, so that such tests do not disturb each other.
pub static ALONE: Mutex<()> = Mutex::new(());

/// Times too short to compare.
const COMPARABLE: Duration = Duration::from_millis(4);

/// Most timings of each text, of which the smallest counts: other work on the machine lengthens some of them.
const TIMINGS_MAX: usize = 40;

/// The syntax of an expression.
fn parsed(text: &str) -> Expr {
    let dialect = SqlDialect::for_text(text);
    let parser = Parser::new(&dialect).with_recursion_limit(usize::MAX).try_with_sql(text);
    let mut syntax = parser.unwrap().parse_expr().unwrap();
    rebind_all(&mut syntax);
    syntax
}

/// The time of binding an expression, which may fail: then its error is made, with its place.
fn binding_time(text: &str, syntax: &Expr) -> Duration {
    let began = Instant::now();
    drop(black_box(Statement::new(text, &FixedSession, &NoTables).binder().output_expression(syntax)));
    began.elapsed()
}

/// The smallest times of binding both texts; timed until they are in proportion, or often enough.
fn smallest_times(short: &str, long: &str) -> (Duration, Duration) {
    let (short_syntax, long_syntax) = (parsed(short), parsed(long));
    let (mut short_time, mut long_time) = (Duration::MAX, Duration::MAX);
    for _ in 0..TIMINGS_MAX {
        short_time = short_time.min(binding_time(short, &short_syntax));
        long_time = long_time.min(binding_time(long, &long_syntax));
        if ratio(short_time, long_time) < RATIO_MAX {
            break;
        }
    }
    (short_time, long_time)
}

fn ratio(short: Duration, long: Duration) -> f64 {
    long.as_secs_f64() / short.max(COMPARABLE).as_secs_f64()
}

/// The smallest times of reading both texts, which may fail.
fn smallest_reading_times(short: &str, long: &str) -> (Duration, Duration) {
    let timed = |text: &str| {
        let began = Instant::now();
        let dialect = SqlDialect::for_text(text);
        let parser = parser_of(&dialect, text).map(|parser| parser.with_recursion_limit(usize::MAX));
        drop(black_box(parser.and_then(|mut parser| parser.parse_expr())));
        began.elapsed()
    };
    let (mut short_time, mut long_time) = (Duration::MAX, Duration::MAX);
    for _ in 0..TIMINGS_MAX {
        (short_time, long_time) = (short_time.min(timed(short)), long_time.min(timed(long)));
        if ratio(short_time, long_time) < RATIO_MAX {
            break;
        }
    }
    (short_time, long_time)
}

/// Compares the reading of n and 4n parts.
fn check_reading(n: usize, text: impl Fn(usize) -> String + Sync) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (short, long) = thread::scope(|scope| {
        let timed = || smallest_reading_times(&text(n), &text(4 * n));
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, timed).unwrap().join().unwrap()
    });
    assert!(ratio(short, long) < RATIO_MAX, "{}: n = {n} takes {short:?}, 4n takes {long:?}", text(2));
}

/// Compares the texts of n and 4n parts.
fn check(what: &str, n: usize, text: impl Fn(usize) -> String + Sync) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (short, long) = thread::scope(|scope| {
        let timed = || smallest_times(&text(n), &text(4 * n));
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, timed).unwrap().join().unwrap()
    });
    assert!(ratio(short, long) < RATIO_MAX, "{what}: n = {n} takes {short:?}, 4n takes {long:?}");
}

fn joined(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

#[test]
fn chains() {
    check("a sum", 2500, |n| joined(n, "+", |_| "1".to_owned()));
    check("a sum in parentheses and casts", 2500, |n| joined(n, " + ", |at| format!("({at}::text)::int")));
    check("a sum of strings and numbers", 2500, |n| joined(n, "+", |_| "1 + '2'".to_owned()));
    check("alternatives", 2500, |n| joined(n, " OR ", |at| format!("1 = {at}")));
    check("alternatives and conditions", 1000, |n| joined(n, " OR ", |at| format!("1 = {at} AND 'a' < 'b'")));
    check("a concatenation", 2500, |n| joined(n, " || ", |_| "'a'".to_owned()));
    check("casts", 2500, |n| format!("1{}", "::int::text".repeat(n)));
    check("tests of truth", 2500, |n| format!("true{}", " IS TRUE".repeat(n)));
    check("members", 2500, |n| format!("true{}", " IN (true)".repeat(n)));
    check("patterns", 2500, |n| joined(n, " AND ", |_| "'a' LIKE 'b' ESCAPE '#'".to_owned()));
    check("distinct", 2500, |n| joined(n, " AND ", |_| "1 IS DISTINCT FROM 2".to_owned()));
}

#[test]
fn lists() {
    check("IN", 2500, |n| format!("1 IN ({})", joined(n, ",", |at| at.to_string())));
    check("CASE", 1250, |n| format!("CASE {} END", joined(n, " ", |at| format!("WHEN 1 = {at} THEN {at}"))));
    check("CASE of a value", 1250, |n| format!("CASE 1 {} END", joined(n, " ", |at| format!("WHEN {at} THEN '{at}'"))));
    check("ARRAY", 2500, |n| format!("ARRAY[{}]", joined(n, ",", |at| at.to_string())));
    check("ARRAY with a cast", 2500, |n| format!("ARRAY[{}]::text[]", joined(n, ",", |at| at.to_string())));
    check("COALESCE", 2500, |n| format!("coalesce({})", joined(n, ",", |at| at.to_string())));
    check("GREATEST", 2500, |n| format!("greatest({})", joined(n, ",", |at| at.to_string())));
    check("concat", 1250, |n| format!("concat({})", joined(n, ",", |at| at.to_string())));
    check("arguments by name", 1250, |n| format!("concat({})", joined(n, ",", |at| format!("a{at} => {at}"))));
}

#[test]
fn levels() {
    check("calls", 50, |n| format!("{}1{}", "abs(".repeat(n), ")".repeat(n)));
    check("NULLIF", 50, |n| format!("{}1{}", "nullif(".repeat(n), ", 2)".repeat(n)));
    check("parentheses", 50, |n| format!("{}1{}", "(1 + ".repeat(n), ")".repeat(n)));
    check("BETWEEN", 50, |n| format!("{}true{}", "(".repeat(n), " BETWEEN false AND true)".repeat(n)));
    check("IN with one member", 50, |n| format!("{}true{}", "true IN (".repeat(n), ")".repeat(n)));
    check("CASE", 50, |n| format!("{}1{}", "CASE 1 WHEN ".repeat(n), " THEN 1 END".repeat(n)));
    check("ARRAY", 50, |n| format!("{}1{}", "ARRAY[".repeat(n), "]".repeat(n)));
    check("ARRAY with casts", 50, |n| format!("{}1{}", "ARRAY[".repeat(n), "]::int[]".repeat(n)));
}

#[test]
fn long_literals() {
    check("a string", 250_000, |n| format!("'{}'", "a".repeat(n)));
    check("a string that is cast", 250_000, |n| format!("'{}'::text::varchar(10)", "a".repeat(n)));
    check("lines of strings", 2500, |n| joined(n, " || ", |at| format!("'line {at}'\n")));
    check("a number", 2500, |n| format!("{}.5", "1".repeat(n)));
}

#[test]
fn reading() {
    for part in [
        "1 + ~1 + ",
        "1+~",
        "1 +-1 *-",
        "'a' LIKE 'b' ESCAPE lower('#') AND ",
        "1 BETWEEN SYMMETRIC 2 AND 3 OR ",
        "1 IS DISTINCT FROM 2 AND ",
        "'a' LIKE ANY (ARRAY['a']) AND ",
        "1 ISNULL = ",
        "'a'\n",
        "name 'a' || ",
        "trim(leading from 'a') || ",
        "'a' COLLATE \"C\" || ",
        "~ @ ",
    ] {
        check_reading(1000, |n| format!("{}1", part.repeat(n)));
    }
    for (open, close) in [("substring(", " from 1)"), ("ARRAY[", "]"), ("trim(from ", ")"), ("abs(", ")")] {
        check_reading(50, |n| format!("{}1{}", open.repeat(n), close.repeat(n)));
    }
}

/// Where an error stands is found in the whole text once.
#[test]
fn errors() {
    check("a sum that fails at its end", 2500, |n| format!("{} + true", joined(n, "+", |_| "1".to_owned())));
    check("a sum that fails at its beginning", 2500, |n| format!("true + {}", joined(n, "+", |_| "1".to_owned())));
    check("a column", 2500, |n| format!("{} + a", joined(n, "\n+", |_| "1".to_owned())));
    check("a condition", 2500, |n| format!("{} OR 1", joined(n, " OR ", |at| format!("1 = {at}"))));
    check("a comparison of a comparison", 2500, |n| format!("{} = 1 = 1", joined(n, "+", |_| "1".to_owned())));
}
