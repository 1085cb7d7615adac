//! The server as clients see it: tokio-postgres and hand-written messages against a server in this process.
//!
//! | module | what it checks |
//! |---|---|
//! | [`harness`] | a server on a free port over a temporary data directory |
//! | [`raw_client`] | a client that sends and reads single messages |
//! | [`types`] | every type as parameter and as result, text and binary |
//! | [`statements`] | simple and prepared statements, errors, transaction state |
//! | [`batches`] | what is executed up to one Sync |
//! | [`portals`] | row limits, cursors, their lives |
//! | [`command`] | the `braid` command as a process, under limits |
//! | [`client_encodings`] | clients that write and read other encodings than UTF8 |
//! | [`copying`] | COPY in both protocols |
//! | [`cancelling`] | CancelRequest, vanished clients, large results |
//! | [`large_statements`] | large and deep statements of every kind |
//! | [`security`] | SCRAM, TLS, refusals |
//! | [`figures`] | the demo and the benchmarks that need a server, tiny |
//! | [`lifecycle`] | limits, idle connections, shutdown |
//! | [`local_user`] | who `braid sql` is, and who may connect to `braid serve` |
//! | [`long_values`] | what values that functions make long take of memory and time |
//! | [`notifications`] | notifications as messages |
//! | [`parameters`] | bound values in statements that have a query within |
//! | [`prepared_columns`] | statements whose relations are altered after Parse |
//! | [`prepared_statements`] | PREPARE and EXECUTE beside the protocol's named statements |
//! | [`privacy`] | who can read files, and passwords in the log |
//! | [`session_settings`] | what a session begins with, and what RESET returns to |
//! | [`session_formats`] | texts in the formats of their sessions |
//! | [`statement_log`] | what the log tells of statements |
//! | [`protocol`] | what no driver sends |

#![expect(clippy::unwrap_used, reason = "all of this is tests, their helpers too")]

mod batches;
mod cancelling;
mod client_encodings;
mod command;
mod copying;
mod figures;
mod harness;
mod large_statements;
mod lifecycle;
mod loading;
mod local_user;
mod long_values;
mod notifications;
mod parameters;
mod portals;
mod prepared_columns;
mod prepared_statements;
mod privacy;
mod protocol;
mod raw_client;
mod security;
mod session_formats;
mod session_settings;
mod statement_log;
mod statements;
mod types;
