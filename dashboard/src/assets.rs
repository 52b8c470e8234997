// SPDX-License-Identifier: Apache-2.0
//! Style sheet, script and icon. Their addresses hold their hash, so browsers may keep them.

use ring::digest;

/// File, type and text.
const FILES: [(&str, &str, &str); 5] = [
    ("style.css", "text/css; charset=utf-8", include_str!("assets/style.css")),
    ("live.js", "text/javascript; charset=utf-8", include_str!("assets/live.js")),
    ("bar.js", "text/javascript; charset=utf-8", include_str!("assets/bar.js")),
    ("drag.js", "text/javascript; charset=utf-8", include_str!("assets/drag.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// Returns the path at which a file is served.
pub(crate) fn path(file: &str) -> String {
    let text = FILES.iter().find(|(name, ..)| *name == file).map_or("", |(_, _, text)| text);
    format!("/dashboard/assets/{}/{file}", short_hash(text.as_bytes()))
}

/// Returns type and text of the file at an address.
pub(crate) fn find(hash: &str, file: &str) -> Option<(&'static str, &'static str)> {
    let (_, content_type, text) = FILES.iter().find(|(name, ..)| *name == file)?;
    (short_hash(text.as_bytes()) == hash).then_some((*content_type, *text))
}

/// Returns the first 72 bits of the SHA-256 of bytes, as text for URLs and attributes.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    use base64::Engine;
    let hash = digest::digest(&digest::SHA256, bytes);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(&hash.as_ref()[..9])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_scripts_are_small_and_load_nothing() {
        let size = |wanted: &str| -> usize {
            FILES.iter().filter(|(name, ..)| name.ends_with(wanted)).map(|(_, _, text)| text.len()).sum()
        };
        assert!(size(".css") <= 20 << 10, "{}", size(".css"));
        assert!(size(".js") <= 40 << 10, "{}", size(".js"));
        for (name, _, text) in FILES {
            assert!(!text.replace("http://www.w3.org/2000/svg", "").contains("://"), "{name} names another place");
            assert!(!text.contains("@import"), "{name}");
        }
    }
}
