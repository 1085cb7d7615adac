//! Aggregates over rows with PostgreSQL's answers: each has PostgreSQL's type, text, or error with its SQLSTATE and message.
//!
//! The answers in `tests/aggregates` are PostgreSQL 15's (`bench/peers/aggregates_on_postgres.py`, which describes the lines). What
//! Braid refuses is counted, exactly. Where accumulators merge, the rows in two parts must give the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use braid_sql::aggregates::{Accumulation, Aggregate};
use braid_sql::functions::ordering::{SortKey, compare_rows};
use braid_sql::functions::{Call, UnlimitedMemory};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::resolution::{FunctionResolution, ResolvedFunction, resolve_function};
use braid_sql::testing::{FixedSession, value_of};
use braid_sql::types::type_names::format_type;
use braid_sql::{Evaluation, SqlError, SqlState, SqlType, Value};

use crate::answers::{escaped, key_of, parts, rows_of, type_of, value_as};

/// The files, each with how many of its lines are refused as unsupported.
const FILES: &[(&str, usize)] = &[
    ("arrays", 0),
    ("booleans", 0),
    ("extremes", 2),
    ("bits", 0),
    ("floats", 0),
    ("hypothetical_sets", 0),
    ("integers", 0),
    ("intervals", 1),
    ("json", 0),
    ("numerics", 0),
    ("ordered_sets", 0),
    ("orders", 7),
    ("regressions", 0),
    ("strings", 0),
];

/// A call as the files write it.
struct Written {
    name: String,
    direct: Vec<String>,
    /// The types of a row's values, as SQL.
    types: Vec<String>,
    /// `desc`, `nulls first` and so on behind each; `None` without WITHIN GROUP.
    ways: Option<Vec<String>>,
}

impl Written {
    fn read(call: &str) -> Self {
        let (name, rest) = call.split_once('(').expect("a call has parentheses");
        let (name, rest) = (name.to_owned(), rest.strip_suffix(')').expect("a call has parentheses"));
        match rest.split_once(") within group (") {
            Some((direct, keys)) => {
                let keys: Vec<(&str, &str)> =
                    keys.split(" & ").map(|key| key.split_once(' ').unwrap_or((key, ""))).collect();
                let types = keys.iter().map(|key| key.0.to_owned()).collect();
                let ways = Some(keys.iter().map(|key| key.1.to_owned()).collect());
                Self { name, direct: parts(direct, " & "), types, ways }
            }
            None if rest == "*" => Self { name, direct: Vec::new(), types: Vec::new(), ways: None },
            None => Self { name, direct: Vec::new(), types: parts(rest, " & "), ways: None },
        }
    }
}

/// A call that is ready to take rows.
struct Prepared {
    aggregate: Aggregate,
    types: Vec<SqlType>,
    result: SqlType,
    direct: Vec<Value>,
    keys: Vec<SortKey>,
    rows: Vec<Vec<Value>>,
    sort_operator: Option<&'static str>,
}

impl Prepared {
    fn of(written: &Written, rows: &str) -> Result<Self, SqlError> {
        let direct = written.direct.iter().map(|text| value_of(text)).collect::<Result<Vec<_>, _>>()?;
        let given: Result<Vec<SqlType>, SqlError> = written.types.iter().map(|name| type_of(name)).collect();
        let ids: Vec<TypeId> =
            direct.iter().map(|(sql_type, _)| sql_type.id).chain(given?.iter().map(|one| one.id)).collect();
        let resolved = match resolve_function(&written.name, &ids, &[], false)? {
            FunctionResolution::Function(resolved) => resolved,
            FunctionResolution::Coercion(..) => panic!("{} is a cast", written.name),
        };
        let ResolvedFunction { function, argument_types, result, .. } = resolved;
        let function = pg_catalog().function(function);
        let aggregate = Aggregate::of(function)
            .ok_or_else(|| SqlError::unsupported(format!("aggregate {} is not supported", function.signature())))?;
        let sort_operator = pg_catalog().aggregate(function.id).and_then(|entry| entry.sort_operator);
        let types: Vec<SqlType> = argument_types.iter().copied().map(SqlType::of).collect();
        let of_row = &types[direct.len()..];
        let keys: Vec<SortKey> = written
            .ways
            .iter()
            .flatten()
            .zip(of_row)
            .map(|(way, sql_type)| key_of(sql_type.id, way))
            .collect::<Result<_, _>>()?;
        let mut direct_values = Vec::new();
        for ((text, (given, _)), wanted) in written.direct.iter().zip(&direct).zip(&types) {
            direct_values.push(value_of(&format!("(({text})::{})::{}", format_type(*given), format_type(*wanted)))?.1);
        }
        let rows = rows_of(rows).into_iter().map(|row| {
            let values = row.iter().zip(&written.types).zip(of_row);
            values.map(|((text, given), wanted)| value_as(text, given, *wanted)).collect()
        });
        let rows = rows.collect::<Result<_, _>>()?;
        let mut prepared =
            Self { aggregate, types, result: SqlType::of(result), direct: direct_values, keys, rows, sort_operator };
        let keys = &prepared.keys;
        prepared.rows.sort_by(|left: &Vec<Value>, right| {
            compare_rows(keys, left, right, &FixedSession).expect("values are compared")
        });
        Ok(prepared)
    }

    fn call(&self) -> Call<'_> {
        Call { session: &FixedSession, argument_types: &self.types, result_type: self.result, memory: &UnlimitedMemory }
    }

    fn accumulated(&self, rows: &[Vec<Value>]) -> Result<Accumulation, SqlError> {
        let mut accumulation = self.aggregate.start(&self.call(), &self.keys)?;
        for row in rows {
            accumulation.add(row, &self.call())?;
            assert!(accumulation.bytes() > 0);
        }
        Ok(accumulation)
    }

    fn text(&self, accumulation: &Accumulation) -> Result<String, SqlError> {
        let value = accumulation.finish(&self.direct, &self.call())?;
        let text = Evaluation::new(&FixedSession, &[]).text(&value, self.result)?;
        Ok(text.map_or("\\N".to_owned(), |text| escaped(&text)))
    }

    fn answer(&self) -> Result<String, SqlError> {
        self.text(&self.accumulated(&self.rows)?)
    }

    /// The answer of the rows in two parts.
    fn merged_answer(&self, is_left: impl Fn(usize) -> bool) -> Result<String, SqlError> {
        let part = |wanted: bool| -> Vec<Vec<Value>> {
            let rows = self.rows.iter().enumerate().filter(|(at, _)| is_left(*at) == wanted);
            rows.map(|(_, row)| row.clone()).collect()
        };
        let mut accumulation = self.accumulated(&part(true))?;
        let other = self.accumulated(&part(false))?;
        let parts = other.parts().expect("an aggregate that merges has parts");
        let mut of_parts = self.accumulated(&part(true))?;
        let of_parts = of_parts.merge_parts(&parts, &self.call()).and_then(|()| self.text(&of_parts));
        let merged = accumulation.merge(other, &self.call()).and_then(|()| self.text(&accumulation));
        assert_eq!(of_parts, merged, "merged by parts and at once");
        merged
    }

    /// Answers of the rows in two parts: cut at each place, and drawn at random.
    fn merged_answers(&self) -> Vec<Result<String, SqlError>> {
        let count = self.rows.len();
        let mut answers: Vec<_> = (0..=count).map(|cut| self.merged_answer(|at| at < cut)).collect();
        // Of equal values that differ, min and max keep the first.
        if ![Some("<"), Some(">")].contains(&self.sort_operator) {
            let mut draw = 0x9e37_79b9_7f4a_7c15_u64;
            for _ in 0..3 {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                answers.push(self.merged_answer(|at| draw >> (16 + at % 32) & 1 == 0));
            }
        }
        answers
    }

    /// Whether merged parts answer alike. Sums of floats may differ in their last digits, and overflow elsewhere.
    fn merges_alike(&self, answer: &str, merged: Result<String, SqlError>) -> bool {
        let is_float = [TypeId::FLOAT4, TypeId::FLOAT8].contains(&self.result.id);
        match merged {
            Err(_) => is_float || self.result.id == TypeId::INTERVAL,
            Ok(merged) if is_float && merged != answer => {
                let numbers = (merged.parse::<f64>(), answer.parse::<f64>());
                let (Ok(merged), Ok(answer)) = numbers else { return self.has_extremes() };
                let is_near = (merged - answer).abs() <= 1e-6 * answer.abs().max(1.0);
                is_near || self.has_extremes()
            }
            Ok(merged) => merged == answer,
        }
    }

    /// Whether numbers are so far apart that digits are lost whatever the order.
    fn has_extremes(&self) -> bool {
        let is_extreme = |value: &Value| match value {
            Value::Float8(value) => value.is_nan() || value.abs() >= 1e6,
            Value::Float4(value) => value.is_nan() || value.abs() >= 1e3,
            _ => false,
        };
        self.rows.iter().flatten().any(is_extreme)
    }
}

/// What differs from PostgreSQL; an error if the aggregate is unsupported.
fn difference(call: &str, rows: &str, expected: (&str, &str)) -> Result<Option<String>, SqlError> {
    let prepared = Prepared::of(&Written::read(call), rows);
    let answer = prepared.as_ref().map_err(Clone::clone).and_then(Prepared::answer);
    let shown = match (&prepared, &answer) {
        (_, Err(error)) if error.state() == SqlState::FeatureNotSupported => return Err(error.clone()),
        (_, Err(error)) => ("!".to_owned(), escaped(&format!("{} {}", error.sqlstate(), error.message()))),
        (Ok(prepared), Ok(text)) => (format_type(prepared.result), text.clone()),
        (Err(_), Ok(_)) => panic!("an answer without a call"),
    };
    if (shown.0.as_str(), shown.1.as_str()) != expected {
        return Ok(Some(format!("{call} of {rows}\n  answer     {shown:?}\n  PostgreSQL {expected:?}")));
    }
    if let (Ok(prepared), Ok(answer)) = (prepared, answer)
        && prepared.aggregate.merges()
    {
        for merged in prepared.merged_answers() {
            if !prepared.merges_alike(&answer, merged.clone()) {
                return Ok(Some(format!("{call} of {rows}, merged\n  answer {merged:?}\n  whole  {answer}")));
            }
        }
    }
    Ok(None)
}

/// `BRAID_AGGREGATES=name` runs one file and prints what is refused.
#[test]
fn aggregates_have_postgresqls_answers() {
    let only = std::env::var("BRAID_AGGREGATES").ok();
    let (mut differences, mut refused) = (Vec::new(), BTreeMap::new());
    for (name, _) in FILES.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/aggregates/{name}.tsv"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut refused_here = 0;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.splitn(4, '\t').collect();
            let [call, rows, expected_type, expected] = fields[..] else { panic!("{line} of {name} has no answer") };
            match difference(call, rows, (expected_type, expected)) {
                Ok(difference) => differences.extend(difference),
                Err(error) => {
                    refused_here += 1;
                    if only.is_some() {
                        println!("unsupported: {call} of {rows}: {error}");
                    }
                }
            }
        }
        refused.insert(*name, refused_here);
    }
    let shown: Vec<&str> = differences.iter().take(40).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
    if only.is_none() {
        assert_eq!(refused, FILES.iter().copied().collect(), "lines that are refused");
    }
}
