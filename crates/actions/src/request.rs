//! HTTP requests of programs: `gh api`, `curl` and similar ones perform the same acts by address.

use super::SENDERS;
use super::rule::Fit;
use shell::pattern;
use shell::value::{HOLE, has_hole};
use shell::words::names;

/// One request, as far as the arguments tell it.
pub(super) struct Request {
    method: String,
    addresses: Vec<String>,
    body: String,
    /// Set if a body, or the name of a field, is unknown.
    hides: bool,
    /// Hosts and paths that options substitute for those of the addresses.
    hosts: Vec<String>,
    paths: Vec<String>,
    /// The method of an earlier request of the same call that changes something.
    earlier: Option<String>,
}

/// Options of a program that determine the request.
pub(super) struct Sender {
    pub(super) programs: &'static [&'static str],
    pub(super) method: &'static [&'static str],
    pub(super) body: &'static [&'static str],
    pub(super) upload: &'static [&'static str],
    pub(super) address: &'static [&'static str],
    /// Other options that take the next argument.
    pub(super) valued: &'static [&'static str],
}

impl Sender {
    /// Returns the options that take the next argument.
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

    /// Splits an option from its value: `--method=POST`, `-XPOST`, `-X=POST`, `-sX POST`.
    fn split<'w>(&self, word: &'w str) -> (&'w str, Option<&'w str>) {
        if !word.starts_with('-') || self.all().any(|option| option == word) {
            return (word, None);
        }
        if word.starts_with("--") {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, None),
            };
            // Options can be abbreviated, and the prefix `--expand-` puts variables into the value.
            let bare = option.strip_prefix("--expand-");
            let whole = self.all().chain(FLAGS.iter().copied());
            let whole = whole.filter(|whole| match bare {
                Some(bare) => whole.trim_start_matches('-') == bare,
                None => option.len() > 4 && whole.starts_with(option),
            });
            return (
                whole.min_by_key(|whole| whole.len()).unwrap_or(option),
                value,
            );
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

/// Relevant options of `curl` without a value.
const FLAGS: &[&str] = &["--get", "--head", "--help", "--next"];

fn sender(program: &str) -> Option<&'static Sender> {
    SENDERS
        .iter()
        .find(|sender| sender.programs.contains(&program))
}

/// Returns `true` if a program sends requests.
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
        hosts: Vec::new(),
        paths: Vec::new(),
        earlier: None,
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
            request.redirect(option, &value());
        } else if matches!(option, "--next" | "-:") {
            request.end(implied);
            implied = "GET";
        } else if word == "--help" {
            return None;
        } else if matches!(option, "-G" | "--get" | "-I" | "--head") && front.is_empty() {
            request.method = "GET".to_owned();
        } else if word.starts_with('-') {
            // It changes nothing relevant.
        } else if reading.method.is_empty() && word.bytes().all(|one| one.is_ascii_uppercase()) {
            // `http POST address`.
            request.method.clone_from(word);
        } else if reading.method.is_empty() && !word.contains("://") && word.contains('=') {
            implied = "POST";
        } else if front.is_empty() || request.addresses.is_empty() {
            request.addresses.push(word.clone());
        }
    }
    request.end(implied);
    request.method = request.earlier.take().unwrap_or_default();
    let addresses = std::mem::take(&mut request.addresses);
    let plain = addresses.iter().flat_map(|one| expanded(one, front));
    let plain: Vec<String> = plain.map(|one| plain_address(&one, front)).collect();
    let hosts = request.hosts.iter().flat_map(|host| {
        let behind = |one: &String| one.split_once('/').map_or("", |(_, path)| path).to_owned();
        let other = move |one| plain_address(&format!("{host}/{}", behind(one)), "");
        plain.iter().map(other)
    });
    let hosts: Vec<String> = plain.iter().cloned().chain(hosts).collect();
    let paths = request.paths.iter().flat_map(|path| {
        let host = |one: &'_ String| one.split('/').next().unwrap_or_default().to_owned();
        hosts
            .iter()
            .map(move |one| plain_address(&format!("{}/{path}", host(one)), ""))
    });
    request.addresses = hosts.iter().cloned().chain(paths).collect();
    Some(request)
}

/// Returns host and path, without scheme, user, port, query, `..` and doubled slashes.
fn plain_address(address: &str, front: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let address = decoded(address);
    let scheme = address.split_once(":/").filter(|(scheme, _)| {
        let is_letter = |one: char| one.is_ascii_alphanumeric() || "+-.".contains(one);
        scheme.chars().all(is_letter)
    });
    let whole = match scheme {
        Some((_, rest)) => rest.to_owned(),
        None if front.is_empty() => address.clone(),
        None => format!("{front}/{address}"),
    };
    let mut kept: Vec<&str> = Vec::new();
    for part in whole
        .split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "."))
    {
        match part {
            ".." if kept.len() > 1 => drop(kept.pop()),
            part => kept.push(part),
        }
    }
    let mut parts = kept.into_iter();
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
    // `repos/$REPO/issues`: a variable in the position of the owner contains the name as well.
    match parts.as_slice() {
        [host, "repos", both] if has_hole(both) => format!("{host}/repos/{both}/{both}"),
        [host, "repos", both, below, rest @ ..] if has_hole(both) && BELOW.contains(below) => {
            let rest: String = rest.iter().map(|part| format!("/{part}")).collect();
            format!("{host}/repos/{both}/{both}/{below}{rest}")
        }
        parts => parts.join("/"),
    }
}

/// Limit of the addresses of one pattern.
const MAX_ADDRESSES: usize = 64;

/// Returns the addresses of `{a,b}` and `[a-c]`, which programs other than `gh` and `glab` expand.
fn expanded(address: &str, front: &str) -> Vec<String> {
    let mut done = vec![String::new()];
    let mut rest = address;
    while let Some(at) = rest.find(['{', '[']).filter(|_| front.is_empty()) {
        let (before, behind) = rest.split_at(at);
        let group = behind
            .find([']', '}'])
            .and_then(|end| behind.split_at_checked(end));
        let Some((group, after)) = group else { break };
        let inner = group.get(1..).unwrap_or_default();
        let many = match behind.starts_with('{') {
            true => inner.split(',').map(str::to_owned).collect(),
            false => range(inner),
        };
        let is_known = done.len().saturating_mul(many.len()) <= MAX_ADDRESSES;
        let many = if is_known {
            many
        } else {
            vec![HOLE.to_string()]
        };
        let all = done
            .iter()
            .flat_map(|front| many.iter().map(move |one| format!("{front}{before}{one}")));
        done = all.collect();
        rest = after.get(1..).unwrap_or_default();
    }
    done.iter().map(|front| format!("{front}{rest}")).collect()
}

/// Returns the values of `a-c`, `1-3` and `1-9:2`, or an unknown value.
fn range(text: &str) -> Vec<String> {
    let ends = text.split(':').next().and_then(|ends| ends.split_once('-'));
    let letter = |text: &str| text.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    match ends.map(|(first, last)| {
        (
            (letter(first), letter(last)),
            (first.parse(), last.parse::<u64>()),
        )
    }) {
        Some(((Some(first), Some(last)), _)) => (first..=last).map(String::from).collect(),
        Some((_, (Ok(first), Ok(last)))) => {
            let first: u64 = first;
            let many = first..=last.min(first.saturating_add(MAX_ADDRESSES as u64));
            many.map(|one| one.to_string()).collect()
        }
        _ => vec![HOLE.to_string()],
    }
}

/// Returns an address with `%72` and wide forms of letters and dots decoded.
fn decoded(address: &str) -> String {
    let mut plain = String::with_capacity(address.len());
    let mut rest = address;
    while let Some(first) = rest.chars().next() {
        let code = rest
            .strip_prefix('%')
            .and_then(|code| u8::from_str_radix(code.get(..2)?, 16).ok());
        let code = code.filter(u8::is_ascii).map(char::from);
        let narrow = match u32::from(first) {
            wide @ 0xFF01..=0xFF5E => char::from_u32(wide.saturating_sub(0xFEE0)),
            0x3002 | 0xFF61 => Some('.'),
            _ => None,
        };
        plain.push(code.or(narrow).unwrap_or(first));
        rest = rest
            .get(if code.is_some() { 3 } else { first.len_utf8() }..)
            .unwrap_or_default();
    }
    plain
}

/// Path elements below `repos/owner/name`.
const BELOW: &[&str] = names!(
    "actions branches check-runs comments commits contents dispatches git issues labels merges milestones pages pulls \
    releases statuses transfer"
);

impl Request {
    /// Ends one request of several: one that changes something counts for all.
    fn end(&mut self, implied: &str) {
        let method = std::mem::take(&mut self.method);
        let method = if method.is_empty() {
            implied.to_owned()
        } else {
            method
        };
        let reads = |method: &String| matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if self.earlier.as_ref().is_none_or(reads) {
            self.earlier = Some(method);
        }
    }

    /// Handles an option that changes the target of the request.
    fn redirect(&mut self, option: &str, value: &str) {
        let host = match option {
            "-x" | "--proxy" | "--preproxy" => value,
            "--connect-to" => value.split(':').nth(2).unwrap_or_default(),
            "--resolve" => value
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_start_matches(['+', '-']),
            "-H" | "--header" => match value.split_once(':') {
                Some((name, host)) if name.eq_ignore_ascii_case("host") => host.trim(),
                _ => "",
            },
            "--request-target" => {
                self.paths.push(value.to_owned());
                ""
            }
            _ => "",
        };
        let host = plain_address(host, "");
        self.hosts
            .extend(Some(host).filter(|host| !host.is_empty()));
    }

    pub(super) fn method(&self) -> &str {
        &self.method
    }

    /// Returns the fit of the request to one of these of the table.
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
            // An unknown address does not lead to a question, unless a pattern of curl hides it.
            if parts
                .first()
                .is_some_and(|host| !has_hole(host) || is_hidden(host, &wanted))
            {
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

/// Returns `true` if a host with a part of too many values can be the wanted one.
fn is_hidden(host: &str, wanted: &[&str]) -> bool {
    let pattern = host.replace(HOLE, "*");
    let known = pattern.trim_matches(['*', '.']);
    !known.is_empty()
        && !has_hole(&pattern)
        && wanted
            .first()
            .is_some_and(|host| pattern::matches(&pattern, host))
}

/// Compares the parts of an address.
fn path_fits(wanted: &[&str], parts: &[&str]) -> Fit {
    match (wanted, parts) {
        ([], []) | (["**"], _) => Fit::Yes,
        ([first, rest @ ..], [part, below @ ..]) => {
            if *first == "*" || pattern::matches(first, part) {
                path_fits(rest, below)
            } else if has_hole(part) {
                // It may contain any number of parts.
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

    /// Returns the method and addresses of a request, or `None`.
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
        for command in [
            "curl -X POST https://{api.github.com}/repos/o/r/releases",
            "curl -X POST https://api.github.co[m-m]/repos/o/r/releases",
            "curl -X POST https://api%2egithub.com/repos/o/r/releases",
            "curl -X POST https:/api.github.com/x/../repos/o/r/releases",
            "curl -X POST https://\u{FF41}pi\u{3002}github.com/repos/o/%72/releases",
            "curl -X POST --connect-to ::api.github.com: https://x.org/repos/o/r/releases",
            "curl -X POST --resolve api.github.com:443:1.2.3.4 https://x/repos/o/r/releases",
            "curl -X POST -x https://api.github.com http://x/repos/o/r/releases",
            "curl -X POST -H Host:api.github.com https://1.2.3.4/repos/o/r/releases",
            "curl -X POST --request-target /repos/o/r/releases https://api.github.com/",
            "curl --reque POST https://api.github.com/repos/o/r/releases",
            "curl -X POST https://api.github.com/repos/o/r/releases --next -X GET https://x.org/",
            "curl --expand-data x https://api.github.com/repos/o/r/releases",
        ] {
            let (method, addresses) = sent(command).unwrap();
            let wanted = "api.github.com/repos/o/r/releases".to_owned();
            assert!(
                method == "POST" && addresses.contains(&wanted),
                "{command} {method} {addresses:?}"
            );
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
