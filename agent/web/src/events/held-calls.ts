/** The calls that wait for an approval until it is decided. */
import { isHeld, type SessionEvent } from '@cairn/protocol'

export type HeldCalls = {
  look(event: SessionEvent): void
  /** Whether the event is the result of a call that still waits. */
  isWaiting(event: SessionEvent): boolean
}

export function createHeldCalls(): HeldCalls {
  /** The approvals that each call (by its id) or coding run (by its run id) waits for. */
  const asked = new Map<string, string[]>()
  const decided = new Set<string>()
  return {
    look(event) {
      if (event.type === 'inbox.governance_gate') {
        const { tool_call_id, repeats_tool_call_id, run_id } = event.data
        const holder = run_id ?? tool_call_id
        // One item stands for the call and its repetition.
        asked.set(holder, [...(asked.get(holder) ?? []), repeats_tool_call_id ?? tool_call_id])
      } else if (event.type === 'user.message') {
        const { synthetic, tool_call_id } = event.data
        if (synthetic === 'governance_decision' && tool_call_id !== undefined) decided.add(tool_call_id)
      }
    },
    isWaiting(event) {
      if (event.type !== 'tool.result' || !isHeld(event.data.content)) return false
      const holder = runOf(event.data.content) ?? event.data.tool_call_id
      return asked.get(holder)?.some(callId => !decided.has(callId)) === true
    },
  }
}

/** The run that a call started: the call returns, naming the run, while an approval of the run is open. */
function runOf(content: string): string | null {
  const { run_id } = JSON.parse(content) as { run_id?: unknown }
  return typeof run_id === 'string' ? run_id : null
}
