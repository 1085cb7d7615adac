//! What the statements of a text template have in common: which holes have always held the same constant, and which holes
//! have always been equal to each other (least general generalization: Plotkin, Machine Intelligence 5, 1970).
//!
//! A plan is made for what the statements seen so far have in common. The planner sees constants that never varied, and sees
//! holes that were always equal as one value; both are guards of the plan. A statement that differs further makes the
//! generalization wider, and the next plan with it. Every widening removes a pinned hole or divides a class, so that a template
//! with `n` holes is planned at most `2 n` times, apart from the holes that the planner itself has pinned.

use crate::statement::Constant;

/// What a plan assumes of a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoleRole {
    /// It holds the same constant as in the example.
    Pinned,
    /// Its constant varies, and equals that of the first hole of its class, which is named here.
    Varying(usize),
}

/// What the statements of a template have in common.
#[derive(Clone, Debug)]
pub(crate) struct Generalization {
    /// The constants of one of the statements.
    example: Vec<Constant>,
    roles: Vec<HoleRole>,
    /// Holes that the planner has pinned: each of their constants has a plan of its own.
    fixed: Vec<bool>,
}

impl Generalization {
    /// That of a single statement: everything is pinned.
    pub fn of(constants: Vec<Constant>) -> Self {
        let (roles, fixed) = (vec![HoleRole::Pinned; constants.len()], vec![false; constants.len()]);
        Self { example: constants, roles, fixed }
    }

    /// The widest that includes a statement: every hole varies by itself.
    pub fn widest(constants: Vec<Constant>) -> Self {
        let (roles, fixed) = ((0..constants.len()).map(HoleRole::Varying).collect(), vec![false; constants.len()]);
        Self { example: constants, roles, fixed }
    }

    /// The role of each hole.
    pub fn roles(&self) -> &[HoleRole] {
        &self.roles
    }

    /// Widens it so that it includes a statement; whether it has changed. The statement becomes the example, because its constants
    /// in fixed holes are those to plan with.
    pub fn widen(&mut self, constants: Vec<Constant>) -> bool {
        let roles: Vec<HoleRole> = (0..constants.len()).map(|hole| self.role_with(hole, &constants)).collect();
        let changed = roles != self.roles;
        (self.roles, self.example) = (roles, constants);
        changed
    }

    fn role_with(&self, hole: usize, constants: &[Constant]) -> HoleRole {
        let is_constant = self.roles[hole] == HoleRole::Pinned && self.example[hole] == constants[hole];
        if self.fixed[hole] || is_constant {
            return HoleRole::Pinned;
        }
        let was_equal = |other: usize| match (self.roles[other], self.roles[hole]) {
            (HoleRole::Varying(one), HoleRole::Varying(class)) => one == class,
            (HoleRole::Pinned, HoleRole::Pinned) => self.example[other] == self.example[hole],
            _ => false,
        };
        let is_equal = |other: &usize| {
            let varies = !self.fixed[*other]
                && (self.roles[*other] != HoleRole::Pinned || self.example[*other] != constants[*other]);
            varies && constants[*other] == constants[hole] && was_equal(*other)
        };
        HoleRole::Varying((0..hole).find(is_equal).unwrap_or(hole))
    }

    /// Pins a hole for good. The holes of its class that are not pinned become a class of their own.
    pub fn pin(&mut self, hole: usize) {
        self.fixed[hole] = true;
        let class = self.roles[hole];
        self.roles[hole] = HoleRole::Pinned;
        if class != HoleRole::Varying(hole) {
            return;
        }
        let rest: Vec<usize> = (0..self.roles.len()).filter(|other| self.roles[*other] == class).collect();
        for other in &rest {
            self.roles[*other] = HoleRole::Varying(rest[0]);
        }
    }

    /// The holes that the planner has pinned.
    pub fn fixed(&self) -> impl Iterator<Item = usize> {
        (0..self.fixed.len()).filter(|hole| self.fixed[*hole])
    }

    /// The constants of the example.
    pub fn example(&self) -> &[Constant] {
        &self.example
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let of_constants: usize = self.example.iter().map(|constant| constant.bytes() + 32).sum();
        of_constants + 20 * self.roles.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use HoleRole::{Pinned, Varying};

    fn constants(words: &str) -> Vec<Constant> {
        words.split_whitespace().map(|word| Constant::Number(word.to_owned())).collect()
    }

    fn check(statements: &[&str], expected: &[HoleRole]) {
        let mut statements = statements.iter();
        let mut general = Generalization::of(constants(statements.next().unwrap()));
        statements.for_each(|statement| {
            general.widen(constants(statement));
        });
        assert_eq!(general.roles(), expected, "{general:?}");
    }

    #[test]
    fn what_never_varies_is_pinned_and_what_was_always_equal_is_one_class() {
        check(&["1 2 3"], &[Pinned, Pinned, Pinned]);
        check(&["1 2 3", "1 2 3"], &[Pinned, Pinned, Pinned]);
        check(&["1 2 3", "1 5 3"], &[Pinned, Varying(1), Pinned]);
        check(&["1 2 2", "1 5 5"], &[Pinned, Varying(1), Varying(1)]);
        check(&["1 2 2", "1 5 5", "1 6 7"], &[Pinned, Varying(1), Varying(2)]);
        check(&["1 2 3", "1 5 5"], &[Pinned, Varying(1), Varying(2)]);
        check(&["1 2 3", "5 5 3"], &[Varying(0), Varying(1), Pinned]);
        check(&["1 1 1", "2 2 2", "3 3 4"], &[Varying(0), Varying(0), Varying(2)]);
        check(&["1 1 1 1", "2 2 2 2", "3 3 4 4"], &[Varying(0), Varying(0), Varying(2), Varying(2)]);
        // Pinned until now, and equal by chance to a hole that varies.
        check(&["1 7 2", "3 7 2", "7 9 2"], &[Varying(0), Varying(1), Pinned]);
    }

    #[test]
    fn a_statement_that_fits_changes_nothing() {
        let mut general = Generalization::of(constants("1 2 2"));
        assert!(general.widen(constants("1 3 3")));
        assert!(!general.widen(constants("1 4 4")));
        assert!(general.widen(constants("2 4 4")));
        assert!(!general.widen(constants("9 9 9")));
    }

    #[test]
    fn what_the_planner_pins_stays_pinned() {
        let mut general = Generalization::of(constants("1 2 2 2"));
        general.widen(constants("1 3 3 3"));
        general.pin(1);
        assert_eq!(general.roles(), [Pinned, Pinned, Varying(2), Varying(2)]);
        general.widen(constants("1 4 5 5"));
        assert_eq!(general.roles(), [Pinned, Pinned, Varying(2), Varying(2)]);
        general.pin(3);
        assert_eq!(general.roles(), [Pinned, Pinned, Varying(2), Pinned]);
        assert_eq!(general.fixed().collect::<Vec<_>>(), [1, 3]);
    }

    /// The guards of a plan hold for all statements that it was widened by since its holes were fixed.
    #[test]
    fn every_statement_seen_fits() {
        use braid_base::{Random, SeededRandom};
        let mut random = SeededRandom::new(1);
        for _ in 0..2000 {
            let hole_count = 1 + random.below(5) as usize;
            let mut seen: Vec<Vec<Constant>> = Vec::new();
            let mut general: Option<Generalization> = None;
            for _ in 0..6 {
                let words: Vec<String> = (0..hole_count).map(|_| random.below(3).to_string()).collect();
                let statement = constants(&words.join(" "));
                match &mut general {
                    None => general = Some(Generalization::of(statement.clone())),
                    Some(general) => {
                        general.widen(statement.clone());
                    }
                }
                seen.push(statement);
                let general = general.as_ref().unwrap();
                for statement in &seen {
                    for (hole, role) in general.roles().iter().enumerate() {
                        match role {
                            Pinned => assert_eq!(statement[hole], general.example()[hole]),
                            Varying(first) => assert_eq!(statement[hole], statement[*first]),
                        }
                    }
                }
            }
        }
    }
}
