//! Feedback on runs: what clients say.

use dsrs::document::TextFormat;
use dsrs::problem::{At, Code, Problems};
use dsrs::value::Map;
use facet::Facet;

use crate::plain_name::PLAIN_NAME;

/// The source of scores that the server computes.
pub const ONLINE: &str = "online";

const LONGEST_CATEGORY: usize = 64;
const LONGEST_PERSON: usize = 200;
const LONGEST_COMMENT: usize = 10_000;

/// A pattern of texts without control characters.
const NO_CONTROL: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

static CATEGORY: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "1 to 64 characters, no control characters among them",
    format: None,
    pattern: Some(NO_CONTROL),
    length: Some((1, LONGEST_CATEGORY)),
    accepts: |text| is_line(text, LONGEST_CATEGORY),
};

static PERSON: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "1 to 200 characters, no control characters among them",
    format: None,
    pattern: Some(NO_CONTROL),
    length: Some((1, LONGEST_PERSON)),
    accepts: |text| is_line(text, LONGEST_PERSON),
};

static COMMENT: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "1 to 10000 characters",
    format: None,
    pattern: None,
    length: Some((1, LONGEST_COMMENT)),
    accepts: |text| has_length(text, LONGEST_COMMENT),
};

static CLIENT_SOURCE: TextFormat = TextFormat {
    code: Code::InvalidValue,
    expected: "another source than `online`, which is that of scores that the server computes",
    format: None,
    pattern: None,
    length: None,
    accepts: |text| text != ONLINE,
};

fn has_length(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.chars().count())
}

fn is_line(text: &str, longest: usize) -> bool {
    has_length(text, longest) && !text.contains(char::is_control)
}

/// Feedback on a run: a score, a comment, corrected outputs, or several of them.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("FeedbackBody"))]
pub struct FeedbackRequest {
    /// The name of the score: 1 to 64 letters, digits, `-`, `_` and `.`. Required with `score` or `category`.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: Option<String>,
    /// A score from 0 to 1.
    #[facet(dsrs::minimum(0), dsrs::maximum(1))]
    pub score: Option<f64>,
    /// A score that is a word, instead of a number.
    #[facet(dsrs::text(&CATEGORY))]
    pub category: Option<String>,
    /// A comment.
    #[facet(dsrs::text(&COMMENT))]
    pub comment: Option<String>,
    /// Corrected outputs of the graph, some or all, by name.
    pub outputs: Option<Map>,
    /// The source of the feedback, such as `reviewer`. Default: `user`. `online` is reserved.
    #[facet(default = "user".to_owned(), dsrs::text(&PLAIN_NAME), dsrs::text(&CLIENT_SOURCE))]
    pub source: String,
    /// The person who gives it.
    #[facet(dsrs::text(&PERSON))]
    pub user_id: Option<String>,
}

impl FeedbackRequest {
    /// Adds what is wrong with members together to the problems of single members.
    pub fn check(&self, problems: &mut Problems) {
        let root = At::Root;
        let is_wrong = |member: &str| {
            let pointer = root.key(member).pointer();
            problems.iter().any(|problem| problem.pointer == pointer)
        };
        let has_name = self.name.is_some() || is_wrong("name");
        let has_number = self.score.is_some() || is_wrong("score");
        let has_category = self.category.is_some() || is_wrong("category");
        let has_comment = self.comment.is_some() || is_wrong("comment");
        let has_outputs = self.outputs.is_some() || is_wrong("outputs");
        let has_score = has_number || has_category;
        if has_number && has_category {
            let detail = "a score is a number or a category, not both";
            problems.add(&root.key("category"), Code::InvalidValue, detail);
        }
        if has_score && !has_name {
            problems.add(&root.key("name"), Code::MissingField, "a score needs a `name`");
        }
        if !has_score && has_name {
            let detail = "only a `score` or a `category` has a name";
            problems.add(&root.key("name"), Code::InvalidValue, detail);
        }
        if !has_score && !has_comment && !has_outputs {
            let detail = "expected `score`, `category`, `comment` or `outputs`";
            problems.add(&root, Code::MissingField, detail);
        }
    }
}
