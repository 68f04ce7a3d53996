//! The kinds of leniency, and sets of them: what a read may do, and what it did. Strictness is a
//! small set. Does not know how any of them works.

/// Declares the kinds with their stable names and penalties.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $penalty:literal;)+) => {
        /// Kinds of leniency. Their names are stable, because clients see them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LeniencyKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl LeniencyKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The name that clients see.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// A sentence that describes it.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// Its penalty; of several interpretations, the one with the lowest penalty is
            /// selected.
            #[must_use]
            pub const fn penalty(self) -> u32 {
                match self { $(Self::$kind => $penalty,)+ }
            }
        }
    };
}

kinds! {
    // around the values
    /// A reasoning block before the answer was skipped.
    Reasoning = "reasoning", 0;
    /// A limit of tokens cut the answer, and the predictor accepts what arrived.
    Cut = "cut", 0;
    /// The answer was in what the server reports as the reasoning of the model.
    InReasoning = "in_reasoning", 0;
    /// The answer came without headers, or with damaged ones.
    Layout = "layout", 3;
    /// A section that was not requested or is repeated was dropped.
    ExtraSection = "extra_section", 1;
    /// The value was in a fenced block.
    Fenced = "fenced", 1;
    /// The value was surrounded by prose.
    Prose = "prose", 4;
    /// Another piece of the text fits as well; the best one was selected, of equals the first.
    Choice = "choice", 4;

    // errors in JSON
    /// A bracket, string or fence was never closed.
    Unclosed = "unclosed", 3;
    /// A comma, colon or similar is missing, doubled, or superfluous.
    Punctuation = "punctuation", 1;
    /// A key or a value has no quotes.
    Unquoted = "unquoted", 1;
    /// Quotes other than `"`: single, back, triple, typographic.
    Quotes = "quotes", 1;
    /// A comment was left out.
    Comment = "comment", 1;
    /// Line breaks or quotes inside a string are not escaped, or an escape is not valid JSON.
    Escape = "escape", 1;
    /// Python spelling: `True`, `None`, a tuple in parentheses.
    Python = "python", 1;
    /// A key is repeated; the last one counts.
    DuplicateKey = "duplicate_key", 2;
    /// JSON was inside a string.
    JsonInString = "json_in_string", 2;

    // data that is not JSON
    /// A list written as lines with bullets or numbers.
    Bullets = "bullets", 2;
    /// A list whose items are separated by commas, semicolons, lines or `and`.
    Separated = "separated", 2;
    /// An object written as lines of `key: value`.
    Lines = "lines", 2;
    /// Objects written as a table.
    Table = "table", 2;
    /// An object written in tags.
    Tags = "tags", 2;

    // from data to the type
    /// A member or section was left out; its default or null was used.
    Default = "default", 0;
    /// A name differs in case, accents, spaces or punctuation.
    Spelling = "spelling", 1;
    /// A name was recognized by a part of it.
    Part = "part", 3;
    /// Another word for a boolean or null.
    Word = "word", 1;
    /// A number with separators, digits or a sign that JSON does not allow.
    Number = "number", 1;
    /// A currency, percent sign or unit beside a number was left out.
    Unit = "unit", 1;
    /// A fraction was converted to a number.
    Fraction = "fraction", 1;
    /// A value of another kind was converted.
    Kind = "kind", 2;
    /// A member that the class does not have was dropped.
    ExtraMember = "extra_member", 2;
    /// A single value for a list, or one element of a list for a single value.
    SingleElement = "single_element", 3;
    /// A value for a class of one field.
    ImpliedField = "implied_field", 3;
}

/// A set of kinds.
///
/// ```
/// use dsrs::coerce::{Leniencies, LeniencyKind};
/// let most = Leniencies::ALL.without(LeniencyKind::Prose);
/// assert!(most.has(LeniencyKind::Fenced) && !most.has(LeniencyKind::Prose));
/// assert!(!Leniencies::STRICT.has(LeniencyKind::Fenced));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Leniencies(u64);

impl Leniencies {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << LeniencyKind::ALL.len()) - 1);
    /// The set for strict fields: a declared default, and reasoning before the answer.
    pub const STRICT: Self = Self::NONE.with(LeniencyKind::Default).with(LeniencyKind::Reasoning);

    /// The set with one more kind.
    #[must_use]
    pub const fn with(self, kind: LeniencyKind) -> Self {
        Self(self.0 | 1 << kind as u32)
    }

    /// The set without one kind.
    #[must_use]
    pub const fn without(self, kind: LeniencyKind) -> Self {
        Self(self.0 & !(1 << kind as u32))
    }

    /// The kinds in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds in either set.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set without the kinds of another.
    #[must_use]
    pub const fn without_all(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: LeniencyKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }

    /// Whether the set contains all kinds of another.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set.
    pub fn kinds(self) -> impl Iterator<Item = LeniencyKind> {
        LeniencyKind::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}
