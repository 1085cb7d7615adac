//! Settings: the list, and the values of a session. SET, SHOW and RESET are statements of [`crate::session_control`].
//!
//! There are two kinds. Braid's own settings (`braid.*`) change the behaviour of the database. PostgreSQL's settings exist
//! because drivers set and read them when they connect. A value that Braid cannot honour is refused: `DateStyle`
//! accepts only ISO, MDY.
//!
//! | module | contents |
//! |---|---|
//! | [`list`] | all settings |
//! | [`categories`] | the groups of `pg_settings` |
//! | [`date_style`] | the values of `DateStyle` |
//! | [`definition`] | one setting: name, default, allowed values |
//! | [`values`] | a session's values, and the effect of transaction blocks on them |
//! | [`sources`] | where a value is from |
//! | [`shown`] | what SHOW prints |

mod categories;
mod date_style;
mod definition;
mod list;
mod shown;
mod sources;
mod values;

pub(crate) use categories::category;
pub(crate) use definition::{Definition, Domain, Report};
pub(crate) use list::{DEFINITIONS, SettingName, definition, listed_definitions, setting_name, unknown_setting};
pub(crate) use shown::{Identity, ProvidedValues};
pub use sources::SettingSource;
pub use values::SettingsStamp;
pub(crate) use values::{Scope, SettingValues};
