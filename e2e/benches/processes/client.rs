// SPDX-License-Identifier: Apache-2.0
//! Requests of an ordinary client: over HTTPS, with the certificate of the kubeconfig.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Certificate, Identity, Method, Response};
use serde_json::{Value, json};

use crate::Failure;

/// Media type of a merge patch.
const MERGE: &str = "application/merge-patch+json";

/// A client of one landscape.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    certificates: (Certificate, Identity),
    /// URL of the cluster: `https://HOST:PORT/clusters/garden`.
    server: String,
}

impl Client {
    /// Creates the client of the context `terrarium-default` of a kubeconfig.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Self, Failure> {
        let config: Value = serde_yaml_ng::from_str(&std::fs::read_to_string(kubeconfig)?)?;
        let find = |list: &str, name: &Value| {
            let mut entries = config[list].as_array().into_iter().flatten();
            entries.find(|entry| entry["name"] == *name).cloned().ok_or_else(|| format!("{list}: no entry {name}"))
        };
        let context = find("contexts", &json!("terrarium-default"))?;
        let cluster = find("clusters", &context["context"]["cluster"])?;
        let user = find("users", &context["context"]["user"])?;
        let data = |value: &Value| STANDARD.decode(value.as_str().unwrap_or_default());
        let mut identity = data(&user["user"]["client-certificate-data"])?;
        identity.extend(data(&user["user"]["client-key-data"])?);
        let bundle = Certificate::from_pem_bundle(&data(&cluster["cluster"]["certificate-authority-data"])?)?;
        let certificate = bundle.into_iter().next_back().ok_or("a kubeconfig without an authority")?;
        let server = cluster["cluster"]["server"].as_str().ok_or("a kubeconfig without a server")?.to_owned();
        // One provider for the whole process; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let certificates = (certificate, Identity::from_pem(&identity)?);
        Ok(Self { http: http(&certificates)?, certificates, server })
    }

    /// Returns the same client with connections of its own.
    pub(crate) fn apart(&self) -> Result<Self, Failure> {
        let certificates = self.certificates.clone();
        Ok(Self { http: http(&certificates)?, certificates, server: self.server.clone() })
    }

    /// Returns a client of the same user for another server, whose certificate an authority has issued.
    pub(crate) fn of_another(&self, authority: Certificate, server: String) -> Result<Self, Failure> {
        let certificates = (authority, self.certificates.1.clone());
        Ok(Self { http: http(&certificates)?, certificates, server })
    }

    /// Sends a request to a path below the cluster `garden`.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, Value)>,
    ) -> Result<Response, Failure> {
        let mut request = self.http.request(method, format!("{}{path}", self.server));
        if let Some((type_, body)) = body {
            request = request.header("content-type", type_).body(body.to_string());
        }
        let response = request.send().await?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(format!("{path}: {}", response.text().await?).into())
    }

    /// Reads a path with an accepted media type; returns the body.
    pub(crate) async fn read(&self, path: &str, accept: &str) -> Result<Vec<u8>, Failure> {
        let request = self.http.get(format!("{}{path}", self.server)).header("accept", accept);
        Ok(request.send().await?.error_for_status()?.bytes().await?.to_vec())
    }

    /// Creates an object in a collection.
    pub(crate) async fn create(&self, collection: &str, object: Value) -> Result<(), Failure> {
        self.send(Method::POST, collection, Some(("application/json", object))).await?.bytes().await?;
        Ok(())
    }

    /// Merges a patch into an object.
    pub(crate) async fn patch(&self, path: &str, patch: Value) -> Result<(), Failure> {
        self.send(Method::PATCH, path, Some((MERGE, patch))).await?.bytes().await?;
        Ok(())
    }

    /// Creates a ConfigMap in namespace `default`; returns its path.
    pub(crate) async fn create_config_map(&self, name: &str, value: &str) -> Result<String, Failure> {
        let object = json!({"metadata": {"name": name}, "data": {"value": value}});
        self.create("/api/v1/namespaces/default/configmaps", object).await?;
        Ok(name.to_owned())
    }

    /// Performs [`Client::create_config_map`] for a load.
    pub(crate) async fn create_config_map_of(&self, name: String, value: &str) -> Result<(), Failure> {
        self.create_config_map(&name, value).await.map(drop)
    }

    /// Creates an InternalSecret, which gardener-apiserver serves.
    pub(crate) async fn create_internal_secret(
        &self,
        namespace: &str,
        name: String,
        value: &str,
    ) -> Result<(), Failure> {
        self.create(&internal_secrets(namespace), json!({"metadata": {"name": name}, "stringData": {"value": value}}))
            .await
    }

    /// Reads a ConfigMap.
    pub(crate) async fn get_config_map(&self, name: &str) -> Result<(), Failure> {
        self.read(&format!("/api/v1/namespaces/default/configmaps/{name}"), "application/json").await.map(drop)
    }
}

/// Returns the path of the InternalSecrets of a namespace.
pub(crate) fn internal_secrets(namespace: &str) -> String {
    format!("/apis/core.gardener.cloud/v1beta1/namespaces/{namespace}/internalsecrets")
}

fn http((certificate, identity): &(Certificate, Identity)) -> Result<reqwest::Client, Failure> {
    let builder = reqwest::Client::builder().tls_certs_only([certificate.clone()]).identity(identity.clone());
    Ok(builder.build()?)
}
