/** Pictures by their own bytes: what a server says about them may be wrong. */
import type { Image } from '@cairn/protocol'

export type Picture = { mime_type: Image['mime_type']; width: number; height: number }

/** Null: the bytes are not a picture of a format that models read, or its size cannot be read. */
export function pictureOf(bytes: Buffer): Picture | null {
  const found = readPng(bytes) ?? readGif(bytes) ?? readJpeg(bytes) ?? readWebp(bytes)
  return found !== null && found.width > 0 && found.height > 0 ? found : null
}

const startsWith = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.toString('latin1', at, at + text.length) === text

function readPng(bytes: Buffer): Picture | null {
  if (!startsWith(bytes, '\x89PNG\r\n\x1a\n') || bytes.length < 33 || !startsWith(bytes, 'IHDR', 12))
    return null
  return { mime_type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): Picture | null {
  if (!/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6)) || bytes.length < 13) return null
  return { mime_type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

/** The size is in the first frame header (SOF), after segments of any length. */
function readJpeg(bytes: Buffer): Picture | null {
  if (!startsWith(bytes, '\xff\xd8\xff')) return null
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    // Fill bytes, and markers without a segment.
    if (marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) {
      at += marker === 0xff ? 1 : 2
      continue
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame)
      return {
        mime_type: 'image/jpeg',
        width: bytes.readUInt16BE(at + 7),
        height: bytes.readUInt16BE(at + 5),
      }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}

function readWebp(bytes: Buffer): Picture | null {
  if (!startsWith(bytes, 'RIFF') || !startsWith(bytes, 'WEBP', 8) || bytes.length < 30) return null
  const size = (width: number, height: number): Picture => ({ mime_type: 'image/webp', width, height })
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return size(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff)
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
    }
    case 'VP8X':
      return size(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1)
    default:
      return null
  }
}
