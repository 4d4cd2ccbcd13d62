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

/// Finds a failed task with the filters, replays it, and compares the two models.
fn look_at_tasks(browser: &Browser) {
    browser.goto("/");
    browser.sees("Cost to outcome");
    browser.follow("Tasks");
    browser.sees("25 bundles");
    let filters = "//form[@action=\"/tasks\"]";
    browser.tick(filters, "outcome", "failed");
    browser.tick(filters, "model", "large");
    browser.tick(filters, "model", "small");
    browser.press("Filter");
    browser.find("//tbody/tr[1]//span[.=\"failed\"]");
    browser.click("//tbody/tr[1]/th/a");
    browser.find("//h1[starts-with(normalize-space(), \"Task \")]");
    for part in ["in the ledger", "turn the sign", "a + b", "adds"] {
        browser.sees(part);
    }
    browser.goto("/tasks");
    browser.follow("Compare");
    let by_model = "//form[input[@value=\"model\"]]";
    browser.choose(by_model, "baseline", "small");
    browser.choose(by_model, "with", "large");
    browser.click(&format!("{by_model}//button"));
    browser.sees("Tasks in both");
    browser.find("//tbody/tr[1]//span[.=\"regression\"]");
}

fn change(browser: &Browser, act: &str, version: &str, sure: &str) {
    let form = format!("//form[input[@name=\"act\" and @value=\"{act}\"]]");
    if act == "promote" {
        browser.choose(&form, "version", version);
        browser.click(&format!("{form}//input[@name=\"force\"]"));
    } else {
        browser.click(&format!("//details[form/input[@value=\"{act}\"]]/summary"));
    }
    browser.write_in(&form, "reason", "seen in the field");
    browser.click(&format!("{form}//button"));
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
    browser.write("input", "one");
    browser.press("Ask the role");
    browser.find("//section[@id=\"try\"]//pre[contains(., \"receipt\")][contains(., \"short\")]");
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

    // The feed and the box of approvals receive the next refusal without a reload.
    browser.find("//*[@id=\"live\"][.=\"live\"]");
    stage.agent_wants("git push --force origin main").exits(2);
    browser.find(
        "//tbody[@id=\"feed\"]/tr[@class=\"new\"][.//span[.=\"deny\"]][contains(., \"git push --force\")]",
    );
    browser.find("//section[@id=\"waiting\"]//pre[contains(., \"git push --force origin main\")]");
    browser.find("//section[@id=\"waiting\"]//button[.=\"Allow exactly this, once\"]");

    browser.write("command", "env A=1 git push");
    browser.press("Ask");
    browser.find("//div[@role=\"status\"]//mark");

    browser.goto("/catalog");
    browser.find("//p[@aria-label=\"Languages\"]/a[@aria-current=\"true\"][.=\"en\"]");
    browser.follow("ru");
    browser.sees("Исследования");
    browser.click("//header//button[.=\"Log out\"]");
    browser.find("//header//a[.=\"Log in\"]");
}

/// An upstream's answer that tries to act as the operator: a page, and the same as a script.
const HOSTILE: &str = "<!doctype html><title>x</title><p id=shown>an upstream wrote this</p><script>
fetch('/v1/ran');
fetch('/api/grants', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ action: 'git:push', seconds: 60 }) });
fetch('/api/specialists/labeller/halt', { method: 'POST', credentials: 'include',
  headers: { 'content-type': 'application/json' }, body: JSON.stringify({ reason: 'x' }) });
</script>";

/// Ways to make one of our pages show or execute an answer of the upstream. Each returns the result.
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

    // A fetch returns the data, which shows that the upstream is reached and hostile.
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
    // The same script in our own page does make a change: the operator's cookie is there.
    let (_, code) = HOSTILE.split_once("<script>").unwrap();
    let (first, _) = code.split_once("fetch('/api/specialists").unwrap();
    browser.run(&first.replacen("fetch('/api", "await fetch('/api", 1));
    let granted = browser.run("return await (await fetch('/api/grants')).text()");
    assert_ne!(before, granted);
}

/// A session is one tree, which its task, its approvals and the search link to and which grows while it is viewed.
#[test]
fn a_session_is_one_tree_and_every_way_leads_there() {
    let stage = Stage::new();
    let browser = &Browser::open(&stage.origin, true);
    browser.screen(DESK);
    browser.goto("/");
    browser.write("q", "sum is wrong");
    browser.click("//header//button[.=\"Search\"]");
    browser.sees("2 found");
    browser.click("//h2[.=\"Tasks\"]/following-sibling::ul//a");
    browser.find("//h1[.=\"The sum is wrong. Find out why.\"]");
    // The command, whose digest is signed.
    browser.find("//section[@id=\"calls\"]//code[.=\"cargo test\"]");
    browser.find("//section[@id=\"calls\"]//code[.=\"git push origin main\"]");
    browser.click("//a[starts-with(normalize-space(), \"Session story\")]");
    browser.find("//section[h2[contains(., \"Prompt 1\")]]/pre[contains(., \"The sum is wrong\")]");
    let call = |command: &str| format!("//li[pre[.=\"{command}\"]]");
    browser.click(&format!("{}//summary[.=\"Output\"]", call("cargo test")));
    browser.find(&format!(
        "{}//pre[contains(., \"2 passed\")]",
        call("cargo test")
    ));
    browser.find(&format!(
        "{}//span[.=\"deny\"]",
        call("git push origin main")
    ));
    browser.find("//li[contains(., \"Sealed\")]//a[.=\"Task\"]");
    browser.find("//time[@datetime and contains(@title, \"UTC\")]");

    browser.goto("/sessions/live");
    browser.sees("there is no session");
    stage.agent_wants("git push origin main").exits(2);
    browser.goto("/sessions/live");
    browser.find("//*[@id=\"live\"][.=\"live\"]");
    stage.agent_wants("git push --tags").exits(2);
    browser.find(&call("git push --tags"));

    // A term shows its meaning without leaving the page.
    browser.goto("/ledger");
    browser.click("//h1/button[.=\"?\"]");
    browser.sees("append-only list of the hashes of all bundles");
    browser.goto("/traffic?span=all");
    browser.sees("labeller");
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
    let named: Vec<String> = [
        "/",
        "/tasks",
        "/tasks?outcome=failed&outcome=solved&sort=cost",
        "/tasks/compare?by=model&baseline=small&with=large",
        "/sessions",
        "/sessions/story",
        "/specialists",
        ROLE,
        "/exams",
        "/runs",
        "/prove",
        "/traffic?span=all",
        "/oversight?command=env%20A%3D1%20git%20push",
        "/catalog?lang=ru",
        "/catalog/roles/researcher?lang=ru",
        "/ledger?check=00",
        "/settings?all=yes",
        "/keys",
        "/search?q=push",
        "/help",
        "/help/oversight",
        "/help/witness-format",
        "/history",
        "/?by=day",
        "/login",
    ]
    .map(str::to_owned)
    .to_vec();
    let more = [
        format!("/tasks/{task}"),
        format!("/tasks/{failed}"),
        format!("/runs/{run}"),
        "/tasks/nothing".to_owned(),
    ];
    let pages = [named, more.to_vec()].concat();
    let browser = &Browser::open(&stage.origin, true);
    log_in(browser, &stage, "%2F");
    browser.goto("/exams");
    let exam = browser.run("return document.querySelector('tbody a').getAttribute('href')");
    let pages = [pages, vec![exam.as_str().unwrap().to_owned()]].concat();
    for screen in [DESK, DESK.dark(), PHONE, PHONE.dark()] {
        browser.screen(screen);
        for page in &pages {
            browser.goto(page);
            browser.is_fit_for_everybody(&format!("{page} on {screen:?}"));
        }
    }
    // If the header of a table is hidden, each cell shows the name of its column.
    let shown = "const cell = document.querySelector('#standings td.n'); \
                 return [cell.dataset.column, getComputedStyle(cell, '::before').content]";
    for (screen, is_shown) in [(PHONE, true), (DESK, false)] {
        browser.screen(screen);
        browser.goto("/runs");
        let found = browser.run(shown);
        assert_eq!(found[0], "Runs", "{found}");
        assert_eq!(found[1] != "none", is_shown, "{found}");
    }
    browser.sees("Times in ");
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
    browser.find("//*[contains(., \"UTC\")]");
    browser.write("command", "git push");
    browser.press("Ask");
    browser.find("//div[@role=\"status\"]//mark");
    browser.goto("/catalog");
    browser.follow("ru");
    browser.sees("Исследования");
}

/// `cargo xtask screenshots` sets the folder for the pictures of the documents; otherwise they are discarded.
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
