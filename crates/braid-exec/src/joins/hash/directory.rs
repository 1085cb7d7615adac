//! Directories: from a key to the build rows that have it.
//!
//! | module | what lives there |
//! |---|---|
//! | `key_addresses` | integer keys as one number of a known range |
//! | `direct_addresses` | arrays and bitmaps by that number, where its range is small |
//! | `ranked_addresses` | bitmaps that number their members, where the range is larger |
//! | `hashed_keys` | open addressing for all other keys |
//! | `row_lists` | the rows of a key that repeats |

pub(crate) mod direct_addresses;
pub(crate) mod hashed_keys;
pub(crate) mod key_addresses;
pub(crate) mod ranked_addresses;
pub(crate) mod row_lists;
