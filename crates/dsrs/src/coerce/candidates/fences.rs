//! Fenced blocks in a text, closed or not. Does not know what is in them.

use std::ops::Range;

use super::super::repair::is_blank;

/// A fenced block.
#[derive(Debug)]
pub(super) struct Fence {
    /// The text between its marks, without the language word.
    pub(super) inside: Range<usize>,
    pub(super) closed: bool,
}

/// Whether a region is inside one of the blocks, which are in order.
pub(super) fn hold(fences: &[Fence], region: &Range<usize>) -> bool {
    let behind = fences.partition_point(|fence| fence.inside.start <= region.start);
    let nearest = behind.checked_sub(1).and_then(|index| fences.get(index));
    nearest.is_some_and(|fence| region.end <= fence.inside.end)
}

/// Three or more backquotes or tildes in a row.
struct FenceMark {
    span: Range<usize>,
    byte: u8,
    /// Whether only blanks precede it in its line.
    leads: bool,
    /// Whether only blanks follow it in its line.
    ends: bool,
}

/// The blocks of a text, in order.
pub(super) fn of(text: &str) -> Vec<Fence> {
    let marks = marks(text);
    let closers = next_closers(&marks);
    let mut fences = Vec::new();
    let mut index = 0;
    while let Some(mark) = marks.get(index) {
        let start = mark.span.end + language_len(text.get(mark.span.end..).unwrap_or_default());
        // A mark at the start of a line is closed by one at the end of a line: quoted texts in a
        // block may contain marks too.
        let closer = match mark.leads {
            true => closers.get(index + 1).copied().flatten(),
            false => Some(index + 1),
        };
        let same = |at: &usize| marks.get(*at).is_some_and(|next| next.byte == mark.byte);
        let closer = closer.filter(same);
        let end = closer.and_then(|at| marks.get(at)).map(|closer| closer.span.start);
        let inside = start.min(end.unwrap_or(text.len()))..end.unwrap_or(text.len());
        fences.push(Fence { inside, closed: end.is_some() });
        index = closer.map_or(marks.len(), |at| at + 1);
    }
    fences
}

fn marks(text: &str) -> Vec<FenceMark> {
    let bytes = text.as_bytes();
    let mut marks = Vec::new();
    let mut leads = true;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let run = match byte {
            b'`' | b'~' => bytes.iter().skip(at).take_while(|next| *next == byte).count(),
            _ => 1,
        };
        // Tildes are prose unless they start a line.
        if run >= 3 && (*byte == b'`' || leads) {
            let span = at..at + run;
            let rest = text.get(span.end..).unwrap_or_default();
            let ends = rest.chars().take_while(|c| *c != '\n').all(is_blank);
            marks.push(FenceMark { span, byte: *byte, leads, ends });
        }
        leads = *byte == b'\n' || (leads && byte.is_ascii_whitespace());
        at += run;
    }
    marks
}

/// For each mark, the first mark from it on that can close a block: one that is alone in its line,
/// else one that ends its line.
fn next_closers(marks: &[FenceMark]) -> Vec<Option<usize>> {
    let (mut alone, mut ending) = (None, None);
    let mut closers = vec![None; marks.len()];
    for (index, mark) in marks.iter().enumerate().rev() {
        if mark.ends {
            ending = Some(index);
            alone = ending.filter(|_| mark.leads).or(alone);
        }
        if let Some(slot) = closers.get_mut(index) {
            *slot = alone.or(ending);
        }
    }
    closers
}

/// The length of the language word after an opening mark.
fn language_len(text: &str) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | '#');
    let len = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let rest = text.get(len..).unwrap_or_default();
    let ends_line = rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    let before_data = rest.trim_start().starts_with(['{', '[']);
    if ends_line || before_data { len } else { 0 }
}
