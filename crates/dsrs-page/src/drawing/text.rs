//! How wide texts are drawn, roughly, and texts cut to fit. Knows no font files: a picture is laid out before a
//! browser sees it.

use std::borrow::Cow;

/// A face of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    /// The sans-serif of texts and names.
    Sans,
    /// The monospaced one of types and strategies.
    Mono,
}

/// The width of a text at a size, in pixels, rather too wide than too narrow.
pub(super) fn width(text: &str, face: Face, size: f64) -> f64 {
    text.chars().map(|letter| advance(letter, face)).sum::<f64>() * size
}

/// The text, or as much of it as fits, with an ellipsis.
pub(super) fn cut(text: &str, face: Face, size: f64, most: f64) -> Cow<'_, str> {
    if width(text, face, size) <= most {
        return Cow::Borrowed(text);
    }
    let mut left = most - advance('…', face) * size;
    let fits = |letter: &char| {
        left -= advance(*letter, face) * size;
        left >= 0.0
    };
    let shown: String = text.chars().take_while(fits).collect();
    Cow::Owned(format!("{}…", shown.trim_end()))
}

fn advance(letter: char, face: Face) -> f64 {
    match (face, letter) {
        (_, letter) if letter as u32 >= 0x1100 => 1.05,
        (Face::Mono, _) => 0.61,
        (
            Face::Sans,
            'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | '\'' | '|' | '!' | ' ',
        ) => 0.34,
        (Face::Sans, 'm' | 'w' | 'M' | 'W' | '@' | '%' | '…') => 0.94,
        (Face::Sans, 'A'..='Z' | '_' | '0'..='9') => 0.66,
        (Face::Sans, _) => 0.59,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_in_an_ellipsis_and_fits() {
        let name = "a_very_long_name_of_a_node_that_is_cut";
        let shown = cut(name, Face::Sans, 13.0, 120.0);
        assert_eq!(shown, "a_very_long_n…");
        assert!(width(&shown, Face::Sans, 13.0) <= 120.0);
        assert_eq!(cut("short", Face::Mono, 11.0, 120.0), "short");
    }
}
