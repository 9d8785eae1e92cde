/**
 * What an export takes and leaves out. Stated once: the CLI's flags, the filters and docs/export.md follow
 * it.
 */
import { typesWith } from '@cairn/protocol'

export const EXPORT_FORMATS = ['jsonl', 'sft', 'dpo', 'kto', 'atif'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export type TrainingFormat = Exclude<ExportFormat, 'jsonl'>

export type Selection = {
  /** Whose ratings count. */
  source: 'user' | 'judge' | 'any'
  /** Sessions that hold one of these events are left out. */
  exclude: readonly string[]
  /** Agents to take; empty takes all. */
  agents: readonly string[]
}
/** A denied call, a crash or a rollback makes a session a poor teacher. */
export const DEFAULT_EXCLUDED: readonly string[] = typesWith('trouble', 'exclude')
export const DEFAULT_SELECTION: Selection = { source: 'any', exclude: DEFAULT_EXCLUDED, agents: [] }

/** A tool definition as chat models are shown it. */
export type ToolDefinition = {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}
/** Definition of a tool by name; for one that is not known any more, a definition without constraints. */
export type DefineTool = (name: string) => ToolDefinition
