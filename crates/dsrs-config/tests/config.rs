//! Settings: precedence of layers, and the message for each mistake.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, unreachable_pub)]

use std::path::PathBuf;

use dsrs::lm::ReasoningEffort;
use dsrs_config::{
    CacheMarks, Config, Environment, Flags, McpTransport, Record, all_settings, settings_markdown,
};
use dsrs_sandbox::Wall;
use secrecy::ExposeSecret;

/// Environment and flags with no settings file in sight.
fn load(env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let settings = flags.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    let flags = Flags { config: None, settings };
    Config::load(&flags, &env.iter().copied().collect()).map_err(|error| error.problems)
}

/// A settings file that lives as long as the test.
struct SettingsFile {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl SettingsFile {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dsrs.toml");
        std::fs::write(&path, text).unwrap();
        Self { _directory: directory, path }
    }

    fn load(&self, env: &[(&str, &str)]) -> Result<Config, Vec<String>> {
        let flags = Flags { config: Some(self.path.clone()), ..Flags::default() };
        let env: Environment = env.iter().copied().collect();
        let name = format!("{}:", self.path.display());
        Config::load(&flags, &env).map_err(|error| {
            error.problems.iter().map(|line| line.replace(&name, "FILE:")).collect()
        })
    }
}

fn problems(result: Result<Config, Vec<String>>) -> Vec<String> {
    result.err().unwrap_or_default()
}

#[test]
fn the_defaults_make_a_server_for_this_machine() {
    let config = load(&[], &[]).unwrap();
    assert_eq!(config.bind.to_string(), "127.0.0.1:8080");
    assert_eq!(config.data_dir, PathBuf::from("./data"));
    assert_eq!(config.record, Record::Ack);
    assert_eq!(config.limits.body_bytes, 4 << 20);
    assert_eq!(config.shutdown_timeout.as_secs(), 30);
    assert!(config.database.url.is_none() && config.api_keys.is_empty() && !config.insecure);
}

#[test]
fn flags_win_over_environment_over_file_over_defaults() {
    let file = SettingsFile::new("bind = '127.0.0.1:1'\nlog = 'warn'\nshutdown_timeout = 5");
    let config = file.load(&[("DSRS_BIND", "127.0.0.1:2")]).unwrap();
    assert_eq!(config.bind.port(), 2);
    assert_eq!(config.log.filter, "warn");
    assert_eq!(config.shutdown_timeout.as_secs(), 5);

    let flags = Flags {
        config: Some(file.path.clone()),
        settings: [("bind".to_owned(), "127.0.0.1:3".to_owned())].into(),
    };
    let env = [("DSRS_BIND", "127.0.0.1:2")].into_iter().collect();
    assert_eq!(Config::load(&flags, &env).unwrap().bind.port(), 3);
}

#[test]
fn dsrs_config_names_the_file_and_the_flag_names_another() {
    let (one, other) = (SettingsFile::new("log = 'one'"), SettingsFile::new("log = 'other'"));
    let env: Environment = [("DSRS_CONFIG", one.path.to_str().unwrap())].into_iter().collect();
    assert_eq!(Config::load(&Flags::default(), &env).unwrap().log.filter, "one");
    let flags = Flags { config: Some(other.path.clone()), ..Flags::default() };
    assert_eq!(Config::load(&flags, &env).unwrap().log.filter, "other");
}

#[test]
fn our_variables_win_over_the_common_ones_without_a_prefix() {
    let url = |env: &[(&str, &str)]| {
        load(env, &[]).unwrap().database.url.unwrap().expose_secret().to_owned()
    };
    let plain = ("DATABASE_URL", "postgres://a/plain");
    assert_eq!(url(&[plain]), "postgres://a/plain");
    assert_eq!(url(&[plain, ("DSRS_DATABASE_URL", "postgres://a/ours")]), "postgres://a/ours");
    assert_eq!(load(&[("RUST_LOG", "debug")], &[]).unwrap().log.filter, "debug");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    assert!(load(&[("DSRS_API_KEYS", ""), ("DSRS_BIND", "")], &[]).unwrap().api_keys.is_empty());
}

#[test]
fn an_unknown_variable_with_our_prefix_is_a_warning() {
    let config = load(&[("DSRS_BNID", "x"), ("DSRS_PORT_8080_TCP", "tcp://10.0.0.1:8080")], &[]);
    assert_eq!(
        config.unwrap().warnings,
        [
            "environment variable DSRS_BNID is not a setting and is ignored; did you mean \"DSRS_BIND\"?",
            "environment variable DSRS_PORT_8080_TCP is not a setting and is ignored",
        ]
    );
}

#[test]
fn all_problems_are_reported_at_once_one_line_each() {
    let env = [
        ("DSRS_BIND", "localhost"),
        ("DSRS_LIMITS_BODY_BYTES", "lots"),
        ("DSRS_LIMITS_RUN_TIMEOUT_MS", "0"),
        ("DSRS_RUNS_RECORD", "sometimes"),
        ("DSRS_INSECURE", "perhaps"),
        ("DATABASE_URL", "mysql://root:hunter2@db/x"),
        ("DSRS_DATABASE_MAX_CONNECTIONS", "-1"),
    ];
    assert_eq!(
        problems(load(&env, &[("shutdown_timeout", "soon")])),
        [
            "bind = \"localhost\" (environment variable DSRS_BIND): expected an IP address and a port, such as 127.0.0.1:8080",
            "database.url (environment variable DATABASE_URL): expected a URL such as postgres://user:password@host:5432/name",
            "database.max_connections = \"-1\" (environment variable DSRS_DATABASE_MAX_CONNECTIONS): expected a whole number from 1 to 4294967295",
            "insecure = \"perhaps\" (environment variable DSRS_INSECURE): expected true or false",
            "runs.record = \"sometimes\" (environment variable DSRS_RUNS_RECORD): expected ack, async or off",
            "limits.body_bytes = \"lots\" (environment variable DSRS_LIMITS_BODY_BYTES): expected a size in bytes, such as 4194304 or 4MiB",
            "limits.run_timeout_ms = \"0\" (environment variable DSRS_LIMITS_RUN_TIMEOUT_MS): expected a whole number of milliseconds, 1 or more",
            "shutdown_timeout = \"soon\" (flag --shutdown-timeout): expected a duration up to 365d, such as 500ms, 30s, 5m or 24h",
        ]
    );
}

#[test]
fn a_problem_in_the_file_has_its_line_beside_other_problems() {
    let file = SettingsFile::new("log = 'info'\nbnid = 1\n[models.fast]\ntemperature = 3\n");
    assert_eq!(
        problems(file.load(&[("DSRS_BIND", "x")])),
        [
            "FILE:2: unknown key \"bnid\"; did you mean \"bind\"?",
            "bind = \"x\" (environment variable DSRS_BIND): expected an IP address and a port, such as 127.0.0.1:8080",
            "models.fast.temperature = \"3\" (FILE:4): expected a number from 0 to 2",
            "models.fast.model is missing",
        ]
    );
}

#[test]
fn a_named_file_must_exist() {
    let flags = Flags { config: Some("/nowhere/dsrs.toml".into()), ..Flags::default() };
    let error = Config::load(&flags, &Environment::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "cannot read the settings file /nowhere/dsrs.toml: No such file or directory (os error 2)"
    );
}

#[test]
fn a_public_address_without_keys_is_open_unless_the_insecure_switch_allows_it() {
    let is_open = |env: &[(&str, &str)]| load(env, &[]).unwrap().is_open();
    let open = ("DSRS_BIND", "0.0.0.0:8080");
    assert!(is_open(&[open]));
    assert!(is_open(&[("DSRS_BIND", "[::]:8080")]));
    assert!(!is_open(&[open, ("DSRS_API_KEYS", "k")]));
    assert!(!is_open(&[open, ("DSRS_INSECURE", "1")]));
    assert!(!is_open(&[("DSRS_BIND", "[::1]:8080")]));
    assert!(!is_open(&[("DSRS_BIND", "[::ffff:127.0.0.1]:8080")]));
}

#[test]
fn keys_of_the_list_and_of_the_file_are_combined() {
    let keys = SettingsFile::new("# ours\nthird\n\n  fourth \n");
    let path = keys.path.to_str().unwrap();
    let config = load(&[("DSRS_API_KEYS", "one, two"), ("DSRS_API_KEYS_FILE", path)], &[]).unwrap();
    for key in ["one", "two", "third", "fourth"] {
        assert!(config.api_keys.identify(key).is_some(), "{key}");
    }
    assert_eq!(config.api_keys.identify("# ours"), None);
    let file = SettingsFile::new("api_keys = ['five', 'six']");
    assert_eq!(file.load(&[]).unwrap().api_keys.len(), 2);
}

#[test]
fn an_unusable_key_and_an_empty_key_file_are_refused() {
    let keys = SettingsFile::new("# nothing yet\n");
    let path = keys.path.to_str().unwrap();
    assert_eq!(
        problems(load(&[("DSRS_API_KEYS", "fine,not fine"), ("DSRS_API_KEYS_FILE", path)], &[])),
        [
            "api_keys: key 2 contains a character that an Authorization header cannot carry"
                .to_owned(),
            format!("api_keys_file: {path} contains no key"),
        ]
    );
}

#[test]
fn no_message_shows_a_secret() {
    let env = [
        ("DATABASE_URL", "hunter2"),
        ("OPENAI_BASE_URL", "ftp://u:hunter2@x"),
        ("DSRS_API_KEYS", "hunter2 hunter2"),
        ("DSRS_MODELS__A__API_KEY", "hunter2"),
    ];
    let lines = problems(load(&env, &[]));
    assert_eq!(lines.len(), 4, "{lines:#?}");
    assert!(!lines.join("\n").contains("hunter2"), "{lines:#?}");
}

#[test]
fn without_key_and_endpoint_the_alias_default_is_known_but_has_no_model() {
    let models = load(&[], &[]).unwrap().models;
    assert!(models.knows("default") && models.get("default").is_none() && models.is_empty());
    assert!(!models.knows("fast"));
}

#[test]
fn a_key_or_an_endpoint_alone_makes_the_default_model() {
    let models = load(&[("OPENAI_API_KEY", "sk")], &[]).unwrap().models;
    let model = models.get("default").unwrap();
    assert_eq!(
        (model.model.as_str(), model.base_url.as_str()),
        ("gpt-4o-mini", "https://api.openai.com/v1")
    );
    assert_eq!(model.api_key.as_ref().unwrap().expose_secret(), "sk");

    let env = [("OPENAI_BASE_URL", "http://127.0.0.1:9000/v1/"), ("DSRS_MODEL", "tiny")];
    let models = load(&env, &[]).unwrap().models;
    let model = models.get("default").unwrap();
    assert_eq!(
        (model.model.as_str(), model.base_url.as_str()),
        ("tiny", "http://127.0.0.1:9000/v1")
    );
    assert!(model.api_key.is_none());
}

#[test]
fn default_is_the_named_model_else_its_namesake_else_the_only_model() {
    let default = |text: &str| {
        SettingsFile::new(text).load(&[]).unwrap().models.default_alias().map(str::to_owned)
    };
    let (a, b) = ("[models.a]\nmodel='x'\n", "[models.b]\nmodel='y'\n");
    let own = "[models.default]\nmodel='z'\n";
    assert_eq!(default(&format!("default_model='b'\n{a}{b}{own}")).as_deref(), Some("b"));
    assert_eq!(default(&format!("{a}{b}{own}")).as_deref(), Some("default"));
    assert_eq!(default(a).as_deref(), Some("a"));
    assert_eq!(default(&format!("{a}{b}")), None);
}

#[test]
fn an_embedding_model_is_no_default_and_no_fallback() {
    let vectors = "[models.vectors]\nmodel = 'e'\nembedding = true\n";
    let models = SettingsFile::new(&format!("{vectors}[models.fast]\nmodel = 'x'\n"));
    let models = models.load(&[]).unwrap().models;
    assert_eq!(models.default_alias(), Some("fast"));
    assert!(models.get("vectors").unwrap().embedding && !models.get("fast").unwrap().embedding);
    assert_eq!(SettingsFile::new(vectors).load(&[]).unwrap().models.default_alias(), None);

    let file = SettingsFile::new(&format!(
        "default_model = 'vectors'\n{vectors}temperature = 1\nfallback = 'fast'\n\
         [models.fast]\nmodel = 'x'\nfallback = 'vectors'\n"
    ));
    assert_eq!(
        problems(file.load(&[])),
        [
            "models.vectors.temperature = \"1\" (FILE:5): an embedding model does not answer; remove this setting",
            "models.vectors.fallback = \"fast\" (FILE:6): an embedding model does not answer; remove this setting",
            "models.vectors.fallback = \"fast\" (FILE:6): the fallbacks form a cycle, vectors -> fast -> vectors; remove one of them",
            "models.fast.fallback = \"vectors\" (FILE:9): \"vectors\" is an embedding model and cannot answer",
            "models.vectors is an embedding model and cannot be `default`; set default_model to a model that answers",
        ]
    );
}

#[test]
fn an_unknown_default_model_is_refused() {
    let file = SettingsFile::new("default_model = 'fsat'\n[models.fast]\nmodel = 'x'\n");
    assert_eq!(
        problems(file.load(&[])),
        ["default_model = \"fsat\" (FILE:1): no model has this alias; did you mean \"fast\"?"]
    );
}

#[test]
fn variables_override_single_settings_of_a_model() {
    let file = SettingsFile::new(
        "[models.fast-1]\nmodel = 'x'\nbase_url = 'http://h/v1'\napi_key_env = 'FAST_KEY'\ntemperature = 0.5\n\
         max_tokens = 99\ntop_p = 1\nseed = -3\ntimeout_ms = 1500\ncapabilities = ['grammar', 'json_schema']\n\
         constrain = 'gbnf'\ninput_price = 0.15\n",
    );
    let env = [("FAST_KEY", "secret"), ("DSRS_MODELS__FAST_1__MODEL", "y")];
    let models = file.load(&env).unwrap().models;
    let model = models.get("fast-1").unwrap();
    assert_eq!(model.model, "y");
    assert_eq!(model.api_key.as_ref().unwrap().expose_secret(), "secret");
    assert_eq!(
        (model.temperature, model.max_tokens, model.top_p),
        (Some(0.5), Some(99), Some(1.0))
    );
    assert_eq!((model.seed, model.timeout.as_millis()), (Some(-3), 1500));
    let words: Vec<&str> = model.capabilities.iter().map(|found| found.as_str()).collect();
    assert_eq!((words, model.constrain.as_str()), (vec!["grammar", "json_schema"], "gbnf"));
    assert_eq!((model.prices.input, model.prices.output), (Some(0.15), None));
}

#[test]
fn settings_of_reasoning_and_extras_are_checked() {
    let file = SettingsFile::new(
        "[models.o]\nmodel = 'o'\nreasoning_effort = 'low'\nservice_tier = 'flex'\n\
         extra_body = '{\"top_k\": 20}'\nextra_headers = '{\"X-Title\": \"demo\"}'\n\
         max_tokens_field = 'max_completion_tokens'\ncache_marks = 'on'\n\
         [models.b]\nmodel = 'b'\nreasoning_effort = 4096\n",
    );
    let models = file.load(&[]).unwrap().models;
    let model = models.get("o").unwrap();
    assert_eq!(model.reasoning_effort, Some(ReasoningEffort::Low));
    assert_eq!(model.extra_body.as_ref().unwrap().to_payload().to_json(), r#"{"top_k":20}"#);
    assert_eq!(model.cache_marks, CacheMarks::On);
    assert_eq!(models.get("b").unwrap().reasoning_effort, Some(ReasoningEffort::Tokens(4096)));

    let file = SettingsFile::new(
        "[models.a]\nmodel = 'a'\nreasoning_effort = 'hard'\nextra_body = '{\"model\": \"b\"}'\n\
         extra_headers = '{\"Authorization\": \"Bearer hush\"}'\ncache_marks = 'yes'\n",
    );
    assert_eq!(
        problems(file.load(&[])),
        [
            "models.a.reasoning_effort = \"hard\" (FILE:3): expected none, minimal, low, medium, high, xhigh, max, or a number of tokens",
            "models.a.extra_body (FILE:4): `model` is written by the server",
            "models.a.extra_headers (FILE:5): `authorization` is written by the server",
            "models.a.cache_marks = \"yes\" (FILE:6): expected \"auto\", \"on\" or \"off\"",
        ]
    );
}

#[test]
fn prices_and_context_lengths_come_from_the_table_unless_set() {
    let file = SettingsFile::new(
        "[models.known]\nmodel = 'gpt-4o-mini'\n\
         [models.cheap]\nmodel = 'gpt-4o-mini'\ninput_price = 0.01\noutput_price = 0.02\ncontext_tokens = 1000\n\
         [models.local]\nmodel = 'gpt-4o-mini'\nbase_url = 'http://127.0.0.1:8000/v1'\n",
    );
    let models = file.load(&[]).unwrap().models;
    let facts = |alias| {
        let model = models.get(alias).unwrap();
        (model.prices.input, model.prices.cached_input, model.limits.context)
    };
    assert_eq!(facts("known"), (Some(0.15), Some(0.075), Some(128_000)));
    assert_eq!(facts("cheap"), (Some(0.01), None, Some(1000)));
    assert_eq!(facts("local"), (None, None, None));

    let table = tempfile::NamedTempFile::new().unwrap();
    let own = r#"{"gpt-4o-mini": {"litellm_provider": "openai", "input_cost_per_token": 7e-6, "output_cost_per_token": 8e-6}}"#;
    std::fs::write(table.path(), own).unwrap();
    let path = table.path().to_str().unwrap();
    let models = file.load(&[("DSRS_MODEL_DATA", path)]).unwrap().models;
    assert_eq!(models.get("known").unwrap().prices.output, Some(8.0));
    let missing = problems(file.load(&[("DSRS_MODEL_DATA", "/nowhere/models.json")]));
    assert!(missing[0].starts_with("model_data: cannot read /nowhere/models.json"), "{missing:?}");
}

#[test]
fn variables_alone_can_configure_a_model() {
    let models = load(&[("DSRS_MODELS__FAST__MODEL", "x")], &[]).unwrap().models;
    assert_eq!(models.get("fast").unwrap().model, "x");
    assert_eq!(models.default_alias(), Some("fast"));
}

#[test]
fn a_key_is_set_directly_or_by_the_name_of_a_variable() {
    let env = [("HELD", "by-name"), ("DSRS_MODELS__A__MODEL", "x"), ("DSRS_MODELS__B__MODEL", "y")];
    let given = [("DSRS_MODELS__A__API_KEY", "itself"), ("DSRS_MODELS__B__API_KEY_ENV", "HELD")];
    let models = load(&[&env[..], &given[..]].concat(), &[]).unwrap().models;
    let key =
        |alias| models.get(alias).unwrap().api_key.as_ref().unwrap().expose_secret().to_owned();
    assert_eq!((key("a").as_str(), key("b").as_str()), ("itself", "by-name"));
}

#[test]
fn the_shared_key_never_goes_to_a_models_own_endpoint() {
    let env = [
        ("OPENAI_API_KEY", "sk"),
        ("DSRS_MODELS__OWN__MODEL", "x"),
        ("DSRS_MODELS__OWN__BASE_URL", "http://elsewhere/v1"),
        ("DSRS_MODELS__COMMON__MODEL", "y"),
    ];
    let models = load(&env, &[]).unwrap().models;
    assert!(models.get("own").unwrap().api_key.is_none());
    assert!(models.get("common").unwrap().api_key.is_some());
}

#[test]
fn problems_of_a_model_name_its_alias() {
    let file = SettingsFile::new(
        "[models.a]\nmodel = 'x'\nprovider = 'abacus'\napi_key_env = 'NOT_SET'\ncapabilities = ['gramar']\nconstrain = 'bnf'\n\
         [models.b]\nmodel = 'y'\napi_key = 'k'\napi_key_env = 'HOME'\n[models.\"b c\"]\nmodel = 'z'\n",
    );
    assert_eq!(
        problems(file.load(&[("HOME", "/home/x")])),
        [
            "models.a.provider = \"abacus\" (FILE:3): expected \"openai\", for every OpenAI-compatible endpoint, or \"anthropic\", \"gemini\", \"vertex\", \"bedrock\", \"cohere\", \"ollama\", \"responses\"",
            "models.a.constrain = \"bnf\" (FILE:6): expected \"auto\", \"none\", \"gbnf\" or \"json_schema\"",
            "models.a.api_key_env: environment variable NOT_SET is not set",
            "models.a.capabilities = \"gramar\" (FILE:5): \"gramar\" is not one of json_object, json_schema, grammar, guided_grammar, structured_outputs, tools, logprobs; did you mean \"grammar\"?",
            "models.b.api_key and models.b.api_key_env are both set; remove one",
            "models.b c: an alias has up to 63 letters, digits, \"_\", \"-\" and \".\", and begins with a letter or digit",
        ]
    );
}

#[test]
fn a_model_has_fallbacks_a_cache_and_a_limit_of_requests() {
    let file = SettingsFile::new(
        "[models.big]\nmodel = 'x'\nfallback = ['small', 'tiny']\nmax_concurrent = 8\ncache_bytes = '64MiB'\n\
         [models.small]\nmodel = 'y'\nfallback = 'tiny'\n[models.tiny]\nmodel = 'z'\n\
         [limits]\nmax_concurrent_lm_requests = 100\n",
    );
    let env = [
        ("DSRS_LIMITS_MAX_CONCURRENT_LM_REQUESTS_PER_RUN", "10"),
        ("DSRS_MODELS__TINY__CACHE_BYTES", "1000"),
        ("DSRS_MODELS__TINY__CACHE_TTL", "5m"),
    ];
    let config = file.load(&env).unwrap();
    let limits = &config.limits;
    assert_eq!(limits.max_concurrent_lm_requests, Some(100));
    assert_eq!(limits.max_concurrent_lm_requests_per_run, Some(10));
    let model = |alias| config.models.get(alias).unwrap();
    assert_eq!(
        (&*model("big").fallback, model("big").max_concurrent),
        (&["small".to_owned(), "tiny".to_owned()][..], Some(8))
    );
    let cache_of = |alias| model(alias).cache.map(|cache| (cache.bytes, cache.ttl.as_secs()));
    assert_eq!(
        [cache_of("big"), cache_of("small"), cache_of("tiny")],
        [Some((64 << 20, 3600)), None, Some((1000, 300))]
    );
}

#[test]
fn an_unknown_fallback_and_a_cycle_are_refused() {
    let file = SettingsFile::new(
        "[models.a]\nmodel = 'x'\nfallback = ['b', 'd']\n[models.b]\nmodel = 'x'\nfallback = ['c']\n\
         [models.c]\nmodel = 'x'\nfallback = ['b', 'a']\n[models.d]\nmodel = 'x'\nfallback = ['d', 'fsat']\n\
         [models.fast]\nmodel = 'x'\ncache_ttl = '5m'\n",
    );
    assert_eq!(
        problems(file.load(&[])),
        [
            "models.fast.cache_ttl = \"5m\" (FILE:15): replies are not cached without models.fast.cache_bytes, such as 64MiB; set it too",
            "models.a.fallback = \"b,d\" (FILE:3): the fallbacks form a cycle, a -> b -> c -> a; remove one of them",
            "models.b.fallback = \"c\" (FILE:6): the fallbacks form a cycle, b -> c -> b; remove one of them",
            "models.d.fallback = \"d,fsat\" (FILE:12): no model has the alias \"fsat\"; did you mean \"fast\"?",
            "models.d.fallback = \"d,fsat\" (FILE:12): the fallbacks form a cycle, d -> d; remove one of them",
        ]
    );
}

#[test]
#[cfg(not(feature = "genai"))]
fn a_provider_missing_from_the_build_is_refused_with_the_way_out() {
    let file = SettingsFile::new("[models.a]\nmodel = 'claude'\nprovider = 'anthropic'\n");
    assert_eq!(
        problems(file.load(&[])),
        [
            "models.a.provider = \"anthropic\" (FILE:3): this server was built without providers that are not OpenAI-compatible; build it with `cargo build --release --features genai`, or set \"openai\" and the base_url of an OpenAI-compatible endpoint of anthropic",
        ]
    );
}

#[test]
#[cfg(feature = "genai")]
fn the_responses_of_openai_share_its_endpoint_and_key() {
    let file = SettingsFile::new("[models.r]\nmodel = 'gpt-5'\nprovider = 'responses'\n");
    let models = file.load(&[("OPENAI_API_KEY", "sk")]).unwrap().models;
    let model = models.get("r").unwrap();
    assert_eq!(model.base_url, "https://api.openai.com/v1");
    assert_eq!(model.api_key.as_ref().unwrap().expose_secret(), "sk");
    assert_eq!(model.prices.input, Some(1.25));
}

#[test]
#[cfg(feature = "genai")]
fn another_provider_has_its_own_address_and_never_the_shared_key() {
    let file = SettingsFile::new(
        "[models.a]\nmodel = 'claude'\nprovider = 'anthropic'\napi_key = 'own'\n\
         [models.g]\nmodel = 'flash'\nprovider = 'gemini'\n",
    );
    let models = file.load(&[("OPENAI_API_KEY", "sk")]).unwrap().models;
    let model = |alias| models.get(alias).unwrap();
    assert_eq!(model("a").base_url, "https://api.anthropic.com/v1");
    assert_eq!(model("a").api_key.as_ref().unwrap().expose_secret(), "own");
    assert!(model("g").api_key.is_none());
    let file = SettingsFile::new(
        "[models.b]\nmodel = 'nova'\nprovider = 'bedrock'\n\
         [models.c]\nmodel = 'x'\nprovider = 'cohere'\nconstrain = 'gbnf'\n",
    );
    assert_eq!(
        problems(file.load(&[])),
        [
            "models.b.base_url is missing: \"bedrock\" has no public address; set one such as https://bedrock-runtime.REGION.amazonaws.com",
            "models.c.constrain = \"gbnf\" (FILE:7): only OpenAI-compatible servers accept a grammar; try \"json_schema\"",
        ]
    );
    let embeds = "[models.v]\nmodel = 'e'\nprovider = 'cohere'\nembedding = true\n";
    let refused = problems(SettingsFile::new(embeds).load(&[]));
    assert!(refused[0].contains("only OpenAI-compatible servers can be called"), "{refused:?}");
}

#[test]
fn tools_secrets_and_mcp_servers_come_from_file_and_variables() {
    let file = SettingsFile::new(
        "[secrets]\nparcels-key = 'x'\nPARCELS = 'hush'\n\
         [tools]\nallow = ['api.example.com', 'http://a.example']\n\
         [mcp.files]\ncommand = ['npx', 'a,b']\nenv = { TOKEN = '${PARCEL}' }\n\
         [mcp.both]\ncommand = ['x']\nurl = 'http://127.0.0.1/'\n\
         [mcp.none]\ntimeout_ms = 5\n[mcp.odd]\nurl = 'x'\ncomand = 'y'\n",
    );
    let found = problems(file.load(&[("DSRS_SECRETS__OTHER", "o")]));
    assert_eq!(
        found,
        [
            "FILE:16: unknown key \"mcp.odd.comand\"; did you mean \"mcp.odd.command\"?",
            "tools.allow = \"api.example.com,http://a.example\" (FILE:5): \"http://a.example\" is not a host (api.example.com), a host and its port (api.example.com:8443), its subdomains (*.example.com), an address (10.0.0.5, 10.0.0.5:8080, [::1]:8080), a network (10.0.0.0/8) or * for every public host",
            "secrets.parcels-key: the name of a secret has up to 63 letters, digits and \"_\"",
            "mcp.files.env.TOKEN (FILE:8): there is no secret \"PARCEL\"; the server's settings have PARCELS, OTHER; did you mean \"PARCELS\"?",
            "mcp.both: expected either a command, with an optional env, or a url, with optional headers",
            "mcp.none: expected either a command, with an optional env, or a url, with optional headers",
            "mcp.odd.url (FILE:15): expected a URL that begins with http:// or https://",
        ]
    );
    let file = SettingsFile::new("[mcp.files]\ncommand = ['npx', 'a,b']\n");
    let env = [("DSRS_TOOLS_ALLOW", "*, 10.0.0.0/8"), ("DSRS_MCP__FILES__TIMEOUT_MS", "5")];
    let config = file.load(&env).unwrap();
    assert_eq!(config.tools.allow.len(), 2);
    let files = &config.tools.mcp["files"];
    assert_eq!(files.timeout.as_millis(), 5);
    let McpTransport::Child { program, arguments, .. } = &files.transport else {
        panic!("{files:?}");
    };
    assert_eq!((program.as_str(), arguments.as_slice()), ("npx", &["a,b".to_owned()][..]));
}

#[test]
fn a_secret_is_bound_to_hosts_and_mcp_servers() {
    let file = SettingsFile::new(
        "[secrets]\nOLD = 'old'\n[secrets.BOUND]\nvalue = 'in-file'\n\
         hosts = ['api.github.com', '*.ghe.example']\nmcp = ['office']\n\
         [mcp.office]\nurl = 'http://127.0.0.1/'\nheaders = { Authorization = '${BOUND}' }\n",
    );
    let env = [
        ("DSRS_SECRETS__BOUND", "of-variable"),
        ("DSRS_SECRETS__NEW", "new"),
        ("DSRS_SECRETS__NEW__HOSTS", "a.example, b.example:8443"),
    ];
    let config = file.load(&env).unwrap();
    let secrets = &config.tools.secrets;
    let sent = |name: &str, url: &str| {
        let secret = secrets.for_url(name, &url.parse().unwrap());
        secret.map(|secret| secret.text.expose_secret().to_owned())
    };
    assert_eq!(sent("BOUND", "https://api.github.com/").as_deref(), Ok("of-variable"));
    assert_eq!(sent("BOUND", "https://x.ghe.example/").as_deref(), Ok("of-variable"));
    assert_eq!(sent("NEW", "https://b.example:8443/").as_deref(), Ok("new"));
    for (name, url) in [
        ("NEW", "https://b.example/"),
        ("NEW", "https://api.github.com/"),
        ("OLD", "https://api.github.com/"),
    ] {
        assert!(sent(name, url).is_err(), "{name} {url}");
    }
    let McpTransport::Http { headers, .. } = &config.tools.mcp["office"].transport else {
        panic!("{:?}", config.tools.mcp);
    };
    assert_eq!(headers["Authorization"].expose(), "of-variable");
    // Only the one that goes nowhere is worth a warning.
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    let warning = &config.warnings[0];
    assert!(warning.starts_with("secrets.OLD goes nowhere: "), "{warning}");
    assert!(warning.contains("DSRS_SECRETS__OLD__HOSTS") && !warning.contains("old"), "{warning}");
}

#[test]
fn a_secret_without_text_for_every_host_or_for_a_missing_server_is_refused() {
    let file = SettingsFile::new(
        "[secrets.A]\nhosts = ['a.example']\n\
         [secrets.B]\nvalue = 'hush-b'\nhosts = ['*', 'https://b.example']\nmcp = ['ofice']\n\
         [secrets.C]\nvalue = 'hush-c'\nhost = ['c.example']\n\
         [secrets.D]\nvalue = 'hush-d'\nmcp = ['office']\n\
         [mcp.office]\ncommand = ['x']\nenv = { B = '${B}', D = '${D}' }\n",
    );
    let found = problems(file.load(&[]));
    let starts = [
        "FILE:9: unknown key \"secrets.C.host\"; did you mean \"secrets.C.hosts\"?",
        "secrets.A.value is missing; set it in the file, or set DSRS_SECRETS__A",
        "secrets.B.hosts = \"*,https://b.example\" (FILE:5): \"https://b.example\" is not a host",
        "secrets.B.hosts = \"*,https://b.example\" (FILE:5): a secret cannot go to every host",
        "secrets.B.mcp = \"ofice\" (FILE:6): there is no MCP server \"ofice\"; did you mean \"office\"?",
        "mcp.office.env.B (FILE:15): the secret \"B\" may not go to the MCP server \"office\", which is not in secrets.B.mcp",
    ];
    assert_eq!(found.len(), starts.len(), "{found:#?}");
    for (line, start) in found.iter().zip(starts) {
        assert!(line.starts_with(start), "{line}\n{start}");
    }
    assert!(!found.join("\n").contains("hush"), "{found:#?}");
}

#[test]
fn the_table_has_a_row_for_each_setting_with_its_documented_names() {
    let table = settings_markdown();
    assert_eq!(table.lines().count(), all_settings().count() + 2);
    for name in [
        "`DSRS_BIND`",
        "`DSRS_DATA_DIR`",
        "`DSRS_API_KEYS_FILE`",
        "`DATABASE_URL`",
        "`--insecure`",
        "`DSRS_MODELS__NAME__BASE_URL`",
        "`DSRS_RUNS_RECORD`",
    ] {
        assert!(table.contains(name), "{name} is not in\n{table}");
    }
}

#[test]
fn settings_change_the_limits_of_the_sandbox() {
    let sandbox = load(&[], &[]).unwrap().sandbox;
    assert!(sandbox.enabled);
    assert_eq!(sandbox.require, Wall::of_platform().collect::<Vec<_>>());
    assert_eq!((sandbox.time.as_secs(), sandbox.memory, sandbox.output), (5, 128 << 20, 64 << 10));
    let given = [("DSRS_SANDBOX_ENABLED", "no"), ("DSRS_SANDBOX_TIME_S", "2")];
    let sandbox = load(&given, &[]).unwrap().sandbox;
    assert!(!sandbox.enabled && sandbox.time.as_secs() == 2);
    let required = |names: &str| Ok(load(&[("DSRS_SANDBOX_REQUIRE", names)], &[])?.sandbox.require);
    assert_eq!(required("seccomp, rlimits,seccomp"), Ok(vec![Wall::Rlimits, Wall::Seccomp]));
    let unknown = required("secomp").map_err(|problems: Vec<String>| problems.join("\n"));
    assert_eq!(
        unknown.unwrap_err(),
        "sandbox.require = \"secomp\" (environment variable DSRS_SANDBOX_REQUIRE): there is no wall \
         \"secomp\"; expected auto, rlimits, user, no_new_privs, no_dump, parent_death, seccomp; did you \
         mean \"seccomp\"?"
    );
    let problems =
        load(&[("DSRS_SANDBOX_MEMORY_MIB", "0"), ("DSRS_SANDBOX_OUTPUT_KIB", "9999999")], &[]);
    assert_eq!(problems.map(|_| ()).unwrap_err().len(), 2);
}

#[test]
fn settings_admit_hosts_and_origins() {
    let http = load(&[], &[]).unwrap().http;
    assert!(http.allowed_hosts.is_empty() && http.allowed_origins.is_empty() && http.compress);
    let given = [
        ("DSRS_HTTP_ALLOWED_HOSTS", "app.example.com,10.0.0.0/8"),
        ("DSRS_HTTP_ALLOWED_ORIGINS", "https://App.example.com:443"),
    ];
    let http = load(&given, &[]).unwrap().http;
    assert_eq!(http.allowed_hosts.len(), 2);
    assert_eq!(http.allowed_origins, ["https://app.example.com"]);
    let wrong = [("DSRS_HTTP_ALLOWED_HOSTS", "http://a"), ("DSRS_HTTP_ALLOWED_ORIGINS", "null,*")];
    assert_eq!(load(&wrong, &[]).map(|_| ()).unwrap_err().len(), 3);
}

#[test]
fn a_limit_of_graphs_above_the_bound_of_the_engine_is_refused() {
    let found = problems(load(&[("DSRS_LIMITS_GRAPH_NODES", "5001")], &[]));
    let expected = "limits.graph_nodes = \"5001\" (environment variable DSRS_LIMITS_GRAPH_NODES): expected a whole number from 1 to 5000, which bounds the time of a check";
    assert_eq!(found, [expected]);
}
