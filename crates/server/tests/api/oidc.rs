//! Login by a provider: a real one in miniature over real HTTP, with tokens that are really signed, and one that lies.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Form, Query, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::response::Redirect;
use axum::routing::{get, post};
use axum::{Json, Router};
use base::config::Config;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use reqwest::{Client, Method, Response, StatusCode, redirect};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use web::login::SignIn;
use witness::key::SigningKey;

use crate::changes::registry;
use crate::place::Place;

const SECRET: &str = "a-secret-of-the-client";

/// How the provider lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Lie {
    #[default]
    None,
    Nonce,
    NoNonce,
    Audience,
    FurtherAudience,
    Party,
    Issuer,
    Expired,
    NoSignature,
    OtherKey,
    UnknownKey,
    SharedSecret,
    ChangedClaims,
    AccessToken,
    NoToken,
    Huge,
    /// Not a lie: new keys since it was asked for them.
    NewKeys,
}

/// A provider of OpenID Connect.
struct Provider {
    address: SocketAddr,
    lie: Mutex<Lie>,
    groups: Mutex<Value>,
    /// By code: nonce, PKCE challenge and the address of the way back.
    codes: Mutex<BTreeMap<String, [String; 3]>>,
    /// Changed by [`Lie::NewKeys`].
    key: Mutex<u8>,
}

impl Provider {
    async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            lie: Mutex::default(),
            groups: Mutex::new(json!(["staff", "oncall"])),
            codes: Mutex::default(),
            key: Mutex::new(1),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&provider));
        tokio::spawn(async move { axum::serve(listener, router).await });
        provider
    }

    fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    fn lies(&self, lie: Lie) {
        *self.lie.lock().unwrap() = lie;
    }

    fn sign_in(&self) -> SignIn {
        let set = format!(
            "[oidc]\nissuer = \"{}\"\nclient_id = \"roleos\"\n\
             roles = {{ staff = \"viewer\", oncall = \"operator\", owners = \"admin\" }}\n",
            self.issuer()
        );
        let config = Config::parse("config.toml".as_ref(), &set).unwrap();
        SignIn::open(&config.oidc, Some(SECRET.to_owned())).unwrap()
    }
}

type Shared = State<Arc<Provider>>;

async fn discovery(State(provider): Shared) -> Json<Value> {
    let issuer = provider.issuer();
    Json(json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA", "HS256", "none"],
    }))
}

fn signer(seed: u8) -> (String, SigningKey) {
    (format!("key-{seed}"), SigningKey::new(&[seed; 32]))
}

async fn keys(State(provider): Shared) -> Json<Value> {
    let (id, key) = signer(*provider.key.lock().unwrap());
    let public = URL_SAFE_NO_PAD.encode(key.public().to_bytes());
    Json(json!({ "keys": [
        { "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": id, "x": public },
    ] }))
}

/// The person agrees at once.
async fn authorize(
    State(provider): Shared,
    Query(asked): Query<BTreeMap<String, String>>,
) -> Redirect {
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["client_id"], "roleos");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert!(asked["scope"].split(' ').any(|scope| scope == "openid"));
    let code = format!("code-{}", asked["nonce"]);
    let kept = ["nonce", "code_challenge", "redirect_uri"].map(|name| asked[name].clone());
    provider.codes.lock().unwrap().insert(code.clone(), kept);
    let (back, state) = (&asked["redirect_uri"], &asked["state"]);
    Redirect::to(&format!("{back}?code={code}&state={state}"))
}

async fn token(
    State(provider): Shared,
    headers: HeaderMap,
    Form(asked): Form<BTreeMap<String, String>>,
) -> (StatusCode, Json<Value>) {
    let refused = |why: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": why })));
    let basic = format!("Basic {}", STANDARD.encode(format!("roleos:{SECRET}")));
    if headers.get(AUTHORIZATION).unwrap() != basic.as_str() {
        return refused("invalid_client");
    }
    let Some([nonce, challenge, back]) = provider.codes.lock().unwrap().remove(&asked["code"])
    else {
        return refused("invalid_grant");
    };
    let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(&asked["code_verifier"]));
    if verifier != challenge || asked["redirect_uri"] != back {
        return refused("invalid_grant");
    }
    let lie = *provider.lie.lock().unwrap();
    let access = "an-access-token";
    let mut answer = json!({ "access_token": access, "token_type": "Bearer", "expires_in": 60 });
    if lie != Lie::NoToken {
        answer["id_token"] = json!(id_token(&provider, lie, &nonce, access));
    }
    if lie == Lie::Huge {
        answer["padding"] = json!("x".repeat(2 << 20));
    }
    (StatusCode::OK, Json(answer))
}

fn id_token(provider: &Provider, lie: Lie, nonce: &str, access: &str) -> String {
    if lie == Lie::NewKeys {
        *provider.key.lock().unwrap() += 1;
    }
    let now = base::clock::now_ns() / 1_000_000_000;
    let half = |text: &str| URL_SAFE_NO_PAD.encode(&sha2::Sha512::digest(text)[..32]);
    let mut claims = json!({
        "iss": provider.issuer(),
        "sub": "248289761001",
        "aud": "roleos",
        "exp": now + 300,
        "iat": now,
        "nonce": nonce,
        "at_hash": half(access),
        "email": "ada@example.org",
        "email_verified": true,
        "groups": *provider.groups.lock().unwrap(),
    });
    match lie {
        Lie::Nonce => claims["nonce"] = json!("another"),
        Lie::NoNonce => drop(claims.as_object_mut().unwrap().remove("nonce")),
        Lie::Audience => claims["aud"] = json!("another"),
        Lie::FurtherAudience => claims["aud"] = json!(["roleos", "another"]),
        Lie::Party => claims["azp"] = json!("another"),
        Lie::Issuer => claims["iss"] = json!("https://elsewhere.example"),
        Lie::Expired => claims["exp"] = json!(now - 1),
        Lie::AccessToken => claims["at_hash"] = json!(half("another")),
        _ => {}
    }
    let (id, key) = signer(*provider.key.lock().unwrap());
    let header = match lie {
        Lie::NoSignature => json!({ "alg": "none" }),
        Lie::SharedSecret => json!({ "alg": "HS256" }),
        Lie::UnknownKey => json!({ "alg": "EdDSA", "kid": "another" }),
        _ => json!({ "alg": "EdDSA", "kid": id }),
    };
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = match lie {
        Lie::NoSignature => Vec::new(),
        Lie::OtherKey | Lie::UnknownKey => {
            SigningKey::new(&[99; 32]).sign(signed.as_bytes()).to_vec()
        }
        Lie::SharedSecret => {
            use hmac::{Hmac, KeyInit as _, Mac as _};
            let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
            mac.update(signed.as_bytes());
            mac.finalize().into_bytes().to_vec()
        }
        _ => key.sign(signed.as_bytes()).to_vec(),
    };
    if lie == Lie::ChangedClaims {
        claims["groups"] = json!(["owners"]);
        let changed = format!("{}.{}", part(&header), part(&claims));
        return format!("{changed}.{}", URL_SAFE_NO_PAD.encode(signature));
    }
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A browser that follows nothing by itself and keeps the cookies that it is told to.
struct Browser {
    client: Client,
    cookies: BTreeMap<String, String>,
}

impl Browser {
    fn new() -> Self {
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none());
        Self {
            client: client.build().unwrap(),
            cookies: BTreeMap::new(),
        }
    }

    async fn get(&mut self, url: &str) -> Response {
        let request = self.client.get(url).header("accept", "text/html");
        // As it comes from the provider's page.
        let request = request
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate");
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies: Vec<String> = cookies.collect();
        let response = request
            .header("cookie", cookies.join("; "))
            .send()
            .await
            .unwrap();
        for cookie in response.headers().get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, rest) = cookie.split_once('=').unwrap();
            let same_site = match name {
                "roleos_login" => "; Path=/login/callback; HttpOnly; SameSite=Lax; ",
                _ => "; Path=/; HttpOnly; SameSite=Strict; ",
            };
            assert!(cookie.contains(same_site), "{cookie}");
            let value = rest.split(';').next().unwrap().to_owned();
            self.cookies.insert(name.to_owned(), value);
        }
        response
    }

    /// Goes to the provider; returns the address of the way back.
    async fn ask_provider(&mut self, place: &Place, next: &str) -> String {
        let url = format!("http://{}/login/oidc?next={next}", place.address);
        let response = self.get(&url).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let to = location(&response);
        let own = Self::new().client.get(to).send().await.unwrap();
        location(&own)
    }

    async fn log_in(&mut self, place: &Place) -> (StatusCode, String) {
        let back = self
            .ask_provider(place, "%2Ftasks%3Foutcome%3Dfailed")
            .await;
        page(self.get(&back).await).await
    }

    fn session(&self) -> String {
        format!("roleos_session={}", self.cookies["roleos_session"])
    }
}

fn location(response: &Response) -> String {
    response.headers()["location"].to_str().unwrap().to_owned()
}

async fn page(response: Response) -> (StatusCode, String) {
    (response.status(), response.text().await.unwrap())
}

async fn places() -> (Arc<Provider>, Place) {
    let provider = Provider::start().await;
    let place = Place::with_sign_in(|root| registry(root), provider.sign_in()).await;
    (provider, place)
}

#[tokio::test]
async fn a_person_logs_in_and_what_they_do_is_under_their_name() {
    let (provider, place) = places().await;
    let (_, login) = page(place.request(Method::GET, "/login").send().await.unwrap()).await;
    assert!(login.contains("href=\"/login/oidc?next="), "{login}");
    let name = format!("ada@example.org ({})", provider.address);
    let mut browser = Browser::new();
    let (status, welcome) = browser.log_in(&place).await;
    assert_eq!(status, StatusCode::OK, "{welcome}");
    assert!(
        welcome.contains(&name) && welcome.contains("operator"),
        "{welcome}"
    );
    assert!(welcome.contains("url=/tasks?outcome=failed\""), "{welcome}");
    assert_eq!(browser.cookies["roleos_login"], "", "it is used up");

    let session = browser.session();
    let halt = "/api/specialists/Note%20Checker/halt";
    let body = json!({ "reason": "wrong since noon" });
    let (status, answer) = place.post(halt, Some(&session), &body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let other = json!({ "reason": "x", "operator": "eve" });
    let (status, answer) = place.post(halt, Some(&session), &other).await;
    assert_eq!(
        (status, &answer["code"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("bad_operator"))
    );
    let (status, _) = place
        .post("/api/specialists/none/halt", Some(&session), &body)
        .await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    // An operator is no administrator.
    let token = json!({ "name": "ci", "role": "agent", "why": "nightly" });
    let (status, answer) = place.post("/api/tokens", Some(&session), &token).await;
    assert_eq!(
        (status, &answer["code"]),
        (StatusCode::FORBIDDEN, &json!("role_too_low"))
    );

    let acts = place.ok("/api/acts").await;
    let acts = acts.as_array().unwrap().iter().map(|act| {
        assert_eq!(act["who"], *name, "{act}");
        let words = ["what", "subject", "why"].map(|key| act[key].as_str().unwrap());
        words.join(" | ")
    });
    let login = format!(
        "login | operator, sub 248289761001 of {} | a role of the provider",
        provider.issuer()
    );
    assert_eq!(
        acts.collect::<Vec<_>>(),
        [
            login.as_str(),
            "specialist.halt | Note Checker | wrong since noon",
            "specialist.halt | none | wrong since noon",
            "specialist.halt.failed | none | there is no role `none` in the registry",
        ]
    );
}

#[tokio::test]
async fn a_reader_reads_and_an_administrator_does_everything() {
    let (provider, place) = places().await;
    *provider.groups.lock().unwrap() = json!("staff");
    let mut browser = Browser::new();
    let (status, welcome) = browser.log_in(&place).await;
    assert_eq!(status, StatusCode::OK, "{welcome}");
    let reader = browser.session();
    let url = format!("http://{}/oversight", place.address);
    let (status, shown) = page(browser.get(&url).await).await;
    assert_eq!(status, StatusCode::OK);
    assert!(
        shown.contains("(reads only)") && !shown.contains("/oversight/grant"),
        "{shown}"
    );
    let body = json!({ "reason": "x" });
    let halt = "/api/specialists/Note%20Checker/halt";
    let (status, answer) = place.post(halt, Some(&reader), &body).await;
    assert_eq!(
        (status, &answer["code"]),
        (StatusCode::FORBIDDEN, &json!("role_too_low"))
    );
    let request = place
        .request(Method::GET, "/api/session")
        .header("cookie", &reader);
    let (status, answer) = crate::place::read(request.send().await.unwrap()).await;
    assert_eq!(
        (status, &answer["role"]),
        (StatusCode::OK, &json!("viewer"))
    );
    let (status, _) = place.post("/api/logout", Some(&reader), &json!({})).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (status, answer) = place.post(halt, Some(&reader), &body).await;
    assert_eq!(
        (status, &answer["code"]),
        (StatusCode::UNAUTHORIZED, &json!("login_needed"))
    );

    *provider.groups.lock().unwrap() = json!(["owners", "staff"]);
    let mut browser = Browser::new();
    assert_eq!(browser.log_in(&place).await.0, StatusCode::OK);
    let token = json!({ "name": "ci", "role": "agent", "why": "nightly" });
    let (status, answer) = place
        .post("/api/tokens", Some(&browser.session()), &token)
        .await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test]
async fn a_person_without_a_role_is_told_so() {
    let (provider, place) = places().await;
    for groups in [
        json!(["guests", "<b>"]),
        json!([]),
        json!(null),
        json!({ "staff": true }),
    ] {
        *provider.groups.lock().unwrap() = groups.clone();
        let mut browser = Browser::new();
        let (status, said) = browser.log_in(&place).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{groups}");
        assert!(
            said.contains("has no role here") && said.contains("[oidc.roles]"),
            "{said}"
        );
        assert_eq!(
            said.contains("guests, &#60;b&#62;"),
            groups.is_array() && !groups[0].is_null(),
            "{said}"
        );
        assert!(!browser.cookies.contains_key("roleos_session"));
        assert!(!said.contains(&*place.root().to_string_lossy()), "{said}");
    }
    let acts = place.ok("/api/acts").await;
    assert!(
        acts.as_array()
            .unwrap()
            .iter()
            .all(|act| act["what"] == "login.refuse"),
        "{acts}"
    );
}

#[tokio::test]
async fn a_token_that_lies_is_refused() {
    let (provider, place) = places().await;
    for (lie, why) in [
        (Lie::Nonce, "nonce"),
        (Lie::NoNonce, "nonce"),
        (Lie::Audience, "audience"),
        (Lie::FurtherAudience, "audience"),
        (Lie::Party, "another client"),
        (Lie::Issuer, "issuer"),
        (Lie::Expired, "xpired"),
        (Lie::NoSignature, "signature does not hold"),
        (Lie::OtherKey, "signature does not hold"),
        (Lie::UnknownKey, "a key that the provider does not name"),
        (Lie::SharedSecret, "signature does not hold"),
        (Lie::ChangedClaims, "signature does not hold"),
        (Lie::AccessToken, "access token"),
        (Lie::NoToken, "no ID token"),
        (Lie::Huge, "too long"),
    ] {
        provider.lies(lie);
        let mut browser = Browser::new();
        let (status, said) = browser.log_in(&place).await;
        let expected = match lie {
            Lie::Huge => StatusCode::BAD_GATEWAY,
            _ => StatusCode::FORBIDDEN,
        };
        assert_eq!(status, expected, "{lie:?}: {said}");
        assert!(said.contains(why), "{lie:?}: {said}");
        assert!(!browser.cookies.contains_key("roleos_session"), "{lie:?}");
    }
    assert_eq!(place.ok("/api/acts").await, json!([]));
    provider.lies(Lie::None);
    assert_eq!(Browser::new().log_in(&place).await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_answer_counts_once_and_in_its_own_browser() {
    let (provider, place) = places().await;
    let callback = format!("http://{}/login/callback", place.address);
    let mut browser = Browser::new();
    let back = browser.ask_provider(&place, "%2F").await;
    let state = browser.cookies["roleos_login"].clone();

    // Somebody else's browser, which never began it.
    let (status, said) = page(Browser::new().get(&back).await).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(said.contains("did not begin in this browser"), "{said}");
    // A state that nobody was given, although the browser holds it.
    let mut forger = Browser::new();
    forger
        .cookies
        .insert("roleos_login".to_owned(), "made-up".to_owned());
    let (status, said) = page(
        forger
            .get(&format!("{callback}?code=x&state=made-up"))
            .await,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(said.contains("this login is over"), "{said}");
    let (status, _) = page(Browser::new().get(&callback).await).await;
    assert_eq!(status, StatusCode::FORBIDDEN);

    let (status, said) = page(browser.get(&back).await).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    // The same answer again, with the cookie that it was bound to.
    browser.cookies.insert("roleos_login".to_owned(), state);
    let (status, said) = page(browser.get(&back).await).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(said.contains("it was used before"), "{said}");

    // What the provider refuses is said, and another provider's answer is none.
    for (answer, why) in [
        (
            "error=access_denied&error_description=not+%3Cyou%3E",
            "access_denied not &#60;you&#62;",
        ),
        (
            "code=x&iss=https%3A%2F%2Felsewhere.example",
            "another provider",
        ),
        ("code=never-given", "invalid_grant"),
    ] {
        let mut browser = Browser::new();
        browser.ask_provider(&place, "%2F").await;
        let state = &browser.cookies["roleos_login"];
        let url = format!("{callback}?state={state}&{answer}");
        let (status, said) = page(browser.get(&url).await).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(
        provider.codes.lock().unwrap().len(),
        3,
        "no code was tried that was not ours"
    );
}

#[tokio::test]
async fn nobody_is_led_elsewhere() {
    let (_provider, place) = places().await;
    for next in [
        "https:%2F%2Fevil.example",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
    ] {
        let mut browser = Browser::new();
        let back = browser.ask_provider(&place, next).await;
        let (status, welcome) = page(browser.get(&back).await).await;
        assert_eq!(status, StatusCode::OK);
        assert!(
            welcome.contains("content=\"0; url=/\"") && !welcome.contains("evil"),
            "{welcome}"
        );
    }
    // A page of another origin cannot ask in a person's name.
    let url = format!("http://{}/login/oidc", place.address);
    let request = Browser::new()
        .client
        .get(url)
        .header("sec-fetch-site", "cross-site");
    let response = request
        .header("sec-fetch-mode", "no-cors")
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn unknown_keys_cause_no_flood_and_a_provider_that_is_away_is_said() {
    let (provider, place) = places().await;
    assert_eq!(Browser::new().log_in(&place).await.0, StatusCode::OK);
    // Changed so soon after they were read, they are not asked for again.
    provider.lies(Lie::NewKeys);
    let (status, said) = Browser::new().log_in(&place).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{said}");

    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let set =
        format!("[oidc]\nissuer = \"http://{address}\"\nclient_id = \"x\"\nroles.a = \"viewer\"\n");
    let config = Config::parse("config.toml".as_ref(), &set).unwrap();
    let sign_in = SignIn::open(&config.oidc, None).unwrap();
    let place = Place::with_sign_in(|_| (), sign_in).await;
    let url = format!("http://{}/login/oidc", place.address);
    let (status, said) = page(Browser::new().get(&url).await).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    assert!(
        said.contains("cannot be asked") && said.contains("the code of"),
        "{said}"
    );
}
