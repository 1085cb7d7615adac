//! The query types of the mix as plans that many queries share: a template with parameters for each type, and for N random
//! queries their N rows of parameters and their N texts.
//!
//! The templates are plans that an optimiser would choose for queries with *all* parameters at once:
//!
//! - Scans evaluate the conditions that all queries of a type have, on encoded data.
//! - Conditions with parameters are in a filter directly above the scan of their table, so that sharing can move them into the
//!   scan. Each bound is a separate parameter. Only Q19 and Q8 have parameters elsewhere, too.
//! - Many queries together need nearly every part, region, month and ship mode. Columns are therefore computed on the side of a
//!   join that has fewer rows in that case, and aggregated before a join where possible.
//!
//! | module | contents |
//! |---|---|
//! | [`tpch_sources`] | scans of a database's tables |
//! | `terms` | the expressions and operators that templates are written in |
//! | `lineitem_templates` | Q1 and Q6, of one table |
//! | `order_templates` | Q4, Q12 and Q13, about orders |
//! | `part_templates` | Q8, Q14 and Q19, about parts |
//! | `quotient` | the division of numerics |
//!
//! The templates rely on the primary keys of TPC-H, which are not declared to the engine.

mod lineitem_templates;
mod order_templates;
mod part_templates;
mod quotient;
mod terms;
#[cfg(test)]
mod tests;
pub mod tpch_sources;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use braid_base::SeededRandom;
use braid_exec::Vector;
use braid_exec::plan::Plan;
use braid_storage::Scalar;

use crate::workloads::answer::Answer;
use crate::workloads::tpch::mix::MixParameters;

pub use tpch_sources::TpchSources;

/// Queries of one type of the mix.
#[derive(Clone, Debug)]
pub struct SharedQueries {
    number: u8,
    queries: Vec<MixParameters>,
}

impl SharedQueries {
    /// `count` queries of a type with random parameters, determined by the seed. Panics unless `number` is one of
    /// [`MIX_NUMBERS`](crate::workloads::tpch::mix::MIX_NUMBERS).
    pub fn random(number: u8, count: usize, seed: u64) -> Self {
        let mut random = SeededRandom::new(seed);
        Self { number, queries: (0..count).map(|_| MixParameters::random(number, &mut random)).collect() }
    }

    /// The text of each query.
    pub fn sql(&self) -> Vec<String> {
        self.queries.iter().map(MixParameters::sql).collect()
    }

    /// The parameter row of each query.
    pub fn parameters(&self) -> Vec<Vec<Option<Scalar>>> {
        self.queries.iter().map(|query| parameter_row(query).into_iter().map(Some).collect()).collect()
    }

    /// The plan of all queries, with parameters where they differ.
    pub fn plan(&self, tables: &TpchSources) -> Plan {
        match self.number {
            1 => lineitem_templates::q1(tables),
            4 => order_templates::q4(tables),
            6 => lineitem_templates::q6(tables),
            8 => part_templates::q8(tables),
            12 => order_templates::q12(tables),
            13 => order_templates::q13(tables),
            14 => part_templates::q14(tables),
            _ => part_templates::q19(tables),
        }
    }

    /// The types of the plan's columns.
    pub fn column_types(&self) -> Vec<DataType> {
        let numeric = |scale| DataType::Decimal128(terms::DIGITS_MAX, scale);
        match self.number {
            1 => {
                let keys = [DataType::Utf8View, DataType::Utf8View];
                let results = [2, 2, 4, 6, 6, 6, 6].map(numeric);
                keys.into_iter().chain(results).chain([DataType::Int64]).collect()
            }
            4 => vec![DataType::Utf8View, DataType::Int64],
            6 | 19 => vec![numeric(4)],
            8 => vec![DataType::Int64, part_templates::q8_share_type()],
            12 => vec![DataType::Utf8View, DataType::Int64, DataType::Int64],
            13 => vec![DataType::Int64, DataType::Int64],
            _ => vec![part_templates::q14_share_type()],
        }
    }

    /// The answer of one query from its columns, for a comparison with the answer of its text.
    ///
    /// # Errors
    /// When the columns are not those of the plan.
    pub fn answer(&self, columns: &[Vector]) -> Result<Answer, ArrowError> {
        let types = self.column_types();
        let field = |data_type: &DataType| Field::new("", data_type.clone(), true);
        let schema = Schema::new(types.iter().map(field).collect::<Vec<_>>());
        let arrays: Result<Vec<ArrayRef>, ArrowError> =
            columns.iter().zip(&types).map(|(column, data_type)| column.to_array(data_type)).collect();
        let options = RecordBatchOptions::new().with_row_count(columns.first().map(Vector::len));
        Answer::from_batches(&[RecordBatch::try_new_with_options(schema.into(), arrays?, &options)?])
    }
}

/// The parameter row of a query, by the parameter numbers of its template.
fn parameter_row(query: &MixParameters) -> Vec<Scalar> {
    match query {
        MixParameters::Q1 { days } => lineitem_templates::q1_parameters(*days),
        MixParameters::Q4 { year, month } => order_templates::q4_parameters(*year, *month),
        MixParameters::Q6 { year, percent, quantity } => lineitem_templates::q6_parameters(*year, *percent, *quantity),
        MixParameters::Q8 { nation, region, part_type } => part_templates::q8_parameters(nation, region, part_type),
        MixParameters::Q12 { modes, year } => order_templates::q12_parameters(modes, *year),
        MixParameters::Q13 { words } => order_templates::q13_parameters(words),
        MixParameters::Q14 { year, month } => part_templates::q14_parameters(*year, *month),
        MixParameters::Q19 { wanted } => part_templates::q19_parameters(wanted),
    }
}
