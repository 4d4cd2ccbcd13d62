//! Which parts of a text stand in quotes for sure: the parser takes nothing in them for an operator.
//!
//! This goes through the text as the tokenizer of the first parser does, and stops where the two might part: what
//! comes after that is not said to be quoted.

/// Substitutions deeper than this are not gone into.
const MAX_DEPTH: usize = 16;

struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    /// Here-documents whose text begins with the next line.
    awaited: Vec<Awaited<'t>>,
    quoted: Vec<(usize, usize)>,
    bodies: Vec<Body>,
    /// Shells do not agree where one of them ends.
    differ: bool,
    /// Names of here-documents that the text ends before.
    unended: Vec<&'t [u8]>,
}

/// A here-document whose text is still to come.
#[derive(Clone, Copy)]
struct Awaited<'t> {
    name: &'t [u8],
    /// Tabs before a line are not of it.
    tabs: bool,
    is_quoted: bool,
    /// How many substitutions are around it.
    depth: usize,
}

/// The text of a here-document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) without_tabs: bool,
}

/// Where the texts of here-documents stand, in their order, and whether shells differ about the end of one.
pub(super) fn bodies(text: &str) -> (Vec<Body>, bool) {
    let scan = Scan::of(text);
    (scan.bodies, scan.differ)
}

/// The places, from where to where, that are in quotes, in a comment or in the text of a here-document.
pub(super) fn quoted(text: &str) -> Vec<(usize, usize)> {
    Scan::of(text).quoted
}

/// Names of the here-documents that the text ends before.
pub(super) fn unended(text: &str) -> Option<Vec<&str>> {
    let names = Scan::of(text).unended;
    let names = names.iter().map(|name| std::str::from_utf8(name));
    names.collect::<Result<_, _>>().ok()
}

impl<'t> Scan<'t> {
    fn of(text: &'t str) -> Self {
        let mut scan = Self {
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            awaited: Vec::new(),
            quoted: Vec::new(),
            bodies: Vec::new(),
            differ: false,
            unended: Vec::new(),
        };
        // Where it stops, what is known so far is still true.
        let _ = scan.commands(false);
        if scan.at >= scan.bytes.len() && scan.depth == 0 {
            let awaited = std::mem::take(&mut scan.awaited);
            scan.unended.extend(awaited.iter().map(|one| one.name));
        }
        scan
    }

    fn byte(&self, by: usize) -> Option<u8> {
        self.bytes.get(self.at.saturating_add(by)).copied()
    }

    fn before(&self) -> Option<u8> {
        self.bytes.get(self.at.checked_sub(1)?).copied()
    }

    fn rest(&self) -> &'t [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn pass(&mut self, by: usize) {
        self.at = self.at.saturating_add(by);
    }

    /// Commands up to the end of the text, or to the bracket that closes a substitution.
    fn commands(&mut self, nested: bool) -> Option<()> {
        let mut open = 1_usize;
        let mut begins = true;
        loop {
            let Some(one) = self.byte(0) else {
                return (!nested).then_some(());
            };
            if one == b'\\' && self.byte(1) == Some(b'\n') {
                // Joins two lines and begins no word. One in a word could hide a `case`, see below.
                if nested && !begins {
                    return None;
                }
                self.pass(2);
                continue;
            }
            if self.word(one)? {
                begins = false;
                continue;
            }
            match one {
                b'#' if begins => {
                    let from = self.at;
                    while self.byte(0).is_some_and(|one| one != b'\n') {
                        self.pass(1);
                    }
                    self.quoted.push((from, self.at));
                    continue;
                }
                b'<' if self.byte(1) == Some(b'<') && self.byte(2) == Some(b'<') => self.pass(2),
                b'<' if self.byte(1) == Some(b'<') => {
                    self.heredoc()?;
                    begins = false;
                    continue;
                }
                b'(' if self.byte(1) == Some(b'(') => {
                    self.arithmetic()?;
                    begins = false;
                    continue;
                }
                // Its patterns end with a bracket that opens nowhere.
                b'c' if begins && nested && self.rest().starts_with(b"case") => return None,
                b'(' => {
                    if matches!(self.before(), Some(b'@' | b'!' | b'?' | b'+' | b'*')) {
                        return None;
                    }
                    open = open.saturating_add(1);
                }
                b')' if nested => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        self.pass(1);
                        return Some(());
                    }
                }
                b'\n' => {
                    self.pass(1);
                    self.texts()?;
                    begins = true;
                    continue;
                }
                _ => {}
            }
            begins = matches!(
                one,
                b' ' | b'\t' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
            );
            self.pass(1);
        }
    }

    /// Passes quotes and substitutions; false when this is none.
    fn word(&mut self, one: u8) -> Option<bool> {
        match one {
            b'\\' => self.pass(2),
            b'\'' => self.single()?,
            b'"' => self.double()?,
            b'$' | b'`' => self.substitution()?,
            _ => return Some(false),
        }
        Some(true)
    }

    fn single(&mut self) -> Option<()> {
        let escapes = self.before() == Some(b'$');
        self.pass(1);
        let from = self.at;
        loop {
            match self.byte(0)? {
                b'\\' if escapes => self.pass(2),
                b'\'' => break,
                _ => self.pass(1),
            }
        }
        self.quoted.push((from, self.at));
        self.pass(1);
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.pass(1);
        let mut from = self.at;
        loop {
            match self.byte(0)? {
                b'\\' => self.pass(2),
                b'"' => break,
                b'$' | b'`' => {
                    self.quoted.push((from, self.at));
                    self.substitution()?;
                    from = self.at;
                }
                _ => self.pass(1),
            }
        }
        self.quoted.push((from, self.at));
        self.pass(1);
        Some(())
    }

    /// `$(…)`, `${…}` and backquotes, or a dollar alone.
    fn substitution(&mut self) -> Option<()> {
        if self.byte(0) == Some(b'`') {
            self.pass(1);
            loop {
                match self.byte(0)? {
                    b'\\' => self.pass(2),
                    b'`' => break,
                    _ => self.pass(1),
                }
            }
            self.pass(1);
            return Some(());
        }
        let inside = match self.byte(1) {
            Some(b'(') if self.byte(2) != Some(b'(') => Self::bracket,
            Some(b'{') => Self::brace,
            Some(b'(') => {
                self.pass(1);
                return self.arithmetic();
            }
            Some(b'[') => return None,
            _ => {
                self.pass(1);
                return Some(());
            }
        };
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.pass(2);
        self.depth = self.depth.saturating_add(1);
        inside(self)?;
        self.depth = self.depth.saturating_sub(1);
        Some(())
    }

    /// `((…))` of names, numbers and signs. It is arithmetic in every shell that has it if its last brackets touch.
    fn arithmetic(&mut self) -> Option<()> {
        self.pass(2);
        let mut open = 2_usize;
        loop {
            let one = self.byte(0)?;
            match one {
                b'(' => open = open.saturating_add(1),
                b')' if open == 2 => {
                    let ends = self.byte(1) == Some(b')');
                    self.pass(2);
                    return ends.then_some(());
                }
                b')' => open = open.saturating_sub(1),
                b'#' if matches!(self.before(), Some(b'{' | b'$')) => {}
                one if one.is_ascii_alphanumeric() => {}
                one if b"_ \t+-*/%&|^!~=?:,;.$<>[]{}".contains(&one) => {}
                _ => return None,
            }
            self.pass(1);
        }
    }

    fn bracket(&mut self) -> Option<()> {
        self.commands(true)
    }

    fn brace(&mut self) -> Option<()> {
        loop {
            let one = self.byte(0)?;
            if self.word(one)? {
                continue;
            }
            match one {
                b'}' => {
                    self.pass(1);
                    return Some(());
                }
                // Operators in there are read in ways of their own.
                b'<' | b'>' | b'(' | b'&' | b'|' | b';' | b'\n' => return None,
                _ => self.pass(1),
            }
        }
    }

    /// Reads the name of a here-document; only those are known that stand in quotes as a whole or not at all.
    fn heredoc(&mut self) -> Option<()> {
        self.pass(2);
        let tabs = self.byte(0) == Some(b'-');
        self.pass(usize::from(tabs));
        self.pass(usize::from(self.byte(0) == Some(b' ')));
        let sign = self
            .byte(0)
            .filter(|one| matches!(one, b'\'' | b'"' | b'\\'));
        self.pass(usize::from(sign.is_some()));
        let quote = sign.filter(|one| *one != b'\\');
        let plain = |one: u8| one.is_ascii_alphanumeric() || b"_-.+:@%=/,".contains(&one);
        let of_name = |one: u8| match quote {
            Some(_) => (one.is_ascii_graphic() || one == b' ') && !b"'\"\\$`".contains(&one),
            None => plain(one),
        };
        let from = self.at;
        while self.byte(0).is_some_and(of_name) {
            self.pass(1);
        }
        let name = self.bytes.get(from..self.at)?;
        if quote.is_some() {
            (self.byte(0) == quote).then_some(())?;
            self.pass(1);
        }
        let ends = |one: u8| b" \t\n;&|<>()".contains(&one);
        if name.is_empty() || !self.byte(0).is_none_or(ends) {
            return None;
        }
        self.awaited.push(Awaited {
            name,
            tabs,
            is_quoted: sign.is_some(),
            depth: self.depth,
        });
        Some(())
    }

    /// Passes the texts of the here-documents that begin here.
    fn texts(&mut self) -> Option<()> {
        let awaited = std::mem::take(&mut self.awaited);
        // Shells differ about a text that begins outside of the brackets that its name stands in.
        if awaited.iter().any(|one| one.depth != self.depth) {
            self.differ = true;
            return None;
        }
        for (index, one) in awaited.iter().copied().enumerate() {
            let from = self.at;
            loop {
                let rest = self.rest();
                let whole = rest.split(|one| *one == b'\n').next()?;
                let begin = if one.tabs {
                    whole.iter().take_while(|one| **one == b'\t').count()
                } else {
                    0
                };
                let line = whole.get(begin..)?;
                let is_last = line == one.name;
                if !is_last && whole.len() == rest.len() {
                    if self.depth == 0 {
                        let left = awaited.iter().skip(index).map(|one| one.name);
                        self.unended = left.collect();
                    }
                    return None;
                }
                // Bash ends it here as well, and goes on with what is behind the name.
                let ends_early =
                    self.depth > 0 && line.starts_with(one.name) && line.contains(&b')');
                // Joined with the next line, which is then not its end.
                let is_joined = !one.is_quoted && line.ends_with(b"\\");
                if !is_last && (ends_early || is_joined) {
                    self.differ |= ends_early;
                    return None;
                }
                let to = self.at;
                self.pass(whole.len().saturating_add(1));
                if is_last {
                    let text = self.bytes.get(from..to)?;
                    if one.is_quoted || !text.iter().any(|one| matches!(one, b'$' | b'`')) {
                        self.quoted.push((from, to));
                    }
                    self.bodies.push(Body {
                        from,
                        to,
                        without_tabs: one.tabs,
                    });
                    break;
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    fn parts(text: &str) -> Vec<&str> {
        let places = quoted(text);
        let parts = places
            .iter()
            .filter_map(|(from, to)| text.get(*from..*to).filter(|part| !part.is_empty()));
        parts.collect()
    }

    #[test]
    fn what_stands_in_quotes_is_found() {
        assert_eq!(parts("echo 'a<<b' \"c<<d\" e"), ["a<<b", "c<<d"]);
        assert_eq!(parts("echo \"a $(cat <<x 'y') b\""), ["a ", "y", " b"]);
        assert_eq!(parts("echo \"a $(b 'c') d\" # e"), ["a ", "c", " d", "# e"]);
        assert_eq!(
            parts("cat <<'E'\nx << `y`\nE\necho 'z'"),
            ["x << `y`\n", "z"]
        );
        assert_eq!(parts("cat <<E\n$(x)\nE\necho 'z'"), ["z"]);
        assert_eq!(parts("echo ${x:-'a'} $'b\\'c'"), ["a", "b\\'c"]);
    }

    #[test]
    fn nothing_is_said_after_what_is_not_understood() {
        assert_eq!(parts("echo $(('1')) 'a'"), Vec::<&str>::new());
        assert_eq!(parts("cat <<$(x) 'a'"), Vec::<&str>::new());
        assert_eq!(parts("echo 'a"), Vec::<&str>::new());
        assert_eq!(parts("cat <<E\nx\n'y'"), Vec::<&str>::new());
        assert_eq!(parts("x=@('a) 'b'"), Vec::<&str>::new());
    }
}
