import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRedactor, REDACTED } from './redact.ts'

const redact = createRedactor()
/** The value after redaction and decoding. */
const through = (value: unknown, redactor = redact): unknown => JSON.parse(redactor(JSON.stringify(value)))

const pem = (kind: string) =>
  `-----BEGIN ${kind}PRIVATE ` +
  `KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nabc+/=\n-----END ${kind}PRIVATE ` +
  'KEY-----'
/** In two parts, so that this file contains no token. */
const signature = 'dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${signature}`
const SECRETS = {
  'an OpenAI key': 'sk-proj-abcDEF0123456789abcDEF',
  'an Anthropic key': 'sk-ant-api03-abc_DEF-0123456789',
  'our own token': 'cairn_sk_AbCdEfGhIjKlMnOpQrStUvWxYz012345',
  'an AWS key id': 'AKIAIOSFODNN7EXAMPLE',
  'a GitHub token': 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'a fine-grained GitHub token': 'github_pat_11ABCDEFG0abcdefghijklmnop',
  'a Slack token': 'xoxb-123456789012-abcdefghijkl',
  'a Google key': `AIza${'SyA-1234567890abcdefghijklmnopqrstu'}`,
  'a Stripe key': 'sk_live_abcdefghijklmnopqrstuvwx',
  'a JWT': jwt,
  'a private key': pem(''),
  'an RSA private key': pem('RSA '),
  'an OpenSSH private key': pem('OPENSSH '),
} as const

test.each(Object.entries(SECRETS))('%s is removed in any position', (_, secret) => {
  expect(through({ a: secret })).toEqual({ a: REDACTED })
  expect(through({ a: `before ${secret} after` })).toEqual({ a: `before ${REDACTED} after` })
  expect(
    through({ a: [`line one\n${secret}\n`, `\t${secret}`, `key="${secret}"`, `url?k=${secret}&x`] }),
  ).toEqual({ a: [`line one\n${REDACTED}\n`, `\t${REDACTED}`, `key="${REDACTED}"`, `url?k=${REDACTED}&x`] })
})

test.each(Object.entries(SECRETS))(
  '%s is removed from JSON within a text, which stays valid JSON',
  (_, secret) => {
    const inner = JSON.stringify({ out: `first\n${secret}\nlast`, n: 1 })
    const { content } = through({ content: inner }) as { content: string }
    expect(content).not.toContain(secret)
    expect(JSON.parse(content)).toEqual({ out: `first\n${REDACTED}\nlast`, n: 1 })
  },
)

test('a bearer token is removed and its scheme stays', () => {
  expect(through({ header: 'Authorization: Bearer abcDEF123.456-789_~+/==' })).toEqual({
    header: `Authorization: Bearer ${REDACTED}`,
  })
  expect(through({ said: 'The bearer of this letter may pass.' })).toEqual({
    said: 'The bearer of this letter may pass.',
  })
})

test('a truncated private key is removed to the end of the text', () => {
  expect(through({ a: `see -----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN` })).toEqual({ a: `see ${REDACTED}` })
})

test('ordinary text that resembles a secret stays', () => {
  for (const text of [
    'task-management-of-everything-large',
    'AKIA is a prefix',
    'desk-abcdefghijklmnopqrstuvwxyz',
    'sk-short',
    'eyJust kidding',
    'ghp_',
    'git checkout risk-assessment-branch-name-1',
  ]) {
    expect(through({ text })).toEqual({ text })
  }
})

test('the base64 data of an image stays unchanged, even if it contains a key', () => {
  const data = `${'iVBORw0KGgo'.repeat(400)}/AKIAIOSFODNN7EXAMPLE/${'A'.repeat(500)}`
  expect(
    through({ content: 'look', images: [{ data, mime_type: 'image/png' }], also: 'AKIAIOSFODNN7EXAMPLE' }),
  ).toEqual({ content: 'look', images: [{ data, mime_type: 'image/png' }], also: REDACTED })
})

test('credentials of this deployment are removed everywhere, whatever characters they contain', () => {
  const known = ['p"ss\\wörd\n1', 'nothing-secret-looking', '12345678', 'true story', '{"a":1}']
  const redactor = createRedactor(known)
  for (const secret of known) {
    expect(through({ [`k ${secret}`]: [`x${secret}y`] }, redactor)).toEqual({
      [`k ${REDACTED}`]: [`x${REDACTED}y`],
    })
    expect(redactor(JSON.stringify({ inner: JSON.stringify({ secret }) }))).not.toContain(
      JSON.stringify(JSON.stringify(secret)).slice(1, -1),
    )
  }
  // A number outside a text is not a credential, and JSON stays JSON.
  expect(through({ count: 12345678 }, redactor)).toEqual({ count: 12345678 })
})

test('a known value too short to be a credential does not blank ordinary words', () => {
  expect(through({ a: 'the test' }, createRedactor(['test', 'e', '']))).toEqual({ a: 'the test' })
})

test('megabytes of escapes, incomplete keys and endless tokens are redacted completely and in time', () => {
  const secret = SECRETS['an OpenAI key']
  for (const bulk of [
    '\\"\n'.repeat(1e6),
    '-----BEGIN PRIVATE KEY----- '.repeat(20_000),
    'bearer '.repeat(100_000),
    `eyJ${'a'.repeat(1e6)} `,
    'eyJaaaaaaaaa. '.repeat(100_000),
    'sk-'.repeat(300_000),
    '\\'.repeat(1e6),
  ]) {
    expect(through({ bulk, secret }) as object).toHaveProperty('secret', REDACTED)
  }
})

test('text without a secret is returned unchanged', () => {
  const json = JSON.stringify({ a: 'nothing here', b: [1, 2, { c: '\u2028\ud800' }] })
  expect(redact(json)).toBe(json)
})

/** Promise 2: No event contains a secret. */
test('property: the output is JSON of the same shape without the secrets', () => {
  const secret = fc.constantFrom(...Object.values(SECRETS))
  const known = ['s3cr3t"quoted\\', 'nabcdef', 'u0041bcd', '1234567', ':[{},"']
  const redactor = createRedactor(known)
  const text = fc
    .array(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\n', '\\', '"', '\\n', 'Bearer ', ...known),
        secret,
      ),
      { maxLength: 6 },
    )
    .map(parts => parts.join(''))
  const shape = (value: unknown): unknown => {
    if (typeof value === 'string') return 'text'
    if (Array.isArray(value)) return value.map(shape)
    return value !== null && typeof value === 'object' ? Object.values(value).map(shape) : value
  }
  const textsOf = (value: unknown): string[] =>
    typeof value === 'string'
      ? [value]
      : value !== null && typeof value === 'object'
        ? [...Object.keys(value), ...Object.values(value).flatMap(textsOf)]
        : []
  const leaf = fc.oneof(
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(leaf, fc.array(leaf), fc.record({ a: leaf, b: text }))), value => {
      const json = JSON.stringify(value)
      const redacted = JSON.parse(redactor(json)) as unknown
      expect(shape(redacted)).toEqual(shape(JSON.parse(json)))
      // Digits within a JSON number do not count: see above.
      for (const each of known) expect(textsOf(redacted).filter(found => found.includes(each))).toEqual([])
    }),
    { numRuns: 500 },
  )
})
