//! An invite: one line that somebody copies to a new party, with all that it needs to join.

use super::address::Address;
use super::base32::{decoded, encoded};
use super::name::{PartyName, PartyRole};
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};
use std::fmt;
use zeroize::Zeroizing;

const FAMILY: &str = "posterity-invite-";
const VERSION: &str = "1";
/// Letters of the checksum, of five bits each.
const CHECK: usize = 8;

/// Why a text is not taken for an invite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InviteError {
    /// It is something else.
    #[error("this is not an invite, expected a line that begins with {FAMILY}{VERSION}")]
    Other,
    /// Another version of the program has written it.
    #[error("the invite has version {found:?}, expected {VERSION}")]
    Version {
        /// The version that it names.
        found: String,
    },
    /// Its end is missing.
    #[error("the end of the invite is missing")]
    Truncated,
    /// A letter is not what it was.
    #[error("the invite was altered: its checksum is wrong")]
    Altered,
    /// What it says cannot be: it was not made by this program.
    #[error("the invite cannot be understood")]
    Malformed,
}

impl InviteError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Version { .. } => "use the server's version of posterity, or ask for a new invite",
            Self::Malformed => "ask for a new invite",
            Self::Other | Self::Truncated | Self::Altered => "copy the whole line again, from `posterity-invite-` on",
        }
    }
}

/// The secret of an invite. Who knows it may join once.
#[derive(Clone, PartialEq, Eq)]
pub struct InviteSecret(Zeroizing<[u8; 16]>);

impl InviteSecret {
    /// A fresh one; none if the operating system gives no random bytes.
    pub fn generate() -> Option<Self> {
        let mut bytes = Zeroizing::new([0; 16]);
        getrandom::fill(bytes.as_mut()).ok()?;
        Some(Self(bytes))
    }

    /// A secret as it came; none if it has another length.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// The bytes, for the one message that they are for.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// SHA-256 of the secret: all that a server keeps of it.
    pub fn digest(&self) -> Digest {
        Sha256::digest(self.bytes()).into()
    }
}

impl fmt::Debug for InviteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InviteSecret")
    }
}

/// What a new party needs to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    /// The address of the server's enrolment port.
    pub server: Address,
    /// The secret that the server knows by its digest.
    pub secret: InviteSecret,
    /// SHA-256 of the root certificate of the server that is meant.
    pub root: Digest,
    /// The role of the new party.
    pub role: PartyRole,
    /// The name of the new party.
    pub name: PartyName,
}

impl Invite {
    /// The line to copy. It holds the secret.
    pub fn text(&self) -> Zeroizing<String> {
        let name = self.name.as_str().as_bytes();
        let mut bytes = Zeroizing::new(Vec::with_capacity(512));
        bytes.extend_from_slice(self.secret.bytes());
        bytes.extend_from_slice(&self.root);
        bytes.push(number(self.role));
        bytes.push(name.len() as u8); // a name has at most 64 letters
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(self.server.as_str().as_bytes());
        let body = Zeroizing::new(encoded(&bytes));
        let head = Zeroizing::new(format!("{FAMILY}{VERSION}.{}", *body));
        Zeroizing::new(format!("{}.{}", *head, check(&head)))
    }

    /// Reads a line; blanks around it do not matter.
    pub fn parse(text: &str) -> Result<Self, InviteError> {
        let text = text.trim();
        let rest = text.strip_prefix(FAMILY).ok_or(InviteError::Other)?;
        let (version, rest) = rest.split_once('.').ok_or(InviteError::Truncated)?;
        if version != VERSION {
            return Err(InviteError::Version { found: version.chars().take(16).collect() });
        }
        let (body, given) = rest.split_once('.').ok_or(InviteError::Truncated)?;
        if given.len() < CHECK {
            return Err(InviteError::Truncated);
        }
        let head = text.strip_suffix(given).and_then(|head| head.strip_suffix('.')).ok_or(InviteError::Altered)?;
        if check(head) != given {
            return Err(InviteError::Altered);
        }
        let bytes = Zeroizing::new(decoded(body).ok_or(InviteError::Malformed)?);
        meant(&bytes).ok_or(InviteError::Malformed)
    }
}

/// What the bytes of an invite say.
fn meant(bytes: &[u8]) -> Option<Invite> {
    let (secret, rest) = bytes.split_at_checked(16)?;
    let (root, rest) = rest.split_at_checked(32)?;
    let (role, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (name, server) = rest.split_at_checked(usize::from(*length))?;
    Some(Invite {
        server: Address::new(std::str::from_utf8(server).ok()?).ok()?,
        secret: InviteSecret::of_bytes(secret)?,
        root: root.try_into().ok()?,
        role: PartyRole::ALL.into_iter().find(|other| number(*other) == *role)?,
        name: PartyName::new(std::str::from_utf8(name).ok()?).ok()?,
    })
}

/// The number of a role in an invite.
fn number(role: PartyRole) -> u8 {
    match role {
        PartyRole::Site => 1,
        PartyRole::Node => 2,
        PartyRole::Server => 3,
        PartyRole::Viewer => 4,
    }
}

/// A few letters that no accident leaves right; they hide nothing and prove nothing.
fn check(head: &str) -> String {
    let digest: Digest = Sha256::digest(head.as_bytes()).into();
    encoded(&digest).chars().take(CHECK).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invite() -> Invite {
        Invite {
            server: Address::new("server.example.org:8444").unwrap(),
            secret: InviteSecret::of_bytes(&[7; 16]).unwrap(),
            root: [9; 32],
            role: PartyRole::Node,
            name: PartyName::new("node-1").unwrap(),
        }
    }

    #[test]
    fn an_invite_reads_back_as_it_was_written() {
        let text = invite().text();
        assert!(text.starts_with("posterity-invite-1."), "{}", *text);
        assert_eq!(Invite::parse(&text), Ok(invite()));
        assert_eq!(Invite::parse(&format!("  {}\n", *text)), Ok(invite()));
    }

    #[test]
    fn every_changed_character_is_refused() {
        let text = invite().text();
        for at in 0..text.len() {
            for other in " .-=0127abcyzAZ\n".chars() {
                let mut changed: Vec<char> = text.chars().collect();
                if changed[at] == other {
                    continue;
                }
                changed[at] = other;
                let changed: String = changed.into_iter().collect();
                assert!(Invite::parse(&changed).is_err(), "character {at} as {other:?}");
            }
        }
    }

    #[test]
    fn every_missing_or_doubled_character_is_refused() {
        let text = invite().text();
        for at in 0..text.len() {
            let (head, tail) = text.split_at(at);
            assert!(Invite::parse(head).is_err(), "cut at {at}");
            assert!(Invite::parse(&format!("{head}{}", &tail[1..])).is_err(), "without {at}");
            assert!(Invite::parse(&format!("{head}{}{tail}", &tail[..1])).is_err(), "twice {at}");
        }
    }

    #[test]
    fn errors_say_what_was_found() {
        let text = invite().text();
        assert_eq!(Invite::parse("hello"), Err(InviteError::Other));
        let other = text.replacen("invite-1", "invite-2", 1);
        assert_eq!(Invite::parse(&other), Err(InviteError::Version { found: "2".into() }));
        assert_eq!(Invite::parse(&text[..text.len() - 3]), Err(InviteError::Truncated));
        assert_eq!(Invite::parse(&text[..40]), Err(InviteError::Truncated));
        let last = if text.ends_with('a') { "b" } else { "a" };
        assert_eq!(Invite::parse(&format!("{}{last}", &text[..text.len() - 1])), Err(InviteError::Altered));
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert!(!format!("{:?}", invite()).contains('7'));
    }
}
