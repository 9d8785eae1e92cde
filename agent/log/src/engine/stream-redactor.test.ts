import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { createStreamRedactor } from './stream-redactor.ts'
import { createRedactor, REDACTED } from './redact.ts'

const KNOWN = ['p"ss\\wörd with words', 'nothing-secret-looking']
const SECRETS = [
  'sk-proj-abcDEF0123456789abcDEF',
  'cairn_sk_AbCdEfGhIjKlMnOpQrStUvWxYz012345',
  'AKIAIOSFODNN7EXAMPLE',
  'ASIAIOSFODNN7EXAMPLE',
  'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'github_pat_11ABCDEFG0abcdefghijklmnop',
  'glpat-abcdefghijklmnopqrst',
  'xoxb-123456789012-abcdefghijkl',
  `AIza${'SyA-1234567890abcdefghijklmnopqrstu'}`,
  'sk_live_abcdefghijklmnopqrstuvwx',
  'rk_test_abcdefghijklmnopqrstuvwx',
  `hf_${'aB3'.repeat(12)}`,
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U',
  '-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkq\nabc+/=\n-----END RSA PRIVATE KEY-----',
  '-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQVYBGQAAAEIALqZ4\n=abcd\n-----END PGP PRIVATE ' +
    'KEY BLOCK-----',
  'PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\nAAAAgQCAAAAgQCAAAAgQC\nPrivate-MAC: 00ff00ff',
  `cairn_rt_0199c1de-7f00-7000-8000-000000000000.${'aB3'.repeat(14)}`,
  `npm_${'aB3'.repeat(12)}`,
  `abc8Q~${'aB3_'.repeat(8)}`,
  `SG.${'aB3'.repeat(7)}.${'aB3'.repeat(14)}`,
  `https://hooks.slack.com/services/T0AB12/B0AB12/${'aB3'.repeat(8)}`,
  `sk_${'0a1b2c3d'.repeat(6)}`,
  `re_${'aB3x'.repeat(2)}_${'aB3x'.repeat(6)}`,
  `key-${'0a1b2c3d'.repeat(4)}`,
  `SK${'0a1b2c3d'.repeat(4)}`,
  `secret_${'aB3x'.repeat(10)}aB3`,
  `MTE${'aB3x'.repeat(5)}.${'aB3'.repeat(2)}.${'aB3x'.repeat(8)}`,
  ...KNOWN,
]
/** Secrets that are recognized by the text before them. */
const IN_CONTEXT: readonly (readonly [before: string, secret: string, after: string])[] = [
  ['Authorization: Basic ', 'YWRhOmxvdmVsYWNl', ' x'],
  ['postgres://ada:', 'l0velace%21', '@db:5432/app'],
  ['{"kty":"OKP","d":"', `${'aB3'.repeat(14)}c`, '"}'],
  ['{\\"kty\\":\\"OKP\\",\\"d\\": \\"', `${'aB3'.repeat(14)}c`, '\\"}'],
  ['DB_PASSWORD=', 'l0velace', '\n'],
  ["{ password: '", 'l0velace', "' }"],
  ['passphrase = ', 'l0velace1', ' x'],
  ['dbPassword: "', 'l0velace', '"'],
  ['https://x.test/?api_key=', 'aB3'.repeat(8), '&y=1'],
  ['aws_secret_access_key = ', `${'aB3'.repeat(12)}/+aB`, '\n'],
  ['{"access_token": "', 'aB3'.repeat(8), '"}'],
  ['Cookie: theme=dark; session=', 'aB3'.repeat(8), '; x=y'],
  ['{"Set-Cookie": "sid=', 'aB3'.repeat(8), '; Path=/"}'],
  ['curl -s -u ada:', 'l0velace', ' https://x.test'],
  ['mysql -u ada -p', 'l0velace', ' app'],
  ['sshpass -p ', 'l0velace', ' ssh host'],
  ['machine x.test login ada password ', 'l0velace', '\n'],
  ['db.test:5432:app:ada:', 'l0velace', '\n'],
  ['{"auth": "', 'YWRhOmxvdmVsYWNl', '"}'],
  ['https://x.test/c?a=1&sig=', 'aB3x'.repeat(8), '&b=2'],
  ['https://x.test/k?X-Amz-Signature=', '0a1b2c3d'.repeat(8), ' y'],
  ['<server><password>', 'l0velace', '</password>'],
  ['\u001b[32m', 'ghp_abcdefghijklmnopqrstuvwxyz0123456789', '\u001b[0m'],
]
const redact = createRedactor(KNOWN)
const streamRedactor = createStreamRedactor(KNOWN)
const redactText = (text: string): string => JSON.parse(redact(JSON.stringify(text))) as string

/** Writes a text in pieces, each redacted separately, as events are. */
function write(pieces: readonly string[]): { written: string[]; plain: string } {
  const held = streamRedactor()
  const put = [...pieces.map(piece => held.push(piece)), held.rest()].filter(text => text !== '')
  return { written: put.map(redactText), plain: put.join('') }
}

const cut = (text: string, sizes: readonly number[]): string[] => {
  const pieces: string[] = []
  for (let at = 0, n = 0; at < text.length; n++) {
    const size = sizes[n % sizes.length] ?? 1
    pieces.push(text.slice(at, at + size))
    at += size
  }
  return pieces
}

test.each(SECRETS)('%s is found however it is cut in two', secret => {
  const text = `see: ${secret}, and \\n${secret}\\n "${secret}" too`
  const whole = redactText(text)
  expect(whole).not.toContain(secret)
  for (let at = 0; at <= text.length; at++)
    expect(write([text.slice(0, at), text.slice(at)]).written.join(''), `cut at ${at}`).toBe(whole)
})

test.each(IN_CONTEXT)('a secret after %s is found however it is cut in two', (before, secret, after) => {
  const text = `see ${before}${secret}${after} and so on`
  expect(redactText(text)).not.toContain(secret)
  for (let at = 0; at <= text.length; at++)
    expect(write([text.slice(0, at), text.slice(at)]).written.join(''), `cut at ${at}`).toBe(redactText(text))
})

test.each(['Bearer ', 'authorization: bearer   '])(
  'a token after %s is found however it is cut in two',
  scheme => {
    const text = `x ${scheme}abcDEF123.456-789_~+/== y`
    for (let at = 0; at <= text.length; at++)
      expect(write([text.slice(0, at), text.slice(at)]).written.join(''), `cut at ${at}`).toBe(
        `x ${scheme}${REDACTED} y`,
      )
  },
)

/**
 * Promise 2.5, 11.5: The stream redactor removes the same secrets as from the whole text, whatever the
 * chunks.
 */
test('property: for any chunks, the stream redactor loses no text and removes the secrets of the whole text', () => {
  const word = fc.oneof(
    fc.constantFrom(...SECRETS),
    fc.constantFrom(...IN_CONTEXT.map(parts => parts.join(''))),
    fc.constantFrom(
      'desk-top',
      'The bearer of this',
      'eyes',
      'task',
      '-----',
      'b',
      's',
      '\n',
      'ordinary words.',
      '日本語',
      '-----BEGIN CERTIFICATE-----',
    ),
    fc.string({ maxLength: 5 }),
  )
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 8 }).map(words => words.join(' ')),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
      (text, sizes) => {
        const { written, plain } = write(cut(text, sizes))
        expect(plain).toBe(text)
        expect(written.join('')).toBe(redactText(text))
      },
    ),
    { numRuns: 3000 },
  )
})

test('ordinary text is not held back', () => {
  for (const text of [
    'It is',
    'done.',
    'a list:\n- one',
    'the desk',
    'see https://example.org/x?y=z',
    '日本語',
    'x'.repeat(5000),
  ])
    expect(streamRedactor().push(text), text).toBe(text)
  expect(streamRedactor().push('')).toBe('')
})

/** The number of characters that regular expressions read, from their start position. */
function countScanned(run: () => void): number {
  let scanned = 0
  const spy = vi.spyOn(RegExp.prototype, 'exec').mockImplementation(function (this: RegExp, text: string) {
    scanned += text.length - (this.global || this.sticky ? this.lastIndex : 0)
    return exec.call(this, text)
  })
  try {
    run()
  } finally {
    spy.mockRestore()
  }
  return scanned
}
const exec = RegExp.prototype.exec

/** Text that could start a secret at any position, and never completes one. */
const NEVER_ENDING: readonly (readonly [what: string, piece: string])[] = [
  ['tokens that follow each other', 'eyJ.'],
  ['one token', 'a'],
  ['tokens of two alphabets', 'eyJ.fm2_+/sk-'],
  ['spaces behind a scheme', ' '],
  ['passwords without an end', 'pwd='],
  ['addresses with a user', '://a:'],
  ['blocks that begin', '-----BEGIN RSA PRIVATE KEY-----\n'],
  ['blocks that begin and end', '-----BEGIN X PRIVATE KEY-----\n-----END X PRIVATE KEY-----'],
  ['members of a key', '{"d":"'],
  ['backslashes', '\\'],
  ['a known secret', KNOWN[1]?.slice(0, 5) ?? ''],
]

/** Promise 2.5: Redacting a stream takes time linear in its length and blocks no other work. */
test.each(NEVER_ENDING)('the work grows with the text and not with the held back part: %s', (_, piece) => {
  /** For this many characters, after the maximum that is held back. */
  const scan = (length: number): number => {
    const pieces = cut(`see bearer sk-${piece.repeat((80_000 + length) / piece.length + 1)}`, [1000])
    const held = streamRedactor()
    for (const before of pieces.slice(0, 80)) held.push(before)
    return countScanned(() => {
      for (const more of pieces.slice(80, 80 + length / 1000)) held.push(more)
    })
  }
  const [short, long] = [scan(20_000), scan(80_000)]
  expect(long / short).toBeLessThan(4.5)
  // Some dozens of rules read each character once, and at most 16 times a bounded part before it.
  expect(long).toBeLessThan(80_000 * 400)
})

test('blanks in one piece cost linear time, because no rule looks back over all of them', () => {
  /** CPU time of this process in milliseconds, so a busy machine does not count. */
  const cost = (count: number): number => {
    const text = `\`\`\`${' '.repeat(count)}`
    const before = process.cpuUsage()
    const held = streamRedactor()
    expect(held.push(text) + held.rest()).toBe(text)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  const short = cost(20_000)
  // It was 475 and 8,800 ms; times below 200 ms are noise.
  expect(cost(80_000)).toBeLessThan(Math.max(200, 6 * short))
})

test.each(NEVER_ENDING)('no text is lost: %s', (_, piece) => {
  const text = `see bearer sk-${piece.repeat(Math.ceil(200_000 / piece.length))} end`
  expect(write(cut(text, [700, 3, 1024])).plain).toBe(text)
})
