//! Random numbers and uuids.
//!
//! A session has one generator, PostgreSQL's (xoroshiro128**, seeded by SplitMix64), so that what follows `setseed` is what PostgreSQL draws.

use std::sync::{Arc, Mutex, PoisonError};

use rand::Rng;
use rand_xoshiro::Xoroshiro128StarStar;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::functions::{Call, Implementations};
use crate::values::Value;
use crate::{SqlError, SqlState};

/// The table of this family.
pub const FUNCTIONS: Implementations =
    &[("drandom", random), ("setseed", setseed), ("gen_random_uuid", gen_random_uuid)];

/// Bits of the fraction of a random double.
const DOUBLE_BITS: u32 = 52;

/// A seed that is drawn by chance, from no session's generator.
pub fn drawn_seed() -> f64 {
    rand::rng().random()
}

/// The generator of a session, which its statements share. It is seeded by chance when it is first asked.
#[derive(Clone, Debug, Default)]
pub struct SessionRandom {
    generator: Arc<Mutex<Option<Xoroshiro128StarStar>>>,
}

impl SessionRandom {
    /// A double in `0.0..1.0`.
    fn next_double(&self) -> f64 {
        let mut generator = self.generator.lock().unwrap_or_else(PoisonError::into_inner);
        let seeded = generator.get_or_insert_with(|| Xoroshiro128StarStar::seed_from_u64(rand::rng().random()));
        (seeded.next_u64() >> (u64::BITS - DOUBLE_BITS)) as f64 / (1_u64 << DOUBLE_BITS) as f64
    }

    fn seed(&self, seed: f64) {
        let seed = (((1_u64 << DOUBLE_BITS) - 1) as f64 * seed) as i64;
        let seeded = Xoroshiro128StarStar::seed_from_u64(seed as u64);
        *self.generator.lock().unwrap_or_else(PoisonError::into_inner) = Some(seeded);
    }
}

fn generator<'a>(call: &Call<'a>) -> Result<&'a SessionRandom, SqlError> {
    call.session.random().ok_or_else(|| SqlError::unsupported("random numbers outside of a session are not supported"))
}

/// `random()`
fn random(_: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::Float8(generator(call)?.next_double()))
}

/// `setseed(double precision)`, which returns nothing: shown as an empty text.
fn setseed(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Value::Float8(seed) = arguments[0] else { return Ok(Value::Null) };
    if !(-1.0..=1.0).contains(&seed) {
        let shown = crate::output::float_text::general(seed, 0);
        let message = format!("setseed parameter {shown} is out of allowed range [-1,1]");
        return Err(SqlError::new(SqlState::InvalidParameterValue, message));
    }
    generator(call)?.seed(seed);
    Ok(Value::text(String::new()))
}

/// A uuid of version 4, from a generator that is fit for secrets.
fn gen_random_uuid(_: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Ok(Value::Uuid(bytes))
}
