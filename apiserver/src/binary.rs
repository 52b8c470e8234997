// SPDX-License-Identifier: Apache-2.0
//! gardener-apiserver as a binary: its flags, and its start.

use apimachinery::meta::Duration;
use chrono::TimeDelta;
use component::configuration::{check_gate, duration_text};
use component::{Binary, Flag, authorization, registered, registration, skew_watch};
use domain::garden::components::Program;
use domain::profile::Profile;
use generic_apiserver::Local;
use process::child::Assignment;
use process::{Context, Exit};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::instance::{self, Announced};
use crate::{Options, ShootAccess};

/// The binary.
pub const BINARY: Binary = Binary {
    program: Program::Apiserver,
    build: env!("TERRARIUM_BUILD"),
    flags: &[
        Flag { name: "feature-gates", value: "NAME=BOOL,…", help: "Feature gates of the emulated version" },
        Flag {
            name: "shoot-credentials-rotation-interval",
            value: "DURATION",
            help: "Age from which warnings ask to rotate credentials of Shoots",
        },
        Flag {
            name: "shoot-admin-kubeconfig-max-expiration",
            value: "DURATION",
            help: "Longest validity of kubeconfigs for administrators of Shoots",
        },
        Flag {
            name: "shoot-viewer-kubeconfig-max-expiration",
            value: "DURATION",
            help: "Longest validity of kubeconfigs for viewers of Shoots",
        },
        component::PROFILE,
        Flag {
            name: "default-domain",
            value: "DOMAIN",
            help: "Domain of Shoots without a domain of their own (of Terrarium)",
        },
        Flag { name: "kubernetes-version", value: "VERSION", help: "Version of cluster garden (of Terrarium)" },
    ],
    in_landscape_time: false,
    run: |context, assignment, end| Box::pin(serve(context, assignment, None, end)),
};

/// Runs the instance of an assignment until `end` resolves; `local`: in the process of the host.
///
/// # Errors
/// The assignment or its arguments are wrong, or the log cannot be reached.
pub async fn serve(
    context: Context,
    assignment: Assignment,
    local: Option<Local>,
    end: oneshot::Receiver<()>,
) -> Result<Exit, String> {
    let mut options = options(&assignment.args, &assignment.version)?;
    options.authorization = authorization(&assignment)?;
    options.shoot_access =
        Some(ShootAccess { server: assignment.server.clone(), authorities: assignment.authorities.clone() });
    let (me, own, profile) = (assignment.clone(), context.clone(), options.profile);
    let announce = move |Announced { address, time }: Announced| async move {
        let (context, me) = (own, registered(&me, &address));
        let enforcement = registration::register(&context, &me, profile, time.now()).await?;
        skew_watch::follow(&context, &me, profile, enforcement, time);
        Ok(())
    };
    instance::run(context, assignment, &options, local, end, announce).await
}

/// Returns the flags of a landscape's settings.
pub fn flags(profile: &str, default_domain: &str, kubernetes_version: &str) -> Vec<String> {
    vec![
        format!("--profile={profile}"),
        format!("--default-domain={default_domain}"),
        format!("--kubernetes-version={kubernetes_version}"),
    ]
}

/// Returns the options of an instance of a version with these arguments.
///
/// # Errors
/// An unknown flag, or an invalid value.
pub fn options(args: &[String], version: &str) -> Result<Options, String> {
    let mut options = Options::emulating(version);
    for arg in args {
        let unknown = || format!("unknown flag: {arg}");
        let (name, value) = arg.split_once('=').ok_or_else(unknown)?;
        let invalid = |reason: String| format!("invalid argument {value:?} for \"{name}\" flag: {reason}");
        match name {
            "--profile" => {
                options.profile =
                    Profile::named(value).ok_or_else(|| invalid("use documents or upstream".to_owned()))?;
            }
            "--default-domain" => options.default_domains = vec![value.to_owned()],
            "--kubernetes-version" => value.clone_into(&mut options.kubernetes_version),
            "--shoot-credentials-rotation-interval" => {
                options.credentials_rotation_interval = duration(value).map_err(invalid)?;
            }
            "--shoot-admin-kubeconfig-max-expiration" => {
                options.admin_kubeconfig_max_expiration = duration(value).map_err(invalid)?;
            }
            "--shoot-viewer-kubeconfig-max-expiration" => {
                options.viewer_kubeconfig_max_expiration = duration(value).map_err(invalid)?;
            }
            "--feature-gates" => {
                for gate in value.split(',').filter(|gate| !gate.is_empty()) {
                    set_gate(&mut options, gate, version).map_err(invalid)?;
                }
            }
            _ => return Err(unknown()),
        }
    }
    Ok(options)
}

/// Returns the defaults of the flags that have an effect.
pub fn defaults() -> Value {
    let options = Options::default();
    json!({
        "shoot-admin-kubeconfig-max-expiration": duration_text(options.admin_kubeconfig_max_expiration),
        "shoot-credentials-rotation-interval": duration_text(options.credentials_rotation_interval),
        "shoot-viewer-kubeconfig-max-expiration": duration_text(options.viewer_kubeconfig_max_expiration),
    })
}

/// Parses a duration as Go does.
fn duration(text: &str) -> Result<TimeDelta, String> {
    let read: Duration = text.parse().map_err(|_| format!("time: invalid duration {text:?}"))?;
    Ok(TimeDelta::nanoseconds(read.nanoseconds))
}

fn set_gate(options: &mut Options, gate: &str, version: &str) -> Result<(), String> {
    let (name, text) = gate.split_once('=').ok_or_else(|| format!("missing bool value for {gate}"))?;
    let on: bool = text.parse().map_err(|_| {
        format!("invalid value of {name}={text}, err: strconv.ParseBool: parsing {text:?}: invalid syntax")
    })?;
    check_gate(Program::Apiserver, version, name, on)?;
    match name {
        "InPlaceNodeUpdates" => options.gates.in_place_node_updates = on,
        "CredentialsRotationWithoutWorkersRollout" => options.gates.credentials_rotation_without_workers_rollout = on,
        "DisableNginxIngressInShoot" => options.gates.disable_nginx_ingress_in_shoot = on,
        "LiveControlPlaneMigration" => options.gates.live_control_plane_migration = on,
        "CloudProfileCapabilities" => options.gates.cloud_profile_capabilities = on,
        "VersionClassificationLifecycle" => options.gates.version_classification_lifecycle = on,
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(flag: &str, version: &str, expected: Result<bool, &str>) {
        let read = options(&[flag.to_owned()], version);
        let read = read.map(|options| options.gates.in_place_node_updates);
        assert_eq!(read, expected.map_err(str::to_owned), "{flag}");
    }

    #[test]
    fn gates_are_those_of_the_emulated_version() {
        check("--feature-gates=InPlaceNodeUpdates=true", "v1.120.0", Ok(true));
        check("--feature-gates=InPlaceNodeUpdates=true,ShootCredentialsBinding=false", "v1.120.0", Ok(true));
        check("--feature-gates=", "v1.120.0", Ok(false));
        let flag = "--feature-gates=InPlaceNodeUpdates=true";
        check(
            flag,
            "v1.112.0",
            Err(
                "invalid argument \"InPlaceNodeUpdates=true\" for \"--feature-gates\" flag: unrecognized feature gate: \
                 InPlaceNodeUpdates",
            ),
        );
        check(
            "--feature-gates=NewWorkerPoolHash=true",
            "v1.120.0",
            Err(
                "invalid argument \"NewWorkerPoolHash=true\" for \"--feature-gates\" flag: unrecognized feature gate: \
                 NewWorkerPoolHash",
            ),
        );
        check(
            "--feature-gates=CredentialsRotationWithoutWorkersRollout=false",
            "v1.127.0",
            Err("invalid argument \"CredentialsRotationWithoutWorkersRollout=false\" for \"--feature-gates\" flag: \
                 cannot set feature gate CredentialsRotationWithoutWorkersRollout to false, feature is locked to true"),
        );
        check("--nonsense=1", "v1.120.0", Err("unknown flag: --nonsense=1"));
        check("nonsense", "v1.120.0", Err("unknown flag: nonsense"));
    }

    #[test]
    fn an_instance_takes_the_flags_of_its_landscape() {
        let mut flags = flags("upstream", "a.example", "1.31.0");
        flags.push("--shoot-credentials-rotation-interval=48h".to_owned());
        let options = options(&flags, "v1.120.0").expect("flags of ours");
        assert_eq!(options.profile, Profile::Upstream);
        assert_eq!(options.default_domains, ["a.example"]);
        assert_eq!(options.kubernetes_version, "1.31.0");
        assert_eq!(options.credentials_rotation_interval.num_hours(), 48);
    }
}
