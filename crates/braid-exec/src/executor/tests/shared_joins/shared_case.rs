//! A random shared join, its expected rows for each query, and their comparison.
//!
//! Column numbers of a case do not count sets. The position of the set among the columns of the shared plan is random for each
//! side.

use super::super::memory_tables::Kind;
use super::super::*;
use crate::expression::Comparison;
use crate::keys::null_keys::NullKeys;
use crate::plan::shared_operator::{JoinSets, SetCondition, SetEvaluator};
use crate::{QueryBitmap, QueryNumber, SetNumber, SetStore};

pub const KINDS: [JoinKind; 9] = [
    JoinKind::Inner,
    JoinKind::ProbeOuter,
    JoinKind::BuildOuter,
    JoinKind::FullOuter,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::ProbeMark,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
];

/// The rows of a side, with the set of each row. Rows without sets belong to all queries.
struct Side {
    kinds: Vec<Kind>,
    rows: Vec<Row>,
    sets: Option<Vec<SetNumber>>,
    /// The position of the set.
    set_at: usize,
    table: Arc<Table>,
}

/// A node of the plan. Column numbers do not count sets.
enum Node {
    Side(usize),
    Join(Box<JoinNode>),
}

struct JoinNode {
    probe: Node,
    build: Node,
    condition: JoinCondition,
    /// The column that determines the queries whose condition a pair satisfies: see [`SharedCase::counts_for`].
    by_query: Option<usize>,
}

/// The parameters of random cases.
pub struct Sizes {
    pub query_counts: &'static [usize],
    pub row_counts: &'static [u64],
    pub varieties: &'static [u64],
    pub kinds: &'static [JoinKind],
    /// In columns with nulls, one value in this number is null.
    pub one_null_in: u64,
    /// One join in this number has no keys; zero if all have keys.
    pub one_without_keys_in: u64,
}

pub const SMALL: Sizes = Sizes {
    query_counts: &[1, 2, 3, 3, 4, 6, 6, 70],
    row_counts: &[1, 3, 8, 14, 30],
    varieties: &[2, 4, 9],
    kinds: &KINDS,
    one_null_in: 4,
    one_without_keys_in: 6,
};

pub struct SharedCase {
    seed: u64,
    pub store: Arc<SetStore>,
    sides: Vec<Side>,
    step: i64,
    root: Node,
    /// The columns of the root that are read; `None` for all.
    projection: Option<Vec<usize>>,
    pub random: SeededRandom,
}

impl Drop for SharedCase {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut text = String::new();
            self.plan().0.describe(0, &mut text).unwrap();
            eprintln!("{text}");
            for side in &self.sides {
                let sets = side.sets.iter().flatten().map(|set| self.store.queries(*set)).collect::<Vec<_>>();
                eprintln!("{:?}{}\nfor {sets:?}, at {}", side.table, text_of_first(&side.rows), side.set_at);
            }
        }
    }
}

fn text_of_first(rows: &[Row]) -> String {
    text(&rows[..rows.len().min(40)])
}

/// The position of a column among columns with a set at `set`.
fn with_set(column: usize, set: Option<usize>) -> usize {
    column + usize::from(set.is_some_and(|set| set <= column))
}

fn one_of<T: Copy>(random: &mut SeededRandom, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

impl SharedCase {
    pub fn new(seed: u64, sizes: &Sizes) -> Self {
        let mut random = SeededRandom::new(seed);
        let store = SetStore::new(one_of(&mut random, sizes.query_counts), FixedBudget::new(PLENTY)).unwrap();
        let step = one_of(&mut random, &[1, 1, 7, 1_000_003]);
        let root = Node::Side(0);
        let mut case = Self { seed, store, sides: Vec::new(), step, root, projection: None, random };
        let depth = if sizes.row_counts.len() > 1 && case.random.chance(1, 2) { 2 } else { 1 };
        case.root = case.node(depth, sizes);
        if case.random.chance(1, 3) {
            let columns = case.kinds(&case.root).len();
            case.projection = Some((0..columns).filter(|_| case.random.chance(1, 2)).collect());
        }
        case
    }

    /// A case of one join, each seed with the next kind, whose sides and pairs exceed a vector. `None` if it has no keys: it would
    /// have too many pairs.
    pub fn large(seed: u64) -> Option<Self> {
        let at = seed as usize % KINDS.len();
        let sizes = Sizes {
            query_counts: &[2, 3],
            row_counts: &[2_500],
            varieties: &[300, 600],
            kinds: &KINDS[at..=at],
            one_null_in: 100,
            one_without_keys_in: 0,
        };
        let case = Self::new(seed, &sizes);
        let Node::Join(join) = &case.root else { unreachable!("the root is a join") };
        let has_keys = !join.condition.probe_keys.is_empty();
        has_keys.then_some(case)
    }

    fn side(&mut self, sizes: &Sizes) -> Node {
        let random = &mut self.random;
        let kinds: Vec<Kind> =
            (0..2 + random.below(2)).map(|_| one_of(random, &[Kind::Int, Kind::Int, Kind::Text])).collect();
        let columns: Vec<(Kind, u64, bool)> =
            kinds.iter().map(|kind| (*kind, one_of(random, sizes.varieties), random.chance(1, 2))).collect();
        let most = one_of(random, sizes.row_counts);
        let row_count = most - random.below(most.min(20));
        let row = |random: &mut SeededRandom| -> Row {
            let value = |(kind, variety, nulls): &(Kind, u64, bool)| {
                let is_null = *nulls && random.chance(1, sizes.one_null_in);
                (!is_null).then(|| kind.scalar(random.below(*variety), self.step))
            };
            columns.iter().map(value).collect()
        };
        let rows: Vec<Row> = (0..row_count).map(|_| row(random)).collect();
        let sets = random.chance(4, 5).then(|| random_sets(&self.store, row_count, random));
        let set_at = if random.chance(2, 3) { kinds.len() } else { random.below(kinds.len() as u64 + 1) as usize };
        let (mut all_kinds, mut all_rows) = (kinds.clone(), rows.clone());
        if let Some(sets) = &sets {
            all_kinds.insert(set_at, Kind::Int);
            let values = sets.iter().map(|set| Some(Scalar::Int(set.value())));
            all_rows.iter_mut().zip(values).for_each(|(row, set)| row.insert(set_at, set));
        }
        let table = Table::of_rows(self.sides.len(), all_kinds, all_rows, random);
        self.sides.push(Side { kinds, rows, sets, set_at, table });
        Node::Side(self.sides.len() - 1)
    }

    fn node(&mut self, depth: usize, sizes: &Sizes) -> Node {
        if depth == 0 {
            return self.side(sizes);
        }
        let deeper_probe = self.random.chance(1, 2);
        let probe = self.node(if deeper_probe { depth - 1 } else { 0 }, sizes);
        let build = self.node(if deeper_probe { 0 } else { depth - 1 }, sizes);
        let (of_probe, of_build) = (self.kinds(&probe), self.kinds(&build));
        let random = &mut self.random;
        let mut equal: Vec<(usize, usize)> = Vec::new();
        for (at, kind) in of_probe.iter().enumerate() {
            equal.extend((0..of_build.len()).filter(|other| of_build[*other] == *kind).map(|other| (at, other)));
        }
        let mut key_count = 1 + random.below(4) / 3;
        if sizes.one_without_keys_in > 0 && random.chance(1, sizes.one_without_keys_in) {
            key_count = 0;
        }
        let key_count = if equal.is_empty() { 0 } else { key_count };
        let keys: Vec<(usize, usize)> = (0..key_count).map(|_| one_of(random, &equal)).collect();
        let kind = one_of(random, sizes.kinds);
        let nulls_equal = random.chance(1, 3);
        let may_be_not_in = matches!(kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && key_count == 1;
        let integers = |kinds: &[Kind], first: usize| -> Vec<usize> {
            (0..kinds.len()).filter(|at| kinds[*at] == Kind::Int).map(|at| first + at).collect()
        };
        let (probe_integers, build_integers) = (integers(&of_probe, 0), integers(&of_build, of_probe.len()));
        let all_integers = [probe_integers.clone(), build_integers.clone()].concat();
        let has_integers = !probe_integers.is_empty() && !build_integers.is_empty();
        let residual = (has_integers && random.chance(1, 3)).then(|| Expression::Compare {
            comparison: one_of(random, &[Comparison::Less, Comparison::NotEqual, Comparison::GreaterOrEqual]),
            left: Expression::Column(one_of(random, &probe_integers)).into(),
            right: Expression::Column(one_of(random, &build_integers)).into(),
        });
        let condition = JoinCondition {
            kind,
            probe_keys: keys.iter().map(|(probe, _)| *probe).collect(),
            build_keys: keys.iter().map(|(_, build)| *build).collect(),
            residual,
            null_keys: match nulls_equal {
                true => NullKeys::EqualNull,
                false if may_be_not_in && random.chance(2, 3) => NullKeys::Unknown,
                false => NullKeys::EqualNothing,
            },
        };
        let by_query = (!all_integers.is_empty() && random.chance(1, 3)).then(|| one_of(random, &all_integers));
        Node::Join(Box::new(JoinNode { probe, build, condition, by_query }))
    }

    fn kinds(&self, node: &Node) -> Vec<Kind> {
        match node {
            Node::Side(side) => self.sides[*side].kinds.clone(),
            Node::Join(join) => {
                let columns = join.condition.kind.columns();
                let probe = if columns.probe { self.kinds(&join.probe) } else { Vec::new() };
                let build = if columns.build { self.kinds(&join.build) } else { Vec::new() };
                let mark: &[Kind] = if columns.mark { &[Kind::Bool] } else { &[] };
                [&probe[..], mark, &build].concat()
            }
        }
    }

    /// The condition that depends on the query.
    fn counts_for(value: i64, step: i64, query: QueryNumber) -> bool {
        (value / step + query.index() as i64).rem_euclid(3) == 0
    }

    fn set_condition(&self, column: usize) -> SetCondition {
        let (store, step) = (self.store.clone(), self.step);
        let evaluator = move || {
            let store = store.clone();
            let evaluate = move |batch: &mut Batch| {
                let values = batch.column(column);
                let queries = |row: usize| match values.value(row) {
                    Some(Scalar::Int(value)) => store.number_of(&QueryBitmap::from_fn(store.query_count(), |query| {
                        Self::counts_for(value, step, query)
                    })),
                    _ => Ok(SetNumber::EMPTY),
                };
                (0..batch.row_count()).map(queries).collect()
            };
            Box::new(evaluate) as SetEvaluator
        };
        SetCondition { columns: vec![column], evaluator: Arc::new(evaluator) }
    }

    /// The plan of all queries, and the position of the set.
    fn shared(&self, node: &Node) -> (Plan, Option<usize>) {
        let join = match node {
            Node::Side(side) => {
                let Side { kinds, sets, set_at, table, .. } = &self.sides[*side];
                let column_count = kinds.len() + usize::from(sets.is_some());
                return (Plan::Source { source: table.clone(), column_count }, sets.is_some().then_some(*set_at));
            }
            Node::Join(join) => join,
        };
        let ((probe, of_probe), (build, of_build)) = (self.shared(&join.probe), self.shared(&join.build));
        let probe_width = self.kinds(&join.probe).len();
        let in_pair = |column: usize| match column.checked_sub(probe_width) {
            None => with_set(column, of_probe),
            Some(column) => probe.column_count() + with_set(column, of_build),
        };
        let mut condition = join.condition.clone();
        condition.probe_keys.iter_mut().for_each(|key| *key = with_set(*key, of_probe));
        condition.build_keys.iter_mut().for_each(|key| *key = with_set(*key, of_build));
        condition.residual.iter_mut().for_each(|residual| residual.map_columns(&mut |column| in_pair(column)));
        let by_query = join.by_query.map(|column| self.set_condition(in_pair(column)));
        let sets = JoinSets { store: self.store.clone(), probe: of_probe, build: of_build, condition: by_query };
        let plan = Plan::Shared(Box::new(SharedOperator::Join { build, probe, condition, sets }));
        let set = plan.column_count() - 1;
        assert_eq!(set, self.kinds(node).len());
        (plan, Some(set))
    }

    pub fn plan(&self) -> (Plan, usize) {
        let (plan, set) = self.shared(&self.root);
        let set = set.expect("a join has sets");
        let Some(projection) = &self.projection else { return (plan, set) };
        let expressions = projection.iter().chain([&set]).map(|column| Expression::Column(*column)).collect();
        (Plan::Project { input: plan.into(), expressions }, projection.len())
    }

    /// The plan of one query over the tables that [`Self::tables_of`] has for it.
    fn plain(&self, node: &Node, query: QueryNumber, tables: &[Arc<Table>]) -> Plan {
        match node {
            Node::Side(side) => {
                Plan::Source { source: tables[*side].clone(), column_count: self.sides[*side].kinds.len() }
            }
            Node::Join(join) => {
                let mut condition = join.condition.clone();
                if let Some(column) = join.by_query {
                    let list = (-3..600).filter(|value| Self::counts_for(*value, 1, query));
                    let list = list.map(|value| Scalar::Int(value * self.step)).collect();
                    let counts = Expression::In { value: Expression::Column(column).into(), list };
                    condition.residual =
                        Some(Expression::And(condition.residual.into_iter().chain([counts]).collect()));
                }
                let plain = |node| self.plain(node, query, tables);
                Plan::join(plain(&join.build), plain(&join.probe), condition)
            }
        }
    }

    /// The rows of each side that belong to the query.
    fn tables_of(&self, query: QueryNumber) -> Vec<Arc<Table>> {
        let table = |(number, side): (usize, &Side)| {
            let wanted = |row: &usize| match &side.sets {
                Some(sets) => self.store.queries(sets[*row]).contains(&query),
                None => true,
            };
            let rows = (0..side.rows.len()).filter(wanted).map(|row| side.rows[row].clone()).collect();
            Table::of_rows(number, side.kinds.clone(), rows, &mut SeededRandom::new(self.seed))
        };
        self.sides.iter().enumerate().map(table).collect()
    }

    fn plain_plan(&self, query: QueryNumber) -> (Plan, Vec<Arc<Table>>) {
        let tables = self.tables_of(query);
        let plan = self.plain(&self.root, query, &tables);
        let Some(projection) = &self.projection else { return (plan, tables) };
        let expressions = projection.iter().map(|column| Expression::Column(*column)).collect();
        (Plan::Project { input: plan.into(), expressions }, tables)
    }

    /// Whether its topmost join is NOT IN without further conditions, which can spill.
    pub fn is_not_in(&self) -> bool {
        let Node::Join(join) = &self.root else { unreachable!("the root is a join") };
        let condition = &join.condition;
        condition.null_keys.are_unknown() && condition.residual.is_none() && join.by_query.is_none()
    }

    fn queries(&self) -> impl Iterator<Item = QueryNumber> + use<> {
        (0..self.store.query_count()).map(QueryNumber::at)
    }

    /// The answer of each query by definition; `None` if there are too many pairs.
    pub fn expected(&self) -> Option<Vec<Answer>> {
        let answer = |query| {
            let (plan, tables) = self.plain_plan(query);
            Definition { tables: &tables, parameters: &[], subquery_values: Vec::new() }.answer(&plan).ok()
        };
        self.queries().map(answer).collect()
    }

    /// The answer of each query as ordinary joins give it, for cases with too many pairs for the definition.
    pub async fn expected_alone(&self) -> Vec<Answer> {
        let mut expected = Vec::new();
        for query in self.queries() {
            let rows = run(&self.plain_plan(query).0, 2, &FixedBudget::new(PLENTY)).await.unwrap();
            expected.push(Answer { rows, order: Order::Any });
        }
        expected
    }

    /// Distributes rows to queries by their sets, and compares them with the expected answers.
    pub fn assert_answers(&self, found: Vec<Row>, expected: &[Answer]) {
        let mut by_query: Vec<Vec<Row>> = vec![Vec::new(); expected.len()];
        let (_, set_at) = self.plan();
        for mut row in found {
            let Some(Scalar::Int(set)) = row.remove(set_at) else { panic!("a row without a set") };
            let queries = self.store.queries(SetNumber::from_value(set));
            assert!(!queries.is_empty(), "every row belongs to a query");
            queries.into_iter().for_each(|query| by_query[query.index()].push(row.clone()));
        }
        for (query, (found, expected)) in by_query.into_iter().zip(expected).enumerate() {
            if found.len() != expected.rows.len() {
                eprintln!("query {query}");
            }
            assert_answers(found, expected);
        }
    }
}

/// A set for each row, from a few distinct sets that are not empty.
fn random_sets(store: &Arc<SetStore>, row_count: u64, random: &mut SeededRandom) -> Vec<SetNumber> {
    let query_count = store.query_count();
    let mut palette = vec![SetNumber::ALL];
    for _ in 0..random.below(6) {
        let share = 1 + random.below(4);
        let mut bits: Vec<bool> = (0..query_count).map(|_| random.chance(share, 5)).collect();
        bits[random.below(query_count as u64) as usize] = true;
        palette.push(store.number_of(&QueryBitmap::from_fn(query_count, |query| bits[query.index()])).unwrap());
    }
    if palette.len() > 2 && random.chance(2, 3) {
        palette.remove(0);
    }
    (0..row_count).map(|_| one_of(random, &palette)).collect()
}
