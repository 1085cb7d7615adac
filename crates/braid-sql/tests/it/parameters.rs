//! Types of parameters, or the error with its SQLSTATE, place, message and detail: PostgreSQL's.
//!
//! The answers in `tests/parameters.tsv` are PostgreSQL 15's (`bench/peers/parameters_on_postgres.py`). What Braid refuses as
//! unsupported is counted.

use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::pg_catalog::TypeId;
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::testing::FixedSession;
use braid_sql::testing::queries::GivenTables;
use braid_sql::types::type_names::format_type;
use braid_sql::{Evaluation, SqlError, SqlState, SqlType, Value};

use crate::answers::{escaped, type_of};
use crate::queries::tables;

/// How many statements are refused as unsupported.
const REFUSED: usize = 5;

/// The types of the parameters and of the columns.
fn types_of(sql: &str, declared: &[Option<SqlType>], tables: &GivenTables) -> Result<[Vec<SqlType>; 2], SqlError> {
    let syntax_error = |error: sqlparser::parser::ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let dialect = SqlDialect::for_text(sql);
    let mut parser = parser_of(&dialect, sql).map_err(syntax_error)?;
    let mut syntax = parser.parse_query().map_err(syntax_error)?;
    parser.expect_token(&sqlparser::tokenizer::Token::EOF).map_err(syntax_error)?;
    rebind_all(&mut syntax);
    let statement = Statement::new(sql, &FixedSession, tables).with_parameters(declared);
    let query = statement.binder().whole_query(&syntax)?;
    let columns = query.outputs.iter().map(|output| output.sql_type).collect();
    Ok([statement.parameter_types()?, columns])
}

fn declared_types(names: &str) -> Vec<Option<SqlType>> {
    let declared = |name: &str| match name {
        "?" => None,
        "unknown" => Some(SqlType::of(TypeId::UNKNOWN)),
        name => Some(type_of(name).unwrap()),
    };
    if names == "-" { Vec::new() } else { names.split(',').map(declared).collect() }
}

fn shown(types: &[SqlType]) -> String {
    types.iter().map(|of| format_type(*of)).collect::<Vec<_>>().join(",")
}

#[test]
fn parameters_have_postgresqls_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/parameters.tsv");
    let text = std::fs::read_to_string(path).unwrap();
    let tables = tables();
    let (mut differences, mut refused, mut count) = (Vec::new(), Vec::new(), 0);
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let fields: Vec<&str> = line.splitn(3, '\t').collect();
        let [declared, sql, expected] = fields[..] else { panic!("{line} has no answer") };
        count += 1;
        let answer = match types_of(sql, &declared_types(declared), &tables) {
            Ok([parameters, columns]) => format!("{}\t{}", shown(&parameters), shown(&columns)),
            // The words of a syntax error are the parser's.
            Err(error) if error.state() == SqlState::SyntaxError && expected.starts_with("!\t42601") => continue,
            Err(error) => {
                let place = error.position().unwrap_or(0);
                let shown = format!("!\t{} {place} {}", error.sqlstate(), escaped(error.message()));
                let detail = error.detail().map_or(String::new(), |detail| format!("\t{}", escaped(detail)));
                let has_detail = expected.starts_with("!\t42P08");
                // Details of other errors than those of parameters are not looked at here.
                shown + if has_detail { &detail } else { "" }
            }
        };
        let is_refused = answer.starts_with("!\t0A000") || answer.starts_with("!\t42601 0");
        let fields = if expected.starts_with("!\t42P08") { 3 } else { 2 };
        let expected = expected.splitn(4, '\t').take(fields).collect::<Vec<_>>().join("\t");
        if answer != expected {
            let shown = format!("{declared}\t{sql}\n  answer     {answer}\n  PostgreSQL {expected}");
            if is_refused { refused.push(shown) } else { differences.push(shown) }
        }
    }
    assert!(count > 600, "{count} statements");
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    assert_eq!(refused.len(), REFUSED, "statements that are refused:\n{}", refused.join("\n"));
}

#[test]
fn a_parameter_has_its_value() {
    let check = |sql: &str, values: &[Value], expected: Value| {
        let syntax = braid_sql::testing::parsed(sql).unwrap().unwrap();
        let statement = Statement::new(sql, &FixedSession, &braid_sql::tables::NoTables).with_parameters(&[]);
        let bound = statement.binder().output_expression(&syntax).unwrap();
        assert_eq!(Evaluation::new(&FixedSession, values).value(&bound).unwrap(), expected, "{sql}");
    };
    check("SELECT $1 + $2 * 2", &[Value::Int4(1), Value::Int4(20)], Value::Int4(41));
    check("SELECT $2 || $1::varchar(2)", &[Value::text("abc"), Value::text("x")], Value::text("xab"));
    check("SELECT $1 BETWEEN 1 AND 2.5", &[Value::Int4(2)], Value::Bool(true));
    check("SELECT 3 = ANY($1)", &[Value::Null], Value::Null);
}

#[test]
fn parameters_are_refused_where_the_caller_has_none() {
    let syntax = braid_sql::testing::parsed("SELECT $1 + 1").unwrap().unwrap();
    let statement = Statement::new("SELECT $1 + 1", &FixedSession, &braid_sql::tables::NoTables);
    let error = statement.binder().output_expression(&syntax).unwrap_err();
    assert_eq!((error.state(), error.message()), (SqlState::UndefinedParameter, "there is no parameter $1"));
}
