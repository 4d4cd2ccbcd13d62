//! Secrets that are identified only by the program before them: `mysql -p…`, `curl -u name:…`, `sshpass -p …`, input
//! piped into `chpasswd`, and the lines of a netrc file.

use super::MARK;
use super::fed::{fed, piped_into};

/// Form in which an option carries its secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    /// In the same argument: `-psecret`. Alone, the program prompts for it.
    Attached,
    /// In the next argument, or in the same.
    Value,
    /// In the next argument.
    Next,
    /// As a value, behind a user's name and this character.
    After(char),
    /// As a value that begins with this text.
    Behind(&'static str),
    /// In the last argument, if the option is present; without options, always.
    Last,
    /// In every argument behind the option that is an assignment.
    Assigned,
    /// In an argument, behind a user's name and this character.
    Operand(char),
}

/// A program, its options, and the form in which they carry a secret. `login` is a subcommand of several programs.
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
        &["-b", "--body", "--value", "--secret-string"],
        Carries::Value,
    ),
    ("secret", &["--from-literal"], Carries::After('=')),
    // Words in the position of a password: those of commands that log in or store a secret.
    ("cargo", &["login"], Carries::Next),
    ("vault", &["login"], Carries::Next),
    ("snyk", &["auth"], Carries::Next),
    ("auth", &["-t"], Carries::Next),
    ("gcloud", &["activate-refresh-token"], Carries::Last),
    ("redis-cli", &["AUTH", "auth"], Carries::Last),
    ("wpa_passphrase", &[], Carries::Last),
    ("oathtool", &["--totp", "--hotp"], Carries::Last),
    ("bw", &["login", "unlock"], Carries::Last),
    ("mc", &["alias"], Carries::Last),
    ("cqlsh", &["-p"], Carries::Value),
    ("plink", &["-pw"], Carries::Next),
    ("pscp", &["-pw"], Carries::Next),
    ("signtool", &["/p"], Carries::Next),
    ("cmdkey", &["/pass:"], Carries::Attached),
    ("security", &["-w"], Carries::Next),
    ("put-parameter", &["--value"], Carries::Value),
    ("sqlplus", &[], Carries::Operand('/')),
    ("secrets", &["set", "put"], Carries::Assigned),
    ("kv", &["put", "patch"], Carries::Assigned),
    ("curl", &["--oauth2-bearer"], Carries::Value),
    (
        "rabbitmqctl",
        &["add_user", "change_password"],
        Carries::Last,
    ),
];

/// Limit of the rest of a command that is examined, in bytes.
const MAX_COMMAND: usize = 4096;

/// Limit of the text before a secret that is examined, in bytes.
const MAX_WORDS: usize = 512;

/// A part of a text, in bytes.
pub(super) type Part = (usize, usize);

/// Returns `true` if secrets of this program's options or output are known.
pub(super) fn is_known(program: &str) -> bool {
    matches!(program, "echo" | "printf" | "cat")
        || OPTIONS.iter().any(|(name, ..)| *name == program)
}

/// Returns the secrets among the arguments of a program, which begin at `at`.
pub(super) fn find(whole: &str, program: &str, at: usize) -> Vec<Part> {
    let arguments = arguments(whole, at);
    let texts: Vec<&str> = arguments
        .iter()
        .map(|(from, to)| whole.get(*from..*to).unwrap_or_default())
        .collect();
    if matches!(program, "echo" | "printf" | "cat") {
        let taken = piped_into(whole, arguments.last().map_or(at, |(_, to)| *to));
        return taken.map_or_else(Vec::new, |taken| fed(whole, program, &arguments, taken));
    }
    let found = among(program, &texts).into_iter();
    found
        .filter_map(|(index, offset)| {
            let (from, to) = arguments.get(index)?;
            Some((from + offset, *to))
        })
        .collect()
}

/// Returns the secrets among arguments: the index of the argument, and the start in it.
pub(super) fn among(program: &str, arguments: &[&str]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (_, options, carries) in OPTIONS.iter().filter(|(name, ..)| *name == program) {
        if let Some(places) = by_place(*carries, options, arguments) {
            found.extend(places);
            continue;
        }
        for option in *options {
            for (index, argument) in arguments.iter().enumerate() {
                let Some(attached) = attached_to(option, argument, *carries) else {
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
                    // `vault login username=ada` names its values.
                    Carries::Next => Some(value).filter(|value| !value.contains('=')),
                    _ => Some(value),
                };
                let secret = secret.filter(|secret| is_secret(secret));
                let length = arguments.get(place).map_or(0, |text| text.len());
                found.extend(secret.map(|secret| (place, length - secret.len())));
            }
        }
    }
    found
}

/// Returns the text behind an option in its argument. A short one may be behind others: `-sSuada:secret`.
///
/// It is unknown which letters before it take a value themselves. So a value within a bundle counts if it has the
/// form of one; a bundle that ends with the option has its value in the next argument.
fn attached_to<'a>(option: &str, argument: &'a str, carries: Carries) -> Option<&'a str> {
    if let Some(attached) = argument.strip_prefix(option) {
        return Some(attached);
    }
    let letter = option.strip_prefix('-').filter(|name| name.len() == 1)?;
    let (before, attached) = argument.strip_prefix('-')?.split_once(letter)?;
    let is_bundle = !before.is_empty() && before.bytes().all(|byte| byte.is_ascii_alphabetic());
    let has_form = match carries {
        Carries::After(_) => true,
        Carries::Value => attached.is_empty() || is_worth(attached),
        Carries::Attached => is_worth(attached),
        _ => false,
    };
    (is_bundle && has_form).then_some(attached)
}

/// Returns `true` if a text has the length and the kinds of characters of a password.
fn is_worth(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
    text.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !text.contains(' ')
}

/// Returns the secrets by their positions among the arguments; `None` if an option carries them.
fn by_place(carries: Carries, options: &[&str], arguments: &[&str]) -> Option<Vec<(usize, usize)>> {
    let used = arguments
        .iter()
        .position(|argument| options.contains(argument));
    let first = match used {
        Some(place) => place + 1,
        None if options.is_empty() => 0,
        None => arguments.len(),
    };
    let secret = |(place, argument): (usize, &&str)| {
        let from = match carries {
            Carries::Last => (place + 1 == arguments.len()).then_some(0),
            Carries::Assigned => argument.find('=').map(|sign| sign + 1),
            Carries::Operand(sign) => argument.find(sign).filter(|at| *at > 0).map(|at| at + 1),
            _ => None,
        }?;
        let is_file = argument.contains("=@");
        (!is_file && is_secret(argument.get(from..)?)).then_some((place, from))
    };
    let is_placed = matches!(
        carries,
        Carries::Last | Carries::Assigned | Carries::Operand(_)
    );
    let all = arguments.iter().enumerate().skip(first);
    is_placed.then(|| all.filter_map(secret).collect())
}

/// Returns the password in a line `host:port:database:user:password` of a pgpass file.
pub(super) fn pgpass(line: &str) -> Option<usize> {
    let fields: Vec<&str> = line.split(':').collect();
    let [host, port, database, user, secret] = fields.as_slice() else {
        return None;
    };
    let is_port = *port == "*"
        || (2..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |text: &&&str| !text.is_empty() && !text.contains([' ', '/', '"']);
    let are_names = [host, database, user].iter().all(is_name) && database.parse::<u64>().is_err();
    (is_port && are_names && is_worth(secret)).then_some(line.len() - secret.len())
}

/// Returns `true` if a text can be a secret: it is not a variable, an option or a placeholder.
pub(super) fn is_secret(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['$', '-', '<', '…', '*']) && !text.starts_with(MARK)
}

/// Returns the arguments up to the end of the command, without the quotes around them.
pub(super) fn arguments(whole: &str, at: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut start = None;
    // The open quote, and `true` if it encloses the whole argument.
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

pub(super) fn head(whole: &str, at: usize) -> &str {
    let rest = whole.get(at..).unwrap_or_default();
    let end = rest.floor_char_boundary(MAX_COMMAND);
    rest.get(..end).unwrap_or_default()
}

/// Returns the text before `at`, up to the limit of a command's words.
pub(super) fn behind(whole: &str, at: usize) -> &str {
    let start = whole.floor_char_boundary(at.saturating_sub(MAX_WORDS));
    whole.get(start..at).unwrap_or_default()
}

/// Returns the password of an entry of a netrc file: `machine host login name password …`, over any number of lines.
/// `at` is behind the first word.
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

/// Returns the words of the text from `at` on.
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
