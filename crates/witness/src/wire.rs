//! The bytes of a bundle: a 64-byte header, TLV sections, and 32 signature bytes if the bundle is signed.
//!
//! ```text
//! 0x00 u32 magic 57 56 57 52      0x28 u8  outcome              0x34 u32 total_tokens
//! 0x04 u16 version                0x29 u8  governance_mode      0x38 u16 retry_count
//! 0x06 u16 flags                  0x2A u16 tool_call_count      0x3A u16 section_count
//! 0x08 16  task_id                0x2C u32 total_cost           0x3C u32 total_bundle_size
//! 0x18 8   policy_hash            0x30 u32 total_latency_ms
//! 0x20 u64 created_ns
//! section: tag u16, length u32, then `length` bytes; all integers little-endian
//! ```
//!
//! The documents of the format call the magic "RVWW"; on the wire it is the ASCII text `WVWR`.

use std::fmt;

/// Length of the fixed header in bytes.
pub const HEADER_LEN: usize = 64;
/// Length of a section's tag and length in bytes.
pub const SECTION_HEADER_LEN: usize = 6;
/// Length of the HMAC-SHA256 tag at the end of a signed bundle.
pub const HMAC_LEN: usize = 32;
/// First four bytes of every bundle.
pub const MAGIC: [u8; 4] = *b"WVWR";
/// The only version of the format.
pub const VERSION: u16 = 1;

/// Flag of a bundle that ends with an HMAC-SHA256 tag.
pub const FLAG_SIGNED: u16 = 1;

/// One of the six sections that the format itself defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Tag {
    /// The task as the user gave it.
    Spec = 1,
    /// The plan that was made before acting.
    Plan = 2,
    /// The tool calls, see [`crate::trace`].
    Trace = 3,
    /// The change, as a unified diff.
    Diff = 4,
    /// The output of the test runner.
    TestLog = 5,
    /// The reason that the task was not solved.
    Postmortem = 6,
}

impl Tag {
    /// All defined sections, in the order in which a builder writes them.
    pub const ALL: [Self; 6] = [
        Self::Spec,
        Self::Plan,
        Self::Trace,
        Self::Diff,
        Self::TestLog,
        Self::Postmortem,
    ];

    /// Returns the tag of a number on the wire, if the format defines it.
    #[must_use]
    pub fn from_wire(tag: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u16 == tag)
    }

    /// Returns the header flag that announces this section.
    #[must_use]
    pub fn flag(self) -> u16 {
        1 << (self as u16)
    }

    /// Returns the name in the documents of the format.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "SPEC",
            Self::Plan => "PLAN",
            Self::Trace => "TRACE",
            Self::Diff => "DIFF",
            Self::TestLog => "TEST_LOG",
            Self::Postmortem => "POSTMORTEM",
        }
    }
}

/// Outcome of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// Tests pass and the diff is merged or can be.
    Solved = 0,
    /// Tests fail or the diff was rejected.
    Failed = 1,
    /// A precondition was not met.
    Skipped = 2,
    /// The infrastructure or a tool broke.
    Error = 3,
}

impl Outcome {
    /// All outcomes, in wire order.
    pub const ALL: [Self; 4] = [Self::Solved, Self::Failed, Self::Skipped, Self::Error];

    /// Returns the outcome of a number on the wire.
    #[must_use]
    pub fn from_wire(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u8 == byte)
    }

    /// Returns the lower-case name for the command line and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }
}

/// Governance mode of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Mode {
    /// Read-only plus suggestions.
    Restricted = 0,
    /// Every call is confirmed by a person.
    Approved = 1,
    /// Bounded authority, rolled back on a violation.
    Autonomous = 2,
}

impl Mode {
    /// All modes, in wire order.
    pub const ALL: [Self; 3] = [Self::Restricted, Self::Approved, Self::Autonomous];

    /// Returns the mode of a number on the wire.
    #[must_use]
    pub fn from_wire(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| *known as u8 == byte)
    }

    /// Returns the lower-case name for the command line and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Restricted => "restricted",
            Self::Approved => "approved",
            Self::Autonomous => "autonomous",
        }
    }
}

/// The 16 bytes that identify a task, printed as 32 hexadecimal digits.
///
/// The format calls it a UUID and puts no rule on its version bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub [u8; 16]);

impl TaskId {
    /// Parses 32 hexadecimal digits, with or without the dashes of a UUID.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|char| *char != '-').collect();
        let number = (digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| u128::from_str_radix(&digits, 16).ok());
        number.flatten().map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({self})")
    }
}

/// The 64 header bytes as numbers. `outcome` and `mode` stay raw, because a lenient reader meets unknown values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Format version.
    pub version: u16,
    /// [`FLAG_SIGNED`] and one bit per defined section.
    pub flags: u16,
    /// Id of the task.
    pub task_id: TaskId,
    /// First eight bytes of the policy's hash.
    pub policy_hash: [u8; 8],
    /// Time of creation, in nanoseconds since 1970.
    pub created_ns: u64,
    /// Number of the [`Outcome`].
    pub outcome: u8,
    /// Number of the [`Mode`].
    pub mode: u8,
    /// Number of trace entries.
    pub tool_call_count: u16,
    /// Cost in millionths of a US dollar, saturating.
    pub total_cost_microdollars: u32,
    /// Sum of the calls' latencies, saturating.
    pub total_latency_ms: u32,
    /// Sum of the calls' tokens, saturating.
    pub total_tokens: u32,
    /// Number of calls that repeated a failed one, saturating.
    pub retry_count: u16,
    /// Number of sections, extensions included.
    pub section_count: u16,
    /// Size of the whole bundle: header, sections and signature.
    pub total_bundle_size: u32,
}

impl Header {
    /// Returns `true` if the bundle ends with an HMAC.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.flags & FLAG_SIGNED != 0
    }

    /// Returns the 64 bytes on the wire.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        join([
            &MAGIC,
            &self.version.to_le_bytes(),
            &self.flags.to_le_bytes(),
            &self.task_id.0,
            &self.policy_hash,
            &self.created_ns.to_le_bytes(),
            &[self.outcome, self.mode],
            &self.tool_call_count.to_le_bytes(),
            &self.total_cost_microdollars.to_le_bytes(),
            &self.total_latency_ms.to_le_bytes(),
            &self.total_tokens.to_le_bytes(),
            &self.retry_count.to_le_bytes(),
            &self.section_count.to_le_bytes(),
            &self.total_bundle_size.to_le_bytes(),
        ])
    }

    /// Parses the 64 bytes; `None` if they do not start with [`MAGIC`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Option<Self> {
        let mut input = bytes.as_slice();
        let input = &mut input;
        if take::<4>(input)? != MAGIC {
            return None;
        }
        Some(Self {
            version: take_u16(input)?,
            flags: take_u16(input)?,
            task_id: TaskId(take(input)?),
            policy_hash: take(input)?,
            created_ns: u64::from_le_bytes(take(input)?),
            outcome: take_u8(input)?,
            mode: take_u8(input)?,
            tool_call_count: take_u16(input)?,
            total_cost_microdollars: take_u32(input)?,
            total_latency_ms: take_u32(input)?,
            total_tokens: take_u32(input)?,
            retry_count: take_u16(input)?,
            section_count: take_u16(input)?,
            total_bundle_size: take_u32(input)?,
        })
    }
}

/// One section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Tag on the wire; see [`Tag`] and [`crate::extension`].
    pub tag: u16,
    /// Offset of the value, counted from the start of the bundle.
    pub offset: usize,
    /// The bytes between this section header and the next.
    pub value: &'a [u8],
}

/// Iterator over the sections between the header and the signature.
#[derive(Clone, Debug)]
pub struct Sections<'a> {
    rest: &'a [u8],
    offset: usize,
}

/// A section that would end after the bundle, or bytes that are too few for a section header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionFault {
    /// The announced length passes the end.
    Overflow {
        /// Tag of the section.
        tag: u16,
        /// Offset at which its value would start.
        offset: usize,
    },
    /// One to five bytes are left after the last section.
    Stray {
        /// Offset of those bytes.
        offset: usize,
    },
}

impl<'a> Sections<'a> {
    /// Creates an iterator over `area`, the bytes from the end of the header to the signature.
    #[must_use]
    pub fn new(area: &'a [u8]) -> Self {
        Self {
            rest: area,
            offset: HEADER_LEN,
        }
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<Section<'a>, SectionFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let area = std::mem::take(&mut self.rest);
        let mut input = area;
        let (Some(tag), Some(length)) = (take_u16(&mut input), take_u32(&mut input)) else {
            return Some(Err(SectionFault::Stray {
                offset: self.offset,
            }));
        };
        let offset = self.offset + SECTION_HEADER_LEN;
        let Some((value, rest)) = usize::try_from(length)
            .ok()
            .and_then(|length| input.split_at_checked(length))
        else {
            return Some(Err(SectionFault::Overflow { tag, offset }));
        };
        self.rest = rest;
        self.offset = offset + value.len();
        Some(Ok(Section { tag, offset, value }))
    }
}

/// Joins fields to an array of their known size.
pub(crate) fn join<const SIZE: usize, const FIELDS: usize>(fields: [&[u8]; FIELDS]) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    let mut rest = out.as_mut_slice();
    for field in fields {
        let (head, tail) = rest.split_at_mut(field.len());
        head.copy_from_slice(field);
        rest = tail;
    }
    debug_assert!(rest.is_empty(), "the fields fill the array");
    out
}

/// Takes `N` bytes off the front.
pub(crate) fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*head)
}

pub(crate) fn take_u8(input: &mut &[u8]) -> Option<u8> {
    take::<1>(input).map(|[byte]| byte)
}

pub(crate) fn take_u16(input: &mut &[u8]) -> Option<u16> {
    take(input).map(u16::from_le_bytes)
}

pub(crate) fn take_u32(input: &mut &[u8]) -> Option<u32> {
    take(input).map(u32::from_le_bytes)
}

/// Takes `length` bytes off the front.
pub(crate) fn take_slice<'a>(input: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = input.split_at_checked(length)?;
    *input = rest;
    Some(head)
}
