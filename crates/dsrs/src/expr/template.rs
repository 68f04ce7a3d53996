//! Jinja templates over named values: compiled once, rendered with bounded fuel. They have
//! conditions, loops and expressions, but no assignments, so that no template can grow a text without
//! bound.

use std::fmt;
use std::io;
use std::sync::Arc;

use dsrs_jinja::{Analysis, template_with_filters};
use minijinja::Environment;

use super::depth::BlockDepth;
use super::engine::ENGINE;
use super::language::check_template;
use super::{ExprError, check_time, explain, named_values};
use crate::value::Payload;

/// The longest template, in bytes.
const LENGTH_LIMIT: usize = 20_000;

/// The longest text that a template may write, in bytes.
const TEXT_LIMIT: usize = 4 << 20;

/// How deep loops may nest.
const LOOP_LIMIT: usize = 4;

/// How often a template may concatenate texts or lists.
const JOIN_LIMIT: usize = 100;

/// The allowed tags.
const TAGS: [&str; 6] = ["if", "elif", "else", "endif", "for", "endfor"];

/// The name of the only template of an engine.
const NAME: &str = "template";

/// A compiled template. A line break at the end of its source is not written.
///
/// ```
/// use dsrs::{expr::Template, value::Payload};
/// let template = Template::compile("{% for tag in tags %}#{{ tag }} {% endfor %}").unwrap();
/// assert_eq!(template.names().len(), 1);
/// let tags = Payload::from_json(r#"["a", "b"]"#).unwrap();
/// assert_eq!(template.render([("tags", &tags)]).unwrap(), "#a #b ");
/// ```
#[derive(Clone)]
pub struct Template {
    engine: Environment<'static>,
    names: Vec<Arc<str>>,
    analysis: Arc<Analysis>,
}

impl Template {
    /// Compiles a template.
    ///
    /// # Errors
    /// If it is not a Jinja template, has tags other than `if` and `for`, uses a filter, test, method or function
    /// that does not exist, or is too large.
    pub fn compile(source: &str) -> Result<Self, ExprError> {
        if source.len() > LENGTH_LIMIT {
            return refuse(format!("the template is longer than {LENGTH_LIMIT} bytes"));
        }
        check(source)?;
        let analysis = check_template(source)?;
        let mut engine = ENGINE.clone();
        let computed = template_with_filters(source).map_err(explain)?;
        check(&computed)?;
        engine.add_template_owned(NAME, computed).map_err(explain)?;
        let names = analysis.names().into_iter().map(Arc::from).collect();
        Ok(Self { engine, names, analysis: Arc::new(analysis) })
    }

    /// The names of the values that it uses, in order of appearance.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Whether the template says what it writes if a value is absent.
    #[must_use]
    pub fn may_be_absent(&self, name: &str) -> bool {
        self.analysis.may_be_absent(name, None)
    }

    /// Renders the template with these values.
    ///
    /// # Errors
    /// If an expression fails, or the text is too long, or rendering takes too long.
    pub fn render<'v>(
        &self,
        values: impl IntoIterator<Item = (&'v str, &'v Payload)>,
    ) -> Result<String, ExprError> {
        check_time()?;
        let values = named_values(values)?;
        let template = self.engine.get_template(NAME).map_err(explain)?;
        let mut text = BoundedText(Vec::new());
        match template.render_captured_to(values, &mut text) {
            Ok(_) => {}
            Err(_) if text.0.len() >= TEXT_LIMIT => {
                return refuse(format!("the template writes more than {TEXT_LIMIT} bytes"));
            }
            Err(error) => return Err(explain(error)),
        }
        String::from_utf8(text.0)
            .or_else(|_| refuse("the output of the template is not text".to_owned()))
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({:?})", self.names)
    }
}

fn refuse<T>(reason: String) -> Result<T, ExprError> {
    Err(ExprError { reason })
}

/// Checks every tag and expression before the engine compiles them without bounds.
fn check(source: &str) -> Result<(), ExprError> {
    let (mut loops, mut joins, mut blocks) = (0_usize, 0, BlockDepth::default());
    let mut rest = source;
    while let Some(at) = rest.find(['{']) {
        let (opening, after) =
            rest.get(at..).unwrap_or_default().split_at_checked(2).unwrap_or_default();
        let end = match opening {
            "{{" => "}}",
            "{%" => "%}",
            "{#" => {
                rest = after.split_once("#}").map_or("", |(_, behind)| behind);
                continue;
            }
            _ => {
                rest = rest.get(at + 1..).unwrap_or_default();
                continue;
            }
        };
        let (inner, behind) = after.split_at(blocks.expression(after, end)?);
        let concatenations = inner.matches(['~', '+', '*']).count();
        joins += concatenations;
        if opening == "{%" {
            let word = inner.trim_start_matches(['-', '+', ' ', '\t', '\n', '\r']);
            let word = word.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            check_tag(word, concatenations, &mut loops)?;
            blocks.tag(word);
        }
        rest = behind.get(end.len()..).unwrap_or_default();
    }
    if joins > JOIN_LIMIT {
        return refuse(format!("a template has at most {JOIN_LIMIT} of `~`, `+` and `*`"));
    }
    Ok(())
}

fn check_tag(word: &str, joins: usize, loops: &mut usize) -> Result<(), ExprError> {
    if !TAGS.contains(&word) {
        let known = TAGS.join(", ");
        return refuse(format!("the tag `{word}` is not allowed here; allowed tags: {known}"));
    }
    match word {
        "for" if joins > 0 => {
            return refuse("the expression of a loop cannot have `~`, `+` or `*`".to_owned());
        }
        "for" => *loops += 1,
        "endfor" => *loops = loops.saturating_sub(1),
        _ => {}
    }
    if *loops > LOOP_LIMIT {
        return refuse(format!("loops can be nested at most {LOOP_LIMIT} levels deep"));
    }
    Ok(())
}

/// A buffer that accepts a limited number of bytes.
struct BoundedText(Vec<u8>);

impl io::Write for BoundedText {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let room = TEXT_LIMIT.saturating_sub(self.0.len());
        self.0.extend_from_slice(more.get(..room).unwrap_or(more));
        if more.len() > room { Err(io::Error::other("too long")) } else { Ok(more.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, x: &str) -> Result<String, String> {
        let reason = |error: ExprError| error.reason;
        let x = Payload::from_json(x).unwrap();
        Template::compile(source).map_err(reason)?.render([("x", &x)]).map_err(reason)
    }

    #[test]
    fn a_template_has_conditions_loops_and_members() {
        let source =
            "{% for p in x %}{{ p.name }}{% if not loop.last %}, {% endif %}{% endfor %}!\n";
        assert_eq!(render(source, r#"[{"name": "Ada"}, {"name": "<Bo>"}]"#).unwrap(), "Ada, <Bo>!");
    }

    #[test]
    fn names_are_in_order_of_appearance() {
        let template = Template::compile("{{ b }} {% for a in list %}{{ a }}{% endfor %} {{ a }}");
        let template = template.unwrap();
        let names: Vec<&str> = template.names().iter().map(AsRef::as_ref).collect();
        assert_eq!(names, ["b", "list", "a"]);
    }

    #[test]
    fn tags_that_assign_names_are_not_allowed() {
        for source in ["{% set y = x ~ x %}", "{%- macro m() %}{% endmacro %}", "{% with %}"] {
            assert!(render(source, "1").unwrap_err().contains("is not allowed"), "{source}");
        }
        let grows = "{% for y in [x ~ x] %}{% endfor %}";
        assert!(render(grows, "\"a\"").unwrap_err().contains("expression of a loop"));
    }

    #[test]
    fn time_and_output_of_a_template_are_bounded() {
        let forever =
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}";
        assert!(render(forever, "1").unwrap_err().contains("fuel"));
        let text = format!("{:?}", "x".repeat(100_000));
        let much = "{% for a in range(1000) %}{{ x }}{% endfor %}";
        assert!(render(much, &text).unwrap_err().contains("writes more than"));
        let squares = "{{ x|replace('x', x)|replace('x', x) }}";
        assert!(render(squares, &text).unwrap_err().contains("more than"));
        let deep = format!("{}x{}", "{% for a in x %}".repeat(5), "{% endfor %}".repeat(5));
        assert!(render(&deep, "1").unwrap_err().contains("deep"));
        assert!(render(&format!("{{{{ x{} }}}}", " ~ x".repeat(101)), "1").is_err());
    }
}
