/**
 * What a tool is. Built-in ones live beside this file, those of MCP servers are wrapped into the same shape.
 */
import type { z } from 'zod'
import type { EventDraft, GovernanceConfig } from '@cairn/protocol'
import type { Commit, CommitRefused, Draft } from '@cairn/log'

/** Handed to a running tool. Everything it may touch is here: no globals, no process environment. */
export type ToolContext = {
  session_id: string
  tool_call_id: string
  turn_id: string
  /** Absolute path; tools of files and the terminal stay inside. */
  workspace: string
  signal: AbortSignal
  timeoutMs: number
  egress: GovernanceConfig['egress']
}

export type ToolOutcome = {
  /** What the model reads; an object is encoded as JSON. An `error` key marks a failure. */
  content: string | Record<string, unknown>
  /** Events written in the same commit as the `tool.result`, before it: a plan, an artifact with its row. */
  events?: readonly Draft[]
  /** Rows that belong to no single event, and what the same commit does to other sessions. */
  linked?: Linked
  /** What to do instead where that commit is refused; null: nothing is known to help. */
  refused?(refusal: CommitRefused): Promise<ToolOutcome | null>
  /**
   * `person`: the turn ends here without a result; the answer's event (same tool_call_id) becomes the result
   * and wakes the session. `children`: the call waits for children, and what comes of them is its result.
   */
  suspend?: 'person' | 'children'
}
/** Of a commit that spans sessions: it makes a child, tells one something, stops one. */
export type Linked = Pick<Commit, 'rows' | 'also'>

export type Tool = {
  name: string
  description: string
  /**
   * Source of both validation and the JSON Schema the model is shown. MCP tools give `jsonSchema` and
   * validate on their server.
   */
  parameters: z.ZodType<Record<string, unknown>>
  jsonSchema?: Record<string, unknown>
  /**
   * Of a tool that another program defines and may change: an approval covers the hash beside the arguments.
   * `confirm` asks that program again, and rejects where the definition is another by now.
   */
  definition?: { hash: string; confirm(): Promise<void> }
  /** Changes nothing anywhere: may run in parallel, may be run again after a crash. */
  readOnly: boolean
  /** May be run again after a crash although it writes. Read-only tools are. */
  idempotent: boolean
  /** Arguments that name workspace paths (containment is checked by the gate) and URLs (egress is). */
  paths?: readonly string[]
  urls?: readonly string[]
  mutatesFiles?: true
  /** Paths that it is about to change beside those in its arguments: they are kept before it runs. */
  changes?(args: Record<string, unknown>, workspace: string): Promise<readonly string[]>
  /**
   * Its effect is the session's own (a plan, an artifact, a question): nothing that a saga could have to
   * undo.
   */
  changesSessionOnly?: true
  /** Whether there is use for it now; absent: always. */
  isOffered?(): boolean
  /**
   * The time this call may take, where the tool has its own idea; absent or undefined: the limit of the
   * configuration. Infinity: none.
   */
  timeoutMs?(args: Record<string, unknown>): number | undefined
  /**
   * Ends by itself at `context.timeoutMs` with what it has so far; the limit around it comes a little later.
   */
  keepsTime?: true
  /** Events written with the tool.call, before the tool runs. Arguments have the workspace's path masked. */
  begins?(args: Record<string, unknown>, toolCallId: string): readonly EventDraft[]
  /** What that commit does beside: rows, and other sessions. */
  beginsLinked?(args: Record<string, unknown>, toolCallId: string): Linked
  /** Why that commit was refused, as the model reads it; null: that is nothing it could know about. */
  refusedToBegin?(refusal: CommitRefused): string | null
  /** Events written with the result of a call that began and whose outcome nobody will know. */
  lost?(args: Record<string, unknown>, toolCallId: string): readonly EventDraft[]
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>
}
