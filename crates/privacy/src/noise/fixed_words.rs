//! A generator of words that a test gives.

/// The words, in order.
pub(crate) struct FixedWords(pub(crate) Vec<u64>);

impl rand_core::TryRng for FixedWords {
    type Error = rand_core::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(self.0.remove(0) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(self.0.remove(0))
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(self.0.remove(0) as u8);
        Ok(())
    }
}
