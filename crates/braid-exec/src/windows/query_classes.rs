//! The rows of each class of queries of a pass, of whole partitions.
//!
//! The sets that occur in a partition are split into atoms (`set_refinement`), which are its classes: the queries of an atom have the same rows
//! of the partition. The rows of a class are those whose set contains it, in their order, with the class as their set. They come in pieces
//! of at most some thousand rows, or one class, so that a partition with many classes takes little memory beyond its rows.

use std::sync::Arc;

use super::OPERATOR;
use super::segment::WindowKeys;
use super::segmentation::CutRows;
use crate::plan::SetColumn;
use crate::query_sets::set_calculator::{set_column, sets_of};
use crate::query_sets::set_refinement::{Refinement, Refinements};
use crate::{ExecError, MemoryBudget, Reservation, SetNumber, Vector};

/// Bytes for each row of a segment beside its columns: its set, and that set's place.
const ROW_BYTES: usize = 2 * size_of::<SetNumber>();

/// What divides the partitions of a pass into the rows of their classes.
pub(super) struct QueryClasses {
    pub sets: SetColumn,
    /// Those of the partitions.
    pub keys: Arc<WindowKeys>,
    refinements: Refinements,
    budget: Arc<dyn MemoryBudget>,
    /// Rows of a piece, unless a class has more.
    piece_rows: usize,
}

/// A segment on its way to the rows of its classes.
pub(super) struct ClassPieces {
    of: Arc<QueryClasses>,
    rows: CutRows,
    sets: Vec<SetNumber>,
    /// The first row of each partition that is left, the last one first, before that the number of rows.
    bounds: Vec<u32>,
    current: Option<DividedPartition>,
}

/// A partition with its classes.
struct DividedPartition {
    first_row: u32,
    refinement: Arc<Refinement>,
    /// The distinct sets, ascending, and the place of each row's set among them.
    distinct: Vec<SetNumber>,
    places: Vec<u32>,
    /// The number of rows of each class.
    row_counts: Vec<usize>,
    next_class: usize,
}

/// Row numbers with the classes that have them.
#[derive(Default)]
struct Chosen {
    rows: Vec<u32>,
    classes: Vec<SetNumber>,
}

impl QueryClasses {
    pub fn new(sets: SetColumn, keys: Arc<WindowKeys>, budget: Arc<dyn MemoryBudget>, piece_rows: usize) -> Self {
        let refinements = Refinements::new(sets.store.clone(), budget.clone(), OPERATOR);
        Self { sets, keys, refinements, budget, piece_rows }
    }

    /// The pieces of a segment of whole partitions.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn pieces(self: &Arc<Self>, mut rows: CutRows) -> Result<ClassPieces, ExecError> {
        let sets = sets_of(&rows.columns[self.sets.column]);
        let mut bounds = self.keys.partition_bounds(&rows.columns, rows.row_count);
        rows.reservation.resize(rows.reservation.held() + rows.row_count * ROW_BYTES)?;
        bounds.reverse();
        Ok(ClassPieces { of: self.clone(), rows, sets, bounds, current: None })
    }
}

impl ClassPieces {
    /// Whether every partition has one class. The rows then are the only piece.
    fn is_whole(&self) -> bool {
        let mut bounds = self.bounds.iter().rev().copied().peekable();
        std::iter::from_fn(|| Some((bounds.next()?, *bounds.peek()?)))
            .all(|(first, end)| is_uniform(&self.sets[first as usize..end as usize]))
    }

    /// Number of rows that are left, without repetitions.
    pub fn row_count(&self) -> usize {
        self.sets.len()
    }

    /// The rows of some further classes; `None` at the end.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn next(&mut self) -> Result<Option<CutRows>, ExecError> {
        if self.current.is_none() && self.bounds.last() == Some(&0) && self.is_whole() {
            self.bounds.clear();
            let none = Reservation::new(self.of.budget.clone(), OPERATOR);
            let reservation = std::mem::replace(&mut self.rows.reservation, none);
            let columns = std::mem::take(&mut self.rows.columns);
            return Ok(Some(CutRows { row_count: self.rows.row_count, columns, reservation, before: None }));
        }
        let mut chosen = Chosen::default();
        let piece_rows = self.of.piece_rows;
        while chosen.rows.len() < piece_rows {
            let Some(partition) = self.partition()? else { break };
            if !partition.choose(&mut chosen, piece_rows) {
                break;
            }
            if partition.is_done() {
                self.current = None;
            }
        }
        if chosen.rows.is_empty() { Ok(None) } else { self.piece(chosen).map(Some) }
    }

    /// The partition whose classes come next.
    fn partition(&mut self) -> Result<Option<&mut DividedPartition>, ExecError> {
        if self.current.is_none() {
            let Some(first) = self.bounds.pop() else { return Ok(None) };
            let Some(end) = self.bounds.last() else { return Ok(None) };
            let sets = &self.sets[first as usize..*end as usize];
            self.current = Some(DividedPartition::new(first, sets, &self.of.refinements)?);
        }
        Ok(self.current.as_mut())
    }

    fn piece(&self, Chosen { rows, classes }: Chosen) -> Result<CutRows, ExecError> {
        let mut columns: Vec<Vector> = self.rows.columns.iter().map(|column| column.copy(&rows)).collect();
        columns[self.of.sets.column] = set_column(&classes);
        let mut reservation = Reservation::new(self.of.budget.clone(), OPERATOR);
        reservation.resize(columns.iter().map(Vector::bytes).sum())?;
        Ok(CutRows { row_count: rows.len(), columns, reservation, before: None })
    }
}

impl DividedPartition {
    fn new(first_row: u32, sets: &[SetNumber], refinements: &Refinements) -> Result<Self, ExecError> {
        let mut distinct = sets.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let refinement = refinements.of_sets(&distinct)?;
        let place = |set| distinct.binary_search(set).expect("all sets are there") as u32;
        let places: Vec<u32> = sets.iter().map(place).collect();
        let mut of_places = vec![0; distinct.len()];
        places.iter().for_each(|place| of_places[*place as usize] += 1);
        let mut row_counts = vec![0; refinement.atoms().len()];
        for (set, count) in distinct.iter().zip(of_places) {
            refinement.atoms_of(*set).iter().for_each(|atom| row_counts[*atom as usize] += count);
        }
        Ok(Self { first_row, refinement, distinct, places, row_counts, next_class: 0 })
    }

    fn is_done(&self) -> bool {
        self.next_class == self.row_counts.len()
    }

    /// Chooses the rows of the next classes that fit into the piece, of one class at least if it is empty. Returns whether there were any.
    fn choose(&mut self, chosen: &mut Chosen, piece_rows: usize) -> bool {
        let first = self.next_class;
        let mut row_count = chosen.rows.len();
        while let Some(more) = self.row_counts.get(self.next_class)
            && (row_count == 0 || row_count + more <= piece_rows)
        {
            row_count += more;
            self.next_class += 1;
        }
        let classes = first..self.next_class;
        let mut of_classes: Vec<Vec<u32>> =
            classes.clone().map(|class| Vec::with_capacity(self.row_counts[class])).collect();
        // The chosen classes of each set.
        let of_sets: Vec<Vec<usize>> = self.distinct.iter().map(|set| self.chosen_of(*set, &classes)).collect();
        for (row, place) in (self.first_row..).zip(&self.places) {
            of_sets[*place as usize].iter().for_each(|class| of_classes[*class].push(row));
        }
        for (class, rows) in classes.clone().zip(of_classes) {
            chosen.classes.resize(chosen.classes.len() + rows.len(), self.refinement.atoms()[class]);
            chosen.rows.extend(rows);
        }
        !classes.is_empty()
    }

    fn chosen_of(&self, set: SetNumber, classes: &std::ops::Range<usize>) -> Vec<usize> {
        let atoms = self.refinement.atoms_of(set).iter().map(|atom| *atom as usize);
        atoms.filter(|atom| classes.contains(atom)).map(|atom| atom - classes.start).collect()
    }
}

fn is_uniform(sets: &[SetNumber]) -> bool {
    sets.windows(2).all(|pair| pair[0] == pair[1])
}
