//! Secrets that only the program before them gives away: `mysql -p…`, `curl -u name:…`, `sshpass -p …`, what is piped
//! into `chpasswd`, and the lines of a netrc file.

use super::MARK;

/// How an option carries its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    /// In the same argument: `-psecret`. Alone, the program asks for it.
    Attached,
    /// In the next argument, or in the same.
    Value,
    /// In the next argument.
    Next,
    /// As a value, behind a user's name and this character.
    After(char),
    /// As a value that begins with this text.
    Behind(&'static str),
    /// In the last argument, if the option is there.
    Last,
}

/// A program, its option, and how that carries a secret. `login` is a subcommand of several programs.
const OPTIONS: &[(&str, &[&str], Carries)] = &[
    ("mysql", &["-p"], Carries::Attached),
    ("mysqldump", &["-p"], Carries::Attached),
    ("mysqladmin", &["-p"], Carries::Attached),
    ("mysqlimport", &["-p"], Carries::Attached),
    ("mysqlsh", &["-p"], Carries::Attached),
    ("mariadb", &["-p"], Carries::Attached),
    ("mariadb-dump", &["-p"], Carries::Attached),
    ("7z", &["-p"], Carries::Attached),
    ("7za", &["-p"], Carries::Attached),
    (
        "curl",
        &["-u", "--user", "-U", "--proxy-user"],
        Carries::After(':'),
    ),
    ("http", &["-a", "--auth"], Carries::After(':')),
    ("https", &["-a", "--auth"], Carries::After(':')),
    ("xh", &["-a", "--auth"], Carries::After(':')),
    ("smbclient", &["-U"], Carries::After('%')),
    ("lftp", &["-u"], Carries::After(',')),
    ("sshpass", &["-p"], Carries::Value),
    ("login", &["-p"], Carries::Value),
    ("mongo", &["-p"], Carries::Value),
    ("mongosh", &["-p"], Carries::Value),
    ("mongodump", &["-p"], Carries::Value),
    ("mongorestore", &["-p"], Carries::Value),
    ("redis-cli", &["-a", "--pass"], Carries::Value),
    ("ldapsearch", &["-w"], Carries::Value),
    ("ldapmodify", &["-w"], Carries::Value),
    ("ldapadd", &["-w"], Carries::Value),
    ("sqlcmd", &["-P"], Carries::Value),
    ("zip", &["-P"], Carries::Value),
    ("unzip", &["-P"], Carries::Value),
    ("curl", &["-b", "--cookie"], Carries::After('=')),
    (
        "curl",
        &["--pass", "--proxy-pass", "--key-pass"],
        Carries::Value,
    ),
    (
        "openssl",
        &["-pass", "-passin", "-passout"],
        Carries::Behind("pass:"),
    ),
    ("openssl", &["-k", "-K"], Carries::Next),
    (
        "htpasswd",
        &[
            "-b", "-nb", "-bn", "-cb", "-bc", "-nbB", "-cbB", "-bB", "-Bb", "-nbm",
        ],
        Carries::Last,
    ),
    ("mysqladmin", &["password"], Carries::Next),
    ("useradd", &["-p"], Carries::Value),
    ("usermod", &["-p"], Carries::Value),
    ("chpasswd", &["<<<"], Carries::After(':')),
    ("kinit", &["--password"], Carries::Value),
    ("xfreerdp", &["/p:"], Carries::Attached),
    ("ipmitool", &["-P"], Carries::Value),
    ("mosquitto_pub", &["-P"], Carries::Value),
    ("mosquitto_sub", &["-P"], Carries::Value),
    ("snmpget", &["-A", "-X"], Carries::Value),
    ("snmpwalk", &["-A", "-X"], Carries::Value),
    ("twine", &["-p"], Carries::Value),
    ("rdesktop", &["-p"], Carries::Value),
    ("unrar", &["-p"], Carries::Attached),
    (
        "pdftk",
        &["input_pw", "owner_pw", "user_pw"],
        Carries::Value,
    ),
    ("etcdctl", &["--user"], Carries::After(':')),
    ("rclone", &["obscure"], Carries::Next),
    ("netlify", &["--auth"], Carries::Value),
    ("ssh-keygen", &["-N"], Carries::Value),
    ("ansible-vault", &["encrypt_string"], Carries::Next),
    // Subcommands of several programs, such as `gh secret set` and `kubectl create secret`.
    (
        "secret",
        &["<<<", "-b", "--body", "--value", "--secret-string"],
        Carries::Value,
    ),
    ("secret", &["--from-literal"], Carries::After('=')),
    ("login", &["<<<"], Carries::Value),
    ("su", &["<<<"], Carries::Value),
    ("passwd", &["<<<"], Carries::Value),
    ("cargo", &["login"], Carries::Next),
    ("gpg", &["<<<"], Carries::Value),
    (
        "rabbitmqctl",
        &["add_user", "change_password"],
        Carries::Last,
    ),
];

/// Words of a command that say that it reads a secret from its input, or parts of its options that do.
const READING_WORDS: &[&str] = &[
    "login",
    "secret",
    "secrets",
    "passwd",
    "smbpasswd",
    "cryptsetup",
    "su",
];
const READING_OPTIONS: &[&str] = &["password", "passphrase", "token", "secret"];

/// Longest rest of a command that is looked at.
const MAX_COMMAND: usize = 4096;

/// A part of a text, in bytes.
pub(super) type Part = (usize, usize);

/// Returns `true` if secrets of this program's options or output are known.
pub(super) fn is_known(program: &str) -> bool {
    matches!(program, "echo" | "printf") || OPTIONS.iter().any(|(name, ..)| *name == program)
}

/// The secrets in the lines `name:secret` below a command.
fn accounts(whole: &str, at: usize) -> Vec<Part> {
    let text = head(whole, at);
    let mut start = at;
    let lines = text.split_inclusive('\n').map(|line| {
        let from = start;
        start += line.len();
        (from, line.trim_end())
    });
    let of_lines = lines.skip(1).map_while(|(from, line)| {
        let (name, secret) = line.split_once(':')?;
        Some((from + name.len() + 1, from + name.len() + 1 + secret.len()))
    });
    of_lines.collect()
}

/// Returns whether the command that ends at `at` feeds a program that reads secrets, and if names stand before them.
fn piped_into(whole: &str, at: usize) -> Option<bool> {
    let rest = head(whole, at).trim_start_matches(['"', '\'', ' ']);
    let next = rest.strip_prefix('|')?.trim_start();
    let next = next
        .strip_prefix("sudo ")
        .filter(|next| !next.starts_with('-'))
        .unwrap_or(next);
    let end = next.find(['|', ';', '&', '\n']).unwrap_or(next.len());
    let words: Vec<&str> = next.get(..end)?.split_whitespace().collect();
    if words.first() == Some(&"chpasswd") {
        return Some(true);
    }
    let reads = |word: &&str| {
        let is_option = word.starts_with('-') && !word.contains('=');
        READING_WORDS.contains(word)
            || is_option && READING_OPTIONS.iter().any(|part| word.contains(part))
    };
    let is_reader = words.starts_with(&["sudo", "-S"]) || words.iter().any(reads);
    is_reader.then_some(false)
}

/// The secrets that `echo` or `printf` feeds to such a program.
fn fed(whole: &str, program: &str, arguments: &[Part], has_name: bool) -> Vec<Part> {
    if !matches!(program, "echo" | "printf") {
        return Vec::new();
    }
    let secret = |(from, to): &Part| {
        let text = whole.get(*from..*to)?;
        let is_format = text.starts_with(['-', '%']);
        let text = text.strip_suffix("\\n").unwrap_or(text);
        let start = if has_name { text.find(':')? + 1 } else { 0 };
        let secret = text
            .get(start..)
            .filter(|secret| is_secret(secret) && !is_format)?;
        Some((from + start, from + start + secret.len()))
    };
    arguments.iter().filter_map(secret).collect()
}

/// The secrets among the arguments of a program, which begin at `at`.
pub(super) fn find(whole: &str, program: &str, at: usize) -> Vec<Part> {
    let arguments = arguments(whole, at);
    let texts: Vec<&str> = arguments
        .iter()
        .map(|(from, to)| whole.get(*from..*to).unwrap_or_default())
        .collect();
    if let Some(has_name) = piped_into(whole, arguments.last().map_or(at, |(_, to)| *to)) {
        return fed(whole, program, &arguments, has_name);
    }
    if program == "chpasswd"
        && texts.iter().any(|text| text.starts_with("<<"))
        && !texts.contains(&"<<<")
    {
        return accounts(whole, at);
    }
    let found = among(program, &texts).into_iter();
    found
        .filter_map(|(index, offset)| {
            let (from, to) = arguments.get(index)?;
            Some((from + offset, *to))
        })
        .collect()
}

/// The secrets among arguments: which argument, and from where on in it.
pub(super) fn among(program: &str, arguments: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (_, options, carries) in OPTIONS.iter().filter(|(name, ..)| *name == program) {
        if *carries == Carries::Last {
            let is_used = arguments.iter().any(|argument| options.contains(argument));
            let last = arguments.last().filter(|last| is_used && is_secret(last));
            found.extend(last.map(|_| (arguments.len() - 1, 0)));
            continue;
        }
        for option in *options {
            for (index, argument) in arguments.iter().enumerate() {
                let Some(attached) = argument.strip_prefix(option) else {
                    continue;
                };
                let (place, value) = if !attached.is_empty() && *carries == Carries::Next {
                    continue;
                } else if !attached.is_empty() {
                    (index, attached)
                } else if *carries == Carries::Attached {
                    continue;
                } else {
                    (
                        index + 1,
                        arguments.get(index + 1).copied().unwrap_or_default(),
                    )
                };
                let (value, is_long) = match value.strip_prefix('=') {
                    Some(value) if option.starts_with("--") => (value, true),
                    _ => (value, false),
                };
                // `--user-agent` is another option than `--user`.
                if place == index && option.starts_with("--") && !is_long {
                    continue;
                }
                let secret = match carries {
                    Carries::After(separator) => value.split_once(*separator).map(|(_, it)| it),
                    Carries::Behind(start) => value.strip_prefix(start),
                    Carries::Attached | Carries::Value | Carries::Next | Carries::Last => {
                        Some(value)
                    }
                };
                let secret = secret.filter(|secret| is_secret(secret));
                let length = arguments.get(place).map_or(0, |text| text.len());
                found.extend(secret.map(|secret| (place, length - secret.len())));
            }
        }
    }
    found
}

/// A variable is known by its name, and an option is not a value.
fn is_secret(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['$', '-', '<', '…', '*']) && !text.starts_with(MARK)
}

/// The arguments up to the end of the command, without the quotes around them.
fn arguments(whole: &str, at: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = None;
    // The open quote, and whether it encloses the whole argument.
    let mut quote: Option<(char, bool)> = None;
    for (offset, letter) in head(whole, at).char_indices() {
        let place = at + offset;
        match (quote, letter) {
            (Some((open, encloses)), _) => {
                if letter == open {
                    quote = None;
                    parts.extend(start.take_if(|_| encloses).map(|start| (start, place)));
                }
            }
            (None, '"' | '\'') => {
                quote = Some((letter, start.is_none()));
                start.get_or_insert(place + 1);
            }
            (None, '\n' | ';' | '|' | '&' | '`' | ')') => {
                parts.extend(start.take().map(|start| (start, place)));
                return parts;
            }
            (None, letter) if letter.is_whitespace() => {
                parts.extend(start.take().map(|start| (start, place)));
            }
            (None, _) => {
                start.get_or_insert(place);
            }
        }
    }
    parts.extend(start.map(|start| (start, at + head(whole, at).len())));
    parts
}

fn head(whole: &str, at: usize) -> &str {
    let rest = whole.get(at..).unwrap_or_default();
    let end = rest.floor_char_boundary(MAX_COMMAND);
    rest.get(..end).unwrap_or_default()
}

/// The password of an entry of a netrc file: `machine host login name password …`, over any number of lines. `at` is
/// behind the first word.
pub(super) fn netrc(whole: &str, at: usize, first: &str) -> Option<Part> {
    let mut words = words(whole, at);
    if first == "machine" {
        words.next()?;
    }
    for _ in 0..3 {
        let (from, to) = words.next()?;
        let value = words.next()?;
        match whole.get(from..to)? {
            "password" => {
                let text = whole.get(value.0..value.1)?;
                let text = text.trim_end_matches(['"', '\'', '\\']);
                return is_secret(text).then_some((value.0, value.0 + text.len()));
            }
            "login" | "account" => {}
            _ => return None,
        }
    }
    None
}

/// The words of the text from `at` on.
fn words(whole: &str, mut at: usize) -> impl Iterator<Item = Part> {
    let end = at + head(whole, at).len();
    std::iter::from_fn(move || {
        let rest = whole.get(at..end)?;
        let from = at + (rest.len() - rest.trim_start().len());
        let rest = whole.get(from..end).filter(|rest| !rest.is_empty())?;
        at = from + rest.find(char::is_whitespace).unwrap_or(rest.len());
        Some((from, at))
    })
}
