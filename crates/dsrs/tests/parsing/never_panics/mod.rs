//! Any text results in a value or an error: no panic, no stack overflow, no endless search.

mod bodies;
mod texts;

use fastrand::Rng;

/// Large enough that quadratic work does not end.
const LARGE: usize = 1 << 16;
const STACK: usize = 2 << 20;

#[test]
fn random_and_mutated_texts_are_read() {
    let known = texts::of_the_corpus();
    let mut rng = Rng::with_seed(20_000);
    for _ in 0..20_000 {
        let text = texts::any(&mut rng, &known);
        bodies::sections(&text);
        bodies::lenient(&text);
        bodies::coerced(&text);
    }
}

#[test]
fn deep_texts_are_read_on_a_small_stack() {
    let deep = ["[", "{\"a\":", "{", "(", "<a>", "a:\n ", "- ", "\"", "[\"", "{{", "((", "\\\""];
    for piece in deep {
        tried(piece.repeat(20_000));
    }
}

#[test]
fn large_repetitive_texts_are_read() {
    let pieces = [
        "\"\\",
        "\"",
        "\\",
        "```",
        "```\n",
        "- ",
        "- a\n",
        "|",
        "|-|\n",
        "<a>",
        "</a>",
        "<",
        "{\"",
        "a: ",
        "a: b\n",
        "a, ",
        "1 ",
        "#",
        "# ",
        "//",
        "/*",
        "{}",
        "[]",
        "{\"a\": 1}\n",
        "[[ ## a ## ]]\n",
        "'",
        "\"a\" ",
        "\"a\", ",
        "a(",
        "\"#",
        "{a",
        "\n",
        "and ",
        "<?x?>",
        "&",
        "<!--",
        "(1, ",
    ];
    for piece in pieces {
        tried(piece.repeat(LARGE / piece.len()));
        tried(format!("[{}", piece.repeat(LARGE / piece.len())));
    }
}

#[test]
fn large_texts_with_many_errors_in_deep_places_are_read() {
    let key = "k".repeat(LARGE / 4);
    let starts = [
        "[".repeat(110),
        "{\"a\":".repeat(110),
        "{\"friends\": [".repeat(50),
        "<a>".repeat(110),
        "[{\"d\": [{\"c\": [".repeat(20),
        format!("{{\"{key}\": ["),
        format!("{{\"{key}\": {{\"a\": "),
    ];
    let pieces =
        ["x y, ", "\"a\": x y, ", "{name: b c}, ", "'a' ", "{\"a\": 1, \"a\": 2}, ", "<b>c</b>"];
    for start in &starts {
        for piece in pieces {
            tried(format!("{start}{}", piece.repeat((LARGE - start.len()) / piece.len())));
        }
    }
}

fn tried(text: String) {
    let tried = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        bodies::sections(&text);
        bodies::lenient(&text);
        // The type depends on the length.
        for end in text.len().saturating_sub(3)..=text.len() {
            bodies::coerced(&text[..end]);
        }
    });
    tried.unwrap().join().unwrap();
}
