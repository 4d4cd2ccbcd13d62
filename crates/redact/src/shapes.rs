//! Shapes of keys and tokens that providers issue, as one table: prefix, characters and length. The shapes follow the
//! public rules of secret scanners and the providers' own documentation.

/// One shape. Lengths count the characters behind `start`.
pub(super) struct Shape {
    start: &'static str,
    body: fn(u8) -> bool,
    least: usize,
    most: usize,
    /// Set if the start is common in ordinary text, so that the body must look random as well.
    random: bool,
    what: &'static str,
}

const fn open(
    start: &'static str,
    body: fn(u8) -> bool,
    least: usize,
    what: &'static str,
) -> Shape {
    Shape {
        start,
        body,
        least,
        most: usize::MAX,
        random: false,
        what,
    }
}

const fn exact(
    start: &'static str,
    body: fn(u8) -> bool,
    length: usize,
    what: &'static str,
) -> Shape {
    Shape {
        most: length,
        ..open(start, body, length, what)
    }
}

const fn random(
    start: &'static str,
    body: fn(u8) -> bool,
    least: usize,
    what: &'static str,
) -> Shape {
    Shape {
        random: true,
        ..open(start, body, least, what)
    }
}

/// Sorted by the first character; of two with a common prefix, the longer comes first.
const SHAPES: &[Shape] = &[
    open("1//0", token, 30, "google-token"),
    open("A3-", upper_dashed, 28, "onepassword-key"),
    exact("ABIA", upper, 16, "aws-key"),
    open("ABSK", base64, 60, "aws-key"),
    exact("ACCA", upper, 16, "aws-key"),
    open("AGE-SECRET-KEY-1", upper, 30, "age-key"),
    open("AIza", token, 31, "google-key"),
    open("AKCp", alnum, 60, "artifactory-key"),
    exact("AKIA", upper, 16, "aws-key"),
    exact("ASIA", upper, 16, "aws-key"),
    open("ATATT", token_padded, 20, "atlassian-token"),
    open("ATBB", alnum, 28, "bitbucket-token"),
    open("ATCTT", token_padded, 20, "atlassian-token"),
    open("CCIPAT_", word, 40, "circleci-token"),
    open("CFPAT-", token, 40, "contentful-token"),
    open("CLOJARS_", alnum, 50, "clojars-token"),
    open("EAA", alnum, 80, "facebook-token"),
    open("EZAK", alnum, 50, "easypost-key"),
    open("FLWSECK", token, 12, "flutterwave-key"),
    open("GOCSPX-", token, 24, "google-secret"),
    open("GR1348941", token, 20, "gitlab-token"),
    open("HRKU-", token, 30, "heroku-key"),
    exact("LTAI", alnum, 20, "alibaba-key"),
    open("NRAK-", alnum, 20, "newrelic-key"),
    open("NRII-", token, 20, "newrelic-key"),
    open("PMAK-", token, 40, "postman-key"),
    open("SG.", dotted, 37, "sendgrid-key"),
    exact("SK", hex, 32, "twilio-key"),
    open("ZXlK", base64, 60, "jwt"),
    random("api.telegram.org/bot", telegram_path, 30, "telegram-token"),
    open("apify_api_", alnum, 30, "apify-token"),
    open("bkua_", hex, 40, "buildkite-token"),
    exact("cio", alnum, 32, "crates-io-token"),
    exact("dapi", hex, 32, "databricks-token"),
    open("dckr_oat_", token, 11, "docker-token"),
    open("dckr_pat_", token, 11, "docker-token"),
    random("discord.com/api/webhooks/", url_path, 30, "discord-webhook"),
    random(
        "discordapp.com/api/webhooks/",
        url_path,
        30,
        "discord-webhook",
    ),
    open("doo_v1_", hex, 23, "digitalocean-token"),
    open("dop_v1_", word, 23, "digitalocean-token"),
    open("dor_v1_", hex, 23, "digitalocean-token"),
    open("dp.ct.", dotted, 35, "doppler-token"),
    open("dp.pt.", dotted, 35, "doppler-token"),
    open("dp.sa.", dotted, 35, "doppler-token"),
    open("dp.st.", dotted, 35, "doppler-token"),
    open("dt0c01.", dotted, 60, "dynatrace-token"),
    open("duffel_live_", token, 30, "duffel-token"),
    open("duffel_test_", token, 30, "duffel-token"),
    open("figd_", token, 30, "figma-token"),
    open("fio-u-", token, 50, "frameio-token"),
    open("fm1a_", base64, 60, "fly-token"),
    open("fm1r_", base64, 60, "fly-token"),
    open("fm2_", base64, 60, "fly-token"),
    open("fo1_", token, 40, "fly-token"),
    open("gho_", token, 16, "github-token"),
    open("ghp_", token, 16, "github-token"),
    open("ghr_", token, 16, "github-token"),
    open("ghs_", token, 16, "github-token"),
    open("ghu_", token, 16, "github-token"),
    open("github_pat_", token, 9, "github-token"),
    open("glagent-", dotted, 20, "gitlab-token"),
    open("glc_", base64, 32, "grafana-token"),
    open("glcbt-", dotted, 20, "gitlab-token"),
    open("gldt-", dotted, 15, "gitlab-token"),
    open("glffct-", dotted, 20, "gitlab-token"),
    open("glft-", dotted, 20, "gitlab-token"),
    open("glimt-", dotted, 20, "gitlab-token"),
    open("gloas-", dotted, 20, "gitlab-token"),
    open("glpat-", dotted, 14, "gitlab-token"),
    open("glptt-", dotted, 20, "gitlab-token"),
    open("glrt-", dotted, 20, "gitlab-token"),
    open("glsa_", word, 32, "grafana-token"),
    open("glsoat-", dotted, 20, "gitlab-token"),
    open("gsk_", alnum, 26, "groq-key"),
    open("hf_", alnum, 27, "huggingface-token"),
    random("hooks.slack.com/", url_path, 20, "slack-webhook"),
    random("hooks.zapier.com/hooks/", url_path, 16, "zapier-webhook"),
    open("hvb.", token, 20, "vault-token"),
    open("hvr.", token, 20, "vault-token"),
    open("hvs.", token, 20, "vault-token"),
    exact("key-", hex, 32, "mailgun-key"),
    open("lin_api_", alnum, 22, "linear-key"),
    open("lin_oauth_", alnum, 22, "linear-key"),
    open("nfp_", alnum, 36, "netlify-token"),
    exact("npm_", alnum, 36, "npm-token"),
    open("ntn_", alnum, 26, "notion-token"),
    open("nvapi-", token, 40, "nvidia-key"),
    open("ops_eyJ", base64, 60, "onepassword-token"),
    exact("oy2", lower, 43, "nuget-key"),
    open("pplx-", alnum, 40, "perplexity-key"),
    open("pscale_oauth_", token, 30, "planetscale-token"),
    open("pscale_pw_", token, 30, "planetscale-token"),
    open("pscale_tkn_", token, 30, "planetscale-token"),
    exact("pul-", hex, 40, "pulumi-token"),
    open("pypi-AgE", token, 22, "pypi-token"),
    open("r8_", alnum, 27, "replicate-token"),
    open("rdme_", lower, 60, "readme-token"),
    random("re_", word, 28, "resend-key"),
    open("rk_live_", alnum, 8, "stripe-key"),
    open("rk_test_", alnum, 8, "stripe-key"),
    open("rubygems_", hex, 40, "rubygems-key"),
    open("sb_secret_", token, 20, "supabase-key"),
    open("sbp_", word, 40, "supabase-token"),
    exact("secret_", alnum, 43, "notion-token"),
    open("sgp_", word, 40, "sourcegraph-token"),
    exact("sha256~", token, 43, "openshift-token"),
    open("shpat_", hex, 24, "shopify-token"),
    open("shpca_", hex, 24, "shopify-token"),
    open("shppa_", hex, 24, "shopify-token"),
    open("shpss_", hex, 24, "shopify-token"),
    open("sk-ant-", token, 13, "anthropic-key"),
    open("sk-or-", token, 14, "openrouter-key"),
    open("sk-proj-", token, 12, "openai-key"),
    open("sk-svcacct-", token, 12, "openai-key"),
    random("sk-", token, 20, "api-key"),
    open("sk_live_", alnum, 8, "stripe-key"),
    open("sk_test_", alnum, 8, "stripe-key"),
    open("sl.", token, 100, "dropbox-token"),
    open("sntrys_", token_base64, 40, "sentry-token"),
    open("sntryu_", hex, 40, "sentry-token"),
    open("sq0atp-", token, 20, "square-token"),
    open("sq0csp-", token, 20, "square-token"),
    exact("sqa_", hex, 40, "sonarqube-token"),
    exact("sqp_", hex, 40, "sonarqube-token"),
    exact("squ_", hex, 40, "sonarqube-token"),
    open("tfp_", token, 40, "typeform-token"),
    open("tskey-", token, 16, "tailscale-key"),
    open("vercel_blob_rw_", word, 20, "vercel-token"),
    open(
        "webhook.office.com/webhookb2/",
        url_path,
        30,
        "teams-webhook",
    ),
    open("whsec_", base64, 10, "stripe-key"),
    open("xai-", token, 36, "xai-key"),
    open("xapp-", token, 11, "slack-token"),
    open("xkeysib-", token, 40, "brevo-key"),
    open("xoxa-", token, 11, "slack-token"),
    open("xoxb-", token, 11, "slack-token"),
    open("xoxc-", token, 11, "slack-token"),
    open("xoxd-", token_percent, 11, "slack-token"),
    open("xoxe-", token, 11, "slack-token"),
    open("xoxe.", dotted, 11, "slack-token"),
    open("xoxp-", token, 11, "slack-token"),
    open("xoxr-", token, 11, "slack-token"),
    open("xoxs-", token, 11, "slack-token"),
    open("ya29.", dotted, 25, "google-token"),
];

/// Returns the length and the kind of the secret that `rest` begins with.
pub(super) fn find(rest: &str) -> Option<(usize, &'static str)> {
    let first = *rest.as_bytes().first()?;
    let from = SHAPES.partition_point(|shape| shape.first() < first);
    let of_letter = SHAPES
        .iter()
        .skip(from)
        .take_while(|shape| shape.first() == first);
    let listed = of_letter
        .filter(|shape| rest.starts_with(shape.start))
        .find_map(|shape| Some((shape.length(rest)?, shape.what)));
    listed.or_else(|| parts(rest, first))
}

impl Shape {
    fn first(&self) -> u8 {
        self.start.as_bytes().first().copied().unwrap_or_default()
    }

    fn length(&self, rest: &str) -> Option<usize> {
        let body = rest.get(self.start.len()..)?;
        let length = run(body, self.body);
        // A full stop behind a token ends the sentence.
        let length = body.get(..length)?.trim_end_matches('.').len();
        let fits = (self.least..=self.most).contains(&length);
        let ends = !body.as_bytes().get(length).copied().is_some_and(word);
        let is_random = !self.random || looks_random(body.get(..length)?);
        (fits && ends && is_random).then_some(self.start.len() + length)
    }
}

/// Returns tokens that are identified by the lengths of their parts and the separators.
fn parts(rest: &str, first: u8) -> Option<(usize, &'static str)> {
    let (length, what) = match first {
        b'e' if rest.starts_with("eyJ") => (
            separated(rest, b'.', &[(4, MANY), (4, MANY), (4, MANY)])?,
            "jwt",
        ),
        b'M'..=b'O' => (
            separated(rest, b'.', &[(23, 28), (6, 7), (27, MANY)])?,
            "discord-token",
        ),
        b'b' if rest.starts_with("bot") => (3 + telegram(rest.get(3..)?)?, "telegram-token"),
        b'0'..=b'9' if telegram(rest).is_some() => (telegram(rest)?, "telegram-token"),
        _ => return infix(rest),
    };
    Some((length, what))
}

const MANY: usize = usize::MAX;

/// Matches parts with these numbers of token characters, between separators.
fn separated(rest: &str, separator: u8, lengths: &[(usize, usize)]) -> Option<usize> {
    let mut at = 0;
    for (index, (least, most)) in lengths.iter().enumerate() {
        if index > 0 {
            rest.as_bytes().get(at).filter(|byte| **byte == separator)?;
            at += 1;
        }
        let length = run(rest.get(at..)?, token);
        if !(*least..=*most).contains(&length) {
            return None;
        }
        at += length;
    }
    Some(at)
}

/// Matches the number of a bot, a colon, and 35 characters that begin with `AA`.
fn telegram(rest: &str) -> Option<usize> {
    let digits = run(rest, |byte| byte.is_ascii_digit());
    let secret = rest.get(digits..)?.strip_prefix(":AA")?;
    let length = run(secret, token);
    ((8..=12).contains(&digits) && (30..=40).contains(&length)).then_some(digits + 3 + length)
}

/// Matches client secrets of Microsoft Entra, with `Q~` behind four characters, and tokens of Terraform, with
/// `.atlasv1.` behind fourteen.
fn infix(rest: &str) -> Option<(usize, &'static str)> {
    let head = run(rest, word);
    let (tail, what, least) = match head {
        5 if rest.get(4..)?.starts_with("Q~") => (6, "azure-secret", 28),
        14 if rest.get(14..)?.starts_with(".atlasv1.") => (23, "terraform-token", 50),
        _ => return None,
    };
    let length = run(rest.get(tail..)?, |byte| dotted(byte) || byte == b'~');
    (length >= least).then_some((tail + length, what))
}

/// Matches the hash of a password in the form of `crypt`: `$6$salt$hash`, `$2b$12$…`, `$argon2id$…`.
pub(super) fn crypt(rest: &str) -> Option<usize> {
    let (kind, body) = rest.strip_prefix('$')?.split_once('$')?;
    let is_kind =
        matches!(kind, "1" | "2a" | "2b" | "2y" | "5" | "6" | "y") || kind.starts_with("argon2");
    let length = run(body, |byte| token_base64(byte) || b"$.,".contains(&byte));
    (is_kind && length >= 12 && body.contains('$')).then_some(rest.len() - body.len() + length)
}

/// Returns how many of the first bytes are such characters. They are ASCII, so the end splits no character.
pub(super) fn run(rest: &str, is: impl Fn(u8) -> bool) -> usize {
    rest.bytes().take_while(|byte| is(*byte)).count()
}

/// Returns `true` if letters and digits are mixed as in no word and no name in code.
pub(super) fn looks_random(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    digits >= 2 && letters >= 4 && (has(u8::is_ascii_uppercase) || digits >= 4)
}

/// Returns `true` if a text is long and random enough to be a secret behind a keyword.
pub(super) fn is_opaque(text: &str) -> bool {
    let fits = |byte: u8| token_base64(byte) || matches!(byte, b'.' | b'%' | b'~');
    text.len() >= 20 && text.bytes().all(fits) && looks_random(text)
}

pub(super) fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn token(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    token(byte) || byte == b'.'
}

fn token_padded(byte: u8) -> bool {
    token(byte) || byte == b'='
}

fn token_percent(byte: u8) -> bool {
    token(byte) || byte == b'%'
}

pub(super) fn token_base64(byte: u8) -> bool {
    token(byte) || base64(byte)
}

fn base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn upper_dashed(byte: u8) -> bool {
    upper(byte) || byte == b'-'
}

fn hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn url_path(byte: u8) -> bool {
    dotted(byte) || matches!(byte, b'/' | b'@' | b'%')
}

fn telegram_path(byte: u8) -> bool {
    token(byte) || byte == b':'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_its_order() {
        let firsts: Vec<u8> = SHAPES.iter().map(Shape::first).collect();
        assert!(firsts.is_sorted());
        for (index, shape) in SHAPES.iter().enumerate() {
            let hidden = SHAPES[..index]
                .iter()
                .find(|earlier| shape.start.starts_with(earlier.start));
            assert!(hidden.is_none(), "{}", shape.start);
        }
    }
}
