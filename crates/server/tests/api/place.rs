//! A workspace with a process that serves it, and a client.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::config::Config;
use base::environment::Environment;
use base::workspace::Workspace;
use evidence::store::Store;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use server::up::tls::Tls;
use server::up::{App, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use web::api::{Desk, Notice};
use web::login::{Logins, SignIn};
use witness::builder::Builder;
use witness::extension::field;
use witness::policy::Policy;
use witness::wire::{Mode, Outcome, TaskId};

/// Name and value of the cookie.
pub(crate) type Cookie = String;

pub(crate) struct Place {
    guard: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<App>,
    pub(crate) desk: Arc<Desk>,
    codes: Arc<Mutex<Vec<String>>>,
    client: Client,
    _stop: oneshot::Sender<()>,
}

impl Place {
    /// Starts a process in an empty workspace.
    pub(crate) async fn new() -> Self {
        Self::with(|_| ()).await
    }

    /// Starts a process in a workspace that `prepare` has filled.
    pub(crate) async fn with(prepare: impl FnOnce(&PathBuf)) -> Self {
        Self::start(prepare, &[], None, None).await
    }

    /// Does the same as [`Place::with`], with further workspaces in folders below the first one's.
    pub(crate) async fn with_others(prepare: impl FnOnce(&PathBuf), others: &[&str]) -> Self {
        Self::start(prepare, others, None, None).await
    }

    /// Starts a process that speaks TLS.
    pub(crate) async fn over_tls(tls: Tls) -> Self {
        Self::start(|_| (), &[], Some(tls), None).await
    }

    /// Starts a process in which people can log in with a provider.
    #[cfg(feature = "oidc")]
    pub(crate) async fn with_sign_in(prepare: impl FnOnce(&PathBuf), sign_in: SignIn) -> Self {
        Self::start(prepare, &[], None, Some(sign_in)).await
    }

    async fn start(
        prepare: impl FnOnce(&PathBuf),
        others: &[&str],
        tls: Option<Tls>,
        sign_in: Option<SignIn>,
    ) -> Self {
        let guard = tempfile::tempdir().unwrap();
        let root = guard.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".role-os")).unwrap();
        prepare(&root);
        let environment = environment(&root);
        let workspace = Workspace::at(&root).unwrap().trusted_by(&environment);
        let config = Config::load(&workspace, &environment).unwrap();
        let codes: Arc<Mutex<Vec<String>>> = Arc::default();
        let shown = Arc::clone(&codes);
        let logins = Logins::new(move |code| shown.lock().unwrap().push(code.to_owned()));
        let logins = logins.with_sign_in(sign_in);
        let logins = Arc::new(match &tls {
            Some(_) => logins.over_tls(),
            None => logins,
        });
        let open = |workspace: &Workspace| {
            let (logins, notice) = (Arc::clone(&logins), Notice::new(|_| ()));
            let config = config.clone();
            Desk::open(
                workspace.clone(),
                config,
                environment.clone(),
                logins,
                notice,
            )
            .unwrap()
        };
        let desk = open(&workspace);
        let others = others.iter().map(|name| {
            let other = Workspace::at(&root.join(name)).unwrap();
            open(&other.trusted_by(&environment))
        });
        let others = others.collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = App::open(workspace, config, environment, address).unwrap();
        let app = Arc::new(app.with_desk(desk).with_others(others).with_tls(tls));
        let desk = Arc::clone(app.desk.as_ref().unwrap());
        let shared = Arc::clone(&app);
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(async move {
            serve::serve(&app, listener, async { drop(stopped.await) }).await;
        });
        Self {
            guard,
            address,
            app: shared,
            desk,
            codes,
            client: Client::builder().no_proxy().build().unwrap(),
            _stop: stop,
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.guard.path().canonicalize().unwrap()
    }

    pub(crate) fn code(&self) -> String {
        self.codes.lock().unwrap().last().unwrap().clone()
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("http://{}{path}", self.address);
        self.client.request(method, url)
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        read(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Returns the answer, which must be a success.
    pub(crate) async fn ok(&self, path: &str) -> Value {
        let (status, body) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        body
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        cookie: Option<&Cookie>,
        body: &Value,
    ) -> (StatusCode, Value) {
        let mut request = self.request(Method::POST, path).json(body);
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        read(request.send().await.unwrap()).await
    }

    pub(crate) async fn log_in(&self) -> Cookie {
        let body = json!({ "code": self.code(), "operator": "ada" });
        let request = self.request(Method::POST, "/api/login").json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let cookie = response.headers().get("set-cookie").unwrap();
        let cookie = cookie.to_str().unwrap();
        for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
            assert!(cookie.contains(part), "{cookie}");
        }
        cookie.split(';').next().unwrap().to_owned()
    }

    /// Waits until the view has caught up with the files.
    pub(crate) async fn settled(&self) {
        let desk = Arc::clone(&self.desk);
        tokio::task::spawn_blocking(move || desk.refresh().unwrap())
            .await
            .unwrap();
    }

    /// Seals a small bundle; returns its task id.
    pub(crate) fn seal(&self, number: u8, outcome: Outcome) -> String {
        seal(&self.root(), number, outcome)
    }
}

/// Returns the environment of a process whose user's trust store is in the workspace's folder.
fn environment(root: &std::path::Path) -> Environment {
    Environment {
        state: Some(root.join("state")),
        ..Environment::default()
    }
}

/// Seals a small bundle in a workspace; returns its task id.
pub(crate) fn seal(root: &std::path::Path, number: u8, outcome: Outcome) -> String {
    let workspace = Workspace::at(root).unwrap().trusted_by(&environment(root));
    let store = Store::of(&workspace, 1 << 20);
    let (keys, _) = store.keys_for_writing().unwrap();
    let created = 1_767_225_600_000_000_000 + u64::from(number) * 86_400_000_000_000;
    let policy = Policy::of_mode(Mode::Autonomous);
    let mut builder = Builder::new(TaskId([number; 16]), policy, created);
    builder.outcome(outcome).spec(format!("task {number}"));
    builder.diff("+x").test_log("it ran");
    builder.provenance(field::ROLE, "checker");
    builder.provenance(field::MODEL, ["small", "large"][usize::from(number % 2)]);
    store.seal(builder, &keys).unwrap().task_id.to_string()
}

pub(crate) async fn read(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    (status, body)
}

/// Waits for something that another thread does.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "not in time: {what}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Asserts that every error is one object with these four fields.
pub(crate) fn is_error(body: &Value, code: &str) {
    assert_eq!(body["code"], code, "{body}");
    assert!(
        body["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{body}"
    );
    assert!(
        body["retryable"].is_boolean() && body.get("hint").is_some(),
        "{body}"
    );
}
