//! Window functions over rows with PostgreSQL's answers: each has PostgreSQL's type and texts, or error with its SQLSTATE and message.
//!
//! The answers in `tests/windows` are PostgreSQL 15's (`bench/peers/windows_on_postgres.py`, which describes the lines).

use std::path::PathBuf;

use braid_sql::aggregates::Aggregate;
use braid_sql::functions::ordering::SortKey;
use braid_sql::functions::{Call, UnlimitedMemory};
use braid_sql::pg_catalog::{FunctionEntry, TypeId, pg_catalog};
use braid_sql::resolution::{FunctionResolution, resolve_function};
use braid_sql::testing::{FixedSession, value_of};
use braid_sql::types::type_names::format_type;
use braid_sql::window_functions::frame_aggregates::aggregate_values;
use braid_sql::window_functions::frames::OrderingColumn;
use braid_sql::window_functions::range_offsets::InRange;
use braid_sql::window_functions::{
    Exclusion, Frame, FrameBound, FrameMode, FrameOffset, FrameSpecification, Partition, Peers, WindowFunction,
};
use braid_sql::{Evaluation, SqlError, SqlType, Value};

use crate::answers::{escaped, key_of, parts, rows_of, type_of, value_as};

const FILES: &[&str] = &["counted_frames", "moving_frames", "places", "range_frames", "ranks"];

/// A column's number in `c0`.
fn column_of(name: &str) -> usize {
    name.strip_prefix('c').and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} is no column"))
}

/// The rows of a line, and what its window says of them.
struct Window {
    types: Vec<SqlType>,
    rows: Vec<Vec<Value>>,
    order: Vec<usize>,
    keys: Vec<SortKey>,
    frame: FrameSpecification,
}

impl Window {
    fn of(types: &str, over: &str, rows: &str) -> Result<Self, SqlError> {
        let type_names = parts(types, " & ");
        let types: Vec<SqlType> = type_names.iter().map(|name| type_of(name)).collect::<Result<_, _>>()?;
        let frame_at = ["rows ", "range ", "groups "].iter().find_map(|mode| over.find(mode)).unwrap_or(over.len());
        let (order_text, frame_text) = over.split_at(frame_at);
        let order_text = order_text.trim().strip_prefix("order by ").unwrap_or("");
        let (mut order, mut keys) = (Vec::new(), Vec::new());
        for key in parts(order_text, ", ") {
            let (name, way) = key.split_once(' ').unwrap_or((&key, ""));
            order.push(column_of(name));
            keys.push(key_of(types[column_of(name)].id, way)?);
        }
        let column = order.first().map(|at| types[*at].id);
        let frame = frame_of(frame_text, column)?;
        let mut values = Vec::new();
        for row in rows_of(rows) {
            let row = row.iter().zip(&type_names).zip(&types);
            values.push(row.map(|((text, given), wanted)| value_as(text, given, *wanted)).collect::<Result<_, _>>()?);
        }
        Ok(Self { types, rows: values, order, keys, frame })
    }

    fn peers(&self) -> Result<Peers, SqlError> {
        let rows: Vec<Vec<Value>> =
            self.rows.iter().map(|row| self.order.iter().map(|at| row[*at].clone()).collect()).collect();
        Peers::of(&rows, &self.keys, &FixedSession)
    }

    fn frames(&self, peers: &Peers) -> Result<Vec<Frame>, SqlError> {
        let Some(at) = self.order.first() else { return self.frame.frames(peers, None, &FixedSession) };
        let values: Vec<Value> = self.rows.iter().map(|row| row[*at].clone()).collect();
        let column = OrderingColumn { values: &values, key: &self.keys[0] };
        self.frame.frames(peers, Some(column), &FixedSession)
    }
}

fn frame_of(text: &str, column: Option<TypeId>) -> Result<FrameSpecification, SqlError> {
    let Some((mode, rest)) = text.split_once(" between ") else { return frame_from_start(text, column) };
    let (bounds, exclusion) = rest.split_once(" exclude ").unwrap_or((rest, "no others"));
    let (start, end) = bounds.split_once(" and ").expect("a frame has two bounds");
    let mode = match mode {
        "rows" => FrameMode::Rows,
        "range" => FrameMode::Range,
        "groups" => FrameMode::Groups,
        other => panic!("{other} is no mode"),
    };
    Ok(FrameSpecification {
        mode,
        start: bound_of(start, mode, column)?,
        end: bound_of(end, mode, column)?,
        exclusion: match exclusion {
            "no others" => Exclusion::Nothing,
            "current row" => Exclusion::CurrentRow,
            "group" => Exclusion::Group,
            "ties" => Exclusion::Ties,
            other => panic!("{other} is not excluded"),
        },
    })
}

fn frame_from_start(text: &str, column: Option<TypeId>) -> Result<FrameSpecification, SqlError> {
    match text.split_once(' ') {
        None => Ok(FrameSpecification::default()),
        Some((mode, start)) => frame_of(&format!("{mode} between {start} and current row"), column),
    }
}

fn bound_of(text: &str, mode: FrameMode, column: Option<TypeId>) -> Result<FrameBound, SqlError> {
    match text {
        "unbounded preceding" => return Ok(FrameBound::UnboundedPreceding),
        "unbounded following" => return Ok(FrameBound::UnboundedFollowing),
        "current row" => return Ok(FrameBound::CurrentRow),
        _ => {}
    }
    let (offset, direction) = text.rsplit_once(' ').expect("a bound has a direction");
    let offset = match (mode, column) {
        (FrameMode::Range, Some(column)) => {
            let is_literal = offset.starts_with('\'') && offset.ends_with('\'');
            let given = if is_literal { TypeId::UNKNOWN } else { value_of(offset)?.0.id };
            let in_range = InRange::of(column, given)?;
            let wanted = format_type(SqlType::of(in_range.offset_type()));
            FrameOffset::Distance(in_range, value_of(&format!("({offset})::{wanted}"))?.1)
        }
        _ => FrameOffset::Count(value_of(&format!("({offset})::int8"))?.1),
    };
    Ok(if direction == "preceding" { FrameBound::Preceding(offset) } else { FrameBound::Following(offset) })
}

/// Type and texts of a call in a window.
fn answer(call: &str, types: &str, over: &str, rows: &str) -> Result<(String, String), SqlError> {
    let (call, filter) = match call.split_once(" filter (where ") {
        Some((call, filter)) => (call, Some(column_of(&filter[..filter.len() - 1]))),
        None => (call, None),
    };
    let (name, arguments) = call.split_once('(').expect("a call has parentheses");
    let arguments: Vec<usize> = match &arguments[..arguments.len() - 1] {
        "*" => Vec::new(),
        columns => parts(columns, ", ").iter().map(|name| column_of(name)).collect(),
    };
    let given: Vec<TypeId> = {
        let types = parts(types, " & ");
        arguments.iter().map(|at| Ok(type_of(&types[*at])?.id)).collect::<Result<_, SqlError>>()?
    };
    let FunctionResolution::Function(resolved) = resolve_function(name, &given, &[], false)? else {
        panic!("{name} is a cast");
    };
    let window = Window::of(types, over, rows)?;
    let function = pg_catalog().function(resolved.function);
    let argument_types: Vec<SqlType> = resolved.argument_types.iter().copied().map(SqlType::of).collect();
    let result = SqlType::of(resolved.result);
    let call =
        Call { session: &FixedSession, argument_types: &argument_types, result_type: result, memory: &UnlimitedMemory };
    let mut argument_rows: Vec<Vec<Value>> =
        window.rows.iter().map(|row| arguments.iter().map(|at| row[*at].clone()).collect()).collect();
    for row in &mut argument_rows {
        for ((value, at), wanted) in row.iter_mut().zip(&arguments).zip(&argument_types) {
            if window.types[*at].id != wanted.id {
                let text = Evaluation::new(&FixedSession, &[]).text(value, window.types[*at])?;
                *value = value_as(text.as_deref().unwrap_or("NULL"), &format_type(window.types[*at]), *wanted)?;
            }
        }
    }
    let filter: Option<Vec<bool>> =
        filter.map(|at| window.rows.iter().map(|row| row[at] == Value::Bool(true)).collect());
    let values = values_of(function, &window, &argument_rows, filter.as_deref(), &call)?;
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let texts: Result<Vec<String>, SqlError> = values
        .iter()
        .map(|value| Ok(evaluation.text(value, result)?.map_or("\\N".to_owned(), |text| escaped(&text))))
        .collect();
    Ok((format_type(result), texts?.join(" | ")))
}

fn values_of(
    function: &FunctionEntry,
    window: &Window,
    arguments: &[Vec<Value>],
    filter: Option<&[bool]>,
    call: &Call<'_>,
) -> Result<Vec<Value>, SqlError> {
    let peers = window.peers()?;
    // PostgreSQL looks at offsets even if the function needs no frame.
    let frames = window.frames(&peers)?;
    let partition = Partition { arguments, peers: &peers, frames: &frames };
    match (WindowFunction::of(function), Aggregate::of(function)) {
        (Some(function), _) => function.values(&partition),
        (None, Some(aggregate)) => aggregate_values(&aggregate, &partition, filter, call),
        (None, None) => panic!("{} is not there", function.signature()),
    }
}

/// `BRAID_WINDOWS=name` runs one file.
#[test]
fn window_functions_have_postgresqls_answers() {
    let only = std::env::var("BRAID_WINDOWS").ok();
    let mut differences = Vec::new();
    for name in FILES.iter().filter(|name| only.as_deref().is_none_or(|only| only == **name)) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/windows/{name}.tsv"));
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.splitn(6, '\t').collect();
            let [call, types, over, rows, expected_type, expected] = fields[..] else { panic!("{line} has no answer") };
            let shown = answer(call, types, over, rows).unwrap_or_else(|error| {
                ("!".to_owned(), escaped(&format!("{} {}", error.sqlstate(), error.message())))
            });
            if (shown.0.as_str(), shown.1.as_str()) != (expected_type, expected) {
                differences.push(format!(
                    "{call} over ({over}) of {rows}\n  answer     {shown:?}\n  PostgreSQL {expected_type} {expected}"
                ));
            }
        }
    }
    let shown: Vec<&str> = differences.iter().take(40).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
}
