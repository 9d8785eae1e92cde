/** What an agent reads when it resumes, and what people on a channel receive while it works. */
import type { CodeRun as Row } from '@cairn/log'
import { codeChannelUpdate } from '@cairn/sessions'
import type { CodeRun } from '@cairn/state'
import { type Clock, every } from '@cairn/models/clock'
import type { Claimed } from '../../turn/capability.ts'

/** The task, or what happened to the run since the agent's last prompt. */
export function promptOf(run: CodeRun, row: Row): string {
  if (row.acp_session_id === null) return run.prompt
  const decided = run.gates.flatMap(({ decision, tool_name, tool_call_id }) => {
    if (decision === null) return []
    const call = `${tool_name} (${tool_call_id.slice(run.run_id.length + 1)})`
    return decision === 'approve'
      ? `That call was approved: ${call}. Repeat it.`
      : `That call was rejected: ${call}. Continue without it.`
  })
  if (decided.length > 0) return decided.join('\n')
  const why = row.state === 'parked' ? 'You were paused.' : 'You were interrupted.'
  return `${why} Check what is already done, then continue. The task was:\n\n${run.prompt}`
}

const CHANNEL_EVERY_MS = 60_000
/** These clients show the progress themselves. */
const OWN_CHANNELS: readonly string[] = ['web', 'api', 'cli', 'acp']

/** Records once a minute that the run is still working; the channel decides how often it sends that. */
export function notifyChannel(
  { session, log }: Claimed,
  clock: Clock,
  { run_id, agent, started_at }: CodeRun,
  lastTool: () => string | null,
  onFailure: (thrown: unknown) => void,
): () => void {
  if (OWN_CHANNELS.includes(session.channel)) return () => undefined
  return every(clock, CHANNEL_EVERY_MS, async () => {
    const tool = lastTool()
    const text = `Still working${tool === null ? '' : `: ${tool}`}`
    const minutes = Math.max(1, Math.round((clock.now() - Date.parse(started_at)) / CHANNEL_EVERY_MS))
    await log.append([codeChannelUpdate({ run_id, agent, text, minutes })]).catch(onFailure)
  })
}
