//! The processor time of a piece of work.

/// Seconds of processor time that this thread has used so far, and the threads of the pool that it works in.
///
/// A pair of method and seed has a pool of its own, so that the difference of two readings is the time of that pair's own work
/// whatever else runs. From the system's own account on Linux; zero where there is none, so that no result claims a time
/// that was not measured.
pub(crate) fn cpu_seconds() -> f64 {
    let pool: f64 = rayon::broadcast(|_| thread_seconds()).into_iter().sum();
    if rayon::current_thread_index().is_some() { pool } else { pool + thread_seconds() }
}

/// Seconds of processor time of the thread that asks.
fn thread_seconds() -> f64 {
    let nanoseconds = || -> Option<u64> {
        let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        account.split_whitespace().next()?.parse().ok()
    };
    nanoseconds().map_or(0.0, |nanoseconds| nanoseconds as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work that takes some time, and an answer that nobody can leave out.
    fn work(rounds: u64) -> u64 {
        (0..rounds).fold(1, |x, i| std::hint::black_box(x ^ (x << 7).wrapping_add(i)))
    }

    #[test]
    fn the_time_of_a_pool_is_that_of_its_own_threads_whatever_others_do() {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let measured = |rounds| {
            let start = cpu_seconds();
            let answers = rayon::broadcast(|_| work(rounds));
            (cpu_seconds() - start, answers.len())
        };
        let (idle, busy) = std::thread::scope(|scope| {
            let idle = scope.spawn(|| pool(1).install(|| measured(1)));
            let busy = scope.spawn(|| pool(2).install(|| measured(20_000_000)));
            (idle.join().unwrap(), busy.join().unwrap())
        });
        assert_eq!((idle.1, busy.1), (1, 2));
        // Zero where the system keeps no such account.
        assert!(busy.0 == 0.0 || busy.0 > 10.0 * idle.0, "{busy:?} {idle:?}");
    }
}
