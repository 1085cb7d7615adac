//! Random conditions of each type, in the form of the Star Schema Benchmark's.

use braid_base::{Random, SeededRandom};

use super::star_query::{STAR_TYPES, StarCondition, StarQuery};

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];

/// Some nations with their regions.
const NATIONS: [(&str, &str); 10] = [
    ("KENYA", "AFRICA"),
    ("MOROCCO", "AFRICA"),
    ("BRAZIL", "AMERICA"),
    ("UNITED STATES", "AMERICA"),
    ("CHINA", "ASIA"),
    ("JAPAN", "ASIA"),
    ("FRANCE", "EUROPE"),
    ("UNITED KINGDOM", "EUROPE"),
    ("EGYPT", "MIDDLE EAST"),
    ("IRAN", "MIDDLE EAST"),
];

/// The years with orders of every month.
const YEARS: (u64, u64) = (1992, 1997);

impl StarQuery {
    /// A query of a type with random parameters. Panics unless `number` is below [`STAR_TYPES`].
    pub fn random(number: usize, random: &mut SeededRandom) -> Self {
        let mut draw = Draw(random);
        let conditions = match number {
            0..3 => of_dates(number, &mut draw),
            3..6 => of_parts(number - 3, &mut draw),
            6..10 => of_places(number - 6, &mut draw),
            10..STAR_TYPES => of_profit(number - 10, &mut draw),
            other => panic!("there is no type {other}"),
        };
        Self { number, conditions }
    }
}

/// Random parameters.
struct Draw<'a>(&'a mut SeededRandom);

impl Draw<'_> {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.below(values.len() as u64) as usize]
    }

    fn year(&mut self) -> u64 {
        self.between(YEARS.0, YEARS.1)
    }

    fn region(&mut self) -> &'static str {
        self.of(&REGIONS)
    }

    /// `MFGR#12`
    fn category(&mut self) -> String {
        format!("MFGR#{}{}", self.between(1, 5), self.between(1, 5))
    }

    /// Two cities of a nation.
    fn cities(&mut self) -> [String; 2] {
        let (nation, _) = self.of(&NATIONS);
        let nation = &nation[..nation.len().min(9)];
        let first = self.between(0, 9);
        let second = (first + self.between(1, 9)) % 10;
        [first, second].map(|number| format!("{nation}{number}"))
    }

    /// A month of a year, such as 199403.
    fn month_of(&mut self, year: u64) -> StarCondition {
        StarCondition::equal("d_yearmonthnum", year * 100 + self.between(1, 12))
    }
}

/// SSB's Q1.1 to Q1.3: one join, no groups.
fn of_dates(number: usize, draw: &mut Draw<'_>) -> Vec<StarCondition> {
    let year = draw.year();
    let mut conditions = match number {
        0 => vec![StarCondition::equal("d_year", year)],
        1 => vec![draw.month_of(year)],
        _ => vec![StarCondition::equal("d_week", draw.between(1, 52)), StarCondition::equal("d_year", year)],
    };
    let (discount, quantity) = (draw.between(1, 8), draw.between(20, 30));
    conditions.push(StarCondition::between("lo_discount", discount - 1, discount + 1));
    conditions.push(StarCondition::below("lo_quantity", quantity));
    conditions
}

/// Q2.1 to Q2.3: three joins.
fn of_parts(number: usize, draw: &mut Draw<'_>) -> Vec<StarCondition> {
    let category = draw.category();
    let part = match number {
        0 => StarCondition::equal("p_category", category),
        1 => {
            let first = draw.between(10, 40);
            StarCondition::between("p_brand1", format!("{category}-{first}"), format!("{category}-{}", first + 7))
        }
        _ => StarCondition::equal("p_brand1", format!("{category}-{}", draw.between(10, 49))),
    };
    vec![part, StarCondition::equal("s_region", draw.region())]
}

/// Q3.1 to Q3.4: three joins with customers and suppliers.
fn of_places(number: usize, draw: &mut Draw<'_>) -> Vec<StarCondition> {
    let mut conditions = match number {
        0 => {
            let region = draw.region();
            vec![StarCondition::equal("c_region", region), StarCondition::equal("s_region", region)]
        }
        1 => {
            let (nation, _) = draw.of(&NATIONS);
            vec![StarCondition::equal("c_nation", nation), StarCondition::equal("s_nation", nation)]
        }
        _ => {
            let cities = draw.cities();
            vec![StarCondition::among("c_city", cities.clone()), StarCondition::among("s_city", cities)]
        }
    };
    let year = draw.year();
    conditions.extend(match number {
        3 => vec![draw.month_of(year)],
        _ => {
            let first = draw.between(YEARS.0, year);
            vec![StarCondition::at_least("d_year", first), StarCondition::at_most("d_year", year)]
        }
    });
    conditions
}

/// Q4.1 to Q4.3: four joins.
fn of_profit(number: usize, draw: &mut Draw<'_>) -> Vec<StarCondition> {
    let (nation, region) = draw.of(&NATIONS);
    let year = draw.year();
    let maker = draw.between(1, 4);
    let makers = StarCondition::among("p_mfgr", [maker, maker + 1].map(|maker| format!("MFGR#{maker}")));
    let years = StarCondition::among("d_year", [year, year + 1]);
    let customers = StarCondition::equal("c_region", region);
    match number {
        0 => vec![customers, StarCondition::equal("s_region", region), makers],
        1 => vec![customers, StarCondition::equal("s_region", region), years, makers],
        _ => vec![
            customers,
            StarCondition::equal("s_nation", nation),
            years,
            StarCondition::equal("p_category", draw.category()),
        ],
    }
}
