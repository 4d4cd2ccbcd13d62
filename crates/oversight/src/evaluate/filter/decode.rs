//! Text out of base64, base32 and hexadecimal digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn decode_base64(text: &str) -> Option<String> {
    let clean: String = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .collect();
    let unpadded = clean.trim_end_matches('=');
    let engine = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new()
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let bytes = STANDARD
        .decode(&clean)
        .or_else(|_| engine.decode(unpadded))
        .ok()?;
    String::from_utf8(bytes).ok()
}

pub(super) fn decode_base32(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for character in text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '=')
    {
        let value = match character {
            'A'..='Z' => u32::from(character) - u32::from('A'),
            '2'..='7' => u32::from(character) - u32::from('2') + 26,
            _ => return None,
        };
        buffer = (buffer << 5 | value) & 0xFFFF;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xFF).ok()?);
        }
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn decode_hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16))
        .collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}
