//! What letters of a secure sum say, once they are open: what is read is written with the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use privacy::secure_sum::Message;

fuzz_target!(|bytes: &[u8]| {
    for (dimension, clients) in [(1, 1), (16, 100)] {
        if let Ok(message) = Message::decode(bytes, dimension, clients) {
            assert_eq!(message.encode().as_deref(), Ok(bytes));
            let _ = message.body.sender();
        }
    }
});
