//! JSON: the types `json`, `jsonb` and `jsonpath`.
//!
//! A `json` is its text, and functions of it read the text each time. A `jsonb` is a tree.
//!
//! | module | contents |
//! |---|---|
//! | [`json_types`] | input, output, casts, types of values, lengths |
//! | [`comparisons`] | `=`, `<`, `@>`, `?` and their like |
//! | [`access`] | parts of a jsonb: `->`, `#>` |
//! | [`document_access`] | parts of a json: the same on texts |
//! | [`encoding`] | what values of SQL's types are in JSON |
//! | [`building`] | `to_json`, `json_build_object` and their like |
//! | [`building_trees`] | the same for jsonb |
//! | [`objects_of_texts`] | `json_object` |
//! | [`changes`] | `||`, `-`, fields without nulls |
//! | [`changes_at_paths`] | `jsonb_set`, `jsonb_insert`, `#-` |
//! | [`paths`] | jsonpath |
//! | [`members`] | the elements, fields and keys of a value |

pub mod access;
pub mod building;
pub mod building_trees;
pub mod changes;
pub mod changes_at_paths;
pub mod comparisons;
pub mod document_access;
pub mod encoding;
pub mod json_types;
pub mod members;
pub mod objects_of_texts;
pub mod paths;

use crate::functions::Implementations;

/// The tables of this room.
pub const FAMILIES: &[Implementations] = &[
    json_types::FUNCTIONS,
    comparisons::FUNCTIONS,
    access::FUNCTIONS,
    document_access::FUNCTIONS,
    building::FUNCTIONS,
    building_trees::FUNCTIONS,
    objects_of_texts::FUNCTIONS,
    changes::FUNCTIONS,
    changes_at_paths::FUNCTIONS,
    paths::calls::FUNCTIONS,
];
