//! What a report must hold for every kind of results.
