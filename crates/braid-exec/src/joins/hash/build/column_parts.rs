//! The parts of a column that the workers collected, and the copying of their pieces into one column.
//!
//! The parts may have different representations: integers of either width, strings with or without a dictionary, or only nulls
//! of any kind.

use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::Buffer;

use crate::joins::hash::build::vec_parts::{VecPart, rejoin, split};
use crate::joins::hash::build_tasks::BuildTasks;
use crate::values::byte_strings::{ByteStrings, View};
use crate::values::coded_strings::recode;
use crate::values::vector::{CodedStrings, Kind, Values};
use crate::{ExecError, Vector};

/// A column in the parts of the workers.
pub(crate) struct ColumnParts {
    pub(crate) vectors: Vec<Vector>,
    /// By vector, where the column is strings.
    strings: Vec<StringPart>,
}

/// The method of copying one worker's strings.
enum StringPart {
    /// Only nulls.
    Nulls,
    /// Views, whose buffers follow this number of others' buffers.
    Views(usize),
    /// Views of these strings, whose buffers follow this number of others' buffers.
    Decoded(Arc<ByteStrings>, usize),
    /// Codes, copied unchanged.
    Codes,
    /// Codes of another dictionary, with the mapping to the common dictionary.
    Recoded(Vec<u32>),
}

/// The common representation of all workers' strings.
pub(crate) enum UnitedStrings {
    Coded(Arc<ByteStrings>),
    Views(Vec<Buffer>),
}

/// Rows of one worker's vector, and their target.
struct Piece<T: Copy> {
    part: usize,
    rows: Range<usize>,
    to: VecPart<T>,
}

/// Copies rows of a part.
type CopyRows<T> = fn(&ColumnParts, usize, Range<usize>, &mut [T]);

impl ColumnParts {
    /// The parts of one column.
    pub(crate) fn new(vectors: Vec<Vector>) -> Self {
        Self { vectors, strings: Vec::new() }
    }

    /// The pieces that are copied at a time, part by part.
    pub(crate) fn pieces(&self, tasks: &BuildTasks) -> Vec<(usize, Range<usize>)> {
        let piece_rows = tasks.piece_rows(self.vectors.iter().map(Vector::len).sum());
        let of_part = |(part, vector): (usize, &Vector)| {
            let len = vector.len();
            (0..len).step_by(piece_rows).map(move |start| (part, start..len.min(start + piece_rows)))
        };
        self.vectors.iter().enumerate().flat_map(of_part).collect()
    }

    fn is_wide(&self) -> bool {
        self.vectors.iter().any(|vector| matches!(vector.values(), Values::Int128(_)))
    }

    /// Bytes per row of the united column, without the bytes of long strings.
    pub(crate) fn row_bytes(&self, kind: Kind) -> usize {
        match kind {
            Kind::Bool => size_of::<bool>(),
            Kind::Integer if self.is_wide() => size_of::<i128>(),
            Kind::Integer => size_of::<i64>(),
            Kind::Float => size_of::<f64>(),
            Kind::String => size_of::<View>(),
        }
    }

    /// The values of all parts.
    pub(crate) async fn unite_values(
        self: &Arc<Self>,
        kind: Kind,
        strings: Option<UnitedStrings>,
        tasks: &mut BuildTasks,
    ) -> Result<Values, ExecError> {
        Ok(match (kind, strings) {
            (Kind::Bool, _) => Values::Bool(fill(self, tasks, copy_bools).await?),
            (Kind::Integer, _) if self.is_wide() => Values::Int128(fill(self, tasks, copy_wide_integers).await?),
            (Kind::Integer, _) => Values::Int(fill(self, tasks, copy_integers).await?),
            (Kind::Float, _) => Values::Float(fill(self, tasks, copy_floats).await?),
            (Kind::String, Some(UnitedStrings::Coded(dictionary))) => {
                Values::Coded(CodedStrings { codes: fill(self, tasks, copy_codes).await?, dictionary })
            }
            (Kind::String, Some(UnitedStrings::Views(buffers))) => {
                Values::Bytes(ByteStrings::of_buffers(fill(self, tasks, copy_views).await?, buffers))
            }
            (Kind::String, None) => unreachable!("it is known what strings become"),
        })
    }

    /// Chooses the method of copying strings.
    pub(crate) fn plan_strings(&mut self) -> UnitedStrings {
        if let Some((dictionary, strings)) = self.one_dictionary() {
            self.strings = strings;
            return UnitedStrings::Coded(dictionary);
        }
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut add = |strings: &ByteStrings| {
            let before = buffers.len();
            buffers.extend(strings.buffers().iter().cloned());
            before
        };
        let strings = self.vectors.iter().map(|vector| match vector.values() {
            Values::Bytes(strings) => StringPart::Views(add(strings)),
            Values::Coded(coded) => {
                let mut dictionary = coded.dictionary.clone();
                if !dictionary.is_closed() {
                    Arc::make_mut(&mut dictionary).shrink();
                }
                let before = add(&dictionary);
                StringPart::Decoded(dictionary, before)
            }
            _ => StringPart::Nulls,
        });
        self.strings = strings.collect();
        UnitedStrings::Views(buffers)
    }

    /// The validity of all rows: false for null.
    pub(crate) async fn unite_validity(self: &Arc<Self>, tasks: &mut BuildTasks) -> Result<Vec<bool>, ExecError> {
        fill(self, tasks, copy_validity).await
    }

    /// The common dictionary of all parts that are not null, if they can have one.
    fn one_dictionary(&self) -> Option<(Arc<ByteStrings>, Vec<StringPart>)> {
        let mut united: Option<Arc<ByteStrings>> = None;
        let mut strings = Vec::with_capacity(self.vectors.len());
        for vector in &self.vectors {
            strings.push(match (vector.values(), &mut united) {
                (Values::Bytes(_), _) => return None,
                (Values::Coded(coded), None) => {
                    united = Some(coded.dictionary.clone());
                    StringPart::Codes
                }
                (Values::Coded(coded), Some(known)) if Arc::ptr_eq(known, &coded.dictionary) => StringPart::Codes,
                (Values::Coded(coded), Some(known)) => StringPart::Recoded(recode(known, &coded.dictionary)?),
                _ => StringPart::Nulls,
            });
        }
        Some((united?, strings))
    }

    /// Panics unless the rows are null, because kinds differ only if one part has only nulls.
    fn expect_nulls(&self, part: usize, rows: Range<usize>) {
        let vector = &self.vectors[part];
        let all_null = vector.valid().is_some_and(|valid| !valid[rows].contains(&true));
        assert!(all_null, "{:?} values among those of another kind", vector.values().kind());
    }
}

async fn fill<T: Copy + Default + Send + Sync + 'static>(
    parts: &Arc<ColumnParts>,
    tasks: &mut BuildTasks,
    copy: CopyRows<T>,
) -> Result<Vec<T>, ExecError> {
    let ranges = parts.pieces(tasks);
    let row_count = ranges.iter().map(|(_, rows)| rows.len()).sum();
    let room = split(vec![T::default(); row_count], ranges.iter().map(|(_, rows)| rows.len()));
    let pieces = ranges.into_iter().zip(room).map(|((part, rows), to)| Piece { part, rows, to }).collect();
    let shared = Arc::new((parts.clone(), copy));
    let filled = tasks.each(&shared, pieces, |(parts, copy), piece, pace| {
        Box::pin(async move {
            let Piece { part, rows, mut to } = piece;
            copy(parts, part, rows, &mut to);
            pace.step(to.len()).await?;
            Ok(to)
        })
    });
    Ok(rejoin(filled.await?))
}

fn copy_validity(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [bool]) {
    match parts.vectors[part].valid() {
        Some(valid) => to.copy_from_slice(&valid[rows]),
        None => to.fill(true),
    }
}

fn copy_bools(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [bool]) {
    match parts.vectors[part].values() {
        Values::Bool(values) => to.copy_from_slice(&values[rows]),
        _ => parts.expect_nulls(part, rows),
    }
}

fn copy_integers(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [i64]) {
    match parts.vectors[part].values() {
        Values::Int(values) => to.copy_from_slice(&values[rows]),
        _ => parts.expect_nulls(part, rows),
    }
}

fn copy_wide_integers(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [i128]) {
    match parts.vectors[part].values() {
        Values::Int128(values) => to.copy_from_slice(&values[rows]),
        Values::Int(values) => to.iter_mut().zip(&values[rows]).for_each(|(to, value)| *to = (*value).into()),
        _ => parts.expect_nulls(part, rows),
    }
}

fn copy_floats(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [f64]) {
    match parts.vectors[part].values() {
        Values::Float(values) => to.copy_from_slice(&values[rows]),
        _ => parts.expect_nulls(part, rows),
    }
}

fn copy_codes(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [u32]) {
    match (parts.vectors[part].values(), &parts.strings[part]) {
        (Values::Coded(coded), StringPart::Recoded(codes)) => {
            // The value under a null may be out of the range of the dictionary.
            let known = |code: &u32| codes.get(*code as usize).copied().unwrap_or(0);
            to.iter_mut().zip(&coded.codes[rows]).for_each(|(to, code)| *to = known(code));
        }
        (Values::Coded(coded), _) => to.copy_from_slice(&coded.codes[rows]),
        _ => parts.expect_nulls(part, rows),
    }
}

fn copy_views(parts: &ColumnParts, part: usize, rows: Range<usize>, to: &mut [View]) {
    match (parts.vectors[part].values(), &parts.strings[part]) {
        (Values::Bytes(strings), StringPart::Views(before)) => {
            to.iter_mut().zip(rows).for_each(|(to, row)| *to = strings.view_behind(row, *before));
        }
        (Values::Coded(coded), StringPart::Decoded(strings, before)) => {
            let codes = to.iter_mut().zip(&coded.codes[rows]);
            codes.for_each(|(to, code)| *to = strings.view_behind(*code as usize, *before));
        }
        _ => parts.expect_nulls(part, rows),
    }
}
