//! Files that are changed from code, by patches in files and by searches.

use super::*;

#[test]
fn code_that_changes_a_protected_file_is_stopped_by_whatever_name_it_has_for_it() {
    let denied = [
        r#"ruby -e 'File.write(".role-os/capabilities.json", "{}")'"#,
        r#"ruby -e 'require "fileutils"; FileUtils.rm_rf(".role-os")'"#,
        r#"deno eval 'Deno.writeTextFileSync(".role-os/config.toml", "")'"#,
        r#"perl -MFile::Path -e 'remove_tree(".role-os")'"#,
        r#"python3 -c "open('.role-os/config.toml', 'w')""#,
        r#"python3 -c "import os; os.remove('.role-os/config.toml')""#,
        "sqlite3 .role-os/index.sqlite 'delete from x'",
    ];
    all(&denied, Verdict::Deny);
    let asked = [
        r#"python3 -c "p = '.role-os/config.toml'; open(p, 'w').write('')""#,
        r#"python3 -c "import os; f = open(os.path.join('.role-os', 'config.toml'), 'w')""#,
        r#"python3 -c "import os; os.chdir('.role-os'); open('config.toml', 'w')""#,
        r#"python3 -c "from pathlib import Path; p = Path('.role-os') / 'config.toml'; p.write_text('')""#,
        r#"python3 -c "import shutil; shutil.copy('x', '.role-os/config.toml')""#,
        r#"node -e "const p = '.claude/settings.json'; fs.writeFileSync(p, '')""#,
        r#"node -e "const d = '.role-os'; fs.rmSync(d + '/config.toml')""#,
        r#"awk 'BEGIN { f = ".role-os/config.toml"; print "" > f }'"#,
        r#"python3 -c "from pathlib import Path; Path('.claude','role-os','capabilities.json').write_text('x')""#,
    ];
    all(&asked, Verdict::Ask);
    let ordinary = [
        r#"python3 -c "import json; print(json.load(open('.claude/settings.json')))""#,
        r#"python3 -c "print(open('.role-os/config.toml').read().replace('a', 'b'))""#,
        r#"node -p "require('./.claude/settings.json').hooks""#,
        r#"node -e "process.stdout.write(fs.readFileSync('.role-os/config.toml'))""#,
        r#"python3 -c "open('sources.txt', 'w').write('x')""#,
    ];
    all(&ordinary, Verdict::Allow);
}

#[test]
fn a_patch_in_a_file_is_read() {
    let make = "printf -- '--- a/.role-os/config.toml\\n+++ b/.role-os/config.toml\\n' > x.diff; ";
    for apply in [
        "patch -p1 < x.diff",
        "patch -p1 -i x.diff",
        "patch -p1 -ix.diff",
        "patch -p1 --input=x.diff",
        "git apply x.diff",
        "git apply < x.diff",
        "git am x.diff",
        "cat x.diff | git apply -",
    ] {
        check(&format!("{make}{apply}"), Verdict::Deny);
    }
    let other = "printf -- '--- a/a.txt\\n+++ b/a.txt\\n' > x.diff; git apply x.diff";
    check(other, Verdict::Allow);
}

#[test]
fn a_search_that_removes_what_is_protected_is_stopped() {
    let denied = [
        "find . -delete",
        "find . -type f -delete",
        "find . -exec rm -rf {} +",
        "find . -type f -exec rm {} \\;",
        "find . -name '*.json' -delete",
        "find . -name '*.toml' -exec rm {} +",
        "find . -path '*role-os*' -delete",
        "find . -maxdepth 1 -name '.r*' -exec rm -rf {} +",
        "find . -type f -mtime +30 -delete",
        "find .role-os -name '*.x' -delete",
    ];
    all(&denied, Verdict::Deny);
    let ordinary = [
        "find . -name '*.pyc' -delete",
        "find . -name node_modules -type d -exec rm -rf {} +",
        "find . -type d -empty -delete",
        "find . -maxdepth 1 -name '*.json' -delete",
        "find dist -type f -delete",
        "find . -name '*.json' -not -path './.role-os/*' -delete",
        "find . -path ./.role-os -prune -o -type f -delete",
        "find . -type f -exec grep -l x {} +",
    ];
    all(&ordinary, Verdict::Allow);
}

#[test]
fn a_container_and_a_sourced_file_are_no_way_around() {
    all(
        &[
            "docker run -v $PWD/.role-os:/x alpine rm /x/config.toml",
            "podman run --mount type=bind,source=/w/.role-os,target=/x alpine true",
        ],
        Verdict::Ask,
    );
    all(
        &[
            "source .role-os/keys/hmac",
            "docker run -v /w/.role-os/keys:/x:ro alpine cat /x/hmac",
        ],
        Verdict::Deny,
    );
    all(
        &[
            "docker run -v $PWD:/w -w /w alpine ls",
            "docker run -v /w/.claude/settings.json:/x:ro alpine cat /x",
            "source env.sh",
        ],
        Verdict::Allow,
    );
}
