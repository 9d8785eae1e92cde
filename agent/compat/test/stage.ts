/** The HTTP service with the compatible APIs, without a runner: a test writes what a turn would write. */
import { randomUUID } from 'node:crypto'
import { startService, type Service } from '@cairn/api/test/service'
import { Config, type ConfigInput } from '@cairn/protocol'
import { tally } from '@cairn/protocol/test/attacks'
import { createGateItem } from '@cairn/sessions'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { compatMounts } from '../src/index.ts'

const served = { requests: 0 }

export const startCompat = (config: ConfigInput = {}): Promise<Service> =>
  startService({
    config,
    mountsOf: deps =>
      compatMounts({ ...deps, config: Config.parse(config), version: '0.0.0-test' }).map(mount => ({
        ...mount,
        handle(request) {
          served.requests++
          return mount.handle(request)
        },
      })),
  })

/** Adds the requests of a file's tests to the table of `npm run security`, and the tests that fail. */
export function tallyRequests(part: string): void {
  const before = { requests: 0 }
  const failed = { tests: 0 }
  beforeAll(() => {
    before.requests = served.requests
  })
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') failed.tests++
  })
  afterAll(() => tally(part, served.requests - before.requests, failed.tests))
}

/** Adds an approval to a session; returns its event. */
export async function addGate({ store }: Service, session_id: string): Promise<number> {
  const { event } = createGateItem(
    { newId: randomUUID },
    {
      tool_name: 'terminal',
      tool_call_id: 'call-1',
      arguments_excerpt: '{}',
      arguments: {},
      shown_hash: 'hash',
      deny_reason: 'asks',
      policy_id: 'require_approval',
      arguments_hash: 'h',
    },
  )
  return (await store.commit({ session_id, events: [event] })).last_id
}

/** What a request answers, without its own id. */
export const answerOf = ({ status, text }: { status: number; text: string }): string =>
  `${status} ${text.replace(/"request_id":"[^"]*"/, '')}`
