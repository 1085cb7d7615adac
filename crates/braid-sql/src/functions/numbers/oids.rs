//! Numbers of objects in the catalog: from text and as text, from and to `bigint`; and what else the catalog shows.

use super::integers::fit;
use crate::Value;
use crate::functions::Implementations;
use crate::input::numbers::parse_oid;

/// The functions of `oid`, save its comparisons.
pub const FUNCTIONS: Implementations = &[
    ("oidin", |a, _| parse_oid(a[0].as_text()).map(Value::Oid)),
    ("oidout", |a, _| Ok(Value::text(a[0].as_oid().to_string()))),
    ("xidin", |a, _| parse_oid(a[0].as_text()).map(Value::Oid)),
    ("xidout", |a, _| Ok(Value::text(a[0].as_oid().to_string()))),
    // Access lists and expressions are kept as texts.
    ("aclitemout", |a, _| Ok(a[0].clone())),
    ("pg_node_tree_out", |a, _| Ok(a[0].clone())),
    ("oidtoi8", |a, _| Ok(Value::Int8(a[0].as_oid().into()))),
    ("i8tooid", |a, _| fit(u32::try_from(a[0].as_int8()).ok(), "OID").map(Value::Oid)),
];
