//! What a program sends over HTTP: `gh api`, `curl` and their kin do the same acts by address.

use super::SENDERS;
use super::rule::Fit;
use shell::pattern;
use shell::value::{HOLE, has_hole};
use shell::words::names;

/// One request, as far as the words tell.
pub(super) struct Request {
    method: String,
    addresses: Vec<String>,
    body: String,
    /// Whether a body, or the name of a field, is not known.
    hides: bool,
}

/// Options of a program that say what is sent.
pub(super) struct Sender {
    pub(super) programs: &'static [&'static str],
    pub(super) method: &'static [&'static str],
    pub(super) body: &'static [&'static str],
    pub(super) upload: &'static [&'static str],
    pub(super) address: &'static [&'static str],
    /// Other options that take the next word.
    pub(super) valued: &'static [&'static str],
}

impl Sender {
    /// Options that take the next word.
    fn all(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            self.method,
            self.body,
            self.upload,
            self.address,
            self.valued,
        ];
        all.into_iter().flatten().copied()
    }

    /// Divides an option from its value: `--method=POST`, `-XPOST`, `-X=POST`, `-sX POST`.
    fn split<'w>(&self, word: &'w str) -> (&'w str, Option<&'w str>) {
        if !word.starts_with('-') || self.all().any(|option| option == word) {
            return (word, None);
        }
        if word.starts_with("--") {
            return word
                .split_once('=')
                .map_or((word, None), |(option, value)| (option, Some(value)));
        }
        for (at, letter) in word.char_indices().skip(1) {
            let short = |option: &&str| option.len() == 2 && option.ends_with(letter);
            if let Some(option) = self.all().find(short) {
                let rest = word.get(at.saturating_add(1)..).unwrap_or_default();
                let rest = rest.strip_prefix('=').unwrap_or(rest);
                return (option, Some(rest).filter(|rest| !rest.is_empty()));
            }
        }
        (word, None)
    }
}

fn sender(program: &str) -> Option<&'static Sender> {
    SENDERS
        .iter()
        .find(|sender| sender.programs.contains(&program))
}

/// Whether a program sends requests.
pub(super) fn is_sender(program: &str) -> bool {
    sender(program).is_some()
}

/// Reads the request of a program that sends one.
pub(super) fn of(program: &str, arguments: &[String]) -> Option<Request> {
    let sender = sender(program)?;
    let front = match program {
        "gh" | "hub" => "api.github.com",
        "glab" => "gitlab.com/api/v4",
        _ => return read(sender, arguments, ""),
    };
    let at = arguments.iter().position(|word| word == "api")?;
    read(sender, arguments.get(at.saturating_add(1)..)?, front)
}

fn read(reading: &Sender, arguments: &[String], front: &str) -> Option<Request> {
    let mut request = Request {
        method: String::new(),
        addresses: Vec::new(),
        body: String::new(),
        hides: false,
    };
    let mut implied = "GET";
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let (option, glued) = reading.split(word);
        let mut value =
            || glued.map_or_else(|| words.next().cloned().unwrap_or_default(), str::to_owned);
        let is = |options: &[&str]| options.contains(&option);
        if is(reading.method) {
            request.method = value().to_ascii_uppercase();
        } else if is(reading.body) || is(reading.upload) {
            implied = if is(reading.upload) { "PUT" } else { "POST" };
            let body = value();
            let (name, text) = body.split_once('=').unwrap_or((&body, &body));
            request.hides |= has_hole(name) || (name == "query" && has_hole(text));
            request.body.push_str(&body);
            request.body.push('\n');
        } else if is(reading.address) {
            request.addresses.push(value());
        } else if is(reading.valued) {
            value();
        } else if word == "--help" {
            return None;
        } else if matches!(option, "-G" | "--get" | "-I" | "--head") && front.is_empty() {
            request.method = "GET".to_owned();
        } else if word.starts_with('-') {
            // It changes nothing that counts.
        } else if reading.method.is_empty() && word.bytes().all(|one| one.is_ascii_uppercase()) {
            // `http POST address`.
            request.method.clone_from(word);
        } else if reading.method.is_empty() && !word.contains("://") && word.contains('=') {
            implied = "POST";
        } else if front.is_empty() || request.addresses.is_empty() {
            request.addresses.push(word.clone());
        }
    }
    if request.method.is_empty() {
        implied.clone_into(&mut request.method);
    }
    for address in &mut request.addresses {
        *address = plain(address, front);
    }
    Some(request)
}

/// Returns host and path, without scheme, user, port, query and doubled slashes.
fn plain(address: &str, front: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let address = without_groups(address, front);
    let address = address.as_str();
    let (whole, front) = match address.split_once("://") {
        Some((_, rest)) => (rest, ""),
        None => (address, front),
    };
    let whole = if front.is_empty() {
        whole.to_owned()
    } else {
        format!("{front}/{whole}")
    };
    let mut parts = whole.split('/').filter(|part| !part.is_empty());
    let host = parts.next().unwrap_or_default();
    let host = host
        .rsplit('@')
        .next()
        .unwrap_or(host)
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_lowercase();
    let parts: Vec<&str> = std::iter::once(host.as_str()).chain(parts).collect();
    // `repos/$REPO/issues`: a variable in the place of the owner holds the name as well.
    match parts.as_slice() {
        [host, "repos", both] if has_hole(both) => format!("{host}/repos/{both}/{both}"),
        [host, "repos", both, below, rest @ ..] if has_hole(both) && BELOW.contains(below) => {
            let rest: String = rest.iter().map(|part| format!("/{part}")).collect();
            format!("{host}/repos/{both}/{both}/{below}{rest}")
        }
        parts => parts.join("/"),
    }
}

/// Makes what is not known of `{a,b}` and `[1-3]`, which a program other than `gh` and `glab` takes for several addresses,
/// and of characters that are written as `%72`.
fn without_groups(address: &str, front: &str) -> String {
    let mut plain = String::with_capacity(address.len());
    let mut rest = address;
    while let Some(at) = rest.find(['{', '[', '%']) {
        let (before, behind) = rest.split_at(at);
        plain.push_str(before);
        let end = match behind.as_bytes().first() {
            Some(b'%') => Some(2).filter(|end| behind.is_char_boundary(*end + 1)),
            Some(b'{') => behind.find('}'),
            _ => behind.find(']'),
        };
        let is_kept = !front.is_empty() && !behind.starts_with('%');
        let Some(end) = end.filter(|end| *end < behind.len() && !is_kept) else {
            plain.push_str(behind);
            return plain;
        };
        plain.push(HOLE);
        rest = behind.get(end.saturating_add(1)..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

/// What stands below `repos/owner/name`.
const BELOW: &[&str] = names!(
    "actions branches check-runs comments commits contents dispatches git issues labels merges milestones pages pulls \
    releases statuses transfer"
);

impl Request {
    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// Whether the request is one of these of the table.
    pub(super) fn fits(&self, wanted: &[&str]) -> Fit {
        wanted
            .iter()
            .map(|one| self.fits_one(one))
            .max()
            .unwrap_or(Fit::No)
    }

    fn fits_one(&self, wanted: &str) -> Fit {
        let mut tokens = wanted.split_whitespace();
        let (method, address) = (
            tokens.next().unwrap_or_default(),
            tokens.next().unwrap_or_default(),
        );
        let by_method = match self.method.as_str() {
            unknown if has_hole(unknown) => Fit::Unknown,
            "GET" | "HEAD" | "OPTIONS" => Fit::No,
            known if method == "change" || method.split('|').any(|one| one == known) => Fit::Yes,
            _ => Fit::No,
        };
        if by_method == Fit::No {
            return Fit::No;
        }
        let wanted: Vec<&str> = address.split('/').collect();
        let mut fit = Fit::No;
        for address in &self.addresses {
            let parts: Vec<&str> = address.split('/').collect();
            // Whoever calls an address that is not known is not asked about it.
            if parts.first().is_some_and(|host| !has_hole(host)) {
                fit = fit.max(path_fits(&wanted, &parts));
            }
        }
        for token in tokens {
            match token.split_at_checked(1) {
                Some(("!", end)) if self.addresses.iter().any(|address| address.ends_with(end)) => {
                    return Fit::No;
                }
                Some(("~", words)) if !words.split('|').any(|word| self.body.contains(word)) => {
                    let open = self.hides && !self.body.contains("query {");
                    fit = fit.min(if open { Fit::Unknown } else { Fit::No });
                }
                _ => {}
            }
        }
        fit.min(by_method)
    }
}

/// Compares the parts of an address.
fn path_fits(wanted: &[&str], parts: &[&str]) -> Fit {
    match (wanted, parts) {
        ([], []) | (["**"], _) => Fit::Yes,
        ([first, rest @ ..], [part, below @ ..]) => {
            if *first == "*" || pattern::matches(first, part) {
                path_fits(rest, below)
            } else if has_hole(part) {
                // It may hold any number of parts.
                Fit::Unknown
            } else {
                Fit::No
            }
        }
        _ => Fit::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Method and addresses of a request, or nothing.
    fn sent(command: &str) -> Option<(String, Vec<String>)> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let (program, arguments) = words.split_first().unwrap();
        of(program, arguments).map(|request| (request.method, request.addresses))
    }

    #[test]
    fn requests_are_read_from_words() {
        for (command, method, address) in [
            ("curl https://x.org/a?b#c", "GET", "x.org/a"),
            ("curl -X POST https://x.org/a", "POST", "x.org/a"),
            ("curl -XPUT https://u@X.org:80//a", "PUT", "x.org/a"),
            ("curl -sX delete https://x.org/a", "DELETE", "x.org/a"),
            ("curl --request=PATCH https://x.org/a", "PATCH", "x.org/a"),
            ("curl -d a=b https://x.org/a", "POST", "x.org/a"),
            ("curl -T f https://x.org/a", "PUT", "x.org/a"),
            ("curl -G -d a=b https://x.org/a", "GET", "x.org/a"),
            ("curl --url https://x.org/a", "GET", "x.org/a"),
            ("curl https://X.org./a", "GET", "x.org/a"),
            ("curl -o f https://x.org/a", "GET", "x.org/a"),
            ("gh api repos/o/r", "GET", "api.github.com/repos/o/r"),
            (
                "gh api /repos/o/r -f a=b",
                "POST",
                "api.github.com/repos/o/r",
            ),
            (
                "gh api -X PATCH repos/o/r -f a=b",
                "PATCH",
                "api.github.com/repos/o/r",
            ),
            ("glab api projects/1", "GET", "gitlab.com/api/v4/projects/1"),
        ] {
            let expected = Some((method.to_owned(), vec![address.to_owned()]));
            assert_eq!(sent(command), expected, "{command}");
        }
        for command in ["gh pr view", "ls", "curl --help"] {
            assert_eq!(sent(command), None, "{command}");
        }
    }

    #[test]
    fn an_address_fits_part_by_part() {
        for (wanted, address, fit) in [
            ("a.org/b", "a.org/b", Fit::Yes),
            ("a.org/b", "a.org/c", Fit::No),
            ("a.org/*/c", "a.org/b/c", Fit::Yes),
            ("a.org/*", "a.org/b/c", Fit::No),
            ("a.org/**", "a.org/b/c", Fit::Yes),
            ("a.org/b/c", "a.org/\u{FFFF}", Fit::Unknown),
        ] {
            let parts = |text: &'static str| text.split('/').collect::<Vec<_>>();
            let found = path_fits(&parts(wanted), &parts(address));
            assert_eq!(found, fit, "{wanted} {address}");
        }
    }
}
