//! Changes of the sequence of an identity column, by ALTER TABLE.

use braid_catalog::column_types::sql_type_of;
use braid_sql::functions::SessionFacts;
use braid_storage::{ColumnType, SequenceDef, SequenceOwner, SequenceState, SequenceType, SequenceUse};
use sqlparser::ast::DataType;

use super::columns::numbers_of;
use super::options::{OptionsOf, SequenceOptions};
use crate::statement::{IdentityChange, SequenceOption};
use crate::{EngineError, SqlState};

/// The sequence after SET … and RESTART, and where it begins anew, if it does.
///
/// # Errors
/// For options that are given twice, are none of identity columns, or do not fit together.
pub(crate) fn changed_identity(
    (known, last_value): (&SequenceDef, i64),
    changes: &[IdentityChange],
    session: &dyn SessionFacts,
) -> Result<(SequenceDef, Option<SequenceState>), EngineError> {
    let (mut options, mut usage) = (Vec::new(), None);
    for change in changes {
        match change {
            IdentityChange::Generated { always } => {
                let wanted = if *always { SequenceUse::Always } else { SequenceUse::ByDefault };
                if usage.replace(wanted).is_some() {
                    return Err(EngineError::new(SqlState::SyntaxError, "conflicting or redundant options"));
                }
            }
            IdentityChange::Restart(option) => options.push(option.clone()),
            IdentityChange::Option(option) => {
                check_option(option)?;
                options.push(option.clone());
            }
        }
    }
    let options = SequenceOptions::of(&options, OptionsOf::Identity, session)?;
    let (def, restart) = options.redefine(known, last_value)?;
    let owner = def.owner.map(|owner| SequenceOwner { usage: usage.unwrap_or(owner.usage), ..owner });
    Ok((SequenceDef { owner, ..def }, restart))
}

/// The sequence of a column that has another type.
///
/// # Errors
/// For other types than integers, and numbers that the type does not have.
pub(crate) fn retyped_identity(
    (known, last_value): (&SequenceDef, i64),
    column_type: ColumnType,
    session: &dyn SessionFacts,
) -> Result<SequenceDef, EngineError> {
    let data_type = match numbers_of(sql_type_of(column_type).id)? {
        SequenceType::SmallInt => DataType::SmallInt(None),
        SequenceType::Integer => DataType::Integer(None),
        SequenceType::BigInt => DataType::BigInt(None),
    };
    let options = [SequenceOption::Type(data_type)];
    let options = SequenceOptions::of(&options, OptionsOf::Identity, session)?;
    options.redefine(known, last_value).map(|(def, _)| def)
}

/// Refuses options that identity columns do not have.
fn check_option(option: &SequenceOption) -> Result<(), EngineError> {
    let name = match option {
        SequenceOption::Type(_) => "as",
        SequenceOption::OwnedBy(_) => "owned_by",
        SequenceOption::Restart(_) => "restart",
        _ => return Ok(()),
    };
    Err(EngineError::new(SqlState::SyntaxError, format!("sequence option \"{name}\" not supported here")))
}
