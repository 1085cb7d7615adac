//! What a constant means to the planner: its type.
//!
//! The type of a constant decides plans and answers. `5` is an integer and `5000000000` a bigint; `0.05` is a numeric with two
//! digits after the point; `'x'` has the type of what it stands beside. So a plan serves only constants of one [`HoleType`] in a
//! hole. A numeric may have fewer digits than its type: only the digits after the point are part of answers.

use crate::statement::Constant;

/// Most digits of a numeric.
const NUMERIC_DIGITS_MAX: usize = 38;

/// Longest text that may vary.
const TEXT_BYTES_MAX: usize = 4096;

/// The type of a varying constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoleType {
    /// An integer of 32 bits.
    Integer,
    /// A larger integer, of 64 bits.
    BigInt,
    /// A number with a point: at most so many digits, exactly so many after the point.
    Numeric { digits: u8, scale: i8 },
    /// A string that does not end in a blank, which would not count beside a `char(n)`.
    Text,
}

impl HoleType {
    /// The type of a constant, which has no sign; `None` if it may not vary.
    pub fn of(constant: &Constant) -> Option<Self> {
        match constant {
            Constant::Null => None,
            Constant::Text(text) => (!text.ends_with(' ') && text.len() <= TEXT_BYTES_MAX).then_some(Self::Text),
            Constant::Number(number) => match number.split_once('.') {
                None => {
                    let value: i64 = number.parse().ok()?;
                    // With a sign, 2^31 is an integer of 32 bits.
                    let is_integer = value <= i64::from(i32::MAX);
                    (value != 1 << 31).then_some(if is_integer { Self::Integer } else { Self::BigInt })
                }
                Some((before, after)) => {
                    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
                    let significant = before.trim_start_matches('0').len() + after.len();
                    let fits = !after.is_empty() && significant <= NUMERIC_DIGITS_MAX;
                    let digits = significant.max(after.len()).max(1);
                    (fits && is_digits(before) && is_digits(after))
                        .then_some(Self::Numeric { digits: digits as u8, scale: after.len() as i8 })
                }
            },
        }
    }

    /// Whether a plan for this type serves constants of another.
    pub fn includes(self, other: Self) -> bool {
        match (self, other) {
            (Self::Numeric { digits, scale }, Self::Numeric { digits: other_digits, scale: other_scale }) => {
                scale == other_scale && other_digits <= digits
            }
            (one, other) => one == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(digits: &str) -> Constant {
        Constant::Number(digits.to_owned())
    }

    #[test]
    fn constants_have_the_types_that_planning_gives_them() {
        let numeric = |digits, scale| Some(HoleType::Numeric { digits, scale });
        for (digits, expected) in [
            ("0", Some(HoleType::Integer)),
            ("2147483647", Some(HoleType::Integer)),
            ("2147483648", None),
            ("2147483649", Some(HoleType::BigInt)),
            ("9223372036854775808", None),
            ("0.05", numeric(2, 2)),
            ("10.5", numeric(3, 1)),
            ("007.50", numeric(3, 2)),
            (".5", numeric(1, 1)),
            ("0.0", numeric(1, 1)),
            ("5.", None),
            ("1e5", None),
            ("1.5e5", None),
        ] {
            assert_eq!(HoleType::of(&number(digits)), expected, "{digits}");
        }
        assert_eq!(HoleType::of(&Constant::Text("a ".to_owned())), None);
        assert_eq!(HoleType::of(&Constant::Null), None);
    }

    #[test]
    fn a_numeric_includes_those_with_fewer_digits() {
        let numeric = |digits, scale| HoleType::Numeric { digits, scale };
        assert!(numeric(4, 2).includes(numeric(3, 2)));
        assert!(!numeric(3, 2).includes(numeric(4, 2)));
        assert!(!numeric(4, 2).includes(numeric(2, 1)));
        assert!(!HoleType::BigInt.includes(HoleType::Integer));
    }
}
