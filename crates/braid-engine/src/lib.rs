//! The database: catalog, sessions, statements, loading. Embeddable.
//!
//! ```text
//! text --Statement::parse--> Statement --Session::execute--> Outcome
//! ```
//!
//! A module imports only modules of its own row and of the rows below it, and no two modules import each other.
//!
//! | module | contents |
//! |---|---|
//! | `load` | loading from generators and files |
//! | [`session`] | one client: each statement to its room |
//! | `opening` | a data directory opened |
//! | `session_control` | SET, RESET, SHOW, BEGIN, COMMIT, ROLLBACK, savepoints |
//! | `copy` | rows in and out as CSV, text and Parquet |
//! | `absent_objects` | DROP of functions, triggers and the like, which users cannot create |
//! | `altered_relations`, `relocation` | ALTER TABLE of any relation; ALTER … SET SCHEMA |
//! | `permissions` | what statements other than queries need the privileges for |
//! | `grants`, `roles` | GRANT and REVOKE; CREATE ROLE and the like |
//! | `owners`, `storage_hints` | ALTER … OWNER TO; ALTER TABLE … SET STATISTICS and the like |
//! | `comments` | COMMENT ON |
//! | `views` | CREATE, ALTER, DROP and REFRESH of views |
//! | `table`, `enum_types`, `dml` | CREATE TABLE, DROP TABLE, TRUNCATE; CREATE, ALTER and DROP TYPE; INSERT, UPDATE, DELETE |
//! | `domains` | CREATE and ALTER DOMAIN |
//! | `code_blocks` | DO: the text of a block as a tree |
//! | `sequences` | CREATE, ALTER and DROP SEQUENCE; the sequences of columns |
//! | `explain` | EXPLAIN: how a query would run, and how it ran |
//! | `recall` | a query by its template: recalled or learned, bound, run |
//! | `front_end` | statements bound, planned and started |
//! | `dependents`, `named_roles` | what depends on tables and views; the roles that statements name |
//! | `default_lists` | the access control lists of objects to come |
//! | `table_locks` | LOCK TABLE |
//! | `table_names` | the table that a statement which changes tables means |
//! | `access` | whether the roles of a session may do what is asked for |
//! | `statement_context` | what a statement needs of its session: database, user, settings, transaction, time |
//! | `logins` | who may open a session |
//! | [`database`] | one open data directory: device, store, buffer, memory |
//! | `planning` | the threads that statements are planned on |
//! | `sharing` | queries of one plan that wait together run together |
//! | `templates` | plans of statements that differ only in their constants |
//! | `system_views` | Braid's own views: their names, and what a view is |
//! | `rows` | the rows of queries: made, kept, on their way to the client |
//! | `sent_columns` | values of expressions as columns that the server sends |
//! | [`outcome`], `parameter_value` | what a statement returns, and what it takes |
//! | [`statement`] | SQL text into statements |
//! | `statement_limits`, `deep_stack` | how large and how deep statements may be; stacks for deep trees |
//! | `settings`, [`transaction`] | the list of settings and a session's values; the state of its transaction |
//! | [`config`], [`memory`] | the configuration of a database; the budgets of all queries and of each |
//! | [`named_statements`], `named_cursors` | the prepared statements of a session, and its cursors |
//! | `told_columns` | the columns that clients of prepared statements were told |
//! | `notifications` | LISTEN and NOTIFY: what transactions tell the sessions that listen |
//! | `activity`, `session_locks` | what sessions do, and how one stops another; tables and numbers that they lock |
//! | `session_sequences` | the numbers of sequences that a session was given |
//! | [`notices`] | what statements tell their clients without failing |
//! | `interrupt`, `clock`, `statement_times` | what stops a statement; what time it is; where statements' time goes |
//! | `conversion` | values of loaded columns as values of the table's types |
//! | `column_names`, `storage_parameters` | columns in expressions over a table's rows; WITH (…) of tables and views |
//! | `storage_views` | what tables take and readers of old states keep, as system views |
//! | `automatic_compaction` | worn tables are compacted without being asked |
//! | `stored_row` | rows of a table as values |
//! | `input`, `output` | values from text, and as text |
//! | `arrow_cast`, `sql_types`, `names` | Arrow's cast; types and names as PostgreSQL has them |
//! | [`ParameterValue`], `bound_parameters` | the values of parameters |
//! | [`error`], `error_mapping` | errors as PostgreSQL reports them |
//!
//! Rule: `braid-sql` and `braid-plan` plan only queries. All other statements are dispatched on the syntax tree.

pub mod config;
pub mod database;
pub mod error;
pub mod memory;
pub mod named_statements;
pub mod notices;
pub mod outcome;
pub mod session;
pub mod statement;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transaction;
mod upkeep_traces;

mod absent_objects;
mod access;
mod activity;
mod altered_relations;
mod arrow_cast;
mod automatic_compaction;
mod bound_parameters;
mod clock;
mod code_blocks;
mod column_names;
mod comments;
mod conversion;
mod copy;
mod deep_stack;
mod default_lists;
mod dependents;
mod dml;
mod domains;
mod enum_types;
mod error_mapping;
mod explain;
mod front_end;
mod grants;
mod input;
mod interrupt;
mod load;
mod logins;
mod maintenance;
mod named_cursors;
mod named_roles;
mod named_views;
mod names;
mod notifications;
mod opening;
mod output;
mod owners;
mod parameter_value;
mod permissions;
mod planning;
mod recall;
mod relocation;
mod roles;
mod row_counters;
mod rows;
mod schemas;
mod sent_columns;
mod sequences;
mod session_control;
mod session_locks;
mod session_sequences;
mod settings;
mod sharing;
mod sql_types;
mod statement_context;
mod statement_limits;
mod statement_times;
mod storage_hints;
mod storage_parameters;
mod storage_views;
mod stored_row;
mod system_views;
mod table;
mod table_locks;
mod table_names;
mod templates;
mod told_columns;
mod views;

pub use braid_catalog::Encryption;
pub use braid_sql::encodings::{Encoding, StreamDecoder};
pub use braid_sql::input::time_zones::{TimeZone, zone_offset_s};
pub use braid_sql::output::float_digits;
pub use braid_sql::{Formats, SqlError as EncodingError, SqlState};
pub use config::Config;
pub use database::Database;
pub use deep_stack::RUNTIME_STACK_BYTES;
pub use error::{EngineError, ErrorObject};
pub use load::{LoadPlan, LoadRequest, PlannedColumn};
pub use logins::LoginPassword;
pub use named_cursors::{NamedCursor, NamedCursors};
pub use named_statements::{Description, NamedStatement, PreparedBy};
pub use notices::{Notice, NoticeSeverity};
pub use notifications::Notification;
pub use outcome::{
    CopyIn, CopyOut, CopyRecords, DescribedType, Outcome, ParameterType, Prepared, RowBatches, binary_of_record,
    binary_of_text, element_of_array, record_fields,
};
pub use parameter_value::{ParameterValue, SentValue};
pub use recall::SharedForm;
pub use sent_columns::texts_with_bytes::texts_with_bytes;
pub use session::{Ongoing, Session};
pub use settings::SettingsStamp;
pub use sharing::SharingFigures;
pub use statement::{SavepointChange, Statement, StatementKind};
pub use statement_context::MessageScope;
pub use statement_times::StatementTimes;
pub use templates::TemplateFigures;
pub use told_columns::{Meaning, ToldColumns, check_same_columns};
pub use transaction::TransactionStatus;
