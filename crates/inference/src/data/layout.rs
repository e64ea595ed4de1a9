//! What the inputs of a row are: public constants of the schema, known before any row is read.

use crate::DataError;
use std::ops::Range;

/// Which inputs are numbers, which are levels of one category, and which is the intercept.
///
/// Numbers come first. Of the other inputs, which are 0 or 1, those of a block are the levels of one category: at most one of
/// them is 1 in a row. An input in no block is a flag of its own.
///
/// # Examples
/// ```
/// use inference::InputLayout;
/// // A number, a flag, a category of three levels and an intercept.
/// let layout = InputLayout::new(6, 1)?.with_blocks([2..5])?.with_intercept();
/// assert_eq!((layout.flags().collect::<Vec<_>>(), layout.intercept()), (vec![1], Some(5)));
/// # Ok::<(), inference::DataError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InputLayout {
    width: usize,
    numbers: usize,
    blocks: Vec<Range<usize>>,
    intercept: Option<usize>,
}

/// Most inputs of a row.
const MOST_INPUTS: usize = 1 << 24;

impl InputLayout {
    /// So many inputs, the first of which are numbers and the others flags.
    pub fn new(width: usize, numbers: usize) -> Result<Self, DataError> {
        if numbers > width || width == 0 || width > MOST_INPUTS {
            return Err(DataError::Width { found: format!("{numbers} dense of {width} inputs") });
        }
        Ok(Self { width, numbers, blocks: Vec::new(), intercept: None })
    }

    /// The same, with these inputs as the levels of categories: in order, none empty, none among the numbers, none twice.
    pub fn with_blocks(self, blocks: impl IntoIterator<Item = Range<usize>>) -> Result<Self, DataError> {
        let blocks: Vec<Range<usize>> = blocks.into_iter().collect();
        let starts = blocks.iter().map(|block| block.start).chain([self.width]).skip(1);
        let apart = blocks.iter().zip(starts).all(|(block, next)| !block.is_empty() && block.end <= next);
        if !apart || blocks.first().is_some_and(|first| first.start < self.numbers) {
            return Err(DataError::Width { found: format!("levels at {blocks:?} of {} inputs", self.width) });
        }
        Ok(Self { blocks, ..self })
    }

    /// The same, with the last input as the intercept, where it is neither a number nor a level.
    #[must_use]
    pub fn with_intercept(self) -> Self {
        let free = self.numbers < self.width && self.blocks.last().is_none_or(|last| last.end < self.width);
        Self { intercept: free.then(|| self.width - 1), ..self }
    }

    /// The same with one more input, the last, which is a flag.
    #[must_use]
    pub(crate) fn with_a_one(&self) -> Self {
        Self { width: self.width + 1, ..self.clone() }
    }

    /// The same without the last so many inputs, which are flags.
    #[must_use]
    pub(crate) fn without(&self, ones: usize) -> Self {
        Self { width: self.width.saturating_sub(ones), ..self.clone() }
    }

    /// d: number of inputs.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many inputs are numbers.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// The inputs of each category.
    pub fn blocks(&self) -> &[Range<usize>] {
        &self.blocks
    }

    /// The place of the intercept, if the rows have one.
    pub fn intercept(&self) -> Option<usize> {
        self.intercept
    }

    /// Inputs that are 0 or 1 and belong to no category.
    pub fn flags(&self) -> impl Iterator<Item = usize> {
        let in_block = |j: &usize| self.blocks.iter().any(|block| block.contains(j));
        (self.numbers..self.width).filter(move |j| !in_block(j) && self.intercept() != Some(*j))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_meet_leave_the_width_or_hold_numbers_are_refused() {
        let layout = || InputLayout::new(8, 2).unwrap();
        for blocks in [[1..3, 3..5], [2..5, 4..6], [3..5, 6..9], [3..3, 4..5], [5..7, 2..4]] {
            assert!(layout().with_blocks(blocks.clone()).is_err(), "{blocks:?}");
        }
        let layout = layout().with_blocks([2..4, 5..7]).unwrap().with_intercept();
        assert_eq!((layout.flags().collect::<Vec<_>>(), layout.intercept()), (vec![4], Some(7)));
    }

    #[test]
    fn a_level_or_a_number_is_no_intercept() {
        let all = InputLayout::new(4, 2).unwrap().with_blocks(std::iter::once(2..4)).unwrap().with_intercept();
        assert_eq!((all.intercept(), InputLayout::new(2, 2).unwrap().with_intercept().intercept()), (None, None));
    }
}
