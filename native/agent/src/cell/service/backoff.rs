use super::spec::Restart;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(600);
/// A service that ran this long starts over with the shortest delay.
const STABLE: Duration = Duration::from_secs(60);

/// When a service that ended may start again.
#[derive(Default)]
pub struct Backoff {
    attempts: u32,
    restarts: VecDeque<Instant>,
}

impl Backoff {
    /// The delay before the next start; none when it has restarted too often. `chance` (0 to 1) spreads services that
    /// failed together over the last fifth of the delay.
    pub fn next(&mut self, restart: &Restart, ran: Duration, now: Instant, chance: f64) -> Option<Duration> {
        if ran >= STABLE {
            self.attempts = 0;
        }
        self.restarts.retain(|at| now.duration_since(*at) < WINDOW);
        if restart.limit > 0 && self.restarts.len() >= restart.limit {
            return None;
        }
        self.restarts.push_back(now);
        if restart.limit == 0 {
            self.restarts.clear();
        }
        let doubled = restart.min_backoff_ms.saturating_mul(1u64.checked_shl(self.attempts).unwrap_or(u64::MAX));
        self.attempts = (self.attempts + 1).min(63);
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
        let delays: Vec<u128> =
            (0..6).map(|_| backoff.next(&restart(0), Duration::ZERO, now, 1.0).unwrap().as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(backoff.next(&restart(0), STABLE, now, 0.0).unwrap().as_millis(), 80);
    }

    #[test]
    fn gives_up_at_the_limit_until_the_window_has_passed() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        assert!(backoff.next(&restart(2), Duration::ZERO, now, 0.0).is_some());
        assert!(backoff.next(&restart(2), Duration::ZERO, now, 0.0).is_some());
        assert!(backoff.next(&restart(2), Duration::ZERO, now, 0.0).is_none());
        assert!(backoff.next(&restart(2), Duration::ZERO, now + WINDOW, 0.0).is_some());
    }
}
