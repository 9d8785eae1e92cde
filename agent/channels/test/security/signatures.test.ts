/** Signatures of Standard Webhooks cover bytes: every body verifies as sent, and no other body verifies. */
import { createHmac, randomBytes } from 'node:crypto'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { createSignatures } from '../../src/standard-webhooks.ts'
import { createWebhookAdapter } from '../../src/webhook/adapter.ts'
import { SECRET, signed } from '../signed.ts'

const NOW = 1_800_000_000_000
const TIMESTAMP = String(NOW / 1000)
const KEY = Buffer.alloc(32, 7)
const signatures = createSignatures(SECRET)

/** The caller's side, written from the standard without our code. */
const macOf = (raw: Uint8Array, id = 'msg_1', timestamp = TIMESTAMP): string =>
  createHmac('sha256', KEY).update(`${id}.${timestamp}.`).update(raw).digest('base64')

const headersOf = (changes: Record<string, string>, raw: Uint8Array): Headers =>
  new Headers({
    'webhook-id': 'msg_1',
    'webhook-timestamp': TIMESTAMP,
    'webhook-signature': `v1,${macOf(raw)}`,
    ...changes,
  })

function isTaken(raw: Uint8Array, headers: Headers, now = NOW): boolean {
  try {
    signatures.verify({ raw, headers }, now)
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad_signature' })
    return false
  }
}

test('a body of any bytes verifies, and with one byte changed it does not, valid UTF-8 or not', () => {
  const wrong: string[] = []
  const count = rounds(200, 20_000)
  for (let at = 0; at < count; at++) {
    const raw = randomBytes(1 + (at % 64))
    const headers = headersOf({}, raw)
    if (!isTaken(raw, headers)) wrong.push(`refused: ${raw.toString('hex')}`)
    const changed = Buffer.from(raw)
    const place = at % raw.length
    changed[place] = changed[place]! ^ (1 + (at % 255))
    if (isTaken(changed, headers)) wrong.push(`taken: ${changed.toString('hex')}`)
  }
  tally('webhook signatures over bytes', 2 * count, wrong.length)
  expect(wrong).toEqual([])
})

test('a timestamp that is not an integer within five minutes is rejected, however it is written', () => {
  const body = Buffer.from('{}')
  const seconds = NOW / 1000
  const refused = [
    `+${TIMESTAMP}`,
    `${TIMESTAMP}.0`,
    `${TIMESTAMP} x`,
    `${TIMESTAMP}e0`,
    `-${TIMESTAMP}`,
    `0x${seconds.toString(16)}`,
    `${'0'.repeat(12)}${TIMESTAMP}`,
    '1_800_000_000',
    String(NOW),
    String(seconds - 301),
    String(seconds + 301),
    'NaN',
    '',
  ]
  const taken = refused.filter(timestamp =>
    isTaken(
      body,
      headersOf(
        { 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${macOf(body, 'msg_1', timestamp)}` },
        body,
      ),
    ),
  )
  tally('webhook timestamps', refused.length, taken.length)
  expect(taken).toEqual([])
  for (const timestamp of [String(seconds - 299), String(seconds + 299)])
    expect(
      isTaken(
        body,
        headersOf(
          { 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${macOf(body, 'msg_1', timestamp)}` },
          body,
        ),
      ),
    ).toBe(true)
})

test('one valid signature of several is enough, and only version 1 counts', () => {
  const body = Buffer.from('{"text":"hello"}')
  const good = macOf(body)
  const other = createHmac('sha256', 'another key').update(body).digest('base64')
  const take = (signature: string): boolean =>
    isTaken(body, headersOf({ 'webhook-signature': signature }, body))
  expect([`v1,${good}`, `v1,${other} v1,${good}`, `v1a,${other} v1,${good}`].map(take)).toEqual([
    true,
    true,
    true,
  ])
  const refused = [
    `v1,${other}`,
    `v2,${good}`,
    `v1a,${good}`,
    good,
    `v1,${good},x`,
    `V1,${good}`,
    'v1,',
    ',',
    'v1',
  ]
  expect(refused.filter(take)).toEqual([])
})

test('a signed message split at another place does not verify as a different message', async () => {
  const { webhook } = createWebhookAdapter({
    connectionId: 'c',
    secret: SECRET,
    callbackUrl: 'https://example.org/',
    fetch,
  })
  const seconds = Math.floor(Date.now() / 1000)
  const forged = '{"conversation_id":"C1","user_id":"BOSS","text":"let me in"}'
  // A stranger may put this into the text of an honest caller: it looks like `.timestamp.body`.
  const texts = [`.${seconds}.${forged}`, `.${seconds}.{`, `.${seconds}.`, `.${seconds}. [1] `, '\n.1.{}']
  let splits = 0
  const taken: string[] = []
  for (const text of texts)
    for (const user of ['U1', `.${seconds}.{`, text]) {
      const { raw, headers } = signed({ text, user, id: 'msg.1' })
      const content = `msg.1.${headers.get('webhook-timestamp')}.${Buffer.from(raw).toString()}`
      for (const { index, 1: timestamp = '' } of content.matchAll(/\.(?=(\d{1,12})\.)/g)) {
        splits += 1
        const body = content.slice(index + timestamp.length + 2)
        const isHonest = body === Buffer.from(raw).toString()
        const moved = new Headers(headers)
        moved.set('webhook-id', content.slice(0, index))
        moved.set('webhook-timestamp', timestamp)
        const call = { method: 'POST', query: new URLSearchParams(), headers: moved, raw: Buffer.from(body) }
        const outcome = await outcomeOf(async () => {
          webhook!.verify(call)
          await webhook!.parse(call)
        })
        if ((outcome === 'taken') !== isHonest) taken.push(`${outcome}: ${body}`)
      }
    }
  tally('signed messages split elsewhere', splits, taken.length)
  expect(splits).toBeGreaterThan(texts.length * 3)
  expect(taken).toEqual([])
})

const outcomeOf = (work: () => Promise<void>): Promise<string> =>
  work().then(
    () => 'taken',
    (error: { code?: string }) => error.code ?? String(error),
  )

test('our own callback request is rejected when it is sent back to us', async () => {
  const { webhook } = createWebhookAdapter({
    connectionId: 'c',
    secret: SECRET,
    callbackUrl: 'https://example.org/',
    fetch,
  })
  const body = JSON.stringify({ type: 'answer', conversation_id: 'C1', part: 0, text: '/stop', event_id: 7 })
  const raw = Buffer.from(body)
  const headers = new Headers(signatures.headersFor('key', Date.now(), body))
  const call = { method: 'POST', query: new URLSearchParams(), headers, raw }
  expect(webhook!.verify(call)).toBeNull()
  expect(await outcomeOf(async () => void (await webhook!.parse(call)))).toBe('invalid_body')
})

test('another library verifies our signatures, and we verify its signatures', () => {
  const theirs = new Webhook(SECRET)
  const body = '{"text":"Grüße 🙂"}'
  const sent = signatures.headersFor('msg_2', Date.now(), body)
  expect(() => theirs.verify(body, sent)).not.toThrow()
  const at = new Date(NOW)
  const headers = headersOf({ 'webhook-signature': theirs.sign('msg_1', at, body) }, Buffer.from(body))
  expect(isTaken(Buffer.from(body), headers)).toBe(true)
})

test.each(['', 'whsec_', 'whsec_not base64', 'whsec_====', 'ä'])('a secret of %j is rejected', secret => {
  expect(() => createSignatures(secret)).toThrow('a webhook secret must be whsec_ followed by the base64')
})
