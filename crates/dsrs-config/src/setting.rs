//! One row of the table of settings, and the macro that writes the table. A row is written once:
//! its field in a checked section, its path, environment variable, flag, default and meaning. Does
//! not know which settings exist.

/// The form of a setting's text, for `--help` and the page of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Free text.
    Text,
    /// Text that is never printed.
    Secret,
    /// `IP:PORT`.
    Address,
    /// A path of a file or directory.
    Path,
    /// A URL.
    Url,
    /// `true` or `false`; the flag needs no value.
    Switch,
    /// A whole number.
    Count,
    /// A decimal number.
    Number,
    /// Bytes, with an optional unit such as `4MiB`.
    Bytes,
    /// A duration such as `30s`; a bare number is seconds.
    Duration,
    /// A whole number of milliseconds.
    Millis,
    /// Several values, separated by commas.
    List,
    /// One of a few words.
    OneOf(&'static [&'static str]),
}

impl SettingKind {
    /// The placeholder that `--help` shows for a value.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Secret => "SECRET",
            Self::Address => "IP:PORT",
            Self::Path => "PATH",
            Self::Url => "URL",
            Self::Switch => "BOOL",
            Self::Count | Self::Number => "N",
            Self::Bytes => "BYTES",
            Self::Duration => "DURATION",
            Self::Millis => "MS",
            Self::List => "A,B",
            Self::OneOf(_) => "WORD",
        }
    }
}

/// The commands that have a flag for a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagCommands {
    /// No command: the setting has no flag.
    None,
    /// `serve` alone.
    Serve,
    /// `serve` and `worker`.
    Work,
    /// `serve`, `worker` and `migrate`.
    All,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Dotted path in the settings file; a `*` stands for a name that the operator chooses, such as
    /// the alias of a model.
    pub path: &'static str,
    /// The form of its text.
    pub kind: SettingKind,
    /// The text that applies if none is set.
    pub default: Option<&'static str>,
    /// Environment variables without our prefix that mean the same.
    pub also: &'static [&'static str],
    /// The commands that have a flag for it.
    pub flag: FlagCommands,
    /// Its meaning in one line, as the doc comment of its field has it: with a space in front.
    meaning: &'static str,
}

impl Setting {
    pub(super) const fn new(path: &'static str, kind: SettingKind, meaning: &'static str) -> Self {
        Self { path, kind, default: None, also: &[], flag: FlagCommands::None, meaning }
    }

    pub(super) const fn default(self, text: &'static str) -> Self {
        Self { default: Some(text), ..self }
    }

    pub(super) const fn flag(self, commands: FlagCommands) -> Self {
        Self { flag: commands, ..self }
    }

    pub(super) const fn also(self, names: &'static [&'static str]) -> Self {
        Self { also: names, ..self }
    }

    /// The meaning in one line.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim()
    }

    /// The setting's own environment variable, where it has one; a chosen name appears as `NAME`.
    pub fn env_name(&self) -> Option<String> {
        let spellable = self.path.matches('*').count() < 2;
        let shown = self.path.replace(".*.", "__NAME__").replace(".*", "__NAME").replace('.', "_");
        spellable.then(|| format!("DSRS_{}", shown.to_uppercase()))
    }

    /// The flag without its dashes, if there is one.
    pub fn flag_name(&self) -> Option<String> {
        (self.flag != FlagCommands::None).then(|| self.path.replace(['.', '_'], "-"))
    }

    /// The table whose members have names that the operator chooses: `models` of
    /// `models.*.timeout_ms`.
    pub fn named_table(&self) -> Option<&'static str> {
        self.path.split_once(".*").map(|(table, _)| table)
    }

    /// The row's path with a chosen name in place of `*`.
    pub fn path_for(&self, name: &str) -> String {
        self.path.replacen('*', name, 1)
    }

    /// Whether this row describes a plain path.
    pub(super) fn describes(&self, path: &str) -> bool {
        let Some((before, after)) = self.path.split_once('*') else { return self.path == path };
        let Some(rest) = path.strip_prefix(before) else { return false };
        // Aliases of models are the only names with dots.
        if before == MODELS {
            return rest.strip_suffix(after).is_some_and(|alias| !alias.is_empty());
        }
        let (name, rest) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
        let member = |start: &str| rest.strip_prefix(start).is_some_and(|name| !name.is_empty());
        !name.is_empty() && after.strip_suffix('*').map_or(rest == after, member)
    }
}

/// The start of every path of a model's settings.
const MODELS: &str = "models.";

/// Writes the table: each section becomes a struct with typed fields, a list of rows, and a function
/// that reads the fields. A line has the form
/// `field as "member": Type = need(VALUE_TYPE).option(…);` under a doc comment, the meaning. `need`
/// is a method of `SettingReader`; the options are those of [`Setting`]; `as` names the member where
/// it differs from the field.
macro_rules! settings {
    ($(
        $(#[$about:meta])*
        $visibility:vis struct $section:ident in $prefix:literal {
            $(
                #[doc = $meaning:literal]
                $field:ident $(as $member:literal)? : $type:ty =
                    $need:ident($value:expr) $(.$option:ident($($argument:expr)*))*;
            )*
        }
    )*) => {
        $(
            $(#[$about])*
            #[derive(Debug, Clone)]
            $visibility struct $section {
                $( #[doc = $meaning] pub $field: $type, )*
            }

            impl $section {
                const ROWS: &'static [Setting] = &[$(
                    Setting::new(
                        concat!($prefix, settings!(@member $($member)? $field)),
                        $value.kind,
                        $meaning,
                    )$(.$option($($argument)*))*,
                )*];

                /// Reads every field, so that every problem is found; `name` takes the place of `*`.
                pub(super) fn read(read: &mut SettingReader<'_>, name: &str) -> Option<Self> {
                    $(
                        let path = concat!($prefix, settings!(@member $($member)? $field));
                        let $field = read.$need(&path.replacen('*', name, usize::from(!name.is_empty())), $value.parse);
                    )*
                    Some(Self { $( $field: $field?, )* })
                }
            }
        )*

        const SECTIONS: &[&[Setting]] = &[$( $section::ROWS, )*];
    };
    (@member $member:literal $field:ident) => { $member };
    (@member $field:ident) => { stringify!($field) };
}

pub(super) use settings;
