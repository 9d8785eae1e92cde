import { expect, test } from 'vitest'
import { pictureOf } from './picture.ts'

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(
    parts.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  )
const rest = Array.from({ length: 20 }, () => 0)

test.each([
  ['image/png', bytes('\x89PNG\r\n\x1a\n', [0, 0, 0, 13], 'IHDR', [0, 0, 1, 2, 0, 0, 0, 3], rest), 258, 3],
  ['image/gif', bytes('GIF89a', [2, 1, 3, 0], rest), 258, 3],
  [
    'image/jpeg',
    bytes('\xff\xd8\xff\xe0', [0, 4, 0, 0], '\xff\xff\xc2', [0, 11, 8, 0, 3, 1, 2], rest),
    258,
    3,
  ],
  [
    'image/webp',
    bytes(
      'RIFF    WEBPVP8 ',
      Array.from({ length: 10 }, () => 0),
      [2, 1, 3, 0],
    ),
    258,
    3,
  ],
  ['image/webp', bytes('RIFF    WEBPVP8L', [0, 0, 0, 0, 0x2f, 1, 0x81, 0, 0], rest), 258, 3],
  ['image/webp', bytes('RIFF    WEBPVP8X', [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 2, 0, 0]), 258, 3],
])('%s is recognised by its bytes, with its size', (mime_type, picture, width, height) => {
  expect(pictureOf(picture)).toEqual({ mime_type, width, height })
})

test.each([
  ['nothing', bytes('')],
  ['the signature alone', bytes('\x89PNG\r\n\x1a\n')],
  ['a picture without an area', bytes('GIF87a', [0, 0, 3, 0], rest)],
  ['a JPEG that ends in a segment', bytes('\xff\xd8\xff\xe0', [0, 200, 0, 0, 0, 0, 0])],
  ['SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>')],
])('%s is no picture that a model reads', (_, picture) => {
  expect(pictureOf(picture)).toBeNull()
})
