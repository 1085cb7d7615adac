//! Settings, for SET, SHOW and RESET.
//!
//! There are two kinds. Braid's own settings (`braid.*`) change the behaviour of the database. PostgreSQL's settings exist
//! because drivers set and read them when they connect. A value that Braid cannot honour is refused: `client_encoding`
//! accepts only UTF8.
//!
//! | module | contents |
//! |---|---|
//! | [`definition`] | the list: name, default, allowed values |
//! | [`statements`] | SET, SHOW, RESET, BEGIN |
//! | [`values`] | a session's values, and the effect of transaction blocks on them |

pub(crate) mod definition;
pub(crate) mod statements;
pub(crate) mod values;

pub(crate) use definition::{DEFINITIONS, definition};
pub(crate) use values::SettingValues;
