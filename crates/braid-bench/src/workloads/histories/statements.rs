//! Random statements on the tables of a history.

use std::sync::Arc;

use braid_base::{Random, SeededRandom};

use super::super::look_ups::LookUps;
use super::super::random_sql::draw::Draw;
use super::super::random_sql::generator::Generator;
use super::super::tpch::TpchMix;
use super::super::workload::Workload;
use super::forms::{FORMS, constant};
use super::tables::{CHANGING_COUNT, HistoryTables, changing};

/// Number of the random generator's forms.
const RANDOM_FORMS: usize = 48;

/// Number of the sets of literals of each of them.
const LITERALS_OF_FORM: i64 = 16;

/// Number of the sets of parameters of each type on TPC-H's tables.
const PARAMETERS_OF_TYPE: usize = 40;

/// Number of the sets of constants of each form of a theme: so many different queries of it can share a pass.
const CONSTANTS_OF_THEME: u64 = 32;

/// Weights of forms by hand, of the random generator, of TPC-H, and of look-ups. The latter read few rows, and so take no pass.
const WEIGHTS: [usize; 4] = [55, 20, 15, 10];
const WEIGHTS_OF_THEME: [usize; 4] = [60, 20, 20, 0];

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Statement {
    /// Its text.
    pub text: String,
    /// Its parameters as text; `None` for a text without, which is sent in one message.
    pub parameters: Option<Vec<String>>,
}

impl Statement {
    /// Whether the order of its rows is a part of its answer.
    pub fn has_order(&self) -> bool {
        self.text.contains(" order by ")
    }

    /// The same statement on other tables: for each table that changes, the name in its place.
    pub fn on(&self, names: &[String]) -> Self {
        let text =
            names.iter().enumerate().fold(self.text.clone(), |text, (at, name)| text.replace(&changing(at), name));
        Self { text, parameters: self.parameters.clone() }
    }
}

/// Draws statements.
pub struct Statements {
    tables: Arc<HistoryTables>,
    /// Seeds of the random generator's forms.
    random_forms: Vec<u64>,
    look_ups: LookUps,
}

impl Statements {
    /// On the tables, and on TPC-H of a scale.
    pub fn new(seed: u64, tables: &Arc<HistoryTables>, scale: f64) -> Self {
        let changing = changing(CHANGING_COUNT - 1);
        // Quotients are not exact: they depend on the order of rows.
        let fits = |text: String| text.contains(&changing) && !text.contains(" / ");
        let random_forms = (seed.wrapping_mul(1 << 32)..)
            .filter(|form| fits(Generator::new(*form, &tables.random).case().to_string()))
            .take(RANDOM_FORMS)
            .collect();
        Self { tables: Arc::clone(tables), random_forms, look_ups: LookUps::new(scale) }
    }

    /// The next statement, of any form, or of the form that a theme determines. Clients with the same theme ask what can share a pass:
    /// their statements differ in constants, of which there are few sets, so that some are equal, too.
    pub fn next(&self, random: &mut SeededRandom, theme: Option<u64>) -> Statement {
        let (weights, form, constants) = match theme {
            Some(theme) => {
                let constants = theme.wrapping_mul(CONSTANTS_OF_THEME).wrapping_add(random.below(CONSTANTS_OF_THEME));
                (WEIGHTS_OF_THEME, theme, constants)
            }
            None => (WEIGHTS, random.next_u64(), random.next_u64()),
        };
        let (mut form_draw, mut draw) = (Draw::new(form), Draw::new(constants));
        let is_prepared = random.below(100) < 20;
        let text = match form_draw.weighted(&weights) {
            0 => return of_form(&mut form_draw, &mut draw),
            1 => {
                let form = *form_draw.choose(&self.random_forms);
                let choices = Draw::with_literals(form, draw.between(1, LITERALS_OF_FORM) as u64);
                Generator::of(choices, &self.tables.random).case().to_string()
            }
            2 => {
                let parameters = SeededRandom::new(draw.below(PARAMETERS_OF_TYPE) as u64);
                TpchMix.text(form_draw.below(TpchMix.type_count()), &mut { parameters })
            }
            _ => {
                let keys = SeededRandom::new(draw.below(PARAMETERS_OF_TYPE) as u64);
                self.look_ups.text(form_draw.below(self.look_ups.type_count()), &mut { keys })
            }
        };
        Statement { text, parameters: is_prepared.then(Vec::new) }
    }
}

/// A form with constants or with parameters.
fn of_form(form_draw: &mut Draw, draw: &mut Draw) -> Statement {
    let table = *form_draw.choose(&["changing_0", "changing_1", "fixed"]);
    let mut parameters = form_draw.percent(35).then(Vec::new);
    let form = form_draw.choose(&FORMS).replace("{t}", table);
    let mut pieces = form.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let letter = piece.chars().next().expect("a place has a letter");
        let constant = constant(letter, draw);
        match &mut parameters {
            Some(parameters) => {
                parameters.push(constant.text);
                text += &format!("${}::{}", parameters.len(), constant.sql_type);
            }
            None => text += &constant.literal,
        }
        text += &piece[2..];
    }
    Statement { text, parameters }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn statements(count: usize) -> Vec<Statement> {
        let tables = Arc::new(HistoryTables::new(3));
        let statements = Statements::new(3, &tables, 0.001);
        let mut random = SeededRandom::new(7);
        (0..count).map(|_| statements.next(&mut random, None)).collect()
    }

    #[test]
    fn the_seed_determines_them_and_all_kinds_come_up() {
        let drawn = statements(3000);
        assert_eq!(drawn, statements(3000));
        let with = |part: &str| drawn.iter().filter(|statement| statement.text.contains(part)).count();
        for part in
            ["changing_0", "changing_1", "changing_2", "from fixed", "lineitem", "c_custkey", " limit ", "like '"]
        {
            assert!(with(part) > 20, "{part}: {}", with(part));
        }
        assert!(drawn.iter().all(|s| !s.text.contains(['{', '}'])));
        let prepared = drawn.iter().filter(|s| s.parameters.is_some()).count();
        assert!((500..1500).contains(&prepared), "{prepared}");
        let distinct: BTreeSet<&String> = drawn.iter().map(|s| &s.text).collect();
        assert!(distinct.len() > 1000 && distinct.len() < 2900, "{}", distinct.len());
    }

    #[test]
    fn statements_of_a_theme_are_one_form_with_few_sets_of_constants() {
        let tables = Arc::new(HistoryTables::new(3));
        let statements = Statements::new(3, &tables, 0.001);
        let mut distinct_max = 0;
        for theme in 0..50 {
            let mut random = SeededRandom::new(theme);
            let texts: BTreeSet<String> = (0..500).map(|_| statements.next(&mut random, Some(theme)).text).collect();
            assert!((1..=CONSTANTS_OF_THEME as usize).contains(&texts.len()), "{texts:?}");
            let words = |text: &String| text.matches("select").count();
            assert!(texts.iter().all(|text| words(text) == words(texts.first().unwrap())), "{texts:?}");
            distinct_max = distinct_max.max(texts.len());
        }
        assert!(distinct_max > 20, "{distinct_max}");
    }

    #[test]
    fn statements_of_one_random_form_differ_only_in_literals() {
        let tables = HistoryTables::new(3);
        let text =
            |form, literals| Generator::of(Draw::with_literals(form, literals), &tables.random).case().to_string();
        let mut varied = 0;
        for form in 0..200 {
            let names = |text: &str| text.matches(|c: char| c.is_ascii_lowercase()).collect::<String>().len();
            let (a, b) = (text(form, 1), text(form, 2));
            varied += usize::from(a != b);
            let selects = |text: &str| (text.matches("select").count(), text.matches(" as ").count());
            assert_eq!(selects(&a), selects(&b), "{a}\n{b}");
            assert!(names(&a) > 0);
        }
        assert!(varied > 100, "{varied}");
    }

    #[test]
    fn a_statement_on_other_tables_names_them() {
        let statement =
            Statement { text: "select 1 from changing_0, changing_1".to_owned(), parameters: Some(Vec::new()) };
        let on = statement.on(&["past_0_3", "past_1_10", "past_2_0"].map(str::to_owned));
        assert_eq!(on.text, "select 1 from past_0_3, past_1_10");
        assert!(!on.has_order());
    }
}
