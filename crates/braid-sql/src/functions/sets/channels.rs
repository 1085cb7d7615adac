//! The channels that a session listens on.

use super::{Rows, SetImplementations};
use crate::functions::Call;
use crate::{SqlError, Value};

/// Rows of channels.
pub const FUNCTIONS: SetImplementations = &[("pg_listening_channels", |_, call| channels(call))];

fn channels(call: &Call<'_>) -> Result<Rows, SqlError> {
    let channels = call.session.notifications().map(|known| known.channels()).unwrap_or_default();
    Ok(Box::new(channels.into_iter().map(|channel| Ok(vec![Value::text(channel)]))))
}
