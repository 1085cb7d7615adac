//! How large arrays may be.

use crate::{SqlError, SqlState};

/// Most dimensions of an array (`MAXDIM`).
const DIMENSIONS_MAX: usize = 6;

/// Most elements of an array: as many pointers of 8 bytes as 1 GiB holds.
pub const ELEMENTS_MAX: usize = 0x3fff_ffff / 8;

/// Refuses too many dimensions.
pub fn check_dimension_count(count: usize) -> Result<(), SqlError> {
    if count > DIMENSIONS_MAX {
        let message = format!("number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})");
        return Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
    }
    Ok(())
}

/// The number of elements of these dimensions. It and the subscripts must stay within their limits.
pub fn checked_count(dimensions: &[(usize, i32)]) -> Result<usize, SqlError> {
    if dimensions.is_empty() {
        return Ok(0);
    }
    let count = dimensions.iter().try_fold(1_usize, |count, (length, _)| count.checked_mul(*length));
    let count = count.filter(|count| *count <= ELEMENTS_MAX).ok_or_else(too_many_elements)?;
    for (length, lower) in dimensions {
        let fits = i32::try_from(*length).is_ok_and(|length| lower.checked_add(length).is_some());
        if count > 0 && !fits {
            let message = format!("array lower bound is too large: {lower}");
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
        }
    }
    Ok(count)
}

/// The error of an array that is too large.
pub fn too_many_elements() -> SqlError {
    let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
    SqlError::new(SqlState::ProgramLimitExceeded, message)
}
