//! Aggregates that the operators have no states for: those of braid-sql, as foreign calls of an aggregation.
//!
//! States of numbers that have a fixed size are those of vectors (`fixed_states`), and so are the values of percentiles (`percentiles`).
//! Any other accumulator whose state is a few values is kept for each group (`merged_states`). All others need the rows of the group, in the order
//! that the call asks for: those are kept, and sorted and accumulated at the end (`kept_rows`).
//!
//! | module | contents |
//! |---|---|
//! | `accumulation_call` | what is known of a call |
//! | `fixed_states` | states of a fixed size by group, over vectors of numbers: `corr`, `stddev`, `bit_and` |
//! | `percentiles` | the numbers of each group, of which one or two are selected at the end |
//! | `merged_states` | accumulators by group, which are merged |
//! | `kept_rows` | rows by group, which are accumulated at the end: DISTINCT, ORDER BY, WITHIN GROUP, `array_agg` |

mod accumulation_call;
mod fixed_states;
mod kept_rows;
mod merged_states;
mod percentiles;

use arrow::datatypes::DataType;
use braid_exec::Expression as Lowered;
use braid_sql::aggregates::Aggregate;
use braid_sql::functions::ordering::{Direction, Nulls, SortKey, TypeEquality};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{AggregateCall, ColumnId};
use braid_sql::{Expression, SqlError, SqlType};

use super::parameters::reads_rows;
use super::query::Lowering;
use crate::rewriting::identity_types::is_identity_type;
use crate::values::Form;
use accumulation_call::{AccumulationCall, DirectArguments};

pub(super) use accumulation_call::Accumulating;

/// A call of an aggregate of braid-sql that is put together.
pub(super) struct AccumulatedCall {
    pub function: Accumulating,
    /// The arguments, each with the arrays that it is read from.
    pub arguments: Vec<(Lowered, DataType)>,
    /// Whether the filter is the last argument, and not the operator's work.
    pub reads_filter: bool,
}

impl Lowering<'_> {
    /// An aggregate that the operators have no states for.
    ///
    /// # Errors
    /// As unsupported (0A000) an aggregate that braid-sql does not compute.
    pub(super) fn accumulated_call(
        &self,
        call: &AggregateCall,
        columns: &[ColumnId],
    ) -> Result<AccumulatedCall, SqlError> {
        let entry = pg_catalog().function(call.function);
        let aggregate = Aggregate::of(entry)
            .ok_or_else(|| SqlError::unsupported(format!("the aggregate {} is not supported", entry.signature())))?;
        let keys: Vec<&Expression> = call.order_by.iter().map(|key| &key.expression).collect();
        let (sorts, of_rows, direct): (Vec<&Expression>, Vec<&Expression>, &[Expression]) = match call.is_within_group {
            true => (Vec::new(), keys, &call.arguments),
            false => (keys, call.arguments.iter().collect(), &[]),
        };
        let mut order = sort_keys(call)?;
        let within_group = if call.is_within_group { order.clone() } else { Vec::new() };
        let mut equalities = None;
        if call.is_distinct {
            let ids = || of_rows.iter().map(|argument| argument.sql_type.id);
            order.extend(ids().map(ascending).collect::<Result<Vec<_>, _>>()?);
            equalities = Some(ids().map(TypeEquality::of).collect::<Result<Vec<_>, _>>()?);
        }
        let direct_arguments = match direct.iter().any(reads_rows) {
            true => DirectArguments::InRows(direct.len()),
            false => DirectArguments::Known(direct.iter().map(|one| self.known_value(one)).collect::<Result<_, _>>()?),
        };
        let reads_filter = matches!(direct_arguments, DirectArguments::InRows(_)) && call.filter.is_some();
        let in_rows = if let DirectArguments::InRows(_) = direct_arguments { direct } else { &[] };
        let ids: Vec<TypeId> =
            sorts.iter().chain(&of_rows).copied().chain(in_rows).map(|argument| argument.sql_type.id).collect();
        let is_sorted_wholly = (call.is_within_group || call.is_distinct)
            && of_rows.iter().all(|argument| is_identity_type(argument.sql_type.id));
        let lowered =
            sorts.iter().chain(&of_rows).copied().chain(in_rows).chain(call.filter.iter().filter(|_| reads_filter));
        let arguments = lowered
            .map(|argument| Ok((self.expression(argument, columns)?, Form::of(argument.sql_type.id).data_type())))
            .collect::<Result<Vec<_>, SqlError>>()?;
        let function = AccumulationCall {
            name: entry.name,
            aggregate,
            argument_types: call.argument_types.clone(),
            result: call.sql_type,
            session: self.session.clone(),
            sort_count: sorts.len(),
            argument_count: of_rows.len(),
            direct: direct_arguments,
            ids,
            order,
            within_group,
            is_descending: match &call.order_by[..] {
                [key] if call.is_within_group => Some(key.is_descending),
                _ => None,
            },
            equalities,
            next: std::sync::atomic::AtomicU64::default(),
        };
        let function = Accumulating::new(function, !is_sorted_wholly)?;
        Ok(AccumulatedCall { function, arguments, reads_filter })
    }
}

/// The order of the call's rows.
fn sort_keys(call: &AggregateCall) -> Result<Vec<SortKey>, SqlError> {
    let key = |key: &braid_sql::relation::SortKey| {
        let direction = if key.is_descending { Direction::Descending } else { Direction::Ascending };
        let nulls = if key.nulls_first { Nulls::First } else { Nulls::Last };
        SortKey::of(key.expression.sql_type.id, direction, Some(nulls))
    };
    call.order_by.iter().map(key).collect()
}

fn ascending(id: TypeId) -> Result<SortKey, SqlError> {
    SortKey::of(id, Direction::Ascending, None)
}

/// The form of an aggregate's results.
pub(super) fn form_of_result(sql_type: SqlType) -> Form {
    Form::of(sql_type.id)
}
