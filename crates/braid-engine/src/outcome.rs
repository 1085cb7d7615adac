//! The outcome of a statement: rows, a tag, or a request for data.

mod copying;

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use braid_sql::functions::text_input::value_of_text;
use braid_sql::input::records::fields_of_text;
use braid_sql::output::binary::send;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::values::{RecordType, RecordValue};
use braid_sql::{Formats, SqlType, Value};
use futures::stream::{self, BoxStream};

use crate::EngineError;
pub(crate) use copying::{CopiedFile, CopySink, CopySource, ExpectedValues};
pub use copying::{CopyIn, CopyOut, CopyRecords};

/// The rows of a statement as they are produced. After an error nothing follows. Dropping the stream stops the query.
pub type RowBatches = BoxStream<'static, Result<RecordBatch, EngineError>>;

/// The outcome of one statement.
pub enum Outcome {
    /// A stream of rows.
    Rows {
        /// The rows' columns.
        schema: SchemaRef,
        /// The rows.
        stream: RowBatches,
        /// The command tag without the row count: `SELECT`, `EXPLAIN`, `SHOW`.
        tag: &'static str,
    },
    /// A completed statement without rows.
    Done {
        /// The whole command tag: `CREATE TABLE`, `INSERT 0 5`.
        tag: String,
    },
    /// COPY FROM STDIN: the client must send data.
    CopyIn(CopyIn),
    /// COPY TO STDOUT: the encoded data.
    CopyOut(CopyOut),
}

impl Outcome {
    /// The outcome of a statement that returns only its tag.
    pub(crate) fn done(tag: impl Into<String>) -> Self {
        Self::Done { tag: tag.into() }
    }

    /// The rows of one batch of these columns.
    pub(crate) fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, tag: &'static str) -> Result<Self, EngineError> {
        let batch = RecordBatch::try_new(schema.clone(), columns)?;
        Ok(Self::Rows { schema, stream: Box::pin(stream::iter([Ok(batch)])), tag })
    }
}

/// Metadata of a column whose type Arrow's type does not say: number, length and modifier of PostgreSQL's type.
const DESCRIBED_TYPE_KEY: &str = "braid.pg_type";

/// A type of PostgreSQL as a client is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescribedType {
    /// `pg_type.oid`
    pub oid: u32,
    /// `pg_type.typlen`
    pub length: i16,
    /// The number by which the engine knows it: for enumerated types another one than the oid.
    pub number: u32,
    /// `atttypmod`
    pub modifier: i32,
}

impl DescribedType {
    /// Whether values of the type may have other texts in these formats than in those.
    pub fn texts_differ(&self, one: &Formats, other: &Formats) -> bool {
        one.texts_differ(other, TypeId(self.number))
    }

    /// The type that a column says it has; `None` if it leaves it to Arrow's type.
    pub fn of(field: &Field) -> Option<Self> {
        let mut numbers = field.metadata().get(DESCRIBED_TYPE_KEY)?.split(' ');
        let number = numbers.next()?.parse().ok()?;
        let length = numbers.next()?.parse().ok()?;
        Some(Self { oid: TypeId(number).oid(), length, number, modifier: numbers.next()?.parse().ok()? })
    }
}

/// The binary format of a value that a column has as text, because its type has no form in Arrow.
///
/// # Errors
/// For a type that has no binary format here (0A000), and a text that is no value of the type.
pub fn binary_of_text(number: u32, text: &str) -> Result<Vec<u8>, EngineError> {
    let mut out = Vec::new();
    let id = TypeId(number);
    if id == TypeId::VOID {
        return Ok(out);
    }
    send(&value_of_text(id, text)?, id, &mut out)?;
    Ok(out)
}

/// The oid of the type of an array type's elements, by the number of the array type; `None` for other types.
pub fn element_of_array(number: u32) -> Option<u32> {
    pg_catalog().element_of_array(TypeId(number)).map(|element| element.oid())
}

/// Metadata of a column of records: the numbers of the types of their fields, with blanks between.
const RECORD_FIELDS_KEY: &str = "braid.record_fields";

/// What a column of records of this type has in its metadata besides.
pub(crate) fn described_fields(record_type: &RecordType) -> (String, String) {
    let numbers = record_type.fields.iter().map(|field| field.sql_type.id.0.to_string());
    (RECORD_FIELDS_KEY.to_owned(), numbers.collect::<Vec<_>>().join(" "))
}

/// The numbers of the types of the fields that a column's records have; `None` if it has none, or they are not known.
pub fn record_fields(field: &Field) -> Option<Vec<u32>> {
    let numbers = field.metadata().get(RECORD_FIELDS_KEY)?;
    numbers.split_whitespace().map(|number| number.parse().ok()).collect()
}

/// The binary format of a record that a column has as text, with fields of these types.
///
/// # Errors
/// As [`binary_of_text`].
pub fn binary_of_record(fields: &[u32], text: &str) -> Result<Vec<u8>, EngineError> {
    let broken = || EngineError::internal("the text of a record does not have its fields");
    let texts = match fields {
        [] => Vec::new(),
        _ => fields_of_text(text).filter(|texts| texts.len() == fields.len()).ok_or_else(broken)?,
    };
    let value =
        |(text, oid): (Option<String>, &u32)| text.map_or(Ok(Value::Null), |text| value_of_text(TypeId(*oid), &text));
    let values = texts.into_iter().zip(fields).map(value).collect::<Result<Vec<_>, _>>()?;
    let record_type = Arc::new(RecordType::unnamed(fields.iter().map(|oid| SqlType::of(TypeId(*oid)))));
    let mut out = Vec::new();
    send(&Value::Record(Arc::new(RecordValue { record_type, values })), TypeId::RECORD, &mut out)?;
    Ok(out)
}

/// What a column of this type has in its metadata.
pub(crate) fn described_as(sql_type: SqlType) -> (String, String) {
    let length = pg_catalog().type_entry(sql_type.id).length;
    (DESCRIBED_TYPE_KEY.to_owned(), format!("{} {length} {}", sql_type.id.0, sql_type.modifier))
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows { schema, tag, .. } => {
                f.debug_struct("Rows").field("schema", schema).field("tag", tag).finish_non_exhaustive()
            }
            Self::Done { tag } => f.debug_struct("Done").field("tag", tag).finish(),
            Self::CopyIn(copy) => f.debug_tuple("CopyIn").field(copy).finish(),
            Self::CopyOut(copy) => f.debug_tuple("CopyOut").field(copy).finish(),
        }
    }
}

/// The type of a parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// `pg_type.oid`
    pub oid: u32,
}

impl ParameterType {
    /// A type by its oid.
    pub(crate) fn of(sql_type: SqlType) -> Self {
        Self { oid: sql_type.id.oid() }
    }
}

/// The description of a statement before it runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Types of `$1`, `$2`, …: as given, or inferred.
    pub parameter_types: Vec<ParameterType>,
    /// Columns of the rows; `None` if the statement returns no rows.
    pub schema: Option<SchemaRef>,
}
