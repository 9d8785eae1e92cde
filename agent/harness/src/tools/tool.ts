/** The type of a tool. Built-in tools are in this folder; MCP tools are wrapped into the same type. */
import type { z } from 'zod'
import type { Answer, EventDraft, GovernanceConfig, Question, ResultPicture } from '@cairn/protocol'
import type { Commit, CommitRefused, EventWithRows } from '@cairn/log'

/**
 * The context of a running tool. It contains everything that the tool may access: no globals, no process
 * environment.
 */
/**
 * Asks the person of the session and waits, while the call runs. Null: the question was closed without an
 * answer. Rejects with the signal's reason.
 */
export type AskPerson = (
  asked: { questions: readonly Question[]; context?: string },
  signal: AbortSignal,
) => Promise<readonly Answer[] | null>

export type ToolContext = {
  session_id: string
  tool_call_id: string
  turn_id: string
  /** Absolute path; file tools and the terminal stay inside. */
  workspace: string
  signal: AbortSignal
  timeoutMs: number
  egress: GovernanceConfig['egress']
  /** Absent: no person can be asked here. The time of a wait does not count towards `timeoutMs`. */
  ask?: AskPerson
}

export type ToolOutcome = {
  /** What the model reads; an object is encoded as JSON. An `error` key marks a failure. */
  content: string | Record<string, unknown>
  pictures?: readonly ResultPicture[]
  /** Events written in the same commit as the `tool.result`, before it: a plan, an artifact with its row. */
  events?: readonly EventWithRows[]
  /** Rows that belong to no single event, and effects of the same commit on other sessions. */
  linked?: Linked
  /** What to do instead if that commit is refused; null: unknown. */
  refused?(refusal: CommitRefused): Promise<ToolOutcome | null>
  /**
   * `person`: the turn ends here without a result; the answer's event (same tool_call_id) becomes the result
   * and wakes the session. `children`: the call waits for children, and their outcomes are its result.
   */
  suspend?: 'person' | 'children'
}
/** Parts of a commit that spans sessions: it creates, messages or stops a child. */
export type Linked = Pick<Commit, 'rows' | 'also'>

export type Tool = {
  name: string
  description: string
  /**
   * Source of both validation and the JSON Schema that the model sees. MCP tools provide `jsonSchema` and
   * validate on their server.
   */
  parameters: z.ZodType<Record<string, unknown>>
  jsonSchema?: Record<string, unknown>
  /**
   * For a tool that another program defines and may change: an approval covers the hash and the arguments.
   * `confirm` queries that program again, and rejects if the definition has changed.
   */
  definition?: { hash: string; confirm(): Promise<void> }
  /** Has no side effects: may run in parallel and be repeated after a crash. */
  readOnly: boolean
  /** May be repeated after a crash although it writes. Read-only tools always may. */
  idempotent: boolean
  /** Arguments that name workspace paths (the gate checks containment) and URLs (the gate checks egress). */
  paths?: readonly string[]
  urls?: readonly string[]
  /** Arguments that only limit a call: a value above the maximum of the schema means the maximum. */
  caps?: readonly string[]
  mutatesFiles?: true
  /**
   * Paths that it is about to change in addition to those in its arguments: they are saved before it runs.
   */
  changes?(args: Record<string, unknown>, workspace: string): Promise<readonly string[]>
  /** It affects only the session (a plan, an artifact, a question), so a saga never has to undo it. */
  changesSessionOnly?: true
  /** Whether the tool is useful now; absent: always. */
  isOffered?(): boolean
  /** Timeout of this call; absent or undefined: that of the configuration. Infinity: none. */
  timeoutMs?(args: Record<string, unknown>): number | undefined
  /**
   * It ends by itself at `context.timeoutMs` with a partial result; the outer timeout fires a little later.
   */
  keepsTime?: true
  /**
   * Events written with the tool.call, before the tool runs. The workspace's path is masked in the arguments.
   */
  begins?(args: Record<string, unknown>, toolCallId: string): readonly EventDraft[]
  /** Other effects of that commit: rows, and other sessions. */
  beginsLinked?(args: Record<string, unknown>, toolCallId: string): Linked
  /** Why that commit was refused, for the model; null: for a reason that it cannot know. */
  refusedToBegin?(refusal: CommitRefused): string | null
  /** Events written with the result of a started call whose outcome will never be known. */
  lost?(args: Record<string, unknown>, toolCallId: string): readonly EventDraft[]
  run(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>
}

/**
 * Resolves a name that is not among the tools: a tool of a server that has connected since, or the reason of
 * its absence.
 */
export type FindTool = (name: string, signal: AbortSignal) => Promise<Tool | { absence: string } | null>
