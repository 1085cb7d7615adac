//! Stacks for trees that are deeper than a thread's own stack has room for.
//!
//! Memory of such a stack is address space until it is used, and is given back when the work is done.

/// Room for every tree that [`crate::statement_limits::check_tokens`] lets pass: 50 000 levels of 4 KiB, which is several
/// times what dropping one level takes in a build without optimisations.
pub(crate) const DEEP_STACK_BYTES: usize = 256 << 20;

/// Stack of the threads of a runtime that runs statements: plans and expressions at the limits of `statement_limits` are run
/// and evaluated by recursion. A join of 60 tables needs 4 to 8 MiB in a build without optimisations.
pub const RUNTIME_STACK_BYTES: usize = 32 << 20;

/// Maximum number of tokens for an ordinary stack. Each level of nesting has at least one token, so that the depth is bounded.
const SHALLOW_TOKENS: usize = 48;

/// Room for a token on a stack that is there already: several times what a level takes in a build without optimisations. A
/// runtime's stack of 32 MiB has room for 500 tokens.
const TOKEN_BYTES: usize = 64 << 10;

/// Most room that is asked of a stack that is there already: a planning thread's own stack has it.
const ROOM_BYTES_MAX: usize = DEEP_STACK_BYTES - (8 << 20);

/// Runs `work` on a text of `token_count` tokens: on a stack of [`DEEP_STACK_BYTES`] of its own unless the text is short or this
/// thread has room. To map a stack and to give it back takes as long as planning a small query.
pub(crate) fn on_deep_stack<T>(token_count: usize, work: impl FnOnce() -> T) -> T {
    let room_bytes = token_count.saturating_mul(TOKEN_BYTES).min(ROOM_BYTES_MAX);
    if token_count <= SHALLOW_TOKENS || stacker::remaining_stack().is_some_and(|left| left >= room_bytes) {
        work()
    } else {
        stacker::grow(DEEP_STACK_BYTES, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves_away(thread_stack_bytes: usize, token_count: usize) -> bool {
        let thread = std::thread::Builder::new().stack_size(thread_stack_bytes);
        let thread = thread.spawn(move || {
            let place = |of: &u8| std::ptr::from_ref(of).addr();
            let outside = 0;
            on_deep_stack(token_count, || {
                let inside = 0;
                place(&outside).abs_diff(place(&inside)) > thread_stack_bytes
            })
        });
        thread.unwrap().join().unwrap()
    }

    #[test]
    fn only_texts_that_need_more_than_the_stack_has_left_move_to_another() {
        assert!(!moves_away(2 << 20, SHALLOW_TOKENS));
        assert!(moves_away(2 << 20, SHALLOW_TOKENS + 1));
        assert!(!moves_away(RUNTIME_STACK_BYTES, 400));
        assert!(moves_away(RUNTIME_STACK_BYTES, 600));
        assert!(!moves_away(DEEP_STACK_BYTES, 1_000_000));
    }
}
