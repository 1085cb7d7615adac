//! What the name of a type means, for statements that change types.

use braid_base::SchemaId;
use braid_catalog::left_out::reason;
use braid_catalog::relation;
use braid_catalog::type_references::shown_type;
use braid_sql::SqlType;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::search_path::SYSTEM_SCHEMA;
use braid_sql::types::type_names::{format_type, type_by_name};
use braid_storage::{Catalog, CatalogDomain, CatalogType};
use sqlparser::ast::{ObjectName, ObjectNamePart};

use crate::names::table_parts;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// What a name means.
#[derive(Clone, Debug)]
pub(crate) enum NamedType {
    /// An enumerated type.
    Enum(CatalogType),
    /// The array type of one.
    Array(CatalogType),
    /// A domain.
    Domain(CatalogDomain),
    /// The array type of one.
    DomainArray(CatalogDomain),
    /// The type of a relation's rows.
    Row(String),
    /// A type of the system.
    System(TypeId),
    /// Nothing: the name as it is written, and its schema if that does not exist either.
    Nothing(String, Option<String>),
}

impl NamedType {
    /// What a name means in a state of the database.
    ///
    /// # Errors
    /// For names with too many parts, or of another database.
    pub fn find(context: &StatementContext, catalog: &Catalog, name: &ObjectName) -> Result<Self, EngineError> {
        let (schema, last) = table_parts(name, context.database_name())?;
        let is_quoted = matches!(&name.0[..], [ObjectNamePart::Identifier(only)] if only.quote_style.is_some());
        let in_schema = |schema_of: &str| match schema_of {
            of if let Ok(Some(id)) = context.schema_of_users(catalog, of) => of_users(catalog, id, &last),
            SYSTEM_SCHEMA if schema.is_none() && !is_quoted => type_by_name(&last).map(Self::System),
            SYSTEM_SCHEMA => pg_catalog().type_named(&last).map(Self::System),
            _ => None,
        };
        let of_relation = |schema_of: &str| {
            let is_known = relation(schema_of, &last).is_some() || reason(schema_of, &last).is_some();
            is_known.then(|| Self::Row(last.clone()))
        };
        let found = match &schema {
            Some(schema) => in_schema(schema).or_else(|| of_relation(schema)),
            None => {
                let path = context.search_path_in(catalog);
                path.searched().find_map(|schema| in_schema(schema).or_else(|| of_relation(schema)))
            }
        };
        Ok(found.unwrap_or_else(|| {
            let written = schema.as_ref().map_or_else(|| last.clone(), |schema| format!("{schema}.{last}"));
            Self::Nothing(written, schema.filter(|schema| !context.is_schema(catalog, schema)))
        }))
    }

    /// The name as messages have it, with its schema if it is not found without.
    pub fn shown(&self, context: &StatementContext, catalog: &Catalog) -> String {
        let of_users = |oid: u32| shown_type(catalog, &context.search_path_in(catalog), oid);
        match self {
            Self::Enum(known) => of_users(known.definition.oid),
            Self::Array(known) => of_users(known.definition.array_oid),
            Self::Domain(known) => of_users(known.definition.oid),
            Self::DomainArray(known) => of_users(known.definition.array_oid),
            Self::System(id) => format_type(SqlType::of(*id)),
            Self::Row(name) | Self::Nothing(name, _) => name.clone(),
        }
    }

    /// The domain that is meant.
    ///
    /// # Errors
    /// For another kind of type (42809).
    pub fn domain(&self, context: &StatementContext, catalog: &Catalog) -> Result<CatalogDomain, EngineError> {
        match self {
            Self::Domain(known) => Ok(known.clone()),
            other => {
                let message = format!("\"{}\" is not a domain", other.shown(context, catalog));
                Err(EngineError::new(SqlState::WrongObjectType, message))
            }
        }
    }

    /// The error of a name that means nothing; `None` if it means something.
    pub fn missing(&self) -> Option<EngineError> {
        match self {
            Self::Nothing(_, Some(schema)) => {
                Some(EngineError::new(SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist")))
            }
            Self::Nothing(written, None) => {
                Some(EngineError::new(SqlState::UndefinedObject, format!("type \"{written}\" does not exist")))
            }
            _ => None,
        }
    }
}

/// A type of a schema of users.
fn of_users(catalog: &Catalog, schema: SchemaId, name: &str) -> Option<NamedType> {
    let mut types = catalog.enum_types().filter(|known| known.definition.schema == schema);
    let of_type = types.find_map(|known| match name {
        name if known.definition.name == name => Some(NamedType::Enum(known.clone())),
        name if known.definition.array_name == name => Some(NamedType::Array(known.clone())),
        _ => None,
    });
    let mut domains = catalog.domains().filter(|known| known.definition.schema == schema);
    let of_type = of_type.or_else(|| {
        domains.find_map(|known| match name {
            name if known.definition.name == name => Some(NamedType::Domain(known.clone())),
            name if known.definition.array_name == name => Some(NamedType::DomainArray(known.clone())),
            _ => None,
        })
    });
    of_type.or_else(|| catalog.has_relation(schema, name).then(|| NamedType::Row(name.to_owned())))
}
