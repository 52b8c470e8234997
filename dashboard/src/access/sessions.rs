// SPDX-License-Identifier: Apache-2.0
//! Login codes and sessions.
//!
//! | what | ends |
//! | --- | --- |
//! | login code | after its first use, or 60 s of wall time |
//! | session | after 8 h of wall time without use, by "Log out", as the oldest of more than 64, and with the host |

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::TimeDelta;
use clock::{Clock, Instant};
use parking_lot::{Mutex, MutexGuard};
use process::User;
use ring::{digest, hmac};
use tokio::sync::oneshot;

use super::{random, secret};
use crate::message::Message;
use crate::page::Page;

/// Wall time for which a login code is valid.
const CODE: TimeDelta = TimeDelta::seconds(60);
/// Wall time without use after which a session ends.
const UNUSED: TimeDelta = TimeDelta::hours(8);
/// Maximum number of concurrent sessions.
const MOST: usize = 64;
/// Maximum number of valid login codes; one more removes the oldest.
const MOST_CODES: usize = 64;
/// Maximum number of concurrent streams of a session; a browser has six connections to a host.
const MOST_STREAMS: usize = 4;
/// Maximum number of messages that wait for their page.
const MOST_MESSAGES: usize = 16;
/// Maximum number of answers to forms that a session keeps.
const MOST_ANSWERS: usize = 8;

type Hash = [u8; 32];

fn hash(secret: &str) -> Hash {
    digest::digest(&digest::SHA256, secret.as_bytes()).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The colour scheme of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Scheme of the operating system.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Scheme {
    /// Returns the scheme's name in forms.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the scheme with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::System, Self::Light, Self::Dark].into_iter().find(|scheme| scheme.name() == name)
    }
}

/// A user who has logged in.
pub struct Session {
    /// User of the session's requests to the API.
    pub user: User,
    key: hmac::Key,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    used: Option<Instant>,
    scheme: Scheme,
    has_no_keys: bool,
    messages: VecDeque<Message>,
    streams: VecDeque<oneshot::Sender<()>>,
    /// Pages in answer to forms, by their numbers.
    answers: VecDeque<(u64, Arc<Page>)>,
    /// Number of the next answer.
    next_answer: u64,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("user", &self.user.name).finish_non_exhaustive()
    }
}

impl Session {
    fn new(user: User, now: Instant) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>());
        Self { user, key, state: Mutex::new(State { used: Some(now), ..State::default() }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns the token in the forms of an action.
    pub fn token(&self, action: &str) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, action.as_bytes()))
    }

    /// True if a form of an action was made for this session.
    pub fn is_token(&self, action: &str, token: &str) -> bool {
        let Ok(token) = URL_SAFE_NO_PAD.decode(token) else { return false };
        hmac::verify(&self.key, action.as_bytes(), &token).is_ok()
    }

    /// Returns the colour scheme.
    pub fn scheme(&self) -> Scheme {
        self.state().scheme
    }

    /// Sets the colour scheme.
    pub fn set_scheme(&self, scheme: Scheme) {
        self.state().scheme = scheme;
    }

    /// True if keyboard shortcuts are enabled.
    pub fn has_keys(&self) -> bool {
        !self.state().has_no_keys
    }

    /// Enables or disables keyboard shortcuts.
    pub fn set_keys(&self, has_keys: bool) {
        self.state().has_no_keys = !has_keys;
    }

    /// Keeps a message for the next page.
    pub fn say(&self, message: Message) {
        let mut state = self.state();
        state.messages.push_back(message);
        while state.messages.len() > MOST_MESSAGES {
            state.messages.pop_front();
        }
    }

    /// Removes and returns the messages that no page has shown.
    pub fn take_messages(&self) -> Vec<Message> {
        self.state().messages.drain(..).collect()
    }

    /// Stores a page in answer to a form, shown at an address of its own; returns its number.
    pub fn keep(&self, page: Page) -> u64 {
        let mut state = self.state();
        let number = state.next_answer;
        state.next_answer += 1;
        state.answers.push_back((number, Arc::new(page)));
        while state.answers.len() > MOST_ANSWERS {
            state.answers.pop_front();
        }
        number
    }

    /// Returns the page with a number in answer to a form; None if it is no longer kept.
    pub fn kept(&self, number: u64) -> Option<Arc<Page>> {
        let state = self.state();
        state.answers.iter().find(|(known, _)| *known == number).map(|(_, page)| page.clone())
    }

    /// Registers a stream, and ends the oldest if there are too many; resolves when this one is to end.
    pub fn add_stream(&self) -> oneshot::Receiver<()> {
        let (end, ended) = oneshot::channel();
        let mut state = self.state();
        state.streams.retain(|stream| !stream.is_closed());
        state.streams.push_back(end);
        while state.streams.len() > MOST_STREAMS {
            state.streams.pop_front();
        }
        ended
    }
}

/// Login codes and sessions.
#[derive(Debug)]
pub struct Sessions {
    wall: Clock,
    all: Mutex<All>,
}

#[derive(Debug, Default)]
struct All {
    codes: VecDeque<(Hash, User, Instant)>,
    sessions: BTreeMap<Hash, Arc<Session>>,
    /// Sessions in the order in which they began.
    order: VecDeque<Hash>,
}

impl Sessions {
    /// Creates a store without sessions and login codes.
    pub fn new(wall: Clock) -> Self {
        Self { wall, all: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock()
    }

    /// Returns a new login code for this user; it is valid once, for 60 s of wall time.
    pub fn code(&self, user: User) -> String {
        let (code, until) = (secret(), self.wall.now() + CODE);
        let mut all = self.all();
        all.codes.push_back((hash(&code), user, until));
        while all.codes.len() > MOST_CODES {
            all.codes.pop_front();
        }
        code
    }

    /// Exchanges a code for the secret of a new session; `None`: the code is wrong, was used, or is too old.
    pub fn log_in(&self, code: &str) -> Option<String> {
        let (hash, now) = (hash(code), self.wall.now());
        let mut all = self.all();
        let place = all.codes.iter().position(|(known, _, _)| *known == hash)?;
        let (_, user, until) = all.codes.remove(place)?;
        drop(all);
        (now <= until).then(|| self.begin(user))
    }

    /// Begins a session of a user; returns its secret.
    pub fn begin(&self, user: User) -> String {
        let (secret, now) = (secret(), self.wall.now());
        let hash = hash(&secret);
        let mut all = self.all();
        all.sessions.insert(hash, Arc::new(Session::new(user, now)));
        all.order.push_back(hash);
        while all.order.len() > MOST {
            if let Some(oldest) = all.order.pop_front() {
                all.sessions.remove(&oldest);
            }
        }
        secret
    }

    /// Returns the session with this secret, which counts as used now.
    pub fn find(&self, secret: &str) -> Option<Arc<Session>> {
        let (hash, now) = (hash(secret), self.wall.now());
        let mut all = self.all();
        let session = all.sessions.get(&hash)?.clone();
        let is_over = session.state().used.is_some_and(|used| now - used > UNUSED);
        if is_over {
            all.sessions.remove(&hash);
            all.order.retain(|known| *known != hash);
            return None;
        }
        session.state().used = Some(now);
        Some(session)
    }

    /// Ends a session and its streams.
    pub fn end(&self, secret: &str) {
        let hash = hash(secret);
        let mut all = self.all();
        all.order.retain(|known| *known != hash);
        if let Some(session) = all.sessions.remove(&hash) {
            session.state().streams.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use clock::SimulatedClock;

    use super::*;

    fn sessions() -> (Sessions, SimulatedClock) {
        let wall = SimulatedClock::new("2025-01-01T00:00:00Z".parse().expect("an instant"));
        (Sessions::new(Clock::new(wall.clone())), wall)
    }

    fn user(name: &str) -> User {
        User { name: name.into(), ..User::default() }
    }

    fn pass(wall: &SimulatedClock, time: TimeDelta) {
        let clock = Clock::new(wall.clone());
        wall.advance_to(clock.now() + time);
    }

    #[test]
    fn a_code_is_good_once_and_for_a_minute() {
        let (sessions, wall) = sessions();
        let code = sessions.code(user("admin"));
        let secret = sessions.log_in(&code).expect("a session");
        assert_eq!(sessions.find(&secret).map(|session| session.user.name.to_string()), Some("admin".to_owned()));
        assert_eq!(sessions.log_in(&code), None, "a second time");
        let (code, other) = (sessions.code(user("a")), sessions.code(user("b")));
        pass(&wall, TimeDelta::seconds(60));
        assert!(sessions.log_in(&code).is_some(), "at the last instant");
        pass(&wall, TimeDelta::seconds(1));
        assert_eq!(sessions.log_in(&other), None, "a second too late");
        assert_eq!(sessions.log_in("no code"), None);
    }

    #[test]
    fn a_session_ends_after_eight_hours_without_use() {
        let (sessions, wall) = sessions();
        let secret = sessions.begin(user("admin"));
        for _ in 0..3 {
            pass(&wall, TimeDelta::hours(8));
            assert!(sessions.find(&secret).is_some(), "used in time");
        }
        pass(&wall, TimeDelta::hours(8) + TimeDelta::seconds(1));
        assert!(sessions.find(&secret).is_none());
    }

    #[test]
    fn the_oldest_of_too_many_sessions_ends() {
        let (sessions, _wall) = sessions();
        let all: Vec<String> = (0..65).map(|_| sessions.begin(user("admin"))).collect();
        assert!(sessions.find(&all[0]).is_none());
        assert!(all[1..].iter().all(|secret| sessions.find(secret).is_some()));
        sessions.end(&all[1]);
        assert!(sessions.find(&all[1]).is_none());
    }

    #[test]
    fn a_token_is_of_one_session_and_one_action() {
        let (sessions, _wall) = sessions();
        let (one, other) = (sessions.begin(user("a")), sessions.begin(user("a")));
        let (one, other) = (sessions.find(&one).expect("one"), sessions.find(&other).expect("other"));
        let token = one.token("clock");
        assert!(one.is_token("clock", &token));
        assert!(!one.is_token("delete", &token));
        assert!(!other.is_token("clock", &token));
        for wrong in ["", "a", "?", &token[1..]] {
            assert!(!one.is_token("clock", wrong), "{wrong}");
        }
    }

    #[test]
    fn the_fifth_stream_ends_the_oldest() {
        let (sessions, _wall) = sessions();
        let session = sessions.find(&sessions.begin(user("a"))).expect("it");
        let mut streams: Vec<_> = (0..5).map(|_| session.add_stream()).collect();
        let is_over =
            |stream: &mut oneshot::Receiver<()>| stream.try_recv() == Err(oneshot::error::TryRecvError::Closed);
        assert!(is_over(&mut streams[0]));
        assert!(streams[1..].iter_mut().all(|stream| !is_over(stream)));
    }
}
