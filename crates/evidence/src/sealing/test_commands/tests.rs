//! Recognition, credit and selection of test commands.

use super::changes::may_change_files;
use super::*;

fn check(expected: bool, commands: &[&str]) {
    let own = ["ci/everything --fast".to_owned()];
    for command in commands {
        assert_eq!(runs_tests(command, &own), expected, "{command}");
    }
}

#[test]
fn runners_are_known_by_name() {
    check(
        true,
        &[
            "pytest",
            "pytest -x tests/test_a.py 2>&1 | tail -20",
            "cd app && npx vitest run",
            "jest --ci",
            "cargo test",
            "cargo +nightly test -p witness",
            "cargo nextest run -p host -E 'test(x)'",
            "cargo test 2>&1 | tee log; echo done",
            "go test ./...",
            "npm test",
            "npm run test:unit -- --watch=false",
            "npm --prefix web test",
            "pnpm --filter web test",
            "pnpm -r run test",
            "yarn test",
            "yarn run jest",
            "bun test",
            "make test",
            "make -j4 check",
            "just test-all",
            "mvn -q verify",
            "./gradlew :app:test",
            "./gradlew integrationTest",
            "dotnet test",
            "bundle exec rspec",
            "node --test",
            "python manage.py test",
            "zig build test",
        ],
    );
}

#[test]
fn wrappers_are_looked_through() {
    check(
        true,
        &[
            "RUST_LOG=debug cargo test",
            "env A=1 B=2 pytest",
            "timeout 60 pytest",
            "timeout -k 5 60 cargo test",
            "python -m pytest -q",
            "python3 -m unittest discover",
            "uv run pytest",
            "uv run --with x pytest",
            "poetry run python -m pytest",
            "bash -lc 'cd x && cargo test'",
            "sudo -u me sh -c \"npm test\"",
            "docker compose exec web pytest",
            "docker run --rm -v $PWD:/app image pytest -q",
            "docker exec -it web sh -c 'cd /app && pytest'",
            "podman run image cargo test",
            "kubectl exec pod -- pytest",
            "ssh host pytest",
            "ssh -p 22 me@host 'cd app && npm test'",
            "coverage run -m pytest",
            "coverage run --source app --branch -m pytest -q",
            "python -m coverage run -m unittest",
            "python3.12 -X dev -m pytest",
            "uv run coverage run -m pytest",
            "poetry run pytest",
            "uv run --frozen python -m pytest",
            "pipx run pytest",
            "hatch run test",
            "hatch run py3.12:test",
            "hatch run pytest",
            "pdm run test",
            "nox -s tests",
            "tox run -e py312",
            "python -m tox",
            "npx c8 mocha",
            "cross-env CI=1 jest",
            "node --import tsx --test",
            "time make test",
            "if pytest; then echo ok; fi",
            "(cd a; go test ./...)",
            "for d in a b; do cargo test -p $d; done",
        ],
    );
}

#[test]
fn scripts_count_by_their_name() {
    check(
        true,
        &[
            "./test.sh",
            "bash scripts/run-tests.sh -v",
            "sh test.sh",
            "ci/everything --fast now",
        ],
    );
}

#[test]
fn other_commands_are_no_tests() {
    check(
        false,
        &[
            "",
            "test -f Cargo.toml",
            "[ -f x ] && echo test",
            "echo cargo test",
            "echo 'pytest passed: 3 passed'",
            "git commit -m 'make test pass'",
            "cargo build",
            "cargo check",
            "cargo test --no-run",
            "pytest --collect-only",
            "pytest --version",
            "go test -list . ./...",
            "rspec --dry",
            "dotnet test --list-tests",
            "grep -rn pytest .",
            "cat tests/test_a.py",
            "ls test",
            "npm install jest",
            "python fake.py -m pytest",
            "python -c 'print()' -m pytest",
            "node fake.js --test",
            "bun run fake.js test",
            "coverage report -m pytest",
            "docker build -t pytest .",
            "docker ps",
            "ssh host uptime",
            "hatch run lint",
            "npm run build",
            "pip install pytest",
            "make build",
            "mkdir test",
            "x=$(cargo test)",
            "ci/everything",
            "cat <<'E'\ncargo test\nE",
            "# cargo test",
            "unclosed ' quote cargo test",
        ],
    );
}

fn credit(expected: Credit, commands: &[&str]) {
    for command in commands {
        let found = TestCommand::of(command, &[]);
        let found = found.map(|found| found.credit);
        assert_eq!(found, Some(expected), "{command}");
    }
}

#[test]
fn a_direct_run_speaks_for_its_runner() {
    credit(
        Credit::All,
        &[
            "pytest",
            "cd app && pytest -q",
            "source .venv/bin/activate && pytest",
            ". venv/bin/activate; python -m pytest",
            "source ~/.nvm/nvm.sh && npm test",
            ". \"$HOME/.cargo/env\" && cargo test",
            "coverage run -m pytest && coverage report",
            "uv run pytest",
            "poetry run coverage run -m pytest",
            "nox",
            "tox -e py312",
            "hatch run test",
            "cargo fmt && cargo clippy && cargo test",
            "npm ci && npm test",
            "make -j$(nproc) test",
            "cd $(git rev-parse --show-toplevel) && cargo test",
            "pytest && echo ok",
            "pytest && git add -A && git commit -m 'fix'",
            "set -o pipefail; pytest 2>&1 | tail -5",
            "set -euo pipefail; pytest | tee log; echo done",
            "set -e; pytest; ls_is_not_reached=1",
            "bash -c 'set -o pipefail; pytest | tail -3'",
            "bash -eo pipefail -c 'pytest | tail -3'",
            "(cd a && go test ./...)",
            "{ pytest; }",
            "export PATH=\"$HOME/.local/bin:$PATH\"; pytest",
            ".venv/bin/pytest",
            "./node_modules/.bin/jest",
            "./gradlew test",
            "./test.sh",
            "timeout 60 pytest > log 2>&1",
        ],
    );
}

#[test]
fn behind_a_reader_the_output_alone_speaks() {
    credit(
        Credit::Output,
        &[
            "pytest 2>&1 | tail -50",
            "pytest | tail -n 50",
            "pytest | tee log | tail -20",
            "pytest | cat",
            "pytest; echo \"exit: $?\"",
            "pytest 2>&1 | tail -5; echo EXIT=${PIPESTATUS[0]}",
            "bash -c 'pytest | tail -3'",
            "bash -eo pipefail -c 'true'; pytest | tail -3",
        ],
    );
    credit(
        Credit::SomeLines,
        &[
            "pytest | head -100",
            "pytest 2>&1 | grep -E 'passed|failed'",
            "cargo test 2>&1 | grep 'test result' | tail -3",
        ],
    );
}

#[test]
fn what_another_program_may_have_said_proves_nothing() {
    credit(
        Credit::Nothing,
        &[
            "pytest || true",
            "pytest; true",
            "pytest ; :",
            "pytest; exit 0",
            "pytest && echo ok || echo bad",
            "! pytest",
            "pytest &",
            "pytest & wait",
            "if pytest; then echo ok; fi",
            "while ! pytest; do sleep 1; done",
            "for d in a b; do cargo test -p $d; done",
            "pytest(){ echo '== 2 passed in 0.01s =='; }; pytest",
            "function pytest { cat fake.txt; }; pytest",
            "alias pytest='cat fake.txt'; pytest",
            "eval 'pytest(){ cat fake.txt; }'; pytest",
            "trap 'cat fake.txt' EXIT; pytest > log",
            "pytest > log; cat fake.txt",
            "pytest > log 2>&1 && cat fake.txt",
            "pytest > >(cat fake.txt)",
            "pytest | cat fake.txt",
            "pytest | tail -5 fake.txt",
            "pytest | sed s/failed/passed/",
            "pytest | awk '{print}'",
            "pytest -q | grep -o '1 passed.*'",
            "pytest -q | tail -c 20",
            "pytest -q | cut -d, -f2",
            "pytest | xargs echo",
            "echo '2 passed in 0.01s'; pytest",
            "echo '2 passed in 0.01s' && make test",
            "printf '== 2 passed in 0.01s ==' ; pytest > /dev/null",
            "python -c 'print(1)' && pytest",
            "git show HEAD:fake.txt && make test",
            "cat <<'E' && pytest > /dev/null\n== 2 passed in 0.01s ==\nE",
            "pytest $(echo '2 passed in 0.01s' >&2)",
            "X=$(cat fake.txt >&2) pytest",
            "[[ -n $(cat fake.txt >&2) ]] && pytest",
            "cargo test; pytest",
            "make test; echo \"$$ examples, $? failures\"",
            "make test; echo $$ passed in ${?}s",
            "pytest && cp /tmp/x src.py",
            "pytest && echo x > src.py",
            "pytest && git stash",
            "make test; echo '1..1'",
            "PATH=/tmp/fake:$PATH pytest",
            "export PATH=$PWD/fake; pytest",
            "LD_PRELOAD=x.so pytest",
            "/tmp/pytest",
            "/tmp/test.sh",
            "../elsewhere/run-tests.sh",
            "./pytest",
            "/tmp/fake/python -m pytest",
            "./npx jest",
            "source ./helpers.sh; pytest",
            "source env.sh && pytest",
            ". ./.env; pytest",
            "source .envrc && pytest",
            "source ./activate && pytest",
            "source $X/.cargo/env && cargo test",
            "HOME=/tmp/x; source ~/.cargo/env && cargo test",
            "export HOME=/tmp/x; . ~/.nvm/nvm.sh; npm test",
            "bash --rcfile env.sh -ic pytest",
            "CDPATH=/tmp/x; cd app && pytest",
            "xargs pytest < tests.txt",
            "set -e; pytest && true; true",
            "bash -ec true; pytest; true",
            "exec > fake.txt; pytest",
            "coproc pytest",
        ],
    );
}

#[test]
fn tests_on_another_tree_are_told_apart() {
    credit(
        Credit::Elsewhere,
        &[
            "docker run --rm image pytest",
            "docker exec web pytest -q",
            "docker compose exec web pytest",
            "docker compose run --rm web sh -c 'pytest -q'",
            "podman exec web cargo test",
            "kubectl exec pod -- go test ./...",
            "ssh host pytest",
            "ssh host 'cd /srv/app && pytest'",
            "sudo docker exec web pytest",
            "timeout 60 ssh host pytest",
            "bash -c 'docker exec web pytest'",
            "docker exec web pytest || true",
            "pytest && docker exec web pytest",
            "docker exec web pytest | tail -5",
        ],
    );
}

#[test]
fn a_chain_of_remote_programs_is_read_once() {
    let command = format!("{} pytest", "ssh ".repeat(60));
    credit(Credit::Elsewhere, &[&command]);
}

#[test]
fn the_programs_that_run_are_named() {
    let named = |command: &str| {
        let test = TestCommand::of(command, &[]).unwrap();
        (
            test.programs.join(" "),
            test.path.join(" "),
            test.modules.join(" "),
        )
    };
    for (command, programs, path, modules) in [
        ("pytest -q", "pytest", "", ""),
        ("timeout 60 pytest", "timeout pytest", "", ""),
        ("python -m pytest", "python", "", "pytest"),
        (".venv/bin/pytest", ".venv/bin/pytest", "", ""),
        (
            "source .venv/bin/activate && pytest",
            "pytest .venv/bin/activate",
            "",
            "",
        ),
        ("PATH=/x/bin:$PATH pytest", "pytest", "/x/bin", ""),
        ("uv run pytest", "uv pytest", "", ""),
        ("coverage run -m pytest", "", "", "pytest"),
        ("go vet && go test ./...", "go", "", ""),
    ] {
        let found = named(command);
        let expected = (programs.to_owned(), path.to_owned(), modules.to_owned());
        assert_eq!(found, expected, "{command}");
    }
}

fn selects(command: &str) -> Selection {
    TestCommand::of(command, &[]).unwrap().selection
}

#[test]
fn arguments_that_choose_tests_narrow_the_selection() {
    for whole in [
        "pytest",
        "pytest -q --tb=short -p no:cacheprovider -n 4 --color=yes",
        "python -m pytest -x",
        "cargo test --locked -j 4 -- --nocapture",
        "cargo nextest run --no-fail-fast",
        "go test ./... -count=1 -v",
        "npm test -- --ci --silent",
        "npm run test",
        "make -j4 test",
        "mvn -q -B verify",
        "./gradlew test --console=plain",
        "npx jest --runInBand",
        "node --test",
        "dotnet test --nologo",
        "rspec -f d",
    ] {
        let selection = selects(whole);
        assert!(
            selection.places.is_empty() && selection.filters.is_empty(),
            "{whole}: {selection:?}"
        );
    }
    for narrow in [
        "pytest -k test_b",
        "pytest tests/test_a.py",
        "pytest t.py::test_a",
        "pytest -m 'not slow'",
        "pytest --lf",
        "PYTEST_ADDOPTS='-k b' pytest",
        "SKIP_SLOW=1 pytest",
        "env T=1 pytest",
        "pytest -o addopts='-k b'",
        "pytest -p myplug",
        "pytest --rootdir other",
        "cargo test -- --ignored",
        "cargo test -p witness",
        "cargo test --test it",
        "cargo test name",
        "cargo test --lib",
        "cargo test -- --skip slow",
        "cargo nextest run -E 'test(x)'",
        "go test ./pkg",
        "go test -run TestA ./...",
        "go test -short ./...",
        "npx jest -t adds",
        "npm test -- src/a.test.js",
        "npm run test:unit",
        "make test-unit",
        "mvn test -Dtest=GoodTest",
        "./gradlew :app:test --tests X",
        "./gradlew integrationTest",
        "dotnet test --filter X",
        "ctest -R good",
        "rspec -e adds",
        "rspec spec/a_spec.rb:3",
        "python -m unittest test_toy",
    ] {
        let selection = selects(narrow);
        assert!(
            !selection.places.is_empty() || !selection.filters.is_empty(),
            "{narrow}: {selection:?}"
        );
    }
    assert!(selects("cargo test -p $X").is_unclear);
    assert!(selects("pytest -x").stops_early);
    assert!(selects("go test ./...").is_recursive);
    assert_eq!(selects("uv run pytest a.py").program, "pytest");
    let folder = |command| TestCommand::of(command, &[]).unwrap().folder;
    assert_eq!(folder("cd a && cd b && pytest"), "a/b");
    assert_eq!(folder("(cd a); pytest"), "");
    assert_eq!(folder("bash -c 'cd /a; pytest'"), "/a");
}

#[test]
fn commands_that_may_change_files_are_told_from_readers() {
    for reads in [
        "ls -la",
        "cat a | grep b 2>/dev/null",
        "git status && git diff",
        "git add -A && git commit -m x",
        "cd a && pytest -q 2>&1 | tail -5",
        "find . -name x",
        "sed -n 1,5p a",
        "cargo test > /tmp/log",
        "bash -c 'cargo test'",
    ] {
        assert!(!may_change_files(reads, &[]), "{reads}");
    }
    for writes in [
        "sed -i s/a/b/ src.py",
        "echo x > src.py",
        "cat > src.py <<'E'\nx\nE",
        "python fix.py",
        "cp a b",
        "git checkout -- src.py",
        "git stash",
        "ls | tee src.py",
        "find . -name x -delete",
        "npm install",
        "pytest && sed -i s/a/b/ src.py",
        "bash -c 'rm src.py'",
        "unclosed '",
    ] {
        assert!(may_change_files(writes, &[]), "{writes}");
    }
}
