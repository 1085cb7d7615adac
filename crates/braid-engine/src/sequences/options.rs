//! The options of a sequence into its definition, checked in PostgreSQL's order and in its words.

use braid_base::{SchemaId, TableId};
use braid_catalog::type_of_numbers;
use braid_sql::SqlType;
use braid_sql::binder::type_of_syntax;
use braid_sql::functions::SessionFacts;
use braid_sql::input::numbers::parse_integer;
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;
use braid_storage::{SequenceDef, SequenceState, SequenceType};
use sqlparser::ast::ObjectName;

use crate::statement::SequenceOption;
use crate::{EngineError, SqlState};

/// What the options are of, for the error of a wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionsOf {
    /// A sequence.
    Sequence,
    /// An identity column.
    Identity,
}

/// The options that were given.
#[derive(Debug, Default)]
pub(crate) struct SequenceOptions<'a> {
    value_type: Option<SequenceType>,
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycles: Option<bool>,
    /// OWNED BY; within it `None` for NONE.
    pub owner: Option<Option<&'a ObjectName>>,
}

impl<'a> SequenceOptions<'a> {
    /// From what is written.
    ///
    /// # Errors
    /// For an option that is given twice, numbers that are none, and other types than those of integers.
    pub fn of(written: &'a [SequenceOption], of: OptionsOf, session: &dyn SessionFacts) -> Result<Self, EngineError> {
        let mut options = Self::default();
        for option in written {
            match option {
                SequenceOption::Type(data_type) => {
                    let type_id = type_of_syntax(data_type, session)?.id;
                    put(&mut options.value_type, value_type(type_id, of)?)?;
                }
                SequenceOption::Increment(number) => put(&mut options.increment, int8(number)?)?,
                SequenceOption::Min(number) => put(&mut options.min, optional(number.as_deref())?)?,
                SequenceOption::Max(number) => put(&mut options.max, optional(number.as_deref())?)?,
                SequenceOption::Start(number) => put(&mut options.start, int8(number)?)?,
                SequenceOption::Restart(number) => put(&mut options.restart, optional(number.as_deref())?)?,
                SequenceOption::Cache(number) => put(&mut options.cache, int8(number)?)?,
                SequenceOption::Cycle(cycles) => put(&mut options.cycles, *cycles)?,
                SequenceOption::OwnedBy(column) => put(&mut options.owner, column.as_ref())?,
            }
        }
        Ok(options)
    }

    /// The type of the numbers, if none was given.
    pub fn with_type(mut self, value_type: SequenceType) -> Self {
        self.value_type.get_or_insert(value_type);
        self
    }

    /// The definition of a new sequence without an owner, and where it stands.
    ///
    /// # Errors
    /// 22023 for options that do not fit together.
    pub fn define(&self, id: TableId, name: String) -> Result<(SequenceDef, SequenceState), EngineError> {
        let value_type = self.value_type.unwrap_or(SequenceType::BigInt);
        let (least, most) = value_type.bounds();
        let increment = self.increment()?.unwrap_or(1);
        let max = self.max.flatten().unwrap_or(if increment > 0 { most } else { -1 });
        let min = self.min.flatten().unwrap_or(if increment < 0 { least } else { 1 });
        let start = self.start.unwrap_or(if increment > 0 { min } else { max });
        let (cache, cycles, owner) = (self.cache.unwrap_or(1), self.cycles.unwrap_or_default(), None);
        let def = SequenceDef {
            id,
            schema: SchemaId::PUBLIC,
            name,
            value_type,
            start,
            increment,
            min,
            max,
            cache,
            cycles,
            owner,
        };
        let last_value = self.restart.map_or(start, |restart| restart.unwrap_or(start));
        check(&def, last_value)?;
        Ok((def, SequenceState { last_value, is_called: false }))
    }

    /// The next definition of a sequence, and where it begins anew, if it does.
    ///
    /// # Errors
    /// As [`Self::define`].
    pub fn redefine(
        &self,
        known: &SequenceDef,
        last_value: i64,
    ) -> Result<(SequenceDef, Option<SequenceState>), EngineError> {
        let value_type = self.value_type.unwrap_or(known.value_type);
        let ((least, most), (known_least, known_most)) = (value_type.bounds(), known.value_type.bounds());
        let is_retyped = self.value_type.is_some();
        let increment = self.increment()?.unwrap_or(known.increment);
        let resets_max = is_retyped && known.max == known_most;
        let resets_min = is_retyped && known.min == known_least;
        let max = match self.max {
            Some(Some(max)) => max,
            None if !resets_max => known.max,
            _ if increment > 0 || resets_max => most,
            _ => -1,
        };
        let min = match self.min {
            Some(Some(min)) => min,
            None if !resets_min => known.min,
            _ if increment < 0 || resets_min => least,
            _ => 1,
        };
        let start = self.start.unwrap_or(known.start);
        let (cache, cycles) = (self.cache.unwrap_or(known.cache), self.cycles.unwrap_or(known.cycles));
        let def = SequenceDef { value_type, start, increment, min, max, cache, cycles, ..known.clone() };
        let restart = self.restart.map(|restart| restart.unwrap_or(start));
        check(&def, restart.unwrap_or(last_value))?;
        Ok((def, restart.map(|last_value| SequenceState { last_value, is_called: false })))
    }

    fn increment(&self) -> Result<Option<i64>, EngineError> {
        match self.increment {
            Some(0) => Err(invalid("INCREMENT must not be zero".to_owned())),
            increment => Ok(increment),
        }
    }
}

/// Checks that the numbers of a definition fit together.
fn check(def: &SequenceDef, last_value: i64) -> Result<(), EngineError> {
    let SequenceDef { value_type, start, min, max, cache, .. } = def;
    let (least, most) = value_type.bounds();
    let of_type = || format_type(SqlType::of(type_of_numbers(*value_type)));
    for (what, bound) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if !(least..=most).contains(bound) {
            return Err(invalid(format!("{what} ({bound}) is out of range for sequence data type {}", of_type())));
        }
    }
    if min >= max {
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    for (what, number) in [("START", *start), ("RESTART", last_value)] {
        if number < *min {
            return Err(invalid(format!("{what} value ({number}) cannot be less than MINVALUE ({min})")));
        }
        if number > *max {
            return Err(invalid(format!("{what} value ({number}) cannot be greater than MAXVALUE ({max})")));
        }
    }
    match *cache {
        ..=0 => Err(invalid(format!("CACHE ({cache}) must be greater than zero"))),
        _ => Ok(()),
    }
}

fn put<T>(option: &mut Option<T>, value: T) -> Result<(), EngineError> {
    match option.replace(value) {
        Some(_) => Err(EngineError::new(SqlState::SyntaxError, "conflicting or redundant options")),
        None => Ok(()),
    }
}

fn int8(number: &str) -> Result<i64, EngineError> {
    Ok(parse_integer(number, "bigint")?)
}

fn optional(number: Option<&str>) -> Result<Option<i64>, EngineError> {
    number.map(int8).transpose()
}

fn value_type(type_id: TypeId, of: OptionsOf) -> Result<SequenceType, EngineError> {
    let what = match of {
        OptionsOf::Sequence => "sequence",
        OptionsOf::Identity => "identity column",
    };
    match type_id {
        TypeId::INT2 => Ok(SequenceType::SmallInt),
        TypeId::INT4 => Ok(SequenceType::Integer),
        TypeId::INT8 => Ok(SequenceType::BigInt),
        _ => Err(invalid(format!("{what} type must be smallint, integer, or bigint"))),
    }
}

fn invalid(message: String) -> EngineError {
    EngineError::new(SqlState::InvalidParameterValue, message)
}
