//! Sums of many numerics, and the variance from sums.
//!
//! A sum in between may be larger than any numeric: only the result has limits.

use num_bigint::BigInt;

use super::decimal::{Behind, Decimal};
use super::narrow::{self, Narrow, narrow_power};
use super::powers::root;
use super::scales::quotient_scale;
use super::{Numeric, SCALE_MAX};
use crate::{SqlError, Value};

/// A sum of numbers. Its scale is the largest of them.
#[derive(Clone, Debug)]
pub struct NumericSum(Total);

#[derive(Clone, Debug)]
enum Total {
    Narrow { unscaled: i128, scale: u32 },
    Wide(Decimal),
}

impl Default for NumericSum {
    fn default() -> Self {
        Self(Total::Narrow { unscaled: 0, scale: 0 })
    }
}

impl NumericSum {
    /// Adds an integer.
    pub fn add_integer(&mut self, integer: i128) {
        self.add_narrow(integer, 0);
    }

    /// Adds a number; infinities and NaN add nothing.
    pub fn add(&mut self, number: &Numeric) {
        if let Some((unscaled, scale)) = number.unscaled() {
            self.add_narrow(unscaled, scale.into());
        } else if let Some(decimal) = number.decimal() {
            self.add_wide(&decimal);
        }
    }

    /// Adds a number times itself.
    pub fn add_square(&mut self, number: &Numeric) {
        let narrow = number.unscaled().and_then(|(unscaled, scale)| Some((unscaled.checked_mul(unscaled)?, scale)));
        if let Some((square, scale)) = narrow {
            self.add_narrow(square, 2 * u32::from(scale));
        } else if let Some(decimal) = number.decimal() {
            self.add_wide(&decimal.times(&decimal));
        }
    }

    /// Adds the numbers of another sum.
    pub fn add_sum(&mut self, other: &Self) {
        match &other.0 {
            Total::Narrow { unscaled, scale } => self.add_narrow(*unscaled, *scale),
            Total::Wide(decimal) => self.add_wide(decimal),
        }
    }

    /// Takes a number out that was added. The scale stays.
    pub fn subtract(&mut self, number: &Numeric) {
        self.add(&number.negated());
    }

    /// Takes the square of a number out.
    pub fn subtract_square(&mut self, number: &Numeric) {
        let mut square = Self::default();
        square.add_square(number);
        self.0 = Total::Wide(self.decimal().minus(&square.decimal()));
        self.narrow();
    }

    /// Goes back to 128 bits where they suffice.
    fn narrow(&mut self) {
        if let Total::Wide(decimal) = &self.0
            && let (Ok(unscaled), Ok(scale)) = (i128::try_from(&decimal.unscaled), u32::try_from(decimal.scale))
        {
            self.0 = Total::Narrow { unscaled, scale };
        }
    }

    fn add_narrow(&mut self, number: i128, number_scale: u32) {
        if let Total::Narrow { unscaled, scale } = self.0
            && let Some((sum, scale)) = narrow_sum((unscaled, scale), (number, number_scale))
        {
            self.0 = Total::Narrow { unscaled: sum, scale };
        } else {
            self.add_wide(&Decimal::new(number, number_scale as i32));
        }
    }

    fn add_wide(&mut self, number: &Decimal) {
        self.0 = Total::Wide(self.decimal().plus(number));
    }

    fn decimal(&self) -> Decimal {
        match &self.0 {
            Total::Narrow { unscaled, scale } => Decimal::new(*unscaled, *scale as i32),
            Total::Wide(decimal) => decimal.clone(),
        }
    }

    /// The sum; an error if it is out of range.
    pub fn total(&self) -> Result<Numeric, SqlError> {
        match self.narrow_total() {
            Some(total) => Ok(total.into()),
            None => Numeric::of_decimal(self.decimal()),
        }
    }

    /// The sum, if it has 128 bits and a numeric's scale.
    fn narrow_total(&self) -> Option<Narrow> {
        match self.0 {
            Total::Narrow { unscaled, scale } => Some(Narrow::new(unscaled, u16::try_from(scale).ok()?)),
            Total::Wide(_) => None,
        }
        .filter(|total| total.scale <= SCALE_MAX)
    }

    /// The sum as two values, whatever its size: its digits as the bytes of an integer, and its scale.
    pub fn parts(&self) -> [Value; 2] {
        let Decimal { unscaled, scale } = self.decimal();
        [Value::Bytea(unscaled.to_signed_bytes_le().into()), Value::Int4(scale)]
    }

    /// The sum of such parts; `None` for other values.
    pub fn of_parts(parts: &[Value]) -> Option<Self> {
        let [Value::Bytea(unscaled), Value::Int4(scale @ 0..)] = parts else { return None };
        let unscaled = BigInt::from_signed_bytes_le(unscaled);
        let mut sum = Self(Total::Wide(Decimal { unscaled, scale: *scale }));
        sum.narrow();
        Some(sum)
    }

    /// Bytes of memory behind it, about.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Total::Narrow { .. } => 0,
            Total::Wide(decimal) => (decimal.unscaled.bits() / 8) as usize,
        }
    }
}

fn narrow_sum(left: (i128, u32), right: (i128, u32)) -> Option<(i128, u32)> {
    let scale = left.1.max(right.1);
    let stretched = |(unscaled, own): (i128, u32)| match scale - own {
        0 => Some(unscaled),
        more => unscaled.checked_mul(narrow_power(more)?.cast_signed()),
    };
    Some((stretched(left)?.checked_add(stretched(right)?)?, scale))
}

/// What a variance is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All there is: divided by the count.
    Population,
    /// A sample: divided by the count less one.
    Sample,
}

/// The variance of numbers of which there are `count`, with this sum and this sum of squares, and its root if `is_deviation`. The count is
/// positive, and above 1 for a sample.
pub fn variance(
    sum: &NumericSum,
    squares: &NumericSum,
    count: i64,
    spread: Spread,
    is_deviation: bool,
) -> Result<Numeric, SqlError> {
    if let (Some(sum), Some(squares)) = (sum.narrow_total(), squares.narrow_total())
        && let Some(variance) = narrow::variance(sum, squares, count, spread, is_deviation)
    {
        return Ok(variance.into());
    }
    let (sum, squares, integer) = (sum.decimal(), squares.decimal(), Decimal::new(count, 0));
    let dividend = squares.times(&integer).minus(&sum.times(&sum));
    if dividend.is_zero() || dividend.is_negative() {
        return Ok(Numeric::ZERO);
    }
    let others = if spread == Spread::Sample { count - 1 } else { count };
    let divisor = Decimal::new(BigInt::from(count) * others, 0);
    let scale = quotient_scale(&dividend, &divisor);
    let variance = dividend.over(&divisor, scale, Behind::Rounded);
    Numeric::of_decimal(if is_deviation { root(&variance, scale) } else { variance })
}
