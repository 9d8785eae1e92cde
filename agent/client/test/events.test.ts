import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { ApiError, createClient, type StreamState } from '../src/index.ts'
import { frameOf, makeLog, misbehave, openStream, seeded, serve, type Trouble } from './hostile-server.ts'

const quick = { backoff: { baseMs: 1, maxMs: 5 } }

/** Reads until `count` events have arrived. */
async function take(stream: AsyncIterable<SessionEvent[]>, count: number): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for await (const batch of stream) {
    events.push(...batch)
    if (events.length >= count) return events
  }
  throw new Error(`the stream ended after ${events.length} of ${count} events`)
}

test('reads exactly the log through a thousand random cuts, stalls, repeats and rejections', async () => {
  const seed = Number(process.env['SEED'] ?? 20261121)
  const random = seeded(seed)
  const log = makeLog('s1', 6000, random)
  const troubles: Record<Trouble, number> = { cut: 0, end: 0, stall: 0, repeat: 0, error: 0, limited: 0 }
  let connections = 0
  await using server = await serve((request, response) => {
    connections++
    // After the thousandth connection, the server behaves and sends the rest.
    if (connections > 1000) {
      openStream(response)
      response.write(
        log
          .filter(record => record.id > request.after)
          .map(frameOf)
          .join(''),
      )
    } else troubles[misbehave(log, request, response, random)]++
  })
  const events = await take(
    createClient({ ...quick, idleMs: 60, baseUrl: server.baseUrl }).events('s1'),
    log.length,
  )
  expect(connections, `seed ${seed}`).toBeGreaterThanOrEqual(1000)
  expect(
    Object.values(troubles).every(count => count > 10),
    JSON.stringify(troubles),
  ).toBe(true)
  expect(events, `seed ${seed}`).toEqual(log)
})

test('reconnects with the cursor of the last delivered event', async () => {
  const log = makeLog('s1', 3, () => 0.5)
  await using server = await serve(({ after }, response) => {
    openStream(response)
    const next = log.find(record => record.id > after)
    if (next) response.end(frameOf(next) + 'id: 999\nevent: user.message\ndata: {"id":999')
  })
  await take(createClient({ ...quick, baseUrl: server.baseUrl }).events('s1'), 3)
  expect(server.requests.slice(0, 3).map(({ after }) => after)).toEqual([0, 1, 2])
})

test('starts after the given cursor', async () => {
  await using server = await serve((_, response) => {
    openStream(response)
    response.write(
      makeLog('s1', 9, () => 0.5)
        .map(frameOf)
        .join(''),
    )
  })
  const [first] = await take(createClient({ baseUrl: server.baseUrl }).events('s1', { after: 7 }), 2)
  expect(first?.id).toBe(8)
  expect(server.requests[0]?.url.pathname).toBe('/v1/sessions/s1/events')
})

test('closes a connection without a byte for idleMs, even one that never answers', async () => {
  let connections = 0
  await using server = await serve((_, response) => {
    connections++
    if (connections === 1) return
    openStream(response)
    if (connections > 2) response.write(frameOf(makeLog('s1', 1, () => 0.5)[0]!))
  })
  const errors: string[] = []
  const client = createClient({ ...quick, idleMs: 500, baseUrl: server.baseUrl })
  await take(
    client.events('s1', {
      onState: (state, { error }) => {
        if (state === 'reconnecting') errors.push(String(error?.message))
      },
    }),
    1,
  )
  expect(errors).toEqual(['no data for 0.5 s', 'no data for 0.5 s'])
})

test('heartbeat comments keep a quiet connection open', async () => {
  // Together longer than the client's timeout, but each pause is much shorter.
  const beats = 15
  await using server = await serve((_, response) => {
    openStream(response)
    let sent = 0
    const beat = setInterval(() => {
      response.write(': keep-alive\n\n')
      if (++sent === beats) {
        clearInterval(beat)
        response.write(frameOf(makeLog('s1', 1, () => 0.5)[0]!))
      }
    }, 200)
  })
  await take(createClient({ baseUrl: server.baseUrl, idleMs: 2000 }).events('s1'), 1)
  expect(server.requests).toHaveLength(1)
})

test('reports its connection state, including drains', async () => {
  let connections = 0
  await using server = await serve((_, response) => {
    connections++
    openStream(response)
    if (connections === 1) response.end(': draining\n\n')
    else response.write(frameOf(makeLog('s1', 1, () => 0.5)[0]!))
  })
  const states: StreamState[] = []
  await take(
    createClient({ ...quick, baseUrl: server.baseUrl }).events('s1', {
      onState: state => states.push(state),
    }),
    1,
  )
  expect(states).toEqual(['connecting', 'live', 'draining', 'reconnecting', 'live', 'closed'])
})

test('waits as the server asks: retry: sets the base delay, Retry-After the minimum', async () => {
  let connections = 0
  await using server = await serve((_, response) => {
    connections++
    if (connections === 1) {
      openStream(response, 'retry: 40\n\n')
      response.end()
    } else if (connections === 2) response.writeHead(503, { 'retry-after': '1' }).end()
    else {
      openStream(response)
      response.write(frameOf(makeLog('s1', 1, () => 0.5)[0]!))
    }
  })
  const waits: (number | undefined)[] = []
  const client = createClient({ baseUrl: server.baseUrl, random: () => 1, backoff: { baseMs: 5, maxMs: 50 } })
  await take(
    client.events('s1', {
      onState: (state, { delayMs }) => {
        if (state === 'reconnecting') waits.push(delayMs)
      },
    }),
    1,
  )
  expect(waits).toEqual([40, 1000])
})

test('renews a rejected token once, and the stream continues', async () => {
  await using server = await serve(({ authorization, after }, response) => {
    if (authorization !== 'Bearer fresh') return void response.writeHead(401).end()
    openStream(response)
    const next = makeLog('s1', 2, () => 0.5).find(record => record.id > after)
    response.end(next === undefined ? '' : frameOf(next))
  })
  const asked: boolean[] = []
  const token = ({ refused }: { refused: boolean }): Promise<string> => {
    asked.push(refused)
    return Promise.resolve(refused ? 'fresh' : 'stale')
  }
  await take(createClient({ ...quick, baseUrl: server.baseUrl, token }).events('s1'), 2)
  expect(asked).toEqual([false, true])
  expect(server.requests.map(({ authorization }) => authorization)).toEqual([
    'Bearer stale',
    'Bearer fresh',
    'Bearer fresh',
  ])
})

test.each([400, 401, 403, 404])('%i ends the stream with the problem, without a retry', async status => {
  await using server = await serve((_, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json' }).end(
      JSON.stringify({
        type: 'about:blank',
        title: 'No',
        status,
        code: 'not_found',
        detail: 'no such session',
        request_id: 'r1',
      }),
    )
  })
  const failure = await take(
    createClient({ ...quick, baseUrl: server.baseUrl, token: 't' }).events('s1'),
    1,
  ).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(ApiError)
  expect((failure as ApiError).problem).toMatchObject({
    status,
    detail: 'no such session',
    request_id: 'r1',
  })
  expect(server.requests).toHaveLength(1)
})

test('rejects an HTML page instead of a stream', async () => {
  await using server = await serve(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello'),
  )
  await expect(take(createClient({ baseUrl: server.baseUrl }).events('s1'), 1)).rejects.toThrow(
    'expected content type text/event-stream, got text/html',
  )
})

test('an aborted stream ends without an error, during a connection and between connections', async () => {
  await using server = await serve((_, response) => openStream(response, 'retry: 600000\n\n'))
  await using dead = await serve((_, response) => void response.writeHead(500).end())
  for (const { baseUrl } of [server, dead]) {
    const stop = new AbortController()
    const states: StreamState[] = []
    const client = createClient({ baseUrl, backoff: { baseMs: 600_000, maxMs: 600_000 } })
    const stream = client.events('s1', {
      signal: stop.signal,
      onState: state => {
        states.push(state)
        if (state === 'live' || state === 'reconnecting') stop.abort()
      },
    })
    for await (const batch of stream) expect(batch).toBe('nothing')
    expect(states.at(-1)).toBe('closed')
  }
})

test('delivers the events before a broken frame, and requests the frame again', async () => {
  const [one, two] = makeLog('s1', 2, () => 0.5)
  let connections = 0
  await using server = await serve((_, response) => {
    connections++
    openStream(response)
    response.write(connections === 1 ? `${frameOf(one!)}id: 2\ndata: not json\n\n` : frameOf(two!))
  })
  const events = await take(createClient({ ...quick, baseUrl: server.baseUrl }).events('s1'), 2)
  expect(events).toEqual([one, two])
  expect(server.requests.map(({ after }) => after)).toEqual([0, 1])
})

test('waitFor returns the first matching event, and rejects with the reason of an aborted signal', async () => {
  const log = makeLog('s1', 20, seeded(1))
  await using server = await serve((_, response) => {
    openStream(response)
    response.write(log.map(frameOf).join(''))
  })
  const client = createClient({ baseUrl: server.baseUrl })
  expect((await client.waitFor('s1', event => event.id >= log[11]!.id)).id).toBe(log[11]?.id)
  await expect(client.waitFor('s1', () => false, { signal: AbortSignal.timeout(50) })).rejects.toThrow(
    /timeout/,
  )
})

test('the inbox stream delivers the whole list, then the changes, on every connection', async () => {
  let connections = 0
  await using server = await serve((_, response) => {
    openStream(response)
    response.write(
      `event: snapshot\ndata: {"items":[]}\n\nevent: later\ndata: ?\n\nevent: item\ndata: ` +
        `{"id":"i${++connections}"}\n\n`,
    )
    response.end()
  })
  const changes = []
  for await (const batch of createClient({
    ...quick,
    baseUrl: server.baseUrl,
    token: 'cairn_sk_x',
  }).inboxStream()) {
    changes.push(...batch)
    if (changes.length >= 4) break
  }
  expect(changes.map(change => (change.type === 'item' ? change.item.id : change.type))).toEqual([
    'snapshot',
    'i1',
    'snapshot',
    'i2',
  ])
  expect(server.requests[0]?.url.pathname).toBe('/v1/api/inbox/stream')
})
