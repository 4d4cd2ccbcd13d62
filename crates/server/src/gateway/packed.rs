//! Decompresses bodies, within a limit. The compressed bytes themselves are never changed.

use std::io::Read as _;

use flate2::read::{GzDecoder, ZlibDecoder};

use super::receipt::shortened;

/// Decompresses bytes according to `encoding`.
pub(super) fn unpacked(
    encoding: Option<&str>,
    bytes: &[u8],
    longest: usize,
) -> Result<Vec<u8>, String> {
    let limit = longest as u64 + 1;
    let mut plain = Vec::new();
    let read = match encoding {
        None | Some("identity") => bytes.take(limit).read_to_end(&mut plain),
        Some("gzip" | "x-gzip") => GzDecoder::new(bytes).take(limit).read_to_end(&mut plain),
        Some("deflate") => ZlibDecoder::new(bytes).take(limit).read_to_end(&mut plain),
        Some(other) => return Err(format!("it is packed as `{}`", shortened(other))),
    };
    if read.is_err() || plain.len() > longest {
        return Err("it cannot be unpacked".to_owned());
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn packed_bodies_are_read_within_the_limit() {
        let plain = |encoding, bytes: &[u8]| unpacked(encoding, bytes, 1000);
        assert_eq!(plain(Some("gzip"), &gzip(b"{}")).unwrap(), b"{}");
        assert_eq!(plain(None, b"x").unwrap(), b"x");
        assert!(plain(Some("br"), b"x").unwrap_err().contains("`br`"));
        assert!(plain(Some("gzip"), b"x").is_err());
        assert!(plain(Some("gzip"), &gzip(&[0; 1000])).is_ok());
        assert!(plain(Some("gzip"), &gzip(&[0; 1001])).is_err());
    }
}
