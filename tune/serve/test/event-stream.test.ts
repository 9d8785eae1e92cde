import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { MAX_UNSENT_BYTES, sendEvent } from '../src/http/event-stream.ts'

test('ends the stream of a client that reads nothing, with bounded memory', () => {
  const response = Object.assign(new EventEmitter(), {
    headersSent: false,
    destroyed: false,
    writableLength: 0,
    writeHead() {
      this.headersSent = true
    },
    write(data: string) {
      this.writableLength += data.length
    },
    destroy() {
      this.destroyed = true
    },
  })
  let sent = 0
  for (; !response.destroyed && sent < 10_000; sent++)
    sendEvent(response as unknown as ServerResponse, 'x'.repeat(10_000))
  expect(response.destroyed).toBe(true)
  expect(response.writableLength).toBeLessThan(MAX_UNSENT_BYTES + 20_000)
})
