import { expect, test } from 'vitest'
import { argumentsHash, canonicalJson } from './canonical-json.ts'

test('writes the sample of RFC 8785 section 3.2.2 as the RFC shows it', () => {
  const sample = JSON.parse(String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`)
  expect(canonicalJson(sample)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      String.raw`"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  )
})

test('sorts members by UTF-16 code units, as in RFC 8785 section 3.2.3', () => {
  const sample = {
    '\u20ac': 'Euro Sign',
    '\r': 'Carriage Return',
    '\ufb33': 'Hebrew Letter Dalet With Dagesh',
    '1': 'One',
    '\ud83d\ude00': 'Emoji: Grinning Face',
    '\u0080': 'Control',
    '\u00f6': 'Latin Small Letter O With Diaeresis',
  }
  expect(Object.values(JSON.parse(canonicalJson(sample)) as object)).toHaveLength(7)
  const order = [...canonicalJson(sample).matchAll(/:"([^"]+)"/g)].map(match => match[1])
  expect(order).toEqual([
    'Carriage Return',
    'One',
    'Control',
    'Latin Small Letter O With Diaeresis',
    'Euro Sign',
    'Emoji: Grinning Face',
    'Hebrew Letter Dalet With Dagesh',
  ])
})

// Appendix B of the RFC: the bits of a double and its text.
test.each([
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
])('writes the double %s of RFC 8785 appendix B as %s', (bits, text) => {
  expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text)
})

test.each([
  ['NaN', Number.NaN],
  ['an infinity', Number.POSITIVE_INFINITY],
  ['half a surrogate pair', '\ud800'],
  ['such a key', { '\udc00': 1 }],
  ['a function', () => 1],
  ['a big integer', 1n],
])('rejects %s, which JSON cannot represent', (_, value) => {
  expect(() => canonicalJson(value)).toThrow(/canonicalJson/)
})

test('rejects a value that contains itself and accepts one that occurs twice', () => {
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const shared = { a: 1 }
  expect(() => canonicalJson(circle)).toThrow('contains itself')
  expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]')
})

test('arguments that differ only in key order have equal hashes, and others do not', () => {
  expect(argumentsHash({ a: 1, b: { c: [1, 2], d: '' } })).toBe(
    argumentsHash({ b: { d: '', c: [1, 2] }, a: 1 }),
  )
  expect(argumentsHash({ a: [1, 2] })).not.toBe(argumentsHash({ a: [2, 1] }))
  // SHA-256 of "{}".
  expect(argumentsHash({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
})
