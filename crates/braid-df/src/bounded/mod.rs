//! Bounds on what functions of DataFusion make: bytes of a batch, bytes of a value, memory of the statement.
//!
//! DataFusion evaluates a function for all rows of a batch, and counts none of the bytes that it makes. Here
//!
//! 1. each function whose result can be larger than its arguments ([`growing_functions`]) is replaced by a
//!    [`bounded_function`] of the same name, which estimates its result before it is made;
//! 2. operators that can take fewer rows at a time ([`bounded_rows`], and Braid's own projections and filters) do so when a
//!    function says that its result would exceed [`braid_base::BATCH_BYTES_MAX`];
//! 3. what exceeds that bound all the same, since it is one row's value or its operator takes whole batches, is
//!    held under the statement's memory budget for as long as it exists ([`counted_array`]);
//! 4. a value of more than [`braid_base::VALUE_BYTES_MAX`] bytes fails, as in PostgreSQL;
//! 5. a constant is computed while the statement is planned only if it is not longer than a batch may be,
//!    and is counted then ([`StatementMemory::is_folding`]);
//! 6. rows that window functions hold are counted ([`counted_windows`]).
//!
//! Not bounded here: functions whose result is at most as large as their arguments.

mod bounded_function;
mod bounded_rows;
mod bounds_rule;
mod counted_array;
mod counted_windows;
mod division;
mod growing_functions;
mod result_size;
mod statement_memory;
mod text_concat;

pub use bounded_function::{ValueTooLong, bounded};
pub use bounded_rows::BoundedRows;
pub use bounds_rule::BoundedFunctions;
pub(crate) use bounds_rule::{is_bounded_call, values_as_rows, window_arguments_as_columns};
pub use counted_array::batch_bytes;
pub(crate) use counted_array::value_bytes;
pub use counted_windows::CountedWindows;
pub(crate) use division::{divisible, is_batch_too_long, literal_bytes};
pub use growing_functions::{Growth, growth_of};
pub use statement_memory::StatementMemory;
