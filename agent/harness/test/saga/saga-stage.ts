/** A session whose agent has sagas: two files, a booking with a declared undo, and whatever a test adds. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import type { SessionEvent } from '@cairn/protocol'
import { z } from 'zod'
import type { Tool } from '../../src/tools/tool.ts'
import { setStage, type Stage, type StageOptions } from '../turn/stage.ts'

export const tool = (name: string, args: Record<string, unknown>) => ({ name, arguments: args })
const saga = {
  enabled: true,
  undo: {
    book: { tool: 'cancel', args: { booking: '{{result.booking}}', note: 'was {{arguments.value}}' } },
  },
}

/** Writes over a file, makes one, books, and then does not come to an end by itself. */
export const WORK = [
  {
    tool_calls: [
      tool('write_file', { path: 'kept.txt', content: 'changed' }),
      tool('write_file', { path: 'made.txt', content: 'new' }),
    ],
  },
  { tool_calls: [tool('look', { value: '1' }), tool('book', { value: 'room' })] },
]
export const HANG = { tool_calls: [tool('hang', { value: '1' })] }

export type Booked = { made: string[]; cancelled: Record<string, unknown>[]; refuse: boolean }

export async function setSagaStage(
  scenario: StageOptions['scenario'],
  options: { store?: LogStore; enabled?: boolean; agent?: StageOptions['agent'] } = {},
): Promise<{ stage: Stage; booked: Booked; file(name: string): string | null }> {
  const booked: Booked = { made: [], cancelled: [], refuse: false }
  const writes = {
    description: 'books',
    parameters: z.record(z.string(), z.unknown()),
    readOnly: false,
    idempotent: false,
  }
  const tools: Tool[] = [
    {
      ...writes,
      name: 'book',
      run: ({ value }) => {
        booked.made.push(String(value))
        return Promise.resolve({ content: { booking: booked.made.length } })
      },
    },
    {
      ...writes,
      name: 'cancel',
      run: args => {
        booked.cancelled.push(args)
        return Promise.resolve({ content: booked.refuse ? { error: 'it is too late' } : 'cancelled' })
      },
    },
  ]
  const stage = await setStage({
    scenario,
    tools,
    agent: { ...options.agent, saga: { ...saga, enabled: options.enabled ?? true } },
    ...(options.store ? { store: options.store } : {}),
  })
  const workspace = join(stage.dir, 'workspaces', stage.session_id)
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'kept.txt'), 'as it was')
  return {
    stage,
    booked,
    file: name => (existsSync(join(workspace, name)) ? readFileSync(join(workspace, name), 'utf8') : null),
  }
}

/** The saga's events: type, and of a step its tool and state. */
export const sagaOf = (events: readonly SessionEvent[]): string[] =>
  events.flatMap(event => {
    if (
      event.type === 'saga.step_begin' ||
      event.type === 'saga.step_committed' ||
      event.type === 'saga.step_failed'
    )
      return [`${event.type} ${event.data.tool_name} ${event.data.state}`]
    return event.type.startsWith('saga.') ? [event.type] : []
  })
