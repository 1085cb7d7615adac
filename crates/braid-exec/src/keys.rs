//! Keys of joins, groups and partitions: hashes, addresses, and filters.
//!
//! | module | contents |
//! |---|---|
//! | `key_hashes` | hashes of keys |
//! | `number_map` | maps of numbers that the engine assigns |
//! | `key_addresses` | integer keys mapped to one number of a known range |
//! | `key_equality` | comparison of keys, one vector at a time |
//! | `key_bitmap`, `bloom_filter` | sets of keys: exact for small ranges, approximate in general |
//! | [`null_keys`] | how a join compares null keys |
//! | [`key_filter`] | the filter of a join's build keys for scans of the probe side |

pub(crate) mod bloom_filter;
pub(crate) mod key_addresses;
pub(crate) mod key_bitmap;
pub(crate) mod key_equality;
pub mod key_filter;
pub(crate) mod key_hashes;
pub mod null_keys;
pub(crate) mod number_map;
