//! The choices of a schedule: the kind of work, what happens while earlier work is in progress, and what with times that
//! were missed. Knows no schedule.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$word_doc])* $word),* }

        impl $name {
            pub const WORDS: &[&'static str] = &[$($text),*];

            /// The choice of a word.
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }

            /// The word.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),* }
            }
        }
    };
}

words! {
    /// The kind of work that a schedule starts.
    ScheduleTarget {
        /// A background run.
        Run = "run",
        Batch = "batch",
        Evaluation = "evaluation",
        Optimization = "optimization",
    }
}

words! {
    /// What happens at a time while earlier work of the schedule is in progress.
    Overlap {
        /// Nothing starts.
        Skip = "skip",
        /// The work starts when the earlier work has ended.
        Queue = "queue",
        /// The work starts.
        Allow = "allow",
    }
}

words! {
    /// What happens with times at which no server was running.
    CatchUp {
        /// They are left out.
        None = "none",
        /// The newest one fires.
        One = "one",
        /// All of them fire, up to a limit.
        All = "all",
    }
}
