//! Numbers of variable length, as the body of a run and its usage have them: seven bits a byte, the lowest first, as
//! LEB128. May not know what they count.

use super::BodyError;

/// Appends a number.
pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// What is left to read.
pub(crate) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, BodyError> {
        let (first, rest) = self.rest.split_first().ok_or(BodyError::Truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, BodyError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has one bit.
            if shift == 63 && bits > 1 {
                return Err(BodyError::Malformed("a number is too large"));
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(BodyError::Malformed("a number is too long"))
    }

    /// A number of things in memory.
    pub(crate) fn count(&mut self) -> Result<usize, BodyError> {
        usize::try_from(self.number()?).map_err(|_| BodyError::Malformed("a count is too large"))
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8], BodyError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(BodyError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self, bytes: usize) -> Result<&'b str, BodyError> {
        let taken = self.take(bytes)?;
        std::str::from_utf8(taken).map_err(|_| BodyError::Malformed("a text is no UTF-8"))
    }

    pub(crate) fn rest(self) -> &'b [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 63, u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push(&mut bytes, *number));
        let mut reader = Reader::new(&bytes);
        for number in numbers {
            assert_eq!(reader.number().unwrap(), number);
        }
        assert!(reader.is_empty());
    }

    #[test]
    fn what_no_number_ends_in_is_refused() {
        assert!(Reader::new(&[0x80]).number().is_err());
        assert!(Reader::new(&[0xff; 12]).number().is_err());
        assert!(
            Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2])
                .number()
                .is_err()
        );
    }
}
