//! Keys of joins, groups and partitions: their hashes, their addresses, and what is known of a set of them.
//!
//! | module | what lives there |
//! |---|---|
//! | `key_hashes`, `multiplicative_hasher` | hashes of keys |
//! | `key_addresses` | integer keys as one number of a known range |
//! | `key_bitmap`, `bloom_filter` | which keys there are: exactly, where their range is small; nearly, in general |
//! | [`key_filter`] | what the keys of a join's build side say to a scan of the probe side |

pub(crate) mod bloom_filter;
pub(crate) mod key_addresses;
pub(crate) mod key_bitmap;
pub mod key_filter;
pub(crate) mod key_hashes;
pub(crate) mod multiplicative_hasher;
