//! What a path finds in a value.
//!
//! Each item of a chain is applied to one value, and hands what it finds to the rest of the chain. In lax mode arrays are unwrapped where
//! no array is expected, other values are arrays of one element where one is, and what is missing is no error (manual, "The SQL/JSON
//! Path Language"). If only the existence of a value is asked for, the search ends with the first.

use super::datetimes::Zone;
use super::failure::Failure;
use crate::values::json::Jsonb;
use crate::values::json_path::{Chain, PathItem, PathMethod};
use crate::{SqlError, SqlState};

/// The most values that are kept at once.
const VALUES_MAX: usize = 1 << 22;

/// The most steps of a run: applications of an item to a value, and comparisons. They take some seconds.
pub const STEPS_MAX: usize = 1 << 28;

/// Where values go; `None` if only their existence is asked for.
pub type Found<'a> = Option<&'a mut Vec<Jsonb>>;

/// Whether something was found. It is right only if values are not kept.
pub type Finds = Result<bool, Failure>;

/// A run of a path.
#[derive(Debug)]
pub struct Run<'a> {
    /// The value of `$`.
    pub root: &'a Jsonb,
    /// The value of `@`.
    pub current: Jsonb,
    /// An object of variables; without one, all are null.
    pub variables: Option<&'a Jsonb>,
    /// Whether the path is lax.
    pub is_lax: bool,
    /// Whether structural errors are ignored.
    pub ignores_structure: bool,
    /// The length of the array around `last`.
    pub array_length: usize,
    /// Steps that are left.
    pub steps: usize,
    /// What dates and times are compared by.
    pub zone: Zone<'a>,
}

/// An array or an object is not what an item applies to.
pub(super) fn structural_error(state: SqlState, message: &str) -> Failure {
    Failure::of_value(state, message)
}

impl Run<'_> {
    /// Runs a chain on a value.
    pub fn run(&mut self, chain: &[PathItem], value: &Jsonb, found: Found<'_>) -> Finds {
        self.run_on(chain, value, found, self.is_lax)
    }

    /// What a chain finds; in lax mode arrays are replaced by their elements.
    pub fn values_of(&mut self, chain: &Chain, value: &Jsonb, unwraps: bool) -> Result<Vec<Jsonb>, Failure> {
        let mut values = Vec::new();
        self.run(chain, value, Some(&mut values))?;
        if !unwraps || !self.is_lax || !values.iter().any(|value| matches!(value, Jsonb::Array(_))) {
            return Ok(values);
        }
        let mut unwrapped = Vec::new();
        for value in values {
            match value {
                Jsonb::Array(elements) => elements.iter().try_for_each(|element| keep(&mut unwrapped, element))?,
                other => unwrapped.push(other),
            }
        }
        Ok(unwrapped)
    }

    /// Counts a step.
    pub(super) fn take_step(&mut self) -> Result<(), Failure> {
        let left = self.steps.checked_sub(1).ok_or_else(|| {
            let message = format!("a jsonpath may take at most {STEPS_MAX} steps");
            Failure::Fatal(SqlError::new(SqlState::ProgramLimitExceeded, message))
        });
        self.steps = left?;
        Ok(())
    }

    /// Hands a value to the rest of a chain.
    pub(super) fn next(&mut self, rest: &[PathItem], value: &Jsonb, found: Found<'_>) -> Finds {
        if !rest.is_empty() {
            return self.run(rest, value, found);
        }
        if let Some(found) = found {
            keep(found, value)?;
        }
        Ok(true)
    }

    /// Whether an error of structure is one.
    pub(super) fn structural<T>(&self, state: SqlState, message: &str, otherwise: T) -> Result<T, Failure> {
        if self.ignores_structure { Ok(otherwise) } else { Err(structural_error(state, message)) }
    }

    pub(super) fn run_on(&mut self, chain: &[PathItem], value: &Jsonb, found: Found<'_>, unwraps: bool) -> Finds {
        let Some((item, rest)) = chain.split_first() else { return Ok(false) };
        self.take_step()?;
        match (item, value) {
            // An array is unwrapped where none is expected.
            (
                PathItem::Key(_)
                | PathItem::AnyKey
                | PathItem::Filter(_)
                | PathItem::Datetime(_)
                | PathItem::Method(
                    PathMethod::Abs
                    | PathMethod::Ceiling
                    | PathMethod::Double
                    | PathMethod::Floor
                    | PathMethod::KeyValue,
                ),
                Jsonb::Array(elements),
            ) if unwraps => self.run_on_each(chain, elements.iter(), found, false),
            (PathItem::Key(key), Jsonb::Object(_)) => match value.field(key) {
                Some(field) => self.next(rest, field, found),
                None => {
                    let message = format!("JSON object does not contain key \"{key}\"");
                    self.structural(SqlState::SqlJsonMemberNotFound, &message, false)
                }
            },
            (PathItem::Key(_), _) => {
                let message = "jsonpath member accessor can only be applied to an object";
                self.structural(SqlState::SqlJsonMemberNotFound, message, false)
            }
            (PathItem::AnyKey, Jsonb::Object(fields)) => {
                self.run_on_each(rest, fields.iter().map(|(_, value)| value), found, self.is_lax)
            }
            (PathItem::AnyKey, _) => {
                let message = "jsonpath wildcard member accessor can only be applied to an object";
                self.structural(SqlState::SqlJsonObjectNotFound, message, false)
            }
            (PathItem::AnyElement, Jsonb::Array(elements)) => {
                self.run_on_each(rest, elements.iter(), found, self.is_lax)
            }
            (PathItem::AnyElement, _) if self.is_lax => self.next(rest, value, found),
            (PathItem::AnyElement, _) => {
                let message = "jsonpath wildcard array accessor can only be applied to an array";
                self.structural(SqlState::SqlJsonArrayNotFound, message, false)
            }
            (PathItem::Elements(subscripts), value) => self.run_elements(subscripts, rest, value, found),
            (PathItem::Descendants(first, last), value) => self.run_descendants((*first, *last), rest, value, found),
            (PathItem::Filter(predicate), value) => {
                let around = std::mem::replace(&mut self.current, value.clone());
                let holds = self.holds(predicate, value);
                self.current = around;
                if holds? == Some(true) { self.next(rest, value, found) } else { Ok(false) }
            }
            (PathItem::Root, _) => {
                let root = self.root.clone();
                self.next(rest, &root, found)
            }
            (PathItem::Current, _) => {
                let current = self.current.clone();
                self.next(rest, &current, found)
            }
            (PathItem::Last, _) => {
                let last = Jsonb::Number((self.array_length as i64 - 1).into());
                self.next(rest, &last, found)
            }
            (PathItem::Null, _) => self.next(rest, &Jsonb::Null, found),
            (PathItem::Bool(value), _) => self.next(rest, &Jsonb::Bool(*value), found),
            (PathItem::Number(number), _) => self.next(rest, &Jsonb::Number(number.clone()), found),
            (PathItem::String(string), _) => self.next(rest, &Jsonb::String(string.clone()), found),
            (PathItem::Variable(name), _) => {
                let variable = self.variable(name)?;
                self.next(rest, &variable, found)
            }
            (PathItem::Method(method), value) => self.run_method(*method, rest, value, found),
            (PathItem::Datetime(template), value) => self.run_datetime(template.as_deref(), rest, value, found),
            (PathItem::Sign(is_minus, operand), value) => self.run_sign(*is_minus, operand, rest, value, found),
            (PathItem::Binary(operator, operands), value) if operator.is_arithmetic() => {
                let result = self.operation(*operator, operands, value)?;
                self.next(rest, &Jsonb::Number(result), found)
            }
            (
                PathItem::Binary(..)
                | PathItem::Not(_)
                | PathItem::IsUnknown(_)
                | PathItem::Exists(_)
                | PathItem::LikeRegex(..),
                value,
            ) => {
                let holds = self.holds_item(item, value)?;
                self.next(rest, &holds.map_or(Jsonb::Null, Jsonb::Bool), found)
            }
        }
    }

    /// Runs a chain, which may be empty, on each of several values.
    fn run_on_each<'v>(
        &mut self,
        chain: &[PathItem],
        values: impl Iterator<Item = &'v Jsonb>,
        mut found: Found<'_>,
        unwraps: bool,
    ) -> Finds {
        let mut finds = false;
        for value in values {
            if chain.is_empty() {
                finds = self.next(chain, value, found.as_deref_mut())?;
            } else {
                finds = self.run_on(chain, value, found.as_deref_mut(), unwraps)?;
            }
            if finds && found.is_none() {
                break;
            }
        }
        Ok(finds)
    }

    pub(super) fn variable(&self, name: &str) -> Result<Jsonb, Failure> {
        let Some(variables) = self.variables else { return Ok(Jsonb::Null) };
        variables.field(name).cloned().ok_or_else(|| {
            let message = format!("could not find jsonpath variable \"{name}\"");
            Failure::Fatal(SqlError::new(SqlState::UndefinedObject, message))
        })
    }
}

fn keep(found: &mut Vec<Jsonb>, value: &Jsonb) -> Result<(), Failure> {
    if found.len() >= VALUES_MAX {
        let message = format!("a jsonpath may find at most {VALUES_MAX} values");
        return Err(Failure::Fatal(SqlError::new(SqlState::ProgramLimitExceeded, message)));
    }
    found.push(value.clone());
    Ok(())
}
