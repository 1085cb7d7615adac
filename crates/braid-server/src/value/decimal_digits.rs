//! Integers as ASCII digits: two digits per division from a table, written from the back of a stack buffer.
//!
//! Every other text form on the wire (numeric, date, interval) is built from these.

/// "00" to "99": the two digits of n stand at 2n.
static TWO_DIGITS: [u8; 200] = two_digits();

/// Decimal digits of `u128::MAX`: 340282366920938463463374607431768211455.
pub(crate) const U128_DIGITS_MAX: usize = 39;

const fn two_digits() -> [u8; 200] {
    let mut table = [0; 200];
    let mut n = 0;
    while n < 100 {
        table[2 * n] = b'0' + (n / 10) as u8;
        table[2 * n + 1] = b'0' + (n % 10) as u8;
        n += 1;
    }
    table
}

/// Appends `value` in decimal.
#[inline]
pub(crate) fn append_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    append_u64(out, value.unsigned_abs());
}

/// Appends `value` in decimal.
#[inline]
pub(crate) fn append_u64(out: &mut Vec<u8>, value: u64) {
    // u64::MAX has 20 digits.
    let mut buffer = [0_u8; 20];
    let start = write_back(&mut buffer, value);
    out.extend_from_slice(&buffer[start..]);
}

/// Appends `value` (below 100) as two digits.
#[inline]
pub(crate) fn append_two(out: &mut Vec<u8>, value: u32) {
    let at = 2 * value as usize;
    out.extend_from_slice(&TWO_DIGITS[at..at + 2]);
}

/// Appends `value` in decimal, with zeros in front up to `width` (at most 20) digits.
pub(crate) fn append_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = [b'0'; 20];
    let start = write_back(&mut buffer, value).min(buffer.len() - width);
    out.extend_from_slice(&buffer[start..]);
}

/// Writes the digits of `value` to the end of `buffer`; returns where they start.
pub(crate) fn write_u128_back(buffer: &mut [u8; U128_DIGITS_MAX], mut value: u128) -> usize {
    /// The largest power of ten in a u64: the remainders below are done in 64 bits.
    const CHUNK: u128 = 10_u128.pow(19);
    let mut end = buffer.len();
    while value >= CHUNK {
        let low = (value % CHUNK) as u64;
        value /= CHUNK;
        buffer[end - 19..end].fill(b'0');
        write_back(&mut buffer[..end], low);
        end -= 19;
    }
    write_back(&mut buffer[..end], value as u64)
}

/// Writes the digits of `value` to the end of `buffer`, which must be long enough; returns where they start.
#[inline]
fn write_back(buffer: &mut [u8], mut value: u64) -> usize {
    let mut at = buffer.len();
    while value >= 100 {
        let pair = 2 * (value % 100) as usize;
        value /= 100;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&TWO_DIGITS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = 2 * value as usize;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&TWO_DIGITS[pair..pair + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + value as u8;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_print_as_std_prints_them() {
        let mut values = vec![0, 1, -1, 9, 10, 99, 100, -100, i64::MAX, i64::MIN];
        values.extend((0..19).flat_map(|e| [10_i64.pow(e), 10_i64.pow(e) - 1, -10_i64.pow(e)]));
        for value in values {
            let mut out = Vec::new();
            append_i64(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn wide_integers_keep_zeros_inside() {
        for value in [0, 7, 10_u128.pow(19), 10_u128.pow(19) + 5, 10_u128.pow(38) + 10_u128.pow(19), u128::MAX] {
            let mut buffer = [0; U128_DIGITS_MAX];
            let start = write_u128_back(&mut buffer, value);
            assert_eq!(std::str::from_utf8(&buffer[start..]).unwrap(), value.to_string());
        }
    }

    #[test]
    fn padding_only_adds_zeros() {
        for (value, width, expected) in
            [(5, 6, "000005"), (123_456, 6, "123456"), (1_234_567, 6, "1234567"), (0, 1, "0")]
        {
            let mut out = Vec::new();
            append_padded(&mut out, value, width);
            assert_eq!(out, expected.as_bytes());
        }
    }
}
