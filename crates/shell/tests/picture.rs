//! Texts and their intermediate representation, printed in one form: quotes show literal text, braces show
//! expansions, and every redirection has its descriptor.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use shell::ir::{
    Argument, Arm, ArmEnd, Assigned, Assignment, Command, Connector, Item, Kind, Operation,
    Parameter, Piece, Pipeline, Place, Redirect, Script, Subject, Target, Test, Word,
};
use shell::lower::{Refused, program};

fn script(script: &Script) -> String {
    let items: Vec<String> = script.items.iter().map(item).collect();
    items.join("; ")
}

fn item(item: &Item) -> String {
    let mut text = String::new();
    for (connector, pipeline) in &item.pipelines {
        text.push_str(match connector {
            Connector::First => "",
            Connector::And => " && ",
            Connector::Or => " || ",
        });
        text.push_str(&self::pipeline(pipeline));
    }
    if item.beside {
        text.push_str(" &");
    }
    text
}

fn pipeline(pipeline: &Pipeline) -> String {
    let commands: Vec<String> = pipeline.commands.iter().map(command).collect();
    let negated = if pipeline.negated { "! " } else { "" };
    format!("{negated}{}", commands.join(" | "))
}

fn command(command: &Command) -> String {
    let mut parts = vec![kind(&command.kind)];
    parts.extend(command.redirects.iter().map(redirect));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Simple { assignments, words } => {
            let mut parts: Vec<String> = assignments.iter().map(assignment).collect();
            for argument in words {
                match argument {
                    Argument::Process {
                        glued: true,
                        writes,
                        script,
                    } => {
                        let process = process(*writes, script);
                        parts.last_mut().unwrap().push_str(&process);
                    }
                    Argument::Process { writes, script, .. } => {
                        parts.push(process(*writes, script));
                    }
                    Argument::Word(one) => parts.push(word(one)),
                    Argument::Assignment(one) => parts.push(assignment(one)),
                }
            }
            parts.join(" ")
        }
        Kind::Group(inner) => format!("{{ {} }}", script(inner)),
        Kind::Subshell(inner) => format!("( {} )", script(inner)),
        Kind::If { arms, otherwise } => {
            let arms: Vec<String> = arms
                .iter()
                .map(|(condition, body)| format!("{} then {}", script(condition), script(body)))
                .collect();
            let otherwise = otherwise
                .as_ref()
                .map_or_else(String::new, |body| format!(" else {}", script(body)));
            format!("if {}{otherwise} fi", arms.join(" elif "))
        }
        Kind::Loop {
            condition,
            until,
            body,
        } => {
            let name = if *until { "until" } else { "while" };
            format!("{name} {} do {} done", script(condition), script(body))
        }
        Kind::For {
            variable,
            words,
            body,
        } => {
            let words = words.as_ref().map_or_else(
                || "\"${@}\"".to_owned(),
                |words| words.iter().map(word).collect::<Vec<_>>().join(" "),
            );
            format!("for {variable} in {words} do {} done", script(body))
        }
        Kind::ArithmeticFor { expressions, body } => {
            let all: Vec<String> = expressions.iter().map(word).collect();
            format!("for (({})) do {} done", all.join("; "), script(body))
        }
        Kind::Case { subject, arms } => {
            let arms: Vec<String> = arms.iter().map(arm).collect();
            format!("case {} in {} esac", word(subject), arms.join(" "))
        }
        Kind::Function { name, body } => format!("{name}() {}", command(body)),
        Kind::Test(test) => format!("[[ {} ]]", self::test(test)),
        Kind::Arithmetic(inner) => format!("(({}))", word(inner)),
        Kind::Coprocess { name, body } => format!("coproc {name} {}", command(body)),
    }
}

fn arm(arm: &Arm) -> String {
    let patterns: Vec<String> = arm.patterns.iter().map(word).collect();
    let end = match arm.end {
        ArmEnd::Leave => ";;",
        ArmEnd::Next => ";&",
        ArmEnd::Others => ";;&",
    };
    format!("{}) {} {end}", patterns.join("|"), script(&arm.body))
}

fn test(test: &Test) -> String {
    match test {
        Test::And(left, right) => format!("{} && {}", self::test(left), self::test(right)),
        Test::Or(left, right) => format!("{} || {}", self::test(left), self::test(right)),
        Test::Not(inner) => format!("! {}", self::test(inner)),
        Test::Unary(operator, one) => format!("{operator} {}", word(one)),
        Test::Binary(operator, left, right) => {
            format!("{} {operator} {}", word(left), word(right))
        }
    }
}

fn process(writes: bool, inner: &Script) -> String {
    let sign = if writes { '>' } else { '<' };
    format!("{sign}({})", script(inner))
}

fn assignment(one: &Assignment) -> String {
    let index = one
        .index
        .as_ref()
        .map_or_else(String::new, |index| format!("[{}]", word(index)));
    let plus = if one.append { "+" } else { "" };
    let value = match &one.value {
        Assigned::Scalar(value) => word(value),
        Assigned::Array(elements) => {
            let elements: Vec<String> = elements
                .iter()
                .map(|(key, words)| {
                    let words: Vec<String> = words.iter().map(word).collect();
                    let key = key
                        .as_ref()
                        .map_or_else(String::new, |key| format!("[{}]=", word(key)));
                    format!("{key}{}", words.join(" "))
                })
                .collect();
            format!("({})", elements.join(" "))
        }
    };
    format!("{}{index}{plus}={value}", one.name)
}

fn redirect(redirect: &Redirect) -> String {
    let target = match &redirect.target {
        Target::Read(one) => format!("<{}", word(one)),
        Target::Write(one) => format!(">{}", word(one)),
        Target::Append(one) => format!(">>{}", word(one)),
        Target::Duplicate(one) => format!("&{}", word(one)),
        Target::Here(one) => format!("<<{}", word(one)),
        Target::HereString(one) => format!("<<<{}", word(one)),
        Target::ReadProcess(inner) => format!("< <({})", script(inner)),
        Target::WriteProcess(inner) => format!("> >({})", script(inner)),
    };
    format!("{}{target}", redirect.descriptor)
}

fn word(word: &Word) -> String {
    word.pieces.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => text.replace('\n', "⏎"),
        Piece::Quoted(text) => format!("'{}'", text.replace('\n', "⏎")),
        Piece::Double(pieces) => {
            let inner = pieces.iter().map(|inner| match inner {
                Piece::Quoted(text) => text.clone(),
                other => self::piece(other),
            });
            let inner: String = inner.collect();
            format!("\"{inner}\"")
        }
        Piece::Tilde(user) => format!("~{user}"),
        Piece::Parameter(one) => format!("${{{}}}", parameter(one)),
        Piece::Command(inner) => format!("$({})", script(inner)),
        Piece::Arithmetic(inner) => format!("$(({}))", word(inner)),
        Piece::Opaque => "OPAQUE".to_owned(),
    }
}

fn parameter(parameter: &Parameter) -> String {
    let subject = match &parameter.subject {
        Subject::Positional(number) => number.to_string(),
        Subject::All { joined } => if *joined { "*" } else { "@" }.to_owned(),
        Subject::Count => "#".to_owned(),
        Subject::Number => "?".to_owned(),
        Subject::ShellName => "0".to_owned(),
        Subject::Named(name) => name.clone(),
        Subject::Element(name, index) => format!("{name}[{}]", word(index)),
        Subject::Elements { name, joined } => {
            format!("{name}[{}]", if *joined { "*" } else { "@" })
        }
    };
    let colon = |colon: bool| if colon { ":" } else { "" };
    let twice = |sign: &str, twice: bool| sign.repeat(if twice { 2 } else { 1 });
    let operation = match &parameter.operation {
        Operation::Value => String::new(),
        Operation::Default {
            empty_counts,
            assigns,
            word: other,
        } => {
            let sign = if *assigns { "=" } else { "-" };
            format!("{}{sign}{}", colon(*empty_counts), word(other))
        }
        Operation::Alternative {
            empty_counts,
            word: other,
        } => format!("{}+{}", colon(*empty_counts), word(other)),
        Operation::Required(message) => format!("?{}", word(message)),
        Operation::Length => return format!("#{subject}"),
        Operation::RemovePrefix { longest, pattern } => {
            format!("{}{}", twice("#", *longest), word(pattern))
        }
        Operation::RemoveSuffix { longest, pattern } => {
            format!("{}{}", twice("%", *longest), word(pattern))
        }
        Operation::Substring { offset, length } => {
            let length = length
                .as_ref()
                .map_or_else(String::new, |length| format!(":{}", word(length)));
            format!(":{}{length}", word(offset))
        }
        Operation::Replace {
            pattern,
            replacement,
            place,
        } => {
            let sign = match place {
                Place::First => "/",
                Place::All => "//",
                Place::Start => "/#",
                Place::End => "/%",
            };
            format!("{sign}{}/{}", word(pattern), word(replacement))
        }
        Operation::Case {
            upper,
            all,
            pattern,
        } => {
            let sign = twice(if *upper { "^" } else { "," }, *all);
            let pattern = pattern.as_ref().map_or_else(String::new, word);
            format!("{sign}{pattern}")
        }
        Operation::Prompt => "@P".to_owned(),
        Operation::Escapes => "@E".to_owned(),
        Operation::Quote => "@Q".to_owned(),
        Operation::Declared => "@A".to_owned(),
        Operation::Pairs => "@K".to_owned(),
        Operation::Transform => "@a".to_owned(),
        Operation::Names => "@names".to_owned(),
    };
    let indirect = if parameter.indirect { "!" } else { "" };
    format!("{indirect}{subject}{operation}")
}

/// Expects each text to have its representation, and shows all that differ.
fn check(cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = match program(text) {
            Ok(picture) => script(&picture),
            Err(refused) => format!("refused: {refused}"),
        };
        if found != *expected {
            wrong.push(format!(
                "{text:?}\n   expected {expected}\n   found    {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_and_what_stands_between_them() {
    check(&[
        ("git push", "git push"),
        ("  git   push  ", "git push"),
        ("a; b", "a; b"),
        ("a\nb", "a; b"),
        ("a;\n\nb\n", "a; b"),
        ("a & b", "a &; b"),
        ("a && b || c", "a && b || c"),
        ("a &&\nb", "a && b"),
        ("a | b | c", "a | b | c"),
        ("! a | b", "! a | b"),
        ("# only a comment", ""),
        ("a # behind it", "a"),
        ("echo a#b", "echo a#b"),
        ("", ""),
        ("git \\\n push", "git push"),
        ("a |& b", "a 2&'1' | b"),
    ]);
}

#[test]
fn compound_commands() {
    check(&[
        ("{ a; b; }", "{ a; b }"),
        ("(a; b)", "( a; b )"),
        ("if a; then b; fi", "if a then b fi"),
        (
            "if a; then b; elif c; then d; else e; fi",
            "if a then b elif c then d else e fi",
        ),
        ("while a; do b; done", "while a do b done"),
        ("until a; do b; done", "until a do b done"),
        ("for x in a b; do c; done", "for x in a b do c done"),
        ("for x; do c; done", "for x in \"${@}\" do c done"),
        ("f() { a; }; f", "f() { a }; f"),
        ("function f { a; }", "f() { a }"),
        ("f() ( a )", "f() ( a )"),
        (
            "case $x in a|b) c;; *) d;; esac",
            "case ${x} in a|b) c ;; *) d ;; esac",
        ),
        (
            "case x in a) b;& c) d;;& esac",
            "case x in a) b ;& c) d ;;& esac",
        ),
        ("[[ -f x && ! $a == b* ]]", "[[ -f x && ! ${a} == b* ]]"),
        ("[[ a =~ b || -z $c ]]", "[[ a =~ b || -z ${c} ]]"),
        ("{ a; } > f", "{ a } 1>f"),
        ("(a) 2>/dev/null | b", "( a ) 2>/dev/null | b"),
    ]);
}

#[test]
fn quotes_and_escapes() {
    check(&[
        ("'git' \"push\"", "'git' \"push\""),
        ("g'i't", "g'i't"),
        ("gi\"t\" pu''sh", "gi\"t\" pu''sh"),
        ("\"\"", "\"\""),
        ("echo 'a b'\"c d\"", "echo 'a b'\"c d\""),
        ("\"a $b c\"", "\"a ${b} c\""),
        ("\"$(a \"b c\")\"", "\"$(a \"b c\")\""),
        ("echo '$x `y`'", "echo '$x `y`'"),
        ("~/x ~user/y a~b", "~/x ~user/y a~b"),
    ]);
}

#[test]
fn parameters() {
    check(&[
        ("$x ${x} ${xy}z", "${x} ${x} ${xy}z"),
        ("$1 ${10} $0 $# $?", "${1} ${10} ${0} ${#} ${?}"),
        ("$@ \"$@\" $* \"$*\"", "${@} \"${@}\" ${*} \"${*}\""),
        ("${x:-a} ${x-a}", "${x:-a} ${x-a}"),
        ("${x:=a} ${x=a}", "${x:=a} ${x=a}"),
        ("${x:+a} ${x+a}", "${x:+a} ${x+a}"),
        ("${x:?m}", "${x?m}"),
        ("${#x} ${#a[@]}", "${#x} ${#a[@]}"),
        ("${x#a*} ${x##a*}", "${x#a*} ${x##a*}"),
        ("${x%.*} ${x%%.*}", "${x%.*} ${x%%.*}"),
        ("${x:1} ${x:1:2}", "${x:1} ${x:1:2}"),
        ("${x/a/b} ${x//a/b}", "${x/a/b} ${x//a/b}"),
        ("${x/#a/b} ${x/%a/b}", "${x/#a/b} ${x/%a/b}"),
        ("${x^} ${x^^} ${x,} ${x,,}", "${x^} ${x^^} ${x,} ${x,,}"),
        ("${a[0]} ${a[@]} \"${a[*]}\"", "${a[0]} ${a[@]} \"${a[*]}\""),
        ("${a[$i]}", "${a[${i}]}"),
        ("${!x}", "${!x}"),
        ("${x@P} ${x@Q}", "${x@P} ${x@Q}"),
        ("${x:-$(a)}", "${x:-$(a)}"),
        ("${x:-${y:-z}}", "${x:-${y:-z}}"),
    ]);
}

#[test]
fn substitutions_and_arithmetic() {
    check(&[
        ("$(a b)", "$(a b)"),
        ("`a b`", "$(a b)"),
        ("$(a $(b))", "$(a $(b))"),
        ("x=$(a; b)", "x=$(a; b)"),
        ("echo $((1+2))", "echo $((1+2))"),
        ("echo $((x+$y))", "echo $((x+${y}))"),
        ("((x++))", "((x++))"),
        ("a <(b) >(c)", "a <(b) >(c)"),
        ("a --file=<(b)", "a --file=<(b)"),
        ("git push & wait", "git push &; wait"),
    ]);
}

#[test]
fn assignments() {
    check(&[
        ("X=1", "X=1"),
        ("X=1 Y=2 git push", "X=1 Y=2 git push"),
        ("X=", "X="),
        ("X+=1", "X+=1"),
        ("X='a b'", "X='a b'"),
        ("X=$y", "X=${y}"),
        ("a=(b c)", "a=(b c)"),
        ("a+=(b)", "a+=(b)"),
        ("a[1]=b", "a[1]=b"),
        ("a=([x]=1 [y]=2)", "a=([x]=1 [y]=2)"),
        ("export X=1 Y", "export X=1 Y"),
        ("declare -a a=(b c)", "declare -a a=(b c)"),
        ("env X=1 a", "env X=1 a"),
        ("make CC=gcc", "make CC=gcc"),
    ]);
}

#[test]
fn redirections() {
    check(&[
        ("a > f", "a 1>f"),
        ("a >> f", "a 1>>f"),
        ("a < f", "a 0<f"),
        ("a 2> f", "a 2>f"),
        ("a 2>&1", "a 2&1"),
        ("a >| f", "a 1>f"),
        ("> f a", "a 1>f"),
        ("a <<< b", "a 0<<<b"),
        ("a <<< \"$x\"", "a 0<<<\"${x}\""),
        ("a <<'E'\n$x\nE", "a 0<<'$x⏎'"),
        ("a < <(b)", "a 0< <(b)"),
        ("a > >(b)", "a 1> >(b)"),
        ("exec 3> f", "exec 3>f"),
        ("a <&3", "a 0&3"),
    ]);
}

#[test]
fn the_text_of_a_here_document_is_text() {
    // Text that would be grammar outside of it.
    for inside in [
        "fix: x (see a",
        "it's",
        "a `b",
        "a \"b",
        "case x) y",
        "cat <<B",
        "a # b",
        "$(c",
        "${c",
        "a)",
        "((",
        "e \\",
        "",
    ] {
        let body = format!("{inside}\n");
        let shown = body.replace('\n', "⏎");
        for sign in ["<<'E'", "<<\"E\"", "<<\\E", "<< 'E'"] {
            check(&[
                (
                    &format!("a {sign}; b 'c'\n{body}E\nd"),
                    &format!("a 0<<'{shown}'; b 'c'; d"),
                ),
                (
                    &format!("m \"$(a {sign}\n{body}E\n)\" n"),
                    &format!("m \"$(a 0<<'{shown}')\" n"),
                ),
                (
                    &format!("x=$(b; a {sign} <<'F F'\n{body}E\nf\nF F\n)"),
                    &format!("x=$(b; a 0<<'{shown}' 0<<'f⏎')"),
                ),
            ]);
        }
    }
    check(&[
        ("a <<-'E'\n\t\tb (\n\tc\n\tE\nd", "a 0<<'b (⏎c⏎'; d"),
        ("ä <<'E'; b\nü (\nE\nc", "ä 0<<'ü (⏎'; b; c"),
        (
            "x=$((1 << 2)); a <<'E'\nb (\nE",
            "x=$((1 << 2)); a 0<<'b (⏎'",
        ),
        (
            "a <<E\nit's (`b`) $(c d)\nE",
            "a 0<<\"it's ($(b)) $(c d)\n\"",
        ),
    ]);
}

#[test]
fn only_the_grammar_of_the_shell_is_counted() {
    let code = "if x {\n\tcase a:\n\t\tfor {{{{{{{{ ((\n".repeat(200);
    let text = format!("a <<'E'\n{code}E\nb");
    let shown = code.replace('\n', "⏎");
    check(&[(&text, &format!("a 0<<'{shown}'; b"))]);
    assert!(program(&format!("a <<'E'\n{code}E\n{code}")).is_err());
    let loops = "if x; while y; ".repeat(200);
    assert!(program(&format!("a <<E\n{loops}$(b)\nE")).is_ok());
}

#[test]
fn what_shells_do_not_read_alike_stays_in_the_text() {
    for text in [
        // Bash ends it at a line that begins with its name and closes the bracket.
        "x=$(a <<'E'\nE git push)\nE\n)",
        // The text is read after the bracket, or as commands.
        "x=$(a <<'E')\ngit push\nE",
    ] {
        let (_, inside) = shell::bodies::divided(text);
        assert!(inside.is_empty(), "{text}: {inside:?}");
        assert_eq!(program(text).err(), Some(Refused::Syntax), "{text}");
    }
    // A joined line is not the end of it.
    check(&[("a <<E\nb \\\nE\nc\nE\nd", "a 0<<\"b E\nc\n\"; d")]);
}

#[test]
fn what_is_no_shell_text_has_no_picture() {
    for text in ["if a; then", "a | | b", "( a", "'a", "a && ", "done", "fi"] {
        assert_eq!(program(text).err(), Some(Refused::Syntax), "{text}");
    }
    let deep = format!("{}a{}", "$(".repeat(60), ")".repeat(60));
    assert!(matches!(program(&deep), Err(Refused::Limit(_))));
    let long = "a ".repeat(shell::limit::MAX_BYTES);
    assert!(matches!(program(&long), Err(Refused::Limit(_))));
}
