//! The gateway as a process, receipts on: its overhead over a direct call, and its throughput beside nginx, LiteLLM
//! and Portkey.

use std::net::SocketAddr;
use std::time::Duration;

use crate::measure::{Figure, quantile, turns};
use crate::row::{Goal, Row};

mod load;
mod peers;

use peers::Peer;

const P50: &str = "gateway, added latency at 500/s, p50";
const P99: &str = "gateway, added latency at 500/s, p99";
const NGINX: &str = "gateway throughput against nginx";
const LITELLM: &str = "gateway throughput against LiteLLM";
const PORTKEY: &str = "gateway throughput against Portkey";
const STREAMS: &str = "gateway memory, 1,000 open streams";
const REST: &str = "gateway memory, at rest";

/// Number of runs, of which the median counts.
const RUNS: usize = 5;

/// Number of connections that send requests as fast as they can.
const CONNECTIONS: usize = 32;

/// Returns the rows with wanted names.
pub(crate) fn rows(wanted: &dyn Fn(&str) -> bool) -> Vec<Row> {
    let all = [P50, P99, NGINX, LITELLM, PORTKEY, STREAMS, REST];
    if !all.into_iter().any(wanted) {
        return Vec::new();
    }
    let upstream = load::upstream();
    let mut rows = Vec::new();
    if wanted(REST) || wanted(STREAMS) {
        rows.extend(memory(upstream));
    }
    if wanted(P50) || wanted(P99) {
        rows.extend(latency(upstream));
    }
    if wanted(NGINX) {
        let peer = Peer::nginx(upstream);
        rows.push(throughput(NGINX, upstream, (&peer, ""), "nginx", 0.75));
    }
    if wanted(LITELLM) {
        let peer = Peer::litellm(upstream);
        rows.push(throughput(
            LITELLM,
            upstream,
            (&peer, ""),
            "LiteLLM proxy",
            20.0,
        ));
    }
    if wanted(PORTKEY) {
        let peer = Peer::portkey();
        let head = format!(
            "x-portkey-provider: openai\r\nx-portkey-custom-host: http://{upstream}/v1\r\n"
        );
        rows.push(throughput(
            PORTKEY,
            upstream,
            (&peer, &head),
            "Portkey",
            5.0,
        ));
    }
    rows.retain(|row| wanted(row.name));
    rows
}

fn latency(upstream: SocketAddr) -> [Row; 2] {
    let ours = Peer::roleos(upstream);
    let mut added = (Vec::new(), Vec::new());
    for _ in 0..turns(RUNS) {
        let direct = load::at_rate(upstream, 500, 6);
        let through = load::at_rate(ours.address, 500, 6);
        added
            .0
            .push(quantile(&through, 0.5) - quantile(&direct, 0.5));
        added
            .1
            .push(quantile(&through, 0.99) - quantile(&direct, 0.99));
    }
    [
        Row::within(P50, Figure::of(added.0), 300.0, "us"),
        Row::within(P99, Figure::of(added.1), 1000.0, "us"),
    ]
}

fn throughput(
    name: &'static str,
    upstream: SocketAddr,
    (peer, head): (&Peer, &str),
    peer_name: &'static str,
    goal: f64,
) -> Row {
    let ours = Peer::roleos(upstream);
    let time = Duration::from_secs(4);
    let (mut rates, mut peers) = (Vec::new(), Vec::new());
    // Both are warmed up before they are measured.
    load::throughput(ours.address, "", CONNECTIONS, Duration::from_secs(1));
    load::throughput(peer.address, head, CONNECTIONS, Duration::from_secs(1));
    for _ in 0..turns(RUNS) {
        rates.push(load::throughput(ours.address, "", CONNECTIONS, time));
        peers.push(load::throughput(peer.address, head, CONNECTIONS, time));
    }
    Row::new(
        name,
        (Figure::of(rates), Figure::of(peers)),
        peer_name,
        "req/s",
        Goal::AtLeast(goal),
    )
}

fn memory(upstream: SocketAddr) -> [Row; 2] {
    let ours = Peer::roleos(upstream);
    let rest = ours.megabytes();
    let open = load::streams(ours.address, 1000);
    let rows = [
        Row::within(STREAMS, ours.megabytes(), 200.0, "MB"),
        Row::within(REST, rest, 60.0, "MB"),
    ];
    drop(open);
    rows
}
