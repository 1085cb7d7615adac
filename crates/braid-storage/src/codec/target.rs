//! What 64-bit physical integers become in Arrow arrays, and the selected values of a decoded vector.

use braid_base::VECTOR_ROWS;

use crate::Selection;

/// Appends the selected values of a decoded vector.
#[inline]
pub(crate) fn extend_selected<V: Copy, T>(
    values: &[V; VECTOR_ROWS],
    selection: &Selection,
    convert: impl Fn(V) -> T,
    out: &mut Vec<T>,
) {
    if selection.is_all() {
        out.extend(values[..selection.len()].iter().map(|&value| convert(value)));
    } else {
        let mut indices = [0; VECTOR_ROWS];
        let indices = selection.indices(&mut indices);
        out.extend(indices.iter().map(|&row| convert(values[usize::from(row) % VECTOR_ROWS])));
    }
}

/// An Arrow native type that integers are gathered into.
pub(crate) trait Target: Copy {
    /// The value; the low bits where the target is narrower. Encoders only see values that fit.
    fn from_integer(value: i64) -> Self;
    /// The value of sixteen bytes; only 128-bit columns have any.
    fn from_wide(value: i128) -> Self;
}

macro_rules! target {
    ($($native:ty),*) => {$(
        impl Target for $native {
            #[inline(always)]
            fn from_integer(value: i64) -> Self {
                value as $native
            }

            #[inline(always)]
            fn from_wide(value: i128) -> Self {
                value as $native
            }
        }
    )*};
}
target!(i16, i32, i64, i128);

impl Target for f32 {
    /// The float with these bits.
    #[inline(always)]
    fn from_integer(value: i64) -> Self {
        Self::from_bits(value as u32)
    }

    fn from_wide(value: i128) -> Self {
        Self::from_bits(value as u32)
    }
}

impl Target for f64 {
    /// The float with these bits.
    #[inline(always)]
    fn from_integer(value: i64) -> Self {
        Self::from_bits(value as u64)
    }

    fn from_wide(value: i128) -> Self {
        Self::from_bits(value as u64)
    }
}
