//! Waiting times between guesses of a login code: per client, longer every time.
//!
//! A client on this machine never waits: programs and the person share its address, and a program must not be able to
//! keep the person out. There the 60 bits of a code are enough: a thousand million guesses find it with a probability
//! of one in a thousand million.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// Wrong guesses before a client waits.
const MAX_WRONG: u32 = 5;
/// First waiting time; each further one is twice as long.
const FIRST_NS: u64 = 30_000_000_000;
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Most clients that are remembered; the one with the oldest guess is dropped.
const MAX_CLIENTS: usize = 4096;

/// Origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client(pub IpAddr);

impl Client {
    /// Returns `true` if it is on this machine.
    #[must_use]
    pub fn is_here(self) -> bool {
        self.0.to_canonical().is_loopback()
    }

    /// Returns the client's key. One IPv6 network is one client, because the owner of one address has all of them.
    fn known_as(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() >> 64 << 64;
                IpAddr::V6(Ipv6Addr::from_bits(network))
            }
            address @ IpAddr::V4(_) => address,
        }
    }
}

/// Extracted from the accepted connection. A request without one does not count as local.
impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let noted = parts.extensions.get::<Self>().copied();
        Ok(noted.unwrap_or(Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED))))
    }
}

/// Wrong guesses by client.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<IpAddr, Guesses>);

#[derive(Clone, Copy, Debug, Default)]
struct Guesses {
    wrong: u32,
    waits: u32,
    last_ns: u64,
    until_ns: u64,
}

impl Waits {
    /// Returns the seconds that a client still has to wait, rounded up.
    pub(super) fn left(&self, client: Client, now_ns: u64) -> Option<u64> {
        let guesses = self.0.get(&client.known_as())?;
        let left = guesses.until_ns.checked_sub(now_ns)?;
        (left > 0).then(|| left.div_ceil(1_000_000_000))
    }

    /// Counts a wrong guess, and returns the number left before a wait, if there is one.
    pub(super) fn wrong(&mut self, client: Client, now_ns: u64) -> Option<u32> {
        if client.is_here() {
            return None;
        }
        let known_as = client.known_as();
        if self.0.len() >= MAX_CLIENTS && !self.0.contains_key(&known_as) {
            let oldest = self.0.iter().min_by_key(|(_, guesses)| guesses.last_ns);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.0.remove(&oldest);
            }
        }
        let guesses = self.0.entry(known_as).or_default();
        guesses.wrong += 1;
        guesses.last_ns = now_ns;
        let left = MAX_WRONG.saturating_sub(guesses.wrong);
        if left == 0 {
            let longer = FIRST_NS.checked_shl(guesses.waits).unwrap_or(LONGEST_NS);
            guesses.until_ns = now_ns.saturating_add(longer.min(LONGEST_NS));
            guesses.waits = (guesses.waits + 1).min(16);
            guesses.wrong = 0;
        }
        Some(left)
    }

    /// Removes a client with a correct code.
    pub(super) fn right(&mut self, client: Client) {
        self.0.remove(&client.known_as());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000_000_000;

    fn client(text: &str) -> Client {
        Client(text.parse().unwrap())
    }

    fn guess(waits: &mut Waits, client: Client, now_ns: u64) {
        for _ in 0..MAX_WRONG {
            waits.wrong(client, now_ns);
        }
    }

    #[test]
    fn every_wait_is_longer_up_to_an_hour_and_ends_with_the_right_code() {
        let (mut waits, eve) = (Waits::default(), client("192.0.2.7"));
        let mut now = NOW;
        let mut seconds = Vec::new();
        for _ in 0..9 {
            guess(&mut waits, eve, now);
            seconds.push(waits.left(eve, now).unwrap());
            now += seconds.last().unwrap() * 1_000_000_000;
            assert_eq!(waits.left(eve, now), None);
        }
        assert_eq!(seconds, [30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        waits.right(eve);
        assert_eq!(waits.wrong(eve, now), Some(4));
    }

    #[test]
    fn clients_are_told_apart_by_their_network() {
        let mut waits = Waits::default();
        guess(&mut waits, client("2001:db8:0:1::1"), NOW);
        assert!(waits.left(client("2001:db8:0:1::2"), NOW).is_some());
        assert!(waits.left(client("2001:db8:0:2::1"), NOW).is_none());
        guess(&mut waits, client("::ffff:192.0.2.7"), NOW);
        assert!(waits.left(client("192.0.2.7"), NOW).is_some());
        assert!(client("::ffff:127.0.0.1").is_here());
    }

    #[test]
    fn what_is_remembered_stays_small() {
        let mut waits = Waits::default();
        for number in 0..u32::try_from(MAX_CLIENTS).unwrap() + 10 {
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number));
            guess(&mut waits, Client(address), NOW + u64::from(number));
        }
        assert_eq!(waits.0.len(), MAX_CLIENTS);
        assert!(waits.left(client("10.0.0.0"), NOW).is_none());
    }
}
