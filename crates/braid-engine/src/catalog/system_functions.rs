//! Functions that clients call on the system tables, and that datafusion-pg-catalog does not have or answers emptily.

use std::any::type_name;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, StringArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use braid_base::ByteSize;
use braid_storage::Store;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::object_ids::table_of_object_id;

/// Computes a result with this number of rows from the arguments.
type Compute = Arc<dyn Fn(&[ArrayRef], usize) -> Result<ArrayRef> + Send + Sync>;

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
    functions.push(SystemFunction::udf("pg_get_expr", DataType::Utf8, Arc::new(first_as_text)));
    functions
}

/// A function of any arguments.
struct SystemFunction {
    name: &'static str,
    result: DataType,
    compute: Compute,
    signature: Signature,
}

impl SystemFunction {
    fn udf(name: &'static str, result: DataType, compute: Compute) -> ScalarUDF {
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
    let ids = cast(ids, &DataType::Int32)?;
    let snapshot = store.snapshot();
    let size_of = |id: i32| snapshot.by_id(table_of_object_id(id)?).map(|table| stored_bytes(table));
    let sizes = ids.as_primitive::<Int32Type>().iter().map(|id| id.map(|id| size_of(id).unwrap_or(0)));
    Ok(Arc::new(sizes.collect::<Int64Array>()))
}

/// Bytes of a table on disk.
fn stored_bytes(table: &braid_storage::TableVersion) -> i64 {
    let segments = table.chunks.iter().flat_map(|chunk| &chunk.segments);
    segments.map(|segment| i64::from(segment.stored_bytes)).sum()
}

fn pretty_sizes(args: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
    let Some(bytes) = args.first() else { return Ok(new_null_array(&DataType::Utf8, row_count)) };
    let bytes = cast(bytes, &DataType::Int64)?;
    let pretty = |bytes: i64| ByteSize(bytes.unsigned_abs()).rounded();
    let texts = bytes.as_primitive::<Int64Type>().iter().map(|bytes| bytes.map(pretty));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

fn first_as_text(args: &[ArrayRef], row_count: usize) -> Result<ArrayRef> {
    match args.first() {
        Some(text) => Ok(cast(text, &DataType::Utf8)?),
        None => Ok(new_null_array(&DataType::Utf8, row_count)),
    }
}
