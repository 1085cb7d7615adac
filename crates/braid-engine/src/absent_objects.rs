//! DROP of functions, triggers, extensions and other objects that users cannot create. With IF EXISTS it raises a notice for each name, without
//! it the error of an object that does not exist. Objects of the system cannot be dropped.

use braid_sql::SqlType;
use braid_sql::binder::type_of_syntax;
use braid_sql::pg_catalog::{FunctionEntry, FunctionKind, TypeId, pg_catalog};
use braid_sql::search_path::SYSTEM_SCHEMA;
use braid_sql::types::type_names::format_type;
use sqlparser::ast::{ArrayElemTypeDef, DataType, Ident, ObjectName};

use crate::front_end::StatementFacts;
use crate::names::{fold, table_parts};
use crate::notices::Notice;
use crate::statement::{AbsentObjects, DropAbsent, RoutineName};
use crate::statement_context::StatementContext;
use crate::table_names::{Missing, Named, named_table, no_schema};
use crate::{EngineError, Outcome, SqlState};

/// The extension that PostgreSQL has from the beginning.
const OWN_EXTENSION: &str = "plpgsql";

/// The rule of each view.
const VIEW_RULE: &str = "_RETURN";

/// Says that the objects do not exist.
///
/// # Errors
/// For objects of the system (2BP01, or 0A000), and without IF EXISTS for all others (42883, 42704).
pub(crate) fn drop_absent(context: &StatementContext, dropped: &DropAbsent) -> Result<Outcome, EngineError> {
    let missing = Missing::of(dropped.if_exists);
    let pass_over = |what: &str| context.raise(Notice::skipping(SqlState::SuccessfulCompletion, what));
    match &dropped.objects {
        AbsentObjects::Routines(routines) => {
            for routine in routines {
                match (absent_routine(context, dropped, routine)?, missing) {
                    (Absent { notice, .. }, Missing::Skipped) => pass_over(&notice),
                    (Absent { error, .. }, Missing::Refused) => return Err(error),
                }
            }
        }
        AbsentObjects::OfRelation(name, relation) => {
            match (absent_of_relation(context, dropped.noun, name, relation)?, missing) {
                (Absent { notice, .. }, Missing::Skipped) => pass_over(&notice),
                (Absent { error, .. }, Missing::Refused) => return Err(error),
            }
        }
        AbsentObjects::Named(names) => {
            for name in names.iter().map(fold) {
                if dropped.noun == "extension" && name == OWN_EXTENSION {
                    return Err(EngineError::unsupported(format!("{} {name} is not supported", dropped.tag)));
                }
                let what = format!("{} \"{name}\" does not exist", dropped.noun);
                match missing {
                    Missing::Skipped => pass_over(&what),
                    Missing::Refused => return Err(EngineError::new(SqlState::UndefinedObject, what)),
                }
            }
        }
    }
    Ok(Outcome::done(dropped.tag))
}

/// What is said of an object that does not exist.
struct Absent {
    notice: String,
    error: EngineError,
}

impl Absent {
    fn of(error: EngineError) -> Self {
        Self { notice: error.message().to_owned(), error }
    }
}

/// A function that does not exist.
///
/// # Errors
/// If the system has it, or may have it.
fn absent_routine(
    context: &StatementContext,
    dropped: &DropAbsent,
    RoutineName { name, arguments }: &RoutineName,
) -> Result<Absent, EngineError> {
    let (schema, bare) = table_parts(name, context.database_name())?;
    if let Some(schema) = schema.as_deref().filter(|schema| !context.is_schema(&context.snapshot(), schema)) {
        return Ok(Absent::of(no_schema(schema)));
    }
    let facts = StatementFacts::of(context);
    let mut types = Vec::new();
    for syntax in arguments.iter().flatten() {
        match type_of_syntax(syntax, &facts) {
            Ok(known) => types.push(known),
            Err(error) if [SqlState::UndefinedObject, SqlState::InvalidSchemaName].contains(&error.state()) => {
                return Ok(Absent::of(error.into()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if schema.as_deref().is_none_or(|schema| schema == SYSTEM_SCHEMA) {
        let ids: Option<Vec<TypeId>> = arguments.is_some().then(|| types.iter().map(|known| known.id).collect());
        check_not_of_system(dropped, &bare, ids.as_deref())?;
    }
    let written = name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect::<Vec<_>>().join(".");
    let noun = if dropped.noun == "routine" { "function" } else { dropped.noun };
    let list = |types: Vec<String>| types.join(",");
    let shown = list(types.iter().map(|known| format_type(SqlType::of(known.id))).collect());
    let syntax = arguments.iter().flatten().zip(&types);
    let of_notice = list(syntax.map(|(syntax, known)| written_type(syntax, *known)).collect());
    let message = match (arguments, noun) {
        (None, _) => format!("could not find a {noun} named \"{written}\""),
        (Some(arguments), "aggregate") if arguments.is_empty() => format!("aggregate {written}(*) does not exist"),
        (Some(_), _) => format!("{noun} {written}({shown}) does not exist"),
    };
    Ok(Absent {
        notice: format!("{} {written}({of_notice}) does not exist", dropped.noun),
        error: EngineError::new(SqlState::UndefinedFunction, message),
    })
}

/// Refuses functions that the system has: those of the name, with the types of the arguments if they are written.
fn check_not_of_system(dropped: &DropAbsent, name: &str, arguments: Option<&[TypeId]>) -> Result<(), EngineError> {
    let is_meant = |entry: &&FunctionEntry| arguments.is_none_or(|arguments| entry.arguments[..] == *arguments);
    let meant: Vec<&FunctionEntry> = pg_catalog().functions_named(name).filter(is_meant).collect();
    let [only] = meant[..] else {
        return match meant.is_empty() {
            true => Ok(()),
            false => {
                Err(EngineError::new(SqlState::AmbiguousFunction, format!("function name \"{name}\" is not unique"))
                    .with_hint("Specify the argument list to select the function unambiguously."))
            }
        };
    };
    let is_aggregate = only.kind == FunctionKind::Aggregate;
    let shown: Vec<String> = only.arguments.iter().map(|id| format_type(SqlType::of(*id))).collect();
    let signature = format!("{name}({})", shown.join(","));
    let other_kind = |message: String| EngineError::new(SqlState::WrongObjectType, message);
    Err(match dropped.noun {
        "procedure" => other_kind(format!("{signature} is not a procedure")),
        "aggregate" if !is_aggregate => other_kind(format!("function {signature} is not an aggregate")),
        "function" if is_aggregate => other_kind(format!("\"{name}\" is an aggregate function"))
            .with_hint("Use DROP AGGREGATE to drop aggregate functions."),
        _ => {
            let message = format!("cannot drop function {signature} because it is required by the database system");
            EngineError::new(SqlState::DependentObjectsStillExist, message)
        }
    })
}

/// A type as messages of IF EXISTS show it: without its modifier, by PostgreSQL's own name where its grammar has a word for it.
fn written_type(syntax: &DataType, known: SqlType) -> String {
    use DataType as D;
    match syntax {
        D::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element)) => {
            let of_element = pg_catalog().element_of_array(known.id).unwrap_or(known.id);
            format!("{}[]", written_type(element, SqlType::of(of_element)))
        }
        D::Int(_)
        | D::Integer(_)
        | D::SmallInt(_)
        | D::BigInt(_)
        | D::Real
        | D::Float(_)
        | D::DoublePrecision
        | D::Decimal(_)
        | D::Dec(_)
        | D::Numeric(_)
        | D::Boolean
        | D::Bit(_)
        | D::BitVarying(_)
        | D::Char(_)
        | D::Character(_)
        | D::CharVarying(_)
        | D::CharacterVarying(_)
        | D::Varchar(_)
        | D::Timestamp(..)
        | D::Time(..)
        | D::Interval { .. } => format!("{SYSTEM_SCHEMA}.{}", pg_catalog().type_entry(known.id).name),
        D::Custom(name, _) => name.0.iter().filter_map(|part| part.as_ident()).map(fold).collect::<Vec<_>>().join("."),
        other => other.to_string().to_lowercase(),
    }
}

/// A trigger, rule or policy that does not exist.
///
/// # Errors
/// For the rule of a view (2BP01).
fn absent_of_relation(
    context: &StatementContext,
    noun: &str,
    name: &Ident,
    relation: &ObjectName,
) -> Result<Absent, EngineError> {
    let name = fold(name);
    let named = named_table(context, &context.snapshot(), relation)?;
    let (_, bare) = table_parts(relation, context.database_name())?;
    match named {
        Named::NoSchema(schema, _) => return Ok(Absent::of(no_schema(&schema))),
        Named::Nothing(schema, bare) => {
            let shown = schema.map_or_else(|| bare.clone(), |schema| format!("{schema}.{bare}"));
            let message = format!("relation \"{shown}\" does not exist");
            return Ok(Absent::of(EngineError::new(SqlState::UndefinedTable, message)));
        }
        Named::View(_) | Named::System(..) if noun == "rule" && name == VIEW_RULE => {
            let message = format!("cannot drop rule {VIEW_RULE} on view {bare} because view {bare} requires it");
            return Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
                .with_hint(format!("You can drop view {bare} instead.")));
        }
        _ => {}
    }
    let written = relation.0.iter().filter_map(|part| part.as_ident()).map(fold).collect::<Vec<_>>().join(".");
    let kind = if noun == "rule" { "relation" } else { "table" };
    Ok(Absent {
        notice: format!("{noun} \"{name}\" for relation \"{written}\" does not exist"),
        error: EngineError::new(
            SqlState::UndefinedObject,
            format!("{noun} \"{name}\" for {kind} \"{bare}\" does not exist"),
        ),
    })
}
