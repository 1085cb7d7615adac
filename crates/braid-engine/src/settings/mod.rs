//! Settings: what SET, SHOW and RESET know.
//!
//! Two kinds. Braid's own (`braid.*`) change what the database does. PostgreSQL's are there because drivers set and
//! read them when they connect; of these, one that cannot be honoured is refused, not ignored: `client_encoding` takes
//! UTF8 and nothing else.
//!
//! | module | what lives there |
//! |---|---|
//! | [`definition`] | the list: name, default, what values are allowed |
//! | [`statements`] | SET, SHOW, RESET, BEGIN |
//! | [`values`] | a session's values, and what a transaction block does to them |

pub(crate) mod definition;
pub(crate) mod statements;
pub(crate) mod values;

pub(crate) use definition::{DEFINITIONS, definition};
pub(crate) use values::SettingValues;
