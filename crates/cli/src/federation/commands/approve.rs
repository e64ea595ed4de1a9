//! `posterity agent approve`: what was proposed to a site, and somebody's yes to it.

use crate::failure::Failure;
use crate::federation::net::{failure, home};
use federation::calendar::moment;
use federation::manifest::Manifest;
use privacy::noise::Digest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use study::digits::hexadecimal;

/// Folder of proposals in a site's home.
const PROPOSALS: &str = "proposals";
/// Folder of approvals in a site's home: an empty file for each.
const APPROVALS: &str = "approvals";
/// Ending of a manifest's file, whose bytes are those that everybody signs.
const MANIFEST: &str = "manifest";
/// Letters of a digest in hexadecimal digits.
const DIGITS: usize = 64;
/// First digits that choose a proposal: with fewer a slip of the hand, or a variable that is not set, would approve what happens to wait.
const FEWEST_DIGITS: usize = 8;

/// A study that was proposed, as its agent has kept it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Proposal {
    /// The digest of its manifest.
    digest: String,
    /// The study's name; empty if the text has none.
    study: String,
    /// When the agent kept it, in seconds since 1970.
    kept: u64,
    approved: bool,
}

/// Keeps study and schema of a proposal where its owner can read them; gives both paths.
pub(super) fn keep(home: &Path, digest: &Digest, study: &str, schema: &str) -> std::io::Result<(PathBuf, PathBuf)> {
    let (folder, digest) = (home.join(PROPOSALS), hexadecimal(digest));
    let (of_study, of_schema) = (folder.join(format!("{digest}.toml")), folder.join(format!("{digest}.schema.toml")));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(&of_schema, schema)?;
    std::fs::write(&of_study, study)?;
    Ok((of_study, of_schema))
}

/// Keeps the manifest of a proposal beside its study, for `posterity agent preview`.
pub(super) fn keep_manifest(home: &Path, manifest: &Manifest) -> std::io::Result<()> {
    let folder = home.join(PROPOSALS);
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join(format!("{}.{MANIFEST}", hexadecimal(&manifest.digest()))), manifest.bytes())
}

/// The manifest of the one proposal whose digest begins so.
pub(super) fn manifest(digits: &str, home: &Path) -> Result<Manifest, Failure> {
    let all = proposals(home)?;
    let proposal = one_of(digits, &all)?;
    let path = home.join(PROPOSALS).join(format!("{}.{MANIFEST}", proposal.digest));
    let bytes = std::fs::read(&path).map_err(|error| Failure::file("cannot read", &path, error))?;
    let manifest = Manifest::read(&bytes).ok().filter(|manifest| hexadecimal(&manifest.digest()) == proposal.digest);
    manifest.ok_or_else(|| {
        let message = format!("{} is not the manifest with that digest", path.display());
        failure("F206", message, "remove the file; the agent keeps the proposal again when it starts")
    })
}

/// Whether somebody has approved the manifest of this digest.
pub(super) fn is_approved(home: &Path, digest: &Digest) -> bool {
    home.join(APPROVALS).join(hexadecimal(digest)).exists()
}

/// Approves the one proposal whose digest begins so; without any digits lists what waits.
pub(crate) fn approve(digits: Option<&str>, folder: &Path, json: bool) -> Result<String, Failure> {
    let home = home(folder)?;
    let all = proposals(home.folder())?;
    let Some(digits) = digits else { return Ok(list(&all, folder, json)) };
    let proposal = one_of(digits, &all)?;
    let path = home.folder().join(APPROVALS).join(&proposal.digest);
    let made = path.parent().map(std::fs::create_dir_all).transpose().and_then(|_| std::fs::write(&path, b""));
    made.map_err(|error| Failure::file("cannot write", &path, error))?;
    Ok(match json {
        true => format!("{}\n", json!({ "approved": proposal.digest, "study": proposal.study })),
        false => format!("approved: {} ({})\n", proposal.digest, proposal.study),
    })
}

/// The one proposal whose digest begins so.
fn one_of<'a>(digits: &str, all: &'a [Proposal]) -> Result<&'a Proposal, Failure> {
    let wanted = digits.to_ascii_lowercase();
    if wanted.len() < FEWEST_DIGITS {
        let message = format!("found {} digits of a digest, expected at least {FEWEST_DIGITS}", wanted.len());
        let hint = "`posterity agent approve` without digits lists the proposals that wait; a prefix selects a proposal, only the whole digest verifies it";
        return Err(failure("F206", message, hint));
    }
    let found: Vec<&Proposal> = all.iter().filter(|one| one.digest.starts_with(&wanted)).collect();
    match found.as_slice() {
        &[proposal] => Ok(proposal),
        found => Err(not_one(digits, found.len(), all)),
    }
}

/// What was proposed to this site, the latest first.
fn proposals(home: &Path) -> Result<Vec<Proposal>, Failure> {
    let folder = home.join(PROPOSALS);
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| Failure::file("cannot read", &folder, error))?,
    };
    let mut found: Vec<Proposal> = entries.filter_map(|entry| proposal(home, &entry.ok()?.path())).collect();
    found.sort_by(|a, b| (b.kept, &a.digest).cmp(&(a.kept, &b.digest)));
    Ok(found)
}

/// The proposal of a file, if it is one: its name is a digest.
fn proposal(home: &Path, path: &Path) -> Option<Proposal> {
    let digest = path.file_name()?.to_str()?.strip_suffix(".toml")?.to_owned();
    if digest.len() != DIGITS || !digest.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let study: Option<toml::Table> = toml::from_str(&text).ok();
    let name = study.as_ref().and_then(|study| study.get("study")?.get("name")?.as_str());
    let kept = path.metadata().and_then(|file| file.modified()).ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let approved = home.join(APPROVALS).join(&digest).exists();
    Some(Proposal { digest, study: name.unwrap_or_default().to_owned(), kept, approved })
}

fn list(all: &[Proposal], folder: &Path, json: bool) -> String {
    let waiting: Vec<&Proposal> = all.iter().filter(|one| !one.approved).collect();
    if json {
        let object = |one: &&Proposal| json!({ "digest": one.digest, "study": one.study, "proposed": one.kept });
        return format!("{}\n", json!({ "waiting": waiting.iter().map(object).collect::<Vec<Value>>() }));
    }
    let Some(first) = waiting.first() else { return "No proposal waits for approval.\n".to_owned() };
    let line = |one: &&Proposal| format!("{}  {}, proposed {}\n", one.digest, one.study, moment(one.kept));
    format!(
        "{}\nTo approve one, give the first digits of its digest: posterity agent approve {} --home {}\n",
        waiting.iter().map(line).collect::<String>(),
        first.digest.get(..8).unwrap_or(&first.digest),
        folder.display()
    )
}

/// No proposal begins so, or several do.
fn not_one(digits: &str, found: usize, all: &[Proposal]) -> Failure {
    let message = match found {
        0 => format!("no proposal to this site has a manifest digest that begins with {digits:?}"),
        several => format!("{several} proposals to this site have manifest digests that begin with {digits:?}"),
    };
    let waiting: Vec<String> =
        all.iter().filter(|one| !one.approved).map(|one| format!("{} ({})", one.digest, one.study)).collect();
    let hint = match waiting.is_empty() {
        true => "no proposal waits for approval; `posterity agent run` prints the digest of a new proposal".to_owned(),
        false => format!("give enough digits to select one proposal: {}", waiting.join(", ")),
    };
    failure("F206", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use federation::identity::{Home, PartyRole};

    /// A site that has joined nothing yet, gone when the test is over.
    struct TestHome(PathBuf);

    impl TestHome {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("posterity-approve-{}-{name}", std::process::id()));
            Home::create(&folder, PartyRole::Site).unwrap();
            Self(folder)
        }

        fn proposed(&self, first: u8, name: &str) -> Digest {
            self.proposed_with(first, 0xab, name)
        }

        fn proposed_with(&self, first: u8, last: u8, name: &str) -> Digest {
            let mut digest = [0xab; 32];
            (digest[0], digest[31]) = (first, last);
            keep(&self.0, &digest, &format!("[study]\nname = {name:?}\n"), "").unwrap();
            digest
        }
    }

    impl Drop for TestHome {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_first_digits_of_a_digest_are_enough_where_one_proposal_has_them() {
        let site = TestHome::new("prefix");
        let (one, other) = (site.proposed(0x12, "wards"), site.proposed(0x13, "readmission"));
        site.proposed_with(0x12, 0, "beds");
        let refused = approve(Some("12ababab"), &site.0, false).unwrap_err();
        assert_eq!((refused.code(), refused.exit()), ("F206", 2));
        assert!(refused.to_string().contains("2 proposals"), "{refused}");
        assert!(refused.hint().contains("beds") && refused.hint().contains("wards"), "{}", refused.hint());
        assert!(!is_approved(&site.0, &one) && !is_approved(&site.0, &other), "what is not clear is not approved");
        assert!(approve(Some("13ABababA"), &site.0, false).unwrap().contains("readmission"));
        assert!(!is_approved(&site.0, &one) && is_approved(&site.0, &other));
        assert!(approve(Some(&hexadecimal(&one)), &site.0, true).unwrap().contains("wards"));
        for strange in ["14ababab", "../proposals/12", &"1".repeat(65)] {
            assert_eq!(approve(Some(strange), &site.0, false).unwrap_err().code(), "F206", "{strange}");
        }
    }

    /// Found: with a variable that was not set, `approve "$DIGEST"` approved the only study that waited.
    #[test]
    fn few_digits_approve_nothing_even_where_one_study_waits() {
        let site = TestHome::new("few");
        let only = site.proposed(0x12, "wards");
        for few in ["", "1", "12ababa"] {
            let refused = approve(Some(few), &site.0, false).unwrap_err();
            assert!(refused.code() == "F206" && refused.to_string().contains("at least 8"), "{refused}");
        }
        assert!(!is_approved(&site.0, &only));
    }

    #[test]
    fn without_digits_what_waits_is_listed_and_nothing_is_approved() {
        let site = TestHome::new("list");
        assert_eq!(approve(None, &site.0, false).unwrap(), "No proposal waits for approval.\n");
        let (one, other) = (site.proposed(0x12, "wards"), site.proposed(0x13, "readmission"));
        approve(Some("12ababab"), &site.0, false).unwrap();
        let text = approve(None, &site.0, false).unwrap();
        assert!(text.contains(&format!("{}  readmission, proposed 2", hexadecimal(&other))), "{text}");
        assert!(!text.contains("wards") && text.contains("posterity agent approve 13ababab --home"), "{text}");
        let object: Value = serde_json::from_str(&approve(None, &site.0, true).unwrap()).unwrap();
        assert_eq!(object["waiting"].as_array().unwrap().len(), 1);
        assert_eq!(object["waiting"][0]["digest"], hexadecimal(&other));
        assert!(is_approved(&site.0, &one) && !is_approved(&site.0, &other));
    }
}
