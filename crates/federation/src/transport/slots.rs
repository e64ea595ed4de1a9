//! Room for connections: so many in all, so many for each holder; when it is full, who was idle longest gives way.
//!
//! Whoever comes is let in at the cost of the holder that has most. Many idle connections of one holder cost the others
//! nothing that way, and who completes a handshake while more come from the same address is not kept out by them.

use privacy::noise::Digest;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Whose connections are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// Callers that have shown no certificate.
    Address(IpAddr),
    /// A party, by the digest of the key in its certificate.
    Party(Digest),
}

impl Holder {
    /// The holder that an address stands for: of IPv6 the first half, which one customer has to itself.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(long) => {
                let [a, b, c, d, ..] = long.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            short => short,
        })
    }
}

/// Who gives way when all places are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvictionRule {
    /// The holder that has most, always: nobody here has shown who they are.
    Always,
    /// Only a holder that has more than the one who comes; otherwise that one is refused.
    IfMore,
}

/// What had to be done to let somebody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryOutcome {
    /// Nothing: there was room.
    Free,
    /// An earlier connection of the same holder was closed.
    OwnGaveWay,
    /// A connection of the holder that had most was closed.
    OtherGaveWay,
}

/// Places for connections.
pub(crate) struct ConnectionSlots {
    most: usize,
    each: usize,
    yielding: EvictionRule,
    table: Mutex<SlotTable>,
}

/// By their number, which counts up.
#[derive(Default)]
struct SlotTable {
    next: u64,
    taken: BTreeMap<u64, (Holder, Arc<ConnectionActivity>)>,
}

impl SlotTable {
    fn count(&self, holder: Holder) -> usize {
        self.taken.values().filter(|(one, _)| *one == holder).count()
    }

    /// The holder with most connections, of those with an idle one if that is asked; of several, the one that was idle longest.
    fn largest(&self, idle: bool) -> Option<(Holder, usize)> {
        let mut counts: HashMap<Holder, (usize, Option<Reverse<Instant>>)> = HashMap::new();
        for (holder, activity) in self.taken.values() {
            let since = (!(idle && activity.is_busy())).then(|| Reverse(activity.since()));
            let (count, oldest) = counts.entry(*holder).or_default();
            (*count, *oldest) = (*count + 1, since.max(*oldest));
        }
        let found = counts.into_iter().filter(|(_, (_, oldest))| oldest.is_some());
        found.max_by_key(|(_, key)| *key).map(|(holder, (count, _))| (holder, count))
    }

    /// Closes the connection of a holder that was idle longest, or the oldest one if all are at work.
    fn close_oldest(&mut self, holder: Holder) {
        let own = self.taken.iter().filter(|(_, (one, _))| *one == holder);
        let oldest =
            own.min_by_key(|(_, (_, activity))| (activity.is_busy(), activity.since())).map(|(number, _)| *number);
        if let Some((_, activity)) = oldest.and_then(|number| self.taken.remove(&number)) {
            activity.leave.notify_one();
        }
    }
}

impl ConnectionSlots {
    /// Room for `most` connections, and for `each` of one holder.
    pub(crate) fn new(most: usize, each: usize, yielding: EvictionRule) -> Arc<Self> {
        Arc::new(Self { most, each: each.max(1), yielding, table: Mutex::default() })
    }

    /// A place for a new connection, and who had to go for it; none if all places are taken and nobody gives way.
    pub(crate) fn enter(self: &Arc<Self>, holder: Holder) -> Option<(ConnectionSlot, EntryOutcome)> {
        let mut table = self.lock();
        let own = table.count(holder);
        let mut entrance = EntryOutcome::Free;
        if own >= self.each {
            table.close_oldest(holder);
            entrance = EntryOutcome::OwnGaveWay;
        } else if table.taken.len() >= self.most {
            let (largest, count) = self.largest(&table)?;
            if self.yielding == EvictionRule::IfMore && count <= own {
                return None;
            }
            table.close_oldest(largest);
            entrance = EntryOutcome::OtherGaveWay;
        }
        let activity = Arc::new(ConnectionActivity::default());
        let number = table.next;
        table.next += 1;
        table.taken.insert(number, (holder, activity.clone()));
        Some((ConnectionSlot { slots: self.clone(), number, activity }, entrance))
    }

    /// Closes one connection, of the holder that has most: the machine has no more sockets to give.
    pub(crate) fn shrink(&self) {
        let mut table = self.lock();
        if let Some((holder, _)) = self.largest(&table) {
            table.close_oldest(holder);
        }
    }

    /// Among callers whom nobody knows, who works is spared as long as somebody is idle. Parties work nearly always, at polls.
    fn largest(&self, table: &SlotTable) -> Option<(Holder, usize)> {
        match self.yielding {
            EvictionRule::Always => table.largest(true).or_else(|| table.largest(false)),
            EvictionRule::IfMore => table.largest(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a room. It is free again when this is dropped.
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
    pub(crate) activity: Arc<ConnectionActivity>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.lock().taken.remove(&self.number);
    }
}

/// What a connection does at its place: whether it is at work, and since when it is idle.
pub(crate) struct ConnectionActivity {
    busy: AtomicUsize,
    since: Mutex<Instant>,
    leave: Notify,
}

impl Default for ConnectionActivity {
    fn default() -> Self {
        Self { busy: AtomicUsize::new(0), since: Mutex::new(Instant::now()), leave: Notify::new() }
    }
}

impl ConnectionActivity {
    /// At work from now until the guard is dropped: those who are idle go first.
    pub(crate) fn hold(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::Relaxed);
        BusyGuard(self.clone())
    }

    /// Idle from now on, if it is idle.
    pub(crate) fn touch(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Comes back when this connection has to give way. One waits for it at a time.
    pub(crate) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// Comes back when the connection has been idle for so long.
    pub(crate) async fn idle_for(&self, time: Duration) {
        loop {
            let now = Instant::now();
            let end = if self.is_busy() { now + time } else { self.since() + time };
            if end <= now {
                return;
            }
            sleep_until(end).await;
        }
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    fn since(&self) -> Instant {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work at a place.
pub(crate) struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(last: u8) -> Holder {
        Holder::at(IpAddr::from([10, 0, 0, last]))
    }

    fn is_closed(slot: &ConnectionSlot) -> bool {
        !slot.slots.lock().taken.contains_key(&slot.number)
    }

    #[test]
    fn a_holder_over_its_own_limit_loses_its_own_oldest() {
        let slots = ConnectionSlots::new(10, 2, EvictionRule::Always);
        let other = slots.enter(holder(2)).unwrap().0;
        let (first, _) = slots.enter(holder(1)).unwrap();
        let (second, entrance) = slots.enter(holder(1)).unwrap();
        assert_eq!(entrance, EntryOutcome::Free);
        let (third, entrance) = slots.enter(holder(1)).unwrap();
        assert_eq!(entrance, EntryOutcome::OwnGaveWay);
        assert_eq!([&other, &first, &second, &third].map(is_closed), [false, true, false, false]);
    }

    #[test]
    fn who_has_most_gives_way_when_all_places_are_taken_and_who_works_goes_last() {
        let slots = ConnectionSlots::new(3, 3, EvictionRule::Always);
        let single = slots.enter(holder(2)).unwrap().0;
        let [first, second] = [(); 2].map(|()| slots.enter(holder(1)).unwrap().0);
        let _work = first.activity.hold();
        let (_new, entrance) = slots.enter(holder(3)).unwrap();
        assert_eq!(entrance, EntryOutcome::OtherGaveWay);
        assert_eq!([&single, &first, &second].map(is_closed), [false, false, true]);
        // All have one now: the longest idle goes, and not the one who works.
        let (_newer, _) = slots.enter(holder(4)).unwrap();
        assert_eq!([&single, &first].map(is_closed), [true, false]);
        // One who has two at work is spared as well, as long as somebody is idle.
        let slots = ConnectionSlots::new(3, 3, EvictionRule::Always);
        let works = [(); 2].map(|()| slots.enter(holder(1)).unwrap().0);
        let _at_work = [0, 1].map(|one| works[one].activity.hold());
        let idle = slots.enter(holder(2)).unwrap().0;
        let _newest = slots.enter(holder(3)).unwrap();
        assert_eq!([&works[0], &works[1], &idle].map(is_closed), [false, false, true]);
    }

    #[test]
    fn among_parties_nobody_gives_way_to_one_who_has_as_many() {
        let slots = ConnectionSlots::new(2, 2, EvictionRule::IfMore);
        let [first, second] = [1, 2].map(|last| slots.enter(holder(last)).unwrap().0);
        assert!(slots.enter(holder(1)).is_none());
        drop(second);
        let again = slots.enter(holder(1)).unwrap().0;
        let (_other, entrance) = slots.enter(holder(3)).unwrap();
        assert_eq!(entrance, EntryOutcome::OtherGaveWay);
        assert_eq!([&first, &again].map(is_closed), [true, false]);
    }

    #[test]
    fn addresses_of_one_customer_are_one_holder() {
        let of = |text: &str| Holder::at(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::1"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }

    #[tokio::test]
    async fn an_idle_place_is_told_so_and_work_puts_it_off() {
        let slots = ConnectionSlots::new(1, 1, EvictionRule::Always);
        let (slot, _) = slots.enter(holder(1)).unwrap();
        let work = slot.activity.hold();
        let idle = slot.activity.idle_for(Duration::from_millis(5));
        let waited = tokio::time::timeout(Duration::from_millis(50), idle).await;
        assert!(waited.is_err(), "it works");
        drop(work);
        slot.activity.idle_for(Duration::from_millis(5)).await;
    }
}
