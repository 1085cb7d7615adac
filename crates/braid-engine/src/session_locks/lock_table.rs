//! The table of all locks: who holds what, and who waits for what. A pure state machine; [`super::SessionLocks`] waits.
//!
//! Rules:
//! 1. A session's own locks do not exclude each other.
//! 2. Who asks for what others exclude waits, and so does who asks for what excludes a request that waits already, so that no request waits
//!    for ever behind weaker ones. Only a session that holds what excludes that request goes before it.
//! 3. A wait that would close a circle of waits is refused, unless one that waits in the circle does so only for its turn: that one goes first.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::lock_mode::{LockMode, LockModes, LockTarget, Request};

/// Most targets that are locked at a time.
pub(super) const TARGETS_MAX: usize = 1 << 20;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Granted,
    Excluded,
    /// There are [`TARGETS_MAX`] locks.
    Full,
}

/// What becomes of a circle of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Circle {
    /// There is none.
    None,
    /// There was one. There may be another.
    Opened,
    /// None of its sessions waits only for its turn.
    Deadlock,
}

/// All locks of all sessions.
#[derive(Debug, Default)]
pub(super) struct LockTable {
    held: HashMap<LockTarget, BTreeMap<i32, Held>>,
    /// What each session holds, so that its end does not walk what all hold.
    targets: HashMap<i32, HashSet<LockTarget>>,
    waits: HashMap<i32, Waiting>,
    /// Places of the queue from 1 on; who goes first has 0.
    last_place: u64,
    strong: Strong,
}

/// The strong locks ([`Request::is_strong`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Strong {
    /// How many sessions hold some of a relation.
    held: usize,
    /// How many sessions wait for one.
    waiting: usize,
    /// How many were given back since the beginning.
    pub given_back: u64,
}

impl Strong {
    /// Those that are held or waited for.
    pub fn count(self) -> usize {
        self.held + self.waiting
    }
}

/// A request, and its place in the queue.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: Request,
    place: u64,
}

/// What a session holds of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// How often the session itself holds an advisory lock: shared, and not.
    by_session: [u32; 2],
    /// The modes in which its transaction holds it.
    by_transaction: LockModes,
}

impl Held {
    fn of(request: Request) -> Self {
        Self { by_session: [0; 2], by_transaction: LockModes::of(request.mode) }
    }

    fn modes(&self) -> LockModes {
        let of_session = |at: usize, mode| match self.by_session[at] > 0 {
            true => LockModes::of(mode),
            false => LockModes::default(),
        };
        let of_session = of_session(0, LockMode::Share).with(of_session(1, LockMode::Exclusive));
        self.by_transaction.with(of_session)
    }

    fn excludes(&self, request: Request) -> bool {
        self.modes().exclude(request.mode)
    }

    fn is_strong(&self) -> bool {
        self.modes().has_strong()
    }
}

impl LockTable {
    /// Grants a request of a session's transaction, if nothing excludes it.
    pub fn request(&mut self, session: i32, request: Request) -> Answer {
        self.grant(session, request, |held| {
            held.by_transaction = held.by_transaction.with(LockModes::of(request.mode));
        })
    }

    /// Grants a session an advisory lock for itself, if nothing excludes it.
    pub fn request_for_session(&mut self, session: i32, request: Request) -> Answer {
        self.grant(session, request, |held| {
            let count = &mut held.by_session[usize::from(request.mode == LockMode::Exclusive)];
            *count = count.saturating_add(1);
        })
    }

    fn grant(&mut self, session: i32, request: Request, add: impl FnOnce(&mut Held)) -> Answer {
        if !self.holds(session, request) && self.blocking(session, request).next().is_some() {
            return Answer::Excluded;
        }
        if self.held.len() >= TARGETS_MAX && !self.held.contains_key(&request.target) {
            return Answer::Full;
        }
        self.insert(session, request.target, add);
        Answer::Granted
    }

    /// Notes what a session holds already, and nothing excludes.
    pub fn insert_held(&mut self, session: i32, request: Request) {
        self.insert(session, request.target, |held| {
            held.by_transaction = held.by_transaction.with(LockModes::of(request.mode));
        });
    }

    fn insert(&mut self, session: i32, target: LockTarget, add: impl FnOnce(&mut Held)) {
        let held = self.held.entry(target).or_default().entry(session).or_default();
        let before = held.is_strong();
        add(held);
        let is_relation = matches!(target, LockTarget::Relation(_));
        self.strong.held += usize::from(is_relation && !before && held.is_strong());
        self.targets.entry(session).or_default().insert(target);
    }

    fn holds(&self, session: i32, request: Request) -> bool {
        let held = self.held.get(&request.target).and_then(|holders| holders.get(&session));
        held.is_some_and(|held| held.modes().has(request.mode))
    }

    /// The sessions that hold what excludes a request of another one.
    fn excluding(&self, session: i32, request: Request) -> impl Iterator<Item = i32> {
        let held = self.held.get(&request.target).into_iter().flatten();
        held.filter(move |(other, held)| **other != session && held.excludes(request)).map(|(other, _)| *other)
    }

    /// The sessions that a request of another one waits for: those that exclude it, and those before it in the queue.
    pub fn blocking(&self, session: i32, request: Request) -> impl Iterator<Item = i32> {
        let own_place = self.waits.get(&session).filter(|own| own.request == request).map_or(u64::MAX, |own| own.place);
        let own = self.held.get(&request.target).and_then(|holders| holders.get(&session));
        let is_before = move |(other, waiting): &(&i32, &Waiting)| {
            **other != session
                && waiting.place < own_place
                && waiting.request.target == request.target
                && Held::of(waiting.request).excludes(request)
                && !own.is_some_and(|own| own.excludes(waiting.request))
        };
        self.excluding(session, request).chain(self.waits.iter().filter(is_before).map(|(other, _)| *other))
    }

    /// The request that a session waits for.
    pub fn awaited(&self, session: i32) -> Option<Request> {
        self.waits.get(&session).map(|waiting| waiting.request)
    }

    /// Puts a session into the queue.
    pub fn begin_wait(&mut self, session: i32, request: Request) {
        self.last_place += 1;
        let waiting = Waiting { request, place: self.last_place };
        self.strong.waiting += usize::from(request.is_strong());
        let before = self.waits.insert(session, waiting);
        assert!(before.is_none(), "a session waits for one lock at a time");
    }

    /// Takes a session out of the queue.
    pub fn end_wait(&mut self, session: i32) {
        let ended = self.waits.remove(&session);
        self.strong.waiting -= usize::from(ended.is_some_and(|waiting| waiting.request.is_strong()));
    }

    /// Lets a request that waits go before those that wait longer, if only its place keeps it waiting. False if it is so already, too.
    pub fn go_first(&mut self, session: i32) -> bool {
        let Some(request) = self.awaited(session) else { return false };
        let is_free = self.excluding(session, request).next().is_none();
        match self.waits.get_mut(&session).filter(|waiting| is_free && waiting.place > 0) {
            Some(waiting) => {
                waiting.place = 0;
                true
            }
            None => false,
        }
    }

    /// Looks for a circle of waits through a session that waits, and opens it where a session waits for its turn only. `row_waits` are the
    /// sessions that wait for others by locks of rows and keys.
    pub fn open_circle(&mut self, session: i32, row_waits: &[(i32, i32)]) -> Circle {
        let circle = self.circle(session, row_waits);
        match circle.is_empty() {
            true => Circle::None,
            false if circle.into_iter().any(|waiting| self.go_first(waiting)) => Circle::Opened,
            false => Circle::Deadlock,
        }
    }

    /// The sessions of a circle of waits, beginning with the last one before `session`; none if it does not wait for itself.
    fn circle(&self, session: i32, row_waits: &[(i32, i32)]) -> Vec<i32> {
        let (mut waits_before, mut next) = (HashMap::new(), vec![session]);
        while let Some(at) = next.pop() {
            let of_lock = self.awaited(at).into_iter().flat_map(|request| self.blocking(at, request));
            let of_rows = row_waits.iter().filter(|(waiting, _)| *waiting == at).map(|(_, holder)| *holder);
            for holder in of_lock.chain(of_rows) {
                if holder == session {
                    let way = std::iter::successors(Some(at), |at| waits_before.get(at).copied());
                    return way.collect();
                }
                if let Entry::Vacant(unseen) = waits_before.entry(holder) {
                    unseen.insert(at);
                    next.push(holder);
                }
            }
        }
        Vec::new()
    }

    /// Gives back a lock of a session's transaction.
    pub fn release(&mut self, session: i32, request: Request) {
        self.change(session, request.target, |held| {
            held.by_transaction = held.by_transaction.without(request.mode);
        });
    }

    /// Gives back one advisory lock of a session itself; false if it has none.
    pub fn release_of_session(&mut self, session: i32, target: LockTarget, mode: LockMode) -> bool {
        self.change(session, target, |held| {
            let count = &mut held.by_session[usize::from(mode == LockMode::Exclusive)];
            *count = count.saturating_sub(1);
        })
    }

    /// Gives back all advisory locks of a session itself; whether there were some.
    pub fn release_all_of_session(&mut self, session: i32) -> bool {
        self.change_all(session, |held| held.by_session = [0; 2])
    }

    /// Gives back all that a session holds; whether it held something.
    pub fn release_all(&mut self, session: i32) -> bool {
        self.change_all(session, |held| *held = Held::default())
    }

    fn change_all(&mut self, session: i32, change: impl Fn(&mut Held)) -> bool {
        let mut is_changed = false;
        for target in self.targets.get(&session).cloned().into_iter().flatten() {
            is_changed |= self.change(session, target, &change);
        }
        is_changed
    }

    /// Changes what a session holds of a target, if it does; whether it is something else then.
    fn change(&mut self, session: i32, target: LockTarget, change: impl FnOnce(&mut Held)) -> bool {
        let Some(holders) = self.held.get_mut(&target) else { return false };
        let Some(held) = holders.get_mut(&session) else { return false };
        let before = *held;
        change(held);
        let after = *held;
        if matches!(target, LockTarget::Relation(_)) && before.is_strong() && !after.is_strong() {
            self.strong.held -= 1;
            self.strong.given_back += 1;
        }
        if after == Held::default() {
            holders.remove(&session);
            if holders.is_empty() {
                self.held.remove(&target);
            }
            if let Some(targets) = self.targets.get_mut(&session) {
                targets.remove(&target);
                if targets.is_empty() {
                    self.targets.remove(&session);
                }
            }
        }
        before != after
    }

    /// The strong locks.
    pub fn strong(&self) -> Strong {
        self.strong
    }

    /// All locks that are held or waited for, with their sessions and whether they are held.
    pub fn all(&self) -> Vec<(i32, Request, bool)> {
        let mut all = Vec::new();
        for (target, holders) in &self.held {
            for (session, held) in holders {
                let modes = LockMode::ALL.into_iter().filter(|mode| held.modes().has(*mode));
                all.extend(modes.map(|mode| (*session, Request { target: *target, mode }, true)));
            }
        }
        all.extend(self.waits.iter().map(|(session, waiting)| (*session, waiting.request, false)));
        all
    }
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, TableId};
    use braid_testing::cases;

    use super::*;

    fn lock(mode: LockMode) -> Request {
        Request { target: LockTarget::Relation(TableId(1)), mode }
    }

    #[test]
    fn a_request_waits_for_what_excludes_it() {
        use LockMode::{AccessExclusive, AccessShare, Exclusive, RowExclusive, Share, ShareRowExclusive};
        for (held, wanted, answer) in [
            (AccessShare, AccessExclusive, Answer::Excluded),
            (AccessExclusive, AccessShare, Answer::Excluded),
            (Exclusive, AccessShare, Answer::Granted),
            (Exclusive, RowExclusive, Answer::Excluded),
            (Share, Share, Answer::Granted),
            (ShareRowExclusive, Share, Answer::Excluded),
        ] {
            let mut table = LockTable::default();
            assert_eq!(table.request(1, lock(held)), Answer::Granted);
            assert_eq!(table.request(2, lock(wanted)), answer, "{held:?} {wanted:?}");
            assert_eq!(table.request(1, lock(wanted)), Answer::Granted, "its own: {held:?} {wanted:?}");
        }
    }

    #[test]
    fn a_request_waits_behind_those_that_it_would_keep_waiting() {
        let mut table = LockTable::default();
        let [read, all] = [lock(LockMode::AccessShare), lock(LockMode::AccessExclusive)];
        assert_eq!(table.request(1, read), Answer::Granted);
        assert_eq!(table.request(2, all), Answer::Excluded);
        table.begin_wait(2, all);
        assert_eq!(table.request(3, read), Answer::Excluded, "behind 2");
        let change = lock(LockMode::RowExclusive);
        assert_eq!(table.request(1, change), Answer::Granted, "2 waits for 1 anyway");
        for held in [read, change] {
            table.release(1, held);
        }
        assert_eq!(table.request(2, all), Answer::Granted);
        table.end_wait(2);
        assert_eq!(table.request(3, read), Answer::Excluded);
        assert_eq!(table.strong(), Strong { held: 1, waiting: 0, given_back: 0 });
        table.release(2, all);
        assert_eq!((table.request(3, read), table.strong().given_back), (Answer::Granted, 1));
    }

    /// 1 holds `a` and waits for `b`, behind 2, which waits for what 3 holds of `b`; 3 waits for `a`.
    #[test]
    fn a_circle_of_places_in_the_queue_is_no_deadlock() {
        let of = |table, mode| Request { target: LockTarget::Relation(TableId(table)), mode };
        let mut table = LockTable::default();
        assert_eq!(table.request(1, of(1, LockMode::Share)), Answer::Granted);
        let read = of(2, LockMode::AccessShare);
        assert_eq!(table.request(3, read), Answer::Granted);
        table.begin_wait(2, of(2, LockMode::AccessExclusive));
        table.begin_wait(3, of(1, LockMode::RowExclusive));
        assert_eq!(table.open_circle(3, &[]), Circle::None);
        assert_eq!(table.request(1, read), Answer::Excluded);
        table.begin_wait(1, read);
        assert_eq!(table.open_circle(1, &[]), Circle::Opened);
        assert_eq!(table.request(1, read), Answer::Granted);
        table.end_wait(1);
        assert_eq!(table.open_circle(2, &[]), Circle::None);
        assert_eq!(table.open_circle(2, &[(1, 2)]), Circle::Deadlock, "1 waits for a row of 2");
    }

    /// 2 waits for 1, and 3 only behind 2; then 1 waits for what 3 holds.
    #[test]
    fn whoever_waits_for_its_turn_lets_a_circle_open() {
        let of = |table, mode| Request { target: LockTarget::Relation(TableId(table)), mode };
        let mut table = LockTable::default();
        let read = of(1, LockMode::AccessShare);
        assert_eq!(table.request(1, read), Answer::Granted);
        assert_eq!(table.request(3, of(2, LockMode::RowExclusive)), Answer::Granted);
        table.begin_wait(2, of(1, LockMode::AccessExclusive));
        assert_eq!(table.request(3, read), Answer::Excluded);
        table.begin_wait(3, read);
        table.begin_wait(1, of(2, LockMode::Share));
        assert_eq!(table.open_circle(1, &[]), Circle::Opened);
        assert_eq!(table.open_circle(1, &[]), Circle::None);
        assert_eq!(table.request(3, read), Answer::Granted);
    }

    /// Random requests of four sessions: no two hold what excludes each other, and at the end nothing is left.
    #[test]
    fn nothing_that_excludes_each_other_is_held() {
        for case in cases!(0..300) {
            let mut random = case.random();
            let mut table = LockTable::default();
            let mut held: Vec<(i32, Request)> = Vec::new();
            for _ in 0..60 {
                let session = random.below(4) as i32;
                let mode = LockMode::ALL[random.below(8) as usize];
                let target = LockTarget::Relation(TableId(random.below(2) as u32));
                let request = Request { target, mode };
                match random.below(4) {
                    0 => {
                        held.retain(|(holder, lock)| {
                            *holder != session || {
                                table.release(session, *lock);
                                false
                            }
                        });
                        table.end_wait(session);
                    }
                    _ if table.awaited(session).is_some() => {}
                    _ => match table.request(session, request) {
                        Answer::Granted => held.push((session, request)),
                        Answer::Excluded => table.begin_wait(session, request),
                        Answer::Full => panic!("two tables"),
                    },
                }
                for (one, lock) in &held {
                    let mut others = held.iter().filter(|(other, _)| other != one);
                    assert!(
                        !others.any(|(_, other)| { other.target == lock.target && Held::of(*other).excludes(*lock) })
                    );
                }
                let strong = |(session, lock): &(i32, Request)| lock.is_strong().then_some((*session, lock.target));
                let strong: HashSet<_> = held.iter().filter_map(strong).collect();
                assert_eq!(table.strong().held, strong.len());
            }
            for session in 0..4 {
                table.release_all(session);
                table.end_wait(session);
            }
            assert!(table.held.is_empty() && table.targets.is_empty() && table.waits.is_empty());
            assert_eq!(table.strong().count(), 0);
        }
    }
}
