//! What a role may do: a policy over what the catalog says of roles, owners and privileges. The rules are those of PostgreSQL 15.
//!
//! | module | contents |
//! |---|---|
//! | [`roles`] | attributes of roles, and what they are members of |
//! | [`lists`] | access control lists: granted to, revoked from, given to another owner |
//! | [`kinds`] | the privileges that kinds of objects have, with and without lists |
//! | [`objects`] | the privileges that a role has on an object |
//! | [`system`] | those on PostgreSQL's own relations, schemas and functions |

mod kinds;
mod lists;
mod objects;
mod roles;
mod system;

pub use kinds::{ObjectKind, PRIVILEGE_WORDS, privilege_of_word, word_of_privilege};
pub use lists::{Change, GrantError, Grantable, ListChange, Revocation, best_grantor, changed, given_to};
pub use objects::{Granted, ObjectAccess};
pub use roles::{Roles, predefined_roles};
