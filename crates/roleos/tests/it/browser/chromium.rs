//! Chromium under WebDriver, one at a time: actions of a person on a page, and findings of axe-core.
//!
//! WebDriver is JSON over HTTP, and only a dozen calls are needed: fewer lines than a client's dependencies.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const TOO_LONG: Duration = Duration::from_secs(30);

/// The key of elements in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Size and colour scheme of a screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) dark: bool,
}

pub(super) const DESK: Screen = Screen {
    width: 1280,
    height: 900,
    dark: false,
};

pub(super) const PHONE: Screen = Screen {
    width: 390,
    height: 844,
    dark: false,
};

impl Screen {
    pub(super) fn dark(self) -> Self {
        Self { dark: true, ..self }
    }
}

/// The driver's process, locked for one test at a time.
struct Driver {
    child: Child,
    port: u16,
    _alone: File,
}

impl Driver {
    fn start() -> Self {
        let lock = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium.lock");
        let alone = File::create(lock).unwrap();
        alone.lock().unwrap();
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is missing; `cargo xtask install` installs it");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let port = line.split("successfully on port ").nth(1)?;
            port.trim_end_matches('.').parse().ok()
        });
        let port = port.expect("chromedriver says its port");
        // It must not wait for a reader.
        thread::spawn(move || lines.for_each(drop));
        Self {
            child,
            port,
            _alone: alone,
        }
    }

    /// Connects; the driver prints its port a moment before it listens.
    fn connect(&self) -> TcpStream {
        let started = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => return stream,
                Err(error) => assert!(started.elapsed() < TOO_LONG, "chromedriver: {error}"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes one call; returns the value, or the error's message.
    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if method == "POST" {
            body.to_string()
        } else {
            String::new()
        };
        let mut stream = self.connect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.port,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        // The driver keeps every connection open, so the length determines the end of the answer.
        stream.set_read_timeout(Some(2 * TOO_LONG)).unwrap();
        let mut stream = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
            let line = head.get(start..).unwrap().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let value = serde_json::from_slice::<Value>(&body)
            .unwrap_or_else(|_| panic!("{method} {path}: {head}"))["value"]
            .take();
        if head.starts_with("HTTP/1.1 200") {
            Ok(value)
        } else {
            Err(format!("{} {}", value["error"], value["message"]))
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A browser with our pages; closed at any end of the test.
pub(super) struct Browser {
    driver: Driver,
    session: String,
    origin: String,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let path = format!("/session/{}", self.session);
        self.driver.call("DELETE", &path, &Value::Null).ok();
    }
}

impl Browser {
    /// Opens a browser for the pages at `origin`.
    pub(super) fn open(origin: &str, scripts: bool) -> Self {
        let driver = Driver::start();
        let profile = tempfile::tempdir().unwrap();
        let mut options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            format!("--user-data-dir={}", profile.path().display()),
        ]});
        if !scripts {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
                "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" },
            } } });
        let opened = driver.call("POST", "/session", &wanted).unwrap();
        Self {
            session: opened["sessionId"].as_str().unwrap().to_owned(),
            driver,
            origin: origin.to_owned(),
            _profile: profile,
        }
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let path = format!("/session/{}/{path}", self.session);
        self.driver.call(method, &path, body)
    }

    #[track_caller]
    fn call(&self, path: &str, body: &Value) -> Value {
        self.try_call("POST", path, body)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Sends a command of Chromium's own protocol, for actions that WebDriver lacks.
    fn tell(&self, command: &str, parameters: &Value) {
        let body = json!({ "cmd": command, "params": parameters });
        self.call("goog/cdp/execute", &body);
    }

    pub(super) fn screen(&self, screen: Screen) {
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            &json!({
                "width": screen.width, "height": screen.height, "deviceScaleFactor": 1, "mobile": screen.width < 600,
            }),
        );
        let scheme = if screen.dark { "dark" } else { "light" };
        self.tell(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [
                { "name": "prefers-color-scheme", "value": scheme },
                { "name": "prefers-reduced-motion", "value": "reduce" },
            ]}),
        );
    }

    pub(super) fn goto(&self, path: &str) {
        self.call("url", &json!({ "url": format!("{}{path}", self.origin) }));
    }

    /// Acts on the element at an XPath as soon as possible: the page may still be loading.
    #[track_caller]
    fn with(&self, xpath: &str, act: impl Fn(&str) -> Result<Value, String>) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.try_call(
                "POST",
                "element",
                &json!({ "using": "xpath", "value": xpath }),
            );
            let done = found.and_then(|element| act(element[ELEMENT].as_str().unwrap()));
            match done {
                Ok(value) => return value,
                Err(error) if begun.elapsed() > TOO_LONG => {
                    let address = self.try_call("GET", "url", &Value::Null);
                    panic!("`{xpath}` at {address:?}: {error}\n{}", self.text())
                }
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Runs a script in the page and returns the value of its promise.
    #[track_caller]
    pub(super) fn run(&self, script: &str) -> Value {
        let script = format!("return (async () => {{ {script} }})();");
        self.call("execute/sync", &json!({ "script": script, "args": [] }))
    }

    pub(super) fn text(&self) -> String {
        let body = json!({ "script": "return document.body.innerText", "args": [] });
        let text = self.try_call("POST", "execute/sync", &body);
        text.map_or_else(
            |error| error,
            |text| text.as_str().unwrap_or_default().to_owned(),
        )
    }

    /// Waits for an element.
    #[track_caller]
    pub(super) fn find(&self, xpath: &str) {
        self.with(xpath, |_| Ok(Value::Null));
    }

    /// Waits until this text is on the page.
    #[track_caller]
    pub(super) fn sees(&self, text: &str) {
        self.find(&format!(
            "//body//*[contains(normalize-space(.), \"{text}\")]"
        ));
    }

    #[track_caller]
    pub(super) fn click(&self, xpath: &str) {
        self.with(xpath, |element| {
            self.try_call("POST", &format!("element/{element}/click"), &json!({}))
        });
    }

    #[track_caller]
    pub(super) fn follow(&self, link: &str) {
        self.click(&format!("//a[normalize-space()=\"{link}\"]"));
    }

    #[track_caller]
    pub(super) fn press(&self, button: &str) {
        self.click(&format!("//main//button[normalize-space()=\"{button}\"]"));
    }

    #[track_caller]
    pub(super) fn write(&self, field: &str, text: &str) {
        self.write_in("", field, text);
    }

    /// Writes into a field of a form.
    #[track_caller]
    pub(super) fn write_in(&self, form: &str, field: &str, text: &str) {
        self.with(&format!("{form}//*[@name=\"{field}\"]"), |element| {
            self.try_call("POST", &format!("element/{element}/clear"), &json!({}))?;
            self.try_call(
                "POST",
                &format!("element/{element}/value"),
                &json!({ "text": text }),
            )
        });
    }

    /// Selects one of the values of a filter, which opens first.
    #[track_caller]
    pub(super) fn tick(&self, form: &str, field: &str, value: &str) {
        let chooser = format!("{form}//details[.//input[@name=\"{field}\"]]");
        self.click(&format!("{chooser}/summary"));
        self.click(&format!("{chooser}//input[@value=\"{value}\"]"));
        self.click(&format!("{chooser}/summary"));
    }

    /// Chooses an option of a list within a form.
    #[track_caller]
    pub(super) fn choose(&self, form: &str, field: &str, value: &str) {
        self.click(&format!(
            "{form}//select[@name=\"{field}\"]/option[@value=\"{value}\"]"
        ));
    }

    /// Asserts that nothing overflows the page, no table is cut off, the console has no error, and axe-core finds
    /// nothing serious or critical.
    #[track_caller]
    pub(super) fn is_fit_for_everybody(&self, what: &str) {
        let script =
            "const page = document.documentElement; return page.scrollWidth - page.clientWidth";
        let wide = self.call("execute/sync", &json!({ "script": script, "args": [] }));
        assert_eq!(wide, 0, "{what} is wider than the screen");
        let cut = self.call("execute/sync", &json!({ "script": CUT_OFF, "args": [] }));
        assert_eq!(cut, json!([]), "{what}: a table is cut off");
        let told = self.call("se/log", &json!({ "type": "browser" }));
        let told = told.as_array().unwrap().iter();
        // A missing page is the requested result.
        let is_error = |line: &&Value| {
            line["level"] == "SEVERE" && !line["message"].to_string().contains("status of 404")
        };
        let errors: Vec<_> = told.filter(is_error).collect();
        assert!(errors.is_empty(), "{what}: {errors:#?}");
        let script = format!("{}\n{LOOK}", axe());
        let found = self.call("execute/async", &json!({ "script": script, "args": [] }));
        assert_eq!(found["bad"], json!([]), "{what}: {found:#}");
        assert!(found["rules"].as_u64().unwrap() > 5, "{what}: {found:#}");
    }

    /// Returns the milliseconds from the beginning of the visit until text was visible.
    pub(super) fn first_contentful_paint(&self) -> f64 {
        let script = "return performance.getEntriesByType('paint')\
            .filter((one) => one.name === 'first-contentful-paint').map((one) => one.startTime)[0]";
        let body = json!({ "script": script, "args": [] });
        let begun = Instant::now();
        loop {
            if let Some(time) = self.call("execute/sync", &body).as_f64() {
                return time;
            }
            assert!(begun.elapsed() < TOO_LONG, "nothing was painted");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Writes a picture of the screen.
    pub(super) fn picture(&self, file: &Path) {
        let taken = self.try_call("GET", "screenshot", &Value::Null).unwrap();
        let mut decode = Command::new("base64")
            .arg("--decode")
            .stdin(Stdio::piped())
            .stdout(File::create(file).unwrap())
            .spawn()
            .unwrap();
        let text = taken.as_str().unwrap();
        decode
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(decode.wait().unwrap().success());
    }
}

/// Finds tables that are wider than their container; code and charts may scroll sideways.
const CUT_OFF: &str = "return [...document.querySelectorAll('.scroll')]\
    .filter((one) => one.querySelector('table') && !one.closest('.replay') && one.scrollWidth > one.clientWidth + 1)\
    .map((one) => one.getAttribute('aria-label') + ' ' + one.scrollWidth + ' > ' + one.clientWidth)";

/// Script that runs after axe-core's own.
const LOOK: &str = r"
const done = arguments[arguments.length - 1];
const line = (one) => one.id + ': ' + one.nodes.map((node) => node.target + ' ' + node.failureSummary).join('; ');
axe.run(document, { resultTypes: ['violations', 'passes'] }).then(
  (found) => done({
    rules: found.passes.length,
    bad: found.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map(line),
  }),
  (error) => done({ rules: 0, bad: [String(error)] }),
);";

/// Returns the script of axe-core, from the folder of `cargo xtask install` unless the variable names another.
fn axe() -> String {
    let installed = || {
        Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("../tools/browser/node_modules/axe-core/axe.min.js")
    };
    let path = std::env::var_os("ROLEOS_TEST_AXE").map_or_else(installed, PathBuf::from);
    std::fs::read_to_string(path).expect("axe-core is missing; `cargo xtask install` installs it")
}
