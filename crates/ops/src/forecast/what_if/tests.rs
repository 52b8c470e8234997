// SPDX-License-Identifier: Apache-2.0
use api::core::ExpirableVersion;

use super::*;

#[test]
fn selectors_take_whole_segments() {
    let selector = Selector::parse("kubernetes/1.3").expect("a selector");
    assert!(selector.takes("kubernetes", "1.3.1") && selector.takes("kubernetes", "1.3"));
    assert!(!selector.takes("kubernetes", "1.31.1") && !selector.takes("gardenlinux", "1.3.1"));
    for text in ["kubernetes", "kubernetes/", "/1.3", ""] {
        assert!(Selector::parse(text).is_err(), "{text}");
    }
}

#[test]
fn unoffered_versions_are_errors_with_the_nearest_name() {
    let mut profile = CloudProfile::default();
    profile.spec.kubernetes.versions = vec![ExpirableVersion { version: "1.31.2".into(), ..Default::default() }];
    let mut profiles = [profile];
    let mut apply = |text: &str| {
        let expire = [text.parse::<Expire>().expect("an expiration")];
        super::apply(&mut profiles, &expire, &[], Profile::Documents, domain::release::DOCUMENTED, DateTime::UNIX_EPOCH)
    };
    assert_eq!(
        apply("kubernetes/1.31=2027-01-31").expect("it is offered").iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["what if: the API server would refuse CloudProfile \"\": spec.kubernetes.versions[].expirationDate: \
             Invalid value: 2027-01-31 00:00:00 +0000 UTC: expiration date of latest kubernetes version ('1.31.2') must \
             not be set"]
    );
    assert_eq!(
        apply("kubernetes/1.32=2027-01-31"),
        Err(Error::input("no CloudProfile has a version kubernetes/1.32", "the nearest is `kubernetes/1.31.2`"))
    );
    assert!(profiles[0].spec.kubernetes.versions[0].expiration_date.is_some());
    assert!("kubernetes/1.31=soon".parse::<Expire>().is_err());
    assert!("kubernetes/1.31=expired".parse::<Classify>().is_err());
}

#[test]
fn automatic_updates_are_switched_by_namespace() {
    let shoot = |namespace: &str| {
        let mut shoot = Shoot::default();
        shoot.metadata.namespace = namespace.to_owned();
        shoot
    };
    let mut shoots = [shoot("garden-a"), shoot("garden-b")];
    let auto: Vec<Auto> = ["all=on", "garden-b=off"].map(|text| text.parse().expect("a switch")).to_vec();
    apply_to_shoots(&mut shoots, &auto).expect("both are there");
    let updates = |shoot: &Shoot| {
        let updates = shoot.spec.maintenance.clone().unwrap_or_default().auto_update.expect("they were switched");
        (updates.kubernetes_version, updates.machine_image_version)
    };
    assert_eq!([updates(&shoots[0]), updates(&shoots[1])], [(true, Some(true)), (false, Some(false))]);
    let unknown = ["garden-c=off".parse().expect("a switch")];
    let error = Error::input("no Shoot is in namespace garden-c", "the nearest is `garden-a`");
    assert_eq!(apply_to_shoots(&mut shoots, &unknown), Err(error));
    for wrong in ["", "=on", "all", "all=", "all=yes"] {
        assert!(wrong.parse::<Auto>().is_err_and(|text| text.contains("NAMESPACE=on")), "{wrong}");
    }
}

#[test]
fn the_nearest_version_is_so_by_its_numbers() {
    let mut profile = CloudProfile::default();
    let version = |version: &str| ExpirableVersion { version: version.into(), ..Default::default() };
    profile.spec.kubernetes.versions = ["1.9.9", "1.30.14", "1.31.2", "1.31.10"].map(version).to_vec();
    for (wanted, nearest) in [
        ("kubernetes/1.99", "kubernetes/1.31.10"),
        ("kubernetes/1.30.13", "kubernetes/1.30.14"),
        ("kubernetes/1.8", "kubernetes/1.9.9"),
        ("kubernets/1.31", "kubernetes/1.31.10"),
    ] {
        let expire = [format!("{wanted}=2027-01-31").parse::<Expire>().expect("an expiration")];
        let profiles = &mut [profile.clone()];
        let refused =
            super::apply(profiles, &expire, &[], Profile::Documents, domain::release::DOCUMENTED, DateTime::UNIX_EPOCH);
        let hint = format!("the nearest is `{nearest}`");
        assert_eq!(refused, Err(Error::input(format!("no CloudProfile has a version {wanted}"), hint)));
    }
}

/// A profile with versions of Kubernetes: `1.31.2`, then stages `CLASS@TIME`.
fn staged(versions: &[&str]) -> CloudProfile {
    let mut profile = CloudProfile::default();
    "local".clone_into(&mut profile.metadata.name);
    let stage = |word: &str| {
        let (class, start) = word.split_once('@').unwrap_or((word, ""));
        let start_time = (!start.is_empty()).then(|| Time(format!("{start}T00:00:00Z").parse().expect("a day")));
        LifecycleStage { classification: class.to_owned(), start_time }
    };
    let version = |text: &&str| {
        let mut words = text.split(' ');
        let version = words.next().expect("a version").to_owned();
        ExpirableVersion { version, lifecycle: words.map(stage).collect(), ..ExpirableVersion::default() }
    };
    profile.spec.kubernetes.versions = versions.iter().map(version).collect();
    profile
}

/// Result of what-ifs, `--classify` with `@` or without a date, otherwise `--expire`: the first version and its stages, or
/// `error: ` and the reason, or refusals.
fn stages_after(versions: &[&str], what_ifs: &[&str]) -> Vec<String> {
    let mut profiles = [staged(versions)];
    let (expire, classify): (Vec<&str>, Vec<&str>) = what_ifs.iter().partition(|text| text.contains("=2"));
    let expire: Vec<Expire> = expire.iter().map(|text| text.parse().expect("a date")).collect();
    let classify: Vec<Classify> = classify.iter().map(|text| text.parse().expect("a class")).collect();
    let now = "2026-06-15T00:00:00Z".parse().expect("an instant");
    let refused = match apply(&mut profiles, &expire, &classify, Profile::Upstream, Release(149), now) {
        Ok(refused) => refused,
        Err(error) => return vec![format!("error: {error}: {}", error.hint())],
    };
    assert!(refused.iter().all(|refused| refused.is_of_stages && !refused.advice.is_empty()), "{refused:?}");
    if !refused.is_empty() {
        return refused.iter().map(ToString::to_string).collect();
    }
    let entry = &profiles[0].spec.kubernetes.versions[0];
    let shown = |stage: &LifecycleStage| match &stage.start_time {
        Some(start) => format!("{}@{}", stage.classification, start.0.format("%Y-%m-%d")),
        None => stage.classification.clone(),
    };
    vec![entry.lifecycle.iter().map(shown).collect::<Vec<_>>().join(" ")]
}

#[test]
fn stages_are_added_and_moved_by_what_ifs() {
    let newest = "1.35.0 supported";
    for (stages, what_ifs, expected) in [
        ("1.34.3 supported", vec!["kubernetes/1.34=2026-09-01"], "supported expired@2026-09-01"),
        ("1.34.3 supported expired@2026-08-01", vec!["kubernetes/1.34=2026-09-01"], "supported expired@2026-09-01"),
        (
            "1.34.3 supported expired@2026-08-01",
            vec!["kubernetes/1.34.3=deprecated@2026-07-01"],
            "supported deprecated@2026-07-01 expired@2026-08-01",
        ),
        (
            "1.34.3 preview supported@2026-07-01 expired@2026-08-01",
            vec!["kubernetes/1.34.3=supported@2026-06-20"],
            "preview supported@2026-06-20 expired@2026-08-01",
        ),
        // Two what-ifs that are valid only together.
        (
            "1.34.3 supported expired@2026-08-01",
            vec!["kubernetes/1.34=2026-12-01", "kubernetes/1.34.3=deprecated@2026-11-01"],
            "supported deprecated@2026-11-01 expired@2026-12-01",
        ),
    ] {
        assert_eq!(stages_after(&[stages, newest], &what_ifs), [expected], "{stages} {what_ifs:?}");
    }
}

#[test]
fn invalid_stages_of_what_ifs_are_refused_with_advice() {
    let newest = "1.35.0 supported";
    let refused =
        |rest: &str| format!("what if: the API server would refuse CloudProfile \"local\": spec.kubernetes.{rest}");
    for (stages, what_if, expected) in [
        (
            "1.34.3 supported expired@2026-08-01",
            "kubernetes/1.34.3=deprecated@2026-09-01",
            refused(
                "versions[0].lifecycle[2]: Invalid value: \"2026-08-01 00:00:00 +0000 UTC\": lifecycle start times must be \
                 monotonically increasing; a stage begins no earlier than the one before it: move the other stage as well",
            ),
        ),
        (
            "1.34.3 supported",
            "kubernetes/1.34.3=preview@2026-06-01",
            refused(
                "versions[0].lifecycle[1]: Required value: only the leading lifecycle elements can have the start time \
                 optional; give the stages behind the new one a start, by --classify V=CLASS@TIME",
            ),
        ),
        (
            "1.34.3 supported@2026-06-01",
            "kubernetes/1.34.3=supported@2026-07-01",
            refused(
                "versions[0]: Forbidden: a version cannot be turned unavailable if it was already moved into a later \
                 lifecycle stage; let the first stage begin no later than the forecast",
            ),
        ),
        (
            "1.34.3 supported",
            "kubernetes/1.35=2026-09-01",
            refused(
                "versions[].lifecycle: Invalid value: null: classification expired of latest kubernetes version ('1.35.0') \
                 must not be set; leave out the newest version: name others with all their numbers",
            ),
        ),
        (
            "1.34.3 supported",
            "kubernetes/1.34.3=deprecated",
            "error: kubernetes/1.34.3 has stages, and the start of stage deprecated is not given: add it: --classify \
             kubernetes/1.34.3=deprecated@TIME"
                .to_owned(),
        ),
        (
            "1.34.3",
            "kubernetes/1.34.3=deprecated@2026-09-01",
            "error: kubernetes/1.34.3 has no stages, so a classification has no start: leave out the time: --classify \
             kubernetes/1.34.3=deprecated"
                .to_owned(),
        ),
    ] {
        assert_eq!(stages_after(&[stages, newest], &[what_if]), [expected], "{stages} {what_if}");
    }
    assert_eq!(
        "kubernetes/1.31.2=expired@2026-09-01".parse::<Classify>(),
        Err("`expired` is set by --expire kubernetes/1.31.2=TIME".to_owned())
    );
}
