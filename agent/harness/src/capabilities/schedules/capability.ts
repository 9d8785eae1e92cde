/**
 * Schedules as a row of the capabilities: tools with which an agent schedules runs of itself. Creating one
 * needs the approval of a person, unless the configuration says otherwise. A scheduled run creates no
 * schedules.
 */
import type { CommitRefused } from '@cairn/log'
import { AppError, type ScheduleInput } from '@cairn/protocol'
import { cancelRows, composeNew, derivedId, viewSchedule } from '@cairn/sessions'
import { z } from 'zod'
import type { AgentSetup } from '../../governance/agent.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { liveSchedules } from './live-schedules.ts'

const CREATE_TOOL = 'schedule_create'

export function schedules(runner: RunnerDeps, claimed: Claimed): Capability {
  const { enabled, tool } = runner.config.schedules
  const isRoot = claimed.session.parent_id === null
  if (!enabled || tool === 'off' || !isRoot) return { name: 'schedules' }
  return {
    name: 'schedules',
    setUp: setup => Promise.resolve(tool === 'ask' ? withApproval(setup) : setup),
    tools: () => [createTool(runner, claimed), listTool(runner, claimed), cancelTool(runner, claimed)],
  }
}

const withApproval = (setup: AgentSetup): AgentSetup => {
  const { agent } = setup
  const require_approval = [...agent.governance.require_approval, CREATE_TOOL]
  return { ...setup, agent: { ...agent, governance: { ...agent.governance, require_approval } } }
}

const Parameters = z.strictObject({
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(20_000)
    .describe('the prompt of each run, which cannot see this conversation'),
  cron: z
    .string()
    .max(200)
    .optional()
    .describe('five fields: minute, hour, day of month, month, day of week'),
  every_s: z.int().min(60).optional().describe('seconds between runs'),
  at: z.string().max(40).optional().describe('one run at this time, RFC 3339 with an offset'),
  timezone: z
    .string()
    .max(64)
    .optional()
    .describe('time zone of cron, such as Europe/Berlin; default: that of the service'),
  name: z.string().trim().min(1).max(120).optional(),
  max_runs: z.int().positive().optional(),
  overlap: z
    .enum(['skip', 'queue', 'replace'])
    .optional()
    .describe('what to do while the previous run is in progress; default: skip'),
  missed: z
    .enum(['once', 'skip'])
    .optional()
    .describe('runs missed in an outage: one run for all of them, or none'),
  wake: z.boolean().optional().describe('each result starts a turn; default: you read it in your next turn'),
})

const createTool = (runner: RunnerDeps, { session }: Claimed): Tool =>
  defineTool({
    name: CREATE_TOOL,
    description:
      'Run a prompt repeatedly, or once at a later time: give one of cron, every_s and at. Each run is a ' +
      'separate session with this workspace and pays for its own context; its last answer is reported ' +
      `here. The schedule expires after ${runner.config.schedules.expires_days} days. Use it to watch ` +
      'something or to do something later, not to wait within a task.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    // It is created in the commit of the result, with an id derived from the call.
    idempotent: true,
    run({ wake, ...args }, { tool_call_id }) {
      const id = derivedId(session.id, tool_call_id, 'schedule')
      const { config, clock } = runner
      const input = { ...args, ...(wake === true ? { on_result: 'wake' } : {}) } as ScheduleInput
      try {
        const now = clock.now()
        const { row, first } = composeNew(input, { id, session, config, now, expires: true })
        return Promise.resolve({
          content: { schedule_id: id, status: 'active', first_run: new Date(first).toISOString() },
          linked: { rows: [row] },
          refused: refusal => Promise.resolve(refusedMaking(refusal)),
        })
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return Promise.resolve({ content: { error: error.message } })
      }
    },
  })

function refusedMaking(thrown: CommitRefused): { content: { error: string } } | null {
  if (thrown.refusal === 'too_many_schedules')
    return {
      content: { error: `${thrown.message.replace('[commit] ', '')}: cancel one with schedule_cancel` },
    }
  return thrown.refusal === 'exists'
    ? { content: { error: 'this call has already created its schedule' } }
    : null
}

const ListParameters = z.strictObject({})
const listTool = ({ store }: RunnerDeps, { session }: Claimed): Tool =>
  defineTool({
    name: 'schedule_list',
    description: 'List the schedules of this session that have not ended, and the results of their runs.',
    parameters: ListParameters,
    readOnly: true,
    idempotent: true,
    async run() {
      const found = (await liveSchedules(store, session)).map(viewSchedule)
      return {
        content: {
          schedules: found.map(
            ({ id, name, prompt, status, cron, every_s, at, timezone, next, ...view }) => ({
              schedule_id: id,
              name,
              prompt: prompt.slice(0, 200),
              status,
              ...(cron === null ? {} : { cron, timezone }),
              ...(every_s === null ? {} : { every_s }),
              ...(at === null ? {} : { at }),
              next: next.slice(0, 1),
              runs: view.run_count,
              failures: view.failures,
            }),
          ),
        },
      }
    },
  })

const CancelParameters = z.strictObject({ schedule_id: z.string().max(64) })
const cancelTool = (runner: RunnerDeps, claimed: Claimed): Tool =>
  defineTool({
    name: 'schedule_cancel',
    description: 'Cancel a schedule of this session. A run in progress continues and reports its result.',
    parameters: CancelParameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: ({ schedule_id }) => cancel(runner, claimed, schedule_id),
  })

/** Rebuilds and retries the commit while the schedule changes. */
async function cancel(runner: RunnerDeps, claimed: Claimed, id: string): Promise<ToolOutcome> {
  const row = await runner.store.schedules.get(id)
  if (row === null || row.session_id !== claimed.session.id)
    return { content: { error: `this session has no schedule ${id}; schedule_list shows its schedules` } }
  if (row.status !== 'active' && row.status !== 'paused')
    return { content: { schedule_id: id, status: row.status } }
  return {
    content: { schedule_id: id, status: 'cancelled' },
    linked: { rows: cancelRows(row, 'Cancelled by the agent.') },
    refused: refusal =>
      refusal.refusal === 'schedule_moved' ? cancel(runner, claimed, id) : Promise.resolve(null),
  }
}
