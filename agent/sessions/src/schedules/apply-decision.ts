/**
 * A decision about a schedule as a part of a commit of its session: rows, inbox items, and the session of the
 * run that it starts, which is the root of its own tree.
 */
import type { EventWithRows, LinkedCommit, RowChange, SessionRow, StoreSchedule } from '@cairn/log'
import { cutAt } from '@cairn/protocol'
import { childConfig, workspaceOf } from '../create.ts'
import type { Deps } from '../deps.ts'
import { syntheticMessage } from '../events/messages.ts'
import { scheduleNotifications } from './notifications.ts'
import type { Decision } from './pending-decision.ts'
import { LAST_RESULT_CHARS, type RunRef, type ScheduleSpec } from './schedule.ts'
import { rowsOf, runId, scheduleOf } from './schedule-rows.ts'

export type AppliedDecision = { events: EventWithRows[]; rows: RowChange[]; parts: LinkedCommit[] }

/** `spec`: set if the specification changes too. */
export function applyDecision(
  deps: Deps,
  parent: SessionRow,
  row: StoreSchedule,
  decision: Decision,
  spec?: ScheduleSpec,
): AppliedDecision {
  const { start, state } = decision
  const events = scheduleNotifications(deps, parent, row, decision)
  const rows = rowsOf(row, decision, spec)
  if (start === null) return { events, rows, parts: [] }
  const run = startRun(parent, row, start, state.run_count, state.last_result)
  return { events, rows: [...rows, run.row], parts: [run.part] }
}

const TITLE_CHARS = 80

function startRun(
  parent: SessionRow,
  row: StoreSchedule,
  run: RunRef,
  /** Counted from 1. */
  run_number: number,
  lastResult: string | null,
): { row: RowChange; part: LinkedCommit } {
  const { spec } = scheduleOf(row)
  const { agent, model, max_iterations, budget } = spec.run
  const id = runId(row.id, run)
  const title = spec.name ?? spec.prompt.replaceAll(/\s+/g, ' ')
  return {
    row: {
      do: 'link.open',
      link: {
        child_id: id,
        parent_id: parent.id,
        root_id: id,
        depth: 0,
        kind: 'run',
        tool_call_id: null,
        task_id: null,
        attempt: null,
      },
      // The schedule itself limits its runs to one at a time, and a new tree is empty.
      max_open: Number.MAX_SAFE_INTEGER,
      max_total: Number.MAX_SAFE_INTEGER,
    },
    part: {
      session_id: id,
      create: {
        org_id: parent.org_id,
        created_by: parent.created_by,
        created_by_kind: parent.created_by_kind,
        agent,
        channel: 'scheduled',
        title: cutAt(title, TITLE_CHARS),
        parent_id: parent.id,
        config: {
          ...(model === undefined ? {} : { model }),
          max_iterations,
          ...(budget === undefined ? {} : { budget }),
          child: {
            role: 'orchestrator',
            ancestors: [...(childConfig(parent)?.ancestors ?? []), parent.agent],
            workspace: workspaceOf(parent),
            run: { schedule_id: row.id, slot_at: run.slot_at, manual: run.manual, run_number },
          },
        },
        ...(model === undefined ? {} : { model }),
      },
      events: [syntheticMessage('loop_run', messageOf(spec.prompt, run, lastResult))],
    },
  }
}

const messageOf = (prompt: string, { slot_at, manual }: RunRef, last: string | null): string =>
  [
    prompt,
    `This is a scheduled run, for ${new Date(slot_at).toISOString()}` +
      `${manual ? ', started manually' : ''}. ` +
      'No user is watching: your last answer is reported to the session that created the schedule.',
    ...(last === null ? [] : [`Result of the previous run:\n${cutAt(last, LAST_RESULT_CHARS)}`]),
  ].join('\n\n')
