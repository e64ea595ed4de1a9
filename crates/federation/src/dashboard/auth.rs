//! Who may look: whoever shows the token that was made when the server started, or the cookie that it was exchanged for.

use super::metrics::Metrics;
use crate::identity::{FileError, read_private};
use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use study::digits::hexadecimal;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Wrong tokens within [`WINDOW`] after which more of them are told to wait.
const WRONG: u32 = 10;

/// How long wrong tokens are remembered.
const WINDOW: Duration = Duration::from_secs(60);

/// What makes a cookie from a token.
const COOKIE: &[u8] = b"posterity dashboard cookie";

/// 128 random bits, in hexadecimal digits: whoever has them may read the dashboard. Shown nowhere, written only on demand.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// A random token from the operating system.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; 16]);
        getrandom::fill(bytes.as_mut_slice())?;
        Ok(Self(Zeroizing::new(hexadecimal(bytes.as_slice()))))
    }

    /// The token of 32 hexadecimal digits; none for anything else.
    pub fn of_hex(digits: &str) -> Option<Self> {
        let fits = digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(Zeroizing::new(digits.to_owned())))
    }

    /// The digits, for the one line that tells an operator where to look.
    pub fn hex(&self) -> &str {
        &self.0
    }

    /// The token in a file; none if there is no such file, or it has something else. One that others can read is refused.
    pub fn read(path: &Path) -> Result<Option<Self>, FileError> {
        match read_private(path) {
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
            Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(|text| Self::of_hex(text.trim()))),
        }
    }

    /// Writes the digits to a file that only its owner can read. A file that was there is replaced.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        file.write_all(self.0.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()
    }

    /// What a browser keeps in the token's place: a digest, so that the token itself stays out of it.
    fn cookie(&self) -> Zeroizing<String> {
        Zeroizing::new(hexadecimal(&Sha256::new().chain_update(COOKIE).chain_update(self.0.as_bytes()).finalize()))
    }
}

/// What a request has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenCheck {
    /// The token, or its cookie.
    Right,
    /// The request has neither a token nor a cookie.
    Nothing,
    /// A wrong token or cookie.
    Wrong,
    /// A wrong token, after too many others within a minute.
    TooOften,
}

/// How a request reaches the dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// By TLS.
    Encrypted,
    /// In the clear, within the machine.
    Loopback,
}

/// Checks tokens and cookies in constant time, and counts the wrong ones.
pub(super) struct Authenticator {
    token: Token,
    cookie: Zeroizing<String>,
    transport: Transport,
    failures: Mutex<(Instant, u32)>,
    metrics: Arc<Metrics>,
}

impl Authenticator {
    /// Lets in whoever shows this token.
    pub(super) fn new(token: Token, transport: Transport, metrics: Arc<Metrics>) -> Self {
        Self { cookie: token.cookie(), token, transport, failures: Mutex::new((Instant::now(), 0)), metrics }
    }

    /// What the headers of a request show.
    pub(super) fn shown(&self, headers: &HeaderMap) -> TokenCheck {
        if let Some(bearer) = headers.get(header::AUTHORIZATION) {
            let token = bearer.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
            return self.judged(token.is_some_and(|token| same(token, &self.token.0)));
        }
        match self.cookies(headers).next() {
            None => TokenCheck::Nothing,
            Some(_) => self.judged(self.cookies(headers).any(|cookie| same(cookie, &self.cookie))),
        }
    }

    /// What the query of a login shows.
    pub(super) fn login(&self, query: Option<&str>) -> TokenCheck {
        match query.and_then(token_of) {
            None => TokenCheck::Nothing,
            Some(token) => self.judged(same(token, &self.token.0)),
        }
    }

    /// The header that gives a browser its cookie: not for scripts, not for other sites, until the browser is closed.
    pub(super) fn set_cookie(&self) -> String {
        let secure = match self.transport {
            Transport::Encrypted => "; Secure",
            Transport::Loopback => "",
        };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.name(), self.cookie.as_str())
    }

    /// The prefix holds a browser to what an encrypted cookie must be.
    fn name(&self) -> &'static str {
        match self.transport {
            Transport::Encrypted => "__Host-posterity",
            Transport::Loopback => "posterity",
        }
    }

    /// Values of our cookie; another page of the same host may have set one more of that name.
    fn cookies<'a>(&self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let name = self.name();
        let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter_map(move |(found, value)| (found == name).then_some(value))
    }

    /// The right token always opens. Wrong ones are counted, so that who guesses cannot lock out who knows.
    fn judged(&self, right: bool) -> TokenCheck {
        if right {
            return TokenCheck::Right;
        }
        self.metrics.denied();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = &mut *failures;
        if since.elapsed() > WINDOW {
            (*since, *count) = (Instant::now(), 0);
        }
        *count = count.saturating_add(1);
        if *count > WRONG { TokenCheck::TooOften } else { TokenCheck::Wrong }
    }
}

/// The token of a query, which names one and nothing else. Its digits need no escapes, so that none is read.
fn token_of(query: &str) -> Option<&str> {
    query.strip_prefix("token=")
}

/// Equal, in a time that tells nothing but the lengths.
fn same(shown: &str, expected: &str) -> bool {
    shown.as_bytes().ct_eq(expected.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use proptest::prelude::*;

    const DIGITS: &str = "00112233445566778899aabbccddeeff";

    fn authenticator(transport: Transport) -> Authenticator {
        Authenticator::new(Token::of_hex(DIGITS).unwrap(), transport, Arc::default())
    }

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
    }

    #[test]
    fn a_token_is_new_each_time_and_reads_back() {
        let (one, other) = (Token::generate().unwrap(), Token::generate().unwrap());
        assert_ne!(one.hex(), other.hex());
        assert_eq!(Token::of_hex(one.hex()).unwrap().hex(), one.hex());
        assert!(
            ["", "0", &DIGITS.to_uppercase(), &format!("{DIGITS}0")].iter().all(|text| Token::of_hex(text).is_none())
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_file_of_a_token_is_its_owners_alone_whatever_was_there() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("posterity-token-{}", std::process::id()));
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let token = Token::generate().unwrap();
        token.write(&path).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!((mode, kept.trim_end()), (0o600, token.hex()));
        assert_eq!(Token::read(&path).unwrap().unwrap().hex(), token.hex());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let refused = Token::read(&path).err().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(refused, FileError::Exposed { .. }), "{refused}");
        assert!(Token::read(&path).unwrap().is_none(), "there is none");
    }

    #[test]
    fn the_token_or_its_cookie_opens_and_nothing_is_not_a_wrong_one() {
        let authenticator = authenticator(Transport::Loopback);
        assert_eq!(
            authenticator.shown(&headers(header::AUTHORIZATION, &format!("Bearer {DIGITS}"))),
            TokenCheck::Right
        );
        assert_eq!(authenticator.shown(&headers(header::AUTHORIZATION, DIGITS)), TokenCheck::Wrong);
        assert_eq!(authenticator.shown(&HeaderMap::new()), TokenCheck::Nothing);
        let set = authenticator.set_cookie();
        let pair = set.split(';').next().unwrap();
        assert!(!set.contains(DIGITS), "the token stays out of the browser");
        assert_eq!(
            authenticator.shown(&headers(header::COOKIE, &format!("posterity=stale; a=b; {pair}"))),
            TokenCheck::Right
        );
        assert_eq!(authenticator.shown(&headers(header::COOKIE, &format!("posterity={DIGITS}"))), TokenCheck::Wrong);
        assert_eq!(authenticator.shown(&headers(header::COOKIE, "other=1")), TokenCheck::Nothing);
    }

    #[test]
    fn a_cookie_is_secure_where_the_connection_is() {
        assert!(
            authenticator(Transport::Encrypted).set_cookie().starts_with("__Host-posterity=")
                && authenticator(Transport::Encrypted).set_cookie().ends_with("; Secure")
        );
        assert!(!authenticator(Transport::Loopback).set_cookie().contains("Secure"));
        assert!(authenticator(Transport::Loopback).set_cookie().contains("; HttpOnly; SameSite=Strict"));
    }

    #[test]
    fn guessing_is_slowed_down_and_does_not_lock_out_who_knows() {
        let authenticator = authenticator(Transport::Loopback);
        let wrong: Vec<TokenCheck> = (0..WRONG + 2).map(|_| authenticator.login(Some("token=0"))).collect();
        assert_eq!(wrong.iter().filter(|shown| **shown == TokenCheck::Wrong).count(), WRONG as usize);
        assert_eq!(wrong.last(), Some(&TokenCheck::TooOften));
        assert_eq!(authenticator.login(Some(&format!("token={DIGITS}"))), TokenCheck::Right);
    }

    proptest! {
        #[test]
        fn no_query_but_the_token_opens(query in "\\PC*|(token=)?[0-9a-f]{0,40}|[a-z=&%;+]{0,60}") {
            let right = query == format!("token={DIGITS}");
            prop_assert_eq!(authenticator(Transport::Loopback).login(Some(&query)) == TokenCheck::Right, right);
        }

        #[test]
        fn no_header_but_the_token_opens(value in "[ -~]{0,80}|(Bearer |posterity=)[0-9a-f]{0,64}") {
            let (authenticator, right) = (authenticator(Transport::Loopback), format!("Bearer {DIGITS}"));
            prop_assert_eq!(authenticator.shown(&headers(header::AUTHORIZATION, &value)) == TokenCheck::Right, value == right);
            prop_assert_ne!(authenticator.shown(&headers(header::COOKIE, &value)), TokenCheck::Right);
        }
    }
}
