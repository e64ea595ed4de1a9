//! Where a server is reached: host and port.

use std::fmt;

/// A host and a port, such as `server.example.org:8443` or `[::1]:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    host: usize,
    port: u16,
}

impl Address {
    /// An address, or an error that says what one is.
    pub fn new(text: &str) -> Result<Self, String> {
        let wrong = || format!("the address is {text:?}, expected host:port, such as server.example.org:8443");
        let (host, digits) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = digits.parse().ok().filter(|port| *port > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()));
        let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let fits = match inner {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)),
        };
        match port {
            Some(port) if fits && !host.is_empty() && text.len() <= 255 => {
                Ok(Self { text: text.to_owned(), host: host.len(), port })
            }
            _ => Err(wrong()),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host; an address of version 6 has its brackets.
    pub fn host(&self) -> &str {
        self.text.get(..self.host).unwrap_or_default()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (text, host, port) in
            [("a.example:8443", "a.example", 8443), ("10.0.0.1:1", "10.0.0.1", 1), ("[::1]:65535", "[::1]", 65535)]
        {
            let address = Address::new(text).unwrap();
            assert_eq!((address.host(), address.port(), address.as_str()), (host, port, text));
        }
        for text in
            ["", "host", ":1", "host:", "host:0", "host:65536", "host:+1", "::1:80", "a b:1", "[x]:1", "https://a:1"]
        {
            assert!(Address::new(text).is_err(), "{text}");
        }
    }
}
