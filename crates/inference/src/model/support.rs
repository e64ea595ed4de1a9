//! What values a parameter of a model may have.

/// What values a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Any number; its prior is normal.
    Real,
    /// The whole numbers from 0 to this one; its prior is uniform.
    UpTo(u32),
}

impl Support {
    /// Whether a value is one of its own.
    pub(crate) fn has(self, value: f64) -> bool {
        match self {
            Self::Real => value.is_finite(),
            Self::UpTo(most) => value >= 0.0 && value <= f64::from(most) && value.fract() == 0.0,
        }
    }
}
