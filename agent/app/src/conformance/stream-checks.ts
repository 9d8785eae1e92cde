/** The stream of a log: bytes, cursors, disconnects (contract 2, 3). */
import { expectEqual, expectTrue } from './expectations.ts'
import { poll, upTo } from './polling.ts'
import type { Check, Probe } from './probe.ts'

/** Streams from a cursor until the event `last` has arrived. */
const streamTo = (
  probe: Probe,
  id: string,
  query: string,
  last: number,
  headers: Record<string, string> = {},
) =>
  probe.stream(
    `/v1/sessions/${id}/events${query === '' ? '' : `?${query}`}`,
    text => (framesOf(text).at(-1)?.id ?? 0) >= last,
    { headers },
  )

export const STREAM_CHECKS: readonly Check[] = [
  {
    name: 'the stream is Server-Sent Events: headers, first bytes, one frame per event',
    async run(probe) {
      const id = await probe.quietSession()
      await probe.say(id, 3)
      const { headers, text } = await streamTo(probe, id, '', 4)
      expectTrue(
        `content-type: expected text/event-stream, got ${headers.get('content-type')}`,
        headers.get('content-type')?.startsWith('text/event-stream') === true,
      )
      expectEqual('cache-control', headers.get('cache-control'), 'no-cache, no-transform')
      expectEqual('x-accel-buffering', headers.get('x-accel-buffering'), 'no')
      expectTrue(
        'the stream does not start with retry: 2000 and the comment ": connected"',
        text.startsWith('retry: 2000\n: connected\n'),
      )
      // Some clients return a block without data as an event.
      expectTrue(
        'a block has no data',
        text
          .split('\n\n')
          .slice(0, -1)
          .every(block => /^data: /m.test(block)),
      )
      for (const { id: frameId, event, data } of framesOf(text)) {
        const record = JSON.parse(data) as {
          id: number
          type: string
          session_id: string
          created_at: string
          data: unknown
        }
        expectEqual(
          'id, event and session of a frame',
          [frameId, event, id],
          [record.id, record.type, record.session_id],
        )
        expectTrue(
          `created_at: expected UTC with milliseconds, got ${record.created_at}`,
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(record.created_at),
        )
      }
      return '4 frames'
    },
  },
  {
    name: 'stream and poll return the same bytes and ignore the type parameter',
    async run(probe) {
      const id = await probe.quietSession()
      await probe.say(id, 12)
      const polled = await poll(probe, id, 'limit=1000')
      const { text } = await streamTo(probe, id, '', 13)
      const streamed = `{"events":[${framesOf(text)
        .map(({ data }) => data)
        .join(',')}],`
      expectEqual(
        'records of the stream, compared with poll',
        polled.text.slice(0, streamed.length),
        streamed,
      )
      expectEqual(
        'poll with type=tool.call',
        (await poll(probe, id, 'limit=1000&type=tool.call')).text,
        polled.text,
      )
      expectEqual(
        'stream with type=tool.call',
        framesOf((await streamTo(probe, id, 'type=tool.call', 13)).text),
        framesOf(text),
      )
      return '13 records'
    },
  },
  {
    name: '`after` overrides Last-Event-ID; without either, a stream starts at the first event',
    async run(probe) {
      const id = await probe.quietSession()
      await probe.say(id, 9)
      const from = async (query: string, headers: Record<string, string> = {}) =>
        framesOf((await streamTo(probe, id, query, 10, headers)).text).map(frame => frame.id)
      expectEqual('neither', await from(''), upTo(1, 10))
      expectEqual('Last-Event-ID: 6', await from('', { 'last-event-id': '6' }), upTo(7, 10))
      expectEqual(
        'after=3 and Last-Event-ID: 6',
        await from('after=3', { 'last-event-id': '6' }),
        upTo(4, 10),
      )
      return 'three ways'
    },
  },
  {
    name: 'a reader that reconnects with its cursor misses no event and reads none twice',
    async run(probe) {
      const id = await probe.quietSession()
      const total = 120
      const writing = probe.say(id, total - 1)
      const records: string[] = []
      let cursor = 0
      let connections = 0
      for (; cursor < total; connections++) {
        const isFree = connections >= probe.cuts
        const cut = 1 + Math.floor(probe.random() * 2500)
        // Cut at byte offsets, usually inside a frame. Near the newest event there may be no more data, so
        // one frame suffices.
        const { text } = await probe.stream(
          `/v1/sessions/${id}/events?after=${cursor}`,
          soFar =>
            (framesOf(soFar).at(-1)?.id ?? 0) >= (isFree ? total : cursor + 1) &&
            (isFree || soFar.length >= cut || framesOf(soFar).at(-1)?.id === total || probe.random() < 0.5),
        )
        for (const frame of framesOf(
          isFree ? text : text.slice(0, Math.max(cut, text.indexOf('\n\n', text.indexOf('id: ')) + 2)),
        )) {
          records.push(frame.data)
          cursor = frame.id
        }
      }
      await writing
      expectEqual(
        'events of all connections together',
        records.map(record => JSON.stringify(JSON.parse(record))),
        (await poll(probe, id, 'limit=1000')).records,
      )
      return `${total} events over ${connections} connections`
    },
  },
  {
    name: 'concurrent readers receive each new event once and in order',
    async run(probe) {
      const id = await probe.quietSession()
      const readers = Array.from({ length: 8 }, (_, at) => streamTo(probe, id, `after=${at % 2}`, 41))
      await probe.say(id, 40)
      for (const [at, reader] of readers.entries())
        expectEqual(
          `reader ${at + 1}`,
          framesOf((await reader).text).map(frame => frame.id),
          upTo(1 + (at % 2), 41),
        )
      return '8 readers of 40 events'
    },
  },
]

/** Parses Server-Sent Events from text. */
type Frame = { id: number; event: string; data: string }
/** The complete frames of a stream's text; comments and a truncated last frame are skipped. */
function framesOf(text: string): Frame[] {
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  return whole.split('\n\n').flatMap(block => {
    const field = (name: string): string | undefined =>
      block
        .split('\n')
        .find(line => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const data = field('data')
    return data === undefined ? [] : [{ id: Number(field('id')), event: field('event') ?? '', data }]
  })
}
