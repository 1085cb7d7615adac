//! PostgreSQL's wire protocol and the braid command.
