// SPDX-License-Identifier: Apache-2.0
//! Credentials of a Shoot's cluster: requested in the same way as by users, and passed to clients that request them
//! repeatedly (`terrarium credential`, the exec plugin of a kubeconfig).
//!
//! A certificate of `shoots/adminkubeconfig` expires by landscape time, which may pass within moments. So a kubeconfig
//! names this executable instead, which clients run whenever they start, and again when they are refused.
//!
//! **Deliberately absent.** A store of certificates between runs: their validity depends on the landscape's time and on
//! rotations of the Shoot's CA, and checking it costs as much as requesting a new one. An `expirationTimestamp`: clients
//! compare it with their own clock, which is unrelated to landscape time.
//!
//! Source: k8s.io/client-go plugin/pkg/client/auth/exec, client.authentication.k8s.io/v1.

use api::constants::api_version;
use apimachinery::meta::ObjectMeta;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::TimeDelta;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::live::ask;
use crate::live::client::Client;
use crate::live::{Directory, Which, block_on, executable};
use crate::output::Output;
use ops::instant::duration;
use ops::names::ShootName;

/// Version of the plugin's output.
const EXEC_VERSION: &str = "client.authentication.k8s.io/v1";

/// Subject and validity of credentials.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CredentialOptions {
    /// For a Shoot's cluster: with the rights of a viewer
    #[arg(long)]
    pub(crate) viewer: bool,
    /// For a Shoot's cluster: validity of a certificate in landscape time (`30m`, `24h`) [default: 1h]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(crate) expiration: Option<TimeDelta>,
    /// With a certificate for this user, to try what it may do
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// A group of that user
    #[arg(long = "group", value_name = "GROUP", requires = "user")]
    pub(crate) groups: Vec<String>,
}

/// Print credentials of a Shoot's cluster, for a kubeconfig that asks for them
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    wanted: CredentialOptions,
    /// The Shoot
    #[arg(value_name = "shoot/PROJECT/NAME")]
    shoot: ShootName,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<(), Failure> {
    let client = Client::of(&arguments.which.directory()?)?;
    let config = block_on(kubeconfig(&client, &arguments.shoot, &arguments.wanted))?;
    let user = &config["users"][0]["user"];
    let text = |field: &str| {
        let bytes = user[field].as_str().and_then(|text| STANDARD.decode(text).ok());
        let missing = || Failure::Failed(format!("the answer's kubeconfig has no {field}"));
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(missing)
    };
    let credential = json!({
        "apiVersion": EXEC_VERSION,
        "kind": "ExecCredential",
        "status": {
            "clientCertificateData": text("client-certificate-data")?,
            "clientKeyData": text("client-key-data")?,
        },
    });
    output.line(&credential.to_string())
}

/// Requests the kubeconfig of a Shoot from its API, with a certificate that expires.
///
/// # Errors
/// There is no such Shoot, or it has no cluster yet; the server's error message.
pub(crate) async fn kubeconfig(
    client: &Client,
    shoot: &ShootName,
    wanted: &CredentialOptions,
) -> Result<Value, Failure> {
    let (transport, shoot) = (client.transport(), shoot.find(&client.context()).await?);
    let ObjectMeta { namespace, name, .. } = &shoot.metadata;
    let (kind, resource) = if wanted.viewer {
        ("ViewerKubeconfigRequest", "viewerkubeconfig")
    } else {
        ("AdminKubeconfigRequest", "adminkubeconfig")
    };
    let mut request = json!({ "apiVersion": api_version::AUTHENTICATION, "kind": kind, "spec": {} });
    if let Some(expiration) = wanted.expiration {
        request["spec"]["expirationSeconds"] = json!(expiration.num_seconds());
    }
    let path = format!("/clusters/garden/apis/{}/namespaces/{namespace}/shoots/{name}/{resource}", api_version::CORE);
    let impersonated = wanted.user.iter().map(|user| ("Impersonate-User", user.as_str()));
    let impersonated: Vec<_> =
        impersonated.chain(wanted.groups.iter().map(|group| ("Impersonate-Group", group.as_str()))).collect();
    let answer = ask::create(&transport, &path, &impersonated, &request).await?;
    let unreadable = || Failure::Failed(format!("{kind}: the answer holds no kubeconfig"));
    let text = answer["status"]["kubeconfig"].as_str().ok_or_else(unreadable)?;
    let text = STANDARD.decode(text).map_err(|_| unreadable())?;
    yaml::from_slice(&text).map_err(|_| unreadable())
}

/// Replaces the certificate of each user by the command that requests one.
///
/// # Errors
/// The path of this executable or of the directory cannot be determined.
pub(crate) fn renew(
    config: &mut Value,
    directory: &Directory,
    landscape: &str,
    shoot: &ShootName,
    wanted: &CredentialOptions,
) -> Result<(), Failure> {
    let unknown =
        |what: &str, error: std::io::Error| Failure::Failed(format!("cannot find out where {what} is: {error}"));
    let executable = executable::file().map_err(|error| unknown("this executable", error))?;
    let directory =
        std::path::absolute(directory.path()).map_err(|error| unknown("the landscape's directory", error))?;
    let user = exec(&executable.to_string_lossy(), &directory.to_string_lossy(), landscape, shoot, wanted);
    for entry in config["users"].as_array_mut().into_iter().flatten() {
        entry["user"] = json!({ "exec": user });
    }
    Ok(())
}

/// Returns the command in the form of a kubeconfig.
fn exec(executable: &str, directory: &str, landscape: &str, shoot: &ShootName, wanted: &CredentialOptions) -> Value {
    let mut words: Vec<String> =
        ["credential", "--landscape", landscape, "--data-dir", directory].map(str::to_owned).into();
    if wanted.viewer {
        words.push("--viewer".to_owned());
    }
    if let Some(expiration) = wanted.expiration {
        words.extend(["--expiration".to_owned(), format!("{}ms", expiration.num_milliseconds())]);
    }
    // One word, since a name may begin with a dash.
    words.extend(wanted.user.iter().map(|user| format!("--as={user}")));
    words.extend(wanted.groups.iter().map(|group| format!("--group={group}")));
    words.push(format!("shoot/{shoot}"));
    json!({
        "apiVersion": EXEC_VERSION,
        "command": executable,
        "args": words,
        "env": null,
        "installHint": format!(
            "this kubeconfig asks terrarium for its credentials, which is not where it was; `terrarium kubeconfig \
             shoot/{shoot}` makes another one, with --static one that needs no terrarium"
        ),
        "interactiveMode": "Never",
        "provideClusterInfo": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_names_the_command_with_all_flags() {
        let shoot: ShootName = "shoot/demo/local".parse().expect("a name");
        let wanted = CredentialOptions {
            viewer: true,
            expiration: Some(TimeDelta::minutes(30)),
            user: Some("-jane".to_owned()),
            groups: vec!["a".to_owned(), "b".to_owned()],
        };
        let found = exec("/bin/terrarium", "/data/x", "x", &shoot, &wanted);
        assert_eq!(found["command"], "/bin/terrarium");
        assert_eq!(found["apiVersion"], "client.authentication.k8s.io/v1");
        assert_eq!(found["interactiveMode"], "Never");
        let words = [
            "credential",
            "--landscape",
            "x",
            "--data-dir",
            "/data/x",
            "--viewer",
            "--expiration",
            "1800000ms",
            "--as=-jane",
            "--group=a",
            "--group=b",
            "shoot/demo/local",
        ];
        assert_eq!(found["args"], json!(words));
        let plain = exec("/bin/terrarium", "/data/x", "x", &shoot, &CredentialOptions::default());
        assert_eq!(
            plain["args"],
            json!(["credential", "--landscape", "x", "--data-dir", "/data/x", "shoot/demo/local"])
        );
    }
}
