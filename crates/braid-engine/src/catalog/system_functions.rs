//! Functions that clients call on the system tables, and that datafusion-pg-catalog does not have or answers emptily.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use braid_storage::{Catalog, Store};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::object_ids::table_of_object_id;
use super::quote_functions::quote_functions;
use crate::conversion::is_string;
use crate::names::{SCHEMA_NAME, fold_parts};
use crate::{EngineError, SqlState};

/// Computes a result with this number of rows from the arguments.
pub(super) type Compute = Arc<dyn Fn(&[ArrayRef], usize) -> Result<ArrayRef> + Send + Sync>;

/// All of them.
pub(crate) fn system_functions(store: &Arc<Store>) -> Vec<ScalarUDF> {
    let mut functions = Vec::new();
    // There are no comments, and functions have no SQL definitions to show.
    for name in [
        "obj_description",
        "shobj_description",
        "col_description",
        "pg_get_function_result",
        "pg_get_function_arguments",
        "pg_get_function_identity_arguments",
        "pg_get_functiondef",
        "pg_get_viewdef",
        "pg_get_indexdef",
        "pg_get_triggerdef",
        "pg_get_ruledef",
        "pg_tablespace_location",
    ] {
        let null: Compute = Arc::new(|_, row_count| Ok(new_null_array(&DataType::Utf8, row_count)));
        functions.push(SystemFunction::udf(name, DataType::Utf8, null));
    }
    for name in ["pg_function_is_visible", "pg_type_is_visible", "pg_operator_is_visible", "pg_collation_is_visible"] {
        let visible: Compute = Arc::new(|_, row_count| Ok(Arc::new(BooleanArray::from(vec![true; row_count]))));
        functions.push(SystemFunction::udf(name, DataType::Boolean, visible));
    }
    for name in ["pg_table_size", "pg_relation_size", "pg_total_relation_size"] {
        let store = store.clone();
        let size: Compute = Arc::new(move |args, _| table_sizes(&store, args));
        functions.push(SystemFunction::udf(name, DataType::Int64, size));
    }
    let database = store.clone();
    let size: Compute = Arc::new(move |_, row_count| {
        let bytes: i64 = database.snapshot().tables().map(|table| stored_bytes(table)).sum();
        Ok(Arc::new(Int64Array::from(vec![bytes; row_count])))
    });
    functions.push(SystemFunction::udf("pg_database_size", DataType::Int64, size));
    functions.push(SystemFunction::udf("pg_size_pretty", DataType::Utf8, Arc::new(pretty_sizes)));
    // The default of a column is kept as the text that is to be shown.
    functions.extend(quote_functions());
    functions.push(SystemFunction::udf("pg_get_expr", DataType::Utf8, Arc::new(first_as_text)));
    functions
}

/// A function of any arguments.
pub(super) struct SystemFunction {
    name: &'static str,
    result: DataType,
    compute: Compute,
    signature: Signature,
}

impl SystemFunction {
    pub(super) fn udf(name: &'static str, result: DataType, compute: Compute) -> ScalarUDF {
        let signature = Signature::variadic_any(Volatility::Stable);
        ScalarUDF::from(Self { name, result, compute, signature })
    }
}

impl fmt::Debug for SystemFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(type_name::<Self>()).field("name", &self.name).finish_non_exhaustive()
    }
}

/// One name, one function.
impl PartialEq for SystemFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for SystemFunction {}

impl std::hash::Hash for SystemFunction {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for SystemFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        (self.compute)(&arrays, args.number_rows).map(ColumnarValue::Array)
    }
}

fn table_sizes(store: &Store, args: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(ids) = args.first() else { return Ok(new_null_array(&DataType::Int64, 0)) };
    let snapshot = store.snapshot();
    if is_string(ids.data_type()) {
        let names = cast(ids, &DataType::Utf8View)?;
        let size_of = |name: Option<&str>| name.map(|name| size_of_named(&snapshot, name)).transpose();
        let sizes = names.as_string_view().iter().map(size_of).collect::<Result<Int64Array, EngineError>>()?;
        return Ok(Arc::new(sizes));
    }
    let ids = cast(ids, &DataType::Int32)?;
    let size_of = |id: i32| snapshot.by_id(table_of_object_id(id)?).map(|table| stored_bytes(table));
    let sizes = ids.as_primitive::<Int32Type>().iter().map(|id| id.map(|id| size_of(id).unwrap_or(0)));
    Ok(Arc::new(sizes.collect::<Int64Array>()))
}

/// Bytes of the table that a text names, as `'t'::regclass` does.
fn size_of_named(catalog: &Catalog, text: &str) -> Result<i64, EngineError> {
    let unknown = || EngineError::new(SqlState::UndefinedTable, format!("relation \"{text}\" does not exist"));
    let parsed =
        Parser::new(&PostgreSqlDialect {}).try_with_sql(text).and_then(|mut parser| parser.parse_object_name(false));
    let parts = fold_parts(&parsed.map_err(|_| unknown())?)?;
    let name = match &parts[..] {
        [name] => name,
        [schema, name] if schema == SCHEMA_NAME => name,
        _ => return Err(unknown()),
    };
    catalog.table(name).map(|table| stored_bytes(table)).ok_or_else(unknown)
}

/// Bytes of a table on disk.
fn stored_bytes(table: &braid_storage::TableVersion) -> i64 {
    let segments = table.chunks.iter().flat_map(|chunk| &chunk.segments);
    segments.map(|segment| i64::from(segment.stored_bytes)).sum()
}

fn pretty_sizes(args: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
    let Some(bytes) = args.first() else { return Ok(new_null_array(&DataType::Utf8, row_count)) };
    let bytes = cast(bytes, &DataType::Int64)?;
    let texts = bytes.as_primitive::<Int64Type>().iter().map(|bytes| bytes.map(pretty));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

/// Below 10240 bytes in bytes, and so on with kB, MB, GB, TB and PB, rounded (`pg_size_pretty` in PostgreSQL's dbsize.c).
fn pretty(bytes: i64) -> String {
    const LIMIT: i64 = 10 * 1024;
    if bytes.unsigned_abs() < LIMIT.unsigned_abs() {
        return format!("{bytes} bytes");
    }
    let units = ["kB", "MB", "GB", "TB", "PB"];
    // One bit more than the unit has, for rounding.
    let mut size = bytes / 512;
    let half_rounded = |size: i64| (size + size.signum()) / 2;
    for (at, unit) in units.iter().enumerate() {
        if size.abs() < 2 * LIMIT - 1 || at + 1 == units.len() {
            return format!("{} {unit}", half_rounded(size));
        }
        size /= 1024;
    }
    format!("{bytes} bytes")
}

fn first_as_text(args: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
    match args.first() {
        Some(text) => Ok(cast(text, &DataType::Utf8)?),
        None => Ok(new_null_array(&DataType::Utf8, row_count)),
    }
}
