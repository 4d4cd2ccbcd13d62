//! Positions of the here-documents of a text, and of every other `<<`: in quotes, in a comment, in arithmetic or in
//! `${…}`.
//!
//! This reads like bash, and stops if bash's behaviour is unclear. It is the only reader that decides: the parser
//! behind it sees no `<<` other than the here-documents that were found here.

/// Limit of the depth of substitutions.
const MAX_DEPTH: usize = 16;

pub(super) struct Scan<'t> {
    bytes: &'t [u8],
    at: usize,
    depth: usize,
    /// Here-documents whose text begins with the next line.
    awaited: Vec<Awaited<'t>>,
    /// Here-documents in their order.
    pub(super) bodies: Vec<Body<'t>>,
    /// Positions of `<<` that are not here-documents.
    pub(super) others: Vec<usize>,
    /// Set if every `<<` of the text is one of these, or in backquotes.
    pub(super) is_sure: bool,
    /// The text before this position is understood.
    sure: usize,
}

/// A here-document whose text is not reached yet.
#[derive(Clone, Copy)]
struct Awaited<'t> {
    name: &'t [u8],
    /// Set if tabs at the start of a line are removed.
    tabs: bool,
    is_quoted: bool,
    /// Number of enclosing substitutions.
    depth: usize,
}

/// The text of a here-document, and the line that ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body<'t> {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Position behind the line that ends it.
    pub(super) end: usize,
    pub(super) name: &'t str,
    pub(super) without_tabs: bool,
}

/// Returns `true` if a text may contain a here-document. Bash reads two operator characters with a joined line
/// between them as one operator.
pub(super) fn may_hold(text: &str) -> bool {
    text.contains("<<") || text.contains("<\\\n")
}

impl<'t> Scan<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut scan = Self {
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            awaited: Vec::new(),
            bodies: Vec::new(),
            others: Vec::new(),
            is_sure: true,
            sure: 0,
        };
        match scan.commands(false) {
            // Bash ends open constructs with the text.
            Some(()) => scan.is_sure &= scan.texts().is_some(),
            // The result before the stop is still valid.
            None => {
                let rest = text.get(scan.sure..).unwrap_or_default();
                scan.is_sure &= scan.awaited.is_empty() && !may_hold(rest);
            }
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

    /// Skips one byte, or `<<` that is not a here-document.
    fn pass_plain(&mut self) {
        if self.rest().starts_with(b"<<") {
            self.others.push(self.at);
            self.pass(1);
        }
        self.pass(1);
    }

    /// Reads commands up to the end of the text, or to the bracket that closes a substitution.
    fn commands(&mut self, nested: bool) -> Option<()> {
        let mut open = 1_usize;
        let mut begins = true;
        loop {
            if !nested {
                self.sure = self.at;
            }
            let Some(one) = self.byte(0) else {
                return (!nested).then_some(());
            };
            if one == b'\\' && self.byte(1) == Some(b'\n') {
                // It joins two lines and does not begin a word. One in a word could hide a `case`, see below.
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
                    while self.byte(0).is_some_and(|one| one != b'\n') {
                        self.pass_plain();
                    }
                    continue;
                }
                b'<' if self.rest().starts_with(b"<<<") => self.pass(2),
                b'<' if self.rest().starts_with(b"<<") => {
                    self.heredoc()?;
                    begins = false;
                    continue;
                }
                // It is joined with the next line, which may continue the operator.
                b'<' if self.rest().starts_with(b"<\\\n") => return None,
                b'<' | b'>' if self.byte(1) == Some(b'(') => {
                    self.within(Self::bracket)?;
                    begins = false;
                    continue;
                }
                b'(' if self.byte(1) == Some(b'(') => {
                    self.arithmetic()?;
                    begins = false;
                    continue;
                }
                // Its patterns end with a bracket without an opening one.
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

    /// Skips quotes and substitutions; `false` if none begins here.
    fn word(&mut self, one: u8) -> Option<bool> {
        match one {
            b'\\' => self.pass(2),
            b'\'' => self.single()?,
            b'"' => self.double()?,
            b'$' | b'`' => self.substitution(false)?,
            _ => return Some(false),
        }
        Some(true)
    }

    fn single(&mut self) -> Option<()> {
        let escapes = self.before() == Some(b'$');
        self.pass(1);
        loop {
            match self.byte(0)? {
                b'\\' if escapes => self.pass(2),
                b'\'' => break,
                _ => self.pass_plain(),
            }
        }
        self.pass(1);
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.pass(1);
        loop {
            match self.byte(0)? {
                b'\\' => self.pass(2),
                b'"' => break,
                b'$' | b'`' => self.substitution(true)?,
                _ => self.pass_plain(),
            }
        }
        self.pass(1);
        Some(())
    }

    /// Skips `$(…)`, `${…}` and backquotes, or a single dollar.
    fn substitution(&mut self, quoted: bool) -> Option<()> {
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
        match self.byte(1) {
            Some(b'(') if self.byte(2) == Some(b'(') => {
                self.pass(1);
                self.arithmetic()
            }
            Some(b'(') => self.within(Self::bracket),
            Some(b'{') if quoted => self.within(|this| this.brace(true)),
            Some(b'{') => self.within(|this| this.brace(false)),
            Some(b'[') => None,
            // It is joined with the next line, which may open one.
            Some(b'\\') if self.byte(2) == Some(b'\n') => None,
            _ => {
                self.pass(1);
                Some(())
            }
        }
    }

    /// Enters a substitution, whose opening is two bytes.
    fn within(&mut self, inside: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.pass(2);
        self.depth = self.depth.saturating_add(1);
        inside(self)?;
        self.depth = self.depth.saturating_sub(1);
        Some(())
    }

    /// Skips `((…))` of names, numbers and operators. It is arithmetic in every shell that supports it if its last
    /// brackets touch.
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
            self.pass_plain();
        }
    }

    fn bracket(&mut self) -> Option<()> {
        self.commands(true)
    }

    fn brace(&mut self, quoted: bool) -> Option<()> {
        loop {
            match self.byte(0)? {
                b'}' => {
                    self.pass(1);
                    return Some(());
                }
                // It quotes in some forms and not in others.
                b'\'' if quoted => return None,
                b'$' | b'`' if quoted => self.substitution(true)?,
                one if self.word(one)? => {}
                _ => self.pass_plain(),
            }
        }
    }

    /// Reads the name of a here-document, which must be quoted as a whole or not at all.
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

    /// Skips the texts of the here-documents that begin here.
    fn texts(&mut self) -> Option<()> {
        for one in std::mem::take(&mut self.awaited) {
            if self.text(one).is_none() {
                self.is_sure = false;
                return None;
            }
        }
        Some(())
    }

    fn text(&mut self, one: Awaited<'t>) -> Option<()> {
        // Shells differ about a text that begins outside of the brackets around its name.
        (one.depth == self.depth).then_some(())?;
        let name = std::str::from_utf8(one.name).ok()?;
        let from = self.at;
        loop {
            let (line, behind) = self.line(!one.is_quoted);
            let tabs = line.iter().take_while(|sign| one.tabs && **sign == b'\t');
            let line = line.get(tabs.count()..)?;
            let is_last = line == one.name;
            // Only the outermost ends with the text; and bash ends one in brackets at a line that begins with its
            // name.
            let is_over = !is_last && behind > self.bytes.len();
            let ends_early = self.depth > 0 && line.starts_with(one.name) && line.contains(&b')');
            if !is_last && (ends_early || (is_over && self.depth > 0)) {
                return None;
            }
            let to = if is_last { self.at } else { self.bytes.len() };
            self.at = behind.min(self.bytes.len());
            if is_last || is_over {
                self.bodies.push(Body {
                    from,
                    to,
                    end: self.at,
                    name,
                    without_tabs: one.tabs,
                });
                return Some(());
            }
        }
    }

    /// Returns the line that begins here, with its joined lines, and the position of the next one.
    fn line(&self, joins: bool) -> (std::borrow::Cow<'t, [u8]>, usize) {
        let mut whole = std::borrow::Cow::Borrowed(&[][..]);
        let mut at = self.at;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let line = rest.split(|one| *one == b'\n').next().unwrap_or_default();
            at = at.saturating_add(line.len()).saturating_add(1);
            let signs = line.iter().rev().take_while(|one| **one == b'\\').count();
            let is_joined = joins && signs % 2 == 1 && at <= self.bytes.len();
            let line = line.get(..line.len().saturating_sub(usize::from(is_joined)));
            match (whole.is_empty(), line.unwrap_or_default()) {
                (true, line) => whole = std::borrow::Cow::Borrowed(line),
                (false, line) => whole.to_mut().extend(line),
            }
            if !is_joined {
                return (whole, at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;

    fn check(text: &str, bodies: &[&str], others: usize) {
        let scan = Scan::of(text);
        let found = scan.bodies.iter().map(|body| text.get(body.from..body.to));
        let found: Vec<&str> = found.flatten().collect();
        assert!(scan.is_sure, "{text}");
        assert_eq!(
            (found.as_slice(), scan.others.len()),
            (bodies, others),
            "{text}"
        );
    }

    #[test]
    fn each_sign_is_a_here_document_or_not() {
        check("cat <<'E'\nx << `y`\nE\necho 'z<<'", &["x << `y`\n"], 1);
        check("echo 'a<<b' \"c<<d\" e # <<f", &[], 3);
        check("echo \"a $(cat <<x\n'y'\nx\n) b\"", &["'y'\n"], 0);
        check("echo ${x:-a<<X} \"${y//<</}\"\ngit push\nX", &[], 2);
        check("((a<<b)); echo $(( $((1)) <<X ))\nX", &[], 2);
        check("cat <<A <<-B; ls\na\nA\n\tb\n\tB\nls", &["a\n", "\tb\n"], 0);
        check("cat <<A\nb \\\nA\n\\\nA\nls", &["b \\\nA\n"], 0);
        check("cat <<A <<B\nx\n", &["x\n", ""], 0);
        check("cat <<A", &[""], 0);
        check("a <(cat <<E\nx\nE\n) `cat <<F`", &["x\n"], 0);
        check("echo $(('1')) 'a'", &[], 0);
        check("x <<< y", &[], 0);
    }

    #[test]
    fn what_is_not_understood_is_not_sure() {
        for text in [
            "echo $(('1')) <<E",
            "echo $(('1<<2'))",
            "cat <<$(x) 'a'",
            "echo 'a <<b",
            "x=@('a) <<b'",
            "cat <<E$x\nE$x",
            "x=$(cat <<E)\nE",
            "cat <(cat <<E)\nE",
            "x=$(cat <<E\nE x)\nE\n)",
            "echo \"${x:-'}\" <<E",
            "cat <\\\n<E\nE",
        ] {
            assert!(!Scan::of(text).is_sure, "{text}");
        }
    }
}
