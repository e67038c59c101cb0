use super::spec::Restart;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(600);
/// A service that ran this long starts over with the shortest delay.
const STABLE: Duration = Duration::from_secs(60);

/// When a service that ended may start again.
#[derive(Default)]
pub struct Backoff {
    /// When it began to run, until it is asked when it may again.
    started: Option<Instant>,
    /// Since its last stable run.
    restarts: u32,
    recent: VecDeque<Instant>,
}

impl Backoff {
    pub fn begin(&mut self, now: Instant) {
        self.started = Some(now);
    }

    /// How often in a row it was started again: a stable run ends the row.
    pub fn restarts(&self, now: Instant) -> u32 {
        match self.started {
            Some(started) if now.duration_since(started) >= STABLE => 0,
            _ => self.restarts,
        }
    }

    /// The delay before the next start; none when it has restarted too often. `chance` (0 to 1) spreads services that
    /// failed together over the last fifth of the delay.
    pub fn next(&mut self, restart: &Restart, now: Instant, chance: f64) -> Option<Duration> {
        self.restarts = self.restarts(now);
        self.started = None;
        self.recent.retain(|at| now.duration_since(*at) < WINDOW);
        if restart.limit > 0 && self.recent.len() >= restart.limit {
            return None;
        }
        self.recent.push_back(now);
        if restart.limit == 0 {
            self.recent.clear();
        }
        let doubled = restart.min_backoff_ms.saturating_mul(1u64.checked_shl(self.restarts).unwrap_or(u64::MAX));
        self.restarts = self.restarts.saturating_add(1);
        let delay = doubled.min(restart.max_backoff_ms) as f64;
        Some(Duration::from_millis((delay * (0.8 + 0.2 * chance)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::Policy;
    use super::*;

    fn restart(limit: usize) -> Restart {
        Restart { policy: Policy::Always, min_backoff_ms: 100, max_backoff_ms: 1000, limit }
    }

    #[test]
    fn doubles_up_to_the_most() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let delays: Vec<u128> = (0..6).map(|_| backoff.next(&restart(0), now, 1.0).unwrap().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
        backoff.begin(now);
        assert_eq!(backoff.next(&restart(0), now + STABLE, 0.0).unwrap().as_millis(), 80);
    }

    #[test]
    fn counts_restarts_in_a_row_which_a_stable_run_ends() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        for _ in 0..3 {
            backoff.begin(now);
            backoff.next(&restart(0), now, 0.0);
        }
        assert_eq!(backoff.restarts(now + STABLE), 3, "it waits, and does not run");
        backoff.begin(now);
        assert_eq!(backoff.restarts(now + STABLE / 2), 3);
        assert_eq!(backoff.restarts(now + STABLE), 0);
        backoff.next(&restart(0), now + STABLE, 0.0);
        assert_eq!(backoff.restarts(now + STABLE), 1);
    }

    #[test]
    fn gives_up_at_the_limit_until_the_window_has_passed() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert!(backoff.next(&restart(2), now, 0.0).is_some());
        assert!(backoff.next(&restart(2), now, 0.0).is_some());
        assert!(backoff.next(&restart(2), now, 0.0).is_none());
        assert!(backoff.next(&restart(2), now + WINDOW, 0.0).is_some());
    }
}
