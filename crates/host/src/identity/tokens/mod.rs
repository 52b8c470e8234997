// SPDX-License-Identifier: Apache-2.0
//! Tokens of ServiceAccounts: `serviceaccounts/token` issues them, and a request with a token is authenticated as its
//! account.
//!
//! | claim | content |
//! | --- | --- |
//! | `iss`, `aud`, `sub`, `iat`, `nbf`, `exp`, `jti`, `kubernetes.io` | same as upstream; instants of landscape time |
//! | `terrarium.dev/cluster` | cluster of the account: all clusters share one key |
//!
//! A token is valid only as long as its account, and the Pod or Secret to which it is bound, exist with the uids of the
//! time of issue.
//!
//! Tokens are signed by ES256 with one key for all clusters ([`key`]), which `/openid/v1/jwks` publishes.
//!
//! **Deliberately absent.** Secrets of type `kubernetes.io/service-account-token`.
//!
//! Source: k8s.io/kubernetes pkg/registry/core/serviceaccount/storage/token.go, pkg/serviceaccount/claims.go.

mod key;

use std::fmt;
use std::sync::{Arc, OnceLock};

use api::kubernetes::tables;
use apimachinery::field::{FieldError, Path};
use apimachinery::meta::ObjectMeta;
use apimachinery::schema::Node;
use apimachinery::{DynamicObject, GroupKind, GroupResource, Status};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use futures::future::BoxFuture;
use generic_apiserver::Server;
use generic_apiserver::admission::Reads;
use generic_apiserver::authentication::{Authenticator, Credentials, Identity, TokenReviewResult, Unauthorized};
use generic_apiserver::subresource::{Facts, Subresource, SubresourceRequest, object};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use process::transport::full;
use process::{Response, User};
use ring::error::KeyRejected;
use ring::hmac;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::key::SigningKey;

/// Issuer of tokens, and their default audience.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// Paths of the keys and of the issuer's configuration, below a cluster.
pub(crate) const KEYS_PATH: &str = "/openid/v1/jwks";
pub(crate) const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
/// Default, minimum and maximum validity of a token in seconds.
const DEFAULT: i64 = 3600;
const LEAST: i64 = 600;
const MOST: i64 = 1 << 32;

/// Issuer and verifier of tokens. Cheap to clone; clones share the key.
#[derive(Clone)]
pub struct Tokens(Arc<Inner>);

struct Inner {
    key: SigningKey,
    /// Key of the ids of tokens.
    ids: hmac::Key,
    /// Server that stores the accounts.
    server: OnceLock<Server>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens")
    }
}

/// Claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Claims {
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    iss: String,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    about: About,
    nbf: i64,
    sub: String,
    #[serde(rename = "terrarium.dev/cluster")]
    cluster: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct About {
    namespace: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pod: Option<Named>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Named>,
    serviceaccount: Named,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Named {
    name: String,
    uid: String,
}

impl Tokens {
    /// Creates an issuer with a private key of curve P-256, PKCS #8 as DER.
    ///
    /// # Errors
    /// The bytes are not such a key.
    pub fn new(key: &[u8]) -> Result<Self, KeyRejected> {
        let ids = hmac::Key::new(hmac::HMAC_SHA256, key);
        Ok(Self(Arc::new(Inner { key: SigningKey::read(key)?, ids, server: OnceLock::new() })))
    }

    fn key(&self) -> &SigningKey {
        &self.0.key
    }

    /// Returns the published documents for verifiers of tokens, at a path below a cluster; `server`: URL of the
    /// cluster, `https://HOST:PORT/clusters/NAME`. `None`: nothing is published at the path.
    pub(crate) fn published(&self, path: &str, server: &str) -> Option<Response> {
        let (type_, tree) = match path {
            KEYS_PATH => ("application/jwk-set+json", json!({ "keys": [self.key().published()] })),
            CONFIGURATION_PATH => (
                "application/json",
                json!({
                    "issuer": ISSUER,
                    "jwks_uri": format!("{server}{KEYS_PATH}"),
                    "response_types_supported": ["id_token"],
                    "subject_types_supported": ["public"],
                    "id_token_signing_alg_values_supported": ["ES256"],
                }),
            ),
            _ => return None,
        };
        let mut response = Response::new(full(tree.to_string()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(type_));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        Some(response)
    }

    /// Sets the server that stores the accounts. Only the first call has an effect.
    pub(crate) fn look_at(&self, server: Server) {
        let _ = self.0.server.set(server);
    }

    /// Returns the cluster in the claims of a token; `None` for other tokens.
    pub(crate) fn cluster(&self, token: &str) -> Option<String> {
        self.read(token).ok().map(|claims| claims.cluster)
    }

    fn write(&self, claims: &Claims) -> String {
        let part = |tree: Value| URL_SAFE_NO_PAD.encode(tree.to_string());
        let text = format!("{}.{}", part(json!({ "alg": "ES256", "kid": self.key().id() })), part(json!(claims)));
        let signature = URL_SAFE_NO_PAD.encode(self.key().sign(text.as_bytes()));
        format!("{text}.{signature}")
    }

    /// Returns the claims of a token, if its signature is valid.
    fn read(&self, token: &str) -> Result<Claims, Unauthorized> {
        let wrong = || Unauthorized("unknown token".to_owned());
        let (text, signature) = token.rsplit_once('.').ok_or_else(wrong)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| wrong())?;
        if !self.key().verify(text.as_bytes(), &signature) {
            return Err(wrong());
        }
        let (_, claims) = text.split_once('.').ok_or_else(wrong)?;
        let claims = URL_SAFE_NO_PAD.decode(claims).map_err(|_| wrong())?;
        serde_json::from_slice(&claims).map_err(|_| wrong())
    }

    /// Returns the user of a token in a cluster and at an instant, and those of `audiences` for which the token is
    /// valid.
    async fn judge(
        &self,
        token: &str,
        cluster: &str,
        now: DateTime<Utc>,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), Unauthorized> {
        let claims = self.read(token)?;
        let wrong = |why: String| Err(Unauthorized(why));
        if claims.cluster != cluster {
            return wrong(format!("a token of cluster {}", claims.cluster));
        }
        if now.timestamp() >= claims.exp {
            return wrong("an expired token".to_owned());
        }
        let meant: Vec<String> = audiences.iter().filter(|audience| claims.aud.contains(audience)).cloned().collect();
        if meant.is_empty() {
            let (own, asked) = (quoted(&claims.aud), quoted(audiences));
            return wrong(format!("token audiences {own} is invalid for the target audiences {asked}"));
        }
        let Some(server) = self.0.server.get() else { return wrong("no server holds the accounts yet".to_owned()) };
        let About { namespace, pod, secret, serviceaccount } = &claims.about;
        let all = [("serviceaccounts", Some(serviceaccount)), ("pods", pod.as_ref()), ("secrets", secret.as_ref())];
        for (plural, named) in all.into_iter().filter_map(|(plural, named)| Some((plural, named?))) {
            let found = server.metadata(cluster, "", plural, namespace, &named.name).await;
            if found.is_none_or(|found| found.uid != named.uid || found.is_being_deleted()) {
                return wrong(format!("{plural} {namespace}/{} is gone", named.name));
            }
        }
        let groups = vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}").into()];
        Ok((User { name: claims.sub.as_str().into(), groups, component: None }, meant))
    }

    /// Issues a token for the account of a request.
    fn issue(&self, request: &SubresourceRequest, reads: &Reads<'_>) -> Result<Value, Status> {
        let spec = &request.body["spec"];
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or(DEFAULT);
        let detail = match seconds {
            seconds if seconds < LEAST => "may not specify a duration less than 10 minutes",
            seconds if seconds > MOST => "may not specify a duration larger than 2^32 seconds",
            _ => "",
        };
        if !detail.is_empty() {
            let kind = GroupKind { group: "authentication.k8s.io".to_owned(), kind: "TokenRequest".to_owned() };
            let error = FieldError::invalid(&Path::new("spec").child("expirationSeconds"), seconds, detail);
            return Err(Status::invalid(&kind, "", &[error]));
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let given = spec["audiences"].as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
        let audiences = if given.is_empty() { vec![ISSUER.to_owned()] } else { given };
        let now = request.context.now;
        let until = TimeDelta::try_seconds(seconds).and_then(|length| now.checked_add_signed(length));
        let until = until.ok_or_else(|| Status::bad_request("the token would outlast time"))?;
        let (namespace, name) = (&request.namespace, &request.name);
        let uid = text(&request.object["metadata"]["uid"]);
        let (pod, secret) = bound(&spec["boundObjectRef"], namespace, reads)?;
        let subject = format!("system:serviceaccount:{namespace}:{name}");
        let cluster = request.context.cluster.to_string();
        // The id of a token is derived from its content and its time.
        let said = format!("{cluster} {subject} {uid} {} {seconds}", now.to_rfc3339());
        let id = hmac::sign(&self.0.ids, said.as_bytes());
        let claims = Claims {
            aud: audiences.clone(),
            exp: until.timestamp(),
            iat: now.timestamp(),
            iss: ISSUER.to_owned(),
            jti: URL_SAFE_NO_PAD.encode(id),
            about: About {
                namespace: namespace.clone(),
                pod,
                secret,
                serviceaccount: Named { name: name.clone(), uid },
            },
            nbf: now.timestamp(),
            sub: subject,
            cluster,
        };
        let shown = |instant: DateTime<Utc>| instant.to_rfc3339_opts(SecondsFormat::Secs, true);
        Ok(json!({
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": { "name": name, "namespace": namespace, "creationTimestamp": shown(now) },
            "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec["boundObjectRef"] },
            "status": { "token": self.write(&claims), "expirationTimestamp": shown(until) },
        }))
    }
}

/// Formats a list of quoted texts as Go does.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| apimachinery::go::quote(text)).collect();
    format!("[{}]", texts.join(" "))
}

/// Returns the Pod or the Secret to which a token is to be bound.
fn bound(reference: &Value, namespace: &str, reads: &Reads<'_>) -> Result<(Option<Named>, Option<Named>), Status> {
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    if reference.is_null() {
        return Ok((None, None));
    }
    let plural = match (text("apiVersion"), text("kind")) {
        ("v1", "Pod") => "pods",
        ("v1", "Secret") => "secrets",
        (version, kind) => {
            let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
            let kind = format!("{group}/{version}, Kind={kind}");
            return Err(Status::bad_request(format!("cannot bind token to object of type {kind:?}")));
        }
    };
    let resource = GroupResource { group: String::new(), resource: plural.to_owned() };
    let found = reads.0.get_any("", plural, namespace, text("name"));
    let found = found.and_then(|object| object.downcast_ref::<DynamicObject>().map(|it| it.metadata.clone()));
    let ObjectMeta { name, uid, .. } = found.ok_or_else(|| Status::not_found(&resource, text("name")))?;
    if !matches!(text("uid"), given if given.is_empty() || given == uid) {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            text("uid")
        );
        return Err(Status::conflict(&resource, &name, &why));
    }
    let named = Some(Named { name, uid });
    Ok(if plural == "pods" { (named, None) } else { (None, named) })
}

impl Authenticator for Tokens {
    fn authenticate<'a>(&'a self, credentials: Credentials<'a>) -> BoxFuture<'a, Result<Identity, Unauthorized>> {
        Box::pin(async move {
            match credentials.bearer_token {
                Some(token) => {
                    let audiences = [ISSUER.to_owned()];
                    let judged = self.judge(token, credentials.cluster, credentials.now, &audiences).await;
                    judged.map(|(user, _)| Identity::User(user))
                }
                None => Ok(Identity::Anonymous),
            }
        })
    }

    fn review<'a>(&'a self, credentials: Credentials<'a>, audiences: &'a [String]) -> BoxFuture<'a, TokenReviewResult> {
        Box::pin(async move {
            let own = [ISSUER.to_owned()];
            let asked = if audiences.is_empty() { &own[..] } else { audiences };
            match credentials.bearer_token {
                Some(token) => {
                    let judged = self.judge(token, credentials.cluster, credentials.now, asked).await;
                    judged.map(|(user, meant)| (Identity::User(user), meant))
                }
                None => Ok((Identity::Anonymous, Vec::new())),
            }
        })
    }
}

impl Subresource for Tokens {
    fn facts(&self) -> Facts {
        Facts {
            group: "authentication.k8s.io",
            version: "v1",
            kind: "TokenRequest",
            verbs: &["create"],
            schema: || tables::node("authentication", "TokenRequest").unwrap_or(Node::Raw),
        }
    }

    fn answer<'a>(&'a self, request: SubresourceRequest, reads: &Reads<'_>) -> BoxFuture<'a, Result<Response, Status>> {
        let issued = self.issue(&request, reads).map(|tree| object(201, &tree));
        Box::pin(async { issued })
    }
}

#[cfg(test)]
mod tests {
    use process::pki::Key;

    use super::*;

    fn tokens() -> Tokens {
        Tokens::new(&Key::transport().expect("a key").der()).expect("a key of the curve")
    }

    #[test]
    fn only_data_signed_with_the_key_is_read() {
        let tokens = tokens();
        let named = |name: &str| Named { name: name.to_owned(), uid: "1".to_owned() };
        let claims = Claims {
            aud: vec![ISSUER.to_owned()],
            exp: 2,
            iat: 1,
            iss: ISSUER.to_owned(),
            jti: "x".to_owned(),
            about: About { namespace: "a".to_owned(), pod: None, secret: None, serviceaccount: named("b") },
            nbf: 1,
            sub: "system:serviceaccount:a:b".to_owned(),
            cluster: "garden".to_owned(),
        };
        let token = tokens.write(&claims);
        assert_eq!(tokens.read(&token), Ok(claims));
        let (text, signature) = token.rsplit_once('.').expect("three parts");
        let none = format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), text.split('.').nth(1).expect("two"));
        for wrong in ["", ".", "a.b.c", &token[1..], &token[..token.len() - 1], &format!("{text}x.{signature}"), &none]
        {
            assert!(tokens.read(wrong).is_err(), "{wrong}");
        }
        assert!(self::tokens().read(&token).is_err());
    }
}
