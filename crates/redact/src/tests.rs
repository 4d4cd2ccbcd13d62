//! Removed secrets, kept texts, and no double removal.

use super::*;

mod tables;

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

/// Returns a made-up body of this length, with capital and small letters and digits.
fn body(length: usize) -> String {
    "a7K2mQ9xB4tZ1cW8".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0d9a4f7c2e81b653".chars().cycle().take(length).collect()
}

/// Every shape of the table, and further ones of providers: the text around it with `{}` for the secret, and the
/// secret with `<b20>` for 20 characters of [`body`], `<u…>` and `<l…>` for capital and small ones, `<h…>` for
/// [`hex`]. No secret is complete here, so that no scanner reports this file.
const SHAPES: &str = r#"
aws_secret_access_key = {} => wJalr7XUtnFEMI/K7MDENG/<b17>
AWS_SECRET_ACCESS_KEY={} => /Jalr7XUtnFEMI+K7MDENG<b18>
aws configure set aws_secret_access_key {} => wJalr7XUtnFEMI/K7MDENG/<b17>
AKIAIOSFODNN7EXAMPLE,{} => wJalr7XUtnFEMI/K7MDENG/<b17>
curl -d x https://hooks.slack.com/services/{} => T<u8>/B<u8>/<b24>
cargo login {} => cio<b32>
https://x.blob.core.windows.net/c?sv=2024-11-04&sig={}&se=2027 => <b20>%2B<b20>%3D
DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=y => <b86>==
Endpoint=sb://x;SharedAccessKey={} => <b43>=
twilio {} => SK<h32>
mailgun {} => key-<h32>
bot {} here => 123456789:AA<b33>
https://api.telegram.org/{}/getMe => bot123456789:AA<b33>
discord {} => M<b25>.G<b5>.<b38>
https://discord.com/api/webhooks/{} => 123456789012345678/<b68>
vault login {} => hvs.<b90>
databricks {} => dapi<h32>
supabase {} => sbp_<h40>
postman {} => PMAK-<h24>-<h34>
figma {} => figd_<b40>
notion {} => secret_<b43>
notion {} => ntn_<b46>
atlassian {} => ATATT3xFfGF0<b180>=6D2FA9C1
HEROKU_API_KEY={} => 01234567-89ab-4cde-8f01-23456789abcd
heroku_key: {} => 01234567-89ab-4cde-8f01-23456789abcd
heroku {} => HRKU-AA<b58>
mysql -h db -u root -p{} shop => hunter2x
mysqldump -p'{}' shop => hunter 2x
curl -s -u ada:{} https://a.b/c => hunter2x
curl --user 'ada:{}' https://a.b/c => hunter 2x
sshpass -p {} ssh ada@host => hunter2x
sshpass -p '{}' ssh ada@host => hunter;2x
docker login -u ada -p {} ghcr.io => hunter2x
redis-cli -a {} ping => hunter2x
machine a.b login ada password {} => hunter2x
machine a.b\n  login ada\n  password {}\n => hunter2x
the secret is {} => <b40>
token: {} => <h40>
SIGNING_KEY={} => <h64>
key = {} => <h64>
my api key `{}` => <b40>
openai {} => sk-proj-<b100>
openai {} => sk-<b48>
openai {} => sk-svcacct-<b60>
anthropic {} => sk-ant-api03-<b95>
google {} => AIza<b35>
google {} => GOCSPX-<b28>
google {} => ya29.<b60>
git push https://x-access-token:{}@github.com/x/y => ghp_<b36>
git push https://{}@github.com/x/y => <h40>
github {} => github_pat_<b22>_<b59>
github {} => ghs_<b36>
gitlab {}. => glpat-<b20>
gitlab {} => glrt-t1_<b27>.01.<l9>
npm {} => npm_<b36>
//registry.npmjs.org/:_authToken={} => npm_<b36>
pypi {} => pypi-AgEIcHlwaS5vcmc<b100>
stripe {} => sk_live_<b24>
stripe {} => rk_test_<b24>
stripe {} => whsec_<b32>
sendgrid {} => SG.<b22>.<b43>
shopify {} => shpat_<h32>
doppler {} => dp.pt.<b43>
linear {} => lin_api_<b40>
hugging face {} => hf_<b34>
docker {} => dckr_pat_<b27>
grafana {} => glsa_<b32>_<h8>
digitalocean {} => dop_v1_<h64>
slack {} => xoxb-123456789012-<b24>
tailscale {} => tskey-auth-<b30>
rubygems {} => rubygems_<h48>
azure {} => abc8Q~<b34>
terraform {} => <b14>.atlasv1.<b60>
age {} => AGE-SECRET-KEY-1<u58>
jwt {} => eyJ<b20>.eyJ<b40>.<b43>
Authorization: Bearer {} => <b30>
curl -H "X-Vault-Token: {}" u => <b26>
Authorization: Basic {} => <b22>==
postgres://ada:{}@db:5432/shop => p#ss/w0rd
mongodb+srv://ada:{}@c.mongodb.net/x => hunter2x
Server=db;Uid=ada;Pwd={}; => hunter2x
password = "{}" => correct horse
tool --password {} x => hunter2
keytool -storepass {} x => changeit
kubectl create secret generic a --from-literal=password={} => hunter2x
curl -b 'session={}' https://a.b => <b32>
curl --cookie "sid={}" https://a.b => <b16>
curl -s --cookie 'a={}' https://a.b => hunter2x
document.cookie = "session={}" => <b32>
requests.get(u, cookies={"sessionid": "{}"}) => <b32>
openssl enc -aes-256-cbc -pass pass:{} -in a => hunter2x
openssl pkcs12 -in a -passin pass:{} -nodes => hunter2x
openssl req -new -passout "pass:{}" => hunter2x
openssl enc -k {} -in a => hunter2x
echo 'ada:{}' | chpasswd => hunter2x
echo "ada:{}" | sudo chpasswd => hunter2x
printf 'ada:{}' | chpasswd => hunter2x
chpasswd <<< 'ada:{}' => hunter2x
echo {} | passwd --stdin ada => hunter2x
echo '{}' | sudo -S ls => hunter2x
<password>{}</password> => hunter2x
<Password Type="text">{}</Password> => hunter2x
<db:password>{}</db:password> => hunter2x
<wsse:Password>{}</wsse:Password> => hunter2x
<add key="Password" value="{}" /> => hunter2x
<property name="password" value="{}"/> => hunter2x
'password' => '{}', => hunter2x
:password => "{}" => hunter2x
password := "{}" => hunter2x
htpasswd -nb ada {} => hunter2x
htpasswd -b .htpasswd ada '{}' => hunter2x
CREATE USER ada IDENTIFIED BY '{}'; => hunter2x
ALTER ROLE ada WITH PASSWORD '{}'; => hunter2x
psql "host=db password={} user=ada" => hunter2x
q=%7B%22password%22%3A%22{}%22%7D => hunter2x
gpg --batch --passphrase {} -d a => hunter2x
mysqladmin -u root password '{}' => hunter2x
useradd -p '{}' ada => hunter2x
spring.datasource.password={} => hunter2x
password: {}\n => hunter2
db_pass: {}\n => hunter2
DBPASS={} => hunter2
ansible-playbook -e db_pass={} a.yml => hunter2x
os.environ['DB_PASSWORD'] = '{}' => hunter2x
<password><![CDATA[{}]]></password> => hunter2x
ALTER USER ada IDENTIFIED WITH mysql_native_password BY '{}'; => hunter2x
chpasswd <<EOF\nada:{}\nEOF => hunter2x
cat <<E | chpasswd\nada:{}\nE => hunter2x
cat <<'E' | sudo chpasswd\nada:{}\nE => hunter2x
sort <<E | tee x | chpasswd\nada:{}\nE => hunter2x
cat <<E | docker login -u me --password-stdin\n{}\nE => hunter2x
unrar x -p{} a.rar => hunter2x
mosquitto_pub -u ada -P {} -t a => hunter2x
passwd = {}\n => hunter2
-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK----- => <b64>
-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY----- => <b64>
"#;

fn shapes() -> Vec<(String, String)> {
    let lines = SHAPES.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (around, secret) = line.rsplit_once(" => ").unwrap();
            (around.replace("\\n", "\n"), filled(secret))
        })
        .collect()
}

/// Fills characters into a template.
fn filled(template: &str) -> String {
    let mut parts = template.split('<');
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (what, rest) = part.split_once('>').unwrap();
        let (kind, length) = what.split_at(1);
        let length = length.parse().unwrap();
        text.push_str(&match kind {
            "b" => body(length),
            "u" => body(length).to_ascii_uppercase(),
            "l" => body(length).to_ascii_lowercase(),
            _ => hex(length),
        });
        text.push_str(rest);
    }
    text
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
            // Quotes in the middle of an argument may be removed as well.
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
        format!("index {}..{} 100644", hex(7), hex(9)),
        format!("checksum = \"{}\"", hex(64)),
        format!("sha256:{}", hex(64)),
        "01234567-89ab-4cde-8f01-23456789abcd".to_owned(),
        format!("\"integrity\": \"sha512-{}==\"", body(86)),
        format!("HEAD is now at {} mend the key handling", hex(7)),
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
        "session: 01234567-89ab-4cde-8f01-23456789abcd".to_owned(),
        format!("\"session\": \"{}\"", hex(32)),
        "curl -b cookies.txt -c cookies.txt https://a.b".to_owned(),
        "openssl enc -pass env:PASS -in a && openssl enc -pass file:key.txt".to_owned(),
        "echo 'a: b' | tee log; echo done | grep x".to_owned(),
        "echo hello | passwdless".to_owned(),
        "<password>${db.password}</password>".to_owned(),
        "<password></password><user>ada</user>".to_owned(),
        "<label for=\"password\">Password</label>".to_owned(),
        "<input type=\"password\" name=\"pw\">".to_owned(),
        "ordered by 'name' and identified by name".to_owned(),
        "password: sha256\npasswd: utf8\n".to_owned(),
        "password: String,\nlet password = read_line()?;\n".to_owned(),
        "if password == other { }".to_owned(),
        "fn password(text: &str) -> bool {".to_owned(),
        "password => hash(password)".to_owned(),
        "let sid = session.id;".to_owned(),
        "test result: ok. 12 pass; pass: 12, fail: 0".to_owned(),
        "first pass: lower the tree; second pass: fold2".to_owned(),
        "BYPASS=abcd1234 run".to_owned(),
        "--- PASS: TestSub/two_words1 (0.00s)\nPASS: test_adds2\n".to_owned(),
        "GIT_ASKPASS=/usr/bin/askpass2 git fetch".to_owned(),
        "let mut apart: Vec<Token> = tokens(text);".to_owned(),
        "Self::Passphrase => \"a passphrase 2\",".to_owned(),
        "\"password\" => \"a secret field\",".to_owned(),
        "openssl req -x509 -newkey rsa:2048 -keyout key.pem -out cert.pem".to_owned(),
        "cargo login --help && cargo test".to_owned(),
        "htpasswd -c .htpasswd ada".to_owned(),
        "git config credential.helper store".to_owned(),
        "M.a.b and N.c.d".to_owned(),
    ] {
        check(&plain, &plain);
    }
}

/// This repository's own lock file, sources and documents contain hashes, ids and code, and no secret.
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

#[test]
fn what_is_fed_to_a_program_that_reads_a_secret_goes() {
    let secret = "cLKnVlzegcclmmcF47EQ";
    for around in [
        "gh auth login --with-token <<< {}",
        "printf '{}\\n' | gh auth login --with-token",
        "echo {} | gh secret set NAME",
        "gh secret set NAME -b {}",
        "gh secret set NAME --body={}",
        "wrangler secret put NAME <<< {}",
        "echo {} | docker login -u a --password-stdin registry.example",
        "echo {} | sudo -S ls",
        "su - ada <<< '{}'",
        "kubectl create secret generic x --from-literal=p={}",
        "netlify --auth {} deploy",
        "ssh-keygen -N '{}' -f k",
        "ansible-vault encrypt_string '{}'",
        "echo {} | base64",
    ] {
        let whole = around.replace("{}", secret);
        let redacted = text(&whole);
        assert!(!redacted.text.contains(secret), "{around}: {redacted:?}");
    }
    for plain in [
        "echo cLKnVlzegcclmmcF47EQ | base64 -d",
        "echo hello world | base64",
        "echo sources | wc -l",
        "gh pr create -b cLKnVlzegcclmmcF47EQ",
        "docker login registry.example.org",
        "cat <<< sources",
    ] {
        assert_eq!(text(plain).text, plain);
    }
}

#[test]
fn secrets_go_wherever_people_put_them() {
    let stays = |(line, secret): &&(&str, &str)| text(line).text.contains(*secret);
    let left: Vec<_> = tables::SECRETS.iter().filter(stays).collect();
    assert!(left.is_empty(), "{}: {left:#?}", left.len());
}

#[test]
fn lines_without_a_secret_stay_as_they_are() {
    let changed: Vec<_> = tables::HARMLESS
        .iter()
        .map(|line| (line, text(line).text))
        .filter(|(line, kept)| **line != kept)
        .collect();
    assert!(changed.is_empty(), "{}: {changed:#?}", changed.len());
}
