//! The dashboard over a made-up federation of four hospitals: every route, who may take it, and what it says.

mod hospitals;
mod port;
mod routes;
mod text;
