/** Contract 2.5 and 11.5: disguised forms of secrets that must not pass the redactor. */
import { generateKeyPairSync } from 'node:crypto'
import { createRedactor, REDACTED } from '@cairn/log'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'

const KNOWN = ['Known-Secret-9f2c61', 'another known one']
const redact = createRedactor(KNOWN)
const through = (text: string): string =>
  (JSON.parse(redact(JSON.stringify({ text }))) as { text: string }).text

/** No secret is written here literally, so that this file does not trigger secret scanners. */
const random = (
  length: number,
  alphabet = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
) => Array.from({ length }, (_, at) => alphabet[(at * 31 + length * 7 + at * at) % alphabet.length]).join('')
const hex = (length: number) => random(length, '0123456789abcdef')
const LOWER = 'abcdefghijklmnopqrstuvwxyz0123456789'
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

/** Each attempt: the text, and the part of it that must not come out. */
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
  'an NVIDIA key': [`nvapi-${random(64)}`, random(64)],
  'a Cerebras key': [`csk-${random(48, LOWER)}`, random(48, LOWER)],
  'a Pinecone key': [`pcsk_${random(6)}_${random(63)}`, random(63)],
  'a LangSmith key': [`lsv2_pt_${hex(32)}_${hex(10)}`, hex(32)],
  'a Tavily key': [`tvly-dev-${random(32)}`, random(32)],
  'an ElevenLabs key': [`sk_${hex(48)}`, hex(48)],
  'a Fireworks key': [`fw_${random(24)}`, random(24)],
  'a Voyage key': [`pa-${random(43)}`, random(43)],
  'a Neon key': [`napi_${random(64, LOWER)}`, random(64, LOWER)],
  'a Netlify token': [`nfp_${random(36)}`, random(36)],
  'a Render key': [`rnd_${random(28)}`, random(28)],
  'a Resend key': [`re_${random(8)}_${random(24)}`, random(24)],
  'a Vercel token': [`vcp_${random(56)}`, random(56)],
  'a Cursor key': [`key_${hex(64)}`, hex(64)],
  'a Twilio key': [`SK${hex(32)}`, hex(32)],
  'a Mailgun key': [`key-${hex(32)}`, hex(32)],
  'an Azure DevOps token': [`${random(76)}AZDO${random(4)}`, random(76)],
  'a Notion secret': [`secret_${random(43)}`, random(43)],
  'a Bitbucket app password': [`ATBB${random(32)}`, random(32)],
  'a Bitbucket access token': [`ATCTT3${random(160)}`, random(160)],
  'a Discord bot': [`MTE${random(21)}.${random(6)}.${random(38)}`, random(38)],
  'a Doppler CLI token': [`dp.ct.${random(43)}`, random(43)],
  'a crates.io token': [`cio${random(32)}`, random(32)],
  'a cookie': [`curl -H 'Cookie: theme=dark; session=${random(32)}' https://x.test`, random(32)],
  'a cookie that is set': [`Set-Cookie: sid=${random(24)}; Path=/; HttpOnly`, random(24)],
  'a password of curl': [`curl -s -u ada:${random(9)} https://x.test`, random(9)],
  'a password of mysql': [`mysql -h db -u ada -p${random(9)} app`, random(9)],
  'a password of sshpass': [`sshpass -p ${random(9)} ssh ada@host`, random(9)],
  'a line of netrc': [`machine x.test login ada password ${random(9)}`, random(9)],
  'a line of .pgpass': [`db.test:5432:app:ada:${random(9)}`, random(9)],
  'a login of docker': [
    `{"auths":{"x.test":{"auth":"${basic(`ada:${random(9)}`)}"}}}`,
    basic(`ada:${random(9)}`),
  ],
  'a login of npm': [`//x.test/:_auth=${basic(`ada:${random(9)}`)}`, basic(`ada:${random(9)}`)],
  'a shared access signature': [`https://x.test/c?sv=1&sig=${random(40)}%3D&se=2`, random(40)],
  'a signed address': [`https://x.test/k?X-Amz-Expires=9&X-Amz-Signature=${hex(64)}`, hex(64)],
  'a password in XML': [`<server><password>${random(9)}</password></server>`, random(9)],
  'the end of a key without its beginning': [
    `${random(40)}\n${random(64)}\n${random(20)}=\n-----END PRIVATE KEY-----`,
    random(64),
  ],
  'the numbered end of a key': [
    `28 | ${random(64)}\n29 | ${random(24)}==\n30 | -----END RSA PRIVATE KEY-----\n`,
    random(64),
  ],
  'a known secret': [`it is ${KNOWN[0]}!`, KNOWN[0] as string],
}

/** These cannot be found: docs/secrets.md documents that. */
const ENCODED: Record<string, string> = {
  base64: Buffer.from(KNOWN[0] as string).toString('base64'),
  percent: [...(KNOWN[0] as string)].map(each => `%${each.charCodeAt(0).toString(16)}`).join(''),
  'another case': (KNOWN[0] as string).toUpperCase(),
  reversed: [...(KNOWN[0] as string)].toReversed().join(''),
  'with a zero-width space in it': (KNOWN[0] as string).replace('-', '\u200B-'),
}

/**
 * Promise 2.5, 11.5: The redactor removes the known disguised forms of a secret; encoded secrets pass, as
 * documented.
 */
test.each(Object.entries(FORMS))(
  '%s is removed, in plain text and in JSON within it',
  (_, [text, secret]) => {
    for (const sample of [text, `before\n${text}\nafter`, JSON.stringify({ stdout: text })])
      expect(through(sample)).not.toContain(secret)
    expect(through(`before\n${text}`)).toContain(REDACTED)
  },
)

test('no disguised form passes the redactor', () => {
  const passed = Object.values(FORMS).filter(([text, secret]) => through(text).includes(secret))
  tally('redactor, forms of secrets', Object.keys(FORMS).length, passed.length)
  expect(passed).toEqual([])
})

test.each(Object.entries(ENCODED))('an encoded known secret passes, as documented: %s', (_, text) => {
  expect(through(text)).toBe(text)
})

const ESC = '\u001b'
const GITHUB = `ghp_${random(36)}`
const COLOURED: Record<string, string> = {
  'the colour of git': `${ESC}[32m${GITHUB}${ESC}[m`,
  'a bright colour of jq': `${ESC}[0;1;92m"${ESC}[0m${ESC}[38;5;214m${GITHUB}${ESC}[0m`,
  'a cleared line': `${ESC}[2K${ESC}[1G${GITHUB}`,
  'a title of the window': `${ESC}]0;build\u0007${GITHUB}`,
  'a link': `${ESC}]8;;https://x.test${ESC}\\${GITHUB}${ESC}]8;;${ESC}\\`,
  'a character set': `${ESC}(B${GITHUB}`,
  'a match of grep within it': `${ESC}[01;31m${ESC}[Kghp_${ESC}[m${ESC}[K${random(36)}`,
  'a match of grep that ends within its beginning': `${ESC}[01;31m${ESC}[Kgh${ESC}[m${ESC}[Kp_${random(36)}`,
  'a coloured value': `password${ESC}[0m: ${ESC}[32m"${random(36)}"${ESC}[0m`,
  'a sequence as cat shows it': `^[[32m${GITHUB}`,
  'a sequence as a program writes it': String.raw`\033[1m${GITHUB}`,
}
test.each(Object.entries(COLOURED))('a control sequence of a terminal hides no secret: %s', (what, text) => {
  const samples = [text, JSON.stringify({ output: text }), JSON.stringify({ a: JSON.stringify({ b: text }) })]
  const passed = samples.filter(sample => through(sample).includes(random(36)))
  tally(`redactor, control sequences: ${what}`, samples.length, passed.length)
  expect(passed).toEqual([])
})

test('control sequences stay in text without a secret', () => {
  const text = `${ESC}[32m+ a line${ESC}[0m and ${ESC}]0;title\u0007 more, task_id, path-1`
  for (const sample of [text, JSON.stringify({ output: text })]) expect(through(sample)).toBe(sample)
  expect(asArguments(`echo '${ESC}[32m${GITHUB}${ESC}[0m'; touch made`)).toBe(
    `echo '${ESC}[32m[REDACTED]${ESC}[0m'; touch made`,
  )
})

test('members of the JSON itself are redacted by their names', () => {
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

test('code, prose and placeholders stay unchanged', () => {
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
    'curl -u "$USER:$PASSWORD" https://example.org',
    'curl -u user:password https://example.org/1',
    'docker run -u 1000:1000 image2',
    'mysql -u root -p app1',
    'sshpass -p "$PASSWORD" ssh host1',
    'Cookie: theme=dark; lang=en',
    'the cookie: it is sweet, and has 12 chocolate chips',
    'a login and a password are needed here 1',
    '<password>secret</password>',
    '<token>string</token>',
    '"auth": "required1"',
    'img.example.org/a.png?sig=short1',
    'task_0123456789, before_, re_export_this_module_with_a_long_name',
    'SKIP, NDA, MTU and OTHER words. NTFS.drive.is.a.name.of.files.and.nothing.that.is.secret.at.all',
    'see path/to/pa-rt and key-value of key_name, cio and fw_cfg',
    '-----END PRIVATE KEY-----',
    'prose before it\n-----END PRIVATE KEY-----',
    `commit ${hex(40)}\nid 0199c1de-7f00-7000-8000-000000000000 sha256:${hex(64)}`,
  ]
  for (const sample of samples) expect(through(sample)).toBe(sample)
})

// The rest tests the redaction of the arguments of a call.

/** What a rule may remove from arguments: no space, quote or sign that a shell interprets. */
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

test('in arguments a key marker hides no command, with or without an end', () => {
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

test('in arguments the lines of a real key are removed, and the text around them stays', () => {
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

/** Promise 2.5: In call arguments the redactor hides only known secrets and single words. */
test('property: in arguments only known secrets and single words are hidden, in any context', () => {
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

test('property: redacting twice changes nothing', () => {
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
