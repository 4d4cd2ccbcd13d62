//! Generated commands that perform a gated act in indirect ways: the same number gives the same command.

#![expect(
    clippy::too_many_lines,
    reason = "a table of ways is read from top to bottom"
)]

/// The acts, as arguments.
const ACTS: &[&[&str]] = &[
    &["git", "push"],
    &["git", "push", "origin", "main"],
    &["npm", "publish"],
    &["twine", "upload", "dist/a.whl"],
    &["uv", "publish"],
    &["gh", "release", "create", "v1"],
    &["gh", "pr", "create", "--fill"],
    &["gh", "repo", "delete", "a/b", "--yes"],
    &["gh-pages", "-d", "dist"],
    &["wrangler", "pages", "deploy", "dist"],
    &["pnpm", "-r", "publish"],
];

/// Returns `true` if the recorded arguments are one of the acts.
pub(crate) fn is_gated(words: &[&str]) -> bool {
    ACTS.iter().any(|act| words.starts_with(act))
}

/// Statements without a relevant effect.
const NOISE: &[&str] = &[
    "true",
    ":",
    "x1=1",
    "echo hello >/dev/null",
    "mkdir -p d1",
    "cd .",
    "false || true",
    "# a remark\n:",
    "[ -n x ]",
    "for q in 1 2; do :; done",
    "umask 022",
    "set +e",
    "echo 'git push' >/dev/null",
    "y1=$(echo z)",
    "touch t1",
];

/// Generator of one command.
pub(crate) struct Generator {
    state: u64,
    names: usize,
}

impl Generator {
    pub(crate) fn new(seed: usize, index: usize) -> Self {
        let mixed = (seed as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ (index as u64).wrapping_mul(0xD1B5_4A32_D192_ED03);
        Self {
            state: mixed | 1,
            names: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        let index = self.below(from.len());
        from.get(index).copied().unwrap_or_default()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// Returns the whole command.
    pub(crate) fn command(&mut self) -> String {
        let index = self.below(ACTS.len());
        let words: Vec<String> = ACTS
            .get(index)
            .copied()
            .unwrap_or_default()
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
        let mut text = self.start(&words);
        for _ in 0..self.below(4) {
            text = self.wrap(&text);
        }
        for _ in 0..self.below(3) {
            let noise = self.pick(NOISE);
            let joint = self.pick(&["; ", "\n", " && "]);
            text = if self.below(2) == 0 || noise.contains('#') {
                format!("{noise}\n{text}")
            } else {
                format!("{noise}{joint}{text}")
            };
        }
        text
    }

    /// Returns the arguments as a simple command, written in some way.
    fn start(&mut self, words: &[String]) -> String {
        let plain = words.join(" ");
        match self.below(16) {
            0 => {
                let name = self.name();
                format!("{name}=({plain}); \"${{{name}[@]}}\"")
            }
            1 => format!("set -- {plain}; \"$@\""),
            2 => {
                let name = self.name();
                format!("{name}='{plain}'; ${name}")
            }
            3 => {
                let launcher = self.pick(&[
                    "env",
                    "env A=1",
                    "command",
                    "exec",
                    "nohup",
                    "nice -n 3",
                    "timeout 4",
                    "setsid -w",
                    "stdbuf -o0",
                    "sudo",
                    "doas",
                    "env -u X",
                    "nice",
                    "timeout -k 1 4",
                    "env --",
                    "time",
                    "command -p env",
                    "builtin command",
                    "!",
                    "env -S",
                    "unbuffer",
                    "chronic",
                    "flock l1",
                    "B=2 env",
                    "find . -maxdepth 0 -exec",
                ]);
                let end = if launcher.starts_with("find") {
                    " \\;"
                } else {
                    ""
                };
                // These search the system directories, where there are no recorders.
                let launcher = if launcher == "command -p env" {
                    "command env"
                } else {
                    launcher
                };
                format!("{launcher} {plain}{end}")
            }
            4 => {
                let (first, rest) = words
                    .split_first()
                    .map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
                let name = self.name();
                format!("{name}={first}; ${{{name}}} {}", rest.join(" "))
            }
            5 => {
                let name = self.name();
                format!("{name}() {{ \"$@\"; }}; {name} {plain}")
            }
            6 => {
                let reversed: Vec<&str> = words.iter().rev().map(String::as_str).collect();
                let name = self.name();
                let order: Vec<String> = (0..words.len())
                    .rev()
                    .map(|index| format!("\"${{{name}[{index}]}}\""))
                    .collect();
                format!("{name}=({}); {}", reversed.join(" "), order.join(" "))
            }
            7 => format!(
                "xargs {} <<< '{}'",
                words.first().map_or("", String::as_str),
                words.get(1..).unwrap_or_default().join(" ")
            ),
            8 => {
                let name = self.name();
                format!("read -ra {name} <<< '{plain}'; \"${{{name}[@]}}\"")
            }
            9 => {
                let name = self.name();
                format!(
                    "IFS=, read -ra {name} <<< '{}'; \"${{{name}[@]}}\"",
                    words.join(",")
                )
            }
            10 => format!("{{{}}}", words.join(",")),
            11 => {
                let first = words.first().map_or("", String::as_str);
                let rest = words.get(1..).unwrap_or_default().join(" ");
                let way = self.pick(&[
                    "cp \"$(command -v @)\" z1",
                    "ln -s \"$(command -v @)\" z1",
                    "cat \"$(type -P @)\" > z1; chmod +x z1",
                ]);
                format!("{}; ./z1 {rest}", way.replace('@', first))
            }
            _ => {
                let quoted: Vec<String> = words.iter().map(|word| self.quoted(word)).collect();
                quoted.join(" ")
            }
        }
    }

    /// Returns one word, written in some equivalent way.
    fn quoted(&mut self, word: &str) -> String {
        let (head, tail) = word.split_at_checked(1).unwrap_or((word, ""));
        match self.below(18) {
            0 => format!("'{word}'"),
            1 => format!("\"{word}\""),
            2 => format!("{head}''{tail}"),
            3 => format!("{head}\"{tail}\""),
            4 if !head.starts_with('-') => format!("\\{word}"),
            5 => {
                let codes: String = word.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
                format!("$'{codes}'")
            }
            6 => {
                let codes: String = word.bytes().map(|byte| format!("\\{byte:03o}")).collect();
                format!("$'{codes}'")
            }
            7 => format!("${{nope:-{word}}}"),
            8 => format!("$(echo {word})"),
            9 => format!("`printf %s {word}`"),
            10 => format!("{head}$nope{tail}"),
            11 => format!("{head}\\\n{tail}"),
            12 => {
                let reversed: String = word.chars().rev().collect();
                format!("$(echo {reversed} | rev)")
            }
            13 => format!("${{nope-{word}}}"),
            14 => format!("${{9-{word}}}"),
            15 => format!("${{0+{word}}}"),
            16 => format!("${{HOME:+{word}}}"),
            _ => word.to_owned(),
        }
    }

    /// Returns the command inside another one.
    fn wrap(&mut self, text: &str) -> String {
        let quoted = quote(text);
        let name = self.name();
        match self.below(56) {
            0 => format!("bash -c {quoted}"),
            1 => format!("sh -c {}", quote(&format!("bash -c {quoted}"))),
            2 => format!("eval {quoted}"),
            3 => format!("( {text}\n)"),
            4 => format!("{{ {text}\n}}"),
            5 => format!("{name}() {{ {text}\n}}; {name}"),
            6 => format!("bash <<< {quoted}"),
            7 => format!("bash <<'E{name}'\n{text}\nE{name}\n"),
            8 => format!("printf '%s' {quoted} | bash"),
            9 => format!("echo {quoted} | bash -s"),
            10 => format!("{name}={quoted}; eval \"${name}\""),
            11 => format!("{name}={quoted} bash -c 'eval \"${name}\"'"),
            12 => format!("export {name}={quoted}; bash -c \"${name}\""),
            13 => format!("for {name} in 1; do {text}\ndone"),
            14 => format!("while :; do {text}\nbreak; done"),
            15 => format!("if true; then {text}\nfi"),
            16 => format!("case a in a) {text}\n;; esac"),
            17 => format!("trap {quoted} EXIT"),
            18 => format!("source <(printf '%s\\n' {quoted})"),
            19 => format!("printf '%s\\n' {quoted} > f{name}; bash f{name}"),
            20 => format!("cat > f{name} <<'E{name}'\n{text}\nE{name}\nbash ./f{name}"),
            21 => format!("printf '%s\\n' {quoted} | tee f{name} >/dev/null; . ./f{name}"),
            22 => format!("echo {} | base64 -d | bash", base64(text)),
            23 => format!("bash -c \"$(echo {} | base64 -d)\"", base64(text)),
            24 => format!(": $({text}\n)"),
            25 => format!("{name}=$({text}\n)"),
            26 => format!("echo \"${{nope:-$({text}\n)}}\""),
            27 => format!("cat <({text}\n)"),
            28 => format!("{{ {text}\n}} | cat"),
            29 => format!("{{ {text}\n}} >/dev/null 2>&1"),
            30 => format!("true && {{ {text}\n}}"),
            31 => format!("false || {{ {text}\n}}"),
            32 => format!("{{ {text}\n}} & wait"),
            33 => format!("bash -c '\"$@\"' _ bash -c {quoted}"),
            34 => format!("find . -maxdepth 0 -exec bash -c {quoted} \\;"),
            35 => format!(
                "xargs -I% bash -c {} <<< x",
                quote(&text.replace('%', "%%"))
            )
            .replace("%%", "%"),
            36 => format!("{name}=(bash -c {quoted}); \"${{{name}[@]}}\""),
            37 => format!("env {name}=1 bash -c {quoted}"),
            38 => format!("timeout 4 bash -c {quoted}"),
            39 => format!("nohup bash -c {quoted} >/dev/null"),
            40 => format!("read -r -d '' {name} <<'E{name}'\n{text}\nE{name}\neval \"${name}\""),
            41 => format!("shopt -s expand_aliases\nalias {name}={quoted}\neval {name}"),
            42 => format!("{name}() {{ {text}\n}}; export -f {name}; bash -c {name}"),
            43 => format!("printf '%s\\n' {quoted} > f{name}; BASH_ENV=./f{name} bash -c :"),
            44 => format!(
                "awk 'BEGIN {{ system(ARGV[1]) }}' {}",
                quote(&format!("bash -c {quoted}"))
            ),
            45 => format!(
                "printf 'all:\\n\\t@bash f{name}.sh\\n' > m{name}; printf '%s\\n' {quoted} > f{name}.sh; make -s -f m{name}"
            ),
            46 => format!("echo {quoted} > f{name}; xargs -a f{name} -d '\\n' -n 1 bash -c"),
            47 => format!("select {name} in a; do {text}\nbreak; done <<< 1"),
            48 => format!("coproc {{ {text}\n}}; wait"),
            49 => format!(
                "mapfile -t {name} <<'E{name}'\n{text}\nE{name}\nprintf '%s\\n' \"${{{name}[@]}}\" | bash"
            ),
            50 => format!("exec bash -c {quoted}"),
            51 => format!(
                "sed -n {} <<< x",
                quote(&format!("1e bash -c {}", quote(&text.replace('\n', "; "))))
            ),
            52 => format!(
                "perl -e {}",
                quote("exec 'bash', '-c', $ARGV[0]") + " " + &quoted
            ),
            53 => format!("(( {name}[$({text}\n)0] ))"),
            54 => format!(
                "{name}='$({}\n)'; : \"${{{name}@P}}\"",
                text.replace('\'', "'\\''")
            ),
            _ => format!("until {text}\ndo break; done"),
        }
    }
}

/// Returns one word for the shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut coded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4_usize {
            let shift = 18 - 6 * index;
            let letter = LETTERS
                .get((bits >> shift & 63) as usize)
                .copied()
                .unwrap_or(b'=');
            coded.push(if index > chunk.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    coded
}
