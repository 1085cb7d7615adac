//! Bytes that are equal, and ordered, as the values of a type are: for groups, joins and sorts of values that no vector compares.

use braid_sql::functions::ordering::TypeOrder;
use braid_sql::output::json::datetime_text;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::types::type_names::type_name;
use braid_sql::values::json::Jsonb;
use braid_sql::values::{ArrayValue, Numeric};
use braid_sql::{SqlError, SqlState, Value};

/// Whether values of a type have such bytes.
pub fn has_key(id: TypeId) -> bool {
    match id {
        TypeId::NUMERIC | TypeId::INTERVAL | TypeId::TIMETZ | TypeId::BPCHAR | TypeId::CHAR | TypeId::JSONB => true,
        // They are texts of zeros and ones, which are ordered as PostgreSQL orders the bits: a string is after its prefixes.
        TypeId::BIT | TypeId::VARBIT => true,
        // Numbers of objects, and of transactions, which are only equal or not.
        TypeId::OID
        | TypeId::XID
        | TypeId::REGPROC
        | TypeId::REGPROCEDURE
        | TypeId::REGOPER
        | TypeId::REGOPERATOR
        | TypeId::REGCLASS
        | TypeId::REGTYPE
        | TypeId::REGNAMESPACE
        | TypeId::REGROLE => true,
        // As far as the types of their fields have such bytes, and all of a column have the same.
        TypeId::RECORD => true,
        _ => super::Form::is_compared_directly(id) || pg_catalog().element_of_array(id).is_some_and(has_key),
    }
}

/// The bytes of a value that is not null, for a type that [has them](has_key).
///
/// # Errors
/// When the value is of a type without such bytes.
pub fn comparison_key(value: &Value) -> Result<Vec<u8>, SqlError> {
    let mut key = Vec::new();
    append(value, &mut key)?;
    Ok(key)
}

fn append(value: &Value, key: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Value::Bool(value) => key.push(u8::from(*value)),
        Value::Int2(value) => integer(i64::from(*value), key),
        Value::Int4(value) | Value::Date(value) => integer(i64::from(*value), key),
        Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            integer(*value, key);
        }
        Value::Oid(value) => integer(i64::from(*value), key),
        Value::Enum(value) => integer(value.key, key),
        Value::Char(value) => key.push(*value),
        Value::Float4(value) => float(f64::from(*value), key),
        Value::Float8(value) => float(*value, key),
        Value::Numeric(value) => numeric(value, key),
        Value::Interval(value) => key.extend((value.comparable_us() ^ i128::MIN).to_be_bytes()),
        Value::TimeTz(time, zone) => {
            const US_PER_S: i64 = 1_000_000;
            integer(time + i64::from(*zone) * US_PER_S, key);
            integer(i64::from(*zone), key);
        }
        Value::Uuid(value) => key.extend(value),
        Value::Text(value) => key.extend(value.trim_end_matches(' ').as_bytes()),
        Value::Bytea(value) => key.extend(&value[..]),
        Value::Array(array) => elements(array, key)?,
        Value::Record(record) => {
            record.typed_values().try_for_each(|(value, sql_type)| member(value, sql_type.id, key))?;
        }
        Value::Jsonb(value) => match &**value {
            // An empty array that stands alone is below all others.
            Jsonb::Array(elements) if elements.is_empty() => key.push(0),
            value => json(value, key),
        },
        Value::JsonPath(_) => {
            return Err(SqlError::unsupported("jsonpath is not compared by its bytes"));
        }
        Value::Null => {
            return Err(SqlError::new(SqlState::InternalError, "null has no comparison key"));
        }
    }
    Ok(())
}

fn integer(value: i64, key: &mut Vec<u8>) {
    key.extend((value ^ i64::MIN).to_be_bytes());
}

/// PostgreSQL's order: -0 equals 0, NaN is above all.
fn float(value: f64, key: &mut Vec<u8>) {
    const SIGN: u64 = 1 << 63;
    let value = if value.is_nan() {
        return key.extend(u64::MAX.to_be_bytes());
    } else if value == 0.0 {
        0.0
    } else {
        value
    };
    let bits = value.to_bits();
    key.extend((if bits & SIGN == 0 { bits | SIGN } else { !bits }).to_be_bytes());
}

/// A class (-infinity, negative, zero, positive, infinity, NaN); of numbers the place of the first digit and the digits, all inverted for
/// negative ones.
fn numeric(value: &Numeric, key: &mut Vec<u8>) {
    let text = value.normal_form().to_string();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, &*text),
    };
    match digits {
        "Infinity" => return key.push(if is_negative { 0 } else { 4 }),
        "NaN" => return key.push(5),
        _ => {}
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let significant = format!("{whole}{fraction}");
    let zeros = significant.len() - significant.trim_start_matches('0').len();
    let significant = significant.trim_matches('0');
    if significant.is_empty() {
        return key.push(2);
    }
    key.push(if is_negative { 1 } else { 3 });
    let start = key.len();
    integer(whole.len() as i64 - zeros as i64, key);
    key.extend(significant.as_bytes());
    key.push(0);
    if is_negative {
        key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The rank of the kind; then a scalar, or the number of members and each of them. No key is the beginning of another one.
fn json(value: &Jsonb, key: &mut Vec<u8>) {
    // Strings have no zeros.
    let text = |text: &str, key: &mut Vec<u8>| key.extend(text.bytes().chain([0]));
    match value {
        Jsonb::Null => key.push(1),
        Jsonb::String(string) => {
            key.push(2);
            text(string, key);
        }
        // Only within a path; its value is a string.
        Jsonb::Datetime(datetime) => json(&Jsonb::string(datetime_text(*datetime)), key),
        Jsonb::Number(number) => {
            key.push(3);
            numeric(number, key);
        }
        Jsonb::Bool(value) => key.extend([4, u8::from(*value)]),
        Jsonb::Array(elements) => {
            key.push(5);
            integer(elements.len() as i64, key);
            elements.iter().for_each(|element| json(element, key));
        }
        Jsonb::Object(fields) => {
            key.push(6);
            integer(fields.len() as i64, key);
            for (name, value) in &**fields {
                text(name, key);
                json(value, key);
            }
        }
    }
}

/// An element of an array or a field of a record. Nulls come last.
fn member(value: &Value, id: TypeId, key: &mut Vec<u8>) -> Result<(), SqlError> {
    if id == TypeId::UNKNOWN || !has_key(id) {
        return Err(without_key(id));
    }
    if value.is_null() {
        key.push(2);
        return Ok(());
    }
    key.push(1);
    let mut bytes = Vec::new();
    // Blanks at the end of texts mean something here, except those of char(n).
    match value {
        Value::Text(text) if id != TypeId::BPCHAR => bytes.extend(text.as_bytes()),
        value => append(value, &mut bytes)?,
    }
    // A terminator that no member has, and that is below all that it may continue with.
    for byte in bytes {
        key.push(byte);
        if byte == 0 {
            key.push(u8::MAX);
        }
    }
    key.extend([0, 0]);
    Ok(())
}

/// Why members of a type have no key: PostgreSQL compares them otherwise, or not at all.
fn without_key(id: TypeId) -> SqlError {
    match TypeOrder::find(id) {
        Ok(None) => {
            let message = format!("could not identify a comparison function for type {}", type_name(id));
            SqlError::new(SqlState::UndefinedFunction, message)
        }
        _ => SqlError::unsupported(format!("comparisons of records with {} are not supported", type_name(id))),
    }
}

/// Element by element, nulls last; then the number of elements, and the dimensions.
fn elements(array: &ArrayValue, key: &mut Vec<u8>) -> Result<(), SqlError> {
    array.values.iter().try_for_each(|value| member(value, array.element, key))?;
    key.push(0);
    integer(array.dimensions.len() as i64, key);
    for (count, _) in &array.dimensions {
        integer(*count as i64, key);
    }
    for (_, lower) in &array.dimensions {
        integer(i64::from(*lower), key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use braid_sql::input::json::parse_jsonb;
    use braid_sql::values::Interval;

    use super::*;

    fn key_of_numeric(text: &str) -> Vec<u8> {
        comparison_key(&Value::Numeric(Numeric::parse(text).unwrap())).unwrap()
    }

    #[test]
    fn jsonb_is_ordered_as_by_its_operators() {
        let texts = [
            "[]",
            "null",
            "\"\"",
            "\"a\"",
            "\"ab\"",
            "\"b\"",
            "-1.5",
            "0",
            "1",
            "1.0",
            "10",
            "false",
            "true",
            "[null]",
            "[1]",
            "[[]]",
            "[1, 2]",
            "[2, 1]",
            "[{}, 1]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 1}",
            "{\"aa\": 1}",
            "{\"a\": [], \"b\": 1}",
        ];
        let values: Vec<Jsonb> = texts.iter().map(|text| parse_jsonb(text).unwrap()).collect();
        let key = |value: &Jsonb| comparison_key(&Value::Jsonb(value.clone().into())).unwrap();
        for one in &values {
            for other in &values {
                assert_eq!(key(one).cmp(&key(other)), one.compare(other), "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn numerics_are_ordered_as_numbers() {
        let ordered = [
            "-Infinity",
            "-100",
            "-99.99",
            "-12",
            "-1.5",
            "-1.05",
            "-1",
            "-0.5",
            "-0.05",
            "-0.0001",
            "0",
            "0.0001",
            "0.01",
            "0.05",
            "0.5",
            "1",
            "1.05",
            "1.5",
            "2",
            "10",
            "12",
            "99.99",
            "100",
            "1e40",
            "Infinity",
            "NaN",
        ];
        for pair in ordered.windows(2) {
            assert!(key_of_numeric(pair[0]) < key_of_numeric(pair[1]), "{} < {}", pair[0], pair[1]);
        }
        for (left, right) in [("1", "1.00"), ("0", "0.000"), ("-0", "0"), ("100", "100.0"), ("-2.50", "-2.5")] {
            assert_eq!(key_of_numeric(left), key_of_numeric(right), "{left} = {right}");
        }
    }

    #[test]
    fn intervals_and_floats_are_ordered_by_length() {
        let interval = |months, days, us| comparison_key(&Value::Interval(Interval::new(months, days, us))).unwrap();
        assert_eq!(interval(1, 0, 0), interval(0, 30, 0));
        assert!(interval(-1, 0, 0) < interval(0, 0, 0));
        let float = |value| comparison_key(&Value::Float8(value)).unwrap();
        let ordered = [f64::NEG_INFINITY, -2.0, -1.5, 0.0, 1e-300, 1.5, f64::INFINITY, f64::NAN];
        assert!(ordered.windows(2).all(|pair| float(pair[0]) < float(pair[1])));
        assert_eq!(float(-0.0), float(0.0));
    }

    #[test]
    fn arrays_are_ordered_by_their_elements_first() {
        let array = |texts: &[&str]| {
            let values = texts.iter().map(|text| Value::text(*text)).collect();
            comparison_key(&Value::Array(ArrayValue::of(TypeId::TEXT, values).into())).unwrap()
        };
        let ordered = [&["a"][..], &["a", ""], &["a", "b"], &["a\0"], &["a "], &["aa"], &["b"]];
        for pair in ordered.windows(2) {
            assert!(array(pair[0]) < array(pair[1]), "{:?} < {:?}", pair[0], pair[1]);
        }
    }
}
