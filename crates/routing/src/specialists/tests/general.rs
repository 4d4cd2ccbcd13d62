//! The general model's cap, and a program that replaces it.

use super::*;

#[test]
fn a_cap_holds_for_sixteen_at_once_and_what_was_not_spent_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let spending = Spending::new(folder.path(), Some(1000));
    let paid = thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| (0..20).filter(|_| spending.reserve(10).is_ok()).count()))
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum::<usize>()
    });
    assert_eq!(paid, 100);
    assert!(matches!(
        spending.reserve(1),
        Err(SpendingError::Cap {
            cap: 1000,
            spent: 1000
        })
    ));
    spending.settle(10, 3).unwrap();
    spending.reserve(7).unwrap();
    assert!(spending.reserve(1).is_err());
    let yesterday = "{\"day\":\"2020-01-01\",\"micro_usd\":1000}";
    files::write(
        &folder.path().join("fallback-spending.json"),
        yesterday.as_bytes(),
        Privacy::Shared,
    )
    .unwrap();
    spending.reserve(1000).unwrap();
    files::write(
        &folder.path().join("fallback-spending.json"),
        b"?",
        Privacy::Shared,
    )
    .unwrap();
    assert!(matches!(
        spending.reserve(1),
        Err(SpendingError::Damaged(_))
    ));
    assert!(Spending::new(folder.path(), None).reserve(u64::MAX).is_ok());
}

#[test]
fn a_program_answers_fails_is_too_slow_or_too_loud() {
    let run = |script: &str| {
        let words = ["sh", "-c", script].map(str::to_owned);
        command::run(
            &words,
            &vec![b'x'; 1 << 20],
            std::time::Duration::from_secs(2),
            1000,
        )
    };
    assert_eq!(run("echo '{\"a\":1}'").unwrap(), b"{\"a\":1}\n");
    assert_eq!(run("cat | wc -c").unwrap().trim_ascii(), b"1048576");
    assert!(
        run("exit 3")
            .unwrap_err()
            .to_string()
            .contains("exit status: 3")
    );
    assert!(
        run("sleep 60")
            .unwrap_err()
            .to_string()
            .contains("longer than 2 seconds")
    );
    assert!(
        run("yes | head -c 5000")
            .unwrap_err()
            .to_string()
            .contains("more than 1000 bytes")
    );
    let missing = command::run(
        &["/no/such/program".to_owned()],
        b"",
        std::time::Duration::from_secs(1),
        10,
    );
    assert!(
        missing
            .unwrap_err()
            .to_string()
            .contains("cannot start `/no/such/program`")
    );
}
