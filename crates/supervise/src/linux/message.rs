//! Messages of the supervisor to the waiting process, over a pipe: frames of a kind, a length and bytes.

use crate::{End, Summary};

const TOLD: u8 = 1;
const ENDED: u8 = 2;
const FAILED: u8 = 3;

/// Limit of the length of a rule's message.
const MAX_TOLD: usize = 64 << 10;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// Message of a refusal.
    Told(Vec<u8>),
    /// End of the command.
    Ended(End, Summary),
    /// The command was not started, because it cannot be supervised, with the number of the error.
    Failed(i32),
}

impl Message {
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let (kind, body) = match self {
            Self::Told(text) => (TOLD, text.get(..MAX_TOLD).unwrap_or(text).to_vec()),
            Self::Failed(errno) => (FAILED, errno.to_le_bytes().to_vec()),
            Self::Ended(end, summary) => (ENDED, ended(*end, summary)),
        };
        into.push(kind);
        into.extend(u32::try_from(body.len()).unwrap_or(0).to_le_bytes());
        into.extend(body);
    }

    /// Takes the first whole message from the received bytes.
    pub(super) fn take(from: &mut Vec<u8>) -> Option<Self> {
        let (head, rest) = from.split_first_chunk::<5>()?;
        let [kind, length @ ..] = *head;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let body = rest.get(..length)?.to_vec();
        from.drain(..5 + length);
        match kind {
            TOLD => Some(Self::Told(body)),
            FAILED => Some(Self::Failed(i32::from_le_bytes(body.try_into().ok()?))),
            _ => read_ended(&body),
        }
    }
}

fn ended(end: End, summary: &Summary) -> Vec<u8> {
    let (kind, number) = match end {
        End::Exited(code) => (0_u64, code),
        End::Signalled(signal) => (1, signal),
        End::NotStarted(errno) => (2, errno),
        End::Unsupervised => (3, 0),
    };
    let Summary {
        execs,
        refused,
        killed,
        unverified,
        nested,
        sealed,
    } = *summary;
    let number = u64::from(number.cast_unsigned());
    let numbers = [
        kind,
        number,
        execs,
        refused,
        killed,
        unverified,
        nested.into(),
        sealed.into(),
    ];
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn read_ended(body: &[u8]) -> Option<Message> {
    let (chunks, _) = body.as_chunks::<8>();
    let mut numbers = chunks.iter().map(|bytes| u64::from_le_bytes(*bytes));
    let mut next = || numbers.next();
    let (kind, number) = (next()?, u32::try_from(next()?).ok()?.cast_signed());
    let end = match kind {
        0 => End::Exited(number),
        1 => End::Signalled(number),
        2 => End::NotStarted(number),
        _ => End::Unsupervised,
    };
    let summary = Summary {
        execs: next()?,
        refused: next()?,
        killed: next()?,
        unverified: next()?,
        nested: next()? != 0,
        sealed: next()? != 0,
    };
    Some(Message::Ended(end, summary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let summary = Summary {
            execs: 7,
            refused: 2,
            killed: 1,
            unverified: 3,
            nested: true,
            sealed: false,
        };
        let told = [
            Message::Told(b"no".to_vec()),
            Message::Told(Vec::new()),
            Message::Failed(libc::EBUSY),
            Message::Ended(End::Exited(255), summary),
            Message::Ended(End::Signalled(9), summary),
            Message::Ended(End::NotStarted(2), summary),
        ];
        let mut bytes = Vec::new();
        for message in &told {
            message.write(&mut bytes);
        }
        let mut arrived = Vec::new();
        let mut read = Vec::new();
        // Byte by byte, as a pipe may deliver them.
        for byte in bytes {
            arrived.push(byte);
            read.extend(Message::take(&mut arrived));
        }
        assert_eq!(read, told);
        assert!(arrived.is_empty());
    }
}
