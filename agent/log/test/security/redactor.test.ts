/** Contract 2.5 and 11.5: the forms in which a secret was tried to be carried past the redactor. */
import { generateKeyPairSync } from 'node:crypto'
import { createRedactor, REDACTED } from '@cairn/log'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'

const KNOWN = ['Known-Secret-9f2c61', 'another known one']
const redact = createRedactor(KNOWN)
const through = (text: string): string =>
  (JSON.parse(redact(JSON.stringify({ text }))) as { text: string }).text

/** Not one of them is written here as it is used, so that this file is not one of its own findings. */
const random = (
  length: number,
  alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
) => Array.from({ length }, (_, at) => alphabet[(at * 31 + length * 7 + at * at) % alphabet.length]).join('')
const hex = (length: number) => random(length, '0123456789abcdef')
const base64Lines = (lines: number) =>
  Array.from({ length: lines }, (_, at) => random(64 - (at % 1))).join('\n')
const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as { d: string }
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }) as {
  d: string
  p: string
  qi: string
}
const block = (label: string, body: string) => `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`
const basic = (pair: string) => Buffer.from(pair).toString('base64')

/** What was tried: the text, and the part of it that must not come out. */
const FORMS: Record<string, readonly [text: string, secret: string]> = {
  "the server's own signing key": [JSON.stringify(jwk), jwk.d],
  'the same, pretty, in JSON within JSON': [JSON.stringify({ out: JSON.stringify(jwk, null, 2) }), jwk.d],
  'the d of an RSA key': [JSON.stringify(rsa), rsa.d],
  'the p of an RSA key': [JSON.stringify(rsa), rsa.p],
  'the qi of an RSA key': [JSON.stringify(rsa), rsa.qi],
  'a PGP private key': [
    block('PGP PRIVATE KEY BLOCK', `Version: X 1\n\n${base64Lines(4)}\n=abcd`),
    random(64),
  ],
  'an SSH2 private key': [
    `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "a"\n${base64Lines(3)}\n---- END SSH2 ` +
      'ENCRYPTED PRIVATE KEY ----',
    random(64),
  ],
  'a PuTTY key': [
    `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me\nPublic-Lines: ` +
      `1\n${random(60)}\nPrivate-Lines: 1\n${random(48)}\nPrivate-MAC: ${hex(64)}\n`,
    random(48),
  ],
  'a numbered key that was cut off': [
    `1 | -----BEGIN PRIVATE KEY-----\n2 | ${random(64)}\n3 | ${random(64)}`,
    random(64),
  ],
  'a password in a URL': [`git clone https://ada:${random(12)}@example.org/x.git`, random(12)],
  'a password with signs in a database URL': ['postgres://ada:p$s(w0rd)!@db:5432/app', 'p$s(w0rd)!'],
  'a Basic header': [`Authorization: Basic ${basic(`ada:${random(9)}`)}`, basic(`ada:${random(9)}`)],
  'a bearer token of no known form': [`authorization: bearer ${random(30)}`, random(30)],
  'an AWS secret': [`aws_secret_access_key = ${random(38)}/+`, random(38)],
  'an AWS secret in JSON': [JSON.stringify({ SecretAccessKey: random(40) }), random(40)],
  'an npm token': [`//registry.npmjs.org/:_authToken=npm_${random(36)}`, `npm_${random(36)}`],
  'a PyPI token': [`pypi-AgEIcHlwaS5vcmc${random(70)}`, random(70)],
  'a Google OAuth token': [`ya29.${random(60)}`, random(60)],
  'a Google client secret': [`GOCSPX-${random(28)}`, random(28)],
  'a Slack app token': [`xapp-1-A${hex(10)}-${hex(13)}-${hex(64)}`, hex(64)],
  'a Slack hook': [`https://hooks.slack.com/services/T${random(8)}/B${random(8)}/${random(24)}`, random(24)],
  'a SendGrid key': [`SG.${random(22)}.${random(43)}`, random(43)],
  'a DigitalOcean token': [`dop_v1_${hex(64)}`, hex(64)],
  'an Azure client secret': [`abc8Q~${random(34)}`, random(34)],
  'an Azure account key': [`AccountName=a;AccountKey=${random(86)}==;EndpointSuffix=x`, random(86)],
  'a webhook secret': [`whsec_${random(32)}`, random(32)],
  'a GitLab deploy token': [`gldt-${random(20)}`, random(20)],
  'a Vault token': [`hvs.${random(90)}`, random(90)],
  'a Telegram bot': [`https://api.telegram.org/bot123456789:AA${random(33)}/getMe`, random(33)],
  'password=': [`PGPASSWORD=${random(9)} psql`, random(9)],
  'password: in YAML': [`db:\n  password: ${random(9)}\n`, random(9)],
  'a quoted password in code': [`connect({ password: '${random(9)}' })`, random(9)],
  'an API key in a query': [`GET /v1?api_key=${random(24)}&x=1`, random(24)],
  'our login link': [`http://127.0.0.1:8787/login#token=cairn_ll_${random(43)}`, random(43)],
  'our login link of an older release': [`http://127.0.0.1:8787/login#token=${random(43)}`, random(43)],
  'our refresh token': [`cairn_rt_0199c1de-7f00-7000-8000-000000000000.${random(43)}`, random(43)],
  'our service token': [`cairn_sk_${random(43)}`, random(43)],
  'a known secret': [`it is ${KNOWN[0]}!`, KNOWN[0] as string],
}

/** Nobody can find these: docs/secrets.md says so. */
const ENCODED: Record<string, string> = {
  base64: Buffer.from(KNOWN[0] as string).toString('base64'),
  percent: [...(KNOWN[0] as string)].map(each => `%${each.charCodeAt(0).toString(16)}`).join(''),
  'another case': (KNOWN[0] as string).toUpperCase(),
  reversed: [...(KNOWN[0] as string)].toReversed().join(''),
  'with a zero-width space in it': (KNOWN[0] as string).replace('-', '\u200B-'),
}

test.each(Object.entries(FORMS))(
  '%s is taken out, in plain text and in JSON within it',
  (_, [text, secret]) => {
    for (const sample of [text, `before\n${text}\nafter`, JSON.stringify({ stdout: text })])
      expect(through(sample)).not.toContain(secret)
    expect(through(`before\n${text}`)).toContain(REDACTED)
  },
)

test('the count of what was tried', () => {
  const passed = Object.values(FORMS).filter(([text, secret]) => through(text).includes(secret))
  tally('redactor, forms of secrets', Object.keys(FORMS).length, passed.length)
  expect(passed).toEqual([])
})

test.each(Object.entries(ENCODED))(
  'a known secret in another form passes, as the docs say: %s',
  (_, text) => {
    expect(through(text)).toBe(text)
  },
)

test('members of the JSON itself are judged by their names', () => {
  const value = {
    jwk: { ...jwk },
    login: { user: 'ada', password: 'p@$$ w0rd'.replace(' ', '') },
    api_key: random(24),
    next_page_token: random(24),
    kept: { password: 'string', token: 'short', d: hex(64), secret: 'a sentence about it 1' },
  }
  expect(JSON.parse(redact(JSON.stringify(value)))).toEqual({
    jwk: { ...jwk, d: REDACTED },
    login: { user: 'ada', password: REDACTED },
    api_key: REDACTED,
    next_page_token: value.next_page_token,
    kept: value.kept,
  })
})

test('code, prose and placeholders are not ruined', () => {
  const samples = [
    'const password = readPassword(1)',
    'password: string',
    'token: Uint8Array',
    'const token = config.auth2.token',
    'if (password === other1) return',
    'PASSWORD=${DB_PASSWORD1}',
    'password = os.environ["DB_PASSWORD2"]',
    'postgres://USER:PASSWORD@HOST/DATABASE',
    'https://example.org:8080/path@2',
    'Basic understanding of bearer authentication',
    'The bearer of this letter may pass.',
    'nextPageToken: "CAUQAAabcdef0123456789"',
    'input_tokens: 12345678901234567890',
    'the -----BEGIN PRIVATE KEY----- marker begins a key; what follows it here is prose',
    '{"d":"M10 20 L30 40","k":"v"}',
    'sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    "const X509_SUBJECT_TOKEN = 'urn:ietf:params:oauth:token-type:x509'",
    'glance at the SG. and the hvs of it',
  ]
  for (const sample of samples) expect(through(sample)).toBe(sample)
})

// ---- arguments of a call

/** What a rule may take out of arguments: no space, quote or sign that a shell acts on. */
const SAFE = '[A-Za-z0-9._~%+/=,:^@-]'
const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
/** Whether `shown` is `whole` with nothing missing but known secrets and single words, each marked. */
const hidesOnlyWords = (whole: string, shown: string): boolean =>
  new RegExp(
    `^${shown
      .split(REDACTED)
      .map(escape)
      .join(`(?:${SAFE}+|${KNOWN.map(escape).join('|')})`)}$`,
    's',
  ).test(whole)

const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
  format: 'pem',
  type: 'pkcs8',
}) as string
const asArguments = (command: string): string =>
  (JSON.parse(redact(JSON.stringify({ command }), 'arguments')) as { command: string }).command

test('in arguments a key marker hides no command, with an end or without one', () => {
  for (const command of [
    'echo ok; : -----BEGIN X PRIVATE KEY-----; touch hidden',
    'echo ok; : -----BEGIN X PRIVATE KEY-----\ntouch hidden\n',
    ': -----BEGIN X PRIVATE KEY-----; touch hidden; : -----END X PRIVATE KEY-----',
    ': -----BEGIN X PRIVATE KEY-----\nreboot\n: -----END X PRIVATE KEY-----',
    ': PuTTY-User-Key-File-2; touch hidden; : Private-MAC: 00',
    "curl 'http://a:x;touch${IFS}hidden;@example.org'",
    ": 'password=';touch${IFS}hidden1;: ''",
    ': bearer; touch hidden',
    ': basic $(touch hidden)',
  ])
    expect(asArguments(command)).toBe(command)
})

test('in arguments the lines of a real key go, and what stands around them stays', () => {
  const command = `cat > key.pem <<'END'\n${key}END\nchmod 600 key.pem; ssh -i key.pem host`
  const shown = asArguments(command)
  const lines = key.split('\n').filter(line => line.replaceAll('=', '').length >= 24)
  expect(lines.filter(line => !line.startsWith('-----') && shown.includes(line))).toEqual([])
  expect(hidesOnlyWords(command, shown)).toBe(true)
  expect(shown).toContain('-----BEGIN PRIVATE KEY-----')
  expect(shown).toContain("<<'END'")
  expect(shown.endsWith('END\nchmod 600 key.pem; ssh -i key.pem host')).toBe(true)
})

const SHELL = [
  '; touch hidden',
  ' && ',
  '$(id)',
  '`id`',
  '\n',
  ' | sh',
  "'",
  '"',
  '\\',
  ' # ',
  '${IFS}',
  '>',
  ' ',
]
const MARKERS = [
  '-----BEGIN X PRIVATE KEY-----',
  '-----END X PRIVATE KEY-----',
  'PuTTY-User-Key-File-2',
  'Private-MAC: ',
]
const STARTS = ['bearer ', 'basic ', 'password=', 'token: "', '://a:', '@h', '"d":"', 'sk-', ':AA', 'eyJ']
const shell = fc.constantFrom(...SHELL, ...MARKERS, ...STARTS)
const piece = fc.oneof(
  { weight: 3, arbitrary: shell },
  { weight: 2, arbitrary: fc.constantFrom(...Object.values(FORMS).map(([text]) => text), ...KNOWN) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  { weight: 1, arbitrary: fc.stringMatching(/^[A-Za-z0-9+/=]{1,80}$/) },
)
const hostile = fc.array(piece, { maxLength: 12 }).map(parts => parts.join(''))

test('property: of arguments nothing is hidden but known secrets and single words, whatever stands around them', () => {
  const tries = rounds(3000, 100_000)
  let hidden = 0
  fc.assert(
    fc.property(hostile, command => {
      const shown = asArguments(command)
      if (!hidesOnlyWords(command, shown)) hidden++
      expect(hidesOnlyWords(command, shown), JSON.stringify([command, shown])).toBe(true)
    }),
    { numRuns: tries },
  )
  tally('redactor, arguments that hide a command', tries, hidden)
})

test('property: what was redacted once is redacted', () => {
  fc.assert(
    fc.property(
      fc.oneof(hostile, fc.json()),
      fc.constantFrom('text' as const, 'arguments' as const),
      (text, mode) => {
        const once = redact(JSON.stringify({ text, password: text }), mode)
        expect(redact(once, mode)).toBe(once)
      },
    ),
    { numRuns: rounds(2000, 50_000) },
  )
})
