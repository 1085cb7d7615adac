//! Columns with sequences of their own: `serial` and its like, and GENERATED … AS IDENTITY.
//!
//! Such a column becomes one of an integer type that is NOT NULL, whose default takes the next number of a sequence that the column owns.

use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_catalog::column_types::sql_type_of;
use braid_catalog::object_ids::table_object_id;
use braid_sql::binder::type_of_syntax;
use braid_sql::functions::SessionFacts;
use braid_sql::pg_catalog::TypeId;
use braid_sql::syntax::cache_and_name;
use braid_storage::{
    Catalog, ColumnType, Constraints, NewTable, SequenceDef, SequenceOwner, SequenceState, SequenceType, SequenceUse,
    TableDef, WriteSet,
};
use sqlparser::ast::{
    ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, DataType, GeneratedAs, ObjectName,
    SequenceOptions as WrittenOptions,
};

use super::defaults::default_of_sequence;
use super::options::{OptionsOf, SequenceOptions};
use crate::names::{NAME_BYTES_MAX, fold, fold_parts};
use crate::statement::SequenceOption;
use crate::{EngineError, SqlState};

/// The types whose columns number their rows, and those that they are.
const SERIAL: [(&str, SequenceType); 6] = [
    ("serial", SequenceType::Integer),
    ("serial4", SequenceType::Integer),
    ("bigserial", SequenceType::BigInt),
    ("serial8", SequenceType::BigInt),
    ("smallserial", SequenceType::SmallInt),
    ("serial2", SequenceType::SmallInt),
];

/// The sequence that a column is to own.
#[derive(Debug)]
pub(crate) struct OwnSequence {
    /// What it is to the column.
    pub usage: SequenceUse,
    value_type: SequenceType,
    options: Vec<SequenceOption>,
    /// The name that it is to have.
    name: Option<ObjectName>,
}

/// The place of a column, and its sequence with its definition, and where it begins.
type Defined<'a> = ((usize, &'a OwnSequence), (SequenceDef, SequenceState));

/// CREATE TABLE without what makes sequences, and the sequences.
#[derive(Debug)]
pub(crate) struct OwnSequences {
    /// The statement, with columns of integers.
    pub create: CreateTable,
    /// With the places of their columns.
    sequences: Vec<(usize, OwnSequence)>,
}

impl OwnSequences {
    /// From what is written.
    ///
    /// # Errors
    /// For columns with several defaults, and identities of other types than integers.
    pub fn of(create: &CreateTable, table: &str, session: &dyn SessionFacts) -> Result<Self, EngineError> {
        let (mut create, mut sequences) = (create.clone(), Vec::new());
        for (at, column) in create.columns.iter_mut().enumerate() {
            sequences.extend(taken_out(column, table, session)?.map(|own| (at, own)));
        }
        Ok(Self { create, sequences })
    }

    /// Adds the sequence of an identity column that is copied, in this place. Its numbers have the bounds of the other one's and are `bigint`, as
    /// PostgreSQL copies all options but the type.
    pub fn copy(&mut self, at: usize, usage: SequenceUse, like: &SequenceDef) {
        let options = vec![
            SequenceOption::Increment(like.increment.to_string()),
            SequenceOption::Min(Some(like.min.to_string())),
            SequenceOption::Max(Some(like.max.to_string())),
            SequenceOption::Start(like.start.to_string()),
            SequenceOption::Cache(like.cache.to_string()),
            SequenceOption::Cycle(like.cycles),
        ];
        self.sequences.push((at, OwnSequence { usage, value_type: SequenceType::BigInt, options, name: None }));
        self.sequences.sort_by_key(|(at, _)| *at);
    }

    /// Creates the table with its sequences.
    ///
    /// # Errors
    /// For names that are taken, and options that do not fit together.
    pub fn create_table(
        &self,
        writes: &mut WriteSet,
        view: &Catalog,
        (schema, mut table, constraints): (SchemaId, NewTable, Constraints),
        session: &dyn SessionFacts,
    ) -> Result<Arc<TableDef>, EngineError> {
        let mut defined: Vec<Defined<'_>> = Vec::with_capacity(self.sequences.len());
        for (at, own) in &self.sequences {
            let id = writes.new_relation_id();
            let is_own = |name: &str| defined.iter().any(|(_, (def, _)): &Defined<'_>| def.name == name);
            let is_taken = |name: &str| view.has_relation(schema, name) || is_own(name);
            let free = || free_name(&table.name, &table.columns[*at].name, is_taken);
            let name = own.name_in(view, schema, is_taken)?.unwrap_or_else(free);
            defined.push(((*at, own), own.define(id, name, session)?));
            table.columns[*at].default = Some(default_of_sequence(table_object_id(id)));
        }
        let def = writes.create_constrained_table(view, (schema, table), constraints)?;
        if defined.is_empty() {
            return Ok(def);
        }
        writes.change_sequences(view, |changes| {
            for ((at, own), (mut sequence, state)) in defined {
                (sequence.owner, sequence.schema) = (Some(own.owner(&def, at)), schema);
                changes.restart(sequence, state)?;
            }
            Ok(def)
        })
    }
}

impl OwnSequence {
    /// That of GENERATED … AS IDENTITY of a column that is there.
    ///
    /// # Errors
    /// For other types than integers.
    pub fn of_identity(
        usage: SequenceUse,
        written: &[WrittenOptions],
        column_type: ColumnType,
    ) -> Result<Self, EngineError> {
        let value_type = numbers_of(sql_type_of(column_type).id)?;
        let (options, name) = options_of(written);
        Ok(Self { usage, value_type, options, name })
    }

    /// The name that it is to have in the schema of its table, if one is written.
    ///
    /// # Errors
    /// For another schema (55000), and a name that is taken (42P07).
    pub fn name_in(
        &self,
        view: &Catalog,
        schema: SchemaId,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, EngineError> {
        let Some(name) = &self.name else { return Ok(None) };
        let parts = fold_parts(name)?;
        let name = match &parts[..] {
            [name] => name,
            [.., written, name] if view.schema_name(schema) == Some(written) => name,
            _ => {
                let message = "sequence must be in same schema as table it is linked to";
                return Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message));
            }
        };
        match is_taken(name) {
            true => Err(EngineError::new(SqlState::DuplicateTable, format!("relation \"{name}\" already exists"))),
            false => Ok(Some(name.clone())),
        }
    }

    /// Its definition, without schema and owner, and where it begins.
    ///
    /// # Errors
    /// For options that do not fit together.
    pub fn define(
        &self,
        id: TableId,
        name: String,
        session: &dyn SessionFacts,
    ) -> Result<(SequenceDef, SequenceState), EngineError> {
        let options = SequenceOptions::of(&self.options, OptionsOf::Identity, session)?;
        if options.owner.is_some() {
            return Err(EngineError::unsupported("OWNED BY of an identity column is not supported"));
        }
        options.with_type(self.value_type).define(id, name)
    }

    /// Its owner: the column at a place.
    pub fn owner(&self, def: &TableDef, at: usize) -> SequenceOwner {
        SequenceOwner { table: def.id, column: def.columns[at].id, usage: self.usage }
    }
}

/// Takes what makes a sequence out of a column, which becomes NOT NULL.
///
/// # Errors
/// As [`OwnSequences::of`].
pub(crate) fn taken_out(
    column: &mut ColumnDef,
    table: &str,
    session: &dyn SessionFacts,
) -> Result<Option<OwnSequence>, EngineError> {
    let own = own_sequence(column, table, session)?;
    if own.is_some() {
        column.options.push(ColumnOptionDef { name: None, option: ColumnOption::NotNull });
    }
    Ok(own)
}

fn own_sequence(
    column: &mut ColumnDef,
    table: &str,
    session: &dyn SessionFacts,
) -> Result<Option<OwnSequence>, EngineError> {
    let name = fold(&column.name);
    let syntax = |message: String| Err(EngineError::new(SqlState::SyntaxError, message));
    let serial = serial_type(&column.data_type)?;
    let mut identities = Vec::new();
    column.options.retain(|option| match identity(&option.option) {
        Some(identity) => {
            identities.push(identity);
            false
        }
        None => true,
    });
    let has = |wanted: fn(&ColumnOption) -> bool| column.options.iter().any(|option| wanted(&option.option));
    let has_default = has(|option| matches!(option, ColumnOption::Default(_)));
    let is_generated = has(|option| matches!(option, ColumnOption::Generated { .. }));
    let (usage, value_type, (options, sequence)) = match (serial, &mut identities[..]) {
        (None, []) => return Ok(None),
        (_, [_, _, ..]) => {
            return syntax(format!("multiple identity specifications for column \"{name}\" of table \"{table}\""));
        }
        (Some(_), []) if has_default => {
            return syntax(format!("multiple default values specified for column \"{name}\" of table \"{table}\""));
        }
        (serial, [_]) if has_default || serial.is_some() => {
            let message = format!("both default and identity specified for column \"{name}\" of table \"{table}\"");
            return syntax(message);
        }
        (Some(_), []) if is_generated => {
            let message =
                format!("both default and generation expression specified for column \"{name}\" of table \"{table}\"");
            return syntax(message);
        }
        (_, [_]) if is_generated => {
            let message =
                format!("both identity and generation expression specified for column \"{name}\" of table \"{table}\"");
            return syntax(message);
        }
        (Some(value_type), []) => {
            column.data_type = integers(value_type);
            (SequenceUse::Owned, value_type, (Vec::new(), None))
        }
        (_, [(usage, written)]) => (*usage, identity_type(&column.data_type, session)?, options_of(written)),
    };
    if has(|option| matches!(option, ColumnOption::Null)) {
        return syntax(format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of table \"{table}\""));
    }
    Ok(Some(OwnSequence { usage, value_type, options, name: sequence }))
}

/// The identity that an option asks for.
fn identity(option: &ColumnOption) -> Option<(SequenceUse, Vec<WrittenOptions>)> {
    let ColumnOption::Generated { generated_as, sequence_options, generation_expr: None, .. } = option else {
        return None;
    };
    let usage = match generated_as {
        GeneratedAs::Always => SequenceUse::Always,
        GeneratedAs::ByDefault => SequenceUse::ByDefault,
        GeneratedAs::ExpStored => return None,
    };
    Some((usage, sequence_options.clone().unwrap_or_default()))
}

/// The options, and the name of SEQUENCE NAME.
fn options_of(written: &[WrittenOptions]) -> (Vec<SequenceOption>, Option<ObjectName>) {
    let mut sequence = None;
    let mut option = |written: &WrittenOptions| match written {
        WrittenOptions::Cache(cache) if let Some((number, name)) = cache_and_name(cache) => {
            sequence = Some(name);
            number.map(|number| SequenceOption::Cache(number.to_owned()))
        }
        written => Some(option_of(written)),
    };
    let options = written.iter().filter_map(&mut option).collect();
    (options, sequence)
}

/// An option as ALTER SEQUENCE has it.
fn option_of(written: &WrittenOptions) -> SequenceOption {
    let number = |number: &dyn ToString| number.to_string().trim_start_matches('+').to_owned();
    match written {
        WrittenOptions::IncrementBy(by, _) => SequenceOption::Increment(number(by)),
        WrittenOptions::MinValue(min) => SequenceOption::Min(min.as_ref().map(|min| number(min))),
        WrittenOptions::MaxValue(max) => SequenceOption::Max(max.as_ref().map(|max| number(max))),
        WrittenOptions::StartWith(start, _) => SequenceOption::Start(number(start)),
        WrittenOptions::Cache(cache) => SequenceOption::Cache(number(cache)),
        // The parser says whether it is NO CYCLE.
        WrittenOptions::Cycle(is_off) => SequenceOption::Cycle(!is_off),
    }
}

/// The type of a `serial` column's numbers; `None` for other types.
pub(crate) fn serial_type(data_type: &DataType) -> Result<Option<SequenceType>, EngineError> {
    let DataType::Custom(name, _) = data_type else { return Ok(None) };
    let parts = fold_parts(name)?;
    Ok(match &parts[..] {
        [name] => SERIAL.iter().find(|(serial, _)| serial == name).map(|(_, value_type)| *value_type),
        _ => None,
    })
}

fn integers(value_type: SequenceType) -> DataType {
    match value_type {
        SequenceType::SmallInt => DataType::SmallInt(None),
        SequenceType::Integer => DataType::Integer(None),
        SequenceType::BigInt => DataType::BigInt(None),
    }
}

fn identity_type(data_type: &DataType, session: &dyn SessionFacts) -> Result<SequenceType, EngineError> {
    numbers_of(type_of_syntax(data_type, session)?.id)
}

/// The type of an identity column's numbers.
///
/// # Errors
/// For other types than integers (22023).
pub(super) fn numbers_of(column: TypeId) -> Result<SequenceType, EngineError> {
    match column {
        TypeId::INT2 => Ok(SequenceType::SmallInt),
        TypeId::INT4 => Ok(SequenceType::Integer),
        TypeId::INT8 => Ok(SequenceType::BigInt),
        _ => {
            let message = "identity column type must be smallint, integer, or bigint";
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
}

/// The name of a column's sequence: `table_column_seq`, with its parts cut to length, the longer one first, and a number if it is taken.
pub(crate) fn free_name(table: &str, column: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = |number: usize| {
        let ending = if number == 0 { "_seq".to_owned() } else { format!("_seq{number}") };
        let room = NAME_BYTES_MAX - ending.len() - 1;
        let (mut table_bytes, mut column_bytes) = (table.len(), column.len());
        while table_bytes + column_bytes > room {
            if table_bytes > column_bytes { table_bytes -= 1 } else { column_bytes -= 1 }
        }
        let (table_end, column_end) =
            (table.floor_char_boundary(table_bytes), column.floor_char_boundary(column_bytes));
        format!("{}_{}{ending}", &table[..table_end], &column[..column_end])
    };
    (0..).map(numbered).find(|name| !is_taken(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sequences_are_cut_and_numbered() {
        assert_eq!(free_name("t", "a", |_| false), "t_a_seq");
        assert_eq!(free_name("t", "a", |name| name == "t_a_seq"), "t_a_seq1");
        let (table, column) = ("t".repeat(63), "c".repeat(10));
        assert_eq!(free_name(&table, &column, |_| false), format!("{}_{column}_seq", "t".repeat(48)));
        let long = "c".repeat(63);
        assert_eq!(free_name(&table, &long, |_| false), format!("{}_{}_seq", "t".repeat(29), "c".repeat(29)));
    }
}
