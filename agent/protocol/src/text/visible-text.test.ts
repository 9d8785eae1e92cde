import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exactParts, exactText, visibleText } from './visible-text.ts'

test.each([
  ['a bidirectional override', 'rm -rf \u202Egnp.tac', 'rm -rf \\u{202E}gnp.tac'],
  ['bidirectional isolates', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
  ['a zero-width space', 'r\u200Bm', 'r\\u{200B}m'],
  ['a zero-width joiner between letters', 'a\u200Db', 'a\\u{200D}b'],
  ['a byte order mark', '\uFEFFx', '\\u{FEFF}x'],
  ['a soft hyphen', 'a\u00ADb', 'a\\u{AD}b'],
  ['an escape sequence', '\u001B[31mred\u0007', '\\u{1B}[31mred\\u{07}'],
  ['a C1 control', '\u009B1m', '\\u{9B}1m'],
  ['a carriage return', 'good\rbad', 'good\\u{0D}bad'],
  ['tags', 'a\u{E0041}\u{E007F}', 'a\\u{E0041}\\u{E007F}'],
  ['a variation selector after a letter', 'a\uFE0F', 'a\\u{FE0F}'],
  ['a supplementary variation selector', 'a\u{E0100}', 'a\\u{E0100}'],
  ['a Hangul filler', 'a\u3164b\u115Fc\uFFA0', 'a\\u{3164}b\\u{115F}c\\u{FFA0}'],
  ['a blank braille pattern', 'a\u2800b', 'a\\u{2800}b'],
  ['a combining grapheme joiner', 'a\u034Fb', 'a\\u{34F}b'],
  ['line and paragraph separators', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
  ['half of a surrogate pair', 'a\uD83Eb', 'a\\u{D83E}b'],
  ['a private character', '\uE000', '\\u{E000}'],
])('%s is escaped', (_, text, drawn) => {
  expect(visibleText(text)).toBe(drawn)
  expect(exactText(text)).toBe(drawn)
})

test('ordinary text stays unchanged', () => {
  for (const text of [
    'plain\n\ttext',
    'Grüße, 日本語, हिन्दी, עברית',
    '❤️ ⚠️ 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻',
    'Bonjour\u00A0!',
    'C:\\users',
  ])
    expect(visibleText(text)).toBe(text)
})

test('for a decision, unusual spaces and backslashes that look like an escape are escaped', () => {
  expect(exactText('rm x\u00A0#/..\u3000y')).toBe('rm x\\u{A0}#/..\\u{3000}y')
  expect(exactText('\\u{202E}')).toBe('\\u{5C}u{202E}')
})

test.each([
  ['a Cyrillic letter within a Latin word', 'rm -rf /h\u043Eme', 'rm -rf /h\\u{43E}me'],
  ['one at its beginning', '\u0440ath/x', '\\u{440}ath/x'],
  ['one at its end', 'curl exampl\u0435.org', 'curl exampl\\u{435}.org'],
  ['a Greek letter', 'n\u03BFde', 'n\\u{3BF}de'],
  ['letters of mathematics', '\u{1D69B}\u{1D696} x', '\\u{1D69B}\\u{1D696} x'],
])('for a decision %s is escaped', (_, text, drawn) => {
  expect(exactText(text)).toBe(drawn)
  expect(
    exactParts(text)
      .map(part => part.text)
      .join(''),
  ).toBe(drawn)
  expect(visibleText(text), 'prose stays readable').toBe(text)
})

test('for a decision, words of one script stay unchanged', () => {
  for (const text of [
    'Привет, мир',
    'Καλημέρα κόσμε',
    'echo привет >ответ.txt',
    'iPhoneを買う',
    'Größe_1',
    '한국어 text',
  ])
    expect(exactText(text)).toBe(text)
})

const any = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      '\\',
      'u',
      '{',
      '}',
      '5',
      'C',
      '2',
      '\u202E',
      '\u200D',
      '\uFE0F',
      '❤',
      ' ',
      '\u00A0',
    ),
  }),
)

const HIDES = /(?![\n\t])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\u200B\u{E0000}-\u{E0FFF}]/u

/** Promise 2.8: Invisible and misleading characters are visible wherever a person decides or reads tools. */
test('property: different texts are escaped differently, and no hidden character remains', () => {
  fc.assert(
    fc.property(any, any, (a, b) => {
      if (a !== b) expect(exactText(a)).not.toBe(exactText(b))
      expect(exactText(a)).not.toMatch(HIDES)
    }),
    { numRuns: 3000 },
  )
})

test('property: the parts restore the text and mark what is escaped', () => {
  fc.assert(
    fc.property(any, text => {
      const parts = exactParts(text)
      expect(
        parts
          .map(part => (part.drawn ? String.fromCodePoint(parseInt(part.text.slice(3, -1), 16)) : part.text))
          .join(''),
      ).toBe(text)
    }),
    { numRuns: 2000 },
  )
})
