//! How invitations and parties are kept in tables, and both databases as stores.

use super::sql::{Database, SqlRow, SqlSession, SqlValue, unreadable};
use super::{History, InviteRow, PartyRow, Redemption, RunRow, ServerStore, StoreError, runs};
use crate::coordinator::{Change, Header, SavedRun};
use crate::identity::{PartyName, PartyRole, PublicKey};
use crate::log::{Position, RunId};
use privacy::noise::Digest;

/// Keeps an invitation. The same one again changes nothing; another with its secret is refused.
fn invite(session: &mut dyn SqlSession, invite: &InviteRow) -> Result<(), StoreError> {
    let (role, name) = (SqlValue::Text(invite.role.word()), SqlValue::Text(invite.name.as_str()));
    let kept = session.run(
        "INSERT INTO invites (secret, role, name, expires) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (secret) DO NOTHING",
        &[SqlValue::bytes(&invite.secret), role, name, SqlValue::number(invite.expires)?],
    )?;
    match find(session, &invite.secret)? {
        Some((found, _)) if kept == 1 || found == *invite => Ok(()),
        _ => Err(StoreError::Failed { why: "another invitation has this secret, expected none".into() }),
    }
}

/// An invitation, and the request that it was used for.
fn find(session: &mut dyn SqlSession, secret: &Digest) -> Result<Option<(InviteRow, Option<Digest>)>, StoreError> {
    let statement = "SELECT role, name, expires, request FROM invites WHERE secret = ?1";
    let rows = session.rows(statement, &[SqlValue::bytes(secret)])?;
    let invitation = |mut row: SqlRow| {
        let (role, name, expires) = (role(&row.text()?)?, name(&row.text()?)?, row.number()?);
        Ok((InviteRow { secret: *secret, role, name, expires }, row.optional_array()?))
    };
    rows.into_iter().next().map(invitation).transpose()
}

/// Uses an invitation. The first statement claims it, unless somebody has: two requests at once cannot both be the first.
fn redeem(session: &mut dyn SqlSession, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError> {
    session.run(
        "UPDATE invites SET request = ?2 WHERE secret = ?1 AND request IS NULL AND expires >= ?3",
        &[SqlValue::bytes(secret), SqlValue::bytes(request), SqlValue::number(now)?],
    )?;
    Ok(match find(session, secret)? {
        None => Redemption::Unknown,
        Some((_, Some(other))) if other != *request => Redemption::Used,
        Some((invite, _)) if invite.expires < now => Redemption::Expired,
        Some((invite, _)) => Redemption::Good(invite),
    })
}

fn enrol(session: &mut dyn SqlSession, party: &PartyRow) -> Result<(), StoreError> {
    let (role, name) = (SqlValue::Text(party.role.word()), SqlValue::Text(party.name.as_str()));
    let key = SqlValue::bytes(&party.key.0);
    // A key that was revoked takes nobody's place.
    session.run(
        "DELETE FROM parties WHERE role = ?1 AND name = ?2 AND party <> ?3 AND revoked IS NULL AND NOT EXISTS
         (SELECT 1 FROM parties AS old WHERE old.role = ?1 AND old.name = ?2 AND old.party = ?3
         AND old.revoked IS NOT NULL)",
        &[role, name, key],
    )?;
    let revoked = match party.revoked {
        Some(at) => SqlValue::number(at)?,
        None => SqlValue::Number(None),
    };
    let sealing = SqlValue::Bytes(party.sealing.as_ref().map(<[u8; 32]>::as_slice));
    session.run(
        "INSERT INTO parties (role, name, party, sealing, expires, revoked) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (role, name, party) DO UPDATE SET sealing = excluded.sealing, expires = excluded.expires,
         revoked = COALESCE(parties.revoked, excluded.revoked)",
        &[role, name, key, sealing, SqlValue::number(party.expires)?, revoked],
    )?;
    Ok(())
}

fn parties(session: &mut dyn SqlSession) -> Result<Vec<PartyRow>, StoreError> {
    let rows = session.rows("SELECT role, name, party, sealing, expires, revoked FROM parties", &[])?;
    let mut all = rows.into_iter().map(party).collect::<Result<Vec<_>, _>>()?;
    // Here, because a database orders texts as its locale says.
    all.sort_by(|a, b| (a.role, &a.name, a.key).cmp(&(b.role, &b.name, b.key)));
    Ok(all)
}

fn party(mut row: SqlRow) -> Result<PartyRow, StoreError> {
    Ok(PartyRow {
        role: role(&row.text()?)?,
        name: name(&row.text()?)?,
        key: PublicKey(row.array()?),
        sealing: row.optional_array()?,
        expires: row.number()?,
        revoked: row.optional_number()?,
    })
}

fn role(word: &str) -> Result<PartyRole, StoreError> {
    PartyRole::of_word(word).ok_or_else(|| unreadable(format!("found the role {word:?}, which does not exist")))
}

fn name(text: &str) -> Result<PartyName, StoreError> {
    PartyName::new(text).map_err(unreadable)
}

fn revoke(session: &mut dyn SqlSession, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError> {
    let revoked = session.run(
        "UPDATE parties SET revoked = ?3 WHERE role = ?1 AND name = ?2 AND revoked IS NULL",
        &[SqlValue::Text(role.word()), SqlValue::Text(name.as_str()), SqlValue::number(now)?],
    )?;
    Ok(revoked > 0)
}

impl<D: Database> ServerStore for D {
    fn create(&self, row: &RunRow, saved: &SavedRun) -> Result<(), StoreError> {
        self.write(|session| runs::create(session, row, saved))
    }
    fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.read(runs::runs)
    }
    fn version(&self, run: &RunId) -> Result<u64, StoreError> {
        self.read(|session| runs::version(session, run))
    }
    fn load(&self, run: &RunId) -> Result<SavedRun, StoreError> {
        self.read(|session| runs::load(session, run))
    }
    fn commit(&self, run: &RunId, version: u64, header: &Header, change: &Change) -> Result<u64, StoreError> {
        self.write(|session| runs::commit(session, run, version, header, change))
    }
    fn history(&self, run: &RunId) -> Result<History, StoreError> {
        self.read(|session| runs::history(session, run))
    }
    fn head(&self, key: &PublicKey) -> Result<Option<Position>, StoreError> {
        self.read(|session| runs::head(session, key))
    }
    fn invite(&self, row: &InviteRow) -> Result<(), StoreError> {
        self.write(|session| invite(session, row))
    }
    fn redeem(&self, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError> {
        self.write(|session| redeem(session, secret, request, now))
    }
    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError> {
        self.write(|session| enrol(session, party))
    }
    fn parties(&self) -> Result<Vec<PartyRow>, StoreError> {
        self.read(parties)
    }
    fn revoke(&self, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError> {
        self.write(|session| revoke(session, role, name, now))
    }
}
