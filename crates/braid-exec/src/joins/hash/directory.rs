//! Directories: the mapping of a key to its build rows.
//!
//! | module | contents |
//! |---|---|
//! | `direct_addresses` | arrays by the address of integer keys, for small ranges |
//! | `ranked_addresses` | bitmaps that rank addresses, for larger ranges |
//! | `hashed_keys` | open addressing for all other keys |
//! | `row_lists` | the rows of a key that repeats |

pub(crate) mod direct_addresses;
pub(crate) mod hashed_keys;
pub(crate) mod ranked_addresses;
pub(crate) mod row_lists;
