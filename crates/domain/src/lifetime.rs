// SPDX-License-Identifier: Apache-2.0
//! Expiration of Shoots by Quotas, and retries of Shoots after failures by a provider's rate limits.
//!
//! Source: pkg/controllermanager/controller/shoot/{quota,retry} @ v1.120.0.

use api::constants::{annotation, operation_state};
use api::core::{Quota, Shoot};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

/// Expiration required by Quotas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expiration {
    /// The Shoot does not expire; an existing annotation is removed.
    None,
    /// The Shoot expires at an instant; `annotation` is written if it is missing.
    Lives {
        /// Instant of the expiration.
        until: DateTime<Utc>,
        /// Value of the annotation; `None`: it exists.
        annotation: Option<String>,
    },
    /// The Shoot is deleted now.
    Expired {
        /// Value of the annotation; `None`: it exists.
        annotation: Option<String>,
    },
    /// The annotation is not a time.
    Malformed(String),
}

/// Returns the expiration at an instant by the Quotas of a Shoot's binding: the shortest lifetime applies, from the
/// Shoot's creation on, unless the annotation contains another time.
pub fn expiration<'a>(shoot: &Shoot, quotas: impl IntoIterator<Item = &'a Quota>, now: DateTime<Utc>) -> Expiration {
    let Some(days) = quotas.into_iter().filter_map(|quota| quota.spec.cluster_lifetime_days).min() else {
        return Expiration::None;
    };
    let (until, annotation) = match shoot.metadata.annotation(annotation::SHOOT_EXPIRATION_TIMESTAMP) {
        Some(text) => match text.parse::<DateTime<Utc>>() {
            Ok(until) => (until, None),
            Err(_) => return Expiration::Malformed(text.to_owned()),
        },
        None => {
            let created = shoot.metadata.creation_timestamp.0;
            let until =
                created.checked_add_signed(TimeDelta::days(i64::from(days))).unwrap_or(DateTime::<Utc>::MAX_UTC);
            (until, Some(until.to_rfc3339_opts(SecondsFormat::Secs, true)))
        }
    };
    if now > until { Expiration::Expired { annotation } } else { Expiration::Lives { until, annotation } }
}

/// Code of errors that are temporary.
const RATE_LIMITS_EXCEEDED: &str = "ERR_INFRA_RATE_LIMITS_EXCEEDED";

/// Periods for the retry of a failure by rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPeriods {
    /// `controllers.shootRetry.retryPeriod`: duration from the failure to the earliest retry.
    pub period: TimeDelta,
    /// `controllers.shootRetry.retryJitterPeriod`: maximum additional delay of the retry.
    pub jitter: TimeDelta,
}

impl Default for RetryPeriods {
    /// Returns 10 minutes, and up to 5 more.
    fn default() -> Self {
        Self { period: TimeDelta::minutes(10), jitter: TimeDelta::minutes(5) }
    }
}

impl RetryPeriods {
    /// Returns the end of the period: the Shoot may be retried strictly after this instant. `None` for Shoots that did
    /// not fail by rate limits.
    pub fn ends(self, shoot: &Shoot) -> Option<DateTime<Utc>> {
        let last = shoot.status.last_operation.as_ref().filter(|_| failed_by_rate_limits(shoot))?;
        Some(last.last_update_time.0 + self.period)
    }

    /// Returns the instant of the next retry for a random number: the earliest one plus a part of the jitter.
    pub fn next_try(self, ends: DateTime<Utc>, draw: u64) -> DateTime<Utc> {
        let jitter = self.jitter.num_nanoseconds().and_then(|jitter| u64::try_from(jitter).ok()).unwrap_or_default();
        let delay = if jitter == 0 { 0 } else { draw % jitter };
        ends + TimeDelta::nanoseconds(1 + delay.cast_signed())
    }
}

/// True if the last operation failed and the Shoot was not changed since.
pub fn has_failed(shoot: &Shoot) -> bool {
    shoot.status.last_operation.as_ref().is_some_and(|operation| operation.state == operation_state::FAILED)
        && shoot.metadata.generation == shoot.status.observed_generation
}

/// True if the last operation failed because of a provider's rate limits.
pub fn failed_by_rate_limits(shoot: &Shoot) -> bool {
    let has_code = |code: &String| code == RATE_LIMITS_EXCEEDED;
    has_failed(shoot) && shoot.status.last_errors.iter().any(|error| error.codes.iter().any(has_code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::core::{LastError, LastOperation};
    use apimachinery::meta::Time;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2025-06-{text}Z").parse().expect("RFC 3339")
    }

    fn quota(days: Option<i32>) -> Quota {
        let mut quota = Quota::default();
        quota.spec.cluster_lifetime_days = days;
        quota
    }

    #[test]
    fn the_shortest_life_counts_from_the_creation_on() {
        let mut shoot = Shoot::default();
        shoot.metadata.creation_timestamp = Time(at("01T10:00:00"));
        let quotas = [quota(Some(14)), quota(None), quota(Some(7))];
        let annotation = Some("2025-06-08T10:00:00Z".to_owned());
        let until = at("08T10:00:00");
        assert_eq!(expiration(&shoot, &quotas, until), Expiration::Lives { until, annotation: annotation.clone() });
        assert_eq!(expiration(&shoot, &quotas, at("08T10:00:01")), Expiration::Expired { annotation });
        assert_eq!(expiration(&shoot, &[quota(None)], until), Expiration::None);
        // A lifetime beyond the range of dates does not end.
        let endless = expiration(&shoot, &[quota(Some(i32::MAX))], until);
        assert!(matches!(endless, Expiration::Lives { .. }), "{endless:?}");
        // A user has extended it.
        shoot
            .metadata
            .annotations
            .insert("shoot.gardener.cloud/expiration-timestamp".to_owned(), "2025-06-09T12:00:00+02:00".to_owned());
        let until = at("09T10:00:00");
        assert_eq!(expiration(&shoot, &quotas, at("08T12:00:00")), Expiration::Lives { until, annotation: None });
        shoot.metadata.annotations.insert("shoot.gardener.cloud/expiration-timestamp".to_owned(), "soon".to_owned());
        assert_eq!(expiration(&shoot, &quotas, until), Expiration::Malformed("soon".to_owned()));
    }

    #[test]
    fn only_rate_limits_are_tried_again() {
        let default = RetryPeriods::default();
        let mut shoot = Shoot::default();
        let last_update_time = Time(at("01T10:00:00"));
        shoot.status.last_operation =
            Some(LastOperation { state: "Failed".to_owned(), last_update_time, ..LastOperation::default() });
        let error = |code: &str| LastError { codes: vec![code.to_owned()], ..LastError::default() };
        shoot.status.last_errors = vec![error("ERR_INFRA_QUOTA_EXCEEDED")];
        assert_eq!(default.ends(&shoot), None);
        shoot.status.last_errors.push(error("ERR_INFRA_RATE_LIMITS_EXCEEDED"));
        assert_eq!(default.ends(&shoot), Some(at("01T10:10:00")));
        let patient = RetryPeriods { period: TimeDelta::hours(1), ..default };
        assert_eq!(patient.ends(&shoot), Some(at("01T11:00:00")));
        shoot.metadata.generation = 2;
        assert_eq!(default.ends(&shoot), None);
    }

    #[test]
    fn the_next_try_is_spread_over_the_jitter() {
        let ends = at("01T10:10:00");
        let try_at = |jitter, draw| RetryPeriods { jitter, ..RetryPeriods::default() }.next_try(ends, draw) - ends;
        let minutes = TimeDelta::minutes;
        assert_eq!(try_at(minutes(5), 0), TimeDelta::nanoseconds(1), "the first instant that is late enough");
        assert_eq!(try_at(minutes(5), 299_999_999_999), minutes(5));
        assert_eq!(try_at(minutes(5), 300_000_000_000), TimeDelta::nanoseconds(1));
        assert_eq!(try_at(minutes(0), 7), TimeDelta::nanoseconds(1));
        assert_eq!(try_at(minutes(-1), 7), TimeDelta::nanoseconds(1));
    }
}
