// SPDX-License-Identifier: Apache-2.0
//! Lines of a body as they are received: watches, and output of processes.

use http_body_util::BodyExt;
use process::{Body, Response};

use crate::failure::Failure;

/// A body that is read line by line.
#[derive(Debug)]
pub(crate) struct Lines {
    body: Body,
    buffer: Vec<u8>,
    /// Number of bytes of the buffer that were returned.
    read: usize,
}

impl Lines {
    /// Returns the lines of a response.
    pub(crate) fn of(response: Response) -> Self {
        Self { body: response.into_body(), buffer: Vec::new(), read: 0 }
    }

    /// Returns the next line, without its end; `None` at the end of the body.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            let rest = &self.buffer[self.read..];
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&rest[..length]).into_owned();
                self.read += length + 1;
                return Ok(Some(line));
            }
            self.buffer.drain(..self.read);
            self.read = 0;
            match self.body.frame().await {
                None if self.buffer.is_empty() => return Ok(None),
                // The last line may have no line end.
                None => return Ok(Some(String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned())),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err(Failure::Failed(error.to_string())),
            }
        }
    }
}
