//! Who hears of connections as they come, go and are turned away, so that they can be counted.

/// A connection that is open, until this is dropped.
pub type Presence = Box<dyn Send + Sync>;

/// Hears of the connections of one port. It is called while connections wait: it must not block.
pub trait ConnectionObserver: Send + Sync + 'static {
    /// A connection is open.
    fn opened(&self) -> Presence;
    /// A handshake failed: no certificate, a wrong one, or another protocol. What a limit ends is counted in
    /// [`super::Excesses`].
    fn refused(&self);
}
