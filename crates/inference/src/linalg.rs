//! Small symmetric matrices, lower triangle packed row by row: Cholesky, triangular solves,
//! eigenvalues.
//!
//! Dimensions are at most a few hundred; every loop runs in a fixed order, so results have the same bits
//! everywhere. A packed matrix of d rows has d(d + 1)/2 entries: (0,0), (1,0), (1,1), (2,0) and so on.

mod tridiagonal;

/// Place of entry (i, j), i ≥ j.
pub(crate) fn place(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Entries of a packed triangle of d rows.
pub(crate) fn packed(d: usize) -> usize {
    d * (d + 1) / 2
}

/// What a packed entry is multiplied by, so that the packed vector is as long as the matrix (Frobenius): √2 off the
/// diagonal, where one entry stands for two.
pub(crate) fn isometric_weights(d: usize) -> impl Iterator<Item = f64> {
    (0..d).flat_map(|i| (0..=i).map(move |j| if i == j { 1.0 } else { std::f64::consts::SQRT_2 }))
}

/// Row i of a packed triangle, up to the diagonal.
fn row(a: &[f64], i: usize) -> &[f64] {
    &a[place(i, 0)..=place(i, i)]
}

/// aᵀb.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// L with positive diagonal and L Lᵀ = A; none if A is not positive definite in floating point, or not finite.
pub(crate) fn cholesky(a: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut l = a.to_vec();
    for i in 0..d {
        for j in 0..i {
            let (before, own) = l.split_at(place(i, 0));
            let value = (own[j] - dot(&own[..j], row(before, j))) / before[place(j, j)];
            l[place(i, j)] = value;
        }
        let done = &row(&l, i)[..i];
        let pivot = l[place(i, i)] - dot(done, done);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        l[place(i, i)] = pivot.sqrt();
    }
    Some(l)
}

/// Replaces b by L⁻¹b.
/// Forward substitution.
pub(crate) fn solve_lower(l: &[f64], b: &mut [f64]) {
    for i in 0..b.len() {
        let own = row(l, i);
        b[i] = (b[i] - dot(&own[..i], &b[..i])) / own[i];
    }
}

/// Replaces b by L⁻ᵀb.
/// Back substitution, by columns of Lᵀ.
pub(crate) fn solve_upper(l: &[f64], b: &mut [f64]) {
    for i in (0..b.len()).rev() {
        let own = row(l, i);
        b[i] /= own[i];
        let (head, tail) = b.split_at_mut(i);
        head.iter_mut().zip(own).for_each(|(h, v)| *h -= v * tail[0]);
    }
}

/// Ax for a packed symmetric A.
pub(crate) fn symmetric_times(a: &[f64], x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for i in 0..x.len() {
        let own = row(a, i);
        y[i] += dot(own, x);
        y.iter_mut().zip(&own[..i]).for_each(|(y, v)| *y += v * x[i]);
    }
    y
}

/// L Lᵀ, packed.
pub(crate) fn product(l: &[f64], d: usize) -> Vec<f64> {
    let mut a = Vec::with_capacity(packed(d));
    for i in 0..d {
        a.extend((0..=i).map(|j| dot(row(l, i), row(l, j))));
    }
    a
}

/// XAX for packed symmetric X and A, packed.
pub(crate) fn sandwich(x: &[f64], a: &[f64], d: usize) -> Vec<f64> {
    let (outer, inner) = (square(x, d), square(a, d));
    let mut half = vec![0.0; d * d];
    for (i, line) in half.chunks_mut(d.max(1)).enumerate() {
        add_rows(line, &inner[i * d..(i + 1) * d], &outer, d);
    }
    let mut whole = vec![0.0; packed(d)];
    for i in 0..d {
        add_rows(&mut whole[place(i, 0)..=place(i, i)], &outer[i * d..(i + 1) * d], &half, d);
    }
    whole
}

/// Adds Σₖ wₖ · (row k of B) to a line, which may be shorter than a row.
fn add_rows(line: &mut [f64], weights: &[f64], b: &[f64], d: usize) {
    for (weight, row) in weights.iter().zip(b.chunks(d.max(1))).filter(|(weight, _)| **weight != 0.0) {
        line.iter_mut().zip(row).for_each(|(sum, v)| *sum += weight * v);
    }
}

/// All entries of a packed symmetric matrix, row by row.
pub(crate) fn square(a: &[f64], d: usize) -> Vec<f64> {
    let mut full = vec![0.0; d * d];
    for i in 0..d {
        for (j, v) in row(a, i).iter().enumerate() {
            (full[i * d + j], full[j * d + i]) = (*v, *v);
        }
    }
    full
}

/// (L Lᵀ)⁻¹, packed.
pub(crate) fn inverse(l: &[f64], d: usize) -> Vec<f64> {
    // Column j of M = L⁻¹ is zero above j; the inverse is Σₖ Mₖᵢ Mₖⱼ.
    let columns: Vec<Vec<f64>> = (0..d).map(|j| unit_solved(l, d, j)).collect();
    let mut a = Vec::with_capacity(packed(d));
    for i in 0..d {
        a.extend((0..=i).map(|j| dot(&columns[i][i..], &columns[j][i..])));
    }
    a
}

/// L⁻¹ eⱼ.
fn unit_solved(l: &[f64], d: usize, j: usize) -> Vec<f64> {
    let mut b = vec![0.0; d];
    b[j] = 1.0;
    for i in j..d {
        let own = row(l, i);
        b[i] = (b[i] - dot(&own[j..i], &b[j..i])) / own[i];
    }
    b
}

/// Eigenvalues and eigenvectors.
pub(crate) struct Eigen {
    /// Eigenvalues, in no order.
    pub(crate) values: Vec<f64>,
    /// Unit eigenvectors, one after the other, in the order of the values.
    vectors: Vec<f64>,
}

/// Sweeps of the Jacobi method at most; it converges quadratically, and six to ten are usual.
const SWEEPS: usize = 40;

impl Eigen {
    /// A = V diag(λ) Vᵀ by cyclic Jacobi rotations (Golub and Van Loan, Matrix Computations, section 8.5).
    ///
    /// Entries must be finite, and far enough from overflow that their squares can be added.
    pub(crate) fn of(a: &[f64], d: usize) -> Self {
        let mut full = square(a, d);
        let mut vectors = vec![0.0; d * d];
        (0..d).for_each(|i| vectors[i * d + i] = 1.0);
        let total: f64 = full.iter().map(|v| v * v).sum();
        for _ in 0..SWEEPS {
            if off_diagonal(&full, d) <= total * f64::EPSILON * f64::EPSILON {
                break;
            }
            sweep(&mut full, &mut vectors, d);
        }
        Self { values: (0..d).map(|i| full[i * d + i]).collect(), vectors }
    }

    /// Entry j of eigenvector k.
    pub(crate) fn entry(&self, k: usize, j: usize) -> f64 {
        self.vectors[k * self.values.len() + j]
    }

    /// Vᵀb: the coordinates of b along the eigenvectors.
    pub(crate) fn coordinates(&self, b: &[f64]) -> Vec<f64> {
        self.vectors.chunks(b.len().max(1)).map(|v| dot(v, b)).collect()
    }

    /// VᵀBV for a packed symmetric B, packed: B as seen along the eigenvectors.
    pub(crate) fn seen_along(&self, b: &[f64]) -> Vec<f64> {
        let d = self.values.len();
        let mut seen = Vec::with_capacity(packed(d));
        for (k, v) in self.vectors.chunks(d.max(1)).enumerate() {
            let image = symmetric_times(b, v);
            seen.extend((0..=k).map(|l| dot(&self.vectors[l * d..(l + 1) * d], &image)));
        }
        seen
    }

    /// VBVᵀ for a packed symmetric B, packed: the way back.
    pub(crate) fn seen_back(&self, b: &[f64]) -> Vec<f64> {
        let d = self.values.len();
        let images: Vec<Vec<f64>> =
            (0..d).map(|i| symmetric_times(b, &(0..d).map(|k| self.entry(k, i)).collect::<Vec<f64>>())).collect();
        let mut back = Vec::with_capacity(packed(d));
        for (i, image) in images.iter().enumerate() {
            back.extend((0..=i).map(|j| (0..d).map(|k| self.entry(k, j) * image[k]).sum::<f64>()));
        }
        back
    }

    /// V diag(f(λ)) Vᵀ, packed.
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let d = self.values.len();
        let mut a = vec![0.0; packed(d)];
        for (value, v) in self.values.iter().zip(self.vectors.chunks(d.max(1))) {
            let weight = f(*value);
            for i in 0..d {
                let factor = weight * v[i];
                a[place(i, 0)..=place(i, i)].iter_mut().zip(v).for_each(|(a, w)| *a += factor * w);
            }
        }
        a
    }
}

/// Σ over i ≠ j of Aᵢⱼ².
fn off_diagonal(a: &[f64], d: usize) -> f64 {
    (0..d * d).filter(|k| k / d != k % d).map(|k| a[k] * a[k]).sum()
}

/// One rotation for each pair.
fn sweep(a: &mut [f64], vectors: &mut [f64], d: usize) {
    for p in 0..d {
        for q in p + 1..d {
            let apq = a[p * d + q];
            if apq == 0.0 {
                continue;
            }
            let theta = (a[q * d + q] - a[p * d + p]) / (2.0 * apq);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            rotate_rows(a, d, (p, q), (c, s));
            for k in 0..d {
                let (x, y) = (a[k * d + p], a[k * d + q]);
                (a[k * d + p], a[k * d + q]) = (c * x - s * y, s * x + c * y);
            }
            rotate_rows(vectors, d, (p, q), (c, s));
        }
    }
}

/// Rows p and q become c·p − s·q and s·p + c·q.
fn rotate_rows(a: &mut [f64], d: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    let (head, tail) = a.split_at_mut(q * d);
    for (x, y) in head[p * d..(p + 1) * d].iter_mut().zip(&mut tail[..d]) {
        (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};

    /// A symmetric matrix with entries that no order of loops leaves alone.
    fn symmetric(d: usize) -> Vec<f64> {
        (0..packed(d)).map(|k| ((k * k + 7 * k) % 23) as f64 / 11.0 - 1.0).collect()
    }

    fn dense(a: &[f64], d: usize) -> DMatrix<f64> {
        DMatrix::from_fn(d, d, |i, j| a[place(i.max(j), i.min(j))])
    }

    fn lower(l: &[f64], d: usize) -> DMatrix<f64> {
        DMatrix::from_fn(d, d, |i, j| if j <= i { l[place(i, j)] } else { 0.0 })
    }

    #[test]
    fn cholesky_solves_and_inverts_as_nalgebra_does() {
        for d in [1, 2, 5, 40] {
            let mut a = symmetric(d);
            (0..d).for_each(|i| a[place(i, i)] += d as f64 * 2.0);
            let l = cholesky(&a, d).unwrap();
            let (full, x) = (dense(&a, d), DVector::from_fn(d, |i, _| i as f64 - 1.5));
            assert!((lower(&l, d) * lower(&l, d).transpose() - &full).amax() < 1e-12);
            assert!((dense(&product(&l, d), d) - &full).amax() < 1e-12);
            let expected = full.clone().try_inverse().unwrap();
            assert!((dense(&inverse(&l, d), d) - &expected).amax() < 1e-13);
            let mut b = x.as_slice().to_vec();
            solve_lower(&l, &mut b);
            solve_upper(&l, &mut b);
            assert!((DVector::from_vec(b) - expected * &x).amax() < 1e-13);
            assert!((DVector::from_vec(symmetric_times(&a, x.as_slice())) - &full * &x).amax() < 1e-12);
            let other = symmetric(d);
            let expected = dense(&other, d) * &full * dense(&other, d);
            assert!((dense(&sandwich(&other, &a, d), d) - expected).amax() < 1e-10);
        }
    }

    #[test]
    fn cholesky_refuses_what_is_not_positive_definite() {
        for a in [[1.0, 2.0, 1.0], [0.0, 0.0, 1.0], [f64::NAN, 0.0, 1.0], [1.0, f64::INFINITY, 1.0], [1.0, 0.0, -1.0]] {
            assert!(cholesky(&a, 2).is_none(), "{a:?}");
        }
    }

    #[test]
    fn eigenvalues_are_those_of_nalgebra_and_rebuild_the_matrix() {
        for d in [1, 2, 3, 30] {
            let a = symmetric(d);
            let eigen = Eigen::of(&a, d);
            let mut ours = eigen.values.clone();
            let mut theirs: Vec<f64> = dense(&a, d).symmetric_eigen().eigenvalues.as_slice().to_vec();
            ours.sort_by(f64::total_cmp);
            theirs.sort_by(f64::total_cmp);
            assert!(ours.iter().zip(&theirs).all(|(x, y)| (x - y).abs() < 1e-12), "{ours:?} {theirs:?}");
            assert!(eigen.map(|v| v).iter().zip(&a).all(|(x, y)| (x - y).abs() < 1e-12));
        }
    }

    #[test]
    fn matrices_and_vectors_are_seen_along_the_eigenvectors() {
        for d in [1, 2, 7] {
            let a = symmetric(d);
            let eigen = Eigen::of(&a, d);
            let basis = DMatrix::from_fn(d, d, |j, k| eigen.entry(k, j));
            assert!((basis.transpose() * &basis - DMatrix::identity(d, d)).amax() < 1e-14);
            let other: Vec<f64> = a.iter().map(|v| v * v - 0.3).collect();
            let expected = basis.transpose() * dense(&other, d) * &basis;
            assert!((dense(&eigen.seen_along(&other), d) - expected).amax() < 1e-13);
            let back = eigen.seen_back(&eigen.seen_along(&other));
            assert!(back.iter().zip(&other).all(|(x, y)| (x - y).abs() < 1e-13));
            let b = DVector::from_fn(d, |i, _| 0.4 * i as f64 - 1.0);
            let seen = DVector::from_vec(eigen.coordinates(b.as_slice()));
            assert!((seen - basis.transpose() * b).amax() < 1e-14);
        }
    }
}
