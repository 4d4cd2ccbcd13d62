//! What goes, what stays, and that nothing goes twice.

use super::*;

fn check(whole: &str, expected: &str) {
    let redacted = text(whole);
    assert_eq!(redacted.text, expected);
    assert_eq!(redacted.count > 0, whole != expected);
}

#[test]
fn known_shapes_go_wherever_they_stand() {
    let key = format!("sk-ant-{}", "a1B2-".repeat(8));
    check(
        &format!("curl -H 'x: {key}' https://a"),
        "curl -H 'x: [redacted:anthropic-key]' https://a",
    );
    check(
        &format!("echo ghp_{}.", "x".repeat(36)),
        "echo [redacted:github-token].",
    );
    check("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key]");
    check("a eyJhbGciOi.eyJzdWIiOi.SflKxwRJ b", "a [redacted:jwt] b");
    check("AKIA is short", "AKIA is short");
    check(
        "task-1234567890123456789012345",
        "task-1234567890123456789012345",
    );
}

#[test]
fn a_private_key_goes_whole() {
    let begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
    let end = "-----END OPENSSH PRIVATE KEY-----";
    check(
        &format!("a\n{begin}\nb3Blb\nnNz\n{end}\nz"),
        "a\n[redacted:private-key]\nz",
    );
    check(&format!("{begin}\nb3Blb"), "[redacted:private-key]");
    let public = "-----BEGIN PUBLIC KEY-----\nAAA\n-----END PUBLIC KEY-----";
    check(public, public);
}

#[test]
fn values_of_secret_names_go_and_code_stays() {
    check(
        "export DB_PASSWORD=hunter2",
        "export DB_PASSWORD=[redacted:value]",
    );
    check("API_TOKEN=\"a b c\" x", "API_TOKEN=\"[redacted:value]\" x");
    check(
        "tool --password s3cretly x",
        "tool --password [redacted:value] x",
    );
    check(
        "tool --api-key=abcd1234 x",
        "tool --api-key=[redacted:value] x",
    );
    check(
        r#"{"password": "correct horse"}"#,
        r#"{"password": "[redacted:value]"}"#,
    );
    for code in [
        "API_TOKEN=$TOKEN run",
        "API_TOKEN=$(cat token) run",
        "let token = lexer.next();",
        "f(token=token, max_tokens=1000)",
        "token: string",
        "PASSWORD_FILE=/run/secrets/db",
        "git push origin main",
    ] {
        check(code, code);
    }
}

#[test]
fn headers_and_addresses_lose_their_secret_only() {
    check(
        "curl -H 'Authorization: Bearer abc.def' https://a.b",
        "curl -H 'Authorization: Bearer [redacted:header]' https://a.b",
    );
    check(
        "curl -H \"Authorization: Bearer $TOKEN\" u",
        "curl -H \"Authorization: Bearer $TOKEN\" u",
    );
    check(
        "git clone https://joe:pa55@example.org/a.git",
        "git clone https://joe:[redacted:password]@example.org/a.git",
    );
    check("ssh://git@example.org:22/a", "ssh://git@example.org:22/a");
}

#[test]
fn json_loses_values_of_secret_names_at_any_depth() {
    let whole = serde_json::json!({"a": [{"apiKey": "0123456789abcdef"}], "n": 1});
    let (kept, count) = value(&whole);
    assert_eq!(count, 1);
    assert_eq!(
        kept.to_string(),
        r#"{"a":[{"apiKey":"[redacted:value]"}],"n":1}"#
    );
}

/// A made-up body of so many characters, with capital and small letters and digits.
fn body(length: usize) -> String {
    "a7K2mQ9xB4tZ1cW8".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0d9a4f7c2e81b653".chars().cycle().take(length).collect()
}

/// Every shape of the review, and what else providers issue today: the text around it, with `{}` for the secret.
fn shapes() -> Vec<(&'static str, String)> {
    let upper = |length| body(length).to_ascii_uppercase();
    let lower = |length| body(length).to_ascii_lowercase();
    vec![
        (
            "aws_secret_access_key = {}",
            format!("wJalr7XUtnFEMI/K7MDENG/{}", body(17)),
        ),
        (
            "AWS_SECRET_ACCESS_KEY={}",
            format!("/Jalr7XUtnFEMI+K7MDENG{}", body(18)),
        ),
        (
            "aws configure set aws_secret_access_key {}",
            format!("wJalr7XUtnFEMI/K7MDENG/{}", body(17)),
        ),
        (
            "AKIAIOSFODNN7EXAMPLE,{}",
            format!("wJalr7XUtnFEMI/K7MDENG/{}", body(17)),
        ),
        (
            "curl -d x https://hooks.slack.com/services/{}",
            format!("T{}/B{}/{}", upper(8), upper(8), body(24)),
        ),
        ("cargo login {}", format!("cio{}", body(32))),
        (
            "https://x.blob.core.windows.net/c?sv=2024-11-04&sig={}&se=2027",
            format!("{}%2B{}%3D", body(20), body(20)),
        ),
        (
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=y",
            format!("{}==", body(86)),
        ),
        (
            "Endpoint=sb://x;SharedAccessKey={}",
            format!("{}=", body(43)),
        ),
        ("twilio {}", format!("SK{}", hex(32))),
        ("mailgun {}", format!("key-{}", hex(32))),
        ("bot {} here", format!("123456789:AA{}", body(33))),
        (
            "https://api.telegram.org/{}/getMe",
            format!("bot123456789:AA{}", body(33)),
        ),
        (
            "discord {}",
            format!("M{}.G{}.{}", body(25), body(5), body(38)),
        ),
        (
            "https://discord.com/api/webhooks/{}",
            format!("123456789012345678/{}", body(68)),
        ),
        ("vault login {}", format!("hvs.{}", body(90))),
        ("databricks {}", format!("dapi{}", hex(32))),
        ("supabase {}", format!("sbp_{}", hex(40))),
        ("postman {}", format!("PMAK-{}-{}", hex(24), hex(34))),
        ("figma {}", format!("figd_{}", body(40))),
        ("notion {}", format!("secret_{}", body(43))),
        ("notion {}", format!("ntn_{}", body(46))),
        (
            "atlassian {}",
            format!("ATATT3xFfGF0{}=6D2FA9C1", body(180)),
        ),
        (
            "HEROKU_API_KEY={}",
            "01234567-89ab-4cde-8f01-23456789abcd".to_owned(),
        ),
        (
            "heroku_key: {}",
            "01234567-89ab-4cde-8f01-23456789abcd".to_owned(),
        ),
        ("heroku {}", format!("HRKU-AA{}", body(58))),
        ("mysql -h db -u root -p{} shop", "hunter2x".to_owned()),
        ("mysqldump -p'{}' shop", "hunter 2x".to_owned()),
        ("curl -s -u ada:{} https://a.b/c", "hunter2x".to_owned()),
        ("curl --user 'ada:{}' https://a.b/c", "hunter 2x".to_owned()),
        ("sshpass -p {} ssh ada@host", "hunter2x".to_owned()),
        ("sshpass -p '{}' ssh ada@host", "hunter;2x".to_owned()),
        ("docker login -u ada -p {} ghcr.io", "hunter2x".to_owned()),
        ("redis-cli -a {} ping", "hunter2x".to_owned()),
        ("machine a.b login ada password {}", "hunter2x".to_owned()),
        (
            "machine a.b\n  login ada\n  password {}\n",
            "hunter2x".to_owned(),
        ),
        ("the secret is {}", body(40)),
        ("token: {}", hex(40)),
        ("SIGNING_KEY={}", hex(64)),
        ("key = {}", hex(64)),
        ("my api key `{}`", body(40)),
        ("openai {}", format!("sk-proj-{}", body(100))),
        ("openai {}", format!("sk-{}", body(48))),
        ("openai {}", format!("sk-svcacct-{}", body(60))),
        ("anthropic {}", format!("sk-ant-api03-{}", body(95))),
        ("google {}", format!("AIza{}", body(35))),
        ("google {}", format!("GOCSPX-{}", body(28))),
        ("google {}", format!("ya29.{}", body(60))),
        (
            "git push https://x-access-token:{}@github.com/x/y",
            format!("ghp_{}", body(36)),
        ),
        ("git push https://{}@github.com/x/y", hex(40)),
        ("github {}", format!("github_pat_{}_{}", body(22), body(59))),
        ("github {}", format!("ghs_{}", body(36))),
        ("gitlab {}.", format!("glpat-{}", body(20))),
        ("gitlab {}", format!("glrt-t1_{}.01.{}", body(27), lower(9))),
        ("npm {}", format!("npm_{}", body(36))),
        (
            "//registry.npmjs.org/:_authToken={}",
            format!("npm_{}", body(36)),
        ),
        ("pypi {}", format!("pypi-AgEIcHlwaS5vcmc{}", body(100))),
        ("stripe {}", format!("sk_live_{}", body(24))),
        ("stripe {}", format!("rk_test_{}", body(24))),
        ("stripe {}", format!("whsec_{}", body(32))),
        ("sendgrid {}", format!("SG.{}.{}", body(22), body(43))),
        ("shopify {}", format!("shpat_{}", hex(32))),
        ("doppler {}", format!("dp.pt.{}", body(43))),
        ("linear {}", format!("lin_api_{}", body(40))),
        ("hugging face {}", format!("hf_{}", body(34))),
        ("docker {}", format!("dckr_pat_{}", body(27))),
        ("grafana {}", format!("glsa_{}_{}", body(32), hex(8))),
        ("digitalocean {}", format!("dop_v1_{}", hex(64))),
        ("slack {}", format!("xoxb-123456789012-{}", body(24))),
        ("tailscale {}", format!("tskey-auth-{}", body(30))),
        ("rubygems {}", format!("rubygems_{}", hex(48))),
        ("azure {}", format!("abc8Q~{}", body(34))),
        ("terraform {}", format!("{}.atlasv1.{}", body(14), body(60))),
        ("age {}", format!("AGE-SECRET-KEY-1{}", upper(58))),
        (
            "jwt {}",
            format!("eyJ{}.eyJ{}.{}", body(20), body(40), body(43)),
        ),
        ("Authorization: Bearer {}", body(30)),
        ("curl -H \"X-Vault-Token: {}\" u", body(26)),
        ("Authorization: Basic {}", format!("{}==", body(22))),
        ("postgres://ada:{}@db:5432/shop", "p#ss/w0rd".to_owned()),
        (
            "mongodb+srv://ada:{}@c.mongodb.net/x",
            "hunter2x".to_owned(),
        ),
        ("Server=db;Uid=ada;Pwd={};", "hunter2x".to_owned()),
        ("password = \"{}\"", "correct horse".to_owned()),
        ("tool --password {} x", "hunter2".to_owned()),
        ("keytool -storepass {} x", "changeit".to_owned()),
        (
            "kubectl create secret generic a --from-literal=password={}",
            "hunter2x".to_owned(),
        ),
        (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----",
            body(64),
        ),
        (
            "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----",
            body(64),
        ),
    ]
}

#[test]
fn every_shape_goes_and_its_surroundings_stay() {
    for (around, secret) in shapes() {
        let (before, after) = around.split_once("{}").unwrap();
        let whole = around.replace("{}", &secret);
        let redacted = text(&whole);
        assert!(!redacted.text.contains(&secret), "{around}: {redacted:?}");
        assert!(redacted.text.contains(MARK), "{around}: {redacted:?}");
        if !around.contains("BEGIN") && !around.contains("http") && !around.contains("AKIA") {
            // Quotes in the middle of an argument may go with it.
            let (before, after) = (
                before.trim_end_matches('\''),
                after.trim_start_matches('\''),
            );
            assert!(redacted.text.starts_with(before), "{around}: {redacted:?}");
            assert!(redacted.text.ends_with(after), "{around}: {redacted:?}");
        }
    }
}

#[test]
fn every_shape_goes_from_json_and_from_quotes_as_well() {
    for (around, secret) in shapes() {
        let whole = around.replace("{}", &secret);
        for field in ["command", "text", "new_string"] {
            let input = serde_json::json!({ field: [whole], "other": { field: whole } });
            let (kept, count) = value(&input);
            assert!(!kept.to_string().contains(&secret), "{around}: {kept}");
            assert!(count >= 2, "{around}: {kept}");
        }
    }
}

#[test]
fn arguments_in_an_array_are_read_as_those_of_their_program() {
    let input =
        serde_json::json!({ "argv": ["/usr/bin/curl", "-u", "ada:hunter2x", "https://a.b"] });
    let (kept, count) = value(&input);
    assert_eq!(count, 1);
    assert_eq!(kept["argv"][2], "ada:[redacted:password]");
    assert_eq!(kept["argv"][3], "https://a.b");
}

#[test]
fn a_secret_that_its_place_gave_away_goes_from_other_texts_too() {
    let known = Known::of("curl -u ada:hunter2x https://a.b && git push");
    assert_eq!(
        known.out_of(r#"["call","curl",["-u","ada:hunter2x"]]"#),
        r#"["call","curl",["-u","ada:[redacted:value]"]]"#
    );
    assert_eq!(known.out_of("plain"), "plain");
}

#[test]
fn ids_hashes_and_code_stay() {
    let sha = hex(40);
    for plain in [
        format!("commit {sha}"),
        format!("index {}..{} 100644", &sha[..7], &sha[..9]),
        format!("checksum = \"{}\"", hex(64)),
        format!("sha256:{}", hex(64)),
        "01234567-89ab-4cde-8f01-23456789abcd".to_owned(),
        format!("\"integrity\": \"sha512-{}==\"", body(86)),
        format!("HEAD is now at {} mend the key handling", &sha[..7]),
        format!("docker run -p 8080:80 --name web image@sha256:{}", hex(64)),
        "mysql -u root -p shop".to_owned(),
        "mkdir -p src/redact && cp -p a b".to_owned(),
        "curl -u \"$USER:$PASS\" https://a.b".to_owned(),
        "curl --user-agent Mozilla/5.0 https://a.b:8080/c".to_owned(),
        "npm_config_registry=https://registry.npmjs.org npm_package_name_of_a_long_kind".to_owned(),
        "sk-learn-contrib-imbalanced-learning-tools".to_owned(),
        "let key = cache.entry(name);".to_owned(),
        "pub fn key_of(token: &Token) -> Key { Key::new(token.kind, token.span) }".to_owned(),
        "the key idea is a table of tokens".to_owned(),
        "machine learning needs login data and a password reset".to_owned(),
        format!("key_id = \"{}\"", hex(16)),
        "PASSWORD_FILE=/run/secrets/db".to_owned(),
        "https://github.com/rust-lang/rust/commit/0d9a4f7c2e81b6530d9a4f7c2e81b6530d9a4f7c"
            .to_owned(),
        "scp ada@host:/srv/file .".to_owned(),
        "M.a.b and N.c.d".to_owned(),
    ] {
        check(&plain, &plain);
    }
}

/// This repository's own lock file, sources and documents hold hashes, ids and code, and no secret.
#[test]
fn the_files_of_this_repository_stay_as_they_are() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    check(&lock, &lock);
    let diff: String = lock.lines().map(|line| format!("+{line}\n")).collect();
    check(&diff, &diff);
    let mut changed = Vec::new();
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        changed.extend(
            text.lines()
                .filter(|line| super::text(line).count > 0)
                .map(str::to_owned),
        );
    }
    assert!(changed.is_empty(), "{changed:#?}");
}

proptest::proptest! {
    #[test]
    fn any_text_is_taken_and_twice_is_once(whole in "(?s).{0,200}") {
        let once = text(&whole).text.into_owned();
        let twice = text(&once);
        proptest::prop_assert_eq!(&*twice.text, &*once);
    }

    #[test]
    fn no_key_survives_in_any_surrounding(before in "[ -/:-@]{0,20}", after in "[ -,.-/:-@]{0,20}") {
        let key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        let whole = format!("{before}{key}{after}");
        proptest::prop_assert!(!text(&whole).text.contains(key));
    }
}
