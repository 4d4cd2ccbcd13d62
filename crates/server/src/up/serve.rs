//! Listens, with one task per connection, and stops: idle connections immediately, running answers within a few
//! seconds.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, mpsc};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use base::process::outlives_its_terminal;
use evidence::sealing::Sealer;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use super::idle::{Connection, Idle};
use super::{App, UpError, router};
use crate::gateway::origin;
use crate::guard::BAD_TOKEN;
use crate::{gateway, old_audits};
use web::gate_tokens::Gate;
use web::login::waits::Client;
use web::problem::{Shape, dated};

/// Time for running answers after the process is asked to end.
const GRACE: Duration = Duration::from_millis(4500);

/// Time for background work to record that it was aborted.
const CUT: Duration = Duration::from_millis(100);

/// Time until the process ends, from the request to end.
const LAST: Duration = Duration::from_millis(4900);

/// Pause after a failed accept, for example without free file descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs the process until a signal ends it. `ready` is called with the address once requests are answered.
pub fn run(
    app: App,
    listen: SocketAddr,
    ready: impl FnOnce(SocketAddr) -> Result<(), UpError>,
) -> Result<(), UpError> {
    let runtime = Builder::new_multi_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(UpError::Machine)?;
    let app = Arc::new(app);
    let mut asked_to_end = None;
    let ended = runtime.block_on(async {
        let stop = stop().map_err(UpError::Machine)?;
        let stop = async {
            stop.await;
            asked_to_end = Some(Instant::now());
        };
        let failed = |source| UpError::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        ready(listener.local_addr().map_err(failed)?)?;
        serve(&app, listener, stop).await;
        Ok(())
    });
    // Work that still runs has exceeded its time; its receipts are written when it is dropped.
    runtime.shutdown_timeout(Duration::from_millis(200));
    if let Some(since) = asked_to_end {
        seal(app, LAST.saturating_sub(since.elapsed()));
    }
    ended
}

/// Seals finished sessions, as far as the time allows; the rest is sealed at the next start of an agent.
fn seal(app: Arc<App>, time: Duration) {
    let (done, is_done) = mpsc::channel();
    let sealing = std::thread::Builder::new().spawn(move || {
        let sealer = Sealer {
            workspace: &app.workspace,
            config: &app.config,
            store: &app.store,
        };
        // A failed seal is tried again later.
        sealer.seal_all(|_, _| {}).ok();
        for desk in &app.others {
            let sealer = Sealer {
                workspace: &desk.workspace,
                config: &desk.config,
                store: &desk.store,
            };
            sealer.seal_all(|_, _| {}).ok();
        }
        done.send(()).ok();
    });
    if sealing.is_ok() {
        is_done.recv_timeout(time).ok();
    }
}

/// Resolves when the process is asked to end.
fn stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Closing the terminal ends it as well, unless it was started to outlive it.
    let mut hangup = match outlives_its_terminal() {
        true => None,
        false => Some(signal(SignalKind::hangup())?),
    };
    let hung_up = async move {
        match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        }
    };
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hung_up => {}
        }
    })
}

/// Serves until `stop`, then lets running answers end.
pub async fn serve(app: &Arc<App>, listener: TcpListener, stop: impl Future<Output = ()>) {
    let most = usize::try_from(app.config.gateway.max_connections.get()).unwrap_or(usize::MAX);
    let places = Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
    let idle = Arc::new(Idle::default());
    let graceful = GracefulShutdown::new();
    let router = router(Arc::clone(app));
    for desk in app.desks() {
        tokio::spawn(Arc::clone(desk).follow());
    }
    let door = serve_door(app);
    let webhooks = app
        .webhooks
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(webhooks) = webhooks {
        webhooks.start(app);
    }
    if let Some(spans) = &app.spans {
        spans.start();
    }
    let audits = old_audits::start(app);
    tokio::pin!(stop);
    loop {
        let place = tokio::select! {
            biased;
            () = &mut stop => break,
            place = Arc::clone(&places).acquire_owned() => place,
            // Only if all slots are taken. One connection is closed, and its slot awaited before the next.
            () = idle.close_oldest() => tokio::select! {
                () = &mut stop => break,
                place = Arc::clone(&places).acquire_owned() => place,
            },
        };
        // The semaphore is never closed.
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let rest = idle.accept();
        let served = Served {
            app: Arc::clone(app),
            router: router.clone(),
            client: Client(peer.ip()),
            rest: Arc::clone(&rest),
            watcher: graceful.watcher(),
        };
        let counted = Arc::clone(app);
        tokio::spawn(async move {
            counted.metrics.connections.inc();
            tokio::select! {
                () = served.connection(stream) => {}
                () = rest.closed() => {}
            }
            counted.metrics.connections.dec();
            drop(place);
        });
    }
    drop((listener, audits));
    if let Some(door) = door {
        door.abort();
    }
    app.gateway.closes();
    for desk in app.desks() {
        desk.close();
    }
    // Answers that are not done by then are aborted.
    let over = async {
        graceful.shutdown().await;
        app.gateway.quiet().await;
    };
    if tokio::time::timeout(GRACE, over).await.is_err() {
        app.gateway.ends();
        // Aborted background work records that.
        tokio::time::timeout(CUT, app.gateway.quiet()).await.ok();
    }
    if let Some(spans) = &app.spans {
        spans.flush().await;
    }
}

/// Serves the login code on this machine, if the process has a socket for that.
fn serve_door(app: &App) -> Option<JoinHandle<()>> {
    let mut door = app.door.lock().unwrap_or_else(PoisonError::into_inner);
    let (door, desk) = (door.take()?, app.desk.clone()?);
    Some(tokio::spawn(door.serve(desk)))
}

/// State of one served connection.
struct Served {
    app: Arc<App>,
    router: Router,
    client: Client,
    rest: Arc<Connection>,
    watcher: Watcher,
}

impl Served {
    async fn connection(self, stream: TcpStream) {
        // Small chunks of a stream must not wait for each other.
        stream.set_nodelay(true).ok();
        let Some(tls) = &self.app.tls else {
            return self.speak(stream).await;
        };
        let handshake = tls.acceptor().accept(stream);
        let patience = self.app.config.gateway.header_timeout();
        // A client that does not finish the handshake is gone.
        if let Ok(Ok(stream)) = tokio::time::timeout(patience, handshake).await {
            self.speak(stream).await;
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Self {
            app,
            router,
            client,
            rest,
            watcher,
        } = self;
        let header_timeout = app.config.gateway.header_timeout();
        let service = service_fn(move |request| {
            let (app, router, rest) = (Arc::clone(&app), router.clone(), Arc::clone(&rest));
            rest.work();
            async move {
                let response = answer(app, router, client, request).await;
                Ok::<_, Infallible>(rest.answer(response))
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .preserve_header_case(true)
            // Headers that an upstream did not send are not added.
            .auto_date_header(false)
            .serve_connection(TokioIo::new(stream), service);
        // A client that disconnects is not an error.
        watcher.watch(connection).await.ok();
    }
}

async fn answer(
    app: Arc<App>,
    router: Router,
    client: Client,
    request: Request<Incoming>,
) -> Response<Body> {
    origin::inert(answer_as_is(app, router, client, request).await)
}

async fn answer_as_is(
    app: Arc<App>,
    router: Router,
    client: Client,
    request: Request<Incoming>,
) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    if let Err(problem) = app.guard.check(&parts) {
        app.metrics.refused(problem.status.as_u16());
        let login = web::pages::to_login(&parts).filter(|_| app.desk.is_some());
        if let Some(login) = login.filter(|_| problem.code == BAD_TOKEN) {
            return dated(login);
        }
        return problem.response(Shape::of_path(parts.uri.path()));
    }
    let is_gateway = origin::is_passed(parts.uri.path());
    let desk = app.desk.as_ref().filter(|_| is_gateway);
    let is_ours = Gate::is_in_authorization(&parts.headers);
    if desk.is_some_and(|desk| is_ours || desk.logins.has_token(&parts.headers)) {
        // The operator's token is a secret of this process, not a key for an upstream.
        parts.headers.remove(AUTHORIZATION);
    }
    let mut request = Request::from_parts(parts, Body::new(body));
    if is_gateway {
        return gateway::answer(app, request, client).await;
    }
    request.extensions_mut().insert(client);
    let response = router.oneshot(request).await;
    dated(response.unwrap_or_else(|never| match never {}))
}
