//! Newtypes for what could be swapped by mistake: templates, queries and passes.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

id!(
    /// A plan template. The engine allocates the numbers and never reuses one.
    TemplateNumber, "template "
);
id!(
    /// One query of one client. The engine allocates the tickets and never reuses one.
    QueryTicket, "query "
);
id!(
    /// One pass. The scheduler allocates the numbers upward and never reuses one.
    PassNumber, "pass "
);
