//! A person at a browser: headless Chromium through chromedriver (WebDriver). At its end a story fails if the page wrote
//! an error to the console, which includes everything that its Content-Security-Policy stopped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use dsrs_test::{PATIENCE, fixed_port, found, http_client};

/// The screens of a person: a laptop and a telephone.
pub const SCREENS: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// The colour schemes of a system.
pub const SCHEMES: [&str; 2] = ["light", "dark"];

/// Ends after a frame that was drawn when every image was decoded or failed, and after what that has caused.
const SETTLED: &str = "
const done = arguments[arguments.length - 1];
const images = [...document.images].map((image) => image.decode().catch(() => null));
Promise.all(images).then(() => requestAnimationFrame(() => setTimeout(done)));";

/// A browser with one window.
pub struct Browser {
    driver: Child,
    client: Client,
    session: String,
    width: u32,
    height: u32,
    scheme: &'static str,
    /// Texts in messages of the console that a story expects.
    expected: Vec<String>,
}

impl Browser {
    /// A browser with a window of 1280 pixels; nothing where no browser is.
    pub async fn start() -> Option<Self> {
        Self::start_with(SCREENS[0], "light").await
    }

    /// A browser with this window, in this colour scheme.
    pub async fn start_with(screen: (u32, u32), scheme: &'static str) -> Option<Self> {
        let found = ["chromium", "chromedriver"].map(find_program);
        let [Some(_), Some(chromedriver)] = found else {
            let required = std::env::var("DSRS_REQUIRE_BROWSER").is_ok_and(|value| value == "1");
            assert!(
                !required,
                "chromium and chromedriver are missing (Debian: chromium chromium-driver)"
            );
            println!(
                "SKIPPED: no chromium and chromedriver here; the page was NOT opened in a browser"
            );
            return None;
        };
        let port = fixed_port();
        let mut command = Command::new(chromedriver);
        command.arg(format!("--port={port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut browser = Self {
            driver: command.spawn().unwrap(),
            client: http_client(),
            session: format!("http://127.0.0.1:{port}"),
            width: screen.0,
            height: screen.1,
            scheme,
            expected: Vec::new(),
        };
        browser.open_session().await;
        Some(browser)
    }

    async fn open_session(&mut self) {
        let status = format!("{}/status", self.session);
        found("chromedriver", async || self.client.get(&status).send().await.ok()).await;
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--force-prefers-reduced-motion",
        ];
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments},
            "unhandledPromptBehavior": "ignore"
        }}});
        let opened = self.call(Method::POST, "/session", capabilities).await;
        self.session =
            format!("{}/session/{}", self.session, opened["sessionId"].as_str().unwrap());
        let patience = u64::try_from(PATIENCE.as_millis()).unwrap();
        let timeouts = json!({"script": patience, "pageLoad": patience});
        self.call(Method::POST, "/timeouts", timeouts).await;
        self.set_screen((self.width, self.height)).await;
        self.set_scheme(self.scheme).await;
    }

    /// Resizes the window.
    pub async fn set_screen(&mut self, (width, height): (u32, u32)) {
        (self.width, self.height) = (width, height);
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Changes the colour scheme of the system.
    pub async fn set_scheme(&mut self, scheme: &'static str) {
        self.scheme = scheme;
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.session))
            // Longer than a script may take.
            .timeout(2 * PATIENCE);
        let request = if method == Method::POST { request.body(body.to_string()) } else { request };
        let text = request.send().await.unwrap().text().await.unwrap();
        let answer: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let value = answer["value"].clone();
        assert!(
            value["error"].is_null(),
            "{path} {body}: {}: {}",
            value["error"],
            value["message"]
        );
        value
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.call(Method::POST, "/goog/cdp/execute", body).await
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) {
        self.call(Method::POST, "/url", json!({"url": url})).await;
    }

    /// The address that is open.
    pub async fn address(&self) -> String {
        self.call(Method::GET, "/url", Value::Null).await.as_str().unwrap().to_owned()
    }

    /// Runs a script and returns its result.
    pub async fn run(&self, script: &str) -> Value {
        self.run_with(script, &[]).await
    }

    /// Runs a script with arguments.
    pub async fn run_with(&self, script: &str, arguments: &[Value]) -> Value {
        self.call(Method::POST, "/execute/sync", json!({"script": script, "args": arguments})).await
    }

    /// Runs a script that calls its last argument with the result.
    pub async fn run_async(&self, script: &str) -> Value {
        self.call(Method::POST, "/execute/async", json!({"script": script, "args": []})).await
    }

    /// Waits until the document, its scripts and its images have been loaded or refused, and were drawn.
    pub async fn until_settled(&self) {
        self.until("document.readyState === 'complete'", "the document").await;
        self.run_async(SETTLED).await;
    }

    /// Waits until an expression of JavaScript is true.
    pub async fn until(&self, condition: &str, what: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.run(&format!("return Boolean({condition})")).await != Value::Bool(true) {
            if Instant::now() > deadline {
                let text = self.text("body").await;
                panic!("waited too long for {what} at {}:\n{text}", self.address().await);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until an element exists and is visible.
    pub async fn until_shown(&self, css: &str) {
        // What happens to it before its scripts run is lost.
        let condition = format!(
            "document.readyState === 'complete' && document.querySelector({})?.checkVisibility()",
            json!(css)
        );
        self.until(&condition, css).await;
    }

    /// Waits until the text of the page contains this.
    pub async fn until_text(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text)), text).await;
    }

    async fn element(&self, css: &str) -> String {
        self.until_shown(css).await;
        let found = self
            .call(Method::POST, "/element", json!({"using": "css selector", "value": css}))
            .await;
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    /// Clicks an element, where a person sees it.
    pub async fn click(&self, css: &str) {
        let element = self.element(css).await;
        self.call(Method::POST, &format!("/element/{element}/click"), json!({})).await;
    }

    /// Replaces the text of a field.
    pub async fn fill(&self, css: &str, text: &str) {
        let element = self.element(css).await;
        self.call(Method::POST, &format!("/element/{element}/clear"), json!({})).await;
        self.call(Method::POST, &format!("/element/{element}/value"), json!({"text": text})).await;
    }

    /// Chooses an option of a list by its value.
    pub async fn choose(&self, css: &str, value: &str) {
        self.until_shown(css).await;
        let script = "const field = document.querySelector(arguments[0]); field.value = arguments[1]; \
                      field.dispatchEvent(new Event('input', {bubbles: true})); \
                      field.dispatchEvent(new Event('change', {bubbles: true}));";
        self.run_with(script, &[json!(css), json!(value)]).await;
    }

    /// Presses keys in the element that has the focus. `\u{E009}` is Control, until `\u{E000}`.
    pub async fn press(&self, keys: &str) {
        let active = self.call(Method::GET, "/element/active", Value::Null).await;
        let element =
            active.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.call(Method::POST, &format!("/element/{element}/value"), json!({"text": keys})).await;
    }

    /// Drags with the mouse from one element to another.
    pub async fn drag(&self, from: &str, to: &str) {
        let (from, to) = (self.element(from).await, self.element(to).await);
        let over = |element: &str, duration: u32| {
            let origin = json!({"element-6066-11e4-a52e-4f735466cecf": element});
            json!({"type": "pointerMove", "duration": duration, "x": 0, "y": 0, "origin": origin})
        };
        let steps = json!([
            over(&from, 50), {"type": "pointerDown", "button": 0}, over(&to, 150), over(&to, 50),
            {"type": "pointerUp", "button": 0}
        ]);
        let mouse = json!({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps});
        self.call(Method::POST, "/actions", json!({"actions": [mouse]})).await;
    }

    /// The visible text of an element.
    pub async fn text(&self, css: &str) -> String {
        let text = self
            .run_with("return document.querySelector(arguments[0])?.innerText ?? ''", &[json!(css)])
            .await;
        text.as_str().unwrap_or_default().to_owned()
    }

    /// How many elements there are.
    pub async fn count(&self, css: &str) -> u64 {
        self.run_with("return document.querySelectorAll(arguments[0]).length", &[json!(css)])
            .await
            .as_u64()
            .unwrap()
    }

    /// Stores a picture of the whole view under `target/page-screenshots/`, and checks that nothing is cut at the right.
    pub async fn picture(&self, name: &str) {
        let size = self.run("const root = document.documentElement; return [root.scrollWidth, root.scrollHeight]").await;
        let (wide, high) = (size[0].as_u64().unwrap(), size[1].as_u64().unwrap());
        let address = self.address().await;
        assert!(
            wide <= u64::from(self.width),
            "{address} is {wide} pixels wide, the screen {}",
            self.width
        );
        let shown = json!({
            "width": self.width, "height": high.clamp(u64::from(self.height), 4_000), "deviceScaleFactor": 1,
            "mobile": self.width < 600
        });
        self.devtools("Emulation.setDeviceMetricsOverride", shown).await;
        let picture = self.devtools("Page.captureScreenshot", json!({"format": "png"})).await;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(picture["data"].as_str().unwrap())
            .unwrap();
        let file = screenshots().join(format!("{name}-{}-{}.png", self.width, self.scheme));
        std::fs::write(file, bytes).unwrap();
        let screen = json!({"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": self.width < 600});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// Expects a message of the console that contains this text.
    pub fn expect_message(&mut self, text: &str) {
        self.expected.push(text.to_owned());
    }

    /// Fails if the page wrote an error to the console.
    pub async fn check_console(&self) {
        let messages = self.call(Method::POST, "/se/log", json!({"type": "browser"})).await;
        let is_error = |message: &&Value| {
            let text = message["message"].as_str().unwrap_or_default();
            message["level"] == "SEVERE"
                && !self.expected.iter().any(|expected| text.contains(expected))
        };
        let errors: Vec<String> =
            messages.as_array().unwrap().iter().filter(is_error).map(ToString::to_string).collect();
        assert!(
            errors.is_empty(),
            "the console of {} has errors:\n{}",
            self.address().await,
            errors.join("\n")
        );
    }

    /// Ends the story.
    pub async fn close(self) {
        self.check_console().await;
        self.call(Method::DELETE, "", Value::Null).await;
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// A program of the path.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// Where pictures are stored, for people and for the continuous integration.
fn screenshots() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("page-screenshots");
    std::fs::create_dir_all(&target).unwrap();
    target
}
