//! Directories: from a key to the build rows that have it.
//!
//! | module | what lives there |
//! |---|---|
//! | `direct_addresses` | arrays by the address of integer keys, where its range is small |
//! | `ranked_addresses` | bitmaps of addresses that number their members, where it is larger |
//! | `hashed_keys` | open addressing for all other keys |
//! | `row_lists` | the rows of a key that repeats |

pub(crate) mod direct_addresses;
pub(crate) mod hashed_keys;
pub(crate) mod ranked_addresses;
pub(crate) mod row_lists;
