// SPDX-License-Identifier: Apache-2.0
//! Contents of each story.

use api::constants::api_version;
use api::core::{CloudProfile, Shoot};
use apimachinery::patch::merge_patch;
use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use landscape::preset;
use serde_json::{Value, json};

use super::Play;
use super::stage::{Stage, expect};
use crate::failure::Failure;
use crate::simulate::{self, Story, apply};

/// Runs a story.
pub(super) async fn play(stage: &Stage, play: Play) -> Result<(), Failure> {
    match play {
        Play::Expiry => expiry(stage).await,
        Play::Hibernation => hibernation(stage).await,
        Play::Images => images(stage).await,
        Play::Confined => confined(stage).await,
    }
}

/// Story of the requirements: docs/usage/shoot/shoot_maintenance.md, forced updates.
async fn expiry(stage: &Stage) -> Result<(), Failure> {
    const SHOOT: &str = "local";
    if stage.has_been_played(SHOOT).await? {
        return Ok(());
    }
    let story = stage.watch(&[SHOOT]);
    let (preset, from) = (stage.preset(), stage.now().await?);
    stage.part(&story, &format!("1/5  {} evening: a cluster on an old version", from.format("%A"))).await;
    let expiration = stage.create_preset().await?;
    stage.create(&story, &[preset.shoot(SHOOT)]).await?;

    let old = preset.expiring();
    let heading = format!("2/5  Midnight: {old} expires. The cluster runs on, but no new cluster gets the version");
    stage.part(&story, &heading).await;
    stage.until(&story, expiration + TimeDelta::seconds(1)).await?;
    refuse_a_late_shoot(stage, &story).await;
    stage.print(&story);

    let heading = "3/5  The maintenance window opens: owner opted out, version expired, so it is forced";
    stage.part(&story, heading).await;
    stage.part_of_nodes("4/5  Both changes roll the nodes once (maxSurge 1, maxUnavailable 0)");
    stage.until(&story, expiration + TimeDelta::hours(10)).await?;
    let after = |version: &str| format!("Kubernetes {version} after the window");
    expect(&after(preset.following()), &after(&stage.shoot(SHOOT).await?.spec.kubernetes.version))?;
    let name = &stage.client.facts.name;
    let get = format!("kubectl --context terrarium-{name} -n garden-demo get shoot local -o wide");
    let first = [get.as_str(), "… describe shoot local"];
    let second = ["terrarium log --object Shoot/garden-demo/local", "terrarium why shoot/demo/local"];
    let third = ["terrarium clock until window shoot/demo/local", "terrarium down --purge"];
    stage.end(&story, "5/5", from, &[&first, &second, &third]).await
}

async fn refuse_a_late_shoot(stage: &Stage, story: &Story) {
    let preset = stage.preset();
    let late = simulate::manifest_of(&preset.shoot("late"), "Shoot", api_version::CORE);
    let (object, action) =
        (format!("Shoot {}/late", preset::NAMESPACE), format!("create Shoot late ({})", preset.expiring()));
    match apply::create(&stage.context, &late).await {
        Ok(()) => story.add(&object, &action, "201 Created"),
        Err(status) => {
            story.add(&object, &action, &format!("{} {}", status.code, status.reason));
            story.quote(&object, &status.message);
        }
    }
}

/// Story of docs/usage/shoot/shoot_hibernate.md.
async fn hibernation(stage: &Stage) -> Result<(), Failure> {
    const SHOOT: &str = "night";
    if stage.has_been_played(SHOOT).await? {
        return Ok(());
    }
    let story = stage.watch(&[SHOOT]);
    stage.part(&story, "1/4  A cluster that is needed by day: hibernation from 21:00 to 07:00").await;
    stage.create_preset().await?;
    let from = stage.now().await?;
    let schedule = json!({ "schedules": [{ "start": "00 21 * * *", "end": "00 07 * * *", "location": "UTC" }] });
    stage.create(&story, &[shoot(stage, SHOOT, &json!({ "hibernation": schedule }))]).await?;
    awake(stage, &story, SHOOT, "enabled false, hibernated false, 3 nodes").await?;

    stage.part(&story, "2/4  Nine in the evening: the schedule puts it to sleep").await;
    let evening = next(stage.now().await?, 21);
    stage.until(&story, evening + TimeDelta::minutes(30)).await?;
    awake(stage, &story, SHOOT, "enabled true, hibernated true, 0 nodes").await?;

    stage.part(&story, "3/4  Seven in the morning: the schedule wakes it up").await;
    let morning = next(stage.now().await?, 7);
    stage.until(&story, morning + TimeDelta::minutes(30)).await?;
    awake(stage, &story, SHOOT, "enabled false, hibernated false, 3 nodes").await?;
    let first = ["terrarium why shoot/demo/night", "terrarium log --object Shoot/garden-demo/night"];
    stage.end(&story, "4/4", from, &[&first, &["terrarium clock advance 24h", "terrarium down --purge"]]).await
}

/// Prints whether a Shoot is hibernated; ends the story if that is not as expected.
async fn awake(stage: &Stage, story: &Story, name: &str, expected: &str) -> Result<(), Failure> {
    let shoot = stage.shoot(name).await?;
    let wanted = shoot.spec.hibernation.and_then(|hibernation| hibernation.enabled).unwrap_or_default();
    let is = shoot.status.hibernated;
    let seen = format!("enabled {wanted}, hibernated {is}, {} nodes", stage.nodes(name).await?.len());
    story.add(&format!("Shoot {}/{name}", preset::NAMESPACE), "hibernation", &seen);
    stage.print(story);
    expect(expected, &seen)
}

/// Story of docs/usage/shoot/shoot_updates.md, update strategies of machine images.
async fn images(stage: &Stage) -> Result<(), Failure> {
    const SHOOT: &str = "images";
    /// Image, its strategy, the versions offered in addition to 1.0.0, and the version to which the strategy updates from
    /// 1.0.0. A newer patch version would be preferred with every strategy.
    const IMAGES: [(&str, &str, &[&str], &str); 3] = [
        ("ubuntu", "patch", &["1.0.4", "1.3.2", "2.1.0"], "1.0.4"),
        ("suse-chost", "minor", &["1.3.2", "2.1.0"], "1.3.2"),
        ("gardenlinux", "major", &["2.1.0"], "2.1.0"),
    ];
    if stage.has_been_played(SHOOT).await? {
        return Ok(());
    }
    let story = stage.watch(&[SHOOT]);
    stage.part(&story, "1/3  One cluster, three pools; each one's image has another update strategy").await;
    let preset = stage.preset();
    let mut profile = preset.cloud_profile(stage.expiration().await?);
    SHOOT.clone_into(&mut profile.metadata.name);
    let offered = IMAGES.map(|(name, strategy, newer, _)| {
        let version = |version: &str| {
            json!({ "version": version, "architectures": ["amd64"], "cri": [{ "name": "containerd" }] })
        };
        let versions: Vec<Value> = std::iter::once(&"1.0.0").chain(newer).map(|it| version(it)).collect();
        json!({ "name": name, "updateStrategy": strategy, "versions": versions })
    });
    profile.spec.machine_images = typed(json!(offered));
    stage.apply(&[simulate::manifest_of::<CloudProfile>(&profile, "CloudProfile", api_version::CORE)]).await?;
    stage.create_preset().await?;
    let from = stage.now().await?;
    let pool = |(image, strategy, ..): (&str, &str, &[&str], &str)| {
        json!({
            "name": strategy, "minimum": 1, "maximum": 1, "zones": ["local-a"], "cri": { "name": "containerd" },
            "machine": { "type": "local", "image": { "name": image, "version": "1.0.0" } },
        })
    };
    let (profile, reference) = preset.profile_reference(SHOOT);
    let change = json!({
        profile: reference,
        "provider": { "type": "local", "workers": IMAGES.map(pool) },
    });
    stage.create(&story, &[shoot(stage, SHOOT, &change)]).await?;

    stage.part(&story, "2/3  The maintenance window opens: each image goes as far as its strategy allows").await;
    let window = next(stage.now().await?, 9);
    stage.until(&story, window + TimeDelta::minutes(90)).await?;
    let mut nodes: Vec<String> =
        stage.nodes(SHOOT).await?.into_iter().map(|node| node.status.node_info.os_image).collect();
    nodes.sort();
    let mut expected = IMAGES.map(|(name, .., version)| format!("{name} {version}"));
    expected.sort();
    expect(&expected.join(", "), &nodes.join(", "))?;
    let first = ["terrarium versions images", "terrarium log --object Shoot/garden-demo/images"];
    stage.end(&story, "3/3", from, &[&first, &["terrarium why shoot/demo/images", "terrarium down --purge"]]).await
}

/// Story of docs/usage/shoot/shoot_maintenance.md, `confineSpecUpdateRollout`.
async fn confined(stage: &Stage) -> Result<(), Failure> {
    const SHOOTS: [&str; 2] = ["free", "confined"];
    if stage.has_been_played(SHOOTS[1]).await? {
        return Ok(());
    }
    let story = stage.watch(&SHOOTS);
    stage.part(&story, "1/4  Two clusters of three nodes; one confines the roll-out of changes to its window").await;
    stage.create_preset().await?;
    let from = stage.now().await?;
    let shoots = SHOOTS
        .map(|name| shoot(stage, name, &json!({ "maintenance": { "confineSpecUpdateRollout": name == "confined" } })));
    stage.create(&story, &shoots).await?;

    stage.part(&story, "2/4  In the evening both owners ask for a fourth node; one gets it now").await;
    for name in SHOOTS {
        let mut workers = json!(stage.shoot(name).await?.spec.provider.workers);
        for field in ["minimum", "maximum"] {
            workers[0][field] = json!(4);
        }
        let change = json!({ "spec": { "provider": { "workers": workers } } });
        stage.patch(name, change).await?;
        let object = format!("Shoot {}/{name}", preset::NAMESPACE);
        story.add(&object, &format!("{}/{name} patch", preset::NAMESPACE), "pool local: minimum 4, maximum 4");
    }
    let now = stage.now().await?;
    stage.until(&story, now + TimeDelta::hours(1)).await?;
    counted(stage, &story, &SHOOTS, "free 4 nodes, confined 3 nodes").await?;

    stage.part(&story, "3/4  The maintenance window opens: now the other change is rolled out").await;
    let window = next(stage.now().await?, 9);
    stage.until(&story, window + TimeDelta::minutes(90)).await?;
    counted(stage, &story, &SHOOTS, "free 4 nodes, confined 4 nodes").await?;
    let first = ["terrarium log --object Shoot/garden-demo/confined", "terrarium why shoot/demo/confined"];
    stage.end(&story, "4/4", from, &[&first, &["terrarium down --purge"]]).await
}

/// Prints the number of nodes of Shoots; ends the story if it is not as expected.
async fn counted(stage: &Stage, story: &Story, names: &[&str], expected: &str) -> Result<(), Failure> {
    let mut counts = Vec::new();
    for name in names {
        counts.push(format!("{name} {} nodes", stage.nodes(name).await?.len()));
    }
    let seen = counts.join(", ");
    story.add("Nodes", "nodes", &seen);
    stage.print(story);
    expect(expected, &seen)
}

/// The demo's Shoot with versions that do not expire, and other fields of its specification.
fn shoot(stage: &Stage, name: &str, change: &Value) -> Shoot {
    let preset = stage.preset();
    let mut tree = json!(preset.shoot(name));
    let spec = &mut tree["spec"];
    spec["kubernetes"]["version"] = json!(preset.following());
    spec["provider"]["workers"][0]["machine"]["image"]["version"] = json!("1096.1.0");
    merge_patch(spec, change);
    typed(tree)
}

fn typed<T: serde::de::DeserializeOwned>(tree: Value) -> T {
    serde_json::from_value(tree).expect("a value of this type")
}

/// Next instant with this hour of the day.
fn next(now: DateTime<Utc>, hour: u32) -> DateTime<Utc> {
    let time = NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    let today = now.date_naive().and_time(time).and_utc();
    if today > now { today } else { today.checked_add_days(Days::new(1)).unwrap_or(today) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_recurs_every_day() {
        let at = |text: &str| text.parse::<DateTime<Utc>>().expect("an instant");
        for (now, expected) in [
            ("2023-07-27T20:00:00Z", "2023-07-27T21:00:00Z"),
            ("2023-07-27T21:00:00Z", "2023-07-28T21:00:00Z"),
            ("2023-07-31T23:00:00Z", "2023-08-01T21:00:00Z"),
        ] {
            assert_eq!(next(at(now), 21), at(expected), "{now}");
        }
    }
}
