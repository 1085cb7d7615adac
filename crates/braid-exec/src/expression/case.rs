//! CASE: each row's result is that of the first branch whose condition is true.
//!
//! Each branch gets its rows as an ascending list. Each result is evaluated for its rows, and the pieces are combined.
//! Constants and columns are copied directly. Pieces may differ in the width of integers and the representation of strings.
//! If all strings are constants, they become a dictionary that all batches share.

use std::sync::Arc;

use braid_storage::Scalar;

use crate::exec_error::ExecError;
use crate::expression::node::Node;
use crate::expression::operand::{Operand, Side, nulls};
use crate::expression::row_subset::{Evaluated, Part};
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};
use crate::{Batch, Vector};

/// CASE WHEN.
#[derive(Debug)]
pub(super) struct Case {
    branches: Vec<Branch>,
    otherwise: Part,
    /// The distinct strings among the results that are constants.
    constants: Arc<ByteStrings>,
}

#[derive(Debug)]
struct Branch {
    condition: Part,
    result: Part,
}

/// Results for some rows of the batch.
struct Piece {
    rows: Vec<u32>,
    values: Evaluated,
}

impl Case {
    /// A CASE with these conditions and results, and the result of ELSE.
    pub fn new(branches: impl IntoIterator<Item = (Part, Part)>, otherwise: Part) -> Self {
        let branch = |(condition, result)| Branch { condition, result };
        let branches: Vec<Branch> = branches.into_iter().map(branch).collect();
        let mut constants: Vec<&[u8]> = Vec::new();
        for part in branches.iter().map(|branch| &branch.result).chain([&otherwise]) {
            if let Node::Constant(Some(constant)) = &part.node
                && let Scalar::Bytes(string) = constant.as_ref()
                && !constants.contains(&string.as_slice())
            {
                constants.push(string);
            }
        }
        let mut constants = ByteStrings::from_strings(constants);
        constants.shrink();
        Self { branches, otherwise, constants: Arc::new(constants) }
    }

    /// Its value for each row.
    pub fn evaluate(&mut self, batch: &mut Batch) -> Result<Operand, ExecError> {
        let row_count = batch.row_count();
        let mut undecided: Vec<u32> = (0..row_count as u32).collect();
        let mut pieces = Vec::with_capacity(self.branches.len() + 1);
        for Branch { condition, result } in &mut self.branches {
            if undecided.is_empty() {
                break;
            }
            let selected = condition.select_at(batch, &undecided)?;
            let (rows, others) = divide(&undecided, &selected);
            undecided = others;
            pieces.extend(Piece::evaluate(result, batch, rows)?);
        }
        pieces.extend(Piece::evaluate(&mut self.otherwise, batch, undecided)?);
        Ok(match pieces.len() {
            0 => nulls(),
            // One piece has all rows.
            1 => pieces.remove(0).values.operand(),
            _ => put_together(&pieces, row_count, &self.constants),
        })
    }
}

impl Piece {
    /// The piece of a result for these rows, or `None` without rows.
    fn evaluate(result: &mut Part, batch: &mut Batch, rows: Vec<u32>) -> Result<Option<Self>, ExecError> {
        if rows.is_empty() {
            return Ok(None);
        }
        let values = result.evaluate_at(batch, &rows)?;
        Ok(Some(Self { rows, values }))
    }

    /// Its vector, unless it is a constant.
    fn vector(&self) -> Option<&Vector> {
        match &self.values {
            Evaluated::Whole(Operand::Vector(vector)) | Evaluated::Taken(Operand::Vector(vector)) => Some(vector),
            _ => None,
        }
    }

    fn constant(&self) -> Option<&Scalar> {
        match &self.values {
            Evaluated::Whole(Operand::Constant(constant)) | Evaluated::Taken(Operand::Constant(constant)) => {
                constant.as_deref()
            }
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        match &self.values {
            Evaluated::Whole(operand) | Evaluated::Taken(operand) => operand.is_null(),
        }
    }

    /// Writes its values to their rows.
    #[inline]
    fn scatter<A: Copy, B: Copy>(&self, values: Side<'_, A>, to: &mut [B], convert: impl Fn(A) -> B) {
        match (values, &self.values) {
            (Side::All(value), _) => self.rows.iter().for_each(|row| to[*row as usize] = convert(value)),
            (Side::Each(values), Evaluated::Whole(_)) => {
                self.rows.iter().for_each(|row| to[*row as usize] = convert(values[*row as usize]));
            }
            (Side::Each(values), Evaluated::Taken(_)) => {
                self.rows.iter().zip(values).for_each(|(row, value)| to[*row as usize] = convert(*value));
            }
        }
    }
}

impl Evaluated {
    fn operand(self) -> Operand {
        match self {
            Self::Whole(operand) | Self::Taken(operand) => operand,
        }
    }
}

/// Splits rows into the selected rows and the others.
fn divide(rows: &[u32], selected: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let (mut taken, mut others) = (vec![0; rows.len()], vec![0; rows.len()]);
    let mut count = 0;
    for (at, (row, selected)) in rows.iter().zip(selected).enumerate() {
        // The row is written to both lists and counted in one, which avoids mispredicted branches.
        taken[count] = *row;
        others[at - count] = *row;
        count += usize::from(*selected);
    }
    others.truncate(rows.len() - count);
    taken.truncate(count);
    (taken, others)
}

fn put_together(pieces: &[Piece], row_count: usize, constants: &Arc<ByteStrings>) -> Operand {
    // A null piece may have any kind, so that only other pieces determine the kind of the result.
    let with_values: Vec<&Piece> = pieces.iter().filter(|piece| !piece.is_null()).collect();
    let Some(first) = with_values.first() else { return nulls() };
    let values = match (first.vector().map(Vector::values), first.constant()) {
        (Some(Values::Bool(_)), _) | (_, Some(Scalar::Bool(_))) => Values::Bool(bools(&with_values, row_count)),
        (Some(Values::Float(_)), _) | (_, Some(Scalar::Float(_))) => Values::Float(floats(&with_values, row_count)),
        (Some(Values::Int(_) | Values::Int128(_)), _) | (_, Some(Scalar::Int(_) | Scalar::Int128(_))) => {
            integers(&with_values, row_count)
        }
        (Some(Values::Bytes(_) | Values::Coded(_)), _) | (_, Some(Scalar::Bytes(_))) => {
            strings(&with_values, row_count, constants)
        }
        (_, Some(Scalar::Interval(..))) | (None, None) => panic!("vectors hold no intervals"),
    };
    Vector::new(values, validity(pieces, row_count)).into()
}

fn validity(pieces: &[Piece], row_count: usize) -> Option<Vec<bool>> {
    let mut valid: Option<Vec<bool>> = None;
    for piece in pieces {
        let side = match piece.vector() {
            Some(vector) => vector.valid().map(Side::Each),
            None => piece.constant().is_none().then_some(Side::All(false)),
        };
        if let Some(side) = side {
            piece.scatter(side, valid.get_or_insert_with(|| vec![true; row_count]), |valid| valid);
        }
    }
    valid
}

fn bools(pieces: &[&Piece], row_count: usize) -> Vec<bool> {
    let mut all = vec![false; row_count];
    for piece in pieces {
        let side = match (piece.vector().map(Vector::values), piece.constant()) {
            (Some(Values::Bool(values)), _) => Side::Each(values.as_slice()),
            (_, Some(Scalar::Bool(value))) => Side::All(*value),
            _ => panic!("results of CASE are of one kind"),
        };
        piece.scatter(side, &mut all, |value| value);
    }
    all
}

fn floats(pieces: &[&Piece], row_count: usize) -> Vec<f64> {
    let mut all = vec![0.0; row_count];
    for piece in pieces {
        let side = match (piece.vector().map(Vector::values), piece.constant()) {
            (Some(Values::Float(values)), _) => Side::Each(values.as_slice()),
            (_, Some(Scalar::Float(value))) => Side::All(*value),
            _ => panic!("results of CASE are of one kind"),
        };
        piece.scatter(side, &mut all, |value| value);
    }
    all
}

fn integers(pieces: &[&Piece], row_count: usize) -> Values {
    let is_wide = |piece: &&Piece| match (piece.vector().map(Vector::values), piece.constant()) {
        (Some(values), _) => matches!(values, Values::Int128(_)),
        (_, Some(Scalar::Int128(value))) => i64::try_from(*value).is_err(),
        _ => false,
    };
    if pieces.iter().any(is_wide) {
        let mut all = vec![0_i128; row_count];
        for piece in pieces {
            match (piece.vector().map(Vector::values), piece.constant()) {
                (Some(Values::Int(values)), _) => piece.scatter(Side::Each(values), &mut all, i128::from),
                (Some(Values::Int128(values)), _) => piece.scatter(Side::Each(values), &mut all, |value| value),
                (_, Some(constant)) => piece.scatter(Side::All(integer(constant)), &mut all, |value| value),
                _ => panic!("results of CASE are of one kind"),
            }
        }
        return Values::Int128(all);
    }
    let mut all = vec![0_i64; row_count];
    for piece in pieces {
        match (piece.vector().map(Vector::values), piece.constant()) {
            (Some(Values::Int(values)), _) => piece.scatter(Side::Each(values), &mut all, |value| value),
            // The check above has excluded wide integers.
            (_, Some(constant)) => piece.scatter(Side::All(integer(constant) as i64), &mut all, |value| value),
            _ => panic!("results of CASE are of one kind"),
        }
    }
    Values::Int(all)
}

fn integer(constant: &Scalar) -> i128 {
    match constant {
        Scalar::Int(value) => (*value).into(),
        Scalar::Int128(value) => *value,
        _ => panic!("results of CASE are of one kind"),
    }
}

fn strings(pieces: &[&Piece], row_count: usize, constants: &Arc<ByteStrings>) -> Values {
    if let Some(coded) = coded(pieces, row_count, constants) {
        return Values::Coded(coded);
    }
    // Concatenates the strings of all pieces, then takes them in the order of the rows. Long strings stay where they are counted.
    let mut all = ByteStrings::default();
    let mut positions = vec![0; row_count];
    for piece in pieces {
        let before = all.len() as u32;
        match (piece.vector().map(Vector::values), piece.constant(), &piece.values) {
            (_, Some(Scalar::Bytes(string)), _) => {
                all.push(string);
                piece.scatter(Side::All(before), &mut positions, |position| position);
                continue;
            }
            (Some(Values::Bytes(strings)), _, Evaluated::Whole(_)) => all.append_or_share(strings, &piece.rows),
            (Some(Values::Bytes(strings)), _, Evaluated::Taken(_)) => {
                let rows: Vec<u32> = (0..strings.len() as u32).collect();
                all.append_or_share(strings, &rows);
            }
            (Some(Values::Coded(coded)), _, Evaluated::Taken(_)) => {
                all.append_selected(&coded.dictionary, &coded.codes);
            }
            (Some(Values::Coded(coded)), _, Evaluated::Whole(_)) => {
                let codes: Vec<u32> = piece.rows.iter().map(|row| coded.codes[*row as usize]).collect();
                all.append_selected(&coded.dictionary, &codes);
            }
            _ => panic!("results of CASE are of one kind"),
        }
        piece.rows.iter().zip(before..).for_each(|(row, position)| positions[*row as usize] = position);
    }
    all.shrink();
    Values::Bytes(all.take(&positions))
}

/// The strings as codes, if all are constants or have one dictionary.
fn coded(pieces: &[&Piece], row_count: usize, constants: &Arc<ByteStrings>) -> Option<CodedStrings> {
    let dictionary = match pieces[0].vector().map(Vector::values) {
        Some(Values::Coded(coded)) => &coded.dictionary,
        Some(_) => return None,
        None => constants,
    };
    let mut codes = vec![0; row_count];
    for piece in pieces {
        match (piece.vector().map(Vector::values), piece.constant()) {
            (Some(Values::Coded(coded)), _) if Arc::ptr_eq(&coded.dictionary, dictionary) => {
                piece.scatter(Side::Each(&coded.codes), &mut codes, |code| code);
            }
            (None, Some(Scalar::Bytes(string))) if Arc::ptr_eq(dictionary, constants) => {
                let code = (0..dictionary.len()).find(|code| dictionary.get(*code) == string.as_slice())?;
                piece.scatter(Side::All(code as u32), &mut codes, |code| code);
            }
            _ => return None,
        }
    }
    Some(CodedStrings { codes, dictionary: dictionary.clone() })
}
