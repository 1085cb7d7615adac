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

/// Runs `work` on a text of `token_count` tokens: on a stack of [`DEEP_STACK_BYTES`] unless the text is short.
pub(crate) fn on_deep_stack<T>(token_count: usize, work: impl FnOnce() -> T) -> T {
    if token_count <= SHALLOW_TOKENS { work() } else { stacker::grow(DEEP_STACK_BYTES, work) }
}
