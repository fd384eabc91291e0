//! The checksum that zip uses (CRC-32, reflected, polynomial 0xedb88320).

/// A checksum of the bytes so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Checksum(u32);

const TABLE: [u32; 256] = table();

impl Checksum {
    pub(super) fn new() -> Checksum {
        Checksum(!0)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let index = (self.0 ^ u32::from(*byte)) & 0xff;
            self.0 = TABLE[index as usize] ^ (self.0 >> 8);
        }
    }

    pub(super) fn value(self) -> u32 {
        !self.0
    }
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::Checksum;

    #[test]
    fn the_check_value_of_the_standard() {
        let mut sum = Checksum::new();
        sum.update(b"1234");
        sum.update(b"56789");
        assert_eq!(sum.value(), 0xcbf4_3926);
    }
}
