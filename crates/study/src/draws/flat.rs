//! A writer of FlatBuffers, as much as Arrow's metadata need: tables, vectors of tables and of structs, strings.
//!
//! The format (flatbuffers.dev, "FlatBuffers Internals"): little-endian; a table begins with the signed distance back to its vtable, which
//! has the sizes of both and where each field stands in the table, 0 for one that is not there; an offset is the
//! unsigned distance from where it stands to what it means, which therefore comes later in the buffer; every scalar is
//! aligned to its size. So parents are written first, and their offsets are filled in when the child is begun.

/// A field of a table.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    /// Not there: its default, or nothing.
    Absent,
    /// A byte or a boolean.
    Byte(u8),
    /// A 16-bit integer.
    Short(i16),
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// Something that is written later.
    Child,
}

impl Field {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Absent => Vec::new(),
            Self::Byte(value) => vec![value],
            Self::Short(value) => value.to_le_bytes().to_vec(),
            Self::Int(value) => value.to_le_bytes().to_vec(),
            Self::Long(value) => value.to_le_bytes().to_vec(),
            Self::Child => vec![0; 4],
        }
    }
}

/// An offset that is not filled in yet: where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot(usize);

/// A buffer that is being written.
#[derive(Debug)]
pub(super) struct Flat(Vec<u8>);

impl Flat {
    /// A buffer, and the slot of its root.
    pub(super) fn new() -> (Self, Slot) {
        (Self(vec![0; 4]), Slot(0))
    }

    /// The buffer, filled up to a multiple of eight bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.fill(8, 0);
        self.0
    }

    /// A table; the slots of its children, in their order.
    pub(super) fn table<const CHILDREN: usize>(&mut self, slot: Slot, fields: &[Field]) -> [Slot; CHILDREN] {
        let sizes: Vec<usize> = fields.iter().map(|field| field.bytes().len()).collect();
        // The vtable stands right before the table, which stands four bytes before a multiple of eight.
        let vtable = 4 + 2 * fields.len();
        while (self.0.len() + vtable) % 8 != 4 {
            self.0.push(0);
        }
        let start = self.0.len() + vtable;
        let mut places = vec![0; fields.len()];
        let mut end = 4;
        for size in [8, 4, 2, 1] {
            for k in (0..fields.len()).filter(|&k| sizes[k] == size) {
                places[k] = end;
                end += size;
            }
        }
        for number in [vtable, end].into_iter().chain(places.iter().copied()) {
            self.0.extend((number as u16).to_le_bytes());
        }
        self.point(slot, start);
        self.0.resize(start + end, 0);
        self.0[start..start + 4].copy_from_slice(&(vtable as i32).to_le_bytes());
        for (field, place) in fields.iter().zip(&places) {
            let bytes = field.bytes();
            self.0[start + place..start + place + bytes.len()].copy_from_slice(&bytes);
        }
        let mut children = [Slot(start); CHILDREN];
        let open = fields.iter().zip(&places).filter(|(field, _)| matches!(field, Field::Child));
        children.iter_mut().zip(open).for_each(|(child, (_, place))| *child = Slot(start + place));
        children
    }

    /// A vector of tables or strings; a slot for each.
    pub(super) fn children(&mut self, slot: Slot, count: usize) -> Vec<Slot> {
        self.fill(4, 0);
        self.point(slot, self.0.len());
        self.0.extend((count as u32).to_le_bytes());
        let start = self.0.len();
        self.0.resize(start + 4 * count, 0);
        (0..count).map(|k| Slot(start + 4 * k)).collect()
    }

    /// A vector of structs of 64-bit integers (a smaller member and what fills it up count as one).
    pub(super) fn structs<const SIZE: usize>(&mut self, slot: Slot, entries: &[[i64; SIZE]]) {
        self.fill(8, 4);
        self.point(slot, self.0.len());
        self.0.extend((entries.len() as u32).to_le_bytes());
        self.0.extend(entries.as_flattened().iter().flat_map(|value| value.to_le_bytes()));
    }

    /// A string.
    pub(super) fn string(&mut self, slot: Slot, text: &str) {
        self.fill(4, 0);
        self.point(slot, self.0.len());
        self.0.extend((text.len() as u32).to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// Fills in an offset.
    fn point(&mut self, Slot(at): Slot, to: usize) {
        self.0[at..at + 4].copy_from_slice(&((to - at) as u32).to_le_bytes());
    }

    /// Zeros until the length leaves this rest.
    fn fill(&mut self, multiple: usize, rest: usize) {
        while self.0.len() % multiple != rest {
            self.0.push(0);
        }
    }
}
