//! The lanes that passes run in.
//!
//! 1. *Heavy lanes* take any pass. There is one by default: a pass uses all cores.
//! 2. *Light lanes* take passes that are predicted to take less than a limit. There is one by default. A light pass takes
//!    a light lane if one is free, otherwise a heavy lane, so that no core idles while something waits.
//! 3. *A prediction can be wrong.* A light pass that turns out long just finishes; the cost model learns from it.
//! 4. *Unqueued queries* (sharing off) run beside all lanes and take none, a bounded number at a time.

use std::fmt;

use crate::ids::PassNumber;
use crate::options::SchedulerOptions;

/// Where a pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A heavy lane, by its index.
    Heavy(usize),
    /// A light lane, by its index.
    Light(usize),
    /// Beside the lanes, because sharing is off for the query.
    Unqueued,
}

impl Lane {
    /// The weight whose lanes this is one of; `None` beside the lanes.
    pub(crate) fn weight(self) -> Option<Weight> {
        match self {
            Self::Heavy(_) => Some(Weight::Heavy),
            Self::Light(_) => Some(Weight::Light),
            Self::Unqueued => None,
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heavy(index) => write!(f, "heavy {index}"),
            Self::Light(index) => write!(f, "light {index}"),
            Self::Unqueued => write!(f, "unqueued"),
        }
    }
}

/// Which lanes a pass may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Heavy lanes only.
    Heavy,
    /// Light lanes, and heavy ones.
    Light,
}

/// The lanes and what runs in them.
#[derive(Debug)]
pub(crate) struct Lanes {
    heavy: Vec<Option<PassNumber>>,
    light: Vec<Option<PassNumber>>,
    light_below_us: f64,
    /// Passes beside the lanes, and how many may run at a time.
    unqueued: usize,
    unqueued_max: usize,
}

impl Lanes {
    /// Free lanes.
    pub(crate) fn new(options: &SchedulerOptions) -> Self {
        Self {
            heavy: vec![None; options.heavy_lanes],
            light: vec![None; options.light_lanes],
            light_below_us: options.light_below.as_secs_f64() * 1e6,
            unqueued: 0,
            unqueued_max: options.unqueued_max,
        }
    }

    /// The weight of a pass by its predicted time. Without light lanes every pass is heavy.
    pub(crate) fn weight(&self, predicted_us: f64) -> Weight {
        if predicted_us < self.light_below_us && !self.light.is_empty() { Weight::Light } else { Weight::Heavy }
    }

    /// How many lanes a weight has of its own.
    pub(crate) fn count(&self, weight: Weight) -> usize {
        match weight {
            Weight::Heavy => self.heavy.len(),
            Weight::Light => self.light.len(),
        }
    }

    /// The lane that a pass of this weight would take now.
    pub(crate) fn free(&self, weight: Weight) -> Option<Lane> {
        let first_free = |lanes: &[Option<PassNumber>]| lanes.iter().position(Option::is_none);
        let light = if weight == Weight::Light { first_free(&self.light) } else { None };
        light.map(Lane::Light).or_else(|| first_free(&self.heavy).map(Lane::Heavy))
    }

    /// Whether one more pass may run beside the lanes.
    pub(crate) fn has_room_beside(&self) -> bool {
        self.unqueued < self.unqueued_max
    }

    /// The pass runs in the lane from now on.
    pub(crate) fn occupy(&mut self, lane: Lane, pass: PassNumber) {
        let Some(slot) = self.slot(lane) else {
            assert!(self.has_room_beside(), "{pass} runs beside the lanes, as {} others do", self.unqueued);
            self.unqueued += 1;
            return;
        };
        assert!(slot.is_none(), "{pass} takes lane {lane}, which {slot:?} has");
        *slot = Some(pass);
    }

    /// The pass no longer runs in the lane.
    pub(crate) fn release(&mut self, lane: Lane, pass: PassNumber) {
        let Some(slot) = self.slot(lane) else {
            self.unqueued -= 1;
            return;
        };
        assert_eq!(*slot, Some(pass), "a pass leaves the lane that it has");
        *slot = None;
    }

    fn slot(&mut self, lane: Lane) -> Option<&mut Option<PassNumber>> {
        match lane {
            Lane::Heavy(index) => Some(&mut self.heavy[index]),
            Lane::Light(index) => Some(&mut self.light[index]),
            Lane::Unqueued => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn lanes(heavy_lanes: usize, light_lanes: usize) -> Lanes {
        let light_below = Duration::from_micros(10);
        let unqueued_max = 2;
        Lanes::new(&SchedulerOptions {
            heavy_lanes,
            light_lanes,
            light_below,
            unqueued_max,
            ..SchedulerOptions::default()
        })
    }

    fn check(lanes: &Lanes, predicted_us: f64, expected: Option<Lane>) {
        assert_eq!(lanes.free(lanes.weight(predicted_us)), expected, "{predicted_us} in {lanes:?}");
    }

    #[test]
    fn light_passes_take_light_lanes_first_and_heavy_ones_only_heavy_lanes() {
        let mut lanes = lanes(1, 1);
        check(&lanes, 9.0, Some(Lane::Light(0)));
        check(&lanes, 10.0, Some(Lane::Heavy(0)));
        lanes.occupy(Lane::Light(0), PassNumber(1));
        check(&lanes, 9.0, Some(Lane::Heavy(0)));
        lanes.occupy(Lane::Heavy(0), PassNumber(2));
        check(&lanes, 9.0, None);
        lanes.release(Lane::Light(0), PassNumber(1));
        check(&lanes, 10.0, None);
        check(&lanes, 9.0, Some(Lane::Light(0)));
    }

    #[test]
    fn without_light_lanes_every_pass_is_heavy() {
        let mut lanes = lanes(2, 0);
        check(&lanes, 1.0, Some(Lane::Heavy(0)));
        lanes.occupy(Lane::Heavy(0), PassNumber(1));
        check(&lanes, 1.0, Some(Lane::Heavy(1)));
        lanes.occupy(Lane::Unqueued, PassNumber(2));
        check(&lanes, 1.0, Some(Lane::Heavy(1)));
        assert!(lanes.has_room_beside());
        lanes.occupy(Lane::Unqueued, PassNumber(3));
        assert!(!lanes.has_room_beside());
        lanes.release(Lane::Unqueued, PassNumber(2));
        assert!(lanes.has_room_beside());
    }
}
