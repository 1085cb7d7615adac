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

use std::sync::Arc;

use crate::keys::key_addresses::KeyAddresses;
use crate::keys::key_bitmap::KeyBitmap;
use direct_addresses::DirectRows;
use hashed_keys::{HashedAddresses, HashedColumns};
use ranked_addresses::RankedAddresses;

/// The mapping of keys to groups.
pub(crate) enum Directory {
    /// The set of keys; the only group is zero.
    Members(KeyAddresses, Arc<KeyBitmap>),
    /// The row of each address.
    Rows(KeyAddresses, DirectRows),
    /// Addresses are groups.
    Addresses(KeyAddresses),
    /// Groups are ranks of addresses, or rows if keys are unique.
    Ranks(KeyAddresses, RankedAddresses),
    /// By hash of the address; a group is its first row.
    HashedAddresses(KeyAddresses, HashedAddresses),
    /// By hash of the key; a group is its first row.
    HashedColumns(HashedColumns),
}
