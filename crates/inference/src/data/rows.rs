//! Encoded rows, stored hybrid: a few dense numbers and a few positions that hold a one.
//!
//! One-hot codes make rows wide and almost empty. Products with a row touch what is stored only, and
//! add up in a fixed order, so that results have the same bits on every machine and for every way to
//! loop.

use crate::{DataError, InputLayout, linalg};
use std::fmt;

/// Rows of inputs and outcomes. Their `Debug` shows no value, and not how many there are.
///
/// Inputs 0..dense of a row are stored as numbers; of the others only the positions that hold a one are stored, as
/// one-hot coding, missing flags and the bias make them. Adult's 109 inputs take 6 numbers and 9 positions.
#[derive(Clone, PartialEq)]
pub struct Rows {
    /// What the inputs are.
    layout: InputLayout,
    /// Dense inputs, row by row.
    numbers: Vec<f64>,
    /// Positions that hold a one, row after row.
    ones: Vec<u32>,
    /// Row i has the ones `starts[i]..starts[i + 1]`.
    starts: Vec<u32>,
    /// y of each row.
    outcomes: Vec<f64>,
}

/// One row, borrowed. Its `Debug` shows no value.
#[derive(Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// Inputs 0..dense.
    pub numbers: &'a [f64],
    /// Positions from dense on that hold a one, increasing.
    pub ones: &'a [u32],
    /// y.
    pub outcome: f64,
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rows({} inputs)", self.width())
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Row({} numbers)", self.numbers.len())
    }
}

impl Rows {
    /// No rows yet: of `width` inputs, the first `dense` are numbers.
    ///
    /// # Errors
    /// [`DataError::Width`] of no inputs, more than 2^24, or more dense ones than inputs.
    pub fn new(width: usize, dense: usize) -> Result<Self, DataError> {
        Ok(Self::of(InputLayout::new(width, dense)?))
    }

    /// No rows yet, of these inputs.
    pub fn of(layout: InputLayout) -> Self {
        Self { layout, numbers: Vec::new(), ones: Vec::new(), starts: vec![0], outcomes: Vec::new() }
    }

    /// Adds a row. Ones must increase and lie between dense and width; numbers and outcome must be finite.
    ///
    /// # Errors
    /// [`DataError::Width`] of a row that does not fit the encoding.
    pub fn push(&mut self, row: Row<'_>) -> Result<(), DataError> {
        let (first, width) = (self.dense() as u32, self.width());
        let in_range = row.ones.iter().all(|&p| p >= first && (p as usize) < width);
        let increasing = row.ones.windows(2).all(|w| w[0] < w[1]);
        let finite = row.numbers.iter().all(|v| v.is_finite()) && row.outcome.is_finite();
        if row.numbers.len() != self.dense() || !in_range || !increasing || !finite {
            return Err(DataError::Width { found: "a row that does not fit the encoding".into() });
        }
        let end = u32::try_from(self.ones.len() + row.ones.len())
            .map_err(|_| DataError::Width { found: "more than 2^32 stored positions".into() })?;
        self.numbers.extend_from_slice(row.numbers);
        self.ones.extend_from_slice(row.ones);
        self.starts.push(end);
        self.outcomes.push(row.outcome);
        Ok(())
    }

    /// A copy of these rows, in this order, stored together.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut out = Self::of(self.layout.clone());
        for &i in rows {
            let row = self.row(i);
            out.numbers.extend_from_slice(row.numbers);
            out.ones.extend_from_slice(row.ones);
            out.starts.push(out.ones.len() as u32);
            out.outcomes.push(row.outcome);
        }
        out
    }

    /// The same inputs with other outcomes.
    ///
    /// # Errors
    /// [`DataError::Width`] where there is not one finite outcome for each row.
    pub fn with_outcomes(&self, outcomes: Vec<f64>) -> Result<Self, DataError> {
        if outcomes.len() != self.len() || !outcomes.iter().all(|y| y.is_finite()) {
            return Err(DataError::Width { found: "outcomes that do not fit the rows".into() });
        }
        Ok(Self { outcomes, ..self.clone() })
    }

    /// The same rows with one more input, the last, that is 1 in all of them.
    pub fn with_a_one(&self) -> Self {
        let last = self.width() as u32;
        let mut out = Self { layout: self.layout.with_a_one(), ones: Vec::new(), starts: vec![0], ..self.clone() };
        for row in self.iter() {
            out.ones.extend_from_slice(row.ones);
            out.ones.push(last);
            out.starts.push(out.ones.len() as u32);
        }
        out
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.outcomes.is_empty()
    }

    /// d: number of inputs.
    pub fn width(&self) -> usize {
        self.layout.width()
    }

    /// How many inputs are stored as numbers.
    pub fn dense(&self) -> usize {
        self.layout.numbers()
    }

    /// What the inputs are.
    pub fn layout(&self) -> &InputLayout {
        &self.layout
    }

    /// Row i.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Row<'_> {
        Row {
            numbers: &self.numbers[i * self.layout.numbers()..(i + 1) * self.layout.numbers()],
            ones: &self.ones[self.starts[i] as usize..self.starts[i + 1] as usize],
            outcome: self.outcomes[i],
        }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.len()).map(|i| self.row(i))
    }

    /// All outcomes in order.
    pub fn outcomes(&self) -> &[f64] {
        &self.outcomes
    }
}

impl Row<'_> {
    /// xᵀw.
    pub fn dot(&self, w: &[f64]) -> f64 {
        let dense: f64 = self.numbers.iter().zip(w).map(|(x, w)| x * w).sum();
        self.ones.iter().fold(dense, |sum, &p| sum + w[p as usize])
    }

    /// Σ xⱼ² wⱼ.
    pub fn dot_squared(&self, w: &[f64]) -> f64 {
        let dense: f64 = self.numbers.iter().zip(w).map(|(x, w)| x * x * w).sum();
        self.ones.iter().fold(dense, |sum, &p| sum + w[p as usize])
    }

    /// Adds scale·x to a plain vector.
    pub(crate) fn add_to(&self, scale: f64, sum: &mut [f64]) {
        sum.iter_mut().zip(self.numbers).for_each(|(sum, x)| *sum += scale * x);
        self.ones.iter().for_each(|&p| sum[p as usize] += scale);
    }

    /// Adds scale·xxᵀ to a packed triangle, (scale·xⱼ)·xₖ at a time. Numbers of a row stand together, and so do those of a
    /// line of the triangle: the inner loop runs over two slices.
    pub(crate) fn add_outer_to(&self, scale: f64, triangle: &mut [f64]) {
        let mut start = 0;
        for (j, x) in self.numbers.iter().enumerate() {
            let weight = scale * x;
            let line = &mut triangle[start..=start + j];
            line.iter_mut().zip(self.numbers).for_each(|(sum, y)| *sum += weight * y);
            start += j + 1;
        }
        for (k, &p) in self.ones.iter().enumerate() {
            let line = &mut triangle[linalg::place(p as usize, 0)..=linalg::place(p as usize, p as usize)];
            line.iter_mut().zip(self.numbers).for_each(|(sum, y)| *sum += scale * y);
            self.ones[..=k].iter().for_each(|&other| line[other as usize] += scale);
        }
    }

    /// xᵀAx for a packed symmetric A.
    pub(crate) fn quadratic(&self, triangle: &[f64]) -> f64 {
        let [sum] = quadratics([self.numbers], triangle);
        self.with_ones(sum, triangle)
    }

    /// Adds to the numbers' part of a quadratic form that of the ones.
    fn with_ones(&self, mut sum: f64, triangle: &[f64]) -> f64 {
        for (k, &p) in self.ones.iter().enumerate() {
            let line = &triangle[linalg::place(p as usize, 0)..=linalg::place(p as usize, p as usize)];
            let off = linalg::dot(self.numbers, line);
            let off = self.ones[..k].iter().fold(off, |sum, &other| sum + line[other as usize]);
            sum += 2.0 * off + line[p as usize];
        }
        sum
    }

    /// The same of several rows.
    pub(crate) fn quadratics_of<const N: usize>(rows: [Row<'_>; N], triangle: &[f64]) -> [f64; N] {
        let sums = quadratics(rows.map(|row| row.numbers), triangle);
        std::array::from_fn(|k| rows[k].with_ones(sums[k], triangle))
    }

    /// Positions and values of all stored inputs.
    pub fn entries(&self) -> impl Iterator<Item = (usize, f64)> {
        self.numbers.iter().copied().enumerate().chain(self.ones.iter().map(|&p| (p as usize, 1.0)))
    }

    /// The row as a plain vector.
    pub fn to_dense(&self, width: usize) -> Vec<f64> {
        let mut x = vec![0.0; width];
        self.entries().for_each(|(j, v)| x[j] = v);
        x
    }
}

/// The numbers' part of xᵀAx for several rows at a time: each sum is made in its own order, and none waits for another.
fn quadratics<const N: usize>(numbers: [&[f64]; N], triangle: &[f64]) -> [f64; N] {
    let (dense, mut sums, mut start) = (numbers.first().map_or(0, |row| row.len()), [0.0; N], 0);
    let numbers = numbers.map(|row| &row[..dense]);
    for i in 0..dense {
        let line = &triangle[start..=start + i];
        let mut off = [-0.0; N];
        for (j, a) in line[..i].iter().enumerate() {
            (0..N).for_each(|k| off[k] += a * numbers[k][j]);
        }
        for k in 0..N {
            let x = numbers[k][i];
            sums[k] += x * (2.0 * off[k] + x * line[i]);
        }
        start += i + 1;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Encoded, Federation, RowKeys, Shard, Site};
    use crate::model::{Scratch, Slopes};
    use std::collections::BTreeMap;

    /// A row's entries one by one, as a loop over iterators adds them up.
    fn entry_by_entry(row: Row<'_>, scale: f64, first: &mut [f64], triangle: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        let before = triangle.to_vec();
        for (i, x) in row.entries() {
            let off: f64 =
                row.entries().take_while(|(j, _)| *j < i).map(|(j, y)| y * before[linalg::place(i, j)]).sum();
            sum += x * (2.0 * off + x * before[linalg::place(i, i)]);
            first[i] += scale * x;
            let weight = scale * x;
            row.entries().take_while(|(j, _)| *j <= i).for_each(|(j, y)| triangle[linalg::place(i, j)] += weight * y);
        }
        sum
    }

    #[test]
    fn sums_over_slices_have_the_bits_of_sums_over_entries() {
        let mut rows = Rows::new(9, 5).unwrap();
        let number = |i: usize, j: usize| (((i * 7 + j * 3) % 13) as f64 - 6.0) / 7.3;
        for i in 0..11 {
            let numbers: Vec<f64> = (0..5).map(|j| number(i, j)).collect();
            let ones: &[u32] = [&[5, 8][..], &[], &[6, 7, 8]][i % 3];
            rows.push(Row { numbers: &numbers, ones, outcome: 0.0 }).unwrap();
        }
        let (mut first, mut triangle) = (vec![0.1; 9], (0..45).map(|k| (k as f64).sqrt() / 3.0).collect::<Vec<_>>());
        let (mut by_slices, mut by_entries) = ((first.clone(), triangle.clone()), (first.clone(), triangle.clone()));
        for (i, row) in rows.iter().enumerate() {
            let scale = number(i, 4) + 0.9;
            let expected = entry_by_entry(row, scale, &mut by_entries.0, &mut by_entries.1);
            assert_eq!(row.quadratic(&by_slices.1).to_bits(), expected.to_bits());
            row.add_to(scale, &mut by_slices.0);
            row.add_outer_to(scale, &mut by_slices.1);
            assert_eq!(by_slices, by_entries);
        }
        (first, triangle) = by_slices;
        assert!(first.iter().chain(&triangle).all(|v| v.is_finite()));
        let four = Row::quadratics_of([0, 3, 4, 10].map(|i| rows.row(i)), &triangle);
        assert_eq!(four, [0, 3, 4, 10].map(|i| rows.row(i).quadratic(&triangle)));
    }

    #[test]
    fn a_row_multiplies_like_its_dense_form() {
        let mut rows = Rows::new(6, 2).unwrap();
        rows.push(Row { numbers: &[0.5, -2.0], ones: &[2, 5], outcome: 1.0 }).unwrap();
        rows.push(Row { numbers: &[1.5, 0.0], ones: &[], outcome: 0.0 }).unwrap();
        let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        for row in rows.iter() {
            let x = row.to_dense(6);
            assert_eq!(row.dot(&w), x.iter().zip(&w).map(|(a, b)| a * b).sum::<f64>());
            assert_eq!(row.dot_squared(&w), x.iter().zip(&w).map(|(a, b)| a * a * b).sum::<f64>());
        }
        assert_eq!(rows.select(&[1, 0]).row(1), rows.row(0));
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let mut rows = Rows::new(6, 2).unwrap();
        let good = Row { numbers: &[0.5, -2.0], ones: &[2, 5], outcome: 1.0 };
        for bad in [
            Row { numbers: &[0.5], ..good },
            Row { numbers: &[0.5, f64::NAN], ..good },
            Row { ones: &[1], ..good },
            Row { ones: &[6], ..good },
            Row { ones: &[3, 3], ..good },
            Row { outcome: f64::INFINITY, ..good },
        ] {
            assert!(rows.push(bad).is_err(), "{bad:?}");
        }
        assert!(rows.is_empty() && Rows::new(2, 3).is_err());
    }

    /// Whatever holds rows, sums over rows or their number: an error or a log line may have its `Debug` text.
    #[test]
    fn nothing_that_holds_rows_prints_them() {
        let mut rows = Rows::new(6, 2).unwrap();
        let row = Row { numbers: &[0.123456, -98765.0], ones: &[2, 5], outcome: 0.123456 };
        (0..77).for_each(|_| rows.push(row).unwrap());
        let keys = RowKeys::of_slots((0..77).collect());
        let columns = BTreeMap::from([("city".to_owned(), vec!["98765".to_owned(); 77])]);
        let inputs = vec!["age".to_owned(); 6];
        let scratch = Scratch { values: vec![0.123456], ..Scratch::default() };
        let slopes = Slopes { value: 0.123456, natural: vec![-98765.0] };
        let mut texts = vec![format!("{row:?} {rows:?} {keys:?} {scratch:?} {slopes:?}")];
        texts.push(format!("{:?}", Encoded { rows: rows.clone(), keys: keys.clone(), inputs, columns }));
        let shard = Shard::new(rows.clone(), keys).unwrap();
        let site = Site { name: "north".into(), shard, own: Vec::new() };
        texts.push(format!("{:#?}", Federation { sites: vec![site], test: rows }));
        for text in texts {
            assert!(["123456", "98765", "76", "77"].iter().all(|private| !text.contains(private)), "{text}");
        }
    }
}
