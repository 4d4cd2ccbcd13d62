//! The pages in a real browser, over a workspace in which everything has happened once.

use std::path::Path;

mod chromium;
mod stage;

use crate::adapter::{Adapter, Reply};
use chromium::{Browser, DESK, PHONE, Screen};
use stage::Stage;

const ROLE: &str = "/specialists/labeller";

fn log_in(browser: &Browser, stage: &Stage, next: &str) {
    browser.goto(&format!("/login?next={next}"));
    browser.write("code", &stage.code());
    browser.write("operator", "ada");
    browser.press("Log in");
    browser.find("//header//span[.=\"ada\"]");
}

/// Finds a failed task by the filters, replays it, and compares the two models.
fn look_at_tasks(browser: &Browser) {
    browser.goto("/");
    browser.sees("Cost to outcome");
    browser.follow("Tasks");
    browser.sees("25 bundles");
    let filters = "//form[@action=\"/tasks\"]";
    browser.choose(filters, "outcome", "failed");
    browser.choose(filters, "model", "large");
    browser.press("Filter");
    browser.find("//tbody/tr[1]//span[.=\"failed\"]");
    browser.click("//tbody/tr[1]/th/a");
    browser.find("//h1[starts-with(normalize-space(), \"Task \")]");
    for part in ["in the ledger", "turn the sign", "a + b", "adds"] {
        browser.sees(part);
    }
    browser.goto("/tasks");
    browser.follow("Against a baseline");
    let by_model = "//form[input[@value=\"model\"]]";
    browser.choose(by_model, "baseline", "small");
    browser.choose(by_model, "with", "large");
    browser.click(&format!("{by_model}//button"));
    browser.sees("Tasks in both");
    browser.find("//tbody/tr[1]//span[.=\"regression\"]");
}

fn change(browser: &Browser, act: &str, version: &str, sure: &str) {
    let form = "//form[.//select[@name=\"act\"]]";
    browser.choose(form, "act", act);
    browser.choose(form, "version", version);
    browser.write("reason", "seen in the field");
    if act == "promote" {
        browser.click(&format!("{form}//input[@name=\"force\"]"));
    }
    browser.press("Go on");
    browser.sees("The evidence");
    browser.press(sure);
    let active = format!("//th[starts-with(normalize-space(), \"{version}\")]/span[.=\"active\"]");
    browser.find(&active);
}

#[test]
fn a_person_finds_replays_compares_promotes_approves_and_revokes() {
    let stage = Stage::new();
    let browser = &Browser::open(&stage.origin, true);
    browser.screen(DESK);
    look_at_tasks(browser);
    browser.goto(ROLE);
    browser.sees("to promote, roll back, halt or clear");
    log_in(browser, &stage, "%2Fspecialists%2Flabeller");
    change(browser, "promote", "v2", "Make version v2 active");
    change(browser, "rollback", "v1", "Go back to version v1");

    // A push waits; it is allowed exactly once.
    browser.goto("/oversight");
    browser.find("//section[@id=\"waiting\"]//pre[contains(., \"git push origin main\")]");
    browser.press("Allow exactly this, once");
    browser.sees("Nothing was refused that could be approved.");
    stage.agent_wants("git push origin main").exits(0);
    stage.agent_wants("git push origin main").exits(2);

    // A grant holds until it is revoked.
    browser.goto("/oversight");
    browser.click("//summary[.=\"Grant an action\"]");
    browser.choose("//form[@action=\"/oversight/grant\"]", "action", "git:push");
    browser.press("Grant");
    browser.find("//section[@id=\"grants\"]//th[.=\"git:push\"]");
    stage.agent_wants("git push origin main").exits(0);
    browser.press("Revoke");
    browser.sees("Nothing is granted.");
    stage.agent_wants("git push origin main").exits(2);

    // The feed hears of the next refusal without being asked again.
    browser.find("//*[@id=\"live\"][.=\"live\"]");
    stage.agent_wants("git push --force origin main").exits(2);
    browser.find(
        "//tbody[@id=\"feed\"]/tr[@class=\"new\"][.//span[.=\"deny\"]][contains(., \"git push --force\")]",
    );

    browser.write("command", "env A=1 git push");
    browser.press("Ask");
    browser.find("//div[@role=\"status\"]//mark");

    browser.goto("/catalog");
    browser.follow("ru");
    browser.sees("Исследования");
    browser.click("//header//button[.=\"Log out\"]");
    browser.find("//header//a[.=\"Log in\"]");
}

/// What an upstream answers that means to act as the operator: a page, and the same as a script.
const HOSTILE: &str = "<!doctype html><title>x</title><p id=shown>an upstream wrote this</p><script>
fetch('/v1/ran');
fetch('/api/grants', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ action: 'git:push', seconds: 60 }) });
fetch('/api/specialists/labeller/halt', { method: 'POST', credentials: 'include',
  headers: { 'content-type': 'application/json' }, body: JSON.stringify({ reason: 'x' }) });
</script>";

/// Ways in which a page of ours can be made to show or execute an answer of the upstream. Each says what happened.
const EMBEDDED: &[&str] = &[
    "const f = document.createElement('iframe'); f.src = '/v1/page'; document.body.append(f); \
     await new Promise(r => { f.onload = r; f.onerror = r; setTimeout(r, 2000); }); \
     try { return f.contentDocument.getElementById('shown') ? 'shown' : 'refused' } catch { return 'refused' }",
    "const s = document.createElement('script'); s.src = '/v1/script.js'; document.head.append(s); \
     return await new Promise(r => { s.onload = () => r('ran'); s.onerror = () => r('refused'); })",
    "try { await import('/v1/script.js'); return 'ran' } catch { return 'refused' }",
    "try { await navigator.serviceWorker.register('/v1/worker.js'); return 'ran' } catch { return 'refused' }",
    "try { const w = new Worker('/v1/worker.js'); \
     return await new Promise(r => { w.onerror = () => r('refused'); setTimeout(() => r('silent'), 2000); }) } \
     catch { return 'refused' }",
];

#[test]
fn a_page_of_an_upstream_does_not_act_as_the_operator() {
    let headers = "content-type: text/html\r\nset-cookie: roleos_session=x; Path=/\r\n\
                   access-control-allow-origin: *\r\nservice-worker-allowed: /\r\n";
    let script = "content-type: text/javascript\r\nservice-worker-allowed: /\r\n";
    let upstream = Adapter::new(move |request| {
        if request.line.contains(".js") {
            let (_, code) = HOSTILE.split_once("<script>").unwrap();
            Reply::Http(200, script, code.replace("</script>", ""))
        } else {
            Reply::Http(200, headers, HOSTILE.to_owned())
        }
    });
    let stage = Stage::with_upstream(&upstream.url);
    let browser = &Browser::open(&stage.origin, true);
    browser.screen(DESK);
    log_in(browser, &stage, "%2Foversight");
    let before = browser.run("return await (await fetch('/api/grants')).text()");

    // A fetch hands the data over, which shows that the upstream is reached and hostile.
    let told = browser.run("const a = await fetch('/v1/data'); return [a.status, await a.text()]");
    assert_eq!(told[0], 200, "{told}");
    assert!(told[1].as_str().unwrap().contains("/api/grants"), "{told}");
    for path in [
        "/v1/page",
        "/docs",
        "/v1/../v1/page",
        "/v1/page?next=/oversight",
    ] {
        browser.goto(path);
        assert!(
            !browser.text().contains("an upstream wrote this"),
            "{path}: {}",
            browser.text()
        );
    }
    browser.goto("/oversight");
    for way in EMBEDDED {
        let ended = browser.run(way);
        assert_ne!(ended, "ran", "{way}");
        assert_ne!(ended, "shown", "{way}");
    }
    browser.goto("/oversight");
    browser.find("//header//span[.=\"ada\"]");
    let after = browser.run("return await (await fetch('/api/grants')).text()");
    assert_eq!(before, after);
    browser.sees("Nothing is granted.");
    stage.agent_wants("git push origin main").exits(2);
    browser.goto(ROLE);
    assert!(!browser.text().contains("halted"), "{}", browser.text());
    let seen = upstream.seen();
    assert!(seen.iter().any(|request| request.line.contains("/v1/data")));
    assert!(
        !seen.iter().any(|request| request.line.contains("/v1/ran")),
        "{seen:#?}"
    );
    // The same script in a page of ours does change something: the operator's cookie is there.
    let (_, code) = HOSTILE.split_once("<script>").unwrap();
    let (first, _) = code.split_once("fetch('/api/specialists").unwrap();
    browser.run(&first.replacen("fetch('/api", "await fetch('/api", 1));
    let granted = browser.run("return await (await fetch('/api/grants')).text()");
    assert_ne!(before, granted);
}

#[test]
fn every_page_is_fit_for_everybody() {
    let stage = Stage::new();
    let run = stage
        .workspace
        .roleos(&["--json", "runs", "list"])
        .exits(0)
        .json();
    let run = run["runs"][0]["run_id"].as_str().unwrap().to_owned();
    let task = "02".repeat(16);
    let failed = "08".repeat(16);
    let pages = [
        "/".to_owned(),
        "/tasks".to_owned(),
        "/tasks/compare?by=model&baseline=small&with=large".to_owned(),
        format!("/tasks/{task}"),
        format!("/tasks/{failed}"),
        "/specialists".to_owned(),
        ROLE.to_owned(),
        "/runs".to_owned(),
        format!("/runs/{run}"),
        "/oversight?command=env%20A%3D1%20git%20push".to_owned(),
        "/catalog?lang=ru".to_owned(),
        "/catalog/roles/researcher?lang=ru".to_owned(),
        "/login".to_owned(),
        "/tasks/nothing".to_owned(),
    ];
    let browser = &Browser::open(&stage.origin, true);
    log_in(browser, &stage, "%2F");
    for screen in [DESK, DESK.dark(), PHONE, PHONE.dark()] {
        browser.screen(screen);
        for page in &pages {
            browser.goto(page);
            browser.is_fit_for_everybody(&format!("{page} on {screen:?}"));
        }
    }
}

#[test]
fn without_scripts_everything_is_there_but_the_live_feed() {
    let stage = Stage::new();
    let browser = &Browser::open(&stage.origin, false);
    browser.screen(PHONE);
    look_at_tasks(browser);
    log_in(browser, &stage, "%2Fspecialists%2Flabeller");
    change(browser, "promote", "v2", "Make version v2 active");
    browser.goto("/oversight");
    browser.find("//*[@id=\"live\"][.=\"as of now\"]");
    browser.press("Allow exactly this, once");
    browser.sees("Nothing was refused that could be approved.");
    stage.agent_wants("git push origin main").exits(0);
    browser.write("command", "git push");
    browser.press("Ask");
    browser.find("//div[@role=\"status\"]//mark");
    browser.goto("/catalog");
    browser.follow("ru");
    browser.sees("Исследования");
}

/// `cargo xtask screenshots` says where the pictures of the documents are; otherwise they are made and thrown away.
#[test]
fn pictures_of_the_pages_are_small_enough_for_the_documents() {
    let nowhere = tempfile::tempdir().unwrap();
    let named = std::env::var_os("ROLEOS_TEST_PICTURES");
    let folder = named.as_deref().map_or(nowhere.path(), Path::new);
    let stage = Stage::new();
    let tall = |height| Screen { height, ..DESK };
    let replay = format!("/tasks/{}", "08".repeat(16));
    let diff = format!("{replay}#diff");
    let pictures = [
        ("overview", "/", tall(1000)),
        ("overview-dark", "/", tall(1000).dark()),
        ("overview-phone", "/", PHONE),
        ("replay", replay.as_str(), tall(1400)),
        ("replay-dark", replay.as_str(), tall(1400).dark()),
        ("diff", diff.as_str(), tall(700)),
        ("diff-dark", diff.as_str(), tall(700).dark()),
        ("outcomes", "/#outcomes", tall(900)),
        ("specialist", ROLE, tall(1100)),
        ("specialist-dark", ROLE, tall(1100).dark()),
        (
            "oversight",
            "/oversight?command=env%20A%3D1%20git%20push",
            tall(1200),
        ),
        (
            "oversight-dark",
            "/oversight?command=env%20A%3D1%20git%20push",
            tall(1200).dark(),
        ),
    ];
    let browser = &Browser::open(&stage.origin, true);
    log_in(browser, &stage, "%2F");
    for (name, page, screen) in pictures {
        browser.screen(screen);
        browser.goto(page);
        let file = folder.join(format!("{name}.png"));
        browser.picture(&file);
        let paint = browser.first_contentful_paint();
        println!("first contentful paint of {page}: {paint:.0} ms");
        let size = std::fs::metadata(&file).unwrap().len();
        assert!((5_000..200_000).contains(&size), "{name}: {size} bytes");
    }
}
