//! Files and variables that programs read by themselves when they start, and code that they read from other files.

use crate::lookup::absolute;

use super::Evaluator;
use super::language::Language;

/// Programs of one language, files at home or in the directory, and variables that hold code.
const STARTUP: &[(&str, &[&str], &[&str])] = &[
    ("perl", &[], &["PERL5DB"]),
    (
        "vim",
        &[
            ".vimrc",
            ".exrc",
            ".vim/vimrc",
            ".gvimrc",
            ".config/nvim/init.vim",
            ".config/nvim/init.lua",
            ".emacs",
            ".emacs.d/init.el",
        ],
        &["VIMINIT", "EXINIT", "MYVIMRC"],
    ),
    (
        "gdb",
        &[".gdbinit", ".config/gdb/gdbinit", ".lldbinit"],
        &[],
    ),
    ("sqlite3", &[".sqliterc", ".config/sqlite3/sqliterc"], &[]),
    ("tclsh", &[".tclshrc", ".expect.rc", ".wishrc"], &[]),
    ("rscript", &[".Rprofile"], &[]),
    ("julia", &[".julia/config/startup.jl"], &[]),
    (
        "groovy",
        &[
            ".octaverc",
            ".gnuplot",
            ".ghci",
            ".guile",
            ".sbclrc",
            ".iex.exs",
            ".racketrc",
            ".ocamlinit",
        ],
        &[],
    ),
];

impl Evaluator<'_> {
    /// Follows start files that the command itself wrote, and variables that it set.
    pub(crate) fn started_files(&mut self, language: &Language, name: &str, arguments: &[String]) {
        let first = language.names.first().copied().unwrap_or_default();
        if !self.written.is_empty() {
            self.own_modules(language, first, arguments);
        }
        let options = self.state.get("NODE_OPTIONS").filter(|_| first == "node");
        let options = options.map(|value| value.first().to_owned());
        for word in arguments.iter().chain(&options) {
            // `node --import data:text/javascript,code`.
            if let Some((_, code)) = word.split_once("data:text/javascript,") {
                self.code(language, name, &code.replace("%20", " "));
            }
            // `code.interact()` reads code from the input.
            if first == "python"
                && word.contains("interact(")
                && let Some(input) = self.state.input.clone()
            {
                self.code(language, name, input.first());
            }
        }
        let Some((_, files, variables)) = STARTUP.iter().find(|(known, ..)| *known == first) else {
            return;
        };
        for variable in *variables {
            let text = self
                .state
                .get(variable)
                .map(|value| value.first().to_owned());
            if let Some(text) = text {
                self.linked(format!("${variable}"), |this| {
                    this.code(language, name, &text);
                });
            }
        }
        if !self.written.is_empty() {
            for file in *files {
                for place in [&*self.home.clone(), &*self.state.directory.clone()] {
                    let path = absolute(place, file);
                    if self.written.contains_key(&path) {
                        self.code_file(language, name, &path);
                    }
                }
            }
        }
        self.sourced_files(language, name, arguments);
    }

    /// A name that nobody knows may be handed to the function for such names.
    pub(crate) fn not_found(&mut self, words: &[String]) {
        let program = words.first().map_or("", String::as_str);
        if program
            .split_once('[')
            .is_some_and(|(_, key)| !key.contains(']'))
        {
            // `m[a b]=x`: the parser ends the word at the blank.
            self.opaque("a subscript with a blank in it is not understood", program);
        }
        if &*self.state.shell_name == "fish" {
            let path = format!("{}/.config/fish/functions/{program}.fish", self.home);
            if let Some(text) = self.known_file(&path) {
                self.perhaps(|this| this.linked(&path, |this| this.shell_text(&text)));
                self.glance_inside(program, &text);
            }
        }
        let handler = "command_not_found_handle";
        if let Some(body) = self.state.functions.get(handler).cloned()
            && self.walking.insert(handler.to_owned())
        {
            self.call(handler, &body, words);
            self.walking.remove(handler);
        }
    }

    /// `script-shell` in a `.npmrc`: what runs all scripts.
    pub(crate) fn shell_of_scripts(&mut self) {
        for place in [self.state.directory.to_string(), self.home.clone()] {
            let text = self
                .known_file(&absolute(&place, ".npmrc"))
                .unwrap_or_default();
            let settings = text.lines().filter_map(|line| line.split_once('='));
            let shell = settings
                .filter(|(key, _)| key.trim() == "script-shell")
                .map(|(_, value)| value.trim().to_owned())
                .next_back();
            if let Some(shell) = shell {
                self.in_shell("npm script-shell", &shell);
            }
        }
    }

    /// Modules that the command itself put where the interpreter finds them by name, and code that reads code.
    fn own_modules(&mut self, language: &Language, name: &str, arguments: &[String]) {
        let ending: &[&str] = match name {
            "perl" if self.state.get("PERL5OPT").is_some() => &[".pm"],
            "node"
                if arguments
                    .iter()
                    .any(|word| word.contains("require") || word.contains("import")) =>
            {
                &[".js", ".cjs", ".mjs"]
            }
            _ => return,
        };
        let written = self.written.keys().filter(|path| {
            (name == "perl" || path.contains("/node_modules/"))
                && ending.iter().any(|ending| path.ends_with(ending))
        });
        let paths: Vec<String> = written.take(8).cloned().collect();
        for path in paths {
            self.code_file(language, name, &path);
        }
    }

    /// `-ex 'source x'`, `-c 'so x'`, `.read x`: further files of code.
    fn sourced_files(&mut self, language: &Language, name: &str, arguments: &[String]) {
        if !matches!(name, "gdb" | "lldb" | "vim" | "vi" | "nvim" | "ex" | "view") {
            return;
        }
        let input = self
            .state
            .input
            .as_ref()
            .map(|input| input.first().to_owned());
        let lines: Vec<String> = arguments
            .iter()
            .chain(input.iter())
            .flat_map(|text| text.lines())
            .map(|line| line.trim_start_matches(['+', ':', ' ']).to_owned())
            .take(200)
            .collect();
        for line in lines {
            let path = ["source ", "so ", "command source ", "runtime "]
                .iter()
                .find_map(|word| line.strip_prefix(word));
            if let Some(path) = path {
                self.code_file(language, name, path.trim());
            }
            // `w !sh`: the text itself is handed to a shell.
            if let Some((_, command)) = line
                .split_once("w !")
                .or_else(|| line.split_once("write !"))
            {
                self.piped_text(command, arguments);
            }
        }
    }

    /// What an editor holds, given to a command.
    pub(crate) fn piped_text(&mut self, command: &str, arguments: &[String]) {
        let words = arguments
            .iter()
            .filter(|word| !word.starts_with(['-', '+']));
        let mut text = crate::value::Value::unknown();
        for path in words.cloned().collect::<Vec<_>>() {
            if let super::files::File::Text(content) = self.file(&path) {
                text = content;
            }
        }
        let mut state = self.state.clone();
        state.input = Some(text);
        let command = command.trim().to_owned();
        self.apart(state, |this| this.in_shell("w !", &command));
    }
}

/// `awk -fprogram`, `--file=program`.
pub(super) fn glued_file<'w>(name: &str, word: &'w str) -> Option<&'w str> {
    if !name.ends_with("awk") {
        return None;
    }
    let path = word
        .strip_prefix("--file=")
        .or_else(|| word.strip_prefix("-f"));
    path.filter(|path| !path.is_empty())
}
