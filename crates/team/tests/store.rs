//! The store by itself: its tables, its pool, and errors while the database is away.

use std::thread;

use team::throwaway::{Durability, Server};
use team::{Address, Team, TeamError};

#[test]
fn tables_are_made_once_however_many_begin_and_a_newer_schema_is_refused() {
    let server = Server::start(Durability::Quick).unwrap();
    let url = server.database().unwrap();
    let address = || Address::parse(&url, None).unwrap();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| Team::open(address()).unwrap());
        }
    });
    let team = Team::open(address()).unwrap();
    let count = |sql: &str| -> i64 {
        team.with(|client| Ok(client.query_one(sql, &[])?.get(0)))
            .unwrap()
    };
    assert!(count("SELECT count(*) FROM roleos_migrations") >= 1);
    assert_eq!(
        count("SELECT count(*) FROM pg_inherits WHERE inhparent = 'log_lines'::regclass"),
        3,
        "this month, the next, and the rest"
    );
    let change = |sql: &str| team.with(|client| client.batch_execute(sql)).unwrap();
    change("UPDATE roleos_migrations SET sha256 = 'x' WHERE number = 1");
    let said = Team::open(address()).unwrap_err();
    assert!(
        matches!(said, TeamError::OtherSchema { number: 1, .. }),
        "{said}"
    );
    change("INSERT INTO roleos_migrations VALUES (9999, 'x')");
    let said = Team::open(address()).unwrap_err();
    assert!(
        matches!(said, TeamError::NewerSchema { found: 9999, .. }),
        "{said}"
    );
}

#[test]
fn a_database_that_goes_away_is_told_from_one_that_refuses_and_comes_back() {
    let mut server = Server::start(Durability::Quick).unwrap();
    let team = Team::open(server.address().unwrap()).unwrap();
    let one = |team: &Team| team.with(|client| client.query_one("SELECT 1", &[]).map(drop));
    one(&team).unwrap();
    let refused = team.with(|client| client.batch_execute("SELECT nonsense"));
    assert!(matches!(refused, Err(TeamError::Refused { .. })));
    server.crash().unwrap();
    assert!(one(&team).unwrap_err().is_away());
    assert!(one(&team).unwrap_err().is_away());
    server.resume().unwrap();
    let came_back = (0..100).any(|_| {
        thread::sleep(std::time::Duration::from_millis(20));
        one(&team).is_ok()
    });
    assert!(came_back);
    // More callers than connections wait for each other.
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                team.with(|client| client.batch_execute("SELECT pg_sleep(0.01)"))
                    .unwrap();
            });
        }
    });
}

#[test]
fn the_store_is_used_from_a_thread_of_an_async_runtime() {
    let server = Server::start(Durability::Quick).unwrap();
    let address = server.address().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let team = Team::open(address).unwrap();
        team.with(|client| client.batch_execute("SELECT 1"))
            .unwrap();
        team.with(|client| client.batch_execute("SELECT nonsense"))
            .unwrap_err();
    });
}
