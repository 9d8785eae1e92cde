/**
 * A tool that the demo alone has: its tour begins a small mission in its own session. Elsewhere a mission is
 * begun by people, with `/mission` or over the API, and by no model.
 */
import { randomUUID } from 'node:crypto'
import { systemClock, type Tool } from '@cairn/harness'
import type { LogStore } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { defineMission } from '@cairn/sessions'
import { z } from 'zod'

const Parameters = z.strictObject({ description: z.string().min(1), rubric: z.string().min(1) })

export const demoTools = (demo: boolean, store: LogStore): Tool[] => (demo ? [missionTool(store)] : [])

const missionTool = (store: LogStore): Tool => ({
  name: 'begin_mission',
  description: 'Begin a mission in this session, as /mission would. Only the demo has this tool.',
  parameters: Parameters,
  readOnly: false,
  changesSessionOnly: true,
  // A second call finds the mission of the first.
  idempotent: true,
  async run(args, { session_id }) {
    const deps = { store, now: systemClock.now, newId: randomUUID }
    try {
      const begun =
        (await store.coordination.missionOf(session_id)) ??
        (await defineMission(deps, session_id, Parameters.parse(args)))
      return { content: { mission_id: begun.mission_id, status: begun.status } }
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      return { content: { error: thrown.message } }
    }
  },
})
