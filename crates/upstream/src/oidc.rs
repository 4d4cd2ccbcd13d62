//! Asks an OpenID Connect provider who a person is: authorization code with PKCE, and an ID token of which everything is
//! checked before a claim of it is read.
//!
//! The provider is another machine: every answer is limited in size and time, no redirect is followed, and nothing but
//! https is asked unless the provider is on this machine. Which browser began a login is the caller's to remember.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::http;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdToken, CoreIdTokenVerifier,
    CoreJwsSigningAlgorithm, CoreProviderMetadata, CoreTokenResponse,
};
use openidconnect::{
    AccessTokenHash, AsyncHttpClient, AuthType, AuthorizationCode, ClaimsVerificationError,
    ClientId, ClientSecret, CsrfToken, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    SignatureVerificationError, TokenResponse as _,
};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::exchange::{self, BodyError, Client};
use crate::web_address::WebAddress;

/// Longest answer of a provider.
const MAX_ANSWER: usize = 1024 * 1024;
/// How long one step of a login may wait for the provider.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the provider's addresses and keys are believed.
const BELIEVED: Duration = Duration::from_secs(600);
/// How old they must be before an unknown key makes us ask again.
const RENEWED: Duration = Duration::from_secs(30);
/// How long a provider that did not answer is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Signatures that are taken: none of them can be made with the client's secret, and none is missing.
const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Why a login did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OidcError {
    /// The provider cannot be reached; the same can succeed later.
    #[error("the provider cannot be asked: {0}")]
    Away(String),
    /// What the provider said is not believed.
    #[error("the provider's answer was refused: {0}")]
    Refused(String),
}

/// One provider, and the client that we are to it.
pub struct Provider {
    issuer: IssuerUrl,
    way: Way,
    id: ClientId,
    secret: Option<ClientSecret>,
    scopes: Vec<Scope>,
    known: Mutex<Option<Known>>,
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// What the provider said of itself, and when.
struct Known {
    at: Instant,
    said: Result<Arc<CoreProviderMetadata>, OidcError>,
}

/// A login that began: where the browser goes, and what its answer must fit.
#[derive(Clone, Debug)]
pub struct Begun {
    /// Address of the provider for the browser.
    pub to: String,
    /// Comes back in the answer's `state`.
    pub state: String,
    /// What the ID token and the code must fit.
    pub secrets: Secrets,
}

/// What the ID token and the code must fit.
#[derive(Clone)]
pub struct Secrets {
    back: RedirectUrl,
    nonce: String,
    verifier: String,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

impl Provider {
    /// Prepares the way to a provider; asks it nothing yet.
    ///
    /// # Errors
    /// The issuer is not an address, or another machine without https.
    pub fn new(
        issuer: &str,
        id: &str,
        secret: Option<String>,
        scopes: &[String],
    ) -> Result<Self, String> {
        let address = WebAddress::parse(issuer)?;
        if !address.is_https() && !address.is_loopback() {
            return Err("a provider on another machine must be reached by https".to_owned());
        }
        Ok(Self {
            issuer: IssuerUrl::new(issuer.to_owned()).map_err(|error| error.to_string())?,
            way: Way {
                client: exchange::client(address.is_https())?,
                address,
            },
            id: ClientId::new(id.to_owned()),
            secret: secret.map(ClientSecret::new),
            scopes: scopes.iter().cloned().map(Scope::new).collect(),
            known: Mutex::new(None),
        })
    }

    /// Returns the name of the provider for people.
    #[must_use]
    pub fn host(&self) -> &str {
        self.way.address.host()
    }

    /// Returns the issuer as it is written in tokens.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.issuer.as_str()
    }

    /// Begins a login whose answer comes to `back`.
    ///
    /// # Errors
    /// The provider does not answer, or sends the browser where it must not go.
    pub async fn begin(&self, back: &str) -> Result<Begun, OidcError> {
        let back = RedirectUrl::new(back.to_owned()).map_err(|error| refused(&error))?;
        let metadata = in_time(self.metadata(BELIEVED)).await?;
        let to = metadata.authorization_endpoint().as_str();
        self.way.allowed(to).map_err(OidcError::Refused)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let client = CoreClient::from_provider_metadata((*metadata).clone(), self.id.clone(), None);
        let client = client.set_redirect_uri(back.clone());
        let (to, state, nonce) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                CsrfToken::new_random,
                Nonce::new_random,
            )
            .add_scopes(self.scopes.iter().cloned())
            .set_pkce_challenge(challenge)
            .url();
        Ok(Begun {
            to: to.to_string(),
            state: state.into_secret(),
            secrets: Secrets {
                back,
                nonce: nonce.secret().clone(),
                verifier: verifier.into_secret(),
            },
        })
    }

    /// Exchanges a code for an ID token, and returns its claims once everything of it was checked.
    ///
    /// # Errors
    /// The provider does not answer, refuses the code, or its token is not for us, not from it, or not of this login.
    pub async fn finish(
        &self,
        code: String,
        secrets: Secrets,
    ) -> Result<Map<String, Value>, OidcError> {
        in_time(async {
            let metadata = self.metadata(BELIEVED).await?;
            let answer = self.exchange(&metadata, code, &secrets).await?;
            let token = answer.id_token();
            let token = token.ok_or_else(|| OidcError::Refused("it has no ID token".to_owned()))?;
            let nonce = Nonce::new(secrets.nonce);
            let checked = match self.check(&metadata, token, &answer, &nonce) {
                // The provider may have changed its keys since it was asked for them.
                Err(Unfit::UnknownKey) => {
                    let metadata = self.metadata(RENEWED).await?;
                    self.check(&metadata, token, &answer, &nonce)
                }
                checked => checked,
            };
            checked.map_err(|unfit| OidcError::Refused(unfit.to_string()))?;
            claims(token)
        })
        .await
    }

    async fn exchange(
        &self,
        metadata: &CoreProviderMetadata,
        code: String,
        secrets: &Secrets,
    ) -> Result<CoreTokenResponse, OidcError> {
        let (id, secret) = (self.id.clone(), self.secret.clone());
        let client = CoreClient::from_provider_metadata(metadata.clone(), id, secret);
        let client = client.set_redirect_uri(secrets.back.clone());
        let ways = metadata.token_endpoint_auth_methods_supported();
        let has = |way| ways.is_some_and(|ways| ways.contains(&way));
        let in_body = has(CoreClientAuthMethod::ClientSecretPost)
            && !has(CoreClientAuthMethod::ClientSecretBasic);
        let client = client.set_auth_type(match in_body {
            true => AuthType::RequestBody,
            false => AuthType::BasicAuth,
        });
        let request = client.exchange_code(AuthorizationCode::new(code));
        let request = request.map_err(|error| refused(&error))?;
        let verifier = PkceCodeVerifier::new(secrets.verifier.clone());
        let answer = request
            .set_pkce_verifier(verifier)
            .request_async(&self.way)
            .await;
        answer.map_err(|error| match error {
            openidconnect::RequestTokenError::Request(why) => OidcError::Away(base::said(&why)),
            // The body may hold a token, so that it is not shown.
            openidconnect::RequestTokenError::Parse(why, _) => {
                OidcError::Refused(format!("it cannot be read: {}", why.inner()))
            }
            error => refused(&error),
        })
    }

    /// Checks signature, issuer, audience, time, nonce, and that the token belongs to its answer.
    fn check(
        &self,
        metadata: &CoreProviderMetadata,
        token: &CoreIdToken,
        answer: &CoreTokenResponse,
        nonce: &Nonce,
    ) -> Result<(), Unfit> {
        // As a public client: what is signed with a shared secret is not taken.
        let verifier = CoreIdTokenVerifier::new_public_client(
            self.id.clone(),
            self.issuer.clone(),
            metadata.jwks().clone(),
        )
        .set_allowed_algs(ALGORITHMS);
        let claims = token.claims(&verifier, nonce)?;
        if let Some(party) = claims.authorized_party()
            && *party != self.id
        {
            return Err(Unfit::Other("it was issued to another client".to_owned()));
        }
        let Some(wanted) = claims.access_token_hash() else {
            return Ok(());
        };
        let (algorithm, key) = (token.signing_alg()?, token.signing_key(&verifier)?);
        let hash = AccessTokenHash::from_token(answer.access_token(), algorithm, key);
        match hash {
            Ok(hash) if hash == *wanted => Ok(()),
            _ => Err(Unfit::Other(
                "its access token is not the one that it names".to_owned(),
            )),
        }
    }

    /// Returns what the provider says of itself; asks again if that is older than `age`.
    async fn metadata(&self, age: Duration) -> Result<Arc<CoreProviderMetadata>, OidcError> {
        let mut known = self.known.lock().await;
        if let Some(Known { at, said }) = &*known {
            let age = if said.is_ok() { age } else { LEFT_ALONE };
            if at.elapsed() < age {
                return said.clone();
            }
        }
        let found = CoreProviderMetadata::discover_async(self.issuer.clone(), &self.way);
        let found = tokio::time::timeout(PATIENCE, found).await;
        let said = match found {
            Ok(Ok(found)) => Ok(Arc::new(found)),
            Ok(Err(error)) => Err(OidcError::Away(base::said(&error))),
            Err(_) => Err(OidcError::Away("it did not answer in time".to_owned())),
        };
        *known = Some(Known {
            at: Instant::now(),
            said: said.clone(),
        });
        said
    }
}

/// The way to a provider.
#[derive(Clone)]
struct Way {
    address: WebAddress,
    client: Client,
}

impl Way {
    /// Refuses addresses that a provider must not name: without TLS, except where the provider itself is on this machine.
    fn allowed(&self, address: &str) -> Result<(), String> {
        let parsed = WebAddress::parse(address)?;
        let both_here =
            self.address.is_loopback() && !self.address.is_https() && parsed.is_loopback();
        if parsed.is_https() || both_here {
            return Ok(());
        }
        Err(format!("`{parsed}` is not https"))
    }

    async fn ask(self, request: HttpRequest) -> Result<HttpResponse, io::Error> {
        let allowed = self.allowed(&request.uri().to_string());
        allowed.map_err(io::Error::other)?;
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let response = self.client.send(request).await.map_err(io::Error::other)?;
        let mut answer = http::Response::builder().status(response.status());
        if let Some(headers) = answer.headers_mut() {
            headers.clone_from(response.headers());
        }
        let body = exchange::body(response, MAX_ANSWER).await;
        let body = body.map_err(|error| match error {
            BodyError::TooLong => io::Error::other("its answer is too long"),
            BodyError::Encoding(why) | BodyError::Interrupted(why) => io::Error::other(why),
        })?;
        answer.body(body).map_err(io::Error::other)
    }
}

impl<'c> AsyncHttpClient<'c> for Way {
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, io::Error>> + Send>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.clone().ask(request))
    }
}

/// Why an ID token does not count.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("it is signed with a key that the provider does not name")]
    UnknownKey,
    #[error("{0}")]
    Other(String),
}

impl From<SignatureVerificationError> for Unfit {
    fn from(error: SignatureVerificationError) -> Self {
        match error {
            SignatureVerificationError::NoMatchingKey => Self::UnknownKey,
            error => Self::Other(format!("its signature does not hold: {error}")),
        }
    }
}

impl From<ClaimsVerificationError> for Unfit {
    fn from(error: ClaimsVerificationError) -> Self {
        match error {
            ClaimsVerificationError::SignatureVerification(error) => error.into(),
            error => Self::Other(error.to_string()),
        }
    }
}

/// Returns the claims of a token that was checked.
fn claims(token: &CoreIdToken) -> Result<Map<String, Value>, OidcError> {
    let text = token.to_string();
    let payload = text.split('.').nth(1).unwrap_or_default();
    let bytes = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('='));
    let bytes = bytes.map_err(|error| refused(&error))?;
    serde_json::from_slice(&bytes).map_err(|error| refused(&error))
}

fn refused(error: &dyn std::error::Error) -> OidcError {
    OidcError::Refused(base::said(error))
}

async fn in_time<T>(work: impl Future<Output = Result<T, OidcError>>) -> Result<T, OidcError> {
    let done = tokio::time::timeout(2 * PATIENCE, work).await;
    done.unwrap_or_else(|_| Err(OidcError::Away("it did not answer in time".to_owned())))
}
