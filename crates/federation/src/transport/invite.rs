//! Why a server enrols nobody for an invite: a fixed list, told in fixed words and read back from them.

/// Why an invite was not redeemed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InviteRefusal {
    /// There is none with this secret.
    #[error("the invite is not known to this server")]
    Unknown,
    /// Its time is over.
    #[error("the time of the invite is over")]
    Expired,
    /// It was used, by another key.
    #[error("the invite was used before, by another key")]
    Used,
    /// Somebody else has the name, and was not revoked.
    #[error("another key has the name of the invite")]
    Taken,
    /// The key that asks was revoked.
    #[error("the key of this home was revoked")]
    Revoked,
}

impl InviteRefusal {
    /// Every refusal.
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Expired, Self::Used, Self::Taken, Self::Revoked];

    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Unknown => "check that the invite was created in this server's store, or ask for a new one",
            Self::Expired => "ask for a new invite; the operator sets how long it is valid",
            Self::Used => "ask for a new invite; if you did not use it yourself, tell the server's operator at once",
            Self::Taken => {
                "ask the server's operator to revoke the holder of the name, then join again with the same invite"
            }
            Self::Revoked => "join with a new home folder; the invite is still valid",
        }
    }

    /// The refusal of these words, none for others.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.to_string() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CallRefusal, ConnectionError};
    use super::*;

    #[test]
    fn every_refusal_of_an_invite_arrives_as_it_was_meant() {
        for refusal in InviteRefusal::ALL {
            let status = tonic::Status::from(CallRefusal::Invite(refusal));
            assert_eq!(ConnectionError::of_status(&status), ConnectionError::Invite(refusal));
            assert!(!ConnectionError::Invite(refusal).is_worth_retrying() && !refusal.hint().is_empty());
        }
        assert_eq!(ConnectionError::of_status(&tonic::Status::failed_precondition("else")), ConnectionError::Strange);
    }

    #[test]
    fn no_message_of_a_line_has_its_hint_inside() {
        let mut errors = vec![
            ConnectionError::Lost,
            ConnectionError::TimedOut,
            ConnectionError::NotPermitted,
            ConnectionError::Malformed,
        ];
        errors.extend([ConnectionError::TooLarge, ConnectionError::Unavailable, ConnectionError::Strange]);
        errors.extend(InviteRefusal::ALL.map(ConnectionError::Invite));
        errors.push(ConnectionError::Connect { address: "host:1".into(), found: std::io::ErrorKind::NotFound });
        for error in errors {
            assert!(!error.to_string().contains("hint") && !error.hint().contains("hint"), "{error}");
        }
    }
}
