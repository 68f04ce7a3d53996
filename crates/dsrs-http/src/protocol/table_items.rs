//! The items of a table (RFC 4180): a header, then one item per row, as an object of texts by column.
//! Only one row is in memory at a time. Knows nothing of what items mean.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::sync::Arc;

use csv::{ByteRecord, Position, Reader, ReaderBuilder};
use dsrs::problem::{At, Code, Problems};
use dsrs::value::{Map, Payload};

use crate::protocol::json_items::too_long;
use crate::protocol::metered::{Metered, ReadLimit, unreadable};
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use crate::protocol::upload::SpooledBody;
use dsrs_app::{ItemContent, ItemSource, SpoolFile, WrittenItem};

/// How far the reader may read past the end of a row.
const READ_AHEAD: usize = 64 << 10;

/// The problem of text after a closing quotation mark: the reader would merge two rows or misread a
/// cell.
const MISPLACED_TEXT: &str =
    "a cell has text after its closing quotation mark; double a quotation mark inside a cell";

/// The rows of a table in a body.
pub struct TableItems {
    file: SpoolFile,
    columns: Vec<Arc<str>>,
    /// Longest row in bytes.
    longest: usize,
}

type Receive<'t> = dyn FnMut(WrittenItem<'_>) -> ControlFlow<()> + 't;

impl TableItems {
    /// Reads and checks the header.
    pub(crate) fn of(body: SpooledBody, longest: usize) -> Result<Self, ApiProblem> {
        let mut file = body.file;
        let (limit, positions) =
            (ReadLimit::new(longest.saturating_add(READ_AHEAD)), RefCell::default());
        let mut header = ByteRecord::new();
        let mut reader = reader(&mut file, &limit, &positions);
        let read = reader.read_byte_record(&mut header);
        let end = reader.position().byte();
        drop(reader);
        let has_header = match read {
            Ok(has_header) => has_header,
            Err(_) if limit.is_used_up() => {
                let detail = format!("the header is over {longest} bytes (`limits.body_bytes`)");
                return Err(ApiProblem::new(ProblemCode::TooLarge, detail));
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let mut problems = Problems::new();
        if !has_header {
            problems.add(
                &At::Root,
                Code::MissingField,
                "the table is empty; it begins with a header",
            );
        }
        let columns = read_header(&header, &mut problems);
        if positions.borrow_mut().take_misplaced_text_before(end) {
            problems.add(&At::Root.key("header"), Code::InvalidValue, MISPLACED_TEXT);
        }
        if !problems.is_empty() {
            return Err(ApiProblem::of(ProblemCode::InvalidRequest, problems));
        }
        file.rewind().map_err(|error| unreadable(&error))?;
        Ok(Self { file, columns, longest })
    }

    /// The names in the header, in order.
    pub(crate) fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
}

fn read_header(header: &ByteRecord, problems: &mut Problems) -> Vec<Arc<str>> {
    let mut columns: Vec<Arc<str>> = Vec::with_capacity(header.len());
    for (index, cell) in header.iter().enumerate() {
        let place = At::Root.key("header");
        let at = place.index(index);
        match std::str::from_utf8(cell).map(str::trim) {
            Err(_) => problems.add(&at, Code::InvalidValue, "the header is not UTF-8"),
            Ok("") => problems.add(&at, Code::InvalidName, "a column has no name"),
            Ok(name) if columns.iter().any(|known| known.as_ref() == name) => {
                problems.add(&at, Code::DuplicateName, format!("two columns are named `{name}`"));
            }
            Ok(name) => columns.push(name.into()),
        }
    }
    columns
}

impl ItemSource for TableItems {
    fn each(self, receive: &mut Receive<'_>) -> Result<(), String> {
        let Self { file, columns, longest } = self;
        let (limit, positions) = (ReadLimit::new(usize::MAX), RefCell::default());
        let mut reader = reader(file, &limit, &positions);
        let (mut record, mut is_header) = (ByteRecord::new(), true);
        loop {
            limit.allow(longest.saturating_add(READ_AHEAD));
            let line = reader.position().line();
            match reader.read_byte_record(&mut record) {
                Ok(true) if is_header => {
                    is_header = false;
                    positions.borrow_mut().take_misplaced_text_before(reader.position().byte());
                }
                Ok(true) => {
                    let mut positions = positions.borrow_mut();
                    let line = Some(positions.line_of(&record, reader.position()));
                    let is_misread = positions.take_misplaced_text_before(reader.position().byte());
                    let row = match record.as_slice().len() > longest {
                        true => too_long(longest, line),
                        false if is_misread => {
                            let content = ItemContent::Unreadable(
                                Code::InvalidValue,
                                MISPLACED_TEXT.to_owned(),
                            );
                            WrittenItem { content, line }
                        }
                        false => WrittenItem { content: row(&columns, &record), line },
                    };
                    drop(positions);
                    if receive(row).is_break() {
                        return Ok(());
                    }
                }
                Ok(false) => {
                    if let Some(line) = positions.borrow().open_cell() {
                        let detail =
                            "a cell is not closed, or has a quotation mark that is not doubled";
                        let content =
                            ItemContent::Unreadable(Code::InvalidValue, detail.to_owned());
                        let _ = receive(WrittenItem { content, line: Some(line) });
                    }
                    return Ok(());
                }
                // The end of the row is unknown.
                Err(_) if limit.is_used_up() => {
                    let _ = receive(too_long(longest, Some(line)));
                    return Ok(());
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// A row as an object of texts.
fn row(columns: &[Arc<str>], record: &ByteRecord) -> ItemContent<'static> {
    if record.len() != columns.len() {
        let detail = format!("the row has {} cells, the header {}", record.len(), columns.len());
        return ItemContent::Unreadable(Code::InvalidValue, detail);
    }
    let mut cells = Map::with_capacity(columns.len());
    for (name, cell) in columns.iter().zip(record) {
        match std::str::from_utf8(cell) {
            Ok(cell) => drop(cells.insert(name.clone(), Payload::from(cell))),
            Err(_) => {
                let detail = format!("the cell of `{name}` is not UTF-8");
                return ItemContent::Unreadable(Code::InvalidValue, detail);
            }
        }
    }
    ItemContent::Value(Payload::map(cells))
}

fn reader<'a, R: Read>(
    file: R,
    limit: &'a ReadLimit,
    positions: &'a RefCell<Positions>,
) -> Reader<PositionedReader<'a, Metered<'a, BufReader<R>>>> {
    let metered = Metered { reader: BufReader::new(file), limit };
    // `row` reports rows of a wrong length, each with its line.
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).buffer_capacity(READ_AHEAD / 2);
    builder.from_reader(PositionedReader { reader: metered, positions })
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum CellPosition {
    /// Before its first character.
    #[default]
    Start,
    /// In a cell without quotation marks, or in misplaced text after a closing one.
    Bare,
    /// Between quotation marks.
    Quoted,
    /// After a mark that closes the cell or is the first of two.
    Closed,
}

/// Positions in the bytes that were read.
#[derive(Default)]
struct Positions {
    /// The number of bytes.
    seen: u64,
    /// The position of their end in a cell.
    place: CellPosition,
    /// The line of their end, counted from 0, and the line on which the last quoted cell opened.
    line: u64,
    opened: u64,
    /// Where misplaced text begins, beyond the rows that were read.
    misplaced: VecDeque<u64>,
    /// Where lines end, beyond the rows that were read.
    line_ends: VecDeque<u64>,
}

impl Positions {
    fn record(&mut self, bytes: &[u8]) {
        for (at, byte) in (self.seen..).zip(bytes) {
            self.step(at, *byte);
            if *byte == b'\n' {
                self.line_ends.push_back(at);
                self.line += 1;
            }
        }
        self.seen += bytes.len() as u64;
    }

    fn step(&mut self, at: u64, byte: u8) {
        self.place = match (self.place, byte) {
            (CellPosition::Start, b'"') => {
                self.opened = self.line;
                CellPosition::Quoted
            }
            (CellPosition::Quoted, b'"') => CellPosition::Closed,
            (CellPosition::Quoted, _) | (CellPosition::Closed, b'"') => CellPosition::Quoted,
            (_, b',' | b'\r' | b'\n') => CellPosition::Start,
            (CellPosition::Start, 0xef | 0xbb | 0xbf) if at < 3 => CellPosition::Start,
            (CellPosition::Closed, _) => {
                self.misplaced.push_back(at);
                CellPosition::Bare
            }
            _ => CellPosition::Bare,
        };
    }

    /// Whether misplaced text begins before a position. Forgets it, so that it is reported once.
    fn take_misplaced_text_before(&mut self, end: u64) -> bool {
        let before = self.misplaced.len();
        while self.misplaced.front().is_some_and(|at| *at < end) {
            self.misplaced.pop_front();
        }
        self.misplaced.len() < before
    }

    /// The line of a quoted cell that is not closed.
    fn open_cell(&self) -> Option<u64> {
        (self.place == CellPosition::Quoted).then_some(self.opened + 1)
    }

    /// The line on which a row begins, which was read up to `end`. The reader itself reports the line
    /// on which the previous row ended, without blank lines between them.
    fn line_of(&mut self, row: &ByteRecord, end: &Position) -> u64 {
        let last = end.byte().saturating_sub(1);
        while self.line_ends.front().is_some_and(|at| *at < last) {
            self.line_ends.pop_front();
        }
        // The `\n` of `\r\n` is left to the next row.
        let ends_line = self.line_ends.front() == Some(&last);
        let within = row.as_slice().iter().filter(|byte| **byte == b'\n').count();
        end.line().saturating_sub(u64::from(ends_line) + within as u64)
    }
}

/// A reader that records positions.
struct PositionedReader<'a, R> {
    reader: R,
    positions: &'a RefCell<Positions>,
}

impl<R: Read> Read for PositionedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.positions.borrow_mut().record(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::protocol::upload::{UploadFormat, empty_file};

    fn table(text: &[u8]) -> Result<TableItems, ApiProblem> {
        let mut file = empty_file();
        file.write_all(text).unwrap();
        file.rewind().unwrap();
        TableItems::of(SpooledBody { form: UploadFormat::Table, file }, 40)
    }

    /// Each row as its line and its text, or why it cannot be read.
    fn rows(text: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        let read = table(text).unwrap().each(&mut |item| {
            let line = item.line.map_or("-".to_owned(), |line| line.to_string());
            found.push(match item.content {
                ItemContent::Value(value) => format!("{line} {}", value.to_json()),
                ItemContent::Unreadable(_, detail) => format!("{line} {detail}"),
                ItemContent::Text(_) => unreachable!("a table has no JSON"),
            });
            ControlFlow::Continue(())
        });
        read.unwrap();
        found
    }

    #[test]
    fn cells_are_read_as_rfc_4180_defines_them() {
        let text = "\u{feff}a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\r\n\r\n,é\r\n\"last\",\"\"";
        let wanted = [
            r#"2 {"a":"1","b":"x, \"y\"\r\nz"}"#,
            r#"5 {"a":"","b":"é"}"#,
            r#"6 {"a":"last","b":""}"#,
        ];
        assert_eq!(rows(text.as_bytes()), wanted);
    }

    #[test]
    fn invalid_rows_are_reported_with_their_lines() {
        assert_eq!(
            rows(b"a,b\n1\n2,3,4\n5,6\n7,\xff\n"),
            [
                "2 the row has 1 cells, the header 2",
                "3 the row has 3 cells, the header 2",
                r#"4 {"a":"5","b":"6"}"#,
                "5 the cell of `b` is not UTF-8"
            ]
        );
        let open = rows(b"a,b\n1,2\n3,\"4\n5,6\n");
        assert_eq!(open.len(), 3, "{open:?}");
        assert!(open[2].starts_with("3 a cell is not closed"), "{open:?}");
    }

    #[test]
    fn two_rows_are_merged_only_inside_quotation_marks() {
        let merged = rows(b"a,b\n1,\"x\n2,\"y\n3,\"z\"z\n\"4\",5\n");
        let misplaced = "a cell has text after its closing quotation mark";
        assert_eq!(merged.len(), 3, "{merged:?}");
        assert!(merged[0].starts_with(&format!("2 {misplaced}")), "{merged:?}");
        assert!(merged[1].starts_with(&format!("4 {misplaced}")), "{merged:?}");
        assert_eq!(merged[2], r#"5 {"a":"4","b":"5"}"#);
        let said = rows(b"\xef\xbb\xbf\"a\",b\r\n\"x\n2\",\"\"\"y\"\"\"\r\n5\" pipe,\" \"\r\n");
        let wanted = [r#"2 {"a":"x\n2","b":"\"y\""}"#, r#"4 {"a":"5\" pipe","b":" "}"#];
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_row_without_an_end_is_not_collected() {
        let endless = format!("a\nshort\n\"{}", "x\n".repeat(1 << 20));
        let found = rows(endless.as_bytes());
        assert_eq!(found[0], r#"2 {"a":"short"}"#);
        assert!(found[1].starts_with("3 an item is over the limit of 40 bytes"), "{found:?}");
        let long = rows(format!("a\n{}\nx\n", "y".repeat(41)).as_bytes());
        assert_eq!(long.len(), 2);
        assert!(long[0].contains("over the limit") && long[1].starts_with("3 "), "{long:?}");
    }

    #[test]
    fn a_header_names_every_column_once() {
        let refused = |text: &[u8]| {
            let Err(problem) = table(text) else { panic!("{text:?} has a header") };
            problem.detail().to_owned()
        };
        assert!(refused(b"").contains("the table is empty"));
        assert!(refused(b"\n\n").contains("the table is empty"));
        assert!(refused(b"a,b,a\n").contains("two columns are named `a`"));
        assert!(refused(b"a,,b\n").contains("a column has no name"));
        assert!(refused(b"a,\xff\n").contains("not UTF-8"));
        assert!(refused(b"\"a\"b,c\n").contains("after its closing quotation mark"));
        assert_eq!(table(b"\xef\xbb\xbf a , b\n").unwrap().columns().concat(), "ab");
    }
}
