//! Files that a program reads, writes or removes by its arguments. One function per family of programs.

use actions::lookup::base_name;
use actions::programs::CARRY_TEXT;
use shell::words::{Names, names};

use crate::Touch;
use crate::excludes;
use crate::git_files;
use crate::inputs::patched;
use crate::searches;

/// Files with their use, relative to the program's own directory unless one is given.
pub type Touches = Vec<(Touch, String)>;

/// Programs and builtins that print or store their arguments, or read only names and metadata of files.
static NAMERS: Names = Names::new(names!(
    "ls ll exa eza tree du df stat test [ realpath readlink basename dirname which type lsattr getfacl \
    mountpoint pathchk namei pgrep pidof echo printf : true false cd pushd popd export declare typeset local readonly \
    unset set shift exit return sleep kill find fd fdfind"
));

/// Programs that only read the files in their arguments.
static READERS: Names = Names::new(names!(
    "cat bat batcat man less more head tail tac nl od hexdump strings file wc \
    grep egrep fgrep rg ag ack diff cmp comm sort cut tr column jq yq awk gawk mawk sed gsed md5sum sha1sum sha256sum sha512sum shasum cksum b2sum b3sum base64 base32 gbase64 basenc uuencode \
    openssl gpg source . glow view fold fmt paste join rev iconv expand pr look xargs strace ltrace \
    delta difft colordiff bcat xxd uniq cksum sum zcat gzcat sops age hexyl \
    jsonlint yamllint shellcheck taplo check-jsonschema markdownlint cloc scc tokei"
));

/// Programs that change the files in their arguments.
static WRITERS: Names = Names::new(names!(
    "tee sponge touch mkdir truncate chmod chown chgrp chattr setfacl mkfifo mknod ed ex vi vim nvim nano pico \
    emacs micro hx code subl patch unlink shred rmdir split csplit fallocate dos2unix unix2dos gzip bzip2 xz zstd \
    lz4 compress setfattr xattr codesign strip install-name-tool crudini inplace"
));

/// Programs that only run or pass on their arguments; the programs that they run are judged separately.
static LAUNCHERS: Names = Names::new(names!(
    "npx bunx uvx pipx parallel ssh roleos roleos-hook roleos-watch exec eval trap alias cross-env claude codex gemini \
    cursor-agent copilot"
));

/// Programs whose first argument is a pattern or a script.
const PATTERN_FIRST: &[&str] = names!("grep egrep fgrep rg ag ack sed gsed awk gawk mawk jq yq");

/// Returns the operands; `--` ends the options.
pub(crate) fn operands(arguments: &[String]) -> Vec<&String> {
    let mut ended = false;
    arguments
        .iter()
        .filter(|word| {
            if *word == "--" && !ended {
                ended = true;
                return false;
            }
            ended || !word.starts_with('-') || *word == "-"
        })
        .collect()
}

/// Returns `true` if one of the letters is among the short options, or one of the long options is given.
pub(crate) fn has_flag(arguments: &[String], letters: &str, long: &[&str]) -> bool {
    arguments
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| match word.strip_prefix('-') {
            Some(rest) if rest.starts_with('-') => long.iter().any(|option| {
                word.split('=').next() == Some(option)
                    || (word.len() > 4 && option.starts_with(word.as_str()))
            }),
            Some(flags) => flags.contains(|flag| letters.contains(flag)),
            None => false,
        })
}

/// Returns the values of options, in the next argument or the same.
pub(crate) fn value<'w>(arguments: &'w [String], options: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        for option in options {
            if word == option {
                found.extend(words.as_slice().first().map(String::as_str));
            } else if let Some(rest) = word.strip_prefix(option) {
                if option.starts_with("--") {
                    found.extend(rest.strip_prefix('='));
                } else if !rest.is_empty() {
                    found.push(rest);
                }
            }
        }
    }
    found
}

/// Returns `true` if a program reads, copies, changes or removes the files in its arguments.
pub fn handles_files(name: &str) -> bool {
    const OTHERS: &[&str] = names!("rm rmdir cp mv ln install rsync scp dd tar zip unzip");
    READERS.contains(name) || WRITERS.contains(name) || OTHERS.contains(&name)
}

/// Returns `true` if a program or builtin reads only the names of files, and does not take them from a file.
pub fn only_names(name: &str, arguments: &[String]) -> bool {
    let from_file = |word: &String| word.starts_with('-') && word.contains("from");
    NAMERS.contains(name) && !arguments.iter().any(from_file)
}

/// Returns the arguments besides its operands that a program may read as files, if keys count: all arguments of a
/// program that starts others, the options of a read-only one, and else every part of every argument, because it can
/// contain a command or code. Those that cannot be a key are left out.
pub fn perhaps_read(
    name: &str,
    is_launcher: bool,
    arguments: &[String],
    may_be: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let by_option = READERS.contains(name) || name == "git";
    let included = excludes::removed(name, arguments);
    let mut found = Vec::new();
    let mut is_text = false;
    for word in included
        .as_ref()
        .map_or(arguments, |included| &included.words)
    {
        let is_prose = std::mem::replace(&mut is_text, CARRY_TEXT.contains(word.as_str()));
        if is_launcher || (by_option && word.starts_with('-')) {
            let value = word.rsplit(['=', '@']).next();
            let glued = word.find(['.', '/']).filter(|_| word.starts_with('-'));
            let parts = value.into_iter().chain(glued.and_then(|at| word.get(at..)));
            found.extend(parts.filter(|part| may_be(part)).map(str::to_owned));
        } else if !by_option && !is_prose {
            let is_end = |sign: char| sign.is_whitespace() || "=@:,;|&(){}<>$#".contains(sign);
            // Quotes within an argument join its parts, or end them.
            let mut add = |word: &str| {
                let parts = word.split(is_end).filter(|part| may_be(part));
                found.extend(parts.map(str::to_owned));
            };
            if !word.contains(['"', '\'', '`', '\\']) {
                add(word);
                continue;
            }
            for quotes in ["", " "] {
                add(&word.replace(['"', '\'', '`'], quotes).replace('\\', ""));
            }
        }
    }
    found
}

/// Returns all files that a program touches by its arguments. `input` is its standard input, if it is known.
pub fn touches(name: &str, arguments: &[String], input: Option<&str>) -> Touches {
    let mut found = Touches::new();
    let included = excludes::removed(name, arguments);
    let (arguments, leaves_ours_out) = match &included {
        Some(included) => (included.words.as_slice(), included.leaves_ours_out),
        None => (arguments, false),
    };
    match name {
        "rm" | "trash" | "trash-put" | "srm" | "rimraf" | "del-cli" => {
            removed(name, arguments, &mut found);
        }
        "cp" | "mv" | "ln" | "install" | "rsync" | "scp" | "ditto" => {
            copied(name, arguments, &mut found);
        }
        "dd" => {
            for word in arguments {
                if let Some(path) = word.strip_prefix("of=") {
                    found.push((Touch::Write, path.to_owned()));
                } else if let Some(path) = word.strip_prefix("if=") {
                    found.push((Touch::Read, path.to_owned()));
                }
            }
        }
        "tar" | "bsdtar" | "gtar" => archived(arguments, &mut found),
        "unzip" | "7z" | "7za" | "zip" | "cpio" | "pax" => zipped(name, arguments, &mut found),
        "find" | "fd" | "fdfind" => searches::searched(arguments, &mut found),
        "git" => return git_files::touched(arguments),
        "xxd" | "uniq" => {
            let words = operands(arguments);
            found.extend(words.first().map(|path| (Touch::Read, (*path).clone())));
            found.extend(words.get(1).map(|path| (Touch::Write, (*path).clone())));
        }
        "apply_patch" | "applypatch" => {
            for text in arguments.iter().map(String::as_str).chain(input) {
                found.extend(patched(text));
            }
        }
        _ => ordinary(name, arguments, &mut found),
    }
    outputs(name, arguments, &mut found);
    if leaves_ours_out {
        let others = found.iter_mut().filter(|(touch, _)| *touch == Touch::Take);
        others.for_each(|(touch, _)| *touch = Touch::Named);
    }
    found
}

fn removed(name: &str, arguments: &[String], found: &mut Touches) {
    let deep = name != "rm" || has_flag(arguments, "rR", &["--recursive"]);
    let touch = if deep { Touch::Tree } else { Touch::Write };
    for path in operands(arguments) {
        found.push((touch, path.clone()));
    }
}

/// Returns `true` if the argument is a file of another machine.
pub(crate) fn is_remote(path: &str) -> bool {
    path.split_once(':')
        .is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
}

fn copied(name: &str, arguments: &[String], found: &mut Touches) {
    let mut words = operands(arguments);
    let named = value(arguments, &["-t", "--target-directory"]);
    let target = match named.first() {
        Some(target) => {
            words.retain(|word| word.as_str() != *target);
            Some((*target).to_owned())
        }
        None if words.len() > 1 => words.pop().cloned(),
        None if name == "ln" => Some(".".to_owned()),
        None => None,
    };
    let deep = matches!(name, "rsync" | "ditto")
        || has_flag(arguments, "rRa", &["--recursive", "--archive"]);
    for from in &words {
        let touch = match name {
            "mv" => Touch::Tree,
            // A link gives the thing another name.
            "ln" => Touch::Link,
            _ if deep => Touch::Take,
            _ => Touch::Read,
        };
        if !is_remote(from) {
            found.push((touch, (*from).clone()));
        }
    }
    let Some(target) = target.filter(|target| !is_remote(target)) else {
        return;
    };
    let target = target.trim_end_matches('/').to_owned();
    for from in &words {
        let name = base_name(from);
        // The hidden files are examined at the source.
        if !name.starts_with(".*") && !name.starts_with(".[") && !name.starts_with(".?") {
            found.push((Touch::Write, format!("{target}/{name}")));
        }
    }
    // `rsync --delete` empties the target first.
    let empties = name == "rsync" && arguments.iter().any(|word| word.starts_with("--del"));
    let touch = if empties { Touch::Tree } else { Touch::Write };
    found.push((touch, target));
}

fn archived(arguments: &[String], found: &mut Touches) {
    let first = arguments.first().map_or("", String::as_str);
    let old_style = !first.starts_with('-');
    let letter = |wanted: char| {
        (old_style && first.contains(wanted)) || has_flag(arguments, &wanted.to_string(), &[])
    };
    let creates =
        letter('c') || letter('r') || letter('u') || has_flag(arguments, "", &["--create"]);
    let extracts = letter('x') || has_flag(arguments, "", &["--extract", "--get"]);
    let directories = value(arguments, &["-C", "--directory"]);
    let words = operands(arguments);
    let skip = usize::from(old_style);
    for (index, path) in words.into_iter().skip(skip).enumerate() {
        if creates && index == 0 {
            // The archive, if its letter is in a cluster.
            found.push((Touch::Write, path.clone()));
        }
        let inside = directories
            .first()
            .map_or_else(|| path.clone(), |directory| format!("{directory}/{path}"));
        if creates {
            found.push((Touch::Take, inside));
        } else if extracts {
            found.push((Touch::Write, inside));
        }
    }
    if extracts {
        directories
            .iter()
            .for_each(|directory| unpacked(directory, found));
    }
    if creates {
        for archive in value(arguments, &["-f", "--file"]) {
            found.push((Touch::Write, archive.to_owned()));
        }
    }
}

/// Adds the files of an archive, which can have any name, also that of an agent's settings.
fn unpacked(directory: &str, found: &mut Touches) {
    found.push((Touch::Write, directory.to_owned()));
    for name in ["settings.json", "hooks.json"] {
        found.push((Touch::Write, format!("{directory}/{name}")));
    }
}

fn zipped(name: &str, arguments: &[String], found: &mut Touches) {
    value(arguments, &["-d", "-o"])
        .iter()
        .for_each(|directory| unpacked(directory, found));
    if name == "zip" || arguments.first().is_some_and(|word| word == "a") {
        let words = operands(arguments);
        for (index, path) in words.into_iter().enumerate() {
            let touch = if index == 0 {
                Touch::Write
            } else {
                Touch::Take
            };
            found.push((touch, path.clone()));
        }
    }
}

fn ordinary(name: &str, arguments: &[String], found: &mut Touches) {
    let in_place = match name {
        "sed" | "gsed" => has_flag(arguments, "i", &["--in-place"]),
        "perl" | "ruby" => has_flag(arguments, "i", &[]),
        "yq" => has_flag(arguments, "i", &["--inplace", "--in-place"]),
        "awk" | "gawk" => value(arguments, &["-i"]).contains(&"inplace"),
        "sort" => false,
        _ => WRITERS.contains(name),
    };
    if in_place {
        for path in operands(arguments) {
            found.push((Touch::Write, path.clone()));
        }
        return;
    }
    if READERS.contains(name) {
        let pattern = PATTERN_FIRST.contains(&name)
            && !has_flag(arguments, "ef", &["--regexp", "--file", "--expression"]);
        for path in operands(arguments).into_iter().skip(usize::from(pattern)) {
            found.push((Touch::Read, path.clone()));
            // A program that reads the whole directory reads the keys in it.
            if base_name(path.trim_end_matches('/')) == ".role-os" {
                found.push((Touch::Read, format!("{}/keys", path.trim_end_matches('/'))));
            }
        }
        if matches!(name, "sed" | "gsed") {
            found.extend(named_by_script(arguments));
        }
        return;
    }
    match name {
        "docker" | "podman" | "nerdctl" => return mounted(arguments, found),
        "mount" | "umount" => {
            let words = operands(arguments);
            // A source mounted elsewhere is followed as a link; the content of the mount point is hidden.
            found.extend(words.iter().map(|path| (Touch::Given, (*path).clone())));
            found.extend(words.last().map(|path| (Touch::Tree, (*path).clone())));
            return;
        }
        _ => {}
    }
    if LAUNCHERS.contains(name) || NAMERS.contains(name) {
        return;
    }
    // The script of an interpreter is read.
    let script = actions::programs::INTERPRETERS
        .contains(name)
        .then(|| arguments.iter().position(|word| !word.starts_with('-')))
        .flatten();
    for (index, word) in arguments.iter().enumerate() {
        if script == Some(index) {
            found.push((Touch::Read, word.clone()));
            continue;
        }
        // `--config=x`, `file=@x`, `@x`: the path is the rest.
        let path = word.rsplit(['=', '@']).next().unwrap_or(word);
        if !path.is_empty() && !path.contains(char::is_whitespace) && !path.contains("://") {
            found.push((Touch::Given, path.to_owned()));
        }
    }
}

/// Adds paths that a container sees under another name: `-v path:/x`, `--mount source=path,…`.
fn mounted(arguments: &[String], found: &mut Touches) {
    if let Some(at) = arguments.iter().position(|word| word == "cp") {
        let words = operands(arguments.get(at.saturating_add(1)..).unwrap_or_default());
        let local = words.iter().filter(|path| !is_remote(path));
        found.extend(local.map(|path| (Touch::Given, (*path).clone())));
    }
    for volume in value(arguments, &["-v", "--volume"]) {
        let path = volume.split(':').next().unwrap_or(volume);
        let only_read = volume.ends_with(":ro");
        let touch = if only_read { Touch::Read } else { Touch::Named };
        found.push((touch, path.to_owned()));
    }
    for mount in value(arguments, &["--mount"]) {
        let mut parts = mount.split(',').filter_map(|part| part.split_once('='));
        let path = parts.find(|(key, _)| matches!(*key, "source" | "src"));
        found.extend(path.map(|(_, path)| (Touch::Named, path.to_owned())));
    }
}

/// Returns the files of `sed 's/a/b/w file'`, `sed 'w file'` and `sed 'r file'`.
fn named_by_script(arguments: &[String]) -> Touches {
    let signs = |script: &String| -> Vec<(Touch, String)> {
        let at = script.match_indices(['w', 'W', 'r', 'R']);
        let named = at.filter_map(|(at, sign)| {
            let rest = script.get(at.saturating_add(1)..)?;
            let path = rest.split(['\n', ';', '}']).next()?.trim();
            let is_read = sign.eq_ignore_ascii_case("r");
            let touch = if is_read { Touch::Read } else { Touch::Write };
            actions::mentions_guarded(path).then(|| (touch, path.to_owned()))
        });
        named.collect()
    };
    arguments.iter().flat_map(signs).collect()
}

/// Options with an output directory, the same for most programs.
const DIRECTORIES: &[&str] = names!(
    "--target-dir --artifact-dir --out-dir --outdir --outDir --output-dir --output-path --output-directory \
    --pack-destination --dest-dir --destdir --install-dir --directory-prefix --build-dir"
);

/// Adds the files of options with an output file, the same for most programs.
pub fn outputs(name: &str, arguments: &[String], found: &mut Touches) {
    const NONE: &[&str] = names!(
        "grep egrep fgrep rg ls find ps set ssh test git scp rsync tar zip unzip cp mv id mount chmod"
    );
    if !NONE.contains(&name) {
        for path in value(arguments, &["-o", "-O"]) {
            if !path.contains("://") {
                found.push((Touch::Write, path.to_owned()));
            }
        }
    }
    let long = names!(
        "--output --output-document --output-file --outfile --out-file --out --log-file --dump-header --cookie-jar"
    );
    for path in value(arguments, long) {
        found.push((Touch::Write, path.to_owned()));
    }
    if name == "openssl" {
        let files = value(arguments, &["-out", "-keyout"]);
        found.extend(
            files
                .into_iter()
                .map(|path| (Touch::Write, path.to_owned())),
        );
    }
    let own: &[&str] = if name == "patch" {
        &["-d", "--directory"]
    } else {
        &[]
    };
    for path in value(arguments, DIRECTORIES)
        .into_iter()
        .chain(value(arguments, own))
    {
        found.push((Touch::Fill, path.to_owned()));
    }
}
