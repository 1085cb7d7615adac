//! Byte sizes as people write them in settings and on the command line.

use std::fmt;
use std::str::FromStr;

/// A number of bytes. Parses `8192`, `64kB`, `64MB`, `1GB`, `1GiB` (factors of 1024, as PostgreSQL's settings do);
/// prints the largest unit that divides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }

    /// The size with a unit and one decimal, for people: `281.3 MB`.
    pub fn rounded(self) -> String {
        const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        if unit == 0 { format!("{} B", self.0) } else { format!("{value:.1} {}", UNITS[unit]) }
    }
}

/// Why a text is no byte size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a size: {reason} (write a number with an optional unit B, kB, MB, GB or TB, such as 512MB)")]
pub struct ParseByteSizeError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| ParseByteSizeError { text: text.to_owned(), reason };
        let trimmed = text.trim();
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (digits, unit) = trimmed.split_at(digits_end);
        if digits.is_empty() {
            return Err(error("it does not start with a number"));
        }
        let number: u64 = digits.parse().map_err(|_| error("the number is above 2^64 - 1"))?;
        let shift = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "kb" | "kib" | "k" => 10,
            "mb" | "mib" | "m" => 20,
            "gb" | "gib" | "g" => 30,
            "tb" | "tib" | "t" => 40,
            _ => return Err(error("the unit is unknown")),
        };
        match number.checked_mul(1 << shift) {
            Some(bytes) => Ok(Self(bytes)),
            None => Err(error("it is above 2^64 - 1 bytes")),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "TB"), (30, "GB"), (20, "MB"), (10, "kB")];
        match units.iter().find(|(shift, _)| self.0 != 0 && self.0.is_multiple_of(1 << shift)) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_in_postgresql_and_print_back() {
        for (text, bytes, printed) in [
            ("8192", 8192, "8kB"),
            ("64MB", 64 << 20, "64MB"),
            (" 1 GiB ", 1 << 30, "1GB"),
            ("1025", 1025, "1025B"),
            ("0", 0, "0B"),
            ("3tb", 3 << 40, "3TB"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, printed), "{text}");
            assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
        }
    }

    #[test]
    fn bad_sizes_say_what_is_wrong() {
        for (text, reason) in [
            ("", "it does not start with a number"),
            ("-1MB", "it does not start with a number"),
            ("5 parsecs", "the unit is unknown"),
            ("99999999999999999999", "the number is above 2^64 - 1"),
            ("18446744073709551615kB", "it is above 2^64 - 1 bytes"),
        ] {
            assert_eq!(text.parse::<ByteSize>().unwrap_err().reason, reason, "{text}");
        }
    }

    #[test]
    fn rounding_is_for_people() {
        assert_eq!(ByteSize(999).rounded(), "999 B");
        assert_eq!(ByteSize(1536).rounded(), "1.5 kB");
        assert_eq!(ByteSize(281 << 20).rounded(), "281.0 MB");
    }
}
