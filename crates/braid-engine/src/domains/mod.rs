//! CREATE DOMAIN and ALTER DOMAIN. DROP DOMAIN is with DROP TYPE ([`crate::enum_types`]).
//!
//! A column of a domain has the values of its base type. What it is assigned is checked with the row's other constraints
//! ([`DomainChecks`](crate::dml::domain_checks::DomainChecks)), whatever statement stores the row; casts in expressions are the binder's. A change that forbids values looks at
//! those of all columns first, and gives the tables a new definition in the same commit, so that rows which others have checked against
//! the old constraints are not committed after it.
//!
//! Deliberately not done: domains in temporary schemas, arrays of domains, collations; `NOT VALID` where values violate the constraint.
//!
//! | module | contents |
//! |---|---|
//! | `create` | CREATE DOMAIN |
//! | `constraints` | defaults and conditions as they are kept |
//! | `alter` | ALTER DOMAIN |
//! | `columns` | the columns of a domain, with values that a new constraint forbids |

mod alter;
mod columns;
mod constraints;
mod create;

use crate::enum_types::{DroppedKind, drop_types};
use crate::statement::DomainStatement;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::{EngineError, Outcome, Statement};

/// Runs a statement about domains.
///
/// # Errors
/// For what does not exist, exists already or is of another kind, for constraints that values violate, and what commits fail with.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    domain: &DomainStatement,
) -> Result<Outcome, EngineError> {
    match domain {
        DomainStatement::Create(create) => create::create_domain(context, create).await,
        DomainStatement::Alter { name, change } => alter::alter_domain(context, statement, name, change).await,
        DomainStatement::Drop { names, if_exists, behavior } => {
            drop_types(context, (names, DroppedKind::Domain), Missing::of(*if_exists), *behavior).await
        }
    }
}
