//! All stored expressions and queries once more, with every literal that can be one as a parameter: types, values and errors stay.
//!
//! A literal whose value binding looks at becomes a constant again, as a caller does it. The numbers of literals that vary are exact, so
//! that they can only shrink knowingly.

use std::collections::HashMap;

use braid_sql::binder::precedence::rebind_all;
use braid_sql::binder::{Statement, VaryingKind, VaryingLiteral};
use braid_sql::relation::Query;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::tables::{NoTables, Tables};
use braid_sql::testing::naive::rows_of;
use braid_sql::testing::queries::GivenTables;
use braid_sql::testing::{FixedSession, PREFIX, parsed};
use braid_sql::types::type_names::format_type;
use braid_sql::values::Numeric;
use braid_sql::{Evaluation, Expression, SqlError, Value};
use sqlparser::ast::Query as QuerySyntax;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::queries::tables;

/// A statement's type or types, and the texts of its rows.
type Answer = (Vec<String>, Vec<Vec<Option<String>>>);

/// What became of the literals.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    statements: usize,
    literals: usize,
    varying: usize,
    /// Statements that cannot be bound with varying literals, for another reason than without.
    unbound: usize,
}

/// The literals of a text with their values. Literals that are equal have one number.
fn literals(sql: &str) -> Vec<(VaryingLiteral, Value)> {
    let dialect = SqlDialect::for_text(sql);
    let Ok(tokens) = Tokenizer::new(&dialect, sql).tokenize_with_location() else { return Vec::new() };
    let mut numbers = HashMap::new();
    let mut literals = Vec::new();
    for token in tokens {
        let (kind, value) = match &token.token {
            Token::Number(digits, _) => number(digits),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) | Token::UnicodeStringLiteral(text) => {
                (VaryingKind::Text, Value::text(text.as_str()))
            }
            Token::DollarQuotedString(text) => (VaryingKind::Text, Value::text(text.value.as_str())),
            _ => continue,
        };
        let next = numbers.len();
        let number = *numbers.entry(format!("{kind:?} {value:?}")).or_insert(next);
        literals.push((VaryingLiteral { location: token.span.start, kind, number }, value));
    }
    literals
}

fn number(digits: &str) -> (VaryingKind, Value) {
    if let Ok(value) = digits.parse() {
        return (VaryingKind::Integer, Value::Int4(value));
    }
    if let Ok(value) = digits.parse() {
        return (VaryingKind::BigInt, Value::Int8(value));
    }
    let scale = match digits.split_once('.') {
        Some((_, fraction)) if !digits.contains(['e', 'E']) => fraction.len() as u32,
        _ => 0,
    };
    let value = Numeric::parse(digits).map_or(Value::Null, Value::Numeric);
    (VaryingKind::Numeric { digits: digits.len() as u32, scale }, value)
}

/// What is bound of a statement.
enum Bound {
    Expression(Expression),
    Query(Query),
}

enum Syntax {
    Expression(Box<sqlparser::ast::Expr>),
    Query(Box<QuerySyntax>),
}

fn bound(statement: &Statement<'_>, syntax: &Syntax) -> Result<Bound, SqlError> {
    match syntax {
        Syntax::Expression(syntax) => statement.binder().output_expression(syntax).map(Bound::Expression),
        Syntax::Query(syntax) => statement.binder().whole_query(syntax).map(Bound::Query),
    }
}

fn evaluated(
    statement: Statement<'_>,
    bound: &Bound,
    values: &[Value],
    tables: &GivenTables,
) -> Result<Answer, SqlError> {
    let evaluation = Evaluation::new(&FixedSession, values);
    match bound {
        Bound::Expression(expression) => {
            let text = evaluation.text(&evaluation.value(expression)?, expression.sql_type)?;
            Ok((vec![format_type(expression.sql_type)], vec![vec![text]]))
        }
        Bound::Query(query) => {
            let rows = rows_of(query, &statement.into_columns(), (&FixedSession, values), tables)?;
            let text =
                |(value, output): (&Value, &braid_sql::relation::Output)| evaluation.text(value, output.sql_type);
            let rows = rows.iter().map(|row| row.iter().zip(&query.outputs).map(text).collect());
            let types = query.outputs.iter().map(|output| format_type(output.sql_type));
            Ok((types.collect(), rows.collect::<Result<_, _>>()?))
        }
    }
}

/// The answer with as many varying literals as possible, and how many these are; `None` if such a statement cannot be bound.
fn varying_answer(sql: &str, syntax: &Syntax, tables: &GivenTables) -> (Option<Result<Answer, SqlError>>, usize) {
    let mut varying = literals(sql);
    loop {
        let list: Vec<VaryingLiteral> = varying.iter().map(|(literal, _)| *literal).collect();
        let source: &dyn Tables = if matches!(syntax, Syntax::Query(_)) { tables } else { &NoTables };
        let statement = Statement::new(sql, &FixedSession, source).with_varying(&list);
        let result = bound(&statement, syntax).and_then(|bound| Ok((bound, statement.literal_inputs()?)));
        if let Some(looked_at) = statement.looked_at() {
            let before = varying.len();
            varying.retain(|(literal, _)| literal.location != looked_at.location);
            assert!(varying.len() < before, "{sql} looks at a literal that does not vary");
            continue;
        }
        let (bound, inputs) = match result {
            Ok(bound) => bound,
            Err(error) => return (list.is_empty().then_some(Err(error)), 0),
        };
        let last = varying.iter().map(|(literal, _)| literal.number + 1).max().unwrap_or(0);
        let mut values = vec![Value::Null; last];
        for (literal, value) in &varying {
            values[literal.number] = value.clone();
        }
        let evaluation = Evaluation::new(&FixedSession, &values);
        if let Some(error) = inputs.iter().find_map(|input| evaluation.value(input).err()) {
            return (Some(Err(error)), varying.len());
        }
        return (Some(evaluated(statement, &bound, &values, tables)), varying.len());
    }
}

/// What a client sees of an answer, without the place of an error.
fn shown(answer: &Result<Answer, SqlError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:?}"),
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

fn check(sql: &str, syntax: &Syntax, tables: &GivenTables, counts: &mut Counts, differences: &mut Vec<String>) {
    let source: &dyn Tables = if matches!(syntax, Syntax::Query(_)) { tables } else { &NoTables };
    let statement = Statement::new(sql, &FixedSession, source);
    let expected = bound(&statement, syntax).and_then(|bound| evaluated(statement, &bound, &[], tables));
    let (answer, varying) = varying_answer(sql, syntax, tables);
    counts.statements += 1;
    counts.literals += literals(sql).len();
    counts.varying += varying;
    match answer {
        None if expected.is_err() => {}
        None => counts.unbound += 1,
        Some(answer) if shown(&answer) == shown(&expected) => {}
        Some(answer) => {
            differences.push(format!("{sql}\n  varying  {}\n  constant {}", shown(&answer), shown(&expected)))
        }
    }
}

fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn files(folder: &str) -> Vec<std::path::PathBuf> {
    let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// At least so many statements were bound, and at least this share of their literals varied, in percent.
fn finish(counts: &Counts, statements: usize, share: usize, differences: &[String]) {
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    assert!(counts.statements >= statements && counts.varying * 100 >= counts.literals * share, "{counts:?}");
    assert_eq!(counts.unbound, 0);
}

#[test]
fn expressions_have_the_same_answers_with_varying_literals() {
    let (mut counts, mut differences) = (Counts::default(), Vec::new());
    for file in files("expressions") {
        for line in read(&file).lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let sql = format!("{PREFIX}{}", line.split('\t').next().unwrap());
            let Ok(Some(mut syntax)) = parsed(&sql) else { continue };
            rebind_all(&mut syntax);
            check(&sql, &Syntax::Expression(Box::new(syntax)), &GivenTables::default(), &mut counts, &mut differences);
        }
    }
    finish(&counts, 25_000, 93, &differences);
}

fn query_of(sql: &str) -> Option<Syntax> {
    let dialect = SqlDialect::for_text(sql);
    let mut syntax = parser_of(&dialect, sql).ok()?.parse_query().ok()?;
    rebind_all(&mut syntax);
    Some(Syntax::Query(syntax))
}

#[test]
fn queries_have_the_same_answers_with_varying_literals() {
    let tables = tables();
    let (mut counts, mut differences) = (Counts::default(), Vec::new());
    for file in files("queries").into_iter().filter(|file| !file.ends_with("tables.tsv")) {
        for paragraph in read(&file).split("\n\n") {
            let Some(sql) = paragraph.lines().find(|line| !line.is_empty() && !line.starts_with('#')) else { continue };
            let Some(syntax) = query_of(sql) else { continue };
            check(sql, &syntax, &tables, &mut counts, &mut differences);
        }
    }
    finish(&counts, 1500, 75, &differences);
}

/// What is looked at, in the order in which the caller learns of it, and what varies in the end.
#[test]
fn literals_that_are_looked_at_are_known() {
    let check = |sql: &str, expected: &[&str]| {
        let tables = tables();
        let Some(syntax) = query_of(sql) else { panic!("{sql} is no query") };
        let mut varying = literals(sql);
        let mut seen = Vec::new();
        loop {
            let list: Vec<VaryingLiteral> = varying.iter().map(|(literal, _)| *literal).collect();
            let statement = Statement::new(sql, &FixedSession, &tables).with_varying(&list);
            let result = bound(&statement, &syntax).and_then(|_| statement.literal_inputs());
            let Some(looked_at) = statement.looked_at() else {
                result.unwrap();
                break;
            };
            assert_eq!(result.unwrap_err().sqlstate(), "0A000", "{sql}");
            let at = varying.iter().position(|(literal, _)| literal.location == looked_at.location).unwrap();
            seen.push(format!("{:?}", varying.remove(at).1));
        }
        assert_eq!(seen, expected, "{sql}");
    };
    check("SELECT a + 1, 'x' FROM t1 WHERE b = 'y' AND c > 1.5 LIMIT 3 OFFSET 1", &[]);
    check("SELECT a FROM t1 ORDER BY 1", &["Int4(1)"]);
    check("SELECT a, 2 FROM t1 GROUP BY 1", &["Int4(1)"]);
    check("SELECT DISTINCT ON (1) a, 2 FROM t1", &["Int4(1)"]);
    check("SELECT current_timestamp(3), abs(4)", &["Int4(3)"]);
    check("SELECT 'abc'::varchar(2), 1::numeric(5, 3)", &["Int4(2)", "Int4(5)", "Int4(3)"]);
    check("SELECT -1, -1.5, - 2147483648", &["Int8(2147483648)"]);
    check("SELECT extract('year' FROM date '2020-01-01')", &["Text(\"year\")"]);
    check("SELECT interval '1' day, interval '1.5 s'", &[]);
    check("SELECT a + 1 FROM t1 GROUP BY a + 1", &[]);
    check("SELECT a + 1 FROM t1 GROUP BY ROLLUP (a + 1)", &["Int4(1)", "Int4(1)"]);
    check("SELECT a + 1 FROM t1 GROUP BY ROLLUP (a)", &[]);
    check("SELECT 'a'\n'b', 'c'", &["Text(\"b\")", "Text(\"a\")"]);
    check("SELECT 'a' -- comment\n, 'c'", &["Text(\"a\")"]);
    check("SELECT x'1F', 'a' LIKE 'b' ESCAPE '!' FROM t1 WHERE a IN (1, 2)", &[]);
}

#[test]
fn literals_of_two_numbers_are_never_equal() {
    let sql = "SELECT a + 1 FROM t1 GROUP BY a + 1";
    let tables = tables();
    let mut list: Vec<VaryingLiteral> = literals(sql).into_iter().map(|(literal, _)| literal).collect();
    list[1].number = 1;
    let statement = Statement::new(sql, &FixedSession, &tables).with_varying(&list);
    let Some(syntax) = query_of(sql) else { panic!("{sql} is no query") };
    let error = bound(&statement, &syntax).err().unwrap();
    assert_eq!((error.sqlstate(), statement.looked_at()), ("42803", None));
}

#[test]
fn varying_literals_have_numbers_behind_those_of_parameters() {
    let sql = "SELECT $2 || 'x' || $1";
    let syntax = Syntax::Expression(Box::new(parsed(sql).unwrap().unwrap()));
    let mut list: Vec<VaryingLiteral> = literals(sql).into_iter().map(|(literal, _)| literal).collect();
    list[0].number = 2;
    let statement = Statement::new(sql, &FixedSession, &NoTables).with_parameters(&[]).with_varying(&list);
    let bound = bound(&statement, &syntax).unwrap();
    assert!(statement.literal_inputs().unwrap().is_empty());
    let values = ["a", "b", "y"].map(Value::text);
    let (_, rows) = evaluated(statement, &bound, &values, &GivenTables::default()).unwrap();
    assert_eq!(rows, [[Some("bya".to_owned())]]);
    list[0].number = 1;
    let statement = Statement::new(sql, &FixedSession, &NoTables).with_parameters(&[]).with_varying(&list);
    assert_eq!(self::bound(&statement, &syntax).err().unwrap().sqlstate(), "XX000");
}
