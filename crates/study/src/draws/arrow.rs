//! The Arrow IPC file of draws: columns `chain`, `iteration` (both counted from one) and one of doubles for each parameter.
//!
//! Written by hand: the format is small where all columns are 64 bits wide and nothing is missing. Apache Arrow,
//! "Columnar format", version 1.0: the word `ARROW1`, a stream of messages (the schema, then a batch of rows for each chain), a footer that
//! says where the batches are, its length, and the word again. A message is a mark, the length of its metadata, these as a
//! FlatBuffer, and its body.

use super::INDEX;
use super::flat::{Field, Flat, Slot};
use inference::chain::Draws;

/// How files begin and end.
const WORD: &[u8] = b"ARROW1";
/// How messages begin.
const MARK: [u8; 4] = [0xff; 4];
/// `MetadataVersion.V5`.
const VERSION: Field = Field::Short(4);
/// `MessageHeader.Schema` and `.RecordBatch`.
const HEADERS: [Field; 2] = [Field::Byte(1), Field::Byte(3)];
/// `Type.Int` and `Type.FloatingPoint`.
const TYPES: [Field; 2] = [Field::Byte(2), Field::Byte(3)];
/// `Precision.DOUBLE`.
const DOUBLE: Field = Field::Short(2);

/// The file.
pub(super) fn table(draws: &Draws) -> Vec<u8> {
    let mut file = [WORD, &[0, 0]].concat();
    file.extend(message(HEADERS[0], 0, |flat, slot| schema(flat, slot, draws)));
    let mut blocks = Vec::new();
    for chain in 0..draws.chains() {
        let body = body(draws, chain);
        let columns = INDEX.len() + draws.names().len();
        let metadata = message(HEADERS[1], body.len(), |flat, slot| batch(flat, slot, draws.iterations(), columns));
        blocks.push([file.len() as i64, metadata.len() as i64, body.len() as i64]);
        file.extend(metadata);
        file.extend(body);
    }
    file.extend(MARK);
    file.extend([0; 4]);
    let footer = footer(draws, &blocks);
    file.extend(&footer);
    file.extend((footer.len() as i32).to_le_bytes());
    file.extend(WORD);
    file
}

/// A message without its body. `Message`: version, kind of header, header, length of the body.
fn message(kind: Field, body: usize, header: impl FnOnce(&mut Flat, Slot)) -> Vec<u8> {
    let (mut flat, root) = Flat::new();
    let [child] = flat.table(root, &[VERSION, kind, Field::Child, Field::Long(body as i64)]);
    header(&mut flat, child);
    let metadata = flat.finish();
    [&MARK[..], &(metadata.len() as i32).to_le_bytes(), &metadata].concat()
}

/// `Schema`: little-endian by default, fields. `Field`: name, not nullable, type, no dictionary, no children.
fn schema(flat: &mut Flat, slot: Slot, draws: &Draws) {
    let [fields] = flat.table(slot, &[Field::Absent, Field::Child]);
    let index = INDEX.iter().map(|name| (*name, true));
    let names: Vec<(&str, bool)> = index.chain(draws.names().iter().map(|name| (name.as_str(), false))).collect();
    for ((name, whole), slot) in names.iter().zip(flat.children(fields, names.len())) {
        let kind = if *whole { TYPES[0] } else { TYPES[1] };
        let column = [Field::Child, Field::Byte(0), kind, Field::Child, Field::Absent, Field::Child];
        let [text, numbers, children] = flat.table(slot, &column);
        flat.string(text, name);
        // `Int`: width, signed. `FloatingPoint`: precision.
        let described: &[Field] = if *whole { &[Field::Int(64), Field::Byte(1)] } else { &[DOUBLE] };
        let [] = flat.table(numbers, described);
        flat.children(children, 0);
    }
}

/// `RecordBatch`: rows; for each column its rows and how many are missing; where its bitmap of missing rows (none) and its
/// numbers lie in the body.
fn batch(flat: &mut Flat, slot: Slot, rows: usize, columns: usize) {
    let (rows, columns) = (rows as i64, columns as i64);
    let [nodes, buffers] = flat.table(slot, &[Field::Long(rows), Field::Child, Field::Child]);
    flat.structs(nodes, &vec![[rows, 0]; columns as usize]);
    let places: Vec<[i64; 2]> = (0..columns).flat_map(|k| [[8 * rows * k, 0], [8 * rows * k, 8 * rows]]).collect();
    flat.structs(buffers, &places);
}

/// The numbers of one chain, column by column.
fn body(draws: &Draws, chain: usize) -> Vec<u8> {
    let rows = draws.iterations() as i64;
    let mut bytes: Vec<u8> = (0..rows).flat_map(|_| (chain as i64 + 1).to_le_bytes()).collect();
    bytes.extend((1..=rows).flat_map(i64::to_le_bytes));
    for column in 0..draws.names().len() {
        bytes.extend(draws.rows(chain).flat_map(|row| row[column].to_le_bytes()));
    }
    bytes
}

/// `Footer`: version, schema, no dictionaries, the batches. `Block`: place, length of its metadata (32 bits), of its body.
fn footer(draws: &Draws, blocks: &[[i64; 3]]) -> Vec<u8> {
    let (mut flat, root) = Flat::new();
    let [fields, batches] = flat.table(root, &[VERSION, Field::Child, Field::Absent, Field::Child]);
    schema(&mut flat, fields, draws);
    flat.structs(batches, blocks);
    flat.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    fn draws() -> Draws {
        let names = ["a", "capital gain", "é=\"1\"", "b.2", "c"].map(str::to_owned).to_vec();
        let chain = |m: u32| (0..35).map(|i| f64::from(i * i + 1000 * m) / 7.0).collect();
        Draws::new(names, (0..3).map(chain).collect()).unwrap()
    }

    /// These bytes were read by pyarrow 26.0.1 (`tests/arviz.rs` reads them again where it is there).
    #[test]
    fn the_file_is_the_one_that_arrow_has_read() {
        let digest: String = Sha256::digest(table(&draws())).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, "da52b975f490d458");
    }

    #[test]
    fn messages_and_bodies_begin_at_multiples_of_eight() {
        let file = table(&draws());
        assert_eq!((&file[..6], &file[file.len() - 6..]), (WORD, WORD));
        let marks = (0..file.len() - 4).filter(|&i| file[i..i + 4] == MARK).collect::<Vec<_>>();
        assert_eq!(marks.len(), 5, "the schema, three batches, the end");
        assert!(marks.iter().all(|at| at % 8 == 0), "{marks:?}");
    }

    #[test]
    fn numbers_stand_in_their_columns_to_the_last_bit() {
        let (draws, file) = (draws(), table(&draws()));
        let body = body(&draws, 2);
        assert!(file.windows(body.len()).any(|bytes| bytes == body));
        let number = |k: usize| <[u8; 8]>::try_from(&body[8 * k..8 * k + 8]).unwrap();
        assert_eq!((i64::from_le_bytes(number(0)), i64::from_le_bytes(number(7 + 6))), (3, 7));
        let row = draws.rows(2).nth(4).unwrap();
        let found: Vec<f64> = (0..5).map(|column| f64::from_le_bytes(number(7 * (2 + column) + 4))).collect();
        assert_eq!(found, row);
    }
}
