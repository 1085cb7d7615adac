//! Panics of a decoder on damaged bytes, as errors without a trace on standard error.
//!
//! The decoder of Parquet checks much, not all: some damaged pages make it index out of range. Such a panic says that the file is
//! damaged, not that the server is; so the panic hook passes over the panics of a thread while it is in [`contained`].

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether the thread's panics are caught and told as errors.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder. What it has changed is not used after a panic.
///
/// # Errors
/// The text of its panic.
pub(super) fn contained<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CONTAINED.get() {
                previous(panic);
            }
        }));
    });
    let was_contained = IS_CONTAINED.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    IS_CONTAINED.set(was_contained);
    decoded.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        format!("its bytes cannot be decoded: {}", text.unwrap_or("no message"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let bytes = [1_u8];
        assert_eq!(contained(|| bytes[0]), Ok(1));
        let error = contained(|| bytes[std::hint::black_box(3)]).unwrap_err();
        assert!(error.contains("index out of bounds"), "{error}");
        assert!(!IS_CONTAINED.get());
    }
}
