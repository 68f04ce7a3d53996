//! What a browser without scripts sends of a form that it was shown.

use regex::Regex;

/// The fields of the form with this action, as a browser would send them.
pub fn filled_form(html: &str, action: &str) -> Vec<(String, String)> {
    let begin = html.find(&format!("action=\"{action}\"")).unwrap_or_else(|| panic!("{html}"));
    let form = &html[begin..];
    let form = &form[..form.find("</form>").unwrap()];
    let templates = Regex::new("(?s)<template>.*?</template>").unwrap();
    let form = templates.replace_all(form, "");
    let pattern =
        r"(?s)<input([^>]*)>|<textarea([^>]*)>\n?(.*?)</textarea>|<select([^>]*)>(.*?)</select>";
    let mut fields = Vec::new();
    for found in Regex::new(pattern).unwrap().captures_iter(&form) {
        let part = |number: usize| found.get(number).map(|part| part.as_str());
        let (attributes, value) = if let Some(input) = part(1) {
            let is_box = matches!(attribute(input, "type").as_deref(), Some("checkbox" | "radio"));
            if is_box && !input.contains(" checked") {
                continue;
            }
            (input, attribute(input, "value").unwrap_or_default())
        } else if let Some(area) = part(2) {
            (area, unescaped(part(3).unwrap()))
        } else {
            (part(4).unwrap(), chosen(part(5).unwrap()))
        };
        if let Some(name) = attribute(attributes, "name") {
            fields.push((name, value));
        }
    }
    fields
}

/// The same fields with others instead.
pub fn with<'f>(
    fields: &'f [(String, String)],
    others: &[(&'f str, &'f str)],
) -> Vec<(&'f str, &'f str)> {
    let is_other = |name: &str| others.iter().any(|(other, _)| *other == name);
    let rest = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    rest.filter(|(name, _)| !is_other(name)).chain(others.iter().copied()).collect()
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    let pattern = Regex::new(&format!("(?:^|\\s){name}=\"([^\"]*)\"")).unwrap();
    Some(unescaped(&pattern.captures(attributes)?[1]))
}

/// The value of the option that is selected, or of the first one.
fn chosen(options: &str) -> String {
    let option = Regex::new("<option([^>]*)>").unwrap();
    let all: Vec<&str> =
        option.captures_iter(options).map(|found| found.get(1).unwrap().as_str()).collect();
    let selected = all.iter().find(|option| option.ends_with(" selected"));
    selected.or(all.first()).and_then(|option| attribute(option, "value")).unwrap_or_default()
}

fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
