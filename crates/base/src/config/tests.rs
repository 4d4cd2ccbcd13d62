//! Messages about wrong settings files, and values of correct ones.

use std::fs;

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("config.toml"), text)
}

/// Asserts that `text` is refused with exactly this line.
fn check(text: &str, expected: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), expected);
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(config.witness.max_bundle_bytes(), 256 * MIB);
    assert_eq!(config.rerun.timeout(), Duration::from_secs(900));
    assert_eq!(config.rerun.max_memory_bytes(), 4096 * MIB);
    assert_eq!(config.rerun.max_output_bytes(), 16 * MIB);
}

#[test]
fn what_is_set_is_kept_and_the_rest_stays_default() {
    let config = parse("[witness]\nthreads = 3\n").unwrap();
    assert_eq!(config.witness.thread_count().get(), 3);
    assert_eq!(config.witness.max_bundle_mib.get(), 256);
    assert_eq!(config.rerun, Rerun::default());
}

#[test]
fn zero_threads_means_the_machines_own_number() {
    let machine = thread::available_parallelism().unwrap();
    assert_eq!(Config::default().witness.thread_count(), machine);
}

#[test]
fn out_of_range_names_line_key_and_range() {
    check(
        "# mine\n[rerun]\ntimeout_seconds = 0\n",
        "cannot use settings file `config.toml` line 3, key `rerun.timeout_seconds`: \
         invalid value: integer `0`, expected a whole number from 1 to 86400",
    );
    check(
        "[witness]\nthreads = -1",
        "cannot use settings file `config.toml` line 2, key `witness.threads`: \
         invalid value: integer `-1`, expected a whole number from 0 to 1024",
    );
}

#[test]
fn the_wrong_type_names_what_is_expected() {
    check(
        "rerun.max_memory_mib = \"4 GiB\"",
        "cannot use settings file `config.toml` line 1, key `rerun.max_memory_mib`: \
         invalid type: string \"4 GiB\", expected a whole number from 64 to 1048576",
    );
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    check(
        "[witness]\nthread = 1",
        "cannot use settings file `config.toml` line 2, key `witness.thread`: \
         unknown field `thread`, expected `max_bundle_mib` or `threads`",
    );
    check(
        "[wittness]",
        "cannot use settings file `config.toml` line 1, key `wittness`: \
         unknown field `wittness`, expected one of `witness`, `acceptance`, `rerun`, `oversight`, `specialist`, `selection`, `privacy`, `fallback`, `gateway`, `catalog`, `ship`, `retention`, `telemetry`, `notify`, `store`, `oidc`",
    );
}

#[test]
fn broken_toml_names_the_line() {
    let error = parse("[witness]\nthreads = = 2\n").unwrap_err();
    let ConfigError::Setting { place, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(place.line, Some(2));
    assert_eq!(place.key, None);
    assert!(!error.to_string().contains('\n'));
    assert!(error.hint().contains("TOML"));
}

/// Returns a new workspace, with `content` as its settings file if given.
fn workspace(content: Option<&[u8]>) -> (tempfile::TempDir, Workspace) {
    let guard = tempfile::tempdir().unwrap();
    let workspace = Workspace::at(guard.path()).unwrap();
    fs::create_dir(workspace.role_os_dir()).unwrap();
    if let Some(content) = content {
        let mut file = fs::File::create(workspace.config_path()).unwrap();
        io::Write::write_all(&mut file, content).unwrap();
    }
    (guard, workspace)
}

#[test]
fn a_missing_file_means_the_defaults_unless_it_was_named() {
    let (_guard, workspace) = workspace(None);
    let loaded = Config::load(&workspace, &Environment::default()).unwrap();
    assert_eq!(loaded, Config::default());

    let named = Environment {
        config: Some(workspace.root().join("mine.toml")),
        ..Environment::default()
    };
    let error = Config::load(&workspace, &named).unwrap_err();
    assert!(error.to_string().ends_with("mine.toml`"), "{error}");
}

#[test]
fn the_named_file_wins_over_the_workspaces() {
    let (_guard, usual) = workspace(Some(b"[witness]\nthreads = 1"));
    let (_other, named) = workspace(Some(b"[witness]\nthreads = 2"));
    let environment = Environment {
        config: Some(named.config_path()),
        ..Environment::default()
    };
    let loaded = Config::load(&usual, &environment).unwrap();
    assert_eq!(loaded.witness.threads.get(), 2);
}

#[test]
fn what_is_no_short_text_file_is_refused() {
    let (_guard, long) = workspace(Some(&vec![b'#'; 1024 * 1024 + 1]));
    let (_guard2, binary) = workspace(Some(b"\xff\xfe"));
    for path in [
        long.config_path(),
        binary.config_path(),
        long.root().to_owned(),
    ] {
        let error = Config::read(&path).unwrap_err();
        assert!(matches!(error, ConfigError::Read { .. }), "{error}");
    }
}

#[test]
fn the_reference_names_every_setting_with_type_default_and_meaning() {
    let page = reference_markdown();
    assert!(
        page.contains("| `timeout_seconds` | integer, 1 to 86400 | `900` | Seconds after which")
    );
    assert!(page.contains("| `ROLEOS_ROOT` |"));
    let defaults = toml::to_string(&Config::default()).unwrap();
    for key in defaults.lines().filter_map(|line| line.split_once(" = ")) {
        assert!(page.contains(&format!("| `{}` |", key.0)), "{}", key.0);
    }
}

#[test]
fn the_file_shown_in_the_reference_is_the_default() {
    let page = reference_markdown();
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    assert_eq!(parse(shown).unwrap(), Config::default());
}

#[test]
fn shares_prices_and_choices_are_named_with_what_is_expected() {
    check(
        "[specialist]\nshadow_tau = 1.5",
        "cannot use settings file `config.toml` line 2, key `specialist.shadow_tau`: \
         invalid value: floating point `1.5`, expected a number from 0 to 1",
    );
    check(
        "[fallback.claude]\ndaily_cap_usd = -1",
        "cannot use settings file `config.toml` line 2, key `fallback.claude.daily_cap_usd`: \
         invalid value: integer `-1`, expected a number from 0 to 1000000",
    );
    check(
        "[catalog]\ntrusted_keys = [\"00\"]",
        "cannot use settings file `config.toml` line 2, key `catalog.trusted_keys[0]`: \
         `00` is not an Ed25519 public key of 64 hexadecimal digits",
    );
    check(
        "[fallback.claude]\nkind = \"gpt\"",
        "cannot use settings file `config.toml` line 2, key `fallback.claude.kind`: \
         unknown variant `gpt`, expected one of `none`, `anthropic`, `openai`, `command`",
    );
    let config = parse("[specialist]\nquota_scope = \"fleet\"\nhalt_error = 0.001\n").unwrap();
    assert_eq!(config.specialist.halt_error.get(), 0.001);
    let page = reference_markdown();
    assert!(page.contains("## `[fallback.claude]`"));
    assert!(!page.contains("## `[fallback]`"));
}
