//! Sessions that put code beside their diff, in many ways, and honest ones that build and install.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::outcomes::Step::{self, By, Do, Edit, Run};
use crate::outcomes::{PASSES, play_in};
use crate::sealed_sessions::{git, repository};
use crate::workspace::Workspace;

/// A file of an installed package.
const N: &str = "node_modules/lib/index.js";

/// Returns a project with scripts, a build and an installed package.
fn project() -> Workspace {
    let workspace = repository("");
    for (file, text) in [
        (
            ".gitignore",
            ".role-os/\nhome/\nt.jsonl\nnode_modules/\nbuild/\ndist/\ntarget/\n.venv/\n__pycache__\n*.pyc\n*.so\nhooks/\n.env\n*.log\n",
        ),
        (
            "package.json",
            r#"{"scripts": {"test": "jest", "build": "node scripts/build.js"}}"#,
        ),
        ("Makefile", "all:\n\t./scripts/gen.sh --out build\n"),
        ("scripts/build.js", "build()\n"),
        ("scripts/copy.js", "copy(process.argv)\n"),
        ("scripts/gen.sh", "#!/bin/sh\n"),
        ("src/a.py", "A = 1\n"),
        ("src/a.js", "a()\n"),
        (N, "good()\n"),
        ("node_modules/.bin/prisma", "#!x\n"),
        ("node_modules/.bin/cpx", "#!x\n"),
        (".venv/bin/pip", "#!x\n"),
        ("gradlew", "#!x\n"),
    ] {
        let path = workspace.write(file, text);
        if text.starts_with("#!") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    git(workspace.root(), &["add", "-A"]);
    git(workspace.root(), &["commit", "-q", "-m", "project"]);
    workspace
}

/// Plays sessions and lists those with another outcome.
#[track_caller]
fn check(expected: &str, sessions: Vec<Vec<Step>>) {
    let mut wrong = Vec::new();
    for mut steps in sessions {
        let shown = steps.iter().map(command).collect::<Vec<_>>().join(" ¶ ");
        steps.insert(0, Edit("t.py"));
        if !shown.contains("npx jest") {
            steps.push(Run("npm test", PASSES, false));
        }
        let sealed = play_in(&project(), &steps);
        if sealed.outcome != expected {
            wrong.push(format!(
                "{shown}: {} {}",
                sealed.outcome, sealed.facts["unproved"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn command(step: &Step) -> &'static str {
    match step {
        Do(command) | By(command, ..) | Run(command, ..) => command,
        _ => "an edit",
    }
}

/// Returns sessions with one command each that writes the package.
fn writers(commands: &[&'static str]) -> Vec<Vec<Step>> {
    let session = |command: &&'static str| vec![By(command, N, "evil()\n")];
    commands.iter().map(session).collect()
}

#[test]
fn whatever_writes_a_package_leaves_the_tests_unproved() {
    check(
        "skipped",
        writers(&[
            "perl -pi -e s/good/evil/ node_modules/lib/index.js",
            "ex -sc '%s/good/evil/|wq' node_modules/lib/index.js",
            "sort -o node_modules/lib/index.js src/a.js",
            "shuf -o node_modules/lib/index.js src/a.js",
            "xxd -r src/a.hex node_modules/lib/index.js",
            "sed -n 'w node_modules/lib/index.js' src/a.js",
            "git log --output=node_modules/lib/index.js",
            "find src -fprintf node_modules/lib/index.js x",
            "tar xf build/a.tar",
            "make -f - <<'E'\nall:\n\tcp src/a.js node_modules/lib/index.js\nE",
            "npm pkg set scripts.build='cp a b'; npm run build; git checkout package.json",
            "node scripts/copy.js src/a.js node_modules/lib/index.js",
            "uniq src/a.js node_modules/lib/index.js",
            "dd if=src/a.js of=node_modules/lib/index.js",
            "install src/a.js node_modules/lib/index.js",
            "unzip -o build/a.zip",
            "patch -p0 -i build/x.diff",
            "git apply --directory node_modules x.diff",
            "git checkout other -- node_modules",
        ]),
    );
}

#[test]
fn builds_that_are_mixed_or_told_what_to_do_leave_the_tests_unproved() {
    check(
        "skipped",
        writers(&[
            "git -c core.fsmonitor=./x status && npm ci",
            "awk 'BEGIN { print 1 > \"node_modules/lib/index.js\" }' && npm ci",
            "cmake -E copy src/a.js node_modules/lib/index.js",
            "npx cpx src/a.js node_modules/lib",
            "npm i http://localhost:1/x.tgz",
            "cp -t node_modules/lib src/index.js && npm run build",
            "cp src/a.js node_modules/lib/index.js && npm run build",
            "echo index.js | xargs -I{} cp src/a.js node_modules/lib/{} && make",
            "make CMD='cp src/a.js node_modules/lib/index.js'",
            "CMD='cp src/a.js node_modules/lib/index.js' make",
            "PATH=$PWD/hooks:$PATH npm ci",
            "npm ci && python3 -c 'f()'",
            "ruby -e 'f()' && cargo build",
            "npm ci; . ./x.sh",
            "npm run build <<< x; eval \"$X\"",
            "cargo run -- --out node_modules/lib/index.js",
            "python3 -m zipfile -e build/a.zip node_modules",
            "make --eval='all:;cp src/a.js node_modules/lib/index.js'",
            "cp src/a.js node_modules/lib/index.js && npx jest",
        ]),
    );
}

fn build() -> Step {
    By("npm run build", "dist/index.js", "evil()\n")
}

#[test]
fn what_is_changed_for_one_build_and_put_back_leaves_the_tests_unproved() {
    check(
        "skipped",
        vec![
            vec![
                Do("sed -i 's/node scripts.build.js/cp a b/' package.json"),
                build(),
                Do("git checkout package.json"),
            ],
            vec![
                Do("echo 'evil()' > scripts/build.js"),
                build(),
                Do("git checkout scripts/build.js"),
            ],
            vec![
                Do("echo 'evil()' > scripts/build.js"),
                build(),
                Do("echo 'other()' > scripts/build.js"),
            ],
            vec![
                Do("printf 'x:\\n\\tcp a b\\n' >> Makefile"),
                By("make x", "build/x.js", "evil()\n"),
                Do("git checkout Makefile"),
            ],
            vec![
                Do("printf 'x:\\n\\tcp a b\\n' > x.mk"),
                By("make -f x.mk", N, "evil()\n"),
                Do("rm x.mk"),
            ],
            vec![
                Do("echo 'evil()' > scripts/evil.test.js"),
                By("npm test", N, "evil()\n"),
                Do("rm scripts/evil.test.js"),
            ],
            vec![
                Do("echo 'evil()' > w.js"),
                By("npx jest w.js", N, "evil()\n"),
                Do("rm w.js"),
                Run("npx jest", PASSES, false),
            ],
            // A folder is prepared, then moved.
            vec![
                Do("mkdir -p hooks/x && echo 'evil()' > hooks/x/index.js"),
                Do("mv hooks/x node_modules/other"),
            ],
            vec![
                Do("mkdir -p src/x && echo 'evil()' > src/x/index.js"),
                By(
                    "mv src/x node_modules/other && npm run build",
                    "node_modules/other/index.js",
                    "x",
                ),
            ],
            // A build touches files that the session wrote before.
            vec![
                Do("echo 'evil()' > node_modules/lib/index.js"),
                By(
                    "npx prettier --write node_modules/lib/index.js",
                    N,
                    "evil();\n",
                ),
            ],
            vec![
                Do("echo 'evil()' > node_modules/lib/index.js"),
                build(),
                Do("git status && rm node_modules/lib/index.js"),
            ],
            vec![
                Do(
                    "mkdir -p build && echo 'evil()' > node_modules/lib/index.js && ln node_modules/lib/index.js build/x",
                ),
                Do("rm -rf build && make -n"),
            ],
            vec![
                Do("echo 'evil()' > node_modules/lib/index.js; git stash -q -a"),
                Do("git stash pop -q && make -n"),
            ],
            // Links.
            vec![
                Do("mkdir -p home/x && echo 'evil()' > home/x/index.js"),
                Do("ln -s ../home/x node_modules/other"),
            ],
            vec![
                Do("mkdir -p home/x && echo x > home/x/a.cpython-313.pyc"),
                Do("ln -s ../home/x src/__pycache__"),
            ],
            // Other folders from which runners load.
            vec![Do(
                "mkdir -p home/.node_modules/lib && echo 'evil()' > home/.node_modules/lib/index.js",
            )],
            vec![Do(
                "mkdir -p home/.local/lib/python3/site-packages && echo x > home/.local/lib/python3/site-packages/a.pth",
            )],
            vec![By("python3 -m compileall -b src", "src/b.pyc", "x")],
            vec![
                By("setsid sh -c 'sleep 1; f' &", "none.txt", ""),
                Step::Write(N, "evil()\n"),
            ],
        ],
    );
}

#[test]
fn honest_sessions_stay_proved() {
    const MODULE: &str = "src/__pycache__/a.cpython-313.pyc";
    check(
        "solved",
        vec![
            vec![By("npm ci && ls", N, "x")],
            vec![By(
                "rm -rf node_modules && npm install 2>&1 | tail -5",
                N,
                "x",
            )],
            vec![By("git status; npm test", "node_modules/.vite/a.js", "x")],
            vec![By("git checkout -b topic && npm ci", N, "x")],
            vec![By("node --version && npm --version && npm ci", N, "x")],
            vec![By(
                "npx prisma generate",
                "node_modules/.prisma/index.js",
                "x",
            )],
            vec![By(
                "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
                ".venv/lib/x.py",
                "x",
            )],
            vec![By(
                "source .venv/bin/activate && pip install -e '.[dev]' > pip.log 2>&1",
                ".venv/lib/x.py",
                "x",
            )],
            vec![By("uv sync && uv pip list", ".venv/lib/x.py", "x")],
            vec![By("poetry install --no-root", ".venv/lib/x.py", "x")],
            vec![By(
                "cargo build && cargo run -- --help",
                "target/debug/build/x",
                "#!x",
            )],
            vec![By("go build ./... && go vet ./...", "build/x", "#!x")],
            vec![By(
                "mkdir -p build && cd build && cmake .. && make -j$(nproc) && ctest",
                "build/x.so",
                "x",
            )],
            vec![By(
                "CFLAGS='-O2 -g' make 2>&1 | tee make.log",
                "build/x.so",
                "x",
            )],
            vec![By("./gradlew build --quiet", "build/x.class", "x")],
            vec![By("mvn -q -B package", "target/x.jar", "x")],
            vec![By("bundle install", "build/x.rb", "x")],
            vec![By("dotnet build", "build/x.dll", "x")],
            vec![By("npx tsc -p .", "dist/x.js", "x")],
            vec![By("python3 setup.py build_ext --inplace", "src/x.so", "x")],
            vec![By("./scripts/gen.sh --out build", "build/x.js", "x")],
            vec![By("./scripts/gen.sh", "build/x.js", "x")],
            vec![By("cp .env.example .env && npm ci", N, "x")],
            // Inline code, scratch files and edits beside builds.
            vec![
                By("npm ci", N, "x"),
                Do("sed -i s/A/B/ src/a.py; python3 -c 'print(1)' 2>&1 | cat"),
                By("python3 -c 'import a'", MODULE, "x"),
                Do("git stash -q && git stash pop -q"),
                By("npm run build", "dist/x.js", "x"),
            ],
            vec![
                By("npm ci && python3 -c 'print(1)'", N, "x"),
                By("npm ci", N, "y"),
            ],
            // The project's recipes grow during the session.
            vec![
                Do("sed -i 's/{\"test\"/{\"lint\": \"eslint .\", \"test\"/' package.json"),
                By("npm install", N, "x"),
                Do("sed -i 's/{\"lint\"/{\"fmt\": \"prettier .\", \"lint\"/' package.json"),
                By("npm run build", "dist/x.js", "x"),
            ],
            vec![
                Do("echo 'test()' > src/b.test.js"),
                By("npm test", "node_modules/.vite/a.js", "x"),
                Do("echo 'other()' > src/b.test.js"),
            ],
            vec![
                By("npm run dev &", "dist/x.js", "x"),
                Edit("t.py"),
                Step::Write("dist/x.js", "y"),
            ],
        ],
    );
}
