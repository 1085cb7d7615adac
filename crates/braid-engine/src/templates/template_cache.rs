//! The templates of a database: for each text template what its statements have in common, and the plans made for them; and the
//! descriptions of prepared statements.
//!
//! The first statement of a text template only leaves its constants: most statements of an ad-hoc session never come again. The
//! second one makes a plan ([`Learning`]). A statement that no plan includes widens the generalization, and makes another.
//!
//! Bounds: [`TEMPLATES_MAX`] text templates and [`TEMPLATE_BYTES_MAX`] bytes, of which the least recently used go first; for each
//! text [`PLANS_MAX`] plans at a time, and [`PLANS_MADE_MAX`] altogether, after which statements without a plan are planned
//! with their constants. A text that was refused is tried again after twice as many statements each time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_storage::Catalog;
use parking_lot::Mutex;

use super::description_cache::DescriptionCache;
use super::generalization::{Generalization, HoleRole};
use super::plan_template::PlanTemplate;
use crate::statement::Constant;

/// Most text templates.
const TEMPLATES_MAX: usize = 10_000;

/// Most bytes that text templates, constants and plans are estimated to take: 64 MiB.
const TEMPLATE_BYTES_MAX: usize = 64 << 20;

/// Most plans of a text template at a time.
const PLANS_MAX: usize = 8;

/// Most plans that are made for a text template.
const PLANS_MADE_MAX: u32 = 64;

/// All templates.
#[derive(Debug, Default)]
pub(crate) struct TemplateCache {
    entries: Mutex<Entries>,
    clock: AtomicU64,
    /// Text templates made so far.
    texts_made: AtomicU64,
    descriptions: DescriptionCache,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<Arc<str>, Arc<TextEntry>>,
    bytes: usize,
}

/// The templates of a database in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TemplateFigures {
    /// Text templates.
    pub texts: usize,
    /// Plans of them.
    pub plans: usize,
    /// Text templates without a plan, because the planner cannot make one.
    pub refused: usize,
    /// Statements that ran by a plan that was there already.
    pub hits: u64,
    /// Prepared statements whose description was there already.
    pub descriptions_found: u64,
    /// Estimated bytes of text templates and plans. Descriptions have bounds of their own.
    pub bytes: usize,
}

/// What is known of a text template.
#[derive(Debug)]
pub(crate) struct TextEntry {
    /// A number that no other text template of the database has had.
    pub number: u64,
    /// The template, with the settings that plans depend on.
    pub key: Arc<str>,
    /// Statements that ran by one of its plans.
    pub hits: AtomicU64,
    /// When it was used last, in calls of the cache.
    used_at: AtomicU64,
    /// Bytes that it is counted with.
    bytes: AtomicU64,
    state: Mutex<TextState>,
}

#[derive(Debug, Default)]
struct TextState {
    general: Option<Generalization>,
    /// The newest first.
    plans: Vec<Arc<PlanTemplate>>,
    plans_made: u32,
    refusal: Option<Refusal>,
}

/// Why no plan was made, and when to try again.
#[derive(Clone, Debug)]
struct Refusal {
    reason: String,
    /// Statements until the next attempt.
    statements_left: u32,
    /// Statements between the last two attempts.
    pause: u32,
}

/// When plans are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learning {
    /// For the second statement of a text, with what the statements have in common.
    FromStatements,
    /// For the first, with as many parameters as possible.
    Eager,
}

/// What is to be done with a statement.
#[derive(Debug)]
pub(crate) enum Recall {
    /// Run it by this plan.
    Plan(Arc<PlanTemplate>),
    /// Make a plan for this generalization, which includes the statement.
    Make(Generalization),
    /// Plan it with its constants.
    Nothing,
}

/// What the system view shows of a text template.
#[derive(Clone, Debug)]
pub(crate) struct TextReport {
    /// Holes.
    pub constants: usize,
    /// Holes whose constants vary.
    pub parameters: usize,
    /// Plans.
    pub plans: usize,
    /// Why the last attempt to make a plan failed.
    pub refusal: Option<String>,
}

/// What there is for a statement, for EXPLAIN.
#[derive(Debug)]
pub(crate) enum Look {
    /// This plan includes it.
    Plan(Arc<PlanTemplate>),
    /// No plan can be made.
    Refused(String),
    /// The text has so many plans, none of which includes it.
    OtherPlans(usize),
    /// The text has been seen, and has no plan.
    Seen,
}

impl TemplateCache {
    /// The entry of a key, if there is one, without counting this as a use.
    pub fn look(&self, key: &str) -> Option<Arc<TextEntry>> {
        self.entries.lock().by_key.get(key).cloned()
    }

    /// The entry of a key, if there is one.
    pub fn known(&self, key: &str) -> Option<Arc<TextEntry>> {
        let entry = self.look(key)?;
        entry.used_at.store(self.tick(), Ordering::Relaxed);
        Some(entry)
    }

    /// The entry of a key, which is made if there is none.
    pub fn entry(&self, key: &str) -> Arc<TextEntry> {
        if let Some(entry) = self.known(key) {
            return entry;
        }
        let key: Arc<str> = key.into();
        let entry = Arc::new(TextEntry {
            number: self.texts_made.fetch_add(1, Ordering::Relaxed),
            key: key.clone(),
            hits: AtomicU64::new(0),
            used_at: AtomicU64::new(self.tick()),
            bytes: AtomicU64::new(0),
            state: Mutex::default(),
        });
        let mut entries = self.entries.lock();
        let entry = entries.by_key.entry(key).or_insert(entry).clone();
        entries.recount(&entry);
        entries.evict_to_fit();
        entry
    }

    /// Counts what an entry holds now.
    pub fn recount(&self, entry: &Arc<TextEntry>) {
        let mut entries = self.entries.lock();
        if entries.by_key.get(&entry.key).is_some_and(|known| Arc::ptr_eq(known, entry)) {
            entries.recount(entry);
            entries.evict_to_fit();
        }
    }

    /// What prepared statements were described as.
    pub fn descriptions(&self) -> &DescriptionCache {
        &self.descriptions
    }

    /// All entries, in no order.
    pub fn all(&self) -> Vec<Arc<TextEntry>> {
        self.entries.lock().by_key.values().cloned().collect()
    }

    /// How many there are, and how often they served.
    pub fn figures(&self) -> TemplateFigures {
        let entries = self.all();
        TemplateFigures {
            texts: entries.len(),
            plans: entries.iter().map(|entry| entry.plan_count()).sum(),
            refused: entries.iter().filter(|entry| entry.refusal().is_some()).count(),
            hits: entries.iter().map(|entry| entry.hits.load(Ordering::Relaxed)).sum(),
            descriptions_found: self.descriptions.found_count(),
            bytes: self.entries.lock().bytes,
        }
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

impl Entries {
    fn recount(&mut self, entry: &TextEntry) {
        let now = entry.state.lock().bytes() + entry.key.len() + size_of::<TextEntry>();
        let before = entry.bytes.swap(now as u64, Ordering::Relaxed) as usize;
        self.bytes = self.bytes + now - before;
    }

    /// Removes the least recently used eighth while there is too much.
    fn evict_to_fit(&mut self) {
        while self.by_key.len() > TEMPLATES_MAX || self.bytes > TEMPLATE_BYTES_MAX {
            let mut by_use: Vec<(u64, Arc<str>)> =
                self.by_key.values().map(|entry| (entry.used_at.load(Ordering::Relaxed), entry.key.clone())).collect();
            by_use.sort_unstable();
            let count = (by_use.len() / 8).max(1);
            for (_, key) in by_use.into_iter().take(count) {
                if let Some(entry) = self.by_key.remove(&key) {
                    self.bytes -= entry.bytes.load(Ordering::Relaxed) as usize;
                }
            }
        }
    }
}

impl TextEntry {
    /// What is to be done with a statement with these constants, on a snapshot.
    pub fn recall(&self, constants: &[Constant], snapshot: &Catalog, learning: Learning) -> Recall {
        let mut state = self.state.lock();
        if let Some(plan) = state.plan_for(constants, snapshot) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Recall::Plan(plan.clone());
        }
        match (&mut state.general, learning) {
            (None, Learning::FromStatements) => {
                state.general = Some(Generalization::of(constants.to_vec()));
                return Recall::Nothing;
            }
            (None, Learning::Eager) => state.general = Some(Generalization::widest(constants.to_vec())),
            (Some(general), _) => {
                general.widen(constants.to_vec());
            }
        }
        let Some(general) = state.general.clone() else { return Recall::Nothing };
        if state.plans_made >= PLANS_MADE_MAX || !state.may_try() {
            return Recall::Nothing;
        }
        state.plans_made += 1;
        Recall::Make(general)
    }

    /// What there is for a statement with these constants. Changes nothing, unlike [`Self::recall`].
    pub fn look(&self, constants: &[Constant], snapshot: &Catalog) -> Look {
        let state = self.state.lock();
        if let Some(plan) = state.plan_for(constants, snapshot) {
            return Look::Plan(plan.clone());
        }
        match (&state.refusal, state.plans.len()) {
            (Some(refusal), _) => Look::Refused(refusal.reason.clone()),
            (None, 0) => Look::Seen,
            (None, plans) => Look::OtherPlans(plans),
        }
    }

    /// Keeps a plan that was made for `general`, in which the planner has pinned holes.
    pub fn keep(&self, plan: Arc<PlanTemplate>, general: &Generalization) {
        let mut state = self.state.lock();
        state.refusal = None;
        state.adopt_pins(general);
        // What was planned on tables of another size, or on other tables, is not used again.
        let before = state.plans.len();
        state.plans.retain(|other| other.guards != plan.guards);
        state.plans_made -= u32::from(state.plans.len() < before).min(state.plans_made);
        state.plans.insert(0, plan);
        state.plans.truncate(PLANS_MAX);
    }

    /// Notes why no plan was made.
    pub fn refuse(&self, reason: String, general: &Generalization) {
        let mut state = self.state.lock();
        state.adopt_pins(general);
        state.plans_made = state.plans_made.saturating_sub(1);
        let pause = state.refusal.as_ref().map_or(1, |refusal| refusal.pause.saturating_mul(2));
        state.refusal = Some(Refusal { reason, statements_left: pause, pause });
    }

    /// Its tokens with a mark in each hole.
    pub fn template(&self) -> &str {
        self.key.split('\0').next().unwrap_or_default()
    }

    /// Bytes that it is counted with.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// What it knows now.
    pub fn report(&self) -> TextReport {
        let state = self.state.lock();
        let roles = state.general.as_ref().map_or(&[][..], Generalization::roles);
        TextReport {
            constants: roles.len(),
            parameters: roles.iter().filter(|role| **role != HoleRole::Pinned).count(),
            plans: state.plans.len(),
            refusal: state.refusal.as_ref().map(|refusal| refusal.reason.clone()),
        }
    }

    /// Why the last attempt to make a plan failed.
    pub fn refusal(&self) -> Option<String> {
        self.state.lock().refusal.as_ref().map(|refusal| refusal.reason.clone())
    }

    /// Number of its plans.
    pub fn plan_count(&self) -> usize {
        self.state.lock().plans.len()
    }
}

impl TextState {
    fn plan_for(&self, constants: &[Constant], snapshot: &Catalog) -> Option<&Arc<PlanTemplate>> {
        self.plans.iter().find(|plan| plan.includes(constants) && plan.suits(snapshot))
    }

    /// Whether an attempt to make a plan is due.
    fn may_try(&mut self) -> bool {
        match &mut self.refusal {
            None => true,
            Some(Refusal { statements_left: 0, .. }) => true,
            Some(refusal) => {
                refusal.statements_left -= 1;
                false
            }
        }
    }

    fn adopt_pins(&mut self, general: &Generalization) {
        if let Some(own) = &mut self.general {
            general.fixed().for_each(|hole| own.pin(hole));
        }
    }

    fn bytes(&self) -> usize {
        let of_plans: usize = self.plans.iter().map(|plan| plan.estimated_bytes).sum();
        self.general.as_ref().map_or(0, Generalization::bytes) + of_plans
    }
}
