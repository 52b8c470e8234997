// SPDX-License-Identifier: Apache-2.0
//! Hibernation of a Shoot and its schedules.

use std::collections::BTreeSet;

use api::core::*;
use apimachinery::field::{FieldError, Path};

use super::Errors;
use super::operation::FORBIDDEN_WHEN_HIBERNATED;
use super::update::{encrypted_resources, rotation_phases};
use crate::annotations::MAINTENANCE_OPERATION;
use crate::reconcile::is_hibernation_enabled;

pub(super) fn hibernation(errors: &mut Errors, shoot: &Shoot, path: &Path) {
    let Some(hibernation) = &shoot.spec.hibernation else { return };
    let operation = shoot.metadata.annotation(MAINTENANCE_OPERATION).unwrap_or_default();
    if hibernation.enabled == Some(true) && FORBIDDEN_WHEN_HIBERNATED.contains(&operation) {
        let text = format!("shoot cannot be hibernated when {MAINTENANCE_OPERATION}={operation} annotation is set");
        errors.push(FieldError::forbidden(&path.child("enabled"), &text));
    }
    let mut seen = BTreeSet::new();
    for (index, schedule) in hibernation.schedules.iter().enumerate() {
        let path = path.child("schedules").index(index);
        if schedule.start.is_none() && schedule.end.is_none() {
            let text = "either start or end has to be provided";
            errors.push(FieldError::required(&path.child("start/end"), text));
        }
        for (field, schedule) in [("start", &schedule.start), ("end", &schedule.end)] {
            let Some(schedule) = schedule else { continue };
            let path = path.child(field);
            if let Err(error) = parse_cron(schedule) {
                errors.push(FieldError::invalid(&path, schedule, &format!("not a valid cron spec: {error}")));
            } else if !seen.insert(schedule) {
                errors.push(FieldError::duplicate(&path, schedule));
            }
        }
        if let Some(location) = &schedule.location
            && !is_location(location)
        {
            let text = format!("not a valid location: unknown time zone {location}");
            errors.push(FieldError::invalid(&path.child("location"), location, &text));
        }
    }
}

/// Rules for going to sleep.
pub(super) fn update(errors: &mut Errors, new: &Shoot, old: &Shoot) {
    if is_hibernation_enabled(&old.spec) || !is_hibernation_enabled(&new.spec) {
        return;
    }
    let path = Path::new("spec").child("hibernation").child("enabled");
    let phases = rotation_phases(&new.status);
    let mut forbidden = |name: &str, phase: &str, phases: &[&str]| {
        if phases.contains(&phase) {
            let text =
                format!("shoot cannot be hibernated when .status.credentials.rotation.{name}.phase is {phase:?}");
            errors.push(FieldError::forbidden(&path, &text));
        }
    };
    forbidden("etcdEncryptionKey", phases.etcd_encryption_key, &["Preparing", "Completing"]);
    let keys = ["Preparing", "PreparingWithoutWorkersRollout", "Completing"];
    forbidden("serviceAccountKey", phases.service_account_key, &keys);
    let stored: BTreeSet<&str> = old.status.encrypted_resources.iter().map(String::as_str).collect();
    if encrypted_resources(&old.spec) != stored {
        let text = "shoot cannot be hibernated when spec.kubernetes.kubeAPIServer.encryptionConfig.resources and \
                    status.encryptedResources are not equal";
        errors.push(FieldError::forbidden(&path, text));
    }
}

/// Fields of a cron schedule: name in errors, least and greatest number, names of numbers.
const CRON_FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Whether a text is a cron schedule of five fields or a descriptor, as robfig/cron v1 reads it.
fn parse_cron(schedule: &str) -> Result<(), String> {
    if schedule.is_empty() {
        return Err("Empty spec string".to_owned());
    }
    if let Some(descriptor) = schedule.strip_prefix('@') {
        let known = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
        let is_interval = descriptor.strip_prefix("every ").is_some_and(|interval| !interval.is_empty());
        let text = format!("Unrecognized descriptor: {schedule}");
        return if known.contains(&descriptor) || is_interval { Ok(()) } else { Err(text) };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != 5 {
        return Err(format!("Expected exactly 5 fields, found {}: {schedule}", fields.len()));
    }
    for (field, bounds) in fields.iter().zip(CRON_FIELDS) {
        for expression in field.split(',') {
            cron_range(expression, bounds)?;
        }
    }
    Ok(())
}

fn cron_range(expression: &str, (least, greatest, names): (u32, u32, &[&str])) -> Result<(), String> {
    let number = |text: &str| -> Result<u32, String> {
        let named = names.iter().position(|name| *name == text.to_lowercase());
        if let Some(position) = named.and_then(|position| u32::try_from(position).ok()) {
            return Ok(least + position);
        }
        let negative = text.strip_prefix('-').is_some_and(|rest| rest.parse::<u32>().is_ok());
        if negative {
            return Err(format!("Negative number ({text}) not allowed: {text}"));
        }
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        unsigned
            .parse()
            .map_err(|_| format!("Failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
    };
    let steps: Vec<&str> = expression.split('/').collect();
    let bounds: Vec<&str> = steps[0].split('-').collect();
    let (start, mut end) = match bounds[..] {
        ["*" | "?", ..] => (least, greatest),
        [single] => {
            let start = number(single)?;
            (start, start)
        }
        [first, last] => (number(first)?, number(last)?),
        _ => return Err(format!("Too many hyphens: {expression}")),
    };
    let step = match steps[..] {
        [_] => 1,
        [_, step] => {
            if bounds.len() == 1 {
                end = greatest;
            }
            number(step)?
        }
        _ => return Err(format!("Too many slashes: {expression}")),
    };
    if start < least {
        return Err(format!("Beginning of range ({start}) below minimum ({least}): {expression}"));
    }
    if end > greatest {
        return Err(format!("End of range ({end}) above maximum ({greatest}): {expression}"));
    }
    if start > end {
        return Err(format!("Beginning of range ({start}) beyond end of range ({end}): {expression}"));
    }
    if step == 0 {
        return Err(format!("Step of range should be a positive number: {expression}"));
    }
    Ok(())
}

/// Whether a text has the form of a time zone's name.
///
/// Unlike upstream: there is no time zone database here, so a well-formed name in a known area counts as known.
fn is_location(name: &str) -> bool {
    const AREAS: [&str; 15] = [
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
    ];
    const SINGLE: [&str; 34] = [
        "",
        "UTC",
        "Local",
        "GMT",
        "CET",
        "CST6CDT",
        "Cuba",
        "EET",
        "EST",
        "EST5EDT",
        "Egypt",
        "Eire",
        "GB",
        "Greenwich",
        "HST",
        "Hongkong",
        "Iceland",
        "Iran",
        "Israel",
        "Jamaica",
        "Japan",
        "Kwajalein",
        "Libya",
        "MET",
        "MST",
        "MST7MDT",
        "NZ",
        "PRC",
        "PST8PDT",
        "Poland",
        "Portugal",
        "Singapore",
        "Turkey",
        "WET",
    ];
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_uppercase())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+".contains(&byte))
    };
    match name.split_once('/') {
        None => SINGLE.contains(&name),
        Some(("US", rest)) => is_part(rest),
        Some((area, rest)) => AREAS.contains(&area) && rest.split('/').all(is_part),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_cron_specs_of_five_fields() {
        let check = |schedule: &str, expected: Result<(), &str>| {
            assert_eq!(parse_cron(schedule), expected.map_err(str::to_owned), "{schedule}");
        };
        check("0 20 * * *", Ok(()));
        check("00 20 * * 1,2,3,4,5", Ok(()));
        check("*/5 8-17 * jan-mar mon-fri", Ok(()));
        check("@daily", Ok(()));
        check("0 20 * *", Err("Expected exactly 5 fields, found 4: 0 20 * *"));
        check("60 20 * * *", Err("End of range (60) above maximum (59): 60"));
        check("0 20 0 * *", Err("Beginning of range (0) below minimum (1): 0"));
        check("a 20 * * *", Err("Failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"));
        check("5-1 20 * * *", Err("Beginning of range (5) beyond end of range (1): 5-1"));
    }

    #[test]
    fn locations_are_names_of_time_zones() {
        for known in ["Europe/Berlin", "America/Argentina/Buenos_Aires", "UTC", "Etc/GMT+1"] {
            assert!(is_location(known), "{known}");
        }
        for unknown in ["Europe", "Mars/Base", "europe/berlin", "CEST"] {
            assert!(!is_location(unknown), "{unknown}");
        }
    }
}
