/** The effect of `/loop`: rows of schedules for the commit of its reply. */
import { CommitRefused, type RowChange } from '@cairn/log'
import { AppError, cutAt, plural, type ScheduleInput } from '@cairn/protocol'
import { cancelRows, composeNew, derivedId, viewSchedule } from '@cairn/sessions'
import { LOOP_USAGE, type LoopCommand } from '@cairn/state'
import type { TurnContext } from '../../turn/context.ts'
import { usageList } from '../usage-list.ts'
import { liveSchedules, timeAhead, whenOf } from './live-schedules.ts'

export type LoopReply = { reply: string; rows: readonly RowChange[] }

/** The id derives from the message, so executing a command again creates nothing twice. */
export async function actOnLoop(
  { log, config, store, clock }: TurnContext,
  command: LoopCommand,
  eventId: number,
): Promise<LoopReply> {
  const session = log.session()
  try {
    switch (command.action) {
      case 'usage':
        return { reply: usageList(LOOP_USAGE), rows: [] }
      case 'list': {
        const found = (await liveSchedules(store, session)).map(viewSchedule)
        const lines = found.map(
          ({ id, name, prompt, status, next, run_count, ...view }) =>
            `- \`${id.slice(0, 8)}\`: ${cutAt(name ?? prompt, 60)}, ${whenOf(view)}, ${status}, ` +
            `${plural(run_count, 'run')}` +
            `${next[0] === undefined ? '' : `, next ${timeAhead(Date.parse(next[0]), clock.now(), view)}`}`,
        )
        return { reply: lines.length === 0 ? 'This session has no loops.' : lines.join('\n'), rows: [] }
      }
      case 'cancel': {
        const found = (await liveSchedules(store, session)).filter(({ id }) => id.startsWith(command.id))
        const [row] = found
        if (row === undefined || found.length > 1)
          return {
            reply:
              `${row === undefined ? 'No loop id' : 'More than one loop id'} starts with ${command.id}. ` +
              'Use /loop list to see all loops.',
            rows: [],
          }
        return {
          reply: `Loop ${row.id.slice(0, 8)} cancelled.`,
          rows: cancelRows(row, 'Cancelled by /loop.'),
        }
      }
      case 'create': {
        const { command: _, action: __, ...wish } = command
        const id = derivedId(session.id, eventId, 'loop')
        const made = composeNew(wish as ScheduleInput, {
          id,
          session,
          config,
          now: clock.now(),
          expires: true,
        })
        const first = timeAhead(made.first, clock.now(), made.shown)
        return {
          reply:
            `Loop \`${id.slice(0, 8)}\` runs ${whenOf(made.shown)}, first ${first}, and expires after ` +
            `${plural(config.schedules.expires_days, 'day')}. Each run is a separate session; its answer is ` +
            `posted here. Use \`/loop cancel ${id.slice(0, 8)}\` to end it.`,
          rows: [made.row],
        }
      }
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { reply: `Loop not created. ${error.message}`, rows: [] }
  }
}

/** The reply if the commit found too many loops; null: another error. */
export const refusedLoop = (thrown: unknown): string | null =>
  thrown instanceof CommitRefused && thrown.refusal === 'too_many_schedules'
    ? `Loop not created: ${thrown.message.replace('[commit] ', '')}. Use /loop cancel <id> to end one.`
    : null
