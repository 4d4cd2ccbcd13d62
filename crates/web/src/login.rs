//! The operator's login: a one-time code, exchanged for a cookie; a token that the operator's programs send; or a
//! provider that knows people ([`SignIn`]), each with a role.
//!
//! A program of an agent can reach our address like a person, but not the place where the code is shown: the terminal
//! of `roleos up`, a file that the operator named, or the socket behind [`local`]. So nothing under `/api/` changes
//! anything without the cookie or the token. Only the hash of a cookie is stored; a code is compared in constant time
//! and works once. Guessing is hopeless: a code has 60 bits, and a guessing client on another machine has to wait
//! ([`waits`]). Guessing cannot lock the operator out, because only the guessing client waits.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, COOKIE};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use evidence::archive::people::Role;

use self::waits::{Client, Waits};

pub mod local;
#[cfg(feature = "oidc")]
pub(crate) mod sign_in;
pub mod waits;
#[cfg(not(feature = "oidc"))]
mod without;

#[cfg(feature = "oidc")]
pub use self::sign_in::SignIn;
#[cfg(not(feature = "oidc"))]
pub use self::without::SignIn;

/// Name of the cookie.
pub const NAME: &str = "roleos_session";

/// Letters of a code; no two look alike.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Number of letters in a code: 60 bits.
const LENGTH: usize = 12;
/// Lifetime of a login.
const LIFETIME_NS: u64 = 12 * 3_600_000_000_000;
/// Logins of one name at once, and of all; the oldest makes room.
const MAX_SESSIONS: usize = 32;
const MAX_ALL_SESSIONS: usize = 4096;
/// Longest name of an operator.
pub const MAX_NAME: usize = 100;
/// The operator's name in the logs for a request with the operator's token.
const BY_TOKEN: &str = "operator token";

/// Callback that shows a new code to the person at the terminal.
type Show = Box<dyn Fn(&str) + Send + Sync>;

/// Codes and cookies of one process. They end with it.
pub struct Logins {
    show: Show,
    /// Value of `Authorization: Bearer` that counts as a login.
    token: Option<Zeroizing<Vec<u8>>>,
    /// Set if cookies are sent over TLS only.
    secure: bool,
    /// The provider that knows people, where there is one.
    sign_in: Option<SignIn>,
    desk: Mutex<Desk>,
}

/// Who is logged in, and how far that goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Who acts, for the logs.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// A provider vouches for the name, so that they cannot act under another one.
    pub is_known: bool,
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").finish_non_exhaustive()
    }
}

struct Desk {
    /// The current code; `None` if logins are closed.
    code: Option<Zeroizing<String>>,
    waits: Waits,
    sessions: Vec<Session>,
}

struct Session {
    hash: [u8; 32],
    person: Person,
    expires_ns: u64,
}

/// A successful login.
#[derive(Debug)]
pub struct LoggedIn {
    /// The cookie's value, which is not stored.
    pub cookie: Zeroizing<String>,
    /// End of the login, in nanoseconds since 1970.
    pub expires_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The code is wrong.
    Wrong {
        /// Guesses left for this client before it must wait, if it ever must.
        left: Option<u32>,
    },
    /// Too many guesses; this client must wait.
    Paused {
        /// Remaining seconds, rounded up.
        seconds: u64,
    },
    /// There is no code: no person was at the terminal when the process started, or there are no random numbers.
    Closed,
}

impl Logins {
    /// Creates the first code; `show` gets it, and every later one.
    #[must_use]
    pub fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let code = new_code();
        if let Some(code) = &code {
            show(code);
        }
        Self {
            show: Box::new(show),
            token: None,
            secure: false,
            sign_in: None,
            desk: Mutex::new(Desk {
                code,
                waits: Waits::default(),
                sessions: Vec::new(),
            }),
        }
    }

    /// Creates closed logins, for a process that a person did not start at a terminal: nothing can be changed.
    #[must_use]
    pub fn closed() -> Self {
        Self {
            show: Box::new(|_| ()),
            token: None,
            secure: false,
            sign_in: None,
            desk: Mutex::new(Desk {
                code: None,
                waits: Waits::default(),
                sessions: Vec::new(),
            }),
        }
    }

    /// Accepts this token in `Authorization: Bearer` as a login.
    #[must_use]
    pub fn with_token(mut self, token: Vec<u8>) -> Self {
        self.token = Some(Zeroizing::new(token));
        self
    }

    /// Marks cookies as `Secure`, for a process that speaks TLS.
    #[must_use]
    pub fn over_tls(mut self) -> Self {
        self.secure = true;
        self
    }

    /// Lets people log in through a provider as well.
    #[must_use]
    pub fn with_sign_in(mut self, sign_in: Option<SignIn>) -> Self {
        self.secure |= sign_in.as_ref().is_some_and(SignIn::is_over_tls);
        self.sign_in = sign_in;
        self
    }

    /// Returns the provider that knows people.
    #[must_use]
    pub fn sign_in(&self) -> Option<&SignIn> {
        self.sign_in.as_ref()
    }

    /// Returns `true` if browsers reach this process over TLS.
    #[must_use]
    pub fn is_over_tls(&self) -> bool {
        self.secure
    }

    /// Returns the code that works now; none if logins are closed.
    #[must_use]
    pub fn code(&self) -> Option<Zeroizing<String>> {
        self.desk().code.clone()
    }

    /// Exchanges the code for a cookie. Case, spaces and dashes are ignored.
    pub fn log_in(
        &self,
        client: Client,
        code: &str,
        operator: &str,
        now_ns: u64,
    ) -> Result<LoggedIn, Denied> {
        let mut desk = self.desk();
        if let Some(seconds) = desk.waits.left(client, now_ns) {
            return Err(Denied::Paused { seconds });
        }
        let wanted = desk.code.as_ref().ok_or(Denied::Closed)?;
        let given = plain(code);
        let wanted = plain(wanted);
        if !bool::from(given.as_bytes().ct_eq(wanted.as_bytes())) {
            let left = desk.waits.wrong(client, now_ns);
            return Err(Denied::Wrong { left });
        }
        desk.waits.right(client);
        let person = Person {
            name: operator.to_owned(),
            role: Role::Admin,
            is_known: false,
        };
        let granted = open(&mut desk, person, now_ns).ok_or(Denied::Closed)?;
        self.renew(&mut desk);
        Ok(granted)
    }

    /// Logs a person in for whom a provider vouches; none when there are no random numbers.
    pub fn admit(&self, person: Person, now_ns: u64) -> Option<LoggedIn> {
        open(&mut self.desk(), person, now_ns)
    }

    /// Returns `true` if `Authorization` contains the operator's token.
    #[must_use]
    pub fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(wanted) = &self.token else {
            return false;
        };
        let mut given = headers.get_all(AUTHORIZATION).iter();
        given.any(|given| {
            let (scheme, token) = given.as_bytes().split_at_checked(7).unwrap_or_default();
            scheme.eq_ignore_ascii_case(b"bearer ") && token.trim_ascii().ct_eq(wanted).into()
        })
    }

    /// Returns the operator of this request's cookie or token.
    #[must_use]
    pub fn person(&self, headers: &HeaderMap, now_ns: u64) -> Option<Person> {
        if self.has_token(headers) {
            return Some(Person {
                name: BY_TOKEN.to_owned(),
                role: Role::Admin,
                is_known: false,
            });
        }
        let hashes = hashes(headers);
        let desk = self.desk();
        let current = |session: &&Session| session.expires_ns > now_ns;
        let found = desk.sessions.iter().filter(current).find(|session| {
            let same = |hash: &[u8; 32]| bool::from(hash.ct_eq(&session.hash));
            hashes.iter().any(same)
        });
        found.map(|session| session.person.clone())
    }

    /// The name of who is logged in and may act.
    #[must_use]
    pub fn operator(&self, headers: &HeaderMap, now_ns: u64) -> Option<String> {
        let person = self.person(headers, now_ns)?;
        person.role.may_operate().then_some(person.name)
    }

    /// Ends the logins of this request's cookies.
    pub fn log_out(&self, headers: &HeaderMap) {
        let hashes = hashes(headers);
        let mut desk = self.desk();
        desk.sessions
            .retain(|session| !hashes.contains(&session.hash));
    }

    /// Returns the value of `Set-Cookie`. Other sites can neither read it nor make a browser send it.
    #[must_use]
    pub fn set_cookie(&self, cookie: &str) -> String {
        self.cookie(cookie, LIFETIME_NS / 1_000_000_000)
    }

    /// Returns the value of `Set-Cookie` that removes the cookie.
    #[must_use]
    pub fn clear_cookie(&self) -> String {
        self.cookie("", 0)
    }

    fn cookie(&self, value: &str, seconds: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{NAME}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }

    fn renew(&self, desk: &mut Desk) {
        desk.code = new_code();
        if let Some(code) = &desk.code {
            (self.show)(code);
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a login and returns its cookie; the oldest of the same name makes room, then the oldest of all.
fn open(desk: &mut Desk, person: Person, now_ns: u64) -> Option<LoggedIn> {
    let cookie = Zeroizing::new(hex::encode(*random()?));
    let expires_ns = now_ns.saturating_add(LIFETIME_NS);
    desk.sessions.retain(|session| session.expires_ns > now_ns);
    let is_same = |session: &Session| session.person.name == person.name;
    let own = desk.sessions.iter().filter(|one| is_same(one)).count();
    if own >= MAX_SESSIONS
        && let Some(oldest) = desk.sessions.iter().position(is_same)
    {
        desk.sessions.remove(oldest);
    }
    if desk.sessions.len() >= MAX_ALL_SESSIONS {
        desk.sessions.remove(0);
    }
    desk.sessions.push(Session {
        hash: base::digest(cookie.as_bytes()),
        person,
        expires_ns,
    });
    Some(LoggedIn { cookie, expires_ns })
}

fn plain(code: &str) -> Zeroizing<String> {
    let letters = code.chars().filter(char::is_ascii_alphanumeric);
    Zeroizing::new(letters.map(|letter| letter.to_ascii_uppercase()).collect())
}

/// Returns the hashes of the cookies with our name; a request may contain several.
fn hashes(headers: &HeaderMap) -> Vec<[u8; 32]> {
    let cookies = cookies(headers, NAME);
    cookies
        .map(|value| base::digest(value.as_bytes()))
        .collect()
}

/// The cookies of a name, up to eight.
pub(crate) fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(COOKIE).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let cookies = texts.flat_map(|text| text.split(';'));
    cookies
        .filter_map(move |cookie| cookie.trim().strip_prefix(name)?.strip_prefix('='))
        .take(8)
}

fn random() -> Option<Zeroizing<[u8; 32]>> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut_slice()).ok()?;
    Some(bytes)
}

/// Generates a code `XXXX-XXXX-XXXX`.
fn new_code() -> Option<Zeroizing<String>> {
    let bytes = random()?;
    let mut code = Zeroizing::new(String::with_capacity(LENGTH + 2));
    for (place, byte) in bytes.iter().take(LENGTH).enumerate() {
        if place > 0 && place % 4 == 0 {
            code.push('-');
        }
        let letter = ALPHABET.get(usize::from(byte % 32)).copied();
        code.push(char::from(letter.unwrap_or(b'0')));
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::Arc;

    use super::*;

    const NOW: u64 = 1_700_000_000_000_000_000;
    const HERE: Client = Client(IpAddr::V4(Ipv4Addr::LOCALHOST));

    fn logins() -> (Logins, Arc<Mutex<Vec<String>>>) {
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let heard = Arc::clone(&shown);
        let logins = Logins::new(move |code| heard.lock().unwrap().push(code.to_owned()));
        (logins, shown)
    }

    fn with(cookie: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, cookie.parse().unwrap());
        headers
    }

    #[test]
    fn a_code_works_once_and_a_cookie_until_it_ends() {
        let (logins, shown) = logins();
        let first = shown.lock().unwrap()[0].clone();
        assert_eq!(first.len(), 14);
        let typed = first.to_lowercase().replace('-', " ");
        let granted = logins.log_in(HERE, &typed, "ada", NOW).unwrap();
        assert_eq!(granted.cookie.len(), 64);
        let headers = with(&format!("a=b; {NAME}={}; c=d", *granted.cookie));
        assert_eq!(logins.operator(&headers, NOW).as_deref(), Some("ada"));
        assert_eq!(logins.operator(&headers, granted.expires_ns), None);
        assert_eq!(
            logins.operator(&with(&format!("{NAME}={}0", *granted.cookie)), NOW),
            None
        );
        assert_eq!(logins.operator(&HeaderMap::new(), NOW), None);
        let again = logins.log_in(HERE, &first, "eve", NOW).unwrap_err();
        assert_eq!(again, Denied::Wrong { left: None });
        assert_eq!(shown.lock().unwrap().len(), 2);
        logins.log_out(&headers);
        assert_eq!(logins.operator(&headers, NOW), None);
    }

    #[test]
    fn only_the_whole_token_counts_and_cookies_say_when_they_need_tls() {
        let (logins, _) = logins();
        let bearer = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            headers
        };
        let right = bearer("Bearer a-token-of-an-operator");
        assert_eq!(logins.operator(&right, NOW), None, "none is set");
        assert!(!logins.set_cookie("x").contains("Secure"));
        let logins = logins
            .with_token(b"a-token-of-an-operator".to_vec())
            .over_tls();
        assert_eq!(
            logins.operator(&right, NOW).as_deref(),
            Some("operator token")
        );
        for wrong in [
            "Bearer a-token-of-an-operato",
            "Bearer ",
            "Bearer",
            "Basic a-token-of-an-operator",
            "a-token-of-an-operator",
        ] {
            assert_eq!(logins.operator(&bearer(wrong), NOW), None, "{wrong}");
        }
        for cookie in [logins.set_cookie("x"), logins.clear_cookie()] {
            assert!(cookie.ends_with("; Secure"), "{cookie}");
        }
    }

    #[test]
    fn only_the_one_who_guesses_waits_and_the_code_stays() {
        let (logins, shown) = logins();
        let code = shown.lock().unwrap()[0].clone();
        let eve = Client("192.0.2.7".parse().unwrap());
        for left in (0..5).rev() {
            let denied = logins.log_in(eve, "", "eve", NOW).unwrap_err();
            assert_eq!(denied, Denied::Wrong { left: Some(left) });
        }
        // Even with the right code, so that further guesses are useless.
        let denied = logins.log_in(eve, &code, "eve", NOW + 1).unwrap_err();
        assert_eq!(denied, Denied::Paused { seconds: 30 });
        assert_eq!(shown.lock().unwrap().len(), 1, "the code stays readable");
        let ada = Client("192.0.2.8".parse().unwrap());
        assert!(logins.log_in(ada, &code, "ada", NOW + 1).is_ok());
    }

    #[test]
    fn a_program_on_this_machine_cannot_keep_its_operator_out() {
        let (logins, shown) = logins();
        let code = shown.lock().unwrap()[0].clone();
        for _ in 0..100 {
            assert!(logins.log_in(HERE, "guess", "eve", NOW).is_err());
        }
        assert!(logins.log_in(HERE, &code, "ada", NOW).is_ok());
    }

    #[test]
    fn the_oldest_login_makes_room() {
        let (logins, shown) = logins();
        let log_in = || {
            let code = shown.lock().unwrap().last().unwrap().clone();
            logins.log_in(HERE, &code, "ada", NOW).unwrap().cookie
        };
        let first = log_in();
        let second = log_in();
        (0..MAX_SESSIONS - 1).for_each(|_| drop(log_in()));
        let cookie = |value: &str| with(&format!("{NAME}={value}"));
        assert_eq!(logins.operator(&cookie(&first), NOW), None);
        assert!(logins.operator(&cookie(&second), NOW).is_some());
    }
}
