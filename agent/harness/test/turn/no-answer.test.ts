/** Something other than a model server answers at base_url, or nothing does: the error says what to check. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { addMessage, createSession } from '@cairn/sessions'
import { checkHistory } from '@cairn/verify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { alice, readLog, say, setStage, type Stage } from './stage.ts'

type Way = (response: ServerResponse) => void
const html = (status: number, title: string, type = 'text/html'): Way => {
  const page = `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body>${'x'.repeat(9000)}</body></html>`
  return response => void response.writeHead(status, { 'content-type': type }).end(page)
}
const sends =
  (body: string, type = 'application/json'): Way =>
  response =>
    void response.writeHead(200, { 'content-type': type }).end(body)
const blanks = (blank: string, type: string): Way => sends(blank.repeat(10 * 1024 * 1024), type)

const PROTOCOLS = ['openai', 'anthropic'] as const
/** What the person reads: what was wrong, and what to check. */
const WAYS: Record<string, { way: Way; category: string; says: RegExp }> = {
  'a login page': {
    way: html(200, 'Sign in'),
    category: 'configuration',
    says: /answered 200 with a web page \("Sign in"\) instead of an answer.* Check base_url http/,
  },
  'a page as JSON': {
    way: html(200, 'It works!', 'application/json'),
    category: 'configuration',
    says: /a web page \("It works!"\).* Check base_url http/,
  },
  'the error page of a proxy': {
    way: html(502, '502 Bad Gateway'),
    category: 'provider_error',
    says: /502: a web page \("502 Bad Gateway"\) \(something else answered .* check base_url http/,
  },
  'an empty body': {
    way: sends(''),
    category: 'invalid_response',
    says: /answered 200 with an empty body\. Check that base_url http/,
  },
  'an empty stream': {
    way: sends('', 'text/event-stream'),
    category: 'invalid_response',
    says: /answered 200 with an empty body\. Check that base_url http/,
  },
  'a stream of comments only': {
    way: sends(': nothing\n\n', 'text/event-stream'),
    category: 'invalid_response',
    says: /ended without an event\. Check that base_url http/,
  },
  '10 MB of spaces': {
    way: blanks(' ', 'application/json'),
    category: 'invalid_response',
    says: /sent \d+ blank characters and no answer\. Check that base_url http/,
  },
  '10 MB of line feeds': {
    way: blanks('\n', 'text/event-stream'),
    category: 'invalid_response',
    says: /sent \d+ blank characters and no answer\. Check that base_url http/,
  },
  'a few blanks': {
    way: sends(' \n '),
    category: 'invalid_response',
    says: /sent 3 blank characters and no answer\. Check that base_url http/,
  },
  'the JSON of something else': {
    way: sends('{"status":"UP"}'),
    category: 'invalid_response',
    says: /no choices\. Check that base_url http|does not match the protocol/,
  },
  'a sentence': {
    way: sends('Ollama is running', 'text/plain'),
    category: 'invalid_response',
    says: /neither an event stream nor JSON, it begins with "Ollama is running"\. Check that base_url http/,
  },
  'a connection without an answer': {
    way: () => undefined,
    category: 'timeout',
    says: /has been silent for .* Check that the model server is running/,
  },
  'headers without an answer': {
    way: response => void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    category: 'timeout',
    says: /has been silent for .* Check that the model server is running/,
  },
}
const NAMES = Object.keys(WAYS)

const server = createServer((request, response) => {
  request.resume()
  WAYS[NAMES[Number(request.url?.split('/')[1])] ?? '']?.way(response)
})
let stage: Stage

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const providers = Object.fromEntries(
    NAMES.flatMap((_, at) =>
      PROTOCOLS.map(kind => [`${kind}-${at}`, { kind, base_url: `http://127.0.0.1:${port}/${at}` }] as const),
    ),
  )
  stage = await setStage({
    scenario: { rules: [{ answer: say('still here') }] },
    config: { models: { default: 'demo/model', providers: { demo: { kind: 'scripted' }, ...providers } } },
    limits: { llm_stale_s: 1, llm_heartbeat_s: 5 },
  })
  stage.start()
  // The first call of each protocol loads its SDK, which counts as silence.
  for (const kind of PROTOCOLS) await failedSession('first', `${kind}-0/m`)
})

/** A session with one message to a model, when it has failed. */
async function failedSession(title: string, model: string): Promise<string> {
  const { id } = await createSession(stage.deps, ['assistant'], {
    principal: alice,
    title,
    config: { model },
  })
  const failed = Promise.withResolvers<void>()
  const unwatch = stage.store.events.watch(
    id,
    () => void stage.store.sessions.get(id).then(row => row?.status === 'failed' && failed.resolve()),
  )
  await addMessage(stage.deps, { session_id: id, content: 'go', principal: alice })
  await failed.promise
  unwatch()
  return id
}

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await stage[Symbol.asyncDispose]()
})

test.concurrent.each(NAMES.flatMap((name, at) => PROTOCOLS.map(kind => [name, kind, at] as const)))(
  '%s (%s) fails the session once, and the error says what to check',
  async (name, kind, at) => {
    const id = await failedSession(name, `${kind}-${at}/m`)
    const events = await readLog(stage.store, id)
    const fails = events.flatMap(event => (event.type === 'session.fail' ? [event.data] : []))
    expect(fails).toEqual([
      expect.objectContaining({
        error_category: WAYS[name]?.category,
        error: expect.stringMatching(WAYS[name]?.says ?? /^$/) as string,
      }),
    ])
    expect(fails[0]?.error.length).toBeLessThan(700)
    expect(checkHistory(events)).toEqual([])
  },
)

test('the service answers after all of them', async () => {
  await stage.send('are you there?')
  expect((await stage.next('session.complete')).data.reason).toBe('completed')
})
