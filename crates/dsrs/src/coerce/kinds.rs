//! The kinds of leniency, and sets of them: what a reading may do, and what it did. Strictness is
//! nothing but a small set. Knows nothing of how any of them works.

/// Declares the kinds with their stable names and penalties in one table.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $penalty:literal;)+) => {
        /// Kinds of leniency. Names are stable: clients see them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum LeniencyKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl LeniencyKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The kind as clients see it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// What it is, in a sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => concat!($($doc),+).trim_ascii(),)+ }
            }

            /// How doubtful it makes a reading; of several readings the least doubtful is taken.
            #[must_use]
            pub const fn penalty(self) -> u32 {
                match self { $(Self::$kind => $penalty,)+ }
            }
        }
    };
}

kinds! {
    // what stands around the values
    /// A reasoning block before the answer was skipped.
    Reasoning = "reasoning", 0;
    /// The answer came without headers, or with damaged ones.
    Layout = "layout", 3;
    /// A section that was not asked for, or a second one of a name, was dropped.
    ExtraSection = "extra_section", 1;
    /// The value stood in a fenced block.
    Fenced = "fenced", 1;
    /// The value stood amid prose.
    Prose = "prose", 4;
    /// Another piece of the text would do as well; the first of the best was taken.
    Choice = "choice", 4;

    // slips in JSON
    /// A bracket, string or fence was never closed.
    Unclosed = "unclosed", 3;
    /// A comma, colon or the like is missing, doubled, or too many.
    Punctuation = "punctuation", 1;
    /// A key or a value stands without quotes.
    Unquoted = "unquoted", 1;
    /// Quotes other than `"`: single, back, triple, typographic.
    Quotes = "quotes", 1;
    /// A comment was left out.
    Comment = "comment", 1;
    /// Line breaks or quotes inside a string are not escaped, or an escape is none of JSON's.
    Escape = "escape", 1;
    /// A spelling of Python's: `True`, `None`, a tuple in parentheses.
    Python = "python", 1;
    /// A key stood more than once; the last one counts.
    DuplicateKey = "duplicate_key", 2;
    /// JSON stood inside a string.
    JsonInString = "json_in_string", 2;

    // data that is not JSON
    /// A list written as lines with bullets or numbers.
    Bullets = "bullets", 2;
    /// A list whose items stand between commas, semicolons, lines or `and`.
    Separated = "separated", 2;
    /// An object written as lines of `key: value`.
    Lines = "lines", 2;
    /// Objects written as a table.
    Table = "table", 2;
    /// An object written in tags.
    Tags = "tags", 2;

    // data to type
    /// A value for a member or section that was left out: its default, or null.
    Default = "default", 0;
    /// A name differs in case, accents, spaces or punctuation.
    Spelling = "spelling", 1;
    /// A name was known by a part of it.
    Part = "part", 3;
    /// Another word for a truth value or null.
    Word = "word", 1;
    /// A number with separators, digits or a sign that JSON does not have.
    Number = "number", 1;
    /// A currency, percent sign or unit beside a number was left out.
    Unit = "unit", 1;
    /// A fraction was divided.
    Fraction = "fraction", 1;
    /// A value of another kind, turned into the wanted one.
    Kind = "kind", 2;
    /// A member that the class does not have was dropped.
    ExtraMember = "extra_member", 2;
    /// A single value where a list is wanted, or a list of one where a single value is.
    SingleElement = "single_element", 3;
    /// A value where a class of one field is wanted.
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
    /// None at all.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self((1 << LeniencyKind::ALL.len()) - 1);
    /// What a strict field grants: its declared default, and a reasoning block before the answer.
    pub const STRICT: Self = Self::NONE.with(LeniencyKind::Default).with(LeniencyKind::Reasoning);

    /// The set and one more.
    #[must_use]
    pub const fn with(self, kind: LeniencyKind) -> Self {
        Self(self.0 | 1 << kind as u32)
    }

    /// The set but for one.
    #[must_use]
    pub const fn without(self, kind: LeniencyKind) -> Self {
        Self(self.0 & !(1 << kind as u32))
    }

    /// What is in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The set and another.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set but for another.
    #[must_use]
    pub const fn without_all(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: LeniencyKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }

    /// Whether all of the other are in this set.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set.
    pub fn kinds(self) -> impl Iterator<Item = LeniencyKind> {
        LeniencyKind::ALL.iter().copied().filter(move |kind| self.has(*kind))
    }
}
