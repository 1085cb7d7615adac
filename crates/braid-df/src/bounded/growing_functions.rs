//! Which functions can make much of little, by name.
//!
//! Every function of a session that makes texts, bytes or lists is in one of the two lists; a test of the engine says so.

/// How large the result of a function can be, from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Growth {
    /// `repeat(text, count)`.
    Repeat,
    /// `lpad(text, characters[, fill])`, `rpad`.
    Pad,
    /// `replace(text, from, to)`.
    Replace,
    /// `regexp_replace(text, pattern, replacement[, flags])`.
    RegexpReplace,
    /// As long as all arguments together.
    Sum,
    /// All arguments together, and the first one between every two others.
    SumWithSeparators,
    /// At most this multiple of the length of the first argument.
    Times(usize),
    /// `generate_series(start, stop[, step])`, `range`.
    Series,
    /// `array_repeat(element, count)`.
    ArrayRepeat,
    /// `array_resize(array, count[, element])`.
    ArrayResize,
    /// `array_replace(array, from, to)`: at most one `to` for each element.
    ArrayReplace,
    /// `array_to_string(array, delimiter[, null])`.
    ArrayToString,
}

/// How much a function can make of its arguments; `None` where its result is at most as large as they are, or small.
pub fn growth_of(function: &str) -> Option<Growth> {
    Some(match function {
        "repeat" => Growth::Repeat,
        "lpad" | "rpad" => Growth::Pad,
        "replace" => Growth::Replace,
        "regexp_replace" => Growth::RegexpReplace,
        "concat" | "||" | "overlay" => Growth::Sum,
        "concat_ws" => Growth::SumWithSeparators,
        // One byte may become four, `ŉ` two characters, and a byte two hexadecimal digits.
        "translate" => Growth::Times(4),
        "upper" | "lower" | "initcap" => Growth::Times(3),
        "encode" => Growth::Times(2),
        // A list's element takes a view, a validity and an offset beside its bytes.
        "string_to_array" | "string_to_list" | "regexp_match" => Growth::Times(24),
        "generate_series" | "range" => Growth::Series,
        "array_repeat" | "list_repeat" => Growth::ArrayRepeat,
        "array_resize" | "list_resize" => Growth::ArrayResize,
        "array_replace" | "array_replace_n" | "array_replace_all" | "list_replace" | "list_replace_n"
        | "list_replace_all" => Growth::ArrayReplace,
        "array_to_string" | "list_to_string" | "array_join" | "list_join" => Growth::ArrayToString,
        "make_array" | "make_list" | "array_append" | "list_append" | "array_push_back" | "list_push_back"
        | "array_prepend" | "list_prepend" | "array_push_front" | "list_push_front" | "array_concat" | "array_cat"
        | "list_concat" | "list_cat" | "array_union" | "list_union" | "arrays_zip" | "list_zip" => Growth::Sum,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;
    use crate::{SessionSettings, session_state};

    /// The functions of a session whose result is small, or at most as large as their arguments.
    #[rustfmt::skip]
    const OTHERS: &[&str] = &[
        "abs", "acos", "acosh", "array_add", "array_any_value", "array_avg", "array_compact", "array_contains",
        "array_dims", "array_distance", "array_distinct", "array_element", "array_empty", "array_except",
        "array_extract", "array_has", "array_has_all", "array_has_any", "array_indexof", "array_intersect",
        "array_length", "array_max", "array_min", "array_ndims", "array_normalize", "array_pop_back",
        "array_pop_front", "array_position", "array_positions", "array_product", "array_remove", "array_remove_all",
        "array_remove_n", "array_reverse", "array_scale", "array_slice", "array_sort", "array_subtract", "array_sum",
        "arrays_overlap", "arrow_cast", "arrow_field", "arrow_metadata", "arrow_try_cast", "arrow_typeof", "ascii",
        "asin", "asinh", "atan", "atan2", "atanh", "bit_length", "btrim", "cardinality", "cast_to_type", "cbrt",
        "ceil", "char_length", "character_length", "chr", "coalesce", "contains", "cos", "cosh", "cosine_distance",
        "cot", "current_date", "current_time", "current_timestamp", "date_bin", "date_format", "date_part",
        "date_trunc", "datepart", "datetrunc", "decode", "degrees", "digest", "dot_product", "element_at", "empty",
        "ends_with", "exp", "factorial", "file_row_index", "find_in_set", "flatten", "floor", "from_unixtime", "gcd",
        "get_field", "greatest", "ifnull", "inner_product", "input_file_name", "instr", "isnan", "iszero", "lcm",
        "least", "left", "length", "levenshtein", "list_add", "list_any_value", "list_avg", "list_compact",
        "list_contains", "list_dims", "list_distance", "list_distinct", "list_element", "list_empty", "list_except",
        "list_extract", "list_has", "list_has_all", "list_has_any", "list_indexof", "list_intersect", "list_length",
        "list_max", "list_ndims", "list_normalize", "list_pop_back", "list_pop_front", "list_position",
        "list_positions", "list_product", "list_remove", "list_remove_all", "list_remove_n", "list_reverse",
        "list_scale", "list_slice", "list_sort", "list_subtract", "list_sum", "ln", "log", "log10", "log2", "ltrim",
        "make_date", "make_time", "map", "map_entries", "map_extract", "map_keys", "map_values", "md5",
        "named_struct", "nanvl", "now", "nullif", "nvl", "nvl2", "octet_length", "pi", "position", "pow", "power",
        "radians", "rand", "random", "regexp_count", "regexp_instr", "regexp_like", "reverse", "right", "round",
        "row", "rtrim", "sha224", "sha256", "sha384", "sha512", "signum", "sin", "sinh", "split_part", "sqrt",
        "starts_with", "strpos", "struct", "substr", "substr_index", "substring", "substring_index", "tan", "tanh",
        "to_char", "to_date", "to_hex", "to_local_time", "to_time", "to_timestamp", "to_timestamp_micros",
        "to_timestamp_millis", "to_timestamp_nanos", "to_timestamp_seconds", "to_unixtime", "today", "trim", "trunc",
        "try_cast_to_type", "union_extract", "union_tag", "uuid", "version", "with_metadata",
    ];

    #[test]
    fn every_function_is_known_to_grow_or_not_to() {
        let state = session_state(&SessionSettings::new(1, Arc::default()));
        let names: BTreeSet<&str> = state.scalar_functions().keys().map(String::as_str).collect();
        let not_growing: BTreeSet<&str> = names.into_iter().filter(|name| growth_of(name).is_none()).collect();
        let others: BTreeSet<&str> = OTHERS.iter().copied().collect();
        assert_eq!(not_growing, others);
    }
}
