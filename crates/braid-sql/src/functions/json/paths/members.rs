//! The members of values that a path asks for: subscripts, and descendants.

use super::execution::{Finds, Found, Run, structural_error};
use super::failure::Failure;
use crate::SqlState;
use crate::values::json::Jsonb;
use crate::values::json_path::{Chain, LEAVES, PathItem};
use crate::values::numeric::NumericKind;

impl Run<'_> {
    pub(super) fn run_elements(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        rest: &[PathItem],
        value: &Jsonb,
        found: Found<'_>,
    ) -> Finds {
        let elements = match value {
            Jsonb::Array(elements) => &elements[..],
            other if self.is_lax => std::slice::from_ref(other),
            _ => {
                let message = "jsonpath array accessor can only be applied to an array";
                return self.structural(SqlState::SqlJsonArrayNotFound, message, false);
            }
        };
        let around = std::mem::replace(&mut self.array_length, elements.len());
        let finds = self.run_subscripts(subscripts, rest, (value, elements), found);
        self.array_length = around;
        finds
    }

    fn run_subscripts(
        &mut self,
        subscripts: &[(Chain, Option<Chain>)],
        rest: &[PathItem],
        (value, elements): (&Jsonb, &[Jsonb]),
        mut found: Found<'_>,
    ) -> Finds {
        let mut finds = false;
        for (first, last) in subscripts {
            let first = self.subscript(first, value)?;
            let last = match last {
                Some(last) => self.subscript(last, value)?,
                None => first,
            };
            let length = elements.len() as i64;
            if !self.ignores_structure && (first < 0 || first > last || last >= length) {
                let message = "jsonpath array subscript is out of bounds";
                return Err(structural_error(SqlState::InvalidSqlJsonSubscript, message));
            }
            finds = false;
            for index in first.max(0)..=last.min(length - 1) {
                finds = self.next(rest, &elements[index as usize], found.as_deref_mut())?;
                if finds && found.is_none() {
                    return Ok(true);
                }
            }
        }
        Ok(finds)
    }

    fn subscript(&mut self, chain: &Chain, value: &Jsonb) -> Result<i64, Failure> {
        let invalid = |message: &str| Failure::of_value(SqlState::InvalidSqlJsonSubscript, message);
        let mut values = Vec::new();
        self.run(chain, value, Some(&mut values))?;
        let [Jsonb::Number(number)] = &values[..] else {
            return Err(invalid("jsonpath array subscript is not a single numeric value"));
        };
        let index = number.trunc(0).map_err(Failure::Fatal)?.to_integer();
        let NumericKind::Integer(index) = index else {
            return Err(invalid("jsonpath array subscript is out of integer range"));
        };
        let index = i32::try_from(index).map_err(|_| invalid("jsonpath array subscript is out of integer range"))?;
        Ok(index.into())
    }

    /// A value, the values in it, those in them, and so on, as far as their levels are asked for.
    pub(super) fn run_descendants(
        &mut self,
        (first, last): (u32, u32),
        rest: &[PathItem],
        value: &Jsonb,
        mut found: Found<'_>,
    ) -> Finds {
        let around = self.ignores_structure;
        let mut finds = false;
        if first == 0 {
            self.ignores_structure = true;
            let result = self.next(rest, value, found.as_deref_mut());
            self.ignores_structure = around;
            finds = result?;
            if finds && found.is_none() {
                return Ok(true);
            }
        }
        // The values whose members are still to come, the next one last.
        let mut pending: Vec<(&Jsonb, u32)> = Vec::new();
        push_members(value, 1, &mut pending);
        while let Some((value, level)) = pending.pop() {
            if level > last {
                continue;
            }
            if level >= first || ((first, last) == (LEAVES, LEAVES) && value.is_scalar()) {
                self.ignores_structure = true;
                let result = if rest.is_empty() {
                    self.next(rest, value, found.as_deref_mut())
                } else {
                    self.run_on(rest, value, found.as_deref_mut(), self.is_lax)
                };
                self.ignores_structure = around;
                finds = result?;
                if finds && found.is_none() {
                    return Ok(true);
                }
            }
            if level < last {
                push_members(value, level + 1, &mut pending);
            }
        }
        Ok(finds)
    }
}

/// Adds the members of a value, the first one last.
fn push_members<'v>(value: &'v Jsonb, level: u32, pending: &mut Vec<(&'v Jsonb, u32)>) {
    match value {
        Jsonb::Array(elements) => pending.extend(elements.iter().rev().map(|element| (element, level))),
        Jsonb::Object(fields) => pending.extend(fields.iter().rev().map(|(_, value)| (value, level))),
        _ => {}
    }
}
