//! `to_char` of numbers, and `to_number`.
//!
//! The locale is C: the decimal point is `.`, groups are separated by `,`, and the currency symbol is a blank.
//!
//! | module | contents |
//! |---|---|
//! | [`template`] | the templates, and what they say together |
//! | [`digits`] | the digits of a number for a format |
//! | [`to_char`] | digits and text as the format says |
//! | [`to_number`] | a number out of a text |

pub mod digits;
pub mod template;
pub mod to_char;
pub mod to_number;

use crate::SqlError;
use crate::functions::strings::results::check_request;

/// Bytes that PostgreSQL sets aside for a template's text.
const TEMPLATE_TEXT_BYTES: usize = 8;

/// Bytes of a template in PostgreSQL's memory.
const TEMPLATE_BYTES: usize = 16;

/// Refuses a format for which PostgreSQL would need a larger piece of memory than it allocates.
fn check_format(format: &str, header_bytes: usize) -> Result<(), SqlError> {
    check_request(format.len().saturating_mul(TEMPLATE_TEXT_BYTES) + 1 + header_bytes)?;
    check_request((format.len() + 1).saturating_mul(TEMPLATE_BYTES))
}
