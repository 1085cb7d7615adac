//! One vector that several tasks fill at the same time, each its own part: an owned form of `split_at_mut`.
//!
//! Tasks outlive the call that starts them and cannot borrow parts of a vector. They own their parts instead; the vector is
//! rejoined when all parts are returned. The vector starts as untouched zeros of the allocator, so that the tasks are the
//! first to touch its pages.
//!
//! Atomic cells need no `unsafe`, but must be written one by one, and converting them to a `Vec<bool>` takes one more
//! single-threaded pass.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// A part of a vector.
pub(crate) struct VecPart<T: Copy> {
    /// Its start in `whole`.
    start: NonNull<T>,
    len: usize,
    whole: Arc<Whole<T>>,
}

/// The allocation of a vector. Its elements belong to the parts as long as there are any.
struct Whole<T: Copy> {
    start: NonNull<T>,
    len: usize,
    capacity: usize,
    elements: PhantomData<T>,
}

// SAFETY: parts are disjoint ranges of elements that may be sent, and `whole` is only counted and freed through them.
unsafe impl<T: Copy + Send> Send for VecPart<T> {}
// SAFETY: a shared part only gives shared elements.
unsafe impl<T: Copy + Sync> Sync for VecPart<T> {}

/// Parts of these lengths, in order. Panics unless they are the vector's length together.
pub(crate) fn split<T: Copy>(values: Vec<T>, lengths: impl Iterator<Item = usize>) -> Vec<VecPart<T>> {
    let mut values = ManuallyDrop::new(values);
    let start = NonNull::new(values.as_mut_ptr()).expect("a vector's pointer is not null");
    let whole = Whole { start, len: values.len(), capacity: values.capacity(), elements: PhantomData };
    let whole = Arc::new(whole);
    let mut at = 0;
    let parts: Vec<VecPart<T>> = lengths
        .map(|len| {
            assert!(len <= whole.len - at, "parts of a vector end with it");
            // SAFETY: `at` is at most the length, by the assertion in the round before.
            let part = VecPart { start: unsafe { start.add(at) }, len, whole: whole.clone() };
            at += len;
            part
        })
        .collect();
    assert_eq!(at, whole.len, "parts are a vector together");
    parts
}

/// The vector that was split. Panics unless these are all of its parts; empty without any.
pub(crate) fn rejoin<T: Copy>(parts: Vec<VecPart<T>>) -> Vec<T> {
    let Some(whole) = parts.first().map(|part| part.whole.clone()) else { return Vec::new() };
    drop(parts);
    Arc::into_inner(whole).expect("all parts came back").into_vec()
}

impl<T: Copy> Whole<T> {
    fn into_vec(self) -> Vec<T> {
        let whole = ManuallyDrop::new(self);
        // SAFETY: these came from a vector, and `ManuallyDrop` keeps them from being freed a second time.
        unsafe { Vec::from_raw_parts(whole.start.as_ptr(), whole.len, whole.capacity) }
    }
}

impl<T: Copy> Drop for Whole<T> {
    fn drop(&mut self) {
        // SAFETY: these came from a vector, and no part is left.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, self.capacity) });
    }
}

impl<T: Copy> Deref for VecPart<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the range lies in the allocation, which `whole` keeps, and no other part has it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for VecPart<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the part is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_write_is_in_the_vector() {
        let lengths = [3, 0, 5, 1];
        let mut parts = split(vec![0u32; 9], lengths.into_iter());
        std::thread::scope(|scope| {
            for (at, part) in (1..).zip(&mut parts) {
                scope.spawn(move || part.fill(at));
            }
        });
        assert_eq!(parts[2][..], [3; 5]);
        assert_eq!(rejoin(parts), [1, 1, 1, 3, 3, 3, 3, 3, 4]);
        assert!(rejoin::<u8>(Vec::new()).is_empty());
        assert!(rejoin(split(Vec::<u8>::new(), [0].into_iter())).is_empty());
    }

    #[test]
    #[should_panic(expected = "all parts came back")]
    fn a_part_that_is_missing_shows() {
        let mut parts = split(vec![0u32; 9], [4, 5].into_iter());
        let missing = parts.pop();
        rejoin(parts);
        drop(missing);
    }

    #[test]
    #[should_panic(expected = "parts are a vector together")]
    fn parts_are_everything() {
        split(vec![0u32; 9], [4, 4].into_iter());
    }
}
