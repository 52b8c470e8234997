// SPDX-License-Identifier: Apache-2.0
//! A value with change notification, like `tokio::sync::watch` without its random order of waking: receivers wake in
//! the order of their creation; otherwise the same seed would not produce the same log.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Poll, Waker};

use parking_lot::{Mutex, MutexGuard};

/// Creates a sender and a receiver of a value.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

/// Changes the value.
pub struct Sender<T>(Arc<Shared<T>>);

/// Reads the value, and waits for its change. Cheap to clone.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    number: u64,
    seen: u64,
}

struct Shared<T>(Mutex<State<T>>);

struct State<T> {
    value: T,
    version: u64,
    is_closed: bool,
    made: u64,
    receivers: usize,
    waiting: BTreeMap<u64, Waker>,
}

/// The sender was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sender is gone")]
pub struct Closed;

/// Locked reference to the value.
pub struct Ref<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Shared<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.lock()
    }

    fn wake(mut state: MutexGuard<'_, State<T>>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for waker in waiting.into_values() {
            waker.wake();
        }
    }
}

impl<T> Sender<T> {
    /// Creates a sender without receivers.
    pub fn new(value: T) -> Self {
        let waiting = BTreeMap::new();
        let state = State { value, version: 0, is_closed: false, made: 0, receivers: 0, waiting };
        Self(Arc::new(Shared(Mutex::new(state))))
    }

    /// Creates a receiver that has seen the present value.
    pub fn subscribe(&self) -> Receiver<T> {
        receiver(&self.0, None)
    }

    /// Sets the value and wakes the receivers; returns the previous value.
    pub fn send_replace(&self, value: T) -> T {
        let mut state = self.0.state();
        let old = std::mem::replace(&mut state.value, value);
        state.version += 1;
        Shared::wake(state);
        old
    }

    /// Changes the value and wakes the receivers.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        let mut state = self.0.state();
        modify(&mut state.value);
        state.version += 1;
        Shared::wake(state);
    }

    /// Changes the value, and wakes the receivers if `modify` returns true; returns its result.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        let mut state = self.0.state();
        let modified = modify(&mut state.value);
        if modified {
            state.version += 1;
            Shared::wake(state);
        }
        modified
    }

    /// Returns the present value. Not to be held while anything else is done.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.0.state())
    }

    /// Number of receivers.
    pub fn receiver_count(&self) -> usize {
        self.0.state().receivers
    }
}

impl<T> Receiver<T> {
    /// Returns the present value. Not to be held while anything else is done.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.shared.state())
    }

    /// Waits until the value is set again after this receiver last saw it change.
    ///
    /// # Errors
    /// The sender was dropped and there is no new value.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        poll_fn(|context| {
            let mut state = self.shared.state();
            if state.version != self.seen {
                self.seen = state.version;
                return Poll::Ready(Ok(()));
            }
            if state.is_closed {
                return Poll::Ready(Err(Closed));
            }
            state.waiting.insert(self.number, context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Waits until the value fulfils `wanted`; returns at once if it does already.
    ///
    /// # Errors
    /// The sender was dropped and the value does not fulfil `wanted`.
    pub async fn wait_for(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Result<(), Closed> {
        loop {
            {
                let state = self.shared.state();
                self.seen = state.version;
                if wanted(&state.value) {
                    return Ok(());
                }
            }
            self.changed().await?;
        }
    }
}

fn receiver<T>(shared: &Arc<Shared<T>>, seen: Option<u64>) -> Receiver<T> {
    let mut state = shared.state();
    state.made += 1;
    state.receivers += 1;
    let (number, seen) = (state.made, seen.unwrap_or(state.version));
    drop(state);
    Receiver { shared: shared.clone(), number, seen }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        receiver(&self.shared, Some(self.seen))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.receivers -= 1;
        let waker = state.waiting.remove(&self.number);
        drop(state);
        drop(waker);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        Shared::wake(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(&self.0.state().value).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.shared.state().value).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(test);
    }

    #[test]
    fn receivers_wake_in_the_order_in_which_they_were_made() {
        run(async {
            for _ in 0..20 {
                let sender = Sender::new(0);
                let order = Arc::new(Mutex::new(Vec::new()));
                let tasks = crate::Tasks::new();
                for number in 0..10 {
                    let (mut receiver, order) = (sender.subscribe(), order.clone());
                    tasks.spawn(async move {
                        receiver.changed().await.expect("the sender lives");
                        order.lock().push(number);
                    });
                }
                tokio::task::yield_now().await;
                sender.send_replace(1);
                tasks.ended().await;
                assert_eq!(*order.lock(), (0..10).collect::<Vec<_>>());
            }
        });
    }

    #[test]
    fn a_receiver_sees_each_change_once_and_the_end() {
        run(async {
            let (sender, mut receiver) = channel(0);
            sender.send_replace(1);
            sender.send_modify(|value| *value += 1);
            let mut late = receiver.clone();
            assert_eq!(receiver.changed().await, Ok(()));
            assert_eq!(*receiver.borrow(), 2);
            assert_eq!(*sender.borrow(), 2);
            assert_eq!(sender.receiver_count(), 2);
            assert_eq!(receiver.wait_for(|value| *value == 2).await, Ok(()));
            assert_eq!(late.changed().await, Ok(()));
            drop(sender);
            assert_eq!(receiver.changed().await, Err(Closed));
            assert_eq!(receiver.wait_for(|value| *value == 3).await, Err(Closed));
        });
    }
}
