//! The privileges of access control lists.

use super::{Rows, SetImplementations};
use crate::functions::objects::acls::exploded;

/// Rows of privileges.
pub const FUNCTIONS: SetImplementations = &[("aclexplode", |arguments, call| {
    let rows = exploded(&arguments[0], call)?;
    Ok(Box::new(rows.into_iter().map(Ok)) as Rows)
})];
