//! Who is who: names and roles, keys that sign, certificates that say which key is whose, and the authority that issues them.

mod address;
mod authority;
mod base32;
mod certificate;
mod enrol;
mod file;
mod home;
mod invite;
mod key;
mod name;
mod pinned;
#[cfg(test)]
mod tests;
mod tls;

pub use address::Address;
pub use authority::{
    Authority, AuthorityError, AuthorityFacts, EARLY, ISSUING_LIFE, IssuedCertificate, IssuingKey, PARTY_LATE,
    PARTY_LIFE, ROOT_LIFE,
};
pub use certificate::{
    CertificateError, Peer, SERVER_NAME, Validity, certificates, fingerprint, request, requested_key, subject_key,
    validity,
};
pub use enrol::{EnrolError, EnrolledParty, PartyStanding, join, renew, standing};
pub use file::FileError;
pub(crate) use file::{Readers, is_there, private_folder, read_private, remove, replace};
pub use home::{Credentials, ExpectedIdentity, Home, HomeError, SealingKey};
pub use invite::{Invite, InviteError, InviteSecret};
pub use key::{IdentityKey, PublicKey, Signature, SignatureError};
pub use name::{PartyName, PartyRole};
pub use tls::{
    TlsError, client_config, dashboard_config, enrolment_config, joining_config, server_config, server_name,
};
