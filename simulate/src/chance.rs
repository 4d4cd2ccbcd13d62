//! Pseudo-random numbers that are the same for the same seed.

/// Generator of evenly distributed numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Creates a generator from a seed and a name, so that parts do not share their numbers.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self(hash(seed, &[name]))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number from 0 up to 1.
    pub(crate) fn share(&mut self) -> f64 {
        unit(self.next())
    }

    /// Returns a whole number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % (most.max(1) as u64)).unwrap_or(0)
    }
}

/// Returns the number from 0 up to 1 that belongs to a seed and these strings.
pub(crate) fn even(seed: u64, parts: &[&str]) -> f64 {
    unit(hash(seed, parts))
}

fn hash(seed: u64, parts: &[&str]) -> u64 {
    let mut hash = mix(seed ^ 0xa076_1d64_78bd_642f);
    for part in parts {
        for byte in part.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash = mix(hash ^ part.len() as u64);
    }
    hash
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[expect(clippy::cast_precision_loss, reason = "53 bits fit into a float")]
fn unit(number: u64) -> f64 {
    (number >> 11) as f64 / (1_u64 << 53) as f64
}
